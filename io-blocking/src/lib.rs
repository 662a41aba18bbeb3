//! Performs core's install, probe and resolve effects with blocking calls.
