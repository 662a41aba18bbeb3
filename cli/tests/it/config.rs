//! `serve --config` and `serve --check`.

use crate::daemon::command;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

const SCRIPT: &str = r#"{"mock":1}"#;

struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// `superfluid serve --check` with `config` as the file's text and nothing else given.
fn check(folder: &Path, config: &str, args: &[&str]) -> Ran {
    fs::write(folder.join("tiny.gguf"), SCRIPT).unwrap();
    fs::write(folder.join("superfluid.toml"), config).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_superfluid"));
    command.arg("serve").arg("--config").arg(folder.join("superfluid.toml")).arg("--check").args(args);
    ran(&mut command, folder)
}

fn ran(command: &mut Command, folder: &Path) -> Ran {
    let output = command
        .env("SUPERFLUID_HOME", folder.join("home"))
        .env_remove("SUPERFLUID_API_KEY")
        .env_remove("SUPERFLUID_WORKER_MOCK")
        .stdout(std::process::Stdio::piped())
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ran { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn a_file_says_what_flags_say_and_a_flag_wins() {
    let temp = folder();
    let config = "model = \"tiny.gguf\"\nruntime = [\"mock\"]\nport = 0\nmodel-id = \"from-the-file\"\nmax-batch = 3\noffline = true\n";
    let ran = check(temp.path(), config, &[]);
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{}", ran.stdout);
    let model = temp.path().join("tiny.gguf").display().to_string();
    for part in [&*model, "mock", "from-the-file", "all good"] {
        assert!(ran.stdout.contains(part), "{part} in {}", ran.stdout);
    }
    let ran = check(temp.path(), config, &["--model-id", "from-the-flag"]);
    assert!(ran.stdout.contains("from-the-flag") && !ran.stdout.contains("from-the-file"), "{}", ran.stdout);
    // A list is replaced whole, and what is wrong in it does no harm then.
    let ran = check(temp.path(), config, &["--runtime", "llamacpp"]);
    assert!(
        ran.stdout.contains("llamacpp") || ran.stderr.contains("llamacpp"),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
}

#[test]
fn what_is_wrong_in_a_file_is_named_with_the_file() {
    let temp = folder();
    for (config, named) in [
        ("max-bacth = 3", "did you mean max-batch?"),
        ("max_batch = 3", "did you mean max-batch?"),
        ("zzz = 3", "superfluid serve --help"),
        ("config = \"x\"", "there is no key \"config\""),
        ("max-batch = 999", "invalid value '999' for '--max-batch <N>'"),
        ("max-batch = true", "line 2: max-batch must be a whole number, not true or false"),
        ("max-batch = \"3\"", "max-batch must be a whole number, not a text"),
        ("max-batch = 3.0", "max-batch must be a whole number, not a fraction"),
        ("host = 1", "host must be a text, not a number"),
        ("\n\nmodel-id = 5", "line 4: model-id must be a text, not a number"),
        ("runtime = [\"mock\", 5]", "runtime must be a text, not a number"),
        ("offline = 1", "offline must be true or false, not a number"),
        ("port = [1, 2]", "port must be a whole number, not a list"),
        ("class-lanes = \"agent=0\"", "agent=0"),
        ("port = ", "it is no TOML"),
        ("port = 1\nport = 2", "it is no TOML"),
    ] {
        let ran = check(temp.path(), &format!("model = \"tiny.gguf\"\n{config}\n"), &[]);
        assert_eq!(ran.code, Some(2), "{config}: {}{}", ran.stdout, ran.stderr);
        assert!(
            ran.stderr.starts_with("error: ") && ran.stderr.contains("superfluid.toml: "),
            "{}",
            ran.stderr
        );
        assert!(ran.stderr.contains(named), "{config}: {}", ran.stderr);
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_superfluid"));
    let ran = ran(command.args(["serve", "--config", "/no/such.toml"]), temp.path());
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("/no/such.toml: it can't be read"), "{}", ran.stderr);
}

#[test]
fn every_flag_of_serve_has_its_key() {
    let temp = folder();
    let mut help = Command::new(env!("CARGO_BIN_EXE_superfluid"));
    let help = ran(help.args(["serve", "--help"]), temp.path()).stdout;
    let flags: Vec<&str> = help
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("--").or(line.trim_start().strip_prefix("-h, --")))
        .filter_map(|rest| rest.split([' ', '=']).next())
        .filter(|flag| !["help", "config", "check", "version"].contains(flag))
        .collect();
    assert!(flags.len() > 12, "{help}");
    for flag in flags {
        let ran = check(temp.path(), &format!("{flag} = 1979-05-27\n"), &[]);
        assert!(ran.stderr.contains("not a date"), "{flag}: {}", ran.stderr);
    }
}

/// Of a text and a number a key takes one, and neither is read as the other.
#[test]
fn no_key_takes_a_number_for_a_name_or_a_name_for_a_number() {
    let temp = folder();
    let mut help = Command::new(env!("CARGO_BIN_EXE_superfluid"));
    let help = ran(help.args(["serve", "--help"]), temp.path()).stdout;
    let takes_a_value =
        |line: &str| Some(line.trim_start().strip_prefix("--")?.split_once(" <")?.0.to_string());
    let flags: Vec<String> = help.lines().filter_map(takes_a_value).filter(|flag| flag != "config").collect();
    assert!(flags.iter().any(|flag| flag == "model") && flags.iter().any(|flag| flag == "port"), "{help}");
    for flag in flags {
        let refused = ["5", "\"5\""].map(|value| {
            let ran = check(temp.path(), &format!("{flag} = {value}\n"), &[]);
            ran.stderr.contains(&format!("superfluid.toml: line 1: {flag} must be "))
        });
        assert!(refused[0] != refused[1], "{flag}: {refused:?}");
    }
}

#[test]
fn a_check_finds_a_taken_port_and_a_model_that_is_none() {
    let temp = folder();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let ran = check(temp.path(), &format!("model = \"tiny.gguf\"\nruntime = \"mock\"\nport = {port}"), &[]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("is in use"), "{}", ran.stderr);
    let ran = check(temp.path(), "model = \"gone.gguf\"\nport = 0", &[]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("gone.gguf"), "{}", ran.stderr);
    assert!(!temp.path().join("home").exists(), "a check made something");
}

#[test]
fn a_check_runs_the_worker_s_own_and_tells_what_it_says() {
    let temp = folder();
    let script = r#"{"mock":1,"faults":[{"at":"check","do":"error"}]}"#;
    let output = command(temp.path(), script, &["--port", "0", "--check"]).output().unwrap();
    let log = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{log}");
    assert!(log.contains("the script wants an error here"), "{log}");
}

#[test]
fn a_key_in_a_file_that_others_can_read_is_warned_about_and_the_environment_wins() {
    let temp = folder();
    let config = "model = \"tiny.gguf\"\nruntime = \"mock\"\nport = 0\napi-key = \"in-the-file\"\n";
    let ran = check(temp.path(), config, &[]);
    assert!(
        ran.stdout.contains("clients must show the key") && ran.stderr.contains("chmod 600"),
        "{}",
        ran.stderr
    );
    // Of both, one is given on the command line: the file's is not taken, and does not conflict.
    fs::write(temp.path().join("key"), "own").unwrap();
    let file = temp.path().join("key").display().to_string();
    assert_eq!(check(temp.path(), config, &["--api-key-file", &file]).code, Some(0));
}
