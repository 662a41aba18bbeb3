//! Which broken fetches are tried again, how soon, and from where.

use super::disk::{Disk, Done, digest, drive, report};
use super::{plan, settings};
use superfluid_core::install::Source;
use superfluid_core::install::machine::{
    Action, Body, Event, Fault, FaultKind, Machine, Outcome, Resume, judge_response,
};

/// One archive from elsewhere, of `size` bytes where that is known.
fn machine(size: Option<u64>) -> Machine {
    let mut plan = plan("b2", "cpu");
    plan.assets[0].source = Source::Url { url: "https://localhost/b2-cpu.tar.gz".into() };
    plan.assets[0].size = size;
    Machine::install(vec![plan], settings("1-a")).expect("plans")
}

fn fetched() -> Outcome {
    Outcome::Fetched { bytes: 9, sha256: digest("b2-cpu.tar.gz") }
}

fn failed(kind: FaultKind) -> Outcome {
    Outcome::Failed(Fault::new(kind, "it broke"))
}

fn broken(have: u64, validator: Option<&str>) -> Outcome {
    let fault = Fault::new(FaultKind::Network, "it broke");
    Outcome::Broken { fault, have, validator: validator.map(String::from) }
}

/// Answers the fetches in order; what was asked for each time.
fn fetches(size: Option<u64>, answers: Vec<Outcome>) -> (Done, Vec<(u64, Option<Resume>)>) {
    let mut disk = Disk::default();
    let mut answers = answers.into_iter();
    let mut asked = Vec::new();
    let check = |_: &str| report(&["cpu"]);
    let done = drive(machine(size), &mut disk, &check, &mut |effect| match &effect.action {
        Action::Fetch { after_ms, resume, .. } => {
            asked.push((*after_ms, resume.clone()));
            Some(answers.next().expect("no further fetch is expected"))
        }
        _ => None,
    });
    assert_eq!(answers.next(), None, "fetches that were not asked for");
    if done.result.is_err() {
        assert_eq!(disk, Disk::default());
    }
    (done, asked)
}

fn at(have: u64, validator: Option<&str>) -> Option<Resume> {
    Some(Resume { have, validator: validator.map(String::from) })
}

#[test]
fn case_i08_what_cannot_pass_is_not_tried_again() {
    use FaultKind::*;
    for kind in
        [Status(404), Status(403), Status(410), Certificate, NotHttps, TooLarge, NoSpace, Permission, Other]
    {
        let (done, asked) = fetches(None, vec![failed(kind)]);
        assert!(done.result.is_err() && asked == [(0, None)], "{kind:?}");
    }
    // case I-17: nor is a file that is not the one that was planned.
    let wrong = Outcome::Fetched { bytes: 9, sha256: "0".repeat(64) };
    assert_eq!(fetches(None, vec![wrong]).0.result.expect_err("refused").code, "wrong_sha256");
    let short = Outcome::Fetched { bytes: 8, sha256: digest("b2-cpu.tar.gz") };
    assert_eq!(fetches(Some(9), vec![short]).0.result.expect_err("refused").code, "wrong_size");
}

#[test]
fn what_can_pass_is_tried_again_later_each_time_and_not_for_ever() {
    for kind in [FaultKind::Network, FaultKind::Status(503), FaultKind::Status(429)] {
        let (done, asked) = fetches(None, (0..4).map(|_| failed(kind)).collect());
        assert_eq!(asked, [(0, None), (500, None), (1_000, None), (2_000, None)]);
        let refusal = done.result.expect_err("it never came");
        assert!(refusal.message.contains("b2-cpu.tar.gz of llamacpp b2 (cpu)"), "{}", refusal.message);
        let told = done.events.iter().filter(|event| matches!(event, Event::Retrying { .. })).count();
        assert_eq!(told, 3);
        fetches(None, vec![failed(kind), fetched()]).0.result.expect("it came");
    }
}

