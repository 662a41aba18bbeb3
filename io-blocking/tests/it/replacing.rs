//! One install in another's place: at no moment is there none.

use crate::tgz::{base, file, tgz};
use crate::world::{World, plan, settings};
use superfluid_core::Instant;
use superfluid_core::install::machine::{Machine, Purpose, Settings};
use superfluid_core::runtime::RuntimeId;
use superfluid_io_blocking::Cancel;
use superfluid_io_blocking::install::{Installer, look};

/// Repairs `b1-cpu`, as a process that is killed after so many effects; whether it was.
fn repair_cut(world: &World, cut: usize) -> bool {
    let bytes = tgz(&[base(), file("sf/lib/libmore.so", b"more", 0o644)]);
    let path = world.put("b.tar.gz", &bytes);
    let settings = Settings { purpose: Purpose::Repair, ..settings() };
    let mut machine = Machine::install(vec![plan("b1", "cpu", &path)], settings).expect("plans");
    let mut installer = Installer::new(RuntimeId::Llamacpp, &world.dir, Cancel::default());
    for _ in 0..cut {
        let Some(effect) = machine.poll_effect() else { break };
        let outcome = installer.perform(&effect.action, &mut |_| {});
        machine.handle_done(effect.id, outcome, Instant::ORIGIN).expect("it fits");
    }
    let killed = machine.poll_effect().is_some();
    assert!(killed || machine.result().is_some_and(Result::is_ok), "{:?}", machine.result());
    killed
}

#[test]
fn a_repair_killed_at_any_moment_leaves_a_whole_install_at_its_name() {
    for cut in 0.. {
        let world = World::new();
        world.install(&tgz(&[base()])).expect("it installs");
        let killed = repair_cut(&world, cut);
        for way in ["b1-cpu", "current"] {
            for part in ["bin/superfluid-worker-llamacpp", "lib/libok.so.1.2", "runtime.json"] {
                let path = world.dir.join(way).join(part);
                assert!(path.is_file(), "no {} after {cut} effects", path.display());
            }
        }
        // The next one sweeps, and ends as if nothing had been.
        assert!(!repair_cut(&world, usize::MAX));
        assert_eq!(world.names(), ["b1-cpu", "current"]);
        if !killed {
            assert!(cut > 15, "{cut} effects");
            return;
        }
    }
}

/// Where names can't be exchanged a kill may leave the name free: whoever looks puts it back.
#[test]
fn an_install_set_aside_by_a_dead_run_is_put_back_by_whoever_looks() {
    let world = World::new();
    world.install(&tgz(&[base()])).expect("it installs");
    std::fs::rename(world.dir.join("b1-cpu"), world.dir.join(".aside-b1-cpu")).expect("set aside");
    let listing = look(RuntimeId::Llamacpp, &world.dir).expect("it reads");
    assert!(listing.entries.iter().any(|entry| entry.name == "b1-cpu" && entry.worker));
    assert!(world.dir.join("current/runtime.json").is_file());
    assert_eq!(world.names(), ["b1-cpu", "current"]);
}
