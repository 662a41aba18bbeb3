//! Any bytes as a request body, as the daemon takes it: parsed, judged by what the model can do, handed
//! over, or refused with an error that is the client's. The fuzz target `api` plays the same.

use serde_json::{Map, Value, json};
use superfluid_core::Refusal;
use superfluid_core::api::{
    Bounds, ErrorReply, Request, check_content_type, parse_chat, parse_class, parse_completion,
    parse_deadline, parse_model, request_id,
};
use superfluid_core::capability::{Leaf, Record, Workload, validate_request, validate_workload};
use superfluid_core::sched::{Class, JobId};
use superfluid_core::wire::{Decoder, ToWorker, encode};

const MODEL: &str = "mock";
const VOCABULARY: u32 = 32_000;

/// Fields that some endpoint knows, then some that none does.
const FIELDS: &[&str] = &[
    "messages",
    "prompt",
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "logit_bias",
    "seed",
    "stop",
    "stream",
    "stream_options",
    "logprobs",
    "top_logprobs",
    "n",
    "best_of",
    "tools",
    "tool_choice",
    "response_format",
    "echo",
    "suffix",
    "presence_penalty",
    "frequency_penalty",
    "repeat_penalty",
    "chat_template_kwargs",
    "continue_final_message",
    "add_generation_prompt",
    "ignore_eos",
    "metadata",
    "user",
    "input",
    "model",
    "nonsense",
];

/// Keys inside of them.
const KEYS: &[&str] = &[
    "role",
    "content",
    "type",
    "text",
    "tool_calls",
    "tool_call_id",
    "function",
    "name",
    "arguments",
    "id",
    "5",
    "999999999",
    "-1",
    "include_usage",
    "image_url",
    "input_audio",
    "url",
    "schema",
    "json_schema",
    "strict",
];

/// Words that mean something somewhere.
const WORDS: &[&str] = &[
    "mock",
    "user",
    "assistant",
    "system",
    "developer",
    "tool",
    "text",
    "image_url",
    "input_audio",
    "function",
    "json_schema",
    "auto",
    "none",
    "",
    "hi",
    "\u{0}",
    "\u{fffd}",
    "\u{1f60a}",
    "{\"a\":1}",
    "data:image/png;base64,AA",
];

/// A body: bytes that begin like JSON are one, others choose fields and their values.
pub(crate) fn body(bytes: &[u8]) -> Vec<u8> {
    if bytes.first().is_none_or(|first| matches!(first, b'{' | b'[' | b' ' | b'"' | 0xef)) {
        return bytes.to_vec();
    }
    let mut choices = Choices(bytes);
    let mut fields = Map::new();
    for _ in 0..choices.below(8) {
        let name = choices.of(FIELDS);
        fields.insert(name.into(), value(name, &mut choices));
    }
    fields.entry("model").or_insert_with(|| MODEL.into());
    for (name, least) in [("messages", json!([{"role": "user", "content": "hi"}])), ("prompt", "hi".into())] {
        if choices.below(3) != 0 {
            fields.entry(name).or_insert(least);
        }
    }
    Value::Object(fields).to_string().into_bytes()
}

/// A value for a field, often of the kind that it takes.
fn value(field: &str, choices: &mut Choices<'_>) -> Value {
    if choices.below(4) == 0 {
        return any(choices, 0);
    }
    match field {
        "messages" => (0..choices.below(4)).map(|_| message(choices)).collect(),
        "stream" | "echo" | "ignore_eos" => (choices.below(2) == 1).into(),
        "stop" => (0..choices.below(6)).map(|_| Value::from(choices.of(WORDS))).collect(),
        "logit_bias" => object(choices, 3, 4),
        "stream_options" => json!({"include_usage": choices.below(2) == 1}),
        "prompt" if choices.below(4) == 0 => (0..choices.below(4)).map(|_| any(choices, 4)).collect(),
        "prompt" if choices.below(2) == 0 => (0..choices.below(9)).map(|_| number(choices)).collect(),
        "prompt" | "user" | "suffix" | "model" => choices.of(WORDS).into(),
        _ => number(choices),
    }
}

fn message(choices: &mut Choices<'_>) -> Value {
    let mut message = json!({"role": choices.of(WORDS), "content": choices.of(WORDS)});
    if choices.below(3) == 0 {
        message["content"] = (0..choices.below(3)).map(|_| object(choices, 3, 3)).collect();
    }
    if choices.below(4) == 0 {
        message[choices.of(KEYS)] = any(choices, 2);
    }
    message
}

