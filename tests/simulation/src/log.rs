//! What happened in a run, as the applications saw it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dunlin_core::{Guid, InstanceHandle, MonoTime};
use dunlin_engine::{ReaderSlot, WriterSlot};
use dunlin_qos::PolicyId;
use dunlin_rtps::ChangeKind;

use crate::check::infos::Glimpse;
use crate::failure::Violation;

/// So many violations of a kind are kept.
const MAX_OF_A_KIND: usize = 5;

/// Nanoseconds since the world began.
pub type Nanos = u64;

/// From when, and until when if that is over.
pub type Span = (Nanos, Option<Nanos>);

/// When each endpoint of the other side was matched, every time.
#[derive(Clone, Debug, Default)]
pub struct Meetings(BTreeMap<Guid, Vec<Span>>);

impl Meetings {
    /// It is matched from now on.
    pub fn begin(&mut self, remote: Guid, at: Nanos) {
        let spans = self.0.entry(remote).or_default();
        if spans.last().is_none_or(|(_, until)| until.is_some()) {
            spans.push((at, None));
        }
    }

    /// It is so no more.
    pub fn end(&mut self, remote: Guid, at: Nanos) {
        if let Some((_, until)) = self.0.get_mut(&remote).and_then(|spans| spans.last_mut()) {
            until.get_or_insert(at);
        }
    }

    /// All times of one of them, in their order.
    #[must_use]
    pub fn of(&self, remote: Guid) -> &[Span] {
        self.0.get(&remote).map_or(&[], Vec::as_slice)
    }

    /// Whether there was never any.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A change as it was written. Its number is its place in the list, from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Written {
    /// What it does to its instance.
    pub kind: ChangeKind,
    /// Its instance.
    pub key: u32,
    /// Octets of its payload.
    pub len: usize,
    /// When.
    pub at: Nanos,
    /// The coherent set that was open then.
    pub set: Option<usize>,
    /// How many changes all writers of the run had written before.
    pub turn: u64,
}

/// No instance: keys begin at 1.
const NO_KEY: u32 = 0;

impl Written {
    /// The change without data that ends a coherent set at its writer. It stands as the end of no instance.
    #[must_use]
    pub fn end_of_set(at: Nanos, set: usize) -> Self {
        Self { kind: ChangeKind::Unregistered, key: NO_KEY, len: 0, at, set: Some(set), turn: 0 }
    }

    /// Whether it does nothing but end a set.
    #[must_use]
    pub fn ends_set(&self) -> bool {
        self.key == NO_KEY
    }
}

/// A coherent set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SetLog {
    /// When it was begun.
    pub begun: Nanos,
    /// When it was ended, if its publisher lived so long.
    pub ended: Option<Nanos>,
}

/// One life of a writer.
pub struct WriterLog {
    /// Number of the endpoint in the scenario.
    pub plan: usize,
    /// Its node.
    pub node: usize,
    /// The life of its publisher; no two of a run have the same number.
    pub publisher: usize,
    /// Its name.
    pub guid: Guid,
    /// The writer itself.
    pub slot: Arc<WriterSlot>,
    /// From when to when it lived; while it lives there is no end.
    pub created: Nanos,
    /// When it was deleted, or its node crashed.
    pub ended: Option<Nanos>,
    /// All it wrote.
    pub changes: Vec<Written>,
    /// Which instances are registered.
    pub registered: BTreeMap<u32, bool>,
    /// Readers that are matched now, and since when.
    pub matched: BTreeMap<Guid, Nanos>,
    /// Explicit assertions of liveliness.
    pub asserted: Vec<Nanos>,
    /// How often LIVELINESS_LOST was told.
    pub liveliness_lost: u64,
    /// OFFERED_DEADLINE_MISSED by instance.
    pub deadlines_missed: BTreeMap<u32, u64>,
    /// OFFERED_INCOMPATIBLE_QOS by reader.
    pub refused: BTreeMap<Guid, Vec<PolicyId>>,
    /// Writes refused because the history was full.
    pub full: u64,
    /// When readers were matched.
    pub meetings: Meetings,
    /// When it was told that readers are inactive: until they were active again or not matched any more.
    pub given_up: Meetings,
    /// Samples that somebody else sent in its name: when, to which node, with which number.
    pub forged: Vec<(Nanos, usize, u64)>,
}

