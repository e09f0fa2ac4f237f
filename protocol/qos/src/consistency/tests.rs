use alloc::{string::String, vec};

use super::*;
use crate::kinds::LivelinessKind;

fn policy(result: Result<(), InconsistentPolicy>) -> Option<PolicyId> {
    result.err().map(|error| error.policy)
}

const SECOND: Duration = Duration::from_secs(1);
const NEGATIVE: Duration = Duration::from_nanos(-1);

#[test]
fn defaults_are_consistent() {
    assert_eq!(DomainParticipantQos::default().check_consistency(), Ok(()));
    assert_eq!(TopicQos::default().check_consistency(), Ok(()));
    assert_eq!(PublisherQos::default().check_consistency(), Ok(()));
    assert_eq!(SubscriberQos::default().check_consistency(), Ok(()));
    assert_eq!(DataWriterQos::default().check_consistency(), Ok(()));
    assert_eq!(DataReaderQos::default().check_consistency(), Ok(()));
}

#[test]
fn history_and_limits_fit_together() {
    use PolicyId::{History, ResourceLimits};
    let keep_last = |depth, samples, instances, per_instance| {
        policy(
            DataWriterQos::default()
                .keep_last(depth)
                .resource_limits(samples, instances, per_instance)
                .check_consistency(),
        )
    };
    assert_eq!(keep_last(0, -1, -1, -1), Some(History));
    assert_eq!(keep_last(-1, -1, -1, -1), Some(History));
    assert_eq!(keep_last(5, -1, -1, -1), None);
    assert_eq!(keep_last(5, -1, -1, 5), None);
    assert_eq!(keep_last(6, -1, -1, 5), Some(History));
    assert_eq!(keep_last(1, 5, -1, 5), None);
    assert_eq!(keep_last(1, 4, -1, 5), Some(ResourceLimits));
    assert_eq!(keep_last(1, 4, -1, -1), None);
    assert_eq!(keep_last(1, 0, -1, -1), Some(ResourceLimits));
    assert_eq!(keep_last(1, -1, 0, -1), Some(ResourceLimits));
    assert_eq!(keep_last(1, -1, -1, -2), Some(ResourceLimits));
    let keep_all = DataReaderQos::default().keep_last(0).keep_all();
    assert_eq!(policy(keep_all.check_consistency()), None);
}

#[test]
fn deadline_is_at_least_the_separation() {
    let with = |deadline, separation| {
        policy(DataReaderQos::default().deadline(deadline).time_based_filter(separation).check_consistency())
    };
    assert_eq!(with(SECOND, SECOND), None);
    assert_eq!(with(SECOND, Duration::from_nanos(1_000_000_001)), Some(PolicyId::TimeBasedFilter));
    assert_eq!(with(Duration::INFINITE, SECOND), None);
}

#[test]
fn durations_are_not_negative() {
    let writer = DataWriterQos::default;
    let reader = DataReaderQos::default;
    let rows = [
        (policy(writer().deadline(NEGATIVE).check_consistency()), PolicyId::Deadline),
        (policy(writer().latency_budget(NEGATIVE).check_consistency()), PolicyId::LatencyBudget),
        (policy(writer().lifespan(NEGATIVE).check_consistency()), PolicyId::Lifespan),
        (policy(writer().max_blocking_time(NEGATIVE).check_consistency()), PolicyId::Reliability),
        (policy(reader().time_based_filter(NEGATIVE).check_consistency()), PolicyId::TimeBasedFilter),
        (policy(reader().autopurge(NEGATIVE, SECOND).check_consistency()), PolicyId::ReaderDataLifecycle),
        (policy(reader().autopurge(SECOND, NEGATIVE).check_consistency()), PolicyId::ReaderDataLifecycle),
    ];
    for (found, expected) in rows {
        assert_eq!(found, Some(expected));
    }
    for none in [Duration::ZERO, NEGATIVE] {
        let qos = writer().liveliness(LivelinessKind::Automatic, none);
        assert_eq!(policy(qos.check_consistency()), Some(PolicyId::Liveliness));
        assert_eq!(policy(writer().deadline(none).check_consistency()), Some(PolicyId::Deadline));
        assert_eq!(policy(reader().deadline(none).check_consistency()), Some(PolicyId::Deadline));
    }
}

#[test]
fn durability_service_follows_the_same_rules() {
    let with = |edit: fn(&mut DurabilityService)| {
        let mut service = DurabilityService::default();
        edit(&mut service);
        let found = policy(TopicQos::default().durability_service(service).check_consistency());
        assert_eq!(found, policy(DataWriterQos::default().durability_service(service).check_consistency()));
        found
    };
    let service = Some(PolicyId::DurabilityService);
    assert_eq!(with(|s| s.history_depth = 0), service);
    assert_eq!(with(|s| s.service_cleanup_delay = NEGATIVE), service);
    assert_eq!(with(|s| s.max_samples = 0), service);
    assert_eq!(with(|s| (s.max_samples, s.max_samples_per_instance) = (1, 2)), service);
    assert_eq!(with(|s| s.history_depth = 7), None);
}

#[test]
fn announced_data_fits_an_announcement() {
    let large = vec![0u8; MAX_OPAQUE + 1];
    let rows = [
        policy(DomainParticipantQos::default().user_data(large.clone()).check_consistency()),
        policy(DataWriterQos::default().user_data(large.clone()).check_consistency()),
        policy(DataReaderQos::default().user_data(large.clone()).check_consistency()),
    ];
    assert_eq!(rows, [Some(PolicyId::UserData); 3]);
    assert_eq!(
        policy(TopicQos::default().topic_data(large.clone()).check_consistency()),
        Some(PolicyId::TopicData)
    );
    let group = PublisherQos::default().group_data(large);
    assert_eq!(policy(group.check_consistency()), Some(PolicyId::GroupData));
    for names in [vec![String::from("a\0b")], vec!["x".repeat(257)], vec![String::new(); 65]] {
        let qos = SubscriberQos::default().partition(names);
        assert_eq!(policy(qos.check_consistency()), Some(PolicyId::Partition));
    }
    let property = DomainParticipantQos::default().property("name", "va\0lue");
    assert_eq!(policy(property.check_consistency()), Some(PolicyId::Property));
    let long = (0..40).fold(DataWriterQos::default(), |qos, _| qos.property("n", "x".repeat(500)));
    assert_eq!(policy(long.check_consistency()), Some(PolicyId::Property));
}
