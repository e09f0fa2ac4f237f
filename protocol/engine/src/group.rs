//! Publishers and subscribers as groups (DDS 1.4 §2.2.3.6 PRESENTATION, §2.2.2.4.1.10 begin_coherent_changes;
//! RTPS 2.5 §8.7.5, §8.7.6): what their endpoints number, hold back and show together.

use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;

use dunlin_buf::SharedBytes;
use dunlin_cache::{Place, Presentation as Waiting, Release, Room, Source, Stream, Unit};
use dunlin_core::{Behaviour, Duration, EntityId, Guid, MonoTime, Now, SequenceNumber, VendorId, WallTime};
use dunlin_discovery::DiscoveredWriter;
use dunlin_qos::{Presentation, PresentationAccessScope};
use dunlin_rtps::Received;
use dunlin_sync::RankedMutex;
use dunlin_wire::{GroupDigest, GroupDigests, HeartbeatGroup, ParameterList, params, pid};

use crate::output::Output;
use crate::ranks;
use crate::staging::{self, Staged};

/// A publisher whose changes are coherent or ordered.
#[derive(Debug)]
pub struct PublisherGroup {
    id: EntityId,
    presentation: Presentation,
    state: RankedMutex<{ ranks::LEAF }, Numbers>,
}

#[derive(Debug)]
struct Numbers {
    /// The last number given out.
    last: SequenceNumber,
    /// Calls of begin that were not ended.
    depth: u32,
    /// Which set is open, or was last.
    round: u64,
    /// The first number of the open set.
    set: Option<SequenceNumber>,
    writers: Vec<EntityId>,
    /// Writers that were deleted since the open set began.
    leaving: Vec<EntityId>,
    /// Some of them had written in it.
    part_leaves: bool,
    /// Of the writers.
    digest: GroupDigest,
}

/// What a writer of a group remembers of the set that is open.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Membership {
    round: u64,
    /// Its first change of the set.
    first: SequenceNumber,
    /// The last number its changes have had.
    last_number: SequenceNumber,
}

/// The end of a coherent set, for every writer of the publisher.
#[derive(Clone, Copy, Debug)]
pub struct SetEnd {
    round: u64,
    /// Of access scope GROUP.
    numbers: Option<EndOfGroup>,
}

#[derive(Clone, Copy, Debug)]
struct EndOfGroup {
    number: SequenceNumber,
    /// The first number of the set.
    set: SequenceNumber,
    /// The writers of the publisher when it ended; if one has gone with a part in it, all since it began.
    writers: GroupDigest,
}

impl Numbers {
    /// Of all writers that the set that ends may have parts of. Others that were there with them are counted, too, so that whoever knew
    /// all of them knows the digest.
    fn take_digest_of_set(&mut self) -> GroupDigest {
        let mut writers = core::mem::take(&mut self.leaving);
        if !core::mem::take(&mut self.part_leaves) {
            return self.digest;
        }
        writers.extend_from_slice(&self.writers);
        GroupDigest::of(&mut writers)
    }
}

impl PublisherGroup {
    pub(crate) fn new(id: EntityId, presentation: Presentation) -> Self {
        let state = Numbers {
            last: SequenceNumber::ZERO,
            depth: 0,
            round: 0,
            set: None,
            writers: Vec::new(),
            leaving: Vec::new(),
            part_leaves: false,
            digest: GroupDigest::EMPTY,
        };
        Self { id, presentation, state: RankedMutex::new(state) }
    }

    /// The publisher has one more writer. Whatever has a number of this one's comes with a digest that counts it.
    pub(crate) fn add_writer(&self, writer: EntityId) {
        let mut state = self.state.lock();
        state.writers.push(writer);
        state.digest = GroupDigest::of(&mut state.writers);
    }

