//! RTPS 2.5 §8.3.8 "RTPS Submessages" and §9.4.5.1.1 "submessageId": which submessages there are.

mod acknack;
mod data;
mod data_frag;
mod echo;
mod gap;
mod header_extension;
mod heartbeat;
mod heartbeat_frag;
mod info_dst;
mod info_reply;
mod info_reply_ip4;
mod info_src;
mod info_ts;
mod inline_qos;
pub mod kind;
mod nack_frag;
mod security;

pub use acknack::AckNack;
pub(crate) use data::flag as data_flag;
pub use data::{Data, Payload};
pub use data_frag::DataFrag;
pub(crate) use data_frag::flag as data_frag_flag;
use dunlin_core::{EntityId, GuidPrefix, WallTime};
pub use echo::{Echo, EchoRequest};
pub use gap::{Gap, GapGroup};
pub use header_extension::HeaderExtension;
pub(crate) use header_extension::{checksum_flags, flag as he_flag};
pub use heartbeat::{GroupDigests, Heartbeat, HeartbeatGroup};
pub use heartbeat_frag::HeartbeatFrag;
pub(crate) use info_dst::InfoDst;
pub(crate) use info_reply::FLAG_MULTICAST;
pub use info_reply::{InfoReply, LocatorList};
pub use info_reply_ip4::InfoReplyIp4;
pub(crate) use info_reply_ip4::Ipv4Fields;
pub use info_src::InfoSrc;
pub(crate) use info_ts::InfoTs;
pub use nack_frag::NackFrag;
pub use security::{CryptoFooter, CryptoHeader, ReceiverMac, SecurityKind, SecuritySubmessage};

use crate::cursor::Cursor;
use crate::encoder::{Encoder, Sink};
use crate::{Endianness, Malformation};

