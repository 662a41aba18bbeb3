//! Where the API key comes from: a flag, a file, or the environment.

use super::ServeArgs;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use superfluid_core::Refusal;
use superfluid_core::access::parse_key;

/// The variable that holds the key where no flag does.
pub(super) const VARIABLE: &str = "SUPERFLUID_API_KEY";
/// Bytes of a key's file that are read.
const FILE: u64 = 16 << 10;

/// The key, and what is to be said about where it lies.
pub(super) fn find(args: &ServeArgs) -> Result<(Option<String>, Vec<String>), Refusal> {
    if let Some(key) = &args.api_key {
        return Ok((Some(parse_key(key, "the API key of --api-key")?), Vec::new()));
    }
    if let Some(path) = &args.api_key_file {
        let (text, open) = read(path)?;
        let key = parse_key(&text, &format!("the API key in {}", path.display()))?;
        let warning = open.then(|| {
            format!(
                "warning: every user of this machine can read the API key in {}; run chmod 600 on it",
                path.display()
            )
        });
        return Ok((Some(key), warning.into_iter().collect()));
    }
    match std::env::var(VARIABLE) {
        Ok(key) => Ok((Some(parse_key(&key, &format!("the API key of {VARIABLE}"))?), Vec::new())),
        Err(std::env::VarError::NotPresent) => Ok((None, Vec::new())),
        Err(std::env::VarError::NotUnicode(_)) => {
            Err(Refusal::new("bad_api_key", format!("the API key of {VARIABLE} is no text")))
        }
    }
}

/// A file's text, and whether others may read it.
fn read(path: &Path) -> Result<(String, bool), Refusal> {
    let refuse = |error: std::io::Error| {
        Refusal::new("bad_api_key", format!("the API key's file {} can't be read: {error}", path.display()))
    };
    let file = File::open(path).map_err(refuse)?;
    let open = file.metadata().map_err(refuse)?.permissions().mode() & 0o004 != 0;
    let mut text = String::new();
    file.take(FILE).read_to_string(&mut text).map_err(refuse)?;
    Ok((text, open))
}
