//! Samples in a reader's cache and what is handed out of them (DDS 1.4 §2.2.2.5.5 SampleInfo).

use alloc::boxed::Box;

use dunlin_buf::SharedBytes;
use dunlin_core::{Guid, Identities, InstanceHandle, SampleIdentity, SequenceNumber, VendorId, WallTime};

use super::instance::Instance;
use super::states::{InstanceState, SampleState, ViewState};
use crate::list::{Links, linked};
use crate::slab::Id;

/// Information on a sample, in the state of the moment of the call (DDS 1.4 §2.2.2.5.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SampleInfo {
    /// Whether the sample was read before.
    pub sample_state: SampleState,
    /// Whether the instance was seen since it last became alive.
    pub view_state: ViewState,
    /// Whether the instance is alive.
    pub instance_state: InstanceState,
    /// How often the instance had come back from disposal when the sample was received.
    pub disposed_generation_count: u32,
    /// How often the instance had come back from having no writers when the sample was received.
    pub no_writers_generation_count: u32,
    /// How many samples of the instance follow in the same collection.
    pub sample_rank: u32,
    /// Generations between this sample and the last one of the instance in the collection.
    pub generation_rank: u32,
    /// Generations between this sample and the instance as it is now.
    pub absolute_generation_rank: u32,
    /// Time of writing; time of reception when the message carried none.
    pub source_timestamp: WallTime,
    /// Time of reception.
    pub reception_timestamp: WallTime,
    /// The instance.
    pub instance_handle: InstanceHandle,
    /// The writer.
    pub publication_handle: InstanceHandle,
    /// Position in the writer's stream; 0 when the change of state did not come from a message.
    pub sequence_number: SequenceNumber,
    /// The request that the sample answers, if its writer said so (DDS-RPC 1.0 §7.8.2).
    pub related_sample: Option<SampleIdentity>,
    /// What the sample was before a service passed it on, if its writer said so (RTPS 2.5 §9.6.4,
    /// PID_ORIGINAL_WRITER_INFO).
    pub original_sample: Option<SampleIdentity>,
    /// Whether there is data: if not, only the key and the state of the instance have a meaning.
    pub valid_data: bool,
}

impl SampleInfo {
    /// What the sample was called first: [`original_sample`](Self::original_sample), or else its [`identity`](Self::identity).
    /// All copies of a sample have it in common, whichever way they came.
    #[must_use]
    pub fn origin(&self) -> SampleIdentity {
        self.original_sample.unwrap_or_else(|| self.identity())
    }

    /// What the sample is called by the writer it came from.
    #[must_use]
    pub fn identity(&self) -> SampleIdentity {
        SampleIdentity { writer: self.publication_handle.to_guid(), sequence_number: self.sequence_number }
    }
}

/// A sample as read or taken. Its bytes stay valid whatever happens to the cache.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CachedSample {
    /// Its information.
    pub info: SampleInfo,
    /// The serialized value with encapsulation header; present if `info.valid_data`.
    pub payload: Option<SharedBytes>,
    /// For a sample without data, the serialized key with encapsulation header, if it is known.
    pub key: Option<SharedBytes>,
    /// Whose implementation serialized the value or key; unknown if it is as the standard says.
    pub vendor: VendorId,
}

/// What a query sees of a sample.
#[derive(Clone, Copy, Debug)]
pub struct SampleData<'a> {
    /// The instance.
    pub instance: InstanceHandle,
    /// The serialized value; `None` for a sample without data.
    pub payload: Option<&'a SharedBytes>,
    /// The serialized key of the instance, if it is known.
    pub key: Option<&'a SharedBytes>,
    /// Whose implementation serialized the value, or without one the key.
    pub vendor: VendorId,
    /// The writer that the sample came from.
    pub writer: Guid,
    /// Position in the writer's stream; 0 when the change of state did not come from a message.
    pub sequence_number: SequenceNumber,
}

/// Orders samples by source timestamp so that all readers agree (DDS 1.4 §2.2.3.17).
pub(super) type OrderKey = (WallTime, Guid, SequenceNumber);

/// The place of a sample in that order. A copy that a service passed on has that of the original: it does not matter which of them
/// a reader got.
pub(super) fn order_key(
    source: WallTime,
    (writer, sn): (Guid, SequenceNumber),
    original: Option<&SampleIdentity>,
) -> OrderKey {
    original.map_or((source, writer, sn), |named| (source, named.writer, named.sequence_number))
}

/// What a sample with this payload counts for the quota.
#[inline]
pub(super) fn octets_of(payload: Option<&SharedBytes>) -> usize {
    payload.map_or(0, |payload| payload.len()).saturating_add(size_of::<Sample>())
}

/// As they are kept with a sample.
pub(super) fn boxed(identities: Identities) -> Option<Box<Identities>> {
    (!identities.is_empty()).then(|| Box::new(identities))
}

/// List of the samples of an instance, in the order in which they are shown.
pub(super) const OF_INSTANCE: usize = 0;
/// List of all samples by arrival.
pub(super) const ARRIVAL: usize = 1;
/// List of all samples that were not read, by arrival.
pub(super) const UNREAD: usize = 2;

#[derive(Debug)]
pub(super) struct Sample {
    pub(super) instance: Id,
    pub(super) writer: Guid,
    pub(super) sn: SequenceNumber,
    pub(super) source: WallTime,
    pub(super) reception: WallTime,
    /// `None` for a sample without data.
    pub(super) payload: Option<SharedBytes>,
    /// Boxed, as few samples name others.
    pub(super) identities: Option<Box<Identities>>,
    pub(super) vendor: VendorId,
    pub(super) read: bool,
    /// Held back by the time-based filter: in no list.
    pub(super) pending: bool,
    /// The end of an instance that it stands for, where every change is shown: then it takes room like data.
    pub(super) end: Option<InstanceState>,
    pub(super) disposed_generations: u32,
    pub(super) no_writers_generations: u32,
    pub(super) of_instance: Links,
    pub(super) arrival: Links,
    pub(super) unread: Links,
}
linked!(Sample, OF_INSTANCE, of_instance);
linked!(Sample, ARRIVAL, arrival);
linked!(Sample, UNREAD, unread);

impl Sample {
    pub(super) fn key(&self) -> OrderKey {
        let original = self.identities.as_ref().and_then(|named| named.original.as_ref());
        order_key(self.source, (self.writer, self.sn), original)
    }

    pub(super) const fn valid(&self) -> bool {
        self.payload.is_some()
    }

    /// Whether it counts for RESOURCE_LIMITS and HISTORY.
    pub(super) const fn takes_room(&self) -> bool {
        self.payload.is_some() || self.end.is_some()
    }

    /// What it counts for the quota.
    pub(super) fn octets(&self) -> usize {
        if self.takes_room() { octets_of(self.payload.as_ref()) } else { 0 }
    }

    /// Who serialized the value, or if there is none the key of the instance.
    pub(super) fn vendor_of(&self, instance: Option<&Instance>) -> VendorId {
        match instance {
            Some(instance) if !self.valid() => instance.key_vendor,
            _ => self.vendor,
        }
    }

    pub(super) const fn generations(&self) -> u32 {
        self.disposed_generations.saturating_add(self.no_writers_generations)
    }

    pub(super) const fn state(&self) -> SampleState {
        if self.read { SampleState::Read } else { SampleState::NotRead }
    }
}
