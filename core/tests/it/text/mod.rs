//! Text out of tokens.
mod cases;
mod props;
