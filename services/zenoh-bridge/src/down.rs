//! From zenoh to DDS: what readers of one topic and partition get.

mod ask;
mod foreign;
mod owners;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dunlin::Guid;
use foreign::Foreign;
use owners::Owners;
use zenoh::Wait;
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::Subscriber;
use zenoh::sample::Locality;

use crate::attachment::{Meta, SourceId};
use crate::bridge::Shared;
use crate::key::Convention;
use crate::offer::Offer;
use crate::output::{Output, Written};
use crate::queue::{Entry, Incoming, News, Queue, wall_time};
use crate::source::{Change, Outcome, Room, Source};
use crate::stats::Count;
use crate::token::{self, Announced};
use crate::types;

/// Entries taken in one turn, so that others have theirs.
const TURN: usize = 1024;

/// What a route from zenoh is about.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct DownKey {
    pub(crate) key: String,
    pub(crate) topic: String,
    pub(crate) type_name: String,
    pub(crate) partition: String,
}

/// What its readers are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Wish {
    pub(crate) convention: Convention,
    /// One that announces the type.
    pub(crate) reader: Guid,
    /// What suits them all.
    pub(crate) offer: Offer,
}

/// How a turn ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    Empty,
    More,
    /// An output has no room, or waits for its readers.
    Waits,
}

/// A route.
pub(crate) struct DownRoute {
    pub(crate) key: DownKey,
    pub(crate) convention: Convention,
    pub(crate) queue: Arc<Queue>,
    core: Mutex<Core>,
    shared: Arc<Shared>,
    _subscribers: [Subscriber<()>; 2],
    _token: Option<LivelinessToken>,
}

struct Core {
    topic: types::Found,
    wish: Wish,
    outputs: HashMap<Offer, Output>,
    foreign_output: Option<Output>,
    sources: HashMap<SourceId, (Source, Offer)>,
    owners: Owners,
    ready: VecDeque<Change>,
    foreign: Foreign,
}

impl DownRoute {
    /// # Errors
    /// Why there can be none.
    pub(crate) fn new(shared: &Arc<Shared>, key: DownKey, wish: Wish) -> Result<Self, types::NoTopic> {
        let because = types::NoTopic::Because;
        let names = (key.topic.as_str(), key.type_name.as_str());
        let topic = types::topic(&shared.participant, names, wish.reader, wish.offer.keyed)?;
        let limits = &shared.config.limits;
        let queue = Arc::new(Queue::new(limits, Arc::clone(&shared.counts), Arc::clone(&shared.down_wake)));
        let subscribe = |key: &str| {
            let queue = Arc::clone(&queue);
            shared
                .session
                .declare_subscriber(key.to_owned())
                .allowed_origin(Locality::Remote)
                .callback(move |sample| queue.sample(&sample, false))
                .wait()
                .map_err(|error| because(format!("zenoh does not subscribe: {error}")))
        };
        let subscribers = [subscribe(&key.key)?, subscribe(&token::all_ends(&key.key))?];
        let token = match wish.convention {
            Convention::Dds => None,
            Convention::Ros2Dds => {
                let kind = token::RosKind::Subscriber;
                let zid = shared.session.zid().to_string();
                let text = token::ros2_token(&zid, kind, &key.key, &key.type_name, &wish.offer);
                Some(shared.declare_token(text).map_err(because)?)
            }
        };
        let core = Core {
            topic,
            outputs: HashMap::new(),
            foreign_output: None,
            sources: HashMap::new(),
            owners: Owners::default(),
            ready: VecDeque::new(),
            foreign: Foreign::new(wish.offer.kept, limits.samples as usize),
            wish: wish.clone(),
        };
        let route = Self {
            key,
            convention: wish.convention,
            queue,
            core: Mutex::new(core),
            shared: Arc::clone(shared),
            _subscribers: subscribers,
            _token: token,
        };
        route.core().make_foreign_output(&route);
        if wish.offer.kept {
            route.queue.news(News::ForeignAppeared);
        }
        Ok(route)
    }

    fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what the readers are now.
    pub(crate) fn update(&self, wish: &Wish) {
        let mut core = self.core();
        if core.wish == *wish {
            return;
        }
        let was_kept = core.wish.offer.kept;
        core.wish = wish.clone();
        if core.foreign_output.as_ref().is_none_or(|output| output.offer != wish.offer) {
            core.make_foreign_output(self);
        }
        if wish.offer.kept && !was_kept {
            core.foreign.keep_history();
            self.queue.news(News::ForeignAppeared);
        }
    }

    /// Whether an announcement is about this route.
    pub(crate) fn is_about(&self, announced: &Announced) -> bool {
        announced.key == self.key.key && announced.type_name == self.key.type_name
    }

    /// Passes on what has come.
    pub(crate) fn pump(&self) -> Turn {
        let mut core = self.core();
        if self.queue.take_missed() {
            core.missed(self);
        }
        for _ in 0..TURN {
            match core.write_ready(self) {
                Turn::Empty => {}
                other => return other,
            }
            match self.queue.pop() {
                None => return Turn::Empty,
                Some(entry) => core.take(self, entry),
            }
        }
        Turn::More
    }

    /// Forgets sources that have been away for too long, and ends their outputs.
    pub(crate) fn expire(&self, longest: Duration) {
        let mut core = self.core();
        core.sources.retain(|_, (source, _)| source.gone.is_none_or(|since| since.elapsed() < longest));
        let offers: Vec<Offer> = core.sources.values().map(|(_, offer)| *offer).collect();
        let Core { outputs, owners, .. } = &mut *core;
        outputs.retain(|offer, output| offers.contains(offer) || !output.is_acknowledged());
        owners.retain(|offer| outputs.contains_key(offer));
    }
}

impl Core {
    fn make_foreign_output(&mut self, route: &DownRoute) {
        // The old one ends first: readers of exclusive ownership would keep to it.
        self.foreign_output = None;
        match Output::new(&route.shared, &self.topic, &route.key.partition, self.wish.offer) {
            Ok(output) => self.foreign_output = Some(output),
            Err(why) => route.shared.refuse(&route.key.topic, &why),
        }
    }

    /// Samples found no room: whoever they were of is asked again.
    fn missed(&mut self, route: &DownRoute) {
        let ids: Vec<SourceId> = self.sources.keys().copied().collect();
        for id in ids {
            let outcome = self.sources.get_mut(&id).map(|(source, _)| source.missed());
            self.settle(route, id, outcome.unwrap_or_default());
        }
        let others: Vec<_> = route.shared.announced_for(route);
        for announced in others {
            if !self.sources.contains_key(&announced.source) {
                self.appeared(route, announced.source);
            }
        }
    }

    fn take(&mut self, route: &DownRoute, entry: Entry) {
        match entry {
            Entry::Sample(Incoming::Ours { meta, payload, asked }) => {
                self.take_ours(route, (meta, payload), asked);
            }
            Entry::Sample(Incoming::Foreign { payload, timestamp, asked }) => {
                self.foreign.sample(payload, timestamp, asked, &route.shared.counts);
            }
            Entry::News(News::Appeared(id)) => self.appeared(route, id),
            Entry::News(News::Gone(id)) => {
                if let Some((source, _)) = self.sources.get_mut(&id) {
                    source.gone.get_or_insert_with(Instant::now);
                }
            }
            Entry::News(News::Answered { source: id, more }) => {
                let Self { sources, ready, .. } = self;
                let outcome = sources.get_mut(&id).map(|(source, _)| source.answered(more, ready));
                self.settle(route, id, outcome.unwrap_or_default());
            }
            Entry::News(News::ForeignAppeared) => {
                if self.wish.offer.kept && self.foreign.ask() {
                    ask::others(&route.shared, route);
                }
            }
            Entry::News(News::ForeignAnswered) => {
                if self.foreign.answered(&route.shared.counts) {
                    self.foreign.ask();
                    ask::others(&route.shared, route);
                }
            }
        }
    }

    fn take_ours(&mut self, route: &DownRoute, change: Change, asked: bool) {
        let id = change.0.source;
        if id.bridge == route.shared.id {
            return;
        }
        if !self.sources.contains_key(&id) && !self.learn(route, id) {
            return;
        }
        let Self { sources, ready, .. } = self;
        let Some((source, _)) = sources.get_mut(&id) else { return };
        let outcome = if asked { source.answer(change) } else { source.live(change, ready) };
        self.settle(route, id, outcome);
    }

