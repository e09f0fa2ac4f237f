//! Writers that one reader takes from, and what becomes of their samples.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::time::{Duration, Instant};

use dunlin::qos::{
    DataReaderQos, DestinationOrderKind, DurabilityKind, OwnershipKind, ReliabilityKind, ServiceMark,
};
use dunlin::{
    DataReader, DataReaderListener, Guid, InstanceState, PublicationBuiltinTopicData, Sample, SampleInfo,
    SampleRejectedReason, SerializedData,
};

use crate::event::{Event, EventKind, parts};
use crate::file::Schema;
use crate::latest::LatestSamples;
use crate::ledger::{Ledger, Track};
use crate::queue::{Entry, Queue};
use crate::source::Source;

/// Samples taken at a time.
const BATCH: usize = 256;
/// Samples that wait in a reader while the queue is full.
const ROOM: i32 = 4096;
/// How long the writers that have gone are remembered: samples of theirs may still come.
const REMEMBERED: Duration = Duration::from_secs(60);

/// What happens to samples for which the queue has no room.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WhenFull {
    /// They are left out, and counted. The recording never holds up a writer.
    #[default]
    Drop,
    /// They wait. Reliable writers that keep everything wait with them.
    Wait,
}

/// Writers with the same key have one reader.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Key {
    pub(crate) topic: String,
    pub(crate) type_name: String,
    information: Vec<u8>,
    pub(crate) partitions: Vec<String>,
    reliable: bool,
    transient_local: bool,
    exclusive: bool,
    keyed: bool,
}

impl Key {
    pub(crate) fn of(data: &PublicationBuiltinTopicData) -> Self {
        let mut partitions = data.publisher_qos.partition.names.clone();
        partitions.sort_unstable();
        Self {
            topic: data.topic_name.to_string(),
            type_name: data.type_name.to_string(),
            information: data.type_information.as_deref().unwrap_or_default().to_vec(),
            partitions,
            reliable: data.qos.reliability.kind == ReliabilityKind::Reliable,
            transient_local: data.qos.durability.kind >= DurabilityKind::TransientLocal,
            exclusive: data.qos.ownership.kind == OwnershipKind::Exclusive,
            keyed: data.guid.entity_id.kind() == dunlin::EntityKind::WriterWithKey,
        }
    }

    /// Asks for as much as all of these writers offer, and for nothing else.
    pub(crate) fn reader_qos(&self, id: &str, instances: u32) -> DataReaderQos {
        let mark = ServiceMark { kind: "recorder".into(), id: id.into(), path: Vec::new() };
        let instances = i32::try_from(instances).unwrap_or(i32::MAX);
        let mut qos = DataReaderQos::default()
            .keep_all()
            .resource_limits(ROOM, instances, -1)
            .destination_order(DestinationOrderKind::ByReceptionTimestamp)
            .remove_duplicates(false)
            .show_every_change()
            .service(&mark);
        if self.reliable {
            qos = qos.reliable();
        }
        if self.transient_local {
            qos = qos.transient_local();
        }
        if self.exclusive { qos.exclusive() } else { qos }
    }
}

/// What all groups share.
pub(crate) struct Shared {
    pub(crate) queue: Queue,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) when_full: WhenFull,
    /// Instances of one reader.
    pub(crate) instances: u32,
    /// Samples are looked at and forgotten.
    pub(crate) paused: AtomicBool,
    /// Some group has samples for which there was no room.
    pub(crate) waits: AtomicBool,
    /// What somebody looks at.
    pub(crate) latest: LatestSamples,
}

pub(crate) struct Group {
    ready: AtomicBool,
    core: Mutex<Core>,
    shared: Arc<Shared>,
}

struct Known {
    /// None for writers of another group, which the reader matches as well.
    track: Option<Arc<Track>>,
    gone: Option<Instant>,
}

struct Core {
    key: Key,
    schema: Option<Schema>,
    reader: Option<DataReader<SerializedData>>,
    writers: BTreeMap<Guid, Known>,
    batch: Vec<Sample<SerializedData>>,
    /// What had no room.
    waiting: VecDeque<Entry>,
    /// SAMPLE_LOST as it was told last.
    lost: i32,
}

