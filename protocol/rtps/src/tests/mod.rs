//! Tests of the state machines.

mod contradictions;
mod delayed_answers;
mod hostile;
mod inactive;
mod inline_qos;
mod large_datagrams;
mod late_joiners;
mod match_confirmation;
mod model;
mod overheard;
mod reader_side;
mod rematch;
mod repair_credit;
mod separation;
mod shared_memory;
mod stateless;
pub(crate) mod support;
mod window;
mod withheld;
mod writer_side;
