//! RTPS 2.5 §8.3.8.10 and §9.4.5 "InfoSource".

use dunlin_core::{GuidPrefix, ProtocolVersion, VendorId};

use super::{FixedSubmessage, Reject, kind};
use crate::cursor::Cursor;
use crate::encoder::{Encoder, Sink};

const UNUSED: [u8; 4] = [0; 4];

/// The participant from which the following submessages originate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InfoSrc {
    /// Protocol version of the source.
    pub version: ProtocolVersion,
    /// Vendor of the source.
    pub vendor_id: VendorId,
    /// The source.
    pub guid_prefix: GuidPrefix,
}

impl InfoSrc {
    pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Reject> {
        cursor.take(UNUSED.len())?;
        Ok(Self {
            version: cursor.protocol_version()?,
            vendor_id: cursor.vendor_id()?,
            guid_prefix: cursor.guid_prefix()?,
        })
    }
}

impl FixedSubmessage for InfoSrc {
    const KIND: u8 = kind::INFO_SRC;

    fn flags(&self) -> u8 {
        0
    }

    fn encode<S: Sink>(&self, out: &mut Encoder<'_, S>) {
        out.bytes(&UNUSED);
        out.protocol_version(self.version);
        out.vendor_id(self.vendor_id);
        out.guid_prefix(self.guid_prefix);
    }
}
