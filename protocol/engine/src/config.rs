//! What a participant and its endpoints are made from.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use dunlin_cdr::{TypeRef, TypeSupport};
use dunlin_core::{DomainId, Duration, GuidPrefix, Locator, LocatorKind, Paths, defaults};
use dunlin_discovery::{
    DiscoveryRole, EndpointLocators, GoodbyeSecret, LocalType, Locators, Quotas, SourcePorts,
};
use dunlin_qos::{
    DataReaderQos, DataWriterQos, DomainParticipantQos, PublisherQos, QosError, SubscriberQos, TopicData,
};
use dunlin_rtps::{Pacing, ReceiveRoom};

/// What a participant is made from.
#[derive(Debug, Clone)]
pub struct ParticipantConfig {
    /// The participant's name on the wire; unique, and starting with the vendor id by convention.
    pub guid_prefix: GuidPrefix,
    /// Participants of other domains are ignored.
    pub domain_id: DomainId,
    /// Participants with another tag are ignored; empty by default.
    pub domain_tag: String,
    /// Where the participant receives.
    pub locators: Locators,
    /// The UDP ports from which everything is sent, and zeros (default: unknown).
    pub source_ports: SourcePorts,
    /// Random octets that nobody can guess, others for each participant: its goodbye proves by them that it is one (default: none, so
    /// that others ask the participant before they believe its goodbye).
    pub goodbye_secret: Option<GoodbyeSecret>,
    /// Kinds of locators that carry data alone, once the path was opened (default: shared memory).
    pub opened_kinds: Vec<LocatorKind>,
    /// Unicast locators to announce to, whether or not a participant listens there.
    pub initial_peers: Vec<Locator>,
    /// Multicast locators to announce to.
    pub spdp_destinations: Vec<Locator>,
    /// What goes there is broadcast: who is not verified is never answered there.
    pub broadcasts: bool,
    /// The participant's QoS.
    pub qos: DomainParticipantQos,
    /// How long others keep this participant without a sign of life (default 10 s).
    pub lease_duration: Duration,
    /// Time between announcements (default 3 s).
    pub announcement_period: Duration,
    /// Octets of the largest datagram to send (default 1472, an Ethernet frame without fragmentation by IP).
    pub max_message_size: usize,
    /// Who describes the paths to others; without it, the default, nothing is known of them.
    pub paths: Option<Arc<dyn Paths>>,
    /// Data in flight for which the receive buffers have room, the same for all participants that share them (default: unknown).
    pub receive_room: ReceiveRoom,
    /// Protocol parameters of user endpoints.
    pub tuning: Tuning,
    /// Limits of what remote participants may make this one remember.
    pub quotas: Quotas,
    /// What it is to the others when it comes to discovery.
    pub role: DiscoveryRole,
    /// Entropy for what needs to differ between participants.
    pub seed: u64,
    /// A name for people; empty is not announced.
    pub entity_name: String,
}

impl ParticipantConfig {
    /// The defaults; locators are still to be filled in.
    #[must_use]
    pub fn new(guid_prefix: GuidPrefix, domain_id: DomainId) -> Self {
        Self {
            guid_prefix,
            domain_id,
            domain_tag: String::new(),
            locators: Locators::default(),
            source_ports: SourcePorts::default(),
            goodbye_secret: None,
            opened_kinds: defaults::OPENED_KINDS.to_vec(),
            initial_peers: Vec::new(),
            spdp_destinations: Vec::new(),
            broadcasts: false,
            qos: DomainParticipantQos::default(),
            lease_duration: defaults::LEASE_DURATION,
            announcement_period: defaults::ANNOUNCEMENT_PERIOD,
            max_message_size: defaults::MAX_MESSAGE_SIZE,
            paths: None,
            receive_room: ReceiveRoom::default(),
            tuning: Tuning::default(),
            quotas: Quotas::default(),
            role: DiscoveryRole::default(),
            seed: 0,
            entity_name: String::new(),
        }
    }
}

