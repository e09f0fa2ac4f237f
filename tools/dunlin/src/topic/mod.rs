//! What `dunlin echo`, `pub`, `hz`, `bw` and `latency` share: finding a topic and its type, joining as its endpoints need.

pub mod echo;
mod format;
pub mod measure;
pub mod publish;
mod series;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use dunlin::qos::{DataReaderQos, DurabilityKind, OwnershipKind, Partition, ReliabilityKind, SubscriberQos};
use dunlin::xtypes::{TypeGraph, TypeIndex};
use dunlin::{
    Config, DomainParticipant, DynamicType, Explanation, Guid, PublicationBuiltinTopicData, Subscriber,
    SubscriptionBuiltinTopicData,
};
use dunlin_program::Stop;

use crate::idl::{self, IdlOptions};
use crate::join::Join;
use crate::names::TopicName;
use crate::types;

/// How long an endpoint that is known may take to match.
const PATIENCE: Duration = Duration::from_secs(5);
/// Between two looks at what was discovered.
const STEP: Duration = Duration::from_millis(20);
/// Longest time without a look at whether to end.
const LONGEST_STEP: Duration = Duration::from_millis(200);

/// A topic of a domain.
#[derive(Args)]
pub struct Target {
    #[command(flatten)]
    topic: TopicName,
    #[command(flatten)]
    pub join: Join,
    /// Wait so many seconds for an endpoint of the topic
    #[arg(short, long, default_value_t = 10.0, value_name = "SECONDS")]
    wait: f64,
}

/// Where the type comes from.
#[derive(Args)]
pub struct TypeOf {
    /// A file with the type of the topic, instead of the type that the endpoints announce: IDL, types in XML (.xml), a
    /// message of ROS 2
    #[arg(long, visible_alias = "types", value_name = "FILE")]
    idl: Option<PathBuf>,
    /// The type in the file, if it is not the one that the endpoints name: M::T, or as ROS 2 has it: std_msgs/msg/String
    #[arg(long = "type", value_name = "NAME", requires = "idl")]
    name: Option<String>,
    #[command(flatten)]
    compiled: IdlOptions,
}

/// An endpoint of a topic, with the names that it uses.
struct Endpoint<'a> {
    guid: Guid,
    topic: &'a str,
    ty: &'a str,
}

impl<'a> From<&'a Arc<PublicationBuiltinTopicData>> for Endpoint<'a> {
    fn from(it: &'a Arc<PublicationBuiltinTopicData>) -> Self {
        Self { guid: it.guid, topic: &it.topic_name, ty: &it.type_name }
    }
}

impl<'a> From<&'a Arc<SubscriptionBuiltinTopicData>> for Endpoint<'a> {
    fn from(it: &'a Arc<SubscriptionBuiltinTopicData>) -> Self {
        Self { guid: it.guid, topic: &it.topic_name, ty: &it.type_name }
    }
}

impl Target {
    fn participant(&self, config: Config, name: &str) -> Result<DomainParticipant> {
        anyhow::ensure!((0.0..=3600.0).contains(&self.wait), "--wait takes 0 to 3600 seconds");
        self.join.participant(config, name)
    }

    /// How long somebody is waited for.
    fn wait(&self) -> Duration {
        Duration::from_secs_f64(self.wait)
    }

    /// Waits until an endpoint of this process has somebody to talk to; `other` says who that would be. Why nobody matches has to be
    /// said here: once this program has ended, `dunlin why` finds nobody to compare the others with.
    fn until_matched(
        &self,
        other: &str,
        patience: Duration,
        stop: &Stop,
        matched: impl Fn() -> bool,
        explain: impl FnOnce() -> Explanation,
    ) -> Result<()> {
        let deadline = Instant::now() + patience;
        while !matched() && !stop.wait(STEP) {
            if Instant::now() >= deadline {
                bail!("no {other} of '{}' matches{}", self.topic.given(), reasons(&explain()));
            }
        }
        Ok(())
    }

    /// The writers of the topic, as soon as there is one.
    fn writers(
        &self,
        participant: &DomainParticipant,
        stop: &Stop,
    ) -> Result<Vec<Arc<PublicationBuiltinTopicData>>> {
        let writers = poll(self.wait(), stop, || {
            let mut all = participant.discovered_publications();
            let name = self.topic.among(all.iter().map(|it| &*it.topic_name)).map(str::to_owned);
            all.retain(|it| Some(&*it.topic_name) == name.as_deref());
            all
        });
        if writers.is_empty() && !stop.is_set() {
            bail!(
                "nobody writes '{}' in domain {}{}: `dunlin ls` lists the topics that there are, and --wait waits longer",
                self.topic.given(),
                participant.domain_id(),
                self.topic.meant(participant)
            );
        }
        Ok(writers)
    }

    /// The readers of the topic, as soon as there is one, at the latest after `most`.
    fn readers(
        &self,
        participant: &DomainParticipant,
        most: Duration,
        stop: &Stop,
    ) -> Vec<Arc<SubscriptionBuiltinTopicData>> {
        poll(most, stop, || {
            let mut all = participant.discovered_subscriptions();
            let name = self.topic.among(all.iter().map(|it| &*it.topic_name)).map(str::to_owned);
            all.retain(|it| Some(&*it.topic_name) == name.as_deref());
            all
        })
    }
}

