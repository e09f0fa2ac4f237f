//! From the events of the engine to the entities they concern.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, Weak};

use dunlin_core::{EntityId, Guid, Misbehaviour};
use dunlin_discovery::DiscoveryProblem;
use dunlin_driver::{EventSink, machine};
use dunlin_engine::Event;
use dunlin_qos::{DurabilityKind, ReliabilityKind};

use super::ParticipantInner;
use crate::cause::{Cause, WhyLog};
use crate::mutex::lock;
use crate::reader_inner::ReaderInner;
use crate::signal::Signal;
use crate::topic::TopicInner;
use crate::writer_inner::WriterInner;

/// Entities by id. Weak, so that an event never keeps an entity alive that the application dropped.
#[derive(Default)]
pub(crate) struct Sink {
    writers: RwLock<BTreeMap<EntityId, Weak<WriterInner>>>,
    readers: RwLock<BTreeMap<EntityId, Weak<ReaderInner>>>,
    why: WhyLog,
    /// The topics of deleted writers that wait for their readers.
    closing: Mutex<BTreeMap<EntityId, String>>,
    participant: OnceLock<Weak<ParticipantInner>>,
    /// Raised when a writer that was deleted is gone.
    pub closed: Signal,
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

fn problem_cause(problem: &DiscoveryProblem) -> Cause {
    match problem {
        DiscoveryProblem::OneSided(participant) => Cause::one_sided(participant),
        DiscoveryProblem::GroupsSilent(standing) => Cause::multicast(standing),
        DiscoveryProblem::OtherDomain { count } => Cause::OtherDomain { announcements: *count },
        DiscoveryProblem::ParticipantsRefused { count } => {
            Cause::Quota { participants: *count, endpoints: 0 }
        }
        DiscoveryProblem::EndpointsRefused { count } => Cause::Quota { participants: 0, endpoints: *count },
    }
}

impl Sink {
    pub(crate) fn add_writer(&self, id: EntityId, core: &Arc<WriterInner>) {
        change(&self.writers, id, Some(core));
    }

    pub(crate) fn add_reader(&self, id: EntityId, core: &Arc<ReaderInner>) {
        change(&self.readers, id, Some(core));
    }

    pub(crate) fn writers(&self) -> Vec<Arc<WriterInner>> {
        let writers = self.writers.read().unwrap_or_else(PoisonError::into_inner);
        writers.values().filter_map(Weak::upgrade).collect()
    }

    pub(crate) fn readers(&self) -> Vec<Arc<ReaderInner>> {
        let readers = self.readers.read().unwrap_or_else(PoisonError::into_inner);
        readers.values().filter_map(Weak::upgrade).collect()
    }

    pub(crate) fn remove_writer(&self, id: EntityId) {
        change(&self.writers, id, None);
    }

    /// A writer of this topic was deleted: from now on only its end is reported.
    pub(crate) fn begin_to_close(&self, id: EntityId, topic: &str) {
        self.remove_writer(id);
        lock(&self.closing).insert(id, topic.to_owned());
    }

    /// It is gone. Its topic, if that was not known before.
    pub(crate) fn has_closed(&self, id: EntityId) -> Option<String> {
        lock(&self.closing).remove(&id)
    }

    /// Says of a writer that ends how many of its changes nobody was there for, of how many.
    pub(crate) fn note_unheard(&self, topic: &str, unheard: u64, written: u64) {
        self.why.unheard(machine::mono(), topic, unheard, written);
    }

    /// Says of an endpoint that it is as durable as its writer at most.
    pub(crate) fn note_durability(&self, what: &'static str, topic: &str, kind: DurabilityKind) {
        self.why.without_service(machine::mono(), what, topic, kind);
    }

    fn topic_of(&self, id: EntityId) -> Option<Arc<TopicInner>> {
        let of_writer = || find(&self.writers, id).map(|core| Arc::clone(&core.topic));
        of_writer().or_else(|| find(&self.readers, id).map(|core| Arc::clone(&core.topic)))
    }

    pub(crate) fn writer(&self, id: EntityId) -> Option<Arc<WriterInner>> {
        find(&self.writers, id)
    }

    pub(crate) fn reader(&self, id: EntityId) -> Option<Arc<ReaderInner>> {
        find(&self.readers, id)
    }

    pub(crate) fn set_participant(&self, participant: &Arc<ParticipantInner>) {
        let _ = self.participant.set(Arc::downgrade(participant));
    }

