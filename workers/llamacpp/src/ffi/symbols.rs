//! Every function of the C API that is called, resolved before the first one is.
#![expect(unsafe_code, reason = "symbols are turned into functions of the type their header declares")]

use super::types::{
    Batch, ChainParams, ContextParams, LogCallback, ModelParams, RawContext, RawDevice, RawMemory, RawModel,
    RawPool, RawReg, RawSampler, RawVocab,
};
use core::ffi::{c_char, c_int, c_void};
use libloading::Library;

macro_rules! symbols {
    ($($name:ident: fn($($arg:ty),* $(,)?) $(-> $ret:ty)?;)*) => {
        /// The C functions, under their own names.
        pub(crate) struct Symbols {
            $(pub(crate) $name: unsafe extern "C" fn($($arg),*) $(-> $ret)?,)*
        }

        impl Symbols {
            /// Resolves all of them; on failure, the names of those that the library lacks.
            ///
            /// # Safety
            /// Either the library is never unloaded while a copy of a pointer lives, and a pointer
            /// is called only after the library's C API was found to be b11284's; or none is called.
            pub(crate) unsafe fn resolve(library: &Library) -> Result<Self, Vec<&'static str>> {
                let mut missing = Vec::new();
                $(
                    // SAFETY: getting a pointer calls nothing. The type is what llama.h, ggml.h or
                    // ggml-backend.h of b11284 declares; the caller answers for its use.
                    let $name = unsafe {
                        library.get::<unsafe extern "C" fn($($arg),*) $(-> $ret)?>(concat!(stringify!($name), "\0").as_bytes())
                    }
                    .map(|symbol| *symbol);
                    if $name.is_err() {
                        missing.push(stringify!($name));
                    }
                )*
                match ($($name,)*) {
                    ($(Ok($name),)*) => Ok(Self { $($name),* }),
                    _ => Err(missing),
                }
            }
        }
    };
}

symbols! {
    // Told apart by their layout, never called through these types: see `layout`.
    llama_model_default_params: fn() -> ModelParams;
    llama_context_default_params: fn() -> ContextParams;

    llama_version: fn() -> *const c_char;
    llama_backend_init: fn();
    llama_log_set: fn(Option<LogCallback>, *mut c_void);
    llama_print_system_info: fn() -> *const c_char;

    llama_model_load_from_file: fn(*const c_char, ModelParams) -> *mut RawModel;
    llama_model_free: fn(*mut RawModel);
    llama_model_get_vocab: fn(*const RawModel) -> *const RawVocab;
    llama_model_n_ctx_train: fn(*const RawModel) -> i32;
    llama_model_n_embd: fn(*const RawModel) -> i32;
    llama_model_n_layer: fn(*const RawModel) -> i32;
    llama_model_n_head: fn(*const RawModel) -> i32;
    llama_model_n_head_kv: fn(*const RawModel) -> i32;
    llama_model_n_swa: fn(*const RawModel) -> i32;
    llama_model_meta_val_str: fn(*const RawModel, *const c_char, *mut c_char, usize) -> i32;
    llama_model_desc: fn(*const RawModel, *mut c_char, usize) -> i32;
    llama_model_size: fn(*const RawModel) -> u64;
    llama_model_chat_template: fn(*const RawModel, *const c_char) -> *const c_char;
    llama_model_has_encoder: fn(*const RawModel) -> bool;
    llama_model_has_decoder: fn(*const RawModel) -> bool;
    llama_model_is_recurrent: fn(*const RawModel) -> bool;
    llama_model_is_hybrid: fn(*const RawModel) -> bool;
    llama_model_is_diffusion: fn(*const RawModel) -> bool;

    llama_init_from_model: fn(*mut RawModel, ContextParams) -> *mut RawContext;
    llama_free: fn(*mut RawContext);
    llama_n_ctx: fn(*const RawContext) -> u32;
    llama_n_ctx_seq: fn(*const RawContext) -> u32;
    llama_n_batch: fn(*const RawContext) -> u32;
    llama_n_seq_max: fn(*const RawContext) -> u32;
    llama_get_memory: fn(*const RawContext) -> *mut RawMemory;
    llama_memory_seq_rm: fn(*mut RawMemory, i32, i32, i32) -> bool;
    llama_memory_seq_cp: fn(*mut RawMemory, i32, i32, i32, i32);
    llama_memory_seq_pos_max: fn(*mut RawMemory, i32) -> i32;
    llama_state_seq_get_size: fn(*mut RawContext, i32) -> usize;
    llama_state_seq_get_data: fn(*mut RawContext, *mut u8, usize, i32) -> usize;
    llama_state_seq_set_data: fn(*mut RawContext, *const u8, usize, i32) -> usize;
    llama_set_abort_callback: fn(*mut RawContext, Option<unsafe extern "C" fn(*mut c_void) -> bool>, *mut c_void);
    llama_set_n_threads: fn(*mut RawContext, i32, i32);
    llama_attach_threadpool: fn(*mut RawContext, *mut RawPool, *mut RawPool);
    llama_decode: fn(*mut RawContext, Batch) -> i32;
    llama_get_logits_ith: fn(*mut RawContext, i32) -> *mut f32;

    llama_sampler_chain_init: fn(ChainParams) -> *mut RawSampler;
    llama_sampler_chain_add: fn(*mut RawSampler, *mut RawSampler);
    llama_sampler_init_greedy: fn() -> *mut RawSampler;
    llama_sampler_sample: fn(*mut RawSampler, *mut RawContext, i32) -> i32;
    llama_sampler_free: fn(*mut RawSampler);

    llama_vocab_type: fn(*const RawVocab) -> c_int;
    llama_vocab_n_tokens: fn(*const RawVocab) -> i32;
    llama_vocab_get_attr: fn(*const RawVocab, i32) -> c_int;
    llama_vocab_get_text: fn(*const RawVocab, i32) -> *const c_char;
    llama_vocab_is_eog: fn(*const RawVocab, i32) -> bool;
    llama_vocab_bos: fn(*const RawVocab) -> i32;
    llama_vocab_eos: fn(*const RawVocab) -> i32;
    llama_vocab_get_add_bos: fn(*const RawVocab) -> bool;
    llama_tokenize: fn(*const RawVocab, *const c_char, i32, *mut i32, i32, bool, bool) -> i32;
    llama_token_to_piece: fn(*const RawVocab, i32, *mut c_char, i32, i32, bool) -> i32;

    ggml_log_set: fn(Option<LogCallback>, *mut c_void);
    ggml_set_abort_callback: fn(Option<unsafe extern "C" fn(*const c_char)>) -> *mut c_void;
    ggml_threadpool_params_init: fn(*mut c_void, c_int);
    ggml_backend_load_all_from_path: fn(*const c_char);
    ggml_backend_dev_count: fn() -> usize;
    ggml_backend_dev_get: fn(usize) -> *mut RawDevice;
    ggml_backend_dev_name: fn(*mut RawDevice) -> *const c_char;
    ggml_backend_dev_description: fn(*mut RawDevice) -> *const c_char;
    ggml_backend_dev_memory: fn(*mut RawDevice, *mut usize, *mut usize);
    ggml_backend_dev_type: fn(*mut RawDevice) -> c_int;
    ggml_backend_dev_backend_reg: fn(*mut RawDevice) -> *mut RawReg;
    ggml_backend_reg_name: fn(*mut RawReg) -> *const c_char;
    ggml_backend_reg_get_proc_address: fn(*mut RawReg, *const c_char) -> *mut c_void;
}
