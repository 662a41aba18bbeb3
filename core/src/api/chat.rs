//! `/v1/chat/completions`.

use super::fields::{Fields, short, show};
use super::messages::take_messages;
use super::request::{self, Endpoint, Request};
use super::{Bounds, codes, json, sampling};
use crate::refusal::Refusal;
use crate::wire::Input;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde_json::{Map, Value};

/// Parameters without influence on the answer.
const IGNORED: [&str; 8] = [
    "user",
    "metadata",
    "store",
    "service_tier",
    "safety_identifier",
    "prompt_cache_key",
    "prompt_cache_retention",
    "parallel_tool_calls",
];

/// Parses a chat request. `served` are the ids of the models that are served.
///
/// `max_tokens` and `max_completion_tokens` are one cap; the smaller counts. `reasoning_effort`
/// becomes a template variable. With `tool_choice: "none"` the template gets no tools.
///
/// A conversation that ends with the assistant's message is gone on with inside that message, unless
/// `continue_final_message` is false or `add_generation_prompt` true: either is a new turn. Both are
/// arguments of the template (`chat_template_kwargs`), and leave among them.
///
/// # Errors
/// `body_too_large`, `invalid_json`, `invalid_type`, `invalid_value`, `missing_required_parameter`,
/// `model_not_found`, `unsupported_parameter`, `unsupported_input`.
pub fn parse_chat(body: &[u8], bounds: &Bounds, served: &[&str]) -> Result<Request, Refusal> {
    let mut fields = Fields::top(json::parse_object(body, bounds)?);
    let model = request::take_model(&mut fields, served)?;
    request::only_one(&mut fields, "n")?;
    let (stream, include_usage) = request::take_stream(&mut fields)?;
    let (messages, media) = take_messages(&mut fields, bounds.messages)?;
    let sampling = sampling::take_sampling(&mut fields)?;
    let seed = sampling::take_seed(&mut fields)?;
    let max_tokens = sampling::take_max_tokens(&mut fields, &["max_completion_tokens", "max_tokens"])?;
    let stop = request::take_stop(&mut fields)?;
    let ignore_eos = fields.take_bool("ignore_eos")?.unwrap_or(false);
    let logprobs = take_logprobs(&mut fields)?;
    let mut kwargs = take_kwargs(&mut fields)?;
    take_turn(&mut fields, &messages, &mut kwargs)?;
    refuse_tools(&mut fields)?;
    refuse_formats(&mut fields)?;
    fields.ignore(&IGNORED);
    fields.refuse_rest()?;
    Ok(Request {
        endpoint: Endpoint::Chat,
        model,
        input: Input::Chat { messages, tools: Vec::new(), kwargs },
        more: Vec::new(),
        media,
        sampling,
        seed,
        max_tokens,
        stop,
        ignore_eos,
        stream,
        include_usage,
        logprobs,
    })
}

fn take_logprobs(fields: &mut Fields) -> Result<Option<u8>, Refusal> {
    let wanted = fields.take_bool("logprobs")?.unwrap_or(false);
    let top = fields.take_integer("top_logprobs", 0..=20)?;
    if top.is_some() && !wanted {
        return Err(fields.refuse(codes::INVALID_VALUE, "top_logprobs", "needs 'logprobs' to be true"));
    }
    Ok(wanted.then(|| u8::try_from(top.unwrap_or(0)).unwrap_or(0)))
}

fn take_kwargs(fields: &mut Fields) -> Result<Map<String, Value>, Refusal> {
    let mut kwargs = match fields.take("chat_template_kwargs") {
        None => Map::new(),
        Some(Value::Object(map)) => map,
        Some(other) => return Err(fields.mistyped("chat_template_kwargs", "an object", &other)),
    };
    if let Some(effort) = fields.take_string("reasoning_effort")? {
        if !["none", "minimal", "low", "medium", "high", "xhigh"].contains(&effort.as_str()) {
            let reason =
                format!("must be none, minimal, low, medium, high or xhigh, and is '{}'", short(&effort));
            return Err(fields.refuse(codes::INVALID_VALUE, "reasoning_effort", &reason));
        }
        kwargs.entry("reasoning_effort").or_insert(effort.into());
    }
    Ok(kwargs)
}

