//! The publishers and subscribers of a participant, the QoS of those to come, and handles (DDS 1.4 §2.2.2.2.1).

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};

use dunlin_core::{EntityId, EntityKind, Guid, InstanceHandle};
use dunlin_qos::{PublisherQos, SubscriberQos, TopicQos};

use super::ParticipantInner;
use crate::error::CreateEntityError;
use crate::mutex::lock;
use crate::publisher_state::PublisherState;
use crate::reader_inner::ReaderInner;
use crate::subscriber_state::SubscriberState;
use crate::writer_inner::WriterInner;

/// The kind of topics in entity ids: one of those that vendors may choose (RTPS 2.5 §9.3.1.2).
const TOPIC_KIND: u8 = 0x45;

/// Publishers and subscribers of a participant, and the QoS of those to come.
#[derive(Default)]
pub(crate) struct Contents {
    publishers: Mutex<Vec<Weak<PublisherState<WriterInner>>>>,
    subscribers: Mutex<Vec<Weak<SubscriberState<ReaderInner>>>>,
    last_handle: AtomicU32,
    pub(crate) defaults: Mutex<Defaults>,
}

#[derive(Default)]
pub(crate) struct Defaults {
    pub(crate) topic: TopicQos,
    pub(crate) publisher: PublisherQos,
    pub(crate) subscriber: SubscriberQos,
}

fn live<T>(list: &Mutex<Vec<Weak<T>>>) -> Vec<Arc<T>> {
    lock(list).iter().filter_map(Weak::upgrade).collect()
}

fn add<T>(list: &Mutex<Vec<Weak<T>>>, one: &Arc<T>) {
    let mut list = lock(list);
    list.retain(|known| known.strong_count() > 0);
    list.push(Arc::downgrade(one));
}

impl ParticipantInner {
    fn handle(&self, kind: u8) -> InstanceHandle {
        let [_, a, b, c] =
            self.contents.last_handle.fetch_add(1, Ordering::Relaxed).wrapping_add(1).to_be_bytes();
        Guid::new(self.engine().guid_prefix(), EntityId([a, b, c, kind])).into()
    }

    /// A handle for a publisher or subscriber.
    pub(crate) fn next_handle(&self, kind: EntityKind) -> InstanceHandle {
        self.handle(if kind == EntityKind::WriterGroup { 0x08 } else { 0x09 })
    }

    pub(crate) fn topic_handle(&self) -> InstanceHandle {
        self.handle(TOPIC_KIND)
    }

    /// What a participant created can be enabled when it is.
    pub(crate) fn check_enabled(&self) -> Result<(), CreateEntityError> {
        if self.entity.is_enabled() { Ok(()) } else { Err(CreateEntityError::FactoryNotEnabled) }
    }

    pub(crate) fn add_publisher(&self, group: &Arc<PublisherState<WriterInner>>) {
        add(&self.contents.publishers, group);
    }

    pub(crate) fn add_subscriber(&self, group: &Arc<SubscriberState<ReaderInner>>) {
        add(&self.contents.subscribers, group);
    }

    pub(crate) fn publishers(&self) -> Vec<Arc<PublisherState<WriterInner>>> {
        live(&self.contents.publishers).into_iter().filter(|group| !group.entity.is_deleted()).collect()
    }

    pub(crate) fn subscribers(&self) -> Vec<Arc<SubscriberState<ReaderInner>>> {
        live(&self.contents.subscribers).into_iter().filter(|group| !group.entity.is_deleted()).collect()
    }
}
