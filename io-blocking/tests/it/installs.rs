//! Whole installs on a real file system: what was there before, what goes wrong, what is left.

use crate::tgz::{base, base_with, file, tgz, worker};
use crate::world::{World, checked, name, plan, tree};
use sha2::{Digest, Sha256};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use superfluid_core::install::archive::Shape;
use superfluid_core::install::machine::{Event, Machine};
use superfluid_core::runtime::RuntimeId;
use superfluid_io_blocking::install::look;

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn an_install_is_placed_whole_and_is_the_default() {
    let world = World::new();
    let bytes = tgz(&[base()]);
    let path = world.put("a.tar.gz", &bytes);
    let (result, events) = world.install_plans(vec![checked(plan("b1", "cpu", &path), &sha256(&bytes))]);
    let finished = result.expect("it installs");
    assert_eq!((finished.installed, finished.current), (Some(name("b1-cpu")), Some(name("b1-cpu"))));
    assert!(finished.report.expect("the check ran").devices[0].carries("cpu"));
    assert_eq!(world.names(), ["b1-cpu", "current"]);
    assert_eq!(std::fs::read_link(world.dir.join("current")).expect("a link"), Path::new("b1-cpu"));
    let manifest = std::fs::read_to_string(world.dir.join("current/runtime.json")).expect("a manifest");
    let manifest: serde_json::Value = serde_json::from_str(&manifest).expect("JSON");
    assert_eq!((&manifest["version"], &manifest["backend"]), (&"b1".into(), &"cpu".into()));
    assert_eq!(manifest["sources"][0]["sha256"], sha256(&bytes));
    assert!(events.iter().any(|event| matches!(event, Event::Verified { .. })));
    assert!(
        events
            .iter()
            .any(|event| matches!(event, Event::Progress { done, .. } if *done == bytes.len() as u64))
    );
}

#[test]
fn case_i17_a_flipped_byte_is_refused_with_both_digests() {
    let world = World::new();
    let mut bytes = tgz(&[base()]);
    let expected = sha256(&bytes);
    bytes[100] ^= 1;
    let path = world.put("a.tar.gz", &bytes);
    let (result, events) = world.install_plans(vec![checked(plan("b1", "cpu", &path), &expected)]);
    let message = result.expect_err("it was changed").message;
    assert!(message.contains(&expected) && message.contains(&sha256(&bytes)), "{message}");
    assert!(!events.iter().any(|event| matches!(event, Event::Unpacking { .. })));
    assert_eq!(world.names(), Vec::<String>::new());
}

