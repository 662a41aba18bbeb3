//! What people read when a worker fails.

use super::*;
use superfluid_core::Refusal;
use superfluid_core::supervise::Death;

fn death(rig: &mut Rig) -> Death {
    let found = rig.take_events().into_iter().find_map(|event| match event {
        Event::Down { death, .. } => Some(death),
        _ => None,
    });
    found.expect("down")
}

#[test]
fn case_f09_a_protocol_that_differs_names_the_repair() {
    let mut rig = Rig::new(Config::default());
    rig.spawned();
    rig.frame(ToDaemon::Hello { protocol: 0, runtime: "mock".into(), version: "0.0.9".into() });
    rig.exit(killed());
    let refusal = death(&mut rig).refusal;
    assert_eq!(
        refusal.message,
        format!("the mock worker (version \"0.0.9\") speaks protocol 0, this superfluid speaks {PROTOCOL}")
    );
    assert_eq!(refusal.hints, ["run: superfluid runtime repair mock"]);
}

#[test]
fn case_f09_exit_codes_and_signals_are_words() {
    let words = |status: ExitStatus| status.to_string();
    assert_eq!(words(ExitStatus::Signal { signal: 11 }), "killed by SIGSEGV (invalid memory access)");
    assert_eq!(words(ExitStatus::Signal { signal: 40 }), "killed by signal 40");
    assert_eq!(words(ExitStatus::Code { code: 3 }), "exit code 3");
    assert_eq!(words(ExitStatus::Code { code: 0 }), "it exited by itself with code 0");
    assert!(words(ExitStatus::Code { code: 127 }).contains("missing"));
}

#[test]
fn case_f09_the_worker_s_own_word_about_a_load_is_kept() {
    let mut rig = Rig::new(Config::default());
    rig.spawned();
    rig.frame(hello());
    rig.frame(ToDaemon::LoadFailed(Refusal::new("bad_model", "/m/a.gguf is cut short")));
    rig.exit(Exit { status: ExitStatus::Code { code: 1 }, stderr: vec![] });
    assert_eq!(death(&mut rig).refusal.message, "/m/a.gguf is cut short");
}

#[test]
fn junk_on_the_wire_is_named_and_ends_the_process() {
    let mut rig = Rig::ready();
    rig.act(|sup, now| sup.handle_link_error(Life(1), "a frame of 4 GiB", now));
    assert_eq!(rig.effects.last(), Some(&Effect::Kill { life: Life(1) }));
    rig.exit(killed());
    let refusal = death(&mut rig).refusal;
    assert_eq!(refusal.message, "the mock worker sent something that can't be understood: a frame of 4 GiB");
}
