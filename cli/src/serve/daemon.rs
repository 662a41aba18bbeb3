//! The running daemon: worker, server and signals.

use super::notify::Manager;
use super::prepare::{Choice, Prepared};
use super::screen::Screen;
use crate::print;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use superfluid_core::Refusal;
use superfluid_core::access::Access;
use superfluid_core::supervise;
use superfluid_io_tokio::http::{self, Served, Server};
use superfluid_io_tokio::worker::{Notice, Unstarted, Worker};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch};

/// Serves until a signal, or until the worker can't be kept up.
///
/// # Errors
/// Where the worker's runtime is missing and can't be installed.
pub(super) async fn run(
    server: Server,
    access: Access,
    choice: Choice,
    warnings: Vec<String>,
    supervision: supervise::Config,
) -> Result<ExitCode, Refusal> {
    let address = server
        .local_addr()
        .map_err(|error| Refusal::new("io", format!("cannot start the server: {error}")))?;
    let url = url(address);
    let mut words = warnings;
    words.push(format!("listening on {url}"));
    if !access.loopback && access.api_key.is_none() {
        words
            .push("warning: whoever can reach this address may use it; --api-key-file asks for a key".into());
    }
    let key = access.api_key.is_some();
    let found = choice.find()?;
    let (worker, mut unstarted) = Unstarted::new(choice.runtime().as_str());
    let created = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let runtime = choice.runtime().to_string();
    let id = choice.id.clone();
    let served = Served { id: id.clone(), runtime, created, worker: worker.clone() };
    let (close, closed) = watch::channel(false);
    let http = http::Config { access, ..http::Config::default() };
    let server = tokio::spawn(server.run(http, served, closed));
    let prepared = match found {
        Some(prepared) => prepared,
        None => {
            words.drain(..).for_each(|line| print::note(&line));
            print::note(&format!("the {} runtime is not installed; installing it", choice.runtime()));
            install(&mut unstarted, choice).await?
        }
    };
    let mut screen = Screen::new();
    for line in prepared.words.iter().chain(&words) {
        screen.line(line);
    }
    let code = match Signals::new() {
        Ok(mut signals) => {
            let Prepared { program, spec, lease: _lease, .. } = prepared;
            let mut notices = unstarted.start(supervision, &id, program, spec);
            let mut attended = Attended { id: &id, url: &url, key, worker, screen: &mut screen };
            attend(&mut attended, &mut notices, &mut signals).await
        }
        Err(error) => {
            screen.line(&format!("error: cannot start the server: {error}"));
            ExitCode::FAILURE
        }
    };
    // The server returns at once where nothing is left to send.
    let _ = close.send(true);
    let _ = server.await;
    screen.close();
    Ok(code)
}

/// Installs beside the server, which says meanwhile what it waits for. A signal ends the process,
/// as it ends an install from the command line: the next one sweeps up.
async fn install(unstarted: &mut Unstarted, choice: Choice) -> Result<Prepared, Refusal> {
    let installing = tokio::task::spawn_blocking(move || choice.install());
    unstarted.until(installing).await.unwrap_or_else(|error| {
        Err(Refusal::new("internal_error", format!("the install ended without a result: {error}")))
    })
}

/// An address as part of a URL that this machine can open.
fn url(address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        let host = if address.is_ipv4() { "127.0.0.1" } else { "[::1]" };
        return format!("http://{host}:{}", address.port());
    }
    format!("http://{address}")
}

struct Attended<'a> {
    id: &'a str,
    url: &'a str,
    key: bool,
    worker: Worker,
    screen: &'a mut Screen,
}

/// Tells what happens and passes signals on, until the worker is gone.
async fn attend(
    attended: &mut Attended<'_>,
    notices: &mut mpsc::UnboundedReceiver<Notice>,
    signals: &mut Signals,
) -> ExitCode {
    let mut since = Instant::now();
    let mut lives = 0;
    let mut asked = 0;
    let mut told = 0;
    let mut manager = Manager::new();
    loop {
        tokio::select! {
            notice = notices.recv() => match notice {
                Some(Notice::Met { .. }) => since = Instant::now(),
                Some(Notice::Progress { permille }) => {
                    attended.screen.progress(permille);
                    if lives == 0 && permille / 50 != told / 50 {
                        told = permille;
                        manager.status(format!("loading {}: {} %", attended.id, permille / 10));
                    }
                }
                Some(Notice::Ready(loaded)) => {
                    lives += 1;
                    if lives == 1 {
                        let Attended { id, url, key, .. } = *attended;
                        for what in &loaded.unconfined {
                            attended.screen.line(&format!("warning: this kernel can't keep the worker from {what}"));
                        }
                        attended.screen.ready(id, &loaded, url, key, since.elapsed());
                        manager.ready(id);
                    } else {
                        attended.screen.end_progress();
                        attended.screen.line("the worker is back");
                    }
                }
                Some(Notice::Down { death, restart_in: Some(wait) }) => {
                    attended.screen.death("warning", &death);
                    attended.screen.line(&format!("it is restarted in {:.1} s", wait.as_secs_f64()));
                }
                Some(Notice::Down { death, restart_in: None }) => {
                    attended.screen.death("error", &death);
                    if lives > 0 {
                        attended.screen.line("  hint: it died too often in a row and is not restarted again");
                    }
                    return ExitCode::FAILURE;
                }
                Some(Notice::Stopped) if asked < 2 => return ExitCode::SUCCESS,
                Some(Notice::Stopped) | None => return ExitCode::FAILURE,
            },
            () = manager.beat() => manager.alive(),
            () = signals.next() => {
                asked += 1;
                manager.stopping();
                let running = attended.worker.view().jobs;
                if asked == 1 {
                    attended.screen.end_progress();
                    if running > 0 {
                        let patience = supervise::Config::default().drain.as_secs();
                        let word = if running == 1 { "request" } else { "requests" };
                        attended.screen.line(&format!(
                            "finishing {running} {word}, at most {patience} s; a second signal stops now"
                        ));
                    }
                    attended.worker.drain();
                } else {
                    attended.worker.stop();
                }
            }
        }
    }
}

/// What asks a daemon to end: a service manager, Ctrl-C, a terminal that closed.
struct Signals([Signal; 3]);

impl Signals {
    fn new() -> std::io::Result<Self> {
        let (terminate, interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        Ok(Self([terminate, interrupt, signal(SignalKind::hangup())?]))
    }

    async fn next(&mut self) {
        let [terminate, interrupt, hangup] = &mut self.0;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}
