//! Going on with the last message: the rendering is cut where its text ends.
//!
//! The end is found by a sign put after the text: a character that nothing else has, and a blank.
//! Where a template trims the text the blank is gone, and what the text itself has at its end goes too.

use super::refusal;
use serde_json::Value as Json;
use superfluid_core::Refusal;

/// Trimmed as any white space is, and nothing that templates write.
const BLANK: char = '\u{205F}';

/// The end of the last message's text.
pub(super) struct End {
    sign: char,
    /// White space that the text ends with.
    space: String,
}

impl End {
    /// Puts `sign` after the last message's text.
    pub(super) fn mark(messages: &mut [Json], sign: char) -> Result<Self, Refusal> {
        match messages.last_mut().and_then(|message| message.get_mut("content")) {
            Some(Json::String(text)) => {
                let words = text.trim_end().len();
                let space = if words == 0 { String::new() } else { text.split_off(words) };
                text.extend([space.as_str(), sign.encode_utf8(&mut [0; 4]), BLANK.encode_utf8(&mut [0; 4])]);
                Ok(Self { sign, space })
            }
            _ => Err(refusal("the last message has no text to go on from".into())),
        }
    }

    /// What was rendered before it.
    pub(super) fn cut(&self, rendered: &str) -> Result<String, Refusal> {
        let Some((before, after)) = rendered.rsplit_once(self.sign) else {
            let message =
                "the chat template does not write the last message's text, so that it can't be gone on with";
            return Err(refusal(message.into())
                .hint("end with another message, or ask for a new turn with 'add_generation_prompt': true"));
        };
        let trimmed = !after.starts_with(BLANK);
        let before = if trimmed { before.strip_suffix(&self.space).unwrap_or(before) } else { before };
        // A template may write the text twice.
        Ok(before.replace(&format!("{}{BLANK}", self.sign), "").replace(self.sign, ""))
    }
}
