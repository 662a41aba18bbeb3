//! Which environment variables a worker does not get.

/// What a name ends with, as a whole part: `HF_TOKEN`, `TOKEN`, `my_api_key`, never `MONKEY`.
const PARTS: [&str; 16] = [
    "TOKEN",
    "TOKENS",
    "API_KEY",
    "API_KEYS",
    "APIKEY",
    "ACCESS_KEY",
    "ACCESS_KEY_ID",
    "SECRET_KEY",
    "PRIVATE_KEY",
    "CREDENTIAL",
    "CREDENTIALS",
    "PAT",
    "AUTH",
    "DATABASE_URL",
    "CONNECTION_STRING",
    "DSN",
];

/// What a name ends with, in whatever it ends: `PGPASSWORD`, `CLIENT_SECRET`.
const ENDS: [&str; 5] = ["PASSWORD", "PASSWD", "PASSPHRASE", "SECRET", "SECRETS"];

/// Whether an environment variable is named like a credential. A runtime's worker starts without
/// these. Judged by name alone, in any case.
///
/// ```
/// use superfluid_core::supervise::is_credential;
/// assert!(is_credential("HF_TOKEN") && is_credential("my_api_key") && is_credential("PGPASSWORD"));
/// assert!(!is_credential("MONKEY") && !is_credential("TOKENIZERS_PARALLELISM") && !is_credential("PATH"));
/// ```
pub fn is_credential(name: &str) -> bool {
    let ends_with = |end: &str| {
        let at = name.len().checked_sub(end.len());
        at.is_some_and(|at| name.is_char_boundary(at) && name[at..].eq_ignore_ascii_case(end))
    };
    let is_part = |part: &&str| {
        let before = name.len().checked_sub(part.len() + 1);
        ends_with(part) && before.is_none_or(|at| matches!(name.as_bytes()[at], b'_' | b'-' | b'.'))
    };
    ENDS.iter().any(|end| ends_with(end)) || PARTS.iter().any(is_part)
}
