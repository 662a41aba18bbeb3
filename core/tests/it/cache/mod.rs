//! The tree of held states against a list that is searched from end to end.

mod model;
mod random;
mod shapes;
