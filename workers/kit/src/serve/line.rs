//! The line to the daemon: whoever holds it writes.
//!
//! A frame that can be written without waiting is written by the thread that has it. Waking the
//! writer for each token costs two changes of thread on cores that the model's own threads want.

use super::shared::Shared;
use crate::mailbox::Mailbox;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::PIPE_BUF;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError};
use superfluid_core::wire::{ToDaemon, encode};

/// Bytes after which the line is given what was put together.
const CHUNK: usize = 64 << 10;

pub(super) struct Line {
    end: Mutex<End>,
}

struct End {
    /// `None` once it was hung up.
    output: Option<Box<dyn Output>>,
    frames: Vec<ToDaemon>,
    bytes: Vec<u8>,
}

trait Output: Write + AsFd + Send {}
impl<T: Write + AsFd + Send> Output for T {}

impl Line {
    pub(super) fn new(output: impl Write + AsFd + Send + 'static) -> Self {
        let end = End { output: Some(Box::new(output)), frames: Vec::new(), bytes: Vec::new() };
        Self { end: Mutex::new(end) }
    }

    /// Writes all that waits, however long that takes. Whether more can come.
    pub(super) fn write_waiting(&self, outbox: &Mailbox<ToDaemon>) -> io::Result<bool> {
        // The line is held before anything is taken out, so that nobody writes in between.
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        let mut frames = std::mem::take(&mut end.frames);
        let open = outbox.take_all(&mut frames);
        for frame in frames.drain(..) {
            end.add(&frame);
            if end.bytes.len() >= CHUNK {
                end.write()?;
            }
        }
        end.frames = frames;
        end.write()?;
        Ok(open)
    }

    /// Closes the line; what is written from now on is lost.
    pub(super) fn close(&self) {
        self.end.lock().unwrap_or_else(PoisonError::into_inner).output = None;
    }

    /// Writes `frame` where nothing waits before it and the line takes it without waiting; `None`
    /// where not.
    fn write_now(&self, frame: &ToDaemon, outbox: &Mailbox<ToDaemon>) -> Option<io::Result<()>> {
        let mut end = self.end.try_lock().ok()?;
        if !outbox.is_empty() || !end.has_room() {
            return None;
        }
        end.add(frame);
        if end.bytes.len() > PIPE_BUF {
            end.bytes.clear();
            return None;
        }
        Some(end.write())
    }
}

impl End {
    fn add(&mut self, frame: &ToDaemon) {
        if let Err(error) = encode(frame, &mut self.bytes) {
            eprintln!("a frame was left out: {error}");
        }
    }

    fn write(&mut self) -> io::Result<()> {
        let written = match &mut self.output {
            Some(output) => output.write_all(&self.bytes).and_then(|()| output.flush()),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        };
        self.bytes.clear();
        written
    }

    /// Whether `PIPE_BUF` bytes can be written without waiting.
    fn has_room(&self) -> bool {
        let Some(output) = &self.output else { return false };
        let mut ends = [PollFd::from_borrowed_fd(output.as_fd(), PollFlags::OUT)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut ends, Some(&now)).is_ok() && ends[0].revents() == PollFlags::OUT
    }
}

impl Shared {
    /// Sends a frame to the daemon, in the order of its sender; waits only where the daemon reads
    /// too slowly. A daemon that is gone is noticed by all: both mailboxes are closed.
    pub(super) fn tell(&self, frame: ToDaemon) {
        match self.line.write_now(&frame, &self.outbox) {
            Some(Ok(())) => {}
            Some(Err(error)) => self.hang_up(&error),
            // Refused only once the line is gone.
            None => drop(self.outbox.send(frame)),
        }
    }

    /// Nobody is there any more: the device stops working for nobody.
    pub(super) fn hang_up(&self, error: &io::Error) {
        eprintln!("the daemon does not read any more: {error}");
        self.outbox.close();
        self.inbox.close();
    }
}
