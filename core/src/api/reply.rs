//! One request's reply: what the worker says of its jobs in, bytes for the client out.

use super::body::{
    ChatChoice, ChatChunkChoice, ChatLogprobs, ChatMessage, Delta, Stamp, TextChoice, TextLogprobs,
    UsageBody, Whole, finish_reason,
};
use super::choice::Choice;
use super::{Endpoint, ErrorReply, Request, codes, sse};
use crate::machine::{Broken, Misuse};
use crate::refusal::Refusal;
use crate::sched::{Finish, Usage};
use crate::time::{Clock, Duration, Instant};
use crate::wire::JobUpdate;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// A stream that is silent for this long gets a comment, so that nobody in between cuts the line.
pub const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// A stream starts at the latest this long after the request, accepted or not. An error after
/// that is an event in a stream of status 200.
pub const START_WITHIN: Duration = Duration::from_secs(1);

/// What the HTTP side does next, in this order: one `Head`, any number of `Bytes`, one `End`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Status and headers.
    Head {
        /// HTTP status.
        status: u16,
        /// `content-type`.
        content_type: &'static str,
        /// Seconds for `retry-after`, where there is one.
        retry_after: Option<u32>,
    },
    /// A piece of the body: all of it, or one or more whole events.
    Bytes(Vec<u8>),
    /// The body is complete; close the stream.
    End,
}

/// Why [`Reply::poll_timeout`] wants to be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// The stream starts though the worker has not accepted the job yet.
    Start,
    /// The stream has been silent for [`KEEP_ALIVE`].
    KeepAlive,
}

/// The machine that turns a worker's messages about a request's jobs into one HTTP reply. Each prompt
/// of the request is a job and makes one choice; inputs name it by its index, from 0.
///
/// Whatever comes, the reply has exactly one head and exactly one terminal: a whole body; in a
/// stream the finish chunk of the last choice, the usage chunk where asked for, and `[DONE]`; or one
/// error, whichever choice failed. A stream's head waits until every job is accepted or one says
/// something, so that what the worker refuses is still a plain error with its own status; but it
/// does not wait longer than [`START_WITHIN`].
///
/// Getters: [`is_over`](Self::is_over), [`is_started`](Self::is_started). Inputs:
/// `handle_accepted`, `handle_update`, `handle_finished`, `handle_failed`, `handle_timeout`. What it
/// wants: [`poll_output`](Self::poll_output), then [`poll_timeout`](Self::poll_timeout), whose
/// answer any input may change. Inputs after the end, of the reply or of their choice, are
/// [`Misuse::State`], and change nothing.
#[derive(Debug)]
pub struct Reply {
    endpoint: Endpoint,
    stamp: Stamp,
    stream: bool,
    include_usage: bool,
    logprobs: bool,
    started: bool,
    over: bool,
    outputs: VecDeque<Output>,
    choices: Vec<Choice>,
    /// Of the choices that ended.
    usage: Usage,
    clock: Clock,
    /// When bytes last went out, or the request came.
    last: Instant,
}

impl Reply {
    /// The reply to `request`. `unique` goes into the id (`chatcmpl-…`, `cmpl-…`); `created` are
    /// seconds since 1970.
    pub fn new(request: &Request, unique: &str, created: u64, now: Instant) -> Self {
        let prefix = match request.endpoint {
            Endpoint::Chat => "chatcmpl-",
            Endpoint::Completion => "cmpl-",
        };
        let mut clock = Clock::default();
        Self {
            endpoint: request.endpoint,
            stamp: Stamp { id: String::from(prefix) + unique, model: request.model.clone(), created },
            stream: request.stream,
            include_usage: request.include_usage,
            logprobs: request.logprobs.is_some(),
            started: false,
            over: false,
            outputs: VecDeque::new(),
            choices: (0..request.choices()).map(|_| Choice::default()).collect(),
            usage: Usage::default(),
            last: clock.advance(now),
            clock,
        }
    }

    /// Whether the terminal is out or waits in `poll_output`.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Whether the head is out or waits in `poll_output`.
    pub fn is_started(&self) -> bool {
        self.started
    }

    /// The worker took a choice's job. A successor of a worker that died says so again; that is fine.
    ///
    /// # Errors
    /// [`Misuse::State`] after the end.
    pub fn handle_accepted(&mut self, choice: usize, now: Instant) -> Result<(), Misuse> {
        self.admit(choice, now)?.accepted = true;
        if self.choices.iter().all(|choice| choice.accepted) {
            self.start_stream();
        }
        Ok(())
    }

