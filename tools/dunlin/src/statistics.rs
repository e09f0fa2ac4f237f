//! The counters that Dunlin participants tell of themselves (`docs/statistics.md`), as far as they came.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use dunlin::qos::{DataReaderQos, SubscriberQos, TopicQos};
use dunlin::statistics::{EntityStatistics, STATISTICS_TOPIC};
use dunlin::{DataReader, DomainParticipant, EntityId, Guid, GuidPrefix, Misbehaviour, Sample, StatusMask};
use serde_json::{Map, Value};

/// Entities of which is known what they tell; more are not listened to.
const MOST_ENTITIES: usize = 65_536;
/// The same of one participant, so that none takes the place of the others.
const MOST_OF_ONE: usize = 4_096;
/// The longest `statistics.period` that the configuration takes: whoever tells of a longer one is not believed for longer.
const LONGEST_PERIOD: Duration = Duration::from_secs(3_600);
/// Samples that are taken at once.
const AT_ONCE: usize = 256;
/// Who has told nothing for so many of its periods, and so long, is not believed any more.
const STALE: (u32, Duration) = (5, Duration::from_secs(10));

/// What an entity told last.
#[derive(Clone, Debug)]
pub struct Told {
    pub now: EntityStatistics,
    before: Option<EntityStatistics>,
    at: Instant,
}

impl Told {
    /// In one second of the last period, of a counter. Unknown before the second sample.
    #[allow(clippy::cast_precision_loss, reason = "for people")]
    pub fn rate(&self, counter: impl Fn(&EntityStatistics) -> Option<u64>) -> Option<f64> {
        let before = self.before.as_ref()?;
        let nanos = self.now.time.checked_sub(before.time).filter(|nanos| *nanos > 0)?;
        let more = counter(&self.now)?.saturating_sub(counter(before)?);
        Some(more as f64 * 1e9 / nanos as f64)
    }

    fn is_stale(&self, at: Instant) -> bool {
        let periods = Duration::from_nanos(self.now.period).min(LONGEST_PERIOD).saturating_mul(STALE.0);
        at.saturating_duration_since(self.at) > periods.max(STALE.1)
    }
}

/// What was told of each entity.
pub type AllTold = BTreeMap<Guid, Told>;

/// Entities of a participant of which something is known.
fn entities_of(all: &AllTold, prefix: GuidPrefix) -> usize {
    let (first, last) = (EntityId([0; 4]), EntityId([u8::MAX; 4]));
    all.range(Guid::new(prefix, first)..=Guid::new(prefix, last)).take(MOST_OF_ONE).count()
}

/// Takes in what a writer tells of an entity, or that it is gone; what a participant tells of others is not believed.
fn take_in(all: &mut AllTold, writer: Guid, guid: Guid, now: Option<EntityStatistics>, at: Instant) {
    if guid.prefix != writer.prefix {
        return;
    }
    let Some(now) = now else {
        all.remove(&guid);
        return;
    };
    if let Some(known) = all.get_mut(&guid) {
        // What was told twice, or of another time, would make rates of nothing.
        if now.time > known.now.time {
            known.before = Some(std::mem::replace(&mut known.now, now));
            known.at = at;
        }
    } else if all.len() < MOST_ENTITIES && entities_of(all, guid.prefix) < MOST_OF_ONE {
        all.insert(guid, Told { now, before: None, at });
    }
}

/// A subscription to the statistics of a domain.
pub struct Statistics {
    participant: DomainParticipant,
    reader: DataReader<EntityStatistics>,
    told: Arc<Mutex<AllTold>>,
}

impl Statistics {
    /// Subscribes; the reader costs each Dunlin participant one writer and one small sample for each endpoint and period.
    pub fn subscribe(participant: &DomainParticipant) -> Result<Self> {
        let topic = participant.create_topic::<EntityStatistics>(STATISTICS_TOPIC, &TopicQos::default())?;
        let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
        let most = i32::try_from(MOST_ENTITIES)?;
        let qos = DataReaderQos::default().keep_last(4).resource_limits(most, most, 4);
        let reader = subscriber.create_datareader(&topic, &qos)?;
        let told = Arc::<Mutex<AllTold>>::default();
        let all = Arc::clone(&told);
        let listener = move |reader: &DataReader<EntityStatistics>| {
            let at = Instant::now();
            // A reader that was deleted meanwhile has no samples any more.
            while let Ok(taken) = reader.take(AT_ONCE) {
                let last = taken.len() < AT_ONCE;
                let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
                for Sample { info, data, .. } in taken {
                    let (writer, of) = (info.publication_handle.to_guid(), info.instance_handle.to_guid());
                    take_in(&mut all, writer, data.as_ref().map_or(of, |data| data.entity.guid()), data, at);
                }
                if last {
                    break;
                }
            }
        };
        reader.set_listener(listener, StatusMask::DATA_AVAILABLE);
        Ok(Self { participant: participant.clone(), reader, told })
    }

