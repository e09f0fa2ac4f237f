//! RTPS 2.5 §8.4.14.1 "Large Data" and §8.3.8.3 DataFrag: changes put together from fragments, each copied once into a
//! buffer of the full size.

use alloc::vec::Vec;

use dunlin_buf::{BufMut, BufPool, SharedBytes};
use dunlin_core::{FragmentNumberSet, MAX_SET_BITS, MonoTime, SequenceNumber, WallTime};
use dunlin_wire::{DataFrag, Endianness, ReceiverState};

use super::Incoming;
use super::incoming::{detach, share_list};
use crate::lazy::StaticDefault;

/// No change with more fragments than this is put together.
const MAX_FRAGMENTS: u32 = 1 << 20;
/// After so many requests without any new fragment, the whole change is requested instead: some writers do not answer
/// requests for fragments. Where a fifth of the datagrams is lost, every hundredth time so many in a row are in vain.
const MAX_ROUNDS: u8 = 5;

/// A change of which some fragments have arrived.
#[derive(Debug)]
pub(crate) struct Partial {
    pub(crate) sn: SequenceNumber,
    sample_size: u32,
    fragment_size: u16,
    total: u32,
    received: u32,
    /// One bit per fragment, set when it is in place.
    present: Vec<u64>,
    /// All fragments before this index are in place, so that nobody looks through them again and again.
    contiguous: u32,
    buffer: BufMut,
    /// Fragments up to here are known to have been sent.
    announced: u32,
    rounds: u8,
    /// Fragments were requested at some time.
    requested: bool,
    touched: MonoTime,
    source_timestamp: Option<WallTime>,
    inline_qos: Option<(SharedBytes, Endianness)>,
    key_only: bool,
}

/// Bounds of what may be kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Changes in parts.
    pub(crate) partials: usize,
    /// Octets of all of them.
    pub(crate) octets: usize,
    /// Octets of a single one.
    pub(crate) sample: usize,
    /// The newest are worth keeping, not the oldest: nothing is ever repaired.
    pub(crate) prefer_newest: bool,
}

/// What became of a DATA_FRAG.
#[derive(Debug)]
pub(crate) enum Added {
    /// In place; others are missing.
    Incomplete,
    /// The last one missing.
    Complete(Incoming),
    /// Nothing new.
    Duplicate,
    /// It contradicts earlier ones.
    Refused,
    /// The change is larger than is ever put together.
    Oversized,
    /// The change would fit if there were not others.
    NoRoom,
}

/// The partly received changes of one writer, ascending.
#[derive(Debug, Default)]
pub(crate) struct Reassembly {
    partials: Vec<Partial>,
    octets: usize,
    evicted: u64,
}

impl StaticDefault for Reassembly {
    const STATIC_DEFAULT: &'static Self = &Self { partials: Vec::new(), octets: 0, evicted: 0 };
}

fn words(total: u32) -> usize {
    usize::try_from(total.div_ceil(u64::BITS)).unwrap_or(usize::MAX)
}

/// The words of the bitmap, and the bits of each, that stand for the fragments from `first` up to, not including, `end`.
fn bits(first: u32, end: u32) -> impl Iterator<Item = (usize, u64)> {
    let of = move |word: u32| {
        let base = word.saturating_mul(u64::BITS);
        let below = |index: u32| {
            1u64.checked_shl(index.saturating_sub(base)).map_or(u64::MAX, |bit| bit.saturating_sub(1))
        };
        (usize::try_from(word).unwrap_or(usize::MAX), below(end) & !below(first))
    };
    (first / u64::BITS..end.div_ceil(u64::BITS)).map(of)
}

/// Octets of memory that a change in parts takes.
fn cost(sample_size: u32, total: u32) -> usize {
    let buffer = usize::try_from(sample_size).unwrap_or(usize::MAX);
    buffer.saturating_add(words(total).saturating_mul(size_of::<u64>()))
}

impl Partial {
    fn new(frag: &DataFrag<'_>, total: u32, state: &ReceiverState, buffer: BufMut) -> Self {
        Self {
            sn: frag.writer_sn,
            sample_size: frag.sample_size,
            fragment_size: frag.fragment_size,
            total,
            received: 0,
            present: alloc::vec![0; words(total)],
            contiguous: 0,
            buffer,
            announced: 0,
            rounds: 0,
            requested: false,
            touched: MonoTime::default(),
            source_timestamp: state.timestamp,
            inline_qos: None,
            key_only: frag.key_flag,
        }
    }