    /// Brings built-in topics, statistics and whoever waits for a topic up to date.
    fn note_discovery(&self, event: &Event) {
        let concerns_data = matches!(
            event,
            Event::DataAvailable { .. }
                | Event::SpaceFreed { .. }
                | Event::AckAdvanced { .. }
                | Event::WriterClosed { .. }
                | Event::WriterKnowsReader { .. }
        );
        if concerns_data {
            return;
        }
        if let Some(participant) = self.participant.get().and_then(Weak::upgrade) {
            participant.on_discovery(event);
            participant.follow_statistics(event);
        }
    }

    /// Tells in the log why endpoints do not match.
    fn warn(&self, event: &Event) {
        let (local, remote, causes) = match event {
            Event::OfferedIncompatibleQos { writer: local, remote, policies }
            | Event::RequestedIncompatibleQos { reader: local, remote, policies } => {
                (*local, *remote, policies.iter().cloned().map(Cause::from).collect())
            }
            Event::OtherPartition { local, remote, publisher, subscriber, .. } => {
                let (publisher, subscriber) = (publisher.clone(), subscriber.clone());
                (*local, *remote, vec![Cause::Partition { publisher, subscriber }])
            }
            // Endpoints are told of, not topics.
            Event::InconsistentTopic { local: EntityId::PARTICIPANT, .. } => return,
            Event::InconsistentTopic { local, remote, type_name, reasons, .. } => {
                let cause = match &**reasons {
                    [] => self.type_cause(*local, type_name),
                    reasons => Cause::type_members(reasons),
                };
                (*local, *remote, vec![cause])
            }
            Event::ReaderActivity { writer, remote, active: false } => {
                return self.warn_inactive(*writer, *remote);
            }
            Event::PublicationMatched { writer: local, remote, added: true, .. }
            | Event::SubscriptionMatched { reader: local, remote, added: true, .. }
            | Event::NoPlaceLeft { local, remote } => {
                return self.warn_unreachable(*local, *remote);
            }
            Event::FromFuture { reader, remote, ahead } => {
                if let Some(core) = self.reader(*reader) {
                    self.why.future_timestamp(machine::mono(), *reader, &core.topic.name, *remote, *ahead);
                }
                return;
            }
            Event::OverQuota { reader, reason } => {
                if let Some(core) = self.reader(*reader) {
                    self.why.over_quota(machine::mono(), *reader, &core.topic.name, *reason);
                }
                return;
            }
            // These have warnings that say more.
            Event::Misbehaviour { what: Misbehaviour::OverQuota | Misbehaviour::FromFuture, .. } => return,
            Event::Misbehaviour { participant, what, count } => {
                return self.why.misbehaviour(machine::mono(), *participant, *what, *count);
            }
            Event::DiscoveryProblem(problem) => {
                let cause = problem_cause(problem);
                return self.why.warn(machine::mono(), EntityId::PARTICIPANT, &cause, "discovery");
            }
            _ => return,
        };
        // Of what the application has not made, or has deleted, it need not know.
        let Some(topic) = self.topic_of(local).map(|topic| topic.name.clone()) else { return };
        let (here, there) = if local.is_writer() { ("writer", "reader") } else { ("reader", "writer") };
        let subject = format!("topic '{topic}': {here} {local} does not match {there} {remote}");
        for cause in &causes {
            self.why.warn(machine::mono(), local, cause, &subject);
        }
    }

    fn warn_inactive(&self, writer: EntityId, remote: Guid) {
        let Some(core) = self.writer(writer) else { return };
        let readers = core.slot().map(|slot| slot.matched_readers()).unwrap_or_default();
        let reader = readers.iter().find(|reader| reader.guid == remote);
        let locators =
            reader.map(|reader| reader.unicast.iter().chain(reader.multicast.iter()).copied().collect());
        let subject = format!("topic '{}': writer {writer} and reader {remote}", core.topic.name);
        let cause = Cause::Inactive { locators: locators.unwrap_or_default() };
        self.why.warn(machine::mono(), writer, &cause, subject);
    }

