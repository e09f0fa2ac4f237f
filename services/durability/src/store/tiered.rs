//! A cold tier: the oldest values move out of a store into segments somewhere larger, of which each is an MCAP file. Everything else stays,
//! so what is acknowledged lasts where the store is, and a cold tier that is away costs space alone. A place for segments belongs to one
//! store: two would write over each other's, and remove them.

mod segment;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::time::SystemTime;

pub use segment::Segment;

use super::{NoteKey, NoteKind, Step, Store, StoreError, Visit, VisitNote};
use crate::backend::Tier;
use crate::change::{GroupId, Head, Kind, Payload, Position};
use crate::topic::Topic;

/// Most values of a segment.
const VALUES: usize = 20_000;
/// Segments that a commit moves at most.
const MOVED: usize = 4;
/// Octets of segments that are kept in memory after they were read.
const CACHE: usize = 32 << 20;

/// Where segments lie.
pub trait Cold: Send {
    /// Writes a segment, in the place of what has the name.
    ///
    /// # Errors
    /// When it is not known to last.
    fn put(&mut self, name: &str, octets: Vec<u8>) -> Result<(), StoreError>;

    /// Part of a segment.
    ///
    /// # Errors
    /// When it cannot be read.
    fn get(&mut self, name: &str, range: Range<u64>) -> Result<Vec<u8>, StoreError>;

    /// Removes a segment, if it is there.
    ///
    /// # Errors
    /// When it is there perhaps.
    fn remove(&mut self, name: &str) -> Result<(), StoreError>;

    /// The names of all segments: they end with `.mcap`.
    ///
    /// # Errors
    /// When they cannot be read.
    fn names(&mut self) -> Result<Vec<String>, StoreError>;

    /// The mark of the store whose segments these are; none before one has marked them.
    ///
    /// # Errors
    /// When it cannot be read.
    fn mark(&mut self) -> Result<Option<Vec<u8>>, StoreError>;

    /// Writes the mark, unless there is one. Returns the mark that is there then.
    ///
    /// # Errors
    /// When it is not known to last.
    fn claim(&mut self, mark: &[u8]) -> Result<Vec<u8>, StoreError>;
}

/// A value in a segment.
#[derive(Clone, Copy)]
struct At {
    segment: u64,
    offset: u64,
    length: u32,
}

/// See the [module](self).
pub struct TieredStore<C> {
    hot: Box<dyn Store>,
    cold: C,
    tier: Tier,
    /// What marks the place of the segments as this store's.
    mark: Vec<u8>,
    /// The mark was seen there.
    is_owner: bool,
    /// Values that are in the store.
    values: BTreeMap<Position, Head>,
    octets: u64,
    /// Values that are in segments.
    moved: BTreeMap<Position, At>,
    /// Of each segment the octets, and those of use.
    segments: BTreeMap<u64, (u64, u64)>,
    names: BTreeMap<GroupId, Topic>,
    next: u64,
    /// Parts of segments that were read.
    cache: VecDeque<(u64, u64, Vec<u8>)>,
    failure: Option<String>,
    /// What a move was to commit that is not known to be committed. Its values are in the segment in any case.
    pending: Vec<Step>,
}

fn name(segment: u64) -> String {
    format!("{segment:016x}.mcap")
}

/// Gives a store a name of its own, which lasts as long as what it has. Returns the mark with it.
fn named(hot: &mut dyn Store) -> Result<Vec<u8>, StoreError> {
    let random = || RandomState::new().hash_one(SystemTime::now());
    let mark = format!("dunlin-store {:016x}{:016x}\n", random(), random()).into_bytes();
    let key = NoteKey { group: 0, kind: NoteKind::Name, of: [0; 16] };
    hot.commit(&[Step::Note(key, mark.clone())])?;
    Ok(mark)
}

fn note(segment: u64) -> NoteKey {
    let mut of = [0; 16];
    of[..8].copy_from_slice(&segment.to_be_bytes());
    NoteKey { group: 0, kind: NoteKind::Segment, of }
}

impl<C: Cold> TieredStore<C> {
    /// A store whose oldest values move into a cold tier. That may be away; then it is looked later whose it is.
    ///
    /// # Errors
    /// When the store cannot be read, and when the place for segments belongs to another store.
    pub fn open(mut hot: Box<dyn Store>, cold: C, tier: Tier) -> Result<Self, StoreError> {
        let (mut segments, mut mark) = (Vec::new(), None);
        hot.notes(&mut |key, note| {
            match key.kind {
                NoteKind::Segment => segments.push((key, note.to_vec())),
                NoteKind::Name => mark = Some(note.to_vec()),
                _ => {}
            }
            Ok(())
        })?;
        let mark = match mark {
            Some(mark) => mark,
            None => named(&mut *hot)?,
        };
        let mut heads = BTreeMap::new();
        hot.scan(&mut |position, head| {
            heads.insert(position, head);
            Ok(())
        })?;
        let names =
            hot.groups()?.into_iter().filter_map(|(id, it)| Topic::decode(&it).map(|topic| (id, topic)));
        let names = names.collect();
        let mut store = Self {
            hot,
            cold,
            tier,
            mark,
            is_owner: false,
            values: BTreeMap::new(),
            octets: 0,
            moved: BTreeMap::new(),
            segments: BTreeMap::new(),
            names,
            next: 1,
            cache: VecDeque::new(),
            failure: None,
            pending: Vec::new(),
        };
        for (key, note) in segments {
            store.restore(key, &note, &heads)?;
        }
        for (position, head) in heads {
            if !store.moved.contains_key(&position) {
                store.arrived(position, head);
            }
        }
        match store.own() {
            Err(error @ StoreError::Taken(_)) => Err(error),
            // One that is away is asked again before it is used.
            _ => Ok(store),
        }
    }

