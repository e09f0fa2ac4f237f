//! What all routes of a bridge share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dunlin::qos::{DataReaderQos, DataWriterQos, Property, ServiceMark};
use dunlin::{DomainParticipant, Guid, SampleIdentity};
use zenoh::liveliness::LivelinessToken;
use zenoh::{Session, Wait};

use crate::attachment::SourceId;
use crate::config::BridgeConfig;
use crate::down::DownRoute;
use crate::key::Convention;
use crate::origins::Origins;
use crate::placings::Placings;
use crate::queue::News;
use crate::service::Routes;
use crate::stats::{Count, Counts};
use crate::token::{self, Announced};
use crate::up::{Question, UpKey, UpRoute};
use crate::wake::Wake;

/// Property of endpoints: the zenoh network that data goes to or comes from.
const NETWORK: &str = "zenoh-bridge.network";
/// Announcements of other bridges that are remembered.
const ANNOUNCED: usize = 100_000;
/// Refusals that are remembered.
const REFUSALS: usize = 1000;

/// See the module.
pub(crate) struct Shared {
    pub(crate) config: BridgeConfig,
    pub(crate) participant: DomainParticipant,
    pub(crate) session: Session,
    /// Names the bridge on zenoh.
    pub(crate) id: [u8; 12],
    pub(crate) counts: Arc<Counts>,
    pub(crate) plan_wake: Wake,
    pub(crate) up_wake: Wake,
    pub(crate) down_wake: Arc<Wake>,
    questions: Mutex<Option<SyncSender<Question>>>,
    number: AtomicU32,
    ups: Mutex<BTreeMap<UpKey, Arc<UpRoute>>>,
    downs: Mutex<Vec<Arc<DownRoute>>>,
    services: Mutex<Routes>,
    announced: Mutex<BTreeMap<SourceId, Arc<Announced>>>,
    /// Writers of the domain that are no service's.
    present: Mutex<BTreeSet<Guid>>,
    placings: Mutex<Placings>,
    /// What came from zenoh.
    from_zenoh: Mutex<Origins>,
    refusals: Mutex<BTreeSet<(String, String)>>,
}

