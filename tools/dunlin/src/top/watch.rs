//! Counts what is written to topics, by subscribing to them. Each topic costs what a best-effort reader of it costs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use dunlin::qos::{OwnershipKind, Partition, TopicQos};
use dunlin::{
    DataReader, DomainParticipant, EntityKind, Guid, PublicationBuiltinTopicData, RawSample, SerializedData,
    StatusMask,
};

use crate::topic::{partitions, subscribe};

/// Samples of an instance that wait for the listener, which takes them at once.
const KEPT: i32 = 64;
/// Samples that are taken at once.
const AT_ONCE: usize = 256;

/// What arrived of a writer since its topic was subscribed to.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Flow {
    pub samples: u64,
    pub octets: u64,
    /// Sequence numbers that were passed over.
    pub lost: u64,
    /// The sequence number after the highest.
    next: Option<i64>,
}

impl Flow {
    /// One more; without octets it is the end of an instance.
    pub fn add(&mut self, number: i64, octets: Option<usize>) {
        if let Some(octets) = octets {
            self.samples += 1;
            self.octets += u64::try_from(octets).unwrap_or(u64::MAX);
        }
        // Ends that no message told have no number.
        if number > 0 {
            let next = self.next.unwrap_or(number);
            self.lost += u64::try_from(number.saturating_sub(next)).unwrap_or(0);
            self.next = Some(next.max(number.saturating_add(1)));
        }
    }
}

/// What arrived of a topic since it was subscribed to.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Counts {
    pub writers: BTreeMap<Guid, Flow>,
    /// The writers that the reader matches: nothing is known of others.
    pub matched: BTreeSet<Guid>,
    /// Only samples of the owner of an instance are seen, so that what a writer's numbers pass over need not be lost.
    pub exclusive: bool,
    /// Samples of which the next ones arrived, but not they.
    pub lost: u64,
    /// Samples that arrived a second time, or behind a later one: repairs that others asked for, when they come by
    /// multicast, and what the network doubles or reorders.
    pub again: u64,
}

/// The topics that are subscribed to.
pub type Counted = BTreeMap<String, Counts>;

/// What a reader needs to match the writers of a topic.
#[derive(PartialEq)]
struct Needs {
    type_name: String,
    keyed: bool,
    partition: Partition,
    exclusive: bool,
}

type Writers = Vec<Arc<PublicationBuiltinTopicData>>;

impl Needs {
    fn of(writers: &Writers) -> Option<Self> {
        let first = writers.first()?;
        Some(Self {
            type_name: first.type_name.to_string(),
            keyed: first.guid.entity_id.kind() == EntityKind::WriterWithKey,
            partition: partitions(writers.iter().map(|writer| &writer.publisher_qos.partition)),
            exclusive: writers.iter().all(|writer| writer.qos.ownership.kind == OwnershipKind::Exclusive),
        })
    }
}

type Flows = Arc<Mutex<BTreeMap<Guid, Flow>>>;

struct Subscription {
    needs: Needs,
    /// Or why there is none.
    reader: Result<DataReader<SerializedData>, String>,
    flows: Flows,
}

/// Subscribes to topics and counts.
pub struct Watch {
    participant: DomainParticipant,
    topics: BTreeMap<String, Subscription>,
}

fn count(reader: &DataReader<SerializedData>, flows: &Flows) {
    let mut flows = flows.lock().unwrap_or_else(PoisonError::into_inner);
    // A reader that was deleted meanwhile has no samples any more.
    while let Ok(taken) = reader.take_payloads(AT_ONCE) {
        for RawSample { info, payload, .. } in &taken {
            let flow = flows.entry(info.publication_handle.to_guid()).or_default();
            flow.add(info.sequence_number.0, payload.as_ref().map(|payload| payload.len()));
        }
        if taken.len() < AT_ONCE {
            break;
        }
    }
}

impl Watch {
    /// Of the domain of a participant.
    pub fn new(participant: DomainParticipant) -> Self {
        Self { participant, topics: BTreeMap::new() }
    }

    /// The participant that subscribes.
    pub fn participant(&self) -> &DomainParticipant {
        &self.participant
    }

    /// Subscribes to these topics, as far as somebody writes them, and to no others.
    pub fn only(&mut self, wanted: &BTreeSet<String>) {
        let mut found: BTreeMap<String, Writers> = BTreeMap::new();
        for writer in self.participant.discovered_publications() {
            if wanted.contains(&*writer.topic_name) {
                found.entry(writer.topic_name.to_string()).or_default().push(writer);
            }
        }
        self.topics
            .retain(|name, known| found.get(name).and_then(Needs::of).is_some_and(|now| now == known.needs));
        for (name, writers) in found {
            if self.topics.contains_key(&name) {
                continue;
            }
            let Some(needs) = Needs::of(&writers) else { continue };
            let flows = Flows::default();
            let reader = self
                .reader(&name, &needs, &writers, Arc::clone(&flows))
                .map_err(|error| format!("{error:#}"));
            self.topics.insert(name, Subscription { needs, reader, flows });
        }
    }

    fn reader(
        &self,
        name: &str,
        needs: &Needs,
        writers: &Writers,
        flows: Flows,
    ) -> Result<DataReader<SerializedData>> {
        let topic = self.participant.create_serialized_topic(
            name,
            &needs.type_name,
            needs.keyed,
            &TopicQos::default(),
        )?;
        let (subscriber, qos) = subscribe(&self.participant, writers)?;
        let qos = qos.best_effort().volatile().keep_last(KEPT);
        let reader = subscriber.create_datareader(&topic, &qos)?;
        let listener = move |reader: &DataReader<SerializedData>| count(reader, &flows);
        reader.set_listener(listener, StatusMask::DATA_AVAILABLE);
        Ok(reader)
    }

    /// Whether every topic that is subscribed to has a writer that matches.
    pub fn is_matched(&self) -> bool {
        let readers = self.topics.values().filter_map(|topic| topic.reader.as_ref().ok());
        readers.into_iter().all(|reader| !reader.matched_publications().is_empty())
    }

    /// What was counted until now.
    pub fn counted(&self) -> Counted {
        let mut counted = Counted::new();
        for (name, Subscription { needs, reader, flows }) in &self.topics {
            let Ok(reader) = reader else { continue };
            let stats = reader.stats();
            let writers = flows.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let matched = reader.matched_publications().iter().map(|handle| handle.to_guid()).collect();
            let (lost, again) = (stats.lost, stats.duplicates);
            let counts = Counts { writers, matched, exclusive: needs.exclusive, lost, again };
            counted.insert(name.clone(), counts);
        }
        counted
    }

    /// The topics that could not be subscribed to, and why.
    pub fn problems(&self) -> Vec<String> {
        let why = |(name, topic): (&String, &Subscription)| {
            Some(format!("{name}: {}", topic.reader.as_ref().err()?))
        };
        self.topics.iter().filter_map(why).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_passed_over_are_lost() {
        let mut flow = Flow::default();
        // The first one may have any number; late ones and ends without a message change nothing.
        for (number, octets) in
            [(7, Some(10)), (8, Some(20)), (11, None), (9, Some(30)), (0, None), (12, Some(1))]
        {
            flow.add(number, octets);
        }
        assert_eq!(flow, Flow { samples: 4, octets: 61, lost: 2, next: Some(13) });
    }
}