#[test]
fn case_i01_what_a_dead_run_left_is_swept_whatever_it_is() {
    let world = World::new();
    let outside = world.temp.path().join("outside");
    std::fs::create_dir(&outside).expect("a folder");
    std::fs::write(outside.join("keep"), "x").expect("a file");
    std::fs::create_dir_all(world.dir.join(".stage-1-a-0/tree/lib")).expect("a folder");
    std::fs::write(world.dir.join(".stage-1-a-0/tree/lib/x"), "x").expect("a file");
    std::fs::set_permissions(world.dir.join(".stage-1-a-0/tree/lib"), std::fs::Permissions::from_mode(0o555))
        .expect("a mode");
    std::fs::write(world.dir.join(".stage-2-b-0"), "").expect("a file");
    std::fs::File::create(world.dir.join(".stage-3-c-0"))
        .and_then(|file| file.set_len(1 << 30))
        .expect("a file");
    symlink(&outside, world.dir.join(".stage-4-d-0")).expect("a link");
    symlink("nowhere", world.dir.join(".new-current")).expect("a link");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        world.dir.join(".stage-5-e-0"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .expect("a FIFO");
    world.install(&tgz(&[base()])).expect("no clean-up is needed");
    assert_eq!(world.names(), ["b1-cpu", "current"]);
    assert!(outside.join("keep").exists(), "swept through a link");
}

#[test]
fn case_w05_what_stands_at_the_installs_name_is_replaced_itself() {
    let outside = |world: &World| {
        let outside = world.temp.path().join("else");
        std::fs::create_dir(&outside).expect("a folder");
        outside
    };
    let world = World::new();
    std::fs::create_dir_all(&world.dir).expect("a folder");
    let target = outside(&world);
    symlink(&target, world.dir.join("b1-cpu")).expect("a link");
    world.install(&tgz(&[base()])).expect("the link is replaced");
    assert_eq!(std::fs::read_dir(&target).expect("there").count(), 0, "it wrote through the link");
    assert!(world.dir.join("b1-cpu").symlink_metadata().expect("there").is_dir());

    for make in [
        (|path: &Path| symlink("nowhere", path)) as fn(&Path) -> std::io::Result<()>,
        |path| std::fs::write(path, "a file"),
        |path| std::fs::create_dir(path),
    ] {
        let world = World::new();
        std::fs::create_dir_all(&world.dir).expect("a folder");
        make(&world.dir.join("b1-cpu")).expect("made");
        // A failed install leaves even that as it was.
        let before = tree(&world.dir);
        world.install(b"no archive").expect_err("no archive");
        let after: Vec<_> = tree(&world.dir).into_iter().filter(|(path, _)| path != ".lock").collect();
        assert_eq!(after, before);
        world.install(&tgz(&[base()])).expect("it is replaced");
        assert_eq!(world.names(), ["b1-cpu", "current"]);
    }
}

#[test]
fn case_i06_a_home_behind_links_is_followed_and_current_is_relative() {
    let world = World::new();
    let real = world.temp.path().join("elsewhere");
    std::fs::create_dir_all(real.join("real-runtimes")).expect("a folder");
    symlink(&real, world.temp.path().join("home")).expect("a link");
    symlink("real-runtimes", real.join("runtimes")).expect("a link");
    world.install(&tgz(&[base()])).expect("links above are followed");
    let current = real.join("real-runtimes/llamacpp/current");
    assert_eq!(std::fs::read_link(&current).expect("a link"), Path::new("b1-cpu"));
    assert!(current.join("runtime.json").exists());
}

#[test]
fn case_i13_a_build_that_fails_its_check_leaves_the_old_one_byte_for_byte() {
    let world = World::new();
    world.install(&tgz(&[base()])).expect("the old one");
    let before = tree(&world.dir);
    let path = world.put("new.tar.gz", &tgz(&[base_with("#!/bin/sh\necho broken >&2\nexit 1\n")]));
    let (result, _) = world.install_plans(vec![plan("b2", "cpu", &path)]);
    let refusal = result.expect_err("its check fails");
    assert!(
        refusal.message.contains("exit status 1") && refusal.message.contains("broken"),
        "{}",
        refusal.message
    );
    assert_eq!(tree(&world.dir), before);
}

#[test]
fn case_b10_the_loaders_words_reach_the_user() {
    let world = World::new();
    let glibc = "#!/bin/sh\necho \"w: version \\`GLIBC_2.38' not found (required by w)\" >&2\nexit 1\n";
    assert!(world.refused(&tgz(&[base_with(glibc)])).contains("GLIBC_2.38' not found"));
    assert!(world.refused(&tgz(&[base_with("#!/lib/ld-missing.so\n")])).contains("loader"));
    assert!(world.refused(&tgz(&[base_with("#!/bin/sh\nkill -ILL $$\n")])).contains("SIGILL"));
    assert!(world.refused(&tgz(&[base_with("#!/bin/sh\necho ok\n")])).contains("cannot be read"));
}

#[test]
fn case_b13_a_backend_without_a_device_falls_to_the_next_plan() {
    let world = World::new();
    let first = world.put("first.tar.gz", &tgz(&[base_with(&worker(&["cpu"]))]));
    let second = world.put("second.tar.gz", &tgz(&[base_with(&worker(&["vulkan", "cpu"]))]));
    let (result, events) =
        world.install_plans(vec![plan("b1", "cuda", &first), plan("b1", "vulkan", &second)]);
    assert_eq!(result.expect("vulkan stands").installed, Some(name("b1-vulkan")));
    assert!(events.iter().any(|event| matches!(event, Event::NextPlan { .. })));
    assert_eq!(world.names(), ["b1-vulkan", "current"]);
}

#[test]
fn case_i09_a_missing_archive_does_not_fall_to_the_next_plan() {
    let world = World::new();
    let second = world.put("second.tar.gz", &tgz(&[base()]));
    let gone = world.temp.path().join("gone.tar.gz").display().to_string();
    let (result, _) = world.install_plans(vec![plan("b1", "cuda", &gone), plan("b1", "cpu", &second)]);
    assert!(result.expect_err("it is not there").message.contains("gone.tar.gz"));
    assert_eq!(world.names(), Vec::<String>::new());
    let folder = world.temp.path().display().to_string();
    world.install_plans(vec![plan("b1", "cpu", &folder)]).0.expect_err("a folder is no archive");
}

#[test]
fn the_adapter_is_copied_where_the_archive_has_no_worker() {
    let world = World::new();
    let adapter = world.put("adapter", worker(&["cpu"]).as_bytes());
    let path = world
        .put("a.tar.gz", &tgz(&[file("l/libllama.so", b"ELF", 0o644), file("l/libggml.so", b"ELF", 0o644)]));
    let settings =
        superfluid_core::install::machine::Settings { adapter: Some(adapter), ..crate::world::settings() };
    let machine = Machine::install(vec![plan("b1", "cpu", &path)], settings).expect("plans");
    world.edit(machine).expect("it installs");
    assert!(world.dir.join("current").join(Shape::of("llamacpp").worker()).exists());
    assert!(world.dir.join("current/lib/libggml.so").exists());
    let none = world.install_plans(vec![plan("b2", "cpu", &path)]).0.expect_err("no adapter");
    assert_eq!(none.code, "no_adapter");
}

#[test]
fn pinning_and_removing_keep_the_default_right() {
    let world = World::new();
    for version in ["b1", "b2"] {
        let path = world.put("a.tar.gz", &tgz(&[base(), file("sf/lib/v", version.as_bytes(), 0o644)]));
        world.install_plans(vec![plan(version, "cpu", &path)]).0.expect("it installs");
    }
    let current = || std::fs::read_link(world.dir.join("current")).ok();
    assert_eq!(current().as_deref(), Some(Path::new("b2-cpu")));
    world.edit(Machine::pin(name("b1-cpu"))).expect("it pins");
    assert_eq!(current().as_deref(), Some(Path::new("b1-cpu")));
    assert_eq!(std::fs::read_to_string(world.dir.join("pinned")).expect("a file"), "b1-cpu\n");
    world.edit(Machine::remove(Some(name("b1-cpu")), "1-a").expect("a nonce")).expect("it removes");
    assert_eq!(current().as_deref(), Some(Path::new("b2-cpu")));
    assert_eq!(world.names(), ["b2-cpu", "current"]);
    let missing =
        world.edit(Machine::remove(Some(name("b1-cpu")), "1-b").expect("a nonce")).expect_err("gone");
    assert_eq!(missing.code, "no_such_install");
    world.edit(Machine::remove(None, "1-c").expect("a nonce")).expect("it removes");
    assert_eq!(world.names(), Vec::<String>::new());
}

#[test]
fn a_folder_named_current_is_no_link_to_replace() {
    let world = World::new();
    std::fs::create_dir_all(world.dir.join("current/mine")).expect("a folder");
    let before = tree(&world.dir);
    let message = world.install(&tgz(&[base()])).expect_err("it is in the way").message;
    assert!(message.contains("current"), "{message}");
    let after: Vec<_> = tree(&world.dir).into_iter().filter(|(path, _)| path != ".lock").collect();
    assert_eq!(after, before);
}

#[test]
fn case_i03_a_lock_that_cannot_be_taken_is_named() {
    let world = World::new();
    std::fs::create_dir_all(&world.dir).expect("a folder");
    symlink("nowhere", world.dir.join(".lock")).expect("a link");
    let message = world.install(&tgz(&[base()])).expect_err("the lock file is a link").message;
    assert!(message.contains("home/runtimes/llamacpp/.lock"), "{message}");
}

/// A copy of a home that follows links makes a folder of `current`; anything may lie at `pinned`.
#[test]
fn a_folder_in_the_place_of_a_link_or_the_pin_is_named_with_what_to_do() {
    let world = World::new();
    world.install(&tgz(&[base()])).expect("it installs");
    for place in ["current", "pinned"] {
        let path = world.dir.join(place);
        // Only `current` may be there yet.
        let _ = std::fs::remove_file(&path);
        std::fs::create_dir(&path).expect("a folder");
        std::fs::write(path.join("mine"), "mine").expect("a file");
        let refusal = world.edit(Machine::pin(name("b1-cpu"))).expect_err("a folder is there");
        assert_eq!(refusal.code, "folder_in_the_way");
        let shown = path.display().to_string();
        assert!(refusal.message.ends_with(&format!("{shown}: it is a folder")), "{}", refusal.message);
        assert!(refusal.hints[0].contains("move that folder away"), "{:?}", refusal.hints);
        assert_eq!(std::fs::read_to_string(path.join("mine")).expect("untouched"), "mine");
        std::fs::remove_dir_all(&path).expect("moved away");
    }
    world.edit(Machine::pin(name("b1-cpu"))).expect("it pins");
}

#[test]
fn an_archive_that_is_a_folder_and_a_home_that_is_a_file_are_said_so() {
    let world = World::new();
    let folder = world.temp.path().display().to_string();
    let refusal = world.install_plans(vec![plan("b1", "cpu", &folder)]).0.expect_err("a folder");
    assert_eq!(refusal.message, format!("cannot read {folder}: it is a folder"));
    assert_eq!(refusal.hints, ["pass the path of the archive itself"]);
    let locked = world.put("locked.tar.gz", b"x");
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o000)).expect("it is locked");
    // root reads it all the same, and finds no archive.
    let refusal = world.install_plans(vec![plan("b1", "cpu", &locked)]).0.expect_err("locked");
    let unread = refusal.code == "not_permitted";
    assert!(!unread || refusal.hints == ["pass the path of an archive that you may read"], "{refusal:?}");
    let file = world.put("home-file", b"x");
    let dir = Path::new(&file).join("runtimes/llamacpp");
    let refusal = look(RuntimeId::Llamacpp, &dir).expect_err("a file is no home");
    assert_eq!(refusal.code, "not_a_folder");
    assert!(refusal.message.contains("a part of this path is a file"), "{}", refusal.message);
    assert!(refusal.hints[0].contains("SUPERFLUID_HOME"), "{:?}", refusal.hints);
}