    fn lock(&self) -> MutexGuard<'_, AllTold> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known now, of participants and of endpoints that discovery knows too.
    pub fn told(&self) -> AllTold {
        let writers = self.participant.discovered_publications();
        let readers = self.participant.discovered_subscriptions();
        let known: BTreeSet<Guid> =
            writers.iter().map(|it| it.guid).chain(readers.iter().map(|it| it.guid)).collect();
        let at = Instant::now();
        let mut all = self.lock();
        let is_known = |guid: &Guid| guid.entity_id == EntityId::PARTICIPANT || known.contains(guid);
        all.retain(|guid, told| is_known(guid) && !told.is_stale(at));
        all.clone()
    }

    /// Whether everybody who tells has told so often that rates are known.
    pub fn has_told(&self) -> bool {
        let writers = self.reader.matched_publications();
        let all = self.lock();
        writers.iter().all(|writer| {
            let participant = Guid::new(writer.to_guid().prefix, EntityId::PARTICIPANT);
            all.get(&participant).is_some_and(|told| told.before.is_some())
        })
    }
}

/// What a participant did that others refused and tell, without what happens by itself: by whom, what, and how often.
pub fn misbehaviours(
    told: &AllTold,
    of: GuidPrefix,
) -> impl Iterator<Item = (GuidPrefix, Misbehaviour, u64)> {
    let all = told.iter().flat_map(|(by, told)| told.now.misbehaviours.iter().map(|it| (by.prefix, it)));
    let known = all.filter_map(|(by, it)| Some((by, it, Misbehaviour::named(&it.cause)?)));
    let of_this = known
        .filter(move |(by, it, what)| it.participant.guid().prefix == of && *by != of && !what.is_usual());
    of_this.map(|(by, it, what)| (by, what, it.count))
}

macro_rules! object {
    ($it:expr; $($field:ident),+) => {{
        let it = $it;
        let mut object = Map::new();
        $(object.insert(stringify!($field).to_owned(), Value::from(it.$field));)+
        object
    }};
}

/// The counters as JSON: `{"time_ns": …, "writer": {…}}`.
pub fn json(told: &EntityStatistics) -> Value {
    let mut all = Map::new();
    all.insert("time_ns".to_owned(), told.time.into());
    all.insert("period_ns".to_owned(), told.period.into());
    if let Some(it) = &told.participant {
        let object = object!(it; datagrams, malformed, unknown_endpoint, sent_datagrams, sent_octets, send_full,
            send_failed, received_datagrams, received_octets, receive_overflow, shared_sent_datagrams,
            shared_sent_octets, shared_send_full, shared_received_datagrams, shared_received_octets);
        all.insert("participant".to_owned(), object.into());
    }
    if !told.misbehaviours.is_empty() {
        let refused = told.misbehaviours.iter().map(|it| {
            let participant = it.participant.guid().prefix.to_string();
            serde_json::json!({ "participant": participant, "cause": it.cause, "count": it.count })
        });
        all.insert("misbehaviours".to_owned(), refused.collect());
    }
    if let Some(it) = &told.writer {
        let mut object = object!(it; written, sent, sent_datagrams, sent_octets, repairs, repair_fragments,
            repair_octets, heartbeats_sent, gaps_sent, acknacks_received, nack_frags_received, filtered, given_up,
            unacknowledged, kept, matched, inactive, direct);
        let named: Vec<String> = it.inactive_readers.iter().map(|key| key.guid().to_string()).collect();
        object.insert("inactive_readers".to_owned(), named.into());
        all.insert("writer".to_owned(), object.into());
    }
    if let Some(it) = &told.reader {
        let object = object!(it; received, lost, rejected, duplicates, out_of_order, fragments, heartbeats_received,
            gaps_received, acknacks_sent, nack_frags_sent, kept, waiting_octets, matched, from_future,
            replaced_unseen);
        all.insert("reader".to_owned(), object.into());
    }
    if let Some(it) = &told.daemon {
        let mut object = object!(it; applications, taken, passed, octets, over_rate);
        let bands = it.bands.iter().map(|it| {
            object!(it; from, passed, octets, delayed, dropped, waiting, waiting_octets, longest_wait).into()
        });
        object.insert("bands".to_owned(), bands.collect::<Vec<Value>>().into());
        all.insert("daemon".to_owned(), object.into());
    }
    all.into()
}

