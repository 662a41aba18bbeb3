//! Errors in OpenAI's envelope, and which HTTP status a refusal is.

use super::json::{HEAD_BYTES, HEAD_FIELDS};
use crate::refusal::Refusal;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde::Serialize;

/// The refusal codes that HTTP clients meet. A code that is none of these is a fault of ours: 500.
pub mod codes {
    /// 400: the body is no JSON object of the kind the endpoint takes.
    pub const INVALID_JSON: &str = "invalid_json";
    /// 400: a parameter has the wrong JSON type.
    pub const INVALID_TYPE: &str = "invalid_type";
    /// 400: a parameter's value is out of range or malformed.
    pub const INVALID_VALUE: &str = "invalid_value";
    /// 400: a parameter the endpoint needs is absent.
    pub const MISSING_PARAMETER: &str = "missing_required_parameter";
    /// 400: a header has a value that is not understood.
    pub const INVALID_HEADER: &str = "invalid_header";
    /// 400: a request parameter the path does not support.
    pub const UNSUPPORTED_PARAMETER: &str = "unsupported_parameter";
    /// 400: an image or audio part on a model that takes none.
    pub const UNSUPPORTED_INPUT: &str = "unsupported_input";
    /// 400: embeddings, transcription or translation on a model that does not serve them.
    pub const UNSUPPORTED_MODEL: &str = "unsupported_model";
    /// 400: a load the runtime cannot serve as asked.
    pub const UNSUPPORTED_RUNTIME: &str = "unsupported_runtime";
    /// 400: prompt (and reply) do not fit the context window.
    pub const CONTEXT_LENGTH_EXCEEDED: &str = "context_length_exceeded";
    /// 400: the model's chat template cannot render the conversation.
    pub const TEMPLATE_ERROR: &str = "template_error";
    /// 400: the prompt has no tokens, or tokens the model does not have.
    pub const INVALID_PROMPT: &str = "invalid_prompt";
    /// 400: no token may be generated.
    pub const INVALID_MAX_TOKENS: &str = "invalid_max_tokens";
    /// 400: the text is larger than the tokenizer takes.
    pub const TEXT_TOO_LONG: &str = "text_too_long";
    /// 400: the device has no room for this request, even alone; a shorter prompt may fit.
    pub const OUT_OF_MEMORY: &str = "out_of_memory";
    /// 400: what came is no HTTP/1.1 request.
    pub const INVALID_HTTP: &str = "invalid_http";
    /// 401: an API key is asked for and the request has another or none.
    pub const INVALID_API_KEY: &str = "invalid_api_key";
    /// 403: the `Host` or `Origin` is not one this server answers.
    pub const FORBIDDEN: &str = "forbidden";
    /// 404: the model is not served.
    pub const MODEL_NOT_FOUND: &str = "model_not_found";
    /// 404: no such path.
    pub const NOT_FOUND: &str = "not_found";
    /// 405: the path takes another method.
    pub const METHOD_NOT_ALLOWED: &str = "method_not_allowed";
    /// 408: the request did not come whole in time.
    pub const REQUEST_TIMEOUT: &str = "request_timeout";
    /// 413: the body is larger than the server takes.
    pub const BODY_TOO_LARGE: &str = "body_too_large";
    /// 415: the body is compressed, or encoded in some other way.
    pub const UNSUPPORTED_ENCODING: &str = "unsupported_encoding";
    /// 431: the headers are more or longer than the server reads.
    pub const HEADERS_TOO_LARGE: &str = "headers_too_large";
    /// 429: too many requests are waiting.
    pub const OVERLOADED: &str = "overloaded";
    /// 503: the model is still loading, or its worker is being restarted.
    pub const MODEL_LOADING: &str = "model_loading";
    /// 503: the model could not be loaded; a later request tries again.
    pub const MODEL_UNAVAILABLE: &str = "model_unavailable";
    /// 503: the model's worker died too often and is not restarted until the model is loaded again.
    pub const MODEL_FAILED: &str = "model_failed";
    /// 504: the deadline that the request carried is over.
    pub const DEADLINE_EXCEEDED: &str = "deadline_exceeded";
    /// 503: the server is shutting down.
    pub const SHUTTING_DOWN: &str = "shutting_down";
    /// 503: the request was given up by the server.
    pub const CANCELLED: &str = "cancelled";
    /// 500: the worker failed and the request could not be continued.
    pub const WORKER_FAILED: &str = "worker_failed";
}

