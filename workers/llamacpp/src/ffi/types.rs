//! llama.cpp's C types as b11284's headers declare them, with the defaults that build returns.
//!
//! A struct and its table of fields come from one list, so that what is compared is what is
//! passed. C enums are `c_int` (gcc and clang take `int` or `unsigned int`: the same size and the
//! same registers); a C bool is a byte that holds 0 or 1.

use core::ffi::{c_char, c_int, c_void};

/// A value b11284's `*_default_params` puts into a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Expected {
    U32(u32),
    I32(i32),
    F32(f32),
    Bool(bool),
    Null,
    Usize(usize),
}

/// One field of a parameter struct.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) offset: usize,
    pub(crate) expected: Expected,
}

/// A struct that C passes by value and whose layout no version number tells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) name: &'static str,
    pub(crate) size: usize,
    pub(crate) fields: &'static [Field],
}

macro_rules! params {
    ($(#[$doc:meta])* $rust:ident = $c:literal { $($field:ident: $type:ty = $kind:ident($($value:expr)?)),* $(,)? }) => {
        $(#[$doc])*
        #[repr(C)]
        #[derive(Clone, Copy)]
        pub(crate) struct $rust { $(pub(crate) $field: $type),* }

        impl $rust {
            pub(crate) const LAYOUT: Layout = Layout {
                name: $c,
                size: size_of::<Self>(),
                fields: &[$(Field {
                    name: stringify!($field),
                    offset: core::mem::offset_of!(Self, $field),
                    expected: params!(@ $kind $($value)?),
                }),*],
            };

            /// What b11284's defaults are, made here; the library's own were found equal.
            pub(crate) const fn defaults() -> Self {
                Self { $($field: params!(# $kind $($value)?)),* }
            }
        }
    };
    (@ Null) => { Expected::Null };
    (@ $kind:ident $value:expr) => { Expected::$kind($value) };
    (# Null) => { core::ptr::null_mut() };
    (# Bool $value:expr) => { $value as u8 };
    (# $kind:ident $value:expr) => { $value };
}

params! {
    /// `struct llama_model_params`.
    ModelParams = "llama_model_params" {
        devices: *mut c_void = Null(),
        tensor_buft_overrides: *mut c_void = Null(),
        n_gpu_layers: i32 = I32(-1),
        split_mode: c_int = I32(1),
        load_mode: c_int = I32(-1),
        lazy_mode: c_int = I32(1),
        main_gpu: i32 = I32(0),
        tensor_split: *mut f32 = Null(),
        progress_callback: *mut c_void = Null(),
        progress_callback_user_data: *mut c_void = Null(),
        kv_overrides: *mut c_void = Null(),
        vocab_only: u8 = Bool(false),
        check_tensors: u8 = Bool(false),
        use_extra_bufts: u8 = Bool(true),
        no_host: u8 = Bool(false),
        no_alloc: u8 = Bool(false),
        load_mtp: u8 = Bool(false),
    }
}

params! {
    /// `struct llama_context_params`.
    ContextParams = "llama_context_params" {
        n_ctx: u32 = U32(512),
        n_batch: u32 = U32(2048),
        n_ubatch: u32 = U32(512),
        n_seq_max: u32 = U32(1),
        n_rs_seq: u32 = U32(0),
        n_outputs_max: u32 = U32(0),
        n_outputs_max_per_seq: u32 = U32(1),
        n_threads: i32 = I32(4),
        n_threads_batch: i32 = I32(4),
        ctx_type: c_int = I32(0),
        rope_scaling_type: c_int = I32(-1),
        pooling_type: c_int = I32(-1),
        attention_type: c_int = I32(-1),
        flash_attn_type: c_int = I32(-1),
        rope_freq_base: f32 = F32(0.0),
        rope_freq_scale: f32 = F32(0.0),
        yarn_ext_factor: f32 = F32(-1.0),
        yarn_attn_factor: f32 = F32(-1.0),
        yarn_beta_fast: f32 = F32(-1.0),
        yarn_beta_slow: f32 = F32(-1.0),
        yarn_orig_ctx: u32 = U32(0),
        defrag_thold: f32 = F32(-1.0),
        cb_eval: *mut c_void = Null(),
        cb_eval_user_data: *mut c_void = Null(),
        type_k: c_int = I32(1),
        type_v: c_int = I32(1),
        abort_callback: *mut c_void = Null(),
        abort_callback_data: *mut c_void = Null(),
        embeddings: u8 = Bool(false),
        offload_kqv: u8 = Bool(true),
        no_perf: u8 = Bool(true),
        op_offload: u8 = Bool(true),
        swa_full: u8 = Bool(true),
        kv_unified: u8 = Bool(false),
        samplers: *mut c_void = Null(),
        n_samplers: usize = Usize(0),
        ctx_other: *mut c_void = Null(),
    }
}

/// `struct llama_sampler_chain_params`: one byte, passed in a register.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct ChainParams {
    pub(crate) no_perf: u8,
}

/// `struct llama_batch`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Batch {
    pub(crate) n_tokens: i32,
    pub(crate) token: *mut i32,
    pub(crate) embd: *mut f32,
    pub(crate) pos: *mut i32,
    pub(crate) n_seq_id: *mut i32,
    pub(crate) seq_id: *mut *mut i32,
    pub(crate) logits: *mut i8,
}

macro_rules! opaque {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => { $(
        $(#[$doc])*
        #[repr(C)]
        pub(crate) struct $name { _private: [u8; 0] }
    )* };
}

opaque! {
    /// `struct llama_model`.
    RawModel,
    /// `struct llama_context`.
    RawContext,
    /// `struct llama_vocab`.
    RawVocab,
    /// `struct llama_memory_i`.
    RawMemory,
    /// `struct llama_sampler`.
    RawSampler,
    /// `struct ggml_threadpool`.
    RawPool,
    /// `struct ggml_backend_device`.
    RawDevice,
    /// `struct ggml_backend_reg`.
    RawReg,
}

/// `ggml_log_callback`.
pub(crate) type LogCallback = unsafe extern "C" fn(level: c_int, text: *const c_char, user: *mut c_void);
