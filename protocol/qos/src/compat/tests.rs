use alloc::{vec, vec::Vec};

use super::*;
use crate::kinds::{LivelinessKind, PresentationAccessScope};

fn compare(edit: impl Fn(&mut WriterOffer, &mut ReaderRequest)) -> Vec<PolicyId> {
    let writer = DataWriterQos::default();
    let reader = DataReaderQos::default();
    let mut offer = WriterOffer::new(&writer, &PublisherQos::default());
    let mut request = ReaderRequest::new(&reader, &SubscriberQos::default());
    edit(&mut offer, &mut request);
    check_compatible(&offer, &request).into_iter().map(|found| found.policy).collect()
}

/// Checks one policy: `values` in ascending strength, an offer at least as strong as the request matches.
fn ordered<T: Copy>(
    policy: PolicyId,
    values: &[T],
    set: impl Fn(&mut WriterOffer, &mut ReaderRequest, T, T),
) {
    for (o, offered) in values.iter().enumerate() {
        for (r, requested) in values.iter().enumerate() {
            let expected = if o >= r { vec![] } else { vec![policy] };
            let found = compare(|offer, request| set(offer, request, *offered, *requested));
            assert_eq!(found, expected, "{policy}: offered #{o}, requested #{r}");
        }
    }
}

#[test]
fn defaults_are_compatible() {
    assert_eq!(compare(|_, _| ()), []);
}

#[test]
fn kinds_are_ordered() {
    ordered(PolicyId::Durability, DurabilityKind::ALL, |o, r, a, b| (o.durability, r.durability) = (a, b));
    ordered(PolicyId::Reliability, ReliabilityKind::ALL, |o, r, a, b| {
        (o.reliability, r.reliability) = (a, b)
    });
    ordered(PolicyId::DestinationOrder, DestinationOrderKind::ALL, |o, r, a, b| {
        (o.destination_order, r.destination_order) = (a, b);
    });
    ordered(PolicyId::Liveliness, LivelinessKind::ALL, |o, r, a, b| {
        (o.liveliness.kind, r.liveliness.kind) = (a, b);
    });
    ordered(PolicyId::Presentation, PresentationAccessScope::ALL, |o, r, a, b| {
        (o.presentation.access_scope, r.presentation.access_scope) = (a, b);
    });
}

#[test]
fn durations_offered_must_not_be_longer() {
    // Ascending strength: the shorter the offered time, the stronger the promise.
    let durations = [Duration::INFINITE, Duration::from_secs(2), Duration::from_nanos(1)];
    ordered(PolicyId::Deadline, &durations, |o, r, a, b| (o.deadline, r.deadline) = (a, b));
    ordered(PolicyId::LatencyBudget, &durations, |o, r, a, b| (o.latency_budget, r.latency_budget) = (a, b));
    ordered(PolicyId::Liveliness, &durations, |o, r, a, b| {
        (o.liveliness.lease_duration, r.liveliness.lease_duration) = (a, b);
    });
}

#[test]
fn liveliness_needs_both_kind_and_lease() {
    let with = |kind, lease| Liveliness { kind, lease_duration: Duration::from_secs(lease) };
    let found = compare(|o, r| {
        o.liveliness = with(LivelinessKind::ManualByTopic, 2);
        r.liveliness = with(LivelinessKind::Automatic, 1);
    });
    assert_eq!(found, [PolicyId::Liveliness]);
    let found = compare(|o, r| {
        o.liveliness = with(LivelinessKind::ManualByTopic, 1);
        r.liveliness = with(LivelinessKind::Automatic, 1);
    });
    assert_eq!(found, []);
}

#[test]
fn ownership_must_be_equal() {
    for offered in OwnershipKind::ALL {
        for requested in OwnershipKind::ALL {
            let found = compare(|o, r| (o.ownership, r.ownership) = (*offered, *requested));
            assert_eq!(found.is_empty(), offered == requested);
        }
    }
}

#[test]
fn presentation_flags_are_promises() {
    for (offered, requested, ok) in
        [(false, false, true), (true, false, true), (true, true, true), (false, true, false)]
    {
        let coherent = compare(|o, r| {
            (o.presentation.coherent_access, r.presentation.coherent_access) = (offered, requested);
        });
        let ordered = compare(|o, r| {
            (o.presentation.ordered_access, r.presentation.ordered_access) = (offered, requested);
        });
        assert_eq!((coherent.is_empty(), ordered.is_empty()), (ok, ok));
    }
}

#[test]
fn representation_offers_one_of_the_accepted() {
    use DataRepresentationId::{Other, Xcdr1, Xcdr2, Xml};
    let rows: [(&[_], &[_], bool); 9] = [
        (&[], &[], true),
        (&[], &[Xcdr1], true),
        (&[], &[Xcdr2], false),
        (&[Xcdr1], &[], true),
        (&[Xcdr2], &[], false),
        (&[Xcdr2, Xcdr1], &[Xcdr1], false),
        (&[Xcdr2], &[Xcdr1, Xcdr2], true),
        (&[Xml], &[Xcdr1, Xcdr2], false),
        (&[Other(-3)], &[Other(-3)], true),
    ];
    for (offered, requested, ok) in rows {
        let writer = DataWriterQos::default().representation(offered);
        let reader = DataReaderQos::default().representation(requested);
        let found = check_compatible(
            &WriterOffer::new(&writer, &PublisherQos::default()),
            &ReaderRequest::new(&reader, &SubscriberQos::default()),
        );
        assert_eq!(found.is_empty(), ok, "{offered:?} for {requested:?}");
    }
}

#[test]
fn every_incompatible_policy_is_listed_with_both_values() {
    let writer = DataWriterQos::default().best_effort().deadline(Duration::from_secs(3));
    let reader = DataReaderQos::default().reliable().transient_local().deadline(Duration::from_millis(1500));
    let found = check_compatible(
        &WriterOffer::new(&writer, &PublisherQos::default()),
        &ReaderRequest::new(&reader, &SubscriberQos::default()),
    );
    let text: Vec<_> = found.iter().map(ToString::to_string).collect();
    assert_eq!(
        text,
        [
            "DURABILITY: offered VOLATILE, requested TRANSIENT_LOCAL",
            "DEADLINE: offered 3s, requested 1500ms",
            "RELIABILITY: offered BEST_EFFORT, requested RELIABLE",
        ]
    );
}

#[test]
fn composite_values_print() {
    let mut offer = WriterOffer::new(&DataWriterQos::default(), &PublisherQos::default());
    let mut request = ReaderRequest::new(&DataReaderQos::default(), &SubscriberQos::default());
    offer.representation = DataRepresentationId::Xml;
    request.liveliness =
        Liveliness { kind: LivelinessKind::ManualByTopic, lease_duration: Duration::from_secs(1) };
    request.presentation = Presentation {
        access_scope: PresentationAccessScope::Group,
        coherent_access: true,
        ordered_access: false,
    };
    let text: Vec<_> = check_compatible(&offer, &request).iter().map(ToString::to_string).collect();
    assert_eq!(
        text,
        [
            "PRESENTATION: offered INSTANCE, coherent false, ordered false, \
             requested GROUP, coherent true, ordered false",
            "LIVELINESS: offered AUTOMATIC, lease infinite, requested MANUAL_BY_TOPIC, lease 1s",
            "DATA_REPRESENTATION: offered XML, requested [XCDR1, XCDR2]",
        ]
    );
}
