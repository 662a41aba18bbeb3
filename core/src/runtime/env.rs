//! Which variables a worker does not inherit: those named like a credential. A worker loads
//! libraries and models from elsewhere and needs none of them; a pull keeps them.

use alloc::string::String;
use alloc::vec::Vec;

/// Ends of names, separators taken out: `OPENAI_API_KEY` ends in `APIKEY`, `PGPASSWORD` in
/// `PASSWORD`.
const ENDS: [&str; 15] = [
    "TOKEN",
    "SECRET",
    "SECRETS",
    "SECRETKEY",
    "PASSWORD",
    "PASSWORDS",
    "PASSWD",
    "PASSPHRASE",
    "APIKEY",
    "APIKEYS",
    "ACCESSKEY",
    "ACCESSKEYID",
    "PRIVATEKEY",
    "CREDENTIAL",
    "CREDENTIALS",
];

/// Whole last parts; as the end of a longer word they mean something else (`COMPAT`, `BYPASS`).
const PARTS: [&str; 5] = ["PAT", "PASS", "PWD", "DSN", "AUTH"];

/// What stands before `_URL` or `_URI` where the address carries a password.
const STORES: [&str; 12] = [
    "DATABASE",
    "DB",
    "POSTGRES",
    "POSTGRESQL",
    "PG",
    "MYSQL",
    "MARIADB",
    "MONGO",
    "MONGODB",
    "REDIS",
    "AMQP",
    "RABBITMQ",
];

/// Whether a variable is named like a credential. Judged by name alone, in any case.
///
/// ```
/// use superfluid_core::runtime::env::is_credential;
/// assert!(is_credential("HF_TOKEN") && is_credential("my_api_key") && is_credential("PGPASSWORD"));
/// assert!(!is_credential("MONKEY") && !is_credential("TOKENIZERS_PARALLELISM") && !is_credential("PATH"));
/// ```
pub fn is_credential(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let mut parts: Vec<&str> = upper.split(['_', '-', '.']).filter(|part| !part.is_empty()).collect();
    // GITHUB_TOKEN_2
    while parts.last().is_some_and(|part| part.bytes().all(|b| b.is_ascii_digit())) {
        parts.pop();
    }
    let Some((&last, before)) = parts.split_last() else { return false };
    let joined: String = parts.concat();
    let store = before.last().is_some_and(|word| STORES.contains(word));
    // The shell's own PWD is the current folder.
    let part = PARTS.contains(&last) && (last != "PWD" || !before.is_empty());
    ENDS.iter().any(|end| joined.ends_with(end))
        || part
        || (matches!(last, "URL" | "URI") && store)
        || (joined.ends_with("CONNECTIONSTRING") || joined.ends_with("CONNSTR"))
}

/// The names, out of a process's own environment, that a worker is started without.
pub fn scrub<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    names.into_iter().filter(|name| is_credential(name)).collect()
}
