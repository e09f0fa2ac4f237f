//! What `dunlin echo`, `pub`, `hz`, `bw` and `latency` share: finding a topic and its type, joining as its endpoints need.

pub mod echo;
mod format;
pub mod measure;
pub mod publish;

use crate::domain::names;
use anyhow::{Context, Result, bail};
use clap::Args;
use dunlin::qos::{DataReaderQos, DurabilityKind, OwnershipKind, Partition, ReliabilityKind, SubscriberQos};
use dunlin::{
    Condition, Config, DomainParticipant, DynamicType, PublicationBuiltinTopicData, Subscriber,
    SubscriptionBuiltinTopicData, WaitError, WaitSet,
};
use dunlin_idl::{Disk, Options};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A topic of a domain.
#[derive(Args)]
pub struct Target {
    /// Name of the topic, as on the wire or as ROS 2 has it: /chatter
    topic: String,
    /// The domain instead of the one of the configuration
    #[arg(short, long)]
    domain: Option<u32>,
    /// Wait so many seconds for an endpoint of the topic
    #[arg(short, long, default_value_t = 10.0, value_name = "SECONDS")]
    wait: f64,
    /// Take and print names as they are on the wire, not as ROS 2 has them
    #[arg(long)]
    raw_names: bool,
    /// Set a key of the configuration: network.interfaces=eth0
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

/// Where the type comes from.
#[derive(Args)]
pub struct TypeOf {
    /// An IDL file with the type of the topic
    #[arg(long, value_name = "FILE")]
    idl: PathBuf,
    /// The type in the IDL file, if it is not the one that the endpoints name: M::T
    #[arg(long = "type", value_name = "NAME")]
    name: Option<String>,
    /// A folder in which included IDL files are searched
    #[arg(short = 'I', long = "include", value_name = "FOLDER")]
    include: Vec<String>,
}

impl Target {
    /// What overrides the configuration.
    pub fn set(&self) -> &[String] {
        &self.set
    }

    fn join(&self, config: Config, name: &str) -> Result<DomainParticipant> {
        anyhow::ensure!((0.0..=3600.0).contains(&self.wait), "--wait takes 0 to 3600 seconds");
        let domain = self.domain.unwrap_or(config.domain.id);
        Ok(DomainParticipant::builder(domain).config(config).name(name).build()?)
    }

    /// Whether a name on the wire is the topic's.
    fn is(&self, name: &str) -> bool {
        let ros = || self.topic.starts_with('/') && name.strip_prefix("rt") == Some(self.topic.as_str());
        name == self.topic || (!self.raw_names && ros())
    }

    /// The name on the wire of a topic that nobody has yet.
    fn wire_name(&self) -> String {
        if self.topic.starts_with('/') && !self.raw_names {
            return format!("rt{}", self.topic);
        }
        self.topic.clone()
    }

    /// The name of a type for people.
    fn type_name(&self, name: &str) -> String {
        let ros = if self.raw_names { None } else { names::ros_type(name) };
        ros.unwrap_or_else(|| name.to_owned())
    }

    fn poll<T>(&self, stop: &Stop, mut found: impl FnMut() -> Vec<T>) -> Vec<T> {
        let deadline = Instant::now() + Duration::from_secs_f64(self.wait);
        loop {
            let list = found();
            if !list.is_empty() || stop.is_set() || Instant::now() >= deadline {
                return list;
            }
            std::thread::park_timeout(Duration::from_millis(20));
        }
    }

    /// The writers of the topic, as soon as there is one.
    fn writers(
        &self,
        participant: &DomainParticipant,
        stop: &Stop,
    ) -> Result<Vec<Arc<PublicationBuiltinTopicData>>> {
        let all = || participant.discovered_publications().into_iter();
        let writers = self.poll(stop, || all().filter(|writer| self.is(&writer.topic_name)).collect());
        if writers.is_empty() && !stop.is_set() {
            bail!(
                "nobody writes '{}' in domain {}: `dunlin ls` lists the topics that there are, and --wait waits longer",
                self.topic,
                participant.domain_id()
            );
        }
        Ok(writers)
    }

    /// The readers of the topic, as soon as there is one.
    fn readers(
        &self,
        participant: &DomainParticipant,
        stop: &Stop,
    ) -> Vec<Arc<SubscriptionBuiltinTopicData>> {
        let all = || participant.discovered_subscriptions().into_iter();
        self.poll(stop, || all().filter(|reader| self.is(&reader.topic_name)).collect())
    }
}

impl TypeOf {
    /// The type: the one that is named, else the one of the file that endpoints name `announced`.
    fn find(&self, announced: Option<&str>) -> Result<DynamicType> {
        let file = self.idl.to_string_lossy();
        let options = Options { include_dirs: self.include.clone(), ..Options::default() };
        let compiled = dunlin_idl::compile(&file, &options, &Disk);
        eprint!("{}", compiled.render(false));
        let model = compiled.model.with_context(|| format!("{file} has errors"))?;
        let (graph, _) = dunlin_idl::xtypes::type_graph(&model);
        let name =
            self.name.as_deref().or(announced).context("name the type with --type: nobody tells it")?;
        let index = graph.find(name).with_context(|| {
            let known: Vec<&str> = graph.iter().map(|(_, definition)| definition.name.as_str()).collect();
            format!("{file} has no type {name} (name one with --type); it has {}", known.join(", "))
        })?;
        Ok(DynamicType::new(graph, index)?)
    }
}

/// Set by Ctrl-C.
#[derive(Clone)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    fn on_interrupt() -> Result<Self> {
        let stop = Self(Arc::default());
        let (set, waiting) = (stop.clone(), std::thread::current());
        ctrlc::set_handler(move || {
            set.0.store(true, Ordering::SeqCst);
            waiting.unpark();
        })?;
        Ok(stop)
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// A subscriber and the QoS of a reader that match all of the writers.
fn subscribe(
    participant: &DomainParticipant,
    writers: &[Arc<PublicationBuiltinTopicData>],
) -> Result<(Subscriber, DataReaderQos)> {
    let mut partitions: Vec<String> = Vec::new();
    for name in writers.iter().flat_map(|writer| &writer.publisher_qos.partition.names) {
        if !partitions.contains(name) {
            partitions.push(name.clone());
        }
    }
    // A writer without partition is in the one without name.
    if !partitions.is_empty() && writers.iter().any(|writer| writer.publisher_qos.partition.names.is_empty())
    {
        partitions.push(String::new());
    }
    let subscriber_qos =
        SubscriberQos { partition: Partition { names: partitions }, ..SubscriberQos::default() };
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

/// Waits for a condition in steps that are short enough for Ctrl-C.
fn wait(arrivals: &WaitSet, arrived: &Condition, most: Duration) -> Result<()> {
    if arrived.trigger_value() {
        return Ok(());
    }
    let nanos = i64::try_from(most.min(Duration::from_millis(200)).as_nanos()).unwrap_or(i64::MAX);
    match arrivals.wait(dunlin::Duration::from_nanos(nanos)) {
        Ok(_) | Err(WaitError::Timeout) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// A pipe that nobody reads any more is an end like any other.
pub fn unless_closed(result: Result<std::process::ExitCode>) -> Result<std::process::ExitCode> {
    match result {
        Err(error) if is_closed(&error) => Ok(std::process::ExitCode::SUCCESS),
        other => other,
    }
}

fn is_closed(error: &anyhow::Error) -> bool {
    let broken = |error: &std::io::Error| error.kind() == std::io::ErrorKind::BrokenPipe;
    error.downcast_ref::<std::io::Error>().is_some_and(broken)
}
