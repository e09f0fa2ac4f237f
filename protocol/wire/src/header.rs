//! RTPS 2.5 §8.3.3 and §9.4.4 "RTPS Header".

use dunlin_core::{GuidPrefix, ProtocolVersion, VendorId};

use crate::{WireError, size};

const MAGIC: [u8; 4] = *b"RTPS";
const SUPPORTED_MAJOR: u8 = 2;

/// The first twenty bytes of a message, without the protocol's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Protocol version of the sender.
    pub version: ProtocolVersion,
    /// Vendor of the sender.
    pub vendor_id: VendorId,
    /// Participant that sent the message.
    pub guid_prefix: GuidPrefix,
}

impl Header {
    /// The header that this implementation sends.
    pub const fn of(source: GuidPrefix) -> Self {
        Self { version: ProtocolVersion::V2_5, vendor_id: VendorId::DUNLIN, guid_prefix: source }
    }

    /// Reads the header of `message`.
    ///
    /// # Errors
    /// [`WireError::TooShort`] below twenty bytes, [`WireError::NotRtps`], [`WireError::UnsupportedVersion`] for a
    /// major version above 2.
    pub fn parse(message: &[u8]) -> Result<Self, WireError> {
        let octets: &[u8; size::HEADER] = message.first_chunk().ok_or(WireError::TooShort)?;
        let [r, t, p, s, major, minor, v0, v1, prefix @ ..] = *octets;
        if [r, t, p, s] != MAGIC {
            return Err(WireError::NotRtps);
        }
        if major > SUPPORTED_MAJOR {
            return Err(WireError::UnsupportedVersion { major });
        }
        Ok(Self {
            version: ProtocolVersion { major, minor },
            vendor_id: VendorId([v0, v1]),
            guid_prefix: GuidPrefix(prefix),
        })
    }

    /// The header as it stands on the wire.
    pub fn to_bytes(self) -> [u8; size::HEADER] {
        let [r, t, p, s] = MAGIC;
        let [v0, v1] = self.vendor_id.0;
        let [a, b, c, d, e, f, g, h, i, j, k, l] = self.guid_prefix.0;
        let ProtocolVersion { major, minor } = self.version;
        [r, t, p, s, major, minor, v0, v1, a, b, c, d, e, f, g, h, i, j, k, l]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;

    #[test]
    fn captured_header() {
        let bytes = hex("52545053 0205 0110 0110 0e37 1513 a22b de31 4305");
        let header = Header::parse(&bytes).unwrap();
        assert_eq!(header.version, ProtocolVersion::V2_5);
        assert_eq!(header.vendor_id, VendorId::CYCLONE_DDS);
        assert_eq!(header.guid_prefix.0, *hex("01100e371513a22bde314305"));
        assert_eq!(header.to_bytes(), *bytes);
    }

    #[test]
    fn data_without_an_rtps_header_is_refused() {
        let good = Header::of(GuidPrefix([7; 12])).to_bytes();
        for len in 0..good.len() {
            assert_eq!(Header::parse(&good[..len]), Err(WireError::TooShort));
        }
        let mut other = good;
        other[3] = b'X';
        assert_eq!(Header::parse(&other), Err(WireError::NotRtps));
        let mut future = good;
        future[4] = 3;
        assert_eq!(Header::parse(&future), Err(WireError::UnsupportedVersion { major: 3 }));
        let mut old = good;
        (old[4], old[5]) = (1, 1);
        assert!(Header::parse(&old).is_ok());
    }
}
