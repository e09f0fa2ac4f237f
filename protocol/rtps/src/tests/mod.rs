//! Tests of the state machines.

mod acquaintance;
mod hostile;
mod inactive;
mod inline_qos;
mod kept_back;
mod late_joiners;
mod memory;
mod met_again;
mod model;
mod reader_side;
mod separation;
mod stateless;
pub(crate) mod support;
mod wide;
mod window;
mod writer_side;
