//! What is shown of a domain at one moment.

use std::collections::BTreeMap;

use dunlin::Guid;
use dunlin::statistics::{BandCounters, STATISTICS_TOPIC};
use serde::Serialize;
use serde_json::Value;

use super::traffic::{Traffic, seen, total};
use super::watch::{Counted, Counts, Flow};
use crate::domain::{Domain, Endpoint, Participant};
use crate::statistics::{AllTold, json, misbehaviours};

/// A participant with what its writers write to topics that are subscribed to.
#[derive(Serialize, Clone)]
pub struct ParticipantRow {
    #[serde(flatten)]
    pub participant: Participant,
    #[serde(flatten)]
    pub traffic: Option<Traffic>,
    /// Datagrams that the kernel dropped of full receive buffers of its process, if it tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped: Option<u64>,
    /// How often others refused what it does, if anybody tells; without what happens by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub misbehaved: Option<u64>,
    /// Everything that it tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counters: Option<Value>,
}

/// A topic.
#[derive(Serialize, Clone)]
pub struct TopicRow {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ros: Option<String>,
    #[serde(rename = "type")]
    pub type_name: String,
    pub writers: usize,
    pub readers: usize,
    /// Writers times readers.
    pub pairs: usize,
    /// Pairs that match.
    pub matched: usize,
    /// Pairs that match, and nothing is known that keeps samples from arriving.
    pub well: usize,
    pub subscribed: bool,
    #[serde(flatten)]
    pub traffic: Option<Traffic>,
}

/// A writer or reader.
#[derive(Serialize, Clone)]
pub struct EndpointRow {
    pub topic: String,
    pub kind: &'static str,
    /// How many it matches.
    pub matched: usize,
    #[serde(flatten)]
    pub endpoint: Endpoint,
    #[serde(flatten)]
    pub traffic: Option<Traffic>,
    /// Everything that it tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counters: Option<Value>,
}

/// A band of a daemon.
#[derive(Serialize, Clone)]
pub struct BandRow {
    /// The daemon.
    pub of: String,
    /// The lowest TRANSPORT_PRIORITY in it.
    pub from: i32,
    /// What left, by the counters of its last period.
    pub octets_per_second: Option<f64>,
    #[serde(flatten)]
    pub counters: Bandwise,
}

/// What a band counts, as it is told.
#[derive(Serialize, Clone, Copy)]
pub struct Bandwise {
    pub waiting: u64,
    pub waiting_octets: u64,
    pub octets: u64,
    pub delayed: u64,
    pub dropped: u64,
    pub longest_wait_ns: u64,
}

/// A domain at one moment.
#[derive(Serialize, Clone, Default)]
pub struct Snapshot {
    pub domain: u32,
    /// How long was counted for the rates.
    pub seconds: f64,
    pub participants: Vec<ParticipantRow>,
    pub topics: Vec<TopicRow>,
    pub endpoints: Vec<EndpointRow>,
    /// Of daemons that tell.
    pub bands: Vec<BandRow>,
}

/// The bands of a daemon.
fn bands_of(participant: &Participant, told: Option<&crate::statistics::Told>) -> Vec<BandRow> {
    let Some((told, daemon)) = told.and_then(|told| Some((told, told.now.daemon.as_ref()?))) else {
        return Vec::new();
    };
    let row = |(at, band): (usize, &BandCounters)| BandRow {
        of: participant.label.clone(),
        from: band.from,
        octets_per_second: told.rate(|it| it.daemon.as_ref()?.bands.get(at).map(|band| band.octets)),
        counters: Bandwise {
            waiting: band.waiting,
            waiting_octets: band.waiting_octets,
            octets: band.octets,
            delayed: band.delayed,
            dropped: band.dropped,
            longest_wait_ns: band.longest_wait,
        },
    };
    daemon.bands.iter().enumerate().map(row).collect()
}

fn told_of<'a>(participant: &Participant, told: &'a AllTold) -> Option<&'a crate::statistics::Told> {
    told.get(&participant.id?)
}

