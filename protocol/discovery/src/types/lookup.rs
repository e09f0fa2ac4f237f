//! Asking other participants for type objects: DDS-XTypes 1.3 §7.6.3.3.4, `getTypes`, as a client.

use alloc::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
    vec::Vec,
};

use dunlin_core::{Counter, Duration, EntityId, Guid, GuidPrefix, MonoTime};
use dunlin_xtypes::{
    TypeIdentifier,
    lookup::{
        TypeLibrary, instance_name,
        message::{Call, GetTypesIn, GetTypesOut, Request, SampleIdentity},
    },
};

/// A participant and the type that it is asked for.
pub(crate) type LookupKey = (GuidPrefix, TypeIdentifier);

/// How long an answer may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(1);
/// Questions without an answer after which a lookup has failed.
const MAX_ATTEMPTS: u8 = 3;
/// After it, who was silent is asked again, and a lookup that failed is tried again; each time twice as late.
const RETRY: Duration = Duration::from_secs(10);
/// Doublings of that.
const MAX_DOUBLINGS: u8 = 5;
/// Questions of a lookup whose answers are still taken.
const MAX_NUMBERS: usize = 8;
/// Answers that one lookup may take: each level of nesting is one, if its types were not announced.
const MAX_ROUNDS: u8 = 64;
/// Questions in flight to one participant.
const MAX_ASKED_OF_ONE: usize = 8;
/// Questions in flight to all.
const MAX_ASKED: usize = 64;
/// Types of one participant that are looked up or could not be.
const MAX_LOOKUPS_OF_ONE: usize = 256;
/// The same, of all participants.
const MAX_LOOKUPS: usize = 4096;
/// Types asked for in one question.
const MAX_IDS: usize = 64;

const TOO_MANY: &str = "its participant announces too many types";
const NO_SERVICE: &str = "its participant has no TypeLookup service";
const SILENT: &str = "its participant does not answer questions about types";
const IGNORANT: &str = "its participant does not tell all type objects, or not the right ones";
const NO_ROOM: &str = "quotas.max_type_objects leaves no room for its type objects";
const TOO_DEEP: &str = "its type is nested too deep";

/// How far a lookup is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum State {
    /// It waits for others to be done.
    Queued,
    /// This question was sent, to be answered until then.
    Asked { until: MonoTime },
    /// It led to nothing, and is tried again then.
    Failed { retry: MonoTime },
}

#[derive(Debug)]
struct Lookup {
    state: State,
    /// Announced as well; asked for at once.
    announced: Vec<TypeIdentifier>,
    attempts: u8,
    rounds: u8,
    /// Questions that were not answered, the newest last: answers may be late.
    numbers: VecDeque<u32>,
    /// Asked for in the newest question.
    asked: Vec<TypeIdentifier>,
    /// Why it led to nothing the last time: names decide until it has led to something.
    failed: Option<Arc<str>>,
    failures: u8,
}

/// What concerns one participant.
#[derive(Debug, Default)]
struct Peer {
    lookups: Counter,
    asked: Counter,
    /// It has left questions without any answer, and is not asked before this.
    silent: Option<MonoTime>,
    learned: Vec<TypeIdentifier>,
    learned_octets: usize,
}

/// Every lookup.
#[derive(Debug)]
pub(crate) struct Lookups {
    own: GuidPrefix,
    max_octets_of_one: usize,
    /// Participants that can be asked.
    peers: BTreeMap<GuidPrefix, Peer>,
    lookups: BTreeMap<LookupKey, Lookup>,
    queue: VecDeque<LookupKey>,
    /// Something changed since nobody in the queue could go on.
    stirred: bool,
    asked: Counter,
    last_number: u32,
    /// No answer is late before this.
    wakeup: Option<MonoTime>,
    /// Those that came to an end: whoever waits for them is to be judged again.
    pub(crate) finished: Vec<LookupKey>,
    /// Participants for whose types there was no room.
    turned_away: BTreeSet<GuidPrefix>,
    /// Participants of whose types something may be found out after all: names have decided meanwhile.
    pub(crate) recovered: Vec<GuidPrefix>,
    pub(crate) failed: u64,
    pub(crate) refused: u64,
    /// Lookups not begun because there are too many.
    pub(crate) too_many: u64,
}

