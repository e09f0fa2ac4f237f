//! Chunks that a writer lends to readers of other processes: the side that lends.
//!
//! A writer that lends has a file of its own, the *pool*: equal slots, which only it writes. A reader maps the pool for reading, and
//! says in a file of its own, the *tally*, how many chunks of each slot it has given back. The writer counts how many it has
//! handed out. A slot is free when the two counts agree for every process, or that process is gone, which the lock on its
//! inbox tells: it holds that as long as it uses a chunk. The writer has had the inbox open since before it lent anything, so
//! what happens to names in the folder decides nothing. Each word has one writer, and whoever dies leaves nothing that
//! others would have to repair.

use std::any::Any;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use dunlin_buf::{Memory, SharedBytes};
use dunlin_transport::{Lender, Loan};

use crate::config::{Access, MAX_RING, ShmConfig};
use crate::folder::{Folder, Name};
use crate::head::{self, place};
use crate::inbox::lock;
use crate::segment::{HEAD, Segment};

/// Where a payload begins in its slot: the value behind its encapsulation header of four octets is aligned to a cache line.
pub(crate) const PAYLOAD: usize = 60;
/// Slots of a pool, at least and at most.
const MIN_SLOTS: usize = 4;
pub(crate) const MAX_SLOTS: usize = 1024;
/// A pool has so many times the octets of a ring.
const RINGS: usize = 4;
/// Permission bits: chunks are for the same user alone.
const MODE: u32 = 0o600;

/// Whether a process with this access lends to a receiver whose inbox only this user may write to, or not.
///
/// Who lets others in sends copies: a chunk is read in place, so only one user may be able to write to any file on its way.
pub(crate) fn may_lend(access: Access, inbox_is_private: bool) -> bool {
    match access {
        Access::User => inbox_is_private,
        Access::Group | Access::Everyone => false,
    }
}

/// The place of a slot in the file.
pub(crate) fn slot_at(index: u32, slot: usize) -> usize {
    HEAD + index as usize * slot
}

/// The place of the count of a slot in a tally.
pub(crate) fn count_at(index: u32) -> usize {
    HEAD + index as usize * 4
}

/// Octets of a tally.
pub(crate) fn tally_len(slots: usize) -> usize {
    HEAD + (slots * 4).next_multiple_of(HEAD)
}

/// Most attempts at making a file: somebody who sweeps may take one for abandoned in the moment before it is locked.
const ATTEMPTS: usize = 4;

fn random() -> io::Result<u64> {
    getrandom::u64().map_err(io::Error::other)
}

/// Makes a file under a number that each attempt draws anew: a name that was used once may be somebody else's by now.
fn create_anew<T>(
    mut draw: impl FnMut() -> io::Result<u64>,
    mut create: impl FnMut(u64) -> io::Result<T>,
) -> io::Result<(u64, T)> {
    let mut attempt = || {
        let number = draw()?;
        create(number).map(|made| (number, made))
    };
    let mut made = attempt();
    for _ in 1..ATTEMPTS {
        if made.is_ok() {
            break;
        }
        made = attempt();
    }
    made
}

/// Octets of a slot for payloads of `len` octets, and how many there are; `None` if they are too large.
fn layout(len: usize, config: &ShmConfig) -> Option<(usize, usize)> {
    let slot = PAYLOAD.checked_add(len)?.checked_next_multiple_of(64)?;
    let octets = (RINGS * config.capacity() as usize).min(MAX_RING as usize);
    let slots = (octets / slot).clamp(MIN_SLOTS, MAX_SLOTS);
    (slot.checked_mul(slots)? <= MAX_RING as usize).then_some((slot, slots))
}

/// What one process has got.
struct Borrower {
    inbox: u64,
    /// Its inbox, locked as long as it uses a chunk or may get one.
    life: Arc<Segment>,
    /// Chunks handed out, for each slot and altogether.
    sent: Vec<u32>,
    total: u32,
    /// Chunks that it has given back, as of the last look: that word is written by another processor all the time.
    done: u32,
    tally: Option<Segment>,
}

