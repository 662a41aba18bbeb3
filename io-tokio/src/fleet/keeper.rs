//! The task that drives the fleet's machine.

use super::{Fleet, Model, ModelView, Overview, life};
use crate::metrics::Metrics;
use crate::worker::{self, Program, Unstarted, Worker};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use superfluid_core::Refusal;
use superfluid_core::fleet::{self, AskId, Config, Effect, Event, Gone, Listed, Load, ModelIx, RequestId};
use superfluid_core::supervise;
use superfluid_core::time::Instant;
use superfluid_core::wire::LoadSpec;
use tokio::sync::{mpsc, oneshot, watch};

/// What starts a model's worker.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Its program.
    pub program: Program,
    /// What it loads.
    pub spec: LoadSpec,
}

/// Finds out how a model's worker is started; may take as long as an install. Dropping the future
/// gives it up.
pub type Prepare =
    Box<dyn Fn(ModelIx) -> Pin<Box<dyn Future<Output = Result<Launch, Refusal>> + Send>> + Send>;

/// What happened.
#[derive(Clone, Debug)]
pub enum Notice {
    /// To one model's worker.
    Worker {
        /// Whose.
        model: ModelIx,
        /// What.
        notice: worker::Notice,
    },
    /// Every model was to be loaded at the start and none could be: nothing will ever be served unless
    /// somebody changes something.
    Hopeless,
    /// Every worker is gone as asked. Nothing follows.
    Stopped {
        /// Requests that were ended unfinished for it.
        cut: u64,
    },
}

/// What others ask of the fleet.
#[derive(Debug)]
pub(super) enum Ask {
    Request {
        id: RequestId,
        model: String,
        deadline: Option<tokio::time::Instant>,
        answer: oneshot::Sender<Result<Worker, Refusal>>,
    },
    Done(RequestId),
    Load {
        id: AskId,
        model: String,
        answer: oneshot::Sender<Result<(), Refusal>>,
    },
    Unload {
        id: AskId,
        model: String,
        answer: oneshot::Sender<Result<(), Refusal>>,
    },
    Drain,
    Stop,
}

/// A word from a load's task.
pub(super) struct Heard {
    pub(super) load: Load,
    pub(super) notice: worker::Notice,
}

/// Starts the fleet of `models`. The task ends once every worker is gone after a drain or stop, or
/// when every handle is dropped; the notices end with it.
pub fn start(
    config: Config,
    supervise: supervise::Config,
    models: Vec<Model>,
    prepare: Prepare,
) -> (Fleet, mpsc::UnboundedReceiver<Notice>) {
    let metrics = Metrics::default();
    let origin = tokio::time::Instant::now();
    let listed = models.iter().map(|model| Listed { id: model.id.clone(), at_start: model.at_start });
    let machine = fleet::Fleet::new(config, listed, Instant::ORIGIN);
    let models: Arc<[Model]> = models.into();
    let (asks, asked) = mpsc::unbounded_channel();
    let (told, heard) = mpsc::unbounded_channel();
    let (notices, noticed) = mpsc::unbounded_channel();
    let view = |_: &Model| ModelView {
        standing: fleet::Standing::Unloaded,
        failure: None,
        waiting: 0,
        worker: None,
        past: supervise::Totals::default(),
    };
    let overview = Overview { ready: false, serves: true, models: models.iter().map(view).collect() };
    let (overview, viewed) = watch::channel(overview);
    let mut keeper = Keeper {
        machine,
        supervise,
        models: Arc::clone(&models),
        prepare,
        metrics: metrics.clone(),
        origin,
        loads: BTreeMap::new(),
        requests: BTreeMap::new(),
        wishes: BTreeMap::new(),
        told,
        notices,
        overview,
    };
    // Before anybody can look, so that nobody sees a model that is about to be loaded as unloaded.
    keeper.settle();
    tokio::spawn(keeper.run(asked, heard));
    (Fleet { asks, models, metrics, overview: viewed, ids: Arc::default() }, noticed)
}

/// A load under way.
struct Running {
    model: ModelIx,
    worker: Worker,
    ready: bool,
    /// Ends it while there is no worker yet.
    stop: Option<oneshot::Sender<()>>,
}

struct Keeper {
    machine: fleet::Fleet,
    supervise: supervise::Config,
    models: Arc<[Model]>,
    prepare: Prepare,
    metrics: Metrics,
    origin: tokio::time::Instant,
    loads: BTreeMap<Load, Running>,
    requests: BTreeMap<RequestId, oneshot::Sender<Result<Worker, Refusal>>>,
    wishes: BTreeMap<AskId, oneshot::Sender<Result<(), Refusal>>>,
    told: mpsc::UnboundedSender<Heard>,
    notices: mpsc::UnboundedSender<Notice>,
    overview: watch::Sender<Overview>,
}

impl Keeper {
    fn now(&self) -> Instant {
        self.instant(tokio::time::Instant::now())
    }

