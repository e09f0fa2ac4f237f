//! RTPS 2.5 §8.3.4 "The RTPS Message Receiver": what the submessages of one message say about those after them.

use dunlin_core::{Duration, EntityId, Guid, GuidPrefix, Locator, ProtocolVersion, VendorId, WallTime};

use crate::{Header, InfoReply, InfoReplyIp4, InfoSrc, Submessage};

/// How many reply locators of each list are kept; more are ignored.
const MAX_REPLY_LOCATORS: usize = 4;

/// Reply locators taken from a message, at most four.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReplyLocators {
    locators: [Locator; MAX_REPLY_LOCATORS],
    len: usize,
}

impl ReplyLocators {
    fn collect(locators: impl Iterator<Item = Locator>) -> Self {
        let mut list = Self::default();
        for (slot, locator) in list.locators.iter_mut().zip(locators) {
            *slot = locator;
            list.len = list.len.saturating_add(1);
        }
        list
    }

    /// The locators.
    pub fn as_slice(&self) -> &[Locator] {
        self.locators.get(..self.len).unwrap_or(&self.locators)
    }
}

/// State of a receiver while it walks one message.
///
/// Reply locators are empty until a message names some: then the sender's address is the one to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiverState {
    /// Participant that receives.
    pub own_prefix: GuidPrefix,
    /// Participant from which the following submessages originate.
    pub source_prefix: GuidPrefix,
    /// Protocol version of the source.
    pub source_version: ProtocolVersion,
    /// Vendor of the source.
    pub source_vendor: VendorId,
    /// Participant to which the following submessages go.
    pub dest_prefix: GuidPrefix,
    /// An INFO_DST has named this participant; without one, what follows may be for any that gets the message.
    pub directed: bool,
    /// Source timestamp of the following changes.
    pub timestamp: Option<WallTime>,
    /// Where unicast replies should go.
    pub unicast_reply: ReplyLocators,
    /// Where multicast replies should go.
    pub multicast_reply: ReplyLocators,
    /// When the message was sent, by the sender's clock.
    pub send_timestamp: Option<WallTime>,
}

impl ReceiverState {
    /// State after the header of a message.
    pub fn new(own_prefix: GuidPrefix, header: &Header) -> Self {
        Self {
            own_prefix,
            source_prefix: header.guid_prefix,
            source_version: header.version,
            source_vendor: header.vendor_id,
            dest_prefix: own_prefix,
            directed: false,
            timestamp: None,
            unicast_reply: ReplyLocators::default(),
            multicast_reply: ReplyLocators::default(),
            send_timestamp: None,
        }
    }

    /// Takes up what a submessage says about those after it; entity submessages change nothing.
    pub fn apply(&mut self, submessage: &Submessage<'_>) {
        match submessage {
            Submessage::HeaderExtension(extension) => self.send_timestamp = extension.send_timestamp,
            Submessage::InfoTs(timestamp) => self.timestamp = *timestamp,
            Submessage::InfoSrc(source) => self.info_src(source),
            Submessage::InfoDst(prefix) => {
                self.directed = *prefix == self.own_prefix && *prefix != GuidPrefix::UNKNOWN;
                self.dest_prefix = if *prefix == GuidPrefix::UNKNOWN { self.own_prefix } else { *prefix };
            }
            Submessage::InfoReply(reply) => self.info_reply(reply),
            Submessage::InfoReplyIp4(reply) => self.info_reply_ip4(reply),
            _ => {}
        }
    }

    fn info_src(&mut self, source: &InfoSrc) {
        self.source_prefix = source.guid_prefix;
        self.source_version = source.version;
        self.source_vendor = source.vendor_id;
        self.unicast_reply = ReplyLocators::default();
        self.multicast_reply = ReplyLocators::default();
        self.timestamp = None;
    }

    fn info_reply(&mut self, reply: &InfoReply<'_>) {
        self.unicast_reply = ReplyLocators::collect(reply.unicast.iter());
        self.multicast_reply =
            reply.multicast.map_or_else(ReplyLocators::default, |list| ReplyLocators::collect(list.iter()));
    }

    fn info_reply_ip4(&mut self, reply: &InfoReplyIp4) {
        let valid = |locator: &Locator| *locator != Locator::INVALID;
        self.unicast_reply = ReplyLocators::collect(Some(reply.unicast).filter(valid).into_iter());
        self.multicast_reply = ReplyLocators::collect(reply.multicast.filter(valid).into_iter());
    }

    /// Whether the following submessages go to this participant.
    pub fn is_destination(&self) -> bool {
        self.dest_prefix == self.own_prefix
    }

    /// An entity of the source participant: the writer of DATA, HEARTBEAT and GAP, the reader of ACKNACK and NACK_FRAG.
    pub const fn source(&self, entity_id: EntityId) -> Guid {
        Guid::new(self.source_prefix, entity_id)
    }

    /// An entity of the destination participant.
    pub const fn destination(&self, entity_id: EntityId) -> Guid {
        Guid::new(self.dest_prefix, entity_id)
    }

    /// How much later than its send timestamp the message arrived, by two clocks that may differ; `None` without send
    /// timestamp. A receiver that has detected clock skew adds it to source timestamps (§8.3.7.4).
    pub fn clock_offset(&self, reception: WallTime) -> Option<Duration> {
        self.send_timestamp.map(|sent| reception.since(sent))
    }
}

#[cfg(test)]
mod tests;
