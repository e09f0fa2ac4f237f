//! Which QoS a writer or reader is created with: one that is given, or one that its factory and its topic have
//! (DDS 1.4 §2.2.2.4.1.5, §2.2.2.5.2.5).

use dunlin_qos::{DataReaderQos, DataWriterQos};

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