    /// Whether fragment `index`, counted from 0, is in place.
    fn has(&self, index: u32) -> bool {
        let word = usize::try_from(index / u64::BITS).ok().and_then(|word| self.present.get(word));
        word.is_some_and(|word| word & (1 << (index % u64::BITS)) != 0)
    }

    fn mark(&mut self, index: u32) {
        let word = usize::try_from(index / u64::BITS).ok().and_then(|word| self.present.get_mut(word));
        if let Some(word) = word {
            *word |= 1 << (index % u64::BITS);
            self.received = self.received.saturating_add(1);
        }
        if index == self.contiguous {
            self.contiguous = self.missing_from(index).unwrap_or(self.total);
        }
    }

    /// The first fragment missing at or after `index`, both counted from 0.
    fn missing_from(&self, index: u32) -> Option<u32> {
        let index = index.max(self.contiguous);
        let first_word = usize::try_from(index / u64::BITS).ok()?;
        let mut mask = u64::MAX << (index % u64::BITS);
        for (position, word) in self.present.iter().enumerate().skip(first_word) {
            let missing = !word & mask;
            mask = u64::MAX;
            if missing != 0 {
                let base = u32::try_from(position).ok()?.saturating_mul(u64::BITS);
                return Some(base.saturating_add(missing.trailing_zeros()))
                    .filter(|index| *index < self.total);
            }
        }
        None
    }

    /// Whether a fragment that was sent has not arrived.
    fn misses_announced(&self) -> bool {
        self.missing_from(0).is_some_and(|index| index < self.announced)
    }

    /// Whether none of the fragments from `first` up to, not including, `end` is in place.
    fn has_none(&self, first: u32, end: u32) -> bool {
        bits(first, end).all(|(word, mask)| self.present.get(word).is_some_and(|word| word & mask == 0))
    }

    /// The same as [`mark`](Self::mark) for all of them.
    fn mark_all(&mut self, first: u32, end: u32) {
        for (word, mask) in bits(first, end) {
            if let Some(word) = self.present.get_mut(word) {
                *word |= mask;
            }
        }
        self.received = self.received.saturating_add(end.saturating_sub(first));
        if first == self.contiguous {
            self.contiguous = self.missing_from(end).unwrap_or(self.total);
        }
    }

    /// Copies a fragment into place, if it is not there yet; how many were copied.
    fn place_one(&mut self, index: u32, piece: &[u8]) -> u32 {
        let start =
            usize::try_from(index).ok().and_then(|index| index.checked_mul(self.fragment_size.into()));
        let Some(start) = start.filter(|_| index < self.total && !self.has(index)) else { return 0 };
        let len = usize::try_from(self.sample_size).unwrap_or(usize::MAX);
        put(&mut self.buffer, start, piece, len);
        self.mark(index);
        1
    }

    /// Copies the fragments that are not there yet into place; how many.
    fn place(&mut self, frag: &DataFrag<'_>) -> u32 {
        let size = usize::from(self.fragment_size).max(1);
        let first = frag.fragment_starting_num.saturating_sub(1);
        if frag.payload.len() <= size {
            // The most usual case needs no division, which some processors do not have.
            return if frag.payload.is_empty() { 0 } else { self.place_one(first, frag.payload) };
        }
        let len = usize::try_from(self.sample_size).unwrap_or(usize::MAX);
        let count = u32::try_from(frag.payload.len().div_ceil(size)).unwrap_or(u32::MAX);
        let end = first.saturating_add(count).min(self.total);
        let start = usize::try_from(first).ok().and_then(|first| first.checked_mul(size));
        if let Some(start) = start.filter(|_| first < end && self.has_none(first, end)) {
            put(&mut self.buffer, start, frag.payload, len);
            self.mark_all(first, end);
            return end.saturating_sub(first);
        }
        let pieces = (first..self.total).zip(frag.payload.chunks(size));
        pieces.map(|(index, piece)| self.place_one(index, piece)).fold(0, u32::saturating_add)
    }

    /// The missing fragments from `from` on among those announced, as one set.
    fn missing_set(&self, from: u32) -> Option<FragmentNumberSet> {
        let mut index = self.missing_from(from).filter(|index| *index < self.announced)?;
        let base = index.saturating_add(1);
        let mut set = FragmentNumberSet::empty(base);
        while index < self.announced && set.insert(index.saturating_add(1)) {
            match self.missing_from(index.saturating_add(1)) {
                Some(next) => index = next,
                None => break,
            }
        }
        Some(set)
    }

