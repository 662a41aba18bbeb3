//! The serve loop: one model, jobs in, tokens out, frames on two pipes.
//!
//! Three threads. The *reader* takes frames, answers pings, renders templates, tokenizes and
//! validates. The *device* thread, which is the caller's, loads the model and owns it and the
//! scheduler, and writes its frames where that does not make it wait. The *writer* writes the
//! others. They share mailboxes, the line and a few gauges, nothing else.
//!
//! The worker ends when the daemon closes its standard input, whatever it is doing: a step is given
//! up at its next boundary, and a library that does not come back is left behind by exiting. A
//! terminal's Ctrl-C is the daemon's to handle: it starts workers in a process group of their own,
//! so that the signal does not reach them, and drains them.

mod brain;
mod device;
mod line;
mod live;
mod prepare;
mod reader;
mod shared;
mod shelf;
mod watchdog;
mod writer;

use crate::mailbox::{CLOSED, Mailbox};
use crate::runtime::Runtime;
use crate::sandbox;
use brain::Brain;
use line::Line;
use prepare::Prepare;
use reader::Reader;
use shared::{Gauges, Shared, ToDevice};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use superfluid_core::Refusal;
use superfluid_core::capability::validate_flags;
use superfluid_core::sched::Config;
use superfluid_core::wire::{LoadSpec, Loaded, PROTOCOL, ToDaemon};

/// How long the process may go on after its input ended, before it exits from wherever it is.
pub(crate) const LINGER: Duration = Duration::from_secs(2);

/// Frames that wait for the wire before the device waits for them.
const OUTBOX: usize = 1024;

/// Commands that wait for the device before jobs are refused.
const INBOX: usize = 4096;

/// Stack of the reader, which runs chat templates. Only what is touched is ever memory.
const READER_STACK: usize = 256 << 20;

/// How a worker's life ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The daemon asked for it and every job was finished.
    Drained,
    /// The daemon closed the link.
    LinkClosed,
    /// It could not go on; the daemon was told.
    Failed(Refusal),
}

/// Serves `runtime` to the daemon at the other end of `input` and `output`. Where `linger` is
/// given, the process exits that long after `input` ended, and when a request's preparation does
/// not come back.
pub fn serve(
    runtime: &mut dyn Runtime,
    input: impl Read + Send + 'static,
    output: impl Write + AsFd + Send + 'static,
    linger: Option<Duration>,
) -> Ended {
    let shared = Arc::new(Shared {
        inbox: Mailbox::new(INBOX),
        outbox: Mailbox::new(OUTBOX),
        line: Line::new(output),
        ready: Mailbox::new(1),
        preparing: Mailbox::new(2),
        done: Mailbox::new(1),
        gauges: Gauges::default(),
    });
    let hello = ToDaemon::Hello {
        protocol: PROTOCOL,
        runtime: runtime.id().into(),
        version: crate::command::VERSION.into(),
    };
    let _ = shared.outbox.send(hello);
    let writer = {
        let shared = shared.clone();
        spawn("writer", 0, move || writer::run(&shared))
    };
    let writer = match writer {
        Ok(writer) => writer,
        Err(refusal) => return Ended::Failed(refusal),
    };
    if linger.is_some() {
        let shared = shared.clone();
        if let Err(refusal) = spawn("watchdog", 0, move || watchdog::run(&shared)) {
            return Ended::Failed(refusal);
        }
    }
    let reader = Reader::new(shared.clone());
    let ended = match spawn("reader", READER_STACK, move || reader.run(input, linger)) {
        Ok(_) => live(runtime, &shared),
        Err(refusal) => Ended::Failed(refusal),
    };
    if let Ended::Failed(refusal) = &ended {
        let _ = shared.outbox.send(ToDaemon::Fatal(refusal.clone()));
    }
    shared.inbox.close();
    shared.outbox.close();
    // The reader may wait for input that never comes, so nobody waits for it.
    let _ = writer.join();
    shared.line.close();
    shared.preparing.close();
    shared.done.close();
    ended
}

fn spawn(
    name: &str,
    stack: usize,
    body: impl FnOnce() + Send + 'static,
) -> Result<thread::JoinHandle<()>, Refusal> {
    let mut builder = thread::Builder::new().name(name.into());
    if stack > 0 {
        builder = builder.stack_size(stack);
    }
    builder
        .spawn(body)
        .map_err(|e| Refusal::new("no_thread", format!("the {name} thread did not start: {e}")))
}

fn live(runtime: &mut dyn Runtime, shared: &Arc<Shared>) -> Ended {
    let spec = loop {
        match shared.inbox.recv() {
            Some(ToDevice::Load(spec)) => break spec,
            Some(ToDevice::Drain) => return Ended::Drained,
            Some(ToDevice::Broken(refusal)) => return Ended::Failed(refusal),
            Some(ToDevice::Submit(_) | ToDevice::Cancel(_) | ToDevice::Pause(..)) => {}
            None => return Ended::LinkClosed,
        }
    };
    load_and_run(runtime, &spec, shared)
}

fn load_and_run(runtime: &mut dyn Runtime, spec: &LoadSpec, shared: &Arc<Shared>) -> Ended {
    let mut told = None;
    let mut progress = |permille: u32| {
        let permille = permille.min(1000);
        if told.is_none_or(|told| told < permille) {
            told = Some(permille);
            let _ = shared.outbox.send(ToDaemon::Progress { permille });
        }
        shared.inbox.alerts() & CLOSED == 0
    };
    let loaded = runtime.load(spec, &mut progress);
    // Some of what a flag asks is known only of a loaded model.
    let loaded = loaded.and_then(|model| validate_flags(&model.record, &spec.flags).map(|()| model));
    let model = match loaded {
        Ok(model) => model,
        Err(_) if shared.inbox.alerts() & CLOSED != 0 => return Ended::LinkClosed,
        Err(refusal) => {
            let _ = shared.outbox.send(ToDaemon::LoadFailed(refusal.clone()));
            return Ended::Failed(refusal);
        }
    };
    let engine = model.primitives.engine();
    let mut config = Config::new(engine);
    config.class_lanes = spec.class_lanes.unwrap_or(config.class_lanes);
    let loaded = Loaded {
        record: model.record,
        engine,
        description: model.description,
        vocab: model.vocabulary.size(),
        chat: model.chat_template.is_some(),
        unconfined: sandbox::missing(),
    };
    let prepare = Prepare::new(model.vocabulary.clone(), model.chat_template, config);
    let _ = shared.ready.send(prepare);
    let _ = shared.outbox.send(ToDaemon::Loaded(loaded));
    device::run(model.primitives, Brain::new(config, model.vocabulary, shared.clone()), shared)
}
