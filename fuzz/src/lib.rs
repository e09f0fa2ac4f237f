//! What the fuzz targets do with their input, as plain functions: a finding is a panic. The targets only pass octets on,
//! so the seeds and every input that once failed also run as ordinary tests.

mod idl;
mod message;
mod parameters;
pub mod seeds;

pub use idl::idl;
pub use message::wire_message;
pub use parameters::parameter_list;

#[cfg(test)]
mod tests;
