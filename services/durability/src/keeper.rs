//! Histories and the store behind them: what comes in is decided by a history, and lasts with the next commit.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use dunlin::{Guid, InstanceHandle, SampleIdentity, SequenceNumber, WallTime};

use crate::change::{Change, GroupId, Head, Payload, Position, take};
use crate::contract::Contract;
use crate::history::{History, Place, Quota, Removed, Tombstone, Verdict};
use crate::origins::Numbers;
use crate::store::{NoteKey, NoteKind, Step, Store, StoreError};

/// Readers that are remembered as served, of each history.
const SERVED: usize = 10_000;

/// One history with what a store knows it by.
struct Kept {
    history: History,
    description: Vec<u8>,
    served: BTreeSet<Guid>,
    served_order: VecDeque<Guid>,
    /// Writers whose numbers have changed since the last commit.
    touched: BTreeSet<Guid>,
    without_writers: Vec<InstanceHandle>,
}

impl Kept {
    fn new(contract: Contract, quota: Quota, description: Vec<u8>) -> Self {
        Self {
            history: History::new(contract, quota),
            description,
            served: BTreeSet::new(),
            served_order: VecDeque::new(),
            touched: BTreeSet::new(),
            without_writers: Vec::new(),
        }
    }
}

/// Why what a store has cannot be taken up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// It cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The description of a group is none.
    #[error("it is damaged: the description of group {0} cannot be read")]
    Description(GroupId),
}

/// Histories in one store.
pub struct Keeper<S> {
    store: S,
    quota: Quota,
    groups: BTreeMap<GroupId, Kept>,
    next: Position,
    next_group: GroupId,
    /// What the next commit does.
    steps: Vec<Step>,
    /// Octets in these steps.
    pending: usize,
    /// How many of them were tried to commit: they may be done already.
    tried: usize,
}