/// Whether the reply is a new turn or goes on with the last message, decided in `kwargs`.
fn take_turn(
    fields: &mut Fields,
    messages: &[Value],
    kwargs: &mut Map<String, Value>,
) -> Result<(), Refusal> {
    const GO_ON: &str = "continue_final_message";
    const NEW: &str = "add_generation_prompt";
    let mut given = [None, None];
    for (name, given) in [GO_ON, NEW].into_iter().zip(&mut given) {
        if let Some(own) = fields.take_bool(name)? {
            kwargs.insert(name.into(), own.into());
        }
        *given = match kwargs.get(name) {
            None | Some(Value::Null) => None,
            Some(Value::Bool(own)) => Some(*own),
            Some(other) => return Err(fields.mistyped(name, "true or false", other)),
        };
    }
    let [go_on, new] = given;
    let Some(last) = messages.last() else { return Ok(()) };
    let role = last["role"].as_str().unwrap_or_default();
    if go_on == Some(true) {
        if role != "assistant" {
            let reason = format!("needs the last message to be an assistant's, and it is a {role}'s");
            return Err(fields.refuse(codes::INVALID_VALUE, GO_ON, &reason));
        }
        if new == Some(true) {
            let reason = format!("goes on with the last message, so '{NEW}' can't be true too");
            return Err(fields.refuse(codes::INVALID_VALUE, GO_ON, &reason));
        }
    }
    if !go_on.unwrap_or(role == "assistant" && new != Some(true)) {
        return Ok(());
    }
    if last.get("tool_calls").is_some() || !last["content"].is_string() {
        let reason =
            "ends with an assistant's message that can't be gone on with: it has tool calls or media";
        return Err(fields.refuse(codes::INVALID_VALUE, "messages", reason).hint(
            "add the tools' results as messages, or ask for a new turn with 'add_generation_prompt': true",
        ));
    }
    kwargs.insert(GO_ON.into(), true.into());
    kwargs.insert(NEW.into(), false.into());
    Ok(())
}

/// Tools are fine as long as none may be called.
fn refuse_tools(fields: &mut Fields) -> Result<(), Refusal> {
    for (list, choice) in [("tools", "tool_choice"), ("functions", "function_call")] {
        let tools = fields.take_array(list)?.unwrap_or_default();
        match fields.take(choice) {
            Some(Value::String(none)) if none == "none" => {}
            Some(Value::String(auto)) if auto == "auto" && tools.is_empty() => {}
            None if tools.is_empty() => {}
            None => {
                let reason = format!("is not supported yet, except with '{choice}' \"none\"");
                return Err(fields.refuse(codes::UNSUPPORTED_PARAMETER, list, &reason));
            }
            Some(other) => {
                let reason = format!("can only be \"none\" here, and is {}", show(&other));
                return Err(fields.refuse(codes::UNSUPPORTED_PARAMETER, choice, &reason));
            }
        }
    }
    Ok(())
}

/// The answer is plain text.
fn refuse_formats(fields: &mut Fields) -> Result<(), Refusal> {
    if let Some(format) = fields.take("response_format") {
        let mut format = Fields::inside(format, "response_format".into(), "response_format")?;
        let Some(kind) = format.take_string("type")? else {
            return Err(format.refuse(codes::MISSING_PARAMETER, "type", "is missing"));
        };
        if kind != "text" {
            let reason = format!("can only be text here, and is '{}'", short(&kind));
            return Err(format.refuse(codes::UNSUPPORTED_PARAMETER, "type", &reason));
        }
        format.refuse_rest()?;
    }
    let modalities = fields.take_array("modalities")?.unwrap_or_default();
    if let Some(other) = modalities.iter().find(|modality| modality.as_str() != Some("text")) {
        let reason = format!("can only hold \"text\" here, and holds {}", show(other));
        return Err(fields.refuse(codes::UNSUPPORTED_PARAMETER, "modalities", &reason));
    }
    Ok(())
}
