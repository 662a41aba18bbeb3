//! Chat templates: a model's own Jinja program that turns a conversation into text.
//!
//! A template comes with a model file, so it is a stranger's program. It reaches nothing but its
//! input, and size, work, depth and output are bounded: whatever it does ends as a [`Refusal`] of
//! the one request that used it.
//!
//! A conversation's text can't act as a template does: `guard` says how its control tokens are kept
//! apart, `specials` how what is rendered becomes tokens.

mod functions;
mod guard;
mod json;
mod last;
mod specials;

use crate::runtime::Special;
pub use guard::Rendered;
use guard::{Guard, Marks};
pub(crate) use json::size as json_size;
use last::End;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{Environment, ErrorKind};
use serde_json::{Map, Value as Json};
pub use specials::Specials;
use std::io;
use superfluid_core::Refusal;
use superfluid_core::api::codes;

/// Bytes a template may have.
const MAX_SOURCE: usize = 1 << 20;

/// Bytes a conversation may become, on top of [`OUTPUT_SHARE`] for each byte of its own.
const MAX_OUTPUT: usize = 4 << 20;

/// Output bytes a byte of input adds.
const OUTPUT_SHARE: usize = 4;

/// Instructions a render may take; about 64 bytes of text count as one more. A long agent's
/// conversation of ten thousand messages takes about two million.
const FUEL: u64 = 2_000_000;

/// Input bytes that add one instruction: long conversations are looped over more.
const FUEL_SHARE: u64 = 2;

/// The name errors show.
const NAME: &str = "chat template";

/// What a conversation is rendered from.
#[derive(Clone, Copy, Debug)]
pub struct Conversation<'a> {
    /// Messages in OpenAI's shape.
    pub messages: &'a [Json],
    /// Tools in OpenAI's shape.
    pub tools: &'a [Json],
    /// `chat_template_kwargs`. With `continue_final_message` the rendering ends where the last message's
    /// text does.
    pub kwargs: &'a Map<String, Json>,
    /// Text of the begin-of-text token.
    pub bos: &'a str,
    /// Text of the end-of-text token.
    pub eos: &'a str,
    /// Seconds since 1970 that `strftime_now` shows, in UTC.
    pub now_unix: u64,
}

/// A compiled chat template.
///
/// Compile, render and drop it on a thread with 256 MiB of stack: the engine recurses as deep as
/// expressions and values are nested, which its work limit bounds, but not to less. Two things it
/// counts no work for, so that only the process's end bounds them: joining lists with themselves
/// over and over, and showing a `namespace` that holds itself.
#[derive(Debug)]
pub struct Template {
    environment: Environment<'static>,
    guard: Guard,
}

