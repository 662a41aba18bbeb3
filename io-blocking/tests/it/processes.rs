//! Many processes, killed ones, full disks: each child is this test binary again.

use crate::tgz::{base, base_with, file, tgz, worker};
use crate::world::{World, checked, plan};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use superfluid_core::host::{Answer, Probe};
use superfluid_core::install::Source;
use superfluid_core::install::machine::{Event, Machine};
use superfluid_core::runtime::RuntimeId;
use superfluid_io_blocking::install::{self, Reporter};
use superfluid_io_blocking::probe::ask;

const DIR: &str = "SUPERFLUID_IT_DIR";
const ARCHIVE: &str = "SUPERFLUID_IT_ARCHIVE";
/// The archive's SHA-256, where it is an address.
pub(crate) const SHA256: &str = "SUPERFLUID_IT_SHA256";

/// What a child process does: one install into the directory its environment names.
#[test]
#[ignore = "run by other tests as a child process"]
fn child_installs() {
    let (Ok(dir), Ok(archive)) = (std::env::var(DIR), std::env::var(ARCHIVE)) else {
        panic!("run as a child process only");
    };
    let mut plan = plan("b1", "cpu", &archive);
    if archive.starts_with("https://") {
        plan = checked(plan, &std::env::var(SHA256).expect("a digest"));
        plan.assets[0].source = Source::Url { url: archive };
    }
    let mut machine = Machine::install(vec![plan], crate::world::settings()).expect("plans");
    let result =
        install::run(&mut machine, RuntimeId::Llamacpp, Path::new(&dir), &mut crate::world::Heard::default());
    if let Err(refusal) = result {
        eprintln!("refused: {}\nhints: {:?}", refusal.message, refusal.hints);
        std::process::exit(1);
    }
}

/// A child process that installs `archive` into `dir`.
pub(crate) fn command(dir: &Path, archive: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command.args(["--exact", "--ignored", "--nocapture", "processes::child_installs"]);
    command
        .env(DIR, dir)
        .env(ARCHIVE, archive)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

fn start(world: &World, archive: &str) -> Child {
    command(&world.dir, archive).spawn().expect("a child")
}

fn fifo(world: &World, name: &str) -> String {
    let path = world.temp.path().join(name);
    mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("a FIFO");
    path.display().to_string()
}

/// An archive larger than a pipe holds, so that its reader has read some once it is half written.
fn large() -> Vec<u8> {
    let mut noise = 1_u32;
    let data: Vec<u8> = std::iter::repeat_with(|| {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        noise.to_be_bytes()[0]
    })
    .take(1 << 20)
    .collect();
    tgz(&[base(), file("sf/lib/noise", &data, 0o644)])
}

#[test]
fn case_i02_killed_while_it_fetches_it_leaves_nothing_in_the_way() {
    let world = World::new();
    let path = fifo(&world, "slow.tar.gz");
    let mut child = start(&world, &path);
    let bytes = large();
    let mut pipe = File::options().write(true).open(&path).expect("the child opens it too");
    pipe.write_all(&bytes[..bytes.len() / 2]).expect("the child reads");
    child.kill().expect("SIGKILL");
    child.wait().expect("it is gone");
    let names = world.names();
    assert!(names.len() == 1 && names[0].starts_with(".stage-"), "{names:?}");
    world.install(&bytes).expect("no clean-up is needed");
    assert_eq!(world.names(), ["b1-cpu", "current"]);
}

#[test]
fn case_i02_killed_while_it_checks_it_leaves_no_install() {
    let world = World::new();
    let (began, go_on) = (fifo(&world, "began"), fifo(&world, "go-on"));
    let waits = format!("#!/bin/sh\necho x > '{began}'\ncat '{go_on}'\n");
    let archive = world.put("waits.tar.gz", &tgz(&[base_with(&waits)]));
    let mut child = start(&world, &archive);
    let mut said = String::new();
    File::open(&began).and_then(|mut pipe| pipe.read_to_string(&mut said)).expect("the worker says so");
    child.kill().expect("SIGKILL");
    child.wait().expect("it is gone");
    drop(File::options().write(true).open(&go_on).expect("the worker still waits"));
    assert!(world.names().iter().all(|name| name.starts_with('.')), "{:?}", world.names());
    world.install(&tgz(&[base()])).expect("no clean-up is needed");
    assert_eq!(world.names(), ["b1-cpu", "current"]);
}

/// Kills the child that holds the lock as soon as it hears that we wait for it.
struct Killer<'a>(&'a mut Child, bool);

impl Reporter for Killer<'_> {
    fn event(&mut self, event: &Event) {
        if *event == Event::Waiting {
            self.1 = true;
            self.0.kill().expect("SIGKILL");
        }
    }
}

#[test]
fn case_i05_a_second_install_waits_and_a_dead_ones_lock_is_free() {
    let world = World::new();
    let path = fifo(&world, "slow.tar.gz");
    let mut child = start(&world, &path);
    let pipe = File::options().write(true).open(&path).expect("the child opens it too, and holds the lock");
    let archive = world.put("a.tar.gz", &tgz(&[base()]));
    let mut machine =
        Machine::install(vec![plan("b1", "cpu", &archive)], crate::world::settings()).expect("plans");
    let mut killer = Killer(&mut child, false);
    install::run(&mut machine, RuntimeId::Llamacpp, &world.dir, &mut killer).expect("it installs");
    assert!(killer.1, "it had to wait");
    child.wait().expect("it is gone");
    drop(pipe);
    assert_eq!(world.names(), ["b1-cpu", "current"]);
}

