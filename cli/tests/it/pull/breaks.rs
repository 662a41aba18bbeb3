//! Pulls that break, are given up, or run at once.

use super::hub::{File, Hub, noise};
use super::server::{answer, bare, ok};
use std::io::Read;
use std::process::Command;

const MODEL: &str = "tiny-Q4_K_M.gguf";

fn model() -> File {
    File::large(MODEL, &noise(200_000))
}

/// The first half, with the length of the whole.
fn half() -> Vec<u8> {
    ok(&noise(200_000)[..100_000], 200_000)
}

#[test]
fn a_break_is_gone_on_with_and_so_does_the_next_pull() {
    let gone = |asked: usize| match asked {
        0 => Some((half(), false)),
        1 => Some((bare("404 Not Found"), false)),
        _ => None,
    };
    let hub = Hub::with(&[model()], Box::new(|_, _| None), Box::new(move |_, asked| gone(asked)));
    let ran = hub.run(&["pull", "org/tiny-GGUF"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("going on after"), "{}", ran.stderr);
    assert!(!hub.repo().join("refs").exists() && !hub.repo().join("snapshots").exists());
    let ran = hub.run(&["pull", "org/tiny-GGUF"]);
    assert_eq!(std::fs::read(ran.path()).expect("it"), noise(200_000));
    let ranges: Vec<_> = hub.store.asked().into_iter().map(|asked| asked.range).collect();
    let rest = Some("bytes=100000-".to_string());
    assert_eq!(ranges, [None, rest.clone(), rest]);
}

#[test]
fn case_i01_a_leftover_of_any_kind_is_no_obstacle() {
    for junk in [&b"other bytes"[..], &noise(300_000), b""] {
        let hub = Hub::new(&[model()]);
        let blobs = hub.repo().join("blobs");
        std::fs::create_dir_all(&blobs).expect("a folder");
        std::fs::write(blobs.join(format!("{}.incomplete", model().digest())), junk).expect("a leftover");
        assert_eq!(std::fs::read(hub.run(&["pull", "org/tiny-GGUF"]).path()).expect("it"), noise(200_000));
        let left: Vec<_> =
            std::fs::read_dir(&blobs).expect("a folder").map(|e| e.expect("one").file_name()).collect();
        assert_eq!(left, [model().digest().as_str()]);
    }
}

#[test]
fn case_i17_changed_bytes_are_refused_and_thrown_away() {
    let mut changed = noise(200_000);
    changed[777] ^= 1;
    let hub = Hub::with(
        &[model()],
        Box::new(|_, _| None),
        Box::new(move |_, _| Some((ok(&changed, changed.len()), false))),
    );
    let ran = hub.run(&["pull", "org/tiny-GGUF"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("is not the file the hub lists") && ran.stderr.contains(&model().digest()),
        "{}",
        ran.stderr
    );
    assert_eq!(std::fs::read_dir(hub.repo().join("blobs")).expect("a folder").count(), 0);
}

#[test]
fn a_busy_hub_is_waited_for_as_it_asks() {
    let busy = answer("429 Too Many Requests", "Retry-After: 1\r\nContent-Length: 0\r\n", b"");
    let hub = Hub::with(
        &[model()],
        Box::new(move |_, asked| (asked == 0).then(|| (busy.clone(), false))),
        Box::new(|_, _| None),
    );
    let ran = hub.run(&["pull", "org/tiny-GGUF"]);
    assert!(ran.path().exists());
    assert!(ran.stderr.contains("trying again in 1s"), "{}", ran.stderr);
}

#[test]
fn a_redirect_away_from_https_is_not_followed() {
    let away = answer("302 Found", "Location: http://127.0.0.1:1/x\r\nContent-Length: 0\r\n", b"");
    let hub = Hub::with(
        &[model()],
        Box::new(move |asked, _| asked.path.starts_with("/cached").then(|| (away.clone(), false))),
        Box::new(|_, _| None),
    );
    let ran = hub.run(&["pull", "org/tiny-GGUF"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("away from https"), "{}", ran.stderr);
}

#[test]
fn pulls_at_once_fetch_a_file_once() {
    let hub = Hub::new(&[model(), File::large("tiny-Q8_0.gguf", &noise(5000))]);
    let children: Vec<_> = (0..4).map(|_| hub.start(&["pull", "org/tiny-GGUF"])).collect();
    for child in children {
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(hub.store.asked().len(), 1);
}

/// A hub whose store sends half of the file and then falls silent.
fn silent() -> Hub {
    Hub::with(&[model()], Box::new(|_, _| None), Box::new(|_, asked| (asked == 0).then(|| (half(), true))))
}

/// Waits until half of the file has been written.
fn wait_for_half(hub: &Hub) {
    let partial = hub.repo().join("blobs").join(format!("{}.incomplete", model().digest()));
    while std::fs::metadata(&partial).map_or(0, |meta| meta.len()) < 100_000 {
        std::thread::yield_now();
    }
}

#[test]
fn case_i02_ctrl_c_ends_a_pull_and_keeps_what_has_come() {
    for signal in ["-INT", "-TERM"] {
        let hub = silent();
        let mut child = hub.start(&["pull", "org/tiny-GGUF"]);
        wait_for_half(&hub);
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
        assert_eq!(child.wait().expect("it ends").code(), Some(130));
        let mut said = String::new();
        child.stderr.take().expect("piped").read_to_string(&mut said).expect("text");
        assert!(said.contains("given up on request") && said.contains("pull again to go on"), "{said}");
        assert_eq!(std::fs::read(hub.run(&["pull", "org/tiny-GGUF"]).path()).expect("it"), noise(200_000));
        assert_eq!(hub.store.asked()[1].range.as_deref(), Some("bytes=100000-"));
    }
}

#[test]
fn case_i02_killed_while_it_fetches_it_leaves_nothing_in_the_way() {
    let hub = silent();
    let mut child = hub.start(&["pull", "org/tiny-GGUF"]);
    wait_for_half(&hub);
    child.kill().expect("SIGKILL");
    child.wait().expect("it is gone");
    assert_eq!(std::fs::read(hub.run(&["pull", "org/tiny-GGUF"]).path()).expect("it"), noise(200_000));
    assert_eq!(hub.store.asked()[1].range.as_deref(), Some("bytes=100000-"));
}
