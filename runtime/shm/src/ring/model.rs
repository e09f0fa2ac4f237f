//! The ring under loom: what is taken is what was put, in order, and no octet is written while it is read.

use loom::cell::UnsafeCell;
use loom::sync::Arc;

use super::*;

const CAPACITY: usize = 64;

/// One cell for each word, so that the checker sees who uses which.
struct Modelled {
    head: AtomicU32,
    tail: AtomicU32,
    words: Vec<UnsafeCell<u32>>,
}

#[expect(unsafe_code, reason = "the model exists to find out whether this is so")]
// SAFETY: the ring orders all access to the words; loom reports where it does not.
unsafe impl Sync for Modelled {}

#[expect(unsafe_code, reason = "loom checks every access to its cells")]
impl Modelled {
    fn get(&self, at: u32) -> u32 {
        // SAFETY: loom fails the model if another thread writes the cell meanwhile.
        self.words[at as usize / 4].with(|word| unsafe { *word })
    }

    fn set(&self, at: u32, value: u32) {
        // SAFETY: loom fails the model if another thread uses the cell meanwhile.
        self.words[at as usize / 4].with_mut(|word| unsafe { *word = value });
    }
}

impl Memory for Modelled {
    fn head(&self) -> &AtomicU32 {
        &self.head
    }

    fn tail(&self) -> &AtomicU32 {
        &self.tail
    }

    fn capacity(&self) -> u32 {
        CAPACITY as u32
    }

    fn write(&self, at: u32, octets: &[u8]) {
        for (word, place) in octets.chunks_exact(4).zip((at..).step_by(4)) {
            self.set(place, u32::from_ne_bytes(word.try_into().unwrap()));
        }
    }

    fn header(&self, at: u32) -> (u32, u32) {
        (self.get(at), self.get(at + 4))
    }
}

/// Records of 12 octets take 24: the third one goes round the end and needs the room of the first.
#[test]
fn records_arrive_whole_and_in_order() {
    loom::model(|| {
        let words = (0..CAPACITY / 4).map(|_| UnsafeCell::new(0)).collect();
        let memory = Arc::new(Modelled { head: AtomicU32::new(0), tail: AtomicU32::new(0), words });
        let shared = Arc::clone(&memory);
        let producer = loom::thread::spawn(move || {
            let mut producer = Producer::default();
            for number in 1..=3_u32 {
                let octets = [number.to_ne_bytes(); 3].concat();
                while producer.put(&*shared, octets.len(), [&*octets].into_iter()) == Put::Full {
                    loom::thread::yield_now();
                }
            }
        });
        let (mut consumer, mut expected) = (Consumer::default(), 1);
        while expected <= 3 {
            match consumer.find(&*memory) {
                Found::Record { at, len } => {
                    assert_eq!(len, 12);
                    assert!((0..3).all(|word| memory.get(at + 4 * word) == expected));
                    consumer.release(&*memory, len);
                    expected += 1;
                }
                Found::Nothing => loom::thread::yield_now(),
                Found::Broken => panic!("the ring is broken"),
            }
        }
        producer.join().unwrap();
    });
}
