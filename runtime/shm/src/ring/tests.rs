use std::cell::RefCell;
use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

const CAPACITY: u32 = 256;

struct Heap {
    head: AtomicU32,
    tail: AtomicU32,
    octets: RefCell<Vec<u8>>,
}

impl Heap {
    fn new(octets: Vec<u8>) -> Self {
        Self { head: AtomicU32::new(0), tail: AtomicU32::new(0), octets: RefCell::new(octets) }
    }

    fn read(&self, at: u32, len: u32) -> Vec<u8> {
        self.octets.borrow()[at as usize..(at + len) as usize].to_vec()
    }
}

impl Memory for Heap {
    fn head(&self) -> &AtomicU32 {
        &self.head
    }

    fn tail(&self) -> &AtomicU32 {
        &self.tail
    }

    fn capacity(&self) -> u32 {
        CAPACITY
    }

    fn write(&self, at: u32, octets: &[u8]) {
        self.octets.borrow_mut()[at as usize..at as usize + octets.len()].copy_from_slice(octets);
    }

    fn header(&self, at: u32) -> (u32, u32) {
        let word = |at| u32::from_ne_bytes(self.read(at, 4).try_into().unwrap());
        (word(at), word(at + 4))
    }
}

#[derive(Clone, Debug)]
enum Step {
    Put(Vec<u8>),
    Take,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 1..=longest(CAPACITY) as usize).prop_map(Step::Put),
        proptest::collection::vec(any::<u8>(), 1..20).prop_map(Step::Put),
        Just(Step::Take),
        Just(Step::Take),
    ]
}

proptest! {
    /// A queue is the model. The counters begin shortly before they wrap around.
    #[test]
    fn the_ring_agrees_with_a_queue(steps in proptest::collection::vec(step(), 1..200), near_wrap in any::<bool>()) {
        let memory = Heap::new(vec![0; CAPACITY as usize]);
        let start = if near_wrap { 0_u32.wrapping_sub(512) } else { 0 };
        memory.head.store(start, Ordering::Relaxed);
        memory.tail.store(start, Ordering::Relaxed);
        let mut producer = Producer { head: start, tail: start };
        let mut consumer = Consumer { head: start };
        let mut model: VecDeque<Vec<u8>> = VecDeque::new();
        for step in steps {
            match step {
                Step::Put(octets) => {
                    let (left, right) = octets.split_at(octets.len() / 2);
                    match producer.put(&memory, octets.len(), [left, right].into_iter()) {
                        Put::Done => model.push_back(octets),
                        Put::Full => prop_assert!(!model.is_empty(), "an empty ring has room"),
                        other => prop_assert!(false, "{other:?}"),
                    }
                }
                Step::Take => match consumer.find(&memory) {
                    Found::Record { at, len } => {
                        prop_assert_eq!(Some(memory.read(at, len)), model.pop_front());
                        consumer.release(&memory, len);
                    }
                    Found::Nothing => prop_assert!(model.is_empty()),
                    Found::Broken => prop_assert!(false, "broken"),
                },
            }
        }
    }

    /// Whatever the other side writes, a consumer finds records that lie inside, and comes to an end.
    #[test]
    fn a_hostile_producer_breaks_its_own_ring_alone(
        octets in proptest::collection::vec(prop_oneof![Just(0xFF), Just(0), any::<u8>()], CAPACITY as usize),
        lengths in proptest::collection::vec((0_u32..CAPACITY / 8, 0_u32..300), 0..12),
        tail in prop_oneof![any::<u32>(), 0..=CAPACITY],
        head in prop_oneof![any::<u32>(), Just(0)],
    ) {
        let memory = Heap::new(octets);
        for (place, len) in lengths {
            memory.write(place * 8, &len.to_ne_bytes());
            if place * 8 + 8 <= CAPACITY {
                memory.write(place * 8 + 4, &(!len).to_ne_bytes());
            }
        }
        memory.tail.store(tail, Ordering::Relaxed);
        let mut consumer = Consumer { head: head & !7 };
        for _ in 0..=CAPACITY / 16 {
            match consumer.find(&memory) {
                Found::Record { at, len } => {
                    prop_assert!(at + len <= CAPACITY && len > 0);
                    consumer.release(&memory, len);
                }
                Found::Nothing | Found::Broken => return Ok(()),
            }
        }
        prop_assert!(false, "more records than fit");
    }

    /// Nor does a producer write outside, or overwrite what it says is not taken, because of a hostile consumer.
    #[test]
    fn a_hostile_consumer_is_found_out(heads in proptest::collection::vec(any::<u32>(), 1..40)) {
        let memory = Heap::new(vec![0; CAPACITY as usize]);
        let mut producer = Producer::default();
        for head in heads {
            memory.head.store(head, Ordering::Relaxed);
            if producer.put(&memory, 100, [&[7_u8; 100][..]].into_iter()) == Put::Broken {
                return Ok(());
            }
        }
    }
}

#[test]
fn records_larger_than_the_ring_are_refused() {
    let memory = Heap::new(vec![0; CAPACITY as usize]);
    let mut producer = Producer::default();
    let long = vec![1; longest(CAPACITY) as usize + 1];
    assert_eq!(producer.put(&memory, long.len(), [&*long].into_iter()), Put::Unfit);
    assert_eq!(producer.put(&memory, 0, std::iter::empty()), Put::Unfit);
    assert_eq!(producer.put(&memory, usize::MAX, std::iter::empty()), Put::Unfit);
    assert_eq!(producer.put(&memory, long.len() - 1, [&long[1..]].into_iter()), Put::Done);
}

#[test]
fn bytes_beyond_the_stated_record_length_are_left_out() {
    let memory = Heap::new(vec![0; CAPACITY as usize]);
    let mut producer = Producer::default();
    assert_eq!(producer.put(&memory, 3, [&[1, 2][..], &[3, 4, 5]].into_iter()), Put::Done);
    assert_eq!(memory.read(HEADER, 5), [1, 2, 3, 0, 0]);
}
