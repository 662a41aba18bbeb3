//! Shapes worth a name.

use superfluid_core::cache::{Place, Tree};
use superfluid_core::sched::{Cut, Token};

fn talk(seed: u32, len: u32) -> Vec<Token> {
    (0..len).map(|at| seed * 7919 + at).collect()
}

/// A lane is found while it runs, at whatever it has run so far.
#[test]
fn a_lane_is_found_while_it_grows() {
    let mut tree = Tree::new();
    let prompt = talk(1, 100);
    let lane = tree.insert(&prompt[..10], Place::Device, 0);
    let hold = tree.hold(lane);
    for at in (10..100).step_by(10) {
        assert_eq!(tree.find(&prompt, Cut::Anywhere).running.map(|found| found.shared), Some(at as u32));
        tree.extend(lane, &prompt[at..at + 10]);
    }
    assert_eq!(tree.find(&prompt, Cut::Anywhere).kept, None);
    tree.release(hold);
    assert_eq!(tree.find(&prompt, Cut::Anywhere).kept.map(|found| found.shared), Some(100));
}

/// What nobody gave back stays.
#[test]
fn a_held_entry_is_not_evicted() {
    let mut tree = Tree::new();
    let entry = tree.insert(&talk(1, 5), Place::Host, 0);
    let (one, two) = (tree.hold(entry), tree.hold(entry));
    tree.release(one);
    tree.remove(entry).expect_err("held once more");
    tree.release(two);
    tree.remove(entry).expect("held by nobody");
    assert!(tree.is_empty());
    tree.check_invariants().expect("sound");
}

/// Forty turns of a conversation, each a state of its own, keep its tokens once.
#[test]
fn shared_tokens_are_stored_once() {
    let mut tree = Tree::new();
    let all = talk(3, 40_000);
    for turn in 1..=40 {
        tree.insert(&all[..turn * 1000], Place::Host, turn as u32);
    }
    let cached: usize = (1..=40).map(|turn| turn * 1000).sum();
    assert!(tree.bytes() < 45_000 * 4 + 40 * 1000, "{} bytes", tree.bytes());
    assert!(tree.bytes() < cached, "less than a byte a cached token");
}

/// A thousand conversations of a thousand tokens that share a system prompt, grown token by token as
/// lanes grow: under 8 bytes a token.
#[test]
fn a_cached_token_takes_less_than_eight_bytes() {
    let mut tree = Tree::new();
    let system = talk(0, 200);
    let mut cached = 0;
    for seed in 1..=1000 {
        let entry = tree.insert(&system, Place::Device, seed);
        let hold = tree.hold(entry);
        for token in talk(seed, 800) {
            tree.extend(entry, &[token]);
        }
        tree.release(hold);
        cached += tree.tokens_len(entry) as usize;
    }
    assert!(tree.bytes() < cached * 8, "{} bytes for {cached} tokens", tree.bytes());
    tree.check_invariants().expect("sound");
}
