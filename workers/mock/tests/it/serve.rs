//! The serve loop: jobs side by side, pings, cancels, drains, and links that end.

use crate::link::{Link, job};
use superfluid_core::capability::Flags;
use superfluid_core::sched::{Class, Finish, JobId};
use superfluid_core::wire::{Input, LoadSpec, Submit, ToDaemon, ToWorker};
use superfluid_worker_kit::Ended;
use superfluid_worker_mock::{At, Deed, Fault, Script};

fn fault(at: At, deed: Deed, nth: u64) -> Fault {
    Fault { at, deed, nth, prompt: String::new(), code: 0, once: None, until: None }
}

#[test]
fn jobs_side_by_side_say_what_they_say_alone() {
    let prompts: Vec<String> = (0..12).map(|n| format!("prompt number {n}")).collect();
    let mut asked: Vec<_> = (0..).zip(&prompts).map(|(n, prompt)| job(n, prompt, 30)).collect();
    for (n, asked) in asked.iter_mut().enumerate() {
        asked.sampling.temperature = if n % 2 == 0 { 0.0 } else { 0.9 };
        asked.sampling.seed = n as u64;
        asked.sampling.top_k = 20;
        asked.sampling.top_p = 0.95;
    }
    let mut link = Link::ready(Script::default());
    for asked in &asked {
        link.say(&ToWorker::Submit(asked.clone()));
    }
    let together = link.hear_out(asked.len());
    for (mut asked, together) in asked.into_iter().zip(together) {
        asked.id = JobId(0);
        let alone = Link::ready(Script::default()).ask(asked);
        assert_eq!(alone.tokens, together.tokens);
        assert_eq!(alone.text(), together.text());
    }
    assert_eq!(link.end(), Ended::LinkClosed);
}

#[test]
fn a_resent_prompt_reuses_its_state_and_says_the_same() {
    let mut link = Link::ready(Script::default());
    let prompt = "the same long prompt, twice";
    let (first, second) = (link.ask(job(0, prompt, 10)), link.ask(job(0, prompt, 10)));
    assert_eq!(first.tokens, second.tokens);
    let usage = second.end.unwrap().unwrap().1;
    assert_eq!(usage.cached, usage.prompt - 1);
}

