//! Kills and stops the worker under four open streams, many times, and judges every text: with the
//! mock each has to be the undisturbed one to the byte; with llama.cpp and `--real` each token has to
//! lie within the margin that batching's rounding moves of the best in a teacher-forced pass.
//!
//! `cargo bench -p superfluid-tests --bench crashes -- [--kills N] [--stops N] [--seed N] [--real]`

#[expect(dead_code, reason = "the tests compare in more ways")]
#[path = "../tests/it/real/parting.rs"]
mod parting;

use parting::{Bare, MARGIN};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::Duration;
use superfluid_core::sched::Token;
use superfluid_tests::crashes::{Blow, Dice, Said, read, round};
use superfluid_tests::daemon::{Daemon, Setup, command};
use superfluid_tests::things;

const PATH: &str = "/v1/completions";
const STREAMS: usize = 4;
/// Tokens of each stream.
const TOKENS: usize = 64;

/// Continued as plain text.
const PROMPTS: [&str; 8] = [
    "The quick brown fox",
    "Water boils at one hundred degrees because",
    "Once upon a time, in a small village by the sea, there lived an old fisherman who",
    "Here is a list of the planets of the solar system:\n1.",
    "def fibonacci(n):\n",
    "The three most important things about writing well are that a writer should read a lot, that",
    "In 1969,",
    "Dear Sir or Madam,\n\nI am writing to you about the letter that I received from your office",
];

fn main() -> Result<(), Box<dyn Error>> {
    let asked = Asked::of(std::env::args().skip(1))?;
    let temp = std::env::temp_dir().join(format!("superfluid-crashes-{}", std::process::id()));
    fs::create_dir_all(&temp)?;
    let done = if asked.real { real(&asked, &temp) } else { mock(&asked, &temp) };
    fs::remove_dir_all(&temp)?;
    done
}

struct Asked {
    kills: usize,
    stops: usize,
    seed: u64,
    real: bool,
}

impl Asked {
    fn of(mut args: impl Iterator<Item = String>) -> Result<Self, Box<dyn Error>> {
        let mut asked = Self { kills: 200, stops: 50, seed: 1, real: false };
        while let Some(arg) = args.next() {
            let mut number =
                || -> Result<u64, Box<dyn Error>> { Ok(args.next().ok_or("a number")?.parse()?) };
            match &*arg {
                "--kills" => asked.kills = usize::try_from(number()?)?,
                "--stops" => asked.stops = usize::try_from(number()?)?,
                "--seed" => asked.seed = number()?,
                "--real" => asked.real = true,
                // cargo's own.
                "--bench" => {}
                other => return Err(format!("{other:?} is not understood").into()),
            }
        }
        Ok(asked)
    }
}

