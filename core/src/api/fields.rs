//! An object's fields, taken one by one; what is left in the end nobody knows.

use super::codes;
use crate::refusal::Refusal;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::RangeInclusive;
use serde_json::{Map, Value};

/// The fields of one JSON object that were not taken yet. `null` is "not given".
pub(super) struct Fields {
    map: Map<String, Value>,
    /// Put before names in messages: empty at the top, `messages[2].` below.
    at: String,
    /// The top-level parameter this is under, where `at` is not empty.
    param: Option<&'static str>,
}

impl Fields {
    /// The request body's own fields.
    pub(super) fn top(map: Map<String, Value>) -> Self {
        Self { map, at: String::new(), param: None }
    }

    /// An object inside the parameter `param`; `at` says where for people (`messages[2]`).
    pub(super) fn inside(value: Value, at: String, param: &'static str) -> Result<Self, Refusal> {
        match value {
            Value::Object(map) => Ok(Self { map, at: at + ".", param: Some(param) }),
            other => Err(wrong_type(&at, "an object", &other).param(param)),
        }
    }

    /// Refuses the field `name` with a reason that follows its name.
    pub(super) fn refuse(&self, code: &str, name: &str, reason: &str) -> Refusal {
        let at = &self.at;
        let name = short(name);
        self.about(Refusal::new(code, format!("'{at}{name}' {reason}")), &name)
    }

    /// Takes a field of any type.
    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.map.remove(name).filter(|value| !value.is_null())
    }

    /// Takes fields that have no influence on the answer.
    pub(super) fn ignore(&mut self, names: &[&str]) {
        for name in names {
            self.map.remove(*name);
        }
    }

    /// Takes `true` or `false`.
    pub(super) fn take_bool(&mut self, name: &str) -> Result<Option<bool>, Refusal> {
        self.take(name)
            .map(|value| value.as_bool().ok_or_else(|| self.mistyped(name, "true or false", &value)))
            .transpose()
    }

    /// Takes a string.
    pub(super) fn take_string(&mut self, name: &str) -> Result<Option<String>, Refusal> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.mistyped(name, "a string", &other)),
        }
    }

    /// Takes an array.
    pub(super) fn take_array(&mut self, name: &str) -> Result<Option<Vec<Value>>, Refusal> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items)),
            Some(other) => Err(self.mistyped(name, "an array", &other)),
        }
    }

    /// Takes an integer within `range`; a number with a point or an exponent is none.
    pub(super) fn take_integer(
        &mut self,
        name: &str,
        range: RangeInclusive<i64>,
    ) -> Result<Option<i64>, Refusal> {
        let Some(value) = self.take(name) else { return Ok(None) };
        if !value.is_i64() && !value.is_u64() {
            return Err(self.mistyped(name, "an integer", &value));
        }
        match value.as_i64().filter(|integer| range.contains(integer)) {
            Some(integer) => Ok(Some(integer)),
            None => Err(self.out_of_range(name, &range, &value)),
        }
    }

    /// Takes a number within `range`, which is asked before rounding.
    pub(super) fn take_number(
        &mut self,
        name: &str,
        range: RangeInclusive<f64>,
    ) -> Result<Option<f32>, Refusal> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let Some(number) = value.as_f64() else { return Err(self.mistyped(name, "a number", &value)) };
        match Some(number).filter(|number| range.contains(number)).and_then(to_f32) {
            Some(number) => Ok(Some(number)),
            None => Err(self.out_of_range(name, &range, &value)),
        }
    }

    /// Refuses what was not taken and is not `null`.
    pub(super) fn refuse_rest(&self) -> Result<(), Refusal> {
        match self.map.iter().find(|(_, value)| !value.is_null()) {
            None => Ok(()),
            Some((name, _)) => {
                Err(self.refuse(codes::UNSUPPORTED_PARAMETER, name, "is not a parameter this path supports"))
            }
        }
    }

    /// The refusal for a field of the wrong type.
    pub(super) fn mistyped(&self, name: &str, wanted: &str, got: &Value) -> Refusal {
        self.about(wrong_type(&format!("{}{name}", self.at), wanted, got), name)
    }

    fn out_of_range<T: core::fmt::Display>(
        &self,
        name: &str,
        range: &RangeInclusive<T>,
        got: &Value,
    ) -> Refusal {
        let (from, to, got) = (range.start(), range.end(), show(got));
        self.refuse(codes::INVALID_VALUE, name, &format!("must be from {from} to {to}, and is {got}"))
    }

    fn about(&self, refusal: Refusal, name: &str) -> Refusal {
        refusal.param(self.param.unwrap_or(name))
    }
}

/// A finite `f32` for a JSON number; `None` where it has none.
#[expect(clippy::cast_possible_truncation, reason = "to the nearest f32 is what is wanted")]
pub(super) fn to_f32(number: f64) -> Option<f32> {
    Some(number as f32).filter(|number| number.is_finite())
}

/// The refusal for a value at `at` of the wrong type.
pub(super) fn wrong_type(at: &str, wanted: &str, got: &Value) -> Refusal {
    let got = match got {
        Value::Number(number) => number.to_string(),
        other => kind(other).to_string(),
    };
    Refusal::new(codes::INVALID_TYPE, format!("'{at}' must be {wanted}, not {got}"))
}

/// A value's JSON type in words.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// A value for a message: short ones as they are, others by type.
pub(super) fn show(value: &Value) -> String {
    match value {
        Value::String(text) => format!("'{}'", short(text)),
        Value::Array(_) | Value::Object(_) => kind(value).to_string(),
        other => other.to_string(),
    }
}

/// At most 64 characters of a client's text, for a message.
pub(super) fn short(text: &str) -> String {
    match text.char_indices().nth(64) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}
