//! What a router tells of itself, as samples of an ordinary topic.

use std::collections::BTreeMap;

use dunlin::qos::{DataWriterQos, PublisherQos, TopicQos};
use dunlin::{DataWriter, DdsType, DomainParticipant, Duration, WallTime};

use crate::config::RouterConfig;
use crate::router::{Refusal, RouteState};
use crate::stats::Dropped;

/// Name of the topic.
pub const STATUS_TOPIC: &str = "DunlinRouter";
/// Instances that are told of.
const MOST_TOLD: usize = 10_000;

/// What one route does with one topic at one destination. Counters count from the start of the output. Later versions append
/// members.
#[derive(Clone, PartialEq, Eq, Debug, Default, DdsType)]
#[dds(name = "dunlin::RouterStatus", data_representation = "xcdr2")]
pub struct RouterStatus {
    /// The router.
    #[dds(key)]
    pub router: String,
    /// The route.
    #[dds(key)]
    pub route: String,
    /// The topic at the source.
    #[dds(key)]
    pub topic: String,
    /// The participant that it goes to.
    #[dds(key)]
    pub to: String,
    /// The topic there; empty if nothing is passed on.
    pub output_topic: String,
    /// Outputs: one for each kind of writer.
    pub outputs: u32,
    /// Writers that are passed on.
    pub writers: u32,
    /// Samples with data that were passed on.
    pub samples: u64,
    /// Their octets.
    pub octets: u64,
    /// Samples that were not, with the reason.
    pub dropped: Vec<DroppedSamples>,
    /// Mean time from arrival to the output.
    #[dds(unit = "ns")]
    pub latency_mean: u64,
    /// The longest.
    #[dds(unit = "ns")]
    pub latency_max: u64,
    /// Why writers of the topic are not passed on.
    pub refused: Vec<String>,
}

/// Samples that were not passed on for one reason.
#[derive(Clone, PartialEq, Eq, Debug, Default, DdsType)]
#[dds(name = "dunlin::DroppedSamples", data_representation = "xcdr2")]
pub struct DroppedSamples {
    /// Why.
    pub reason: String,
    /// How many.
    pub count: u64,
}

type Key = (String, String, String);

/// The writers of the topic.
#[derive(Default)]
pub(crate) struct StatusWriters {
    writers: Vec<DataWriter<RouterStatus>>,
    period: Duration,
    told: BTreeMap<Key, RouterStatus>,
    due: Option<WallTime>,
    changed: bool,
}

impl StatusWriters {
    pub(crate) fn new(config: &RouterConfig, participants: &[DomainParticipant]) -> Self {
        let wanted = config.participants.iter().zip(participants);
        let wanted = wanted.filter(|(it, _)| config.status.participants.contains(&it.name));
        // Without it the router still routes.
        let writers = wanted.filter_map(|(_, participant)| writer(participant).ok()).collect();
        Self { writers, period: config.status.period, ..Self::default() }
    }

    /// There is something to tell that is not a number.
    pub(crate) fn changed(&mut self) {
        self.changed = true;
    }

    /// Time until the next sample; none is told while nobody reads, but for what is new.
    pub(crate) fn left(&self, now: WallTime) -> Option<Duration> {
        let is_read =
            || self.writers.iter().any(|writer| writer.publication_matched_status().current_count > 0);
        if self.writers.is_empty() || !(self.changed || is_read()) {
            return None;
        }
        let due = self.due.filter(|due| due.since(now) <= self.period);
        Some(due.map_or(Duration::ZERO, |due| due.since(now).max(Duration::ZERO)))
    }

    /// Tells what is new. Returns the time until the next call.
    pub(crate) fn tell(
        &mut self,
        now: WallTime,
        router: &str,
        states: &[RouteState],
        refusals: &[Refusal],
    ) -> Duration {
        self.due = Some(now.plus(self.period));
        self.changed = false;
        let all = summary(router, states, refusals);
        let gone: Vec<Key> = self.told.keys().filter(|key| !all.contains_key(*key)).cloned().collect();
        for status in gone.iter().filter_map(|key| self.told.remove(key)) {
            self.writers.iter().for_each(|writer| drop(writer.dispose(&status)));
        }
        for (key, status) in all.into_iter().take(MOST_TOLD) {
            if self.told.get(&key) != Some(&status) {
                self.writers.iter().for_each(|writer| drop(writer.write(&status)));
                self.told.insert(key, status);
            }
        }
        self.period
    }
}

fn writer(participant: &DomainParticipant) -> Result<DataWriter<RouterStatus>, dunlin::CreateEntityError> {
    let topic = participant.create_topic::<RouterStatus>(STATUS_TOPIC, &TopicQos::default())?;
    let publisher = participant.create_publisher(&PublisherQos::default())?;
    let qos = DataWriterQos::default().reliable().transient_local().keep_last(1);
    publisher.create_datawriter(&topic, &qos.max_blocking_time(Duration::ZERO))
}

/// By route, topic and destination.
fn summary(router: &str, states: &[RouteState], refusals: &[Refusal]) -> BTreeMap<Key, RouterStatus> {
    let mut all = BTreeMap::<Key, RouterStatus>::new();
    let mut sums = BTreeMap::<Key, u64>::new();
    for state in states {
        let key = (state.route.clone(), state.topic.clone(), state.to.clone());
        let stats = &state.stats;
        let status = all.entry(key.clone()).or_insert_with(|| empty(router, &key));
        state.output_topic.clone_into(&mut status.output_topic);
        status.outputs += 1;
        status.writers += u32::try_from(state.writers).unwrap_or(u32::MAX);
        status.samples += stats.samples;
        status.octets += stats.octets;
        status.latency_max = status.latency_max.max(nanos(stats.latency_max));
        for (reason, count) in Dropped::ALL.into_iter().zip(stats.dropped).filter(|(_, count)| *count > 0) {
            add(&mut status.dropped, reason.text(), count);
        }
        let sum = sums.entry(key).or_default();
        *sum = sum.saturating_add(nanos(stats.latency_sum));
        status.latency_mean = sum.checked_div(status.samples).unwrap_or(0);
    }
    for refusal in refusals {
        let key = (refusal.route.clone(), refusal.topic.clone(), refusal.to.clone());
        let status = all.entry(key.clone()).or_insert_with(|| empty(router, &key));
        if status.refused.len() < 16 {
            status.refused.push(refusal.why.clone());
        }
    }
    all
}

fn add(dropped: &mut Vec<DroppedSamples>, reason: &str, count: u64) {
    match dropped.iter_mut().find(|it| it.reason == reason) {
        Some(known) => known.count += count,
        None => dropped.push(DroppedSamples { reason: reason.to_owned(), count }),
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(0)
}

fn empty(router: &str, (route, topic, to): &Key) -> RouterStatus {
    RouterStatus {
        router: router.to_owned(),
        route: route.clone(),
        topic: topic.clone(),
        to: to.clone(),
        ..RouterStatus::default()
    }
}
