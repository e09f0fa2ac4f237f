//! Text to syntax tree: tokens, literals, grammar.

pub(crate) mod ast;
pub(crate) mod lexer;
pub(crate) mod literal;
pub(crate) mod parser;
pub(crate) mod token;