struct State {
    /// Slots that this process uses itself.
    used: Vec<bool>,
    generations: Vec<u32>,
    /// Where the search for a free one goes on.
    next: usize,
    borrowers: Vec<Borrower>,
}

/// A pool.
pub(crate) struct Pool {
    folder: Folder,
    owner: u64,
    number: u64,
    segment: Segment,
    slots: usize,
    slot: usize,
    state: Mutex<State>,
    is_counted: AtomicBool,
}

impl Borrower {
    fn tally(&mut self, pool: &Pool) -> Option<&Segment> {
        if self.tally.is_none() {
            let name = pool.tally_name(self.inbox);
            let len = tally_len(pool.slots);
            let found = Segment::attach_to_read(&pool.folder.file(name), len..=len);
            self.tally = found.ok().filter(|tally| head::check(&tally.map, name).is_ok());
        }
        self.tally.as_ref()
    }

    /// Whether it has not given back so many chunks.
    fn has_as_many_as(&mut self, limit: usize, pool: &Pool) -> bool {
        let enough = |it: &Self| it.total.wrapping_sub(it.done) as usize >= limit;
        if enough(self) {
            self.done = self.tally(pool).map_or(0, |it| it.map.word(place::TAIL).load(Ordering::Acquire));
        }
        enough(self)
    }

    /// Whether it uses a slot, as far as its tally was found.
    fn has(&self, index: u32) -> bool {
        let sent = self.sent.get(index as usize).copied().unwrap_or(0);
        let tally = self.tally.as_ref();
        // It cannot have given back more: one that says so has the slot until it ends.
        tally.map_or(0, |it| it.map.word(count_at(index)).load(Ordering::Acquire)) != sent
    }

    /// Whether the process is gone, or has closed its inbox and uses no chunk any more. That stays so.
    fn is_gone(&self) -> bool {
        self.life.is_abandoned()
    }
}

impl Pool {
    /// Makes a pool for payloads of `len` octets; `None` if they are too large.
    pub(crate) fn create(
        folder: &Folder,
        owner: u64,
        len: usize,
        config: &ShmConfig,
    ) -> io::Result<Option<Self>> {
        let Some((slot, slots)) = layout(len, config) else { return Ok(None) };
        let (number, segment) = create_anew(random, |number| {
            let path = folder.file(Name::Pool { owner, number });
            Segment::create(&path, HEAD + slot * slots, MODE)
        })?;
        let head = &segment.map;
        head.word(place::SLOTS).store(slots as u32, Ordering::Relaxed);
        head.word(place::SLOT).store(slot as u32, Ordering::Relaxed);
        head::sign(head, Name::Pool { owner, number });
        let (used, generations, borrowers) = (vec![false; slots], vec![0; slots], Vec::new());
        let state = Mutex::new(State { used, generations, next: 0, borrowers });
        let is_counted = AtomicBool::new(false);
        Ok(Some(Self { folder: folder.clone(), owner, number, segment, slots, slot, state, is_counted }))
    }

    fn tally_name(&self, inbox: u64) -> Name {
        Name::Tally { reader: inbox, owner: self.owner, number: self.number }
    }

    /// A slot that nobody uses.
    fn find(&self, state: &mut State) -> Option<u32> {
        // Once, not for each slot: it opens a file.
        state.borrowers.iter_mut().for_each(|borrower| {
            borrower.tally(self);
        });
        for step in 0..self.slots {
            let index = (state.next + step) % self.slots;
            let number = index as u32;
            if !state.used[index] && !state.borrowers.iter().any(|borrower| borrower.has(number)) {
                state.next = index + 1;
                return Some(number);
            }
        }
        None
    }

    /// Reclaims what processes had that are gone.
    fn forget_gone(&self, state: &mut State) {
        state.borrowers.retain_mut(|borrower| {
            let gone = borrower.is_gone();
            if gone {
                self.folder.remove_if_abandoned(self.tally_name(borrower.inbox));
            }
            !gone
        });
    }

    /// The file was cut short, which is counted once.
    fn note_cut(&self) {
        if !self.is_counted.swap(true, Ordering::Relaxed) {
            self.folder.count_cut();
        }
    }

