//! The pull machine: what is there in the end, whatever happened on the way.

use super::world::{COMMIT, World, digest, drive, drive_well, git, machine, network, status};
use proptest::prelude::*;
use superfluid_core::install::machine::{Fault, FaultKind};
use superfluid_core::pull::{Action, Answer, Event, ModelId, Outcome, Revision, cache, hub};
use superfluid_core::runtime::format::Format;
use superfluid_core::{Instant, Misuse};

const SHARDS: [(&str, &str); 4] = [
    ("README.md", "read me"),
    ("Q4/m-Q4_K_M-00001-of-00002.gguf", "first part"),
    ("Q4/m-Q4_K_M-00002-of-00002.gguf", "second part"),
    ("m-Q8_0.gguf", "another"),
];

fn id() -> ModelId {
    ModelId::parse("a/m-GGUF").expect("an id")
}

/// Where the model is opened.
fn open() -> String {
    format!("models--a--m-GGUF/snapshots/{COMMIT}/Q4/m-Q4_K_M-00001-of-00002.gguf")
}

fn assert_whole(world: &World) {
    let snapshot = cache::snapshot(&id(), COMMIT);
    for (path, text) in &SHARDS[1..3] {
        assert_eq!(world.read(&format!("{snapshot}/{path}")), Some(*text));
    }
    assert_eq!(world.read("models--a--m-GGUF/refs/main"), Some(COMMIT));
    assert!(!world.cache.keys().any(|path| path.ends_with(".incomplete")), "{:?}", world.cache);
}

#[test]
fn shards_are_fetched_once_and_linked_and_the_second_pull_fetches_nothing() {
    let mut world = World::new(&SHARDS);
    let done = drive_well(machine("a/m-GGUF", Format::Gguf), &mut world);
    let pulled = done.result.clone().expect("it pulls");
    assert_eq!((pulled.path, pulled.fetched, pulled.bytes), (open(), 21, 21));
    assert_eq!(done.fetches().len(), 2);
    assert_whole(&world);
    let before = world.clone();
    let again = drive_well(machine("a/m-GGUF", Format::Gguf), &mut world);
    assert_eq!((again.fetches().len(), again.result.expect("it is there").fetched), (0, 0));
    assert_eq!(world, before);
}

#[test]
fn files_of_the_same_bytes_are_fetched_once() {
    let files = [("config.json", "{}"), ("tokenizer.json", "{}"), ("model.safetensors", "w")];
    let mut world = World::new(&files);
    let done = drive_well(machine("a/m-mlx", Format::MlxDirectory), &mut world);
    assert_eq!(done.fetches().len(), 2);
    let pulled = done.result.expect("it pulls");
    for (path, text) in files {
        assert_eq!(world.read(&format!("{}/{path}", pulled.path)), Some(text));
    }
}

#[test]
fn a_break_goes_on_where_it_was_and_so_does_the_next_pull() {
    let mut world = World::new(&SHARDS);
    let mut breaks = 0;
    let done = drive(machine("a/m-GGUF", Format::Gguf), &mut world, &mut |effect, world| {
        let Action::Fetch { to, name, resume, .. } = &effect.action else { return None };
        if breaks >= 2 {
            return Some(Outcome::Failed(Fault::new(FaultKind::Certificate, "no longer trusted")));
        }
        let have = resume.as_ref().map_or(0, |resume| usize::try_from(resume.have).expect("small"));
        breaks += 1;
        world.cache.insert(to.clone(), world.files[name][..have + 3].into());
        Some(Outcome::Broken { fault: network(), have: have as u64 + 3 })
    });
    assert_eq!(done.result.clone().expect_err("it broke off").code, "certificate_not_trusted");
    let first = "Q4/m-Q4_K_M-00001-of-00002.gguf".to_string();
    assert_eq!(done.fetches(), [(first.clone(), 0), (first.clone(), 3), (first.clone(), 6)]);
    let done = drive_well(machine("a/m-GGUF", Format::Gguf), &mut world);
    assert_eq!(done.fetches()[0], (first, 6));
    assert_eq!(done.result.expect("it pulls").fetched, 21 - 6);
    assert_whole(&world);
}

