//! Chunks that a writer lends to readers of other processes: the side that borrows. See [`crate::lend`].
//!
//! What a descriptor says is copied once and then checked; a sender whose descriptor makes no sense is cut off, as with
//! a record that makes none. Pools are mapped for reading. Only files are used that nobody but this user can write to, and
//! only under the names they were made with.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use dunlin_buf::{BufPool, Memory, SharedBytes};

use crate::config::MAX_RING;
use crate::folder::{Folder, Name};
use crate::head::{self, place};
use crate::lend::{Descriptor, MAX_SLOTS, PAYLOAD, count_at, slot_at, tally_len};
use crate::segment::{HEAD, Segment};

/// Permission bits of a tally: for the same user alone.
const MODE: u32 = 0o600;
/// Most pools of all senders.
const MAX_POOLS: usize = 4096;
/// Octets of a payload that its message has itself: the encapsulation header.
pub(crate) const INLINE: usize = 4;

/// A pool of another process.
struct Borrowed {
    folder: Folder,
    name: Name,
    pool: Segment,
    tally: Segment,
    /// The reader's inbox, whose lock tells the writer that chunks may be in use.
    _life: Arc<Segment>,
    slots: usize,
    slot: usize,
}

impl Borrowed {
    fn attach(folder: &Folder, reader: u64, life: &Arc<Segment>, name: PoolName) -> Result<Self, Unusable> {
        let PoolName { owner, number } = name;
        let file = Name::Pool { owner, number };
        let pool = Segment::attach_to_read(&folder.file(file), HEAD..=HEAD + MAX_RING as usize);
        let pool = pool.map_err(|error| match error.kind() {
            // It is gone, or somebody else has put a file of theirs there.
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => Unusable::Gone,
            _ => Unusable::Broken,
        })?;
        head::check(&pool.map, file).map_err(|_| Unusable::Broken)?;
        let word = |at| pool.map.word(at).load(Ordering::Relaxed) as usize;
        let (slots, slot) = (word(place::SLOTS), word(place::SLOT));
        let fits = (1..=MAX_SLOTS).contains(&slots) && (64..=MAX_RING as usize).contains(&slot);
        let len = slots.checked_mul(slot).and_then(|len| len.checked_add(HEAD));
        if !fits || !slot.is_multiple_of(64) || len != Some(pool.map.len()) {
            return Err(Unusable::Broken);
        }
        let name = Name::Tally { reader, owner, number };
        // Who sweeps may take it for abandoned in the moment before it is locked. If it cannot be made nothing can be given
        // back: the writer soon sends copies.
        let make = || Segment::create(&folder.file(name), tally_len(slots), MODE);
        let tally = make().or_else(|_| make()).map_err(|_| Unusable::Gone)?;
        head::sign(&tally.map, name);
        Ok(Self { folder: folder.clone(), name, pool, tally, _life: Arc::clone(life), slots, slot })
    }

    fn give_back(&self, index: u32) {
        let count = |at| self.tally.map.word(at).fetch_add(1, Ordering::Release);
        count(count_at(index));
        count(place::TAIL);
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        self.tally.remove(&self.folder.file(self.name));
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

    fn is_intact(&self) -> bool {
        self.from.pool.map.is_whole()
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
    /// The pool is not there any more, or this process may not use it: the sample is lost, as if it had not left.
    Gone,
    /// It makes no sense.
    Broken,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct PoolName {
    owner: u64,
    number: u64,
}

/// The pools that one inbox borrows from. A pool is attached once, however many rings its chunks are announced in: its tally
/// counts for all of them.
pub(crate) struct Pools {
    folder: Folder,
    reader: u64,
    life: Arc<Segment>,
    list: BTreeMap<PoolName, Arc<Borrowed>>,
}

impl Pools {
    pub(crate) fn new(folder: &Folder, reader: u64, life: &Arc<Segment>) -> Self {
        Self { folder: folder.clone(), reader, life: Arc::clone(life), list: BTreeMap::new() }
    }

    fn find(&mut self, name: PoolName) -> Result<Arc<Borrowed>, Unusable> {
        if let Some(known) = self.list.get(&name) {
            return Ok(Arc::clone(known));
        }
        self.forget();
        if self.list.len() >= MAX_POOLS {
            return Err(Unusable::Gone);
        }
        let pool = Arc::new(Borrowed::attach(&self.folder, self.reader, &self.life, name)?);
        self.list.insert(name, Arc::clone(&pool));
        Ok(pool)
    }

    /// The message that a record of the sender `owner` with a descriptor stands for.
    pub(crate) fn resolve(
        &mut self,
        owner: u64,
        record: &[u8],
        pool: &mut BufPool,
    ) -> Result<SharedBytes, Unusable> {
        let (it, head) = Descriptor::parse(record).ok_or(Unusable::Broken)?;
        let from = self.find(PoolName { owner, number: it.pool })?;
        let len = it.len as usize;
        if it.index as usize >= from.slots || len <= INLINE || len > from.slot - PAYLOAD {
            return Err(Unusable::Broken);
        }
        if from.pool.map.word(slot_at(it.index, from.slot)).load(Ordering::Acquire) != it.generation {
            return Err(Unusable::Broken);
        }
        let chunk = BorrowedChunk { from, index: it.index, len };
        Ok(pool.copy(head).followed_by(SharedBytes::lent(Box::new(chunk))))
    }

    /// Lets go of the pools whose owner is gone. Chunks that are in use keep theirs mapped.
    pub(crate) fn forget(&mut self) {
        self.list.retain(|name, pool| {
            let over = pool.pool.is_removed() || pool.pool.is_abandoned();
            if over {
                self.folder.remove_if_abandoned(Name::Pool { owner: name.owner, number: name.number });
            }
            !over
        });
    }
}
