//! A back end over a log: what has records in an order, and nothing that changes in place. A commit is one record, so it is there as a
//! whole or not at all. What is still of use in the oldest records is written again at the end from time to time, and they go.

use std::collections::{BTreeMap, VecDeque};

use super::folded::Folded;
use super::{
    MAX_NOTE, NOTE_KEY, NoteKey, Step, Store, StoreError, Visit, VisitNote, note_key, parse_note_key,
};
use crate::change::{GroupId, HEAD, Head, Payload, Position, take};

/// Names a record: later ones have higher numbers.
pub type Record = u64;

/// The layout of records.
const LAYOUT: u8 = 1;
/// Octets that may be of no use any more beside as many that are.
const WASTE: u64 = 64 << 20;
/// Octets of records that are cleared away after one commit.
const CLEARED: u64 = 16 << 20;
/// Octets of records that are kept in memory after they were read.
const CACHE: usize = 32 << 20;

/// Where records lie.
pub trait Log: Send {
    /// Adds a record. When it returns without an error the record lasts.
    ///
    /// # Errors
    /// When it is not known to be added; it may be there all the same, once, or come twice if it is tried again.
    fn append(&mut self, octets: &[u8]) -> Result<Record, StoreError>;

    /// The octets of a record.
    ///
    /// # Errors
    /// When it cannot be read, or is not there.
    fn read(&mut self, record: Record) -> Result<Vec<u8>, StoreError>;