fn misbehaved(participant: &Participant, told: &AllTold) -> Option<u64> {
    let others = misbehaviours(told, participant.id?.prefix).map(|(_, _, count)| count);
    (!told.is_empty()).then(|| others.fold(0, u64::saturating_add))
}

/// A topic of endpoints. What its readers lost and its writers sent again is what they tell, and what the subscription saw
/// where none of them tells.
fn of_topic(endpoints: &[EndpointRow], counts: Option<&Counts>) -> Option<Traffic> {
    let of = |kind: &'static str| {
        let rows = endpoints.iter().filter(move |row| row.kind == kind);
        rows.filter_map(|row| row.traffic).collect::<Vec<_>>()
    };
    let (writers, readers) = (of("writer"), of("reader"));
    if writers.is_empty() && readers.is_empty() && counts.is_none() {
        return None;
    }
    let all = Traffic::sum(&writers);
    Some(Traffic {
        lost: total(readers.iter().map(|it| it.lost)).or(counts.and_then(|it| seen(it.lost))),
        again: all.again.or(counts.and_then(|it| seen(it.again))),
        ..all
    })
}

/// Rates between two moments.
struct Rates<'a> {
    before: &'a Counted,
    now: &'a Counted,
    seconds: f64,
}

impl Rates<'_> {
    /// Of each writer that matches or did, by its GUID.
    fn writers(&self, topic: &str) -> Option<BTreeMap<Guid, Traffic>> {
        let now = self.now.get(topic)?;
        let before = self.before.get(topic);
        let flow = |of: &BTreeMap<Guid, Flow>, guid: &Guid| of.get(guid).copied().unwrap_or_default();
        let of = |guid: &Guid| {
            let before = before.map(|counts| flow(&counts.writers, guid));
            let now_of = flow(&now.writers, guid);
            (*guid, Traffic::of_flow(before, now_of, self.seconds, now.exclusive))
        };
        Some(now.matched.iter().chain(now.writers.keys()).map(of).collect())
    }
}

/// What is known of the domain besides itself.
pub struct Sources<'a> {
    /// What the subscriptions counted until the interval began, and until now, so many seconds later.
    pub before: &'a Counted,
    pub now: &'a Counted,
    pub seconds: f64,
    /// What participants tell.
    pub told: &'a AllTold,
}

impl Snapshot {
    /// A domain, and what is known of it.
    pub fn new(mut domain: Domain, sources: &Sources<'_>) -> Self {
        let &Sources { before, now, seconds, told } = sources;
        let rates = Rates { before, now, seconds };
        let mut shown = Self { domain: domain.domain, seconds, ..Self::default() };
        // It is there because of this tool, or of others that watch.
        domain.leave_out(STATISTICS_TOPIC);
        let mut lost_by_flow = Vec::new();
        for topic in domain.topics {
            let flows = rates.writers(&topic.name);
            let begin = shown.endpoints.len();
            let matched = |guid: &str| {
                let of = topic.pairs.iter().filter(|pair| pair.writer == guid || pair.reader == guid);
                of.filter(|pair| pair.matched).count()
            };
            let (writers, readers) = (topic.writers.len(), topic.readers.len());
            let (type_name, pairs, all_matched, well) =
                (topic.types(), topic.pairs.len(), topic.matched(), topic.well());
            let writing = topic.writers.into_iter().map(|it| ("writer", it));
            for (kind, endpoint) in writing.chain(topic.readers.into_iter().map(|it| ("reader", it))) {
                let own = endpoint.id.and_then(|guid| told.get(&guid));
                let counted = match kind {
                    "writer" => own.and_then(Traffic::of_writer),
                    _ => own.and_then(Traffic::of_reader),
                };
                let flow = endpoint.id.and_then(|guid| flows.as_ref()?.get(&guid).copied());
                if let Some(flow) = flow {
                    lost_by_flow.push((endpoint.participant.clone(), flow.lost));
                }
                let traffic = match (counted, flow) {
                    (Some(counted), Some(flow)) => Some(counted.or(flow)),
                    (counted, flow) => counted.or(flow),
                };
                shown.endpoints.push(EndpointRow {
                    topic: topic.name.clone(),
                    kind,
                    matched: matched(&endpoint.guid),
                    endpoint,
                    traffic,
                    counters: own.map(|told| json(&told.now)),
                });
            }
            let counts =
                now.get(&topic.name).filter(|_| flows.as_ref().is_some_and(|flows| !flows.is_empty()));
            shown.topics.push(TopicRow {
                type_name,
                writers,
                readers,
                pairs,
                matched: all_matched,
                well,
                subscribed: flows.is_some(),
                traffic: of_topic(&shown.endpoints[begin..], counts),
                name: topic.name,
                ros: topic.ros,
            });
        }
        for participant in domain.participants {
            shown.bands.extend(bands_of(&participant, told_of(&participant, told)));
            let row = shown.participant(participant, &lost_by_flow, told);
            shown.participants.push(row);
        }
        shown
    }

