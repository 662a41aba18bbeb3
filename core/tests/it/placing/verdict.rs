//! What the staged worker's check says about a plan.

use super::disk::report;
use super::plan;
use superfluid_core::install::machine::{Fault, FaultKind, Run, Verdict, judge_check};

fn exited(code: i32, stdout: &str, stderr: &str) -> Run {
    Run::Exited { code: Some(code), signal: None, stdout: stdout.into(), stderr: stderr.into() }
}

fn broken(run: &Run) -> (String, Vec<String>) {
    match judge_check(run, &plan("b2", "cuda")) {
        Verdict::Broken(refusal) => (refusal.message, refusal.hints),
        other => panic!("{other:?}"),
    }
}

#[test]
fn case_b07_a_plan_stands_on_a_listed_device_of_its_backend() {
    for (backends, stands) in
        [(&["cuda"][..], true), (&["vulkan", "cuda"], true), (&["vulkan", "cpu"], false), (&[], false)]
    {
        let verdict = judge_check(&report(backends), &plan("b2", "cuda"));
        assert_eq!(matches!(verdict, Verdict::Stands(_)), stands, "{backends:?}");
        assert_eq!(matches!(verdict, Verdict::NoDevice(_)), !stands, "{backends:?}");
    }
    assert!(matches!(judge_check(&report(&["cpu"]), &plan("b2", "cpu")), Verdict::Stands(_)));
}

#[test]
fn case_b08_a_software_vulkan_device_is_none() {
    let text = r#"{"runtime":"llamacpp","worker":"0","protocol":1,"version":"b","formats":[],"capabilities":{},
        "devices":[{"backend":"vulkan","name":"llvmpipe (LLVM 17.0.6, 256 bits)","kind":"cpu","memory_total":0,"memory_free":0}REST]}"#;
    let judged = |rest| judge_check(&exited(0, &text.replace("REST", rest), ""), &plan("b2", "vulkan"));
    let Verdict::NoDevice(why) = judged("") else { panic!("llvmpipe is no device") };
    assert!(why.contains("llvmpipe"));
    let real = r#",{"backend":"vulkan","name":"Arc","kind":"gpu","memory_total":1,"memory_free":1}"#;
    assert!(matches!(judged(real), Verdict::Stands(_)));
}

#[test]
fn case_b10_the_loaders_line_is_in_the_error() {
    let (message, hints) = broken(&exited(1, "", "noise\nw: version `GLIBC_2.38' not found\n"));
    assert!(
        message.contains("`GLIBC_2.38' not found") && hints[0].contains("C library"),
        "{message} {hints:?}"
    );
    let (message, hints) = broken(&Run::NotStarted(Fault::new(FaultKind::NotFound, "cannot run /x/w")));
    assert!(message.contains("loader") && hints[0].contains("musl"), "{message}");
}

#[test]
fn case_i07_noexec_says_what_to_set() {
    let fault =
        Fault::new(FaultKind::NoExec, "programs may not run from /x: its file system /x is mounted noexec");
    let (message, hints) = broken(&Run::NotStarted(fault));
    assert!(message.contains("noexec") && hints[0].contains("SUPERFLUID_HOME"));
}

/// Our workers put what to do on indented lines below their reason.
#[test]
fn what_a_worker_advises_becomes_hints() {
    let said = "noise\nw: this llama.cpp's C API differs\n  install the tested build\n  or set A_\u{7}B\n";
    let (message, hints) = broken(&exited(1, "", said));
    assert!(message.ends_with(": noise | w: this llama.cpp's C API differs"), "{message}");
    assert_eq!(hints, ["install the tested build", "or set A_\\u{7}B"]);
    // A program that indents everything gives no reason to tell apart.
    let (message, hints) = broken(&exited(1, "", "  boo\n"));
    assert!(message.ends_with(": boo") && hints.is_empty(), "{message} {hints:?}");
}

#[test]
fn what_a_worker_says_is_told_in_words_and_never_steers_a_terminal() {
    let signal =
        Run::Exited { code: None, signal: Some(4), stdout: String::new(), stderr: "\u{1b}[2Jboo\n".into() };
    let (message, _) = broken(&signal);
    assert!(
        message.contains("SIGILL") && message.contains("boo") && !message.contains('\u{1b}'),
        "{message}"
    );
    assert!(broken(&Run::TimedOut { stderr: String::new() }).0.contains("in time"));
    assert!(broken(&exited(0, "ok\n", "")).0.contains("cannot be read"));
    assert!(broken(&exited(0, &"[".repeat(100_000), "")).0.contains("cannot be read"));
    let other = match report(&["cuda"]) {
        Run::Exited { stdout, .. } => stdout.replace("llamacpp", "mlx"),
        run => panic!("{run:?}"),
    };
    assert!(broken(&exited(0, &other, "")).0.contains("\"mlx\""));
}
