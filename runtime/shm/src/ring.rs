//! A ring of records with one producer and one consumer, in memory that both can write.
//!
//! A record is its length, the complement of that, and its octets, padded to a multiple of eight. It lies in one piece: where
//! it would not fit before the end of the memory, a mark says that the ring goes on at the start. `tail` counts the
//! octets ever put and `head` those taken, both modulo 2³²; each has one writer, and each side keeps its own in private
//! memory. What is read of the other side is checked before it is used, so a faulty or hostile one can spoil its own messages
//! and nothing else.

use dunlin_sync::atomic::{AtomicU32, Ordering};

/// Octets before those of a record.
pub(crate) const HEADER: u32 = 8;
/// In place of a length: the rest up to the end is empty.
const WRAP: u32 = u32::MAX;

/// The memory of a ring.
pub(crate) trait Memory {
    /// Octets ever taken; the consumer writes it.
    fn head(&self) -> &AtomicU32;
    /// Octets ever put; the producer writes it.
    fn tail(&self) -> &AtomicU32;
    /// Octets of the ring, a power of two, at most 2³⁰.
    fn capacity(&self) -> u32;
    /// Writes octets that lie inside.
    fn write(&self, at: u32, octets: &[u8]);
    /// Reads the header of a record, once.
    fn header(&self, at: u32) -> (u32, u32);
}

/// What became of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Put {
    /// It is in the ring.
    Done,
    /// There is no room now.
    Full,
    /// It is empty or never fits.
    Unfit,
    /// The other side claims to have taken what was not put.
    Broken,
}

/// What the consumer found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// A record of `len` octets, which lie at `at` until it is [given back](Consumer::release).
    Record {
        /// Where its octets are.
        at: u32,
        /// How many.
        len: u32,
    },
    /// Nothing has been put.
    Nothing,
    /// What is there makes no sense.
    Broken,
}

/// Octets that a record takes.
fn footprint(len: u32) -> u32 {
    HEADER + len.next_multiple_of(8)
}

/// The longest record for a ring, which fits however it lies.
pub(crate) fn longest(capacity: u32) -> u32 {
    capacity / 2 - HEADER
}

/// The side that puts.
#[derive(Debug, Default)]
pub(crate) struct Producer {
    tail: u32,
    /// What it knows of the other side.
    head: u32,
}

impl Producer {
    /// Puts a record of `len` octets, which `parts` are.
    pub(crate) fn put<'a>(
        &mut self,
        memory: &impl Memory,
        len: usize,
        parts: impl Iterator<Item = &'a [u8]>,
    ) -> Put {
        let capacity = memory.capacity();
        let Some(len) = u32::try_from(len).ok().filter(|len| (1..=longest(capacity)).contains(len)) else {
            return Put::Unfit;
        };
        let offset = self.tail & (capacity - 1);
        let (need, rest) = (footprint(len), capacity - offset);
        let skipped = if need > rest { rest } else { 0 };
        match self.has_room(memory, skipped + need) {
            Some(true) => {}
            Some(false) => return Put::Full,
            None => return Put::Broken,
        }
        let at = if skipped > 0 {
            memory.write(offset, &WRAP.to_ne_bytes());
            0
        } else {
            offset
        };
        let mut header = [0; HEADER as usize];
        header[..4].copy_from_slice(&len.to_ne_bytes());
        header[4..].copy_from_slice(&(!len).to_ne_bytes());
        memory.write(at, &header);
        let (mut next, end) = (at + HEADER, at + HEADER + len);
        for part in parts {
            let fits = part.len().min((end - next) as usize);
            memory.write(next, &part[..fits]);
            next += fits as u32;
        }
        self.tail = self.tail.wrapping_add(skipped + need);
        memory.tail().store(self.tail, Ordering::Release);
        Put::Done
    }

    /// Whether so many octets are free; `None` if the other side lies.
    fn has_room(&mut self, memory: &impl Memory, wanted: u32) -> Option<bool> {
        let free = |head: u32| memory.capacity().checked_sub(self.tail.wrapping_sub(head));
        if free(self.head)? >= wanted {
            return Some(true);
        }
        let head = memory.head().load(Ordering::Acquire);
        let now = free(head)?;
        self.head = head;
        Some(now >= wanted)
    }

    /// Whether the other side has taken everything.
    pub(crate) fn is_drained(&mut self, memory: &impl Memory) -> bool {
        let head = memory.head().load(Ordering::Acquire);
        // One that makes no sense is found out by whoever puts the next record.
        if memory.capacity() >= self.tail.wrapping_sub(head) {
            self.head = head;
        }
        head == self.tail
    }

    /// How much the other side had taken when that was last looked at.
    pub(crate) fn seen(&self) -> u32 {
        self.head
    }
}

/// The side that takes.
#[derive(Debug, Default)]
pub(crate) struct Consumer {
    head: u32,
}

impl Consumer {
    /// The next record, if there is one.
    pub(crate) fn find(&mut self, memory: &impl Memory) -> Found {
        let capacity = memory.capacity();
        let used = memory.tail().load(Ordering::Acquire).wrapping_sub(self.head);
        if used == 0 {
            return Found::Nothing;
        }
        if used > capacity || !used.is_multiple_of(8) {
            return Found::Broken;
        }
        let offset = self.head & (capacity - 1);
        let (len, check) = memory.header(offset);
        if len != WRAP {
            return Self::judge(capacity, offset, used, len, check);
        }
        // One mark at most, and a record behind it: nothing a producer does makes this go round.
        let rest = capacity - offset;
        if offset == 0 || used <= rest {
            return Found::Broken;
        }
        self.head = self.head.wrapping_add(rest);
        let (len, check) = memory.header(0);
        Self::judge(capacity, 0, used - rest, len, check)
    }

    fn judge(capacity: u32, offset: u32, used: u32, len: u32, check: u32) -> Found {
        let fits = len > 0 && len <= longest(capacity) && check == !len;
        if !fits || footprint(len) > used.min(capacity - offset) {
            return Found::Broken;
        }
        Found::Record { at: offset + HEADER, len }
    }

    /// Gives back the room of the record that was found.
    pub(crate) fn release(&mut self, memory: &impl Memory, len: u32) {
        self.head = self.head.wrapping_add(footprint(len));
        memory.head().store(self.head, Ordering::Release);
    }
}

#[cfg(all(test, loom))]
mod model;
#[cfg(all(test, not(loom)))]
mod tests;