/// One submessage whose fields satisfy its validity rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Submessage<'a> {
    /// Header extension, §8.3.7.
    HeaderExtension(HeaderExtension<'a>),
    /// Padding, §8.3.8.13.
    Pad,
    /// A reader's acknowledgements and requests, §8.3.8.1.
    AckNack(AckNack),
    /// What a writer has, §8.3.8.6.
    Heartbeat(Heartbeat),
    /// What a writer will not send, §8.3.8.4.
    Gap(Gap),
    /// Source timestamp of what follows, §8.3.8.11; `None` when there is none.
    InfoTs(Option<WallTime>),
    /// Source of what follows, §8.3.8.10.
    InfoSrc(InfoSrc),
    /// Destination of what follows, §8.3.8.8; [`GuidPrefix::UNKNOWN`] is everybody.
    InfoDst(GuidPrefix),
    /// Where to reply, §8.3.8.9.
    InfoReply(InfoReply<'a>),
    /// Where to reply over IPv4, §9.4.5.
    InfoReplyIp4(InfoReplyIp4),
    /// A reader's request for fragments, §8.3.8.12.
    NackFrag(NackFrag),
    /// Which fragments a writer has, §8.3.8.7.
    HeartbeatFrag(HeartbeatFrag),
    /// A change, §8.3.8.2.
    Data(Data<'a>),
    /// Part of a change, §8.3.8.3.
    DataFrag(DataFrag<'a>),
    /// A writer's question that its readers answer at once; Dunlin's own.
    EchoRequest(EchoRequest),
    /// The answer to it; Dunlin's own.
    Echo(Echo),
    /// An element of DDS Security.
    Security(SecuritySubmessage<'a>),
    /// An id that is reserved, deprecated or another vendor's.
    Unknown,
    /// A known submessage that has to be skipped.
    NotUnderstood(NotUnderstood),
}

/// Why a submessage that is not malformed is skipped alone (§8.3.4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotUnderstood {
    /// The entity id is not of the kind that takes part in such a submessage.
    EntityKind(EntityId),
    /// An inline QoS parameter that has to be understood is unknown.
    Parameter(u16),
}

/// Why reading the body of a submessage ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reject {
    Malformed(Malformation),
    NotUnderstood(NotUnderstood),
}

impl From<Malformation> for Reject {
    fn from(reason: Malformation) -> Self {
        Self::Malformed(reason)
    }
}

/// A submessage whose layout has no variable part beyond number sets.
pub(crate) trait FixedSubmessage {
    const KIND: u8;

    /// Flags other than E.
    fn flags(&self) -> u8;

    fn encode<S: Sink>(&self, out: &mut Encoder<'_, S>);
}

/// Reads the body of a submessage of `kind`.
pub(crate) fn parse(kind: u8, flags: u8, body: &[u8]) -> Result<Submessage<'_>, Reject> {
    let mut cursor = Cursor::new(body, Endianness::from_flags(flags));
    let cursor = &mut cursor;
    Ok(match kind {
        kind::HEADER_EXTENSION => Submessage::HeaderExtension(HeaderExtension::parse(flags, body)?),
        kind::PAD => Submessage::Pad,
        kind::ACKNACK => Submessage::AckNack(AckNack::parse(flags, cursor)?),
        kind::HEARTBEAT => Submessage::Heartbeat(Heartbeat::parse(flags, cursor)?),
        kind::GAP => Submessage::Gap(Gap::parse(flags, cursor)?),
        kind::INFO_TS => Submessage::InfoTs(info_ts::parse(flags, cursor)?),
        kind::INFO_SRC => Submessage::InfoSrc(InfoSrc::parse(cursor)?),
        kind::INFO_DST => Submessage::InfoDst(info_dst::parse(cursor)?),
        kind::INFO_REPLY => Submessage::InfoReply(InfoReply::parse(flags, cursor)?),
        kind::INFO_REPLY_IP4 => Submessage::InfoReplyIp4(InfoReplyIp4::parse(flags, cursor)?),
        kind::NACK_FRAG => Submessage::NackFrag(NackFrag::parse(cursor)?),
        kind::HEARTBEAT_FRAG => Submessage::HeartbeatFrag(HeartbeatFrag::parse(cursor)?),
        kind::DATA => Submessage::Data(Data::parse(flags, body)?),
        kind::DATA_FRAG => Submessage::DataFrag(DataFrag::parse(flags, body)?),
        kind::SEC_BODY..=kind::SRTPS_POSTFIX => {
            SecuritySubmessage::parse(kind, flags, body)?.map_or(Submessage::Unknown, Submessage::Security)
        }
        // To another vendor the same ids mean something else.
        kind::ECHO_REQUEST => EchoRequest::parse(cursor).map_or(Submessage::Unknown, Submessage::EchoRequest),
        kind::ECHO => Echo::parse(cursor).map_or(Submessage::Unknown, Submessage::Echo),
        _ => Submessage::Unknown,
    })
}

/// Reads reader id and writer id of a submessage that goes from a writer to readers: the reader may be left open.
fn writer_to_reader(cursor: &mut Cursor<'_>) -> Result<(EntityId, EntityId), Reject> {
    let (reader, writer) = (cursor.entity_id()?, cursor.entity_id()?);
    if reader != EntityId::UNKNOWN && !reader.is_reader() {
        return Err(Reject::NotUnderstood(NotUnderstood::EntityKind(reader)));
    }
    if !writer.is_writer() {
        return Err(Reject::NotUnderstood(NotUnderstood::EntityKind(writer)));
    }
    Ok((reader, writer))
}

/// Reads reader id and writer id of a submessage that goes from a reader to a writer: both must be named.
fn reader_to_writer(cursor: &mut Cursor<'_>) -> Result<(EntityId, EntityId), Reject> {
    let (reader, writer) = (cursor.entity_id()?, cursor.entity_id()?);
    match (reader.is_reader(), writer.is_writer()) {
        (false, _) => Err(Reject::NotUnderstood(NotUnderstood::EntityKind(reader))),
        (_, false) => Err(Reject::NotUnderstood(NotUnderstood::EntityKind(writer))),
        _ => Ok((reader, writer)),
    }
}
