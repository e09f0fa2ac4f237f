//! Entity ids (RTPS 2.5 §9.3.1.2, §9.3.1.3).

use core::fmt;

/// Three octets of key and one octet of kind; never byte-swapped on the wire.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct EntityId(pub [u8; 4]);

/// What the last octet of an [`EntityId`] says the entity is (RTPS 2.5 table 9.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EntityKind {
    /// Kind octet outside the table, or zero.
    Unknown,
    /// A domain participant.
    Participant,
    /// A writer of a keyed topic.
    WriterWithKey,
    /// A writer of a topic without key.
    WriterNoKey,
    /// A reader of a keyed topic.
    ReaderWithKey,
    /// A reader of a topic without key.
    ReaderNoKey,
    /// A publisher.
    WriterGroup,
    /// A subscriber.
    ReaderGroup,
}

impl EntityId {
    /// ENTITYID_UNKNOWN.
    pub const UNKNOWN: Self = Self([0, 0, 0, 0]);
    /// ENTITYID_PARTICIPANT.
    pub const PARTICIPANT: Self = Self([0, 0, 0x01, 0xc1]);
    /// SEDP topics writer.
    pub const SEDP_TOPICS_WRITER: Self = Self([0, 0, 0x02, 0xc2]);
    /// SEDP topics reader.
    pub const SEDP_TOPICS_READER: Self = Self([0, 0, 0x02, 0xc7]);
    /// SEDP publications writer.
    pub const SEDP_PUBLICATIONS_WRITER: Self = Self([0, 0, 0x03, 0xc2]);
    /// SEDP publications reader.
    pub const SEDP_PUBLICATIONS_READER: Self = Self([0, 0, 0x03, 0xc7]);
    /// SEDP subscriptions writer.
    pub const SEDP_SUBSCRIPTIONS_WRITER: Self = Self([0, 0, 0x04, 0xc2]);
    /// SEDP subscriptions reader.
    pub const SEDP_SUBSCRIPTIONS_READER: Self = Self([0, 0, 0x04, 0xc7]);
    /// SPDP participant writer.
    pub const SPDP_WRITER: Self = Self([0, 0x01, 0x00, 0xc2]);
    /// SPDP participant reader.
    pub const SPDP_READER: Self = Self([0, 0x01, 0x00, 0xc7]);
    /// Participant message (liveliness) writer.
    pub const PARTICIPANT_MESSAGE_WRITER: Self = Self([0, 0x02, 0x00, 0xc2]);
    /// Participant message (liveliness) reader.
    pub const PARTICIPANT_MESSAGE_READER: Self = Self([0, 0x02, 0x00, 0xc7]);

    /// TypeLookup service, writer of requests (DDS-XTypes 1.3 §7.6.3.3.3).
    pub const TYPE_LOOKUP_REQUEST_WRITER: Self = Self([0, 0x03, 0x00, 0xc3]);
    /// TypeLookup service, reader of requests.
    pub const TYPE_LOOKUP_REQUEST_READER: Self = Self([0, 0x03, 0x00, 0xc4]);
    /// TypeLookup service, writer of replies.
    pub const TYPE_LOOKUP_REPLY_WRITER: Self = Self([0, 0x03, 0x01, 0xc3]);
    /// TypeLookup service, reader of replies.
    pub const TYPE_LOOKUP_REPLY_READER: Self = Self([0, 0x03, 0x01, 0xc4]);

    const KEYED_WRITER: u8 = 0x02;
    const KEYLESS_WRITER: u8 = 0x03;
    const KEYLESS_READER: u8 = 0x04;
    const KEYED_READER: u8 = 0x07;

    /// A user-defined writer with the low 24 bits of `key`.
    #[must_use]
    pub const fn user_writer(key: u32, keyed: bool) -> Self {
        Self::user(key, if keyed { Self::KEYED_WRITER } else { Self::KEYLESS_WRITER })
    }

    /// A user-defined reader with the low 24 bits of `key`.
    #[must_use]
    pub const fn user_reader(key: u32, keyed: bool) -> Self {
        Self::user(key, if keyed { Self::KEYED_READER } else { Self::KEYLESS_READER })
    }

    const fn user(key: u32, kind: u8) -> Self {
        let [_, a, b, c] = key.to_be_bytes();
        Self([a, b, c, kind])
    }

    /// What kind of entity this id names.
    #[must_use]
    pub const fn kind(self) -> EntityKind {
        match self.0[3] & 0x3f {
            0x01 => EntityKind::Participant,
            Self::KEYED_WRITER => EntityKind::WriterWithKey,
            Self::KEYLESS_WRITER => EntityKind::WriterNoKey,
            Self::KEYLESS_READER => EntityKind::ReaderNoKey,
            Self::KEYED_READER => EntityKind::ReaderWithKey,
            0x08 => EntityKind::WriterGroup,
            0x09 => EntityKind::ReaderGroup,
            _ => EntityKind::Unknown,
        }
    }

    /// True for both kinds of writer.
    #[must_use]
    pub const fn is_writer(self) -> bool {
        matches!(self.kind(), EntityKind::WriterWithKey | EntityKind::WriterNoKey)
    }

    /// True for both kinds of reader.
    #[must_use]
    pub const fn is_reader(self) -> bool {
        matches!(self.kind(), EntityKind::ReaderWithKey | EntityKind::ReaderNoKey)
    }

    /// True when the two top bits of the kind say "built-in".
    #[must_use]
    pub const fn is_builtin(self) -> bool {
        self.0[3] & 0xc0 == 0xc0
    }
}

impl fmt::Display for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, kind] = self.0;
        write!(f, "{a:02x}{b:02x}{c:02x}{kind:02x}")
    }
}

impl fmt::Debug for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_follow_the_table() {
        assert_eq!(EntityId::SPDP_WRITER.kind(), EntityKind::WriterWithKey);
        assert!(EntityId::SPDP_READER.is_reader() && EntityId::SPDP_READER.is_builtin());
        let writer = EntityId::user_writer(0x01_02_03, false);
        assert_eq!(writer.0, [1, 2, 3, 3]);
        assert!(writer.is_writer() && !writer.is_builtin());
        assert_eq!(EntityId::UNKNOWN.kind(), EntityKind::Unknown);
    }
}
