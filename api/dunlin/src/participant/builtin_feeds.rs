//! From discovery to the readers of the built-in topics.
//!
//! An event only says what to look at. Published is what discovery knows at that moment, so that events which overtake
//! each other on two threads leave nothing behind.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};

use dunlin_buf::SharedBytes;
use dunlin_cdr::{DdsType, Representation, TypeSupportOf};
use dunlin_core::{Guid, GuidPrefix, InstanceHandle, Now};
use dunlin_engine::{Event, Output, Participant, WriteRequest};
use dunlin_qos::{DataReaderQos, TopicQos};
use dunlin_rtps::ChangeKind;

use super::ParticipantInner;
use crate::builtin::{
    DCPS_PARTICIPANT, DCPS_PUBLICATION, DCPS_SUBSCRIPTION, DCPS_TOPIC, DcpsParticipant, DcpsPublication,
    DcpsSubscription, DcpsTopic, topic_of_reader, topic_of_writer,
};
use crate::mutex::lock;
use crate::reader_inner::{ReaderInner, TopicSource};
use crate::subscriber_state::SubscriberState;
use crate::topic::TopicInner;

/// The built-in subscriber.
type Builtin = SubscriberState<ReaderInner>;

/// The readers of the four topics, as far as the application has asked for them.
#[derive(Default)]
pub(crate) struct BuiltinFeeds {
    subscriber: Option<Arc<Builtin>>,
    participants: Feed,
    topics: Feed,
    publications: Feed,
    subscriptions: Feed,
    /// The topic of each endpoint, and the endpoints of each topic.
    topic_of: BTreeMap<Guid, InstanceHandle>,
    endpoints_of: BTreeMap<InstanceHandle, BTreeSet<Guid>>,
}

/// One topic.
#[derive(Default)]
struct Feed {
    reader: Weak<ReaderInner>,
    /// What was published last: the serialized sample and key of each instance.
    published: BTreeMap<InstanceHandle, (SharedBytes, SharedBytes)>,
}

/// A serialized sample and its serialized key.
fn serialize<T: DdsType>(sample: &T) -> Option<(SharedBytes, SharedBytes)> {
    let (mut payload, mut key) = (Vec::new(), Vec::new());
    dunlin_cdr::to_payload(sample, Representation::Xcdr1, &mut payload).ok()?;
    dunlin_cdr::key_payload(sample, Representation::Xcdr1, &mut key).ok()?;
    Some((payload.into(), key.into()))
}

impl Feed {
    fn is_used(&self) -> bool {
        self.reader.strong_count() > 0
    }

    /// Brings an instance up to date: `sample` is what is to be known of it, or `None` when it is gone.
    fn publish<T: DdsType>(&mut self, now: Now, handle: InstanceHandle, sample: Option<T>, out: &mut Output) {
        let Some(reader) = self.reader.upgrade().filter(|reader| !reader.is_deleted()) else { return };
        let Some(slot) = reader.slot() else { return };
        let before = self.published.get(&handle);
        let (kind, payload) = match (sample.as_ref().and_then(serialize), before) {
            (Some(new), Some(before)) if *before == new => return,
            (Some(new), _) => {
                let payload = new.0.clone();
                self.published.insert(handle, new);
                (ChangeKind::Alive, payload)
            }
            (None, _) => {
                let Some((_, key)) = self.published.remove(&handle) else { return };
                (ChangeKind::DisposedUnregistered, key)
            }
        };
        slot.deliver(now, WriteRequest { kind, instance: handle, source_timestamp: None, payload }, out);
    }
}

impl BuiltinFeeds {
    fn is_used(&self) -> bool {
        let feeds = [&self.participants, &self.topics, &self.publications, &self.subscriptions];
        feeds.iter().any(|feed| feed.is_used())
    }