#[test]
fn case_i05_ten_at_once_leave_one_whole_install() {
    let world = World::new();
    let archive = world.put("a.tar.gz", &large());
    let children: Vec<Child> = (0..10).map(|_| start(&world, &archive)).collect();
    for child in children {
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(world.names(), ["b1-cpu", "current"]);
}

#[test]
fn case_i05_installs_pins_and_removals_at_once_never_leave_a_half_one() {
    let world = World::new();
    let archive = world.put("a.tar.gz", &tgz(&[base()]));
    world.install(&tgz(&[base()])).expect("it installs");
    std::thread::scope(|scope| {
        for turn in 0..3 {
            let (world, archive) = (&world, &archive);
            scope.spawn(move || {
                for round in 0..10 {
                    let name = crate::world::name("b1-cpu");
                    let result = match (turn + round) % 3 {
                        0 => world.install_plans(vec![plan("b1", "cpu", archive)]).0,
                        1 => world.edit(Machine::pin(name)),
                        _ => world.edit(Machine::remove(Some(name), "1-a").expect("a nonce")),
                    };
                    if let Err(refusal) = result {
                        assert_eq!(refusal.code, "no_such_install", "{}", refusal.message);
                    }
                }
            });
        }
    });
    world.install(&tgz(&[base()])).expect("it installs");
    assert_eq!(world.names().iter().filter(|name| name.starts_with('.')).count(), 0, "{:?}", world.names());
}

#[test]
fn case_x09_the_staged_worker_gets_no_credentials() {
    let world = World::new();
    let tells = "#!/bin/sh\nenv | grep -E 'TOKEN|KEY|PASSWORD' | sort | tr '\\n' ' ' >&2\nexit 1\n";
    let archive = world.put("tells.tar.gz", &tgz(&[base_with(tells)]));
    let mut command = command(&world.dir, &archive);
    command.env("HF_TOKEN", "secret1").env("my_api_KEY", "secret2").env("PGPASSWORD", "secret3");
    let output = command.env("MONKEY", "kept").output().expect("a child");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("MONKEY=kept") && !said.contains("secret"), "{said}");
}

/// Runs the child with its home on a small file system of its own, mounted in its own namespace.
/// `None` where this machine does not allow that.
fn on_mount(world: &World, options: &str, archive: &str) -> Option<(bool, String)> {
    let mount = world.temp.path().join("mount");
    std::fs::create_dir(&mount).expect("a folder");
    let exe = std::env::current_exe().expect("this test");
    let script = r#"mount -t tmpfs -o "$1" tmpfs "$2" || exit 77
        "$3" --exact --ignored --nocapture processes::child_installs; code=$?
        echo "left: $(ls -A "$2/runtimes/llamacpp" | tr '\n' ' ')" >&2; exit $code"#;
    let output = Command::new("unshare")
        .args(["-rm", "sh", "-c", script, "sh", options])
        .args([&mount, &exe])
        .env(DIR, mount.join("runtimes/llamacpp"))
        .env(ARCHIVE, archive)
        .output()
        .ok()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let allowed = output.status.code() != Some(77) && said.contains("left: ");
    allowed.then(|| (output.status.success(), said))
}

#[test]
fn case_i02_a_full_disk_is_said_and_leaves_nothing() {
    let world = World::new();
    let archive = world.put("large.tar.gz", &large());
    // Room for the archive, not for what is in it.
    let Some((success, said)) = on_mount(&world, "size=1536k", &archive) else {
        eprintln!("this machine lets no test mount a file system");
        return;
    };
    assert!(!success && said.contains("no space left") && said.contains("SUPERFLUID_HOME"), "{said}");
    assert!(said.contains("left: .lock \n"), "{said}");
}

#[test]
fn case_i07_a_home_mounted_noexec_is_named() {
    let world = World::new();
    let archive = world.put("a.tar.gz", &tgz(&[base_with(&worker(&["cpu"]))]));
    let Some((success, said)) = on_mount(&world, "noexec", &archive) else {
        eprintln!("this machine lets no test mount a file system");
        return;
    };
    let mount = world.temp.path().join("mount").display().to_string();
    assert!(
        !success && said.contains("noexec") && said.contains(&mount) && said.contains("SUPERFLUID_HOME"),
        "{said}"
    );
    assert!(said.contains("left: .lock \n"), "{said}");
}

#[test]
fn probes_are_bounded_in_time_and_output() {
    let run = |script: &str, limit_ms, max_bytes| {
        ask(&Probe::Run {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), script.into()],
            limit_ms,
            max_bytes,
        })
    };
    assert_eq!(run("sleep 600", 50, 100), Answer::TimedOut);
    let Answer::Ran { code, stdout, .. } = run("yes | head -c 1000000; exit 3", 60_000, 100) else {
        panic!("it ends");
    };
    assert_eq!((code, stdout.len()), (Some(3), 100));
    let missing = Probe::Run { program: "/no/such".into(), args: Vec::new(), limit_ms: 50, max_bytes: 1 };
    assert_eq!(ask(&missing), Answer::Missing);
    assert_eq!(ask(&Probe::Exists { path: "/".into() }), Answer::Present);
}
