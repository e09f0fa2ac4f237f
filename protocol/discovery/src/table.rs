//! The built-in endpoints: RTPS 2.5 §9.3.1.2 (their ids) and §9.3.2.12 (the bits that announce them), one row for each pair of a writer
//! and a reader. What routes, matches, or moves built-in endpoints goes by this table.

use dunlin_core::EntityId;

use crate::data::builtin;

/// A writer and the readers of what it writes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) writer: EntityId,
    pub(crate) reader: EntityId,
    /// Announces the writer.
    pub(crate) writer_bit: u32,
    /// Announces the reader.
    pub(crate) reader_bit: u32,
    pub(crate) handler: Handler,
}

/// Who takes what arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handler {
    /// Announcements of participants, which are stateless.
    Participants,
    /// A reliable topic, with a writer and a reader that every peer is matched with.
    Topic(BuiltinTopic),
    /// Questions and answers about types, whose proxies are made when they are needed.
    Types,
}

const PARTICIPANTS: Row = Row {
    writer: EntityId::SPDP_WRITER,
    reader: EntityId::SPDP_READER,
    writer_bit: builtin::PARTICIPANT_ANNOUNCER,
    reader_bit: builtin::PARTICIPANT_DETECTOR,
    handler: Handler::Participants,
};

const PUBLICATIONS: Row = Row {
    writer: EntityId::SEDP_PUBLICATIONS_WRITER,
    reader: EntityId::SEDP_PUBLICATIONS_READER,
    writer_bit: builtin::PUBLICATIONS_ANNOUNCER,
    reader_bit: builtin::PUBLICATIONS_DETECTOR,
    handler: Handler::Topic(BuiltinTopic::Publications),
};

const SUBSCRIPTIONS: Row = Row {
    writer: EntityId::SEDP_SUBSCRIPTIONS_WRITER,
    reader: EntityId::SEDP_SUBSCRIPTIONS_READER,
    writer_bit: builtin::SUBSCRIPTIONS_ANNOUNCER,
    reader_bit: builtin::SUBSCRIPTIONS_DETECTOR,
    handler: Handler::Topic(BuiltinTopic::Subscriptions),
};

const MESSAGES: Row = Row {
    writer: EntityId::PARTICIPANT_MESSAGE_WRITER,
    reader: EntityId::PARTICIPANT_MESSAGE_READER,
    writer_bit: builtin::PARTICIPANT_MESSAGE_WRITER,
    reader_bit: builtin::PARTICIPANT_MESSAGE_READER,
    handler: Handler::Topic(BuiltinTopic::Messages),
};

/// Questions about types.
pub(crate) const TYPE_QUESTIONS: Row = Row {
    writer: EntityId::TYPE_LOOKUP_REQUEST_WRITER,
    reader: EntityId::TYPE_LOOKUP_REQUEST_READER,
    writer_bit: builtin::TYPE_LOOKUP_REQUEST_WRITER,
    reader_bit: builtin::TYPE_LOOKUP_REQUEST_READER,
    handler: Handler::Types,
};

/// Answers to them.
pub(crate) const TYPE_ANSWERS: Row = Row {
    writer: EntityId::TYPE_LOOKUP_REPLY_WRITER,
    reader: EntityId::TYPE_LOOKUP_REPLY_READER,
    writer_bit: builtin::TYPE_LOOKUP_REPLY_WRITER,
    reader_bit: builtin::TYPE_LOOKUP_REPLY_READER,
    handler: Handler::Types,
};

/// The table.
pub(crate) const TABLE: [Row; 6] =
    [PARTICIPANTS, PUBLICATIONS, SUBSCRIPTIONS, MESSAGES, TYPE_QUESTIONS, TYPE_ANSWERS];

/// The row of a writer.
pub(crate) fn of_writer(writer: EntityId) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.writer == writer)
}

/// Whether a writer or reader is in the table.
pub(crate) fn has(entity: EntityId) -> bool {
    TABLE.iter().any(|row| entity == row.writer || entity == row.reader)
}

/// The reliable topics that every peer is matched with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BuiltinTopic {
    Publications,
    Subscriptions,
    Messages,
}

/// How many there are.
pub(crate) const TOPICS: usize = BuiltinTopic::ALL.len();

impl BuiltinTopic {
    pub(crate) const ALL: [Self; 3] = [Self::Publications, Self::Subscriptions, Self::Messages];

    pub(crate) const fn row(self) -> &'static Row {
        match self {
            Self::Publications => &PUBLICATIONS,
            Self::Subscriptions => &SUBSCRIPTIONS,
            Self::Messages => &MESSAGES,
        }
    }

    pub(crate) const fn writer_id(self) -> EntityId {
        self.row().writer
    }

    pub(crate) const fn reader_id(self) -> EntityId {
        self.row().reader
    }

    /// Its place among what there is one of for each topic.
    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;

    use super::*;

    #[test]
    fn builtin_endpoints_have_distinct_entity_ids_and_bits() {
        let ids: BTreeSet<EntityId> = TABLE.iter().flat_map(|row| [row.writer, row.reader]).collect();
        assert_eq!(ids.len(), 2 * TABLE.len());
        assert!(ids.iter().all(|id| has(*id)));
        let bits: BTreeSet<u32> = TABLE.iter().flat_map(|row| [row.writer_bit, row.reader_bit]).collect();
        assert!(bits.iter().all(|bit| bit.is_power_of_two()));
        assert_eq!(bits.len(), 2 * TABLE.len());
        let announced = bits.iter().fold(0, |sum, bit| sum | bit);
        assert_eq!(announced, builtin::ALL, "what is in the table is what is announced");
    }

    #[test]
    fn rows_are_found_by_their_writer() {
        for row in &TABLE {
            assert!(row.writer.is_writer() && !row.reader.is_writer());
            assert_eq!(of_writer(row.writer).map(|found| found.reader), Some(row.reader));
        }
        assert!(of_writer(EntityId::SPDP_READER).is_none() && !has(EntityId::PARTICIPANT));
        for (number, topic) in BuiltinTopic::ALL.into_iter().enumerate() {
            assert_eq!((topic.index(), topic.row().handler), (number, Handler::Topic(topic)));
        }
    }
}
