//! From the events of the engine to the entities they concern.

use crate::reader_core::ReaderCore;
use crate::topic::TopicInner;
use crate::writer_core::WriterCore;
use dunlin_core::EntityId;
use dunlin_driver::EventSink;
use dunlin_engine::Event;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, Weak};

/// Entities by id. Weak, so that an event never keeps an entity alive that the application dropped.
#[derive(Default)]
pub(crate) struct Sink {
    writers: RwLock<BTreeMap<EntityId, Weak<WriterCore>>>,
    readers: RwLock<BTreeMap<EntityId, Weak<ReaderCore>>>,
}

fn change<T>(map: &RwLock<BTreeMap<EntityId, Weak<T>>>, id: EntityId, entity: Option<&Arc<T>>) {
    let mut map = map.write().unwrap_or_else(PoisonError::into_inner);
    match entity {
        Some(entity) => map.insert(id, Arc::downgrade(entity)),
        None => map.remove(&id),
    };
}

fn find<T>(map: &RwLock<BTreeMap<EntityId, Weak<T>>>, id: EntityId) -> Option<Arc<T>> {
    map.read().unwrap_or_else(PoisonError::into_inner).get(&id)?.upgrade()
}

impl Sink {
    pub fn add_writer(&self, id: EntityId, core: &Arc<WriterCore>) {
        change(&self.writers, id, Some(core));
    }

    pub fn add_reader(&self, id: EntityId, core: &Arc<ReaderCore>) {
        change(&self.readers, id, Some(core));
    }

    pub fn writers(&self) -> Vec<Arc<WriterCore>> {
        let writers = self.writers.read().unwrap_or_else(PoisonError::into_inner);
        writers.values().filter_map(Weak::upgrade).collect()
    }

    pub fn remove_writer(&self, id: EntityId) {
        change(&self.writers, id, None);
    }

    fn topic_of(&self, id: EntityId) -> Option<Arc<TopicInner>> {
        let of_writer = || find(&self.writers, id).map(|core| Arc::clone(&core.topic));
        of_writer().or_else(|| find(&self.readers, id).map(|core| Arc::clone(&core.topic)))
    }

    pub fn remove_reader(&self, id: EntityId) {
        change(&self.readers, id, None);
    }
}

impl EventSink for Sink {
    fn on_event(&self, event: &Event) {
        match event {
            Event::DataAvailable { reader }
            | Event::SubscriptionMatched { reader, .. }
            | Event::RequestedIncompatibleQos { reader, .. }
            | Event::SampleLost { reader, .. }
            | Event::SampleRejected { reader, .. }
            | Event::RequestedDeadlineMissed { reader, .. }
            | Event::LivelinessChanged { reader, .. }
            | Event::HistoricalComplete { reader } => {
                if let Some(core) = find(&self.readers, *reader) {
                    core.on_event(event);
                }
            }
            Event::SpaceFreed { writer }
            | Event::AckAdvanced { writer }
            | Event::PublicationMatched { writer, .. }
            | Event::OfferedIncompatibleQos { writer, .. }
            | Event::OfferedDeadlineMissed { writer, .. }
            | Event::LivelinessLost { writer } => {
                if let Some(core) = find(&self.writers, *writer) {
                    core.on_event(event);
                }
            }
            Event::InconsistentTopic { local, remote, topic_name, type_name } => {
                if let Some(topic) = self.topic_of(*local) {
                    topic.count_inconsistent();
                }
                tracing::warn!(
                    "topic '{topic_name}': {remote} has type '{type_name}', so it does not match {local}"
                );
            }
            Event::ParticipantDiscovered(participant) => tracing::debug!(
                "discovered participant {} ({})",
                participant.guid_prefix,
                participant.vendor.name()
            ),
            Event::ParticipantLost { prefix, reason } => {
                tracing::debug!("participant {prefix} is gone: {reason:?}");
            }
            _ => {}
        }
    }
}
