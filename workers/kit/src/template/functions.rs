//! What `transformers` gives templates beyond Jinja itself.

use super::json;
use jiff::Timestamp;
use jiff::fmt::strtime::BrokenDownTime;
use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State};
use minijinja_contrib::pycompat;
use std::fmt;

pub(super) fn install(environment: &mut Environment<'static>) {
    environment.set_unknown_method_callback(method);
    environment.add_function("raise_exception", |said: String| -> Result<Value, Error> {
        Err(Error::new(ErrorKind::InvalidOperation, "raise_exception").with_source(Raised(said)))
    });
}

/// `tojson`, which writes the characters in `kept` as they are.
pub(super) fn add_tojson(environment: &mut Environment<'static>, kept: Vec<char>) {
    environment.add_filter(
        "tojson",
        move |state: &State, value: &Value, indent: Option<Value>, options: Kwargs| {
            tojson(state, value, indent, &options, &kept)
        },
    );
}

/// What a template gave to `raise_exception`, where that is why it failed.
pub(super) fn raised(error: &Error) -> Option<String> {
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        if let Some(Raised(said)) = error.downcast_ref() {
            return Some(json::clipped(said, 600));
        }
        cause = error.source();
    }
    None
}

/// The time a template shows, after C's `strftime`, in UTC.
pub(super) fn strftime(format: &str, now_unix: u64) -> Result<String, Error> {
    let bad = |e: jiff::Error| Error::new(ErrorKind::InvalidOperation, format!("strftime_now: {e}"));
    let seconds = i64::try_from(now_unix).unwrap_or(i64::MAX);
    let time = Timestamp::from_second(seconds).map_err(bad)?;
    BrokenDownTime::from(time).to_string(format).map_err(bad)
}

#[derive(Debug)]
struct Raised(String);

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Raised {}

/// Python's methods: the widely used ones, and those of strings that templates call besides.
fn method(state: &mut State, value: &Value, name: &str, args: &[Value]) -> Result<Value, Error> {
    if let (Some(text), [affix]) = (value.as_str(), args)
        && let Some(affix) = affix.as_str()
    {
        match name {
            "removeprefix" => return Ok(text.strip_prefix(affix).unwrap_or(text).into()),
            "removesuffix" => return Ok(text.strip_suffix(affix).unwrap_or(text).into()),
            _ => {}
        }
    }
    pycompat::unknown_method_callback(state, value, name, args)
}

/// Python's `json.dumps` with `ensure_ascii=False`, which is what `transformers` puts here.
fn tojson(
    state: &State,
    value: &Value,
    indent: Option<Value>,
    options: &Kwargs,
    kept: &[char],
) -> Result<Value, Error> {
    let indent = match indent {
        Some(indent) => Some(indent),
        None => options.get::<Option<Value>>("indent")?,
    };
    let separators = options.get::<Option<Vec<String>>>("separators")?;
    let style = json::Style {
        indent: indent.filter(|i| i.kind() == ValueKind::Number).map(usize::try_from).transpose()?,
        separators: separators.and_then(|s| <[String; 2]>::try_from(s).ok()),
        ascii: options.get::<Option<bool>>("ensure_ascii")?.unwrap_or(false),
        kept,
        sorted: options.get::<Option<bool>>("sort_keys")?.unwrap_or(false),
    };
    options.assert_all_used()?;
    json::dumps(state, value, &style).map(Value::from)
}
