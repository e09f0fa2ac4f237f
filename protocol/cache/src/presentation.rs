//! PRESENTATION (DDS 1.4 §2.2.3.6; RTPS 2.5 §8.7.5, §8.7.6 and §9.6.4): changes wait until their coherent set is whole,
//! and become visible in the order of their publisher.
//!
//! A *stream* is what one writer sends to one reader; it arrives in order, perhaps with holes. All streams of a
//! publisher number their changes together. A number is settled once its change was released or given up, and nobody
//! can have it any more once every stream has passed it. A set is whole when all its numbers are here, or when every
//! stream has passed its end without a hole inside it, and all writers of the publisher are known: the other numbers belong
//! to writers that no reader listens to. Otherwise it is given up as a whole. Nobody can be asked for what is best-effort:
//! such a stream is waited for until anything behind the set has arrived.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;
use core::ops::Bound;

use dunlin_core::{Duration, EntityId, Guid, MonoTime, SequenceNumber, SnRange};
use dunlin_wire::GroupDigest;
use progress::Progress;
use torn_sets::TornSets;
use writers::{GroupWriters, Writers};

mod progress;
mod torn_sets;
mod writers;

/// Writers of a publisher that are lost and may have had a part in what is to come, at most.
const MAX_LOST: usize = 64;

/// What one writer sends to one reader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stream {
    /// Who made the writer: writers with the same publisher share numbers.
    pub publisher: Guid,
    /// The writer.
    pub writer: Guid,
    /// The reader.
    pub reader: EntityId,
    /// The reader shows what comes from there whatever other readers of the subscriber have.
    pub apart: bool,
}

/// Changes that wait for each other: those of a publisher, or those of a writer for one reader.
pub type Source = (Guid, EntityId);

impl Stream {
    /// What it is part of.
    #[must_use]
    pub fn source(&self) -> Source {
        (self.publisher, if self.apart { self.reader } else { EntityId::UNKNOWN })
    }
}

/// Where a change stands among those of its publisher.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Its number at its writer.
    pub sn: SequenceNumber,
    /// The first change of its set at its writer, if it is in one.
    pub set_at_writer: Option<SequenceNumber>,
    /// Its number at the publisher.
    pub number: SequenceNumber,
    /// The first number of its set at the publisher, if it is in one.
    pub set: Option<SequenceNumber>,
    /// It only closes the set.
    pub end: bool,
    /// The writers that the publisher had then, if it says so.
    pub writers: Option<GroupDigest>,
}

impl Place {
    /// The highest number that a change may have which its writer sent before this one and which did not arrive: if this one is
    /// the first of its set at the writer, none of the set.
    fn last_missing(&self) -> SequenceNumber {
        let begun = self.set.filter(|_| self.set_at_writer == Some(self.sn));
        begun.unwrap_or(self.number).previous()
    }
}

/// Changes for readers, to be shown together.
pub type Unit<T> = Vec<(EntityId, T)>;

/// What comes out of the wait.
#[derive(PartialEq, Eq, Debug)]
pub enum Release<T> {
    /// To be shown.
    Show(Unit<T>),
    /// Lost: their set is not whole.
    GiveUp(Unit<T>),
}

/// The changes that wait, of all publishers that a subscriber, or a single reader, listens to.
#[derive(Debug)]
pub struct Presentation<T> {
    publishers: BTreeMap<Source, Publisher<T>>,
    octets: usize,
    /// The same of what found no room when it was to be shown.
    refused_octets: usize,
    max_octets: usize,
    /// How long a writer is waited for that was not discovered.
    patience: Duration,
    /// Whose changes were shown last: the others come first now.
    served: Source,
    torn_sets: TornSets,
}

impl<T> Release<T> {
    fn unit(&mut self) -> &mut Unit<T> {
        let (Self::Show(unit) | Self::GiveUp(unit)) = self;
        unit
    }
}

