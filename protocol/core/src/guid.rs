//! GUIDs, vendor ids and protocol versions (RTPS 2.5 §8.2.4, §8.3.3.1, §9.3.1).

use core::fmt;

use crate::EntityId;

/// Twelve octets that name a participant; never byte-swapped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct GuidPrefix(pub [u8; 12]);

impl GuidPrefix {
    /// GUIDPREFIX_UNKNOWN: all zero; as a destination it means everybody.
    pub const UNKNOWN: Self = Self([0; 12]);
}

impl fmt::Display for GuidPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, octet) in self.0.iter().enumerate() {
            if i == 4 || i == 8 {
                f.write_str(".")?;
            }
            write!(f, "{octet:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for GuidPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Globally unique id of an entity: participant prefix and entity id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Guid {
    /// The participant.
    pub prefix: GuidPrefix,
    /// The entity inside the participant.
    pub entity_id: EntityId,
}

impl Guid {
    /// GUID_UNKNOWN.
    pub const UNKNOWN: Self = Self { prefix: GuidPrefix::UNKNOWN, entity_id: EntityId::UNKNOWN };

    /// Joins the two parts.
    #[must_use]
    pub const fn new(prefix: GuidPrefix, entity_id: EntityId) -> Self {
        Self { prefix, entity_id }
    }

    /// The sixteen octets as they stand on the wire.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 16] {
        let mut out = [0; 16];
        let (prefix, entity) = out.split_at_mut(12);
        prefix.copy_from_slice(&self.prefix.0);
        entity.copy_from_slice(&self.entity_id.0);
        out
    }

    /// Reads the sixteen octets as they stand on the wire.
    #[must_use]
    pub const fn from_bytes(b: [u8; 16]) -> Self {
        let [p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, e0, e1, e2, e3] = b;
        Self {
            prefix: GuidPrefix([p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11]),
            entity_id: EntityId([e0, e1, e2, e3]),
        }
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.prefix, self.entity_id)
    }
}

impl fmt::Debug for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Two octets that name the maker of an implementation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct VendorId(pub [u8; 2]);

impl VendorId {
    /// VENDORID_UNKNOWN.
    pub const UNKNOWN: Self = Self([0, 0]);
    /// Ours, until one is assigned: outside the range 01.01–01.2f that has been given out so far.
    pub const DUNLIN: Self = Self([0x01, 0xd0]);
    /// RTI Connext.
    pub const RTI: Self = Self([0x01, 0x01]);
    /// OpenDDS.
    pub const OPENDDS: Self = Self([0x01, 0x03]);
    /// eProsima Fast DDS.
    pub const FAST_DDS: Self = Self([0x01, 0x0f]);
    /// Eclipse Cyclone DDS.
    pub const CYCLONE_DDS: Self = Self([0x01, 0x10]);
    /// RustDDS.
    pub const RUST_DDS: Self = Self([0x01, 0x12]);
    /// dust-dds.
    pub const DUST_DDS: Self = Self([0x01, 0x14]);

    /// The product behind the id, where it is known.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::DUNLIN => "Dunlin",
            Self::RTI => "RTI Connext",
            Self([1, 0x02]) => "OpenSplice",
            Self::OPENDDS => "OpenDDS",
            Self([1, 0x06]) => "CoreDX",
            Self([1, 0x0a]) => "RTI Connext Micro",
            Self::FAST_DDS => "Fast DDS",
            Self::CYCLONE_DDS => "Cyclone DDS",
            Self([1, 0x11]) => "GurumDDS",
            Self::RUST_DDS => "RustDDS",
            Self::DUST_DDS => "dust-dds",
            _ => "unknown",
        }
    }
}

impl fmt::Display for VendorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b] = self.0;
        write!(f, "{a:02x}.{b:02x}")
    }
}

impl fmt::Debug for VendorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Version of the wire protocol a message was written in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ProtocolVersion {
    /// Major; a message with a major above ours is dropped.
    pub major: u8,
    /// Minor.
    pub minor: u8,
}

impl ProtocolVersion {
    /// The version Dunlin sends.
    pub const V2_5: Self = Self { major: 2, minor: 5 };
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn guid_bytes_round_trip_and_print() {
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0, 1, 0, 0xc2];
        let guid = Guid::from_bytes(bytes);
        assert_eq!(guid.to_bytes(), bytes);
        assert_eq!(guid.entity_id, EntityId::SPDP_WRITER);
        assert_eq!(guid.to_string(), "01020304.05060708.090a0b0c:000100c2");
    }
}
