//! What is known of participants and endpoints: RTPS 2.5 §8.5.3.2 (SPDPdiscoveredParticipantData) and §8.5.4.4
//! (DiscoveredWriterData, DiscoveredReaderData); DDS 1.4 §2.2.5 (built-in topics).

use alloc::{boxed::Box, string::String, sync::Arc, vec::Vec};

use dunlin_core::{DomainId, Duration, EntityId, Guid, GuidPrefix, Locator, ProtocolVersion, VendorId};
use dunlin_qos::{
    DataReaderQos, DataWriterQos, Property, PublisherQos, ReaderRequest, SubscriberQos, TopicData, UserData,
    WriterOffer,
};
use dunlin_rtps::Life;

use crate::config::{Locators, SourcePorts};
use crate::content_filter::ContentFilterProperty;
use crate::local_type::LocalType;

/// Bits of BuiltinEndpointSet_t (RTPS 2.5 §9.3.2.12).
pub mod builtin {
    /// SPDP writer.
    pub const PARTICIPANT_ANNOUNCER: u32 = 1 << 0;
    /// SPDP reader.
    pub const PARTICIPANT_DETECTOR: u32 = 1 << 1;
    /// SEDP publications writer.
    pub const PUBLICATIONS_ANNOUNCER: u32 = 1 << 2;
    /// SEDP publications reader.
    pub const PUBLICATIONS_DETECTOR: u32 = 1 << 3;
    /// SEDP subscriptions writer.
    pub const SUBSCRIPTIONS_ANNOUNCER: u32 = 1 << 4;
    /// SEDP subscriptions reader.
    pub const SUBSCRIPTIONS_DETECTOR: u32 = 1 << 5;
    /// Liveliness writer.
    pub const PARTICIPANT_MESSAGE_WRITER: u32 = 1 << 10;
    /// Liveliness reader.
    pub const PARTICIPANT_MESSAGE_READER: u32 = 1 << 11;
    /// TypeLookup writer of requests (DDS-XTypes 1.3 §7.6.3.3.3).
    pub const TYPE_LOOKUP_REQUEST_WRITER: u32 = 1 << 12;
    /// TypeLookup reader of requests.
    pub const TYPE_LOOKUP_REQUEST_READER: u32 = 1 << 13;
    /// TypeLookup writer of replies.
    pub const TYPE_LOOKUP_REPLY_WRITER: u32 = 1 << 14;
    /// TypeLookup reader of replies.
    pub const TYPE_LOOKUP_REPLY_READER: u32 = 1 << 15;
    /// What it takes to be asked about types.
    pub const ANSWERS_ABOUT_TYPES: u32 = TYPE_LOOKUP_REQUEST_READER | TYPE_LOOKUP_REPLY_WRITER;
    /// What this implementation announces.
    pub const ALL: u32 = PARTICIPANT_ANNOUNCER
        | PARTICIPANT_DETECTOR
        | PUBLICATIONS_ANNOUNCER
        | PUBLICATIONS_DETECTOR
        | SUBSCRIPTIONS_ANNOUNCER
        | SUBSCRIPTIONS_DETECTOR
        | PARTICIPANT_MESSAGE_WRITER
        | PARTICIPANT_MESSAGE_READER
        | TYPE_LOOKUP_REQUEST_WRITER
        | TYPE_LOOKUP_REPLY_READER
        | ANSWERS_ABOUT_TYPES;
    /// BuiltinEndpointQos_t: the liveliness reader is best-effort.
    pub const BEST_EFFORT_PARTICIPANT_MESSAGE_READER: u32 = 1;
}

/// A participant as it announced itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParticipantData {
    /// Its name on the wire.
    pub guid_prefix: GuidPrefix,
    /// The protocol version it speaks.
    pub protocol_version: ProtocolVersion,
    /// Who made it.
    pub vendor: VendorId,
    /// Its domain, if announced.
    pub domain_id: Option<DomainId>,
    /// Its domain tag; empty by default.
    pub domain_tag: String,
    /// How long it stays known without a sign of life.
    pub lease_duration: Duration,
    /// Its built-in endpoints, see [`builtin`].
    pub builtin_endpoints: u32,
    /// Qualities of its built-in endpoints, see [`builtin::BEST_EFFORT_PARTICIPANT_MESSAGE_READER`].
    pub builtin_endpoint_qos: u32,
    /// Where it receives: what it announced without the locators that cannot be used from here.
    pub locators: Locators,
    /// Whether its readers want QoS in every sample.
    pub expects_inline_qos: bool,
    /// USER_DATA.
    pub user_data: UserData,
    /// A name for people, possibly empty.
    pub entity_name: String,
    /// PROPERTY.
    pub property: Property,
    /// The daemon that speaks for it, if one does.
    pub behind: Option<GuidPrefix>,
    /// Where it is reached without this daemon by those who write directly, and they by it; empty unless the daemon says so.
    pub direct: Vec<Locator>,
    /// The UDP ports that it says it sends from, and zeros; none but zeros of participants that do not say it.
    pub source_ports: SourcePorts,
    /// The hash of what its goodbye will prove itself with, if it says so.
    pub(crate) goodbye_hash: Option<[u8; 16]>,
    /// Whether durations inside its QoS carry nanoseconds instead of fractions of a second.
    pub(crate) durations_in_nanoseconds: bool,
}

