//! Tests of the mock: through the serve loop, as the daemon meets it.
