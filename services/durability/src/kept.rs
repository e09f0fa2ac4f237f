//! One topic of a service: a reader for what writers write, a writer for those who come late, and a history.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dunlin::qos::{ServiceMark, TopicQos};
use dunlin::{
    CreateEntityError, DataReader, DataWriter, DeliveredHistory, DomainParticipant, Duration, GuardCondition,
    Guid, InstanceHandle, InstanceState, Sample, SampleIdentity, SequenceNumber, SerializedData, SharedBytes,
    StatusMask, VendorId, WallTime, WriteError, WriteParams,
};

use crate::aligning::{Message, Peers, Post};
use crate::change::{Change, GroupId, Head, Kind, Payload, Position};
use crate::feed::{Counters, Feed, HistoryScope, serialized};
use crate::history::{Tombstone, Verdict};
use crate::keeper::Keeper;
use crate::store::{Store, StoreError};
use crate::topic::Topic;
use crate::writers::Writers;

/// Samples taken at a time.
const BATCH: usize = 1024;
/// Octets that are taken between two commits, so that a back end that is slow has a commit done before its time is over.
pub(crate) const TURN: usize = 8 << 20;
/// Octets that a sample takes beside its value.
const SAMPLE: usize = 128;
/// Ends that wait to be told to other services. Of what is beyond, the next session tells.
const ENDS: usize = 4096;
/// Changes given to a reader in one turn.
const GIVEN: usize = 2048;

type SerializedTopic = dunlin::Topic<SerializedData>;

/// What tells the service that there is something to do.
#[derive(Clone)]
pub(crate) struct Bell {
    pub(crate) wake: Arc<GuardCondition>,
    pub(crate) news: Arc<AtomicBool>,
}

impl Bell {
    pub(crate) fn discovery(&self) {
        self.news.store(true, Ordering::SeqCst);
        self.wake.set_trigger_value(true);
    }
}

/// What a topic is opened with.
pub(crate) struct Opening<'o> {
    pub(crate) participant: &'o DomainParticipant,
    pub(crate) mark: &'o ServiceMark,
    pub(crate) since: &'o str,
    /// Instances of a topic that are kept.
    pub(crate) instances: usize,
    pub(crate) bell: &'o Bell,
}

pub(crate) struct KeptTopic {
    pub(crate) topic: Topic,
    pub(crate) group: GroupId,
    reader: DataReader<SerializedData>,
    feeder: DataWriter<SerializedData>,
    /// Nothing is known of the type but its name.
    opaque: bool,
    ready: Arc<AtomicBool>,
    batch: Vec<Sample<SerializedData>>,
    /// Octets of the largest sample of the last batch: the next one has as many as have room in a commit.
    largest: usize,
    /// Of each writer the last sample that will be acknowledged with the next commit.
    to_acknowledge: BTreeMap<Guid, SequenceNumber>,
    /// Readers that have matched.
    readers: BTreeSet<Guid>,
    feeds: Vec<Feed>,
    /// Readers that have everything, as they are told.
    given: DeliveredHistory,
    /// Who has everything is to be told anew.
    is_untold: bool,
    /// Other services.
    peers: Peers,
    /// By the reader of another service and the instance: ends that it is to be told.
    ends: BTreeMap<(Guid, InstanceHandle), End>,
    /// Instances that readers think this service writes.
    registered: BTreeSet<InstanceHandle>,
    pub(crate) counters: Counters,
}

/// A keeper over any store.
pub(crate) type AnyKeeper = Keeper<Box<dyn Store>>;

impl KeptTopic {
    pub(crate) fn open(
        topic: Topic,
        group: GroupId,
        opening: &Opening<'_>,
    ) -> Result<Self, CreateEntityError> {
        let Opening { participant, mark, bell, instances, .. } = opening;
        let (of_participant, opaque) = topic_of(participant, &topic)?;
        let feeder = feeder(&of_participant, &topic, opening)?;
        let ready = Arc::new(AtomicBool::new(true));
        let (told, wake) = (Arc::clone(&ready), Arc::clone(&bell.wake));
        let arrived = move |_: &DataReader<SerializedData>| {
            told.store(true, Ordering::SeqCst);
            wake.set_trigger_value(true);
        };
        let subscriber = participant.create_subscriber(&topic.subscriber_qos())?;
        let reader = subscriber.create_datareader_with_listener(
            &of_participant,
            &topic.reader_qos(mark, *instances),
            arrived,
            StatusMask::DATA_AVAILABLE,
        )?;
        Ok(Self {
            topic,
            group,
            reader,
            feeder,
            opaque,
            ready,
            batch: Vec::new(),
            largest: TURN / 16,
            to_acknowledge: BTreeMap::new(),
            readers: BTreeSet::new(),
            feeds: Vec::new(),
            given: DeliveredHistory::default(),
            is_untold: false,
            peers: Peers::default(),
            ends: BTreeMap::new(),
            registered: BTreeSet::new(),
            counters: Counters::default(),
        })
    }

