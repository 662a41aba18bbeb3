//! Who may talk to the server: the Host and Origin a browser sends, and the API key.
//!
//! A server on a loopback address is reached by every web page the user opens. Two rules keep pages
//! out: a Host that is no loopback name means that some other name was made to resolve here (DNS
//! rebinding), unless the operator named it, and an Origin that is neither this server nor one the
//! operator named means that a foreign page asks. Programs that are no browsers send neither by chance.

mod cors;
mod host;
mod key;
mod origin;

pub use cors::allowed_headers;
pub use host::Host;
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
    /// Whether it listens on a loopback address only, so that Host must be a loopback name or one of
    /// `hosts`.
    pub loopback: bool,
    /// Names it also goes by, behind a proxy that keeps its own Host (`--allow-host`).
    pub hosts: Vec<Host>,
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

impl Access {
    /// The one foreign origin whose pages may read the answer, whatever it is: an error they can't read
    /// looks like a network that is down.
    pub fn allow_origin<'a>(&self, origin: Option<&'a str>) -> Option<&'a str> {
        origin.filter(|origin| self.origins.iter().any(|listed| listed.is(origin)))
    }

    /// Decides.
    ///
    /// # Errors
    /// `forbidden` (403), `invalid_api_key` (401).
    pub fn judge(&self, knock: &Knock<'_>) -> Result<(), Refusal> {
        if self.loopback {
            let host = knock.host.or(knock.authority);
            let names = host.into_iter().chain(knock.authority);
            let foreign = names.into_iter().find(|name| !self.is_own_name(name));
            if host.is_none() || foreign.is_some() {
                return Err(Refusal::new(
                    codes::FORBIDDEN,
                    format!("the host {} is not this server's", quoted(foreign)),
                )
                .hint("ask for localhost, 127.0.0.1 or [::1]")
                .hint("behind a proxy that keeps its own Host, start the server with --allow-host <name>"));
            }
        }
        if let Some(origin) = knock.origin
            && self.allow_origin(knock.origin).is_none()
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
        Ok(())
    }

    /// A loopback name, or one that the operator gave; with any port.
    fn is_own_name(&self, authority: &str) -> bool {
        let Some(host) = host_of(authority) else { return false };
        host.eq_ignore_ascii_case("localhost")
            || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
            || self.hosts.iter().any(|listed| listed.is(host))
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

/// Whether the page was served under the very name it now asks for.
fn own_origin(origin: &str, host: Option<&str>) -> bool {
    let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    matches!((authority, host), (Some(a), Some(h)) if a.eq_ignore_ascii_case(h))
}

fn quoted(value: Option<&str>) -> String {
    value.map_or_else(|| "(missing)".to_string(), |v| format!("{:?}", v.chars().take(80).collect::<String>()))
}
