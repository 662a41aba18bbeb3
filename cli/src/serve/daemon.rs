//! The running daemon: the fleet of models, the server and signals.

use super::launch::Launches;
use super::log::Log;
use super::notify::Manager;
use super::prepare::Choice;
use super::screen::Screen;
use crate::signals::{self, Ending};
use std::future::poll_fn;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::task::Poll;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use superfluid_core::Refusal;
use superfluid_core::access::Access;
use superfluid_core::fleet::Standing;
use superfluid_core::{fleet as machine, supervise};
use superfluid_io_tokio::fleet::{self, Fleet, Model};
use superfluid_io_tokio::http::{self, Server};
use superfluid_io_tokio::worker;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch};

/// What the operator wants of the daemon as a whole.
pub(super) struct Rules {
    pub(super) access: Access,
    pub(super) fleet: machine::Config,
    pub(super) supervision: supervise::Config,
}

/// Serves until a signal, or until it is clear that no model can be loaded.
///
/// # Errors
/// Where the runtime of a model that is loaded from the start is missing and may not be installed.
pub(super) async fn run(
    server: Server,
    rules: Rules,
    choices: Vec<Choice>,
    warnings: Vec<String>,
    log: Log,
) -> Result<ExitCode, Refusal> {
    let cannot = |error| Refusal::new("io", format!("cannot start the server: {error}"));
    let address = server.local_addr().map_err(cannot)?;
    let url = url(address);
    let Rules { access, fleet: config, supervision } = rules;
    let key = access.api_key.is_some();
    let open = !access.loopback && !key;
    let created = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let models: Vec<Model> = choices.iter().map(|choice| model(choice, created)).collect();
    let (lines, mut words) = mpsc::unbounded_channel();
    let launches = Launches::new(choices, lines);
    // What can be told before anything is started.
    let found = launches.find_those_at_start()?;
    let mut signals = Signals::new().map_err(cannot)?;
    let mut screen = Screen::new(log);
    found.iter().chain(&warnings).for_each(|line| screen.line(line));
    let offered = models.iter().filter(|model| !model.at_start).count();
    if offered > 0 {
        let word = if offered == 1 { "model is" } else { "models are" };
        screen.line(&format!("{offered} {word} loaded on first use"));
    }
    screen.line(&format!("listening on {url}"));
    if open {
        screen.line("warning: whoever can reach this address may use it; --api-key-file asks for a key");
    }
    let (fleet, mut notices) = fleet::start(config, supervision, models, launches.into_prepare());
    let (close, closed) = watch::channel(false);
    let http = http::Config { access, ..http::Config::default() };
    let server = tokio::spawn(server.run(http, fleet.clone(), closed));
    let (screen_of, patience) = (&mut screen, supervision.drain);
    let mut attended =
        Attended { fleet: &fleet, url: &url, key, screen: screen_of, patience, seen: Vec::new() };
    let mut manager = Manager::new();
    let code = attended.attend(&mut notices, &mut words, &mut signals, &mut manager).await;
    // The server returns at once where nothing is left to send.
    let _ = close.send(true);
    let _ = server.await;
    manager.close();
    screen.close();
    Ok(code)
}

fn model(choice: &Choice, created: u64) -> Model {
    let (id, runtime) = (choice.id.clone(), choice.runtime().to_string());
    Model { id, runtime, created, at_start: choice.at_start }
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
    fleet: &'a Fleet,
    url: &'a str,
    key: bool,
    screen: &'a mut Screen,
    /// How long a drain waits.
    patience: Duration,
    /// By model.
    seen: Vec<Seen>,
}

/// What was told of a model.
#[derive(Clone, Copy)]
struct Seen {
    /// When its worker was met.
    since: Instant,
    /// Whether the present load has been ready.
    up: bool,
}

