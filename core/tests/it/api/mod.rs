//! OpenAI requests and replies.
