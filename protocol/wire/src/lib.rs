//! RTPS 2.5 §8.3 and §9.4: messages, submessages and parameter lists as checked views over received octets, and
//! builders that write them into an outbox.
//!
//! Reading: [`Message::parse`] checks the header, [`Message::submessages`] walks the rest and yields each submessage as
//! a value whose fields already satisfy the validity rules of §8.3.8. A malformed submessage ends the walk; one that is
//! well formed but not understood is yielded as such and skipped. Nothing is copied except numbers.
//!
//! Writing: [`MessageBuilder`] appends submessages to a datagram; payloads are shared, not copied.
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(unreachable_pub))]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::panic
    )
)]

extern crate alloc;

pub mod checksum;
pub mod params;

mod builder;
mod cursor;
mod encoder;
mod endianness;
mod error;
mod group_digest;
mod header;
mod message;
mod receiver;
mod run;
mod submessage;
#[cfg(test)]
mod testing;

pub use builder::{
    DataFragSpec, DataSpec, HeaderExtensionSpec, MessageBuilder, PayloadSpec, join_directed, size,
};
pub use endianness::Endianness;
pub use error::{Malformation, WireError};
pub use group_digest::GroupDigest;
pub use header::Header;
pub use message::{Message, Parsed, Place, Submessages};
pub use params::pid;
pub use params::{
    InlineQosBuffer, OriginalWriterInfo, ParamReader, ParamWriter, Parameter, ParameterList,
    ParameterListBuilder, Parameters, inline_qos_for_status, key_hash, status_info,
};
pub use receiver::{ReceiverState, ReplyLocators};
pub use run::{LoneFragments, PlainData};
pub use submessage::{
    AckNack, CryptoFooter, CryptoHeader, Data, DataFrag, Echo, EchoRequest, Gap, GapGroup, GroupDigests,
    HeaderExtension, Heartbeat, HeartbeatFrag, HeartbeatGroup, InfoReply, InfoReplyIp4, InfoSrc, LocatorList,
    NackFrag, NotUnderstood, Payload, ReceiverMac, SecurityKind, SecuritySubmessage, Submessage, kind,
};
