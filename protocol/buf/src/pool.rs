//! Pools that reuse buffers, so that steady state allocates nothing.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::SharedBytes;
use crate::arc::{Arc, exclusive};

const SMALLEST_CLASS: usize = 64;
const CLASSES: usize = 20;
/// How many lent buffers are looked at before a new one is made.
const PROBES: usize = 4;
/// Buffers of this size and more are given back when more of them lie idle than are in use.
const LARGE: usize = 128 << 10;
/// So many returns in a row find a large buffer idle before one is given back: a burst that comes again finds them.
const IDLE: u8 = 16;

/// The buffers of one class, those that were lent longest ago first.
#[derive(Debug, Default)]
struct Class {
    ring: VecDeque<Arc<Vec<u8>>>,
    /// Returns in a row that found the first one idle.
    idle: u8,
}

/// Buffers in classes of powers of two from 64 bytes to 32 MiB. A buffer returns by itself: the
/// pool keeps a reference and uses the buffer again once nobody else has one. Large ones that a burst has left behind are given
/// back one by one.
#[derive(Debug, Default)]
pub struct BufPool {
    /// Up to the largest class that was ever used: most pools of most writers are empty for long.
    classes: Vec<Class>,
    retained: usize,
    max_retained: usize,
}

/// A buffer that nobody else can see yet.
#[derive(Debug)]
pub struct BufMut {
    owner: Arc<Vec<u8>>,
}

impl BufPool {
    /// A pool that keeps at most `max_retained` bytes for reuse.
    #[must_use]
    pub fn new(max_retained: usize) -> Self {
        Self { max_retained, ..Self::default() }
    }

    fn class_of(len: usize) -> Option<(usize, usize)> {
        let size = len.max(SMALLEST_CLASS).checked_next_power_of_two()?;
        let class = size.trailing_zeros().checked_sub(SMALLEST_CLASS.trailing_zeros())? as usize;
        (class < CLASSES).then_some((class, size))
    }

    /// A buffer with room for at least `len` bytes; its contents are whatever was there before.
    pub fn take(&mut self, len: usize) -> BufMut {
        let Some((class, size)) = Self::class_of(len) else {
            return BufMut { owner: Arc::new(Vec::with_capacity(len)) };
        };
        let Some(Class { ring, idle }) = self.classes.get_mut(class) else {
            return BufMut { owner: Arc::new(Vec::with_capacity(size)) };
        };
        for _ in 0..PROBES.min(ring.len()) {
            let Some(mut candidate) = ring.pop_front() else { break };
            if Arc::get_mut(&mut candidate).is_some() {
                self.retained = self.retained.saturating_sub(size);
                return BufMut { owner: candidate };
            }
            ring.push_back(candidate);
        }
        *idle = 0;
        BufMut { owner: Arc::new(Vec::with_capacity(size)) }
    }

    /// Makes the first `len` bytes shareable and remembers the buffer for reuse.
    pub fn freeze(&mut self, buffer: BufMut, len: usize) -> SharedBytes {
        let capacity = buffer.owner.capacity();
        if let Some((class, size)) = Self::class_of(capacity)
            && size == capacity
            && self.retained.saturating_add(size) <= self.max_retained
        {
            if self.classes.len() <= class {
                self.classes.resize_with(class.saturating_add(1), Class::default);
            }
            if let Some(class) = self.classes.get_mut(class) {
                self.retained = self.retained.saturating_add(size);
                class.ring.push_back(Arc::clone(&buffer.owner));
                if size >= LARGE && class.give_back() {
                    self.retained = self.retained.saturating_sub(size);
                }
            }
        }
        SharedBytes::from_arc(buffer.owner, len)
    }

    /// Whether at least `count` buffers with room for `len` bytes are in use, as far as the pool remembers them.
    #[must_use]
    pub fn has_lent(&self, len: usize, count: usize) -> bool {
        let class = Self::class_of(len).and_then(|(class, _)| self.classes.get(class));
        let in_use = |buffer: &&Arc<Vec<u8>>| Arc::strong_count(buffer) > 1;
        class.is_some_and(|class| class.ring.iter().filter(in_use).take(count).count() >= count)
    }

