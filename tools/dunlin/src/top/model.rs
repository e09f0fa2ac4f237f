//! What is shown of a domain at one moment.

use super::watch::{Counted, Counts, Flow};
use crate::domain::{Domain, Endpoint, Participant};
use serde::Serialize;
use std::collections::BTreeMap;

/// What is known of the samples of a topic, a writer or a participant.
#[derive(Serialize, Clone, Copy, Default, PartialEq, Debug)]
pub struct Traffic {
    /// In the last interval.
    pub samples_per_second: f64,
    /// In the last interval, without the headers of messages.
    pub octets_per_second: f64,
    /// Since the subscription began; unknown of writers that own instances, as what others own is not seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
    /// Repeated or late, since the subscription began; of topics alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub again: Option<u64>,
}

/// A participant with what its writers write to topics that are subscribed to.
#[derive(Serialize, Clone)]
pub struct ParticipantRow {
    #[serde(flatten)]
    pub participant: Participant,
    #[serde(flatten)]
    pub traffic: Option<Traffic>,
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
}

/// Rates between two moments.
struct Rates<'a> {
    before: &'a Counted,
    now: &'a Counted,
    seconds: f64,
}

impl Rates<'_> {
    #[allow(clippy::cast_precision_loss, reason = "for people")]
    fn between(&self, before: Flow, now: Flow, exclusive: bool) -> Traffic {
        // A subscription that began again counts from nothing.
        let rate = |before: u64, now: u64| now.saturating_sub(before) as f64 / self.seconds.max(1e-9);
        Traffic {
            samples_per_second: rate(before.samples, now.samples),
            octets_per_second: rate(before.octets, now.octets),
            lost: (!exclusive).then_some(now.lost),
            again: None,
        }
    }

    /// Of each writer that matches or did, by its GUID.
    fn writers(&self, topic: &str) -> Option<BTreeMap<String, Traffic>> {
        let now = self.now.get(topic)?;
        let nothing = Counts::default();
        let before = &self.before.get(topic).unwrap_or(&nothing).writers;
        let flow = |of: &BTreeMap<dunlin::Guid, Flow>, guid: &dunlin::Guid| {
            of.get(guid).copied().unwrap_or_default()
        };
        let of = |guid: &dunlin::Guid| {
            (guid.to_string(), self.between(flow(before, guid), flow(&now.writers, guid), now.exclusive))
        };
        Some(now.matched.iter().chain(now.writers.keys()).map(of).collect())
    }
}

fn sum<'a>(all: impl Iterator<Item = &'a Traffic>) -> Traffic {
    let nothing = Traffic { lost: Some(0), ..Traffic::default() };
    all.fold(nothing, |sum, one| Traffic {
        samples_per_second: sum.samples_per_second + one.samples_per_second,
        octets_per_second: sum.octets_per_second + one.octets_per_second,
        lost: sum.lost.zip(one.lost).map(|(sum, one)| sum + one),
        again: None,
    })
}

