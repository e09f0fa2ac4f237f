//! The router: what there is to be, what there is, and the loop.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dunlin::qos::{DomainParticipantQos, LivelinessKind, ServiceMark};
use dunlin::{
    CreateParticipantError, DCPS_PUBLICATION, DCPS_SUBSCRIPTION, DataReader, DcpsPublication,
    DcpsSubscription, DomainParticipant, Duration, GuardCondition, StatusMask, WaitError, WaitSet, WallTime,
};

use crate::config::{ParticipantConfig, RouteConfig, RouterConfig};
use crate::flow::{Flow, Turn};
use crate::kind::Kind;
use crate::open::{CannotOpen, Opening};
use crate::plan::{Plan, Planner, Wanted};
use crate::requests::Requests;
use crate::stats::FlowStats;
use crate::status::StatusWriters;

/// Between two looks at what discovery knows.
const PLANNING: Duration = Duration::from_millis(5);
/// Until a type that is asked for is looked for again.
const TYPES: Duration = Duration::from_millis(20);
/// Until what had no room is tried again.
const ROOM: Duration = Duration::from_micros(500);
/// Longest time that an output without writers waits for acknowledgments.
const LINGER: Duration = Duration::from_secs(10);
/// Between looks at outputs that end.
const ENDING: Duration = Duration::from_millis(20);

/// Where samples are passed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Forwarding {
    /// On the thread that receives them, before it takes the next one: the shortest way.
    #[default]
    Inline,
    /// In [`Router::pump`] alone, for those who decide themselves when what runs.
    Pumped,
}

/// Why a router cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RouterError {
    /// A participant cannot be created.
    #[error("participant {name}: {error}")]
    Participant {
        /// What routes call it.
        name: String,
        /// Why.
        error: CreateParticipantError,
    },
    /// The loop cannot wait here.
    #[error("the router cannot wait: {0}")]
    Wait(#[from] WaitError),
}

/// What a call of [`Router::pump`] has left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// When to call it again at the latest, if [`Router::wake`] does not ask for it before; never if it is infinite, at once if it
    /// is zero.
    pub next: Duration,
}

/// Why a route passes a topic on to nobody.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Refusal {
    /// The route.
    pub route: String,
    /// The topic at the source.
    pub topic: String,
    /// The participant that it does not go to.
    pub to: String,
    /// Why not.
    pub why: String,
}

/// One output.
#[derive(Clone, PartialEq, Debug)]
pub struct RouteState {
    /// The route.
    pub route: String,
    /// The topic at the source.
    pub topic: String,
    /// The participant that it goes to.
    pub to: String,
    /// The topic there.
    pub output_topic: String,
    /// The routers before this one.
    pub path: Vec<String>,
    /// How many writers it passes on.
    pub writers: usize,
    /// What has passed.
    pub stats: FlowStats,
}

/// The key of a kind, and the routers before this one.
type Way = (Arc<str>, Vec<String>);

struct Entry {
    flow: Arc<Flow>,
    kind: Arc<Kind>,
    rule: RouteConfig,
    writers: usize,
    /// Since when it has no writers.
    ending: Option<WallTime>,
}

/// A participant, and what tells that others came or went.
struct Side {
    participant: DomainParticipant,
    _publications: Option<DataReader<DcpsPublication>>,
    _subscriptions: Option<DataReader<DcpsSubscription>>,
}

/// See the [crate].
pub struct Router {
    config: Arc<RouterConfig>,
    forwarding: Forwarding,
    sides: Vec<Side>,
    participants: Vec<DomainParticipant>,
    wake: Arc<GuardCondition>,
    /// Discovery has news.
    news: Arc<AtomicBool>,
    planner: Planner,
    requests: Requests,
    flows: BTreeMap<Way, Entry>,
    /// Of routes that are not as they were. They take nothing new, and end once everybody has what they had taken over.
    leaving: Vec<Entry>,
    /// The same, in a plan, until what takes their place is open.
    replaced: BTreeMap<Way, Entry>,
    refusals: Vec<Refusal>,
    plan_at: Option<WallTime>,
    planned: Option<WallTime>,
    ending: bool,
    /// Outputs that say themselves that they are alive.
    manual: Option<Duration>,
    asserted: WallTime,
    number: u64,
    status: StatusWriters,
}

