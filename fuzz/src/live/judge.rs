//! What the two honest participants write, see and are told, judged by the checkers and models of the simulator
//! (`tests/simulation`), which were written apart from the product.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dunlin_cache::{CachedSample, Selection, instance_handle};
use dunlin_core::{Duration, Guid, InstanceHandle, Now};
use dunlin_engine::{Event, ReaderSlot, WriterSlot};
use dunlin_rtps::ChangeKind;
use dunlin_simulation::check::instances::doings;
use dunlin_simulation::check::loss::{Pair, Verdict};
use dunlin_simulation::check::timing::{BLUR, periods};
use dunlin_simulation::check::{delivery, infos};
use dunlin_simulation::log::{Nanos, ReaderLog, WriterLog, Written, nanos};
use dunlin_simulation::qos::Qos;

use super::node::{KEYS, Sample};

/// Nanoseconds of a millisecond.
const MS: Nanos = 1_000_000;
/// In the logs of a reader the writer of the honest peer has this number.
const PEER: usize = 0;

/// What attackers have said in the name of one of the two.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Forged {
    /// Nothing.
    Nothing,
    /// No samples: HEARTBEAT, GAP, ACKNACK and the like.
    Control,
    /// Samples or announcements.
    Data,
}

/// The writer and the reader of a participant with all that they have done.
pub(super) struct Judge {
    /// QoS of the writer, and of the reader.
    pub(super) offered: Qos,
    pub(super) requested: Qos,
    pub(super) writer: WriterLog,
    reader: ReaderLog,
    /// Writers besides that of the peer were matched with the reader.
    rivals: bool,
    /// The writer lost the reader of the peer.
    pub(super) lost_reader: bool,
    /// Readers besides that of the peer were matched with the writer.
    audience: bool,
    /// Instances that a stronger writer owns, and how many changes the peer had written when that was seen.
    owned: BTreeMap<u8, usize>,
}

fn key_of(instance: InstanceHandle) -> u8 {
    let is = |key: &u8| {
        instance_handle(Sample::key_hash(*key)) == instance || Sample::key_hash(*key) == instance.0
    };
    (0..KEYS).find(is).unwrap_or(KEYS)
}

impl Judge {
    pub(super) fn new(
        node: usize,
        now: Now,
        (writer, offered): (&Arc<WriterSlot>, Qos),
        (reader, requested): (&Arc<ReaderSlot>, Qos),
    ) -> Self {
        let created = nanos(now.mono);
        let writer = WriterLog::new(0, (node, 0), Arc::clone(writer), created);
        let reader = ReaderLog::new(0, (node, 0), Arc::clone(reader), created);
        Self {
            offered,
            requested,
            writer,
            reader,
            rivals: false,
            lost_reader: false,
            audience: false,
            owned: BTreeMap::new(),
        }
    }

    /// A change was written, with the number that the writer gave it.
    pub(super) fn wrote(&mut self, now: Now, kind: ChangeKind, key: u8, len: usize, number: i64) {
        let gone = matches!(kind, ChangeKind::Unregistered | ChangeKind::DisposedUnregistered);
        let turn = self.writer.changes.len() as u64;
        let change = Written { kind, key: u32::from(key), len, at: nanos(now.mono), set: None, turn };
        self.writer.changes.push(change);
        self.writer.registered.insert(u32::from(key), !gone);
        assert_eq!(number, self.writer.changes.len() as i64, "numbering");
    }

    pub(super) fn refused(&mut self) {
        self.writer.full += 1;
    }

    pub(super) fn asserted(&mut self, now: Now) {
        self.writer.asserted.push(nanos(now.mono));
    }

    /// Somebody stronger gives up what it owns.
    pub(super) fn disown(&mut self) {
        self.owned.clear();
    }