#[derive(Debug)]
struct Publisher<T> {
    streams: Vec<Progress>,
    waiting: BTreeMap<SequenceNumber, Entry<T>>,
    /// Everything up to here is settled.
    settled: SequenceNumber,
    /// The writers that the publisher had at the last change that is settled and says so.
    settled_with: Option<(SequenceNumber, GroupDigest)>,
    /// A set that is given up although some of it may still come.
    given_up: Option<SequenceNumber>,
    /// The writer that was created last of those that were ever met.
    youngest: EntityId,
    /// Was released, but found no room; with its octets.
    refused: Option<(Unit<T>, usize)>,
    /// What waited behind that when all its writers were lost and one was met again, which has numbers of its own.
    former: VecDeque<(Release<T>, usize)>,
    writers: Writers,
    /// The first that waits, up to this number, is complete but for a writer that is awaited until then: to look at it again before
    /// is of use only if something changes about it.
    awaited: Option<(SequenceNumber, MonoTime)>,
}

#[derive(Debug)]
struct Entry<T> {
    writer: Guid,
    set: Option<SequenceNumber>,
    end: bool,
    writers: Option<GroupDigest>,
    /// For each reader that it has come to: what that is to be shown, if anything.
    items: Vec<(EntityId, Option<T>)>,
    octets: usize,
}

impl<T> Entry<T> {
    fn came_to(&self, reader: EntityId) -> bool {
        self.items.iter().any(|(of, _)| *of == reader)
    }
}

impl<T> Default for Publisher<T> {
    fn default() -> Self {
        Self {
            streams: Vec::new(),
            waiting: BTreeMap::new(),
            settled: SequenceNumber::ZERO,
            settled_with: None,
            given_up: None,
            youngest: EntityId::UNKNOWN,
            refused: None,
            former: VecDeque::new(),
            writers: Writers::default(),
            awaited: None,
        }
    }
}

impl<T> Presentation<T> {
    /// Nothing waits yet; what waits takes up to `max_octets`, then the oldest is released or given up before its time. A
    /// writer that the publisher speaks of and discovery does not know is waited for as long as `patience`.
    #[must_use]
    pub fn new(max_octets: usize, patience: Duration) -> Self {
        Self {
            publishers: BTreeMap::new(),
            octets: 0,
            refused_octets: 0,
            max_octets,
            patience,
            served: (Guid::UNKNOWN, EntityId::UNKNOWN),
            torn_sets: TornSets::default(),
        }
    }

    /// A reader has met a writer. What its publisher says of its writers is `understood` if it is sure to be made as here;
    /// otherwise that shows when it is the same as what is [known](Self::writers_known) once.
    pub fn matched(&mut self, stream: Stream, reliable: bool, durable: bool, understood: bool) {
        let source = stream.source();
        let publisher = self.publishers.entry(source).or_default();
        if publisher.live().next().is_none() {
            publisher.begin_anew();
            self.torn_sets.note(source, publisher.youngest, publisher.given_up);
            publisher.given_up = self.torn_sets.take(source, stream.writer.entity_id);
        }
        publisher.youngest = publisher.youngest.max(stream.writer.entity_id);
        if understood {
            publisher.writers.understand();
        }
        publisher.awaited = None;
        publisher.forget(stream.writer, stream.reader);
        publisher.streams.push(Progress::new(stream, reliable, durable));
    }

    /// A writer is gone: what it did not complete is missing. If the publisher announces which writers it has, that may be behind all
    /// that is here, until it has gone by its word.
    pub fn writer_lost(&mut self, stream: Stream) {
        let Some(publisher) = self.publishers.get_mut(&stream.source()) else { return };
        let (seen, has_digests) = (publisher.newest(), publisher.writers.is_understood());
        publisher.awaited = None;
        let Some(progress) = publisher.progress(stream.writer, stream.reader) else { return };
        let missing = SnRange::new(progress.passed.next(), SequenceNumber::MAX);
        progress.note_hole(missing);
        progress.lost_at = Some(seen);
        if !has_digests {
            progress.ends_where_lost();
        }
        publisher.bound_lost();
    }

    /// Whether anybody listens to a publisher.
    #[must_use]
    pub fn listens_to(&self, publisher: Guid) -> bool {
        self.publishers.contains_key(&(publisher, EntityId::UNKNOWN))
    }