/// The smallest key of a participant.
pub(crate) const fn first_of(prefix: GuidPrefix) -> LookupKey {
    (prefix, TypeIdentifier::NONE)
}

impl Lookups {
    pub(crate) fn new(own: GuidPrefix, max_octets_of_one: usize) -> Self {
        Self {
            own,
            max_octets_of_one,
            peers: BTreeMap::new(),
            lookups: BTreeMap::new(),
            queue: VecDeque::new(),
            stirred: false,
            asked: Counter::ZERO,
            last_number: 0,
            wakeup: None,
            finished: Vec::new(),
            turned_away: BTreeSet::new(),
            recovered: Vec::new(),
            failed: 0,
            refused: 0,
            too_many: 0,
        }
    }

    /// A participant that answers came.
    pub(crate) fn add_peer(&mut self, prefix: GuidPrefix) {
        self.peers.entry(prefix).or_default();
    }

    /// A participant is gone; what it told is forgotten.
    pub(crate) fn remove_peer(&mut self, prefix: GuidPrefix, library: &mut TypeLibrary) {
        // One that answers nothing never came.
        let Some(peer) = self.peers.remove(&prefix) else { return };
        peer.learned.iter().for_each(|id| library.forget(id));
        self.asked.subtract(peer.asked.get());
        self.stirred = true;
        let keys: Vec<LookupKey> = self.keys_of(prefix).cloned().collect();
        self.turned_away.remove(&prefix);
        for key in keys {
            self.lookups.remove(&key);
            self.finished.push(key);
            self.room_came();
        }
        self.queue.retain(|key| key.0 != prefix);
    }

    fn keys_of(&self, prefix: GuidPrefix) -> impl Iterator<Item = &LookupKey> {
        self.lookups.range(first_of(prefix)..).map(|(key, _)| key).take_while(move |key| key.0 == prefix)
    }

    pub(crate) fn state(&self, key: &LookupKey) -> Option<&State> {
        self.lookups.get(key).map(|lookup| &lookup.state)
    }

    /// Why a lookup led to nothing, if it did.
    pub(crate) fn failure(&self, key: &LookupKey) -> Option<&Arc<str>> {
        self.lookups.get(key)?.failed.as_ref()
    }