    /// What the participant tells of the two; true if they parted from those of the peer.
    pub(super) fn tell(&mut self, now: Now, event: &Event, peer: (Guid, Guid)) -> bool {
        let at = nanos(now.mono);
        match event {
            Event::PublicationMatched { writer, remote, added, .. }
                if *writer == self.writer.guid.entity_id =>
            {
                self.audience |= *remote != peer.1;
                self.lost_reader |= !added && *remote == peer.1;
                if *added {
                    self.writer.meet(*remote, at);
                } else {
                    self.writer.part(*remote, at);
                }
                !added && *remote == peer.1
            }
            Event::ReaderActivity { writer, remote, active } if *writer == self.writer.guid.entity_id => {
                if *active {
                    self.writer.given_up.end(*remote, at);
                } else {
                    self.writer.given_up.begin(*remote, at);
                }
                false
            }
            Event::SampleLost { reader, count, .. } if *reader == self.reader.guid.entity_id => {
                self.reader.lost += count;
                false
            }
            Event::SubscriptionMatched { reader, remote, added, .. }
                if *reader == self.reader.guid.entity_id =>
            {
                self.meet(at, *remote, *added, peer.0);
                !added && *remote == peer.0
            }
            Event::OfferedDeadlineMissed { writer, instance, count }
                if *writer == self.writer.guid.entity_id =>
            {
                add(&mut self.writer.deadlines_missed, *instance, *count);
                false
            }
            Event::RequestedDeadlineMissed { reader, instance, count }
                if *reader == self.reader.guid.entity_id =>
            {
                add(&mut self.reader.deadlines_missed, *instance, *count);
                false
            }
            Event::LivelinessLost { writer } if *writer == self.writer.guid.entity_id => {
                self.writer.liveliness_lost += 1;
                false
            }
            Event::LivelinessChanged { reader, writer, alive_delta, not_alive_delta, .. }
                if *reader == self.reader.guid.entity_id =>
            {
                self.note_liveliness(*writer, *alive_delta, *not_alive_delta);
                false
            }
            _ => false,
        }
    }

    fn meet(&mut self, at: Nanos, remote: Guid, added: bool, peer: Guid) {
        if added {
            self.reader.meet(remote, at);
        } else {
            self.reader.part(remote, at);
        }
        if remote != peer {
            self.rivals = true;
            self.owned.clear();
            return;
        }
        let received = self.reader.received.entry(PEER).or_default();
        received.sessions += u32::from(added);
        received.fresh |= received.sessions > 1 || !added;
    }

    /// A writer is alive, or not, or not matched; whoever spoke.
    fn note_liveliness(&mut self, writer: Guid, alive: i32, not_alive: i32) {
        let sum = self.reader.alive.entry(writer).or_default();
        sum.alive += alive;
        sum.not_alive += not_alive;
        assert!(
            matches!((sum.alive, sum.not_alive), (0, 0) | (1, 0) | (0, 1)),
            "LIVELINESS_CHANGED of {writer:?} adds up to {sum:?}"
        );
        if sum.not_alive > 0 {
            self.reader.once_dead.insert(writer);
            self.owned.clear();
        }
    }

    /// What was taken. `selection` chooses whole instances.
    pub(super) fn look(
        &mut self,
        now: Now,
        taken: &[CachedSample],
        selection: &Selection,
        peer: &Peer<'_>,
        forged: Forged,
    ) {
        self.reader.looks.push(nanos(now.mono));
        let wrong = infos::look(&mut self.reader.glimpses, taken, self.requested.by_source);
        assert!(wrong.is_empty(), "{wrong:?}");
        let selected = |sample: &CachedSample| {
            selection.view_states.contains(sample.info.view_state)
                && selection.instance_states.contains(sample.info.instance_state)
        };
        assert!(taken.iter().all(selected), "a sample that was not asked for");
        let handle = InstanceHandle::from(peer.writer.guid);
        // What it wrote before it ended an instance, was not alive or parted gives it no claim, however late that is taken.
        let parted = self.reader.received.get(&PEER).is_some_and(|received| received.sessions > 1);
        let rival = peer.rival.filter(|(guid, _)| {
            !parted && self.reader.matched.contains_key(guid) && !self.reader.once_dead.contains(guid)
        });
        let claims = |sample: &CachedSample| {
            rival.is_some_and(|(guid, ended)| {
                sample.info.publication_handle == InstanceHandle::from(guid)
                    && sample.info.sequence_number.0 > ended
            })
        };
        let mut owned = BTreeSet::new();
        for sample in taken {
            if sample.info.publication_handle == handle {
                self.judge(now, sample, peer, forged);
            } else if sample.payload.is_some() && claims(sample) {
                owned.insert(key_of(sample.info.instance_handle));
            }
        }
        for key in owned {
            self.owned.entry(key).or_insert(peer.writer.changes.len());
        }
        if *selection == Selection::default() {
            let received = self.reader.received.entry(PEER).or_default();
            if std::mem::take(&mut received.fresh) {
                received.last_of_key.clear();
            }
        }
    }