    /// The publisher has one writer less. The end of the open set still counts it if it has a part there: what it wrote may be gone
    /// with it, and so may be the change that says which writers there were when the set began.
    pub(crate) fn remove_writer(&self, writer: EntityId, member: &Membership) {
        let has_part = self.begun_by(member).is_some();
        let mut state = self.state.lock();
        if state.set.is_some() && self.counts() {
            state.leaving.push(writer);
            state.part_leaves |= has_part;
        }
        state.writers.retain(|known| *known != writer);
        state.digest = GroupDigest::of(&mut state.writers);
    }

    pub(crate) fn id(&self) -> EntityId {
        self.id
    }

    fn counts(&self) -> bool {
        self.presentation.access_scope == PresentationAccessScope::Group
    }

    /// begin_coherent_changes: what is written from now on belongs together. Calls nest.
    pub fn begin_set(&self) {
        let mut state = self.state.lock();
        state.depth = state.depth.saturating_add(1);
        if state.depth == 1 {
            state.round = state.round.wrapping_add(1);
            state.set = None;
            state.leaving.clear();
            state.part_leaves = false;
        }
    }

    /// end_coherent_changes; false without a begin. The outermost one gives what every writer of the publisher has to be
    /// told, with [`WriterSlot::end_set`](crate::WriterSlot::end_set).
    pub fn end_set(&self) -> Option<Option<SetEnd>> {
        let mut state = self.state.lock();
        state.depth = state.depth.checked_sub(1)?;
        if state.depth > 0 || !self.presentation.coherent_access {
            return Some(None);
        }
        let round = state.round;
        if !self.counts() {
            return Some(Some(SetEnd { round, numbers: None }));
        }
        let Some(set) = state.set.take() else { return Some(None) };
        state.last = state.last.next();
        let numbers = EndOfGroup { number: state.last, set, writers: state.take_digest_of_set() };
        Some(Some(SetEnd { round, numbers: Some(numbers) }))
    }

    /// Numbers a change of a writer; its inline QoS.
    pub(crate) fn number(&self, member: &mut Membership, sn: SequenceNumber) -> Option<SharedBytes> {
        let mut state = self.state.lock();
        let coherent = state.depth > 0 && self.presentation.coherent_access;
        let begins = coherent && state.set.is_none();
        let mut list = Vec::with_capacity(INLINE_LEN);
        if self.counts() {
            state.last = state.last.next();
            member.last_number = state.last;
            put(&mut list, pid::GROUP_SEQ_NUM, state.last);
            if self.presentation.ordered_access || begins {
                put_digest(&mut list, state.digest);
            }
        }
        if coherent {
            let last = state.last;
            let first = *state.set.get_or_insert(last);
            if member.round != state.round {
                (member.round, member.first) = (state.round, sn);
            }
            put(&mut list, pid::COHERENT_SET, member.first);
            if self.counts() {
                put(&mut list, pid::GROUP_COHERENT_SET, first);
            }
        }
        (!list.is_empty()).then(|| list.into())
    }

    /// The first change of a writer in the set that is open, if it has written any.
    pub(crate) fn begun_by(&self, member: &Membership) -> Option<SequenceNumber> {
        let state = self.state.lock();
        let coherent = state.depth > 0 && self.presentation.coherent_access;
        (coherent && member.round == state.round && member.first > SequenceNumber::ZERO)
            .then_some(member.first)
    }

    /// The inline QoS of the change that ends a set at a writer; nothing if the writer had no part in it and need not
    /// say so.
    pub(crate) fn end(
        &self,
        member: &mut Membership,
        end: &SetEnd,
        sn: SequenceNumber,
    ) -> Option<(SequenceNumber, SharedBytes)> {
        let part = member.round == end.round && member.first > SequenceNumber::ZERO;
        let first = if part { member.first } else { sn };
        let mut list = Vec::with_capacity(INLINE_LEN);
        match end.numbers {
            Some(EndOfGroup { number, set, writers }) => {
                member.last_number = number;
                put(&mut list, pid::GROUP_SEQ_NUM, number);
                put(&mut list, pid::COHERENT_SET, first);
                put(&mut list, pid::GROUP_COHERENT_SET, set);
                put_digest(&mut list, writers);
            }
            None if part => put(&mut list, pid::COHERENT_SET, SequenceNumber::UNKNOWN),
            None => return None,
        }
        Some((first, list.into()))
    }