    fn into_incoming(self, pool: &mut BufPool) -> Incoming {
        let len = usize::try_from(self.sample_size).unwrap_or(usize::MAX);
        Incoming {
            sn: self.sn,
            source_timestamp: self.source_timestamp,
            payload: Some(pool.freeze(self.buffer, len)),
            key_only: self.key_only,
            inline_qos: self.inline_qos,
            reassembled: true,
            is_refuted: false,
        }
    }
}

/// A hole of so many octets is not filled with zeros: memory is asked for that is zero.
const LARGE_HOLE: usize = 64 * 1024;

/// Copies a piece into the buffer of a change of `len` octets. Fragments that arrive in order extend it, so that nothing
/// is written twice. One that lies far ahead costs no more than others: the system gives memory that is zero without
/// touching it.
fn put(buffer: &mut BufMut, start: usize, piece: &[u8], len: usize) {
    let vec = buffer.vec_mut();
    if vec.len() == start {
        vec.extend_from_slice(piece);
        return;
    }
    if start.saturating_sub(vec.len()) > LARGE_HOLE {
        let mut sparse = alloc::vec![0; len];
        if let Some(begin) = sparse.get_mut(..vec.len()) {
            begin.copy_from_slice(vec);
        }
        *vec = sparse;
    }
    let end = start.saturating_add(piece.len());
    if let Some(target) = buffer.slice_mut(end).get_mut(start..) {
        target.copy_from_slice(piece);
    }
}

impl Reassembly {
    /// Octets of memory in use.
    pub(crate) fn octets(&self) -> usize {
        self.octets
    }

    /// Partial changes given up so far.
    pub(crate) fn evicted(&self) -> u64 {
        self.evicted
    }

    /// Whether some of a change is there.
    pub(crate) fn has(&self, sn: SequenceNumber) -> bool {
        self.position(sn).is_ok()
    }

    fn position(&self, sn: SequenceNumber) -> Result<usize, usize> {
        self.partials.binary_search_by_key(&sn, |partial| partial.sn)
    }

    /// Puts the fragments of a submessage in place; also says how many were new.
    pub(crate) fn add(
        &mut self,
        now: MonoTime,
        state: &ReceiverState,
        frag: &DataFrag<'_>,
        packet: &SharedBytes,
        limits: Limits,
        pool: &mut BufPool,
    ) -> (Added, u32) {
        let position = match self.position(frag.writer_sn) {
            Ok(position) => position,
            Err(_) => match self.start(state, frag, limits, pool) {
                Ok(position) => position,
                Err(refusal) => return (refusal, 0),
            },
        };
        debug_assert!(position < self.partials.len(), "found or begun above");
        let Some(partial) = self.partials.get_mut(position) else { return (Added::Refused, 0) };
        if (partial.sample_size, partial.fragment_size) != (frag.sample_size, frag.fragment_size) {
            return (Added::Refused, 0);
        }
        let placed = partial.place(frag);
        partial.touched = now;
        if let Some(list) = frag.inline_qos.as_ref().filter(|_| partial.inline_qos.is_none()) {
            let (mut list, endianness) = share_list(packet, list);
            detach(&mut list);
            self.octets = self.octets.saturating_add(list.len());
            partial.inline_qos = Some((list, endianness));
        }
        if placed == 0 {
            return (Added::Duplicate, 0);
        }
        partial.rounds = 0;
        if partial.received < partial.total {
            return (Added::Incomplete, placed);
        }
        let complete = self.remove(position).map(|partial| partial.into_incoming(pool));
        (complete.map_or(Added::Refused, Added::Complete), placed)
    }

    /// Makes room for a new change in parts and begins it; its position.
    fn start(
        &mut self,
        state: &ReceiverState,
        frag: &DataFrag<'_>,
        limits: Limits,
        pool: &mut BufPool,
    ) -> Result<usize, Added> {
        let total = frag.total_fragments();
        let needed = cost(frag.sample_size, total);
        if needed > limits.sample || total > MAX_FRAGMENTS {
            return Err(Added::Oversized);
        }
        while self.partials.len() >= limits.partials || self.octets.saturating_add(needed) > limits.octets {
            let victim = if limits.prefer_newest { self.partials.first() } else { self.partials.last() };
            let gives_way = victim.is_some_and(|victim| (victim.sn < frag.writer_sn) == limits.prefer_newest);
            if !gives_way {
                return Err(Added::NoRoom);
            }
            let position = if limits.prefer_newest { 0 } else { self.partials.len().saturating_sub(1) };
            self.evict(position, pool);
        }
        let position = self.position(frag.writer_sn);
        debug_assert!(position.is_err(), "begun before");
        let Err(position) = position else { return Err(Added::Refused) };
        let buffer = pool.take(usize::try_from(frag.sample_size).unwrap_or(usize::MAX));
        self.octets = self.octets.saturating_add(needed);
        self.partials.insert(position, Partial::new(frag, total, state, buffer));
        Ok(position)
    }

