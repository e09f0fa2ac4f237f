//! From DDS to zenoh: what writers of one topic and partition that offer the same write.

mod history;
mod reader;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dunlin::{DataReader, Guid, InstanceState, Sample, SampleInfo, SerializedData};
pub(crate) use history::Question;
use zenoh::Wait;
use zenoh::bytes::ZBytes;
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::Publisher;
use zenoh::qos::{CongestionControl, Priority, Reliability};
use zenoh::query::Queryable;
use zenoh::sample::Locality;

use crate::attachment::{Change, Meta, SourceId};
use crate::bridge::Shared;
use crate::cache::{Cache, Room};
use crate::config::{Congestion, RouteConfig};
use crate::key::Convention;
use crate::offer::Offer;
use crate::stats::Count;
use crate::token::{self, Announced, RosKind};
use crate::types;

/// Samples taken at a time.
const BATCH: usize = 256;
/// Samples passed on in one turn, so that others have theirs.
const TURN: usize = 4096;

/// What a route to zenoh is about.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct UpKey {
    pub(crate) key: String,
    pub(crate) topic: String,
    pub(crate) type_name: String,
    pub(crate) partition: String,
    pub(crate) offer: Offer,
}

/// A route.
pub(crate) struct UpRoute {
    pub(crate) key: UpKey,
    source: SourceId,
    /// Somebody subscribes.
    wanted: Arc<AtomicBool>,
    ready: Arc<AtomicBool>,
    core: Mutex<Core>,
    cache: Arc<Mutex<Cache>>,
    publisher: Arc<Publisher<'static>>,
    ends: Publisher<'static>,
    separation: dunlin::Duration,
    shared: Arc<Shared>,
    _queryables: Vec<Queryable<()>>,
    _tokens: Vec<LivelinessToken>,
}

struct Core {
    reader: Option<DataReader<SerializedData>>,
    opaque: bool,
    batch: Vec<Sample<SerializedData>>,
    lost: i32,
    /// Since when nobody subscribes.
    unwanted: Option<Instant>,
    /// Since when there are no writers.
    ending: Option<Instant>,
}

impl UpRoute {
    /// Announces a route. Data passes once somebody subscribes.
    ///
    /// # Errors
    /// What zenoh refused.
    pub(crate) fn new(shared: &Arc<Shared>, key: UpKey, rule: &RouteConfig) -> Result<Self, String> {
        let source = SourceId { bridge: shared.id, route: shared.next_route() };
        let offer = &key.offer;
        let limits = &shared.config.limits;
        let room = Room { samples: limits.history_samples, octets: limits.history_octets };
        let cache = Arc::new(Mutex::new(Cache::new(room, offer.kept.then_some(offer.depth))));
        let publisher = Arc::new(publisher(shared, rule, offer, &key.key)?);
        let ends = self::publisher(shared, rule, offer, &token::ends_key(&key.key, source))?;
        let (wanted, ready) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(true)));
        let (told, news) = (Arc::clone(&wanted), Arc::clone(shared));
        publisher
            .matching_listener()
            .callback(move |status| {
                told.store(status.matching(), Ordering::SeqCst);
                news.plan_again();
            })
            .background()
            .wait()
            .map_err(|error| format!("zenoh does not tell of subscribers: {error}"))?;
        if publisher.matching_status().wait().is_ok_and(|status| status.matching()) {
            wanted.store(true, Ordering::SeqCst);
        }
        let queryables = history::declare(shared, rule.convention, &key, source, &cache)?;
        let tokens = tokens(shared, rule.convention, &key, source)?;
        let core = Core {
            reader: None,
            opaque: false,
            batch: Vec::with_capacity(BATCH),
            lost: 0,
            unwanted: None,
            ending: None,
        };
        Ok(Self {
            key,
            source,
            wanted,
            ready,
            core: Mutex::new(core),
            cache,
            publisher,
            ends,
            separation: rule.separation,
            shared: Arc::clone(shared),
            _queryables: queryables,
            _tokens: tokens,
        })
    }

    fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads while somebody subscribes, and a while longer: a connection that breaks may come back. `writer` announces the type.
    ///
    /// # Errors
    /// Why nothing can be read.
    pub(crate) fn tend(&self, writer: Guid, outage: Duration) -> Result<(), types::NoTopic> {
        let mut core = self.core();
        core.ending = None;
        if self.wanted.load(Ordering::SeqCst) {
            core.unwanted = None;
            if core.reader.is_none() {
                let made = reader::make(&self.shared, &self.key, self.separation, writer, &self.ready)?;
                (core.reader, core.opaque) = (Some(made.reader), made.opaque);
                self.ready.store(true, Ordering::SeqCst);
                self.shared.up_wake.wake();
            }
        } else if core.reader.is_some() && core.unwanted.get_or_insert_with(Instant::now).elapsed() > outage {
            core.reader = None;
        }
        Ok(())
    }

    /// Whether it has had no writers for so long.
    pub(crate) fn is_over(&self, linger: Duration) -> bool {
        self.core().ending.get_or_insert_with(Instant::now).elapsed() > linger
    }

    /// Passes on what has arrived; true if there is more.
    pub(crate) fn pump(&self) -> bool {
        if !self.ready.swap(false, Ordering::SeqCst) {
            return false;
        }
        let mut core = self.core();
        let Some(reader) = core.reader.clone() else { return false };
        let mut batch = std::mem::take(&mut core.batch);
        let mut passed = 0;
        while passed < TURN {
            batch.clear();
            // What cannot be taken any more has ended.
            if reader.take_into(BATCH, &mut batch).unwrap_or(0) == 0 {
                break;
            }
            passed += batch.len();
            for sample in &batch {
                self.pass(&mut core, &reader, sample);
            }
        }
        core.count_lost(&reader, &self.shared);
        core.batch = batch;
        let more = passed >= TURN;
        if more {
            self.ready.store(true, Ordering::SeqCst);
        }
        more
    }

    /// Whether a sample is one of this route. The reader matches other writers of its topic as well.
    fn is_ours(&self, reader: &DataReader<SerializedData>, info: &SampleInfo) -> bool {
        let mut placings = self.shared.placings();
        let (writer, number) = (info.publication_handle.to_guid(), info.sequence_number.0);
        let known = placings.takes(&self.key, writer, number);
        known.unwrap_or_else(|| {
            // One that has gone before anybody looked: nobody can tell any more.
            let Ok(data) = reader.matched_publication_data(info.publication_handle) else { return true };
            placings.learn(&data, !self.shared.is_of_our_network(&data.qos.property));
            placings.takes(&self.key, writer, number).unwrap_or(true)
        })
    }

    fn pass(&self, core: &mut Core, reader: &DataReader<SerializedData>, sample: &Sample<SerializedData>) {
        let info = &sample.info;
        let by_nobody = info.sequence_number.0 == 0;
        if !by_nobody && !self.is_ours(reader, info) {
            return;
        }
        let counts = &self.shared.counts;
        if !by_nobody && self.shared.came_from_zenoh(info.origin()) {
            return counts.one(Count::CameFromZenoh);
        }
        let change = match (&sample.data, info.instance_state) {
            (Some(_), _) => Change::Data,
            (None, InstanceState::NotAliveDisposed) => Change::Dispose,
            (None, _) => Change::Unregister,
        };
        let octets = match (&sample.data, &sample.key) {
            (Some(data), _) | (None, Some(data)) => data.payload(),
            (None, None) if core.opaque => return self.put(change, info, ZBytes::new()),
            (None, None) => return counts.one(Count::NoKey),
        };
        self.put(change, info, ZBytes::from(octets.to_vec()));
    }

    fn put(&self, change: Change, info: &SampleInfo, payload: ZBytes) {
        let timestamp = self.shared.session.new_timestamp();
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let meta = Meta {
            change,
            more: false,
            source: self.source,
            number: cache.next(),
            origin: info.origin(),
            timestamp: info.source_timestamp,
            instance: info.instance_handle,
            related: info.related_sample,
        };
        cache.push(meta, payload.clone(), timestamp);
        drop(cache);
        let (publisher, count) = match change {
            Change::Data => (&*self.publisher, Count::ToZenoh),
            _ => (&self.ends, Count::EndsToZenoh),
        };
        let put = publisher.put(payload).attachment(meta.to_octets()).timestamp(timestamp).wait();
        self.shared.counts.one(if put.is_ok() { count } else { Count::NotPut });
    }
}

