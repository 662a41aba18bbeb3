//! The shipped binaries with a real llama.cpp that they installed, and a real model.

mod answers;
mod bad_models;
mod batch;
mod client;
mod contract;
mod install;
mod killed;
mod parting;
mod several;
mod starts;

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Output;
use superfluid_tests::daemon::{Daemon, Setup, command};
use superfluid_tests::{http, things};
use tempfile::TempDir;

/// The question whose answer the small model knows.
const FRANCE: &str = "What is the capital of France? Answer in one sentence.";

/// An empty home.
fn home() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// A home with a llama.cpp that superfluid itself installed.
fn home_with_llama() -> Option<TempDir> {
    let archive = things::need(things::llama_archive())?;
    let home = home();
    let mut install = command(home.path());
    install.args(["runtime", "install", "llamacpp", "--untested", "--version", &things::llama_version()]);
    done(&install.arg("--from").arg(archive).output().expect("runs"));
    Some(home)
}

/// What a command that must succeed wrote on standard output.
fn done(output: &Output) -> String {
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{}\n{stdout}\n{stderr}", output.status);
    stdout
}

/// What a command that must fail wrote on standard error: something short, and no panic.
fn refused(output: &Output) -> String {
    let stderr = text(&output.stderr);
    assert!(!output.status.success(), "it succeeded\n{}\n{stderr}", text(&output.stdout));
    assert_plain(&stderr);
    stderr
}

/// One clear message: not empty, not a page, and no panic.
fn assert_plain(stderr: &str) {
    assert!(!stderr.trim().is_empty(), "it says nothing");
    assert!(stderr.lines().count() <= 12, "more than a message:\n{stderr}");
    assert!(!stderr.contains("panicked") && !stderr.contains("RUST_BACKTRACE"), "{stderr}");
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A daemon that serves the small model.
struct Served {
    // Dropped in this order: the daemon before its home.
    daemon: Daemon,
    model: String,
    home: TempDir,
}

/// Serves the small model with a llama.cpp that was installed for it.
fn serve(arguments: &[&str]) -> Option<Served> {
    let model = things::need(things::small_model())?;
    let home = home_with_llama()?;
    // One thread: tests that run at once on few cores would wait at each other's barriers.
    let setup =
        Setup::new(&model, home.path()).arguments(arguments).variable("SUPERFLUID_LLAMA_THREADS", "1");
    let daemon =
        setup.start().unwrap_or_else(|ended| panic!("it ended: {:?}\n{}", ended.status, ended.stderr));
    // A model is called by its file's name.
    let model = model.file_stem().expect("a name").to_string_lossy().into_owned();
    Some(Served { daemon, model, home })
}

impl Served {
    fn home(&self) -> &Path {
        self.home.path()
    }

    /// The body of a greedy chat request with one question.
    fn question(&self, question: &str) -> Value {
        json!({
            "model": self.model,
            "messages": [{"role": "user", "content": question}],
            "temperature": 0,
            "max_tokens": 64,
        })
    }

    /// The whole answer to a chat request.
    fn chat(&self, body: &Value) -> Value {
        self.post("/v1/chat/completions", body)
    }

    /// The whole answer to a request that must succeed.
    fn post(&self, path: &str, body: &Value) -> Value {
        let answer = http::post(self.daemon.address(), path, body).expect("an answer");
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    }

    /// The events of a chat request, to the end.
    fn stream(&self, body: &Value) -> Vec<Value> {
        let body = with(body, json!({"stream": true, "stream_options": {"include_usage": true}}));
        let events = http::post_stream(self.daemon.address(), "/v1/chat/completions", &body);
        events.and_then(http::Events::collect).expect("a whole stream")
    }
}

/// An answer's text.
fn content(answer: &Value) -> &str {
    answer["choices"][0]["message"]["content"].as_str().expect("text")
}

/// The text of a stream's deltas, joined.
fn joined(events: &[Value]) -> String {
    events.iter().filter_map(|event| event["choices"][0]["delta"]["content"].as_str()).collect()
}

/// `body` with more fields.
fn with(body: &Value, more: Value) -> Value {
    let (mut body, Value::Object(more)) = (body.clone(), more) else { panic!("an object") };
    body.as_object_mut().expect("an object").extend(more);
    body
}

/// A file of the test's own in a folder that goes away with it.
fn file(name: &str, bytes: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).expect("written");
    (folder, path)
}