    fn judge(&mut self, now: Now, sample: &CachedSample, peer: &Peer<'_>, forged: Forged) {
        let Some(payload) = &sample.payload else { return };
        let number = sample.info.sequence_number.0;
        let value = Sample::open(payload);
        let written = usize::try_from(number - 1).ok().and_then(|index| peer.writer.changes.get(index));
        let (Some(value), Some(written)) = (value, written) else {
            assert!(forged == Forged::Data, "number {number} of {}", peer.writer.changes.len());
            return;
        };
        let same = written.kind == ChangeKind::Alive
            && i64::from(value.number) == number
            && u32::from(value.key) == written.key
            && payload.len() == written.len
            && key_of(sample.info.instance_handle) == value.key;
        if !same {
            assert!(forged == Forged::Data, "{value:?} as number {number}");
            return;
        }
        self.once(now, &value, forged);
        if forged == Forged::Data {
            return;
        }
        let age = now.wall.since(sample.info.source_timestamp);
        let lifespan = peer.offered.lifespan.map(|ms| Duration::from_millis(ms.cast_signed()));
        assert!(lifespan.is_none_or(|lifespan| age <= lifespan), "{value:?}, {age:?} old");
        let claim = self.owned.get(&value.key).filter(|_| peer.offered.exclusive);
        let steals = claim.is_some_and(|since| number as usize > *since) && self.requested.deadline.is_none();
        assert!(!steals, "{value:?}, but a stronger writer owns the instance");
        let arrivals = self.reader.arrivals.entry(u32::from(value.key)).or_default();
        arrivals.push(sample.info.reception_timestamp.0);
    }

    /// No sample twice, those of an instance in the order of writing, until the two part.
    fn once(&mut self, now: Now, value: &Sample, forged: Forged) {
        let number = u64::from(value.number);
        let received = self.reader.received.entry(PEER).or_default();
        received.note(number, nanos(now.mono));
        received.first_taken.get_or_insert(nanos(now.mono));
        let again = received.sessions > 1 || received.fresh;
        assert!(received.count(number) == 1 || again, "number {number} twice");
        let last = received.last_of_key.insert(u32::from(value.key), number).unwrap_or(0);
        // What an attacker has passed over is taken back, and then comes late.
        let ordered = forged == Forged::Nothing && !received.fresh;
        assert!(last < number || !ordered, "{number} after {last}");
    }

    /// Whether an endpoint is matched with one of the peer, whose reader this is.
    pub(super) fn has_met(&self, peer: &Peer<'_>, reader: Guid) -> bool {
        self.reader.matched.contains_key(&peer.writer.guid) || self.writer.matched.contains_key(&reader)
    }

    /// Whether everything that reliability promises has arrived, and is acknowledged.
    pub(super) fn is_complete(&self, peer: &Peer<'_>) -> bool {
        let (reader, writer) = (self.reader.guid, peer.writer.guid);
        if !self.reader.matched.contains_key(&writer) || !peer.writer.matched.contains_key(&reader) {
            return false;
        }
        let reliable = peer.offered.reliable && self.requested.reliable;
        !reliable
            || (peer.writer.slot.is_acked_by(reader, peer.writer.slot.last_sn())
                && self.missing(peer).is_empty())
    }

    /// Whether it is the writer of the peer alone that decides what this reader shows.
    fn is_judged(&self) -> bool {
        let mixed =
            self.requested.keep_last.is_some() || self.requested.by_source || self.requested.exclusive;
        !(self.rivals && mixed)
    }

