//! Frames off the wire: answered here, or prepared and handed to the device.

use super::prepare::{self, Prepare};
use super::shared::{COMMAND, Shared, ToDevice};
use crate::mailbox::Refused;
use std::io::{ErrorKind, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};
use superfluid_core::Refusal;
use superfluid_core::sched::JobId;
use superfluid_core::wire::{Decoder, PROTOCOL, Submit, ToDaemon, ToWorker};

/// Bytes asked of the wire at once.
const CHUNK: usize = 64 << 10;

pub(super) struct Reader {
    shared: Arc<Shared>,
    prepare: Option<Prepare>,
    greeted: bool,
    loading: bool,
    draining: bool,
}

/// Closes the inbox when the reader ends, by a panic too: the worker must not live on deaf.
struct Closing(Arc<Shared>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.inbox.close();
    }
}

impl Reader {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, prepare: None, greeted: false, loading: false, draining: false }
    }

    /// Reads until the link ends or breaks.
    pub(super) fn run(mut self, mut input: impl Read, linger: Option<Duration>) {
        let shared = self.shared.clone();
        let closing = Closing(shared.clone());
        if let Err(refusal) = self.read(&mut input) {
            let _ = shared.inbox.push(ToDevice::Broken(refusal), COMMAND);
        }
        drop(closing);
        if let Some(linger) = linger {
            exit_after(&shared, linger);
        }
    }

    fn read(&mut self, input: &mut impl Read) -> Result<(), Refusal> {
        let mut decoder = Decoder::new();
        let mut chunk = vec![0; CHUNK];
        loop {
            let came = match input.read(&mut chunk) {
                Ok(came) => came,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(broken(format!("standard input cannot be read: {error}"))),
            };
            if came == 0 {
                // A daemon that died in the middle of a frame is gone like any other.
                return Ok(());
            }
            decoder.handle_bytes(&chunk[..came]);
            while let Some(frame) = decoder.poll_frame() {
                self.frame(frame.map_err(|error| broken(error.to_string()))?)?;
            }
        }
    }

    fn frame(&mut self, frame: ToWorker) -> Result<(), Refusal> {
        if let ToWorker::Hello { protocol } = frame {
            if protocol != PROTOCOL {
                return Err(Refusal::new(
                    "wrong_protocol",
                    format!("the daemon speaks protocol {protocol}, this worker speaks {PROTOCOL}"),
                )
                .hint("run `superfluid runtime repair <id>`, which installs a worker that fits the daemon"));
            }
            self.greeted = true;
            return Ok(());
        }
        if !self.greeted {
            return Err(broken("the daemon's first frame is no hello".into()));
        }
        match frame {
            ToWorker::Hello { .. } => {}
            ToWorker::Load(_) if self.loading => return Err(broken("a second load".into())),
            ToWorker::Load(spec) => {
                self.loading = true;
                self.command(ToDevice::Load(spec));
            }
            ToWorker::Submit(submit) => self.submit(submit),
            ToWorker::Cancel { id } => self.command(ToDevice::Cancel(id)),
            ToWorker::Pause { id } => self.command(ToDevice::Pause(id, true)),
            ToWorker::Resume { id } => self.command(ToDevice::Pause(id, false)),
            ToWorker::Ping { n } => self.answer(ToDaemon::Pong { n, stats: self.shared.gauges.get() }),
            ToWorker::Drain => {
                self.draining = true;
                self.command(ToDevice::Drain);
            }
        }
        Ok(())
    }

    fn submit(&mut self, submit: Submit) {
        let id = submit.id;
        if self.draining {
            let refusal = Refusal::new("shutting_down", "the model's worker takes no new requests");
            return self.refuse(id, refusal.hint("try again"));
        }
        if self.prepare.is_none() {
            let mut ready = Vec::new();
            self.shared.ready.take_all(&mut ready);
            self.prepare = ready.pop();
        }
        let Some(prepare) = &self.prepare else {
            return self
                .refuse(id, Refusal::new("model_loading", "the model is not loaded yet").hint("try again"));
        };
        let watched = &self.shared.preparing;
        let bytes = prepare::size(&submit.input);
        let _ = watched.push(bytes, COMMAND);
        // One request's input must not take the others down, whatever it hits in a library.
        let prepared = catch_unwind(AssertUnwindSafe(|| prepare.prepare(submit))).unwrap_or_else(|_| {
            Err(Refusal::new(
                "internal_error",
                "the request could not be prepared; the worker's log tells more",
            ))
        });
        let _ = watched.push(bytes, COMMAND);
        match prepared {
            Ok(prepared) => {
                let prompt_tokens = prepared.prompt_tokens();
                self.answer(ToDaemon::Accepted { id, prompt_tokens });
                match self.shared.inbox.offer(ToDevice::Submit(Box::new(prepared)), COMMAND) {
                    Ok(()) | Err(Refused::Closed(_)) => {}
                    Err(Refused::Full(_)) => self.refuse(
                        id,
                        Refusal::new("overloaded", "too many requests wait for the device")
                            .hint("try again later"),
                    ),
                }
            }
            Err(refusal) => self.refuse(id, refusal),
        }
    }

    fn refuse(&self, id: JobId, refusal: Refusal) {
        self.answer(ToDaemon::Failed { id, refusal });
    }

    /// At most one answer a frame, so what waits is bounded by what the daemon itself sent; and the
    /// reader must never wait, or it would not see the link end.
    fn answer(&self, frame: ToDaemon) {
        let _ = self.shared.outbox.push(frame, 0);
    }

    fn command(&self, command: ToDevice) {
        let _ = self.shared.inbox.push(command, COMMAND);
    }
}

fn broken(message: String) -> Refusal {
    Refusal::new("broken_link", message)
}

/// Ends the process unless the worker ends in time.
fn exit_after(shared: &Shared, linger: Duration) {
    let deadline = Instant::now() + linger;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if shared.done.alerts() != 0 {
            return;
        }
        if left.is_zero() {
            eprintln!("the daemon is gone and the runtime does not come back: the worker exits");
            std::process::exit(0);
        }
        shared.done.wait(Some(left));
    }
}
