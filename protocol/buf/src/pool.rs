//! Pools that reuse buffers, so that steady state allocates nothing.

use crate::SharedBytes;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

const SMALLEST_CLASS: usize = 64;
const CLASSES: usize = 20;
/// How many lent buffers are looked at before a new one is made.
const PROBES: usize = 4;

/// Buffers in classes of powers of two from 64 octets to 32 MiB. A buffer returns by itself: the
/// pool keeps a reference and uses the buffer again once nobody else has one.
#[derive(Debug, Default)]
pub struct BufPool {
    classes: [VecDeque<Arc<Vec<u8>>>; CLASSES],
    retained: usize,
    max_retained: usize,
}

/// A buffer that nobody else can see yet.
#[derive(Debug)]
pub struct BufMut {
    owner: Arc<Vec<u8>>,
}

impl BufPool {
    /// A pool that keeps at most `max_retained` octets for reuse.
    #[must_use]
    pub fn new(max_retained: usize) -> Self {
        Self { max_retained, ..Self::default() }
    }

    fn class_of(len: usize) -> Option<(usize, usize)> {
        let size = len.max(SMALLEST_CLASS).checked_next_power_of_two()?;
        let class = size.trailing_zeros().checked_sub(SMALLEST_CLASS.trailing_zeros())? as usize;
        (class < CLASSES).then_some((class, size))
    }

    /// A buffer with room for at least `len` octets; its contents are whatever was there before.
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

    /// Makes the first `len` octets shareable and remembers the buffer for reuse.
    pub fn freeze(&mut self, buffer: BufMut, len: usize) -> SharedBytes {
        let capacity = buffer.owner.capacity();
        if let Some((class, size)) = Self::class_of(capacity)
            && size == capacity
            && self.retained.saturating_add(size) <= self.max_retained
            && let Some(ring) = self.classes.get_mut(class)
        {
            self.retained = self.retained.saturating_add(size);
            ring.push_back(Arc::clone(&buffer.owner));
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

    /// Octets of all buffers the pool remembers, lent or free.
    #[must_use]
    pub fn retained(&self) -> usize {
        self.retained
    }
}

impl BufMut {
    /// The vector behind the buffer; growing it beyond its capacity takes it out of the pool.
    pub fn vec_mut(&mut self) -> &mut Vec<u8> {
        // A `BufMut` is made only from a reference that nobody else has, so this never copies.
        Arc::make_mut(&mut self.owner)
    }

    /// The first `len` octets for filling; octets never used before are zero.
    pub fn slice_mut(&mut self, len: usize) -> &mut [u8] {
        let vec = self.vec_mut();
        if vec.len() < len {
            vec.resize(len, 0);
        }
        vec.get_mut(..len).unwrap_or(&mut [])
    }

    /// Makes the first `len` octets shareable outside any pool.
    #[must_use]
    pub fn freeze_unpooled(self, len: usize) -> SharedBytes {
        SharedBytes::from_arc(self.owner, len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