    /// A pooled copy of `bytes`.
    pub fn copy(&mut self, bytes: &[u8]) -> SharedBytes {
        let mut buffer = self.take(bytes.len());
        let vec = buffer.vec_mut();
        vec.clear();
        vec.extend_from_slice(bytes);
        self.freeze(buffer, bytes.len())
    }

    /// Bytes of all buffers the pool remembers, lent or free.
    #[must_use]
    pub fn retained(&self) -> usize {
        self.retained
    }
}

impl Class {
    /// Gives the first buffer back if it has been idle for long beside the one that was just lent; whether it did.
    fn give_back(&mut self) -> bool {
        let idle =
            self.ring.len() > 1 && self.ring.front_mut().is_some_and(|first| Arc::get_mut(first).is_some());
        self.idle = if idle { self.idle.saturating_add(1) } else { 0 };
        if self.idle < IDLE {
            return false;
        }
        self.idle = 0;
        self.ring.pop_front().is_some()
    }
}

impl BufMut {
    /// The vector behind the buffer; growing it beyond its capacity takes it out of the pool.
    pub fn vec_mut(&mut self) -> &mut Vec<u8> {
        // A `BufMut` is made only from a reference that nobody else has, so this never copies.
        exclusive(&mut self.owner)
    }

    /// The first `len` bytes for filling; bytes never used before are zero.
    pub fn slice_mut(&mut self, len: usize) -> &mut [u8] {
        let vec = self.vec_mut();
        if vec.len() < len {
            vec.resize(len, 0);
        }
        vec.get_mut(..len).unwrap_or(&mut [])
    }

    /// Makes the first `len` bytes shareable outside any pool.
    #[must_use]
    pub fn freeze_unpooled(self, len: usize) -> SharedBytes {
        SharedBytes::from_arc(self.owner, len)
    }
}

#[cfg(all(test, loom))]
mod model {
    //! A buffer that another thread gives back while the pool looks for one.

    use loom::cell::UnsafeCell;
    use loom::thread;

    use super::*;

    /// Stands beside the bytes of up to two buffers; every access is checked against the others.
    struct Shadow {
        addresses: [usize; 2],
        cells: [loom::sync::Arc<UnsafeCell<u8>>; 2],
    }

    impl Shadow {
        fn of(&mut self, bytes: &SharedBytes) -> loom::sync::Arc<UnsafeCell<u8>> {
            let address = bytes.as_ptr() as usize;
            let known = self.addresses.iter().position(|other| *other == address || *other == 0);
            let known = known.expect("two buffers are enough");
            self.addresses[known] = address;
            self.cells[known].clone()
        }
    }

    /// As the pool fills a buffer.
    fn fill(pool: &mut BufPool, shadow: &mut Shadow, value: u8) -> SharedBytes {
        let bytes = pool.copy(&[value; 8]);
        shadow.of(&bytes).with_mut(drop);
        bytes
    }

