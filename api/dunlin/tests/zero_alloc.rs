//! In steady state a write, its way over the loopback interface or through shared memory, its acknowledgement and the take
//! allocate nothing, on no thread of the process, for a type without strings and sequences.

use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{Config, DataReader, DataWriter, DdsType, DomainParticipant, Duration, Sample};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration as StdDuration, Instant};

/// The system's allocator, with a count of what is asked of it while `COUNTING`.
struct Counting;

static COUNTING: AtomicBool = AtomicBool::new(false);
static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);
thread_local! {
    /// The report of an allocation allocates too.
    static REPORTING: Cell<bool> = const { Cell::new(false) };
}

/// Counts one call and, with `ZERO_ALLOC_TRACE` set, tells where it came from.
fn note(octets: usize) {
    if !COUNTING.load(SeqCst) || REPORTING.try_with(|reporting| reporting.replace(true)) != Ok(false) {
        return;
    }
    ALLOCATIONS.fetch_add(1, SeqCst);
    if std::env::var_os("ZERO_ALLOC_TRACE").is_some() {
        let trace = std::backtrace::Backtrace::force_capture();
        eprintln!("{octets} octets on {:?}:\n{trace}", std::thread::current().name());
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

struct Pair {
    _participants: [DomainParticipant; 2],
    writer: DataWriter<Position>,
    reader: DataReader<Position>,
    taken: Vec<Sample<Position>>,
    number: u64,
}

fn participant(shared_memory: bool) -> DomainParticipant {
    let mut config = Config::default();
    config.set("shared_memory.enabled", &shared_memory.to_string()).unwrap();
    config.set("network.interfaces", "lo").unwrap();
    DomainParticipant::builder(200 + std::process::id() % 30).config(config).build().unwrap()
}

impl Pair {
    fn new(shared_memory: bool, writer_qos: &DataWriterQos, reader_qos: &DataReaderQos) -> Self {
        let (near, far) = (participant(shared_memory), participant(shared_memory));
        let name = format!("Positions{}", std::process::id());
        let topic = near.create_topic::<Position>(&name, &TopicQos::default()).unwrap();
        let publisher = near.create_publisher(&PublisherQos::default()).unwrap();
        let writer = publisher.create_datawriter(&topic, writer_qos).unwrap();
        let topic = far.create_topic::<Position>(&name, &TopicQos::default()).unwrap();
        let subscriber = far.create_subscriber(&SubscriberQos::default()).unwrap();
        let reader = subscriber.create_datareader(&topic, reader_qos).unwrap();
        let deadline = Instant::now() + StdDuration::from_secs(20);
        while writer.matched_subscriptions().is_empty() || reader.matched_publications().is_empty() {
            assert!(Instant::now() < deadline, "no match");
            std::thread::park_timeout(StdDuration::from_millis(1));
        }
        Self { _participants: [near, far], writer, reader, taken: Vec::with_capacity(64), number: 0 }
    }

    /// Writes `count` samples of four instances one after the other and takes each.
    fn exchange(&mut self, count: usize) {
        for _ in 0..count {
            self.number += 1;
            let id = (self.number % 4) as u32;
            let sample = Position { id, number: self.number, place: [0.5; 6] };
            self.writer.write(&sample).unwrap();
            self.taken.clear();
            let deadline = Instant::now() + StdDuration::from_secs(20);
            while self.reader.take_into(16, &mut self.taken).unwrap() == 0 {
                assert!(Instant::now() < deadline, "sample {} is missing", self.number);
                std::thread::yield_now();
            }
            assert_eq!(self.taken.len(), 1);
            assert_eq!(self.taken[0].data.as_ref(), Some(&sample));
        }
    }

    fn allocations_of(&mut self, count: usize) -> usize {
        ALLOCATIONS.store(0, SeqCst);
        COUNTING.store(true, SeqCst);
        self.exchange(count);
        COUNTING.store(false, SeqCst);
        ALLOCATIONS.load(SeqCst)
    }
}

/// Discovery goes on beside it, once in seconds: of several stretches one without its messages must be clean.
fn assert_no_allocations(what: &str, mut pair: Pair) {
    pair.exchange(3_000);
    let counts: Vec<usize> = (0..5).map(|_| pair.allocations_of(400)).collect();
    assert!(counts.contains(&0), "{what}: allocations in five stretches of 400 samples: {counts:?}");
}

fn assert_the_counter_counts() {
    COUNTING.store(true, SeqCst);
    drop(std::hint::black_box(Box::new(1)));
    COUNTING.store(false, SeqCst);
    assert!(ALLOCATIONS.load(SeqCst) > 0);
}

#[test]
fn steady_state_allocates_nothing() {
    assert_the_counter_counts();
    for shared_memory in [false, true] {
        let (writer, reader) = (DataWriterQos::default(), DataReaderQos::default());
        let pair = |writer: &DataWriterQos, reader: &DataReaderQos| Pair::new(shared_memory, writer, reader);
        assert_no_allocations("best-effort", pair(&writer.clone().best_effort(), &reader));
        let kept = writer.clone().reliable().keep_last(1);
        assert_no_allocations("reliable, keep last", pair(&kept, &reader.clone().reliable()));
        let all = writer.reliable().keep_all().resource_limits(16, -1, -1);
        let all = all.max_blocking_time(Duration::from_secs(20));
        assert_no_allocations("reliable, keep all", pair(&all, &reader.reliable().keep_all()));
    }
}