    /// Hands out a slot for writing; none of a file that somebody has cut short.
    fn lend(self: &Arc<Self>, len: usize) -> Option<Chunk> {
        if PAYLOAD + len > self.slot {
            return None;
        }
        if !self.segment.map.is_whole() {
            self.note_cut();
            return None;
        }
        let mut state = lock(&self.state);
        let index = self.find(&mut state).or_else(|| {
            self.forget_gone(&mut state);
            self.find(&mut state)
        })?;
        let generation = state.generations[index as usize].wrapping_add(1);
        state.generations[index as usize] = generation;
        state.used[index as usize] = true;
        // Who has a descriptor of an earlier use finds out.
        self.segment.map.word(slot_at(index, self.slot)).store(generation, Ordering::Release);
        Some(Chunk { pool: Arc::clone(self), index, generation, len })
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.forget_gone(&mut lock(&self.state));
        self.segment.remove(&self.folder.file(Name::Pool { owner: self.owner, number: self.number }));
    }
}

/// A slot in use.
pub(crate) struct Chunk {
    pool: Arc<Pool>,
    index: u32,
    generation: u32,
    len: usize,
}

/// What a receiver is told of a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Descriptor {
    pub(crate) index: u32,
    pub(crate) generation: u32,
    pub(crate) len: u32,
    pub(crate) pool: u64,
}

impl Descriptor {
    /// Instead of what an RTPS message begins with.
    const MAGIC: [u8; 4] = *b"DnLd";
    pub(crate) const LEN: usize = 24;

    pub(crate) fn to_bytes(self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..4].copy_from_slice(&Self::MAGIC);
        bytes[4..8].copy_from_slice(&self.index.to_ne_bytes());
        bytes[8..12].copy_from_slice(&self.generation.to_ne_bytes());
        bytes[12..16].copy_from_slice(&self.len.to_ne_bytes());
        bytes[16..].copy_from_slice(&self.pool.to_ne_bytes());
        bytes
    }

    pub(crate) fn is_at_start_of(message: &[u8]) -> bool {
        message.starts_with(&Self::MAGIC)
    }

    /// The descriptor that a message begins with, and what follows it.
    pub(crate) fn parse(message: &[u8]) -> Option<(Self, &[u8])> {
        let (bytes, rest) = message.split_first_chunk::<{ Self::LEN }>()?;
        let word = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let pool = u64::from_ne_bytes(bytes[16..].try_into().ok()?);
        let it = Self { index: word(4), generation: word(8), len: word(12), pool };
        (bytes[..4] == Self::MAGIC).then_some((it, rest))
    }
}

impl Chunk {
    /// Whether it is of a pool of the process with this inbox. Receivers look for it among the pools of who sends it.
    pub(crate) fn is_of(&self, owner: u64) -> bool {
        self.pool.owner == owner
    }

    /// Counts a chunk as handed out to a process, unless that has half of the pool already.
    pub(crate) fn hand_out(&self, inbox: u64, life: &Arc<Segment>) -> Option<Descriptor> {
        let pool = &*self.pool;
        let mut state = lock(&pool.state);
        let position = state.borrowers.iter().position(|borrower| borrower.inbox == inbox);
        let position = position.unwrap_or_else(|| {
            pool.forget_gone(&mut state);
            let sent = vec![0; pool.slots];
            let life = Arc::clone(life);
            state.borrowers.push(Borrower { inbox, life, sent, total: 0, done: 0, tally: None });
            state.borrowers.len() - 1
        });
        let borrower = &mut state.borrowers[position];
        if borrower.has_as_many_as(pool.slots / 2, pool) {
            return None;
        }
        borrower.total = borrower.total.wrapping_add(1);
        let sent = &mut borrower.sent[self.index as usize];
        *sent = sent.wrapping_add(1);
        let len = self.len as u32;
        Some(Descriptor { index: self.index, generation: self.generation, len, pool: pool.number })
    }

    /// The descriptor did not leave.
    pub(crate) fn take_back(&self, inbox: u64) {
        let mut state = lock(&self.pool.state);
        if let Some(borrower) = state.borrowers.iter_mut().find(|borrower| borrower.inbox == inbox) {
            borrower.total = borrower.total.wrapping_sub(1);
            let sent = &mut borrower.sent[self.index as usize];
            *sent = sent.wrapping_sub(1);
        }
    }