#[test]
fn a_break_goes_on_where_it_was_and_progress_earns_patience() {
    let tag = Some("\"v1\"");
    let answers = vec![
        broken(2, tag),
        broken(5, tag),
        // What is there stays there when the server is away for a while.
        failed(FaultKind::Status(502)),
        failed(FaultKind::Network),
        fetched(),
    ];
    let (done, asked) = fetches(None, answers);
    done.result.expect("it came");
    let expected =
        [(0, None), (500, at(2, tag)), (500, at(5, tag)), (1_000, at(5, tag)), (2_000, at(5, tag))];
    assert_eq!(asked, expected);
    // A drop at a time is no progress worth waiting for without end.
    let (done, asked) = fetches(None, (1..=20).map(|have| broken(have, tag)).collect());
    assert!(done.result.is_err() && asked.len() == 20);
}

#[test]
fn only_what_is_surely_the_same_file_is_gone_on_with() {
    for (size, tag, resume) in [
        (None, None, None),
        (None, Some("W/\"v1\""), None),
        (None, Some("\"a\r\nX: y\""), None),
        (None, Some("\""), None),
        (Some(9), None, at(5, None)),
        (Some(9), Some("W/\"v1\""), at(5, None)),
        (Some(9), Some("\"v1\""), at(5, Some("\"v1\""))),
        // case I-01: no range begins at or past the end.
        (Some(5), Some("\"v1\""), None),
        (Some(4), None, None),
    ] {
        let (_, asked) = fetches(size, vec![broken(5, tag), failed(FaultKind::Other)]);
        assert_eq!(asked[1], (500, resume), "{size:?} {tag:?}");
    }
    let (_, asked) = fetches(Some(9), vec![broken(0, Some("\"v1\"")), failed(FaultKind::Other)]);
    assert_eq!(asked[1].1, None);
}

#[test]
fn case_i01_a_range_the_server_does_not_have_is_never_asked_for_twice() {
    for status in [416, 206] {
        let answers = vec![broken(5, Some("\"v1\"")), failed(FaultKind::Status(status)), fetched()];
        let (done, asked) = fetches(None, answers);
        done.result.expect("it came");
        assert_eq!(asked, [(0, None), (500, at(5, Some("\"v1\""))), (1_000, None)]);
    }
}

#[test]
fn a_file_of_this_machine_is_not_tried_again() {
    let mut disk = Disk::default();
    let mut count = 0;
    let machine = Machine::install(vec![plan("b2", "cpu")], settings("1-a")).expect("plans");
    drive(machine, &mut disk, &|_| report(&["cpu"]), &mut |effect| {
        let fetch = matches!(effect.action, Action::Fetch { .. });
        count += usize::from(fetch);
        fetch.then(|| failed(FaultKind::Network))
    })
    .result
    .expect_err("it failed");
    assert_eq!(count, 1);
}

#[test]
fn a_response_is_taken_only_for_what_it_says_it_is() {
    let resume = at(5, None);
    let judge = |status, range, resume: &Option<Resume>, size| {
        judge_response(status, range, resume.as_ref(), size).map_err(|fault| fault.kind)
    };
    assert_eq!(judge(200, None, &None, None), Ok(Body::Whole));
    assert_eq!(judge(200, Some("bytes 5-9/10"), &resume, None), Ok(Body::Whole));
    assert_eq!(judge(206, Some("bytes 5-9/10"), &resume, Some(10)), Ok(Body::Rest));
    assert_eq!(judge(206, Some("bytes 5-9/*"), &resume, Some(10)), Ok(Body::Rest));
    for range in [
        None,
        Some(""),
        Some("bytes 0-9/10"),
        Some("bytes 4-9/10"),
        Some("bytes 5-4/10"),
        Some("bytes 5-9/9"),
        Some("bytes 5-9/11"),
        Some("bytes 5-9"),
        Some("bytes 5-99999999999999999999/*"),
        Some("bytes +5-9/10"),
        Some("items 5-9/10"),
    ] {
        assert_eq!(judge(206, range, &resume, Some(10)), Err(FaultKind::Status(206)), "{range:?}");
    }
    assert_eq!(judge(206, Some("bytes 0-9/10"), &None, None), Err(FaultKind::Status(206)));
    for status in [204, 304, 404, 416, 500] {
        assert_eq!(judge(status, None, &resume, None), Err(FaultKind::Status(status)));
    }
}
