//! A loaded model: weights (or only their description) and what the file says about itself.
#![expect(unsafe_code, reason = "calls llama.cpp")]

use super::library::{Library, c_path, text};
use super::log;
use super::types::{ModelParams, RawModel};
use core::ffi::c_void;
use core::ptr::NonNull;
use std::ffi::CString;
use std::path::Path;
use superfluid_core::Refusal;

const LOAD_MODE_NONE: core::ffi::c_int = 0;

/// How much of a model file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadMode {
    /// Everything, weights mapped or copied to the devices.
    Serve,
    /// The description alone: no weights are read and no device memory is taken.
    Describe,
    /// The vocabulary alone, which a file without weights has too.
    Vocabulary,
}

/// A model in memory. Immutable from its load to its end, which is what lets threads share it.
pub struct LoadedModel {
    pub(super) library: &'static Library,
    pub(super) raw: NonNull<RawModel>,
}

// SAFETY: nothing changes a model between its load and its free: every function called on it takes
// it as const save `llama_init_from_model`, which only reads it but for a YaRN override that is not
// asked for. llama.h says that the tokenizer's functions are thread-safe. Freeing is bound to no
// thread.
unsafe impl Send for LoadedModel {}
// SAFETY: as for Send.
unsafe impl Sync for LoadedModel {}

struct Progress<'a> {
    report: &'a mut dyn FnMut(f32) -> bool,
    given_up: bool,
}