#[test]
fn case_i01_what_came_before_and_is_spoilt_or_too_long_is_thrown_away() {
    for junk in ["XXXX", "first part and more than that", "first parX", ""] {
        let mut world = World::new(&SHARDS);
        world.cache.insert(cache::partial(&id(), &digest("first part")), junk.into());
        let done = drive_well(machine("a/m-GGUF", Format::Gguf), &mut world);
        assert!(done.result.is_ok(), "{junk:?}: {:?}", done.result);
        assert_whole(&world);
    }
}

#[test]
fn case_i17_what_is_not_as_listed_is_refused_and_no_blob() {
    let mut world = World::new(&SHARDS);
    let done = drive(machine("a/m-GGUF", Format::Gguf), &mut world, &mut |effect, world| {
        let Action::Fetch { to, .. } = &effect.action else { return None };
        world.cache.insert(to.clone(), "firstXpart".into());
        Some(Outcome::Fetched { bytes: 10, hash: digest("firstXpart") })
    });
    let refusal = done.result.expect_err("another file");
    assert_eq!(refusal.code, "wrong_digest");
    assert!(
        refusal.message.contains(&digest("first part")) && refusal.message.contains(&digest("firstXpart"))
    );
    assert!(world.cache.is_empty(), "{:?}", world.cache);
}

#[test]
fn a_full_disk_is_seen_before_anything_is_fetched() {
    let mut world = World::new(&SHARDS);
    world.free = Some(20);
    let done = drive_well(machine("a/m-GGUF", Format::Gguf), &mut world);
    assert_eq!((done.fetches().len(), done.result.expect_err("21 bytes").code.as_str()), (0, "no_space"));
    world.free = Some(21);
    assert!(drive_well(machine("a/m-GGUF", Format::Gguf), &mut world).result.is_ok());
}

#[test]
fn the_hub_is_waited_for_as_long_as_it_asks_and_not_longer() {
    for (asked, delays) in [(Some(30), vec![30_000; 2]), (Some(3600), vec![]), (None, vec![500, 1_000])] {
        let mut world = World::new(&SHARDS);
        let mut times = 0;
        let done = drive(machine("a/m-GGUF", Format::Gguf), &mut world, &mut |effect, _| {
            let asks = matches!(effect.action, Action::Ask { .. });
            times += u32::from(asks);
            (asks && times <= 2).then(|| Outcome::Answered(Answer { retry_after_s: asked, ..status(429) }))
        });
        let waits: Vec<u64> = done
            .events
            .iter()
            .filter_map(|event| match event {
                Event::Retrying { after_ms, .. } => Some(*after_ms),
                _ => None,
            })
            .collect();
        assert_eq!(waits, delays, "{asked:?}");
        assert_eq!(done.result.is_ok(), !delays.is_empty());
    }
}

#[test]
fn what_cannot_pass_is_asked_once() {
    for code in [401, 403, 404] {
        let done = drive(machine("a/m-GGUF", Format::Gguf), &mut World::new(&SHARDS), &mut |effect, _| {
            matches!(effect.action, Action::Ask { .. }).then(|| Outcome::Answered(status(code)))
        });
        assert!(done.result.is_err());
        assert_eq!(done.effects.iter().filter(|e| matches!(e.action, Action::Ask { .. })).count(), 1);
    }
}

#[test]
fn another_pull_of_the_same_model_is_waited_for() {
    let mut waited = false;
    let done = drive(machine("a/m-GGUF", Format::Gguf), &mut World::new(&SHARDS), &mut |effect, _| {
        let Action::Lock { wait, .. } = &effect.action else { return None };
        waited |= wait;
        (!wait).then_some(Outcome::Busy)
    });
    assert!(waited && done.result.is_ok() && done.events.contains(&Event::Waiting));
}