impl Core {
    fn count_lost(&mut self, reader: &DataReader<SerializedData>, shared: &Shared) {
        let lost = reader.sample_lost_status().total;
        let more = lost.saturating_sub(self.lost);
        self.lost = lost;
        if more > 0 {
            shared.counts.add(Count::LostBeforeZenoh, more.unsigned_abs().into());
        }
    }
}

fn publisher(
    shared: &Shared,
    rule: &RouteConfig,
    offer: &Offer,
    key: &str,
) -> Result<Publisher<'static>, String> {
    let waits = offer.reliable && rule.congestion == Congestion::Block;
    shared
        .session
        .declare_publisher(key.to_owned())
        .congestion_control(if waits { CongestionControl::Block } else { CongestionControl::Drop })
        .priority(priority(rule.priority, offer.priority))
        .express(rule.express)
        // As the official plugins do: what zenoh calls best effort may overtake.
        .reliability(Reliability::Reliable)
        .allowed_destination(Locality::Remote)
        .wait()
        .map_err(|error| format!("zenoh does not publish: {error}"))
}

/// One of zenoh's priorities: the one that the route says, or by TRANSPORT_PRIORITY.
fn priority(said: Option<u8>, transport_priority: i32) -> Priority {
    let by_policy = match transport_priority {
        ..=-10 => 7,
        -9..=-1 => 6,
        0 => 5,
        1..=9 => 4,
        10..=99 => 3,
        100.. => 2,
    };
    Priority::try_from(said.unwrap_or(by_policy)).unwrap_or_default()
}

/// What tells others of the route.
fn tokens(
    shared: &Shared,
    convention: Convention,
    key: &UpKey,
    source: SourceId,
) -> Result<Vec<LivelinessToken>, String> {
    let announced =
        Announced { source, key: key.key.clone(), type_name: key.type_name.clone(), offer: key.offer };
    let mut tokens = vec![shared.declare_token(announced.to_key())?];
    if convention == Convention::Ros2Dds {
        let zid = shared.session.zid().to_string();
        let text = token::ros2_token(&zid, RosKind::Publisher, &key.key, &key.type_name, &key.offer);
        tokens.push(shared.declare_token(text)?);
        if key.offer.kept {
            tokens.push(shared.declare_token(history::advanced_key(shared, &key.key))?);
        }
    }
    Ok(tokens)
}
