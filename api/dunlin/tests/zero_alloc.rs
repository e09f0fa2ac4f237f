//! In steady state a write, its way to another process over the loopback interface or through shared memory, its
//! acknowledgement and the take allocate nothing, on no thread of either process, for a type without strings and sequences;
//! so it is within a process. The reading process is this program again.
#![cfg(target_os = "linux")]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration as StdDuration, Instant};

use common::eventually;
use common::processes::{Other, role};
use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{Config, DataReader, DataWriter, DdsType, DomainParticipant, Duration, Sample};

/// The system's allocator, with a count of what is asked of it while `COUNTING`.
struct Counting;

static COUNTING: AtomicBool = AtomicBool::new(false);
static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);
thread_local! {
    /// The report of an allocation allocates too.
    static REPORTING: Cell<bool> = const { Cell::new(false) };
}

/// Counts one call and, with `ZERO_ALLOC_TRACE` set, tells where it came from. The first thread is that of the test harness,
/// which says when a test takes long.
fn note(octets: usize) {
    if !COUNTING.load(SeqCst) || REPORTING.try_with(|reporting| reporting.replace(true)) != Ok(false) {
        return;
    }
    let thread = std::thread::current();
    if thread.name() != Some("main") {
        ALLOCATIONS.fetch_add(1, SeqCst);
        if std::env::var_os("ZERO_ALLOC_TRACE").is_some() {
            let trace = std::backtrace::Backtrace::force_capture();
            eprintln!("{octets} octets on {:?}:\n{trace}", thread.name());
        }
    }
    REPORTING.with(|reporting| reporting.set(false));
}