impl WriterLog {
    /// A life that begins, in which nothing was done yet.
    #[must_use]
    pub fn new(
        plan: usize,
        (node, publisher): (usize, usize),
        slot: Arc<WriterSlot>,
        created: Nanos,
    ) -> Self {
        Self {
            plan,
            node,
            publisher,
            guid: slot.guid(),
            slot,
            created,
            ended: None,
            changes: Vec::new(),
            registered: BTreeMap::new(),
            matched: BTreeMap::new(),
            asserted: Vec::new(),
            liveliness_lost: 0,
            deadlines_missed: BTreeMap::new(),
            refused: BTreeMap::new(),
            full: 0,
            meetings: Meetings::default(),
            given_up: Meetings::default(),
            forged: Vec::new(),
        }
    }

    /// A reader is matched.
    pub fn meet(&mut self, reader: Guid, at: Nanos) {
        self.matched.insert(reader, at);
        self.meetings.begin(reader, at);
    }

    /// It is so no more.
    pub fn part(&mut self, reader: Guid, at: Nanos) {
        self.matched.remove(&reader);
        self.meetings.end(reader, at);
        self.given_up.end(reader, at);
    }

    /// The coherent set that a change belongs to.
    #[must_use]
    pub fn set_of(&self, number: u64) -> Option<usize> {
        self.changes.get(usize::try_from(number.checked_sub(1)?).ok()?)?.set
    }

    /// The changes of a set, with their numbers, its end among them.
    pub fn members(&self, set: usize) -> impl Iterator<Item = (u64, &Written)> {
        (1..).zip(&self.changes).filter(move |(_, change)| change.set == Some(set))
    }
}

/// What a reader got of one life of a writer.
#[derive(Clone, Debug, Default)]
pub struct Received {
    /// How often each number was taken as a sample; the first is number 1.
    pub samples: Vec<u8>,
    /// When each was taken for the first time, as far as it was.
    pub taken_at: Vec<Nanos>,
    /// When a sample was taken for the first time.
    pub first_taken: Option<Nanos>,
    /// Last number taken, overall and by instance, since order counts.
    pub last: u64,
    /// By instance.
    pub last_of_key: BTreeMap<u32, u64>,
    /// They parted or met since the last take: samples of both times may stand in the next one.
    pub fresh: bool,
    /// They met again, and no sample told of it: where changes wait for others, those of the time before may come late.
    pub resumed: bool,
    /// How often they met.
    pub sessions: u32,
}

impl Received {
    /// How often a number was taken.
    #[must_use]
    pub fn count(&self, number: u64) -> u8 {
        self.samples.get((number - 1) as usize).copied().unwrap_or(0)
    }

    /// When a number was taken for the first time, if it was.
    #[must_use]
    pub fn first_taken_at(&self, number: u64) -> Option<Nanos> {
        (self.count(number) > 0).then(|| self.taken_at[(number - 1) as usize])
    }

    /// Notes that a number was taken.
    pub fn note(&mut self, number: u64, now: Nanos) {
        let index = (number - 1) as usize;
        if self.samples.len() <= index {
            self.samples.resize(index + 1, 0);
            self.taken_at.resize(index + 1, 0);
        }
        if self.samples[index] == 0 {
            self.taken_at[index] = now;
        }
        self.samples[index] = self.samples[index].saturating_add(1);
    }
}

/// What a reader holds for alive of a writer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Alive {
    /// Sum of the changes of the number of writers that are alive.
    pub alive: i32,
    /// The same of those that are not.
    pub not_alive: i32,
}