    fn feed(&mut self, topic: &str) -> Option<&mut Feed> {
        match topic {
            DCPS_PARTICIPANT => Some(&mut self.participants),
            DCPS_TOPIC => Some(&mut self.topics),
            DCPS_PUBLICATION => Some(&mut self.publications),
            DCPS_SUBSCRIPTION => Some(&mut self.subscriptions),
            _ => None,
        }
    }

    fn look_at_participant(&mut self, engine: &Participant, now: Now, prefix: GuidPrefix, out: &mut Output) {
        let data = engine.find_participant(prefix);
        let handle = Guid::new(prefix, dunlin_core::EntityId::PARTICIPANT).into();
        self.participants.publish(now, handle, data.map(|data| DcpsParticipant::from(&*data)), out);
    }

    fn look_at_endpoint(&mut self, engine: &Participant, now: Now, guid: Guid, out: &mut Output) {
        if guid.prefix == engine.guid_prefix() {
            return;
        }
        let names = if guid.entity_id.is_writer() {
            let data = engine.find_writer(guid);
            let sample = data.as_ref().map(|data| DcpsPublication::from(&**data));
            self.publications.publish(now, guid.into(), sample, out);
            data.map(|data| (data.topic_name.clone(), data.type_name.clone()))
        } else {
            let data = engine.find_reader(guid);
            let sample = data.as_ref().map(|data| DcpsSubscription::from(&**data));
            self.subscriptions.publish(now, guid.into(), sample, out);
            data.map(|data| (data.topic_name.clone(), data.type_name.clone()))
        };
        let topic = names.map(|(name, type_name)| DcpsTopic::key_of(&name, &type_name).handle());
        let before = match topic {
            Some(topic) => self.topic_of.insert(guid, topic),
            None => self.topic_of.remove(&guid),
        };
        if let Some(left) = before.filter(|before| Some(*before) != topic) {
            if let Some(endpoints) = self.endpoints_of.get_mut(&left) {
                endpoints.remove(&guid);
            }
            self.look_at_topic(engine, now, left, out);
        }
        if let Some(topic) = topic {
            self.endpoints_of.entry(topic).or_default().insert(guid);
            self.look_at_topic(engine, now, topic, out);
        }
    }

    fn look_at_topic(&mut self, engine: &Participant, now: Now, topic: InstanceHandle, out: &mut Output) {
        let endpoints = self.endpoints_of.get(&topic);
        let sample = endpoints.and_then(|all| all.iter().find_map(|guid| topic_sample(engine, *guid)));
        if endpoints.is_some_and(BTreeSet::is_empty) {
            self.endpoints_of.remove(&topic);
        }
        self.topics.publish(now, topic, sample, out);
    }

    /// Looks at everything there is.
    fn fill(&mut self, engine: &Participant, now: Now, out: &mut Output) {
        for participant in engine.discovered_participants() {
            self.look_at_participant(engine, now, participant.guid_prefix, out);
        }
        let writers = engine.discovered_writers().into_iter().map(|writer| writer.guid);
        let readers = engine.discovered_readers().into_iter().map(|reader| reader.guid);
        for guid in writers.chain(readers).collect::<Vec<_>>() {
            self.look_at_endpoint(engine, now, guid, out);
        }
    }
}

/// The topic of an endpoint.
pub(crate) fn topic_sample(engine: &Participant, guid: Guid) -> Option<DcpsTopic> {
    if guid.entity_id.is_writer() {
        let data = engine.find_writer(guid)?;
        return Some(DcpsTopic::new(&data.topic_name, &data.type_name, &topic_of_writer(&data)));
    }
    let data = engine.find_reader(guid)?;
    Some(DcpsTopic::new(&data.topic_name, &data.type_name, &topic_of_reader(&data)))
}

/// RELIABLE, TRANSIENT_LOCAL, KEEP_LAST 1 (DDS 1.4 §2.2.5).
fn builtin_qos() -> DataReaderQos {
    DataReaderQos::default().reliable().transient_local().keep_last(1)
}