struct Arrivals(Weak<Group>);

impl DataReaderListener<SerializedData> for Arrivals {
    fn on_data_available(&self, _: &DataReader<SerializedData>) {
        if let Some(group) = self.0.upgrade() {
            group.arrived();
        }
    }
}

impl Group {
    pub(crate) fn new(key: Key, schema: Option<Schema>, shared: Arc<Shared>) -> Arc<Self> {
        let core = Core {
            key,
            schema,
            reader: None,
            writers: BTreeMap::new(),
            batch: Vec::new(),
            waiting: VecDeque::new(),
            lost: 0,
        };
        Arc::new(Self { ready: AtomicBool::new(false), core: Mutex::new(core), shared })
    }

    pub(crate) fn listener(self: &Arc<Self>) -> impl DataReaderListener<SerializedData> {
        Arrivals(Arc::downgrade(self))
    }

    /// Who finds the lock taken leaves it to whoever has it to look again.
    fn with_core<T>(&self, change: impl FnOnce(&mut Core) -> T) -> T {
        let mut core: MutexGuard<'_, Core> = self.core.lock().unwrap_or_else(PoisonError::into_inner);
        let result = change(&mut core);
        drop(core);
        if self.ready.load(Ordering::SeqCst) {
            self.arrived();
        }
        result
    }

    pub(crate) fn begin(&self, reader: DataReader<SerializedData>) {
        self.with_core(|core| core.reader = Some(reader));
        self.arrived();
    }

    /// Takes what there is, unless somebody does so already, who looks again then.
    pub(crate) fn arrived(&self) {
        self.ready.store(true, Ordering::SeqCst);
        while self.ready.load(Ordering::SeqCst) {
            let mut core = match self.core.try_lock() {
                Ok(core) => core,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return,
            };
            self.ready.store(false, Ordering::SeqCst);
            if !core.turn(&self.shared) {
                self.shared.waits.store(true, Ordering::SeqCst);
                return;
            }
        }
    }

    /// Adds a writer, or notes what has changed of it.
    pub(crate) fn add(&self, data: &PublicationBuiltinTopicData) {
        self.with_core(|core| core.add(data, &self.shared));
    }

    /// Notes which writers are still there; false if none is, none was for a while, and nothing of theirs waits.
    pub(crate) fn retain(&self, there: &dyn Fn(&Guid) -> bool) -> bool {
        self.with_core(|core| core.retain(there, &self.shared))
    }

    /// Looks at what the reader has lost.
    pub(crate) fn count_lost(&self) {
        self.with_core(|core| core.count_lost(&self.shared));
    }

    /// Takes what is left; what finds no room until a time is counted as dropped.
    pub(crate) fn end(&self, until: Instant) {
        loop {
            self.shared.waits.store(false, Ordering::SeqCst);
            self.arrived();
            self.count_lost();
            if !self.shared.waits.load(Ordering::SeqCst) || Instant::now() >= until {
                break;
            }
            std::thread::park_timeout(Duration::from_millis(1));
        }
        self.with_core(|core| core.drop_waiting(&self.shared));
    }
}

impl Core {
    fn add(&mut self, data: &PublicationBuiltinTopicData, shared: &Shared) {
        let source = Source::of(data);
        let known = self.writers.get(&data.guid).and_then(|known| known.track.as_ref());
        if known.is_some_and(|track| track.source == source) {
            return;
        }
        let track = shared.ledger.track(source, self.schema.clone());
        self.waiting.push_back(life(&track, EventKind::Found));
        self.writers.insert(data.guid, Known { track: Some(track), gone: None });
        self.give(shared);
    }

