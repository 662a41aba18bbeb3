//! A name of the server, as requests have it in Host.

use crate::refusal::Refusal;
use alloc::format;
use alloc::string::{String, ToString};
use core::net::IpAddr;

/// A host name or an address, in lower case and without a port: any port will do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host(String);

impl Host {
    /// Reads one that the operator wrote. An IPv6 address may stand in brackets.
    ///
    /// # Errors
    /// `bad_allow_host`; `*` is none, since a name that anybody can make resolve here keeps no page out.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let refuse = |why: &str| {
            let message = format!("{:?} is no host: {why}", text.chars().take(80).collect::<String>());
            Err(Refusal::new("bad_allow_host", message).hint("a host looks like chat.example or 192.168.0.7"))
        };
        if text.contains('*') {
            return refuse("name each host instead");
        }
        let address = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
        if let Ok(address) = address.parse::<IpAddr>() {
            return Ok(Self(address.to_string()));
        }
        if text.contains("://") || text.contains('/') {
            return refuse("it is an address of the web; leave out all but the name");
        }
        if text.contains(':') {
            return refuse("leave out the port, any will do");
        }
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        if text.is_empty() || text.len() > 253 || !text.bytes().all(plain) {
            return refuse("it is not letters, digits, '-', '_' and '.' alone");
        }
        Ok(Self(text.to_ascii_lowercase()))
    }

    /// Whether a `Host` header, less its port and brackets, names it.
    pub fn is(&self, host: &str) -> bool {
        self.0.eq_ignore_ascii_case(host)
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
