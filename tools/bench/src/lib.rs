//! The benchmark environment (`docs/benchmarks.md`): what the user runs, what controls the processes of a
//! measurement, and adapters that measure.
#![forbid(unsafe_code)]

mod adapter;
pub mod adapters;
pub mod cli;
pub mod compare;
pub mod hosts;
pub mod machine;
mod measure;
mod place;
mod presets;
mod process;
pub mod report;
pub mod results;
pub mod run;
pub mod scenario;
pub mod statistics;
mod usage;

pub use adapter::serve as serve_adapter;
