//! The worker as a process: its command line, its streams, and the ways it can die.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use superfluid_core::capability::CheckReport;
use superfluid_core::wire::{Decoder, LoadSpec, PROTOCOL, ToDaemon, ToWorker, encode};
use superfluid_worker_mock::{At, Deed, Fault, SCRIPT_VARIABLE, Script};

fn worker(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_superfluid-worker-mock"));
    command.args(args).env_remove(SCRIPT_VARIABLE).stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn output(args: &[&str]) -> Output {
    worker(args).stdin(Stdio::null()).output().unwrap()
}

fn script(folder: &Path, at: At, deed: Deed) -> PathBuf {
    let fault = Fault { at, deed, nth: 1, prompt: String::new(), code: 9, once: None, until: None };
    let path = folder.join("script.json");
    let script = Script { faults: vec![fault], ..Script::default() };
    std::fs::write(&path, serde_json::to_vec(&script).unwrap()).unwrap();
    path
}

/// Greets and loads `model`, hangs up, and returns what came.
fn life(mut child: Child, model: &Path) -> (Vec<u8>, Output) {
    let mut bytes = Vec::new();
    encode(&ToWorker::Hello { protocol: PROTOCOL }, &mut bytes).unwrap();
    let spec = LoadSpec { model: model.to_str().unwrap().into(), ..LoadSpec::default() };
    encode(&ToWorker::Load(spec), &mut bytes).unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let _ = stdin.write_all(&bytes);
    let mut said = Vec::new();
    let mut stdout = child.stdout.take().unwrap();
    let mut decoder = Decoder::new();
    let mut chunk = [0; 4096];
    while let Ok(came) = stdout.read(&mut chunk)
        && came > 0
    {
        said.extend_from_slice(&chunk[..came]);
        decoder.handle_bytes(&chunk[..came]);
        while let Some(frame) = decoder.poll_frame::<ToDaemon>() {
            if matches!(frame, Ok(ToDaemon::Loaded(_)) | Err(_)) {
                drop(stdin);
                stdout.read_to_end(&mut said).unwrap();
                return (said, child.wait_with_output().unwrap());
            }
        }
    }
    (said, child.wait_with_output().unwrap())
}

#[test]
fn check_prints_one_json_object_and_failures_are_words() {
    let good = output(&["check"]);
    let report: CheckReport = serde_json::from_slice(&good.stdout).unwrap();
    assert_eq!((report.runtime.as_str(), report.protocol, good.status.code()), ("mock", PROTOCOL, Some(0)));
    assert_eq!(good.stdout.iter().filter(|byte| **byte == b'\n').count(), 1);
    let bad = output(&["check", "--model", "/no/such/model"]);
    assert_eq!((bad.status.code(), bad.stdout.len()), (Some(1), 0));
    assert!(String::from_utf8_lossy(&bad.stderr).contains("/no/such/model"));
    for args in [&["frob"][..], &[], &["check", "serve"], &["check", "--frob", "1"], &["serve", "--model=x"]]
    {
        let wrong = output(args);
        assert_eq!(wrong.status.code(), Some(2), "{args:?}");
        assert!(String::from_utf8_lossy(&wrong.stderr).contains("usage:"), "{args:?}");
    }
    assert!(String::from_utf8_lossy(&output(&["version"]).stdout).starts_with("superfluid-worker-mock "));
}

#[test]
fn case_f01_the_worker_ends_with_its_input_even_when_the_runtime_hangs() {
    let folder = tempfile::tempdir().unwrap();
    let path = script(folder.path(), At::Load, Deed::Hang);
    let mut child = worker(&["serve"]).spawn().unwrap();
    let mut bytes = Vec::new();
    encode(&ToWorker::Hello { protocol: PROTOCOL }, &mut bytes).unwrap();
    let spec = LoadSpec { model: path.to_str().unwrap().into(), ..LoadSpec::default() };
    encode(&ToWorker::Load(spec), &mut bytes).unwrap();
    child.stdin.take().unwrap().write_all(&bytes).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn case_f03_a_megabyte_of_log_and_a_line_without_end_do_not_stop_a_load() {
    let folder = tempfile::tempdir().unwrap();
    for deed in [Deed::Stderr, Deed::LongLine] {
        let path = script(folder.path(), At::Load, deed);
        let mut child = worker(&["serve"]).spawn().unwrap();
        let mut stderr = child.stderr.take().unwrap();
        let log = std::thread::spawn(move || {
            let mut log = Vec::new();
            stderr.read_to_end(&mut log).unwrap();
            log.len()
        });
        let (_, output) = life(child, &path);
        assert_eq!(output.status.code(), Some(0));
        assert!(log.join().unwrap() >= 1 << 20);
    }
}

#[test]
fn faults_end_the_process_as_scripted() {
    let folder = tempfile::tempdir().unwrap();
    let path = script(folder.path(), At::Start, Deed::Exit);
    let output = worker(&["check"]).env(SCRIPT_VARIABLE, &path).output().unwrap();
    assert_eq!(output.status.code(), Some(9));
    let path = script(folder.path(), At::Load, Deed::Abort);
    let (_, output) = life(worker(&["serve"]).spawn().unwrap(), &path);
    assert_eq!(output.status.code(), None, "a signal");
    let path = script(folder.path(), At::Load, Deed::Junk);
    let (said, _) = life(worker(&["serve"]).spawn().unwrap(), &path);
    assert!(said.windows(9).any(|window| window == b"ggml_init"));
    let path = script(folder.path(), At::Start, Deed::Protocol);
    let (said, _) = life(worker(&["serve"]).env(SCRIPT_VARIABLE, &path).spawn().unwrap(), &path);
    let mut decoder = Decoder::new();
    decoder.handle_bytes(&said);
    assert!(matches!(
        decoder.poll_frame(),
        Some(Ok(ToDaemon::Hello { protocol, .. })) if protocol == PROTOCOL + 1
    ));
}
