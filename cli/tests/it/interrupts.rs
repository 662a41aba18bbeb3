//! Signals in the middle of an install.

use crate::command::{home, pack};
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// An install from a FIFO, which has read the first half of the archive and waits for the rest.
fn waiting(folder: &Path, home: &Path) -> (Child, File) {
    waiting_as(Command::new(env!("CARGO_BIN_EXE_superfluid")), folder, home)
}

/// The same by a command of the test's own.
fn waiting_as(mut command: Command, folder: &Path, home: &Path) -> (Child, File) {
    pack(folder, "a.tar.gz", "x");
    let fifo = folder.join("slow.tar.gz");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo runs").success());
    let child = command
        .args(["runtime", "install", "llamacpp", "--backend", "cpu", "--from"])
        .arg(&fifo)
        .env("SUPERFLUID_HOME", home)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let bytes = std::fs::read(folder.join("a.tar.gz")).expect("an archive");
    let mut pipe = File::options().write(true).open(&fifo).expect("it opens it too");
    pipe.write_all(&bytes[..bytes.len() / 2]).expect("it reads");
    (child, pipe)
}

fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
}

fn names(home: &Path) -> Vec<std::ffi::OsString> {
    let entries = std::fs::read_dir(home.join("runtimes/llamacpp")).expect("a folder");
    entries.map(|entry| entry.expect("an entry").file_name()).collect()
}

#[test]
fn case_i02_a_signal_undoes_an_install_and_exits_as_other_tools_do() {
    for signal in ["-INT", "-TERM", "-HUP"] {
        let (temp, home) = home();
        let (mut child, _pipe) = waiting(temp.path(), &home);
        send(signal, &child);
        assert_eq!(child.wait().expect("it ends").code(), Some(130), "{signal}");
        assert_eq!(names(&home), [".lock"], "{signal}");
        let (mut said, mut data) = (String::new(), String::new());
        child.stderr.take().expect("piped").read_to_string(&mut said).expect("text");
        child.stdout.take().expect("piped").read_to_string(&mut data).expect("text");
        assert!(said.contains("given up on request; nothing was changed") && data.is_empty(), "{said}{data}");
    }
}

#[test]
fn case_i05_one_that_waits_for_another_can_be_given_up() {
    let (temp, home) = home();
    let (mut first, pipe) = waiting(temp.path(), &home);
    let mut second = Command::new(env!("CARGO_BIN_EXE_superfluid"))
        .args(["runtime", "remove", "llamacpp"])
        .env("SUPERFLUID_HOME", &home)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut log = std::io::BufReader::new(second.stderr.take().expect("piped"));
    let mut line = String::new();
    std::io::BufRead::read_line(&mut log, &mut line).expect("text");
    assert!(line.contains("waiting for another install"), "{line}");
    send("-INT", &second);
    assert_eq!(second.wait().expect("it ends").code(), Some(130));
    drop(pipe);
    assert_eq!(first.wait().expect("it ends").code(), Some(1), "half an archive is none");
    assert_eq!(names(&home), [".lock"]);
}

/// The command, started to ignore these signals as `nohup` and a shell's background jobs have it.
pub(crate) fn ignoring(signals: &str) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &format!("trap '' {signals}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_superfluid")]);
    shell
}

#[test]
fn an_install_goes_on_after_a_signal_it_was_started_to_ignore() {
    let (temp, home) = home();
    let (mut child, pipe) = waiting_as(ignoring("HUP INT"), temp.path(), &home);
    send("-HUP", &child);
    send("-INT", &child);
    drop(pipe);
    assert_eq!(child.wait().expect("it ends").code(), Some(1), "half an archive is none");
    let (temp, home) = self::home();
    let (mut child, _pipe) = waiting_as(ignoring("HUP INT"), temp.path(), &home);
    send("-TERM", &child);
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
}
