//! RTPS 2.5 §8.2.3 "The RTPS HistoryCache" as a reader sees it: where received changes go.

use dunlin_buf::SharedBytes;
use dunlin_core::{Guid, Identities, Now, SampleIdentity, SequenceNumber, WallTime};
use dunlin_wire::ParameterList;

use crate::ChangeKind;

/// A change as it arrived, in the order in which its writer's stream is to be seen.
#[derive(Clone, Debug)]
pub struct Received<'a> {
    /// The writer it came from.
    pub writer: Guid,
    /// Its position in the writer's stream.
    pub sn: SequenceNumber,
    /// What it does to its instance. [`ChangeKind::Alive`] without payload carries only its inline QoS (the end of a
    /// coherent set, a sample filtered at the writer).
    pub kind: ChangeKind,
    /// PID_KEY_HASH, a hint that some peers compute differently (RTPS 2.5 §9.6.4.8).
    pub key_hash: Option<[u8; 16]>,
    /// Time from INFO_TS; `None` when the message carried none.
    pub source_timestamp: Option<WallTime>,
    /// Serialized value or key, with encapsulation header.
    pub payload: Option<SharedBytes>,
    /// The payload is a serialized key.
    pub key_only: bool,
    /// All inline QoS of the change.
    pub inline_qos: Option<ParameterList<'a>>,
    /// Which other changes it names.
    pub identities: Identities,
    /// The payload was put together from fragments, so it has a buffer of its own.
    pub reassembled: bool,
}

impl Received<'_> {
    /// What the change was called first: by the writer that a service had it from, or else by its own.
    #[must_use]
    pub fn origin(&self) -> SampleIdentity {
        let own = SampleIdentity { writer: self.writer, sequence_number: self.sn };
        self.identities.original.unwrap_or(own)
    }
}

/// Answer of a [`DeliverySink`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Delivery {
    /// The change was taken, and the application can see it: it is acknowledged, where the application has to
    /// [commit](crate::Reader::commit) it once it has.
    Accepted,
    /// There is nothing to see of it (filtered, not owned, a copy): it is acknowledged.
    Dropped,
    /// There is no room: a reliable reader does not acknowledge it and offers it again in
    /// [`Reader::retry_rejected`](crate::Reader::retry_rejected).
    Rejected,
}

/// Where a reader hands its changes.
pub trait DeliverySink {
    /// Takes the next change of a writer.
    fn deliver(&mut self, now: Now, change: &Received<'_>) -> Delivery;

    /// `count` changes of `writer` can never be delivered (SAMPLE_LOST, DDS 1.4 §2.2.4.1).
    fn lost(&mut self, writer: Guid, count: u64);
}
