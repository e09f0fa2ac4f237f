//! The protocol on a bad network, each scenario with many seeds.
//!
//! `cargo test` runs a few seeds of each, `SEEDS=1000 cargo test --release -p dunlin-sim -- --ignored` that many. A failure
//! ends with the line that repeats it.

mod common;
mod match_latency;

mod best_effort;
mod content_filter;
mod durability;
mod faults;
mod frames;
mod high_water;
mod hostile;
mod hosts;
mod instances;
mod loss;
mod matching;
mod mobility;
mod places;
mod quiet;
mod reliable;
mod servers;
mod simulator;
mod slow_readers;
mod timing;
mod writer_filter;
