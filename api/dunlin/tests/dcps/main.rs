//! Operations of the DCPS entities (DDS 1.4 §2.2.2), between nodes of the simulator and over loopback.

mod builtin;
mod changes;
#[path = "../common/mod.rs"]
mod common;
mod conditions;
mod creation;
mod defaults;
mod deleting;
mod enabling;
mod ending;
mod entities;
mod exchange;
mod history;
mod inconsistent;
mod limits;
mod listeners;
mod liveliness;
mod matches;
mod ownership;
mod policies;
mod propagation;
mod quotas;
mod reading;
mod stage;
mod states;
mod statuses;
mod support;
mod ties;
mod timestamps;
mod topics;