    fn instant(&self, at: tokio::time::Instant) -> Instant {
        let nanos = at.saturating_duration_since(self.origin).as_nanos();
        Instant::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    async fn run(
        mut self,
        mut asked: mpsc::UnboundedReceiver<Ask>,
        mut heard: mpsc::UnboundedReceiver<Heard>,
    ) {
        loop {
            let stopped = self.settle();
            if stopped {
                break;
            }
            let timeout = self.machine.poll_timeout().map(|(at, _)| self.origin + at.since(Instant::ORIGIN));
            tokio::select! {
                ask = asked.recv() => match ask {
                    Some(ask) => self.asked(ask),
                    None => break,
                },
                Some(heard) = heard.recv() => self.heard(heard),
                () = sleep_until(timeout) => self.machine.handle_timeout(self.now()),
            }
        }
        // Who asked in the meantime is answered like who asks from now on.
        asked.close();
        while let Ok(ask) = asked.try_recv() {
            self.asked(ask);
            self.settle();
        }
    }

    fn asked(&mut self, ask: Ask) {
        let now = self.now();
        match ask {
            Ask::Request { id, model, deadline, answer } => {
                self.requests.insert(id, answer);
                let deadline = deadline.map(|at| self.instant(at));
                if let Err(misuse) = self.machine.request(id, &model, deadline, now) {
                    tracing::error!(model, %misuse, "the fleet was misused");
                    self.requests.remove(&id);
                }
            }
            Ask::Done(id) => {
                self.requests.remove(&id);
                self.machine.done(id, now);
            }
            Ask::Load { id, model, answer } => {
                self.wishes.insert(id, answer);
                self.machine.load(id, &model, now);
            }
            Ask::Unload { id, model, answer } => {
                self.wishes.insert(id, answer);
                self.machine.unload(id, &model, now);
            }
            Ask::Drain => self.machine.drain(now),
            Ask::Stop => self.machine.stop(now),
        }
    }

    fn heard(&mut self, Heard { load, notice }: Heard) {
        let Some(running) = self.loads.get_mut(&load) else { return };
        let model = running.model;
        let first =
            matches!(notice, worker::Notice::Ready(_)) && !std::mem::replace(&mut running.ready, true);
        // Nobody listens: the state is still to be seen in the overview.
        let _ = self.notices.send(Notice::Worker { model, notice: notice.clone() });
        let now = self.now();
        let result = match notice {
            worker::Notice::Ready(_) if first => self.machine.handle_ready(load, now),
            worker::Notice::Down { death, restart_in: None } => {
                self.loads.remove(&load);
                self.machine.handle_gone(load, Gone::Failed { refusal: death.refusal }, now)
            }
            worker::Notice::Stopped { cut } => {
                self.loads.remove(&load);
                self.machine.handle_gone(load, Gone::Stopped { cut }, now)
            }
            _ => return,
        };
        if let Err(misuse) = result {
            tracing::error!(model = self.models[model.0].id, %misuse, "the fleet was misused");
        }
    }

    /// Drains the machine. True once everything is over.
    fn settle(&mut self) -> bool {
        let mut stopped = false;
        while let Some(effect) = self.machine.poll_effect() {
            match effect {
                Effect::Start { model, load } => self.start(model, load),
                Effect::Drain { load } => self.end(load, Worker::drain),
                Effect::Stop { load } => self.end(load, Worker::stop),
            }
        }
        while let Some(event) = self.machine.poll_event() {
            match event {
                Event::Go { request, load } => {
                    if let (Some(answer), Some(running)) =
                        (self.requests.remove(&request), self.loads.get(&load))
                    {
                        let _ = answer.send(Ok(running.worker.clone()));
                    }
                }
                Event::Refused { request, refusal } => {
                    if let Some(answer) = self.requests.remove(&request) {
                        let _ = answer.send(Err(refusal));
                    }
                }
                Event::Answered { ask, refusal } => {
                    if let Some(answer) = self.wishes.remove(&ask) {
                        let _ = answer.send(refusal.map_or(Ok(()), Err));
                    }
                }
                Event::Hopeless => {
                    let _ = self.notices.send(Notice::Hopeless);
                }
                Event::Stopped { cut } => {
                    stopped = true;
                    let _ = self.notices.send(Notice::Stopped { cut });
                }
            }
        }
        let machine = &self.machine;
        self.overview.send_if_modified(|overview| {
            overview.ready = machine.is_ready();
            overview.serves = machine.serves();
            for (at, view) in overview.models.iter_mut().enumerate() {
                view.standing = machine.standing(ModelIx(at));
                view.failure = machine.failure(ModelIx(at)).cloned();
                view.waiting = machine.waiting(ModelIx(at));
            }
            true
        });
        stopped
    }

    fn start(&mut self, model: ModelIx, load: Load) {
        let of = &self.models[model.0];
        let (worker, unstarted) = Unstarted::new(&of.runtime, self.metrics.gaps(&of.id));
        let (stop, stopped) = oneshot::channel();
        let prepared = (self.prepare)(model);
        let (name, told) = (of.id.clone(), self.told.clone());
        tokio::spawn(life::live(load, name, unstarted, prepared, stopped, self.supervise, told));
        self.overview.send_modify(|overview| {
            let view = &mut overview.models[model.0];
            if let Some(before) = view.worker.replace(worker.clone()) {
                view.past = view.past + before.view().totals;
            }
        });
        self.loads.insert(load, Running { model, worker, ready: false, stop: Some(stop) });
    }

    fn end(&mut self, load: Load, how: impl FnOnce(&Worker)) {
        if let Some(running) = self.loads.get_mut(&load) {
            if let Some(stop) = running.stop.take() {
                let _ = stop.send(());
            }
            how(&running.worker);
        }
    }
}

async fn sleep_until(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