// SAFETY: every call is passed on to the system's allocator with the arguments it came with, and what that returns is
// returned; counting touches no memory of the allocation.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        note(new_size);
        // SAFETY: the caller keeps the contract of `realloc`; `ptr` came from `System`.
        unsafe { System.realloc(ptr, layout, new_size) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`; `ptr` came from `System`.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
struct Position {
    #[dds(key)]
    id: u32,
    number: u64,
    place: [f64; 6],
}

/// Samples until the announcements of the beginning are over: it takes them a second.
const QUIET: u64 = 300;
const LONG_PAUSE: StdDuration = StdDuration::from_millis(4);
/// After it a sample has a datagram of its own.
const PAUSE: StdDuration = StdDuration::from_micros(100);
/// Samples until everything has its size, and stretches of samples during which nothing may be allocated.
const WARM: u64 = 1_300;
const STRETCH: u64 = 200;
const STRETCHES: u64 = 40;
/// So many of them follow each other without an allocation. A buffer more is made when more samples are in use at a time than
/// ever before: a busy machine makes that happen at any time, but ever less often.
const CLEAN: usize = 8;
const COUNTED: u64 = STRETCH * STRETCHES;
/// What the reading process may still miss when the count ends.
const TAIL: u64 = 100;
/// Samples of one take.
const AT_ONCE: usize = 16;
const TOPIC: &str = "Positions";
const TEST: &str = "steady_state_allocates_nothing";

fn position(number: u64) -> Position {
    Position { id: (number % 4) as u32, number, place: [0.5; 6] }
}

/// One that says nothing by itself while samples are counted: announcements, and what looks for new interfaces, allocate.
/// Without a folder it uses the network.
fn participant(domain: u32, memory: Option<&Path>) -> DomainParticipant {
    let mut config = Config::default();
    config.set("network.interfaces", "lo").unwrap();
    config.set("discovery.lease_duration", "2h").unwrap();
    config.set("discovery.announcement_period", "1h").unwrap();
    config.set("network.interface_poll", "1h").unwrap();
    config.set("shared_memory.enabled", &memory.is_some().to_string()).unwrap();
    if let Some(directory) = memory {
        config.set("shared_memory.directory", directory.to_str().unwrap()).unwrap();
    }
    DomainParticipant::builder(domain).config(config).build().unwrap()
}

/// Policies to try.
#[derive(Clone, Copy, Debug)]
enum Kind {
    BestEffort,
    KeepLast,
    KeepAll,
    /// The same as KEEP_ALL, as fast as the reader takes.
    Burst,
}

const KINDS: [Kind; 4] = [Kind::BestEffort, Kind::KeepLast, Kind::KeepAll, Kind::Burst];

impl Kind {
    fn writer(self) -> DataWriterQos {
        let qos = DataWriterQos::default();
        match self {
            Self::BestEffort => qos.best_effort(),
            Self::KeepLast => qos.reliable().keep_last(1),
            Self::KeepAll | Self::Burst => {
                let qos = qos.reliable().keep_all().resource_limits(16, -1, -1);
                qos.max_blocking_time(Duration::from_secs(20))
            }
        }
    }

    fn reader(self) -> DataReaderQos {
        let qos = DataReaderQos::default();
        match self {
            Self::BestEffort => qos,
            Self::KeepLast => qos.reliable(),
            Self::KeepAll | Self::Burst => qos.reliable().keep_all(),
        }
    }
}

fn writer(participant: &DomainParticipant, kind: Kind) -> DataWriter<Position> {
    let topic = participant.create_topic::<Position>(TOPIC, &TopicQos::default()).unwrap();
    let publisher = participant.create_publisher(&PublisherQos::default()).unwrap();
    publisher.create_datawriter(&topic, &kind.writer()).unwrap()
}

/// A reader that takes sample by sample, into one list.
struct Taking {
    reader: DataReader<Position>,
    taken: Vec<Sample<Position>>,
    /// The highest number that was taken by [`up_to`](Self::up_to).
    newest: Option<u64>,
}

impl Taking {
    fn new(participant: &DomainParticipant, kind: Kind) -> Self {
        let topic = participant.create_topic::<Position>(TOPIC, &TopicQos::default()).unwrap();
        let subscriber = participant.create_subscriber(&SubscriberQos::default()).unwrap();
        let reader = subscriber.create_datareader(&topic, &kind.reader()).unwrap();
        Self { reader, taken: Vec::with_capacity(64), newest: None }
    }

    /// Takes what is there.
    fn all_there_is(&mut self) {
        while self.reader.take_into(AT_ONCE, &mut self.taken).unwrap() > 0 {
            self.taken.clear();
        }
    }

    /// Takes up to a number or a later one, and says how many that were. A take goes through one instance after the other:
    /// while it is full, older samples of other instances may still be there. So it may take what the next call is to wait for.
    fn up_to(&mut self, last: u64) -> u64 {
        let (mut count, deadline) = (0, Instant::now() + StdDuration::from_secs(30));
        let mut full = false;
        while full || self.newest < Some(last) {
            self.taken.clear();
            let taken = self.reader.take_into(AT_ONCE, &mut self.taken).unwrap();
            full = taken == AT_ONCE;
            count += taken as u64;
            for sample in self.taken.iter().filter_map(|sample| sample.data.as_ref()) {
                assert_eq!(*sample, position(sample.number));
                self.newest = self.newest.max(Some(sample.number));
            }
            assert!(Instant::now() < deadline, "sample {last} is missing, {:?} was the newest", self.newest);
            std::thread::park_timeout(StdDuration::from_micros(20));
        }
        count
    }
}

/// What is allocated meanwhile, on any thread.
fn allocations_of(call: impl FnOnce()) -> usize {
    ALLOCATIONS.store(0, SeqCst);
    COUNTING.store(true, SeqCst);
    call();
    COUNTING.store(false, SeqCst);
    ALLOCATIONS.load(SeqCst)
}

/// How many allocations each stretch has. The call goes on up to a number.
fn stretches(mut call: impl FnMut(u64)) -> Vec<usize> {
    (1..=STRETCHES).map(|stretch| allocations_of(|| call(WARM + stretch * STRETCH))).collect()
}

fn assert_clean(what: &str, counts: &[usize]) {
    let clean = counts.split(|count| *count > 0).map(<[usize]>::len).max().unwrap_or(0);
    assert!(clean >= CLEAN, "{what}: allocations in stretches of {STRETCH} samples: {counts:?}");
}

/// What the reading process does.
fn read(role: &str, domain: u32, directory: &Path) {
    let (way, kind) = role.split_once('-').unwrap();
    let participant = participant(domain, (way == "memory").then_some(directory));
    let mut taking = Taking::new(&participant, KINDS[kind.parse::<usize>().unwrap()]);
    taking.up_to(QUIET);
    // Until there is as much to take as there can be.
    std::thread::park_timeout(StdDuration::from_millis(600));
    taking.all_there_is();
    println!("warm");
    let mut count = 0;
    let allocations = stretches(|number| count += taking.up_to(number));
    println!("took {count} {} {allocations:?}", participant.transport_stats().shared_received_octets);
    assert_clean(&format!("reading process, {role}"), &allocations);
}

/// Writes from a number on up to another one, without that.
fn write(writer: &DataWriter<Position>, pause: StdDuration, numbers: Range<u64>) {
    for number in numbers {
        writer.write(&position(number)).unwrap();
        if !pause.is_zero() {
            std::thread::park_timeout(pause);
        }
    }
}

fn two_processes_allocate_nothing() {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    for memory in [None, Some(folder.path())] {
        for (index, kind) in KINDS.into_iter().enumerate() {
            let (domain, way) = (common::domain(), if memory.is_some() { "memory" } else { "network" });
            let participant = participant(domain, memory);
            let writer = writer(&participant, kind);
            let mut other = Other::start_test(TEST, &format!("{way}-{index}"), domain, folder.path());
            eventually("a reader", || !writer.matched_subscriptions().is_empty());
            let pause = if matches!(kind, Kind::Burst) { StdDuration::ZERO } else { PAUSE };
            write(&writer, LONG_PAUSE, 0..QUIET);
            // It finds as much as there can be.
            other.signal("-STOP");
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::park_timeout(StdDuration::from_millis(300));
                    other.signal("-CONT");
                });
                write(&writer, pause, QUIET..WARM);
            });
            // What it takes from now on is counted.
            other.says("warm");
            let mut next = WARM;
            let allocations =
                stretches(|until| write(&writer, pause, std::mem::replace(&mut next, until)..until));
            write(&writer, pause, next..next + TAIL);
            let line = other.says("took ");
            println!("{way}, {kind:?}: allocations of the writing process {allocations:?}; reading, {line}");
            let mut words = line[line.find("took ").unwrap() + 5..].split_whitespace();
            let [taken, octets] = [(); 2].map(|()| words.next().unwrap().parse::<u64>().unwrap());
            let (stats, payload) = (participant.transport_stats(), COUNTED * size_of::<Position>() as u64);
            // It is this way that was counted.
            let [shared, sent] = [stats.shared_sent_octets, stats.sent_octets].map(|sent| sent > payload);
            assert_eq!((shared, sent), (memory.is_some(), memory.is_none()), "{stats:?}");
            assert_eq!(octets > 0, memory.is_some(), "the reader got what it took from memory");
            let least = if matches!(kind, Kind::KeepAll | Kind::Burst) { COUNTED - 16 } else { COUNTED / 10 };
            assert!(taken >= least, "the reader took {taken} of {COUNTED}");
            assert_clean(&format!("writing process, {way}, {kind:?}"), &allocations);
            other.ended_well();
        }
    }
}

/// Between two participants of one process the change itself is handed over.
fn one_process_allocates_nothing() {
    for kind in [Kind::BestEffort, Kind::KeepLast, Kind::KeepAll] {
        let (domain, folder) = (common::domain(), tempfile::tempdir_in("/dev/shm").unwrap());
        let [near, far] = [(); 2].map(|()| participant(domain, Some(folder.path())));
        let (writer, mut taking) = (writer(&near, kind), Taking::new(&far, kind));
        eventually("a match", || {
            !writer.matched_subscriptions().is_empty() && !taking.reader.matched_publications().is_empty()
        });
        let mut exchange = |numbers: Range<u64>| {
            for number in numbers {
                writer.write(&position(number)).unwrap();
                assert_eq!(taking.up_to(number), 1);
                if number < QUIET {
                    std::thread::park_timeout(LONG_PAUSE);
                }
            }
        };
        exchange(0..WARM);
        let mut next = WARM;
        let allocations = stretches(|until| exchange(std::mem::replace(&mut next, until)..until));
        let stats = near.transport_stats();
        assert!(stats.sent_octets + stats.shared_sent_octets < COUNTED * 4, "it took another way: {stats:?}");
        assert_clean(&format!("one process, {kind:?}"), &allocations);
    }
}

/// One test: another one beside it would be counted too.
#[test]
fn steady_state_allocates_nothing() {
    if let Some((role, domain, directory)) = role() {
        return read(&role, domain, &directory);
    }
    assert!(allocations_of(|| drop(std::hint::black_box(Box::new(1)))) > 0, "the counter counts");
    one_process_allocates_nothing();
    two_processes_allocate_nothing();
}
