//! Many connections, many requests, and what the daemon adds to a request; all with the mock.
//!
//! `cargo bench -p superfluid-tests --bench load -- [--connections N] [--requests N]`

use std::error::Error;
use std::fs;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use superfluid_core::sched::{Class, JobId};
use superfluid_core::wire::{
    Decoder, Input, LoadSpec, PROTOCOL, Sampling, Submit, ToDaemon, ToWorker, encode,
};
use superfluid_tests::daemon::{Binaries, Setup};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;

/// Requests in flight at once, below what the daemon lets wait.
const AT_ONCE: usize = 256;
const TRIALS: usize = 500;
const BODY: &str = r#"{"model":"tiny","prompt":"hi","max_tokens":1,"temperature":0}"#;

fn main() -> Result<(), Box<dyn Error>> {
    let (mut connections, mut requests) = (2000, 100_000);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match &*arg {
            "--connections" => connections = args.next().ok_or("a number")?.parse()?,
            "--requests" => requests = args.next().ok_or("a number")?.parse()?,
            "--bench" => {}
            other => return Err(format!("{other:?} is not understood").into()),
        }
    }
    let temp = std::env::temp_dir().join(format!("superfluid-load-{}", std::process::id()));
    fs::create_dir_all(&temp)?;
    let done = run(&temp, connections, requests);
    fs::remove_dir_all(&temp)?;
    done
}