#[test]
fn an_answer_of_another_kind_is_misuse_and_changes_nothing() {
    let mut one = machine("a/m-GGUF", Format::Gguf);
    let lock = one.poll_effect().expect("the lock");
    let now = Instant::from_millis(1);
    assert_eq!(one.handle_done(lock.id, Outcome::Done, now), Err(Misuse::WrongOutcome(1)));
    one.handle_done(lock.id, Outcome::Locked, now).expect("it fits");
    assert_eq!(one.handle_done(lock.id, Outcome::Locked, now), Err(Misuse::UnknownEffect(1)));
}

#[test]
fn small_files_have_gits_digest_and_their_address_is_escaped() {
    let hex = "b".repeat(40);
    let text =
        format!(r#"{{"sha":"{COMMIT}","siblings":[{{"rfilename":"a b?.json","size":3,"blobId":"{hex}"}}]}}"#);
    let listing = superfluid_core::pull::HubListing::parse(&id(), &text).expect("a listing");
    assert_eq!(listing.file(&id(), "a b?.json").expect("a file").digest, git(&hex));
    let endpoint = superfluid_core::pull::Endpoint::default();
    assert!(hub::file_url(&endpoint, &id(), COMMIT, "x/a b?.json").ends_with("/x/a%20b%3F.json"));
    let revision = Revision::new("refs/pr/1").expect("one");
    assert!(hub::listing_url(&endpoint, &id(), &revision).ends_with("/revision/refs%2Fpr%2F1?blobs=true"));
}

/// What one effect's answer is turned into.
#[derive(Clone, Debug)]
enum Mishap {
    Cut,
    Fails(FaultKind),
    Cancel,
}

proptest! {
    /// Whatever happens at whichever effect, no blob and no revision is there that is not whole, and
    /// the next pull ends well without clean-up.
    #[test]
    fn cut_failed_or_given_up_anywhere_the_next_pull_is_whole(
        at in 0_usize..20,
        mishap in prop_oneof![
            Just(Mishap::Cut),
            Just(Mishap::Cancel),
            prop_oneof![Just(FaultKind::NoSpace), Just(FaultKind::Network), Just(FaultKind::Permission)]
                .prop_map(Mishap::Fails),
        ],
    ) {
        let mut world = World::new(&SHARDS);
        let mut one = machine("a/m-GGUF", Format::Gguf);
        let mut count = 0;
        while let Some(effect) = { while one.poll_event().is_some() {} one.poll_effect() } {
            let mut outcome = world.perform(&effect.action);
            if count == at {
                match &mishap {
                    Mishap::Cut => break,
                    Mishap::Cancel => one.cancel(),
                    Mishap::Fails(kind) => outcome = Outcome::Failed(Fault::new(*kind, "it fails")),
                }
            }
            count += 1;
            one.handle_done(effect.id, outcome, Instant::from_millis(count as u64)).expect("it fits");
            one.check_invariants().expect("invariants hold");
        }
        for (path, text) in &world.cache {
            if path.contains("/blobs/") && !path.ends_with(".incomplete") {
                prop_assert!(path.ends_with(&digest(text)), "{path} holds {text:?}");
            }
        }
        if world.cache.contains_key("models--a--m-GGUF/refs/main") {
            assert_whole(&world);
        }
        world.locked = false;
        let done = drive_well(machine("a/m-GGUF", Format::Gguf), &mut world);
        prop_assert!(done.result.is_ok());
        assert_whole(&world);
    }

    /// A listing is somebody else's bytes.
    #[test]
    fn no_listing_makes_it_panic(text in "\\PC{0,200}|\\{\"sha\":\"[0-9a-f]{40}\",\"siblings\":\\[.{0,80}\\]\\}") {
        let mut world = World::new(&SHARDS);
        let done = drive(machine("a/m-GGUF", Format::Gguf), &mut world, &mut |effect, _| {
            matches!(effect.action, Action::Ask { .. })
                .then(|| Outcome::Answered(Answer { body: text.clone(), ..status(200) }))
        });
        prop_assert!(done.result.is_err());
    }
}
