//! Tests of the mock, and of the serve loop as the daemon meets it.

mod contract;
mod faults;
mod link;
mod serve;
mod special;
mod text;