/// Parameters of the reliable protocol (RTPS 2.5 §8.4.7, §8.4.10) for the endpoints of a participant.
#[derive(Debug, Clone)]
pub struct Tuning {
    /// Time from unacknowledged data to the first HEARTBEAT of its own.
    pub heartbeat_period: Duration,
    /// Longest time between HEARTBEATs while something is unacknowledged.
    pub heartbeat_max_period: Duration,
    /// Time from a HEARTBEAT that wants an answer to the ACKNACK.
    pub heartbeat_response_delay: Duration,
    /// Time from a request to its repair.
    pub nack_response_delay: Duration,
    /// A change repaired this recently is not repaired again for the same reader.
    pub nack_suppression: Duration,
    /// Octets of repairs in one event; the rest follows by timer.
    pub repair_budget_per_event: usize,
    /// Octets of payload in a DATA_FRAG; 0 derives it from the largest datagram.
    pub fragment_size: u16,
    /// Shapes what writers send; without it new data leaves at once.
    pub pacing: Option<Pacing>,
    /// Octets of new data that a writer has in flight to reliable readers of this vendor that did not say they took it; 0 is
    /// no bound and the default. 127 KiB, two calls of segmentation offload, fit into a receive buffer of the usual 212,992.
    pub window: usize,
    /// Octets that it grows to at most where readers within the host say that they have the room.
    pub window_limit: usize,
    /// A reader that does not answer for so long is not waited for until it does.
    pub window_patience: Duration,
    /// A reliable reader that answers no request for an acknowledgement for so long is inactive: no write waits for it, and
    /// a history that is full releases what all others have acknowledged (default 3 s); zero or infinite: never.
    pub inactive_after: Duration,
    /// Samples that a KEEP_ALL writer keeps for inactive readers at most, if RESOURCE_LIMITS do not say less (default
    /// 10,000).
    pub inactive_backlog: usize,
    /// Octets that the readers of a KEEP_ALL writer have to acknowledge above which a write waits, as long as max_blocking_time
    /// lets it (default 2 MiB); two samples, and twice what may be under way, are always below it. Zero: never.
    pub high_water: usize,
    /// How long a sample of a burst may wait for others to share its datagram although its writer has no LATENCY_BUDGET
    /// (default 50 µs); zero sends every sample at once.
    pub burst_delay: Duration,
    /// Octets of samples at which what waits leaves, whatever the time.
    pub batch_octets: usize,
    /// Octets of partly received samples per remote writer; a larger sample is never received.
    pub max_reassembly_bytes_per_writer: usize,
    /// Octets of partly received samples per reader.
    pub max_reassembly_bytes: usize,
    /// Octets of samples kept per remote writer until the ones before them arrive.
    pub max_out_of_order_bytes: usize,
    /// Octets of samples kept per reader until the ones before them arrive.
    pub max_out_of_order_bytes_total: usize,
    /// Samples kept per remote writer until the ones before them arrive.
    pub max_out_of_order_samples: usize,
    /// How far ahead of this host's clock a source timestamp may be for readers that order BY_SOURCE_TIMESTAMP (default 1 min): a
    /// KEEP_LAST reader would show nothing else of the instance until then (DDS 1.4 §2.2.3.17). Infinite: any.
    pub timestamp_tolerance: Duration,
    /// Instances that writers of other participants may make a reader keep whose RESOURCE_LIMITS do not limit them (default 65,536).
    pub max_instances: usize,
    /// Octets of samples and keys that writers of other participants may make all readers keep whose RESOURCE_LIMITS do not limit
    /// samples (default 512 MiB).
    pub max_samples_octets: usize,
    /// Writers do not send to readers what these say to filter out (default); see `docs/filters.md`.
    pub filter_at_writer: bool,
}

impl Default for Tuning {
    fn default() -> Self {
        let writer = dunlin_rtps::WriterConfig::default();
        let reader = dunlin_rtps::ReaderConfig::default();
        Self {
            heartbeat_period: writer.heartbeat_period,
            heartbeat_max_period: writer.heartbeat_max_period,
            heartbeat_response_delay: reader.heartbeat_response_delay,
            nack_response_delay: writer.nack_response_delay,
            nack_suppression: writer.nack_suppression,
            repair_budget_per_event: writer.repair_budget_per_event,
            fragment_size: writer.fragment_size,
            pacing: writer.pacing,
            // Fits into the receive buffer that Linux gives a socket, with what the kernel adds to each datagram.
            window: 127 << 10,
            window_limit: 2 << 20,
            window_patience: writer.window_patience,
            inactive_after: Duration::from_secs(3),
            inactive_backlog: 10_000,
            high_water: 2 << 20,
            burst_delay: Duration::from_micros(50),
            batch_octets: writer.batch_octets,
            max_reassembly_bytes_per_writer: reader.max_reassembly_bytes_per_writer,
            max_reassembly_bytes: reader.max_reassembly_bytes,
            max_out_of_order_bytes: reader.max_out_of_order_bytes,
            max_out_of_order_bytes_total: reader.max_out_of_order_bytes_total,
            max_out_of_order_samples: reader.max_out_of_order_samples,
            timestamp_tolerance: Duration::from_secs(60),
            max_instances: 1 << 16,
            max_samples_octets: 512 << 20,
            filter_at_writer: true,
        }
    }
}