fn make<T: DdsType>(
    participant: &Arc<ParticipantInner>,
    subscriber: &Arc<Builtin>,
    name: &str,
) -> ReaderInner {
    let (weak, handle) = (Arc::downgrade(participant), participant.topic_handle());
    let topic = Arc::new(TopicInner::new::<T>(weak, handle, name, &TopicQos::default(), None));
    let source = TopicSource::of_topic(&topic);
    let types = Arc::new(TypeSupportOf::<T>::default());
    ReaderInner::new(Arc::clone(participant), source, Arc::clone(subscriber), types, builtin_qos(), None)
}

/// The reader of a built-in topic, made now if there is none.
pub(crate) fn builtin_reader(
    participant: &Arc<ParticipantInner>,
    subscriber: &Arc<Builtin>,
    name: &str,
) -> Option<Arc<ReaderInner>> {
    let core = Arc::new(match name {
        DCPS_PARTICIPANT => make::<DcpsParticipant>(participant, subscriber, name),
        DCPS_TOPIC => make::<DcpsTopic>(participant, subscriber, name),
        DCPS_PUBLICATION => make::<DcpsPublication>(participant, subscriber, name),
        DCPS_SUBSCRIPTION => make::<DcpsSubscription>(participant, subscriber, name),
        _ => return None,
    });
    core.enable_private().ok()?;
    let used = participant.run(|engine, now, out| {
        let mut feeds = lock(&participant.builtin);
        if !feeds.is_used() {
            // Nobody kept these up to date.
            feeds.topic_of.clear();
            feeds.endpoints_of.clear();
        }
        let feed = feeds.feed(name)?;
        if let Some(known) = feed.reader.upgrade().filter(|known| !known.is_deleted()) {
            return Some(known);
        }
        *feed = Feed { reader: Arc::downgrade(&core), published: BTreeMap::new() };
        feeds.fill(engine, now, out);
        Some(Arc::clone(&core))
    })?;
    if Arc::ptr_eq(&used, &core) {
        subscriber.add(&core);
    }
    Some(used)
}

impl ParticipantInner {
    /// get_builtin_subscriber.
    pub(crate) fn builtin_state(&self, make: impl FnOnce() -> Arc<Builtin>) -> Arc<Builtin> {
        Arc::clone(lock(&self.builtin).subscriber.get_or_insert_with(make))
    }

    /// With its participant.
    pub(crate) fn delete_builtin_subscriber(&self) {
        // Outside of the lock, as events of the engine take it.
        let subscriber = lock(&self.builtin).subscriber.clone();
        if let Some(subscriber) = subscriber {
            subscriber.delete_readers();
            subscriber.entity.delete();
        }
    }

    /// Brings built-in topics and whoever waits for a topic up to date.
    pub(crate) fn on_discovery(&self, event: &Event) {
        enum Subject {
            Participant(GuidPrefix),
            Endpoint(Guid),
        }
        let subject = match event {
            Event::ParticipantDiscovered(data) | Event::ParticipantUpdated(data) => {
                Subject::Participant(data.guid_prefix)
            }
            Event::ParticipantLost { prefix, .. } => Subject::Participant(*prefix),
            Event::WriterDiscovered(data) | Event::WriterUpdated(data) => Subject::Endpoint(data.guid),
            Event::ReaderDiscovered(data) | Event::ReaderUpdated(data) => Subject::Endpoint(data.guid),
            Event::WriterLost(guid) | Event::ReaderLost(guid) => Subject::Endpoint(*guid),
            _ => return,
        };
        // What `find_topic` and `wait_for_durability_service` wait for.
        if matches!(subject, Subject::Endpoint(_) | Subject::Participant(_)) {
            self.entity.signal.raise();
        }
        if !lock(&self.builtin).is_used() {
            return;
        }
        self.run(|engine, now, out| {
            let mut feeds = lock(&self.builtin);
            match subject {
                Subject::Participant(prefix) => feeds.look_at_participant(engine, now, prefix, out),
                Subject::Endpoint(guid) => feeds.look_at_endpoint(engine, now, guid, out),
            }
        });
    }
}