    /// Whether somebody is being given the history.
    pub(crate) const fn is_giving(&self) -> bool {
        !self.feeds.is_empty()
    }

    /// Gives the history as other writers ask for it, while nobody is being given it; the reader, which asks for the same, stays.
    pub(crate) fn renew(&mut self, topic: Topic, opening: &Opening<'_>) -> Result<(), CreateEntityError> {
        let (of_participant, _) = topic_of(opening.participant, &topic)?;
        self.feeder = feeder(&of_participant, &topic, opening)?;
        self.topic = topic;
        // All meet it anew.
        self.readers.clear();
        self.registered.clear();
        self.given = DeliveredHistory::default();
        Ok(())
    }

    /// Samples that found no room at the reader, as the store was busy; they come again.
    pub(crate) fn refused(&self) -> u64 {
        u64::try_from(self.reader.sample_rejected_status().count.total).unwrap_or(0)
    }

    /// Takes what has arrived, about as much as there is room for in a commit. Returns how many octets.
    pub(crate) fn drain(
        &mut self,
        keeper: &mut AnyKeeper,
        writers: &Writers,
        (now, room): (WallTime, usize),
    ) -> usize {
        if !self.ready.swap(false, Ordering::SeqCst) {
            return 0;
        }
        let mut octets = 0;
        loop {
            let mut batch = std::mem::take(&mut self.batch);
            let most = ((room - octets) / self.largest).clamp(1, BATCH);
            // What cannot be taken any more has ended.
            let taken = self.reader.take_into(most, &mut batch).unwrap_or(0);
            let mut largest = 0;
            for sample in batch.drain(..) {
                let of_sample = SAMPLE + self.take_one(sample, keeper, writers, now);
                largest = largest.max(of_sample);
                octets += of_sample;
            }
            self.batch = batch;
            if taken == 0 {
                return octets;
            }
            self.largest = largest;
            if octets >= room {
                self.ready.store(true, Ordering::SeqCst);
                return octets;
            }
        }
    }

    fn take_one(
        &mut self,
        sample: Sample<SerializedData>,
        keeper: &mut AnyKeeper,
        writers: &Writers,
        now: WallTime,
    ) -> usize {
        let info = sample.info;
        let identity = info.identity();
        if identity.sequence_number.0 == 0 {
            // The loss of a writer, which discovery tells as well.
            return 0;
        }
        let last = self.to_acknowledge.entry(identity.writer).or_insert(identity.sequence_number);
        *last = (*last).max(identity.sequence_number);
        let writer = writers.get(identity.writer);
        // A writer that has gone since it wrote was looked at when it matched.
        let is_ours = writer.is_none_or(|writer| writer.key.as_ref() == Some(&self.topic.key));
        let is_copy = writer.is_some_and(|writer| writer.of_service);
        if !is_ours || is_copy && info.original_sample.is_none() {
            return 0;
        }
        let nothing = || SharedBytes::copy_from(&[]);
        let (kind, payload) = match (sample.data, info.instance_state) {
            (Some(data), _) => (Kind::Data, data.payload().clone()),
            (None, InstanceState::NotAliveDisposed) => {
                (Kind::Dispose, sample.key.map_or_else(nothing, |key| key.payload().clone()))
            }
            (None, _) => (Kind::Unregister, nothing()),
        };
        let head = Head {
            group: self.group,
            instance: info.instance_handle,
            origin: info.origin(),
            source_timestamp: info.source_timestamp,
            expires: self.expiry(info.source_timestamp),
            vendor: writer.map_or(VendorId::DUNLIN, |writer| writer.data.vendor),
            kind,
            octets: u32::try_from(payload.len()).unwrap_or(u32::MAX),
        };
        let octets = payload.len();
        let change = Change { head, payload };
        let verdict = keeper.apply(&change, now, is_copy);
        if is_copy && verdict != Verdict::Kept {
            self.remember_end(change, identity.writer, keeper);
        }
        match verdict {
            Verdict::Kept => self.counters.kept += 1,
            Verdict::Duplicate => self.counters.duplicates += 1,
            Verdict::Old | Verdict::Expired => self.counters.old += 1,
            Verdict::Noted => {}
        }
        octets
    }

