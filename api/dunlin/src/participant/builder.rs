//! What a participant is made of.

use std::sync::{Arc, Mutex};

use dunlin_config::Config;
use dunlin_core::DomainId;
use dunlin_driver::{Session, Threads};
use dunlin_qos::DomainParticipantQos;
use dunlin_transport::{Together, Transport};

use super::at_exit::Presence;
use super::belongings::Contents;
use super::registry;
use super::sink::Sink;
use super::{DomainParticipant, ErasedParticipantListener, ParticipantInner, default_config};
use crate::architecture::Servers;
use crate::derived_topic::DerivedTopics;
use crate::entity::Entity;
use crate::error::CreateParticipantError;
use crate::place;
use crate::qos_cell::QosCell;
use crate::statistics::Statistics;
use crate::status::StatusMask;
use crate::types::RegisteredTypes;

/// Settings of a participant before it joins its domain: [`DomainParticipant::builder`], then any of the settings in any order,
/// then [`build`](Self::build).
#[derive(Clone, Debug)]
pub struct DomainParticipantBuilder {
    pub(crate) domain: DomainId,
    qos: DomainParticipantQos,
    config: Option<Config>,
    name: String,
    enabled: bool,
    listener: Listener,
    transports: Transports,
    threads: Threads,
}

/// The listener, if any, and the statuses that it answers for.
#[derive(Clone, Default)]
struct Listener(Option<(Arc<dyn ErasedParticipantListener>, StatusMask)>);

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&self.0.as_ref().map(|(_, mask)| mask), f)
    }
}

/// The transports of the application, if any.
#[derive(Clone, Default)]
struct Transports(Vec<Arc<dyn Transport>>);

impl std::fmt::Debug for Transports {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|transport| transport.name())).finish()
    }
}

impl DomainParticipantBuilder {
    /// Begins with what the factory says now.
    pub(super) fn new(domain: DomainId) -> Self {
        Self {
            domain,
            qos: registry::default_qos(),
            config: None,
            name: String::new(),
            enabled: registry::factory_qos().entity_factory.autoenable_created_entities,
            listener: Listener::default(),
            transports: Transports::default(),
            threads: Threads::default(),
        }
    }

    /// The participant's QoS, instead of the default of the factory
    /// ([`set_default_participant_qos`](crate::DomainParticipantFactory::set_default_participant_qos)).
    #[must_use]
    pub fn qos(mut self, qos: DomainParticipantQos) -> Self {
        self.qos = qos;
        self
    }

    /// The configuration, instead of what file and environment say.
    #[must_use]
    pub fn config(mut self, config: Config) -> Self {
        self.config = Some(config);
        self
    }

    /// A name for people, announced to others.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Whether the participant is enabled when it is created, instead of what ENTITY_FACTORY of the factory says
    /// ([`set_qos`](crate::DomainParticipantFactory::set_qos)): unless that was changed, it is. Until it is
    /// [enabled](DomainParticipant::enable) it neither says nor hears anything.
    #[must_use]
    pub fn enabled(mut self, enabled: bool) -> Self {
        self.enabled = enabled;
        self
    }

    pub(crate) fn set_listener(&mut self, listener: Arc<dyn ErasedParticipantListener>, mask: StatusMask) {
        self.listener = Listener(Some((listener, mask)));
    }

    /// A transport of the application's, in place of UDP and shared memory; a further call adds another one beside it, which
    /// carries locators of another kind. See [`transport`](crate::transport) for how one is made.
    ///
    /// No other participant uses it. The settings `network` and `shared_memory` do not reach it: [`build`](Self::build) fails
    /// where they are not as they are by default.
    #[must_use]
    pub fn transport(mut self, transport: Arc<dyn Transport>) -> Self {
        self.transports.0.push(transport);
        self
    }