impl ParticipantData {
    /// The GUID of the participant.
    #[must_use]
    pub const fn guid(&self) -> Guid {
        Guid::new(self.guid_prefix, EntityId::PARTICIPANT)
    }
}

/// A writer that a local reader may match: of another participant, or of this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscoveredWriter {
    /// Its GUID.
    pub guid: Guid,
    /// Topic name.
    pub topic_name: Arc<str>,
    /// Registered type name.
    pub type_name: Arc<str>,
    /// The writer's QoS; policies that are not announced have their defaults.
    pub qos: Arc<DataWriterQos>,
    /// The publisher's QoS; ENTITY_FACTORY is not announced.
    pub publisher_qos: Arc<PublisherQos>,
    /// TOPIC_DATA.
    pub topic_data: TopicData,
    /// Its publisher, if it is announced: writers with the same one number their changes together.
    pub group: EntityId,
    /// The XTypes TypeInformation as it was announced, without encapsulation header.
    pub type_information: Option<Arc<[u8]>>,
    /// The endpoint that takes or gives the other half of a service (DDS-RPC 1.0 §7.6.2), if it says so.
    pub related: Option<Guid>,
    /// Who made it.
    pub vendor: VendorId,
    /// Where it receives: its own locators or else its participant's; [`Locator::LOCAL`] in this participant.
    pub unicast: Arc<[Locator]>,
    /// Groups it receives on.
    pub multicast: Arc<[Locator]>,
    /// Which announcement it is known by, if that can be told from others; [`None`] in this participant.
    pub life: Option<Life>,
    /// The locators it announced for itself, if any.
    pub(crate) own_locators: Option<Box<EndpointLocators>>,
}

/// A reader that a local writer may match: of another participant, or of this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscoveredReader {
    /// Its GUID.
    pub guid: Guid,
    /// Topic name.
    pub topic_name: Arc<str>,
    /// Registered type name.
    pub type_name: Arc<str>,
    /// The reader's QoS; policies that are not announced have their defaults.
    pub qos: Arc<DataReaderQos>,
    /// The subscriber's QoS; ENTITY_FACTORY is not announced.
    pub subscriber_qos: Arc<SubscriberQos>,
    /// TOPIC_DATA.
    pub topic_data: TopicData,
    /// The XTypes TypeInformation as it was announced, without encapsulation header.
    pub type_information: Option<Arc<[u8]>>,
    /// Whether it wants QoS in every sample.
    pub expects_inline_qos: bool,
    /// The filter of its content-filtered topic.
    pub content_filter: Option<Arc<ContentFilterProperty>>,
    /// The endpoint that takes or gives the other half of a service (DDS-RPC 1.0 §7.6.2), if it says so.
    pub related: Option<Guid>,
    /// Who made it.
    pub vendor: VendorId,
    /// Where it receives: its own locators or else its participant's; [`Locator::LOCAL`] in this participant.
    pub unicast: Arc<[Locator]>,
    /// Groups it receives on.
    pub multicast: Arc<[Locator]>,
    /// Where writers that write directly send instead, past the daemon of this host, if they can.
    pub direct: Option<Arc<[Locator]>>,
    /// Which announcement it is known by, if that can be told from others; [`None`] in this participant.
    pub life: Option<Life>,
    /// The locators it announced for itself, if any.
    pub(crate) own_locators: Option<Box<EndpointLocators>>,
}

impl DiscoveredWriter {
    /// What it offers, for [`dunlin_qos::check_compatible`].
    #[must_use]
    pub fn offer(&self) -> WriterOffer {
        WriterOffer::new(&self.qos, &self.publisher_qos)
    }

    /// The GUID of its participant.
    #[must_use]
    pub const fn participant(&self) -> Guid {
        Guid::new(self.guid.prefix, EntityId::PARTICIPANT)
    }
}

impl DiscoveredReader {
    /// What it requests, for [`dunlin_qos::check_compatible`].
    #[must_use]
    pub fn request(&self) -> ReaderRequest {
        ReaderRequest::new(&self.qos, &self.subscriber_qos)
    }

