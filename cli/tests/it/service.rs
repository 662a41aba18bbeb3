//! What a service manager hears.

use crate::daemon::{Daemon, command};
use std::fs;
use std::os::unix::net::UnixDatagram;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// What arrives at a socket, read as it comes: a socket holds only a few datagrams.
fn follow(socket: UnixDatagram) -> Receiver<String> {
    let (tell, told) = channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(n) = socket.recv(&mut buffer) {
            if tell.send(String::from_utf8_lossy(&buffer[..n]).into_owned()).is_err() {
                return;
            }
        }
    });
    told
}

/// All that was told up to what holds `needle`.
fn until(told: &Receiver<String>, needle: &str) -> String {
    let mut all = String::new();
    while !all.contains(needle) {
        let next = told.recv_timeout(Duration::from_secs(60));
        all += &next.unwrap_or_else(|_| panic!("nothing more before {needle:?}: {all}"));
    }
    all
}

#[test]
fn systemd_is_told_when_it_is_ready_that_it_lives_and_when_it_stops() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    let socket = follow(socket);
    let script = r#"{"mock":1,"load_ms":300}"#;
    let variables = [("NOTIFY_SOCKET", path.to_str().unwrap()), ("WATCHDOG_USEC", "1000000")];
    let mut daemon = Daemon::start_in(script, &[], &variables);
    let told = until(&socket, "READY=1");
    let loading = told.find("STATUS=loading tiny: ").expect(&told);
    assert!(loading < told.find("READY=1").unwrap(), "{told}");
    until(&socket, "WATCHDOG=1");
    #[cfg(target_os = "linux")]
    {
        let environment = fs::read(format!("/proc/{}/environ", daemon.worker())).unwrap();
        let environment = String::from_utf8_lossy(&environment);
        assert!(!environment.contains("NOTIFY_SOCKET") && !environment.contains("WATCHDOG"), "{environment}");
    }
    daemon.signal("-TERM");
    until(&socket, "STOPPING=1");
    assert_eq!(daemon.child.wait().unwrap().code(), Some(0));
}

/// The queue of the manager's socket is full when the daemon has to tell that it stops.
#[cfg(target_os = "linux")]
#[test]
fn a_manager_that_reads_late_is_still_told_of_the_end() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    let mut daemon = Daemon::start_in(r#"{"mock":1}"#, &[], &[("NOTIFY_SOCKET", path.to_str().unwrap())]);
    let filler = UnixDatagram::unbound().unwrap();
    filler.set_nonblocking(true).unwrap();
    while filler.send_to(b"", &path).is_ok() {}
    daemon.signal("-TERM");
    // Once its worker is gone there is nothing left to do but to tell.
    while !daemon.workers().is_empty() {}
    until(&follow(socket), "STOPPING=1");
    assert_eq!(daemon.child.wait().unwrap().code(), Some(0));
}

/// One that never reads does not keep the daemon from ending.
#[test]
fn a_manager_that_never_reads_holds_no_end_up_for_ever() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("notify");
    let _socket = UnixDatagram::bind(&path).unwrap();
    let filler = UnixDatagram::unbound().unwrap();
    filler.set_nonblocking(true).unwrap();
    while filler.send_to(b"", &path).is_ok() {}
    let mut daemon = Daemon::start_in(r#"{"mock":1}"#, &[], &[("NOTIFY_SOCKET", path.to_str().unwrap())]);
    daemon.signal("-TERM");
    assert_eq!(daemon.child.wait().unwrap().code(), Some(0));
}

fn unit() -> String {
    fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/superfluid.service")).unwrap()
}

/// Where the system has systemd's own checker; it warns of what an older systemd does not know, too.
#[test]
fn the_unit_of_the_docs_is_one_that_systemd_takes() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("superfluid.service");
    let command = format!("ExecStart={} ", env!("CARGO_BIN_EXE_superfluid"));
    fs::write(&path, unit().replace("ExecStart=/usr/local/bin/superfluid ", &command)).unwrap();
    let verify = Command::new("systemd-analyze").args(["--man=no", "verify"]).arg(&path).output();
    let Ok(verified) = verify else { return eprintln!("skipped: there is no systemd-analyze here") };
    let said = String::from_utf8_lossy(&verified.stderr);
    let ours: Vec<&str> = said.lines().filter(|line| line.contains("superfluid.service")).collect();
    assert!(verified.status.success() && ours.is_empty(), "{said}");
}

/// Workers confine themselves with these, which no group of older systemds holds.
#[test]
fn the_unit_of_the_docs_lets_workers_confine_themselves() {
    let unit = unit();
    let filter = unit.lines().find_map(|line| line.strip_prefix("SystemCallFilter=")).unwrap();
    for call in ["landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", "seccomp"] {
        assert!(filter.split(' ').any(|word| word == call), "{call} is not in {filter}");
    }
}

#[test]
fn the_unit_of_the_docs_gives_flags_that_are_ones() {
    let unit = unit();
    let start =
        unit.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/local/bin/superfluid ")).unwrap();
    let temp = tempfile::tempdir().unwrap();
    fs::write(temp.path().join("api-key"), "key").unwrap();
    fs::write(temp.path().join("superfluid.toml"), "port = 0\n").unwrap();
    let here = temp.path().display().to_string();
    let start = start.replace("/etc/superfluid", &here).replace("%d", &here);
    let mut args: Vec<&str> = start.split(' ').skip(1).collect();
    args.push("--check");
    let output = command(temp.path(), r#"{"mock":1}"#, &args).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}