#[cfg(test)]
pub mod tests {
    use dunlin::statistics::WriterCounters;

    use super::*;

    fn given(all: &mut AllTold, (of, by): (Guid, Guid), (time, written): (u64, u64)) {
        let writer = Some(WriterCounters { written, ..WriterCounters::default() });
        let data = EntityStatistics { entity: of.into(), time, writer, ..EntityStatistics::default() };
        take_in(all, by, of, Some(data), Instant::now());
    }

    /// Of a writer with such counters now and a second before.
    pub fn told(before: &EntityStatistics, now: &EntityStatistics) -> Told {
        Told { now: now.clone(), before: Some(before.clone()), at: Instant::now() }
    }

    #[test]
    fn rates_are_of_the_last_period() {
        let writer = Guid::from_bytes([7; 16]);
        let written = |it: &EntityStatistics| it.writer.as_ref().map(|it| it.written);
        let mut all = AllTold::new();
        given(&mut all, (writer, writer), (1_000_000_000, 100));
        assert_eq!(all[&writer].rate(written), None);
        // The same again says nothing, and neither does what comes late.
        given(&mut all, (writer, writer), (1_000_000_000, 100));
        given(&mut all, (writer, writer), (0, 0));
        assert_eq!(all[&writer].rate(written), None);
        given(&mut all, (writer, writer), (3_000_000_000, 110));
        assert_eq!(all[&writer].rate(written), Some(5.0));
        // Counters that go back are no rates below nothing.
        given(&mut all, (writer, writer), (4_000_000_000, 0));
        assert_eq!(all[&writer].rate(written), Some(0.0));
    }

    #[test]
    fn statistics_count_only_for_their_sender_and_are_bounded() {
        let (victim, stranger) = (Guid::from_bytes([1; 16]), Guid::from_bytes([2; 16]));
        let mut all = AllTold::new();
        given(&mut all, (victim, stranger), (1, 1));
        assert!(all.is_empty());
        given(&mut all, (victim, victim), (1, 1));
        take_in(&mut all, stranger, victim, None, Instant::now());
        assert_eq!(all.len(), 1, "nor that others are gone");
        take_in(&mut all, victim, victim, None, Instant::now());
        assert!(all.is_empty());
        for n in 0..u32::try_from(MOST_ENTITIES).unwrap() + 10 {
            let [a, b, c, d] = n.to_be_bytes();
            let of = Guid::new(stranger.prefix, EntityId([a.wrapping_add(b), b, c, d]));
            given(&mut all, (of, stranger), (1, 1));
        }
        assert_eq!(all.len(), MOST_OF_ONE);
        given(&mut all, (victim, victim), (1, 1));
        assert!(all.contains_key(&victim), "who tells too much takes the place of nobody else");
    }

    #[test]
    fn stale_statistics_are_not_shown() {
        let at = Instant::now();
        let period = 1_000_000_000;
        let told = Told { now: EntityStatistics { period, ..EntityStatistics::default() }, before: None, at };
        assert!(!told.is_stale(at + Duration::from_secs(9)) && told.is_stale(at + Duration::from_secs(11)));
        // Whoever says that it tells nothing for centuries is taken for the slowest there is.
        let told = Told { now: EntityStatistics { period: u64::MAX, ..told.now }, ..told };
        assert!(!told.is_stale(at + 5 * LONGEST_PERIOD));
        assert!(told.is_stale(at + 5 * LONGEST_PERIOD + Duration::from_secs(1)));
    }
}
