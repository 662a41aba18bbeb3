//! pip does not outlive the superfluid that started it, nor a request that is given up.

use super::{Mac, hex, with_index};
use crate::tgz::{file, tgz};
use crate::world::settings;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;
use superfluid_core::install::machine::{Event, Machine, Settings};
use superfluid_core::install::{Index, Plan, Source};
use superfluid_core::runtime::RuntimeId;
use superfluid_io_blocking::Cancel;
use superfluid_io_blocking::install::{self, Reporter};

/// A plan whose index takes the question and never answers, and who hears the question.
fn silent(mac: &Mac) -> (Plan, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let port = listener.local_addr().expect("bound").port();
    let url = format!("https://127.0.0.1:{port}/simple/");
    (with_index(mac.folder_plan(), Index::Url { url }), listener)
}

/// Waits until pip asks.
fn question(listener: &TcpListener) -> TcpStream {
    let (mut question, _) = listener.accept().expect("pip asks");
    assert!(question.read(&mut [0; 1024]).expect("it says hello") > 0);
    question
}

/// Waits until the connection ends, as it does when pip does, long before pip's own patience would.
fn ends(mut question: TcpStream) {
    question.set_read_timeout(Some(Duration::from_secs(60))).expect("a limit");
    loop {
        match question.read(&mut [0; 1024]) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionReset => break,
            Err(error) => panic!("pip is still there: {error}"),
        }
    }
}

#[test]
fn case_i02_killed_while_pip_runs_it_takes_pip_along_and_leaves_no_install() {
    let mac = Mac::new();
    let (plan, listener) = silent(&mac);
    let mut child =
        mac.command(&plan).env("no_proxy", "*").env("PIP_TIMEOUT", "900").spawn().expect("a child");
    let question = question(&listener);
    child.kill().expect("SIGKILL");
    child.wait().expect("it is gone");
    ends(question);
    assert!(mac.names().iter().all(|name| name.starts_with('.')), "{:?}", mac.names());
    let (success, said) = mac.install(&mac.folder_plan(), &[]);
    assert!(success, "{said}");
    assert_eq!(mac.names(), [super::NAME, "current"]);
}

struct GivesUp(Cancel);

impl Reporter for GivesUp {
    fn event(&mut self, _: &Event) {}

    fn cancel(&self) -> Cancel {
        self.0.clone()
    }
}

#[test]
fn given_up_while_pip_runs_it_ends_all_of_it_and_leaves_nothing() {
    let mac = Mac::new();
    let said = mac.path("said");
    mknodat(CWD, &said, FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("a FIFO");
    // Starts something of its own, which has the FIFO open too.
    let python = format!("#!/bin/sh\nexec 3> '{}'\necho began >&3\nsleep 900\n", said.display());
    let bytes =
        tgz(&[file("python/bin/python3", python.as_bytes(), 0o755), file("python/lib/x", b"x", 0o644)]);
    let mut plan = mac.folder_plan();
    let path = mac.path("slow.tar.gz");
    std::fs::write(&path, &bytes).expect("written");
    plan.assets[0].source = Source::File { path: path.display().to_string() };
    (plan.assets[0].size, plan.assets[0].sha256) = (Some(bytes.len() as u64), Some(hex(&bytes)));
    let adapter = mac.path("superfluid-worker-mlx").display().to_string();
    let settings = Settings { adapter: Some(adapter), ..settings() };
    let mut machine = Machine::install(vec![plan], settings).expect("plans");
    let mut reporter = GivesUp(Cancel::default());
    let cancel = reporter.0.clone();
    let heard = std::thread::spawn(move || {
        let mut pipe = File::open(&said).expect("the FIFO");
        pipe.read_exact(&mut [0; 5]).expect("it began");
        cancel.now();
        // Ends once nobody has it open any more.
        pipe.read_to_end(&mut Vec::new()).expect("it ends");
    });
    let refusal = install::run(&mut machine, RuntimeId::Mlx, &mac.dir, &mut reporter).expect_err("given up");
    assert_eq!(refusal.code, "cancelled");
    heard.join().expect("all of it is gone");
    assert_eq!(mac.names(), Vec::<String>::new());
}
