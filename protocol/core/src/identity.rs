//! DDS-RPC 1.0 §7.5.1.1.1 SampleIdentity.

use crate::{Guid, SequenceNumber};

/// Names one sample among all of a domain: the writer that wrote it, and its number there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct SampleIdentity {
    /// The writer.
    pub writer: Guid,
    /// The position in the writer's stream.
    pub sequence_number: SequenceNumber,
}
