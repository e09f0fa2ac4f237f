//! RTPS 2.5 §8.3.7 and §9.4.5 "HeaderExtension".

use dunlin_core::{RtpsTime, WallTime};

use super::Reject;
use crate::checksum::{Checksum, ChecksumKind};
use crate::cursor::Cursor;
use crate::{Endianness, ParameterList};

pub(crate) mod flag {
    pub(crate) const MESSAGE_LENGTH: u8 = 0x02;
    pub(crate) const SEND_TIMESTAMP: u8 = 0x04;
    pub(crate) const U_EXTENSION: u8 = 0x08;
    pub(crate) const W_EXTENSION: u8 = 0x10;
    pub(crate) const CHECKSUM_2: u8 = 0x20;
    pub(crate) const CHECKSUM_1: u8 = 0x40;
    pub(crate) const PARAMETERS: u8 = 0x80;
}

/// More about the whole message; only valid as its first submessage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeaderExtension<'a> {
    /// Bytes of the message from the start of the RTPS header.
    pub message_length: Option<u32>,
    /// When the message was sent, by the sender's clock.
    pub send_timestamp: Option<WallTime>,
    /// Reserved for the standard.
    pub u_extension4: Option<[u8; 4]>,
    /// Reserved for the standard.
    pub w_extension8: Option<[u8; 8]>,
    /// Checksum of the message; walking the message verifies it.
    pub checksum: Option<Checksum>,
    /// Parameters; the standard defines none yet.
    pub parameters: Option<ParameterList<'a>>,
    /// Offset of the checksum from the start of the body.
    pub(crate) checksum_offset: usize,
}

/// The checksum that the two flags choose (§9.4.5).
const fn checksum_kind(flags: u8) -> Option<ChecksumKind> {
    match (flags & flag::CHECKSUM_1 != 0, flags & flag::CHECKSUM_2 != 0) {
        (false, false) => None,
        (false, true) => Some(ChecksumKind::Crc32c),
        (true, false) => Some(ChecksumKind::Crc64Xz),
        (true, true) => Some(ChecksumKind::Md5),
    }
}

/// The flags that choose a checksum.
pub(crate) const fn checksum_flags(kind: ChecksumKind) -> u8 {
    match kind {
        ChecksumKind::Crc32c => flag::CHECKSUM_2,
        ChecksumKind::Crc64Xz => flag::CHECKSUM_1,
        ChecksumKind::Md5 => flag::CHECKSUM_1 | flag::CHECKSUM_2,
    }
}

impl<'a> HeaderExtension<'a> {
    pub(crate) fn parse(flags: u8, body: &'a [u8]) -> Result<Self, Reject> {
        let mut cursor = Cursor::new(body, Endianness::from_flags(flags));
        let mut extension = Self::default();
        if flags & flag::MESSAGE_LENGTH != 0 {
            extension.message_length = Some(cursor.u32()?);
        }
        if flags & flag::SEND_TIMESTAMP != 0 {
            extension.send_timestamp = RtpsTime::to_wall(cursor.time()?);
        }
        if flags & flag::U_EXTENSION != 0 {
            extension.u_extension4 = Some(cursor.array()?);
        }
        if flags & flag::W_EXTENSION != 0 {
            extension.w_extension8 = Some(cursor.array()?);
        }
        extension.checksum_offset = body.len().saturating_sub(cursor.remaining());
        if let Some(kind) = checksum_kind(flags) {
            extension.checksum = Some(Checksum::from_bytes(kind, cursor.take(kind.size())?));
        }
        if flags & flag::PARAMETERS != 0 {
            extension.parameters = Some(ParameterList::scan_open(cursor.rest(), cursor.endianness())?);
        }
        Ok(extension)
    }
}