    /// What HEARTBEATs of a writer say of the group (RTPS 2.5 §8.3.8.6): its last number, the writer's, and which writers it
    /// has.
    pub(crate) fn report(&self, member: &Membership) -> Option<HeartbeatGroup> {
        let (current_gsn, writer_set) = {
            let state = self.state.lock();
            (state.last, state.digest)
        };
        (self.counts() && current_gsn > SequenceNumber::ZERO).then_some(HeartbeatGroup {
            current_gsn,
            first_gsn: SequenceNumber::FIRST,
            last_gsn: member.last_number,
            digests: Some(GroupDigests { writer_set, secure_writer_set: GroupDigest::EMPTY }),
        })
    }
}

/// Octets of what a change says of its group, at most.
const INLINE_LEN: usize = 44;

fn put_digest(list: &mut Vec<u8>, writers: GroupDigest) {
    list.extend_from_slice(&pid::WRITER_GROUP_INFO.to_le_bytes());
    list.extend_from_slice(&4u16.to_le_bytes());
    list.extend_from_slice(&writers.0);
}

fn put(list: &mut Vec<u8>, pid: u16, sn: SequenceNumber) {
    list.extend_from_slice(&pid.to_le_bytes());
    list.extend_from_slice(&8u16.to_le_bytes());
    list.extend_from_slice(&((sn.0 >> 32) as i32).to_le_bytes());
    list.extend_from_slice(&(sn.0 as u32).to_le_bytes());
}

/// A reader, as its group uses it. All calls come with the group's lock held, but for `retry_rejected`.
pub(crate) trait GroupReader: Send + Sync {
    fn id(&self) -> EntityId;

    /// Whether there is room for what a unit has for this reader.
    fn room_for(&self, unit: &Unit<Staged>) -> Room;

    /// Tells of the first sample of a unit for which this reader has no room, once; of the first of all if each would find room by
    /// itself, and together they exceed what readers share. That is tried again in a while.
    fn tell_refused(&self, now: Now, unit: &Unit<Staged>, out: &mut Output);

    /// Shows a change that has waited long enough. True if its writer was lost meanwhile.
    #[must_use]
    fn show(&self, now: Now, staged: &Staged, out: &mut Output) -> bool;

    /// What a writer owns or keeps alive by changes that were shown when it was lost already, it leaves again.
    fn part_from(&self, now: Now, writer: Guid, out: &mut Output);

    /// A change is lost because others of its set are.
    fn tell_lost(&self, staged: &Staged, out: &mut Output);

    /// Sees to it that the protocol's timer runs at this time.
    fn look_at(&self, at: MonoTime, out: &mut Output);

    /// Takes what it had to turn away.
    fn retry_rejected(&self, now: Now, out: &mut Output);
}

/// How long a writer may keep others waiting before it is asked how far it is.
const PATIENCE: Duration = Duration::from_millis(1);

/// How long a writer is waited for that its publisher speaks of and that was not discovered: far longer than announcements
/// take that are lost some times.
const DISCOVERY_PATIENCE: Duration = Duration::from_secs(10);

/// Readers that show what they receive together: those of a subscriber, or a single one.
pub struct SubscriberGroup {
    presentation: Presentation,
    blocked: RankedMutex<{ ranks::LEAF }, Blocked>,
    state: RankedMutex<{ ranks::GROUP }, Shown>,
}

struct Shown {
    waiting: Waiting<Staged>,
    readers: Vec<Weak<dyn GroupReader>>,
    /// Calls of begin_access that were not ended: what the application sees stands still.
    accesses: u32,
    /// The last time given to a change that was shown.
    last: WallTime,
}