    /// Discovery knows these writers of a publisher, and which of them have readers here.
    pub fn writers_known(&mut self, publisher: Guid, writers: &[EntityId]) {
        let Some(publisher) = self.publishers.get_mut(&(publisher, EntityId::UNKNOWN)) else { return };
        let streams: BTreeSet<EntityId> = publisher.streams.iter().map(|it| it.writer.entity_id).collect();
        let heard = writers.iter().filter(|id| streams.contains(*id)).copied().collect();
        // Whoever is lost and known all the same is not heard any more, and nobody waits for what it writes.
        let unheard = publisher.streams.iter_mut().filter(|it| writers.contains(&it.writer.entity_id));
        unheard.for_each(Progress::ends_where_lost);
        publisher.awaited = None;
        publisher.writers.learn(writers.to_vec(), heard);
    }

    /// When something that waits for a writer to be discovered does not do so any longer, as of the last
    /// [`release`](Self::release).
    pub fn next_deadline(&self) -> Option<MonoTime> {
        self.publishers.values().filter_map(|publisher| publisher.writers.deadline()).min()
    }

    /// A reader is gone, and what waits for it.
    pub fn reader_deleted(&mut self, reader: EntityId) {
        for publisher in self.publishers.values_mut() {
            publisher.awaited = None;
            publisher.streams.retain(|stream| stream.reader != reader);
            publisher.waiting.values_mut().for_each(|entry| entry.items.retain(|item| item.0 != reader));
            let former = publisher.former.iter_mut().map(|(release, _)| release.unit());
            let refused = publisher.refused.iter_mut().map(|(unit, _)| unit);
            refused.chain(former).for_each(|unit| unit.retain(|item| item.0 != reader));
        }
    }

    /// A change arrived; without `item` only its place counts.
    pub fn offer(&mut self, stream: Stream, place: &Place, item: Option<T>, octets: usize) {
        let publisher = self.publishers.entry(stream.source()).or_default();
        publisher.awaited = publisher.awaited.filter(|(last, _)| place.number > *last);
        if let Some(progress) = publisher.progress(stream.writer, stream.reader) {
            if progress.misses(place) {
                let joined = place.set.unwrap_or(place.number);
                let first = if progress.misses_from_the_start() { progress.passed.next() } else { joined };
                progress.note_hole(SnRange::new(first, place.last_missing()));
            }
            (progress.last_sn, progress.last_number) = (Some(place.sn), place.number);
            progress.passed = progress.passed.max(place.number);
        }
        let entry = publisher.waiting.entry(place.number).or_insert_with(|| Entry {
            writer: stream.writer,
            set: place.set,
            end: place.end,
            writers: place.writers,
            items: Vec::new(),
            octets: 0,
        });
        match entry.items.iter_mut().find(|(reader, _)| *reader == stream.reader) {
            // A reader that has met the writer again is given the history again.
            Some((_, Some(_))) => return,
            Some((_, none)) => *none = item,
            None => entry.items.push((stream.reader, item)),
        }
        entry.octets = entry.octets.saturating_add(octets);
        self.octets = self.octets.saturating_add(octets);
    }

    /// Something is gone that the writer had for the reader.
    pub fn lost(&mut self, stream: Stream) {
        let publisher = self.publishers.get_mut(&stream.source());
        if let Some(progress) = publisher.and_then(|it| it.progress(stream.writer, stream.reader)) {
            progress.lacks = true;
        }
    }

    /// The last change of the writer had this number, and nothing of it up to there is still to come: what has not arrived is
    /// missing. A reader that joined late and wants nothing from before cannot tell that from the first, unless something that
    /// was for it is [lost](Self::lost): that is behind all it was told of before.
    pub fn announced(&mut self, stream: Stream, last: SequenceNumber) {
        let Some(publisher) = self.publishers.get_mut(&stream.source()) else { return };
        if let Some(progress) = publisher.progress(stream.writer, stream.reader)
            && progress.misses_from_the_start()
        {
            let only_told = progress.last_sn.is_none() && !progress.durable;
            let before = if only_told { progress.passed } else { progress.last_number };
            progress.note_hole(SnRange::new(before.next(), last));
        }
    }