impl Router {
    /// Joins the domains. Data passes once [`pump`](Self::pump) or [`run`](Self::run) is called.
    ///
    /// # Errors
    /// When a participant cannot be created.
    pub fn new(config: RouterConfig) -> Result<Self, RouterError> {
        Self::with_forwarding(config, Forwarding::Inline)
    }

    /// Joins the domains, with a choice where samples are passed on.
    ///
    /// # Errors
    /// When a participant cannot be created.
    pub fn with_forwarding(config: RouterConfig, forwarding: Forwarding) -> Result<Self, RouterError> {
        let (wake, news) = (Arc::new(GuardCondition::new()), Arc::new(AtomicBool::new(true)));
        let sides = config.participants.iter().map(|it| join(&config.name, it, &news, &wake));
        let sides = sides.collect::<Result<Vec<_>, _>>()?;
        let participants: Vec<_> = sides.iter().map(|side| side.participant.clone()).collect();
        let status = StatusWriters::new(&config, &participants);
        Ok(Self {
            config: Arc::new(config),
            forwarding,
            sides,
            participants,
            wake,
            news,
            planner: Planner::default(),
            requests: Requests::default(),
            flows: BTreeMap::new(),
            leaving: Vec::new(),
            replaced: BTreeMap::new(),
            refusals: Vec::new(),
            plan_at: None,
            planned: None,
            ending: false,
            manual: None,
            asserted: WallTime::default(),
            number: 0,
            status,
        })
    }

    /// True when there is something to do: for a wait-set of whoever pumps.
    #[must_use]
    pub fn wake(&self) -> &GuardCondition {
        &self.wake
    }