    /// The writer of the peer and the reader, as the model of losses sees them.
    fn pair<'a>(&'a self, peer: &'a Peer<'_>) -> Pair<'a> {
        Pair {
            changes: &peer.writer.changes,
            offered: &peer.offered,
            requested: &self.requested,
            by_writer: peer.writer.meetings.of(self.reader.guid),
            by_reader: self.reader.meetings.of(peer.writer.guid),
            inactive: peer.writer.given_up.of(self.reader.guid).to_vec(),
            received: self.reader.received.get(&PEER),
            looks: &self.reader.looks,
            // It has one life.
            created: 0,
            unseen: None,
            stale: false,
            torn: BTreeSet::new(),
            // Nothing is judged by this once samples were forged.
            forged: BTreeMap::new(),
            shown_sets: BTreeSet::new(),
            orderly: false,
            crowded: false,
        }
    }

    /// Numbers of samples that did not come, though nothing excuses that.
    pub(super) fn missing(&self, peer: &Peer<'_>) -> Vec<u64> {
        if self.is_judged() { self.pair(peer).verdict().missing } else { Vec::new() }
    }

    /// SAMPLE_LOST counts what was lost, and nothing else.
    fn losses(&self, peer: &Peer<'_>) {
        if self.rivals {
            return;
        }
        let (Verdict { must, may, .. }, lost) = (self.pair(peer).verdict(), self.reader.lost);
        assert!(must <= lost && lost <= may, "told of {lost} lost samples, not of {must} to {may}");
    }

    /// What only depends on the participant itself: whatever attackers say, it holds.
    pub(super) fn own_doing(&self, now: Now) {
        let now = nanos(now.mono);
        self.offered_deadlines(now);
        self.liveliness_lost(now);
    }

    fn offered_deadlines(&self, now: Nanos) {
        let Some(period) = self.offered.deadline.map(|ms| ms * MS) else { return };
        let mut sums: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        let mut since: BTreeMap<u32, Nanos> = BTreeMap::new();
        let ends = (0..KEYS).map(|key| (u32::from(key), ChangeKind::Unregistered, now));
        let changes = self.writer.changes.iter().map(|change| (change.key, change.kind, change.at));
        for (key, kind, at) in changes.chain(ends) {
            let before = if kind == ChangeKind::Alive { since.insert(key, at) } else { since.remove(&key) };
            let (least, most) = before.map_or((0, 0), |before| periods(at - before, period));
            let sum = sums.entry(key).or_default();
            *sum = (sum.0 + least, sum.1 + most);
        }
        check_sums("OFFERED_DEADLINE_MISSED", &sums, &self.writer.deadlines_missed);
    }

    fn liveliness_lost(&self, now: Nanos) {
        let (1.., Some(lease)) = (self.offered.liveliness, self.offered.lease.map(|ms| ms * MS)) else {
            return;
        };
        if self.writer.full > 0 {
            return;
        }
        let mut signs: Vec<Nanos> = self.writer.changes.iter().map(|change| change.at).collect();
        signs.extend(self.writer.asserted.iter().chain([&self.writer.created]));
        signs.sort_unstable();
        let mut sum = (0, 0);
        for (from, to) in signs.iter().zip(signs.iter().skip(1).chain([&now])) {
            sum.0 += u64::from(to - from > lease + 2 * BLUR);
            sum.1 += u64::from(to - from + 2 * BLUR > lease);
        }
        let told = self.writer.liveliness_lost;
        assert!(told >= sum.0 && told <= sum.1, "LIVELINESS_LOST told {told} times, not {sum:?}");
    }

    /// All has arrived and nobody has spoken for the two.
    pub(super) fn at_rest(&self, now: Now, peer: &Peer<'_>) {
        let missing = self.missing(peer);
        assert!(
            missing.is_empty() || !self.requested.reliable || !peer.offered.reliable,
            "{missing:?} missing"
        );
        self.losses(peer);
        self.instances(peer);
        self.requested_deadlines(now, peer);
        self.held();
        if let (1.., Some(lease)) = (peer.offered.liveliness, peer.offered.lease) {
            let signs = peer.writer.changes.iter().map(|change| change.at);
            let last = signs.chain(peer.writer.asserted.iter().copied()).max().unwrap_or(0);
            let met = self.reader.matched.get(&peer.writer.guid).copied().unwrap_or(0);
            let long = nanos(now.mono) > last.max(met) + (2 * lease + 500) * MS;
            let told = self.reader.alive.get(&peer.writer.guid).copied().unwrap_or_default();
            assert!(!long || (told.alive, told.not_alive) == (0, 1), "a silent writer counts as {told:?}");
        } else {
            let told = self.reader.alive.get(&peer.writer.guid).copied().unwrap_or_default();
            assert_eq!((told.alive, told.not_alive), (1, 0), "liveliness");
        }
    }

    /// The reader thinks of instances what the writer, which alone wrote them, last did to them.
    fn instances(&self, peer: &Peer<'_>) {
        let reliable = peer.offered.reliable && self.requested.reliable;
        let met_once = self.reader.received.get(&PEER).is_some_and(|received| received.sessions == 1);
        let lively = !self.reader.once_dead.contains(&peer.writer.guid);
        // Of what was released while it was inactive it knows nothing.
        let lacks_some = self.pair(peer).lacks_some();
        if !reliable || self.rivals || !met_once || !lively || lacks_some || peer.offered.lifespan.is_some() {
            return;
        }
        // What a writer that had lost the reader did meanwhile, the reader need not know, also if it is durable: the end of an
        // instance stays in no history.
        let durable = peer.offered.durable && self.requested.durable && !peer.lost_reader;
        let Some(first) = delivery::first_due(peer.writer, &self.reader, durable) else { return };
        for (key, doing) in doings(peer.writer, first) {
            let state = self.reader.slot.instance_state(instance_handle(Sample::key_hash(key as u8)));
            assert!(doing.leads_to(state), "instance {key}: {state:?}, but its writer left it {doing:?}");
        }
    }

    /// Judged where all arrivals are seen.
    fn requested_deadlines(&self, now: Now, peer: &Peer<'_>) {
        let Some(period) = self.requested.deadline.map(|ms| ms * MS) else { return };
        let steady = self.reader.received.get(&PEER).is_some_and(|received| received.sessions == 1)
            && peer.writer.changes.iter().all(|change| change.kind == ChangeKind::Alive)
            && !self.reader.once_dead.contains(&peer.writer.guid);
        let all_seen = self.requested.keep_last.is_none()
            && self.requested.max_samples.is_none()
            && peer.offered.lifespan.is_none();
        if !steady || !all_seen || self.rivals {
            return;
        }
        let mut sums: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        for (key, arrivals) in &self.reader.arrivals {
            let sum = sums.entry(*key).or_default();
            for (from, to) in arrivals.iter().zip(arrivals.iter().skip(1).chain([&now.wall.0])) {
                let (least, most) = periods((to - from).max(0).cast_unsigned(), period);
                *sum = (sum.0 + least, sum.1 + most);
            }
        }
        check_sums("REQUESTED_DEADLINE_MISSED", &sums, &self.reader.deadlines_missed);
    }

    /// The history holds what QoS says: what everybody has acknowledged leaves it.
    fn held(&self) {
        if self.audience || !self.offered.reliable {
            return;
        }
        let keys = self.writer.registered.len();
        let most = match (self.offered.durable, self.offered.keep_last) {
            (true, Some(depth)) => (depth as usize + 1) * keys,
            (true, None) => self.writer.changes.len(),
            (false, _) => 1,
        };
        let held = self.writer.slot.history_len();
        assert!(held <= most, "{held} changes at rest, at most {most} are of use");
    }
}

/// The other one of the two, as far as a reader is concerned.
pub(super) struct Peer<'a> {
    pub(super) writer: &'a WriterLog,
    pub(super) offered: Qos,
    pub(super) lost_reader: bool,
    /// A stronger writer of the same participant, and the last change with which it ended an instance.
    pub(super) rival: Option<(Guid, i64)>,
}

fn add(missed: &mut BTreeMap<u32, u64>, instance: InstanceHandle, count: u32) {
    *missed.entry(u32::from(key_of(instance))).or_default() += u64::from(count);
}

fn check_sums(name: &str, sums: &BTreeMap<u32, (u64, u64)>, told: &BTreeMap<u32, u64>) {
    for (key, (least, most)) in sums {
        let told = told.get(key).copied().unwrap_or(0);
        assert!(told >= *least && told <= *most, "instance {key}: {name} {told}, not {least} to {most}");
    }
}
