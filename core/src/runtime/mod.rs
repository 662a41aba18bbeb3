//! Which runtime serves a model, and where its worker is.
