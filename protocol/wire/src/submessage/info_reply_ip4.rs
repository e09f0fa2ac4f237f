//! RTPS 2.5 §9.4.5 "InfoReplyIp4", the short form of §8.3.8.9.

use core::net::Ipv4Addr;

use dunlin_core::{Locator, LocatorKind};

use super::info_reply::FLAG_MULTICAST;
use super::{FixedSubmessage, Reject, kind};
use crate::Malformation;
use crate::cursor::Cursor;
use crate::encoder::{Encoder, Sink};

/// Where replies to the following submessages should go, over UDP and IPv4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InfoReplyIp4 {
    /// Unicast locator; [`Locator::INVALID`] when there is none.
    pub unicast: Locator,
    /// Multicast locator; without it the list becomes empty.
    pub multicast: Option<Locator>,
}

impl InfoReplyIp4 {
    pub(crate) fn parse(flags: u8, cursor: &mut Cursor<'_>) -> Result<Self, Reject> {
        let unicast = read_locator(cursor)?;
        let multicast = if flags & FLAG_MULTICAST != 0 { Some(read_locator(cursor)?) } else { None };
        Ok(Self { unicast, multicast })
    }
}

/// `LocatorUDPv4_t` (§9.3.2): the address is one integer with its first byte on top.
fn read_locator(cursor: &mut Cursor<'_>) -> Result<Locator, Malformation> {
    let (address, port) = (cursor.u32()?, cursor.u32()?);
    if address == 0 && port == 0 {
        return Ok(Locator::INVALID);
    }
    let [a, b, c, d] = Ipv4Addr::from_bits(address).octets();
    Ok(Locator { kind: LocatorKind::UDP_V4, port, address: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d] })
}

/// The fields of an INFO_REPLY_IP4, for writing it.
pub(crate) struct Ipv4Fields {
    unicast: (u32, u32),
    multicast: Option<(u32, u32)>,
}

impl Ipv4Fields {
    /// `None` when a locator is neither invalid nor UDP over IPv4.
    pub(crate) fn new(reply: &InfoReplyIp4) -> Option<Self> {
        let multicast = match &reply.multicast {
            Some(locator) => Some(to_fields(locator)?),
            None => None,
        };
        Some(Self { unicast: to_fields(&reply.unicast)?, multicast })
    }
}

fn to_fields(locator: &Locator) -> Option<(u32, u32)> {
    if *locator == Locator::INVALID {
        return Some((0, 0));
    }
    match (locator.kind, locator.address) {
        (LocatorKind::UDP_V4, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d]) => {
            Some((Ipv4Addr::new(a, b, c, d).to_bits(), locator.port))
        }
        _ => None,
    }
}

impl FixedSubmessage for Ipv4Fields {
    const KIND: u8 = kind::INFO_REPLY_IP4;

    fn flags(&self) -> u8 {
        if self.multicast.is_some() { FLAG_MULTICAST } else { 0 }
    }

    fn encode<S: Sink>(&self, out: &mut Encoder<'_, S>) {
        for (address, port) in [Some(self.unicast), self.multicast].into_iter().flatten() {
            out.u32(address);
            out.u32(port);
        }
    }
}