    /// Begins a lookup; an error if it cannot lead to anything.
    pub(crate) fn want(
        &mut self,
        key: LookupKey,
        mut announced: Vec<TypeIdentifier>,
    ) -> Result<(), &'static str> {
        let peer = self.peers.get_mut(&key.0).ok_or(NO_SERVICE)?;
        if peer.lookups.get() >= MAX_LOOKUPS_OF_ONE || self.lookups.len() >= MAX_LOOKUPS {
            self.turned_away.insert(key.0);
            self.too_many = self.too_many.saturating_add(1);
            return Err(TOO_MANY);
        }
        peer.lookups.add(1);
        announced.truncate(MAX_IDS);
        let lookup = Lookup {
            state: State::Queued,
            announced,
            attempts: 0,
            rounds: 0,
            numbers: VecDeque::new(),
            asked: Vec::new(),
            failed: None,
            failures: 0,
        };
        self.lookups.insert(key.clone(), lookup);
        self.queue.push_back(key);
        self.stirred = true;
        Ok(())
    }

    /// One lookup more has room: a participant that was turned away gets another chance.
    fn room_came(&mut self) {
        let has_room = |prefix: &&GuidPrefix| {
            self.peers.get(prefix).is_some_and(|peer| peer.lookups.get() < MAX_LOOKUPS_OF_ONE)
        };
        if let Some(prefix) = self.turned_away.iter().find(has_room).copied() {
            self.turned_away.remove(&prefix);
            self.recovered.push(prefix);
        }
    }

    /// The next question to send, and to whom; whoever sends it calls again.
    pub(crate) fn next_question(
        &mut self,
        now: MonoTime,
        library: &TypeLibrary,
    ) -> Option<(GuidPrefix, Request)> {
        if !self.stirred {
            return None;
        }
        for _ in 0..self.queue.len() {
            let key = self.queue.pop_front()?;
            let Some(peer) = self.peers.get(&key.0) else { continue };
            let queued = self.state(&key) == Some(&State::Queued);
            if !queued {
                // Another participant has told it meanwhile.
                continue;
            }
            if peer.silent.is_some_and(|until| until > now) {
                self.end(now, &key, Some(SILENT));
            } else if peer.asked.get() >= MAX_ASKED_OF_ONE || self.asked.get() >= MAX_ASKED {
                self.queue.push_back(key);
            } else if let Some(request) = self.ask(now, &key, library) {
                return Some((key.0, request));
            }
        }
        self.stirred = false;
        None
    }

    fn ask(&mut self, now: MonoTime, key: &LookupKey, library: &TypeLibrary) -> Option<Request> {
        let mut type_ids = library.missing(&key.1);
        if type_ids.is_empty() {
            self.end(now, key, None);
            return None;
        }
        let lookup = self.lookups.get_mut(key)?;
        for id in &lookup.announced {
            if !library.knows(id) && !type_ids.contains(id) {
                type_ids.push(id.clone());
            }
        }
        type_ids.truncate(MAX_IDS);
        self.last_number = self.last_number.wrapping_add(1);
        let (number, until) = (self.last_number, now.plus(REQUEST_TIMEOUT));
        lookup.state = State::Asked { until };
        if lookup.numbers.len() >= MAX_NUMBERS {
            lookup.numbers.pop_front();
        }
        lookup.numbers.push_back(number);
        lookup.asked.clone_from(&type_ids);
        lookup.attempts = lookup.attempts.saturating_add(1);
        self.asked.add(1);
        if let Some(peer) = self.peers.get_mut(&key.0) {
            peer.asked.add(1);
        }
        self.wakeup = Some(self.wakeup.map_or(until, |wakeup| wakeup.min(until)));
        let participant = Guid::new(key.0, EntityId::PARTICIPANT);
        Some(Request {
            request_id: SampleIdentity { writer_guid: self.writer(), high: 0, low: number },
            instance_name: instance_name(&participant.to_bytes()),
            call: Call::GetTypes(GetTypesIn { type_ids }),
        })
    }

    fn writer(&self) -> [u8; 16] {
        Guid::new(self.own, EntityId::TYPE_LOOKUP_REQUEST_WRITER).to_bytes()
    }

    /// The lookup whose question an answer belongs to.
    pub(crate) fn asked_by(&self, prefix: GuidPrefix, to: &SampleIdentity) -> Option<LookupKey> {
        if to.writer_guid != self.writer() || to.high != 0 {
            return None;
        }
        let asked = |key: &&LookupKey| self.lookups.get(key).is_some_and(|it| it.numbers.contains(&to.low));
        self.keys_of(prefix).find(asked).cloned()
    }

    /// A question was answered: another answer to it is not looked at.
    pub(crate) fn answered(&mut self, key: &LookupKey, to: &SampleIdentity) {
        if let Some(lookup) = self.lookups.get_mut(key) {
            lookup.numbers.retain(|number| *number != to.low);
        }
    }

    /// Takes an answer; `None` stands for one that tells nothing.
    pub(crate) fn on_answer(
        &mut self,
        now: MonoTime,
        key: &LookupKey,
        answer: Option<&GetTypesOut>,
        library: &mut TypeLibrary,
    ) {
        self.end_question(key);
        let Some(peer) = self.peers.get_mut(&key.0) else { return };
        let spoke = peer.silent.take().is_some();
        let room = self.max_octets_of_one.saturating_sub(peer.learned_octets);
        let learned = answer.map(|out| {
            let mut wanted = library.missing(&key.1);
            wanted.extend(self.lookups.get(key).into_iter().flat_map(|lookup| lookup.asked.iter().cloned()));
            library.learn_within(out, &wanted, room, &mut peer.learned)
        });
        let learned = learned.unwrap_or_default();
        peer.learned_octets = peer.learned_octets.saturating_add(learned.octets);
        let refused = learned.refused.saturating_add(learned.over_quota);
        self.refused = self.refused.saturating_add(u64::try_from(refused).unwrap_or(u64::MAX));
        if spoke {
            self.retry_all(key.0);
        }
        let Some(lookup) = self.lookups.get_mut(key) else { return };
        lookup.announced.clear();
        lookup.attempts = 0;
        lookup.rounds = lookup.rounds.saturating_add(1);
        let failure = if library.missing(&key.1).is_empty() {
            None
        } else if learned.over_quota > 0 {
            Some(NO_ROOM)
        } else if !lookup.asked.iter().any(|id| library.knows(id)) {
            Some(IGNORANT)
        } else if lookup.rounds >= MAX_ROUNDS {
            Some(TOO_DEEP)
        } else {
            lookup.state = State::Queued;
            self.queue.retain(|queued| queued != key);
            self.queue.push_front(key.clone());
            return;
        };
        self.end(now, key, failure);
        if failure.is_none() {
            self.end_equal(now, &key.1);
        }
    }

    /// A type is known now: whoever else is asked for it need not answer.
    fn end_equal(&mut self, now: MonoTime, root: &TypeIdentifier) {
        let same = self.lookups.keys().filter(|key| key.1 == *root);
        for key in same.cloned().collect::<Vec<_>>() {
            self.end_question(&key);
            self.end(now, &key, None);
        }
    }

    /// A participant answers after all: what it did not answer before is asked anew.
    fn retry_all(&mut self, prefix: GuidPrefix) {
        for key in self.keys_of(prefix).cloned().collect::<Vec<_>>() {
            self.retry(&key);
        }
    }

    /// Tries a failed lookup again, with one question.
    fn retry(&mut self, key: &LookupKey) {
        let Some(lookup) = self.lookups.get_mut(key) else { return };
        if matches!(lookup.state, State::Failed { .. }) {
            lookup.state = State::Queued;
            lookup.attempts = MAX_ATTEMPTS.saturating_sub(1);
            lookup.rounds = 0;
            self.queue.push_back(key.clone());
            self.stirred = true;
        }
    }

    /// A question is not in flight any more.
    fn end_question(&mut self, key: &LookupKey) {
        self.stirred = true;
        if matches!(self.state(key), Some(State::Asked { .. })) {
            self.asked.subtract(1);
            if let Some(peer) = self.peers.get_mut(&key.0) {
                peer.asked.subtract(1);
            }
        }
    }

    /// Ends a lookup: with its type in the library, or for a reason without.
    fn end(&mut self, now: MonoTime, key: &LookupKey, failure: Option<&str>) {
        match failure {
            Some(why) => {
                let Some(lookup) = self.lookups.get_mut(key) else { return };
                let doublings = lookup.failures.min(MAX_DOUBLINGS);
                let retry = now.plus(RETRY.times(1 << doublings));
                lookup.state = State::Failed { retry };
                lookup.failures = lookup.failures.saturating_add(1);
                self.wakeup = Some(self.wakeup.map_or(retry, |wakeup| wakeup.min(retry)));
                if lookup.failed.replace(why.into()).is_some() {
                    return;
                }
                self.failed = self.failed.saturating_add(1);
            }
            None => {
                let Some(lookup) = self.lookups.remove(key) else { return };
                if lookup.failed.is_some() {
                    self.recovered.push(key.0);
                }
                if let Some(peer) = self.peers.get_mut(&key.0) {
                    peer.lookups.subtract(1);
                }
                self.room_came();
            }
        }
        self.finished.push(key.clone());
    }

    /// Asks again, or gives up, where an answer is late; tries again what failed.
    pub(crate) fn on_timer(&mut self, now: MonoTime) {
        if self.wakeup.is_none_or(|wakeup| wakeup > now) {
            return;
        }
        let until = |lookup: &Lookup| match lookup.state {
            State::Asked { until } | State::Failed { retry: until } => Some(until),
            State::Queued => None,
        };
        let late = self.lookups.iter().filter(|(_, lookup)| until(lookup).is_some_and(|until| until <= now));
        let late: Vec<(LookupKey, u8)> = late.map(|(key, lookup)| (key.clone(), lookup.attempts)).collect();
        for (key, attempts) in late {
            if matches!(self.state(&key), Some(State::Failed { .. })) {
                self.retry(&key);
                continue;
            }
            self.end_question(&key);
            if attempts >= MAX_ATTEMPTS {
                if let Some(peer) = self.peers.get_mut(&key.0) {
                    peer.silent = Some(now.plus(RETRY));
                }
                self.end(now, &key, Some(SILENT));
            } else if let Some(lookup) = self.lookups.get_mut(&key) {
                lookup.state = State::Queued;
                // Before others, so that who never answers is found out soon.
                self.queue.push_front(key);
            }
        }
        self.wakeup = self.lookups.values().filter_map(until).min();
    }

    pub(crate) const fn next_deadline(&self) -> Option<MonoTime> {
        self.wakeup
    }
}