impl Snapshot {
    /// A domain, and what was counted in it until `before` and until `now`, so many seconds later.
    pub fn new(domain: Domain, before: &Counted, now: &Counted, seconds: f64) -> Self {
        let rates = Rates { before, now, seconds };
        let mut shown = Self { domain: domain.domain, seconds, ..Self::default() };
        for topic in domain.topics {
            let flows = rates.writers(&topic.name);
            // Without a writer that matches nothing is known.
            let traffic = flows.as_ref().filter(|flows| !flows.is_empty()).map(|flows| {
                let counts = &now[&topic.name];
                Traffic { lost: Some(counts.lost), again: Some(counts.again), ..sum(flows.values()) }
            });
            shown.topics.push(TopicRow {
                type_name: topic.types(),
                writers: topic.writers.len(),
                readers: topic.readers.len(),
                pairs: topic.pairs.len(),
                matched: topic.matched(),
                subscribed: flows.is_some(),
                traffic,
                name: topic.name.clone(),
                ros: topic.ros,
            });
            let matched = |guid: &str| {
                let of = topic.pairs.iter().filter(|pair| pair.writer == guid || pair.reader == guid);
                of.filter(|pair| pair.matched).count()
            };
            for endpoint in topic.writers {
                let traffic = flows.as_ref().and_then(|flows| flows.get(&endpoint.guid).copied());
                let matched = matched(&endpoint.guid);
                let topic = topic.name.clone();
                shown.endpoints.push(EndpointRow { topic, kind: "writer", matched, endpoint, traffic });
            }
            for endpoint in topic.readers {
                let matched = matched(&endpoint.guid);
                let topic = topic.name.clone();
                shown.endpoints.push(EndpointRow { topic, kind: "reader", matched, endpoint, traffic: None });
            }
        }
        for participant in domain.participants {
            let own = |row: &&EndpointRow| row.endpoint.participant == participant.guid;
            let own: Vec<_> =
                shown.endpoints.iter().filter(own).filter_map(|row| row.traffic.as_ref()).collect();
            let traffic = (!own.is_empty()).then(|| sum(own.into_iter()));
            shown.participants.push(ParticipantRow { participant, traffic });
        }
        shown
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
        shown
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::domain::graph::tests::domain;
    use dunlin::Guid;

    /// Two participants, of which one writes `Square`; its writer has written ten samples in two seconds.
    pub fn snapshot() -> Snapshot {
        let writer = Guid::from_bytes([1; 16]);
        let mut domain = domain();
        domain.topics[0].writers[0].guid = writer.to_string();
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
        Snapshot::new(domain, &counted(flow(10, 1_000), 1), &counted(flow(20, 31_000), 3), 2.0)
    }

    #[test]
    fn rates_are_of_the_last_interval_and_losses_of_all() {
        let snapshot = snapshot();
        let traffic =
            Traffic { samples_per_second: 5.0, octets_per_second: 15_000.0, lost: Some(2), again: None };
        assert_eq!(snapshot.topics[0].traffic, Some(Traffic { lost: Some(3), again: Some(6), ..traffic }));
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
    fn what_is_not_known_is_not_told() {
        let (writer, other) = (Guid::from_bytes([1; 16]), Guid::from_bytes([2; 16]));
        let snapshot = |counts: Counts| {
            let mut domain = domain();
            domain.topics[0].writers[0].guid = writer.to_string();
            let counted: Counted = [("Square".into(), counts)].into();
            Snapshot::new(domain, &Counted::new(), &counted, 1.0)
        };
        let quiet = snapshot(Counts { matched: [writer].into(), ..Counts::default() });
        assert_eq!(
            quiet.endpoints[0].traffic.map(|it| (it.samples_per_second, it.lost)),
            Some((0.0, Some(0)))
        );
        let foreign = snapshot(Counts { matched: [other].into(), ..Counts::default() });
        assert!(foreign.endpoints[0].traffic.is_none() && foreign.topics[0].traffic.is_some());
        let nobody = snapshot(Counts::default());
        assert!(nobody.topics[0].traffic.is_none() && nobody.topics[0].subscribed);
        let owned =
            snapshot(Counts { matched: [writer].into(), exclusive: true, lost: 1, ..Counts::default() });
        assert_eq!(owned.endpoints[0].traffic.map(|it| it.lost), Some(None));
        assert_eq!(owned.topics[0].traffic.and_then(|it| it.lost), Some(1));
        assert_eq!(owned.participants[0].traffic.and_then(|it| it.lost), None);
    }

    #[test]
    fn a_filter_leaves_what_has_it_in_a_name() {
        let left = snapshot().only("SQUARE");
        assert_eq!((left.participants.len(), left.topics.len(), left.endpoints.len()), (0, 1, 2));
        let left = snapshot().only("\"one\"");
        assert_eq!((left.participants.len(), left.topics.len()), (1, 0));
    }
}
