//! A server, its worker's link, and the worker the test plays.

use crate::client::get;
use crate::fake::Fake;
use std::net::SocketAddr;
use std::pin::Pin;
use superfluid_core::sched::{Copying, Cut, Engine, Finish, JobId, Usage};
use superfluid_core::supervise;
use superfluid_core::wire::{JobUpdate, LoadSpec, Loaded, PROTOCOL, Submit, ToDaemon, ToWorker};
use superfluid_io_tokio::fleet::{self, Fleet, Launch, Model};
use superfluid_io_tokio::http::{self, Server};
use superfluid_io_tokio::worker::{Notice, Program, Worker};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

pub(crate) struct Rig {
    pub(crate) address: SocketAddr,
    pub(crate) fleet: Fleet,
    notices: mpsc::UnboundedReceiver<fleet::Notice>,
    pub(crate) close: watch::Sender<bool>,
    pub(crate) server: JoinHandle<()>,
}

/// A server before its worker `program`.
pub(crate) async fn serve(program: Program, http: http::Config, supervise: supervise::Config) -> Rig {
    let server = Server::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = server.local_addr().unwrap();
    let (fleet, notices) = one(program, supervise);
    let (close, closed) = watch::channel(false);
    let server = tokio::spawn(server.run(http, fleet.clone(), closed));
    Rig { address, fleet, notices, close, server }
}

/// A fleet of the model `tiny`, asked for at the start.
pub(crate) fn one(
    program: Program,
    supervise: supervise::Config,
) -> (Fleet, mpsc::UnboundedReceiver<fleet::Notice>) {
    let prepare = move |_| {
        let launch = Launch { program: program.clone(), spec: LoadSpec::default() };
        Box::pin(std::future::ready(Ok(launch))) as Pin<Box<dyn Future<Output = _> + Send>>
    };
    fleet::start(fleet_config(), supervise, vec![model("tiny", true)], Box::new(prepare))
}

pub(crate) fn fleet_config() -> superfluid_core::fleet::Config {
    superfluid_core::fleet::Config::default()
}

pub(crate) fn model(id: &str, at_start: bool) -> Model {
    Model { id: id.into(), runtime: "mock".into(), created: 1, at_start }
}

pub(crate) async fn start() -> (Rig, Fake) {
    start_with(http::Config::default(), supervise::Config::default()).await
}

/// A rig whose worker is ready.
pub(crate) async fn start_with(http: http::Config, supervise: supervise::Config) -> (Rig, Fake) {
    let mut fake = Fake::new();
    let rig = serve(fake.program(), http, supervise).await;
    come_up(&mut fake).await;
    rig.healthy().await;
    (rig, fake)
}

/// Plays a worker's start.
pub(crate) async fn come_up(fake: &mut Fake) {
    fake.started().await;
    fake.say(&ToDaemon::Hello { protocol: PROTOCOL, runtime: "mock".into(), version: "0".into() });
    loop {
        if let ToWorker::Load(_) = fake.hear().await {
            return fake.say(&ToDaemon::Loaded(loaded()));
        }
    }
}

pub(crate) fn loaded() -> Loaded {
    let engine = Engine {
        lanes: 2,
        seqs: 4,
        seq_tokens: 4096,
        pool_tokens: 8192,
        step_tokens: 512,
        cut: Cut::Anywhere,
        copying: Copying::Shares,
        mixes: true,
        neighbours: false,
        micro_batch: u32::MAX,
        keeping: Default::default(),
    };
    let mut record = superfluid_core::capability::Record::default();
    record.0.insert("backend".into(), "cpu".into());
    Loaded { record, engine, description: "mock".into(), vocab: 100, chat: true, unconfined: vec![] }
}

impl Rig {
    /// The present worker of the first model.
    pub(crate) fn worker(&self) -> Worker {
        self.fleet.overview().models[0].worker.clone().expect("a worker")
    }

    /// What happens next to a worker.
    pub(crate) async fn notice(&mut self) -> Option<Notice> {
        loop {
            match self.notices.recv().await? {
                fleet::Notice::Worker { notice, .. } => return Some(notice),
                fleet::Notice::Stopped { cut } => return Some(Notice::Stopped { cut }),
                // Said of the fleet, not of a worker.
                fleet::Notice::Hopeless => {}
            }
        }
    }

    pub(crate) async fn healthy(&self) {
        while get(self.address, "/health").await.status != 200 {
            tokio::task::yield_now().await;
        }
    }

    /// Waits until no job is left.
    pub(crate) async fn idle(&self) {
        while get(self.address, "/health").await.json()["requests"] != 0 {
            tokio::task::yield_now().await;
        }
    }
}

impl Fake {
    /// The next job, accepted.
    pub(crate) async fn job(&mut self) -> Submit {
        loop {
            if let ToWorker::Submit(submit) = self.hear().await {
                self.say(&ToDaemon::Accepted { id: submit.id, prompt_tokens: 3 });
                return submit;
            }
        }
    }

    pub(crate) fn text(&self, id: JobId, text: &str) {
        let update = JobUpdate { id, tokens: vec![1], text: text.into(), logprobs: vec![], held: vec![] };
        self.say(&ToDaemon::Updates { jobs: vec![update] });
    }

    pub(crate) fn finish(&self, id: JobId) {
        let usage = Usage { prompt: 3, cached: 0, completion: 2 };
        self.say(&ToDaemon::Finished { id, finish: Finish::Stop, usage });
    }
}

/// Awaits `future` with a clock that runs ahead to the next timer whenever there is nothing to do, and
/// stands still otherwise: what the timers do comes in their order, however fast the machine is.
pub(crate) async fn ahead<T>(future: impl Future<Output = T>) -> T {
    tokio::time::pause();
    let done = future.await;
    tokio::time::resume();
    done
}

pub(crate) const CHAT: &str = r#"{"model":"tiny","messages":[{"role":"user","content":"hi"}]}"#;
pub(crate) const STREAM: &str =
    r#"{"model":"tiny","stream":true,"messages":[{"role":"user","content":"hi"}]}"#;
