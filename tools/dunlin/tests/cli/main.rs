//! Runs the program as people do, against what other processes publish, and looks at what it prints.

mod commands;
mod common;
mod top;
mod topics;
mod why;