    /// The writer has no change with a number up to this one that is still to come, and its publisher has these `writers` now,
    /// if it says so.
    pub fn passed(&mut self, stream: Stream, number: SequenceNumber, writers: Option<GroupDigest>) {
        let Some(publisher) = self.publishers.get_mut(&stream.source()) else { return };
        if let Some(progress) = publisher.progress(stream.writer, stream.reader) {
            progress.passed = progress.passed.max(number);
            writers.into_iter().for_each(|digest| publisher.note(number, digest));
        }
    }

    /// Gives everything that has waited long enough to `show`, in order. A unit that comes back found no room, and is
    /// offered again by the next call. A `patient` call gives nothing up because too much waits.
    pub fn release(
        &mut self,
        now: MonoTime,
        patient: bool,
        mut show: impl FnMut(Release<T>) -> Result<(), Unit<T>>,
    ) {
        // What is shown may make room for what found none before it.
        while self.pass(now, patient, &mut show) && self.refused().next().is_some() {}
        self.publishers.retain(|source, publisher| {
            let over = publisher.is_over();
            if over {
                self.torn_sets.note(*source, publisher.youngest, publisher.given_up);
            }
            !over
        });
    }

    /// Looks at each publisher once; whether anything was shown.
    fn pass(
        &mut self,
        now: MonoTime,
        patient: bool,
        show: &mut impl FnMut(Release<T>) -> Result<(), Unit<T>>,
    ) -> bool {
        let mut served = None;
        let clock = (now, self.patience);
        let others = (Bound::Excluded(self.served), Bound::Unbounded);
        for range in [others, (Bound::Unbounded, Bound::Included(self.served))] {
            for (source, publisher) in self.publishers.range_mut(range) {
                loop {
                    if let Some((unit, octets)) = publisher.refused.take() {
                        if let Err(unit) = show(Release::Show(unit)) {
                            publisher.refused = Some((unit, octets));
                            break;
                        }
                        self.refused_octets = self.refused_octets.saturating_sub(octets);
                        served = Some(*source);
                    }
                    let full = !patient && self.octets > self.max_octets;
                    let next = publisher.former.pop_front().or_else(|| publisher.next(clock, full));
                    let Some((release, octets)) = next else { break };
                    self.octets = self.octets.saturating_sub(octets);
                    match release {
                        Release::Show(unit) => {
                            self.refused_octets = self.refused_octets.saturating_add(octets);
                            publisher.refused = Some((unit, octets));
                        }
                        lost @ Release::GiveUp(_) => _ = show(lost),
                    }
                }
            }
        }
        self.served = served.unwrap_or(self.served);
        served.is_some()
    }

    /// When readers have to ask which of their writers how far they are, so that what waits can be released. Whose answer has
    /// changed nothing is asked again ever less often: it may never come as far as a damaged change says.
    pub fn lagging(&self) -> Vec<(EntityId, Guid, MonoTime)> {
        let mut found = Vec::new();
        // Who had to be turned away is late for a reason.
        for publisher in self.publishers.values().filter(|publisher| publisher.refused.is_none()) {
            let Some(needed) = publisher.needed() else { continue };
            let behind = publisher.live().filter(|stream| stream.is_behind(needed));
            found.extend(behind.map(|stream| (stream.reader, stream.writer, stream.may_be_asked(needed))));
        }
        found
    }

    /// The writers that a reader asks now.
    pub fn ask(&mut self, now: MonoTime, reader: EntityId) -> Vec<Guid> {
        let mut asked = Vec::new();
        for publisher in self.publishers.values_mut().filter(|publisher| publisher.refused.is_none()) {
            let Some(needed) = publisher.needed() else { continue };
            let behind = publisher.streams.iter_mut().filter(|stream| {
                stream.reader == reader && stream.is_behind(needed) && stream.may_be_asked(needed) <= now
            });
            for stream in behind {
                stream.note_asked(now, needed);
                asked.push(stream.writer);
            }
        }
        asked
    }

    /// The sources that have something which found no room when it was to be shown.
    pub fn refused(&self) -> impl Iterator<Item = Source> + '_ {
        self.publishers.iter().filter(|(_, publisher)| publisher.refused.is_some()).map(|(source, _)| *source)
    }

    /// Everything that may wait does.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.octets.saturating_add(self.refused_octets) > self.max_octets
    }

    /// Octets that wait.
    #[must_use]
    pub fn octets(&self) -> usize {
        self.octets
    }
}

