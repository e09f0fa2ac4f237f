//! RTPS 2.5 §8.3.8.9 and §9.4.5 "InfoReply".

use dunlin_core::Locator;

use super::Reject;
use crate::cursor::Cursor;
use crate::{Endianness, Malformation};

pub(crate) const FLAG_MULTICAST: u8 = 0x02;
pub(crate) const LOCATOR_LEN: usize = 24;

/// Where replies to the following submessages should go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InfoReply<'a> {
    /// Unicast locators.
    pub unicast: LocatorList<'a>,
    /// Multicast locators; without them the list becomes empty.
    pub multicast: Option<LocatorList<'a>>,
}

/// Locators inside a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocatorList<'a> {
    bytes: &'a [u8],
    endianness: Endianness,
}

impl<'a> LocatorList<'a> {
    fn parse(cursor: &mut Cursor<'a>) -> Result<Self, Malformation> {
        let count = usize::try_from(cursor.u32()?).map_err(|_| Malformation::LocatorList)?;
        let octets = count.checked_mul(LOCATOR_LEN).ok_or(Malformation::LocatorList)?;
        let bytes = cursor.take(octets).map_err(|_| Malformation::LocatorList)?;
        Ok(Self { bytes, endianness: cursor.endianness() })
    }

    /// How many locators.
    pub const fn len(&self) -> usize {
        self.bytes.len() / LOCATOR_LEN
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The locators in order.
    pub fn iter(&self) -> impl Iterator<Item = Locator> + 'a {
        let endianness = self.endianness;
        self.bytes
            .chunks_exact(LOCATOR_LEN)
            .filter_map(move |octets| Cursor::new(octets, endianness).locator().ok())
    }
}

impl<'a> InfoReply<'a> {
    pub(crate) fn parse(flags: u8, cursor: &mut Cursor<'a>) -> Result<Self, Reject> {
        let unicast = LocatorList::parse(cursor)?;
        let multicast = if flags & FLAG_MULTICAST != 0 { Some(LocatorList::parse(cursor)?) } else { None };
        Ok(Self { unicast, multicast })
    }
}
