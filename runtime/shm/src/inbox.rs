//! The side that receives: one inbox, and the rings that others have made for it.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dunlin_buf::{BufPool, SharedBytes};
use dunlin_core::Locator;
use dunlin_transport::{RecvMode, closed};
use rustix::thread::futex;
use rustix::time::Timespec;

use crate::bell::{self, Bell};
use crate::borrow::{Pools, Unusable};
use crate::config::{Access, MAX_MESSAGE, MAX_RING};
use crate::folder::{Folder, Name};
use crate::head::{self, place};
use crate::lend::Descriptor;
use crate::ring::{Consumer, Found, Memory};
use crate::segment::{self, HEAD, Map, Segment};

/// Most rings of one inbox.
const MAX_RINGS: usize = 1024;
/// What is taken from one ring before the next has its turn.
const BURST: usize = 64;
const BURST_OCTETS: usize = 256 << 10;
/// Threads of one process that may wait for room in one ring.
const SENDERS: u32 = 64;
/// Longest sleep, after which the rings are looked through even if nobody rang: somebody may have died just before.
const SLEEP: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The bell of an inbox, of one's own or of another's.
pub(crate) struct InboxBell<'a>(pub(crate) &'a Map);

impl Bell for InboxBell<'_> {
    fn count(&self) -> &AtomicU32 {
        self.0.word(place::BELL)
    }

    fn sleeping(&self) -> &AtomicU32 {
        self.0.word(place::SLEEPING)
    }

    fn wait(&self, count: u32) {
        // However this ends, whoever called looks again.
        let _ = futex::wait(self.count(), futex::Flags::empty(), count, Some(&SLEEP));
    }

    fn wake(&self) {
        let _ = futex::wake(self.count(), futex::Flags::empty(), 1);
    }
}

/// The memory of a ring in a file, whose size was checked when it was mapped.
pub(crate) struct RingMemory<'a> {
    pub(crate) map: &'a Map,
    /// Checked, and kept where nobody else can change it.
    pub(crate) capacity: u32,
}

impl Memory for RingMemory<'_> {
    fn head(&self) -> &AtomicU32 {
        self.map.word(place::HEAD)
    }

    fn tail(&self) -> &AtomicU32 {
        self.map.word(place::TAIL)
    }

    fn capacity(&self) -> u32 {
        self.capacity
    }

    fn write(&self, at: u32, octets: &[u8]) {
        self.map.write(HEAD + at as usize, octets);
    }

    fn header(&self, at: u32) -> (u32, u32) {
        let word = |at: u32| self.map.word(HEAD + at as usize).load(Ordering::Relaxed);
        (word(at), word(at + 4))
    }
}

/// A ring that somebody else fills.
struct Incoming {
    name: Name,
    segment: Segment,
    capacity: u32,
    consumer: Consumer,
    sender: u64,
    from: Locator,
    /// Only this user can write to it, so what it says of chunks may be used in place.
    is_private: bool,
}

/// What one look at a ring brought.
#[derive(PartialEq, Eq)]
enum Look {
    Empty,
    Some,
    Broken,
}

impl Incoming {
    fn attach(folder: &Folder, name: Name, sender: u64, access: Access) -> io::Result<Self> {
        let segment = Segment::attach(&folder.file(name), HEAD, |file| trusts(access, file))?;
        head::check(&segment.map, name)?;
        let capacity = segment.map.word(place::CAPACITY).load(Ordering::Relaxed);
        if !capacity.is_power_of_two()
            || !(64..=MAX_RING).contains(&capacity)
            || segment.map.len() != HEAD + capacity as usize
        {
            return Err(io::Error::other("it has a strange capacity"));
        }
        let (from, is_private) = (Locator::shared_memory(folder.place, sender), segment.is_private());
        Ok(Self { name, segment, capacity, consumer: Consumer::default(), sender, from, is_private })
    }

    fn take(
        &mut self,
        pools: &mut Pools,
        pool: &mut BufPool,
        out: &mut Vec<(SharedBytes, Locator)>,
        counters: &Received,
    ) -> Look {
        let memory = RingMemory { map: &self.segment.map, capacity: self.capacity };
        let (before, mut octets) = (out.len(), 0);
        while out.len() - before < BURST && octets < BURST_OCTETS {
            match self.consumer.find(&memory) {
                Found::Record { at, len } => {
                    let size = len as usize;
                    if size > MAX_MESSAGE {
                        return Look::Broken;
                    }
                    let mut buffer = pool.take(size);
                    self.segment.map.read(HEAD + at as usize, buffer.slice_mut(size));
                    if !self.segment.map.is_whole() {
                        return Look::Broken;
                    }
                    self.consumer.release(&memory, len);
                    octets += size;
                    let mut message = pool.freeze(buffer, size);
                    if Descriptor::is_at_start_of(&message) {
                        // Nobody who keeps to the rules lends where others may write.
                        if !self.is_private {
                            return Look::Broken;
                        }
                        message = match pools.resolve(self.sender, &message, pool) {
                            Ok(whole) => whole,
                            Err(Unusable::Gone) => continue,
                            Err(Unusable::Broken) => return Look::Broken,
                        };
                    }
                    out.push((message, self.from));
                }
                Found::Nothing if !self.segment.map.is_lost() => break,
                Found::Nothing | Found::Broken => return Look::Broken,
            }
        }
        let count = out.len() - before;
        // A record that leads to nothing is one all the same.
        if octets == 0 {
            return Look::Empty;
        }
        counters.datagrams.fetch_add(count as u64, Ordering::Relaxed);
        counters.octets.fetch_add(octets as u64, Ordering::Relaxed);
        self.tell_of_room();
        Look::Some
    }