    /// Whether a source is known now. What it is comes with its announcement.
    fn learn(&mut self, route: &DownRoute, id: SourceId) -> bool {
        let shared = &route.shared;
        let announced = shared.announced(id).filter(|announced| route.is_about(announced));
        let Some(announced) = announced else { return false };
        if self.sources.len() >= shared.config.limits.sources {
            shared.counts.one(Count::TooManySources);
            return false;
        }
        let limits = &shared.config.limits;
        let room = Room { samples: limits.samples as usize * 2, octets: limits.octets };
        let offer = announced.offer;
        self.sources.insert(id, (Source::new(offer.kept, room), offer));
        if !self.outputs.contains_key(&offer) {
            match Output::new(shared, &self.topic, &route.key.partition, offer) {
                Ok(output) => drop(self.outputs.insert(offer, output)),
                Err(why) => shared.refuse(&route.key.topic, &why),
            }
        }
        true
    }

    fn appeared(&mut self, route: &DownRoute, id: SourceId) {
        if !self.sources.contains_key(&id) && !self.learn(route, id) {
            return;
        }
        let outcome = self.sources.get_mut(&id).map(|(source, _)| source.appeared());
        self.settle(route, id, outcome.unwrap_or_default());
    }

    /// Counts what happened, and asks.
    fn settle(&self, route: &DownRoute, id: SourceId, outcome: Outcome) {
        let counts = &route.shared.counts;
        for (count, amount) in [
            (Count::Copies, outcome.copies),
            (Count::Missed, outcome.missed),
            (Count::NoRoom, outcome.no_room),
        ] {
            if amount > 0 {
                counts.add(count, amount);
            }
        }
        if let Some(wanted) = outcome.ask {
            ask::source(&route.shared, route, id, wanted);
        }
    }

    /// Writes what is in its turn.
    fn write_ready(&mut self, route: &DownRoute) -> Turn {
        while let Some((meta, payload)) = self.ready.front() {
            if self.write_one(route, *meta, &payload.clone()) == Written::Full {
                return Turn::Waits;
            }
            self.ready.pop_front();
        }
        while let Some((payload, timestamp)) = self.foreign.front() {
            let Some(output) = &mut self.foreign_output else {
                self.foreign.pop();
                continue;
            };
            let time = timestamp.as_ref().and_then(wall_time);
            if !output.is_open() || output.write_foreign(&payload, time) == Written::Full {
                return Turn::Waits;
            }
            self.foreign.pop();
        }
        Turn::Empty
    }

    fn write_one(&mut self, route: &DownRoute, meta: Meta, payload: &zenoh::bytes::ZBytes) -> Written {
        let offer = self.sources.get(&meta.source).map(|(_, offer)| *offer);
        let output = offer.and_then(|offer| Some((offer, self.outputs.get_mut(&offer)?)));
        let Some((offer, output)) = output else {
            route.shared.counts.one(Count::NotWritten);
            return Written::Done;
        };
        if !output.is_open() {
            return Written::Full;
        }
        if offer.exclusive { self.write_owned(offer, &meta, payload) } else { output.write(&meta, payload) }
    }

    /// Writes a change of an instance that another output may have had.
    fn write_owned(&mut self, offer: Offer, meta: &Meta, payload: &zenoh::bytes::ZBytes) -> Written {
        let of = (meta.instance, meta.source.bridge);
        let is_data = meta.change == crate::attachment::Change::Data;
        if is_data && let Some(former) = self.owners.former(of, offer) {
            let given_up = self.outputs.get(&former).map(|output| output.give_up(meta, payload));
            if given_up == Some(Written::Full) {
                return Written::Full;
            }
            self.owners.given_up(of, former);
        }
        let Some(output) = self.outputs.get_mut(&offer) else { return Written::Done };
        let written = output.write(meta, payload);
        match (written, is_data) {
            (Written::Full, _) => {}
            (Written::Done, true) => self.owners.passed(of, offer),
            (Written::Done, false) => self.owners.given_up(of, offer),
        }
        written
    }
}