    fn retain(&mut self, there: &dyn Fn(&Guid) -> bool, shared: &Shared) -> bool {
        let (now, waits) = (Instant::now(), !self.give(shared));
        let mut gone = Vec::new();
        self.writers.retain(|guid, known| {
            if there(guid) {
                known.gone = None;
                return true;
            }
            if known.gone.is_none() {
                gone.extend(known.track.clone());
            }
            now.duration_since(*known.gone.get_or_insert(now)) < REMEMBERED || waits
        });
        for track in &gone {
            shared.latest.forget(&self.key.topic, &track.source.writer);
        }
        self.waiting.extend(gone.iter().map(|track| life(track, EventKind::Gone)));
        !self.give(shared) || !self.writers.is_empty()
    }

    fn count_lost(&mut self, shared: &Shared) {
        let Some(reader) = &self.reader else { return };
        if reader.sample_rejected_status().last_reason == Some(SampleRejectedReason::InstancesLimit) {
            let (topic, most) = (&self.key.topic, shared.instances);
            shared.ledger.problem(format!(
                "'{topic}': more than {most} instances have come; nothing is recorded of the others (--max-instances)"
            ));
        }
        let total = reader.sample_lost_status().total;
        let Some(count) = u64::try_from(total - self.lost).ok().filter(|count| *count > 0) else { return };
        self.lost = total;
        shared.ledger.lost(&self.key.topic, count);
        let now = crate::store::now();
        let event = Event { kind: EventKind::Lost, count, text: self.key.topic.clone(), ..Event::default() };
        let event = Some(Box::new(event));
        self.waiting.push_back(Entry { track: None, number: 0, times: (now, now), event, payload: None });
        self.give(shared);
    }

    /// Takes everything; false if there is no room for it.
    fn turn(&mut self, shared: &Shared) -> bool {
        let Some(reader) = self.reader.clone() else { return true };
        loop {
            if !self.give(shared) {
                return false;
            }
            // What cannot be taken any more has ended.
            if reader.take_into(BATCH, &mut self.batch).unwrap_or(0) == 0 {
                return true;
            }
            let mut batch = std::mem::take(&mut self.batch);
            if shared.latest.are_wanted() {
                note_latest(&self.key.topic, &batch, shared);
            }
            if shared.paused.load(Ordering::Relaxed) {
                shared.ledger.skipped(batch.len());
                batch.clear();
            }
            for sample in batch.drain(..) {
                if let Some(track) = self.track_of(&reader, &sample.info, shared) {
                    self.waiting.extend(entry(track, sample));
                }
            }
            self.batch = batch;
        }
    }

    /// The writer of a sample; it may be one that was found this moment.
    fn track_of(
        &mut self,
        reader: &DataReader<SerializedData>,
        info: &SampleInfo,
        shared: &Shared,
    ) -> Option<Arc<Track>> {
        let guid = info.publication_handle.to_guid();
        if let Some(known) = self.writers.get(&guid) {
            return known.track.clone();
        }
        let Ok(data) = reader.matched_publication_data(info.publication_handle) else {
            // It has come and gone while its samples waited.
            shared.ledger.dropped_of_unknown(&self.key.topic);
            return None;
        };
        if Key::of(&data) == self.key {
            self.add(&data, shared);
        } else {
            self.writers.insert(guid, Known { track: None, gone: None });
        }
        self.writers.get(&guid).and_then(|known| known.track.clone())
    }

    /// Hands over what waits; false if it has to wait on.
    fn give(&mut self, shared: &Shared) -> bool {
        if self.waiting.is_empty() {
            return true;
        }
        shared.queue.push(&mut self.waiting);
        if self.waiting.is_empty() {
            return true;
        }
        if shared.when_full == WhenFull::Wait {
            return false;
        }
        self.drop_waiting(shared);
        true
    }

    fn drop_waiting(&mut self, shared: &Shared) {
        for entry in self.waiting.drain(..) {
            if let Some(track) = entry.track.as_ref().filter(|_| entry.counts()) {
                shared.ledger.dropped(track, entry.number);
            }
        }
    }
}

fn note_latest(topic: &str, batch: &[Sample<SerializedData>], shared: &Shared) {
    for sample in batch {
        if let Some(data) = &sample.data {
            let writer = sample.info.publication_handle.to_guid();
            let received = u64::try_from(sample.info.reception_timestamp.0).unwrap_or(0);
            shared.latest.note(topic, writer, received, data.payload());
        }
    }
}

