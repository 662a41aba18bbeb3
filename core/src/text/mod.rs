//! Text out of tokens: UTF-8 assembled across tokens, stop strings that span tokens.
