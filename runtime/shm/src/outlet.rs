//! The side that sends: the inbox of one receiver, and the ring made for it.

use std::fs::Metadata;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use dunlin_buf::Datagram;
use rustix::thread::futex;
use rustix::time::Timespec;

use crate::bell;
use crate::borrow::INLINE;
use crate::config::{MAX_MESSAGE, ShmConfig};
use crate::folder::{Folder, Name};
use crate::head::{self, place};
use crate::inbox::{InboxBell, RingMemory, lock, trusts};
use crate::lend::{Chunk, may_lend};
use crate::ring::{Producer, Put};
use crate::segment::{HEAD, Segment};

/// Rings that this process has made.
static RINGS: AtomicU64 = AtomicU64::new(0);
/// How long a sender waits for a sign from the receiver before it looks again.
const SLICE: Timespec = Timespec { tv_sec: 0, tv_nsec: 2_000_000 };

/// How long small messages wait for a larger ring after the last message that needs it.
const RETIREMENT: Duration = Duration::from_millis(200);

struct Ring {
    name: Name,
    segment: Arc<Segment>,
    capacity: u32,
    producer: Producer,
    /// The receiver took nothing for long when it had taken so much: nobody waits for it until it goes on.
    stalled_at: Option<u32>,
    /// Octets of the ring that follows it.
    needed: u32,
    /// A message was too long for it: nothing more is put until all is taken and a larger ring can follow.
    retiring: Option<Instant>,
}

/// The way to one receiver.
pub(crate) struct Outlet {
    folder: Folder,
    /// Of the receiver.
    to: u64,
    /// Our own inbox.
    from: u64,
    /// Whether chunks are lent to the receiver.
    may_borrow: bool,
    /// Permission bits of rings: not more than the receiver gives, who would not look into a ring that is open to others.
    mode: u32,
    inbox: Arc<Segment>,
    config: ShmConfig,
    /// Made with the first datagram.
    ring: Mutex<Option<Ring>>,
    /// Why it cannot be used any more.
    lost: OnceLock<Lost>,
}

/// Why the way to a receiver cannot be used any more.
struct Lost {
    why: String,
    /// What went wrong is not bound to do so again.
    may_return: bool,
}

const CUT: &str = "another process has cut its files short";
const REFUSED: &str = "the receiver refused the ring";

/// What became of a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    Sent,
    Full,
    Failed,
}

/// Whether a receiver took something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Room {
    /// It did: try again.
    Perhaps,
    /// It has not, for now.
    None,
}

impl Outlet {
    /// Finds the inbox of a receiver, and out whether this process may use it.
    pub(crate) fn attach(folder: &Folder, to: u64, from: u64, config: &ShmConfig) -> io::Result<Self> {
        let trusted = |file: &Metadata| trusts(config.access, file);
        let inbox = Segment::attach(&folder.file(Name::Inbox(to)), HEAD, trusted)?;
        head::check(&inbox.map, Name::Inbox(to))
            .map_err(|error| io::Error::new(error.kind(), format!("its inbox: {error}")))?;
        let (folder, config) = (folder.clone(), config.clone());
        let mode = config.access.mode() & inbox.mode()?;
        let (may_borrow, inbox) = (may_lend(config.access, inbox.is_private()), Arc::new(inbox));
        Ok(Self {
            folder,
            to,
            from,
            may_borrow,
            mode,
            inbox,
            config,
            ring: Mutex::default(),
            lost: OnceLock::new(),
        })
    }

    /// Why it cannot be used any more, if so.
    pub(crate) fn lost(&self) -> Option<&str> {
        self.lost.get().map(|lost| lost.why.as_str())
    }

    /// Whether another way to the receiver may be tried later.
    pub(crate) fn may_return(&self) -> bool {
        self.lost.get().is_some_and(|lost| lost.may_return)
    }

    fn give_up(&self, why: impl Into<String>) {
        // The first reason stays.
        let _ = self.lost.set(Lost { why: why.into(), may_return: false });
    }

    fn give_up_for_now(&self, why: &str) {
        if self.lost.set(Lost { why: why.into(), may_return: true }).is_ok() && why == CUT {
            self.folder.count_cut();
        }
    }

