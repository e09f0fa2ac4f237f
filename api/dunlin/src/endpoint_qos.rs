//! Which QoS an entity is created with: one that is given, or one that its factory and, of writers and readers, its topic
//! have (DDS 1.4 §2.2.2.2.1, §2.2.2.4.1.5, §2.2.2.5.2.5).

use std::borrow::Cow;

use dunlin_qos::{DataReaderQos, DataWriterQos, DomainParticipantQos, PublisherQos, SubscriberQos, TopicQos};

/// What `create_topic`, `create_publisher`, `create_subscriber` and `set_qos` of these and of participants take: a reference
/// to a QoS, or one of the constants.
#[derive(PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EntityQos<'a, Q> {
    /// This one.
    Given(&'a Q),
    /// The default QoS of the factory at that moment.
    FactoryDefault,
}

impl<'a, Q: Clone> EntityQos<'a, Q> {
    /// The QoS that is meant.
    pub(crate) fn or_else(self, default: impl FnOnce() -> Q) -> Cow<'a, Q> {
        match self {
            Self::Given(qos) => Cow::Borrowed(qos),
            Self::FactoryDefault => Cow::Owned(default()),
        }
    }
}

// Not derived, as that would ask for QoS that can be copied.
impl<Q> Clone for EntityQos<'_, Q> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Q> Copy for EntityQos<'_, Q> {}

impl<'a, Q> From<&'a Q> for EntityQos<'a, Q> {
    fn from(qos: &'a Q) -> Self {
        Self::Given(qos)
    }
}

/// The default QoS of the [`DomainParticipantFactory`](crate::DomainParticipantFactory).
pub const PARTICIPANT_QOS_DEFAULT: EntityQos<'static, DomainParticipantQos> = EntityQos::FactoryDefault;
/// The participant's default QoS of topics.
pub const TOPIC_QOS_DEFAULT: EntityQos<'static, TopicQos> = EntityQos::FactoryDefault;
/// The participant's default QoS of publishers.
pub const PUBLISHER_QOS_DEFAULT: EntityQos<'static, PublisherQos> = EntityQos::FactoryDefault;
/// The participant's default QoS of subscribers.
pub const SUBSCRIBER_QOS_DEFAULT: EntityQos<'static, SubscriberQos> = EntityQos::FactoryDefault;

/// What `create_datawriter`, `create_datareader` and `set_qos` of writers and readers take: a reference to a QoS, or one of
/// the constants.
#[derive(PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EndpointQos<'a, Q> {
    /// This one.
    Given(&'a Q),
    /// The default QoS of the publisher or subscriber at that moment.
    FactoryDefault,
    /// The same, overlaid with what the topic's QoS says (`copy_from_topic_qos`).
    UseTopicQos,
}

// Not derived, as that would ask for QoS that can be copied.
impl<Q> Clone for EndpointQos<'_, Q> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Q> Copy for EndpointQos<'_, Q> {}

impl<'a, Q> From<&'a Q> for EndpointQos<'a, Q> {
    fn from(qos: &'a Q) -> Self {
        Self::Given(qos)
    }
}

/// The default QoS of the publisher.
pub const DATAWRITER_QOS_DEFAULT: EndpointQos<'static, DataWriterQos> = EndpointQos::FactoryDefault;
/// The default QoS of the publisher, overlaid with the topic's.
pub const DATAWRITER_QOS_USE_TOPIC_QOS: EndpointQos<'static, DataWriterQos> = EndpointQos::UseTopicQos;
/// The default QoS of the subscriber.
pub const DATAREADER_QOS_DEFAULT: EndpointQos<'static, DataReaderQos> = EndpointQos::FactoryDefault;
/// The default QoS of the subscriber, overlaid with the topic's; of a content-filtered topic that of the related topic.
/// A multi-topic has none.
pub const DATAREADER_QOS_USE_TOPIC_QOS: EndpointQos<'static, DataReaderQos> = EndpointQos::UseTopicQos;