#[test]
fn a_runtimes_link_that_leads_nowhere_is_said_so() {
    let world = World::new();
    let runtimes = world.dir.parent().expect("a parent");
    std::fs::create_dir_all(runtimes.parent().expect("a home")).expect("a home");
    symlink("/nowhere/at/all", runtimes).expect("a link");
    let refusal = world.install(&tgz(&[base()])).expect_err("nowhere to place it");
    assert_eq!(refusal.code, "not_a_folder");
    assert!(refusal.message.contains("a link that leads nowhere"), "{}", refusal.message);
    assert!(refusal.hints[0].contains("SUPERFLUID_HOME"), "{:?}", refusal.hints);
}

#[test]
fn a_fifo_is_no_pin_and_nobody_waits_for_it() {
    let world = World::new();
    world.install(&tgz(&[base()])).expect("it installs");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        world.dir.join("pinned"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .expect("a FIFO");
    assert_eq!(look(RuntimeId::Llamacpp, &world.dir).expect("it reads").pinned, None);
}

#[test]
fn a_model_that_is_a_fifo_is_refused_and_nobody_waits_for_it() {
    let world = World::new();
    let path = world.temp.path().join("m.gguf");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).expect("a FIFO");
    let refusal = superfluid_io_blocking::lookup::inspect(&path).expect_err("it is no file");
    assert_eq!(refusal.message, format!("{} is neither a file nor a folder", path.display()));
}

/// What others keep in the folder under names with a dot is theirs.
#[test]
fn names_with_a_dot_that_are_not_ours_stay() {
    let world = World::new();
    std::fs::create_dir_all(world.dir.join(".stage-1-0")).expect("a leftover");
    std::fs::write(world.dir.join(".nfs01"), "theirs").expect("a file");
    world.install(&tgz(&[base()])).expect("it installs");
    assert_eq!(world.names(), [".nfs01", "b1-cpu", "current"]);
}