    fn remove(&mut self, position: usize) -> Option<Partial> {
        if position >= self.partials.len() {
            return None;
        }
        let partial = self.partials.remove(position);
        let list = partial.inline_qos.as_ref().map_or(0, |(list, _)| list.len());
        let octets = cost(partial.sample_size, partial.total).saturating_add(list);
        self.octets = self.octets.saturating_sub(octets);
        Some(partial)
    }

    fn evict(&mut self, position: usize, pool: &mut BufPool) {
        if let Some(partial) = self.remove(position) {
            // The pool gets the buffer back.
            drop(pool.freeze(partial.buffer, 0));
            self.evicted = self.evicted.saturating_add(1);
        }
    }

    /// Gives up the changes before `sn`.
    pub(crate) fn remove_before(&mut self, sn: SequenceNumber, pool: &mut BufPool) {
        while self.partials.first().is_some_and(|partial| partial.sn < sn) {
            self.evict(0, pool);
        }
    }

    /// Gives up one change, which arrived whole or will not arrive.
    pub(crate) fn remove_sn(&mut self, sn: SequenceNumber, pool: &mut BufPool) {
        if let Ok(position) = self.position(sn) {
            self.evict(position, pool);
        }
    }

    /// Whether nothing has come in part.
    pub(crate) const fn is_empty(&self) -> bool {
        self.partials.is_empty()
    }

    /// Gives up everything.
    pub(crate) fn clear(&mut self, pool: &mut BufPool) {
        self.remove_before(SequenceNumber::MAX, pool);
    }

    /// When the change that has waited longest for a fragment got its last one.
    pub(crate) fn stalest(&self) -> Option<(MonoTime, SequenceNumber)> {
        self.partials.iter().map(|partial| (partial.touched, partial.sn)).min()
    }

    /// Whether fragments of a change have arrived and others may still be requested one by one.
    pub(crate) fn wants_fragments(&self, sn: SequenceNumber) -> bool {
        let partial = self.position(sn).ok().and_then(|position| self.partials.get(position));
        partial.is_some_and(|partial| partial.rounds < MAX_ROUNDS)
    }

    /// All fragments of the changes up to `sn` have been sent.
    pub(crate) fn announce_through(&mut self, sn: SequenceNumber) {
        for partial in self.partials.iter_mut().take_while(|partial| partial.sn <= sn) {
            partial.announced = partial.total;
        }
    }

    /// The fragments of a change up to `number` have been sent. True when one of them is missing.
    pub(crate) fn announce_fragments(&mut self, sn: SequenceNumber, number: u32) -> bool {
        let Some(partial) = self.position(sn).ok().and_then(|position| self.partials.get_mut(position))
        else {
            return false;
        };
        partial.announced = partial.announced.max(number.min(partial.total));
        partial.misses_announced()
    }

    /// Whether there is a fragment to request.
    pub(crate) fn is_missing_fragments(&self) -> bool {
        self.partials.iter().any(|partial| partial.rounds < MAX_ROUNDS && partial.misses_announced())
    }

    /// Whether a request for fragments would say something new: it is the first one for a change, or the writer asks
    /// after some of what was requested has come.
    pub(crate) fn is_request_news(&self, writer_asks: bool) -> bool {
        let news = |partial: &Partial| !partial.requested || (writer_asks && partial.rounds == 0);
        self.partials.iter().any(|partial| news(partial) && partial.misses_announced())
    }

    /// Calls `request` with sets of missing fragments, at most `max` of them, lowest first, and counts the round.
    pub(crate) fn request_fragments(
        &mut self,
        max: usize,
        mut request: impl FnMut(SequenceNumber, FragmentNumberSet),
    ) {
        let mut left = max;
        for partial in self.partials.iter_mut().filter(|partial| partial.rounds < MAX_ROUNDS) {
            let mut from = 0;
            let mut asked = false;
            while left > 0
                && let Some(set) = partial.missing_set(from)
            {
                request(partial.sn, set);
                left = left.saturating_sub(1);
                asked = true;
                from = set.base().saturating_sub(1).saturating_add(MAX_SET_BITS);
            }
            if asked {
                partial.rounds = partial.rounds.saturating_add(1);
                partial.requested = true;
            }
        }
    }
}

#[cfg(test)]
mod tests;
