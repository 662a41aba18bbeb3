//! A slow and obvious tree: a list of token lists. Any bytes are a course through both.

use std::collections::BTreeMap;
use superfluid_core::cache::{EntryId, Found, Held, Hold, Match, Place, Tree};
use superfluid_core::sched::{Cut, Token};

#[derive(Clone, Debug)]
struct Listed {
    tokens: Vec<Token>,
    place: Place,
    tag: u32,
}

/// The list, the tree, and the receipts of what is held.
#[derive(Default)]
struct Both {
    list: BTreeMap<EntryId, Listed>,
    tree: Tree,
    holds: Vec<(EntryId, Hold)>,
    tags: u32,
}

/// Plays the bytes, and compares after each step.
pub(crate) fn play(bytes: &[u8]) {
    let mut both = Both::default();
    for step in bytes.chunks(4) {
        let at = |index: usize| step.get(index).copied().unwrap_or(0);
        both.step(at(0), at(1), at(2), at(3));
        both.compare(at(1), at(3));
    }
}

/// One of a few families of token lists that share heads.
fn list(family: u8, shared: u8, own: u8) -> Vec<Token> {
    let head = (0..u32::from(shared % 40)).map(|at| u32::from(family % 3) * 50 * u32::from(at > 3) + at);
    head.chain((0..u32::from(own % 8)).map(|at| 1000 + u32::from(own % 5) + at)).collect()
}

impl Both {
    fn step(&mut self, what: u8, a: u8, b: u8, c: u8) {
        let place = [Place::Device, Place::Host, Place::Disk][usize::from(c % 3)];
        let some = self.list.keys().nth(usize::from(a) % self.list.len().max(1)).copied();
        let held = |both: &Self, id| both.holds.iter().any(|(other, _)| *other == id);
        self.tags += 1;
        let tag = self.tags;
        match (what % 8, some) {
            (0 | 1, _) | (_, None) => {
                let tokens = list(a, b, c);
                let id = self.tree.insert(&tokens, place, tag);
                assert!(self.list.insert(id, Listed { tokens, place, tag }).is_none(), "an id given twice");
            }
            (2, Some(id)) => {
                let tokens = self.list[&id].tokens.clone();
                let len = usize::from(b) % (tokens.len() + 1);
                let id = self.tree.fork(id, len as u32, place, tag);
                let listed = Listed { tokens: tokens[..len].to_vec(), place, tag };
                assert!(self.list.insert(id, listed).is_none(), "an id given twice");
            }
            (3, Some(id)) => {
                // As the others of its family go on, or as nobody does.
                let have = self.list[&id].tokens.len();
                let more = list(b, 39, c).split_off(have.min(39)).into_iter().take(usize::from(c % 9));
                let more: Vec<Token> = more.collect();
                self.tree.extend(id, &more);
                self.list.get_mut(&id).expect("listed").tokens.extend(more);
            }
            (4, Some(id)) => {
                let tokens = &mut self.list.get_mut(&id).expect("listed").tokens;
                tokens.truncate(usize::from(b) % (tokens.len() + 1));
                self.tree.truncate(id, tokens.len() as u32);
            }
            (5, Some(id)) => {
                if held(self, id) {
                    assert_eq!(self.tree.remove(id), Err(Held));
                } else {
                    assert_eq!(self.tree.remove(id), Ok(()));
                    self.list.remove(&id);
                }
            }
            (6, Some(id)) => {
                if b.is_multiple_of(2) || self.holds.is_empty() {
                    let hold = self.tree.hold(id);
                    self.holds.push((id, hold));
                } else {
                    let (_, hold) = self.holds.swap_remove(usize::from(b) % self.holds.len());
                    self.tree.release(hold);
                }
            }
            (_, Some(id)) => {
                self.tree.relocated(id, place, tag);
                let listed = self.list.get_mut(&id).expect("listed");
                (listed.place, listed.tag) = (place, tag);
            }
        }
    }

    fn compare(&self, family: u8, own: u8) {
        self.tree.check_invariants().expect("invariants");
        assert_eq!(self.tree.len(), self.list.len());
        for (&id, listed) in &self.list {
            assert_eq!(self.tree.tokens(id), listed.tokens);
            assert_eq!(self.tree.tokens_len(id) as usize, listed.tokens.len());
            assert_eq!((self.tree.place(id), self.tree.tag(id)), (Some(listed.place), Some(listed.tag)));
            assert_eq!(self.tree.is_held(id), self.holds.iter().any(|(held, _)| *held == id));
            if !listed.tokens.is_empty() {
                let twins =
                    self.list.iter().filter(|(twin, other)| **twin != id && other.tokens == listed.tokens);
                assert_eq!(self.tree.twins(id).count(), twins.count());
            }
        }
        for prompt in [list(family, 39, own), list(family, own, own), list(own, 12, family)] {
            for cut in [Cut::Anywhere, Cut::HeadOnly] {
                assert_eq!(self.tree.find(&prompt, cut), self.search(&prompt, cut), "{prompt:?}, {cut:?}");
            }
            for (&id, listed) in &self.list {
                assert_eq!(self.tree.is_head_of(id, &prompt), prompt.starts_with(&listed.tokens));
            }
        }
    }

    /// What [`Tree::find`] finds.
    fn search(&self, prompt: &[Token], cut: Cut) -> Found {
        let running = |id: EntryId, listed: &Listed| {
            listed.place == Place::Device && self.holds.iter().any(|(held, _)| *held == id)
        };
        let best = |of: &dyn Fn(EntryId, &Listed) -> bool, by_length: bool| {
            let all = self.list.iter().filter(|(id, listed)| of(**id, listed));
            let shared = all.map(|(&id, listed)| {
                let same = listed.tokens.iter().zip(prompt).take_while(|(a, b)| a == b).count();
                let usable = cut == Cut::Anywhere || same == listed.tokens.len();
                (if usable { same } else { 0 }, listed.tokens.len() * usize::from(by_length), id)
            });
            let best = shared.filter(|(same, ..)| *same > 0);
            let best = best.min_by_key(|&(same, len, id)| (usize::MAX - same, len, id));
            best.map(|(same, _, entry)| Match { entry, shared: same as u32 })
        };
        Found {
            running: best(&running, false),
            kept: best(&|id, listed| listed.place == Place::Device && !running(id, listed), true),
            host: best(&|_, listed| listed.place == Place::Host, true),
            disk: best(&|_, listed| listed.place == Place::Disk, true),
        }
    }
}