/// What a writer is made from.
#[derive(Debug, Clone)]
pub struct WriterSpec {
    /// Topic name.
    pub topic_name: String,
    /// Registered type name.
    pub type_name: String,
    /// Whether the type has a key.
    pub keyed: bool,
    /// The writer's QoS.
    pub qos: DataWriterQos,
    /// The publisher's QoS.
    pub publisher_qos: PublisherQos,
    /// TOPIC_DATA of the topic.
    pub topic_data: TopicData,
    /// The type, to announce and to compare with those of others; without it, types are compared by name.
    pub type_information: Option<Arc<LocalType>>,
    /// Where the writer receives, if not where the participant does.
    pub locators: EndpointLocators,
    /// The type, for filtering what readers do not want; without it every reader gets everything.
    pub type_description: Option<TypeRef>,
}

/// What may change of a writer while it exists.
#[derive(Debug, Clone)]
pub struct WriterPolicies {
    /// The writer's QoS.
    pub qos: DataWriterQos,
    /// The publisher's QoS.
    pub publisher_qos: PublisherQos,
    /// TOPIC_DATA of the topic.
    pub topic_data: TopicData,
}

/// What may change of a reader while it exists.
#[derive(Debug, Clone)]
pub struct ReaderPolicies {
    /// The reader's QoS.
    pub qos: DataReaderQos,
    /// The subscriber's QoS.
    pub subscriber_qos: SubscriberQos,
    /// TOPIC_DATA of the topic.
    pub topic_data: TopicData,
}

/// What a reader is made from. Whether the topic has a key is known to `type_support`.
#[derive(Clone)]
pub struct ReaderSpec {
    /// Topic name.
    pub topic_name: String,
    /// Registered type name.
    pub type_name: String,
    /// The reader's QoS.
    pub qos: DataReaderQos,
    /// The subscriber's QoS.
    pub subscriber_qos: SubscriberQos,
    /// TOPIC_DATA of the topic.
    pub topic_data: TopicData,
    /// The type, to announce and to compare with those of others; without it, types are compared by name.
    pub type_information: Option<Arc<LocalType>>,
    /// Where the reader receives, if not where the participant does.
    pub locators: EndpointLocators,
    /// Finds the instance of a received sample.
    pub type_support: Arc<dyn TypeSupport>,
}

/// Why an endpoint could not be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreateError {
    /// Its QoS contradicts itself or asks for what does not exist.
    Qos(QosError),
    /// A topic or type name that cannot be announced: empty, longer than 256 octets, or with a zero in it.
    InvalidName,
    /// All 2^24 entity keys were used.
    OutOfEntityIds,
    /// The participant was shut down.
    ShutDown,
}

impl core::fmt::Display for CreateError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Qos(error) => error.fmt(f),
            Self::InvalidName => f.write_str("a topic or type name has 1 to 256 bytes, none of them zero"),
            Self::OutOfEntityIds => f.write_str("all entity ids of the participant were used"),
            Self::ShutDown => f.write_str("the participant was shut down"),
        }
    }
}

impl core::error::Error for CreateError {}

impl<E: Into<QosError>> From<E> for CreateError {
    fn from(error: E) -> Self {
        Self::Qos(error.into())
    }
}

/// Why the QoS of an endpoint could not be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetQosError {
    /// The new QoS contradicts itself, asks for what does not exist, or changes what is fixed.
    Qos(QosError),
    /// The endpoint was deleted.
    Deleted,
}

impl<E: Into<QosError>> From<E> for SetQosError {
    fn from(error: E) -> Self {
        Self::Qos(error.into())
    }
}

impl core::fmt::Display for SetQosError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Qos(error) => error.fmt(f),
            Self::Deleted => f.write_str("the endpoint was deleted"),
        }
    }
}

impl core::error::Error for SetQosError {}
