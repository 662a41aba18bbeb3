//! `cargo quickstart`: from a fresh checkout to an answer of a real model, and on.

use serde_json::json;
use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use superfluid_tests::daemon::{Binaries, Daemon, Setup, command, free_port};
use superfluid_tests::{cache, http, repository, things};

const ABOUT: &str = "\
cargo quickstart: serve a small real model and ask it one question

usage: cargo quickstart [--once] [--question \"…\"]

  --once             stop after the answer; without it the model is served until Ctrl-C
  --question \"…\"     what to ask

Fetches SmolLM2-135M-Instruct (98 MB) and a llama.cpp build (11 MB) once, into .cache.";

const QUESTION: &str = "What is the capital of France? Answer in one sentence.";

/// Where `superfluid serve` listens unless told otherwise.
const PORT: u16 = 8453;

struct Arguments {
    once: bool,
    question: String,
}

fn main() -> ExitCode {
    let arguments = match arguments() {
        Ok(Some(arguments)) => arguments,
        Ok(None) => {
            println!("{ABOUT}");
            return ExitCode::SUCCESS;
        }
        Err(wrong) => {
            eprintln!("{wrong}\n\n{ABOUT}");
            return ExitCode::from(2);
        }
    };
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(wrong) => {
            eprintln!("\nquickstart stopped: {wrong}");
            ExitCode::FAILURE
        }
    }
}

/// `None` where only the usage is asked for.
fn arguments() -> Result<Option<Arguments>, String> {
    let mut arguments = Arguments { once: false, question: QUESTION.into() };
    let mut given = std::env::args().skip(1);
    while let Some(argument) = given.next() {
        match argument.as_str() {
            "--" => {} // the alias ends with one already
            "--once" => arguments.once = true,
            "--question" => arguments.question = given.next().ok_or("--question needs a text")?,
            "-h" | "--help" => return Ok(None),
            other => return Err(format!("there is no {other}")),
        }
    }
    Ok(Some(arguments))
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    step("build", "superfluid and its llama.cpp worker");
    let binaries = Binaries::build_visibly()?;
    let model = things::small_model()?;
    step("model", &short(&model));
    let home = cache().join("quickstart-home");
    fs::create_dir_all(&home)?;
    step("runtime", &install(&home)?);
    let port = if TcpListener::bind((Ipv4Addr::LOCALHOST, PORT)).is_ok() { PORT } else { free_port() };
    let log = home.join("serve.log");
    let mut daemon = Setup::new(&model, &home).log_to(&log).detached().spawn(port);
    stop_on_signals(&daemon)?;
    daemon.wait_ready().map_err(|ended| match ended.status {
        Some(status) => format!("superfluid serve ended with {status}:\n{}", ended.stderr.trim_end()),
        None => format!("superfluid serve was not ready in time; its log is {}", log.display()),
    })?;
    let models = http::get(daemon.address(), "/v1/models")?.json();
    let id = models["data"][0]["id"].as_str().ok_or("/v1/models names no model")?.to_owned();
    step("serve", &format!("http://{}/v1", daemon.address()));

    ask(&daemon, &id, &arguments.question)?;
    let ended = if arguments.once {
        daemon.terminate();
        daemon.wait_soon()
    } else {
        go_on(&daemon, &id, &binaries, &home, &log);
        daemon.wait()
    };
    match ended.status {
        Some(status) if status.success() => Ok(()),
        Some(status) => {
            Err(format!("superfluid serve ended with {status}:\n{}", ended.stderr.trim_end()).into())
        }
        None => Err("superfluid serve did not stop when asked and was killed".into()),
    }
}

fn step(name: &str, what: &str) {
    println!("  {name:<8} {what}");
}

/// Installs llama.cpp into `home` with superfluid's own command, unless it is there.
fn install(home: &Path) -> Result<String, Box<dyn Error>> {
    let version = things::llama_version();
    let place = home.join("runtimes/llamacpp").join(format!("{version}-cpu"));
    if !place.join("runtime.json").is_file() {
        let archive = things::llama_archive()?;
        let mut install = command(home);
        install.args(["runtime", "install", "llamacpp", "--backend", "cpu", "--untested"]);
        install.args(things::llama_sha256().into_iter().flat_map(|sha256| ["--sha256", sha256]));
        let status = install.args(["--version", &version, "--from"]).arg(&archive).status()?;
        if !status.success() {
            return Err(format!("{install:?} ended with {status}").into());
        }
    }
    Ok(format!("llama.cpp {version} in {}", short(&place)))
}

/// Passes SIGINT, SIGTERM and SIGHUP on, so that the daemon ends in good order and this with it.
fn stop_on_signals(daemon: &Daemon) -> Result<(), Box<dyn Error>> {
    let terminate = daemon.terminator();
    Ok(ctrlc::set_handler(move || {
        println!("\nstopping");
        terminate();
    })?)
}

fn ask(daemon: &Daemon, model: &str, question: &str) -> Result<(), Box<dyn Error>> {
    println!("\nyou    {question}");
    print!("model  ");
    io::stdout().flush()?;
    let began = Instant::now();
    let request = json!({
        "model": model,
        "messages": [{"role": "user", "content": question}],
        "temperature": 0,
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    let mut events = http::post_stream(daemon.address(), "/v1/chat/completions", &request)?;
    let mut usage = None;
    while let Some(event) = events.next_json()? {
        if let Some(error) = event["error"]["message"].as_str() {
            return Err(error.into());
        }
        print!("{}", event["choices"][0]["delta"]["content"].as_str().unwrap_or_default());
        io::stdout().flush()?;
        usage = event.get("usage").filter(|usage| !usage.is_null()).cloned().or(usage);
    }
    let count = |name: &str| usage.as_ref().and_then(|usage| usage[name].as_u64()).unwrap_or_default();
    let (read, wrote) = (count("prompt_tokens"), count("completion_tokens"));
    println!("\n       ({read} tokens read, {wrote} written, {:.1} s)", began.elapsed().as_secs_f64());
    Ok(())
}

fn go_on(daemon: &Daemon, id: &str, binaries: &Binaries, home: &Path, log: &Path) {
    let url = format!("http://{}/v1", daemon.address());
    let superfluid = short(&binaries.path("superfluid"));
    let (home, log) = (short(home), short(log));
    println!(
        r#"
It is served until you press Ctrl-C; its log is {log}.

Ask from another terminal:

  curl {url}/chat/completions -H 'Content-Type: application/json' -d '{{
    "model": "{id}",
    "messages": [{{"role": "user", "content": "Name three colours."}}]}}'

or with the openai client (pip install openai):

  from openai import OpenAI
  client = OpenAI(base_url="{url}", api_key="unused")
  reply = client.chat.completions.create(
      model="{id}", messages=[{{"role": "user", "content": "Name three colours."}}])
  print(reply.choices[0].message.content)

Serve a GGUF file of your own with what is installed:

  SUPERFLUID_HOME={home} {superfluid} serve /path/to/model.gguf
"#
    );
}

/// A path as seen from the repository where that is shorter.
fn short(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from(repository()));
    path.strip_prefix(here).unwrap_or(path).display().to_string()
}