    /// A participant with what its endpoints do.
    fn participant(
        &self,
        participant: Participant,
        lost_by_flow: &[(String, super::traffic::Number<u64>)],
        told: &AllTold,
    ) -> ParticipantRow {
        let own = |kind: &'static str| {
            let rows = self.endpoints.iter().filter(move |row| row.kind == kind);
            let own = rows.filter(|row| row.endpoint.participant == participant.guid);
            own.filter_map(|row| row.traffic).collect::<Vec<_>>()
        };
        let (writers, readers) = (own("writer"), own("reader"));
        // What its readers lost, if they tell; else what was lost of its writers here, if that is known of all of them.
        let by_readers = total(readers.iter().map(|it| it.lost));
        let mut by_flow =
            lost_by_flow.iter().filter(|(of, _)| *of == participant.guid).map(|(_, lost)| *lost);
        let lost = if by_readers.is_some() || told_of(&participant, told).is_some() {
            by_readers
        } else if by_flow.clone().all(|lost| lost.is_some()) {
            total(&mut by_flow)
        } else {
            None
        };
        let known = !writers.is_empty() || !readers.is_empty();
        let counters = told_of(&participant, told);
        ParticipantRow {
            traffic: known.then(|| Traffic { lost, ..Traffic::sum(&writers) }),
            misbehaved: misbehaved(&participant, told),
            dropped: counters.and_then(|told| told.now.participant).map(|it| it.receive_overflow),
            counters: counters.map(|told| json(&told.now)),
            participant,
        }
    }

    /// What has the filter in a name, without regard to upper and lower case.
    pub fn only(&self, filter: &str) -> Self {
        let filter = filter.to_lowercase();
        let has = |texts: &[&str]| texts.iter().any(|text| text.to_lowercase().contains(&filter));
        let mut shown = self.clone();
        shown.participants.retain(|ParticipantRow { participant: it, .. }| {
            has(&[&it.name, &it.guid, &it.vendor]) || it.addresses.iter().any(|address| has(&[address]))
        });
        shown.topics.retain(|it| has(&[&it.name, it.ros.as_deref().unwrap_or_default(), &it.type_name]));
        shown.endpoints.retain(|EndpointRow { topic, endpoint: it, .. }| {
            has(&[topic, &it.of, &it.guid, &it.vendor, &it.type_name])
        });
        shown.bands.retain(|it| has(&[&it.of]));
        shown
    }
}

#[cfg(test)]
pub mod tests {
    use dunlin::statistics::{
        DaemonCounters, EntityStatistics, ParticipantCounters, ReaderCounters, WriterCounters,
    };

    use super::*;
    use crate::domain::graph::tests::domain;
    use crate::statistics::tests::told;

    /// Two participants, of which one writes `Square`; its writer has written ten samples in two seconds.
    pub fn snapshot() -> Snapshot {
        let writer = Guid::from_bytes([1; 16]);
        let mut domain = domain();
        domain.topics[0].writers[0].guid = writer.to_string();
        domain.topics[0].writers[0].id = Some(writer);
        domain.topics[0].pairs[0].writer = writer.to_string();
        // One sample with octets, then a hole.
        let flow = |samples: i64, octets: usize| {
            let mut flow = Flow::default();
            flow.add(1, Some(octets));
            (2..=samples).for_each(|number| flow.add(number + samples / 10, Some(0)));
            flow
        };
        let counted = |flow: Flow, lost: u64| -> Counted {
            let (writers, matched) = ([(writer, flow)].into(), [writer].into());
            let counts = Counts { writers, matched, exclusive: false, lost, again: 2 * lost };
            [("Square".into(), counts)].into()
        };
        let (before, now) = (&counted(flow(10, 1_000), 1), &counted(flow(20, 31_000), 3));
        Snapshot::new(domain, &Sources { before, now, seconds: 2.0, told: &AllTold::new() })
    }