    /// Whoever still has an instance that has ended is to be told its end.
    fn remember_end(&mut self, change: Change, giver: Guid, keeper: &AnyKeeper) {
        let ended = keeper.history(self.group).and_then(|history| history.ended_after(&change.head));
        let (Some(tombstone), Some(peer)) = (ended, self.peers.of(giver)) else { return };
        if self.ends.len() < ENDS && change.head.kind == Kind::Data && tombstone.origin.is_some() {
            let end = End { tombstone, payload: change.payload, vendor: change.head.vendor };
            self.ends.insert((peer, change.head.instance), end);
        }
    }

    /// Tells other services the ends of instances that they still have. Returns how long to wait for the next turn.
    fn tell_ends(&mut self) -> Duration {
        while let Some((to, end)) = self.ends.pop_first() {
            let data = serialized(&end.payload, (Kind::Data, end.vendor), (to.1, self.opaque));
            let params = WriteParams {
                source_timestamp: Some(end.tombstone.disposed),
                original: end.tombstone.origin,
                only_for: Some(to.0),
                ..WriteParams::default()
            };
            if self.feeder.dispose_with(&data, &params).is_err_and(|error| is_full(&error)) {
                self.ends.insert(to, end);
                return Duration::from_micros(500);
            }
            if !self.registered.contains(&to.1) {
                self.unregister(to.1);
            }
        }
        Duration::INFINITE
    }

    fn expiry(&self, source: WallTime) -> Option<WallTime> {
        let lifespan = self.topic.contract.lifespan;
        (!lifespan.is_infinite()).then(|| source.plus(lifespan))
    }

    /// Acknowledges what was committed.
    pub(crate) fn acknowledge(&mut self) {
        for (writer, sequence_number) in std::mem::take(&mut self.to_acknowledge) {
            if self.topic.key.reliable {
                // It fails only if the reader is gone.
                let _ = self.reader.commit(SampleIdentity { writer, sequence_number });
            }
        }
    }

    /// Looks which readers came and went.
    pub(crate) fn look_at_readers(
        &mut self,
        keeper: &AnyKeeper,
        writers: &Writers,
        (since, now): (i64, WallTime),
    ) {
        let mut matched: BTreeSet<Guid> =
            self.feeder.matched_subscriptions().into_iter().map(InstanceHandle::to_guid).collect();
        self.feeds.retain(|feed| matched.contains(&feed.reader));
        self.peers.retain(|reader| matched.contains(reader));
        self.ends.retain(|(reader, _), _| matched.contains(reader));
        self.given.retain(|reader| matched.contains(&reader));
        let own = (since, self.feeder.guid().unwrap_or_default());
        for reader in matched.difference(&self.readers).copied().collect::<Vec<_>>() {
            let Ok(data) = self.feeder.matched_subscription_data(reader.into()) else {
                // It has gone meanwhile, or comes with the next look.
                matched.remove(&reader);
                continue;
            };
            if Peers::is_one(&data) {
                self.peers.meet(self.reader.guid().unwrap_or_default(), reader, now);
                continue;
            }
            let Some(scope) = HistoryScope::of(&data) else { continue };
            let once = scope == HistoryScope::Once;
            if once && (keeper.is_served(self.group, reader) || writers.has_elder(&self.topic.key, own)) {
                self.given.add(reader);
                self.is_untold = true;
                continue;
            }
            self.counters.served += 1;
            self.feeds.push(Feed::new(reader, scope));
        }
        self.readers = matched;
    }

