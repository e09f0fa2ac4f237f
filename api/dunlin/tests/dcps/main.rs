//! Operations of the DCPS entities (DDS 1.4 §2.2.2), between nodes of the simulator and over loopback.

mod builtin;
mod changes;
#[path = "../common/mod.rs"]
mod common;
mod creation;
mod deleting;
mod ending;
mod entities;
mod inconsistent;
mod limits;
mod listeners;
mod liveliness;
mod ownership;
mod policies;
mod propagation;
mod reading;
mod statuses;
mod support;
mod timestamps;
