//! OpenAI request and response shapes, parsed and bounded, errors in its envelope.