impl Template {
    /// Compiles a template for a vocabulary with these special tokens. Refused with `template_error`
    /// where it is no Jinja, or too long.
    pub fn compile(source: &str, specials: &[Special]) -> Result<Self, Refusal> {
        if source.len() > MAX_SOURCE {
            let message =
                format!("the chat template has {} bytes, at most {MAX_SOURCE} are read", source.len());
            return Err(refusal(message));
        }
        let mut environment = Environment::new();
        // As the `transformers` library sets Jinja up, which is what template authors test with.
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.map_err(|e| failed(&e))?);
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        environment.set_debug(false);
        functions::install(&mut environment);
        environment.add_template_owned(NAME, without_generation_tags(source)).map_err(|e| failed(&e))?;
        Ok(Self { environment, guard: Guard::new(source, specials) })
    }

    /// The conversation as text for the model, up to where its answer starts: after the last message's
    /// text where that is gone on with.
    ///
    /// Calls' `arguments` are given as objects, as `transformers` documents. Templates that
    /// join them as text fail on those, so a failed render is tried once more with the
    /// client's own strings, and with `""` for content that is null.
    pub fn render(&self, conversation: Conversation<'_>) -> Result<Rendered, Refusal> {
        let parsed: Vec<Json> = conversation.messages.iter().map(with_parsed_arguments).collect();
        self.render_once(conversation, &parsed).or_else(|first| {
            let plain: Vec<Json> = conversation.messages.iter().map(with_empty_for_null).collect();
            if plain == parsed {
                return Err(first);
            }
            self.render_once(conversation, &plain).map_err(|_| first)
        })
    }

    fn render_once(&self, given: Conversation<'_>, messages: &[Json]) -> Result<Rendered, Refusal> {
        let values = messages.iter().chain(given.tools).chain(given.kwargs.values());
        let marks = self.guard.marks(values)?;
        let marked = |values: &[Json]| {
            let mut values = values.to_vec();
            values.iter_mut().for_each(|value| marks.mark(value));
            values
        };
        let (mut messages, tools) = (marked(messages), marked(given.tools));
        let mut kwargs = given.kwargs.clone();
        kwargs.values_mut().for_each(|value| marks.mark(value));
        let end = match kwargs.get("continue_final_message") {
            Some(Json::Bool(true)) => {
                kwargs.insert("add_generation_prompt".into(), false.into());
                Some(End::mark(&mut messages, marks.end)?)
            }
            _ => None,
        };
        let text = self.run(given, &marks, &messages, &tools, &kwargs)?;
        Ok(marks.unmark(match end {
            Some(end) => end.cut(&text)?,
            None => text,
        }))
    }

    fn run(
        &self,
        given: Conversation<'_>,
        marks: &Marks<'_>,
        messages: &[Json],
        tools: &[Json],
        kwargs: &Map<String, Json>,
    ) -> Result<String, Refusal> {
        let size = [messages, tools].into_iter().flatten().map(json::size).sum::<usize>();
        let mut environment = self.environment.clone();
        environment.set_fuel(Some(FUEL + size as u64 / FUEL_SHARE));
        let now = given.now_unix;
        environment.add_function("strftime_now", move |format: &str| functions::strftime(format, now));
        functions::add_tojson(&mut environment, marks.stand_ins());

        let mut context = vec![("add_generation_prompt".to_owned(), Value::from(true))];
        context.extend(kwargs.iter().map(|(name, value)| (name.clone(), Value::from(Serde(value)))));
        let tools = if tools.is_empty() { Value::from(()) } else { Value::from(Serde(tools)) };
        context.extend([
            ("messages".to_owned(), Value::from(Serde(messages))),
            ("tools".to_owned(), tools),
            ("bos_token".to_owned(), Value::from(given.bos)),
            ("eos_token".to_owned(), Value::from(given.eos)),
        ]);

        let limit = MAX_OUTPUT + size * OUTPUT_SHARE;
        let mut output = Bounded { bytes: Vec::new(), limit, over: false };
        let template = environment.get_template(NAME).map_err(|e| failed(&e))?;
        let rendered = template.render_captured_to(Value::from_pairs(context), &mut output);
        if let Err(error) = rendered.map(drop) {
            if output.over {
                return Err(refusal(format!("the chat template wrote more than {limit} bytes")));
            }
            return Err(failed(&error));
        }
        String::from_utf8(output.bytes)
            .map_err(|_| refusal("the chat template wrote something that is not text".into()))
    }
}

/// A writer with an end.
struct Bounded {
    bytes: Vec<u8>,
    limit: usize,
    over: bool,
}

impl io::Write for &mut Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > self.limit {
            self.over = true;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn refusal(message: String) -> Refusal {
    Refusal::new(codes::TEMPLATE_ERROR, message).param("messages")
}

/// What the template or its engine said.
fn failed(error: &minijinja::Error) -> Refusal {
    if error.kind() == ErrorKind::OutOfFuel {
        return refusal("the chat template did not end within the work a conversation may take".into());
    }
    if let Some(said) = functions::raised(error) {
        return refusal(format!("the chat template refused the conversation: {said}"));
    }
    let mut message =
        format!("the chat template failed: {}", error.detail().unwrap_or(error_kind(error).as_str()));
    if let Some(line) = error.line() {
        message += &format!(" (line {line})");
    }
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        message += &format!(": {error}");
        cause = error.source();
    }
    refusal(json::clipped(&message, 600))
}

fn error_kind(error: &minijinja::Error) -> String {
    error.kind().to_string()
}

/// `{% generation %}` marks the answer for training and renders nothing: a condition that holds
/// stands in for it.
fn without_generation_tags(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find("{%") {
        let (before, tag) = rest.split_at(at + 2);
        out.push_str(before);
        let inner = tag.trim_start_matches(['-', '+']).trim_start();
        let word = inner.find(|c: char| !c.is_ascii_alphabetic()).map_or(inner, |end| &inner[..end]);
        let stand_in = match word {
            "generation" => "if true",
            "endgeneration" => "endif",
            _ => word,
        };
        let skipped = tag.len() - inner.len();
        out.push_str(&tag[..skipped]);
        out.push_str(stand_in);
        rest = &inner[word.len()..];
    }
    out.push_str(rest);
    out
}

/// Tool calls' arguments, which OpenAI sends as JSON text, as the objects they stand for.
fn with_parsed_arguments(message: &Json) -> Json {
    let mut message = message.clone();
    let calls = message.get_mut("tool_calls").and_then(Json::as_array_mut);
    for call in calls.into_iter().flatten() {
        if let Some(arguments) = call.pointer_mut("/function/arguments")
            && let Some(object) =
                arguments.as_str().and_then(|text| serde_json::from_str::<Map<_, _>>(text).ok())
        {
            *arguments = Json::Object(object);
        }
    }
    message
}

fn with_empty_for_null(message: &Json) -> Json {
    let mut message = message.clone();
    if let Some(content) = message.get_mut("content").filter(|content| content.is_null()) {
        *content = Json::String(String::new());
    }
    message
}