    /// The participants, in the order of the configuration.
    #[must_use]
    pub fn participants(&self) -> &[DomainParticipant] {
        &self.participants
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> &RouterConfig {
        &self.config
    }

    /// The outputs.
    #[must_use]
    pub fn states(&self) -> Vec<RouteState> {
        self.flows.values().filter_map(|entry| self.state(entry)).collect()
    }

    fn state(&self, entry: &Entry) -> Option<RouteState> {
        let kind = &entry.kind;
        Some(RouteState {
            route: entry.rule.name.clone(),
            topic: kind.topic.to_string(),
            to: self.config.participants.get(kind.to)?.name.clone(),
            output_topic: kind.output.topic.clone(),
            path: kind.path.clone(),
            writers: entry.writers,
            stats: entry.flow.stats(),
        })
    }

    /// What is not passed on although a route is about it, and why.
    #[must_use]
    pub fn refusals(&self) -> &[Refusal] {
        &self.refusals
    }

    /// Does what there is to do, without waiting. While nothing comes it allocates nothing.
    pub fn pump(&mut self) -> Progress {
        let Some(now) = self.participants.first().map(DomainParticipant::current_time) else {
            return Progress { next: Duration::INFINITE };
        };
        self.wake.set_trigger_value(false);
        if self.news.swap(false, Ordering::SeqCst) {
            let earliest = self.planned.map_or(now, |planned| planned.plus(PLANNING).max(now));
            self.plan_at = Some(self.plan_at.map_or(earliest, |at| at.min(earliest)));
        }
        if self.plan_at.is_some_and(|at| at <= now || at > now.plus(Duration::from_secs(1))) {
            self.replan(now);
        }
        let mut next = self.pass();
        if self.ending {
            self.end_idle(now);
            next = next.min(ENDING);
        }
        next = next.min(self.assert_liveliness(now)).min(self.tell(now));
        if let Some(at) = self.plan_at {
            next = next.min(at.since(now).max(Duration::ZERO));
        }
        Progress { next }
    }

    fn pass(&self) -> Duration {
        let mut next = Duration::INFINITE;
        let all = self.flows.values().chain(&self.leaving);
        for entry in all.filter(|entry| entry.flow.is_ready()) {
            match entry.flow.pass() {
                Turn::Empty => {}
                Turn::More => next = Duration::ZERO,
                Turn::Full => next = next.min(ROOM),
            }
        }
        next
    }

    /// Waits and pumps until `stop` is true.
    ///
    /// # Errors
    /// When this thread cannot wait.
    pub fn run(&mut self, stop: &GuardCondition) -> Result<(), RouterError> {
        let set = WaitSet::new();
        set.attach_condition(self.wake.condition());
        set.attach_condition(stop.condition());
        while !stop.condition().trigger_value() {
            let next = self.pump().next;
            if next == Duration::ZERO {
                continue;
            }
            match set.wait(next) {
                Ok(_) | Err(WaitError::Timeout) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Takes another configuration. What is the same in both goes on undisturbed: a participant with the same domain and
    /// configuration, an output of a route with the same keys.
    ///
    /// # Errors
    /// When a participant cannot be created; then nothing has changed. The name cannot change: it is that of the endpoints.
    pub fn reconfigure(&mut self, config: RouterConfig) -> Result<(), RouterError> {
        let kept = |new: &ParticipantConfig| {
            let same = |old: &ParticipantConfig| {
                (&old.name, old.domain, &old.source) == (&new.name, new.domain, &new.source)
            };
            self.config.name == config.name && self.config.participants.iter().any(same)
        };
        let changed: Vec<bool> = config.participants.iter().map(|new| !kept(new)).collect();
        let mut new = Vec::new();
        for (it, changed) in config.participants.iter().zip(&changed) {
            new.push(changed.then(|| join(&config.name, it, &self.news, &self.wake)).transpose()?);
        }
        let mut old: BTreeMap<String, Side> =
            self.config.participants.iter().map(|it| it.name.clone()).zip(self.sides.drain(..)).collect();
        let sides = config.participants.iter().zip(new);
        self.sides = sides.filter_map(|(it, new)| new.or_else(|| old.remove(&it.name))).collect();
        // Outputs of participants that go, or are new under an old name.
        let gone = |name: &str| {
            let at = config.participants.iter().position(|it| it.name == name);
            at.is_none_or(|at| changed.get(at).copied().unwrap_or(true))
        };
        let names: Vec<String> = self.config.participants.iter().map(|it| it.name.clone()).collect();
        let ended =
            |entry: &Entry| gone(&entry.rule.from) || names.get(entry.kind.to).is_none_or(|to| gone(to));
        let ended = self.flows.iter().filter(|(_, entry)| ended(entry)).map(|(key, _)| key.clone());
        let now = self.participants.first().map_or_else(WallTime::default, DomainParticipant::current_time);
        self.leave(ended.collect(), now);
        drop(old);
        self.participants = self.sides.iter().map(|side| side.participant.clone()).collect();
        self.status = StatusWriters::new(&config, &self.participants);
        self.config = Arc::new(config);
        self.planner.forget();
        self.news.store(true, Ordering::SeqCst);
        self.wake.set_trigger_value(true);
        Ok(())
    }

    fn replan(&mut self, now: WallTime) {
        (self.plan_at, self.planned) = (None, Some(now));
        let Plan { mut wanted, refused } = self.planner.plan(&self.config, &self.participants);
        self.refusals.clear();
        for refused in refused {
            self.refuse((refused.route, refused.to), &refused.topic, refused.why);
        }
        self.settle_known(now, &mut wanted);
        for (key, wanted) in wanted {
            self.open(now, key, &wanted);
        }
        for former in std::mem::take(&mut self.replaced).into_values() {
            former.flow.end_input();
            self.leave_with(former, now);
        }
        self.refusals.sort_unstable();
        self.refusals.dedup();
        let manual = |entry: &Entry| {
            let liveliness = entry.kind.writer.liveliness;
            (liveliness.kind != LivelinessKind::Automatic).then_some(liveliness.lease_duration)
        };
        self.manual = self.flows.values().filter_map(manual).filter(|lease| !lease.is_infinite()).min();
        self.status.changed();
    }

    /// Brings the outputs that exist up to date, and takes them from what is wanted.
    fn settle_known(&mut self, now: WallTime, wanted: &mut BTreeMap<Way, Wanted>) {
        let routes = &self.config.routes;
        let has_changed = |(key, entry): &(&Way, &Entry)| {
            wanted.get(*key).is_some_and(|found| routes.get(found.kind.route) != Some(&entry.rule))
        };
        let changed: Vec<Way> = self.flows.iter().filter(has_changed).map(|(key, _)| key.clone()).collect();
        for key in changed {
            self.replaced.extend(self.flows.remove_entry(&key));
        }
        for (key, entry) in &mut self.flows {
            let Some(found) = wanted.remove(key) else {
                entry.ending.get_or_insert(now);
                continue;
            };
            entry.writers = found.sources.writers.len();
            entry.flow.set_sources(&found.sources);
            (entry.kind, entry.ending) = (found.kind, None);
        }
        self.ending = !self.leaving.is_empty() || self.flows.values().any(|entry| entry.ending.is_some());
    }

    /// Ends outputs once everybody has what they had taken over.
    fn leave(&mut self, keys: Vec<Way>, now: WallTime) {
        for key in keys {
            let Some(entry) = self.flows.remove(&key) else { continue };
            entry.flow.end_input();
            self.leave_with(entry, now);
        }
    }

    fn leave_with(&mut self, mut entry: Entry, now: WallTime) {
        entry.ending.get_or_insert(now);
        self.leaving.push(entry);
        self.ending = true;
    }

    fn open(&mut self, now: WallTime, key: Way, wanted: &Wanted) {
        let kind = &wanted.kind;
        let there = self.flows.len() + self.leaving.len() + self.replaced.len();
        if there >= self.config.limits.flows {
            let why = format!("there are {there} outputs already (limits.outputs)");
            return self.refuse((kind.route, kind.to), &kind.topic, why);
        }
        let Some(rule) = self.config.routes.get(kind.route) else { return };
        let at = |name: &str| self.config.participants.iter().position(|it| it.name == name);
        let from = at(&rule.from).and_then(|at| self.participants.get(at));
        let (Some(from), Some(to)) = (from, self.participants.get(kind.to)) else { return };
        let Some(writer) = wanted.sources.writers.first().copied() else { return };
        self.number += 1;
        let (config, number) = (&self.config, self.number);
        let opening = Opening { config, route: rule, kind, from, to, writer, number };
        let inline = self.forwarding == Forwarding::Inline;
        let former = self.replaced.get(&key).filter(|it| opening.goes_on_with(&it.flow, &it.rule));
        let transferred = former.and_then(|it| it.flow.transfer_input());
        let opened = opening.open(&self.requests, &self.wake, inline, &wanted.sources, transferred);
        match opened {
            Ok(flow) => {
                let (rule, writers) = (rule.clone(), wanted.sources.writers.len());
                let entry = Entry { flow, kind: Arc::clone(kind), rule, writers, ending: None };
                self.flows.insert(key, entry);
            }
            Err(CannotOpen::TypePending) => {
                self.plan_at = Some(now.plus(TYPES));
                self.refuse((kind.route, kind.to), &kind.topic, "its type is being asked for".into());
            }
            Err(CannotOpen::Because(why)) => self.refuse((kind.route, kind.to), &kind.topic, why),
        }
    }

    fn refuse(&mut self, (route, to): (usize, usize), topic: &str, why: String) {
        let route = self.config.routes.get(route).map(|it| it.name.clone()).unwrap_or_default();
        let to = self.config.participants.get(to).map(|it| it.name.clone()).unwrap_or_default();
        self.refusals.push(Refusal { route, topic: topic.to_owned(), to, why });
    }

    /// Ends outputs without writers once everybody has what was passed on.
    fn end_idle(&mut self, now: WallTime) {
        let requests = &self.requests;
        let goes_on = |entry: &Entry| {
            let Some(since) = entry.ending else { return true };
            let late = now.since(since) >= LINGER || now < since;
            let done =
                late || now.since(since) >= ENDING && !entry.flow.is_ready() && entry.flow.is_acknowledged();
            if done && let Some(output) = entry.flow.output().guid() {
                requests.forget(output);
            }
            !done
        };
        self.flows.retain(|_, entry| goes_on(entry));
        self.leaving.retain(goes_on);
        self.ending = !self.leaving.is_empty() || self.flows.values().any(|entry| entry.ending.is_some());
    }

    /// What waits at the source as there are too many instances.
    fn crowded(&self) -> impl Iterator<Item = Refusal> {
        let most = self.config.limits.instances;
        let crowded = self.flows.values().filter(|entry| entry.flow.has_too_many_instances());
        crowded.filter_map(move |entry| {
            let state = self.state(entry)?;
            let why = format!(
                "more than {most} instances have come (limits.instances); the others wait at their writers"
            );
            Some(Refusal { route: state.route, topic: state.topic, to: state.to, why })
        })
    }

    fn assert_liveliness(&mut self, now: WallTime) -> Duration {
        let Some(lease) = self.manual else { return Duration::INFINITE };
        let period = Duration::from_nanos((lease.as_nanos() / 3).max(1_000_000));
        let since = now.since(self.asserted);
        if since < Duration::ZERO || since >= period {
            self.asserted = now;
            let manual = |entry: &&Entry| entry.kind.writer.liveliness.kind != LivelinessKind::Automatic;
            self.flows.values().filter(manual).for_each(|entry| entry.flow.assert_liveliness());
            return period;
        }
        Duration::from_nanos(period.as_nanos() - since.as_nanos())
    }

    fn tell(&mut self, now: WallTime) -> Duration {
        let Some(left) = self.status.left(now) else { return Duration::INFINITE };
        if left > Duration::ZERO {
            return left;
        }
        let (states, mut status) = (self.states(), std::mem::take(&mut self.status));
        let mut refusals = self.refusals.clone();
        refusals.extend(self.crowded());
        let next = status.tell(now, &self.config.name, &states, &refusals);
        self.status = status;
        next
    }
}

fn join(
    router: &str,
    it: &ParticipantConfig,
    news: &Arc<AtomicBool>,
    wake: &Arc<GuardCondition>,
) -> Result<Side, RouterError> {
    let mark = ServiceMark { kind: "router".into(), id: router.into(), path: Vec::new() };
    let builder = DomainParticipant::builder(it.domain)
        .name(format!("dunlin-route {router} {}", it.name))
        .qos(DomainParticipantQos::default().service(&mark));
    let builder = match &it.config {
        Some(config) => builder.config(config.clone()),
        None => builder,
    };
    let error = |error| RouterError::Participant { name: it.name.clone(), error };
    let participant = builder.build().map_err(error)?;
    let builtin = participant.builtin_subscriber();
    let publications = builtin.lookup_datareader::<DcpsPublication>(DCPS_PUBLICATION);
    let subscriptions = builtin.lookup_datareader::<DcpsSubscription>(DCPS_SUBSCRIPTION);
    if let Some(reader) = &publications {
        reader.set_listener(teller::<DcpsPublication>(news, wake), StatusMask::DATA_AVAILABLE);
    }
    if let Some(reader) = &subscriptions {
        reader.set_listener(teller::<DcpsSubscription>(news, wake), StatusMask::DATA_AVAILABLE);
    }
    Ok(Side { participant, _publications: publications, _subscriptions: subscriptions })
}

/// Notes that discovery has news. What they are is looked up later.
fn teller<T: dunlin::DdsType>(
    news: &Arc<AtomicBool>,
    wake: &Arc<GuardCondition>,
) -> impl Fn(&DataReader<T>) + Send + Sync + 'static {
    let (news, wake) = (Arc::clone(news), Arc::clone(wake));
    move |reader| {
        // It is told again of what is taken only.
        let _ = reader.take(usize::MAX);
        news.store(true, Ordering::SeqCst);
        wake.set_trigger_value(true);
    }
}
