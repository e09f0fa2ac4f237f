//! Policies of DDS 1.4 §2.2.3 whose effect does not exist in this version: setting one is refused, never ignored.

use crate::{
    entity::{DataReaderQos, DataWriterQos, DomainParticipantQos, PublisherQos, SubscriberQos, TopicQos},
    error::{QosError, UnsupportedPolicy},
    id::PolicyId,
    kinds::DurabilityKind,
    policy::{Durability, DurabilityService, Property, TransportPriority},
    type_policy::{DataRepresentation, DataRepresentationId, TypeConsistencyEnforcement},
};

type Check = Result<(), UnsupportedPolicy>;

fn ensure(supported: bool, policy: PolicyId, reason: &'static str) -> Check {
    if supported { Ok(()) } else { Err(UnsupportedPolicy { policy, reason }) }
}

fn durability(durability: Durability) -> Check {
    ensure(
        durability.kind <= DurabilityKind::TransientLocal,
        PolicyId::Durability,
        "TRANSIENT and PERSISTENT need a durability service; use VOLATILE or TRANSIENT_LOCAL",
    )
}

fn durability_service(service: &DurabilityService) -> Check {
    ensure(
        *service == DurabilityService::default(),
        PolicyId::DurabilityService,
        "there is no durability service; leave the default",
    )
}

fn transport_priority(priority: TransportPriority) -> Check {
    ensure(priority.value == 0, PolicyId::TransportPriority, "no transport has priorities; leave 0")
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

fn type_consistency(enforcement: TypeConsistencyEnforcement) -> Check {
    ensure(
        enforcement == TypeConsistencyEnforcement::default(),
        PolicyId::TypeConsistencyEnforcement,
        "types are compared by name; leave the default",
    )
}

fn property(property: &Property) -> Check {
    ensure(
        !property.values.iter().any(|(name, _)| name.starts_with("dds.sec.")),
        PolicyId::Property,
        "there are no security plugins to configure",
    )
}

impl DomainParticipantQos {
    /// Whether every policy is effective in this version.
    ///
    /// # Errors
    /// The first policy whose value would be without effect.
    pub fn check_supported(&self) -> Result<(), UnsupportedPolicy> {
        ensure(
            self.entity_factory.autoenable_created_entities,
            PolicyId::EntityFactory,
            "publishers and subscribers are created enabled; set it on them for writers and readers",
        )?;
        property(&self.property)
    }
}

impl TopicQos {
    /// Whether every policy is effective in this version.
    ///
    /// # Errors
    /// The first policy whose value would be without effect.
    pub fn check_supported(&self) -> Result<(), UnsupportedPolicy> {
        durability(self.durability)?;
        durability_service(&self.durability_service)?;
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
        durability(self.durability)?;
        durability_service(&self.durability_service)?;
        transport_priority(self.transport_priority)?;
        representation(&self.representation)?;
        property(&self.property)
    }
}

impl DataReaderQos {
    /// Whether every policy is effective in this version.
    ///
    /// # Errors
    /// The first policy whose value would be without effect.
    pub fn check_supported(&self) -> Result<(), UnsupportedPolicy> {
        durability(self.durability)?;
        representation(&self.representation)?;
        type_consistency(self.type_consistency)?;
        property(&self.property)
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
