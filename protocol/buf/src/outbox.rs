//! The datagrams a call wants sent. The caller owns the outbox, sends it and reuses it.

use crate::SharedBytes;
use alloc::vec::Vec;
use core::ops::Range;
use dunlin_core::Locator;

#[derive(Debug)]
enum Part {
    /// A range of the scratch bytes.
    Scratch(Range<usize>),
    Shared(SharedBytes),
}

#[derive(Debug)]
struct Entry {
    parts: Range<usize>,
    destinations: Range<usize>,
    len: usize,
}

/// Datagrams as scatter lists of scratch bytes (headers) and shared bytes (payloads), each with its
/// destinations. Clearing keeps the memory.
#[derive(Debug, Default)]
pub struct Outbox {
    scratch: Vec<u8>,
    parts: Vec<Part>,
    destinations: Vec<Locator>,
    entries: Vec<Entry>,
    /// Where the datagram under construction began: scratch, parts.
    open: Option<(usize, usize)>,
    open_len: usize,
}

/// One finished datagram.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    outbox: &'a Outbox,
    entry: &'a Entry,
}

impl Outbox {
    /// An empty outbox.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            scratch: Vec::new(),
            parts: Vec::new(),
            destinations: Vec::new(),
            entries: Vec::new(),
            open: None,
            open_len: 0,
        }
    }

    /// Forgets all datagrams; keeps the memory.
    pub fn clear(&mut self) {
        self.scratch.clear();
        self.parts.clear();
        self.destinations.clear();
        self.entries.clear();
        self.open = None;
        self.open_len = 0;
    }

    /// True when there is no finished datagram.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many datagrams are finished.
    #[must_use]
    pub fn datagram_count(&self) -> usize {
        self.entries.len()
    }

    /// Octets of all finished datagrams, each counted once.
    #[must_use]
    pub fn octets(&self) -> usize {
        self.entries.iter().fold(0, |sum, entry| sum.saturating_add(entry.len))
    }

    /// Starts a datagram; one left unfinished is discarded.
    pub fn begin(&mut self) {
        self.abandon();
        self.open = Some((self.scratch.len(), self.parts.len()));
        self.open_len = 0;
    }

    /// Discards the datagram under construction.
    pub fn abandon(&mut self) {
        if let Some((scratch, parts)) = self.open.take() {
            self.scratch.truncate(scratch);
            self.parts.truncate(parts);
        }
        self.open_len = 0;
    }

    /// Octets of the datagram under construction.
    #[must_use]
    pub fn open_len(&self) -> usize {
        self.open_len
    }

    /// The pieces of the datagram under construction, in order.
    pub fn open_parts(&self) -> impl Iterator<Item = &[u8]> {
        let first = self.open.map_or(self.parts.len(), |(_, first_part)| first_part);
        self.parts.get(first..).unwrap_or(&[]).iter().map(|part| self.part_bytes(part))
    }

    fn part_bytes<'a>(&'a self, part: &'a Part) -> &'a [u8] {
        match part {
            Part::Scratch(range) => self.scratch.get(range.clone()).unwrap_or(&[]),
            Part::Shared(bytes) => bytes,
        }
    }

    /// Appends a copy of `bytes` to the datagram under construction.
    pub fn put(&mut self, bytes: &[u8]) {
        let Some((_, first_part)) = self.open else { return };
        if bytes.is_empty() {
            return;
        }
        let start = self.scratch.len();
        self.scratch.extend_from_slice(bytes);
        let end = self.scratch.len();
        self.open_len = self.open_len.saturating_add(bytes.len());
        let own_parts = self.parts.get_mut(first_part..).unwrap_or(&mut []);
        if let Some(Part::Scratch(range)) = own_parts.last_mut() {
            range.end = end;
        } else {
            self.parts.push(Part::Scratch(start..end));
        }
    }

    /// Appends shared bytes to the datagram under construction, without copying them.
    pub fn put_shared(&mut self, bytes: SharedBytes) {
        if self.open.is_none() || bytes.is_empty() {
            return;
        }
        self.open_len = self.open_len.saturating_add(bytes.len());
        self.parts.push(Part::Shared(bytes));
    }

    /// Position of the next scratch octet, for [`Outbox::patch`].
    #[must_use]
    pub fn scratch_position(&self) -> usize {
        self.scratch.len()
    }

    /// Overwrites scratch octets at a position got from [`Outbox::scratch_position`].
    pub fn patch(&mut self, position: usize, bytes: &[u8]) {
        let end = position.saturating_add(bytes.len());
        if let Some(target) = self.scratch.get_mut(position..end) {
            target.copy_from_slice(bytes);
        }
    }

    /// Completes the datagram under construction. Without octets or destinations it is discarded.
    pub fn finish(&mut self, destinations: &[Locator]) {
        let Some((_, first_part)) = self.open else { return };
        if self.open_len == 0 || destinations.is_empty() {
            self.abandon();
            return;
        }
        let first_destination = self.destinations.len();
        self.destinations.extend_from_slice(destinations);
        self.entries.push(Entry {
            parts: first_part..self.parts.len(),
            destinations: first_destination..self.destinations.len(),
            len: self.open_len,
        });
        self.open = None;
        self.open_len = 0;
    }

    /// The finished datagrams, in the order they were built.
    pub fn datagrams(&self) -> impl ExactSizeIterator<Item = Datagram<'_>> + DoubleEndedIterator + Clone {
        self.entries.iter().map(move |entry| Datagram { outbox: self, entry })
    }
}

