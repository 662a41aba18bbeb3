//! A look at a model file before llama.cpp gets it: its parser trusts what the daemon's does not,
//! and what it refuses it refuses in its own terms.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;
use superfluid_core::Refusal;
use superfluid_core::runtime::gguf::{FIRST_PREFIX, Header, Parsed};

/// Reads the file's header and refuses what holds no language model.
pub(crate) fn inspect(path: &Path) -> Result<(), Refusal> {
    let name = path.display().to_string();
    let unreadable = |error: &io::Error| {
        Refusal::new("model_not_readable", format!("{name} can't be read: {error}"))
            .hint("name a GGUF file that this user may read")
    };
    let mut file = File::open(path).map_err(|error| unreadable(&error))?;
    let about = file.metadata().map_err(|error| unreadable(&error))?;
    if !about.is_file() {
        return Err(unreadable(&io::Error::other("it is no file")));
    }
    let mut bytes = FIRST_PREFIX.min(about.len());
    let mut prefix = Vec::new();
    loop {
        file.rewind().map_err(|error| unreadable(&error))?;
        prefix.clear();
        file.by_ref().take(bytes).read_to_end(&mut prefix).map_err(|error| unreadable(&error))?;
        match Header::parse(&prefix, about.len()).map_err(|error| error.refusal(&name))? {
            Parsed::Header(header) => return header.servable(&name),
            // Never more than the file has, so a prefix that did not grow means that it shrank.
            Parsed::NeedMore { bytes: needed } if needed > prefix.len() as u64 => bytes = needed,
            Parsed::NeedMore { .. } => {
                return Err(unreadable(&io::Error::other("it changes while it is read")));
            }
        }
    }
}