/// One life of a reader.
pub struct ReaderLog {
    /// Number of the endpoint in the scenario.
    pub plan: usize,
    /// Its node.
    pub node: usize,
    /// The life of its subscriber; no two of a run have the same number.
    pub subscriber: usize,
    /// Its name.
    pub guid: Guid,
    /// The reader itself.
    pub slot: Arc<ReaderSlot>,
    /// When it was created.
    pub created: Nanos,
    /// When it was deleted, or its node crashed.
    pub ended: Option<Nanos>,
    /// By life of a writer.
    pub received: BTreeMap<usize, Received>,
    /// Writers that are matched now, and since when.
    pub matched: BTreeMap<Guid, Nanos>,
    /// When writers were matched.
    pub meetings: Meetings,
    /// Liveliness as told, by writer.
    pub alive: BTreeMap<Guid, Alive>,
    /// Writers that were not alive for some time, though matched.
    pub once_dead: BTreeSet<Guid>,
    /// When a writer was last told not to be alive.
    pub died: BTreeMap<Guid, Nanos>,
    /// SAMPLE_LOST.
    pub lost: u64,
    /// REQUESTED_DEADLINE_MISSED by instance.
    pub deadlines_missed: BTreeMap<u32, u64>,
    /// When samples of an instance arrived, by the reader's wall clock.
    pub arrivals: BTreeMap<u32, Vec<i64>>,
    /// REQUESTED_INCOMPATIBLE_QOS by writer.
    pub refused: BTreeMap<Guid, Vec<PolicyId>>,
    /// Which writer an instance was last shown from, and when, under EXCLUSIVE ownership.
    pub shown: BTreeMap<(u32, usize), Nanos>,
    /// When it looked at what it has.
    pub looks: Vec<Nanos>,
    /// When it last took.
    pub last_take: Nanos,
    /// Instances as they were last taken.
    pub glimpses: BTreeMap<InstanceHandle, Glimpse>,
    /// How many samples were taken of each instance.
    pub shown_count: BTreeMap<u32, u64>,
}

impl ReaderLog {
    /// A life that begins, in which nothing was done yet.
    #[must_use]
    pub fn new(
        plan: usize,
        (node, subscriber): (usize, usize),
        slot: Arc<ReaderSlot>,
        created: Nanos,
    ) -> Self {
        Self {
            plan,
            node,
            subscriber,
            guid: slot.guid(),
            slot,
            created,
            ended: None,
            received: BTreeMap::new(),
            matched: BTreeMap::new(),
            meetings: Meetings::default(),
            alive: BTreeMap::new(),
            once_dead: BTreeSet::new(),
            died: BTreeMap::new(),
            lost: 0,
            deadlines_missed: BTreeMap::new(),
            arrivals: BTreeMap::new(),
            refused: BTreeMap::new(),
            shown: BTreeMap::new(),
            looks: Vec::new(),
            last_take: created,
            glimpses: BTreeMap::new(),
            shown_count: BTreeMap::new(),
        }
    }

    /// A writer is matched.
    pub fn meet(&mut self, writer: Guid, at: Nanos) {
        self.matched.insert(writer, at);
        self.meetings.begin(writer, at);
    }

    /// It is so no more.
    pub fn part(&mut self, writer: Guid, at: Nanos) {
        self.matched.remove(&writer);
        self.meetings.end(writer, at);
    }
}

/// The whole run.
#[derive(Default)]
pub struct Log {
    /// All lives of writers.
    pub writers: Vec<WriterLog>,
    /// All lives of readers.
    pub readers: Vec<ReaderLog>,
    /// All coherent sets.
    pub sets: Vec<SetLog>,
    /// What must not be and was seen while it went on.
    pub violations: Vec<Violation>,
}

impl Log {
    /// Notes a violation; of thousands of a kind the first ones do.
    pub fn note(&mut self, violation: Violation) {
        let same = self.violations.iter().filter(|known| known.kind == violation.kind).count();
        if same < MAX_OF_A_KIND {
            self.violations.push(violation);
        }
    }

    /// The same of its parts.
    pub fn violation(&mut self, kind: &'static str, text: String) {
        self.note(Violation::new(kind, text));
    }

    /// The life that a writer of this name had at some time.
    #[must_use]
    pub fn writer_at(&self, guid: Guid, at: Nanos) -> Option<usize> {
        self.writers.iter().rposition(|writer| writer.guid == guid && writer.created <= at)
    }
}

/// Point of time as nanoseconds since the world began.
#[must_use]
pub fn nanos(at: MonoTime) -> Nanos {
    at.since(MonoTime(1_000_000_000)).as_nanos().max(0) as u64
}
