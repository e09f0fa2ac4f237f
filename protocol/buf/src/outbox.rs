//! The datagrams a call wants sent. The caller owns the outbox, sends it and reuses it.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;

use dunlin_core::{GuidPrefix, Locator, LocatorKind};

use crate::SharedBytes;

#[derive(Debug)]
enum Part {
    /// A range of the scratch bytes.
    Scratch(Range<usize>),
    Shared(SharedBytes),
    /// The same, and what it belongs to reaches to the end of the datagram.
    Last(SharedBytes),
}

#[derive(Debug)]
struct Entry {
    parts: Range<usize>,
    destinations: Range<usize>,
    len: usize,
    class: u8,
    receiver: Option<GuidPrefix>,
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
    open_class: u8,
    open_receiver: Option<GuidPrefix>,
    /// A datagram goes to a place in this process.
    has_local: bool,
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
            open_class: 0,
            open_receiver: None,
            has_local: false,
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
        self.has_local = false;
    }

    /// Whether a datagram goes to a place in this process ([`LocatorKind::LOCAL`]).
    #[must_use]
    pub fn has_local(&self) -> bool {
        self.has_local
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

    /// Bytes of all finished datagrams, each counted once.
    #[must_use]
    pub fn octets(&self) -> usize {
        self.entries.iter().fold(0, |sum, entry| sum.saturating_add(entry.len))
    }

    /// Starts a datagram; one left unfinished is discarded.
    pub fn begin(&mut self) {
        self.abandon();
        self.open = Some((self.scratch.len(), self.parts.len()));
        self.open_len = 0;
        self.open_class = 0;
        self.open_receiver = None;
    }

    /// How urgent the datagram under construction is, as a differentiated services code point (RFC 2474): 0 to 63, 0
    /// being the default.
    pub fn set_class(&mut self, class: u8) {
        self.open_class = class;
    }

    /// Which participant alone the datagram under construction is meant for; `None`, the default: whoever is at its destinations.
    pub fn set_receiver(&mut self, receiver: Option<GuidPrefix>) {
        self.open_receiver = receiver;
    }

    /// What [`set_receiver`](Self::set_receiver) has said of the datagram under construction.
    #[must_use]
    pub fn open_receiver(&self) -> Option<GuidPrefix> {
        self.open_receiver
    }

    /// Moves the datagrams from number `from` on that are more urgent before the others; those of one class stay in order.
    pub fn put_urgent_first(&mut self, from: usize) {
        let entries = self.entries.get_mut(from..).unwrap_or_default();
        if entries.iter().any(|entry| entry.class > 0) {
            entries.sort_by_key(|entry| core::cmp::Reverse(entry.class));
        }
    }

    /// Discards the datagram under construction.
    pub fn abandon(&mut self) {
        if let Some((scratch, parts)) = self.open.take() {
            self.scratch.truncate(scratch);
            self.parts.truncate(parts);
        }
        self.open_len = 0;
    }

    /// Bytes of the datagram under construction.
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
            Part::Shared(bytes) | Part::Last(bytes) => bytes,
        }
    }

    /// Appends a copy of `bytes` to the datagram under construction.
    pub fn put(&mut self, bytes: &[u8]) {
        self.put_both(bytes, &[]);
    }

    /// The same of `bytes` and what follows them.
    pub fn put_both(&mut self, bytes: &[u8], following: &[u8]) {
        let Some((_, first_part)) = self.open else { return };
        let len = bytes.len().saturating_add(following.len());
        if len == 0 {
            return;
        }
        let start = self.scratch.len();
        self.scratch.reserve(len);
        self.scratch.extend_from_slice(bytes);
        self.scratch.extend_from_slice(following);
        let end = self.scratch.len();
        self.open_len = self.open_len.saturating_add(len);
        let own_parts = self.parts.get_mut(first_part..).unwrap_or(&mut []);
        if let Some(Part::Scratch(range)) = own_parts.last_mut() {
            range.end = end;
        } else {
            self.parts.push(Part::Scratch(start..end));
        }
    }

    /// Appends shared bytes to the datagram under construction, without copying them.
    pub fn put_shared(&mut self, bytes: SharedBytes) {
        self.put_part(bytes, Part::Shared);
    }

    /// Appends shared bytes that end the datagram under construction but for padding: whoever gets it in this process, or where
    /// they lie, may take them [as they are](Datagram::last).
    pub fn put_tail(&mut self, bytes: SharedBytes) {
        self.put_part(bytes, Part::Last);
    }

    fn put_part(&mut self, bytes: SharedBytes, part: impl FnOnce(SharedBytes) -> Part) {
        if self.open.is_none() || bytes.is_empty() {
            return;
        }
        self.open_len = self.open_len.saturating_add(bytes.len());
        self.parts.push(part(bytes));
    }

    /// Position of the next scratch octet, for [`Outbox::patch`].
    #[must_use]
    pub fn scratch_position(&self) -> usize {
        self.scratch.len()
    }

    /// Overwrites scratch bytes at a position got from [`Outbox::scratch_position`].
    pub fn patch(&mut self, position: usize, bytes: &[u8]) {
        let end = position.saturating_add(bytes.len());
        if let Some(target) = self.scratch.get_mut(position..end) {
            target.copy_from_slice(bytes);
        }
    }

    /// Completes the datagram under construction. Without bytes or destinations it is discarded.
    pub fn finish(&mut self, destinations: &[Locator]) {
        let Some((_, first_part)) = self.open else { return };
        if self.open_len == 0 || destinations.is_empty() {
            self.abandon();
            return;
        }
        let first_destination = self.destinations.len();
        self.destinations.extend_from_slice(destinations);
        self.has_local = self.has_local || destinations.iter().any(|to| to.kind == LocatorKind::LOCAL);
        self.entries.push(Entry {
            parts: first_part..self.parts.len(),
            destinations: first_destination..self.destinations.len(),
            len: self.open_len,
            class: self.open_class,
            receiver: self.open_receiver,
        });
        self.open = None;
        self.open_len = 0;
    }

    /// Puts datagrams from number `from` on together that have the same destinations and class and begin with the same `header`
    /// bytes, of which one copy is left, up to `max_len` bytes. Nothing is put behind what is [last](Self::put_tail). A datagram that begins with shared bytes is somebody
    /// else's message, as a daemon relays it: it stays alone, since its source, time and length hold to its end. `follows` says, given how a
    /// datagram begins, whether it may stand behind another one. What goes to one destination stays in order.
    pub fn join(&mut self, from: usize, max_len: usize, header: usize, follows: impl Fn(&[u8]) -> bool) {
        let Some(entries) = self.entries.get(from..).filter(|entries| entries.len() > 1) else { return };
        // The datagrams that make up each one that is left.
        let mut joined: Vec<Vec<usize>> = Vec::new();
        let mut lengths: Vec<usize> = Vec::new();
        let mut last_to: BTreeMap<(&[Locator], u8), usize> = BTreeMap::new();
        for (index, entry) in entries.iter().enumerate() {
            let to = (self.destinations.get(entry.destinations.clone()).unwrap_or(&[]), entry.class);
            let target = last_to.get(&to).copied().filter(|target| {
                let length =
                    lengths.get(*target).map_or(usize::MAX, |length| length.saturating_add(entry.len));
                let first = joined.get(*target).and_then(|group| entries.get(*group.first()?));
                let last = joined.get(*target).and_then(|group| entries.get(*group.last()?));
                length.saturating_sub(header) <= max_len
                    && follows(self.head(entry))
                    && !last.is_some_and(|last| self.has_last(last))
                    && first.is_some_and(|first| {
                        let headers = (self.head(first).get(..header), self.head(entry).get(..header));
                        headers.0.is_some() && headers.0 == headers.1
                    })
            });
            if let Some((group, length)) =
                target.and_then(|target| joined.get_mut(target).zip(lengths.get_mut(target)))
            {
                group.push(index);
                *length = length.saturating_add(entry.len).saturating_sub(header);
            } else {
                last_to.insert(to, joined.len());
                joined.push(alloc::vec![index]);
                lengths.push(entry.len);
            }
        }
        if joined.len() < entries.len() {
            self.rebuild(from, header, &joined);
        }
    }

    /// Whether a datagram has bytes that end it.
    fn has_last(&self, entry: &Entry) -> bool {
        let parts = self.parts.get(entry.parts.clone()).unwrap_or(&[]);
        parts.iter().any(|part| matches!(part, Part::Last(_)))
    }

    /// How a datagram begins, as far as that lies in one piece; empty if it begins with shared bytes.
    fn head(&self, entry: &Entry) -> &[u8] {
        match self.parts.get(entry.parts.start) {
            Some(part @ Part::Scratch(_)) => self.part_bytes(part),
            _ => &[],
        }
    }

    /// Replaces the datagrams from number `from` on by those that `joined` puts together.
    fn rebuild(&mut self, from: usize, header: usize, joined: &[Vec<usize>]) {
        let mut old: Vec<Entry> = self.entries.drain(from..).collect();
        let Some(first_part) = old.iter().map(|entry| entry.parts.start).min() else { return };
        let mut parts: Vec<Option<Part>> = self.parts.drain(first_part..).map(Some).collect();
        for group in joined {
            let start = self.parts.len();
            let mut whole: Option<Entry> = None;
            for index in group {
                let Some(entry) = old.get_mut(*index) else { continue };
                let range = core::mem::take(&mut entry.parts);
                for (place, part) in range.enumerate() {
                    let part = parts.get_mut(part.saturating_sub(first_part));
                    let Some(mut part) = part.and_then(Option::take) else { continue };
                    if let (Part::Scratch(octets), 0, true) = (&mut part, place, whole.is_some()) {
                        octets.start = octets.start.saturating_add(header).min(octets.end);
                    }
                    self.parts.push(part);
                }
                whole = Some(match whole.take() {
                    None => Entry {
                        parts: start..start,
                        destinations: entry.destinations.clone(),
                        len: entry.len,
                        class: entry.class,
                        receiver: entry.receiver,
                    },
                    Some(whole) => Entry {
                        len: whole.len.saturating_add(entry.len).saturating_sub(header),
                        receiver: whole.receiver.filter(|receiver| entry.receiver == Some(*receiver)),
                        ..whole
                    },
                });
            }
            if let Some(whole) = whole {
                self.entries.push(Entry { parts: start..self.parts.len(), ..whole });
            }
        }
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

    /// How urgent it is, see [`Outbox::set_class`].
    #[must_use]
    pub fn class(&self) -> u8 {
        self.entry.class
    }

    /// Which participant alone it is meant for, see [`Outbox::set_receiver`]. Others may receive at the same place.
    #[must_use]
    pub fn receiver(&self) -> Option<GuidPrefix> {
        self.entry.receiver
    }

    /// Bytes.
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

    /// The shared bytes that [end](Outbox::put_tail) it, with the number of bytes before them; only if at most the padding of
    /// a message follows.
    #[must_use]
    pub fn last(&self) -> Option<(usize, &'a SharedBytes)> {
        let parts = self.outbox.parts.get(self.entry.parts.clone()).unwrap_or(&[]);
        let mut before = 0usize;
        for part in parts {
            match part {
                Part::Last(bytes) => {
                    let behind = self.entry.len.saturating_sub(before).saturating_sub(bytes.len());
                    return (behind < 4).then_some((before, bytes));
                }
                _ => before = before.saturating_add(self.outbox.part_bytes(part).len()),
            }
        }
        None
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
    use alloc::vec;
    use core::net::Ipv4Addr;

    use super::*;

    fn locator(port: u16) -> Locator {
        Locator::udp_v4(Ipv4Addr::LOCALHOST, port)
    }

    fn bytes(datagram: Datagram<'_>) -> Vec<u8> {
        let mut out = vec![];
        datagram.copy_to(&mut out);
        out
    }

    #[test]
    fn datagrams_with_higher_priority_leave_first_in_order() {
        let mut outbox = Outbox::new();
        for (octet, class) in [(0, 0), (1, 0), (2, 10), (3, 46), (4, 10), (5, 0)] {
            outbox.begin();
            outbox.set_class(class);
            outbox.put(&[octet]);
            outbox.finish(&[locator(1)]);
        }
        outbox.put_urgent_first(1);
        let order: Vec<_> =
            outbox.datagrams().map(|datagram| (bytes(datagram)[0], datagram.class())).collect();
        assert_eq!(order, [(0, 0), (3, 46), (2, 10), (4, 10), (1, 0), (5, 0)]);
        outbox.join(0, 100, 0, |_| true);
        assert_eq!(outbox.datagram_count(), 3, "one of each class");
    }

    #[test]
    fn joined_datagrams_name_a_receiver_only_if_all_parts_do() {
        let one = |n: u8| Some(GuidPrefix([n; 12]));
        for (first, second, both) in [(one(1), one(1), one(1)), (one(1), one(2), None), (one(1), None, None)]
        {
            let mut outbox = Outbox::new();
            for receiver in [first, second] {
                outbox.begin();
                outbox.set_receiver(receiver);
                outbox.put(&[7]);
                outbox.finish(&[locator(1)]);
            }
            outbox.begin();
            outbox.put(&[8]);
            outbox.finish(&[locator(2)]);
            let told: Vec<_> = outbox.datagrams().map(|datagram| datagram.receiver()).collect();
            assert_eq!(told, [first, second, None], "it does not stay for the next");
            outbox.join(0, 100, 0, |_| true);
            let told: Vec<_> = outbox.datagrams().map(|datagram| datagram.receiver()).collect();
            assert_eq!(told, [both, None]);
        }
    }

    struct Elsewhere;

    impl crate::Memory for Elsewhere {
        fn octets(&self) -> &[u8] {
            &[5; 9]
        }
    }

    #[test]
    fn a_lent_payload_ends_its_datagram() {
        let mut outbox = Outbox::new();
        for lent in [false, true, false] {
            outbox.begin();
            outbox.put(&[1, 2]);
            if lent {
                outbox.put_tail(SharedBytes::lent(alloc::boxed::Box::new(Elsewhere)));
                outbox.put(&[0; 3]);
            }
            outbox.finish(&[locator(1)]);
        }
        outbox.join(0, 100, 1, |_| true);
        let all: Vec<_> = outbox.datagrams().collect();
        assert_eq!(all.iter().map(|datagram| datagram.len()).collect::<Vec<_>>(), [15, 2]);
        assert_eq!(all[0].last().map(|(before, lent)| (before, lent.len())), Some((3, 9)));
        assert!(all[1].last().is_none());
        outbox.begin();
        outbox.put_tail(SharedBytes::lent(alloc::boxed::Box::new(Elsewhere)));
        outbox.put(&[0; 4]);
        outbox.finish(&[locator(1)]);
        assert!(outbox.datagrams().next_back().unwrap().last().is_none(), "more than padding behind it");
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
    fn datagrams_for_one_destination_are_joined_up_to_a_length() {
        let mut outbox = Outbox::new();
        let put = |outbox: &mut Outbox, header: u8, octets: &[u8], to: u16| {
            outbox.begin();
            outbox.put(&[header, header]);
            outbox.put(octets);
            outbox.put_shared(SharedBytes::copy_from(&[99]));
            outbox.finish(&[locator(to)]);
        };
        put(&mut outbox, 7, &[1], 1);
        let from = outbox.datagram_count();
        for (octet, to) in [(2, 1), (3, 2), (4, 1), (5, 2), (6, 1)] {
            put(&mut outbox, 7, &[octet, octet], to);
        }
        put(&mut outbox, 8, &[7], 1);
        put(&mut outbox, 8, &[0], 1);
        outbox.join(from, 8, 2, |head| head.get(2) != Some(&0));
        let all: Vec<_> = outbox.datagrams().collect();
        let expected: [&[u8]; 6] = [
            &[7, 7, 1, 99],
            &[7, 7, 2, 2, 99, 4, 4, 99],
            &[7, 7, 3, 3, 99, 5, 5, 99],
            &[7, 7, 6, 6, 99],
            &[8, 8, 7, 99],
            &[8, 8, 0, 99],
        ];
        assert_eq!(all.iter().map(|datagram| bytes(*datagram)).collect::<Vec<_>>(), expected);
        assert!(all.iter().all(|datagram| datagram.len() == bytes(*datagram).len()));
        let to: Vec<_> = all.iter().map(|datagram| datagram.destinations()[0].port).collect();
        assert_eq!(to, [1, 1, 2, 1, 1, 1]);
    }

    #[test]
    fn relayed_messages_are_not_joined() {
        let mut outbox = Outbox::new();
        let message = |octet: u8| SharedBytes::copy_from(&[7, 7, octet]);
        for octet in [1, 2] {
            outbox.begin();
            outbox.put_shared(message(octet));
            outbox.finish(&[locator(1)]);
        }
        for octet in [3, 4] {
            outbox.begin();
            outbox.put(&[7, 7, octet]);
            outbox.finish(&[locator(1)]);
        }
        outbox.begin();
        outbox.put_shared(message(5));
        outbox.finish(&[locator(1)]);
        outbox.join(0, 100, 2, |_| true);
        let all: Vec<_> = outbox.datagrams().map(bytes).collect();
        assert_eq!(all, [vec![7, 7, 1], vec![7, 7, 2], vec![7, 7, 3, 4], vec![7, 7, 5]]);
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