    #[test]
    fn rates_are_of_the_last_interval_and_losses_of_all() {
        let snapshot = snapshot();
        let traffic = Traffic {
            samples_per_second: seen(5.0),
            octets_per_second: seen(15_000.0),
            lost: seen(2),
            ..Traffic::default()
        };
        assert_eq!(snapshot.topics[0].traffic, Some(Traffic { lost: seen(3), again: seen(6), ..traffic }));
        assert_eq!(snapshot.topics[1].traffic, None);
        assert!(snapshot.topics[0].subscribed && !snapshot.topics[1].subscribed);
        let endpoints = &snapshot.endpoints;
        let told: Vec<_> = endpoints.iter().map(|row| (row.kind, row.matched, row.traffic)).collect();
        let expected =
            [("writer", 1, Some(traffic)), ("reader", 1, None), ("writer", 0, None), ("reader", 0, None)];
        assert_eq!(told, expected);
        assert_eq!(snapshot.participants[0].traffic, Some(traffic));
        assert_eq!(snapshot.participants[1].traffic, None);
    }

    /// Of writers that the reader does not match nothing is known, and of losses nothing where instances are owned.
    #[test]
    fn unknown_rates_and_losses_are_left_blank() {
        let (writer, other) = (Guid::from_bytes([1; 16]), Guid::from_bytes([2; 16]));
        let between = |before: Counts, counts: Counts, is_new: bool| {
            let mut domain = domain();
            domain.topics[0].writers[0].guid = writer.to_string();
            domain.topics[0].writers[0].id = Some(writer);
            domain.topics[0].writers[0].id = Some(writer);
            let (before, now): (Counted, Counted) =
                ([("Square".into(), before)].into(), [("Square".into(), counts)].into());
            let (before, told) = (if is_new { &Counted::new() } else { &before }, &AllTold::new());
            Snapshot::new(domain, &Sources { before, now: &now, seconds: 1.0, told })
        };
        let snapshot = |counts: Counts| between(counts.clone(), counts, false);
        let mut flow = Flow::default();
        (1..=5).for_each(|number| flow.add(number, Some(1)));
        let counts =
            Counts { writers: [(writer, flow)].into(), matched: [writer].into(), ..Counts::default() };
        let begun = between(Counts::default(), counts, true);
        assert_eq!(
            begun.endpoints[0].traffic.map(|it| (it.samples_per_second, it.lost)),
            Some((None, seen(0))),
            "half of an interval is no interval"
        );
        let quiet = snapshot(Counts { matched: [writer].into(), ..Counts::default() });
        assert_eq!(
            quiet.endpoints[0].traffic.map(|it| (it.samples_per_second, it.lost)),
            Some((seen(0.0), seen(0)))
        );
        let foreign = snapshot(Counts { matched: [other].into(), ..Counts::default() });
        assert!(foreign.endpoints[0].traffic.is_none() && foreign.topics[0].traffic.is_some());
        let nobody = snapshot(Counts::default());
        assert!(nobody.topics[0].traffic.is_none() && nobody.topics[0].subscribed);
        let owned =
            snapshot(Counts { matched: [writer].into(), exclusive: true, lost: 1, ..Counts::default() });
        assert_eq!(owned.endpoints[0].traffic.map(|it| it.lost), Some(None));
        assert_eq!(owned.topics[0].traffic.and_then(|it| it.lost), seen(1));
        assert_eq!(owned.participants[0].traffic.and_then(|it| it.lost), None);
    }