/// From whom nothing more is taken until the application has made room: it stays with the writers, as in other readers.
#[derive(Default)]
struct Blocked {
    /// From nobody.
    all: bool,
    sources: Vec<Source>,
    /// Which readers have turned away something, and from where.
    turned_away: Vec<(EntityId, Source)>,
}

impl Blocked {
    fn covers(&self, source: Source) -> bool {
        self.all || self.sources.contains(&source)
    }
}

/// What arrived at one reader.
#[derive(Default)]
pub(crate) struct Arrivals {
    pub(crate) changes: Vec<(Stream, Place, Option<Staged>, usize)>,
    /// Writers of which something is gone that was for the reader.
    pub(crate) lost: Vec<Stream>,
    /// A writer that has nothing up to this number that is still to come, the number of its last change, and the writers that
    /// its publisher has.
    pub(crate) passed: Option<(Stream, [SequenceNumber; 2], Option<GroupDigest>)>,
}

impl Arrivals {
    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.passed.is_none() && self.lost.is_empty()
    }
}

impl SubscriberGroup {
    /// Readers with this PRESENTATION; what waits takes up to `max_octets`.
    pub(crate) fn new(presentation: Presentation, max_octets: usize) -> Self {
        let shown = Shown {
            waiting: Waiting::new(max_octets, DISCOVERY_PATIENCE),
            readers: Vec::new(),
            accesses: 0,
            last: WallTime(i64::MIN),
        };
        Self { presentation, blocked: RankedMutex::new(Blocked::default()), state: RankedMutex::new(shown) }
    }

    /// Whether all writers of a publisher are numbered together.
    pub(crate) fn is_by_publisher(&self) -> bool {
        self.presentation.access_scope == PresentationAccessScope::Group
    }

    /// Whether changes of a coherent set are shown together.
    fn shows_sets(&self) -> bool {
        self.presentation.coherent_access
    }

    /// The stream of a writer to a reader.
    pub(crate) fn stream(&self, writer: &DiscoveredWriter, reader: EntityId) -> Stream {
        // With a narrower scope each writer stands for itself, and so does each reader.
        let apart = !self.is_by_publisher();
        let publisher = if apart { writer.guid } else { Guid::new(writer.guid.prefix, writer.group) };
        Stream { publisher, writer: writer.guid, reader, apart }
    }

    /// Where a change stands; `None` if its writer does not number it, so that it cannot wait.
    pub(crate) fn place(&self, change: &Received<'_>) -> Option<Place> {
        let list = change.inline_qos.as_ref();
        let number_in = |read: fn(&ParameterList<'_>) -> Option<SequenceNumber>| {
            list.and_then(read).filter(|sn| *sn > SequenceNumber::ZERO)
        };
        // Who asks for order alone is shown each change of a set by itself.
        let set_in = |read| number_in(read).filter(|_| self.shows_sets());
        let set_at_writer = set_in(params::coherent_set);
        let (number, set) = if self.is_by_publisher() {
            (number_in(params::group_sequence_number)?, set_in(params::group_coherent_set))
        } else {
            (change.sn, set_at_writer)
        };
        let set = set.filter(|first| *first <= number);
        let writers = list.filter(|_| self.is_by_publisher()).and_then(params::writer_group_info);
        Some(Place { sn: change.sn, set_at_writer, number, set, end: staging::is_empty(change), writers })
    }

    pub(crate) fn add_reader(&self, reader: &Arc<impl GroupReader + 'static>) {
        let reader = Arc::downgrade(reader);
        let mut state = self.state.lock();
        state.readers.retain(|known| known.strong_count() > 0);
        state.readers.push(reader);
    }

    /// begin_access: until it is ended, nothing new becomes visible. Calls nest.
    pub fn begin_access(&self) {
        let mut state = self.state.lock();
        state.accesses = state.accesses.saturating_add(1);
    }

    /// end_access: shows what has waited; false without a begin.
    pub fn end_access(&self, now: Now, out: &mut Output) -> bool {
        {
            let mut state = self.state.lock();
            let Some(left) = state.accesses.checked_sub(1) else { return false };
            state.accesses = left;
        }
        self.room_was_made(now, out);
        true
    }

