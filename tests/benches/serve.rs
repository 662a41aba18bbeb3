//! Tokens a second through the daemon against a bare loop over the same llama.cpp, in turn in one
//! run, and the daemon's own memory. Prints ratios; fails nothing.
//!
//! The bare loop is llama.cpp as it comes, which makes its threads for each pass. The ratio to a bare
//! loop that keeps them, as the worker does, is printed beside it: what streaming every token through
//! a process and a socket costs on a machine whose cores all compute.
//!
//! Both sides read the same prompts as tokens, generate greedily past any end of text, and count
//! the whole time from the first prompt to the last token.

use serde_json::json;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, thread};
use superfluid_core::sched::Token;
use superfluid_tests::daemon::{Daemon, Setup, command};
use superfluid_tests::{cache, http, things};
use superfluid_worker_kit::Vocabulary;
use superfluid_worker_llamacpp::{Library, LlamaVocabulary, LoadMode, LoadedModel, Places, bare_greedy};

const ROUNDS: usize = 5;
const PROMPT: usize = 64;
const REPLY: usize = 128;

fn main() {
    if let Err(wrong) = run() {
        eprintln!("no figures: {wrong}");
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let model = things::small_model()?;
    let home = cache().join("bench-home");
    install(&home)?;
    let threads = std::env::var("SUPERFLUID_LLAMA_THREADS").ok();
    let mut setup = Setup::new(&model, &home);
    if let Some(threads) = &threads {
        setup = setup.variable("SUPERFLUID_LLAMA_THREADS", threads);
    }
    let daemon = setup.start().map_err(|ended| format!("the daemon ended: {}", ended.stderr))?;
    let bare = Bare::open(&home, &model)?;
    let loads = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("load before: {}", loads.trim());
    println!("streams  bare tok/s  with kept threads  ours tok/s   ratio  to kept");
    for streams in [1, 8] {
        let mut rates = [Vec::new(), Vec::new(), Vec::new()];
        for round in 0..=ROUNDS {
            let prompts = bare.prompts(streams, round);
            let tokens = (streams * REPLY) as f64;
            let took = [bare.run(&prompts, false)?, bare.run(&prompts, true)?, serve(&daemon, &prompts)?];
            // The first warms all up.
            if round > 0 {
                rates.iter_mut().zip(took).for_each(|(rates, took)| rates.push(tokens / took.as_secs_f64()));
            }
        }
        let [alone, kept, ours] = rates.map(median);
        let ratios = [ours / alone, ours / kept];
        println!(
            "{streams:>7}  {alone:>10.1}  {kept:>17.1}  {ours:>10.1}  {:>6.3}  {:>7.3}",
            ratios[0], ratios[1]
        );
    }
    println!("daemon memory: {}", memory(daemon.id()));
    for worker in daemon.workers() {
        println!("worker memory: {}", memory(worker));
    }
    Ok(())
}

fn install(home: &Path) -> Result<(), Box<dyn Error>> {
    let version = things::llama_version();
    if home.join(format!("runtimes/llamacpp/{version}-cpu/runtime.json")).is_file() {
        return Ok(());
    }
    let archive = things::llama_archive()?;
    fs::create_dir_all(home)?;
    let mut install = command(home);
    install.args(["runtime", "install", "llamacpp", "--untested", "--version", &version, "--from"]);
    match install.arg(archive).status()? {
        status if status.success() => Ok(()),
        status => Err(format!("{install:?} ended with {status}").into()),
    }
}

/// The library without superfluid around it.
struct Bare {
    model: Arc<LoadedModel>,
    words: Vec<Token>,
}

impl Bare {
    fn open(home: &Path, model: &Path) -> Result<Self, Box<dyn Error>> {
        let folder = home.join("runtimes/llamacpp/current/lib");
        let places = Places { variable: Some(folder), argument: None, executable: None };
        let library = Library::open(&places.library()?, false)?;
        let model = Arc::new(LoadedModel::load(library, model, LoadMode::Serve, &mut |_| true)?);
        let vocabulary = LlamaVocabulary::of(&model).ok_or("the model has no vocabulary")?;
        let text =
            "work year people time child water high world form sign data call result life right person back";
        let words = vocabulary.tokenize(text, false, false)?;
        Ok(Self { model, words })
    }

    /// Prompts of which no two, in one round or another, begin alike.
    fn prompts(&self, streams: usize, round: usize) -> Vec<Vec<Token>> {
        let word = |at: usize| self.words[at % self.words.len()];
        let prompt = |stream: usize| {
            let first = streams * 1000 + round * 8 + stream;
            let digits = [first, first / self.words.len(), first / self.words.len().pow(2)].map(word);
            digits.into_iter().chain((0..PROMPT - 3).map(|at| word(first + at * 7))).collect()
        };
        (0..streams).map(prompt).collect()
    }

    fn run(&self, prompts: &[Vec<Token>], kept: bool) -> Result<Duration, Box<dyn Error>> {
        let window = u32::try_from(PROMPT + REPLY)?.next_multiple_of(256);
        let run = bare_greedy(&self.model, prompts, REPLY, window, kept)?;
        Ok(run.prefill + run.decode)
    }
}

/// All prompts at once, streamed, to the last event.
fn serve(daemon: &Daemon, prompts: &[Vec<Token>]) -> Result<Duration, Box<dyn Error>> {
    let models = http::get(daemon.address(), "/v1/models")?.json();
    let began = Instant::now();
    let ask = |prompt: &Vec<Token>| {
        let body = json!({
            "model": models["data"][0]["id"], "prompt": prompt, "temperature": 0, "max_tokens": REPLY,
            "ignore_eos": true, "stream": true, "stream_options": {"include_usage": true},
        });
        let events = http::post_stream(daemon.address(), "/v1/completions", &body)?.collect()?;
        let wrote = events.last().map_or(0, |last| last["usage"]["completion_tokens"].as_u64().unwrap_or(0));
        match wrote == REPLY as u64 {
            true => Ok(()),
            false => Err(std::io::Error::other(format!("{wrote} tokens instead of {REPLY}"))),
        }
    };
    thread::scope(|scope| {
        let asked: Vec<_> = prompts.iter().map(|prompt| scope.spawn(|| ask(prompt))).collect();
        asked.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
    })?;
    Ok(began.elapsed())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Resident memory now and at its highest, as Linux counts it.
fn memory(id: u32) -> String {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let field = |name: &str| {
        let value = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("0 kB");
        value.trim().trim_end_matches(" kB").parse::<f64>().unwrap_or(0.0) / 1000.0
    };
    format!("{:.1} MB now, {:.1} MB at its highest", field("VmRSS:"), field("VmHWM:"))
}
