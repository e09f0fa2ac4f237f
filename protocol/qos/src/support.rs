//! Policies of DDS 1.4 §2.2.3 whose effect does not exist in this version: setting one is refused, never ignored.

use crate::{
    entity::{DataReaderQos, DataWriterQos, DomainParticipantQos, PublisherQos, SubscriberQos, TopicQos},
    error::{QosError, UnsupportedPolicy},
    id::PolicyId,
    kinds::DurabilityKind,
    policy::{Durability, Property, TransportPriority},
    service,
    type_policy::{DataRepresentation, DataRepresentationId},
};

/// The highest differentiated services code point (RFC 2474).
const MAX_PRIORITY: i32 = 63;

type Check = Result<(), UnsupportedPolicy>;

fn ensure(supported: bool, policy: PolicyId, reason: &'static str) -> Check {
    if supported { Ok(()) } else { Err(UnsupportedPolicy { policy, reason }) }
}

impl Durability {
    /// TRANSIENT and PERSISTENT are those of a durability service. Without one a writer can still keep its samples for late
    /// joiners as with TRANSIENT_LOCAL, if that is `enough`.
    ///
    /// # Errors
    /// When it is not.
    pub fn check_service(&self, enough: bool) -> Result<(), UnsupportedPolicy> {
        ensure(
            enough || self.kind <= DurabilityKind::TransientLocal,
            PolicyId::Durability,
            "TRANSIENT and PERSISTENT need a durability service; use VOLATILE or TRANSIENT_LOCAL, or set the \
             configuration key durability.without_service = \"local\"",
        )
    }
}

fn transport_priority(priority: TransportPriority) -> Check {
    ensure(
        (0..=MAX_PRIORITY).contains(&priority.value),
        PolicyId::TransportPriority,
        "priorities are differentiated services code points, 0 to 63",
    )
}

fn representation(representation: &DataRepresentation) -> Check {
    let known =
        |id: &DataRepresentationId| matches!(id, DataRepresentationId::Xcdr1 | DataRepresentationId::Xcdr2);
    ensure(
        representation.ids.iter().all(known),
        PolicyId::DataRepresentation,
        "samples can be encoded as XCDR1 or XCDR2 only",
    )
}

fn property(property: &Property, of_reader: bool) -> Check {
    ensure(
        !property.values.iter().any(|(name, _)| name.starts_with("dds.sec.")),
        PolicyId::Property,
        "there are no security plugins to configure",
    )?;
    service::check(property, of_reader)
}

impl DomainParticipantQos {
    /// Whether every policy is effective in this version.
    ///
    /// # Errors
    /// The first policy whose value would be without effect.
    pub fn check_supported(&self) -> Result<(), UnsupportedPolicy> {
        property(&self.property, false)
    }
}

impl TopicQos {
    /// Whether every policy is effective in this version.
    ///
    /// # Errors
    /// The first policy whose value would be without effect.
    pub fn check_supported(&self) -> Result<(), UnsupportedPolicy> {
        transport_priority(self.transport_priority)?;
        representation(&self.representation)
    }
}

impl PublisherQos {
    /// Whether every policy is effective in this version.
    ///
    /// # Errors
    /// The first policy whose value would be without effect.
    pub fn check_supported(&self) -> Result<(), UnsupportedPolicy> {
        Ok(())
    }
}

impl SubscriberQos {
    /// Whether every policy is effective in this version.
    ///
    /// # Errors
    /// The first policy whose value would be without effect.
    pub fn check_supported(&self) -> Result<(), UnsupportedPolicy> {
        Ok(())
    }
}

impl DataWriterQos {
    /// Whether every policy is effective in this version.
    ///
    /// # Errors
    /// The first policy whose value would be without effect.
    pub fn check_supported(&self) -> Result<(), UnsupportedPolicy> {
        transport_priority(self.transport_priority)?;
        representation(&self.representation)?;
        property(&self.property, false)
    }
}

impl DataReaderQos {
    /// Whether every policy is effective in this version.
    ///
    /// # Errors
    /// The first policy whose value would be without effect.
    pub fn check_supported(&self) -> Result<(), UnsupportedPolicy> {
        representation(&self.representation)?;
        property(&self.property, true)?;
        self.check_acknowledgment()?;
        self.check_changes()
    }
}

/// `validate` of every QoS: consistency first, then support.
macro_rules! validate {
    ($($qos:ty),+) => {$(
        impl $qos {
            /// Checks what creating an entity with this QoS requires: consistency, then support.
            ///
            /// # Errors
            /// The first policy that breaks a rule or would be without effect.
            pub fn validate(&self) -> Result<(), QosError> {
                self.check_consistency()?;
                Ok(self.check_supported()?)
            }
        }
    )+};
}

validate!(DomainParticipantQos, TopicQos, PublisherQos, SubscriberQos, DataWriterQos, DataReaderQos);

#[cfg(test)]
mod tests;
