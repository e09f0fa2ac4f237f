//! Which outputs there are to be, of what discovery knows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dunlin::{DomainParticipant, Guid, PublicationBuiltinTopicData};

use crate::config::{Create, RouterConfig};
use crate::kind::{Kind, Why};
use crate::known::Sources;

/// What is known of a writer, as long as its announcement is the same.
struct Known {
    data: Arc<PublicationBuiltinTopicData>,
    kinds: Vec<Arc<Kind>>,
    refused: Vec<Refused>,
}

/// Why a route passes nothing of a writer on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Refused {
    pub(crate) route: usize,
    pub(crate) to: usize,
    pub(crate) topic: Arc<str>,
    pub(crate) why: String,
}

/// An output that there is to be.
#[derive(Clone)]
pub(crate) struct Wanted {
    pub(crate) kind: Arc<Kind>,
    pub(crate) sources: Sources,
}

/// Outputs of one key, by the length of the way and the way.
type Ways = BTreeMap<(usize, Vec<String>), Wanted>;

/// The writers that each participant knows.
#[derive(Default)]
pub(crate) struct Planner {
    known: Vec<BTreeMap<Guid, Known>>,
}

/// What came of a plan.
#[derive(Default)]
pub(crate) struct Plan {
    /// By key and path.
    pub(crate) wanted: BTreeMap<(Arc<str>, Vec<String>), Wanted>,
    pub(crate) refused: Vec<Refused>,
}

impl Planner {
    /// Forgets what routes make of writers, after routes have changed.
    pub(crate) fn forget(&mut self) {
        self.known.clear();
    }

    pub(crate) fn plan(&mut self, config: &RouterConfig, participants: &[DomainParticipant]) -> Plan {
        let found: Vec<_> = participants.iter().map(DomainParticipant::discovered_publications).collect();
        self.known.resize_with(participants.len(), BTreeMap::new);
        for (at, writers) in found.iter().enumerate() {
            self.learn(config, at, writers);
        }
        let present = present(config, &found);
        let read = read_topics(config, participants);
        let mut plan = Plan::default();
        let mut by_key = BTreeMap::<Arc<str>, Ways>::new();
        for (guid, known) in self.known.iter().flatten() {
            plan.refused.extend(known.refused.iter().cloned());
            for kind in &known.kinds {
                if read.get(kind.to).is_some_and(|topics| is_unread(config, kind, topics)) {
                    let why = format!(
                        "nobody reads \"{}\" at the destination (create = \"both\")",
                        kind.output.topic
                    );
                    plan.refused.push(Refused {
                        route: kind.route,
                        to: kind.to,
                        topic: Arc::clone(&kind.topic),
                        why,
                    });
                    continue;
                }
                let ways = by_key.entry(Arc::clone(&kind.key)).or_default();
                let way = ways.entry((kind.path.len(), kind.path.clone()));
                let wanted = way.or_insert_with(|| Wanted {
                    kind: Arc::clone(kind),
                    sources: Sources { writers: BTreeSet::new(), present: present_of(&present, kind) },
                });
                wanted.sources.writers.insert(*guid);
            }
        }
        // Of several ways of the same data, the shortest.
        for (key, ways) in by_key {
            if let Some(((_, path), wanted)) = ways.into_iter().next() {
                plan.wanted.insert((key, path), wanted);
            }
        }
        plan
    }

    /// Looks at the writers of a participant that are new or have changed.
    fn learn(&mut self, config: &RouterConfig, at: usize, writers: &[Arc<PublicationBuiltinTopicData>]) {
        let Some(known) = self.known.get_mut(at) else { return };
        let there: BTreeSet<Guid> = writers.iter().map(|writer| writer.guid).collect();
        known.retain(|guid, _| there.contains(guid));
        for writer in writers {
            if known.get(&writer.guid).is_some_and(|it| Arc::ptr_eq(&it.data, writer)) {
                continue;
            }
            known.insert(writer.guid, judge(config, at, writer));
        }
    }
}

/// What the routes make of a writer.
fn judge(config: &RouterConfig, at: usize, writer: &Arc<PublicationBuiltinTopicData>) -> Known {
    let mut known = Known { data: Arc::clone(writer), kinds: Vec::new(), refused: Vec::new() };
    let Some(from) = config.participants.get(at) else { return known };
    if is_ours(writer) {
        return known;
    }
    for (route, rule) in config.routes.iter().enumerate().filter(|(_, rule)| rule.from == from.name) {
        for name in &rule.to {
            let Some(to) = config.participants.iter().position(|it| it.name == *name) else { continue };
            match Kind::of(config, (route, to), writer) {
                Ok(kind) if to == at && kind.input == kind.output => {}
                Ok(kind) => known.kinds.push(Arc::new(kind)),
                Err(Why::Elsewhere) => {}
                Err(Why::Refused(why)) => {
                    let topic = Arc::clone(&writer.topic_name);
                    known.refused.push(Refused { route, to, topic, why });
                }
            }
        }
    }
    known
}

/// Topics of Dunlin's participants themselves are of one domain.
fn is_ours(writer: &PublicationBuiltinTopicData) -> bool {
    [dunlin::statistics::STATISTICS_TOPIC, crate::status::STATUS_TOPIC].contains(&&*writer.topic_name)
}

type ByTopic = BTreeMap<Arc<str>, BTreeSet<Guid>>;

/// By participant and topic, writers that are no router's.
fn present(config: &RouterConfig, found: &[Vec<Arc<PublicationBuiltinTopicData>>]) -> Vec<ByTopic> {
    let is_destination = |at: usize| {
        let name = config.participants.get(at).map(|it| it.name.as_str());
        config.routes.iter().flat_map(|rule| &rule.to).any(|to| Some(to.as_str()) == name)
    };
    let of = |(at, writers): (usize, &Vec<Arc<PublicationBuiltinTopicData>>)| {
        let mut topics = ByTopic::new();
        if is_destination(at) {
            for writer in writers.iter().filter(|writer| writer.qos.property.service().is_none()) {
                topics.entry(Arc::clone(&writer.topic_name)).or_default().insert(writer.guid);
            }
        }
        topics
    };
    found.iter().enumerate().map(of).collect()
}

fn present_of(present: &[ByTopic], kind: &Kind) -> BTreeSet<Guid> {
    let topics = present.get(kind.to);
    topics.and_then(|topics| topics.get(kind.output.topic.as_str())).cloned().unwrap_or_default()
}

/// By participant, the topics that somebody reads; only where a route asks.
fn read_topics(config: &RouterConfig, participants: &[DomainParticipant]) -> Vec<BTreeSet<Arc<str>>> {
    if config.routes.iter().all(|rule| rule.create == Create::Writer) {
        return Vec::new();
    }
    let topics = |participant: &DomainParticipant| {
        participant.discovered_subscriptions().iter().map(|reader| Arc::clone(&reader.topic_name)).collect()
    };
    participants.iter().map(topics).collect()
}

fn is_unread(config: &RouterConfig, kind: &Kind, topics: &BTreeSet<Arc<str>>) -> bool {
    let create = config.routes.get(kind.route).map(|rule| rule.create);
    create == Some(Create::Both) && !topics.contains(kind.output.topic.as_str())
}
