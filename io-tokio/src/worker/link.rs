//! The task that drives one worker's supervisor.

use super::process::{Happening, Process, Program};
use super::ticket::{End, Slot, Ticket};
use prometheus_client::metrics::histogram::Histogram;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use superfluid_core::refusal::Refusal;
use superfluid_core::sched::JobId;
use superfluid_core::supervise::{
    self, Config, Death, Effect, Event, Exit, Life, Status, Supervisor, Totals,
};
use superfluid_core::time::Instant;
use superfluid_core::wire::{self, LoadSpec, Loaded, Stats, Submit};
use tokio::sync::{mpsc, watch};

/// What clients and the operator ask of a worker.
#[derive(Debug)]
pub(super) enum Ask {
    Submit(Box<Submit>, Option<tokio::time::Instant>, Arc<Slot>),
    Cancel(JobId),
    /// The client has taken all there was.
    Taken(JobId),
    Drain,
    Stop,
}

/// What happened to the worker.
#[derive(Clone, Debug)]
pub enum Notice {
    /// It said who it is.
    Met {
        /// Its own version.
        version: String,
    },
    /// Loading goes on.
    Progress {
        /// Share done, in thousandths.
        permille: u32,
    },
    /// The model is loaded.
    Ready(Arc<Loaded>),
    /// It is gone though it should not be.
    Down {
        /// Why.
        death: Death,
        /// When its successor starts; `None` where it is given up.
        restart_in: Option<Duration>,
    },
    /// It is gone as asked.
    Stopped {
        /// Jobs that were ended unfinished for it.
        cut: u64,
    },
}

/// Where the worker stands now.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Where the worker stands.
    pub status: Status,
    /// What the model can do, once it was loaded.
    pub loaded: Option<Arc<Loaded>>,
    /// What the worker last said it is doing.
    pub stats: Stats,
    /// Jobs that have not ended.
    pub jobs: usize,
    /// Processes started so far.
    pub lives: u64,
    /// What was counted over all of them.
    pub totals: Totals,
}

/// A handle on the task. Clones share it.
#[derive(Clone, Debug)]
pub struct Worker {
    asks: mpsc::UnboundedSender<Ask>,
    view: watch::Receiver<View>,
    ids: Arc<AtomicU64>,
    gaps: Histogram,
}

impl Worker {
    /// Where the worker stands now.
    pub fn view(&self) -> View {
        self.view.borrow().clone()
    }

    /// Submits a job; its id is replaced. A refusal arrives as the ticket's end, and so does a
    /// deadline that passes.
    pub fn submit(&self, mut submit: Submit, deadline: Option<tokio::time::Instant>) -> Ticket {
        submit.id = JobId(self.ids.fetch_add(1, Ordering::Relaxed) + 1);
        let (ticket, slot) = Ticket::new(submit.id, self.asks.clone(), self.gaps.clone());
        if let Err(mpsc::error::SendError(Ask::Submit(_, _, slot))) =
            self.asks.send(Ask::Submit(Box::new(submit), deadline, slot))
        {
            slot.end(End::Failed(supervise::over(&self.view.borrow().status)));
        }
        ticket
    }

    /// Finish what runs, take nothing new, end the worker.
    pub fn drain(&self) {
        let _ = self.asks.send(Ask::Drain);
    }

    /// End the worker now.
    pub fn stop(&self) {
        let _ = self.asks.send(Ask::Stop);
    }
}

/// A worker whose program is still to be installed. Its handle works already: the view says
/// [`Status::Installing`] and jobs are refused.
#[derive(Debug)]
pub struct Unstarted {
    runtime: String,
    asked: mpsc::UnboundedReceiver<Ask>,
    view: watch::Sender<View>,
}

impl Unstarted {
    /// A worker of `runtime`, by its canonical id; the times between its jobs' tokens go to `gaps`.
    pub fn new(runtime: &str, gaps: Histogram) -> (Worker, Self) {
        let (asks, asked) = mpsc::unbounded_channel();
        let (view, viewed) = watch::channel(View {
            status: Status::Installing,
            loaded: None,
            stats: Stats::default(),
            jobs: 0,
            lives: 0,
            totals: Totals::default(),
        });
        let worker = Worker { asks, view: viewed, ids: Arc::default(), gaps };
        (worker, Self { runtime: runtime.into(), asked, view })
    }