    /// A choice's job went on.
    ///
    /// # Errors
    /// [`Misuse::State`] after the end.
    pub fn handle_update(&mut self, choice: usize, update: &JobUpdate, now: Instant) -> Result<(), Misuse> {
        let (logprobs, stream, endpoint) = (self.logprobs, self.stream, self.endpoint);
        let part = self.admit(choice, now)?;
        if logprobs {
            part.score(endpoint, &update.logprobs);
        }
        if !stream {
            part.text.push_str(&update.text);
            return Ok(());
        }
        self.start_stream();
        if !update.text.is_empty() || logprobs && !update.logprobs.is_empty() {
            self.content_chunk(choice, &update.text);
        }
        Ok(())
    }

    /// A choice's job ended well. A cancelled one is an error for whoever still listens.
    ///
    /// # Errors
    /// [`Misuse::State`] after the end.
    pub fn handle_finished(
        &mut self,
        choice: usize,
        finish: Finish,
        usage: Usage,
        now: Instant,
    ) -> Result<(), Misuse> {
        if finish == Finish::Cancelled {
            let refusal = Refusal::new(codes::CANCELLED, "the request was given up");
            return self.handle_failed(choice, &refusal, now);
        }
        let reason = finish_reason(finish);
        self.admit(choice, now)?.finish = Some(reason);
        self.usage = Usage {
            prompt: self.usage.prompt.saturating_add(usage.prompt),
            cached: self.usage.cached.saturating_add(usage.cached),
            completion: self.usage.completion.saturating_add(usage.completion),
        };
        if self.stream {
            self.start_stream();
            self.finish_chunk(choice, reason);
        }
        if self.choices.iter().any(|choice| choice.finish.is_none()) {
            return Ok(());
        }
        if self.stream {
            if self.include_usage {
                self.usage_chunk(self.usage.into());
            }
            self.write(sse::DONE.to_vec());
        } else {
            self.start(200, JSON, None);
            let body = self.whole_body();
            self.write(body);
        }
        self.end();
        Ok(())
    }

    /// A choice's job was refused or failed for good, and with it the whole reply. Before the head
    /// this is a plain error with its own status, in a stream one error event; the text so far of a
    /// whole reply is not given.
    ///
    /// # Errors
    /// [`Misuse::State`] after the end.
    pub fn handle_failed(&mut self, choice: usize, refusal: &Refusal, now: Instant) -> Result<(), Misuse> {
        self.admit(choice, now)?;
        let mut error = ErrorReply::new(refusal);
        if self.choices.len() > 1 && error.status == 400 {
            error.message = format!("prompt[{choice}]: {}", error.message);
        }
        if self.started {
            self.write(sse::event(&error.body()));
        } else {
            self.start(error.status, JSON, error.retry_after);
            self.write(error.body());
        }
        self.end();
        Ok(())
    }

    /// Time passed.
    ///
    /// # Errors
    /// [`Misuse::State`] after the end.
    pub fn handle_timeout(&mut self, now: Instant) -> Result<(), Misuse> {
        if self.over {
            return Err(OVER);
        }
        let now = self.clock.advance(now);
        match self.poll_timeout() {
            Some((at, Wake::Start)) if now >= at => self.start_stream(),
            Some((at, Wake::KeepAlive)) if now >= at => self.write(sse::KEEP_ALIVE.to_vec()),
            _ => {}
        }
        Ok(())
    }

    /// What to do next; `None` until another input comes.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When to call [`handle_timeout`](Self::handle_timeout), and why.
    pub fn poll_timeout(&self) -> Option<(Instant, Wake)> {
        if !self.stream || self.over {
            return None;
        }
        Some(if self.started {
            (self.last + KEEP_ALIVE, Wake::KeepAlive)
        } else {
            (self.last + START_WITHIN, Wake::Start)
        })
    }

    /// Checks what must always hold.
    ///
    /// # Errors
    /// [`Broken`], naming it; always a bug here.
    pub fn check_invariants(&self) -> Result<(), Broken> {
        let broken = |what: &str| Err(Broken(String::from(what)));
        if self.over && !self.started {
            return broken("the reply is over and has no head");
        }
        if !self.started && !self.outputs.is_empty() {
            return broken("there is output before the head");
        }
        if self.stream && self.choices.iter().any(|choice| !choice.text.is_empty()) {
            return broken("a stream keeps text");
        }
        if self.started && !self.stream && !self.over {
            return broken("a whole reply has a head and no body");
        }
        if !self.over && self.choices.iter().all(|choice| choice.finish.is_some()) {
            return broken("every choice has ended and the reply has not");
        }
        Ok(())
    }

