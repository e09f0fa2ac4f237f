//! A writer as a part of its publisher (DDS 1.4 §2.2.3.6 PRESENTATION; RTPS 2.5 §8.7.5, §8.7.6).

use alloc::sync::Arc;

use dunlin_buf::SharedBytes;
use dunlin_core::{EntityId, SequenceNumber};
use dunlin_wire::HeartbeatGroup;

use crate::group::{Membership, PublisherGroup, SetEnd};

/// What a writer has of a publisher whose changes are numbered or belong together.
pub(super) struct Member {
    group: Arc<PublisherGroup>,
    own: Membership,
}

impl Member {
    pub(super) fn new(group: Arc<PublisherGroup>) -> Self {
        Self { group, own: Membership::default() }
    }

    /// The inline QoS that gives a change its number in the publisher and its set, if it has either.
    pub(super) fn number(&mut self, sn: SequenceNumber) -> Option<SharedBytes> {
        self.group.number(&mut self.own, sn)
    }

    /// The first change of this writer in the coherent set that has begun, if it has a part in it.
    pub(super) fn begun_set(&self) -> Option<SequenceNumber> {
        self.group.begun_by(&self.own)
    }

    /// The first change of the set that ends and the inline QoS of the change that ends it, which will be `sn`; nothing if the
    /// writer had no part in it and need not say so.
    pub(super) fn end(&mut self, end: &SetEnd, sn: SequenceNumber) -> Option<(SequenceNumber, SharedBytes)> {
        self.group.end(&mut self.own, end, sn)
    }

    /// What HEARTBEATs say of the publisher, if they do.
    pub(super) fn report(&self) -> Option<HeartbeatGroup> {
        self.group.report(&self.own)
    }

    /// The writer is deleted.
    pub(super) fn leave(&self, writer: EntityId) {
        self.group.remove_writer(writer, &self.own);
    }
}