    /// Waits for `ready`, and refuses jobs meanwhile.
    pub async fn until<T>(&mut self, ready: impl Future<Output = T>) -> T {
        tokio::pin!(ready);
        loop {
            tokio::select! {
                biased;
                ready = &mut ready => return ready,
                Some(ask) = self.asked.recv() => self.refuse(&ask),
            }
        }
    }

    fn refuse(&self, ask: &Ask) {
        if let Ask::Submit(_, _, slot) = ask {
            slot.end(End::Failed(supervise::installing(&self.runtime)));
        }
    }

    /// Starts `program` for the model called `name`. The task ends, and the notices with it, after
    /// `Stopped` or a `Down` without restart; dropping its runtime kills it.
    pub fn start(
        self,
        config: Config,
        name: &str,
        program: Program,
        spec: LoadSpec,
    ) -> mpsc::UnboundedReceiver<Notice> {
        let (notices, noticed) = mpsc::unbounded_channel();
        let origin = tokio::time::Instant::now();
        let supervisor = Supervisor::new(config, self.runtime, spec, Instant::ORIGIN);
        self.view.send_replace(look(&supervisor, None));
        let link = Link {
            supervisor,
            program,
            name: name.into(),
            origin,
            process: None,
            slots: BTreeMap::new(),
            loaded: None,
            notices,
            view: self.view,
        };
        tokio::spawn(link.run(self.asked));
        noticed
    }
}

fn look(supervisor: &Supervisor, loaded: Option<&Arc<Loaded>>) -> View {
    View {
        status: supervisor.status(),
        loaded: loaded.cloned(),
        stats: supervisor.stats(),
        jobs: supervisor.jobs(),
        lives: supervisor.lives(),
        totals: supervisor.totals(),
    }
}

struct Link {
    supervisor: Supervisor,
    program: Program,
    name: Arc<str>,
    origin: tokio::time::Instant,
    process: Option<(Life, Process)>,
    slots: BTreeMap<JobId, Arc<Slot>>,
    loaded: Option<Arc<Loaded>>,
    notices: mpsc::UnboundedSender<Notice>,
    view: watch::Sender<View>,
}