    /// The choice an input is about, if it may still have any.
    fn admit(&mut self, choice: usize, now: Instant) -> Result<&mut Choice, Misuse> {
        if self.over {
            return Err(OVER);
        }
        let choice = self.choices.get_mut(choice).filter(|choice| choice.finish.is_none());
        let choice = choice.ok_or(Misuse::State("the choice is over, or there is none of this index"))?;
        self.clock.advance(now);
        Ok(choice)
    }

    fn write(&mut self, bytes: Vec<u8>) {
        self.last = self.clock.now();
        self.outputs.push_back(Output::Bytes(bytes));
    }

    fn end(&mut self) {
        self.over = true;
        self.outputs.push_back(Output::End);
    }

    fn start(&mut self, status: u16, content_type: &'static str, retry_after: Option<u32>) {
        self.started = true;
        self.outputs.push_back(Output::Head { status, content_type, retry_after });
    }

    fn start_stream(&mut self) {
        if self.started || !self.stream {
            return;
        }
        self.start(200, "text/event-stream; charset=utf-8", None);
        self.last = self.clock.now();
        if self.endpoint == Endpoint::Chat {
            self.chat_chunk(Delta { role: Some("assistant"), content: Some("") }, None, None);
        }
    }

    /// The `usage` key of chunks that are not the usage chunk.
    fn no_usage(&self) -> Option<Option<UsageBody>> {
        self.include_usage.then_some(None)
    }

    fn content_chunk(&mut self, choice: usize, text: &str) {
        let part = &mut self.choices[choice];
        match self.endpoint {
            Endpoint::Chat => {
                let logprobs = core::mem::take(&mut part.chat_logprobs);
                let logprobs = self.logprobs.then_some(&logprobs);
                self.chat_chunk(Delta { role: None, content: Some(text) }, logprobs, None);
            }
            Endpoint::Completion => {
                let logprobs = core::mem::take(&mut part.text_logprobs);
                let logprobs = self.logprobs.then_some(&logprobs);
                self.text_chunk(choice, text, logprobs, None);
            }
        }
    }

    fn finish_chunk(&mut self, choice: usize, reason: &'static str) {
        match self.endpoint {
            Endpoint::Chat => self.chat_chunk(Delta::default(), None, Some(reason)),
            Endpoint::Completion => self.text_chunk(choice, "", None, Some(reason)),
        }
    }

    fn usage_chunk(&mut self, usage: UsageBody) {
        let object = match self.endpoint {
            Endpoint::Chat => CHAT_CHUNK,
            Endpoint::Completion => TEXT,
        };
        let none: [ChatChunkChoice<'_>; 0] = [];
        let json = Whole::bytes(&self.stamp, object, &none, Some(Some(usage)));
        self.write(sse::event(&json));
    }

    fn chat_chunk(
        &mut self,
        delta: Delta<'_>,
        logprobs: Option<&ChatLogprobs>,
        finish_reason: Option<&'static str>,
    ) {
        // A chat has one choice.
        let choices = [ChatChunkChoice { index: 0, delta, logprobs, finish_reason }];
        let json = Whole::bytes(&self.stamp, CHAT_CHUNK, &choices, self.no_usage());
        self.write(sse::event(&json));
    }

    fn text_chunk(
        &mut self,
        choice: usize,
        text: &str,
        logprobs: Option<&TextLogprobs>,
        finish_reason: Option<&'static str>,
    ) {
        let choices = [TextChoice { index: choice, text, logprobs, finish_reason }];
        let json = Whole::bytes(&self.stamp, TEXT, &choices, self.no_usage());
        self.write(sse::event(&json));
    }

    fn whole_body(&self) -> Vec<u8> {
        let usage = Some(Some(self.usage.into()));
        let parts = self.choices.iter().enumerate();
        match self.endpoint {
            Endpoint::Chat => {
                let choices = parts.map(|(index, part)| ChatChoice {
                    index,
                    message: ChatMessage { role: "assistant", content: &part.text, refusal: None },
                    logprobs: self.logprobs.then_some(&part.chat_logprobs),
                    finish_reason: part.finish,
                });
                Whole::bytes(&self.stamp, "chat.completion", &choices.collect::<Vec<_>>(), usage)
            }
            Endpoint::Completion => {
                let choices = parts.map(|(index, part)| TextChoice {
                    index,
                    text: &part.text,
                    logprobs: self.logprobs.then_some(&part.text_logprobs),
                    finish_reason: part.finish,
                });
                Whole::bytes(&self.stamp, TEXT, &choices.collect::<Vec<_>>(), usage)
            }
        }
    }
}

const OVER: Misuse = Misuse::State("the reply is over");
const JSON: &str = "application/json";
const CHAT_CHUNK: &str = "chat.completion.chunk";
const TEXT: &str = "text_completion";