    /// The application has made room: shows what has waited for it, and takes what the readers had to turn away. What that
    /// completes must not be given up before it is there.
    pub(crate) fn room_was_made(&self, now: Now, out: &mut Output) {
        self.release_with(now, true, out);
        let mut ready = Vec::new();
        {
            let mut blocked = self.blocked.lock();
            let turned_away = core::mem::take(&mut blocked.turned_away);
            for (reader, source) in turned_away {
                if blocked.covers(source) {
                    blocked.turned_away.push((reader, source));
                } else if !ready.contains(&reader) {
                    ready.push(reader);
                }
            }
        }
        for id in ready {
            let reader =
                self.state.lock().readers.iter().filter_map(Weak::upgrade).find(|slot| slot.id() == id);
            if let Some(reader) = reader {
                reader.retry_rejected(now, out);
            }
        }
        self.release(now, out);
    }

    /// Whether a change has to stay where it is; the reader asks again when that may be over.
    pub(crate) fn turns_away(&self, stream: &Stream) -> bool {
        let (mut blocked, of) = (self.blocked.lock(), (stream.reader, stream.source()));
        let covers = blocked.covers(of.1);
        if covers && !blocked.turned_away.contains(&of) {
            blocked.turned_away.push(of);
        }
        covers
    }

    /// Whether anything waits for the application to make room.
    pub(crate) fn is_waiting(&self) -> bool {
        let blocked = self.blocked.lock();
        blocked.all || !blocked.sources.is_empty() || !blocked.turned_away.is_empty()
    }

    /// Whether an access was begun and not ended.
    #[must_use]
    pub fn is_accessed(&self) -> bool {
        self.state.lock().accesses > 0
    }

    pub(crate) fn matched(&self, stream: Stream, reliable: bool, durable: bool, vendor: VendorId) {
        let understood = vendor.does(Behaviour::SpeaksDunlin);
        self.state.lock().waiting.matched(stream, reliable, durable, understood);
    }

    /// Whether what discovery knows of the writers of a publisher matters here.
    pub(crate) fn listens_to(&self, publisher: Guid) -> bool {
        self.is_by_publisher() && self.state.lock().waiting.listens_to(publisher)
    }

    /// Discovery knows these writers of a publisher, and all matches of them were told.
    pub(crate) fn writers_known(&self, now: Now, publisher: Guid, writers: &[EntityId], out: &mut Output) {
        self.state.lock().waiting.writers_known(publisher, writers);
        self.release(now, out);
    }

    /// Shows or gives up what has waited long enough for a writer that was not discovered. Who was asked how far it is, is asked again
    /// although nothing arrives: question or answer may be lost.
    pub(crate) fn on_timer(&self, now: Now, out: &mut Output) {
        if self.state.lock().waiting.next_deadline().is_some() {
            self.release(now, out);
            return;
        }
        let state = self.state.lock();
        if state.accesses == 0 {
            look_again(now, &state.waiting, &state.readers, out);
        }
    }

    pub(crate) fn writer_lost(&self, now: Now, stream: Stream, out: &mut Output) {
        self.state.lock().waiting.writer_lost(stream);
        self.release(now, out);
    }

    pub(crate) fn reader_deleted(&self, reader: EntityId) {
        let mut state = self.state.lock();
        state.readers.retain(|known| known.upgrade().is_some_and(|slot| slot.id() != reader));
        state.waiting.reader_deleted(reader);
    }

    /// Takes what arrived at a reader, and shows what has waited long enough.
    pub(crate) fn absorb(&self, now: Now, arrivals: Arrivals, out: &mut Output) {
        {
            let waiting = &mut self.state.lock().waiting;
            arrivals.lost.into_iter().for_each(|stream| waiting.lost(stream));
            for (stream, place, staged, octets) in arrivals.changes {
                waiting.offer(stream, &place, staged, octets);
            }
            if let Some((stream, [number, last], writers)) = arrivals.passed {
                waiting.announced(stream, last);
                waiting.passed(stream, number, writers);
            }
        }
        self.release(now, out);
    }

