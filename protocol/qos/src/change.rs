//! Which policies may change once an entity is enabled (DDS 1.4 §2.2.3, column "changeable"; `IMMUTABLE_POLICY`).

use crate::{
    entity::{DataReaderQos, DataWriterQos, DomainParticipantQos, PublisherQos, SubscriberQos, TopicQos},
    error::ImmutablePolicy,
    id::PolicyId,
};

type Check = Result<(), ImmutablePolicy>;

fn same<T: PartialEq>(old: &T, new: &T, policy: PolicyId) -> Check {
    if old == new { Ok(()) } else { Err(ImmutablePolicy { policy }) }
}

/// The immutable policies that topics, writers and readers share.
macro_rules! common_immutable {
    ($old:expr, $new:expr) => {{
        let (old, new) = ($old, $new);
        same(&old.durability, &new.durability, PolicyId::Durability)?;
        same(&old.ownership, &new.ownership, PolicyId::Ownership)?;
        same(&old.liveliness, &new.liveliness, PolicyId::Liveliness)?;
        same(&old.reliability, &new.reliability, PolicyId::Reliability)?;
        same(&old.destination_order, &new.destination_order, PolicyId::DestinationOrder)?;
        same(&old.history, &new.history, PolicyId::History)?;
        same(&old.resource_limits, &new.resource_limits, PolicyId::ResourceLimits)?;
        same(&old.representation, &new.representation, PolicyId::DataRepresentation)?;
    }};
}

impl DomainParticipantQos {
    /// Whether an enabled participant may go from this QoS to `new`.
    ///
    /// # Errors
    /// The first immutable policy that differs.
    pub fn check_changeable(&self, new: &Self) -> Result<(), ImmutablePolicy> {
        same(&self.property, &new.property, PolicyId::Property)
    }
}

impl TopicQos {
    /// Whether an enabled topic may go from this QoS to `new`.
    ///
    /// # Errors
    /// The first immutable policy that differs.
    pub fn check_changeable(&self, new: &Self) -> Result<(), ImmutablePolicy> {
        common_immutable!(self, new);
        same(&self.durability_service, &new.durability_service, PolicyId::DurabilityService)
    }
}

impl PublisherQos {
    /// Whether an enabled publisher may go from this QoS to `new`.
    ///
    /// # Errors
    /// The first immutable policy that differs.
    pub fn check_changeable(&self, new: &Self) -> Result<(), ImmutablePolicy> {
        same(&self.presentation, &new.presentation, PolicyId::Presentation)
    }
}

impl SubscriberQos {
    /// Whether an enabled subscriber may go from this QoS to `new`.
    ///
    /// # Errors
    /// The first immutable policy that differs.
    pub fn check_changeable(&self, new: &Self) -> Result<(), ImmutablePolicy> {
        same(&self.presentation, &new.presentation, PolicyId::Presentation)
    }
}

impl DataWriterQos {
    /// Whether an enabled writer may go from this QoS to `new`.
    ///
    /// # Errors
    /// The first immutable policy that differs.
    pub fn check_changeable(&self, new: &Self) -> Result<(), ImmutablePolicy> {
        common_immutable!(self, new);
        same(&self.durability_service, &new.durability_service, PolicyId::DurabilityService)?;
        same(&self.property, &new.property, PolicyId::Property)
    }
}

impl DataReaderQos {
    /// Whether an enabled reader may go from this QoS to `new`.
    ///
    /// # Errors
    /// The first immutable policy that differs.
    pub fn check_changeable(&self, new: &Self) -> Result<(), ImmutablePolicy> {
        common_immutable!(self, new);
        same(&self.type_consistency, &new.type_consistency, PolicyId::TypeConsistencyEnforcement)?;
        same(&self.property, &new.property, PolicyId::Property)
    }
}

#[cfg(test)]
mod tests;