    fn restore(
        &mut self,
        key: NoteKey,
        note: &[u8],
        heads: &BTreeMap<Position, Head>,
    ) -> Result<(), StoreError> {
        let damaged = || StoreError::Damaged("the list of a segment cannot be read".into());
        let segment = key.of.first_chunk().map(|it| u64::from_be_bytes(*it)).ok_or_else(damaged)?;
        let list = Segment::decode(note).ok_or_else(damaged)?;
        let mut octets = (0, 0);
        for (position, (offset, length)) in list.values {
            octets.0 += u64::from(length);
            if heads.contains_key(&position) {
                octets.1 += u64::from(length);
                self.moved.insert(position, At { segment, offset, length });
            }
        }
        self.segments.insert(segment, octets);
        self.next = self.next.max(segment + 1);
        Ok(())
    }

    /// Sees to it that the place of the segments is this store's, before anything is read, written or removed there. Then removes
    /// segments that nobody knows: of a move that was not committed, or whose removal failed.
    fn own(&mut self) -> Result<(), StoreError> {
        if self.is_owner {
            return Ok(());
        }
        let known: BTreeSet<String> = self.segments.keys().map(|segment| name(*segment)).collect();
        let unknown: Vec<String> =
            self.cold.names()?.into_iter().filter(|name| !known.contains(name)).collect();
        let mark = match self.cold.mark()? {
            None if unknown.is_empty() => self.cold.claim(&self.mark)?,
            found => found.unwrap_or_default(),
        };
        if mark != self.mark {
            return Err(StoreError::Taken(
                "the segments in the cold tier are another store's: each service needs a prefix of its own"
                    .into(),
            ));
        }
        self.is_owner = true;
        for name in unknown {
            // What stays takes room alone, until the store is opened next.
            let _ = self.cold.remove(&name);
        }
        Ok(())
    }

    /// Octets of values in the store, and in segments.
    #[must_use]
    pub fn octets(&self) -> (u64, u64) {
        (self.octets, self.segments.values().map(|it| it.1).sum())
    }

    fn arrived(&mut self, position: Position, head: Head) {
        // Keys of disposed instances stay: they are short, and no values.
        if head.kind == Kind::Data {
            self.octets += u64::from(head.octets);
            self.values.insert(position, head);
        }
    }

    fn went(&mut self, position: Position) {
        self.pending.retain(|step| !matches!(step, Step::Append(known, ..) if *known == position));
        if let Some(head) = self.values.remove(&position) {
            self.octets -= u64::from(head.octets);
        }
        if let Some(at) = self.moved.remove(&position)
            && let Some((_, used)) = self.segments.get_mut(&at.segment)
        {
            *used -= u64::from(at.length);
        }
    }

    /// Moves the oldest values, as long as there are too many.
    fn tidy(&mut self) -> Result<(), StoreError> {
        self.settle()?;
        for _ in 0..MOVED {
            if self.octets <= self.tier.keep {
                break;
            }
            self.move_oldest()?;
        }
        let wasted = |(_, (all, used)): &(&u64, &(u64, u64))| *used == 0 || *used < *all / 4;
        if let Some(segment) = self.segments.iter().find(wasted).map(|it| *it.0) {
            self.dissolve(segment)?;
        }
        Ok(())
    }

    fn move_oldest(&mut self) -> Result<(), StoreError> {
        self.own()?;
        let (mut chosen, mut octets) = (Vec::new(), 0);
        for (position, head) in &self.values {
            if octets >= self.tier.segment || chosen.len() >= VALUES {
                break;
            }
            octets += u64::from(head.octets);
            chosen.push((*position, *head));
        }
        let mut values = Vec::new();
        for (position, head) in chosen {
            let value = self.hot.read(position)?;
            values.push((position, head, value.unwrap_or_else(|| Payload::copy_from(&[]))));
        }
        let (segment, octets) = Segment::of(&values, &self.names)?;
        let id = self.next;
        self.next += 1;
        self.cold.put(&name(id), octets)?;
        let mut steps = vec![Step::Note(note(id), segment.encode())];
        steps.extend(
            values.iter().map(|(position, head, _)| Step::Append(*position, *head, Payload::copy_from(&[]))),
        );
        let all = segment.values.values().map(|it| u64::from(it.1)).sum();
        self.segments.insert(id, (all, all));
        for (position, (offset, length)) in segment.values {
            self.went(position);
            self.moved.insert(position, At { segment: id, offset, length });
        }
        self.pending = steps;
        self.settle()
    }

