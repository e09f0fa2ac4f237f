//! Discovery data as parameter lists: RTPS 2.5 §9.6.3 (parameters and their defaults), §10.3 (PL_CDR encapsulation),
//! and the participant message of §9.6.3.1 (writer liveliness protocol).

mod endpoint;
mod endpoint_write;
mod liveliness_message;
mod participant;
mod policies;
mod values;

pub(crate) use endpoint::{decode_endpoint_key, decode_reader, decode_writer};
pub use endpoint_write::inline_qos;
pub(crate) use endpoint_write::{encode_endpoint_key, encode_reader, encode_writer};
pub(crate) use liveliness_message::{AssertedKind, LivelinessMessage};
pub(crate) use participant::{
    decode_participant, decode_participant_key, encode_participant, encode_participant_key, goodbye_hash,
    goodbye_qos, put_locators,
};
pub(crate) use values::{DecodeError, Rules};

#[cfg(test)]
mod tests;