fn run(temp: &Path, connections: usize, requests: usize) -> Result<(), Box<dyn Error>> {
    let model = temp.join("tiny.gguf");
    fs::write(&model, r#"{"mock":1}"#)?;
    let setup = Setup::new(&model, &temp.join("home")).arguments(&["--runtime", "mock", "--max-batch", "64"]);
    let daemon = setup.start().map_err(|ended| format!("the daemon ended: {}", ended.stderr))?;
    let (id, address) = (daemon.id(), daemon.address());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;

    let ours = runtime.block_on(one_by_one(address))?;
    let pipe = Pipe::start(&model)?.trials()?;
    println!(
        "one token: {ours:.3?} through the daemon, {pipe:.3?} through the worker's pipe (medians of {TRIALS})"
    );

    steady(temp, &runtime)?;

    let stalled = connections / 20;
    let began = Instant::now();
    let failed = runtime.block_on(crowd(address, connections, stalled))?;
    println!(
        "{connections} connections, {stalled} of them stalled: {failed} of the others failed, in {:.1} s",
        began.elapsed().as_secs_f64()
    );

    for part in 0..=10 {
        if part > 0 {
            runtime.block_on(many(address, requests / 10))?;
        }
        println!("after {:>8} requests: {}", part * (requests / 10), resources(id));
    }
    Ok(())
}

/// What the daemon costs while streams go on at a steady rate.
fn steady(temp: &Path, runtime: &Runtime) -> Result<(), Box<dyn Error>> {
    const STREAMS: usize = 8;
    const TOKENS: usize = 600;
    let model = temp.join("steady.gguf");
    fs::write(&model, r#"{"mock":1,"decode_us":20000}"#)?;
    let setup = Setup::new(&model, &temp.join("home")).arguments(&["--runtime", "mock", "--max-batch", "8"]);
    let daemon = setup.start().map_err(|ended| format!("the daemon ended: {}", ended.stderr))?;
    let (began, before) = (Instant::now(), cpu(daemon.id()));
    let events: usize = runtime.block_on(async {
        let streams: Vec<_> = (0..STREAMS).map(|_| tokio::spawn(stream(daemon.address(), TOKENS))).collect();
        let mut events = 0;
        for stream in streams {
            events += stream.await??;
        }
        Ok::<_, Box<dyn Error>>(events)
    })?;
    let (took, spent) = (began.elapsed().as_secs_f64(), (cpu(daemon.id()) - before).as_secs_f64());
    if events < STREAMS * TOKENS {
        return Err(format!("{events} events of {} came", STREAMS * TOKENS).into());
    }
    let tokens = (STREAMS * TOKENS) as f64;
    println!(
        "{STREAMS} streams, {:.0} tokens a second: the daemon takes {:.2} % of a core, {:.0} us a token",
        tokens / took,
        100.0 * spent / took,
        1e6 * spent / tokens
    );
    Ok(())
}

/// Reads a stream to its end; how many events came.
async fn stream(address: SocketAddr, tokens: usize) -> std::io::Result<usize> {
    let body = format!(
        r#"{{"model":"steady","prompt":"hi","max_tokens":{tokens},"temperature":0,"ignore_eos":true,"stream":true}}"#
    );
    let mut socket = open(address).await?;
    socket
        .write_all(
            format!(
                "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            )
            .as_bytes(),
        )
        .await?;
    let mut got = Vec::new();
    socket.read_to_end(&mut got).await?;
    let text = String::from_utf8_lossy(&got);
    if !text.contains("data: [DONE]") {
        return Err(std::io::Error::other("a stream did not end well"));
    }
    Ok(text.matches("data: {").count())
}

/// What a process's threads have used of all cores, as Linux counts it.
fn cpu(id: u32) -> Duration {
    let tasks = fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
    let of = |task: fs::DirEntry| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    };
    Duration::from_nanos(tasks.filter_map(of).sum())
}

fn request() -> String {
    format!(
        "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{BODY}",
        BODY.len()
    )
}

/// One request on an open connection; whether it was answered with 200.
async fn ask(socket: &mut TcpStream) -> std::io::Result<bool> {
    socket.write_all(request().as_bytes()).await?;
    let (mut got, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let n = socket.read(&mut piece).await?;
        if n == 0 {
            return Ok(false);
        }
        got.extend_from_slice(&piece[..n]);
        let text = String::from_utf8_lossy(&got);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length =
            head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
        if length.is_some_and(|length: usize| body.len() >= length) {
            return Ok(head.starts_with("HTTP/1.1 200"));
        }
    }
}

async fn open(address: SocketAddr) -> std::io::Result<TcpStream> {
    let socket = TcpStream::connect(address).await?;
    socket.set_nodelay(true)?;
    Ok(socket)
}

async fn one_by_one(address: SocketAddr) -> Result<Duration, Box<dyn Error>> {
    let mut socket = open(address).await?;
    let mut took = Vec::new();
    for _ in 0..TRIALS {
        let began = Instant::now();
        if !ask(&mut socket).await? {
            return Err("a request failed".into());
        }
        took.push(began.elapsed());
    }
    Ok(median(took))
}

/// All connections at once; those that stall stop in the middle of a head or of a body.
async fn crowd(address: SocketAddr, connections: usize, stalled: usize) -> Result<usize, Box<dyn Error>> {
    let mut stalls = Vec::new();
    for n in 0..stalled {
        let mut socket = open(address).await?;
        let request = request();
        let cut = if n % 2 == 0 { 30 } else { request.len() - 10 };
        socket.write_all(&request.as_bytes()[..cut]).await?;
        stalls.push(socket);
    }
    let mut sockets = Vec::new();
    for _ in stalled..connections {
        sockets.push(open(address).await?);
    }
    let turns = Arc::new(Semaphore::new(AT_ONCE));
    let tasks: Vec<_> = sockets
        .into_iter()
        .map(|mut socket| {
            let turns = Arc::clone(&turns);
            tokio::spawn(async move {
                let _turn = turns.acquire_owned().await;
                ask(&mut socket).await.unwrap_or(false)
            })
        })
        .collect();
    let mut failed = 0;
    for task in tasks {
        failed += usize::from(!task.await?);
    }
    drop(stalls);
    Ok(failed)
}

/// Requests over a few connections that stay open.
async fn many(address: SocketAddr, requests: usize) -> Result<(), Box<dyn Error>> {
    const LINES: usize = 32;
    let tasks: Vec<_> = (0..LINES)
        .map(|_| {
            tokio::spawn(async move {
                let mut socket = open(address).await?;
                for _ in 0..requests / LINES {
                    if !ask(&mut socket).await? {
                        return Err(std::io::Error::other("a request failed"));
                    }
                }
                Ok(())
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    Ok(())
}

/// A worker with nothing in front of it.
struct Pipe {
    worker: Child,
    decoder: Decoder,
}

impl Pipe {
    fn start(model: &Path) -> Result<Self, Box<dyn Error>> {
        let mut worker = Command::new(Binaries::build()?.path("superfluid-workerd"))
            .args(["--engine", "mock", "serve"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let spec = LoadSpec { model: model.display().to_string(), max_batch: 64, ..LoadSpec::default() };
        let mut bytes = Vec::new();
        encode(&ToWorker::Hello { protocol: PROTOCOL }, &mut bytes)?;
        encode(&ToWorker::Load(spec), &mut bytes)?;
        worker.stdin.as_mut().ok_or("no pipe")?.write_all(&bytes)?;
        let mut pipe = Self { worker, decoder: Decoder::new() };
        while !matches!(pipe.hear()?, ToDaemon::Loaded(_)) {}
        Ok(pipe)
    }

    fn hear(&mut self) -> Result<ToDaemon, Box<dyn Error>> {
        loop {
            if let Some(frame) = self.decoder.poll_frame() {
                return Ok(frame?);
            }
            let mut piece = [0; 4096];
            match self.worker.stdout.as_mut().ok_or("no pipe")?.read(&mut piece)? {
                0 => return Err("the worker ended".into()),
                n => self.decoder.handle_bytes(&piece[..n]),
            }
        }
    }

    fn trials(mut self) -> Result<Duration, Box<dyn Error>> {
        let mut took = Vec::new();
        for n in 0..TRIALS {
            let submit = Submit {
                id: JobId(n as u64),
                class: Class::Agent,
                input: Input::Text { text: "hi".into() },
                sampling: Sampling { temperature: 0.0, ..Sampling::default() },
                max_tokens: Some(1),
                stop: Vec::new(),
                ignore_eos: false,
                logprobs: None,
                committed: Vec::new(),
                delivered: Default::default(),
                held: Vec::new(),
                now_unix: 0,
            };
            let began = Instant::now();
            let mut bytes = Vec::new();
            encode(&ToWorker::Submit(submit), &mut bytes)?;
            self.worker.stdin.as_mut().ok_or("no pipe")?.write_all(&bytes)?;
            while !matches!(self.hear()?, ToDaemon::Finished { .. }) {}
            took.push(began.elapsed());
        }
        drop(self.worker.stdin.take());
        self.worker.wait()?;
        Ok(median(took))
    }
}

fn median(mut took: Vec<Duration>) -> Duration {
    took.sort();
    took[took.len() / 2]
}

/// Resident memory and open descriptors, as Linux counts them.
fn resources(id: u32) -> String {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let memory =
        status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0 kB").trim().to_string();
    let files = fs::read_dir(format!("/proc/{id}/fd")).map_or(0, Iterator::count);
    format!("{memory}, {files} descriptors")
}