impl Attended<'_> {
    /// Tells what happens and passes signals on, until every worker is gone.
    async fn attend(
        &mut self,
        notices: &mut mpsc::UnboundedReceiver<fleet::Notice>,
        words: &mut mpsc::UnboundedReceiver<String>,
        signals: &mut Signals,
        manager: &mut Manager,
    ) -> ExitCode {
        let new = Seen { since: Instant::now(), up: false };
        self.seen = vec![new; self.fleet.models().len()];
        let mut asked = 0;
        let mut settled = false;
        loop {
            if !settled && self.is_settled() {
                settled = true;
                let ids = self.fleet.models().iter().map(|model| model.id.as_str());
                manager.ready(&ids.collect::<Vec<_>>().join(", "));
            }
            tokio::select! {
                biased;
                Some(line) = words.recv() => self.screen.line(&line),
                notice = notices.recv() => match notice {
                    Some(fleet::Notice::Worker { model, notice }) => {
                        if let (worker::Notice::Progress { permille }, false) = (&notice, settled) {
                            let id = &self.fleet.models()[model.0].id;
                            manager.status(format!("loading {id}: {} %", permille / 10));
                        }
                        self.tell(model.0, notice);
                    }
                    Some(fleet::Notice::Hopeless) => {
                        self.tell_hopeless();
                        return ExitCode::FAILURE;
                    }
                    Some(fleet::Notice::Stopped { cut }) => {
                        self.tell_cut(cut);
                        return if asked < 2 && cut == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE };
                    }
                    None => return ExitCode::FAILURE,
                },
                () = manager.beat() => manager.alive(),
                signal = signals.next() => {
                    asked += 1;
                    manager.stopping();
                    self.screen.end_progress();
                    if asked == 1 {
                        self.tell_of_running(signal);
                        self.fleet.drain();
                    } else {
                        self.screen.line(&format!("{signal}: stopping now"));
                        self.fleet.stop();
                    }
                }
            }
        }
    }

    fn tell(&mut self, at: usize, notice: worker::Notice) {
        let id = &self.fleet.models()[at].id;
        let several = self.fleet.models().len() > 1;
        // Which model a line is about, where it could be another.
        let of = if several { format!("{id}: ") } else { String::new() };
        let seen = &mut self.seen[at];
        match notice {
            worker::Notice::Met { .. } => seen.since = Instant::now(),
            worker::Notice::Progress { permille } if !several => self.screen.progress(permille),
            worker::Notice::Progress { .. } => {}
            worker::Notice::Ready(loaded) if !seen.up => {
                seen.up = true;
                for what in &loaded.unconfined {
                    self.screen.line(&format!("warning: this kernel can't keep the worker from {what}"));
                }
                self.screen.ready(id, &loaded, self.url, self.key, seen.since.elapsed());
            }
            worker::Notice::Ready(_) => {
                self.screen.end_progress();
                self.screen.line(&format!("{of}the worker is back"));
            }
            worker::Notice::Down { death, restart_in: Some(wait) } => {
                self.screen.death(&format!("warning: {of}"), &death);
                self.screen.line(&format!("{of}it is restarted in {:.1} s", wait.as_secs_f64()));
            }
            worker::Notice::Down { death, restart_in: None } => {
                self.screen.death(&format!("error: {of}"), &death);
                if std::mem::replace(&mut seen.up, false) {
                    let hint = if supervise::is_permanent(&death.refusal.code) {
                        "a restart would meet the same; a later request tries again"
                    } else {
                        "it died too often in a row and is not restarted until it is loaded again"
                    };
                    self.screen.line(&format!("  hint: {hint} (POST {}/v1/models/load)", self.url));
                }
            }
            worker::Notice::Stopped { .. } => {
                if std::mem::replace(&mut seen.up, false) && self.fleet.overview().serves {
                    self.screen.line(&format!("unloaded: {id}"));
                }
            }
        }
    }

    /// Whether no model asked for at the start is still being loaded.
    fn is_settled(&self) -> bool {
        let overview = self.fleet.overview();
        let mut asked_for =
            self.fleet.models().iter().zip(&overview.models).filter(|(model, _)| model.at_start);
        asked_for.all(|(_, view)| view.standing != Standing::Loading)
    }

    fn tell_hopeless(&self) {
        let ids: Vec<String> = self.fleet.models().iter().map(|model| format!("'{}'", model.id)).collect();
        self.screen.line(&format!("nothing can be served, so this ends: {} could not be loaded", and(&ids)));
    }

    fn tell_of_running(&self, signal: &str) {
        let overview = self.fleet.overview();
        let workers = overview.models.iter().filter_map(|model| model.worker.as_ref());
        let running: usize = workers.map(|worker| worker.view().jobs).sum();
        self.screen.line(&match running {
            0 => format!("{signal}: stopping"),
            running => format!(
                "{signal}: stopping, waiting up to {} s for {}; a second signal stops now",
                self.patience.as_secs(),
                requests(running as u64)
            ),
        });
    }

    fn tell_cut(&self, cut: u64) {
        if cut > 0 {
            self.screen.line(&format!("stopped before {} had finished", requests(cut)));
        }
    }
}

fn requests(count: u64) -> String {
    format!("{count} {}", if count == 1 { "request" } else { "requests" })
}

/// A list as a person writes it.
fn and(words: &[String]) -> String {
    match words {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => words.concat(),
    }
}

/// What asks a daemon to end: a service manager, Ctrl-C, a terminal that closed.
struct Signals(Vec<(&'static str, Signal)>);

impl Signals {
    fn new() -> std::io::Result<Self> {
        let listen = |ending: Ending| Ok((ending.name(), signal(SignalKind::from_raw(ending.number()))?));
        signals::heard().map(listen).collect::<std::io::Result<_>>().map(Self)
    }

    /// The next one's name.
    async fn next(&mut self) -> &'static str {
        poll_fn(|context| {
            let came = |(name, signal): &mut (&'static str, Signal)| {
                signal.poll_recv(context).is_ready().then_some(*name)
            };
            self.0.iter_mut().find_map(came).map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}