/// How far a set reaches.
struct End {
    /// Its last number, that of what closes it included.
    last: SequenceNumber,
    /// The number after its last change.
    after: SequenceNumber,
}

impl<T> Publisher<T> {
    fn progress(&mut self, writer: Guid, reader: EntityId) -> Option<&mut Progress> {
        self.streams
            .iter_mut()
            .find(|stream| stream.writer == writer && stream.reader == reader && stream.alive())
    }

    fn forget(&mut self, writer: Guid, reader: EntityId) {
        self.streams.retain(|stream| stream.writer != writer || stream.reader != reader);
    }

    fn live(&self) -> impl Iterator<Item = &Progress> {
        self.streams.iter().filter(|stream| stream.alive())
    }

    /// The highest number seen.
    fn newest(&self) -> SequenceNumber {
        let waiting = self.waiting.last_key_value().map(|(number, _)| *number);
        let passed = self.streams.iter().map(|stream| stream.passed);
        passed.chain(waiting).fold(self.settled, SequenceNumber::max)
    }

    fn is_over(&self) -> bool {
        let empty = self.waiting.is_empty() && self.refused.is_none() && self.former.is_empty();
        empty && self.live().next().is_none()
    }

    /// All its writers were lost before one is met, so what waits has come as far as it will. Numbers begin as for a publisher of
    /// which nothing is known: whoever comes may be in another life, or send its history again.
    fn begin_anew(&mut self) {
        while let Some(next) = self.next((MonoTime(0), Duration::ZERO), true) {
            self.former.push_back(next);
        }
        self.streams.clear();
        (self.settled, self.settled_with) = (SequenceNumber::ZERO, None);
        self.writers.begin_anew();
    }

    /// Every stream has passed this. Nobody can ask an unreliable one.
    fn reached(&self) -> SequenceNumber {
        let passed = self.live().filter(|stream| stream.reliable).map(|stream| stream.passed);
        passed.min().unwrap_or(SequenceNumber::MAX)
    }

    /// Whether a change has come to all readers of its writer.
    fn is_everywhere(&self, entry: &Entry<T>) -> bool {
        self.live().filter(|stream| stream.writer == entry.writer).all(|stream| entry.came_to(stream.reader))
    }

    /// Whether a reader was parted from a writer before it had all of a set that another reader of that writer has.
    fn lost_a_part(&self, set: SequenceNumber, end: &End) -> bool {
        self.streams.iter().filter(|stream| !stream.alive()).any(|stream| {
            let mut parts = self.waiting.range(set..end.after);
            parts.any(|(number, entry)| {
                *number > stream.passed && entry.writer == stream.writer && !entry.came_to(stream.reader)
            })
        })
    }

    /// Where a set ends, if that is known.
    fn end_of(&self, set: SequenceNumber) -> Option<End> {
        let (_, newest) = self.waiting.last_key_value()?;
        if newest.set == Some(set) && !newest.end {
            return None;
        }
        let (number, entry) =
            self.waiting.range(set..).find(|(_, entry)| entry.end || entry.set != Some(set))?;
        if entry.set == Some(set) {
            return Some(End { last: *number, after: *number });
        }
        // What is missing before it belongs to its own set, if that had begun: behind what is there of this one, whatever it says.
        let here = self.waiting.range(set..*number).next_back().map_or(set, |(last, _)| *last);
        let after = entry.set.map_or(*number, |next| next.min(*number).max(here.next()));
        Some(End { last: after.previous(), after })
    }

    /// Whether something behind all that is here is lost for good, in every stream that may have had it. Of an open set that is one
    /// more change, or what ended it.
    fn lacks_what_follows(&self) -> bool {
        let here = self.waiting.last_key_value().map_or(self.settled, |(last, _)| *last);
        let reached = self.reached();
        let lost = |hole: &SnRange| hole.last > here && hole.last <= reached;
        self.live().any(|stream| stream.holes.as_slice().iter().any(lost))
    }

