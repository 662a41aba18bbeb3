//! Request headers that decide something.

use super::codes;
use super::fields::short;
use crate::refusal::Refusal;
use crate::sched::Class;
use crate::time::Duration;
use alloc::format;

/// The class a request's `x-superfluid-qos` header names; without the header, the default one.
///
/// # Errors
/// `invalid_header` for anything but `interactive`, `agent` and `background`.
pub fn parse_class(header: Option<&[u8]>) -> Result<Class, Refusal> {
    let Some(header) = header.map(<[u8]>::trim_ascii) else { return Ok(Class::default()) };
    core::str::from_utf8(header).ok().and_then(Class::named).ok_or_else(|| {
        let header = short(&alloc::string::String::from_utf8_lossy(header));
        let message = format!("x-superfluid-qos must be interactive, agent or background, and is '{header}'");
        Refusal::new(codes::INVALID_HEADER, message).param("x-superfluid-qos")
    })
}

/// How long a request may take, which its `x-superfluid-deadline-ms` header says; at most a day.
///
/// # Errors
/// `invalid_header` for anything but a whole number of milliseconds from 1 to 86400000.
pub fn parse_deadline(header: Option<&[u8]>) -> Result<Option<Duration>, Refusal> {
    let Some(header) = header.map(<[u8]>::trim_ascii) else { return Ok(None) };
    let digits = !header.is_empty() && header.len() <= 8 && header.iter().all(u8::is_ascii_digit);
    let number = core::str::from_utf8(header).ok().filter(|_| digits).and_then(|text| text.parse().ok());
    match number {
        Some(ms @ 1..=86_400_000) => Ok(Some(Duration::from_millis(ms))),
        _ => {
            let header = short(&alloc::string::String::from_utf8_lossy(header));
            let message = format!(
                "x-superfluid-deadline-ms must be a number of milliseconds from 1 to 86400000, and is '{header}'"
            );
            Err(Refusal::new(codes::INVALID_HEADER, message).param("x-superfluid-deadline-ms"))
        }
    }
}

/// The id a request gives itself with `x-request-id`, where it is one that may be repeated in a
/// header and in a log: up to 128 letters, digits, `-`, `_`, `.` and `:`.
pub fn request_id(header: Option<&[u8]>) -> Option<&str> {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte);
    let header = header.filter(|id| (1..=128).contains(&id.len()) && id.iter().all(plain))?;
    core::str::from_utf8(header).ok()
}

/// Refuses a body that says it is something else than JSON. Browsers send `text/plain` to other
/// sites without asking, JSON they don't. A request that says nothing is taken at its bytes.
///
/// # Errors
/// `invalid_header`.
pub fn check_content_type(header: Option<&[u8]>) -> Result<(), Refusal> {
    let Some(header) = header else { return Ok(()) };
    let kind = header.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii();
    let is_json = kind.eq_ignore_ascii_case(b"application/json")
        || kind.len() > 17
            && kind[..12].eq_ignore_ascii_case(b"application/")
            && kind[kind.len() - 5..].eq_ignore_ascii_case(b"+json");
    if is_json {
        return Ok(());
    }
    let kind = short(&alloc::string::String::from_utf8_lossy(kind));
    let message = format!("content-type must be application/json, and is '{kind}'");
    Err(Refusal::new(codes::INVALID_HEADER, message).param("content-type"))
}

/// Refuses a body that is compressed: it is read as it comes. `identity` says just that.
///
/// # Errors
/// `unsupported_encoding`, with the encoding.
pub fn check_content_encoding<'a>(headers: impl IntoIterator<Item = &'a [u8]>) -> Result<(), Refusal> {
    let mut all = headers.into_iter().flat_map(|header| header.split(|&byte| byte == b','));
    let other = all
        .find(|one| !matches!(one.trim_ascii(), b"") && !one.trim_ascii().eq_ignore_ascii_case(b"identity"));
    let Some(other) = other else { return Ok(()) };
    let other = short(&alloc::string::String::from_utf8_lossy(other.trim_ascii()));
    let message = format!("the body is encoded as '{other}', and this server takes it as it is alone");
    Err(Refusal::new(codes::UNSUPPORTED_ENCODING, message)
        .hint("send it without content-encoding, or with content-encoding: identity")
        .param("content-encoding"))
}

/// Whether the `Accept` headers of a scraper ask for the OpenMetrics text format, and do not prefer
/// plain text to it.
pub fn wants_openmetrics<'a>(accept: impl IntoIterator<Item = &'a [u8]>) -> bool {
    let (mut openmetrics, mut plain) = (0.0_f32, 0.0_f32);
    for range in accept.into_iter().flat_map(|header| header.split(|&byte| byte == b',')) {
        let mut parts = range.split(|&byte| byte == b';').map(<[u8]>::trim_ascii);
        let kind = parts.next().unwrap_or_default();
        let quality = parts.find_map(|part| part.strip_prefix(b"q=").or_else(|| part.strip_prefix(b"Q=")));
        let quality = quality.map_or(Some(1.0), |text| core::str::from_utf8(text).ok()?.parse().ok());
        let slot = if kind.eq_ignore_ascii_case(b"application/openmetrics-text") {
            &mut openmetrics
        } else if kind.eq_ignore_ascii_case(b"text/plain") {
            &mut plain
        } else {
            continue;
        };
        *slot = slot.max(quality.unwrap_or(0.0));
    }
    openmetrics > 0.0 && openmetrics >= plain
}