/// The mark of a bridge.
pub(super) fn mark(name: &str) -> ServiceMark {
    ServiceMark { kind: "zenoh-bridge".into(), id: name.into(), path: Vec::new() }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(super) fn new(
        config: BridgeConfig,
        participant: DomainParticipant,
        session: Session,
        questions: SyncSender<Question>,
    ) -> Self {
        Self {
            config,
            id: participant.guid().prefix.0,
            participant,
            session,
            counts: Arc::default(),
            plan_wake: Wake::default(),
            up_wake: Wake::default(),
            down_wake: Arc::default(),
            questions: Mutex::new(Some(questions)),
            number: AtomicU32::new(1),
            ups: Mutex::default(),
            downs: Mutex::default(),
            services: Mutex::default(),
            announced: Mutex::default(),
            present: Mutex::default(),
            placings: Mutex::default(),
            from_zenoh: Mutex::default(),
            refusals: Mutex::default(),
        }
    }

    pub(crate) fn next_route(&self) -> u32 {
        self.number.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn plan_again(&self) {
        self.plan_wake.wake();
    }

    /// Where questions wait; none once the bridge ends.
    pub(crate) fn questions(&self) -> Option<SyncSender<Question>> {
        lock(&self.questions).clone()
    }

    pub(crate) fn declare_token(&self, key: String) -> Result<LivelinessToken, String> {
        let declared = self.session.liveliness().declare_token(key).wait();
        declared.map_err(|error| format!("zenoh does not announce: {error}"))
    }

    pub(crate) fn marked_writer(&self, qos: DataWriterQos) -> DataWriterQos {
        qos.service(&mark(&self.config.name)).property(NETWORK, &self.config.zenoh.network)
    }

    pub(crate) fn marked_reader(&self, qos: DataReaderQos) -> DataReaderQos {
        let qos = qos.service(&mark(&self.config.name)).ignore_service(&self.config.name);
        qos.property(NETWORK, &self.config.zenoh.network)
    }

    /// Whether an endpoint is a bridge's of this zenoh network.
    pub(crate) fn is_of_our_network(&self, property: &Property) -> bool {
        property.get(NETWORK) == Some(&self.config.zenoh.network)
    }

    pub(crate) fn is_present(&self, writer: &Guid) -> bool {
        lock(&self.present).contains(writer)
    }

    pub(super) fn set_present(&self, present: BTreeSet<Guid>) {
        *lock(&self.present) = present;
    }

    /// What writers offered.
    pub(crate) fn placings(&self) -> MutexGuard<'_, Placings> {
        lock(&self.placings)
    }

    pub(crate) fn note_from_zenoh(&self, sample: SampleIdentity) {
        lock(&self.from_zenoh).note(sample);
    }

    pub(crate) fn came_from_zenoh(&self, sample: SampleIdentity) -> bool {
        lock(&self.from_zenoh).contains(sample)
    }

    pub(crate) fn refuse(&self, topic: &str, why: &str) {
        let mut refusals = lock(&self.refusals);
        if refusals.len() < REFUSALS && refusals.insert((topic.to_owned(), why.to_owned())) {
            dunlin_program::tell!("dunlin bridge zenoh: {topic}: {why}");
        }
    }

    pub(super) fn refusals(&self) -> Vec<(String, String)> {
        lock(&self.refusals).iter().cloned().collect()
    }

    pub(super) fn ups(&self) -> MutexGuard<'_, BTreeMap<UpKey, Arc<UpRoute>>> {
        lock(&self.ups)
    }

    pub(super) fn downs(&self) -> MutexGuard<'_, Vec<Arc<DownRoute>>> {
        lock(&self.downs)
    }

    pub(crate) fn services(&self) -> MutexGuard<'_, Routes> {
        lock(&self.services)
    }

    /// Ends all routes.
    pub(super) fn clear(&self) {
        let routes = (std::mem::take(&mut *self.ups()), std::mem::take(&mut *self.downs()));
        let services = std::mem::take(&mut *self.services());
        drop((routes, services));
        lock(&self.questions).take();
    }

    pub(crate) fn announced(&self, source: SourceId) -> Option<Arc<Announced>> {
        lock(&self.announced).get(&source).cloned()
    }

    /// Routes of other bridges for a route from zenoh.
    pub(crate) fn announced_for(&self, route: &DownRoute) -> Vec<Arc<Announced>> {
        lock(&self.announced).values().filter(|it| route.is_about(it)).cloned().collect()
    }

    /// A bridge of Dunlin announces a route, or does not any more.
    pub(super) fn dunlin_told(&self, key: &str, there: bool) {
        let Some(announced) = Announced::parse(key) else { return self.counts.one(Count::BadToken) };
        let source = announced.source;
        if source.bridge == self.id {
            return;
        }
        let announced = Arc::new(announced);
        {
            let mut all = lock(&self.announced);
            if !there {
                all.remove(&source);
            } else if all.len() < ANNOUNCED {
                all.insert(source, Arc::clone(&announced));
            } else {
                return self.counts.one(Count::TooManySources);
            }
        }
        let news = if there { News::Appeared(source) } else { News::Gone(source) };
        self.tell_routes(news, |route| route.is_about(&announced));
    }

    /// zenoh-plugin-ros2dds announces a publisher.
    pub(super) fn ros2_told(&self, key: &str, there: bool) {
        let Some((key, true)) = token::parse_ros2_publisher(key) else { return };
        if there {
            self.tell_routes(News::ForeignAppeared, |route| {
                route.convention == Convention::Ros2Dds && route.key.key == key
            });
        }
    }

    /// A session with zenoh-plugin-dds appears.
    pub(super) fn dds_told(&self, key: &str, there: bool) {
        if there && !key.ends_with(&format!("/{}", self.session.zid())) {
            self.tell_routes(News::ForeignAppeared, |route| route.convention == Convention::Dds);
        }
    }

    fn tell_routes(&self, news: News, about: impl Fn(&DownRoute) -> bool) {
        for route in self.downs().iter().filter(|route| about(route)) {
            route.queue.news(news);
        }
    }
}