impl<S: Store> Keeper<S> {
    /// Takes up what a store has. `contract` reads the contract out of a description.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open(
        mut store: S,
        quota: Quota,
        contract: impl Fn(&[u8]) -> Option<Contract>,
    ) -> Result<Self, OpenError> {
        let mut groups = BTreeMap::new();
        for (id, description) in store.groups()? {
            let contract = contract(&description).ok_or(OpenError::Description(id))?;
            groups.insert(id, Kept::new(contract, quota, description));
        }
        let mut next = 0;
        let mut strays = Vec::new();
        store.scan(&mut |position, head| {
            next = position.saturating_add(1);
            match groups.get_mut(&head.group) {
                Some(kept) => kept.history.restore(&head, position),
                None => strays.push(Step::Remove(position)),
            }
            Ok(())
        })?;
        store.notes(&mut |key, note| {
            if key.kind == NoteKind::Segment {
                return Err(StoreError::Damaged(
                    "older values are in a cold tier: it needs its section [cold]".into(),
                ));
            }
            if key.kind == NoteKind::Name {
                // It stays the owner of its segments, also when it is opened without them.
                return Ok(());
            }
            match groups.get_mut(&key.group) {
                Some(kept) => restore_note(kept, key, note)?,
                None => strays.push(Step::Unnote(key)),
            }
            Ok(())
        })?;
        let next_group = groups.keys().next_back().map_or(1, |last: &GroupId| last.saturating_add(1));
        let mut keeper = Self { store, quota, groups, next, next_group, steps: strays, pending: 0, tried: 0 };
        keeper.collect();
        Ok(keeper)
    }

    /// The groups with their descriptions.
    pub fn groups(&self) -> impl Iterator<Item = (GroupId, &[u8])> {
        self.groups.iter().map(|(id, kept)| (*id, &kept.description[..]))
    }

    /// A history.
    #[must_use]
    pub fn history(&self, group: GroupId) -> Option<&History> {
        self.groups.get(&group).map(|kept| &kept.history)
    }

    /// Begins a history.
    pub fn add(&mut self, contract: Contract, description: Vec<u8>) -> GroupId {
        let id = self.next_group;
        self.next_group += 1;
        self.steps.push(Step::Describe(id, description.clone()));
        self.groups.insert(id, Kept::new(contract, self.quota, description));
        id
    }

    /// Describes a history anew.
    pub fn describe(&mut self, group: GroupId, description: Vec<u8>) {
        if let Some(kept) = self.groups.get_mut(&group)
            && kept.description != description
        {
            self.steps.push(Step::Describe(group, description.clone()));
            kept.description = description;
        }
    }

    /// Keeps a history as another contract says: what that does not keep goes. Everything has to be committed.
    ///
    /// # Errors
    /// When the store cannot be read; nothing has changed then.
    pub fn renew(
        &mut self,
        group: GroupId,
        contract: Contract,
        description: Vec<u8>,
    ) -> Result<(), StoreError> {
        let mut kept = Kept::new(contract, self.quota, description.clone());
        self.store.scan(&mut |position, head| {
            if head.group == group {
                kept.history.restore(&head, position);
            }
            Ok(())
        })?;
        self.store.notes(&mut |key, note| match key.group == group {
            true => restore_note(&mut kept, key, note),
            false => Ok(()),
        })?;
        self.steps.push(Step::Describe(group, description));
        self.groups.insert(group, kept);
        self.collect_of(group);
        Ok(())
    }

    /// Forgets a history.
    pub fn drop_group(&mut self, group: GroupId) {
        let Some(kept) = self.groups.remove(&group) else { return };
        let mut place = None;
        while let Some((next, _)) = kept.history.after(place) {
            self.steps.push(Step::Remove(next.1));
            place = Some(next);
        }
        // Its notes are found to be of no group when the store is opened next.
        self.steps.push(Step::Drop(group));
    }

    /// Takes a change. It lasts with the next [`commit`](Self::commit).
    pub fn apply(&mut self, change: &Change, now: WallTime, is_copy: bool) -> Verdict {
        let Some(kept) = self.groups.get_mut(&change.head.group) else { return Verdict::Old };
        let position = self.next;
        let verdict = kept.history.apply(&change.head, position, now, is_copy);
        if verdict == Verdict::Duplicate {
            return verdict;
        }
        kept.touched.insert(change.head.origin.writer);
        if verdict == Verdict::Kept {
            self.next += 1;
            self.pending += change.payload.len();
            self.steps.push(Step::Append(position, change.head, change.payload.clone()));
        } else if verdict == Verdict::Old {
            // It took a place for a moment.
            self.next += 1;
        }
        self.collect_of(change.head.group);
        verdict
    }

    /// A writer has gone.
    pub fn writer_lost(&mut self, group: GroupId, writer: Guid, now: WallTime) {
        if let Some(kept) = self.groups.get_mut(&group) {
            kept.history.writer_lost(writer, now);
        }
        self.collect_of(group);
    }

    /// Lets go what has become too old.
    pub fn prune(&mut self, now: WallTime) {
        for kept in self.groups.values_mut() {
            kept.history.prune(now);
        }
        self.collect();
    }

    /// When [`prune`](Self::prune) has something to do next.
    #[must_use]
    pub fn next_due(&self) -> Option<WallTime> {
        self.groups.values().filter_map(|kept| kept.history.next_due()).min()
    }

    /// Instances whose last writer has gone since the last call.
    pub fn take_without_writers(&mut self, group: GroupId) -> Vec<InstanceHandle> {
        self.groups.get_mut(&group).map(|kept| std::mem::take(&mut kept.without_writers)).unwrap_or_default()
    }

    /// Whether a reader has been given the history before.
    #[must_use]
    pub fn is_served(&self, group: GroupId, reader: Guid) -> bool {
        self.groups.get(&group).is_some_and(|kept| kept.served.contains(&reader))
    }

    /// Notes that a reader has been given the history.
    pub fn served(&mut self, group: GroupId, reader: Guid) {
        let Some(kept) = self.groups.get_mut(&group) else { return };
        if !kept.served.insert(reader) {
            return;
        }
        kept.served_order.push_back(reader);
        self.steps.push(Step::Note(served_key(group, reader), Vec::new()));
        if kept.served.len() > SERVED
            && let Some(oldest) = kept.served_order.pop_front()
        {
            kept.served.remove(&oldest);
            self.steps.push(Step::Unnote(served_key(group, oldest)));
        }
    }

    /// The change after a place.
    #[must_use]
    pub fn after(&self, group: GroupId, place: Option<Place>) -> Option<(Place, InstanceHandle)> {
        self.groups.get(&group)?.history.after(place)
    }

    /// The octets of a change that was committed.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(&mut self, position: Position) -> Result<Option<Payload>, StoreError> {
        self.store.read(position)
    }

    /// Octets that the next commit writes.
    #[must_use]
    pub const fn pending(&self) -> usize {
        self.pending
    }

    /// Whether there is something to commit.
    #[must_use]
    pub fn is_dirty(&self) -> bool {
        !self.steps.is_empty() || self.groups.values().any(|kept| !kept.touched.is_empty())
    }

    /// Makes last what was applied since the last commit. Then, and only then, it may be acknowledged.
    ///
    /// # Errors
    /// When nothing lasts; it may be tried again.
    pub fn commit(&mut self) -> Result<(), StoreError> {
        for (group, kept) in &mut self.groups {
            for writer in std::mem::take(&mut kept.touched) {
                if let Some(numbers) = kept.history.origins().of(writer) {
                    let key = NoteKey { group: *group, kind: NoteKind::Numbers, of: writer.to_bytes() };
                    self.steps.push(Step::Note(key, numbers.encode()));
                }
            }
        }
        if self.steps.is_empty() {
            return Ok(());
        }
        condense(&mut self.steps, self.tried);
        self.tried = self.steps.len();
        self.store.commit(&self.steps)?;
        self.steps.clear();
        self.pending = 0;
        self.tried = 0;
        Ok(())
    }

    /// What does not work in the store although commits do.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.store.trouble()
    }

    /// The store.
    pub fn into_store(self) -> S {
        self.store
    }

    fn collect(&mut self) {
        for group in self.groups.keys().copied().collect::<Vec<_>>() {
            self.collect_of(group);
        }
    }

    /// Makes steps of what a history has let go.
    fn collect_of(&mut self, group: GroupId) {
        let Some(kept) = self.groups.get_mut(&group) else { return };
        let Removed { changes, without_writers, tombstones, endings, writers } = kept.history.take_removed();
        kept.without_writers.extend(without_writers);
        self.steps.extend(changes.into_iter().map(Step::Remove));
        for (instance, tombstone) in tombstones {
            let key = NoteKey { group, kind: NoteKind::Tombstone, of: instance.0 };
            self.steps.push(match tombstone {
                Some(it) => Step::Note(key, encoded(&it)),
                None => Step::Unnote(key),
            });
        }
        for (instance, at) in endings {
            let key = NoteKey { group, kind: NoteKind::Ending, of: instance.0 };
            let note = |at: WallTime| Step::Note(key, at.0.to_le_bytes().to_vec());
            self.steps.push(at.map_or(Step::Unnote(key), note));
        }
        for writer in writers {
            kept.touched.remove(&writer);
            self.steps.push(Step::Unnote(NoteKey { group, kind: NoteKind::Numbers, of: writer.to_bytes() }));
        }
    }
}

