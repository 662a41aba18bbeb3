//! What to do about a worker process: spawn, handshake, load, restart, drain.
