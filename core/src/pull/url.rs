//! The hub's address, and where its redirects may lead: https on every hop, and the token to the
//! hub itself alone.

use crate::install::machine::{Fault, FaultKind};
use crate::refusal::Refusal;
use alloc::format;
use alloc::string::{String, ToString};
use serde::{Deserialize, Serialize};

/// Where models come from unless `HF_ENDPOINT` says otherwise.
const DEFAULT: &str = "https://huggingface.co";

/// A hub's address, without a slash at its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint(String);

impl Default for Endpoint {
    fn default() -> Self {
        Self(DEFAULT.into())
    }
}

impl Endpoint {
    /// Checks an address: https, no user name, nothing after the path.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let text = text.trim().trim_end_matches('/');
        let refuse = |why: &str| {
            Err(Refusal::new("bad_endpoint", format!("HF_ENDPOINT {why}")).hint(
                "set HF_ENDPOINT to the address of a hub, https://host or https://host:port, or unset it",
            ))
        };
        let Some((authority, rest)) = split(text) else {
            return refuse("is not an https address; models and tokens travel over https only");
        };
        if authority.contains('@') {
            return refuse("has a user name in it; a token goes into HF_TOKEN");
        }
        if rest.contains(['?', '#']) {
            return refuse("has more than a path behind the host");
        }
        Ok(Self(text.into()))
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its host, and the port where one is named; for people.
    pub fn host(&self) -> &str {
        split(&self.0).map_or(&self.0, |(authority, _)| authority)
    }

    /// Whether a request to `url` carries the user's token: only to the very host and port of the hub.
    pub fn trusts(&self, url: &str) -> bool {
        origin(url).is_some_and(|there| origin(&self.0) == Some(there))
    }
}

/// `https://authority/rest`: the authority, and the rest with its first character.
fn split(url: &str) -> Option<(&str, &str)> {
    let scheme = url.get(..8).filter(|scheme| scheme.eq_ignore_ascii_case("https://"))?;
    let rest = &url[scheme.len()..];
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    let plain = url.chars().all(|c| c.is_ascii_graphic() && c != '\\');
    (plain && !authority.is_empty()).then_some((authority, rest))
}

/// Host and port, comparable.
fn origin(url: &str) -> Option<String> {
    let (authority, _) = split(url)?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host).to_ascii_lowercase();
    let named = host.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
    Some(if named { host } else { format!("{host}:443") })
}

/// Where a redirect from `from` leads, which must be https.
pub fn hop(from: &str, location: &str) -> Result<String, Fault> {
    let not_https = || {
        let shown: String = location.chars().take(200).collect();
        Fault::new(FaultKind::NotHttps, format!("a redirect leads away from https, to {shown:?}"))
    };
    let (authority, rest) = split(from).ok_or_else(not_https)?;
    let path = rest.split(['?', '#']).next().unwrap_or_default();
    let to = if let Some(elsewhere) = location.strip_prefix("//") {
        format!("https://{elsewhere}")
    } else if location.starts_with('/') {
        format!("https://{authority}{location}")
    } else if location.split(['/', '?', '#']).next().is_some_and(|first| first.contains(':')) {
        location.to_string()
    } else {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        format!("https://{authority}{folder}/{location}")
    };
    match split(&to) {
        Some((authority, _)) if !authority.contains('@') => Ok(to),
        _ => Err(not_https()),
    }
}
