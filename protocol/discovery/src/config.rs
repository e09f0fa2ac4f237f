//! What a participant's discovery is told at start: RTPS 2.5 §8.5.3 (SPDP), §9.6.2 (locators), and our own quotas.

use alloc::{string::String, vec::Vec};

use dunlin_core::{DomainId, Duration, GuidPrefix, Locator, LocatorKind, defaults};
use dunlin_qos::{Property, UserData};

use crate::relay_config::{RelayConfig, RelayStats};

/// UDP ports that a participant sends from; those behind the last one are 0.
pub type SourcePorts = [u16; 4];

/// What a participant alone knows until it leaves: its goodbye proves by it that it is one. Others are told a hash of it before.
pub type GoodbyeSecret = [u8; 16];

/// Where a participant receives, in the four lists of RTPS 2.5 §8.5.3.2.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Locators {
    /// Discovery traffic, addressed to this participant.
    pub metatraffic_unicast: Vec<Locator>,
    /// Discovery traffic, addressed to a group.
    pub metatraffic_multicast: Vec<Locator>,
    /// User data, addressed to this participant.
    pub default_unicast: Vec<Locator>,
    /// User data, addressed to a group.
    pub default_multicast: Vec<Locator>,
}

impl Locators {
    /// The lists, to treat all in the same way.
    pub(crate) fn lists_mut(&mut self) -> [&mut Vec<Locator>; 4] {
        [
            &mut self.metatraffic_unicast,
            &mut self.metatraffic_multicast,
            &mut self.default_unicast,
            &mut self.default_multicast,
        ]
    }

    /// Every unicast locator.
    pub fn unicast(&self) -> impl Iterator<Item = &Locator> + Clone {
        self.metatraffic_unicast.iter().chain(&self.default_unicast)
    }
}

/// Limits of what an unauthenticated peer may make a participant remember. What exceeds one is refused and counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quotas {
    /// Remote participants.
    pub max_participants: usize,
    /// Remote participants that have not shown yet that they receive where they say. The oldest of the source that has
    /// most gives way to another.
    pub max_unverified: usize,
    /// The same, of one source address; the oldest gives way to another.
    pub max_unverified_per_source: usize,
    /// Writers and readers of one remote participant.
    pub max_endpoints_per_participant: usize,
    /// Writers and readers of all remote participants.
    pub max_endpoints: usize,
    /// Octets of the announcements of one remote participant and its endpoints.
    pub max_octets_per_participant: usize,
    /// Octets of the announcements of all remote participants and their endpoints.
    pub max_octets: usize,
    /// Octets of the type information of one endpoint.
    pub max_type_octets: usize,
    /// Octets of a type object, or of those of types that depend on each other, up to which others are told them.
    pub max_told_type_octets: usize,
    /// Octets of type objects that one remote participant may tell.
    pub max_type_object_octets_per_participant: usize,
    /// Octets of type objects of all remote participants.
    pub max_type_object_octets: usize,
    /// Octets of one USER_DATA, TOPIC_DATA or GROUP_DATA.
    pub max_opaque_octets: usize,
    /// Octets of one topic name, type name, entity name or partition name.
    pub max_string_octets: usize,
    /// Names of one PARTITION.
    pub max_partitions: usize,
    /// Octets of announcements in parts, of one remote participant, at each built-in reader.
    pub max_reassembly_octets_per_participant: usize,
    /// Octets of announcements in parts, of all remote participants, at each built-in reader.
    pub max_reassembly_octets: usize,
    /// Octets of announcements that wait for the ones before them, of one remote participant, at each built-in reader.
    pub max_out_of_order_octets_per_participant: usize,
    /// Octets of announcements that wait for the ones before them, of all remote participants, at each built-in reader.
    pub max_out_of_order_octets: usize,
    /// Locators in one list; further ones are left out.
    pub max_locators: usize,
    /// Properties of one participant or endpoint; further ones are left out.
    pub max_properties: usize,
    /// Data is sent to addresses that a participant names for it although they are none of those that it names for
    /// discovery. It shows that it receives at the latter only, so the others may be those of a victim.
    pub foreign_locators: bool,
    /// A new place of a verified participant gets nothing, and what comes in its name from there is dropped, until it has answered
    /// there. Without this an announcement alone moves a participant, and anybody may speak in its name.
    pub verify_places: bool,
}

