//! What the scenarios have in common.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use dunlin::qos::{
    DataReaderQos, DataWriterQos, DurabilityKind, DurabilityService, PublisherQos, SubscriberQos, TopicQos,
};
use dunlin::sim::{Node, Result, Sim, SimBuilder};
use dunlin::{
    DataReader, DataWriter, DdsType, DomainParticipant, Duration, GuardCondition, Sample, TopicType,
    WaitError, WaitSet,
};
use dunlin_durability::change::{GroupId, Payload, Position};
use dunlin_durability::store::{MemoryStore, Step, Store, StoreError, Visit, VisitNote};
use dunlin_durability::{Service, ServiceConfig, Stores, TopicState};

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
pub struct Track {
    #[dds(key)]
    pub id: u32,
    pub position: i64,
}

/// Of many octets.
#[derive(DdsType, Clone, Debug, Default)]
pub struct Picture {
    #[dds(key)]
    pub id: u32,
    pub octets: Vec<u8>,
}

pub fn track(id: u32, position: i64) -> Track {
    Track { id, position }
}

pub const fn secs(n: i64) -> Duration {
    Duration::from_secs(n)
}

pub const fn millis(n: i64) -> Duration {
    Duration::from_millis(n)
}

pub fn bad_network() -> SimBuilder {
    Sim::builder().loss(0.1).delay(millis(1), millis(10))
}

pub fn keeping(depth: i32) -> DurabilityService {
    DurabilityService { history_depth: depth, ..DurabilityService::default() }
}

/// Lasting, with a history of the service that is so deep.
pub fn writer_qos(depth: i32) -> DataWriterQos {
    DataWriterQos::default()
        .reliable()
        .keep_all()
        .durability(DurabilityKind::Persistent)
        .durability_service(keeping(depth))
        .autodispose_unregistered_instances(false)
}

pub fn reader_qos() -> DataReaderQos {
    DataReaderQos::default().reliable().keep_all().durability(DurabilityKind::Persistent)
}

/// What survives the process: a disk.
#[derive(Clone, Default)]
pub struct Disk {
    store: Arc<Mutex<MemoryStore>>,
    full: Arc<AtomicBool>,
    broken: Arc<AtomicBool>,
    damaged: Arc<Mutex<Option<Position>>>,
    largest: Arc<AtomicUsize>,
}

impl Disk {
    /// From now on nothing can be written, or everything again.
    pub fn set_full(&self, full: bool) {
        self.full.store(full, Ordering::SeqCst);
    }

    /// From now on no change can be read, or all again.
    pub fn set_broken(&self, broken: bool) {
        self.broken.store(broken, Ordering::SeqCst);
    }

    /// Octets of the values of the largest commit.
    pub fn largest_commit(&self) -> usize {
        self.largest.load(Ordering::SeqCst)
    }

    /// The octets of the change that was written first are gone.
    pub fn damage(&self) {
        let mut first = None;
        let mut visit = |position, _| {
            first.get_or_insert(position);
            Ok(())
        };
        self.store.lock().unwrap().scan(&mut visit).unwrap();
        *self.damaged.lock().unwrap() = first;
    }
}

impl Store for Disk {
    fn groups(&mut self) -> std::result::Result<Vec<(GroupId, Vec<u8>)>, StoreError> {
        self.store.lock().unwrap().groups()
    }

    fn scan(&mut self, visit: Visit<'_>) -> std::result::Result<(), StoreError> {
        self.store.lock().unwrap().scan(visit)
    }

    fn notes(&mut self, visit: VisitNote<'_>) -> std::result::Result<(), StoreError> {
        self.store.lock().unwrap().notes(visit)
    }

    fn read(&mut self, position: Position) -> std::result::Result<Option<Payload>, StoreError> {
        if self.broken.load(Ordering::SeqCst) {
            return Err(StoreError::Backend("input/output error".into()));
        }
        if *self.damaged.lock().unwrap() == Some(position) {
            return Err(StoreError::Damaged("a page is none".into()));
        }
        self.store.lock().unwrap().read(position)
    }

    fn commit(&mut self, steps: &[Step]) -> std::result::Result<(), StoreError> {
        if self.full.load(Ordering::SeqCst) {
            return Err(StoreError::Backend("no space left on device".into()));
        }
        let octets = |step: &Step| if let Step::Append(_, _, payload) = step { payload.len() } else { 0 };
        self.largest.fetch_max(steps.iter().map(octets).sum(), Ordering::SeqCst);
        self.store.lock().unwrap().commit(steps)
    }
}

/// Runs a service on a node, also after each restart of it.
pub fn serve(node: &Node, name: &str, disk: &Disk) {
    serve_with(node, &format!("name = \"{name}\"\ndomain = 0"), disk);
}