    /// The chunk that octets are, if they are all of it.
    pub(crate) fn of(octets: &SharedBytes) -> Option<&Self> {
        (octets.memory()? as &dyn Any).downcast_ref()
    }

    /// The file that it is in.
    #[cfg(test)]
    pub(crate) fn pool_name(&self) -> Name {
        Name::Pool { owner: self.pool.owner, number: self.pool.number }
    }

    fn at(&self) -> usize {
        slot_at(self.index, self.pool.slot) + PAYLOAD
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        lock(&self.pool.state).used[self.index as usize] = false;
    }
}

impl Memory for Chunk {
    fn octets(&self) -> &[u8] {
        self.pool.segment.map.octets(self.at(), self.len)
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn is_intact(&self) -> bool {
        self.pool.segment.map.is_whole()
    }
}

/// A chunk that nobody else has seen.
struct Fresh(Chunk);

impl Loan for Fresh {
    fn octets(&self) -> &[u8] {
        self.0.octets()
    }

    #[expect(unsafe_code, reason = "a slot for writing")]
    fn octets_mut(&mut self) -> &mut [u8] {
        let (at, len) = (self.0.at(), self.0.len);
        // SAFETY: the slot is in use by this value alone: `find` gives no slot that is in use here, and none of which another
        // process has a chunk. The borrow is that of the value. A pool is mapped for writing by who made it.
        unsafe { self.0.pool.segment.map.octets_mut(at, len) }
    }

    fn truncate(&mut self, len: usize) {
        self.0.len = self.0.len.min(len);
    }

    fn share(self: Box<Self>) -> SharedBytes {
        SharedBytes::lent(Box::new(self.0))
    }
}

/// A pool as those who write see it.
pub(crate) struct PoolLender(pub(crate) Arc<Pool>);

impl Lender for PoolLender {
    fn lend(&self, len: usize) -> Option<Box<dyn Loan>> {
        Some(Box::new(Fresh(self.0.lend(len)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_private_segments_lend_samples() {
        for (access, inbox_is_private, lends) in [
            (Access::User, true, true),
            (Access::User, false, false),
            (Access::Group, true, false),
            (Access::Group, false, false),
            (Access::Everyone, true, false),
            (Access::Everyone, false, false),
        ] {
            assert_eq!(may_lend(access, inbox_is_private), lends, "{access:?} {inbox_is_private}");
        }
    }

    #[test]
    fn loan_pool_layout_is_bounded_for_any_ring_size() {
        let of = |ring_size, len| layout(len, &ShmConfig { ring_size, ..ShmConfig::default() });
        assert_eq!(of(1 << 22, 921_604), Some((921_664, 18)));
        assert_eq!(of(0, 100_004), Some((100_096, 10)), "as for 256 KiB");
        assert_eq!(of(u32::MAX, 1 << 20), Some(((1 << 20) + 64, 255)), "256 MiB at most, not none at all");
        assert_eq!(of(u32::MAX, 8), Some((128, MAX_SLOTS)));
        assert_eq!(of(1 << 18, (64 << 20) - 60), Some((64 << 20, MIN_SLOTS)));
        assert_eq!(of(1 << 18, 64 << 20), None);
        assert_eq!(of(u32::MAX, usize::MAX), None);
    }

    #[test]
    fn loan_pool_creation_is_retried_under_new_names() {
        let fails = || io::Error::other("no");
        let (mut number, mut tried) = (0, Vec::new());
        let mut draw = || {
            number += 1;
            Ok(number)
        };
        let made = create_anew(&mut draw, |number| {
            tried.push(number);
            if tried.len() < 3 { Err(fails()) } else { Ok(()) }
        });
        assert_eq!((made.unwrap(), &tried[..]), ((3, ()), &[1, 2, 3][..]));
        tried.clear();
        let made = create_anew(draw, |number| {
            tried.push(number);
            Err::<(), _>(fails())
        });
        assert!(made.is_err());
        assert_eq!(tried, [4, 5, 6, 7], "not for ever");
    }
}
