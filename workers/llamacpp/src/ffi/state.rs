//! A sequence's state as bytes, and back.
#![expect(unsafe_code, reason = "calls llama.cpp")]

use super::context::Context;
use super::log;
use superfluid_core::Refusal;

impl Context {
    /// All that a sequence holds. It stays as it is.
    ///
    /// # Errors
    /// `copy_pending` where it is the target of a copy that comes with the next pass, `no_export` with
    /// llama.cpp's own words, `out_of_memory`.
    pub fn export(&mut self, seq: u32) -> Result<Vec<u8>, Refusal> {
        let id = self.seq(seq).ok_or_else(|| unknown(seq))?;
        if self.pending().iter().any(|&(_, to)| to == seq) {
            return Err(copy_pending(seq));
        }
        log::take_complaints();
        let symbols = &self.library().symbols;
        // SAFETY: the context is alive and used by this thread alone (`&mut self`); `id` is one of its
        // sequences.
        let size = unsafe { (symbols.llama_state_seq_get_size)(self.raw(), id) };
        let mut state = Vec::new();
        state.try_reserve_exact(size).map_err(|_| {
            Refusal::new("out_of_memory", format!("no room for a state of {} MiB", size >> 20))
        })?;
        // SAFETY: as above; the vector has room for `size` bytes, and llama.cpp writes at most `size`.
        let written = unsafe { (symbols.llama_state_seq_get_data)(self.raw(), state.as_mut_ptr(), size, id) };
        if written == 0 || written != size {
            return Err(failed("no_export", "export sequence", seq));
        }
        // SAFETY: llama.cpp has written all `size` bytes, and the vector has room for them.
        unsafe { state.set_len(size) };
        Ok(state)
    }

    /// Makes an empty sequence hold an exported state of `len` tokens. The bytes were checked to be
    /// what a context of the same model and size exported: llama.cpp reads sizes out of them.
    ///
    /// # Errors
    /// `copy_pending` where a copy from or to it comes with the next pass, `no_import` with llama.cpp's
    /// own words. The sequence is empty then.
    pub fn import(&mut self, seq: u32, len: u32, state: &[u8]) -> Result<(), Refusal> {
        let id = self.seq(seq).ok_or_else(|| unknown(seq))?;
        if self.pending().iter().any(|&(from, to)| from == seq || to == seq) {
            return Err(copy_pending(seq));
        }
        log::take_complaints();
        let symbols = &self.library().symbols;
        // SAFETY: the context is alive and used by this thread alone (`&mut self`); `id` is one of its
        // sequences. llama.cpp reads at most `state.len()` bytes, and catches what it throws when they
        // end early.
        let read = unsafe { (symbols.llama_state_seq_set_data)(self.raw(), state.as_ptr(), state.len(), id) };
        let held = i64::from(self.last_position(seq)) + 1;
        if read == 0 || read != state.len() || held != i64::from(len) {
            self.clear(seq);
            return Err(failed("no_import", "import into sequence", seq));
        }
        Ok(())
    }
}

fn unknown(seq: u32) -> Refusal {
    Refusal::new("no_sequence", format!("there is no sequence {seq}"))
}

fn copy_pending(seq: u32) -> Refusal {
    Refusal::new("copy_pending", format!("a copy of sequence {seq} comes with the next pass"))
}

fn failed(code: &str, what: &str, seq: u32) -> Refusal {
    let said = log::take_complaints();
    let why = said.last().map_or("it does not say why", String::as_str);
    Refusal::new(code, format!("llama.cpp could not {what} {seq}: {why}"))
}
