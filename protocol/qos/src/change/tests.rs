use dunlin_core::Duration;

use super::*;
use crate::{
    kinds::{DestinationOrderKind, LivelinessKind, PresentationAccessScope},
    policy::DurabilityService,
    type_policy::{DataRepresentationId, TypeConsistencyEnforcement},
};

const SECOND: Duration = Duration::from_secs(1);

/// Every change of the list, applied to the default, is refused with the policy beside it, in both directions.
macro_rules! immutable {
    ($qos:ty: $($policy:ident => $edit:expr),+ $(,)?) => {$({
        let old = <$qos>::default();
        let edit: fn($qos) -> $qos = $edit;
        let new = edit(old.clone());
        let expected = Err(ImmutablePolicy { policy: PolicyId::$policy });
        assert_eq!(old.check_changeable(&new), expected);
        assert_eq!(new.check_changeable(&old), expected);
    })+};
}

macro_rules! immutable_data_policies {
    ($($qos:ty),+) => {$(
        immutable!($qos:
            Durability => |q| q.transient_local(),
            Ownership => |q| q.exclusive(),
            Liveliness => |q| q.liveliness(LivelinessKind::Automatic, SECOND),
            Reliability => |q| q.max_blocking_time(SECOND),
            DestinationOrder => |q| q.destination_order(DestinationOrderKind::BySourceTimestamp),
            History => |q| q.keep_last(2),
            ResourceLimits => |q| q.resource_limits(1, 1, 1),
            DataRepresentation => |q| q.representation(&[DataRepresentationId::Xcdr2]),
        );
    )+};
}

#[test]
fn immutable_policies_are_refused() {
    immutable_data_policies!(TopicQos, DataWriterQos, DataReaderQos);
    immutable!(TopicQos: DurabilityService =>
        |q| q.durability_service(DurabilityService { history_depth: 2, ..Default::default() }));
    immutable!(DataWriterQos:
        DurabilityService => |q| q.durability_service(DurabilityService { history_depth: 2, ..Default::default() }),
        Property => |q| q.property("a", "b"));
    immutable!(DataReaderQos:
        TypeConsistencyEnforcement => |q| q.type_consistency(TypeConsistencyEnforcement::DISALLOW),
        Property => |q| q.property("a", "b"));
    immutable!(PublisherQos: Presentation => |q| q.presentation(PresentationAccessScope::Topic, false, false));
    immutable!(SubscriberQos: Presentation => |q| q.presentation(PresentationAccessScope::Topic, false, false));
    immutable!(DomainParticipantQos: Property => |q| q.property("a", "b"));
}

#[test]
fn changeable_policies_are_accepted() {
    let participant = DomainParticipantQos::default().user_data([1]).autoenable_created_entities(false);
    assert_eq!(DomainParticipantQos::default().check_changeable(&participant), Ok(()));
    let topic = TopicQos::default().topic_data([1]).deadline(SECOND).latency_budget(SECOND).lifespan(SECOND);
    assert_eq!(TopicQos::default().check_changeable(&topic.transport_priority(1)), Ok(()));
    let publisher =
        PublisherQos::default().partition(["a"]).group_data([1]).autoenable_created_entities(false);
    assert_eq!(PublisherQos::default().check_changeable(&publisher), Ok(()));
    let subscriber =
        SubscriberQos::default().partition(["a"]).group_data([1]).autoenable_created_entities(false);
    assert_eq!(SubscriberQos::default().check_changeable(&subscriber), Ok(()));
    let writer = DataWriterQos::default().user_data([1]).deadline(SECOND).latency_budget(SECOND);
    let writer = writer.lifespan(SECOND).transport_priority(1).ownership_strength(3);
    let writer = writer.autodispose_unregistered_instances(false);
    assert_eq!(DataWriterQos::default().check_changeable(&writer), Ok(()));
    let reader = DataReaderQos::default().user_data([1]).deadline(SECOND).latency_budget(SECOND);
    let reader = reader.time_based_filter(SECOND).autopurge(SECOND, SECOND);
    assert_eq!(DataReaderQos::default().check_changeable(&reader), Ok(()));
}
