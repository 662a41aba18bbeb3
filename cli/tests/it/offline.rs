//! What opens no connection: everything that says so, and everything that has what it needs.

use crate::command::{home, pack};
use crate::serve::gguf;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

/// The command with every way out leading to `port` of this machine.
fn command(home: &Path, port: u16, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_superfluid"));
    let proxy = format!("http://127.0.0.1:{port}");
    for name in ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        command.env(name, &proxy);
    }
    command
        .args(args)
        .env_remove("NO_PROXY")
        .env_remove("no_proxy")
        .env("SUPERFLUID_HOME", home)
        .env("HF_HOME", home.with_file_name("hf"))
        .env("HF_ENDPOINT", format!("https://127.0.0.1:{port}"))
        .env_remove("HF_HUB_CACHE")
        .env_remove("SUPERFLUID_WORKER_LLAMACPP")
        .env_remove("SUPERFLUID_LLAMA_LIB")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

#[test]
fn case_i14_offline_and_local_commands_connect_to_nobody() {
    let (temp, home) = home();
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let port = listener.local_addr().expect("bound").port();
    pack(temp.path(), "a.tar.gz", "x");
    let archive = temp.path().join("a.tar.gz").display().to_string();
    let model = temp.path().join("m.gguf");
    std::fs::write(&model, gguf()).expect("a model");
    let model = model.display().to_string();
    for (args, code) in [
        (&["serve", &model, "--port", "0", "--offline"][..], 1),
        (&["serve", "org/tiny-GGUF", "--port", "0", "--offline"], 1),
        (&["pull", "org/tiny-GGUF", "--offline"], 1),
        (&["runtime", "install", "llamacpp", "--dry-run", "--backend", "cpu"], 0),
        (&["runtime", "install", "llamacpp", "--from", &archive, "--backend", "cpu"], 0),
        (&["runtimes"], 0),
        (&["runtimes", &model], 0),
        (&["runtimes", "org/tiny-GGUF"], 0),
        (&["runtime", "update", "llamacpp"], 0),
        (&["runtime", "verify"], 0),
        (&["runtime", "remove", "llamacpp"], 0),
    ] {
        let output = command(&home, port, args).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
    }
    listener.set_nonblocking(true).expect("a socket");
    let asked = listener.accept().map(|_| "somebody connected");
    assert_eq!(asked.map_err(|error| error.kind()), Err(std::io::ErrorKind::WouldBlock));

    // The same ears hear a command that does ask.
    listener.set_nonblocking(false).expect("a socket");
    for args in [&["runtime", "install", "llamacpp", "--backend", "cpu"][..], &["pull", "org/tiny-GGUF"]] {
        let mut child = command(&home, port, args).spawn().expect("it runs");
        let heard = listener.accept();
        child.kill().and_then(|()| child.wait().map(drop)).expect("it is gone");
        assert!(heard.is_ok(), "{args:?}");
    }
}

/// In a network of its own without an interface there is nobody to reach, and no resolver to ask.
#[cfg(target_os = "linux")]
#[test]
fn case_i14_a_local_archive_installs_where_there_is_no_network() {
    let (temp, home) = home();
    pack(temp.path(), "a.tar.gz", "x");
    let alone = |args: &[&str]| {
        Command::new("unshare")
            .args(["-rn", env!("CARGO_BIN_EXE_superfluid")])
            .args(args)
            .current_dir(temp.path())
            .env("SUPERFLUID_HOME", &home)
            .env_remove("SUPERFLUID_WORKER_LLAMACPP")
            .output()
    };
    match alone(&["--version"]) {
        Ok(output) if output.status.success() => {}
        other => {
            eprintln!("SKIPPED: this machine makes no network of its own for a test: {other:?}");
            return;
        }
    }
    let output = alone(&["runtime", "install", "llamacpp", "--from", "./a.tar.gz", "--backend", "cpu"]);
    let output = output.expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("warning: "), "{said}");
    // A name that would have to be looked up is not, and the refusal comes at once.
    let output = alone(&["pull", "org/tiny-GGUF", "--offline"]).expect("it runs");
    assert_eq!(output.status.code(), Some(1));
}
