//! Runs the program as people do, against what other processes publish, and looks at what it prints.

mod agreement;
mod commands;
mod common;
mod doctor;
mod idl;
mod json;
mod listing;
mod manners;
mod ros;
mod statistics;
mod top;
mod topics;
mod types;
mod why;
mod xml;