/// With one lane: the other job is finished while the first is paused, which then says what it would
/// have said.
#[test]
fn a_paused_job_gives_its_lane_up_and_goes_on_where_it_was() {
    let script = || Script { lanes: 1, ..Script::default() };
    let alone = Link::ready(script()).ask(endless(0));
    let mut link = Link::ready(script());
    link.say(&ToWorker::Submit(endless(0)));
    link.say(&ToWorker::Pause { id: JobId(0) });
    link.say(&ToWorker::Submit(job(1, "another", 5)));
    let mut tokens = Vec::new();
    loop {
        match link.hear().unwrap() {
            ToDaemon::Updates { jobs } => {
                jobs.into_iter().filter(|job| job.id.0 == 0).for_each(|job| tokens.extend(job.tokens));
            }
            ToDaemon::Finished { id: JobId(1), .. } => break,
            ToDaemon::Accepted { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(tokens.len() < 3000, "it was not paused");
    link.say(&ToWorker::Resume { id: JobId(0) });
    let rest = link.hear_out(1).remove(0);
    tokens.extend(rest.tokens);
    assert_eq!(tokens, alone.tokens);
    assert_eq!(rest.end.unwrap().unwrap().1.cached, 0, "no part of its prompt was run twice");
}

fn endless(id: u64) -> Submit {
    Submit { ignore_eos: true, ..job(id, "go on and on", 3000) }
}

#[test]
fn case_p06_bad_requests_are_refused_alone() {
    let mut link = Link::ready(Script::default());
    link.say(&ToWorker::Submit(job(1, "good", 20)));
    let mut bad = job(2, "bad", 20);
    bad.sampling.logit_bias.insert(999_999_999, 5.0);
    link.say(&ToWorker::Submit(bad));
    link.say(&ToWorker::Submit(job(3, &"x".repeat(5000), 20)));
    let mut empty = job(4, "", 20);
    empty.input = Input::Tokens { tokens: vec![] };
    link.say(&ToWorker::Submit(empty));
    let mut chat = job(5, "", 20);
    let messages = vec![serde_json::json!({"role": "user"})];
    chat.input = Input::Chat { messages, tools: vec![], kwargs: serde_json::Map::new() };
    link.say(&ToWorker::Submit(chat));
    let told = link.hear_out(5);
    let codes: Vec<_> = told[2..5].iter().map(|told| told.end.clone().unwrap().unwrap_err().code).collect();
    assert_eq!(codes, ["invalid_value", "context_length_exceeded", "invalid_prompt"]);
    assert_eq!(told[1].tokens.len(), 20);
}

#[test]
fn a_ping_is_answered_while_a_step_runs_and_a_cancel_ends_it() {
    // Hours long: whoever hears of its end gave it up.
    let slow = Script { prefill_us: 10_000_000, ..Script::default() };
    let mut link = Link::ready(slow);
    link.say(&ToWorker::Submit(job(0, &"x".repeat(2000), 5)));
    assert!(matches!(link.hear(), Some(ToDaemon::Accepted { .. })));
    link.say(&ToWorker::Ping { n: 7 });
    assert!(matches!(link.hear(), Some(ToDaemon::Pong { n: 7, .. })));
    link.say(&ToWorker::Cancel { id: JobId(0) });
    assert_eq!(link.hear_out(1)[0].finish(), Finish::Cancelled);
    link.hang_up();
    assert_eq!(link.end(), Ended::LinkClosed);
}

#[test]
fn an_urgent_job_does_not_wait_for_a_long_pass() {
    let slow = Script { prefill_us: 20_000, ..Script::default() };
    let mut link = Link::ready(slow);
    let mut long = job(0, &"x".repeat(3000), 1);
    long.class = Class::Background;
    link.say(&ToWorker::Submit(long));
    let mut urgent = job(1, "y", 1);
    urgent.class = Class::Interactive;
    link.say(&ToWorker::Submit(urgent));
    let told = link.hear_out(1);
    assert_eq!(told[1].finish(), Finish::Length);
}

/// A gateway that looks every second must not see a second ago.
#[test]
fn who_runs_and_who_waits_is_told_before_a_pass_is_over() {
    let mut link = Link::load_as(
        Script { prefill_us: 100_000_000, ..Script::default() },
        LoadSpec { class_lanes: Some([u32::MAX, 1, u32::MAX]), ..LoadSpec::default() },
    );
    link.loaded();
    for id in 0..2 {
        link.say(&ToWorker::Submit(job(id, "x", 1)));
    }
    loop {
        let Some(frame) = link.hear_any() else { panic!("the worker is gone") };
        assert!(!matches!(frame, ToDaemon::Finished { .. }), "{frame:?}");
        if matches!(frame, ToDaemon::Stats(stats) if (stats.running, stats.queued) == (1, [0, 1, 0])) {
            break;
        }
    }
    link.hang_up();
    assert_eq!(link.end(), Ended::LinkClosed);
}

#[test]
fn a_closed_link_ends_a_load_and_a_step() {
    let link = Link::load(Script { load_ms: 5_000, ..Script::default() });
    assert_eq!(link.end(), Ended::LinkClosed);
    let mut link = Link::ready(Script { prefill_us: 1_000_000, ..Script::default() });
    link.say(&ToWorker::Submit(job(0, &"x".repeat(500), 5)));
    link.hang_up();
    assert_eq!(link.end(), Ended::LinkClosed);
}

#[test]
fn a_drain_finishes_what_runs_and_refuses_what_comes() {
    let mut link = Link::ready(Script { decode_us: 20_000, context: 1 << 20, ..Script::default() });
    // The second one goes on until the late one was answered, however long that takes.
    for (id, tokens) in [(0, 30), (1, 1 << 19)] {
        link.say(&ToWorker::Submit(Submit { ignore_eos: true, ..job(id, "first", tokens) }));
    }
    link.say(&ToWorker::Drain);
    link.say(&ToWorker::Submit(job(2, "late", 30)));
    let told = link.hear_out(2);
    assert_eq!(told[2].end.clone().unwrap().unwrap_err().code, "shutting_down");
    assert_eq!((told[0].finish(), told[0].tokens.len()), (Finish::Length, 30));
    link.say(&ToWorker::Cancel { id: JobId(1) });
    // To its end: a daemon that is gone before ends it another way.
    let rest: Vec<_> = std::iter::from_fn(|| link.hear()).collect();
    assert!(matches!(rest.last(), Some(ToDaemon::Finished { id: JobId(1), .. })), "{rest:?}");
    assert_eq!(link.end(), Ended::Drained);
}

#[test]
fn a_fault_of_one_row_ends_its_job_alone() {
    let mut broken = fault(At::Token, Deed::Nan, 3);
    broken.prompt = "poison".into();
    let mut link = Link::ready(Script { faults: vec![broken], ..Script::default() });
    for (id, prompt) in [(0, "poison"), (1, "wholesome")] {
        let mut asked = job(id, prompt, 10);
        asked.ignore_eos = true;
        asked.sampling.temperature = 0.5;
        link.say(&ToWorker::Submit(asked));
    }
    let told = link.hear_out(2);
    assert_eq!(told[0].end.clone().unwrap().unwrap_err().code, "engine_fault");
    assert_eq!((told[0].tokens.len(), told[1].tokens.len()), (2, 10));
}

#[test]
fn a_fatal_fault_and_a_failed_load_are_told_before_the_end() {
    let mut link =
        Link::ready(Script { faults: vec![fault(At::Token, Deed::Error, 2)], ..Script::default() });
    link.say(&ToWorker::Submit(job(0, "x", 10)));
    assert_eq!(link.hear_out(1)[0].end.clone().unwrap().unwrap_err().code, "mock_fault");
    assert!(matches!(link.hear(), Some(ToDaemon::Fatal(_))));
    assert!(matches!(link.end(), Ended::Failed(_)));

    let mut link = Link::load(Script { faults: vec![fault(At::Load, Deed::Error, 1)], ..Script::default() });
    let failed = std::iter::from_fn(|| link.hear()).find(|f| !matches!(f, ToDaemon::Progress { .. }));
    assert!(matches!(failed, Some(ToDaemon::LoadFailed(_))));
}

#[test]
fn a_link_that_breaks_is_said_in_words() {
    let mut link = Link::ready(Script::default());
    link.raw(b"GET / HTTP/1.1\r\n");
    match link.hear() {
        Some(ToDaemon::Fatal(refusal)) => assert!(refusal.message.contains("GET / HTTP"), "{refusal}"),
        other => panic!("{other:?}"),
    }
    assert!(matches!(link.end(), Ended::Failed(_)));
}

/// The loop's own cost is one frame a pass, whatever the number of lanes.
#[test]
fn all_tokens_of_a_pass_come_in_one_frame() {
    let mut link = Link::ready(Script { context: 8192, ..Script::default() });
    for id in 0..4 {
        link.say(&ToWorker::Submit(Submit { ignore_eos: true, ..job(id, "x", 5000) }));
    }
    let (mut frames, mut ended) = (0_u64, 0);
    while ended < 4 {
        match link.hear().unwrap() {
            ToDaemon::Updates { .. } => frames += 1,
            ToDaemon::Finished { usage, .. } => {
                assert_eq!(usage.completion, 5000);
                ended += 1;
            }
            _ => {}
        }
    }
    link.say(&ToWorker::Ping { n: 1 });
    let Some(ToDaemon::Pong { stats, .. }) = link.hear() else { panic!("no pong") };
    // An end may bring text that was held back.
    assert!(frames <= stats.steps + 4, "{frames} frames for {} passes", stats.steps);
}

#[test]
fn a_text_no_window_holds_is_refused_before_it_is_cut_into_tokens() {
    let mut link = Link::ready(Script::default());
    let told = link.ask(job(0, &"x".repeat(8 << 20), 1));
    let refusal = told.end.unwrap().unwrap_err();
    assert_eq!(refusal.code, "context_length_exceeded");
    assert!(refusal.message.contains("8388608 bytes"), "{refusal}");
}

#[test]
fn lanes_of_a_class_bound_how_many_of_its_jobs_run_at_once() {
    let spec = LoadSpec { class_lanes: Some([u32::MAX, 1, u32::MAX]), ..LoadSpec::default() };
    let mut link = Link::load_as(Script::default(), spec);
    link.loaded();
    for id in 0..3 {
        link.say(&ToWorker::Submit(job(id, &format!("one after the other {id}"), 20)));
    }
    let mut order = Vec::new();
    let mut ended = 0;
    while ended < 3 {
        match link.hear().unwrap() {
            ToDaemon::Updates { jobs } => order.extend(jobs.iter().map(|job| job.id.0)),
            ToDaemon::Finished { .. } => ended += 1,
            _ => {}
        }
    }
    assert!(order.is_sorted(), "{order:?}");
}

#[test]
fn row_g2_a_loaded_model_that_cannot_honour_a_flag_is_not_served() {
    let flags = Flags { speculate: Some("medusa".into()), ..Flags::default() };
    let mut link = Link::load_as(Script::default(), LoadSpec { flags, ..LoadSpec::default() });
    let refusal = loop {
        match link.hear().unwrap() {
            ToDaemon::LoadFailed(refusal) => break refusal,
            ToDaemon::Progress { .. } => {}
            other => panic!("{other:?}"),
        }
    };
    assert_eq!((&*refusal.code, refusal.param.as_deref()), ("unsupported_runtime", Some("--speculate")));
}