impl Link {
    fn now(&self) -> Instant {
        let nanos = self.origin.elapsed().as_nanos();
        Instant::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    async fn run(mut self, mut asked: mpsc::UnboundedReceiver<Ask>) {
        let mut wanted = true;
        loop {
            self.settle();
            if matches!(self.supervisor.status(), Status::Stopped | Status::Failed) && self.process.is_none()
            {
                break;
            }
            let timeout =
                self.supervisor.poll_timeout().map(|(at, _)| self.origin + at.since(Instant::ORIGIN));
            tokio::select! {
                happening = next(&mut self.process) => self.happened(happening),
                ask = asked.recv(), if wanted => match ask {
                    Some(ask) => self.asked(ask),
                    None => {
                        wanted = false;
                        self.supervisor.stop(self.now());
                    }
                },
                () = sleep_until(timeout) => self.supervisor.handle_timeout(self.now()),
            }
        }
        // Whoever asked in the meantime is answered like whoever asks from now on.
        asked.close();
        while let Ok(ask) = asked.try_recv() {
            self.asked(ask);
            self.settle();
        }
    }

    /// Drains the machine.
    fn settle(&mut self) {
        loop {
            let mut spawn = None;
            while let Some(effect) = self.supervisor.poll_effect() {
                match effect {
                    Effect::Spawn { life } => spawn = Some(life),
                    Effect::Kill { life } => {
                        if let Some((alive, process)) = &mut self.process
                            && *alive == life
                        {
                            process.kill();
                        }
                    }
                }
            }
            let mut frames = Vec::new();
            while let Some(frame) = self.supervisor.poll_send() {
                if let Err(error) = wire::encode(&frame, &mut frames) {
                    // Requests are bounded far below a frame, so this is a bug worth a line.
                    tracing::error!(model = &*self.name, %error, "a frame was not sent");
                }
            }
            if let (Some((_, process)), false) = (&self.process, frames.is_empty()) {
                process.send(frames);
            }
            let mut backlogs = Vec::new();
            while let Some(event) = self.supervisor.poll_event() {
                backlogs.extend(self.event(event));
            }
            let pressed = !backlogs.is_empty();
            for (id, bytes) in backlogs {
                self.supervisor.handle_backlog(id, bytes, self.now());
            }
            let Some(life) = spawn else {
                if pressed {
                    continue;
                }
                break;
            };
            let result =
                Process::spawn(&self.program, &self.name).map(|process| self.process = Some((life, process)));
            self.answer(life, |supervisor, now| supervisor.handle_spawned(life, result, now));
        }
        let view = look(&self.supervisor, self.loaded.as_ref());
        self.view.send_if_modified(|held| {
            let changed = *held != view;
            *held = view;
            changed
        });
    }

    fn answer<E: std::fmt::Display>(
        &mut self,
        life: Life,
        answer: impl FnOnce(&mut Supervisor, Instant) -> Result<(), E>,
    ) {
        let now = self.now();
        if let Err(misuse) = answer(&mut self.supervisor, now) {
            tracing::error!(model = &*self.name, life = life.0, %misuse, "the supervisor was misused");
        }
    }

    fn happened(&mut self, (life, happening): (Life, Happening)) {
        let now = self.now();
        match happening {
            Happening::Frame(frame) => self.supervisor.handle_frame(life, frame, now),
            Happening::LinkError(detail) => self.supervisor.handle_link_error(life, &detail, now),
            Happening::Exit(exit) => self.exited(life, exit),
        }
    }

    fn exited(&mut self, life: Life, exit: Exit) {
        self.process = None;
        tracing::debug!(model = &*self.name, life = life.0, status = %exit.status, "the worker ended");
        self.answer(life, |supervisor, now| supervisor.handle_exit(life, exit, now));
    }

    fn asked(&mut self, ask: Ask) {
        let now = self.now();
        match ask {
            Ask::Submit(submit, deadline, slot) => {
                let id = submit.id;
                self.slots.insert(id, slot);
                if let Err(misuse) = self.supervisor.submit(*submit, now) {
                    tracing::error!(model = &*self.name, %misuse, "a job was not submitted");
                    self.end(id, End::Failed(Refusal::new("internal_error", "the request was not taken")));
                }
                if let Some(deadline) = deadline {
                    let nanos = deadline.saturating_duration_since(self.origin).as_nanos();
                    let deadline = Instant::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
                    self.supervisor.set_deadline(id, deadline, now);
                }
            }
            Ask::Cancel(id) => {
                self.slots.remove(&id);
                self.supervisor.cancel(id, now);
            }
            Ask::Taken(id) => self.supervisor.handle_backlog(id, 0, now),
            Ask::Drain => self.supervisor.drain(now),
            Ask::Stop => self.supervisor.stop(now),
        }
    }

    /// Returns whose client has left more untaken than it should, and how much.
    fn event(&mut self, event: Event) -> Option<(JobId, u64)> {
        let notice = match event {
            Event::Update(update) => {
                let (id, most) = (update.id, self.supervisor.backlog_max());
                let bytes = self.slots.get(&id).map(|slot| slot.update(update, most));
                return bytes.filter(|bytes| *bytes > most).map(|bytes| (id, bytes));
            }
            Event::Accepted { job, prompt_tokens } => {
                if let Some(slot) = self.slots.get(&job) {
                    slot.accepted(prompt_tokens);
                }
                return None;
            }
            Event::Finished { job, finish, usage } => {
                self.end(job, End::Finished { finish, usage });
                return None;
            }
            Event::Failed { job, refusal } => {
                self.end(job, End::Failed(refusal));
                return None;
            }
            Event::Met { version } => Notice::Met { version },
            Event::Progress { permille } => Notice::Progress { permille },
            Event::Ready(loaded) => {
                let loaded: Arc<Loaded> = Arc::from(loaded);
                self.loaded = Some(Arc::clone(&loaded));
                Notice::Ready(loaded)
            }
            Event::Down { death, restart_in } => Notice::Down { death, restart_in },
            Event::Stopped { cut } => Notice::Stopped { cut },
        };
        // Nobody listens: the state is still to be seen in the view.
        let _ = self.notices.send(notice);
        None
    }

    fn end(&mut self, job: JobId, end: End) {
        if let Some(slot) = self.slots.remove(&job) {
            slot.end(end);
        }
    }
}

async fn next(process: &mut Option<(Life, Process)>) -> (Life, Happening) {
    match process {
        Some((life, process)) => (*life, process.next().await),
        None => std::future::pending().await,
    }
}

async fn sleep_until(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
