//! The leaves superfluid knows by name.

/// What a leaf says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support<'a> {
    /// It can.
    Yes,
    /// It can't, and why.
    No(&'a str),
    /// Nobody has said.
    Unknown,
}

/// A leaf of the record that is true or says why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Leaf {
    /// `load.kv_bits`: the KV cache's type can be chosen.
    KvBits,
    /// `workload.causal_generation`.
    CausalGeneration,
    /// `workload.embedding`.
    Embedding,
    /// `workload.speech_to_text`.
    SpeechToText,
    /// `modalities.image_encode`: image parts in messages.
    ImageEncode,
    /// `modalities.audio_encode`: audio parts in messages.
    AudioEncode,
    /// `modalities.transcribe`.
    Transcribe,
    /// `modalities.translate`.
    Translate,
    /// `serving.sequences`: several jobs at once.
    Sequences,
    /// `serving.park_lossless`: state leaves the device and comes back as it was.
    ParkLossless,
    /// `serving.park_lossy`: a smaller encoding of parked state.
    ParkLossy,
    /// `serving.multi_row_verification`: a draft is checked in one pass.
    MultiRowVerification,
    /// `serving.speculation_strategies`, where that is no list but a reason.
    Speculation,
    /// `serving.prefix_seed`: a job may start from another's prefix.
    PrefixSeed,
    /// `state.rollback`: a rejected draft can be cut off.
    Rollback,
    /// `state.shared_prefix_seed`.
    SharedPrefixSeed,
    /// `state.recurrent_snapshot`.
    RecurrentSnapshot,
    /// `adaptation.lora_load`.
    LoraLoad,
    /// `sampling.logit_bias`.
    LogitBias,
    /// `sampling.penalties`.
    Penalties,
    /// `sampling.grammar`.
    Grammar,
    /// `sampling.top_logprobs_max`, where that is no number but a reason.
    TopLogprobs,
    /// `determinism.seed_reproducible`.
    SeedReproducible,
    /// `determinism.batch_invariant`.
    BatchInvariant,
}

impl Leaf {
    /// Section and name in the record.
    pub const fn path(self) -> (&'static str, &'static str) {
        match self {
            Self::KvBits => ("load", "kv_bits"),
            Self::CausalGeneration => ("workload", "causal_generation"),
            Self::Embedding => ("workload", "embedding"),
            Self::SpeechToText => ("workload", "speech_to_text"),
            Self::ImageEncode => ("modalities", "image_encode"),
            Self::AudioEncode => ("modalities", "audio_encode"),
            Self::Transcribe => ("modalities", "transcribe"),
            Self::Translate => ("modalities", "translate"),
            Self::Sequences => ("serving", "sequences"),
            Self::ParkLossless => ("serving", "park_lossless"),
            Self::ParkLossy => ("serving", "park_lossy"),
            Self::MultiRowVerification => ("serving", "multi_row_verification"),
            Self::Speculation => ("serving", "speculation_strategies"),
            Self::PrefixSeed => ("serving", "prefix_seed"),
            Self::Rollback => ("state", "rollback"),
            Self::SharedPrefixSeed => ("state", "shared_prefix_seed"),
            Self::RecurrentSnapshot => ("state", "recurrent_snapshot"),
            Self::LoraLoad => ("adaptation", "lora_load"),
            Self::LogitBias => ("sampling", "logit_bias"),
            Self::Penalties => ("sampling", "penalties"),
            Self::Grammar => ("sampling", "grammar"),
            Self::TopLogprobs => ("sampling", "top_logprobs_max"),
            Self::SeedReproducible => ("determinism", "seed_reproducible"),
            Self::BatchInvariant => ("determinism", "batch_invariant"),
        }
    }
}