    /// Gives up if a ring is of no use any more.
    fn examine(&self, ring: &Ring) -> Result<(), Outcome> {
        // Read before it is known whether it was there to be read.
        let refused = ring.segment.map.word(place::REFUSED).load(Ordering::Relaxed) != 0;
        if !ring.segment.map.is_whole() {
            self.give_up_for_now(CUT);
        } else if refused {
            self.give_up_for_now(REFUSED);
        } else {
            return Ok(());
        }
        Err(Outcome::Failed)
    }

    fn make_ring(&self, capacity: u32) -> io::Result<Ring> {
        let create = || {
            let name =
                Name::Ring { to: self.to, from: self.from, number: RINGS.fetch_add(1, Ordering::Relaxed) };
            let len = HEAD + capacity as usize;
            Segment::create(&self.folder.file(name), len, self.mode).map(|segment| (name, segment))
        };
        // Somebody who sweeps may take it for abandoned in the moment before it is locked.
        let (name, segment) = create().or_else(|_| create())?;
        let head = &segment.map;
        head.word(place::CAPACITY).store(capacity, Ordering::Relaxed);
        head::sign(head, name);
        self.inbox.map.word(place::GENERATION).fetch_add(1, Ordering::AcqRel);
        Ok(Ring {
            name,
            segment: Arc::new(segment),
            capacity,
            producer: Producer::default(),
            stalled_at: None,
            needed: capacity,
            retiring: None,
        })
    }

    /// Puts one datagram, without waiting and without a word to the receiver. A chunk that is lent stays where it is.
    pub(crate) fn put(&self, datagram: &Datagram<'_>) -> Outcome {
        if datagram.last().is_some_and(|(_, chunk)| !chunk.is_intact()) {
            return Outcome::Failed;
        }
        let Some((before, chunk)) = self.lent(datagram) else {
            return self.put_octets(datagram.len(), datagram.parts());
        };
        let Some(descriptor) = chunk.hand_out(self.to, &self.inbox) else {
            return self.put_octets(datagram.len(), datagram.parts());
        };
        let descriptor = descriptor.to_bytes();
        let len = descriptor.len() + before + INLINE;
        let outcome = self.put_octets(len, std::iter::once(&descriptor[..]).chain(datagram.parts()));
        if outcome != Outcome::Sent {
            chunk.take_back(self.to);
        }
        outcome
    }

