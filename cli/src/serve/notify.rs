//! What a service manager is told, where one listens (`Type=notify`). A thread tells it: a manager
//! that does not read must not stop the daemon, and misses what does not fit in the queue or is not taken
//! soon after the end.

use sd_notify::NotifyState;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::time::Duration;
use tokio::time::{Interval, MissedTickBehavior, interval};

/// Variables that are between this process and its service manager.
pub(super) const VARIABLES: [&str; 3] = ["NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC"];
/// Messages that wait for the manager.
const WAITING: usize = 256;
/// How long the end of the daemon waits for a manager that is slow to read.
const LAST: Duration = Duration::from_secs(5);

enum Message {
    Ready(String),
    Status(String),
    Stopping,
    Alive,
}

/// The service manager, where there is one.
pub(super) struct Manager {
    messages: Option<SyncSender<Message>>,
    /// Closed once everything was told.
    told: Receiver<()>,
    beat: Option<Interval>,
}

impl Manager {
    pub(super) fn new() -> Self {
        let (telling, told) = channel();
        if std::env::var_os(VARIABLES[0]).is_none() {
            return Self { messages: None, told, beat: None };
        }
        let (messages, waiting) = sync_channel(WAITING);
        std::thread::spawn(move || {
            tell(&waiting);
            drop(telling);
        });
        let every = sd_notify::watchdog_enabled().map(|every| (every / 2).max(Duration::from_millis(1)));
        let beat = every.map(|every| {
            let mut beat = interval(every);
            beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
            beat
        });
        Self { messages: Some(messages), told, beat }
    }

    /// The model is loaded: what depends on this service may start.
    pub(super) fn ready(&self, what: &str) {
        self.send(Message::Ready(format!("serving {what}")));
    }

    /// What it is doing meanwhile.
    pub(super) fn status(&self, what: String) {
        self.send(Message::Status(what));
    }

    /// It finishes what runs and ends.
    pub(super) fn stopping(&self) {
        self.send(Message::Stopping);
    }

    /// The loop runs.
    pub(super) fn alive(&self) {
        self.send(Message::Alive);
    }

    /// When to say so: twice as often as is asked for, or never.
    pub(super) async fn beat(&mut self) {
        match &mut self.beat {
            Some(beat) => {
                beat.tick().await;
            }
            None => std::future::pending().await,
        }
    }

    /// What waits is told, or nobody takes it.
    pub(super) fn close(mut self) {
        self.messages = None;
        // Nothing is ever sent: the thread's end is what is waited for.
        let _ = self.told.recv_timeout(LAST);
    }

    fn send(&self, message: Message) {
        if let Some(messages) = &self.messages {
            let _ = messages.try_send(message);
        }
    }
}

fn tell(waiting: &Receiver<Message>) {
    for message in waiting {
        let told = match &message {
            Message::Ready(what) => sd_notify::notify(&[NotifyState::Ready, NotifyState::Status(what)]),
            Message::Status(what) => sd_notify::notify(&[NotifyState::Status(what)]),
            Message::Stopping => sd_notify::notify(&[NotifyState::Stopping]),
            Message::Alive => sd_notify::notify(&[NotifyState::Watchdog]),
        };
        if let Err(error) = told {
            tracing::debug!(%error, "the service manager was not told");
        }
    }
}
