//! What the fuzz targets do with their input, as plain functions: a finding is a panic. The targets only pass octets on,
//! so the seeds and every input that once failed also run as ordinary tests.
#![forbid(unsafe_code)]

mod cdr;
mod configuration;
mod cores;
mod discovery;
mod durable;
mod dynamic;
mod filter;
mod idl;
mod input;
mod live;
mod message;
mod parameters;
mod recordings;
mod routes;
pub mod seeds;
mod types;
mod xml;

pub use cdr::cdr_value;
pub use configuration::configuration;
pub use cores::endpoint_cores;
pub use discovery::discovery_data;
pub use durable::durable;
pub use dynamic::{dynamic, value_of};
pub use filter::filter;
pub use idl::{idl, idl_quickly};
pub use live::live_participant;
pub use message::wire_message;
pub use parameters::parameter_list;
pub use recordings::recordings;
pub use routes::routes;
pub use types::types;
pub use xml::xml_types;