    /// Whether nothing is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.to_acknowledge.is_empty() && self.feeds.is_empty() && !self.ready.load(Ordering::SeqCst)
    }

    /// The reader that names this history to other services.
    pub(crate) fn reader_guid(&self) -> Option<Guid> {
        self.reader.guid()
    }

    /// Asks other services what they have. Returns how long to wait for the next turn.
    pub(crate) fn ask(&mut self, now: WallTime, post: &mut Post) -> Duration {
        self.reader_guid().map_or(Duration::INFINITE, |own| self.peers.ask(own, now, post))
    }

    /// Takes what another service says.
    pub(crate) fn told(&mut self, now: WallTime, message: &Message, keeper: &AnyKeeper, post: &mut Post) {
        let (Some(own), Some(history)) = (self.reader_guid(), keeper.history(self.group)) else { return };
        let lacking = self.peers.told((own, now), message, history, post);
        if lacking.is_empty() {
            return;
        }
        let reader = message.from();
        let known = self.feeds.iter_mut().find(|feed| feed.reader == reader);
        if let Some(feed) = known {
            return feed.add(lacking);
        }
        let mut feed = Feed::new(reader, HistoryScope::Lacking);
        feed.add(lacking);
        self.counters.served += 1;
        self.feeds.push(feed);
    }

    /// Gives readers the next part of the history. Returns how long to wait for the next turn.
    pub(crate) fn feed(&mut self, keeper: &mut AnyKeeper, writers: &Writers) -> Result<Duration, StoreError> {
        let mut next = self.tell_ends();
        let mut feeds = std::mem::take(&mut self.feeds).into_iter();
        while let Some(mut feed) = feeds.next() {
            match self.give(&mut feed, keeper, writers) {
                Ok(None) => {
                    self.end(&feed, keeper);
                    // That it was given the history is to last.
                    next = Duration::ZERO;
                }
                Ok(Some(wait)) => {
                    next = next.min(wait);
                    self.feeds.push(feed);
                }
                Err(error) => {
                    // All go on where they were once the store can be read.
                    self.feeds.push(feed);
                    self.feeds.extend(feeds);
                    return Err(error);
                }
            }
        }
        self.tell_given();
        Ok(next)
    }

    /// Tells readers which of them have everything.
    fn tell_given(&mut self) {
        if std::mem::take(&mut self.is_untold) {
            let qos = self.feeder.qos().user_data(self.given.to_user_data());
            // It fails only if the writer is gone.
            let _ = self.feeder.set_qos(&qos);
        }
    }

    /// None when the reader has acknowledged all of it.
    fn give(
        &mut self,
        feed: &mut Feed,
        keeper: &mut AnyKeeper,
        writers: &Writers,
    ) -> Result<Option<Duration>, StoreError> {
        for _ in 0..GIVEN {
            let next = keeper.history(self.group).and_then(|history| feed.next(history));
            let Some((place, kept)) = next else { return Ok(self.acknowledged(feed)) };
            let instance = kept.instance;
            let serves_itself = |writer: Guid| writers.get(writer).is_some_and(|it| it.serves_late_joiners());
            if feed.scope == HistoryScope::Once && serves_itself(kept.origin.writer) {
                feed.passed(place);
                continue;
            }
            let payload = match self.octets_of(kept.position, keeper)? {
                Octets::There(payload) => payload,
                Octets::Later => return Ok(Some(Duration::from_millis(1))),
                Octets::Lost => {
                    feed.passed(place);
                    continue;
                }
            };
            let data = serialized(&payload, (kept.kind, kept.vendor), (instance, self.opaque));
            let params = WriteParams {
                source_timestamp: Some(kept.source_timestamp),
                original: Some(kept.origin),
                only_for: Some(feed.reader),
                ..WriteParams::default()
            };
            let written = match kept.kind {
                Kind::Data => self.feeder.write_with(&data, &params),
                _ => self.feeder.dispose_with(&data, &params),
            };
            match written {
                Ok(written) => {
                    self.counters.given += 1;
                    feed.instances.insert(instance);
                    feed.last = Some(written.sequence_number);
                }
                Err(error) if is_full(&error) => return Ok(Some(Duration::from_micros(500))),
                // What cannot be written is no sample of the type; nobody could read it.
                Err(_) => {}
            }
            feed.passed(place);
        }
        Ok(Some(Duration::ZERO))
    }

    /// None when the reader has acknowledged what it was given; otherwise how long to wait. A reader that has gone has not.
    fn acknowledged(&self, feed: &mut Feed) -> Option<Duration> {
        let through = feed.last.unwrap_or_default();
        match self.feeder.is_acknowledged_by(feed.reader.into(), through) {
            Ok(true) => None,
            _ => Some(feed.next_look()),
        }
    }

    /// Reads a change. What is damaged stays so: the others are given all the same.
    fn octets_of(&mut self, position: Position, keeper: &mut AnyKeeper) -> Result<Octets, StoreError> {
        match keeper.read(position) {
            Ok(Some(payload)) => Ok(Octets::There(payload)),
            Ok(None) if keeper.is_dirty() => Ok(Octets::Later),
            Ok(None) | Err(StoreError::Damaged(_)) => {
                self.counters.damaged += 1;
                Ok(Octets::Lost)
            }
            Err(error) => Err(error),
        }
    }

    /// A reader has everything. Instances whose writers have gone have no writer at the reader either.
    fn end(&mut self, feed: &Feed, keeper: &mut AnyKeeper) {
        if feed.scope == HistoryScope::Once {
            keeper.served(self.group, feed.reader);
        }
        if feed.scope != HistoryScope::Lacking {
            self.given.add(feed.reader);
            self.is_untold = true;
        }
        let Some(history) = keeper.history(self.group) else { return };
        for instance in &feed.instances {
            if history.has_writers(*instance) {
                self.registered.insert(*instance);
            } else {
                self.unregister(*instance);
            }
        }
    }

    /// Ends instances whose last writer has gone.
    pub(crate) fn end_instances(&mut self, without_writers: &[InstanceHandle]) {
        for instance in without_writers {
            if self.registered.remove(instance) {
                self.unregister(*instance);
            }
        }
    }

    fn unregister(&self, instance: InstanceHandle) {
        if self.topic.key.keyed {
            // It is not registered if another reader's turn has ended it.
            let _ = self.feeder.unregister_handle(instance);
        }
    }
}

