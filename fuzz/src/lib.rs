//! What the fuzz targets do with their input, as plain functions: a finding is a panic. The targets only pass octets on,
//! so the seeds and every input that once failed also run as ordinary tests.

mod filter;
mod message;
mod parameters;
pub mod seeds;

pub use filter::filter;
pub use message::wire_message;
pub use parameters::parameter_list;

#[cfg(test)]
mod tests;
