//! RTPS 2.5 §8.3.2 "The Overall Structure of an RTPS Message" and §9.4: writing messages into an outbox.

mod data;
mod header_extension;
mod join;
pub mod size;

pub use data::{DataFragSpec, DataSpec, PayloadSpec};
use dunlin_buf::Outbox;
use dunlin_core::{GuidPrefix, Locator, WallTime};
pub use header_extension::HeaderExtensionSpec;
use header_extension::Pending;
pub use join::join_directed;

use crate::encoder::{Block, Encoder, Sink};
use crate::submessage::{FLAG_MULTICAST, FixedSubmessage, InfoDst, InfoTs, Ipv4Fields, kind};
use crate::{
    AckNack, Echo, EchoRequest, Endianness, Gap, Header, Heartbeat, HeartbeatFrag, InfoReplyIp4, InfoSrc,
    NackFrag, SecuritySubmessage,
};

/// Writes one message into an outbox.
///
/// Headers are copied, payloads shared; in steady state nothing is allocated. Every method that adds a submessage
/// returns whether it did: it refuses after a submessage of more than 65 535 bytes, which has to be the last of its
/// message (§9.4.5.1.3), and where its own documentation says so. A builder that is dropped leaves no datagram.
#[derive(Debug)]
pub struct MessageBuilder<'o> {
    out: &'o mut Outbox,
    endianness: Endianness,
    /// Payloads are marked as something else than plain serializations.
    non_standard_payload: bool,
    /// The payload of a DATA ends the message.
    payload_ends: bool,
    /// The last submessage reaches to the end of the message.
    sealed: bool,
    /// What a header extension needs when the message is complete.
    pending: Option<Pending>,
}

impl<'o> MessageBuilder<'o> {
    /// Begins a message of this participant with the header of this implementation, little-endian.
    pub fn new(out: &'o mut Outbox, source: GuidPrefix) -> Self {
        Self::with_header(out, Header::of(source))
    }

    /// Begins a message with any header, little-endian.
    pub fn with_header(out: &'o mut Outbox, header: Header) -> Self {
        out.begin();
        out.put(&header.to_bytes());
        Self {
            out,
            endianness: Endianness::Little,
            non_standard_payload: false,
            payload_ends: false,
            sealed: false,
            pending: None,
        }
    }

    /// The same message with its next submessages in this byte order.
    #[must_use]
    pub fn with_endianness(mut self, endianness: Endianness) -> Self {
        self.endianness = endianness;
        self
    }

    /// Marks the payloads of the DATA and DATA_FRAG that follow as no plain serializations (flag N), as payload
    /// protection of DDS Security asks for.
    pub fn non_standard_payload(&mut self, marked: bool) {
        self.non_standard_payload = marked;
    }

    /// Lets the payload of the DATA that follows end the message, so that nothing may follow and who gets the message in this
    /// process can take the payload [as it is](dunlin_buf::Datagram::last).
    pub fn payload_ends(&mut self) {
        self.payload_ends = true;
    }

    /// How urgent the datagram is: a differentiated services code point, 0 to 63.
    pub fn traffic_class(&mut self, class: u8) {
        self.out.set_class(class);
    }

    /// Bytes so far.
    pub fn len(&self) -> usize {
        self.out.open_len()
    }

    /// Whether the last submessage reaches to the end of the message, so that none may follow.
    pub fn is_sealed(&self) -> bool {
        self.sealed
    }

    /// Whether there is no submessage yet.
    pub fn is_empty(&self) -> bool {
        self.len() <= size::HEADER
    }

    /// Completes the datagram. Without any submessage, or without destination, it is discarded.
    pub fn finish(mut self, destinations: &[Locator]) {
        if self.is_empty() {
            self.out.abandon();
            return;
        }
        self.complete_header_extension();
        self.out.finish(destinations);
    }

    /// Adds INFO_DST: what follows is for this participant, or for everybody with [`GuidPrefix::UNKNOWN`]. If the message begins
    /// with it, the datagram names this participant as its [receiver](Outbox::set_receiver).
    pub fn info_dst(&mut self, prefix: GuidPrefix) -> bool {
        let alone = if self.is_empty() { Some(prefix) } else { self.out.open_receiver() };
        let added = self.fixed(&InfoDst(prefix));
        if added {
            self.out.set_receiver(alone.filter(|alone| *alone == prefix && prefix != GuidPrefix::UNKNOWN));
        }
        added
    }

    /// Adds INFO_TS: the source timestamp of what follows. A time outside 1970–2106 is sent as no timestamp.
    pub fn info_ts(&mut self, timestamp: Option<WallTime>) -> bool {
        self.fixed(&InfoTs::new(timestamp))
    }

    /// Adds INFO_SRC: what follows originates from another participant.
    pub fn info_src(&mut self, source: &InfoSrc) -> bool {
        self.fixed(source)
    }

    /// Adds HEARTBEAT.
    pub fn heartbeat(&mut self, heartbeat: &Heartbeat) -> bool {
        self.fixed(heartbeat)
    }

    /// Adds ACKNACK.
    pub fn acknack(&mut self, acknack: &AckNack) -> bool {
        self.fixed(acknack)
    }

