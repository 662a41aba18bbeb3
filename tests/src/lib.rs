//! What the tests of superfluid share.