/// llama.cpp's `progress_callback`.
///
/// # Safety
/// `user` points to a `Progress` that nothing else uses during the call.
unsafe extern "C" fn on_progress(share: f32, user: *mut c_void) -> bool {
    // SAFETY: by the contract above; `LoadedModel::load` passes its own and does not touch it
    // while llama.cpp loads.
    let progress = unsafe { &mut *user.cast::<Progress<'_>>() };
    let go_on = (progress.report)(share);
    progress.given_up |= !go_on;
    go_on
}

impl LoadedModel {
    /// Loads a GGUF file. `report` takes the share done, 0 to 1, and returns `false` to give up.
    ///
    /// # Errors
    /// `model_not_loadable` with llama.cpp's own words; `load_given_up` where `report` said so.
    pub fn load(
        library: &'static Library,
        path: &Path,
        mode: LoadMode,
        report: &mut dyn FnMut(f32) -> bool,
    ) -> Result<Self, Refusal> {
        log::take_complaints();
        let name = c_path(path)?;
        let mut progress = Progress { report, given_up: false };
        let callback: unsafe extern "C" fn(f32, *mut c_void) -> bool = on_progress;
        let mut params = ModelParams::defaults();
        if mode == LoadMode::Describe {
            params.no_alloc = 1;
            // Mapping the file would make buffers of it, which no_alloc forbids by an assertion.
            params.load_mode = LOAD_MODE_NONE;
        }
        params.vocab_only = u8::from(mode == LoadMode::Vocabulary);
        params.progress_callback = callback as *mut c_void;
        params.progress_callback_user_data = (&raw mut progress).cast();
        // SAFETY: the params have the layout and the defaults this library was found to have, with
        // two values of documented meaning; the name is a C string; `progress` outlives the call,
        // and the callback with it is used during the load only.
        let raw = unsafe { (library.symbols.llama_model_load_from_file)(name.as_ptr(), params) };
        let given_up = progress.given_up;
        match NonNull::new(raw) {
            Some(raw) => Ok(Self { library, raw }),
            None if given_up => Err(Refusal::new(
                "load_given_up",
                format!("loading {} was given up on request", path.display()),
            )),
            None => Err(not_loadable(path)),
        }
    }

    fn number(&self, function: unsafe extern "C" fn(*const RawModel) -> i32) -> u32 {
        // SAFETY: the model is alive as long as self.
        u32::try_from(unsafe { function(self.raw.as_ptr()) }).unwrap_or(0)
    }

    fn says(&self, function: unsafe extern "C" fn(*const RawModel) -> bool) -> bool {
        // SAFETY: the model is alive as long as self.
        unsafe { function(self.raw.as_ptr()) }
    }

    /// Tokens of context it was trained on.
    pub fn trained_window(&self) -> u32 {
        self.number(self.library.symbols.llama_model_n_ctx_train)
    }

    /// Layers.
    pub fn layers(&self) -> u32 {
        self.number(self.library.symbols.llama_model_n_layer)
    }

    /// Key and value heads a layer, as the first layer has them.
    pub fn kv_heads(&self) -> u32 {
        self.number(self.library.symbols.llama_model_n_head_kv)
    }

    /// Width of one head, where the file does not say otherwise.
    pub fn head_width(&self) -> u32 {
        let heads = self.number(self.library.symbols.llama_model_n_head).max(1);
        self.number(self.library.symbols.llama_model_n_embd) / heads
    }

    /// Tokens of a sliding attention window; 0 for none.
    pub fn sliding_window(&self) -> u32 {
        self.number(self.library.symbols.llama_model_n_swa)
    }

    /// Whether its state can't be cut (Mamba, RWKV and their like).
    pub fn is_recurrent(&self) -> bool {
        self.says(self.library.symbols.llama_model_is_recurrent)
    }

    /// Whether some of its layers are recurrent.
    pub fn is_hybrid(&self) -> bool {
        self.says(self.library.symbols.llama_model_is_hybrid)
    }

    /// Whether it makes text by diffusion and not token by token.
    pub fn is_diffusion(&self) -> bool {
        self.says(self.library.symbols.llama_model_is_diffusion)
    }

    /// Whether its input has to run through an encoder first.
    pub fn has_encoder(&self) -> bool {
        self.says(self.library.symbols.llama_model_has_encoder)
    }

    /// Whether it generates.
    pub fn has_decoder(&self) -> bool {
        self.says(self.library.symbols.llama_model_has_decoder)
    }

    /// Bytes of all its tensors.
    pub fn bytes(&self) -> u64 {
        // SAFETY: the model is alive as long as self.
        unsafe { (self.library.symbols.llama_model_size)(self.raw.as_ptr()) }
    }

    /// A scalar of the file's metadata, as text.
    pub fn metadata(&self, key: &str) -> Option<String> {
        let key = CString::new(key).ok()?;
        // SAFETY: the model is alive; key and buffer outlive the call, and the buffer has the size
        // that is said.
        self.text_of(|buffer, size| unsafe {
            (self.library.symbols.llama_model_meta_val_str)(self.raw.as_ptr(), key.as_ptr(), buffer, size)
        })
    }

    /// The model in words: `llama 135M Q4_1`.
    pub fn description(&self) -> String {
        // SAFETY: the model is alive; the buffer has the size that is said.
        self.text_of(|buffer, size| unsafe {
            (self.library.symbols.llama_model_desc)(self.raw.as_ptr(), buffer, size)
        })
        .unwrap_or_default()
    }

    /// `call` writes a C string into a buffer and returns its whole length, or a negative number.
    fn text_of(&self, call: impl Fn(*mut core::ffi::c_char, usize) -> i32) -> Option<String> {
        let mut buffer = vec![0u8; 256];
        let length = usize::try_from(call(buffer.as_mut_ptr().cast(), buffer.len())).ok()?;
        if length >= buffer.len() {
            buffer = vec![0u8; length + 1];
            call(buffer.as_mut_ptr().cast(), buffer.len());
        }
        buffer.truncate(buffer.iter().position(|byte| *byte == 0).unwrap_or(buffer.len()));
        Some(String::from_utf8_lossy(&buffer).into_owned())
    }

    /// The file's chat template.
    pub fn chat_template(&self) -> Option<String> {
        // SAFETY: the model is alive; a null name asks for the default template; the text belongs
        // to the model and is copied.
        unsafe {
            text((self.library.symbols.llama_model_chat_template)(self.raw.as_ptr(), core::ptr::null()))
        }
    }
}

impl Drop for LoadedModel {
    fn drop(&mut self) {
        // SAFETY: it came from a load and is freed once; contexts and vocabularies hold an Arc of it.
        unsafe { (self.library.symbols.llama_model_free)(self.raw.as_ptr()) }
    }
}

fn not_loadable(path: &Path) -> Refusal {
    let complaints = log::take_complaints();
    let why = complaints.iter().find(|line| line.contains("error loading model")).or(complaints.last());
    let why = why.map(|line| line.rsplit_once("error loading model: ").map_or(line.as_str(), |(_, why)| why));
    let message =
        format!("llama.cpp can't load {}: {}", path.display(), why.unwrap_or("it does not say why"));
    let refusal = Refusal::new("model_not_loadable", message);
    if complaints.iter().any(|line| line.contains("unknown model architecture")) {
        refusal.hint("this build of llama.cpp does not know the architecture; a newer one may: superfluid runtime update llamacpp")
    } else {
        refusal.hint("SUPERFLUID_LLAMA_LOG=1 shows llama.cpp's whole log")
    }
}
