//! The recorder: which writers there are, their readers, and the thread that writes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use dunlin::qos::{DomainParticipantQos, ServiceMark, SubscriberQos, TopicQos};
use dunlin::{
    Config, CreateParticipantError, DCPS_PUBLICATION, DataReader, DcpsPublication, DomainParticipant,
    DynamicType, Guid, PublicationBuiltinTopicData, StatusMask, TypeDiscovery,
};

use crate::file::{RecordingError, Schema};
use crate::group::{Group, Key, Shared, WhenFull};
use crate::latest::{Latest, LatestSamples};
use crate::ledger::{Counts, Ledger};
use crate::medium::{Open, open_files};
use crate::names::Names;
use crate::queue::Queue;
use crate::store::{Kept, RecordingFiles, SplitWish, StorageOptions, Store};

/// Until a type that is asked for is looked for again.
const TYPES: Duration = Duration::from_millis(10);
/// Until what had no room is tried again.
const ROOM: Duration = Duration::from_millis(1);
/// Longest time that what has arrived waits for room when the recording ends.
const LINGER: Duration = Duration::from_secs(30);
/// Between looks at what was lost, and at who has gone.
const LOOK: Duration = Duration::from_millis(200);

/// What is recorded, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The domain.
    pub domain: u32,
    /// The configuration of the participant; that of the environment if there is none.
    pub config: Option<Config>,
    /// Topics.
    pub topics: Names,
    /// Partitions: a writer with one that is meant is recorded. The default partition is the empty name.
    pub partitions: Names,
    /// Types for topics of whose type nothing is announced, by the names of the types.
    pub types: BTreeMap<String, DynamicType>,
    /// Where it is kept.
    pub storage: StorageOptions,
    /// Octets that may wait for the disk.
    pub buffer: usize,
    /// What happens beyond.
    pub when_full: WhenFull,
    /// Instances of a topic that the recorder's reader may have. Those beyond are not recorded, and it says so.
    pub max_instances: u32,
}

impl Options {
    /// Everything of a domain, in one file.
    #[must_use]
    pub fn new(domain: u32, storage: StorageOptions) -> Self {
        Self {
            domain,
            config: None,
            topics: Names::default(),
            partitions: Names::default(),
            types: BTreeMap::new(),
            storage,
            buffer: 256 << 20,
            when_full: WhenFull::default(),
            max_instances: 1_000_000,
        }
    }
}