    /// Wakes whoever waits on the side of the producer. They do not take back themselves that they wait: another one may
    /// still do so.
    fn tell_of_room(&self) {
        // Orders what was given back before the look at whether somebody waits; the producer does it the other way
        // round. It does not sleep for long in any case.
        fence(Ordering::SeqCst);
        let waiting = self.segment.map.word(place::WAITING);
        if waiting.load(Ordering::Relaxed) != 0 && waiting.swap(0, Ordering::Relaxed) != 0 {
            let _ = futex::wake(self.segment.map.word(place::HEAD), futex::Flags::empty(), SENDERS);
        }
    }

    fn is_empty(&mut self) -> bool {
        let memory = RingMemory { map: &self.segment.map, capacity: self.capacity };
        !matches!(self.consumer.find(&memory), Found::Record { .. })
    }
}

/// Whether a file is used. Who may write to it may spoil what others put there, or cut it short, so nobody may do that who is not
/// meant to.
pub(crate) fn trusts(access: Access, file: &Metadata) -> bool {
    let own = file.uid() == rustix::process::geteuid().as_raw();
    let of_group = file.gid() == rustix::process::getegid().as_raw();
    let (closed_to_group, closed_to_all) = (file.mode() & 0o020 == 0, file.mode() & 0o002 == 0);
    match access {
        Access::User => segment::is_private(file),
        Access::Group => closed_to_all && (of_group || (own && closed_to_group)),
        Access::Everyone => true,
    }
}

struct Rings {
    list: Vec<Incoming>,
    pools: Pools,
    generation: u32,
    /// Whose turn it is.
    next: usize,
    /// Found to make no sense; never looked at again.
    refused: Vec<Name>,
}

/// Counters of what has come.
#[derive(Default)]
pub(crate) struct Received {
    pub(crate) datagrams: AtomicU64,
    pub(crate) octets: AtomicU64,
    /// Rings that made no sense.
    pub(crate) broken: AtomicU64,
}

/// An inbox.
pub(crate) struct Inbox {
    folder: Folder,
    id: u64,
    /// What is borrowed keeps its lock.
    segment: Arc<Segment>,
    access: Access,
    rings: Mutex<Rings>,
    /// The count of the bell when all rings were empty.
    idle_at: AtomicU32,
    stopped: std::sync::atomic::AtomicBool,
    pub(crate) received: Received,
}