    /// Counters come before what the subscription sees, which tells the rest; each number says whose it is.
    #[test]
    fn counters_of_participants_come_before_measured_ones() {
        let mut domain = domain();
        let ids = [1, 2, 3].map(|n| Guid::from_bytes([n; 16]));
        let topic = &mut domain.topics[0];
        for (endpoint, id) in [(&mut topic.writers[0], ids[0]), (&mut topic.readers[0], ids[1])] {
            (endpoint.guid, endpoint.id) = (id.to_string(), Some(id));
        }
        domain.participants[0].id = Some(ids[2]);
        domain.participants[0].guid = domain.topics[0].readers[0].participant.clone();
        let flow = {
            let mut flow = Flow::default();
            [1, 3].into_iter().for_each(|number| flow.add(number, Some(4)));
            flow
        };
        let counts = Counts { writers: [(ids[0], flow)].into(), lost: 1, again: 1, ..Counts::default() };
        let counted: Counted = [("Square".into(), counts)].into();
        let at = |time| EntityStatistics { time, ..EntityStatistics::default() };
        let written = |time, written| EntityStatistics {
            writer: Some(WriterCounters {
                written,
                repairs: 7,
                unacknowledged: 9,
                inactive: 1,
                ..WriterCounters::default()
            }),
            ..at(time)
        };
        let reader = ReaderCounters { received: 5, lost: 4, duplicates: 2, ..ReaderCounters::default() };
        let reader = EntityStatistics { reader: Some(reader), ..at(1) };
        let dropped = ParticipantCounters { receive_overflow: 12, ..ParticipantCounters::default() };
        let band =
            |octets| BandCounters { from: 40, octets, dropped: 3, waiting: 2, ..BandCounters::default() };
        let daemon = |octets| DaemonCounters { bands: vec![band(octets)], ..DaemonCounters::default() };
        let dropped =
            EntityStatistics { participant: Some(dropped), daemon: Some(daemon(3_000)), ..at(1_000_000_001) };
        let earlier = EntityStatistics { daemon: Some(daemon(1_000)), ..at(1) };
        let all: AllTold = [
            (ids[0], told(&written(0, 10), &written(2_000_000_000, 20))),
            (ids[1], told(&at(0), &reader)),
            (ids[2], told(&earlier, &dropped)),
        ]
        .into();
        let (before, now) = (&Counted::new(), &counted);
        let shown = Snapshot::new(domain, &Sources { before, now, seconds: 1.0, told: &all });
        let value = serde_json::to_value(&shown).unwrap();
        let writer = &value["endpoints"][0];
        assert_eq!(writer["samples_per_second"], 5.0);
        assert_eq!(
            (&writer["lost"], &writer["again"], &writer["unacknowledged"]),
            (&1.into(), &7.into(), &9.into())
        );
        assert_eq!(
            (&writer["sources"]["again"], &writer["sources"]["lost"]),
            (&"counters".into(), &"subscription".into())
        );
        assert_eq!(writer["counters"]["writer"]["written"], 20);
        let topic = &value["topics"][0];
        assert_eq!((&topic["lost"], &topic["again"], &topic["inactive"]), (&4.into(), &7.into(), &1.into()));
        assert_eq!(topic["sources"]["lost"], "counters");
        assert_eq!(
            (&value["participants"][0]["lost"], &value["participants"][0]["dropped"]),
            (&4.into(), &12.into())
        );
        assert_eq!(value["participants"][0]["counters"]["participant"]["receive_overflow"], 12);
        let band = &value["bands"][0];
        assert_eq!((&band["from"], &band["octets_per_second"]), (&40.into(), &2_000.0.into()));
        assert_eq!((&band["dropped"], &band["waiting"], &band["delayed"]), (&3.into(), &2.into(), &0.into()));
        assert_eq!(value["participants"][0]["counters"]["daemon"]["bands"][0]["octets"], 3_000);
        assert!(value["endpoints"][2].get("sources").is_none(), "of the others nothing is known");
    }

    #[test]
    fn a_filter_leaves_what_has_it_in_a_name() {
        let left = snapshot().only("SQUARE");
        assert_eq!((left.participants.len(), left.topics.len(), left.endpoints.len()), (0, 1, 2));
        let left = snapshot().only("\"one\"");
        assert_eq!((left.participants.len(), left.topics.len()), (1, 0));
    }
}