/// A refusal as an HTTP client sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorReply {
    /// HTTP status.
    pub status: u16,
    /// OpenAI's `type`.
    pub kind: &'static str,
    /// Seconds for a `Retry-After` header, where trying again helps.
    pub retry_after: Option<u32>,
    /// What happened and what to do, without absolute paths.
    pub message: String,
    /// The request field it is about.
    pub param: Option<String>,
    /// Stable code.
    pub code: String,
}

const REQUEST: &str = "invalid_request_error";
const SERVER: &str = "server_error";

impl ErrorReply {
    /// The reply for `refusal`. Its hints follow the message in parentheses; paths are cut down
    /// to their last part, since a client has no business knowing where the server keeps files.
    pub fn new(refusal: &Refusal) -> Self {
        let (status, kind, retry_after) = classify(&refusal.code);
        let mut message = refusal.message.clone();
        for hint in &refusal.hints {
            message.push_str(" (");
            message.push_str(hint);
            message.push(')');
        }
        // What is not found is the path that the client itself asked for.
        let message =
            if refusal.code == codes::NOT_FOUND { message } else { super::paths::without_paths(&message) };
        Self { status, kind, retry_after, message, param: refusal.param.clone(), code: refusal.code.clone() }
    }

    /// The JSON body: `{"error":{"message","type","param","code"}}`.
    pub fn body(&self) -> Vec<u8> {
        #[derive(Serialize)]
        struct Envelope<'a> {
            error: Inner<'a>,
        }
        #[derive(Serialize)]
        struct Inner<'a> {
            message: &'a str,
            r#type: &'a str,
            param: Option<&'a str>,
            code: &'a str,
        }
        let Self { message, kind, param, code, .. } = self;
        super::json::to_bytes(&Envelope {
            error: Inner { message, r#type: kind, param: param.as_deref(), code },
        })
    }
}

/// The reply to a request whose head can't be read; `status` says why: 431 or 400.
pub fn unreadable(status: u16) -> ErrorReply {
    let (code, message) = match status {
        431 => {
            let most = format!("{HEAD_BYTES} bytes, or the headers are more than {HEAD_FIELDS}");
            (codes::HEADERS_TOO_LARGE, format!("the request's first line and headers are longer than {most}"))
        }
        _ => (
            codes::INVALID_HTTP,
            "this is no HTTP/1.1 request: its first line or a header is malformed".into(),
        ),
    };
    ErrorReply::new(&Refusal::new(code, message))
}

/// Status, type and `Retry-After` of a code.
fn classify(code: &str) -> (u16, &'static str, Option<u32>) {
    match code {
        codes::INVALID_JSON
        | codes::INVALID_TYPE
        | codes::INVALID_VALUE
        | codes::MISSING_PARAMETER
        | codes::INVALID_HEADER
        | codes::INVALID_HTTP
        | codes::UNSUPPORTED_PARAMETER
        | codes::UNSUPPORTED_INPUT
        | codes::UNSUPPORTED_MODEL
        | codes::UNSUPPORTED_RUNTIME
        | codes::CONTEXT_LENGTH_EXCEEDED
        | codes::TEMPLATE_ERROR
        | codes::INVALID_PROMPT
        | codes::INVALID_MAX_TOKENS
        | codes::TEXT_TOO_LONG
        | codes::OUT_OF_MEMORY => (400, REQUEST, None),
        codes::INVALID_API_KEY => (401, REQUEST, None),
        codes::FORBIDDEN => (403, REQUEST, None),
        codes::MODEL_NOT_FOUND | codes::NOT_FOUND => (404, REQUEST, None),
        codes::METHOD_NOT_ALLOWED => (405, REQUEST, None),
        codes::REQUEST_TIMEOUT => (408, REQUEST, None),
        codes::BODY_TOO_LARGE => (413, REQUEST, None),
        codes::UNSUPPORTED_ENCODING => (415, REQUEST, None),
        codes::HEADERS_TOO_LARGE => (431, REQUEST, None),
        codes::OVERLOADED => (429, "overloaded_error", Some(1)),
        codes::MODEL_LOADING => (503, SERVER, Some(2)),
        codes::MODEL_UNAVAILABLE => (503, SERVER, Some(10)),
        codes::SHUTTING_DOWN | codes::CANCELLED | codes::MODEL_FAILED => (503, SERVER, None),
        codes::DEADLINE_EXCEEDED => (504, SERVER, None),
        _ => (500, SERVER, None),
    }
}
