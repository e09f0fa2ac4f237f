//! Whole systems in the simulator, through the public API alone.

mod batching;
mod beginnings;
mod durability_service;
mod enabling;
mod faults;
mod filters;
mod multi_topic;
mod policies;
mod policy_tables;
mod presentation;
mod profiles;
mod repeat;
mod representation;
mod request_reply;
mod separation;
mod statistics;
mod support;
mod tasks;
mod threads;
mod try_construct;
mod types;
mod under_loss;
mod urgency;
mod views;
mod write_params;
