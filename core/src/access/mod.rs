//! Who may talk to the server: the Host and Origin a browser sends, and the API key.
//!
//! A server on a loopback address is reached by every web page the user opens. Two rules keep pages
//! out: a Host that is no loopback name means that some other name was made to resolve here (DNS
//! rebinding), and an Origin that is neither this server nor one the operator named means that a
//! foreign page asks. Programs that are no browsers send neither by chance.

mod key;
mod origin;

pub use key::parse_key;
pub use origin::Origin;

use crate::api::codes;
use crate::refusal::Refusal;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::net::IpAddr;

/// The rules of one server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Whether it listens on a loopback address only, so that Host must be a loopback name.
    pub loopback: bool,
    /// The key a client must show; none is asked for where this is empty.
    pub api_key: Option<String>,
    /// Whose pages may use the server besides its own (`--cors-origin`).
    pub origins: Vec<Origin>,
}

/// What a request says about where it comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Knock<'a> {
    /// Path without query.
    pub path: &'a str,
    /// The Host header; where the request line names an authority, that has to pass as well.
    pub host: Option<&'a str>,
    /// The authority of an absolute-form request line.
    pub authority: Option<&'a str>,
    /// The Origin header.
    pub origin: Option<&'a str>,
    /// The Authorization header.
    pub authorization: Option<&'a str>,
    /// Whether it is a preflight, which carries no key.
    pub preflight: bool,
}

/// May come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admitted<'a> {
    /// The one foreign origin whose pages may read the answer.
    pub allow_origin: Option<&'a str>,
}

impl Access {
    /// Decides. Codes: `forbidden` (403), `invalid_api_key` (401).
    pub fn judge<'a>(&self, knock: &Knock<'a>) -> Result<Admitted<'a>, Refusal> {
        if self.loopback {
            let host = knock.host.or(knock.authority);
            let names = host.into_iter().chain(knock.authority);
            let foreign = names.into_iter().find(|name| !is_loopback_authority(name));
            if host.is_none() || foreign.is_some() {
                return Err(Refusal::new(
                    codes::FORBIDDEN,
                    format!("the host {} is not this server's", quoted(foreign)),
                )
                .hint("ask for localhost, 127.0.0.1 or [::1], or start the server with --host <address>"));
            }
        }
        let listed = knock.origin.filter(|origin| self.origins.iter().any(|listed| listed.is(origin)));
        if let Some(origin) = knock.origin
            && listed.is_none()
            && !own_origin(origin, knock.host)
        {
            let message = format!("pages of {} may not use this server", quoted(knock.origin));
            return Err(Refusal::new(codes::FORBIDDEN, message)
                .hint("start the server with --cors-origin <scheme://host:port> for pages that may"));
        }
        if let Some(key) = &self.api_key
            && !matches!(knock.path, "/health" | "/ready")
            && !knock.preflight
        {
            self.check_key(key, knock.authorization)?;
        }
        Ok(Admitted { allow_origin: listed })
    }

    fn check_key(&self, key: &str, authorization: Option<&str>) -> Result<(), Refusal> {
        let refusal = |message: &str| {
            Err(Refusal::new(codes::INVALID_API_KEY, message)
                .hint("send the header: Authorization: Bearer <key>"))
        };
        let Some(authorization) = authorization else { return refusal("this server asks for an API key") };
        let shown = authorization
            .split_once(' ')
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map_or("", |(_, shown)| shown.trim());
        if key::same(key, shown) { Ok(()) } else { refusal("the API key is not this server's") }
    }
}

/// `name`, `name:port`, `[address]`, `[address]:port`.
fn host_of(authority: &str) -> Option<&str> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let port_good = match port.strip_prefix(':') {
        Some(digits) => digits.parse::<u16>().is_ok() && !digits.starts_with('+'),
        None => port.is_empty(),
    };
    (port_good && !host.is_empty()).then_some(host)
}

fn is_loopback_authority(authority: &str) -> bool {
    let Some(host) = host_of(authority) else { return false };
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Whether the page was served under the very name it now asks for.
fn own_origin(origin: &str, host: Option<&str>) -> bool {
    let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    matches!((authority, host), (Some(a), Some(h)) if a.eq_ignore_ascii_case(h))
}

fn quoted(value: Option<&str>) -> String {
    value.map_or_else(|| "(missing)".to_string(), |v| format!("{:?}", v.chars().take(80).collect::<String>()))
}