    /// The participant has no threads of the library: the application calls [`pump`](DomainParticipant::pump), which receives, runs
    /// the timers and calls listeners. For programs of one thread, for partitions with a time window, and where every thread
    /// has to be accounted for.
    ///
    /// Calls that block, such as `wait_for_readers`, `wait_for_acknowledgments` and `write` with a full history, pump meanwhile, and so
    /// does dropping the participant's last handle. Limits:
    ///
    /// - It has sockets of its own, which it shares with no other participant, and uses neither shared memory nor direct delivery
    ///   within the process.
    /// - TCP, faults and `receive.*` need threads: [`build`](Self::build) fails where they are set. So it does in the simulator, where no
    ///   participant has threads.
    /// - [`WaitSet::wait`](crate::WaitSet::wait) does not pump: pump first, then wait with [`Duration::ZERO`](crate::Duration::ZERO), or wait on
    ///   another thread than that which pumps.
    #[must_use]
    pub fn without_threads(mut self) -> Self {
        self.threads = Threads::Caller;
        self
    }

    /// Joins the domain.
    ///
    /// # Errors
    /// [`CreateParticipantError::Config`] and its like when the configuration or the QoS cannot be used;
    /// [`CreateParticipantError::Network`] when sockets, interfaces or threads cannot be had, with the cause.
    pub fn build(self) -> Result<DomainParticipant, CreateParticipantError> {
        self.qos.check_consistency()?;
        self.qos.check_supported()?;
        let config = self.config.map_or_else(default_config, Ok)?;
        let config = on_this_machine(config, self.domain)?;
        let durable_is_local = config.durability.without_service == dunlin_config::WithoutService::Local;
        let direct_write = crate::architecture::direct_write(&config);
        let announces_types = config.types.announce;
        let max_told_type = config.quotas.max_told_type.to_usize();
        let announces = config.discovery.announce_process && !is_simulated();
        let in_full = config.discovery.announce_process_in_full;
        let mut process = if announces { crate::process::properties(in_full) } else { Vec::new() };
        process.extend(crate::architecture::properties(&config));
        let announced = crate::process::described(&self.qos, &process);
        let statistics = Statistics::new(config.statistics.enabled, config.statistics.period);
        let mut driver = config.driver_config(self.domain, announced, &self.name)?;
        driver.threads = self.threads;
        let servers = Servers::of(&config, self.domain);
        let sink = Arc::new(Sink::default());
        let events = Arc::clone(&sink) as _;
        let session = match Together::of(self.transports.0) {
            Some(transport) => Session::prepare_on(transport, driver, events),
            None => Session::prepare(driver, events),
        };
        let session =
            session.map_err(|source| CreateParticipantError::Network { domain: self.domain, source })?;
        let guid = session.participant().guid();
        let inner = ParticipantInner {
            domain: self.domain,
            session,
            sink,
            presence: Arc::new(Presence::new()),
            qos: QosCell::new(self.qos),
            topics: Mutex::default(),
            derived_topics: DerivedTopics::default(),
            registered_types: RegisteredTypes::default(),
            entity: Entity::new(guid.into(), self.enabled),
            contents: Contents::default(),
            builtin: Mutex::default(),
            statistics,
            durable_is_local,
            direct_write,
            process,
            servers,
            announces_types,
            max_told_type,
        };
        let inner = Arc::new(inner);
        inner.entity.listener.set(self.listener.0.map(|(listener, mask)| (Some(listener), mask)));
        inner.sink.set_participant(&inner);
        registry::register(&inner);
        if !is_simulated() {
            inner.presence.begin(Arc::downgrade(&inner));
        }
        if self.enabled {
            inner.qos.hold();
            inner.session.announce();
        }
        Ok(DomainParticipant { inner })
    }
}

/// The configuration as it applies where the present thread runs.
fn on_this_machine(config: Config, domain: DomainId) -> Result<Config, CreateParticipantError> {
    if let Some(place) = place::present() {
        return place.resolve(config).map_err(|source| CreateParticipantError::Network { domain, source });
    }
    crate::logging::print_plainly(&config)?;
    Ok(crate::architecture::without_absent_daemon(config, domain))
}

/// Whether the participant is on a simulated network, where every run must send the same octets.
fn is_simulated() -> bool {
    place::present().is_some()
}
