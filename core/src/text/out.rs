//! One job's text: tokens' bytes in, text for the client out, cut at the first stop string.

use super::{StopMachine, Utf8Assembler, Verdict};
use alloc::collections::VecDeque;
use alloc::string::String;

/// One job's text. All the text that [`take_ready`](Self::take_ready) ever gives is the lossy
/// UTF-8 decoding of all bytes pushed, cut before the leftmost stop string, however the bytes were
/// split; each piece is whole characters, and only what may still change is held back.
///
/// ```
/// use superfluid_core::text::{TextOut, Verdict};
/// let mut out = TextOut::new(&["\nUser:"]);
/// assert_eq!(out.push(b"hi\nUs"), Verdict::GoOn);
/// assert_eq!(out.take_ready(), "hi");
/// assert_eq!(out.push(b"er: x"), Verdict::Stop);
/// assert_eq!(out.take_ready(), "");
/// ```
#[derive(Clone, Debug, Default)]
pub struct TextOut {
    utf8: Utf8Assembler,
    stop: StopMachine,
    /// Decoded text that was not taken.
    text: String,
    /// Bytes of decoded text taken before `text`.
    taken: u64,
    /// Where each token's text ends in the decoded text, for tokens that are not covered yet.
    ends: VecDeque<u64>,
    /// Tokens after those in `ends` whose last character is not whole.
    open: usize,
    /// Tokens covered and not yet reported.
    covered: usize,
    over: bool,
}

impl TextOut {
    /// A job without text yet. Empty stop strings are left out.
    pub fn new<S: AsRef<str>>(stops: &[S]) -> Self {
        Self { stop: StopMachine::new(stops), ..Self::default() }
    }

    /// Whether the text is complete: a stop string was met, or [`finish`](Self::finish) called.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Takes one token's bytes; none for a token that prints nothing. After a stop everything is
    /// ignored but counted.
    pub fn push(&mut self, token: &[u8]) -> Verdict {
        if self.over {
            self.covered += 1;
            return self.stop.finish();
        }
        let from = self.text.len();
        self.utf8.push(token, &mut self.text);
        // Held bytes that did not all come with this token belong to the open ones before it.
        if self.utf8.held() <= token.len() {
            self.close();
        }
        self.open += 1;
        if self.utf8.held() == 0 {
            self.close();
        }
        let verdict = self.stop.push(&self.text[from..]);
        if verdict == Verdict::Stop {
            self.end();
        }
        self.settle();
        verdict
    }

    /// No more tokens come: everything held back is ready, an unfinished character as U+FFFD. Says
    /// whether the text ends at a stop string after all. Calling it again changes nothing.
    pub fn finish(&mut self) -> Verdict {
        if !self.over {
            let from = self.text.len();
            self.utf8.finish(&mut self.text);
            self.stop.push(&self.text[from..]);
            self.stop.finish();
            self.end();
            self.settle();
        }
        self.stop.finish()
    }

    /// Takes the text that is ready for the client; empty when there is none.
    pub fn take_ready(&mut self) -> String {
        let ready = self.ready();
        if ready == 0 {
            return String::new();
        }
        let rest = self.text.split_off(ready);
        self.taken += ready as u64;
        core::mem::replace(&mut self.text, rest)
    }

    /// Takes the number of tokens, in the order pushed, that became covered since the last call:
    /// all their bytes are in text that was ready, or were given up because the text is over. In
    /// the end every token pushed was counted once.
    pub fn take_covered(&mut self) -> usize {
        core::mem::take(&mut self.covered)
    }

    /// Bytes of `text` that are certain.
    fn ready(&self) -> usize {
        let certain = self.stop.certain().saturating_sub(self.taken);
        usize::try_from(certain).unwrap_or(usize::MAX).min(self.text.len())
    }

    /// The open tokens end here.
    fn close(&mut self) {
        let end = self.taken + self.text.len() as u64;
        for _ in 0..core::mem::take(&mut self.open) {
            self.ends.push_back(end);
        }
    }

    /// The text is over: what is not ready never will be.
    fn end(&mut self) {
        self.over = true;
        let ready = self.ready();
        self.text.truncate(ready);
        self.covered += self.ends.len() + core::mem::take(&mut self.open);
        self.ends.clear();
    }

    /// Counts the tokens that the certain text covers.
    fn settle(&mut self) {
        let certain = self.taken + self.ready() as u64;
        while self.ends.front().is_some_and(|&end| end <= certain) {
            self.ends.pop_front();
            self.covered += 1;
        }
    }
}