/// The causes of an explanation, each once, with what to do; at most three.
fn reasons(explanation: &Explanation) -> String {
    let mut reasons: Vec<String> = Vec::new();
    for cause in explanation.all_causes() {
        let reason = format!("\n  {cause}\n    hint: {}", cause.hint());
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    reasons.truncate(3);
    if reasons.is_empty() { String::new() } else { format!(":{}", reasons.concat()) }
}

/// Asks again and again until something is found, at the latest after `most`.
fn poll<T>(most: Duration, stop: &Stop, mut found: impl FnMut() -> Vec<T>) -> Vec<T> {
    let deadline = Instant::now() + most;
    loop {
        let list = found();
        if !list.is_empty() || Instant::now() >= deadline || stop.wait(STEP) {
            return list;
        }
    }
}

impl TypeOf {
    /// Whether the type is given in full, so that nobody else has to tell it.
    fn is_given(&self) -> bool {
        self.name.is_some()
    }

    /// The type that endpoints of one topic have: the one of the file, else what the first of them announces. The
    /// topic's type gets the name that they use.
    fn find(&self, participant: &DomainParticipant, endpoints: &[Endpoint<'_>]) -> Result<DynamicType> {
        self.compiled.only_with(self.idl.as_deref(), "--idl")?;
        let announced = endpoints.first().map(|it| it.ty);
        let (graph, index) = match &self.idl {
            Some(file) => {
                let name = self.name.as_deref().or(announced);
                let name = name.context("name the type with --type: nobody tells it")?;
                let (graph, index) = idl::type_of(file, &self.compiled.options(), name, "--type")?;
                (Arc::new(graph), index)
            }
            None => discovered(participant, endpoints)?,
        };
        Ok(DynamicType::new(renamed(graph, index, announced), index)?)
    }
}

/// The type of the first endpoint that announces one.
fn discovered(
    participant: &DomainParticipant,
    endpoints: &[Endpoint<'_>],
) -> Result<(Arc<TypeGraph>, TypeIndex)> {
    let first = endpoints.first().context("nobody tells the type: give it with --idl and --type")?;
    types::ask(participant, first.topic);
    let mut reason = String::new();
    for endpoint in endpoints {
        match types::type_of(participant, endpoint.guid) {
            Ok(known) => return Ok((known.graph, known.root)),
            Err(why) => reason = why,
        }
    }
    bail!("the type {} of '{}' is not known: {reason}; give it with --idl", first.ty, first.topic)
}

/// The graph, in which the type has the name that endpoints use: those that announce no type match by name.
fn renamed(graph: Arc<TypeGraph>, index: TypeIndex, name: Option<&str>) -> Arc<TypeGraph> {
    let (Some(definition), Some(name)) = (graph.get(index), name) else { return graph };
    if definition.name == name {
        return graph;
    }
    let mut definition = definition.clone();
    name.clone_into(&mut definition.name);
    let mut graph = (*graph).clone();
    graph.set(index, definition);
    Arc::new(graph)
}

/// Ctrl-C, or a request to terminate.
pub fn on_interrupt() -> Result<Stop> {
    let stop = Stop::default();
    stop.on_signals()?;
    Ok(stop)
}

/// The partitions that an endpoint needs to meet others, each of which is in some.
pub fn partitions<'a>(mut others: impl Iterator<Item = &'a Partition> + Clone) -> Partition {
    let mut names: Vec<String> = Vec::new();
    for name in others.clone().flat_map(|partition| &partition.names) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    // Who names no partition is in the one without name.
    if !names.is_empty() && others.any(|partition| partition.names.is_empty()) {
        names.push(String::new());
    }
    Partition { names }
}

/// A subscriber and the QoS of a reader that match all of the writers.
pub fn subscribe(
    participant: &DomainParticipant,
    writers: &[Arc<PublicationBuiltinTopicData>],
) -> Result<(Subscriber, DataReaderQos)> {
    let partition = partitions(writers.iter().map(|writer| &writer.publisher_qos.partition));
    let subscriber_qos = SubscriberQos { partition, ..SubscriberQos::default() };
    let subscriber = participant.create_subscriber(&subscriber_qos)?;
    let all = |test: fn(&PublicationBuiltinTopicData) -> bool| writers.iter().all(|writer| test(writer));
    let mut qos = DataReaderQos::default().keep_last(10_000);
    if all(|writer| writer.qos.reliability.kind == ReliabilityKind::Reliable) {
        qos = qos.reliable();
    }
    if all(|writer| writer.qos.durability.kind != DurabilityKind::Volatile) {
        qos = qos.transient_local();
    }
    if all(|writer| writer.qos.ownership.kind == OwnershipKind::Exclusive) {
        qos.ownership.kind = OwnershipKind::Exclusive;
    }
    Ok((subscriber, qos))
}