fn life(track: &Arc<Track>, kind: EventKind) -> Entry {
    let now = crate::store::now();
    let writer = track.source.writer.to_bytes();
    let event = Event { kind, writer, text: track.source.topic.clone(), ..Event::default() };
    let track = Some(Arc::clone(track));
    Entry { track, number: 0, times: (now, now), event: Some(Box::new(event)), payload: None }
}

/// What a sample is in a recording.
fn entry(track: Arc<Track>, sample: Sample<SerializedData>) -> Option<Entry> {
    let Sample { info, data, key } = sample;
    let nanos = |time: dunlin::WallTime| u64::try_from(time.0).unwrap_or(0);
    let times = (nanos(info.reception_timestamp), nanos(info.source_timestamp));
    let number = info.sequence_number.0;
    let kind = match (&data, info.instance_state) {
        (Some(_), _) => EventKind::Details,
        (None, InstanceState::NotAliveDisposed) => EventKind::Dispose,
        (None, InstanceState::NotAliveNoWriters) => EventKind::Unregister,
        (None, InstanceState::Alive) => return None,
    };
    let says_all = info.original_sample.is_none()
        && info.related_sample.is_none()
        && !track.opaque
        && u32::try_from(number).is_ok();
    let event = (data.is_none() || !says_all).then(|| {
        let (original_writer, original_number) = parts(info.original_sample);
        let (related_writer, related_number) = parts(info.related_sample);
        let key = key.map_or_else(Vec::new, |key| key.payload().to_vec());
        Box::new(Event {
            kind,
            writer: track.source.writer.to_bytes(),
            number,
            original_writer,
            original_number,
            related_writer,
            related_number,
            instance: info.instance_handle.0,
            key,
            ..Event::default()
        })
    });
    let payload = data.map(|data| data.payload().clone());
    Some(Entry { track: Some(track), number, times, event, payload })
}

#[cfg(test)]
mod tests {
    use dunlin::VendorId;

    use super::*;

    fn key() -> Key {
        Key {
            topic: "Square".into(),
            type_name: "ShapeType".into(),
            information: Vec::new(),
            partitions: Vec::new(),
            reliable: true,
            transient_local: false,
            exclusive: false,
            keyed: true,
        }
    }

    #[test]
    fn samples_queued_for_the_disk_outlive_their_writer() {
        let shared = Arc::new(Shared {
            queue: Queue::new(1),
            ledger: Arc::default(),
            when_full: WhenFull::Wait,
            instances: 1,
            paused: AtomicBool::new(false),
            waits: AtomicBool::new(false),
            latest: LatestSamples::default(),
        });
        let source = Source {
            writer: Guid::default(),
            topic: "Square".into(),
            type_name: "ShapeType".into(),
            vendor: VendorId::DUNLIN,
            qos: String::new(),
        };
        let track = shared.ledger.track(source, None);
        let sample = |number| {
            let track = Some(Arc::clone(&track));
            Entry { track, number, times: (0, 0), event: None, payload: None }
        };
        let group = Group::new(key(), None, Arc::clone(&shared));
        group.with_core(|core| {
            // The disk has room for one.
            core.waiting.extend([sample(1), sample(2)]);
            assert!(!core.give(&shared));
            let gone = Instant::now().checked_sub(REMEMBERED * 2);
            core.writers.insert(Guid::default(), Known { track: Some(Arc::clone(&track)), gone });
        });
        assert!(group.retain(&|_| false), "a sample waits");
        let mut batch = Vec::new();
        assert!(shared.queue.take(Instant::now(), &mut batch));
        // What was waiting is with the disk now.
        assert!(!group.retain(&|_| false), "nobody is left");
        assert!(shared.queue.take(Instant::now(), &mut batch));
        assert_eq!(batch.iter().map(|entry| entry.number).collect::<Vec<_>>(), [1, 2]);
    }
}