/// Why nothing can be recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecorderError {
    /// The participant.
    #[error("the domain cannot be joined: {0}")]
    Participant(#[from] CreateParticipantError),
    /// The file.
    #[error("{file}: {error}")]
    File {
        /// Its name.
        file: String,
        /// What is wrong.
        error: RecordingError,
    },
    /// A thread.
    #[error("no thread can be started: {0}")]
    Thread(#[from] std::io::Error),
}

/// A recording that is being made. It ends with [`finish`](Self::finish), or when it is dropped.
pub struct Recorder {
    inner: Arc<Inner>,
    planner: Mutex<Option<JoinHandle<()>>>,
    writer: Mutex<Option<JoinHandle<()>>>,
    _publications: Option<DataReader<DcpsPublication>>,
}

struct Inner {
    participant: DomainParticipant,
    options: Options,
    shared: Arc<Shared>,
    files: RecordingFiles,
    split: SplitWish,
    bell: Bell,
    ends: AtomicBool,
}

/// Wakes the planner.
#[derive(Default)]
struct Bell {
    rung: Mutex<bool>,
    changed: Condvar,
}

impl Bell {
    fn ring(&self) {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_one();
    }

    fn wait(&self, longest: Duration) -> bool {
        let rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(rung, longest, |rung| !*rung);
        std::mem::take(&mut *waited.unwrap_or_else(PoisonError::into_inner).0)
    }
}

impl Recorder {
    /// Joins the domain and begins to record.
    ///
    /// # Errors
    /// When the domain cannot be joined, or the file cannot be begun.
    pub fn start(options: Options) -> Result<Self, RecorderError> {
        Self::start_on(options, open_files())
    }

    /// The same on any medium.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_on(options: Options, open: Open) -> Result<Self, RecorderError> {
        let (ledger, files, split) =
            (Arc::new(Ledger::default()), RecordingFiles::default(), SplitWish::default());
        let wishes = (files.clone(), Arc::clone(&split));
        let store = Store::new(options.storage.clone(), open, Arc::clone(&ledger), wishes);
        let file = options.storage.file.display().to_string();
        let store = store.map_err(|error| RecorderError::File { file, error })?;
        let shared = Arc::new(Shared {
            queue: Queue::new(options.buffer),
            ledger,
            when_full: options.when_full,
            instances: options.max_instances,
            paused: AtomicBool::new(false),
            waits: AtomicBool::new(false),
            latest: LatestSamples::default(),
        });
        let participant = join(&options)?;
        let inner = Arc::new(Inner {
            participant,
            options,
            shared: Arc::clone(&shared),
            files,
            split,
            bell: Bell::default(),
            ends: AtomicBool::new(false),
        });
        let publications = inner.listen();
        let write = move || store.run(&shared.queue);
        let writer = std::thread::Builder::new().name("record-write".into()).spawn(write)?;
        let plan = {
            let inner = Arc::clone(&inner);
            move || Planner::default().run(&inner)
        };
        let planner = std::thread::Builder::new().name("record-plan".into()).spawn(plan)?;
        Ok(Self {
            inner,
            planner: Mutex::new(Some(planner)),
            writer: Mutex::new(Some(writer)),
            _publications: publications,
        })
    }

    /// The participant.
    #[must_use]
    pub fn participant(&self) -> &DomainParticipant {
        &self.inner.participant
    }

    /// What was recorded so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.inner.shared.ledger.counts()
    }

    /// Octets that wait for the disk, and how many may.
    #[must_use]
    pub fn fill(&self) -> (usize, usize) {
        self.inner.shared.queue.fill()
    }

    /// Files that were finished and are still there.
    #[must_use]
    pub fn files(&self) -> Vec<Kept> {
        self.inner.files.all()
    }

    /// The file that is being written, if there is one.
    #[must_use]
    pub fn present_file(&self) -> Option<PathBuf> {
        self.inner.files.present()
    }

    /// The latest sample of each writer of a topic. They are kept from the first call on, and for ten seconds after the last
    /// one; of eight topics and sixteen writers of each at most. Also while it is paused.
    #[must_use]
    pub fn latest(&self, topic: &str) -> Vec<Latest> {
        self.inner.shared.latest.of(topic)
    }

    /// Leaves samples out from now on without counting them, or records them again.
    pub fn pause(&self, paused: bool) {
        self.inner.shared.paused.store(paused, Ordering::SeqCst);
    }

    /// Whether it is paused.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.inner.shared.paused.load(Ordering::SeqCst)
    }

    /// Finishes the present file soon, so that it can be looked at; what comes later goes into the next one.
    pub fn split(&self) {
        self.inner.split.store(true, Ordering::SeqCst);
    }

    /// Writes what has arrived, and the index; says what there is. Nothing is recorded any more.
    pub fn finish(&self) -> Counts {
        self.end();
        self.counts()
    }

    fn end(&self) {
        self.inner.ends.store(true, Ordering::SeqCst);
        self.inner.bell.ring();
        // A thread that has panicked has nothing to say.
        let joined = |thread: &Mutex<Option<JoinHandle<()>>>| {
            let thread = thread.lock().unwrap_or_else(PoisonError::into_inner).take();
            let _ = thread.map(JoinHandle::join);
        };
        joined(&self.planner);
        self.inner.shared.queue.close();
        joined(&self.writer);
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.end();
    }
}

fn join(options: &Options) -> Result<DomainParticipant, CreateParticipantError> {
    let mark = ServiceMark { kind: "recorder".into(), id: id(), path: Vec::new() };
    let builder = DomainParticipant::builder(options.domain)
        .name("dunlin-record")
        .qos(DomainParticipantQos::default().service(&mark));
    match &options.config {
        Some(config) => builder.config(config.clone()).build(),
        None => builder.build(),
    }
}

fn id() -> String {
    format!("record-{}", std::process::id())
}

impl Inner {
    /// Rings when discovery has news. What they are is looked up later.
    fn listen(self: &Arc<Self>) -> Option<DataReader<DcpsPublication>> {
        let builtin = self.participant.builtin_subscriber();
        let reader = builtin.lookup_datareader::<DcpsPublication>(DCPS_PUBLICATION)?;
        let inner = Arc::downgrade(self);
        let heard = move |reader: &DataReader<DcpsPublication>| {
            let _ = reader.take(usize::MAX);
            if let Some(inner) = inner.upgrade() {
                inner.bell.ring();
            }
        };
        reader.set_listener(heard, StatusMask::DATA_AVAILABLE);
        Some(reader)
    }

    fn is_meant(&self, writer: &PublicationBuiltinTopicData) -> bool {
        let names = &writer.publisher_qos.partition.names;
        let partition = |name: &String| self.options.partitions.allow(name);
        let partitions =
            if names.is_empty() { self.options.partitions.allow("") } else { names.iter().any(partition) };
        // What participants of Dunlin tell of themselves is told for the moment only.
        let own = *writer.topic_name == *dunlin::statistics::STATISTICS_TOPIC;
        partitions && !own && self.options.topics.allow(&writer.topic_name)
    }
}

/// The readers that there are.
#[derive(Default)]
struct Planner {
    groups: BTreeMap<Key, Arc<Group>>,
    refused: BTreeSet<Key>,
}