    /// The GUID of its participant.
    #[must_use]
    pub const fn participant(&self) -> Guid {
        Guid::new(self.guid.prefix, EntityId::PARTICIPANT)
    }
}

impl DiscoveredWriter {
    /// The locators that it announced for itself, also those that cannot be used from here.
    #[must_use]
    pub fn announced_locators(&self) -> Option<&EndpointLocators> {
        self.own_locators.as_deref()
    }
}

impl DiscoveredReader {
    /// The locators that it announced for itself, also those that cannot be used from here.
    #[must_use]
    pub fn announced_locators(&self) -> Option<&EndpointLocators> {
        self.own_locators.as_deref()
    }
}

/// Locators of an endpoint that receives elsewhere than its participant.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EndpointLocators {
    /// Unicast locators; empty means those of the participant.
    pub unicast: Vec<Locator>,
    /// Multicast locators; empty means those of the participant.
    pub multicast: Vec<Locator>,
}

impl EndpointLocators {
    /// Nothing, if there are none.
    pub(crate) fn boxed(self) -> Option<Box<Self>> {
        (self != Self::default()).then(|| Box::new(self))
    }
}

/// A writer of this participant, to be announced and matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalWriter {
    /// Its entity id; the kind says whether the type has a key.
    pub entity_id: EntityId,
    /// Topic name, at most 256 octets.
    pub topic_name: String,
    /// Registered type name, at most 256 octets.
    pub type_name: String,
    /// The writer's QoS.
    pub qos: DataWriterQos,
    /// The publisher's QoS.
    pub publisher_qos: PublisherQos,
    /// The publisher as a group of RTPS; [`EntityId::UNKNOWN`] is not announced.
    pub group: EntityId,
    /// TOPIC_DATA.
    pub topic_data: TopicData,
    /// Its type, to announce, to tell those who ask, and to compare with those of others; without it, types are compared
    /// by name.
    pub type_information: Option<Arc<LocalType>>,
    /// Locators that differ from the participant's.
    pub locators: EndpointLocators,
    /// The endpoint that takes or gives the other half of a service (DDS-RPC 1.0 §7.6.2).
    pub related: Option<Guid>,
}

/// A reader of this participant, to be announced and matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalReader {
    /// Its entity id; the kind says whether the type has a key.
    pub entity_id: EntityId,
    /// Topic name, at most 256 octets.
    pub topic_name: String,
    /// Registered type name, at most 256 octets.
    pub type_name: String,
    /// The reader's QoS.
    pub qos: DataReaderQos,
    /// The subscriber's QoS.
    pub subscriber_qos: SubscriberQos,
    /// TOPIC_DATA.
    pub topic_data: TopicData,
    /// Its type, to announce, to tell those who ask, and to compare with those of others; without it, types are compared
    /// by name.
    pub type_information: Option<Arc<LocalType>>,
    /// Locators that differ from the participant's.
    pub locators: EndpointLocators,
    /// The endpoint that takes or gives the other half of a service (DDS-RPC 1.0 §7.6.2).
    pub related: Option<Guid>,
    /// The filter of its content-filtered topic.
    pub content_filter: Option<Arc<ContentFilterProperty>>,
}

impl LocalWriter {
    /// The writer as the readers of its own participant see it.
    pub(crate) fn describe(self, prefix: GuidPrefix, vendor: VendorId) -> DiscoveredWriter {
        DiscoveredWriter {
            guid: Guid::new(prefix, self.entity_id),
            topic_name: self.topic_name.into(),
            type_name: self.type_name.into(),
            qos: Arc::new(self.qos),
            publisher_qos: Arc::new(self.publisher_qos),
            group: self.group,
            topic_data: self.topic_data,
            type_information: self.type_information.map(|ty| Arc::clone(ty.octets())),
            related: self.related,
            vendor,
            unicast: Arc::new([Locator::LOCAL]),
            multicast: Arc::new([]),
            life: None,
            own_locators: self.locators.boxed(),
        }
    }
}

impl LocalReader {
    /// The reader as the writers of its own participant see it.
    pub(crate) fn describe(self, prefix: GuidPrefix, vendor: VendorId) -> DiscoveredReader {
        DiscoveredReader {
            guid: Guid::new(prefix, self.entity_id),
            topic_name: self.topic_name.into(),
            type_name: self.type_name.into(),
            qos: Arc::new(self.qos),
            subscriber_qos: Arc::new(self.subscriber_qos),
            topic_data: self.topic_data,
            type_information: self.type_information.map(|ty| Arc::clone(ty.octets())),
            expects_inline_qos: false,
            content_filter: self.content_filter,
            related: self.related,
            vendor,
            unicast: Arc::new([Locator::LOCAL]),
            multicast: Arc::new([]),
            direct: None,
            life: None,
            own_locators: self.locators.boxed(),
        }
    }
}
