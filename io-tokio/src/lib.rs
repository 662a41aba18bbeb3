//! The daemon: worker links and the OpenAI-compatible HTTP API over tokio.
