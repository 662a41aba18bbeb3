//! Text out of tokens: UTF-8 assembled across tokens, stop strings that span tokens.
//!
//! [`TextOut`] is what a worker uses, one a job: bytes of tokens in, text for the client out. Its
//! parts stand alone: [`Utf8Assembler`] makes whole characters, [`StopMachine`] finds where text
//! ends. All three depend on the bytes alone, never on how they were split into tokens.

mod out;
mod stop;
mod utf8;

pub use out::TextOut;
pub use stop::StopMachine;
pub use utf8::Utf8Assembler;

/// Whether a job's text goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No stop string yet.
    GoOn,
    /// A stop string was met; the text ends before it and whatever is pushed later is ignored.
    Stop,
}