fn served_key(group: GroupId, reader: Guid) -> NoteKey {
    NoteKey { group, kind: NoteKind::Served, of: reader.to_bytes() }
}

/// Leaves out what would be added and removed by the same commit. What was `tried` before may be there already: it stays.
fn condense(steps: &mut Vec<Step>, tried: usize) {
    let fresh = steps.get(tried..).unwrap_or_default();
    let appended = |step: &Step| if let Step::Append(position, ..) = step { Some(*position) } else { None };
    let removed = |step: &Step| if let Step::Remove(position) = step { Some(*position) } else { None };
    let added: BTreeSet<Position> = fresh.iter().filter_map(appended).collect();
    let brief: BTreeSet<Position> =
        fresh.iter().filter_map(removed).filter(|it| added.contains(it)).collect();
    if !brief.is_empty() {
        let is_brief =
            |step: &Step| appended(step).or_else(|| removed(step)).is_some_and(|it| brief.contains(&it));
        steps.retain(|step| !is_brief(step));
    }
}

/// A tombstone as stores keep it.
fn encoded(tombstone: &Tombstone) -> Vec<u8> {
    let mut octets = [tombstone.disposed.0.to_le_bytes(), tombstone.until.0.to_le_bytes()].concat();
    if let Some(origin) = tombstone.origin {
        octets.extend(origin.writer.to_bytes());
        octets.extend(origin.sequence_number.0.to_le_bytes());
    }
    octets
}

fn tombstone(mut note: &[u8]) -> Option<Tombstone> {
    let mut time = || Some(WallTime(i64::from_le_bytes(take(&mut note)?)));
    let (disposed, until) = (time()?, time()?);
    let mut origin = None;
    if !note.is_empty() {
        let writer = Guid::from_bytes(take(&mut note)?);
        let sequence_number = SequenceNumber(i64::from_le_bytes(take(&mut note)?));
        origin = Some(SampleIdentity { writer, sequence_number });
    }
    note.is_empty().then_some(Tombstone { disposed, until, origin })
}

fn restore_note(kept: &mut Kept, key: NoteKey, note: &[u8]) -> Result<(), StoreError> {
    let damaged = |what: &str| StoreError::Damaged(what.into());
    match key.kind {
        NoteKind::Numbers => {
            let numbers =
                Numbers::decode(note).ok_or_else(|| damaged("the numbers of a writer cannot be read"))?;
            kept.history.restore_numbers(Guid::from_bytes(key.of), numbers);
        }
        NoteKind::Tombstone => {
            let tombstone = tombstone(note).ok_or_else(|| damaged("a tombstone cannot be read"))?;
            kept.history.add_tombstone(InstanceHandle(key.of), tombstone);
        }
        NoteKind::Ending => {
            let at = note.try_into().map_err(|_| damaged("the time of an end cannot be read"))?;
            kept.history.restore_ending(InstanceHandle(key.of), WallTime(i64::from_le_bytes(at)));
        }
        // Of no history; a store without its cold tier was refused.
        NoteKind::Segment | NoteKind::Name => {}
        NoteKind::Served => {
            let reader = Guid::from_bytes(key.of);
            if kept.served.len() < SERVED && kept.served.insert(reader) {
                kept.served_order.push_back(reader);
            }
        }
    }
    Ok(())
}

/// Heads of what a store has of one group, for tools.
///
/// # Errors
/// When it cannot be read.
pub fn heads<S: Store>(store: &mut S, group: GroupId) -> Result<Vec<(Position, Head)>, StoreError> {
    let mut heads = Vec::new();
    store.scan(&mut |position, head| {
        if head.group == group {
            heads.push((position, head));
        }
        Ok(())
    })?;
    Ok(heads)
}
