//! The built-in runtime that serves nothing real: scriptable, exact, for tests.