impl Inbox {
    pub(crate) fn create(folder: &Folder, access: Access) -> io::Result<Self> {
        let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
        for _ in 0..4 {
            let id = getrandom::u64().map_err(io::Error::other)?;
            match Segment::create(&folder.file(Name::Inbox(id)), HEAD, access.mode()) {
                Ok(segment) => {
                    head::sign(&segment.map, Name::Inbox(id));
                    let segment = Arc::new(segment);
                    let pools = Pools::new(folder, id, &segment);
                    return Ok(Self {
                        folder: folder.clone(),
                        id,
                        segment,
                        access,
                        rings: Mutex::new(Rings {
                            list: Vec::new(),
                            pools,
                            generation: 0,
                            next: 0,
                            refused: Vec::new(),
                        }),
                        idle_at: AtomicU32::new(u32::MAX),
                        stopped: false.into(),
                        received: Received::default(),
                    });
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn locator(&self) -> Locator {
        Locator::shared_memory(self.folder.place, self.id)
    }

    fn bell(&self) -> InboxBell<'_> {
        InboxBell(&self.segment.map)
    }

    /// As [`Transport::recv`](dunlin_transport::Transport::recv).
    pub(crate) fn receive(
        &self,
        mode: RecvMode,
        pool: &mut BufPool,
        out: &mut Vec<(SharedBytes, Locator)>,
    ) -> io::Result<()> {
        if self.stopped.load(Ordering::Acquire) {
            return Err(closed());
        }
        let seen = bell::count(&self.bell());
        if mode == RecvMode::NonBlocking && seen == self.idle_at.load(Ordering::Relaxed) {
            return Ok(());
        }
        let found = self.look(pool, out);
        if found {
            return Ok(());
        }
        self.idle_at.store(seen, Ordering::Relaxed);
        if mode == RecvMode::Blocking {
            bell::sleep(&self.bell(), seen);
            self.idle_at.store(seen.wrapping_sub(1), Ordering::Relaxed);
            if self.stopped.load(Ordering::Acquire) {
                return Err(closed());
            }
            self.look(pool, out);
        }
        Ok(())
    }

    /// Takes what there is, from the first ring that has something; true if that may not be all.
    fn look(&self, pool: &mut BufPool, out: &mut Vec<(SharedBytes, Locator)>) -> bool {
        let mut rings = lock(&self.rings);
        self.meet(&mut rings);
        let count = rings.list.len();
        let mut looked = 0;
        while looked < count {
            let turn = (rings.next + looked) % count;
            let Rings { list, pools, .. } = &mut *rings;
            let Some(ring) = list.get_mut(turn) else { break };
            match ring.take(pools, pool, out, &self.received) {
                Look::Empty => looked += 1,
                Look::Some => {
                    rings.next = turn + 1;
                    return true;
                }
                Look::Broken => {
                    self.refuse(&mut rings, turn);
                    return true;
                }
            }
        }
        false
    }

    /// Attaches the rings that are new.
    fn meet(&self, rings: &mut Rings) {
        let generation = self.segment.map.word(place::GENERATION).load(Ordering::Acquire);
        if generation != rings.generation {
            rings.generation = generation;
            self.search(rings);
        }
    }

    fn search(&self, rings: &mut Rings) {
        for name in self.folder.names() {
            let Name::Ring { to, from, .. } = name else { continue };
            let known = rings.list.iter().any(|ring| ring.name == name) || rings.refused.contains(&name);
            if to != self.id || known || rings.list.len() + rings.refused.len() >= MAX_RINGS {
                continue;
            }
            // What is not a ring now may be one later: it may just be being made.
            if let Ok(ring) = Incoming::attach(&self.folder, name, from, self.access) {
                rings.list.push(ring);
            }
        }
    }

    /// Takes a ring that makes no sense out of the folder, and tells its producer.
    fn refuse(&self, rings: &mut Rings, turn: usize) {
        let ring = rings.list.swap_remove(turn);
        if ring.segment.is_cut() {
            self.folder.count_cut();
        } else {
            self.received.broken.fetch_add(1, Ordering::Relaxed);
        }
        // Without this the producer learns of it when it finds that its file was removed.
        let _ = ring.segment.put_word(place::REFUSED, 1);
        self.folder.remove(ring.name);
        rings.refused.push(ring.name);
    }

    /// Makes the inbox as it was, if somebody has cut it short. Those who had it open find it again by its name.
    fn restore(&self, rings: &mut Rings) {
        if !self.segment.is_cut() {
            return;
        }
        self.folder.count_cut();
        let (bell, map) = (self.bell(), &self.segment.map);
        // Whoever sleeps does so on memory that nobody else has: it wakes up here, and looks through the rings after this.
        let count = bell.count().fetch_add(1, Ordering::AcqRel).wrapping_add(1);
        bell.wake();
        if self.segment.restore().is_err() {
            return;
        }
        bell.count().store(count.wrapping_add(1), Ordering::Relaxed);
        // It may be asleep already by what it saw before.
        bell.sleeping().store(1, Ordering::Relaxed);
        map.word(place::GENERATION).store(rings.generation.wrapping_add(1), Ordering::Relaxed);
        head::sign(map, Name::Inbox(self.id));
    }

    /// Removes the rings whose producers are gone, when what they left has been taken.
    pub(crate) fn maintain(&self) {
        let mut rings = lock(&self.rings);
        self.restore(&mut rings);
        // Also those whose makers died before they could say so.
        self.search(&mut rings);
        rings.pools.forget();
        rings.list.retain_mut(|ring| {
            // In this order: nothing comes after its producer is gone.
            let gone = (ring.segment.is_removed() || ring.segment.is_abandoned()) && ring.is_empty();
            if gone {
                self.folder.remove(ring.name);
            }
            !gone
        });
        // Who polls looks only when the bell was rung, and a sender may die before it rings.
        self.idle_at.store(bell::count(&self.bell()).wrapping_sub(1), Ordering::Relaxed);
        let present = self.folder.names();
        rings.refused.retain(|name| present.contains(name));
        let known: Vec<Name> = rings.list.iter().map(|ring| ring.name).collect();
        drop(rings);
        for name in present {
            if matches!(name, Name::Ring { to, .. } if to == self.id) && !known.contains(&name) {
                self.folder.remove_if_abandoned(name);
            }
        }
    }

    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        let bell = self.bell();
        bell.count().fetch_add(1, Ordering::AcqRel);
        bell.wake();
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.folder.remove(Name::Inbox(self.id));
        for name in self.folder.names() {
            if matches!(name, Name::Ring { to, .. } if to == self.id) {
                self.folder.remove_if_abandoned(name);
            }
        }
    }
}