    /// Commits what the last move was to commit.
    fn settle(&mut self) -> Result<(), StoreError> {
        if !self.pending.is_empty() {
            self.hot.commit(&self.pending)?;
            self.pending.clear();
        }
        Ok(())
    }

    /// Takes what is still of use in a segment back into the store, and removes the segment.
    fn dissolve(&mut self, segment: u64) -> Result<(), StoreError> {
        self.own()?;
        let here: Vec<Position> =
            self.moved.iter().filter(|it| it.1.segment == segment).map(|it| *it.0).collect();
        let mut heads = BTreeMap::new();
        if !here.is_empty() {
            self.hot.scan(&mut |position, head| {
                if here.binary_search(&position).is_ok() {
                    heads.insert(position, head);
                }
                Ok(())
            })?;
        }
        let mut steps = Vec::new();
        for (position, head) in &heads {
            let Some(at) = self.moved.get(position).copied() else { continue };
            steps.push(Step::Append(*position, *head, self.fetch(at)?));
        }
        steps.push(Step::Unnote(note(segment)));
        self.hot.commit(&steps)?;
        for (position, head) in heads {
            self.went(position);
            self.arrived(position, head);
        }
        self.segments.remove(&segment);
        self.cache.retain(|(known, ..)| *known != segment);
        self.cold.remove(&name(segment))
    }

    fn fetch(&mut self, at: At) -> Result<Payload, StoreError> {
        self.own()?;
        let end = at.offset + u64::from(at.length);
        let has = |it: &(u64, u64, Vec<u8>)| {
            it.0 == at.segment && it.1 <= at.offset && end <= it.1 + it.2.len() as u64
        };
        if !self.cache.iter().any(has) {
            // Others after it are read soon.
            let ahead = self.moved.values().filter(|it| it.segment == at.segment && it.offset >= at.offset);
            let most = at.offset + (CACHE as u64 / 8).max(u64::from(at.length));
            let until = ahead.map(|it| it.offset + u64::from(it.length)).filter(|end| *end <= most).max();
            let until = until.unwrap_or(end).max(end);
            let octets = self.cold.get(&name(at.segment), at.offset..until)?;
            self.cache.push_back((at.segment, at.offset, octets));
            while self.cache.len() > 1 && self.cache.iter().map(|it| it.2.len()).sum::<usize>() > CACHE {
                self.cache.pop_front();
            }
        }
        let found = self.cache.iter().find(|it| has(it));
        let value = found.and_then(|(_, from, octets)| {
            let begin = usize::try_from(at.offset - from).ok()?;
            octets.get(begin..begin + at.length as usize)
        });
        value.map(Payload::copy_from).ok_or_else(|| StoreError::Damaged("a segment is too short".into()))
    }
}

impl<C: Cold> Store for TieredStore<C> {
    fn groups(&mut self) -> Result<Vec<(GroupId, Vec<u8>)>, StoreError> {
        self.hot.groups()
    }

    fn scan(&mut self, visit: Visit<'_>) -> Result<(), StoreError> {
        self.hot.scan(visit)
    }

    fn notes(&mut self, visit: VisitNote<'_>) -> Result<(), StoreError> {
        self.hot.notes(&mut |key, note| match key.kind {
            NoteKind::Segment | NoteKind::Name => Ok(()),
            _ => visit(key, note),
        })
    }

    fn read(&mut self, position: Position) -> Result<Option<Payload>, StoreError> {
        match self.moved.get(&position).copied() {
            Some(at) => self.fetch(at).map(Some),
            None => self.hot.read(position),
        }
    }

    fn commit(&mut self, steps: &[Step]) -> Result<(), StoreError> {
        self.hot.commit(steps)?;
        for step in steps {
            match step {
                Step::Describe(group, description) => match Topic::decode(description) {
                    Some(topic) => drop(self.names.insert(*group, topic)),
                    None => drop(self.names.remove(group)),
                },
                Step::Drop(group) => drop(self.names.remove(group)),
                Step::Append(position, head, _) => {
                    self.went(*position);
                    self.arrived(*position, *head);
                }
                Step::Remove(position) => self.went(*position),
                Step::Note(..) | Step::Unnote(_) => {}
            }
        }
        // It is committed. What cannot move stays, and moves with another commit.
        self.failure = self.tidy().err().map(|error| error.to_string());
        Ok(())
    }

    fn trouble(&self) -> Option<String> {
        self.failure.as_ref().map(|why| format!("older values do not move to the cold tier: {why}"))
    }
}