enum Unready {
    TypePending,
    Because(String),
}

impl Planner {
    fn run(mut self, inner: &Arc<Inner>) {
        let (mut looked, mut news, mut pending) = (Instant::now(), true, false);
        while !inner.ends.load(Ordering::SeqCst) {
            if news || pending {
                pending = self.plan(inner);
            }
            if inner.shared.waits.swap(false, Ordering::SeqCst) {
                self.groups.values().for_each(|group| group.arrived());
            }
            if looked.elapsed() >= LOOK {
                looked = Instant::now();
                self.groups.values().for_each(|group| group.count_lost());
            }
            let waits = inner.shared.waits.load(Ordering::SeqCst);
            news = inner.bell.wait(if waits {
                ROOM
            } else if pending {
                TYPES
            } else {
                LOOK
            });
        }
        self.end();
    }

    /// Takes what has arrived. What has no room waits for it, or is counted, as ever.
    fn end(self) {
        let until = Instant::now() + LINGER;
        self.groups.values().for_each(|group| group.end(until));
    }

    /// Makes readers for what discovery knows. True if types are still being asked for.
    fn plan(&mut self, inner: &Arc<Inner>) -> bool {
        let writers = inner.participant.discovered_publications();
        let mut there = BTreeMap::<Key, BTreeSet<Guid>>::new();
        let mut pending = false;
        for writer in writers.iter().filter(|writer| inner.is_meant(writer)) {
            let key = Key::of(writer);
            there.entry(key.clone()).or_default().insert(writer.guid);
            if let Some(group) = self.groups.get(&key) {
                group.add(writer);
                continue;
            }
            match open(inner, &key, writer) {
                Ok(group) => {
                    self.refused.remove(&key);
                    self.groups.insert(key, group);
                }
                Err(Unready::TypePending) => pending = true,
                Err(Unready::Because(why)) => {
                    if self.refused.insert(key) {
                        let topic = &writer.topic_name;
                        inner.shared.ledger.problem(format!("'{topic}' is not recorded: {why}"));
                    }
                }
            }
        }
        self.groups.retain(|key, group| {
            let there = there.get(key);
            group.retain(&|guid| there.is_some_and(|there| there.contains(guid)))
        });
        pending
    }
}

/// Makes a reader for writers of a kind.
fn open(inner: &Inner, key: &Key, writer: &PublicationBuiltinTopicData) -> Result<Arc<Group>, Unready> {
    let because = |what: &str, error: dunlin::CreateEntityError| Unready::Because(format!("{what}: {error}"));
    let ty = known_type(inner, key, writer)?;
    let (participant, qos) = (&inner.participant, TopicQos::default());
    let topic = match &ty {
        Some(ty) => participant
            .create_dynamic_topic_of_type(&key.topic, &key.type_name, ty, &qos)
            .map(|topic| topic.serialized()),
        None => {
            let keyed = writer.guid.entity_id.kind() == dunlin::EntityKind::WriterWithKey;
            participant.create_serialized_topic(&key.topic, &key.type_name, keyed, &qos)
        }
    };
    let topic = topic.map_err(|error| because("its topic cannot be created", error))?;
    let schema = ty.map(|ty| Schema {
        name: ty.name().to_owned(),
        encoding: "omgidl".to_owned(),
        text: crate::type_text::to_text(&ty).into_bytes(),
    });
    let group = Group::new(key.clone(), schema, Arc::clone(&inner.shared));
    group.add(writer);
    let subscriber_qos = SubscriberQos::default().partition(key.partitions.iter().cloned());
    let subscriber = participant.create_subscriber(&subscriber_qos);
    let subscriber = subscriber.map_err(|error| because("its subscriber cannot be created", error))?;
    let (qos, listener) = (key.reader_qos(&id(), inner.options.max_instances), group.listener());
    let mask = StatusMask::DATA_AVAILABLE;
    let reader = subscriber.create_datareader_with_listener(&topic, &qos, listener, mask);
    group.begin(reader.map_err(|error| because("its reader cannot be created", error))?);
    Ok(group)
}

fn known_type(
    inner: &Inner,
    key: &Key,
    writer: &PublicationBuiltinTopicData,
) -> Result<Option<DynamicType>, Unready> {
    match inner.participant.discovered_type(writer.guid) {
        TypeDiscovery::Known(known) => DynamicType::new(known.graph, known.root)
            .map(Some)
            .map_err(|error| Unready::Because(format!("its type cannot be used: {error}"))),
        TypeDiscovery::Pending => Err(Unready::TypePending),
        // Its bytes are recorded at any rate.
        TypeDiscovery::NotAnnounced | TypeDiscovery::Refused(_) => {
            Ok(inner.options.types.get(&key.type_name).cloned())
        }
    }
}