    /// The writers that a reader has to ask now how far they are.
    pub(crate) fn lagging(&self, now: Now, reader: EntityId) -> Vec<Guid> {
        let mut state = self.state.lock();
        if state.accesses > 0 { Vec::new() } else { state.waiting.ask(now.mono, reader) }
    }

    /// Shows what has waited long enough, in all readers before anybody else may look again.
    pub(crate) fn release(&self, now: Now, out: &mut Output) {
        self.release_with(now, false, out);
    }

    /// A `patient` call gives nothing up because too much waits.
    fn release_with(&self, now: Now, patient: bool, out: &mut Output) {
        let mut guard = self.state.lock();
        let Shown { waiting, readers, accesses, last } = &mut *guard;
        if *accesses > 0 {
            self.blocked.lock().all = waiting.is_full();
            return;
        }
        readers.retain(|known| known.strong_count() > 0);
        let slots: Vec<Arc<dyn GroupReader>> = readers.iter().filter_map(Weak::upgrade).collect();
        let mut parted = Vec::new();
        waiting.release(now.mono, patient, |release| show(now, &slots, release, (last, &mut parted), out));
        for (reader, writer) in parted {
            let slot = slots.iter().find(|slot| slot.id() == reader);
            slot.into_iter().for_each(|slot| slot.part_from(now, writer, out));
        }
        {
            let mut blocked = self.blocked.lock();
            blocked.all = !patient && waiting.is_full();
            blocked.sources.clear();
            blocked.sources.extend(waiting.refused());
        }
        look_again(now, waiting, readers, out);
        if let Some((due, slot)) = waiting.next_deadline().zip(slots.first()) {
            slot.look_at(due, out);
        }
    }
}

/// Sees to it that writers are asked that keep others waiting.
fn look_again(now: Now, waiting: &Waiting<Staged>, readers: &[Weak<dyn GroupReader>], out: &mut Output) {
    for (reader, _, at) in waiting.lagging() {
        if let Some(slot) = readers.iter().filter_map(Weak::upgrade).find(|slot| slot.id() == reader) {
            slot.look_at(at.max(now.mono.plus(PATIENCE)), out);
        }
    }
}

/// Notes in `parted` which readers were shown something of writers that they do not match any more.
fn show(
    now: Now,
    slots: &[Arc<dyn GroupReader>],
    release: Release<Staged>,
    (last, parted): (&mut WallTime, &mut Vec<(EntityId, Guid)>),
    out: &mut Output,
) -> Result<(), Unit<Staged>> {
    let find = |id: EntityId| slots.iter().find(|slot| slot.id() == id);
    match release {
        Release::GiveUp(unit) => {
            for (reader, staged) in &unit {
                find(*reader).into_iter().for_each(|slot| slot.tell_lost(staged, out));
            }
        }
        Release::Show(unit) => {
            match slots.iter().map(|slot| slot.room_for(&unit)).max().unwrap_or(Room::Now) {
                Room::Later => {
                    slots.iter().for_each(|slot| slot.tell_refused(now, &unit, out));
                    return Err(unit);
                }
                Room::Never => return show(now, slots, Release::GiveUp(unit), (last, parted), out),
                Room::Now => {}
            }
            for (reader, staged) in unit {
                // What was shown earlier was received earlier, in whichever reader it is.
                *last = WallTime(last.0.saturating_add(1)).max(now.wall);
                if let Some(slot) = find(reader)
                    && slot.show(Now { wall: *last, ..now }, &staged, out)
                {
                    parted.push((reader, staged.change.writer));
                }
            }
        }
    }
    Ok(())
}

impl core::fmt::Debug for SubscriberGroup {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("SubscriberGroup").field("presentation", &self.presentation).finish_non_exhaustive()
    }
}
