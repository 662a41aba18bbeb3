//! Fetches over https, bounded in size and in patience.

use std::io::Read;
use std::time::Duration;
use superfluid_core::install::machine::{Attempts, Fault, FaultKind, Resume, judge_response};
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// How long to wait for what.
#[derive(Clone, Copy)]
pub(crate) struct Patience {
    pub(crate) connect: Duration,
    pub(crate) stall: Duration,
}

/// A server's answer, its body unread.
pub(crate) struct Response<R> {
    pub(crate) status: u16,
    pub(crate) range: Option<String>,
    pub(crate) tag: Option<String>,
    pub(crate) location: Option<String>,
    pub(crate) retry_after: Option<String>,
    /// A hub's `X-Error-Code`.
    pub(crate) code: Option<String>,
    pub(crate) body: R,
}

/// Opens an address for reading, all of it or what is to come; every hop must be https.
pub(crate) fn open(
    url: &str,
    patience: Patience,
    resume: Option<&Resume>,
) -> Result<Response<impl Read + Send + use<>>, Fault> {
    request(url, patience, resume, None, 5)
}

/// The same without following redirects, and with an `Authorization` where one is given.
pub(crate) fn open_here(
    url: &str,
    patience: Patience,
    resume: Option<&Resume>,
    authorization: Option<&str>,
) -> Result<Response<impl Read + Send + use<>>, Fault> {
    request(url, patience, resume, authorization, 0)
}

fn request(
    url: &str,
    patience: Patience,
    resume: Option<&Resume>,
    authorization: Option<&str>,
    redirects: u32,
) -> Result<Response<impl Read + Send + use<>>, Fault> {
    let config = ureq::Agent::config_builder()
        .https_only(true)
        .max_redirects(redirects)
        .http_status_as_error(false)
        .timeout_connect(Some(patience.connect))
        .timeout_resolve(Some(patience.connect))
        .timeout_per_read(Some(patience.stall))
        .timeout_per_write(Some(patience.stall))
        .accept_encoding("identity")
        .user_agent(concat!("superfluid/", env!("CARGO_PKG_VERSION")))
        .tls_config(TlsConfig::builder().root_certs(roots()?).build())
        .build();
    let mut request = ureq::Agent::new_with_config(config).get(url);
    if let Some(Resume { have, validator }) = resume {
        request = request.header("Range", format!("bytes={have}-"));
        if let Some(tag) = validator {
            request = request.header("If-Range", tag);
        }
    }
    if let Some(authorization) = authorization {
        request = request.header("Authorization", authorization);
    }
    let response = request.call().map_err(|error| fault(&error))?;
    let header = |name: &str| Some(response.headers().get(name)?.to_str().ok()?.to_string());
    Ok(Response {
        status: response.status().as_u16(),
        range: header("Content-Range"),
        tag: header("ETag"),
        location: header("Location"),
        retry_after: header("Retry-After"),
        code: header("X-Error-Code"),
        body: response.into_body().into_reader(),
    })
}

/// Fetches a small text of at most `most` bytes; again where that may help, when the server says.
pub(crate) fn text(url: &str, most: u64) -> Result<String, Fault> {
    let mut attempts = Attempts::default();
    loop {
        let fault = match text_once(url, most) {
            Ok(text) => return Ok(text),
            Err(fault) => fault,
        };
        match attempts.next(&fault) {
            Some((after_ms, _)) => std::thread::sleep(Duration::from_millis(after_ms)),
            None => return Err(fault),
        }
    }
}

fn text_once(url: &str, most: u64) -> Result<String, Fault> {
    let patience = Patience { connect: Duration::from_secs(20), stall: Duration::from_secs(30) };
    let response = open(url, patience, None)?;
    judge_response(response.status, None, None, None)
        .map_err(|fault| fault.after(response.retry_after.as_deref()))?;
    let mut text = String::new();
    match response.body.take(most.saturating_add(1)).read_to_string(&mut text) {
        Err(error) => Err(read_fault(&error)),
        Ok(_) if text.len() as u64 > most => {
            Err(Fault::new(FaultKind::TooLarge, format!("the answer has more than {most} bytes")))
        }
        Ok(_) => Ok(text),
    }
}

/// A failure while the body was read.
pub(crate) fn read_fault(error: &std::io::Error) -> Fault {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<ureq::Error>()) {
        Some(inner) => fault(inner),
        None if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            Fault::new(FaultKind::Network, "the connection ended before the whole file had come")
        }
        None => Fault::new(FaultKind::Network, format!("the connection broke: {error}")),
    }
}

/// The system's certificates, or those of SSL_CERT_FILE and SSL_CERT_DIR.
fn roots() -> Result<RootCerts, Fault> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let why: Vec<String> = found.errors.iter().map(ToString::to_string).collect();
        let why = if why.is_empty() { "none are installed".into() } else { why.join("; ") };
        return Err(Fault::new(
            FaultKind::Certificate,
            format!("no certificate authorities to trust: {why}"),
        ));
    }
    let certs: Vec<Certificate<'static>> =
        found.certs.iter().map(|cert| Certificate::from_der(cert).to_owned()).collect();
    Ok(RootCerts::new_with_certs(&certs))
}

fn fault(error: &ureq::Error) -> Fault {
    use ureq::Error;
    let words = error.to_string();
    match error {
        Error::RequireHttpsOnly(to) => {
            Fault::new(FaultKind::NotHttps, format!("a redirect leads away from https, to {to}"))
        }
        Error::Rustls(_) | Error::Tls(_) | Error::Pem(_) => certificate(&words),
        Error::Timeout(what) => Fault::new(FaultKind::Network, format!("it took too long ({what})")),
        // The same address leads the same way the next time.
        Error::TooManyRedirects => Fault::new(FaultKind::Redirects, "it leads from one address to the next"),
        Error::HostNotFound => Fault::new(FaultKind::Network, "the host has no address"),
        Error::Io(io) => match io.get_ref() {
            Some(_) if words.contains("certificate") => certificate(&words),
            _ => Fault::new(FaultKind::Network, words),
        },
        _ => Fault::new(FaultKind::Network, words),
    }
}

fn certificate(words: &str) -> Fault {
    if words.contains("certificate") {
        return Fault::new(FaultKind::Certificate, format!("certificate not trusted ({words})"));
    }
    Fault::new(FaultKind::Network, words.to_string())
}
