//! An origin of web pages, as browsers send it.

use super::host_of;
use crate::refusal::Refusal;
use alloc::format;
use alloc::string::{String, ToString};

/// `scheme://host` or `scheme://host:port`, in lower case, as a browser writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin(String);

impl Origin {
    /// Reads one that the operator wrote. A slash at the end is forgiven.
    ///
    /// # Errors
    /// `bad_cors_origin`; `*` and `null` are none, since any page has them.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let refuse = |why: &str| {
            let message = format!("{:?} is no origin: {why}", text.chars().take(80).collect::<String>());
            Err(Refusal::new("bad_cors_origin", message)
                .hint("an origin looks like https://chat.example or http://localhost:3000"))
        };
        if matches!(text, "*" | "null") {
            return refuse("it stands for any page; name each origin instead");
        }
        let Some((scheme, rest)) = text.split_once("://") else { return refuse("it has no ://") };
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        if scheme.is_empty() || !scheme.bytes().all(plain) {
            return refuse("it does not begin with a scheme");
        }
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~[]:".contains(&byte);
        if host_of(authority).is_none() || !authority.bytes().all(plain) {
            return refuse("what follows :// is no host with or without a port, and nothing else");
        }
        let mut origin = format!("{scheme}://{authority}").to_ascii_lowercase();
        // Browsers leave a scheme's own port out.
        for (scheme, port) in [("http://", ":80"), ("https://", ":443")] {
            if origin.starts_with(scheme)
                && let Some(short) = origin.strip_suffix(port)
            {
                origin = short.to_string();
            }
        }
        Ok(Self(origin))
    }

    /// Whether an `Origin` header names it.
    pub fn is(&self, header: &str) -> bool {
        self.0 == header
    }
}
