//! Requests to the hub: with the token to the hub alone, over https on every hop.

use super::Hub;
use crate::Cancel;
use crate::copy::{Copy, Hash, Stop};
use crate::files::fault;
use crate::net::{self, Patience, Response};
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;
use superfluid_core::install::machine::{Fault, FaultKind, Resume, retry_after};
use superfluid_core::pull::{Action, Answer, Outcome, hop, judge_fetch};

/// Redirects that are followed: a hub needs two.
const HOPS: usize = 6;
/// Of an answer that is an error only so much is read.
const ERROR_MAX: u64 = 4 << 10;

/// Carries out an [`Action::Ask`].
pub(super) fn ask(action: &Action, hub: &Hub, cancel: &Cancel) -> Result<Outcome, Fault> {
    let Action::Ask { url, max, after_ms, connect_ms, stall_ms } = action else {
        return Err(Fault::new(FaultKind::Other, "not a question"));
    };
    cancel.sleep(Duration::from_millis(*after_ms));
    if cancel.asked() {
        return Err(Cancel::fault());
    }
    let response = open(url, hub, patience(*connect_ms, *stall_ms), None)?;
    answer(response, *max).map(Outcome::Answered)
}

/// Carries out an [`Action::Fetch`] into `to`.
pub(super) fn fetch(
    action: &Action,
    hub: &Hub,
    to: &Path,
    cancel: &Cancel,
    progress: &mut dyn FnMut(u64),
) -> Result<Outcome, Fault> {
    let Action::Fetch { url, size, digest, resume, after_ms, connect_ms, stall_ms, .. } = action else {
        return Err(Fault::new(FaultKind::Other, "not a fetch"));
    };
    cancel.sleep(Duration::from_millis(*after_ms));
    if cancel.asked() {
        return Err(Cancel::fault());
    }
    let hash = || Hash::of(digest, *size);
    let writing = |error: io::Error| fault(&format!("cannot write {}", to.display()), &error);
    if let Some(resume) = resume.as_ref().filter(|resume| resume.have == *size) {
        let copy = Copy::go_on(to, resume, hash()).map_err(writing)?;
        let (bytes, hash) = copy.finish();
        return Ok(Outcome::Fetched { bytes, hash });
    }
    let response = open(url, hub, patience(*connect_ms, *stall_ms), resume.as_ref())?;
    let body = judge_fetch(response.status, response.range.as_deref(), resume.as_ref(), *size)?;
    let copy = match (body, resume) {
        (None, _) => return answer(response, ERROR_MAX).map(Outcome::Answered),
        (Some(superfluid_core::install::machine::Body::Rest), Some(resume)) => {
            Copy::go_on(to, resume, hash())
        }
        _ => Copy::begin(to, hash()),
    };
    let copy = copy.map_err(writing)?;
    match copy.run(response.body, to, *size, cancel, progress) {
        Ok((bytes, hash)) => Ok(Outcome::Fetched { bytes, hash }),
        Err(Stop::Source(error, have)) => Ok(Outcome::Broken { fault: net::read_fault(&error), have }),
        Err(Stop::Fault(fault)) => Err(fault),
    }
}

fn patience(connect_ms: u64, stall_ms: u64) -> Patience {
    Patience { connect: Duration::from_millis(connect_ms), stall: Duration::from_millis(stall_ms) }
}

/// Follows redirects by core's word on each.
fn open(
    url: &str,
    hub: &Hub,
    patience: Patience,
    resume: Option<&Resume>,
) -> Result<Response<impl Read + Send + use<>>, Fault> {
    let mut url = url.to_string();
    for _ in 0..HOPS {
        let token = hub.token.as_ref().filter(|_| hub.endpoint.trusts(&url));
        let authorization = token.map(super::Token::header);
        let response = net::open_here(&url, patience, resume, authorization.as_deref())?;
        match (response.status, &response.location) {
            (301 | 302 | 303 | 307 | 308, Some(location)) => url = hop(&url, location)?,
            _ => return Ok(response),
        }
    }
    Err(Fault::new(FaultKind::Redirects, "it leads from one address to the next"))
}

fn answer(response: Response<impl Read>, max: u64) -> Result<Answer, Fault> {
    let Response { status, code, retry_after: after, body, .. } = response;
    let mut bytes = Vec::new();
    let read = body.take(max.saturating_add(1)).read_to_end(&mut bytes);
    match read {
        Err(error) if status == 200 => return Err(net::read_fault(&error)),
        Ok(_) if bytes.len() as u64 > max && status == 200 => {
            return Err(Fault::new(FaultKind::TooLarge, format!("the answer has more than {max} bytes")));
        }
        _ => {}
    }
    bytes.truncate(usize::try_from(max).unwrap_or(usize::MAX));
    Ok(Answer {
        status,
        retry_after_s: after.as_deref().and_then(retry_after),
        code,
        body: String::from_utf8(bytes).unwrap_or_default(),
    })
}