fn any(choices: &mut Choices<'_>, depth: usize) -> Value {
    match choices.below(if depth > 4 { 4 } else { 6 }) {
        0 => Value::Null,
        1 => (choices.below(2) == 1).into(),
        2 => number(choices),
        3 => choices.of(WORDS).into(),
        4 => (0..choices.below(4)).map(|_| any(choices, depth + 1)).collect(),
        _ => object(choices, depth + 1, 4),
    }
}

fn object(choices: &mut Choices<'_>, depth: usize, most: usize) -> Value {
    let all = (0..choices.below(most)).map(|_| (choices.of(KEYS).to_string(), any(choices, depth)));
    Value::Object(all.collect())
}

fn number(choices: &mut Choices<'_>) -> Value {
    match choices.below(6) {
        0 => json!(f64::from(choices.byte()) / 64.0),
        1 => json!(-i64::from(choices.byte())),
        2 => json!(u64::MAX - u64::from(choices.byte())),
        3 => json!(1e300 * f64::from(choices.byte())),
        _ => choices.byte().into(),
    }
}

/// Choices, made by bytes; the first of each once they are used up.
struct Choices<'a>(&'a [u8]);

impl Choices<'_> {
    fn byte(&mut self) -> u8 {
        self.0.split_off_first().copied().unwrap_or(0)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end
    }

    fn of<'t>(&mut self, all: &[&'t str]) -> &'t str {
        all[self.below(all.len())]
    }
}

/// Models that can little, that can all of a primitive runtime, and that say nothing.
fn records() -> [Record; 3] {
    let little = [Leaf::LogitBias, Leaf::Penalties, Leaf::TopLogprobs]
        .into_iter()
        .fold(Record::new("mock", "1"), |record, leaf| record.no(leaf, "it is a stand-in"));
    [little, Record::primitive("llamacpp", "b11284"), Record::default()]
}

/// What becomes of a request with these bytes as its body.
pub(crate) fn judge(body: &[u8]) {
    let bounds = Bounds { bytes: 1 << 16, values: 1 << 12, ..Bounds::default() };
    for parsed in [parse_chat(body, &bounds, &[MODEL]), parse_completion(body, &bounds, &[MODEL])] {
        match parsed {
            Ok(request) => {
                assert!((1..=bounds.prompts).contains(&request.choices()));
                request.split().into_iter().for_each(taken);
            }
            Err(refusal) => refused(&refusal),
        }
    }
    if let Err(refusal) = parse_model(body, &bounds, &[MODEL]) {
        refused(&refusal);
    }
    for workload in [Workload::Embeddings, Workload::Transcription, Workload::Translation] {
        records()
            .iter()
            .filter_map(|record| validate_workload(record, MODEL, workload).err())
            .for_each(|no| refused(&no));
    }
}

/// Headers that clients write freely.
fn headers(bytes: &[u8]) {
    let parsed = [
        check_content_type(Some(bytes)).err(),
        parse_class(Some(bytes)).err(),
        parse_deadline(Some(bytes)).err(),
    ];
    parsed.iter().flatten().for_each(refused);
    assert!(request_id(Some(bytes)).is_none_or(|id| !id.is_empty() && id.is_ascii()));
}

fn taken(request: Request) {
    assert_eq!(request.model, MODEL);
    assert!(request.stop.len() <= 4 && request.stop.iter().all(|stop| !stop.is_empty()));
    assert!(request.stream || !request.include_usage);
    assert!(request.max_tokens != Some(0));
    let sampling = &request.sampling;
    assert!(
        (0.0..=2.0).contains(&sampling.temperature) && sampling.top_p > 0.0 && sampling.repeat_penalty > 0.0
    );
    if let Err(refusal) = request.check_vocab(VOCABULARY) {
        return refused(&refusal);
    }
    for record in records() {
        if let Err(refusal) = validate_request(&record, MODEL, &request) {
            refused(&refusal);
        }
    }
    // The worker gets what was asked for, whole.
    let frame = ToWorker::Submit(request.into_submit(JobId(1), Class::Agent, 7, 0));
    let mut bytes = Vec::new();
    encode(&frame, &mut bytes).expect("a request is far below a frame");
    let mut decoder = Decoder::new();
    decoder.handle_bytes(&bytes);
    assert_eq!(decoder.poll_frame(), Some(Ok(frame)));
}

/// An error of the client's, that says something.
fn refused(refusal: &Refusal) {
    let reply = ErrorReply::new(refusal);
    assert!((400..500).contains(&reply.status), "{refusal:?}");
    assert!(!refusal.message.is_empty() && !reply.body().is_empty());
}

/// Plays bytes as a body, and as headers.
pub(crate) fn play(bytes: &[u8]) {
    judge(&body(bytes));
    headers(bytes);
}
