//! Pools that reuse buffers, so that steady state allocates nothing.

use crate::SharedBytes;
use crate::arc::{Arc, exclusive};
use alloc::collections::VecDeque;
use alloc::vec::Vec;

const SMALLEST_CLASS: usize = 64;
const CLASSES: usize = 20;
/// How many lent buffers are looked at before a new one is made.
const PROBES: usize = 4;

/// Buffers in classes of powers of two from 64 bytes to 32 MiB. A buffer returns by itself: the
/// pool keeps a reference and uses the buffer again once nobody else has one.
#[derive(Debug, Default)]
pub struct BufPool {
    /// Up to the largest class that was ever used: most pools of most writers are empty for long.
    classes: Vec<VecDeque<Arc<Vec<u8>>>>,
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
        let Some(ring) = self.classes.get_mut(class) else {
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
                self.classes.resize_with(class.saturating_add(1), VecDeque::new);
            }
            if let Some(ring) = self.classes.get_mut(class) {
                self.retained = self.retained.saturating_add(size);
                ring.push_back(Arc::clone(&buffer.owner));
            }
        }
        SharedBytes::from_arc(buffer.owner, len)
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

    use super::*;
    use loom::cell::UnsafeCell;
    use loom::thread;

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
    use super::*;
    use core::sync::atomic::{AtomicBool, Ordering};
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
    fn slices_are_zero_at_first_and_of_the_length_asked() {
        let mut pool = BufPool::new(1 << 20);
        let mut buffer = pool.take(1500);
        assert_eq!(buffer.slice_mut(1500), [0; 1500]);
        buffer.slice_mut(3).copy_from_slice(&[1, 2, 3]);
        assert_eq!(&*pool.freeze(buffer, 3), [1, 2, 3]);
    }
}
