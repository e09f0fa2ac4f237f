use alloc::string::ToString;

use dunlin_core::Duration;

use super::*;
use crate::{kinds::PresentationAccessScope, type_policy::TypeConsistencyEnforcement};

fn policy(result: Result<(), UnsupportedPolicy>) -> Option<PolicyId> {
    result.err().map(|error| error.policy)
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn defaults_are_supported() {
    assert_eq!(DomainParticipantQos::default().validate(), Ok(()));
    assert_eq!(TopicQos::default().validate(), Ok(()));
    assert_eq!(PublisherQos::default().validate(), Ok(()));
    assert_eq!(SubscriberQos::default().validate(), Ok(()));
    assert_eq!(DataWriterQos::default().validate(), Ok(()));
    assert_eq!(DataReaderQos::default().validate(), Ok(()));
}

#[test]
fn policies_without_effect_are_refused() {
    let writer = DataWriterQos::default;
    let reader = DataReaderQos::default;
    let rows = [
        (
            policy(writer().durability(DurabilityKind::Transient).durability.check_service(false)),
            PolicyId::Durability,
        ),
        (policy(writer().transport_priority(64).check_supported()), PolicyId::TransportPriority),
        (policy(writer().transport_priority(-1).check_supported()), PolicyId::TransportPriority),
        (
            policy(writer().representation(&[DataRepresentationId::Xml]).check_supported()),
            PolicyId::DataRepresentation,
        ),
        (
            policy(reader().representation(&[DataRepresentationId::Other(9)]).check_supported()),
            PolicyId::DataRepresentation,
        ),
        (policy(writer().property("dds.sec.auth.plugin", "x").check_supported()), PolicyId::Property),
    ];
    for (found, expected) in rows {
        assert_eq!(found, Some(expected));
    }
}

#[test]
fn every_type_consistency_is_accepted() {
    let strictest =
        TypeConsistencyEnforcement { force_type_validation: true, ..TypeConsistencyEnforcement::DISALLOW };
    for enforcement in [TypeConsistencyEnforcement::DISALLOW, strictest] {
        assert_eq!(DataReaderQos::default().type_consistency(enforcement).validate(), Ok(()));
    }
}

#[test]
fn every_presentation_is_accepted() {
    use PresentationAccessScope::{Group, Instance, Topic};
    for (scope, coherent, ordered) in [(Topic, false, true), (Group, true, true), (Instance, true, false)] {
        let publisher = PublisherQos::default().presentation(scope, coherent, ordered);
        let subscriber = SubscriberQos::default().presentation(scope, coherent, ordered);
        assert_eq!((publisher.validate(), subscriber.validate()), (Ok(()), Ok(())));
    }
}

#[test]
fn policies_with_effect_are_accepted() {
    assert_eq!(DataReaderQos::default().latency_budget(SECOND).check_supported(), Ok(()));
    let persistent = DataWriterQos::default().durability(DurabilityKind::Persistent).durability;
    assert_eq!(persistent.check_service(true), Ok(()));
    assert_eq!(DataWriterQos::default().transient_local().durability.check_service(false), Ok(()));
    assert_eq!(DataWriterQos::default().transport_priority(63).check_supported(), Ok(()));
    assert_eq!(DataWriterQos::default().latency_budget(SECOND).check_supported(), Ok(()));
    let writer = DataWriterQos::default().transient_local().keep_all().exclusive().by_source_timestamp();
    assert_eq!(writer.lifespan(SECOND).deadline(SECOND).property("a", "b").validate(), Ok(()));
    let reader = DataReaderQos::default().reliable().transient_local().time_based_filter(SECOND);
    assert_eq!(reader.autopurge(SECOND, SECOND).validate(), Ok(()));
}

#[test]
fn errors_name_policy_and_remedy() {
    let error = DataWriterQos::default().representation(&[DataRepresentationId::Xml]).validate();
    assert_eq!(
        error.unwrap_err().to_string(),
        "unsupported DATA_REPRESENTATION: samples can be encoded as XCDR1 or XCDR2 only"
    );
    let error = DataWriterQos::default().keep_last(0).validate().unwrap_err();
    assert_eq!(error.to_string(), "inconsistent HISTORY: the depth of KEEP_LAST must be at least 1");
}
