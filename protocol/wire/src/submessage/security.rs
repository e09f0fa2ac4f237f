//! DDS Security 1.1 §7.3 and §9.5: the submessages that wrap protected submessages and messages. They are
//! recognised and checked here; what is inside is for whoever holds the keys.

use super::{Reject, kind};
use crate::cursor::Cursor;
use crate::{Endianness, Malformation};

const FLAG_HEADER_IS_AUTHENTICATED: u8 = 0x02;
const FLAG_PRE_SHARED_KEY: u8 = 0x04;
const RECEIVER_MAC_LEN: usize = 20;

/// Which of the security submessages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecurityKind {
    /// Encrypted content.
    SecBody,
    /// Before a protected submessage.
    SecPrefix,
    /// After a protected submessage.
    SecPostfix,
    /// Before a protected message.
    SrtpsPrefix,
    /// After a protected message.
    SrtpsPostfix,
}

impl SecurityKind {
    /// The submessage id.
    pub const fn id(self) -> u8 {
        match self {
            Self::SecBody => kind::SEC_BODY,
            Self::SecPrefix => kind::SEC_PREFIX,
            Self::SecPostfix => kind::SEC_POSTFIX,
            Self::SrtpsPrefix => kind::SRTPS_PREFIX,
            Self::SrtpsPostfix => kind::SRTPS_POSTFIX,
        }
    }

    /// The kind that has this submessage id.
    pub const fn from_id(id: u8) -> Option<Self> {
        Some(match id {
            kind::SEC_BODY => Self::SecBody,
            kind::SEC_PREFIX => Self::SecPrefix,
            kind::SEC_POSTFIX => Self::SecPostfix,
            kind::SRTPS_PREFIX => Self::SrtpsPrefix,
            kind::SRTPS_POSTFIX => Self::SrtpsPostfix,
            _ => return None,
        })
    }
}

/// A security submessage whose element is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SecuritySubmessage<'a> {
    /// Which one.
    pub kind: SecurityKind,
    /// SRTPS_PREFIX of Security 1.2: the RTPS header is additional authenticated data.
    pub header_is_authenticated: bool,
    /// SRTPS_PREFIX of Security 1.2: the key is a pre-shared one.
    pub pre_shared_key: bool,
    /// The bytes after the submessage header.
    pub body: &'a [u8],
}

/// `CryptoHeader`: names the key and the initialization vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CryptoHeader {
    /// Algorithm and, from Security 1.2, key revision.
    pub transformation_kind: [u8; 4],
    /// Which key of the sender.
    pub transformation_key_id: [u8; 4],
    /// Which session of the key.
    pub session_id: [u8; 4],
    /// Rest of the initialization vector.
    pub initialization_vector_suffix: [u8; 8],
}

/// `CryptoFooter`: the authentication codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CryptoFooter<'a> {
    /// Code that all receivers can check.
    pub common_mac: [u8; 16],
    receiver_macs: &'a [u8],
}

/// A code that one receiver can check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiverMac {
    /// Which key of the receiver.
    pub receiver_mac_key_id: [u8; 4],
    /// The code.
    pub receiver_mac: [u8; 16],
}

impl<'a> SecuritySubmessage<'a> {
    pub(crate) fn parse(id: u8, flags: u8, body: &'a [u8]) -> Result<Option<Self>, Reject> {
        let Some(kind) = SecurityKind::from_id(id) else { return Ok(None) };
        let srtps_prefix = kind == SecurityKind::SrtpsPrefix;
        let submessage = Self {
            kind,
            header_is_authenticated: srtps_prefix && flags & FLAG_HEADER_IS_AUTHENTICATED != 0,
            pre_shared_key: srtps_prefix && flags & FLAG_PRE_SHARED_KEY != 0,
            body,
        };
        let complete = match kind {
            SecurityKind::SecBody => submessage.content().is_some(),
            SecurityKind::SecPrefix | SecurityKind::SrtpsPrefix => submessage.header().is_some(),
            SecurityKind::SecPostfix | SecurityKind::SrtpsPostfix => submessage.footer().is_some(),
        };
        if complete { Ok(Some(submessage)) } else { Err(Malformation::Security.into()) }
    }

    /// Flags other than E.
    pub(crate) fn flags(&self) -> u8 {
        let authenticated = if self.header_is_authenticated { FLAG_HEADER_IS_AUTHENTICATED } else { 0 };
        let pre_shared = if self.pre_shared_key { FLAG_PRE_SHARED_KEY } else { 0 };
        authenticated | pre_shared
    }

    /// `CryptoHeader` of a prefix; `None` for the other kinds.
    pub fn header(&self) -> Option<CryptoHeader> {
        matches!(self.kind, SecurityKind::SecPrefix | SecurityKind::SrtpsPrefix).then_some(())?;
        CryptoHeader::parse(self.body)
    }

    /// The bytes of the `CryptoContent` of a body; `None` for the other kinds.
    pub fn content(&self) -> Option<&'a [u8]> {
        matches!(self.kind, SecurityKind::SecBody).then_some(())?;
        let mut cursor = Cursor::new(self.body, Endianness::Big);
        let length = usize::try_from(cursor.u32().ok()?).ok()?;
        cursor.take(length).ok()
    }

    /// `CryptoFooter` of a postfix; `None` for the other kinds.
    pub fn footer(&self) -> Option<CryptoFooter<'a>> {
        matches!(self.kind, SecurityKind::SecPostfix | SecurityKind::SrtpsPostfix).then_some(())?;
        CryptoFooter::parse(self.body)
    }
}

impl CryptoHeader {
    /// Bytes of a crypto header.
    pub const LEN: usize = 20;

    /// Reads the header at the start of `bytes`; `None` when they are too few.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut cursor = Cursor::new(bytes, Endianness::Big);
        Some(Self {
            transformation_kind: cursor.array().ok()?,
            transformation_key_id: cursor.array().ok()?,
            session_id: cursor.array().ok()?,
            initialization_vector_suffix: cursor.array().ok()?,
        })
    }
}

impl<'a> CryptoFooter<'a> {
    /// Reads the footer at the start of `bytes`; `None` when the codes it announces are not all present.
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let mut cursor = Cursor::new(bytes, Endianness::Big);
        let common_mac = cursor.array().ok()?;
        let count = usize::try_from(cursor.u32().ok()?).ok()?;
        let receiver_macs = cursor.take(count.checked_mul(RECEIVER_MAC_LEN)?).ok()?;
        Some(Self { common_mac, receiver_macs })
    }

    /// The codes for single receivers.
    pub fn receiver_macs(&self) -> impl Iterator<Item = ReceiverMac> + 'a {
        self.receiver_macs.chunks_exact(RECEIVER_MAC_LEN).filter_map(|octets| {
            let mut cursor = Cursor::new(octets, Endianness::Big);
            Some(ReceiverMac {
                receiver_mac_key_id: cursor.array().ok()?,
                receiver_mac: cursor.array().ok()?,
            })
        })
    }
}
