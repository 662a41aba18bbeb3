//! What a person sees: whole sessions of commands, their output, and their exit codes.

use crate::command::{home, pack};
use crate::pull::hub::{File, Hub, noise};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// The command with arguments, in the session's world.
type Commands<'a> = dyn Fn(&[&str]) -> Command + 'a;

/// A session, as it would stand in a terminal.
struct Session<'a> {
    temp: &'a Path,
    command: Box<Commands<'a>>,
    text: String,
}

impl Session<'_> {
    fn run(&mut self, args: &[&str]) {
        let output = (self.command)(args).output().expect("it runs");
        let shown = args.join(" ");
        let _ = writeln!(self.text, "$ superfluid {shown}");
        for (mark, bytes) in [("", &output.stdout), ("! ", &output.stderr)] {
            for line in String::from_utf8_lossy(bytes).lines() {
                let _ = writeln!(self.text, "{mark}{line}");
            }
        }
        let _ = writeln!(self.text, "exit {}\n", output.status.code().unwrap_or(-1));
    }

    /// The session with what differs from run to run left out.
    fn told(self) -> String {
        let temp = self.temp.display().to_string();
        let bin =
            Path::new(env!("CARGO_BIN_EXE_superfluid")).parent().expect("a folder").display().to_string();
        plain(&self.text.replace(&temp, "[temp]").replace(&bin, "[bin]"))
    }
}

/// Digests and ports by what they are.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut word = String::new();
    let flush = |word: &mut String, plain: &mut String| {
        let hex = word.bytes().all(|b| b.is_ascii_hexdigit());
        let port =
            plain.ends_with("localhost:") && word.bytes().all(|b| b.is_ascii_digit()) && !word.is_empty();
        match word.len() {
            40 | 64 if hex => plain.push_str("[digest]"),
            _ if port => plain.push_str("[port]"),
            _ => plain.push_str(word),
        }
        word.clear();
    };
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            word.push(c);
            continue;
        }
        flush(&mut word, &mut plain);
        plain.push(c);
    }
    flush(&mut word, &mut plain);
    plain
}

/// Runtime commands in a home of their own, from the folder it lies in.
fn runtimes<'a>(temp: &'a Path, home: &'a Path) -> Session<'a> {
    let command = move |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_superfluid"));
        command.args(args).current_dir(temp).env("SUPERFLUID_HOME", home);
        command.env_remove("SUPERFLUID_WORKER_LLAMACPP").env_remove("SUPERFLUID_LLAMA_LIB");
        command
    };
    Session { temp, command: Box::new(command), text: String::new() }
}

#[test]
fn an_install_and_what_follows() {
    let (temp, home) = home();
    pack(temp.path(), "a.tar.gz", "x");
    std::fs::write(temp.path().join("junk.tar.gz"), "not an archive").expect("a file");
    let mut session = runtimes(temp.path(), &home);
    let install = ["runtime", "install", "llamacpp", "--backend", "cpu", "--from"];
    for archive in
        ["junk.tar.gz", "gone.tar.gz", "https://127.0.0.1:1/a.tar.gz", "https://me:secret@127.0.0.1/a.tar.gz"]
    {
        session.run(&[&install[..], &[archive]].concat());
    }
    session.run(&[&install[..], &["a.tar.gz", "--sha256", "63"]].concat());
    session.run(&[&install[..], &["a.tar.gz", "--sha256", &"0".repeat(64)]].concat());
    session.run(&[&install[..], &["a.tar.gz"]].concat());
    session.run(&[&install[..], &["a.tar.gz"]].concat());
    session.run(&["runtime", "update", "llamacpp"]);
    session.run(&["runtime", "use", "llamacpp", "b9-cpu"]);
    session.run(&["runtime", "use", "llamacpp", "b11284-cpu"]);
    session.run(&["runtime", "verify"]);
    std::fs::write(home.join("runtimes/llamacpp/b11284-cpu/lib/libok.so"), "other").expect("a change");
    std::fs::write(home.join("runtimes/llamacpp/b11284-cpu/lib/extra.so"), "more").expect("a file");
    session.run(&["runtime", "verify", "llamacpp"]);
    session.run(&["runtime", "remove", "llamacpp", "b9-cpu"]);
    session.run(&["runtime", "remove", "llamacpp"]);
    session.run(&["runtime", "remove", "llamacpp"]);
    session.run(&["runtime", "repair", "llamacpp"]);
    insta::assert_snapshot!(session.told());
}

#[test]
fn command_lines_that_cannot_be_meant() {
    let (temp, home) = home();
    let mut session = runtimes(temp.path(), &home);
    for args in [
        &["runtime", "install", "nothing"][..],
        &["runtime", "install", "llamacpp", "--version", "../b1", "--untested"],
        &["runtime", "remove", "llamacpp", "../x"],
        &["runtime", "use", "llamacpp"],
        &["pull", "tiny"],
        &["pull", "org/tiny-GGUF", "--revision", ".."],
    ] {
        session.run(args);
    }
    insta::assert_snapshot!(session.told());
}

#[test]
fn a_pull_and_what_may_go_wrong_with_it() {
    let hub = Hub::new(&[
        File::small("README.md", b"read me"),
        File::large("tiny-Q4_K_M.gguf", &noise(3000)),
        File::large("tiny-Q8_0.gguf", &noise(5000)),
    ]);
    let mut session =
        Session { temp: hub.temp.path(), command: Box::new(|args| hub.command(args)), text: String::new() };
    for args in [
        &["pull", "org/tiny-GGUF", "--offline"][..],
        &["pull", "org/tiny-GGUF"],
        &["pull", "org/tiny-GGUF"],
        &["pull", "org/tiny-GGUF", "--offline"],
        &["pull", "org/tiny-GGUF:Q2_K"],
        &["pull", "org/tiny-GGUF", "--runtime", "mlx"],
        &["pull", "org/other-GGUF"],
        &["pull", "org/plain"],
    ] {
        session.run(args);
    }
    insta::assert_snapshot!(session.told());
}

/// The keys of a JSON value, each with what is in it; of a list, its first value's.
fn shape(value: &serde_json::Value, depth: usize, text: &mut String) {
    match value {
        serde_json::Value::Object(fields) => {
            for (key, value) in fields {
                let _ = writeln!(text, "{}{key}", "  ".repeat(depth));
                shape(value, depth + 1, text);
            }
        }
        serde_json::Value::Array(list) => {
            list.first().into_iter().for_each(|first| shape(first, depth, text));
        }
        _ => {}
    }
}

/// What `docs/json.md` says stays.
#[test]
fn the_fields_that_json_has() {
    let (temp, home) = home();
    pack(temp.path(), "a.tar.gz", "x");
    let session = runtimes(temp.path(), &home);
    let mut told = String::new();
    for args in [
        &["runtime", "install", "llamacpp", "--backend", "cpu", "--dry-run", "--json"][..],
        &["runtime", "install", "llamacpp", "--backend", "cpu", "--from", "a.tar.gz", "--json"],
        &["runtimes", "--json"],
        &["runtimes", "org/m-GGUF", "--json"],
        &["runtime", "use", "llamacpp", "b11284-cpu", "--json"],
        &["runtime", "verify", "--json"],
        &["runtime", "update", "llamacpp", "--json"],
        &["runtime", "remove", "llamacpp", "--json"],
    ] {
        let output = (session.command)(args).output().expect("it runs");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        let value = serde_json::from_slice(&output.stdout).expect("JSON alone on stdout");
        let _ = writeln!(told, "superfluid {}", args.join(" "));
        shape(&value, 1, &mut told);
    }
    insta::assert_snapshot!(told);
}
