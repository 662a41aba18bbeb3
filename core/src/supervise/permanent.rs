//! Which reasons a restart can't change.

/// Codes of refusals that stay whatever is tried again with the same files: the model or a program is
/// not there, is not what it has to be, or is for another version. Any other reason, first of all a lack
/// of memory, may be gone the next time.
const PERMANENT: [&str; 23] = [
    // The model.
    "bad_mock_script",
    "bad_model",
    "bad_path",
    "incomplete_model",
    "model_not_found",
    "model_not_readable",
    "no_such_model",
    "not_a_language_model",
    "split_file",
    "split_model",
    "truncated_model",
    "unsupported_format",
    "unsupported_runtime",
    "untrusted_model_code",
    // The runtime.
    "damaged_install",
    "incompatible_library",
    "library_not_found",
    "library_not_loadable",
    "no_backend",
    "no_such_install",
    // The worker.
    "worker_mismatch",
    "worker_missing",
    "wrong_protocol",
];

/// Whether a worker that could not start or load for the reason with this code would meet it again.
pub fn is_permanent(code: &str) -> bool {
    PERMANENT.contains(&code)
}