impl Default for Quotas {
    fn default() -> Self {
        Self {
            max_participants: 10_000,
            max_unverified: 4_096,
            max_unverified_per_source: 1_024,
            max_endpoints_per_participant: 2_000,
            max_endpoints: 200_000,
            max_octets_per_participant: 4 * 1024 * 1024,
            max_octets: 256 * 1024 * 1024,
            max_type_octets: 32 * 1024,
            max_told_type_octets: dunlin_xtypes::lookup::MAX_OBJECT_OCTETS,
            max_type_object_octets_per_participant: 1024 * 1024,
            max_type_object_octets: 16 * 1024 * 1024,
            max_opaque_octets: 16 * 1024,
            max_string_octets: 256,
            max_partitions: 64,
            max_reassembly_octets_per_participant: 512 * 1024,
            max_reassembly_octets: 8 * 1024 * 1024,
            max_out_of_order_octets_per_participant: 64 * 1024,
            max_out_of_order_octets: 8 * 1024 * 1024,
            max_locators: 8,
            max_properties: 64,
            foreign_locators: false,
            verify_places: true,
        }
    }
}

/// What a participant is to the others.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum DiscoveryRole {
    /// One among equals.
    #[default]
    Participant,
    /// It introduces to each other those that announce themselves to it, if they have a topic in common.
    Server,
    /// It speaks for the applications of its host, and passes on what is said to them.
    Daemon(RelayConfig),
    /// A daemon speaks for it, which receives at these places. Nobody else is believed to be reached anywhere else.
    Application(Vec<Locator>),
}

/// The property of a participant that says what it wants to know of others: [`INTEREST_EVERYTHING`].
pub const INTEREST_PROPERTY: &str = "dunlin.discovery.interest";
/// The value of [`INTEREST_PROPERTY`] for which a server introduces all others, as tools want.
pub const INTEREST_EVERYTHING: &str = "everything";
/// The property of a participant that introduces others, with the value [`ROLE_SERVER`].
pub const ROLE_PROPERTY: &str = "dunlin.discovery.role";
/// See [`ROLE_PROPERTY`].
pub const ROLE_SERVER: &str = "server";
/// The value of [`ROLE_PROPERTY`] of a participant that speaks for the applications of its host.
pub const ROLE_DAEMON: &str = "daemon";
/// The value of [`ROLE_PROPERTY`] of a participant for which a daemon speaks.
pub const ROLE_APPLICATION: &str = "application";

/// The property of an application with writers that send past the daemon of their host: [`DIRECT_WRITE`].
pub const DIRECT_WRITE_PROPERTY: &str = "dunlin.discovery.direct_write";
/// The value of [`DIRECT_WRITE_PROPERTY`].
pub const DIRECT_WRITE: &str = "true";

/// Everything [`crate::Discovery`] needs to know about its own participant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscoveryConfig {
    /// The participant's name on the wire.
    pub guid_prefix: GuidPrefix,
    /// Participants of other domains are ignored.
    pub domain_id: DomainId,
    /// Participants with another tag are ignored; empty by default, at most 256 octets.
    pub domain_tag: String,
    /// How long others keep this participant without a sign of life (default 10 s).
    pub lease_duration: Duration,
    /// Time between announcements (default 3 s); shorter than the lease.
    pub announcement_period: Duration,
    /// Announcements sent in a row at start, including the first (default 5).
    pub initial_announcements: u32,
    /// Time between the announcements at start (default 100 ms).
    pub initial_announcement_period: Duration,
    /// Where this participant receives.
    pub locators: Locators,
    /// The UDP ports from which this participant sends everything, and zeros (default: it does not say).
    pub source_ports: SourcePorts,
    /// Random octets that nobody can guess, others for each participant (default: none, so that its goodbye proves nothing, and
    /// others ask it before they believe one).
    pub goodbye_secret: Option<GoodbyeSecret>,
    /// Kinds of locators that carry data alone, once the path was opened (default: shared memory).
    pub opened_kinds: Vec<LocatorKind>,
    /// Unicast locators of peers to announce to, whether or not they exist.
    pub initial_peers: Vec<Locator>,
    /// Multicast locators to announce to.
    pub spdp_destinations: Vec<Locator>,
    /// Groups are reached by broadcast, to addresses that several hosts may have: who is not verified is never answered there.
    pub broadcasts: bool,
    /// A name for people; empty is not announced.
    pub entity_name: String,
    /// USER_DATA of the participant.
    pub user_data: UserData,
    /// PROPERTY of the participant.
    pub property: Property,
    /// Limits for remote participants.
    pub quotas: Quotas,
    /// What it is to the others (default: one among equals).
    pub role: DiscoveryRole,
    /// Largest datagram of the built-in endpoints, in octets (default 1472).
    pub max_message_size: usize,
}