    /// The publisher has these writers, as of this number or later.
    fn note(&mut self, number: SequenceNumber, digest: GroupDigest) {
        let before = self.writers.said();
        self.writers.note(number, digest);
        self.name(number, digest);
        let after = self.writers.said();
        let same = |last| before.is_some_and(|(number, _)| number >= last);
        let digests = before.map(|said| said.1) == after.map(|said| said.1);
        self.awaited = self.awaited.filter(|(last, _)| before == after || (digests && same(*last)));
    }

    /// Up to where every stream has to come before the first that waits can go.
    fn needed(&self) -> Option<SequenceNumber> {
        let (first, entry) = self.waiting.first_key_value()?;
        if *first > self.settled.next() || !self.is_everywhere(entry) {
            return Some(*first);
        }
        if self.awaited.is_some() {
            // They have all come far enough.
            return None;
        }
        entry.set.and_then(|set| self.end_of(set)).map(|end| end.after.previous())
    }

    /// The next unit, with its octets. When there is no more room, the oldest does not wait any longer.
    fn next(&mut self, clock: (MonoTime, Duration), full: bool) -> Option<(Release<T>, usize)> {
        if !full && self.awaited.is_some_and(|(_, until)| clock.0 < until) {
            return None;
        }
        self.awaited = None;
        self.writers.rest();
        let (first, entry) = self.waiting.first_key_value()?;
        let (first, set, here) = (*first, entry.set, self.is_everywhere(entry));
        if first <= self.settled {
            // Its turn is over: alone it can still be shown, but not what the rest of its set has done without.
            return Some(self.cut(first, set.is_none()));
        }
        let (reached, in_line) = (self.reached(), first == self.settled.next());
        let settled = in_line || reached >= first.previous();
        let Some(set) = set else {
            let ready = settled && (here || reached >= first);
            // What was before it may be of a writer that is not known; without any number in between nobody has to be.
            let ready =
                ready && ((in_line && here) || self.group_writers(clock, first) != GroupWriters::Awaited);
            return (ready || full).then(|| self.cut(first, true));
        };
        if self.given_up == Some(set) {
            return Some(self.cut(first, false));
        }
        let end = self.end_of(set);
        if let Some(end) = &end
            && let Some(whole) = self.verdict(clock, (set, end), (in_line, settled, reached))
        {
            return Some(self.cut(end.last, whole));
        }
        if full || (end.is_none() && (self.live().next().is_none() || self.lacks_what_follows())) {
            self.given_up = Some(set);
            return Some(self.cut(first, false));
        }
        None
    }

    /// Whether a set is whole whose end is known; `None` as long as that may change.
    fn verdict(
        &mut self,
        clock: (MonoTime, Duration),
        (set, end): (SequenceNumber, &End),
        (in_line, settled, reached): (bool, bool, SequenceNumber),
    ) -> Option<bool> {
        let present = self.waiting.range(set..end.after);
        let count = present.filter(|(_, entry)| self.is_everywhere(entry)).count();
        let all = settled && i64::try_from(count).ok() == Some(end.after.0.saturating_sub(set.0));
        let all = all && !self.lost_a_part(set, end);
        if all && in_line {
            return Some(true);
        }
        let over = || self.newest() > end.last || self.live().all(|stream| stream.has_passed(end));
        let passed = settled && reached >= end.after.previous() && over();
        if !all && !passed {
            return None;
        }
        match self.group_writers(clock, end.last) {
            GroupWriters::Awaited => None,
            _ if all => Some(true),
            group_writers => Some(group_writers == GroupWriters::Known && !self.is_torn(set, end)),
        }
    }

    /// Whether the writers are known that may have a part in what waits up to this number.
    fn group_writers(&mut self, clock: (MonoTime, Duration), last: SequenceNumber) -> GroupWriters {
        let waiting = self.waiting.range(..=last);
        let digests = waiting.filter_map(|(number, entry)| Some((*number, entry.writers?)));
        match self.writers.group_writers(clock, last, digests) {
            // Nobody is left who could bring them.
            GroupWriters::Awaited if self.live().next().is_none() => {
                self.writers.rest();
                GroupWriters::Missing
            }
            group_writers => {
                self.awaited = self.writers.deadline().map(|until| (last, until));
                group_writers
            }
        }
    }