/// Greedy and seeded ones.
fn mock(asked: &Asked, temp: &Path) -> Result<(), Box<dyn Error>> {
    let model = temp.join("tiny.gguf");
    fs::write(&model, r#"{"mock":1,"decode_us":3000}"#)?;
    let daemon = start(Setup::new(&model, &temp.join("home")).arguments(&["--runtime", "mock"]))?;
    let bodies: Vec<Value> = (0..PROMPTS.len())
        .map(|index| {
            let temperature = index % 2;
            body("tiny", &json!(PROMPTS[index]), json!({"temperature": temperature, "seed": index}))
        })
        .collect();
    let whole = bodies.iter().map(|body| read(&daemon, PATH, body, &|| ())).collect::<Result<Vec<_>, _>>()?;
    let judge = |index: usize, said: &Said| -> Result<(), String> {
        let same = *said == whole[index];
        same.then_some(()).ok_or_else(|| format!("{said:?} instead of {:?}", whole[index]))
    };
    for (blow, times) in [(Blow::Kill, asked.kills), (Blow::Stop, asked.stops)] {
        run(&daemon, &bodies, blow, times, asked.seed, &judge)?;
    }
    Ok(())
}

fn real(asked: &Asked, temp: &Path) -> Result<(), Box<dyn Error>> {
    let model = things::small_model()?;
    let home = temp.join("home");
    fs::create_dir_all(&home)?;
    let mut install = command(&home);
    install.args(["runtime", "install", "llamacpp", "--untested", "--version", &things::llama_version()]);
    if !install.arg("--from").arg(things::llama_archive()?).status()?.success() {
        return Err("llama.cpp could not be installed".into());
    }
    let daemon = start(Setup::new(&model, &home))?;
    let bare = Bare::open(&home, &model);
    let id = model.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let prompts: Vec<Vec<Token>> = PROMPTS.iter().map(|prompt| bare.tokens(prompt)).collect();
    let bodies: Vec<Value> =
        prompts.iter().map(|prompt| body(&id, &json!(prompt), json!({"temperature": 0}))).collect();
    let known = std::cell::RefCell::new(BTreeMap::<(usize, String), f32>::new());
    let judge = |index: usize, said: &Said| -> Result<(), String> {
        let wanted = [prompts[index].len() as u64, TOKENS as u64];
        if (said.tokens, &*said.finish) != (wanted, "length") {
            return Err(format!("{said:?}"));
        }
        let mut known = known.borrow_mut();
        let key = (index, said.text.clone());
        let worst = *known.entry(key).or_insert_with(|| bare.worst(&prompts[index], &said.text));
        (worst <= MARGIN).then_some(()).ok_or_else(|| format!("{worst} below the best: {:?}", said.text))
    };
    for (blow, times) in [(Blow::Kill, asked.kills), (Blow::Stop, asked.stops)] {
        run(&daemon, &bodies, blow, times, asked.seed, &judge)?;
    }
    let known = known.borrow();
    let worst = known.values().copied().fold(0.0, f32::max);
    println!(
        "{} different texts of {} prompts; the furthest token lies {worst:.3} below the best",
        known.len(),
        PROMPTS.len()
    );
    Ok(())
}

fn start(setup: Setup) -> Result<Daemon, Box<dyn Error>> {
    let started = setup.arguments(&["--hang-timeout", "2"]).start();
    Ok(started.map_err(|ended| format!("the daemon ended: {}", ended.stderr))?)
}

fn body(model: &str, prompt: &Value, more: Value) -> Value {
    let mut body = json!({
        "model": model, "prompt": prompt, "max_tokens": TOKENS, "ignore_eos": true,
        "stream": true, "stream_options": {"include_usage": true},
    });
    if let (Value::Object(body), Value::Object(more)) = (&mut body, more) {
        body.extend(more);
    }
    body
}

fn run(
    daemon: &Daemon,
    bodies: &[Value],
    blow: Blow,
    times: usize,
    seed: u64,
    judge: &dyn Fn(usize, &Said) -> Result<(), String>,
) -> Result<(), Box<dyn Error>> {
    let mut dice = Dice::new(seed);
    let (mut good, mut pauses) = (0, Vec::new());
    while pauses.len() < times {
        let first = dice.below(bodies.len());
        let which: Vec<usize> = (0..STREAMS).map(|n| (first + n) % bodies.len()).collect();
        let chosen: Vec<Value> = which.iter().map(|index| bodies[*index].clone()).collect();
        let at = dice.below(STREAMS * TOKENS * 3 / 4);
        let Some(round) = round(daemon, PATH, &chosen, blow, at)? else { continue };
        for (index, said) in which.iter().zip(&round.streams) {
            judge(*index, said)
                .map_err(|why| format!("{blow:?} after {at} events, prompt {index}: {why}"))?;
            good += 1;
        }
        pauses.push(round.pause);
    }
    if let Some([median, longest]) = summary(pauses) {
        println!(
            "{times} x {blow:?}: {good} of {} streams complete; silent for {median:.2} s (median), {longest:.2} s at most",
            times * STREAMS
        );
    }
    Ok(())
}

fn summary(mut pauses: Vec<Duration>) -> Option<[f64; 2]> {
    pauses.sort();
    Some([pauses.get(pauses.len() / 2)?.as_secs_f64(), pauses.last()?.as_secs_f64()])
}