    /// Adds GAP.
    pub fn gap(&mut self, gap: &Gap) -> bool {
        self.fixed(gap)
    }

    /// Adds NACK_FRAG.
    pub fn nack_frag(&mut self, nack: &NackFrag) -> bool {
        self.fixed(nack)
    }

    /// Adds HEARTBEAT_FRAG.
    pub fn heartbeat_frag(&mut self, heartbeat: &HeartbeatFrag) -> bool {
        self.fixed(heartbeat)
    }

    /// Adds a question that readers of this vendor answer at once.
    pub fn echo_request(&mut self, request: &EchoRequest) -> bool {
        self.fixed(request)
    }

    /// Adds the answer to such a question.
    pub fn echo(&mut self, echo: &Echo) -> bool {
        self.fixed(echo)
    }

    /// Adds INFO_REPLY_IP4; refused when a locator is neither invalid nor UDP over IPv4.
    pub fn info_reply_ip4(&mut self, reply: &InfoReplyIp4) -> bool {
        Ipv4Fields::new(reply).is_some_and(|fields| self.fixed(&fields))
    }

    /// Adds INFO_REPLY: where to reply to what follows.
    pub fn info_reply(&mut self, unicast: &[Locator], multicast: Option<&[Locator]>) -> bool {
        const COUNT_LEN: usize = 4;
        const LOCATOR_LEN: usize = 24;
        let lists = [Some(unicast), multicast];
        let octets = |list: &[Locator]| list.len().saturating_mul(LOCATOR_LEN).saturating_add(COUNT_LEN);
        let len = lists.into_iter().flatten().map(octets).fold(0, usize::saturating_add);
        let flags = if multicast.is_some() { FLAG_MULTICAST } else { 0 };
        if !self.begin(kind::INFO_REPLY, flags, len) {
            return false;
        }
        for list in lists.into_iter().flatten() {
            let mut out = Encoder::new(&mut *self.out, self.endianness);
            out.u32(u32::try_from(list.len()).unwrap_or(u32::MAX));
            list.iter().for_each(|locator| out.locator(locator));
        }
        true
    }

    /// Adds PAD with `octets` zeros, rounded up to a multiple of four and at most 65 532.
    pub fn pad(&mut self, octets: usize) -> bool {
        const ZEROS: [u8; 64] = [0; 64];
        let mut left = size::padded(octets).min(0xfffc);
        if !self.begin(kind::PAD, 0, left) {
            return false;
        }
        while left > 0 {
            let piece = ZEROS.get(..left).unwrap_or(&ZEROS);
            self.out.put(piece);
            left = left.saturating_sub(piece.len());
        }
        true
    }

    /// Adds a security submessage; refused when its body is empty or takes more than 65 535 bytes, because its length
    /// has to be stated.
    pub fn security(&mut self, submessage: &SecuritySubmessage<'_>) -> bool {
        let fits = size::padded(submessage.body.len()) <= usize::from(u16::MAX);
        if !fits || !self.begin(submessage.kind.id(), submessage.flags(), submessage.body.len()) {
            return false;
        }
        self.out.put(submessage.body);
        self.align(submessage.body.len());
        true
    }

    fn fixed<T: FixedSubmessage>(&mut self, submessage: &T) -> bool {
        let mut block = Block::with_header();
        submessage.encode(&mut Encoder::new(&mut block, self.endianness));
        let Some(stated) = self.stated(T::KIND, block.body_len()) else { return false };
        block.set_header(T::KIND, submessage.flags(), stated, self.endianness);
        self.out.put(block.as_bytes());
        true
    }

    /// Writes a submessage header for a body of `len` bytes, which will be padded; false as [`stated`](Self::stated).
    fn begin(&mut self, kind: u8, flags: u8, len: usize) -> bool {
        let Some(stated) = self.stated(kind, len) else { return false };
        let mut header = Block::with_header();
        header.set_header(kind, flags, stated, self.endianness);
        self.out.put(header.as_bytes());
        true
    }

    /// The length that a header states for a body of `len` bytes, which will be padded; `None` when no more may follow, or
    /// when an empty body would be read as one that reaches to the end of the message.
    fn stated(&mut self, kind: u8, len: usize) -> Option<u16> {
        if self.sealed || (len == 0 && !kind::may_be_empty(kind)) {
            return None;
        }
        u16::try_from(size::padded(len)).ok().or_else(|| self.stated_last())
    }

    /// The same of a submessage that reaches to the end of the message.
    fn stated_last(&mut self) -> Option<u16> {
        (!core::mem::replace(&mut self.sealed, true)).then_some(0)
    }

    /// Adds what a body of `len` bytes lacks to a multiple of four.
    fn align(&mut self, len: usize) {
        const ZEROS: [u8; 4] = [0; 4];
        let missing = size::padded(len).saturating_sub(len);
        if missing == 0 {
            return;
        }
        self.out.put(ZEROS.get(..missing).unwrap_or(&ZEROS));
    }
}

impl Sink for Outbox {
    fn append(&mut self, bytes: &[u8]) {
        self.put(bytes);
    }
}