/// The same with the text of a configuration.
pub fn serve_with(node: &Node, text: &str, disk: &Disk) {
    let config = ServiceConfig::from_toml("test.toml", text, None).unwrap();
    let disk = disk.clone();
    node.on_start_thread(move |_| {
        let stores =
            Stores { transient: Box::new(MemoryStore::default()), persistent: Some(Box::new(disk.clone())) };
        Service::with_stores(config.clone(), stores)?.run(&GuardCondition::new())?;
        Ok(())
    });
}

/// What a service shows.
#[derive(Default)]
pub struct Shown {
    pub states: Vec<TopicState>,
    pub failure: Option<String>,
    pub trouble: Option<String>,
    pub differences: Vec<String>,
}

/// Runs a service on a node as [`serve`] does, and shows what it counts.
pub fn serve_and_count(node: &Node, name: &str, disk: &Disk) -> Arc<Mutex<Shown>> {
    serve_and_show(node, &config(name), disk)
}

/// The least that a service needs.
pub fn config(name: &str) -> ServiceConfig {
    ServiceConfig::from_toml("test.toml", &format!("name = \"{name}\"\ndomain = 0"), None).unwrap()
}

/// The same with a configuration.
pub fn serve_and_show(node: &Node, config: &ServiceConfig, disk: &Disk) -> Arc<Mutex<Shown>> {
    let config = config.clone();
    let (disk, shown) = (disk.clone(), Arc::<Mutex<Shown>>::default());
    let states = Arc::clone(&shown);
    node.on_start_thread(move |_| {
        let stores =
            Stores { transient: Box::new(MemoryStore::default()), persistent: Some(Box::new(disk.clone())) };
        let mut service = Service::with_stores(config.clone(), stores)?;
        let set = WaitSet::new();
        set.attach_condition(service.wake().condition());
        loop {
            let next = service.pump();
            *states.lock().unwrap() = Shown {
                states: service.states(),
                failure: service.failure().map(str::to_owned),
                trouble: service.trouble(),
                differences: service.differences().map(|(topic, how)| format!("{topic}: {how}")).collect(),
            };
            match set.wait(next) {
                Ok(_) | Err(WaitError::Timeout) => {}
                Err(error) => return Err(error.into()),
            }
        }
    });
    shown
}

/// A participant that knows a service.
pub fn participant(sim: &mut Sim, node: &Node) -> Result<DomainParticipant> {
    let participant = node.run(|| DomainParticipant::new(0))?;
    sim.run_until(|| participant.has_durability_service(), secs(60))?;
    Ok(participant)
}

pub fn writer(sim: &mut Sim, node: &Node, qos: &DataWriterQos) -> Result<DataWriter<Track>> {
    let participant = participant(sim, node)?;
    node.run(|| {
        let topic = participant.create_topic::<Track>("Tracks", &TopicQos::default())?;
        Ok(participant.create_publisher(&PublisherQos::default())?.create_datawriter(&topic, qos)?)
    })
}

pub fn reader(sim: &mut Sim, node: &Node, qos: &DataReaderQos) -> Result<DataReader<Track>> {
    let participant = participant(sim, node)?;
    node.run(|| {
        let topic = participant.create_topic::<Track>("Tracks", &TopicQos::default())?;
        Ok(participant.create_subscriber(&SubscriberQos::default())?.create_datareader(&topic, qos)?)
    })
}

/// Tells when a writer knows that everything is stored.
pub fn is_stored<T: TopicType>(node: &Node, writer: &DataWriter<T>) -> impl Fn() -> bool + use<T> {
    let (waiting, done) = (writer.clone(), Arc::new(AtomicBool::new(false)));
    let told = Arc::clone(&done);
    node.spawn(|_| async move {
        waiting.wait_for_acknowledgments_async().await?;
        told.store(true, Ordering::SeqCst);
        Ok(())
    });
    move || done.load(Ordering::SeqCst)
}

/// Waits until a writer knows that everything is stored.
pub fn stored(sim: &mut Sim, node: &Node, writer: &DataWriter<Track>) -> Result {
    sim.run_until(|| !writer.matched_subscriptions().is_empty(), secs(60))?;
    Ok(sim.run_until(is_stored(node, writer), secs(60))?)
}

/// Takes what there is.
pub fn take(node: &Node, reader: &DataReader<Track>) -> Vec<Sample<Track>> {
    node.run(|| reader.take(usize::MAX)).unwrap()
}

/// Instances and positions of the samples with data, sorted.
pub fn values(samples: &[Sample<Track>]) -> Vec<(u32, i64)> {
    let mut all: Vec<_> =
        samples.iter().filter_map(|sample| sample.data.as_ref()).map(|it| (it.id, it.position)).collect();
    all.sort_unstable();
    all
}