    /// All records in their order.
    ///
    /// # Errors
    /// When they cannot be read, and what `visit` says.
    fn scan(
        &mut self,
        visit: &mut dyn FnMut(Record, Vec<u8>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;

    /// Removes the records before one.
    ///
    /// # Errors
    /// When some are there perhaps; they may be removed later.
    fn remove_before(&mut self, record: Record) -> Result<(), StoreError>;
}

/// Where something is.
#[derive(Clone, Copy, Debug)]
struct At {
    record: Record,
    /// Octets that it takes there.
    octets: u64,
    /// Where its value is there.
    value: (usize, usize),
}

/// See the [module](self).
#[derive(Debug)]
pub struct LogStore<L> {
    log: L,
    groups: BTreeMap<GroupId, (At, Vec<u8>)>,
    changes: BTreeMap<Position, (At, Head)>,
    notes: BTreeMap<NoteKey, (At, Vec<u8>)>,
    /// Octets of each record.
    records: BTreeMap<Record, u64>,
    /// Octets of all records, and those still of use.
    octets: u64,
    used: u64,
    waste: u64,
    cache: VecDeque<(Record, Vec<u8>)>,
}

/// Part of a record.
enum Item<'r> {
    Group(GroupId, Option<&'r [u8]>),
    Change(Position, Option<Head>),
    Note(NoteKey, Option<&'r [u8]>),
}

fn damaged(what: &str) -> StoreError {
    StoreError::Damaged(what.into())
}

impl<L: Log> LogStore<L> {
    /// Reads a log.
    ///
    /// # Errors
    /// When it cannot be read, or has something else.
    pub fn open(log: L) -> Result<Self, StoreError> {
        Self::with_waste(log, WASTE)
    }

    /// The same with so many octets that may be of no use any more.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn with_waste(mut log: L, waste: u64) -> Result<Self, StoreError> {
        let mut index = Vec::new();
        log.scan(&mut |record, octets| {
            index.push((record, items(&octets, keep)?, octets.len() as u64));
            Ok(())
        })?;
        let mut store = Self {
            log,
            groups: BTreeMap::new(),
            changes: BTreeMap::new(),
            notes: BTreeMap::new(),
            records: BTreeMap::new(),
            octets: 0,
            used: 0,
            waste,
            cache: VecDeque::new(),
        };
        for (record, items, octets) in index {
            store.learn(record, octets, items);
        }
        Ok(store)
    }

    /// The log.
    pub fn into_log(self) -> L {
        self.log
    }

    /// Octets of all records.
    #[must_use]
    pub const fn octets(&self) -> u64 {
        self.octets
    }

    /// Takes note of a record that is there.
    fn learn(&mut self, record: Record, octets: u64, items: Vec<Kept>) {
        self.records.insert(record, octets);
        self.octets += octets;
        for item in items {
            let (before, now) = match item {
                Kept::Group(group, at, Some(it)) => {
                    (self.groups.insert(group, (at.of(record), it)).map(|it| it.0), Some(at))
                }
                Kept::Group(group, _, None) => (self.groups.remove(&group).map(|it| it.0), None),
                Kept::Change(position, at, Some(head)) => {
                    (self.changes.insert(position, (at.of(record), head)).map(|it| it.0), Some(at))
                }
                Kept::Change(position, _, None) => (self.changes.remove(&position).map(|it| it.0), None),
                Kept::Note(key, at, Some(it)) => {
                    (self.notes.insert(key, (at.of(record), it)).map(|it| it.0), Some(at))
                }
                Kept::Note(key, _, None) => (self.notes.remove(&key).map(|it| it.0), None),
            };
            self.used -= before.map_or(0, |at| at.octets);
            self.used += now.map_or(0, |at| at.octets as u64);
        }
    }

    fn append(&mut self, octets: &[u8]) -> Result<(), StoreError> {
        let items = items(octets, keep)?;
        let record = self.log.append(octets)?;
        self.learn(record, octets.len() as u64, items);
        Ok(())
    }

    fn record(&mut self, record: Record) -> Result<&[u8], StoreError> {
        let found = self.cache.iter().position(|(known, _)| *known == record);
        let at = match found {
            Some(at) => at,
            None => {
                let octets = self.log.read(record)?;
                self.cache.push_back((record, octets));
                while self.cache.len() > 1 && self.cache.iter().map(|it| it.1.len()).sum::<usize>() > CACHE {
                    self.cache.pop_front();
                }
                self.cache.len() - 1
            }
        };
        Ok(&self.cache[at].1)
    }

    /// Writes again what is of use in the oldest records, and removes them.
    fn clear(&mut self) -> Result<(), StoreError> {
        let mut seen = 0;
        let (mut again, mut end) = (Vec::from([LAYOUT]), None);
        for (record, octets) in self.records.clone() {
            end = Some(record);
            let is_last = Some(&record) == self.records.keys().next_back();
            if is_last || seen > 0 && seen + octets > CLEARED {
                break;
            }
            seen += octets;
            let octets = self.log.read(record)?;
            self.still_used(record, &octets, &mut again)?;
        }
        let Some(end) = end else { return Ok(()) };
        if again.len() > 1 {
            self.append(&again)?;
        }
        self.log.remove_before(end)?;
        let left = self.records.split_off(&end);
        self.octets -= std::mem::replace(&mut self.records, left).values().sum::<u64>();
        self.cache.retain(|(record, _)| *record >= end);
        Ok(())
    }

    /// Adds to a record what another one has that nothing later has replaced.
    fn still_used(&self, record: Record, octets: &[u8], again: &mut Vec<u8>) -> Result<(), StoreError> {
        let mut all = Vec::new();
        items(octets, |item, at| {
            let now = match &item {
                Item::Group(group, _) => self.groups.get(group).map(|it| it.0),
                Item::Change(position, _) => self.changes.get(position).map(|it| it.0),
                Item::Note(key, _) => self.notes.get(key).map(|it| it.0),
            };
            if now.is_some_and(|now| now.record == record) {
                all.push(at.begin..at.begin + at.octets);
            }
        })?;
        all.into_iter().for_each(|range| again.extend(&octets[range]));
        Ok(())
    }
}

/// An item as the index has it.
enum Kept {
    Group(GroupId, Place, Option<Vec<u8>>),
    Change(Position, Place, Option<Head>),
    Note(NoteKey, Place, Option<Vec<u8>>),
}

/// Where an item is in its record.
#[derive(Clone, Copy)]
struct Place {
    begin: usize,
    octets: usize,
    value: (usize, usize),
}

impl Place {
    const fn of(self, record: Record) -> At {
        At { record, octets: self.octets as u64, value: self.value }
    }
}

fn keep(item: Item<'_>, place: Place) -> Kept {
    match item {
        Item::Group(group, it) => Kept::Group(group, place, it.map(<[u8]>::to_vec)),
        Item::Change(position, it) => Kept::Change(position, place, it),
        Item::Note(key, it) => Kept::Note(key, place, it.map(<[u8]>::to_vec)),
    }
}

/// A commit as a record: items, each with what it is, its key, and a length with octets if it is there.
fn encoded(folded: &Folded<'_>) -> Vec<u8> {
    let mut octets = Vec::from([LAYOUT]);
    let mut put = |what: u8, key: &[u8], value: Option<(&[u8], &[u8])>| {
        octets.push(what | u8::from(value.is_some()) << 7);
        octets.extend(key);
        if let Some((head, value)) = value {
            octets.extend((value.len() as u32).to_le_bytes());
            octets.extend(head);
            octets.extend(value);
        }
    };
    for (group, it) in &folded.groups {
        put(0, &group.to_le_bytes(), it.map(|it| (&[][..], it)));
    }
    for (position, it) in &folded.changes {
        let head = it.map(|(head, _)| head.encode());
        let value = it.as_ref().zip(head.as_ref()).map(|((_, payload), head)| (&head[..], &payload[..]));
        put(1, &position.to_le_bytes(), value);
    }
    for (key, it) in &folded.notes {
        put(2, &note_key(*key), it.map(|it| (&[][..], it)));
    }
    octets
}

/// The items of a record.
fn items<T>(record: &[u8], mut each: impl FnMut(Item<'_>, Place) -> T) -> Result<Vec<T>, StoreError> {
    let mut rest = record;
    let [layout] = take(&mut rest).ok_or_else(|| damaged("a record is empty"))?;
    if layout != LAYOUT {
        return Err(damaged(&format!("a record has layout {layout}, and this program reads {LAYOUT}")));
    }
    let mut all = Vec::new();
    while !rest.is_empty() {
        let begin = record.len() - rest.len();
        let (item, value) = item(&mut rest).ok_or_else(|| damaged("a record cannot be read"))?;
        let end = record.len() - rest.len();
        all.push(each(item, Place { begin, octets: end - begin, value: (end - value, end) }));
    }
    Ok(all)
}

/// The next item, and how long its value is.
fn item<'r>(rest: &mut &'r [u8]) -> Option<(Item<'r>, usize)> {
    let [what] = take(rest)?;
    let is_there = what & 0x80 != 0;
    let value = |rest: &mut &'r [u8], head: usize| -> Option<(&'r [u8], &'r [u8])> {
        let length = u32::from_le_bytes(take(rest)?) as usize;
        let (head, after) = rest.split_at_checked(head)?;
        let (value, after) = after.split_at_checked(length)?;
        *rest = after;
        Some((head, value))
    };
    let described = |rest: &mut &'r [u8]| -> Option<Option<&'r [u8]>> {
        if !is_there {
            return Some(None);
        }
        value(rest, 0).filter(|it| it.1.len() <= MAX_NOTE).map(|it| Some(it.1))
    };
    match what & 0x7F {
        0 => {
            let group = GroupId::from_le_bytes(take(rest)?);
            let it = described(rest)?;
            Some((Item::Group(group, it), it.map_or(0, <[u8]>::len)))
        }
        1 => {
            let position = Position::from_le_bytes(take(rest)?);
            if !is_there {
                return Some((Item::Change(position, None), 0));
            }
            let (head, value) = value(rest, HEAD)?;
            Some((Item::Change(position, Some(Head::decode(head)?)), value.len()))
        }
        2 => {
            let key = parse_note_key(&take::<NOTE_KEY>(rest)?)?;
            let it = described(rest)?;
            Some((Item::Note(key, it), it.map_or(0, <[u8]>::len)))
        }
        _ => None,
    }
}

impl<L: Log> Store for LogStore<L> {
    fn groups(&mut self) -> Result<Vec<(GroupId, Vec<u8>)>, StoreError> {
        Ok(self.groups.iter().map(|(group, (_, it))| (*group, it.clone())).collect())
    }

    fn scan(&mut self, visit: Visit<'_>) -> Result<(), StoreError> {
        self.changes.iter().try_for_each(|(position, (_, head))| visit(*position, *head))
    }

    fn notes(&mut self, visit: VisitNote<'_>) -> Result<(), StoreError> {
        self.notes.iter().try_for_each(|(key, (_, note))| visit(*key, note))
    }

    fn read(&mut self, position: Position) -> Result<Option<Payload>, StoreError> {
        let Some((at, _)) = self.changes.get(&position).copied() else { return Ok(None) };
        let octets = self.record(at.record)?;
        let value = octets.get(at.value.0..at.value.1);
        value.map(|it| Some(Payload::copy_from(it))).ok_or_else(|| damaged("a record is too short"))
    }

    fn commit(&mut self, steps: &[Step]) -> Result<(), StoreError> {
        if steps.is_empty() {
            return Ok(());
        }
        self.append(&encoded(&Folded::of(steps)))?;
        if self.octets > 2 * self.used + self.waste {
            // The commit is done; what cannot be cleared away now is with the next one.
            let _ = self.clear();
        }
        Ok(())
    }
}