    /// Whether anything of a set may be missing.
    fn is_torn(&self, set: SequenceNumber, end: &End) -> bool {
        self.streams.iter().any(|stream| stream.tears(set, end) && !self.had_gone(stream, set))
    }

    /// Whether a writer that is lost now had gone before a set began: the publisher said so between the last that came from
    /// the writer and the set, or with its first change. That it is lost may have been told here much later.
    fn had_gone(&self, stream: &Progress, set: SequenceNumber) -> bool {
        let at_begin = self.waiting.get(&set).and_then(|entry| entry.writers).map(|digest| (set, digest));
        let (mut written, late) = ([self.settled_with, at_begin].into_iter().flatten(), self.is_repaired());
        let last_sign = stream.last_sign(late);
        written.any(|it| self.is_without(stream, it, last_sign)) || self.said_without(stream, set.previous())
    }

    /// Whether changes come that were lost before.
    fn is_repaired(&self) -> bool {
        self.live().any(|stream| stream.reliable)
    }

    /// Whether the publisher has said since a writer was lost that it does not have it any more, up to this number.
    fn said_without(&self, stream: &Progress, last: SequenceNumber) -> bool {
        let said = self.writers.said().filter(|(number, _)| *number <= last);
        said.is_some_and(|said| self.is_without(stream, said, stream.last_sign(false)))
    }

    /// Whether the publisher did not have a writer any more that is lost, when it said at this number which ones it has.
    fn is_without(
        &self,
        stream: &Progress,
        (number, digest): (SequenceNumber, GroupDigest),
        last_sign: Option<SequenceNumber>,
    ) -> bool {
        last_sign.is_some_and(|last| number > last) && self.writers.lack(digest, stream.writer.entity_id)
    }

    /// The publisher says with this number which writers it has: those of which nothing has come are among them, or not.
    fn name(&mut self, number: SequenceNumber, digest: GroupDigest) {
        let Self { streams, writers, .. } = self;
        for stream in streams.iter_mut().filter(|stream| !stream.heard()) {
            if writers.have(digest, stream.writer.entity_id) {
                stream.named = stream.named.max(Some(number));
            }
        }
    }

    /// Forgets the writers that are lost and have no part in what is not settled yet.
    fn forget_lost(&mut self) {
        let late = self.is_repaired();
        let mut streams = core::mem::take(&mut self.streams);
        streams.retain(|stream| {
            let open = stream.lost_at.is_none_or(|last| last > self.settled);
            let gone =
                || self.settled_with.is_some_and(|it| self.is_without(stream, it, stream.last_sign(late)));
            open || (!stream.holes.is_empty() && !gone() && !self.said_without(stream, self.settled))
        });
        self.streams = streams;
    }

    /// Of many writers that are lost those that were lost first have no part in what is to come.
    fn bound_lost(&mut self) {
        let lost = self.streams.iter().filter(|stream| !stream.alive()).count();
        let surplus = lost.saturating_sub(MAX_LOST);
        self.streams
            .iter_mut()
            .filter(|stream| !stream.alive())
            .take(surplus)
            .for_each(Progress::ends_where_lost);
    }

    /// Takes everything up to a number.
    fn cut(&mut self, through: SequenceNumber, whole: bool) -> (Release<T>, usize) {
        let rest = self.waiting.split_off(&through.next());
        let taken = core::mem::replace(&mut self.waiting, rest);
        self.settled = self.settled.max(through);
        self.awaited = None;
        let said = taken.iter().filter_map(|(number, entry)| Some((*number, entry.writers?)));
        for (number, digest) in said {
            self.name(number, digest);
            self.settled_with = Some((number, digest));
        }
        let octets = taken.values().fold(0usize, |sum, entry| sum.saturating_add(entry.octets));
        let items = taken.into_values().flat_map(|entry| entry.items);
        let unit: Unit<T> = items.filter_map(|(reader, item)| Some((reader, item?))).collect();
        let settled = self.settled;
        self.streams.iter_mut().for_each(|stream| stream.holes.remove_through(settled));
        self.forget_lost();
        (if whole { Release::Show(unit) } else { Release::GiveUp(unit) }, octets)
    }
}

#[cfg(test)]
mod tests;