    /// A match that leads nowhere: what has to go to the other side cannot.
    fn warn_unreachable(&self, local: EntityId, remote: Guid) {
        let Some(participant) = self.participant.get().and_then(Weak::upgrade) else { return };
        let Some(topic) = self.topic_of(local) else { return };
        if !self.cannot_reach(participant.engine(), local, remote) {
            return;
        }
        self.why.warn_of(machine::mono(), local, "UNREACHABLE", || {
            let topic = &topic.name;
            let (here, there) = if local.is_writer() { ("writer", "reader") } else { ("reader", "writer") };
            let subject = format!("topic '{topic}': {here} {local} and {there} {remote}");
            (Cause::unreachable(participant.engine(), remote), subject)
        });
    }

    /// Whether an endpoint of another participant, to which something has to go, has no place left.
    fn cannot_reach(&self, engine: &dunlin_engine::Participant, local: EntityId, remote: Guid) -> bool {
        if local.is_writer() {
            let reader = engine.find_reader(remote);
            return reader.is_some_and(|reader| reader.unicast.is_empty() && reader.multicast.is_empty());
        }
        // Nothing goes from a best-effort reader to its writers.
        let answers = |core: Arc<ReaderInner>| core.qos().reliability.kind == ReliabilityKind::Reliable;
        let writer = engine.find_writer(remote);
        writer.is_some_and(|writer| writer.unicast.is_empty() && writer.multicast.is_empty())
            && self.reader(local).is_some_and(answers)
    }

    /// How the type of a remote endpoint differs from that of the local one.
    fn type_cause(&self, local: EntityId, remote: &str) -> Cause {
        let topic = self.topic_of(local);
        let own = topic.as_ref().map_or("", |topic| &topic.type_name);
        let keyed = topic.as_ref().is_some_and(|topic| topic.keyed);
        match (own == remote, local.is_writer()) {
            (true, is_writer) => Cause::TypeKey { writer_is_keyed: keyed == is_writer },
            (false, true) => Cause::TypeName { writer: own.into(), reader: remote.into() },
            (false, false) => Cause::TypeName { writer: remote.into(), reader: own.into() },
        }
    }

    pub(crate) fn remove_reader(&self, id: EntityId) {
        change(&self.readers, id, None);
    }
}

impl EventSink for Sink {
    fn on_event(&self, event: &Event) {
        self.warn(event);
        self.note_discovery(event);
        match event {
            Event::DataAvailable { reader }
            | Event::SubscriptionMatched { reader, .. }
            | Event::RequestedIncompatibleQos { reader, .. }
            | Event::SampleLost { reader, .. }
            | Event::SampleRejected { reader, .. }
            | Event::RequestedDeadlineMissed { reader, .. }
            | Event::LivelinessChanged { reader, .. }
            | Event::WriterKnowsReader { reader }
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
            | Event::ReaderActivity { writer, .. }
            | Event::LivelinessLost { writer } => {
                if let Some(core) = find(&self.writers, *writer) {
                    core.on_event(event);
                }
            }
            Event::ContentFiltersDropped { writer, participant } => {
                if let Some(topic) = self.topic_of(*writer).map(|topic| topic.name.clone()) {
                    self.why.filters_dropped(machine::mono(), &topic, *participant);
                }
            }
            Event::WriterClosed { writer, unacknowledged } => {
                if let Some(topic) = self.has_closed(*writer) {
                    self.why.unacknowledged(machine::mono(), &topic, *unacknowledged);
                }
                self.closed.raise();
            }
            Event::InconsistentTopic { local, remote, topic_name, .. } => {
                let participant = self.participant.get().and_then(Weak::upgrade);
                let Some(participant) = participant else { return };
                let name = match self.topic_of(*local) {
                    Some(topic) => topic.name.clone(),
                    None => topic_name.to_string(),
                };
                // All that this participant has of the name are as inconsistent with it.
                participant.topics_of(&name).iter().for_each(|topic| topic.on_inconsistent(*remote));
            }
            Event::WriterLost(guid) | Event::ReaderLost(guid) => {
                let participant = self.participant.get().and_then(Weak::upgrade);
                let topics = participant.map(|participant| participant.topics()).unwrap_or_default();
                topics.iter().for_each(|topic| topic.forget_other(*guid));
            }
            Event::ParticipantDiscovered(participant) => dunlin_driver::log!(
                DEBUG,
                "discovered participant {} ({})",
                participant.guid_prefix,
                participant.vendor.name()
            ),
            Event::ParticipantLost { prefix, reason } => {
                dunlin_driver::log!(DEBUG, "participant {prefix} is gone: {reason:?}");
            }
            _ => {}
        }
    }
}
