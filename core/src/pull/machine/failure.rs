//! Why a pull ended, in words and with what to do next.

use crate::install::machine::{Fault, FaultKind};
use crate::pull::{Endpoint, HubFile, ModelId};
use crate::refusal::Refusal;
use alloc::format;

const ROOM: &str = "free some space, or set HF_HOME to a folder on a larger disk";
const GO_ON: &str = "what has come is kept; pull again to go on from there";

/// A fault of this machine or of the way to the hub, by its kind alone.
pub(super) fn explain(fault: &Fault) -> Refusal {
    let (code, hint) = match fault.kind {
        FaultKind::NoSpace => ("no_space", ROOM),
        FaultKind::Permission => {
            ("not_permitted", "change its permissions, or set HF_HOME to a folder of your own")
        }
        FaultKind::ReadOnly => ("read_only", "set HF_HOME to a folder on a writable file system"),
        FaultKind::Folder => ("folder_in_the_way", "move that folder away"),
        FaultKind::NotFolder => ("not_a_folder", "set HF_HOME to a folder, or to where one can be made"),
        FaultKind::Unsupported => (
            "no_lock",
            "the file system of the cache has no file locks; set HF_HOME to a folder on a local disk",
        ),
        FaultKind::Certificate => (
            "certificate_not_trusted",
            "if a proxy of your own inspects TLS, name its certificate authority with SSL_CERT_FILE",
        ),
        FaultKind::NotHttps => ("not_https", "models are fetched over https only, on every hop"),
        FaultKind::Redirects => ("redirects", "check HF_ENDPOINT"),
        FaultKind::TooLarge => ("too_large", "the hub sent more than it said; pull again"),
        FaultKind::Status(_) => ("http_status", "try again later"),
        FaultKind::Network => ("network", GO_ON),
        _ => return Refusal::new("io", fault.message.clone()),
    };
    Refusal::new(code, fault.message.clone()).hint(hint)
}

/// A request came to nothing, at the last attempt too.
pub(super) fn unreachable(what: &str, endpoint: &Endpoint, fault: &Fault) -> Refusal {
    let mut refusal = explain(fault);
    refusal.message = format!("cannot fetch {what} from {}: {}", endpoint.host(), fault.message);
    if fault.kind == FaultKind::Network {
        refusal = refusal.hint("check the connection, HTTPS_PROXY and HF_ENDPOINT");
    }
    refusal
}

/// A file is not the one the hub listed.
pub(super) fn wrong_digest(file: &HubFile, got: &str) -> Refusal {
    let expected = file.digest.hex();
    Refusal::new(
        "wrong_digest",
        format!("{} is not the file the hub lists: expected the digest {expected}, got {got}", file.path),
    )
    .hint("it was changed on its way and thrown away; pull again, or check HTTPS_PROXY and HF_ENDPOINT")
}

/// The disk has no room for what is missing.
pub(super) fn no_room(id: &ModelId, needed: u64, free: u64) -> Refusal {
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    Refusal::new(
        "no_space",
        format!("{id} needs {} MiB more, and the disk of the cache has {} MiB free", mib(needed), free >> 20),
    )
    .hint(ROOM)
}

/// Sizes that no disk has.
pub(super) fn absurd(id: &ModelId) -> Refusal {
    Refusal::new("bad_listing", format!("the hub says that {id} is larger than anything is"))
        .hint("check HF_ENDPOINT")
}

/// Given up on request.
pub(super) fn cancelled() -> Refusal {
    Refusal::new("cancelled", "given up on request").hint(GO_ON)
}
