//! Tests of the state machines.

mod acquaintance;
mod delayed_answers;
mod hostile;
mod inactive;
mod inline_qos;
mod kept_back;
mod large_datagrams;
mod late_joiners;
mod met_again;
mod model;
mod overheard;
mod reader_side;
mod repair_credit;
mod separation;
mod shared_memory;
mod stateless;
pub(crate) mod support;
mod window;
mod writer_side;
