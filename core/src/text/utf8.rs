//! Whole characters out of bytes that arrive in any pieces.

use alloc::string::String;

/// Bytes in, whole characters out. The text of all pushes and the final [`finish`](Self::finish)
/// is what `String::from_utf8_lossy` makes of all bytes: what can never become a character is one
/// U+FFFD a maximal subpart, and what still may become one is held back (three bytes at most).
#[derive(Clone, Debug, Default)]
pub struct Utf8Assembler {
    held: [u8; 3],
    held_len: u8,
}

impl Utf8Assembler {
    /// An assembler that holds nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Bytes held back: the start of a character whose rest has not come.
    pub fn held(&self) -> usize {
        usize::from(self.held_len)
    }

    /// Takes bytes and appends the characters they complete to `out`.
    pub fn push(&mut self, mut bytes: &[u8], out: &mut String) {
        // At most three rounds: each takes a byte or clears what is held.
        while self.held_len > 0 {
            let Some((&first, rest)) = bytes.split_first() else { return };
            let held = self.held();
            let mut joined = [0; 4];
            joined[..held].copy_from_slice(&self.held[..held]);
            joined[held] = first;
            match core::str::from_utf8(&joined[..=held]) {
                Ok(character) => {
                    out.push_str(character);
                    self.held_len = 0;
                    bytes = rest;
                }
                Err(error) if error.error_len().is_none() => {
                    self.held[held] = first;
                    self.held_len += 1;
                    bytes = rest;
                }
                // `first` does not continue what is held, and is looked at again on its own.
                Err(_) => {
                    out.push(char::REPLACEMENT_CHARACTER);
                    self.held_len = 0;
                }
            }
        }
        for chunk in bytes.utf8_chunks() {
            out.push_str(chunk.valid());
            let invalid = chunk.invalid();
            if invalid.is_empty() {
                continue;
            }
            let may_go_on = invalid.as_ptr_range().end == bytes.as_ptr_range().end
                && core::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
            if may_go_on {
                self.held[..invalid.len()].copy_from_slice(invalid);
                self.held_len = u8::try_from(invalid.len()).unwrap_or(0);
            } else {
                out.push(char::REPLACEMENT_CHARACTER);
            }
        }
    }

    /// No more bytes come: what is held becomes one U+FFFD. The assembler is then as new.
    pub fn finish(&mut self, out: &mut String) {
        if self.held_len > 0 {
            self.held_len = 0;
            out.push(char::REPLACEMENT_CHARACTER);
        }
    }
}