/// A topic of the participant, and whether nothing is known of its type but the name.
fn topic_of(
    participant: &DomainParticipant,
    topic: &Topic,
) -> Result<(SerializedTopic, bool), CreateEntityError> {
    let (key, qos) = (&topic.key, &TopicQos::default());
    let known = topic.dynamic_type();
    let made = match &known {
        Some(ty) => {
            participant.create_dynamic_topic_of_type(&key.topic, &key.type_name, ty, qos)?.serialized()
        }
        None => participant.create_serialized_topic(&key.topic, &key.type_name, key.keyed, qos)?,
    };
    Ok((made, known.is_none()))
}

/// The writer that gives the history to those who come late.
fn feeder(
    of_participant: &SerializedTopic,
    topic: &Topic,
    opening: &Opening<'_>,
) -> Result<DataWriter<SerializedData>, CreateEntityError> {
    let Opening { participant, mark, since, bell, .. } = opening;
    let qos = topic.feeder_qos(mark, since).user_data(DeliveredHistory::default().to_user_data());
    let feeder =
        participant.create_publisher(&topic.publisher_qos())?.create_datawriter(of_participant, &qos)?;
    feeder.set_listener(Matches((*bell).clone()), StatusMask::PUBLICATION_MATCHED);
    Ok(feeder)
}

/// The end of an instance that another service is to be told.
struct End {
    tombstone: Tombstone,
    /// A value, which has the key.
    payload: Payload,
    vendor: VendorId,
}

/// Whether the readers have to acknowledge first.
const fn is_full(error: &WriteError) -> bool {
    matches!(
        error,
        WriteError::Timeout(_) | WriteError::OutOfResources | WriteError::InTask | WriteError::InSimulation
    )
}

/// The octets of a change that is kept.
enum Octets {
    There(Payload),
    /// They are committed with the next turn.
    Later,
    /// The store has them no longer.
    Lost,
}

/// Tells the service that readers came or went.
struct Matches(Bell);

impl dunlin::DataWriterListener<SerializedData> for Matches {
    fn on_publication_matched(&self, _: &DataWriter<SerializedData>, _: dunlin::MatchedStatus) {
        self.0.discovery();
    }
}
