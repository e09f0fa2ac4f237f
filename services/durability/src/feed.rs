//! History on its way to one reader.

use std::collections::BTreeSet;

use dunlin::{
    Behaviour, Duration, Guid, InstanceHandle, SequenceNumber, SerializedData, SubscriptionBuiltinTopicData,
    VendorId,
};

use crate::change::{Kind, Payload};
use crate::history::{History, Kept, Place};

/// What a service counts of one topic, since it opened it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Changes that were kept.
    pub kept: u64,
    /// Changes that had been there before.
    pub duplicates: u64,
    /// Changes that were older than what is kept, or whose LIFESPAN had ended.
    pub old: u64,
    /// Readers that were given the history.
    pub served: u64,
    /// Changes that they were given.
    pub given: u64,
    /// Changes that they were not given, because the store has lost or damaged them.
    pub damaged: u64,
}

/// One topic of a service.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TopicState {
    /// Name of the topic.
    pub topic: String,
    /// Its partitions.
    pub partitions: Vec<String>,
    /// PERSISTENT, and not TRANSIENT.
    pub persistent: bool,
    /// Changes that are kept.
    pub samples: usize,
    /// Instances that are known.
    pub instances: usize,
    /// Octets of the values.
    pub octets: u64,
    /// What was counted.
    pub counters: Counters,
    /// Samples that found no room, as the store was busy; they come again.
    pub refused: u64,
}

/// How a reader is given the history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HistoryScope {
    /// All of it: the reader drops what it has had, or keeps it as a service.
    All,
    /// What it cannot have from its writers, and only once: the reader would show copies.
    Once,
    /// What another service lacks.
    Lacking,
}

impl HistoryScope {
    /// What a reader is to get; none if it asks for no history.
    pub(crate) fn of(reader: &SubscriptionBuiltinTopicData) -> Option<Self> {
        let qos = &reader.qos;
        if qos.durability.kind == dunlin::qos::DurabilityKind::Volatile {
            return None;
        }
        let is_service = qos.property.service().is_some_and(|mark| mark.kind == "durability");
        let drops = reader.vendor.does(Behaviour::SpeaksDunlin) && qos.removes_duplicates();
        Some(if is_service || drops { Self::All } else { Self::Once })
    }
}

/// A reader that is being given the history.
pub(crate) struct Feed {
    pub(crate) reader: Guid,
    pub(crate) scope: HistoryScope,
    /// The last change that it was given.
    place: Option<Place>,
    /// What it lacks, if that is what it is given.
    lacking: BTreeSet<Place>,
    /// Instances that it was given.
    pub(crate) instances: BTreeSet<InstanceHandle>,
    /// The last sample of this writer that it was given, and has to acknowledge.
    pub(crate) last: Option<SequenceNumber>,
    /// It was given everything. What comes from now on its writers give it.
    is_given: bool,
    /// How often it was looked at whether it has acknowledged.
    looks: u32,
}

impl Feed {
    pub(crate) fn new(reader: Guid, scope: HistoryScope) -> Self {
        let (lacking, instances) = (BTreeSet::new(), BTreeSet::new());
        Self { reader, scope, place: None, lacking, instances, last: None, is_given: false, looks: 0 }
    }

    /// Adds what another service lacks.
    pub(crate) fn add(&mut self, places: Vec<Place>) {
        self.lacking.extend(places);
    }

    /// What it is given next; none at the end.
    pub(crate) fn next(&mut self, history: &History) -> Option<(Place, Kept)> {
        if self.scope != HistoryScope::Lacking {
            let next = history.after(self.place).filter(|_| !self.is_given);
            self.is_given = next.is_none();
            let (place, _) = next?;
            return history.at(place).map(|kept| (place, kept));
        }
        loop {
            let place = *self.lacking.first()?;
            if let Some(kept) = history.at(place) {
                return Some((place, kept));
            }
            // It has gone meanwhile.
            self.lacking.pop_first();
        }
    }

    /// How long to wait until it is looked again whether it has acknowledged: longer and longer.
    pub(crate) fn next_look(&mut self) -> Duration {
        self.looks = (self.looks + 1).min(7);
        Duration::from_millis(1 << self.looks)
    }

    /// It has been given a change, or is not to be given it.
    pub(crate) fn passed(&mut self, place: Place) {
        self.place = Some(place);
        self.lacking.remove(&place);
    }
}

/// A change as the topic's writer takes it.
pub(crate) fn serialized(
    payload: &Payload,
    (kind, vendor): (Kind, VendorId),
    (instance, opaque): (InstanceHandle, bool),
) -> SerializedData {
    let data = match kind {
        Kind::Data => SerializedData::new(payload.clone()),
        _ => SerializedData::key(payload.clone()),
    };
    let data = data.made_by(vendor);
    if opaque { data.of_instance(instance) } else { data }
}
