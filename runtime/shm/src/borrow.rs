//! Chunks that a writer lends to readers of other processes: the side that borrows. See [`crate::lend`].
//!
//! What a descriptor says is copied once and then checked; a sender whose descriptor makes no sense is cut off, as with
//! a record that makes none. Pools are mapped for reading.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use dunlin_buf::{BufPool, Memory, SharedBytes};

use crate::config::MAX_RING;
use crate::folder::{Folder, Name};
use crate::inbox::{LAYOUT, MAGIC, place};
use crate::lend::{Descriptor, MAX_SLOTS, PAYLOAD, count_at, slot_at, tally_len};
use crate::segment::{HEAD, Segment};

/// Permission bits of a tally: for the same user alone.
const MODE: u32 = 0o600;
/// Most pools of one sender.
const MAX_POOLS: usize = 1024;
/// Octets of a payload that its message has itself: the encapsulation header.
pub(crate) const INLINE: usize = 4;

/// A pool of another process.
struct Borrowed {
    folder: Folder,
    name: Name,
    number: u64,
    pool: Segment,
    tally: Segment,
    slots: usize,
    slot: usize,
}

impl Borrowed {
    fn attach(folder: &Folder, reader: u64, owner: u64, number: u64) -> io::Result<Self> {
        let strange = || io::Error::other("it is not a pool");
        let path = folder.file(Name::Pool { owner, number });
        let pool = Segment::attach_to_read(&path, HEAD..=HEAD + MAX_RING as usize)?;
        let word = |at| pool.map.word(at).load(Ordering::Acquire);
        let (slots, slot) = (word(place::SLOTS) as usize, word(place::SLOT) as usize);
        let fits = (1..=MAX_SLOTS).contains(&slots) && (64..=MAX_RING as usize).contains(&slot);
        let known = word(place::MAGIC) == MAGIC && word(place::LAYOUT) == LAYOUT;
        if !known || !fits || !slot.is_multiple_of(64) || pool.map.len() != HEAD + slots * slot {
            return Err(strange());
        }
        let name = Name::Tally { reader, owner, number };
        let tally = Segment::create(&folder.file(name), tally_len(slots), MODE)?;
        Ok(Self { folder: folder.clone(), name, number, pool, tally, slots, slot })
    }

    fn give_back(&self, index: u32) {
        let count = |at| self.tally.map.word(at).fetch_add(1, Ordering::Release);
        count(count_at(index));
        count(place::TAIL);
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        self.folder.remove(self.name);
    }
}

/// A chunk, given back when it is dropped.
struct BorrowedChunk {
    from: Arc<Borrowed>,
    index: u32,
    len: usize,
}

impl Memory for BorrowedChunk {
    fn octets(&self) -> &[u8] {
        self.from.pool.map.octets(slot_at(self.index, self.from.slot) + PAYLOAD, self.len)
    }
}

impl Drop for BorrowedChunk {
    fn drop(&mut self) {
        self.from.give_back(self.index);
    }
}

/// Why a descriptor leads to nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unusable {
    /// The writer is gone, and the pool with it: the sample is lost, as if it had not left.
    Gone,
    /// It makes no sense.
    Broken,
}

/// The pools of one sender.
pub(crate) struct Pools {
    folder: Folder,
    reader: u64,
    owner: u64,
    list: Vec<Arc<Borrowed>>,
}

impl Pools {
    pub(crate) fn new(folder: &Folder, reader: u64, owner: u64) -> Self {
        Self { folder: folder.clone(), reader, owner, list: Vec::new() }
    }

    fn find(&mut self, number: u64) -> Result<Arc<Borrowed>, Unusable> {
        if let Some(known) = self.list.iter().find(|pool| pool.number == number) {
            return Ok(Arc::clone(known));
        }
        self.forget();
        if self.list.len() >= MAX_POOLS {
            return Err(Unusable::Broken);
        }
        match Borrowed::attach(&self.folder, self.reader, self.owner, number) {
            Ok(pool) => {
                let pool = Arc::new(pool);
                self.list.push(Arc::clone(&pool));
                Ok(pool)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Unusable::Gone),
            Err(_) => Err(Unusable::Broken),
        }
    }

    /// The message that a record with a descriptor stands for.
    pub(crate) fn resolve(&mut self, record: &[u8], pool: &mut BufPool) -> Result<SharedBytes, Unusable> {
        let (it, head) = Descriptor::parse(record).ok_or(Unusable::Broken)?;
        let from = self.find(it.pool)?;
        let len = it.len as usize;
        if it.index as usize >= from.slots || len <= INLINE || len > from.slot - PAYLOAD {
            return Err(Unusable::Broken);
        }
        if from.pool.map.word(slot_at(it.index, from.slot)).load(Ordering::Acquire) != it.generation {
            return Err(Unusable::Broken);
        }
        let chunk = BorrowedChunk { from, index: it.index, len };
        Ok(pool.copy(head).followed_by(SharedBytes::lent(Arc::new(chunk))))
    }

    /// Lets go of the pools whose owner is gone, as far as nobody uses a chunk any more.
    pub(crate) fn forget(&mut self) {
        self.list.retain(|pool| {
            let over = pool.pool.is_removed() || pool.pool.is_abandoned();
            if over {
                self.folder.remove_if_abandoned(Name::Pool { owner: self.owner, number: pool.number });
            }
            !over
        });
    }
}