impl<'a> Datagram<'a> {
    /// Where it goes; a copy to each.
    #[must_use]
    pub fn destinations(&self) -> &'a [Locator] {
        self.outbox.destinations.get(self.entry.destinations.clone()).unwrap_or(&[])
    }

    /// Octets.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a finished datagram is never empty")]
    pub fn len(&self) -> usize {
        self.entry.len
    }

    /// The pieces, in order.
    pub fn parts(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let outbox = self.outbox;
        let parts = outbox.parts.get(self.entry.parts.clone()).unwrap_or(&[]);
        parts.iter().map(|part| outbox.part_bytes(part))
    }

    /// Appends the whole datagram to `out`.
    pub fn copy_to(&self, out: &mut Vec<u8>) {
        for part in self.parts() {
            out.extend_from_slice(part);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use alloc::vec;
    use core::net::Ipv4Addr;

    fn locator(port: u16) -> Locator {
        Locator::udp_v4(Ipv4Addr::LOCALHOST, port)
    }

    fn bytes(datagram: Datagram<'_>) -> Vec<u8> {
        let mut out = vec![];
        datagram.copy_to(&mut out);
        out
    }

    #[test]
    fn datagrams_keep_their_order_parts_and_destinations() {
        let mut outbox = Outbox::new();
        for _ in 0..2 {
            outbox.clear();
            outbox.begin();
            let position = outbox.scratch_position();
            outbox.put(&[0, 2]);
            outbox.put(&[3]);
            outbox.put_shared(SharedBytes::copy_from(&[4, 5]));
            outbox.put(&[6]);
            outbox.patch(position, &[1]);
            outbox.finish(&[locator(1), locator(2)]);
            outbox.begin();
            outbox.put(&[7]);
            outbox.finish(&[locator(3)]);
            let all: Vec<_> = outbox.datagrams().collect();
            assert_eq!(bytes(all[0]), [1, 2, 3, 4, 5, 6]);
            assert_eq!(all[0].parts().count(), 3);
            assert_eq!(all[0].destinations(), [locator(1), locator(2)]);
            assert_eq!((bytes(all[1]), all[1].len()), (vec![7], 1));
            assert_eq!(outbox.octets(), 7);
        }
    }

    #[test]
    fn unfinished_empty_and_unaddressed_datagrams_vanish() {
        let mut outbox = Outbox::new();
        outbox.put(&[1]);
        outbox.begin();
        outbox.put(&[1]);
        outbox.begin();
        outbox.finish(&[locator(1)]);
        outbox.begin();
        outbox.put(&[2]);
        outbox.finish(&[]);
        assert!(outbox.is_empty());
        outbox.begin();
        outbox.put(&[3]);
        outbox.finish(&[locator(1)]);
        assert_eq!(outbox.datagrams().map(bytes).collect::<Vec<_>>(), [vec![3]]);
    }
}
