//! Random scenarios in the simulator, and checkers of what must hold in all of them.
//!
//! A seed gives a [`scenario::Scenario`], a plain value: nodes, writers and readers with their QoS and workloads, and
//! faults with their times. [`run::run`] lets it happen in a [`dunlin_sim::World`], ends all faults, waits until all is
//! as it should be, and compares what happened with models of the standard's semantics that know nothing of the product.
//! `docs/simulation.md` says how to use it.
#![forbid(unsafe_code)]

pub mod campaign;
pub mod check;
pub mod cli;
pub mod data;
pub mod failure;
pub mod generate;
pub mod known;
pub mod log;
pub mod minimise;
pub mod qos;
pub mod run;
pub mod scenario;
pub mod seed;
