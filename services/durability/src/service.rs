//! The service: which topics there are, and the loop.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dunlin::qos::{DomainParticipantQos, ServiceMark};
use dunlin::{
    CreateEntityError, CreateParticipantError, DCPS_PUBLICATION, DataReader, DcpsPublication,
    DeliveredHistory, DomainParticipant, Duration, DynamicType, GuardCondition, Guid, StatusMask,
    TypeDiscovery, WaitError, WaitSet, WallTime,
};

use crate::aligning::Post;
use crate::config::ServiceConfig;
use crate::feed::TopicState;
use crate::history::History;
use crate::keeper::{Keeper, OpenError};
use crate::kept::{AnyKeeper, Bell, KeptTopic, Opening, TURN};
use crate::store::{BackendError, MemoryStore, Store, StoreError, open_backend};
use crate::topic::{Topic, TopicKey};
use crate::writers::{Writer, Writers};

/// Between two looks at what discovery knows, if nothing is new.
const LOOK: Duration = Duration::from_secs(1);
/// Until a type that is asked for is looked for again.
const TYPES: Duration = Duration::from_millis(20);
/// How long after its start a service waits for writers that it knew before.
const GRACE: Duration = Duration::from_secs(30);
/// Until a store that could not be written is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// Why a service cannot be made, or goes on no longer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// The participant cannot be created.
    #[error("it cannot take part in the domain: {0}")]
    Participant(#[from] CreateParticipantError),
    /// The back end cannot be used.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The topic in which services speak with each other cannot be made.
    #[error("it cannot speak with other services: {0}")]
    Entity(#[from] CreateEntityError),
    /// What the store has cannot be taken up.
    #[error("the store: {0}")]
    Open(#[from] OpenError),
    /// The loop cannot wait here.
    #[error("the service cannot wait: {0}")]
    Wait(#[from] WaitError),
}

/// Where a service keeps what it has.
pub struct Stores {
    /// TRANSIENT data.
    pub transient: Box<dyn Store>,
    /// PERSISTENT data; without it that is refused.
    pub persistent: Option<Box<dyn Store>>,
}

/// See the [crate].
pub struct Service {
    config: ServiceConfig,
    mark: ServiceMark,
    since: i64,
    participant: DomainParticipant,
    bell: Bell,
    _publications: Option<DataReader<DcpsPublication>>,
    post: Post,
    writers: Writers,
    transient: AnyKeeper,
    persistent: Option<AnyKeeper>,
    topics: BTreeMap<TopicKey, KeptTopic>,
    /// Topics that are not kept although they are to last, and why.
    refusals: BTreeMap<TopicKey, String>,
    /// Topics whose writers do not ask for the same, and what they are kept by.
    differences: BTreeMap<TopicKey, String>,
    look_at: WallTime,
    retry_at: Option<WallTime>,
    failed: Option<String>,
    /// Why history cannot be read at the moment.
    unreadable: Option<String>,
    /// The topic that was drained last, so that each one has its turn.
    drained: Option<TopicKey>,
}

impl Service {
    /// Opens the file and joins the domain. Data is kept once [`pump`](Self::pump) or [`run`](Self::run) is called.
    ///
    /// # Errors
    /// When the file cannot be used, or the participant cannot be created.
    pub fn new(config: ServiceConfig) -> Result<Self, ServiceError> {
        let persistent =
            config.persistent.as_ref().map(|it| open_backend(it, config.cold.as_ref())).transpose()?;
        Self::with_stores(config, Stores { transient: Box::new(MemoryStore::default()), persistent })
    }

    /// The same with stores of one's own.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_stores(config: ServiceConfig, stores: Stores) -> Result<Self, ServiceError> {
        let contract = |description: &[u8]| Topic::decode(description).map(|topic| topic.contract);
        let transient = Keeper::open(stores.transient, config.quota, contract)?;
        let persistent =
            stores.persistent.map(|store| Keeper::open(store, config.quota, contract)).transpose()?;
        let mark = ServiceMark { kind: "durability".into(), id: config.name.clone(), path: Vec::new() };
        let builder = DomainParticipant::builder(config.domain)
            .name(format!("dunlin-store {}", config.name))
            .qos(DomainParticipantQos::default().service(&mark).property(DeliveredHistory::PROPERTY, "1"));
        let builder = match &config.config {
            Some(settings) => builder.config(settings.clone()),
            None => builder,
        };
        let participant = builder.build()?;
        let bell = Bell { wake: Arc::new(GuardCondition::new()), news: Arc::new(AtomicBool::new(true)) };
        let publications =
            participant.builtin_subscriber().lookup_datareader::<DcpsPublication>(DCPS_PUBLICATION);
        if let Some(reader) = &publications {
            let bell = bell.clone();
            let told = move |reader: &DataReader<DcpsPublication>| {
                // It is told again of what is taken only.
                let _ = reader.take(usize::MAX);
                bell.discovery();
            };
            reader.set_listener(told, StatusMask::DATA_AVAILABLE);
        }
        let now = participant.current_time();
        let mut post = Post::open(&participant, &mark, &bell.wake)?;
        post.announce();
        let mut service = Self {
            mark,
            since: now.0,
            bell,
            _publications: publications,
            post,
            writers: Writers::default(),
            transient,
            persistent,
            topics: BTreeMap::new(),
            refusals: BTreeMap::new(),
            differences: BTreeMap::new(),
            look_at: now,
            retry_at: None,
            failed: None,
            unreadable: None,
            drained: None,
            participant,
            config,
        };
        service.take_up();
        Ok(service)
    }

    /// Opens the topics that the stores have.
    fn take_up(&mut self) {
        let of = |keeper: &AnyKeeper| -> Vec<_> {
            keeper.groups().filter_map(|(id, it)| Topic::decode(it).map(|topic| (id, topic))).collect()
        };
        let known: Vec<_> =
            of(&self.transient).into_iter().chain(self.persistent.iter().flat_map(of)).collect();
        for (group, topic) in known {
            self.open(topic, |_, _| group);
        }
    }

    fn open(&mut self, topic: Topic, group: impl FnOnce(&mut AnyKeeper, &Topic) -> u32) {
        let key = topic.key.clone();
        if key.persistent && self.persistent.is_none() {
            let why = "it is PERSISTENT, and the configuration names no place for it, such as file = \"…\"";
            self.refusals.insert(key, why.into());
            return;
        }
        if self.topics.len() >= self.config.most_topics && !self.make_room() {
            let why = format!("there are {} topics already (limits.topics)", self.topics.len());
            self.refusals.insert(key, why);
            return;
        }
        let keeper = if key.persistent { self.persistent.as_mut() } else { Some(&mut self.transient) };
        let Some(keeper) = keeper else { return };
        let since = self.since.to_string();
        let opening = Opening {
            participant: &self.participant,
            mark: &self.mark,
            since: &since,
            instances: self.config.quota.instances,
            bell: &self.bell,
        };
        let opened = KeptTopic::open(topic.clone(), 0, &opening);
        // Whoever meets the service later knows this topic once that is known.
        self.post.announce();
        match opened {
            Ok(mut kept) => {
                kept.group = group(keeper, &topic);
                self.refusals.remove(&key);
                self.topics.insert(key, kept);
            }
            Err(error) => _ = self.refusals.insert(key, error.to_string()),
        }
    }

    /// Lets go a topic of which nothing is kept and which nobody writes. False if there is none.
    fn make_room(&mut self) -> bool {
        let written: BTreeSet<&TopicKey> =
            self.writers.all().filter_map(|writer| writer.key.as_ref()).collect();
        let is_empty = |(key, kept): &(&TopicKey, &KeptTopic)| {
            let keeper = if key.persistent { self.persistent.as_ref() } else { Some(&self.transient) };
            let history = keeper.and_then(|keeper| keeper.history(kept.group));
            kept.is_idle() && !written.contains(key) && history.is_none_or(History::is_empty)
        };
        let Some(key) = self.topics.iter().find(is_empty).map(|(key, _)| key.clone()) else { return false };
        let keeper = if key.persistent { self.persistent.as_mut() } else { Some(&mut self.transient) };
        if let (Some(kept), Some(keeper)) = (self.topics.remove(&key), keeper) {
            keeper.drop_group(kept.group);
        }
        true
    }

    /// True when there is something to do: for a wait-set of whoever pumps.
    #[must_use]
    pub fn wake(&self) -> &GuardCondition {
        &self.bell.wake
    }

    /// The participant.
    #[must_use]
    pub const fn participant(&self) -> &DomainParticipant {
        &self.participant
    }

    /// The topics that are kept.
    #[must_use]
    pub fn states(&self) -> Vec<TopicState> {
        self.topics.iter().filter_map(|(key, kept)| self.state(key, kept)).collect()
    }

    fn state(&self, key: &TopicKey, kept: &KeptTopic) -> Option<TopicState> {
        let keeper = if key.persistent { self.persistent.as_ref()? } else { &self.transient };
        let history = keeper.history(kept.group)?;
        Some(TopicState {
            topic: key.topic.clone(),
            partitions: key.partitions.clone(),
            persistent: key.persistent,
            samples: history.len(),
            instances: history.instances(),
            octets: history.octets(),
            counters: kept.counters,
            refused: kept.refused(),
        })
    }

    /// Topics that are not kept although their writers ask for it, and why.
    pub fn refusals(&self) -> impl Iterator<Item = (&str, &str)> {
        self.refusals.iter().map(|(key, why)| (&*key.topic, &**why))
    }

    /// Topics whose writers ask for different DURABILITY_SERVICE, LIFESPAN or DESTINATION_ORDER, and what they are kept by.
    pub fn differences(&self) -> impl Iterator<Item = (&str, &str)> {
        self.differences.iter().map(|(key, how)| (&*key.topic, &**how))
    }

    /// Why the store cannot be written; nothing is acknowledged meanwhile.
    #[must_use]
    pub fn failure(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// What does not work although data is kept, such as a cold tier that is away.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        let unreadable = self.unreadable.as_ref().map(|why| format!("late readers wait for history: {why}"));
        unreadable.or_else(|| self.persistent.as_ref().and_then(Keeper::trouble))
    }

    /// Does what there is to do, without waiting for anything but the back end. Returns when to call it again at the latest, if
    /// [`wake`](Self::wake) does not ask for it before.
    pub fn pump(&mut self) -> Duration {
        let now = self.participant.current_time();
        self.bell.wake.set_trigger_value(false);
        let is_due = self.look_at <= now || self.look_at > now.plus(LOOK);
        if self.bell.news.swap(false, Ordering::SeqCst) || is_due {
            self.look(now);
        }
        let mut next = self.look_at.since(now).max(Duration::ZERO);
        if self.retry_at.is_some_and(|at| at > now && at <= now.plus(RETRY)) {
            return next.min(RETRY);
        }
        // What a store could not take waits in memory: nothing is added to it.
        if self.retry_at.is_some() && !self.commit_or_fail(now) {
            return next.min(RETRY);
        }
        if self.take_in(now) {
            next = Duration::ZERO;
        }
        if !self.commit_or_fail(now) {
            return next.min(RETRY);
        }
        next.min(self.align(now)).min(self.give_out(now))
    }

    /// Speaks with other services. Returns how long to wait for the next turn.
    fn align(&mut self, now: WallTime) -> Duration {
        let (messages, more) = self.post.take();
        for message in &messages {
            let found = self.topics.iter_mut().find(|(_, kept)| kept.reader_guid() == Some(message.to()));
            let Some((key, kept)) = found else { continue };
            let keeper = if key.persistent { self.persistent.as_ref() } else { Some(&self.transient) };
            if let Some(keeper) = keeper {
                kept.told(now, message, keeper, &mut self.post);
            }
        }
        let asked = self.topics.values_mut().map(|kept| kept.ask(now, &mut self.post));
        let next = asked.min().unwrap_or(Duration::INFINITE);
        if self.post.send() {
            return next.min(Duration::from_millis(1));
        }
        if more { Duration::ZERO } else { next }
    }

    /// Commits; if that fails, notes why and when to try again.
    fn commit_or_fail(&mut self, now: WallTime) -> bool {
        let failure = self.commit().err();
        self.retry_at = failure.as_ref().map(|_| now.plus(RETRY));
        self.failed = failure.map(|error| error.to_string());
        self.failed.is_none()
    }

    /// Takes what has arrived. True if there is more.
    fn take_in(&mut self, now: WallTime) -> bool {
        let more = self.drain(now);
        let keepers = self.persistent.iter_mut().chain([&mut self.transient]);
        for keeper in keepers {
            if keeper.next_due().is_some_and(|due| due <= now) {
                keeper.prune(now);
            }
        }
        more
    }

    /// Takes what readers have, as much as one commit is to have. The topic after the one that was the last to be drained begins.
    fn drain(&mut self, now: WallTime) -> bool {
        let last = self.drained.take();
        let is_after = |key: &TopicKey| last.as_ref().is_none_or(|last| key > last);
        let mut octets = 0;
        for after in [true, false] {
            for (key, kept) in self.topics.iter_mut().filter(|(key, _)| is_after(key) == after) {
                let keeper =
                    if key.persistent { self.persistent.as_mut() } else { Some(&mut self.transient) };
                let Some(keeper) = keeper else { continue };
                octets += kept.drain(keeper, &self.writers, (now, TURN - octets));
                if octets >= TURN {
                    self.drained = Some(key.clone());
                    return true;
                }
            }
        }
        false
    }

    /// Makes last what was taken in, and only then acknowledges it.
    fn commit(&mut self) -> Result<(), StoreError> {
        self.transient.commit()?;
        if let Some(keeper) = &mut self.persistent {
            keeper.commit()?;
        }
        self.topics.values_mut().for_each(KeptTopic::acknowledge);
        Ok(())
    }

    /// Gives readers their history. Returns how long to wait for the next turn.
    fn give_out(&mut self, now: WallTime) -> Duration {
        let mut next = Duration::INFINITE;
        self.unreadable = None;
        for (key, kept) in &mut self.topics {
            let keeper = if key.persistent { self.persistent.as_mut() } else { Some(&mut self.transient) };
            let Some(keeper) = keeper else { continue };
            kept.end_instances(&keeper.take_without_writers(kept.group));
            match kept.feed(keeper, &self.writers) {
                Ok(wait) => next = next.min(wait),
                Err(error) => {
                    self.unreadable = Some(error.to_string());
                    next = next.min(RETRY);
                }
            }
        }
        let keepers = self.persistent.iter().chain([&self.transient]);
        let due = keepers.filter_map(Keeper::next_due).min();
        next.min(due.map_or(Duration::INFINITE, |due| due.since(now).max(Duration::ZERO)))
    }

    /// Looks at what discovery knows.
    fn look(&mut self, now: WallTime) {
        self.look_at = now.plus(LOOK);
        let gone = self.writers.learn(&self.participant);
        self.lose(now, &gone);
        let new: Vec<Writer> = self.writers.all().filter(|writer| self.is_new(writer)).cloned().collect();
        for writer in new {
            self.meet(now, &writer);
        }
        self.follow_contracts(now);
        // Anybody can name any topic: what nobody writes any more is not remembered.
        let written: BTreeSet<&TopicKey> =
            self.writers.all().filter_map(|writer| writer.key.as_ref()).collect();
        self.refusals.retain(|key, _| written.contains(key));
        for (key, kept) in &mut self.topics {
            let keeper = if key.persistent { self.persistent.as_mut() } else { Some(&mut self.transient) };
            if let Some(keeper) = keeper {
                kept.look_at_readers(keeper, &self.writers, (self.since, now));
            }
        }
    }

    /// Sees which topics have writers that do not ask for the same. The first one decides, and another one once none is left that asks
    /// for that: DDS 1.4 §2.2.3.5 does not say which one counts.
    fn follow_contracts(&mut self, now: WallTime) {
        let mut others = BTreeMap::<&TopicKey, (bool, Option<&Writer>)>::new();
        for writer in self.writers.all().filter(|writer| !writer.of_service) {
            let kept = writer.key.as_ref().and_then(|key| self.topics.get_key_value(key));
            let Some((key, kept)) = kept else { continue };
            let (is_asked_for, other) = others.entry(key).or_default();
            match writer.contract == kept.topic.contract {
                true => *is_asked_for = true,
                false => *other = other.or(Some(writer)),
            }
        }
        let settled = now.since(WallTime(self.since)) >= GRACE;
        let (mut differences, mut changes) = (BTreeMap::new(), Vec::new());
        for (key, (is_asked_for, other)) in others {
            let (Some(other), Some(kept)) = (other, self.topics.get(key)) else { continue };
            let (by, asked) = (&kept.topic.contract, &other.contract);
            differences.insert(key.clone(), format!("it is kept by {by}, and a writer asks for {asked}"));
            if settled && !is_asked_for {
                changes.push((key.clone(), other.clone()));
            }
        }
        self.differences = differences;
        for (key, writer) in changes {
            if self.renew(now, &key, &writer).is_some() {
                self.differences.remove(&key);
            }
        }
    }

    /// Keeps a topic as a writer asks for it. None if that cannot be now; it is tried again.
    fn renew(&mut self, now: WallTime, key: &TopicKey, writer: &Writer) -> Option<()> {
        if self.retry_at.is_some() || !self.commit_or_fail(now) {
            return None;
        }
        let kept = self.topics.get_mut(key)?;
        let keeper = if key.persistent { self.persistent.as_mut() } else { Some(&mut self.transient) }?;
        let (contract, deadline) = (writer.contract.clone(), writer.data.qos.deadline.period);
        let topic = Topic { contract, deadline, ..kept.topic.clone() };
        let since = self.since.to_string();
        let opening = Opening {
            participant: &self.participant,
            mark: &self.mark,
            since: &since,
            instances: self.config.quota.instances,
            bell: &self.bell,
        };
        if kept.is_giving() || keeper.renew(kept.group, topic.contract.clone(), topic.encode()).is_err() {
            return None;
        }
        kept.renew(topic, &opening).ok()?;
        self.post.announce();
        Some(())
    }

    /// Takes note of writers that have gone, and after a while of those that never came back.
    fn lose(&mut self, now: WallTime, gone: &[Guid]) {
        let settled = now.since(WallTime(self.since)) >= GRACE;
        for (key, kept) in &mut self.topics {
            let keeper = if key.persistent { self.persistent.as_mut() } else { Some(&mut self.transient) };
            let Some(keeper) = keeper else { continue };
            let Some(history) = keeper.history(kept.group) else { continue };
            let is_lost =
                |writer: &Guid| gone.contains(writer) || settled && self.writers.get(*writer).is_none();
            let lost: Vec<Guid> = history.writers().filter(is_lost).collect();
            for writer in lost {
                keeper.writer_lost(kept.group, writer, now);
            }
        }
    }

    fn is_new(&self, writer: &Writer) -> bool {
        let Some(key) = &writer.key else { return false };
        !self.topics.contains_key(key)
            && writer.data.qos.property.service().is_none_or(|mark| mark.id != self.mark.id)
            && self.is_wanted(key)
    }

    /// Whether the configuration is about a topic.
    fn is_wanted(&self, key: &TopicKey) -> bool {
        let default = [String::new()];
        let partitions = if key.partitions.is_empty() { &default[..] } else { &key.partitions[..] };
        self.config.topics.judge(&key.topic).is_ok()
            && self.config.types.judge(&key.type_name).is_ok()
            && partitions.iter().any(|name| self.config.partitions.judge(name).is_ok())
    }

    /// Opens the topic of a writer.
    fn meet(&mut self, now: WallTime, writer: &Writer) {
        let Some(key) = writer.key.clone().filter(|key| !self.topics.contains_key(key)) else { return };
        let refuse = |service: &mut Self, why: String| _ = service.refusals.insert(key.clone(), why);
        if writer.data.publisher_qos.presentation.coherent_access {
            return refuse(self, "its coherent sets would not be whole".into());
        }
        let ty = match self.participant.discovered_type(writer.data.guid) {
            TypeDiscovery::Known(known) => match DynamicType::new(known.graph, known.root) {
                Ok(ty) => Some(ty),
                Err(error) => return refuse(self, format!("its type cannot be used: {error}")),
            },
            TypeDiscovery::NotAnnounced => None,
            TypeDiscovery::Pending => {
                self.look_at = now.plus(TYPES);
                return refuse(self, "its type is being asked for".into());
            }
            TypeDiscovery::Refused(why) => return refuse(self, format!("its type cannot be known: {why}")),
        };
        let topic = Topic::of(key.clone(), &writer.data, ty.as_ref());
        self.open(topic, |keeper, topic| keeper.add(topic.contract.clone(), topic.encode()));
    }

    /// Waits and pumps until `stop` is true.
    ///
    /// # Errors
    /// When this thread cannot wait.
    pub fn run(&mut self, stop: &GuardCondition) -> Result<(), ServiceError> {
        let set = WaitSet::new();
        set.attach_condition(self.bell.wake.condition());
        set.attach_condition(stop.condition());
        while !stop.condition().trigger_value() {
            let next = self.pump();
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
}