    /// The chunk that a datagram ends with, if the receiver can have it where it is, and the octets before it.
    fn lent<'a>(&self, datagram: &Datagram<'a>) -> Option<(usize, &'a Chunk)> {
        let (before, octets) = datagram.last().filter(|_| self.may_borrow && self.lost.get().is_none())?;
        // One of another transport of this process the receiver would not find, and of a header alone nothing would be lent.
        let chunk = Chunk::of(octets).filter(|chunk| chunk.is_of(self.from) && octets.len() > INLINE)?;
        Some((before, chunk))
    }

    /// Puts one record, of at most so many octets of these parts.
    fn put_octets<'a>(&self, len: usize, parts: impl Iterator<Item = &'a [u8]>) -> Outcome {
        if self.lost.get().is_some() || len > MAX_MESSAGE {
            return Outcome::Failed;
        }
        let mut guard = lock(&self.ring);
        if let Err(outcome) = self.prepare(&mut guard, len) {
            return outcome;
        }
        let Some(ring) = guard.as_mut() else { return Outcome::Failed };
        let memory = RingMemory { map: &ring.segment.map, capacity: ring.capacity };
        let put = ring.producer.put(&memory, len, parts);
        if let Err(outcome) = self.examine(ring) {
            return outcome;
        }
        match put {
            Put::Done => {
                ring.stalled_at = None;
                Outcome::Sent
            }
            Put::Full => Outcome::Full,
            Put::Unfit => Outcome::Failed,
            Put::Broken => {
                self.give_up("the receiver spoilt the ring");
                Outcome::Failed
            }
        }
    }

    /// Sees to it that there is a ring for messages of this length. One that is too small is replaced when the receiver has
    /// taken all of it, so that nothing overtakes anything.
    fn prepare(&self, place: &mut Option<Ring>, len: usize) -> Result<(), Outcome> {
        let mut capacity = self.config.capacity_for(len);
        if let Some(ring) = place {
            self.examine(ring)?;
            if ring.capacity < capacity {
                ring.retiring = Some(Instant::now());
                ring.needed = ring.needed.max(capacity);
            }
            if !ring.is_retiring() {
                return Ok(());
            }
            let memory = RingMemory { map: &ring.segment.map, capacity: ring.capacity };
            if !ring.producer.is_drained(&memory) {
                return Err(Outcome::Full);
            }
            capacity = ring.needed;
        }
        match self.make_ring(capacity) {
            Ok(ring) => {
                if let Some(old) = place.replace(ring) {
                    self.folder.remove(old.name);
                }
                Ok(())
            }
            // The network takes over.
            Err(error) => {
                self.give_up(format!("no ring of {capacity} bytes: {error}"));
                Err(Outcome::Failed)
            }
        }
    }

    /// Tells the receiver that something was put; false if it cannot hear that.
    pub(crate) fn ring_bell(&self) -> bool {
        bell::ring(&InboxBell(&self.inbox.map));
        let heard = !self.inbox.map.is_lost();
        if !heard {
            self.give_up_for_now(CUT);
        }
        heard
    }

    /// Waits a moment for the receiver to take something, and says whether it did. Others may send meanwhile.
    pub(crate) fn wait_for_room(&self) -> Room {
        let Some((segment, seen)) = self.stand() else { return Room::None };
        let (head, waiting) = (segment.map.word(place::HEAD), segment.map.word(place::WAITING));
        waiting.store(1, Ordering::Relaxed);
        // Orders this before the look at what was taken; the receiver does it the other way round.
        fence(Ordering::SeqCst);
        if head.load(Ordering::Acquire) == seen {
            // However this ends, what was taken says whether there is room.
            let _ = futex::wait(head, futex::Flags::empty(), seen, Some(&SLICE));
        }
        if head.load(Ordering::Acquire) == seen { Room::None } else { Room::Perhaps }
    }

    /// The ring, and how much had been taken of it when it was found full.
    fn stand(&self) -> Option<(Arc<Segment>, u32)> {
        let guard = lock(&self.ring);
        let ring = guard.as_ref()?;
        Some((Arc::clone(&ring.segment), ring.producer.seen()))
    }

    /// True if the receiver took nothing for long, and still has not.
    pub(crate) fn is_stalled(&self) -> bool {
        lock(&self.ring).as_ref().is_some_and(|ring| ring.stalled_at == Some(ring.producer.seen()))
    }

    /// Notes that the receiver took nothing for long.
    pub(crate) fn stall(&self) {
        if let Some(ring) = lock(&self.ring).as_mut() {
            ring.stalled_at = Some(ring.producer.seen());
        }
    }

    /// Looks whether the receiver is still there, and still takes from the ring.
    pub(crate) fn maintain(&self) {
        if self.lost.get().is_none() {
            if self.is_closed() {
                self.give_up("the receiver is gone");
            } else if self.is_cut() {
                self.give_up_for_now(CUT);
            } else if lock(&self.ring).as_ref().is_some_and(|ring| ring.segment.is_removed()) {
                self.give_up(REFUSED);
            }
        }
        if self.lost.get().is_some() {
            self.remove_files();
        }
    }

    /// Whether the receiver is gone, or has taken its inbox out of the folder: one that uses chunks keeps the lock.
    fn is_closed(&self) -> bool {
        self.inbox.is_removed() || self.inbox.is_abandoned()
    }

    fn is_cut(&self) -> bool {
        self.inbox.is_cut() || lock(&self.ring).as_ref().is_some_and(|ring| ring.segment.is_cut())
    }

    /// Removes the ring, unless a receiver that lives has not taken all: it may not even know the ring yet, and removes it
    /// in the end.
    fn remove_files(&self) {
        let gone = self.is_closed();
        if let Some(ring) = lock(&self.ring).take()
            && (gone || self.lost.get().is_some() || ring.is_drained())
        {
            self.folder.remove(ring.name);
        }
        if gone {
            self.folder.remove_if_abandoned(Name::Inbox(self.to));
        }
    }
}

impl Ring {
    /// Small messages in a row would keep it from ever being empty. They wait, unless nobody has had a long one for a while.
    fn is_retiring(&self) -> bool {
        self.retiring.is_some_and(|since| since.elapsed() < RETIREMENT)
    }

    fn is_drained(&self) -> bool {
        let head = &self.segment.map;
        head.word(place::HEAD).load(Ordering::Acquire) == head.word(place::TAIL).load(Ordering::Relaxed)
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        self.remove_files();
    }
}
