//! `messages`: checked, and brought into the one form that templates get.
//!
//! A message leaves with `role` and `content`; text parts are joined, so that a string and the same
//! text in parts are one prompt. `developer` is `system`. An assistant's `null` content is the empty
//! string, which every template can put out.
//!
//! Fields that nobody knows, in a message, a part or a call, are passed over: a client sends back a
//! history that others wrote, with marks of their own, and can't type it again.

use super::codes;
use super::fields::{Fields, short, wrong_type};
use super::request::Media;
use crate::refusal::Refusal;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde_json::{Map, Value};

const PARAM: &str = "messages";

/// Takes `messages`, which must be there.
pub(super) fn take_messages(fields: &mut Fields, most: usize) -> Result<(Vec<Value>, Media), Refusal> {
    let Some(list) = fields.take_array(PARAM)? else {
        return Err(fields.refuse(codes::MISSING_PARAMETER, PARAM, "must hold a conversation"));
    };
    if list.is_empty() || list.len() > most {
        let reason = format!("must have from 1 to {most} messages, and has {}", list.len());
        return Err(fields.refuse(codes::INVALID_VALUE, PARAM, &reason));
    }
    let mut media = Media::default();
    let messages =
        list.into_iter().enumerate().map(|(index, message)| take_message(index, message, &mut media));
    Ok((messages.collect::<Result<_, _>>()?, media))
}

fn take_message(index: usize, message: Value, media: &mut Media) -> Result<Value, Refusal> {
    let at = format!("{PARAM}[{index}]");
    let mut fields = Fields::inside(message, at.clone(), PARAM)?;
    let Some(role) = fields.take_string("role")? else {
        return Err(fields.refuse(codes::MISSING_PARAMETER, "role", "is missing"));
    };
    let role = match role.as_str() {
        "developer" => "system",
        "system" | "user" | "assistant" | "tool" => &role,
        other => {
            let reason =
                format!("must be system, developer, user, assistant or tool, and is '{}'", short(other));
            return Err(fields.refuse(codes::INVALID_VALUE, "role", &reason));
        }
    };
    let mut out = Map::new();
    out.insert("role".into(), role.into());
    let mut calls = Vec::new();
    if role == "assistant" {
        calls = take_calls(&mut fields, &at)?;
        if fields.take("function_call").is_some() {
            let reason = "is not supported: send the call in 'tool_calls'";
            return Err(fields.refuse(codes::UNSUPPORTED_PARAMETER, "function_call", reason));
        }
        if let Some(reasoning) = fields.take_string("reasoning_content")? {
            out.insert("reasoning_content".into(), reasoning.into());
        }
    }
    let content = match fields.take("content") {
        None if !calls.is_empty() => String::new().into(),
        None => {
            let reason =
                if role == "assistant" { "is missing, and there are no tool_calls" } else { "is missing" };
            return Err(fields.refuse(codes::MISSING_PARAMETER, "content", reason));
        }
        Some(content) => take_content(content, &format!("{at}.content"), media)?,
    };
    out.insert("content".into(), content);
    if !calls.is_empty() {
        out.insert("tool_calls".into(), calls.into());
    }
    if role == "tool" {
        let Some(id) = fields.take_string("tool_call_id")? else {
            return Err(fields.refuse(codes::MISSING_PARAMETER, "tool_call_id", "is missing"));
        };
        out.insert("tool_call_id".into(), id.into());
    }
    if let Some(name) = fields.take_string("name")? {
        out.insert("name".into(), name.into());
    }
    Ok(Value::Object(out))
}

/// A string, or parts: text ones joined into a string, or the list as it is where it holds media.
fn take_content(content: Value, at: &str, media: &mut Media) -> Result<Value, Refusal> {
    let parts = match content {
        Value::String(_) => return Ok(content),
        Value::Array(parts) => parts,
        other => return Err(wrong_type(at, "a string or an array of parts", &other).param(PARAM)),
    };
    let mut text = String::new();
    let is_text = |part: &Value| matches!(part["type"].as_str(), Some("text" | "refusal"));
    let kept = if parts.iter().all(is_text) { None } else { Some(parts.clone()) };
    for (index, part) in parts.into_iter().enumerate() {
        let at = format!("{at}[{index}]");
        if let Value::String(piece) = &part {
            return Err(wrong_type(&at, "an object", &Value::String(short(piece))).param(PARAM));
        }
        let mut fields = Fields::inside(part, at, PARAM)?;
        let Some(kind) = fields.take_string("type")? else {
            return Err(fields.refuse(codes::MISSING_PARAMETER, "type", "is missing"));
        };
        match kind.as_str() {
            "text" | "refusal" => {
                let Some(piece) = fields.take_string(&kind)? else {
                    return Err(fields.refuse(codes::MISSING_PARAMETER, &kind, "is missing"));
                };
                text.push_str(&piece);
            }
            "image_url" | "input_image" | "image" => media.image = true,
            "input_audio" | "audio_url" | "audio" => media.audio = true,
            "file" | "video_url" | "input_video" => {
                let reason = format!("is '{kind}', a kind of part no runtime takes");
                return Err(fields.refuse(codes::UNSUPPORTED_INPUT, "type", &reason));
            }
            other => {
                let reason = format!("must be text, image_url or input_audio, and is '{}'", short(other));
                return Err(fields.refuse(codes::INVALID_VALUE, "type", &reason));
            }
        }
    }
    Ok(kept.map_or(Value::String(text), Value::Array))
}

/// An assistant's `tool_calls`; absent, `null` and `[]` are none.
fn take_calls(fields: &mut Fields, at: &str) -> Result<Vec<Value>, Refusal> {
    let mut calls = fields.take_array("tool_calls")?.unwrap_or_default();
    for (index, call) in calls.iter_mut().enumerate() {
        let at = format!("{at}.tool_calls[{index}]");
        let mut given = Fields::inside(call.take(), at.clone(), PARAM)?;
        let id = need_string(&mut given, "id")?;
        let kind = given.take_string("type")?.unwrap_or_else(|| "function".into());
        if kind != "function" {
            let reason = format!("must be function, and is '{}'", short(&kind));
            return Err(given.refuse(codes::INVALID_VALUE, "type", &reason));
        }
        let function = given.take("function").unwrap_or_default();
        let mut function = Fields::inside(function, format!("{at}.function"), PARAM)?;
        let name = need_string(&mut function, "name")?;
        let arguments = need_string(&mut function, "arguments")?;
        let function = Map::from_iter([
            (String::from("name"), Value::from(name)),
            (String::from("arguments"), Value::from(arguments)),
        ]);
        *call = Value::Object(Map::from_iter([
            (String::from("id"), Value::from(id)),
            (String::from("type"), Value::from(kind)),
            (String::from("function"), Value::Object(function)),
        ]));
    }
    Ok(calls)
}

fn need_string(fields: &mut Fields, name: &str) -> Result<String, Refusal> {
    match fields.take_string(name)? {
        Some(text) => Ok(text),
        None => Err(fields.refuse(codes::MISSING_PARAMETER, name, "is missing")),
    }
}
