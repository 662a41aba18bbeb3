//! What the scheduler refuses, in words.

use super::config::Config;
use super::{Class, Job};
use crate::refusal::Refusal;
use alloc::format;

/// Whether a job can run at all. A continued job always can: one without room ends with `Length`.
pub(super) fn check(job: &Job, config: &Config) -> Result<(), Refusal> {
    let window = config.window();
    let prompt = job.prompt.len();
    if prompt == 0 {
        return Err(Refusal::new("invalid_prompt", "the prompt has no tokens").param("prompt"));
    }
    if job.committed as usize >= prompt {
        let message = format!(
            "the prompt has {prompt} tokens, so {} of them cannot be tokens generated before",
            job.committed
        );
        return Err(Refusal::new("invalid_prompt", message).param("prompt"));
    }
    if job.max_tokens == 0 {
        return Err(Refusal::new("invalid_max_tokens", "max_tokens is 0; at least 1 token is generated")
            .param("max_tokens"));
    }
    if job.committed == 0 && prompt >= window as usize {
        let message = format!(
            "the prompt has {prompt} tokens, but the model's context holds {window} tokens, prompt and reply \
             together"
        );
        return Err(Refusal::new("context_length_exceeded", message)
            .hint("shorten the prompt")
            .hint("serve the model with a larger --max-context")
            .param("messages"));
    }
    Ok(())
}

pub(super) fn duplicate(job: &Job) -> Refusal {
    Refusal::new("duplicate_id", format!("a job with id {} is still alive", job.id.0))
}

pub(super) fn overloaded(class: Class, waiting: usize) -> Refusal {
    let class = match class {
        Class::Interactive => "interactive",
        Class::Agent => "agent",
        Class::Background => "background",
    };
    Refusal::new("overloaded", format!("{waiting} {class} requests are waiting already"))
        .hint("try again later, or send fewer requests at once")
}

/// The engine has no room for the job although nothing else is there.
pub(super) fn no_room(tokens: usize) -> Refusal {
    let message = format!("the device has no room for this request's {tokens} tokens, even alone");
    Refusal::new("out_of_memory", message)
        .hint("shorten the prompt")
        .hint("serve the model with a smaller --max-context or --max-batch")
}
