//! A subscription of a board.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use anyhow::Result;
use dunlin::qos::TopicQos;
use dunlin::{DataReader, DomainParticipant, IncompatibleQosStatus, InstanceState, Sample, Subscriber};

use super::{Entry, Settings, Shape};
use crate::types::ShapeType;

/// Samples taken at once.
const BATCH: usize = 256;
/// How often they are taken before something else is done: writers may be faster than they are taken.
const BATCHES: usize = 64;
/// Instances that a subscription shows.
const MAX_INSTANCES: usize = 256;
/// How long a shape that is no longer alive is shown.
const FAREWELL: Duration = Duration::from_secs(2);

/// The shapes of a topic.
pub struct Subscription {
    pub id: u32,
    topic: String,
    settings: Settings,
    reader: DataReader<ShapeType>,
    _subscriber: Subscriber,
    instances: BTreeMap<String, Instance>,
    received: u64,
}

struct Instance {
    trail: VecDeque<(i32, i32)>,
    size: i32,
    state: InstanceState,
    since: Instant,
}

impl Subscription {
    pub fn new(participant: &DomainParticipant, id: u32, topic: &str, settings: Settings) -> Result<Self> {
        let subscriber = participant.create_subscriber(&settings.subscriber())?;
        let described = participant.create_topic::<ShapeType>(topic, &TopicQos::default())?;
        let reader = if settings.filter.is_empty() {
            subscriber.create_datareader(&described, &settings.reader())?
        } else {
            let none: [&str; 0] = [];
            let name = format!("{topic}_filtered_{id}");
            let filtered =
                participant.create_contentfilteredtopic(&name, &described, &settings.filter, &none)?;
            subscriber.create_datareader(&filtered, &settings.reader())?
        };
        let topic = topic.to_owned();
        let instances = BTreeMap::new();
        Ok(Self { id, topic, settings, reader, _subscriber: subscriber, instances, received: 0 })
    }

    /// Takes what has arrived, and forgets what is long gone.
    pub fn take(&mut self) {
        for _ in 0..BATCHES {
            let Ok(samples) = self.reader.take(BATCH) else { break };
            if samples.is_empty() {
                break;
            }
            samples.into_iter().for_each(|sample| self.note(sample));
        }
        let shown = |instance: &Instance| {
            instance.state == InstanceState::Alive || instance.since.elapsed() < FAREWELL
        };
        self.instances.retain(|_, instance| shown(instance));
    }

    fn note(&mut self, sample: Sample<ShapeType>) {
        let Some(color) = sample.data.as_ref().or(sample.key.as_ref()).map(|shape| shape.color.clone())
        else {
            return;
        };
        if !self.instances.contains_key(&color) && self.instances.len() >= MAX_INSTANCES {
            return;
        }
        let state = sample.info.instance_state;
        let instance = self.instances.entry(color).or_insert_with(|| Instance {
            trail: VecDeque::new(),
            size: 0,
            state,
            since: Instant::now(),
        });
        if instance.state != state {
            (instance.state, instance.since) = (state, Instant::now());
        }
        if let Some(shape) = sample.data {
            self.received += 1;
            instance.size = shape.shapesize;
            instance.trail.push_back((shape.x, shape.y));
            while instance.trail.len() > self.settings.trail() {
                instance.trail.pop_front();
            }
        }
    }

    /// What there is to draw.
    pub fn shapes(&self) -> impl Iterator<Item = Shape> {
        let drawn = self.instances.iter().filter(|(_, instance)| !instance.trail.is_empty());
        drawn.map(|(color, instance)| Shape {
            topic: self.topic.clone(),
            color: color.clone(),
            trail: instance.trail.iter().copied().collect(),
            size: instance.size,
            own: false,
            state: match instance.state {
                InstanceState::Alive => "alive",
                InstanceState::NotAliveDisposed => "disposed",
                InstanceState::NotAliveNoWriters => "no writers",
            },
            id: self.id,
        })
    }

    pub fn entry(&self) -> Entry {
        Entry {
            id: self.id,
            publishes: false,
            topic: self.topic.clone(),
            color: String::new(),
            summary: self.settings.summary(),
            matched: self.reader.matched_publications().len(),
            samples: self.received,
            problem: problem(&self.reader.requested_incompatible_qos_status()),
        }
    }
}

/// Which policies did not fit.
pub fn problem(status: &IncompatibleQosStatus) -> String {
    let names: Vec<_> = status.policies.keys().map(|policy| policy.name()).collect();
    if names.is_empty() { String::new() } else { format!("not with all: {}", names.join(", ")) }
}
