//! What a recording holds beside samples: ends of instances, losses, and what a message of MCAP has no room for. It is a channel of
//! its own with an ordinary type, so that other tools can show it and lose nothing if they do not.

use dunlin::cdr::{CdrError, Limits, Representation, description, from_payload, to_payload};
use dunlin::{DdsType, Guid, SampleIdentity, SequenceNumber};

/// Topic of the channel.
pub const EVENT_TOPIC: &str = "dunlin/events";

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, DdsType)]
#[dds(name = "dunlin::recorder::EventKind")]
pub enum EventKind {
    /// More about the sample of the same writer that follows: `original`, `related`, `number`, `instance`.
    #[default]
    Details,
    /// The writer disposed of the instance.
    Dispose,
    /// The writer unregistered the instance; number 0 when it was lost.
    Unregister,
    /// Samples that were sent and never arrived. Of reliable writers only the topic is known.
    Lost,
    /// Samples that arrived and were not recorded: the disk did not take them in time, or at all.
    Dropped,
    /// A writer of a topic that is recorded was found.
    Found,
    /// It went.
    Gone,
    /// Why writers of a topic are not recorded.
    Refused,
}

/// Members that an event has no use for are 0 or empty. Later versions append members.
#[derive(Clone, PartialEq, Eq, Debug, Default, DdsType)]
#[dds(name = "dunlin::recorder::Event", data_representation = "xcdr2")]
pub struct Event {
    /// What happened.
    pub kind: EventKind,
    /// GUID of the writer.
    pub writer: [u8; 16],
    /// Sequence number; the first one of several.
    pub number: i64,
    /// The writer that made the sample first, and its number there.
    pub original_writer: [u8; 16],
    /// See `original_writer`.
    pub original_number: i64,
    /// The sample that this one answers.
    pub related_writer: [u8; 16],
    /// See `related_writer`.
    pub related_number: i64,
    /// Key hash of the instance.
    pub instance: [u8; 16],
    /// Key members of the instance, serialized with encapsulation header.
    pub key: Vec<u8>,
    /// How many samples.
    pub count: u64,
    /// Topic, or why.
    pub text: String,
}

impl Event {
    /// As it stands in a message.
    ///
    /// # Errors
    /// What cannot be serialized.
    pub fn to_octets(&self) -> Result<Vec<u8>, CdrError> {
        let mut octets = Vec::new();
        to_payload(self, Representation::Xcdr2, &mut octets)?;
        Ok(octets)
    }

    /// The reverse of [`to_octets`](Self::to_octets).
    ///
    /// # Errors
    /// Octets that are no event.
    pub fn from_octets(octets: &[u8]) -> Result<Self, CdrError> {
        from_payload(octets, &Limits::default())
    }

    /// The type, for the schema.
    pub(crate) fn idl() -> String {
        let (graph, root) = dunlin::xtypes::from_description(description::<Self>());
        dunlin::xtypes::to_idl(&graph, root)
    }

    pub(crate) fn original(&self) -> Option<SampleIdentity> {
        identity(self.original_writer, self.original_number)
    }

    pub(crate) fn related(&self) -> Option<SampleIdentity> {
        identity(self.related_writer, self.related_number)
    }
}

fn identity(writer: [u8; 16], number: i64) -> Option<SampleIdentity> {
    let named = SampleIdentity { writer: Guid::from_bytes(writer), sequence_number: SequenceNumber(number) };
    (number > 0 && writer != [0; 16]).then_some(named)
}

/// The parts of an identity as an event has them.
pub(crate) fn parts(named: Option<SampleIdentity>) -> ([u8; 16], i64) {
    named.map_or(([0; 16], 0), |named| (named.writer.to_bytes(), named.sequence_number.0))
}
