//! Whether an offer satisfies a request: the "RxO" rules of DDS 1.4 §2.2.3 and DDS-XTypes 1.3 §7.6.3.1.2.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use dunlin_core::Duration;

use crate::{
    entity::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos},
    id::PolicyId,
    kinds::{DestinationOrderKind, DurabilityKind, OwnershipKind, ReliabilityKind},
    policy::{Liveliness, Presentation},
    type_policy::{DataRepresentation, DataRepresentationId},
};

/// What a writer offers, local or remote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriterOffer {
    /// DURABILITY.
    pub durability: DurabilityKind,
    /// PRESENTATION of its publisher.
    pub presentation: Presentation,
    /// DEADLINE period.
    pub deadline: Duration,
    /// LATENCY_BUDGET duration.
    pub latency_budget: Duration,
    /// OWNERSHIP.
    pub ownership: OwnershipKind,
    /// LIVELINESS.
    pub liveliness: Liveliness,
    /// RELIABILITY.
    pub reliability: ReliabilityKind,
    /// DESTINATION_ORDER.
    pub destination_order: DestinationOrderKind,
    /// DATA_REPRESENTATION: the one encoding that is offered.
    pub representation: DataRepresentationId,
}

impl WriterOffer {
    /// Collects the offer of a writer with this QoS.
    #[must_use]
    pub fn new(writer: &DataWriterQos, publisher: &PublisherQos) -> Self {
        Self {
            durability: writer.durability.kind,
            presentation: publisher.presentation,
            deadline: writer.deadline.period,
            latency_budget: writer.latency_budget.duration,
            ownership: writer.ownership.kind,
            liveliness: writer.liveliness,
            reliability: writer.reliability.kind,
            destination_order: writer.destination_order.kind,
            representation: writer.representation.offered(),
        }
    }
}

/// What a reader requests, local or remote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReaderRequest {
    /// DURABILITY.
    pub durability: DurabilityKind,
    /// PRESENTATION of its subscriber.
    pub presentation: Presentation,
    /// DEADLINE period.
    pub deadline: Duration,
    /// LATENCY_BUDGET duration.
    pub latency_budget: Duration,
    /// OWNERSHIP.
    pub ownership: OwnershipKind,
    /// LIVELINESS.
    pub liveliness: Liveliness,
    /// RELIABILITY.
    pub reliability: ReliabilityKind,
    /// DESTINATION_ORDER.
    pub destination_order: DestinationOrderKind,
    /// DATA_REPRESENTATION: the encodings that are accepted.
    pub representation: DataRepresentation,
}

impl ReaderRequest {
    /// Collects the request of a reader with this QoS.
    #[must_use]
    pub fn new(reader: &DataReaderQos, subscriber: &SubscriberQos) -> Self {
        Self {
            durability: reader.durability.kind,
            presentation: subscriber.presentation,
            deadline: reader.deadline.period,
            latency_budget: reader.latency_budget.duration,
            ownership: reader.ownership.kind,
            liveliness: reader.liveliness,
            reliability: reader.reliability.kind,
            destination_order: reader.destination_order.kind,
            representation: reader.representation.clone(),
        }
    }
}

/// One policy that keeps a writer and a reader apart, with both values as text for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncompatiblePolicy {
    /// The policy.
    pub policy: PolicyId,
    /// What the writer offers.
    pub offered: String,
    /// What the reader requests.
    pub requested: String,
}

impl core::fmt::Display for IncompatiblePolicy {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}: offered {}, requested {}", self.policy, self.offered, self.requested)
    }
}

/// Every policy in which `offered` does not satisfy `requested`, in the order of the policies' numbers; empty when
/// the two are compatible.
#[must_use]
pub fn check_compatible(offered: &WriterOffer, requested: &ReaderRequest) -> Vec<IncompatiblePolicy> {
    let mut found = Vec::new();
    let (o, r) = (offered, requested);
    check(&mut found, PolicyId::Durability, o.durability >= r.durability, &o.durability, &r.durability);
    if !presentation_satisfies(o.presentation, r.presentation) {
        found.push(IncompatiblePolicy {
            policy: PolicyId::Presentation,
            offered: presentation_text(o.presentation),
            requested: presentation_text(r.presentation),
        });
    }
    check(&mut found, PolicyId::Deadline, o.deadline <= r.deadline, &o.deadline, &r.deadline);
    let in_budget = o.latency_budget <= r.latency_budget;
    check(&mut found, PolicyId::LatencyBudget, in_budget, &o.latency_budget, &r.latency_budget);
    check(&mut found, PolicyId::Ownership, o.ownership == r.ownership, &o.ownership, &r.ownership);
    if !liveliness_satisfies(o.liveliness, r.liveliness) {
        found.push(IncompatiblePolicy {
            policy: PolicyId::Liveliness,
            offered: liveliness_text(o.liveliness),
            requested: liveliness_text(r.liveliness),
        });
    }
    check(&mut found, PolicyId::Reliability, o.reliability >= r.reliability, &o.reliability, &r.reliability);
    let ordered = o.destination_order >= r.destination_order;
    check(&mut found, PolicyId::DestinationOrder, ordered, &o.destination_order, &r.destination_order);
    let accepted = r.representation.accepts(o.representation);
    check(&mut found, PolicyId::DataRepresentation, accepted, &o.representation, &r.representation);
    found
}

fn check(
    found: &mut Vec<IncompatiblePolicy>,
    policy: PolicyId,
    satisfied: bool,
    offered: &dyn ToText,
    requested: &dyn ToText,
) {
    if !satisfied {
        found.push(IncompatiblePolicy { policy, offered: offered.text(), requested: requested.text() });
    }
}

/// `ToString` as a trait object, so that [`check`] exists once.
trait ToText {
    fn text(&self) -> String;
}

impl<T: core::fmt::Display> ToText for T {
    fn text(&self) -> String {
        self.to_string()
    }
}

fn presentation_satisfies(offered: Presentation, requested: Presentation) -> bool {
    offered.access_scope >= requested.access_scope
        && (!requested.coherent_access || offered.coherent_access)
        && (!requested.ordered_access || offered.ordered_access)
}

fn presentation_text(p: Presentation) -> String {
    format!("{}, coherent {}, ordered {}", p.access_scope, p.coherent_access, p.ordered_access)
}

fn liveliness_satisfies(offered: Liveliness, requested: Liveliness) -> bool {
    offered.kind >= requested.kind && offered.lease_duration <= requested.lease_duration
}

fn liveliness_text(l: Liveliness) -> String {
    format!("{}, lease {}", l.kind, l.lease_duration)
}

#[cfg(test)]
mod tests;