    #[test]
    fn a_buffer_is_used_again_only_after_its_last_reader() {
        loom::model(|| {
            let cell = || loom::sync::Arc::new(UnsafeCell::new(0));
            let mut shadow = Shadow { addresses: [0; 2], cells: [cell(), cell()] };
            let mut pool = BufPool::new(1 << 10);
            let first = fill(&mut pool, &mut shadow, 1);
            let reader = {
                let (bytes, cell) = (first.clone(), shadow.of(&first));
                thread::spawn(move || {
                    assert_eq!(*bytes, [1; 8]);
                    cell.with(drop);
                })
            };
            drop(first);
            let second = fill(&mut pool, &mut shadow, 2);
            assert_eq!(*second, [2; 8]);
            reader.join().expect("no panic");
            drop(second);
            let third = fill(&mut pool, &mut shadow, 3);
            assert_eq!(pool.retained(), if shadow.addresses[1] == 0 { 64 } else { 128 });
            drop(third);
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use core::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    extern crate std;

    #[test]
    fn octets_that_another_thread_reads_are_not_written() {
        let rounds = if cfg!(miri) { 20 } else { 2_000 };
        let (sender, receiver) = std::sync::mpsc::sync_channel::<SharedBytes>(2);
        let failed = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for bytes in receiver {
                    let same = bytes.iter().all(|octet| Some(octet) == bytes.first());
                    failed.fetch_or(!same, Ordering::Relaxed);
                }
            });
            let mut pool = BufPool::new(1 << 10);
            for round in 0..rounds {
                sender.send(pool.copy(&[round as u8; 100])).unwrap();
            }
            drop(sender);
        });
        assert!(!failed.into_inner());
    }

    #[test]
    fn a_buffer_comes_back_when_nobody_holds_it() {
        let mut pool = BufPool::new(1 << 20);
        let first = pool.copy(&[1; 100]);
        let address = first.as_ptr();
        let second = pool.copy(&[2; 100]);
        assert_ne!(second.as_ptr(), address);
        assert_eq!(&*first, [1; 100]);
        drop(first);
        let third = pool.copy(&[3; 100]);
        assert_eq!(third.as_ptr(), address);
        assert_eq!(&*second, [2; 100]);
        assert_eq!(pool.retained(), 256);
    }

    #[test]
    fn the_bound_on_retained_octets_holds() {
        let mut pool = BufPool::new(1000);
        let held: Vec<_> = (0..100).map(|i| pool.copy(&[i; 64])).collect();
        assert!(pool.retained() <= 1000);
        assert!(held.iter().enumerate().all(|(i, bytes)| bytes.iter().all(|b| usize::from(*b) == i)));
        let huge = pool.take(100 << 20);
        assert!(pool.freeze(huge, 10).is_empty());
    }

    #[test]
    fn buffers_of_a_burst_are_released_and_buffers_in_use_are_reused() {
        const SIZE: usize = LARGE;
        let mut pool = BufPool::new(100 * SIZE);
        let burst: Vec<_> = (0..10).map(|_| pool.copy(&[1; SIZE])).collect();
        assert_eq!(pool.retained(), 10 * SIZE);
        drop(burst);
        for _ in 0..10 * usize::from(IDLE) {
            drop(pool.copy(&[2; SIZE]));
        }
        assert_eq!(pool.retained(), SIZE, "one is enough");
        // Three in use at a time, for ever: nothing is made anew.
        let mut held: VecDeque<_> = (0..3).map(|_| pool.copy(&[3; SIZE])).collect();
        let mut seen: Vec<_> = held.iter().map(|bytes| bytes.as_ptr()).collect();
        for _ in 0..100 {
            held.pop_front();
            held.push_back(pool.copy(&[3; SIZE]));
            assert!(held.back().is_some_and(|bytes| seen.contains(&bytes.as_ptr())));
        }
        seen.dedup();
        assert_eq!((seen.len(), pool.retained()), (3, 3 * SIZE));
    }

    #[test]
    fn small_buffers_stay() {
        let mut pool = BufPool::new(1 << 20);
        drop((0..10).map(|_| pool.copy(&[1; 64])).collect::<Vec<_>>());
        for _ in 0..1_000 {
            drop(pool.copy(&[2; 64]));
        }
        assert_eq!(pool.retained(), 640);
    }

    #[test]
    fn the_pool_counts_lent_buffers() {
        let mut pool = BufPool::new(1 << 20);
        assert!(!pool.has_lent(64, 1));
        let held: Vec<_> = (0..3).map(|_| pool.copy(&[1; 64])).collect();
        assert!(pool.has_lent(64, 3) && !pool.has_lent(64, 4) && !pool.has_lent(128, 1));
        drop(held);
        assert!(!pool.has_lent(64, 1));
    }

    #[test]
    fn slices_are_zero_at_first_and_of_the_length_asked() {
        let mut pool = BufPool::new(1 << 20);
        let mut buffer = pool.take(1500);
        assert_eq!(buffer.slice_mut(1500), [0; 1500]);
        buffer.slice_mut(3).copy_from_slice(&[1, 2, 3]);
        assert_eq!(&*pool.freeze(buffer, 3), [1, 2, 3]);
    }
}
