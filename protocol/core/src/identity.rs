//! DDS-RPC 1.0 §7.5.1.1.1 SampleIdentity.

use crate::{Guid, GuidPrefix, SequenceNumber};

/// Names one sample among all of a domain: the writer that wrote it, and its number there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct SampleIdentity {
    /// The writer.
    pub writer: Guid,
    /// The position in the writer's stream.
    pub sequence_number: SequenceNumber,
}

impl SampleIdentity {
    /// Whether it can be that of a sample: its writer is known, and its number is one that writers give.
    #[must_use]
    pub fn names_a_sample(self) -> bool {
        self.writer.prefix != GuidPrefix::UNKNOWN && self.sequence_number > SequenceNumber::ZERO
    }
}

/// Which other samples a sample names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Identities {
    /// What the sample was before a service passed it on (RTPS 2.5 §9.6.4, PID_ORIGINAL_WRITER_INFO).
    pub original: Option<SampleIdentity>,
    /// The sample that it answers (DDS-RPC 1.0 §7.8.2).
    pub related: Option<SampleIdentity>,
}

impl Identities {
    /// Whether it names none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.original.is_none() && self.related.is_none()
    }
}