impl DiscoveryConfig {
    /// The defaults for a participant with this prefix, which still needs locators.
    #[must_use]
    pub fn new(guid_prefix: GuidPrefix, domain_id: DomainId) -> Self {
        Self {
            guid_prefix,
            domain_id,
            domain_tag: String::new(),
            lease_duration: defaults::LEASE_DURATION,
            announcement_period: defaults::ANNOUNCEMENT_PERIOD,
            initial_announcements: 5,
            initial_announcement_period: Duration::from_millis(100),
            locators: Locators::default(),
            source_ports: SourcePorts::default(),
            goodbye_secret: None,
            opened_kinds: defaults::OPENED_KINDS.to_vec(),
            initial_peers: Vec::new(),
            spdp_destinations: Vec::new(),
            broadcasts: false,
            entity_name: String::new(),
            user_data: UserData::default(),
            property: Property::default(),
            quotas: Quotas::default(),
            role: DiscoveryRole::default(),
            max_message_size: defaults::MAX_MESSAGE_SIZE,
        }
    }
}

/// Counters of what discovery took part in or refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DiscoveryStats {
    /// Announcements of this participant sent, one per call however many destinations.
    pub announcements_sent: u64,
    /// Announcements of other participants received.
    pub announcements_received: u64,
    /// Built-in samples that could not be read.
    pub malformed: u64,
    /// Built-in samples dropped because of an unknown parameter that must be understood.
    pub not_understood: u64,
    /// Participants of another domain or tag.
    pub other_domain: u64,
    /// Participants refused by [`Quotas`].
    pub participants_refused: u64,
    /// Participants forgotten before they were verified, so that others could be known.
    pub participants_evicted: u64,
    /// Answers not sent because a participant would have got more than three times what came in its name before it was
    /// verified.
    pub answers_withheld: u64,
    /// Submessages for built-in endpoints that came in the name of a participant from where it is not believed to speak.
    pub misplaced: u64,
    /// Unicast locators for data left out because they were foreign, see [`Quotas::foreign_locators`].
    pub foreign_locators: u64,
    /// Endpoints refused by [`Quotas`].
    pub endpoints_refused: u64,
    /// Locators and properties left out of announcements that name more than [`Quotas`] allow.
    pub entries_left_out: u64,
    /// Announcements that named an entity of another participant than their sender.
    pub foreign_guid: u64,
    /// Participants removed because their lease expired.
    pub leases_expired: u64,
    /// Announcements that a later one of the same participant, or its goodbye, had overtaken.
    pub overtaken: u64,
    /// Announcements of participants that a server has sent to others.
    pub introductions_sent: u64,
    /// Participants that a server has not introduced to each other because there were too many.
    pub introductions_refused: u64,
    /// What a daemon has passed on, and what not.
    pub relay: RelayStats,
    /// Announcements in parts given up by the built-in readers.
    pub partials_evicted: u64,
    /// Announcements that came too far ahead and were not kept by the built-in readers; they are asked for again.
    pub out_of_order_dropped: u64,
    /// Octets of announcements in parts now.
    pub reassembly_octets: u64,
    /// Octets of announcements that wait now for the ones before them.
    pub out_of_order_octets: u64,
    /// Questions about types sent to other participants.
    pub type_questions: u64,
    /// Questions of other participants answered.
    pub type_answers: u64,
    /// Type objects that were refused: not those asked for, or more than [`Quotas`] allow.
    pub type_objects_refused: u64,
    /// How often a type was not asked for because too many questions of the participant, or of all of them, wait for an answer.
    pub type_questions_refused: u64,
    /// Questions of other participants that wait now until answers to earlier ones are acknowledged.
    pub type_questions_waiting: u64,
    /// Questions of other participants not answered because too many answers to earlier ones are not acknowledged.
    pub type_answers_withheld: u64,
    /// Questions that were given up without an answer that helps.
    pub type_questions_failed: u64,
    /// Octets of type objects that other participants have told.
    pub type_object_octets: u64,
    /// Goodbyes forgotten before their time because there were too many.
    pub goodbyes_forgotten: u64,
    /// Participants whose lease had ended that were forgotten because there were too many: where each of them was in what this
    /// one announces.
    pub lost_forgotten: u64,
    /// Participants known now.
    pub participants: u64,
    /// Those of them that are not verified.
    pub participants_unverified: u64,
    /// Endpoints of other participants known now.
    pub endpoints: u64,
    /// Octets of the announcements of participants and endpoints known now.
    pub octets: u64,
}
