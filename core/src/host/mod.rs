//! What machine this is: facts parsed from what probes returned.
