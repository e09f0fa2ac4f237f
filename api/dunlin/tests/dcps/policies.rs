//! What each policy does over the wire, under loss where that matters.

use dunlin::qos::*;
use dunlin::sim::{Node, Sim};
use dunlin::{
    DataReader, DomainParticipant, Duration, InstanceState, PublisherListener, ReturnCode,
    SampleRejectedReason, StateMasks, StatusMask, WallTime, WriteError,
};

use crate::support::*;

fn millis(n: i64) -> Duration {
    Duration::from_millis(n)
}

/// Runs a scenario in several simulations that lose a tenth.
fn each_seed(scenario: impl Fn(&mut Sim)) {
    Sim::builder().loss(0.1).seeds(0..6, |sim| {
        scenario(sim);
        Ok(())
    });
}

/// A writing and a reading node, matched.
fn lossy(
    sim: &mut Sim,
    writer_qos: &DataWriterQos,
    reader_qos: &DataReaderQos,
) -> (Node, Node, Writing, Reads) {
    let (a, b) = (sim.node("a"), sim.node("b"));
    let (w, r) = (writing(&a, writer_qos), reads(&b, reader_qos));
    sim.run_until(
        || !w.writer.matched_subscriptions().is_empty() && !r.reader.matched_publications().is_empty(),
        secs(30),
    )
    .unwrap();
    (a, b, w, r)
}

fn reliable() -> (DataWriterQos, DataReaderQos) {
    (DataWriterQos::default().keep_all(), DataReaderQos::default().reliable().keep_all())
}

fn numbers(reader: &DataReader<Reading>) -> Vec<i32> {
    reader.take(1000).unwrap().into_iter().filter_map(|sample| sample.data).map(|reading| reading.n).collect()
}

#[test]
fn user_data_and_group_data_are_seen_and_change() {
    each_seed(|sim| {
        let (writer_qos, reader_qos) = reliable();
        let (a, b, w, r) = lossy(sim, &writer_qos.user_data([1]), &reader_qos.user_data([2]));
        let of_writer = || r.reader.matched_publication_data(w.writer.instance_handle()).unwrap();
        let of_reader = || w.writer.matched_subscription_data(r.reader.instance_handle()).unwrap();
        assert_eq!(
            (of_writer().qos.user_data.0.clone(), of_reader().qos.user_data.0.clone()),
            (vec![1], vec![2])
        );
        a.run(|| {
            w.publisher.set_qos(&PublisherQos { group_data: GroupData(vec![3]), ..PublisherQos::default() })
        })
        .unwrap();
        b.run(|| {
            r.subscriber
                .set_qos(&SubscriberQos { group_data: GroupData(vec![4]), ..SubscriberQos::default() })
        })
        .unwrap();
        a.run(|| w.writer.set_qos(&w.writer.qos().user_data([5]))).unwrap();
        let changed =
            DomainParticipantQos { user_data: UserData(vec![6]), ..DomainParticipantQos::default() };
        a.run(|| w.participant.set_qos(&changed)).unwrap();
        sim.run_until(
            || {
                of_writer().publisher_qos.group_data.0 == [3]
                    && of_writer().qos.user_data.0 == [5]
                    && of_reader().subscriber_qos.group_data.0 == [4]
                    && r.participant.discovered_participants()[0].user_data.0 == [6]
            },
            secs(30),
        )
        .unwrap();
        assert_eq!(w.writer.publication_matched_status().total_count, 1, "the match stayed");
    });
}

#[test]
fn deadlines_are_missed_on_both_sides_and_may_change() {
    each_seed(|sim| {
        let (writer_qos, reader_qos) = reliable();
        let (a, b, w, r) = lossy(sim, &writer_qos.deadline(secs(1)), &reader_qos.deadline(secs(2)));
        a.run(|| w.writer.write(&reading(1, 1))).unwrap();
        sim.run_for(millis(4_500)).unwrap();
        let handle = w.writer.lookup_instance(&reading(1, 0));
        let offered = w.writer.offered_deadline_missed_status();
        assert_eq!((offered.count.total, offered.last_instance), (4, handle));
        assert_eq!(r.reader.requested_deadline_missed_status().count.total, 2);
        b.run(|| r.reader.set_qos(&r.reader.qos().deadline(millis(1_500)))).unwrap();
        a.run(|| w.writer.set_qos(&w.writer.qos().deadline(millis(250)))).unwrap();
        let before = r.reader.requested_deadline_missed_status().count.total;
        sim.run_for(millis(4_600)).unwrap();
        let offered = w.writer.offered_deadline_missed_status().count.total;
        assert!((4 + 18..=4 + 19).contains(&offered), "four in a second from then on: {offered}");
        assert_eq!(r.reader.requested_deadline_missed_status().count.total - before, 3, "in 4.6 s");
        let longer = w.writer.qos().deadline(secs(3));
        a.run(|| w.writer.set_qos(&longer)).unwrap();
        sim.run_until(|| r.reader.matched_publications().is_empty(), secs(9)).unwrap();
        let status = r.reader.requested_incompatible_qos_status();
        assert_eq!(status.last_policy_id, Some(PolicyId::Deadline), "3 s do not satisfy 1.5 s");
    });
}

#[test]
fn samples_outlive_their_lifespan_nowhere() {
    each_seed(|sim| {
        let (writer_qos, reader_qos) = reliable();
        let (a, b, w, r) =
            lossy(sim, &writer_qos.transient_local().lifespan(millis(500)), &reader_qos.transient_local());
        a.run(|| w.writer.write(&reading(1, 1))).unwrap();
        sim.run_until(|| r.reader.read(1).unwrap().len() == 1, secs(1)).unwrap();
        sim.run_for(millis(600)).unwrap();
        assert!(numbers(&r.reader).is_empty(), "gone from the reader");
        let late = reads(&b, &DataReaderQos::default().reliable().keep_all().transient_local());
        sim.run_for(secs(2)).unwrap();
        assert!(numbers(&late.reader).is_empty(), "and from the writer");
    });
}

#[test]
fn a_writer_sends_nothing_that_has_outlived_its_lifespan() {
    each_seed(|sim| {
        let (writer_qos, reader_qos) = reliable();
        let limited = writer_qos.transient_local().lifespan(millis(500)).resource_limits(1, -1, -1);
        let (a, _b, w, _r) = lossy(sim, &limited, &reader_qos.transient_local());
        a.run(|| w.writer.write(&reading(1, 1))).unwrap();
        sim.run_for(millis(600)).unwrap();
        // By its clock nothing has expired yet, so it shows for a while whatever is sent to it.
        let c = sim.node("c");
        c.set_clock_offset(secs(-3_600));
        let late = reads(&c, &DataReaderQos::default().reliable().keep_all().transient_local());
        let shown = |sim: &mut Sim| {
            let look = |_| {
                sim.run_for(millis(100)).unwrap();
                numbers(&late.reader)
            };
            (0..40).flat_map(look).collect::<Vec<_>>()
        };
        assert!(shown(sim).is_empty(), "it was not sent");
        assert_eq!(late.reader.matched_publications().len(), 1);
        a.run(|| w.writer.write(&reading(1, 2))).expect("the old one has made room");
        assert_eq!(shown(sim), [2]);
    });
}

#[test]
fn the_strongest_writer_owns_an_instance_until_it_is_gone() {
    each_seed(|sim| {
        let exclusive = Ownership { kind: OwnershipKind::Exclusive };
        let writer_qos = DataWriterQos { ownership: exclusive, ..DataWriterQos::default().keep_all() };
        let strong =
            DataWriterQos { ownership_strength: OwnershipStrength { value: 7 }, ..writer_qos.clone() };
        let reader_qos =
            DataReaderQos { ownership: exclusive, ..DataReaderQos::default().reliable().keep_all() };
        let (a, _b, w, r) = lossy(sim, &writer_qos, &reader_qos);
        let other = sim.node("c");
        let s = writing(&other, &strong);
        sim.run_until(|| r.reader.matched_publications().len() == 2, secs(9)).unwrap();
        let strength = || {
            let known = r.reader.matched_publication_data(s.writer.instance_handle());
            known.map_or(0, |data| data.qos.ownership_strength.value)
        };
        let both = |sim: &mut Sim, n: i32| {
            a.run(|| w.writer.write(&reading(1, n))).unwrap();
            sim.run_for(secs(1)).unwrap();
            other.run(|| s.writer.write(&reading(1, n + 100))).unwrap();
            sim.run_for(secs(1)).unwrap();
            numbers(&r.reader)
        };
        assert_eq!(both(sim, 1), [1, 101], "until the stronger one writes");
        assert_eq!(both(sim, 2), [102]);
        let weaker = DataWriterQos { ownership_strength: OwnershipStrength { value: -1 }, ..s.writer.qos() };
        other.run(|| s.writer.set_qos(&weaker)).unwrap();
        sim.run_until(|| strength() == -1, secs(9)).unwrap();
        assert_eq!(both(sim, 3), [3], "strength changes at run time");
        let stronger = DataWriterQos { ownership_strength: OwnershipStrength { value: 9 }, ..s.writer.qos() };
        other.run(|| s.writer.set_qos(&stronger)).unwrap();
        sim.run_until(|| strength() == 9, secs(9)).unwrap();
        assert_eq!(both(sim, 4).last(), Some(&104));
        other.crash();
        sim.run_until(|| r.reader.matched_publications().len() == 1, secs(30)).unwrap();
        a.run(|| w.writer.write(&reading(1, 5))).unwrap();
        sim.run_for(secs(1)).unwrap();
        assert_eq!(numbers(&r.reader), [5], "fail-over");
    });
}

#[test]
fn a_manual_writer_without_assertion_loses_its_liveliness() {
    for kind in [LivelinessKind::ManualByParticipant, LivelinessKind::ManualByTopic] {
        each_seed(|sim| {
            let liveliness = Liveliness { kind, lease_duration: secs(2) };
            let writer_qos = DataWriterQos { liveliness, ..DataWriterQos::default() };
            let reader_qos = DataReaderQos { liveliness, ..DataReaderQos::default().reliable() };
            let (a, _b, w, r) = lossy(sim, &writer_qos, &reader_qos);
            let counts = || {
                let status = r.reader.liveliness_changed_status();
                (status.alive_count, status.not_alive_count)
            };
            assert_eq!(counts(), (1, 0));
            sim.run_for(secs(5)).unwrap();
            assert_eq!((counts(), w.writer.liveliness_lost_status().total), ((0, 1), 1));
            // One sign may be lost; programs give them again and again.
            for _ in 0..9 {
                a.run(|| {
                    if kind == LivelinessKind::ManualByTopic {
                        w.writer.assert_liveliness().unwrap();
                    } else {
                        w.participant.assert_liveliness().unwrap();
                    }
                });
                sim.run_for(millis(500)).unwrap();
            }
            assert_eq!(counts(), (1, 0));
        });
    }
}

#[test]
fn partitions_with_wildcards_change_at_run_time() {
    let (mut sim, a, b, w, r) = pair();
    let matched = |n: usize| {
        move |w: &Writing, r: &Reads| {
            w.writer.matched_subscriptions().len() == n && r.reader.matched_publications().len() == n
        }
    };
    let (none, one) = (matched(0), matched(1));
    a.run(|| w.publisher.set_qos(&PublisherQos::default().partition(["ships/north"]))).unwrap();
    sim.run_until(|| none(&w, &r), secs(9)).unwrap();
    b.run(|| r.subscriber.set_qos(&SubscriberQos::default().partition(["planes", "ships/*"]))).unwrap();
    sim.run_until(|| one(&w, &r), secs(9)).unwrap();
    a.run(|| w.publisher.set_qos(&PublisherQos::default().partition(["ships/?"]))).unwrap();
    sim.run_until(|| none(&w, &r), secs(9)).unwrap();
    assert_eq!(r.reader.subscription_matched_status().total_count, 2);
    assert_eq!(r.reader.requested_incompatible_qos_status().count.total, 0, "no status tells of partitions");
}

#[test]
fn the_time_based_filter_spaces_samples_and_keeps_the_last() {
    each_seed(|sim| {
        let separation = TimeBasedFilter { minimum_separation: secs(1) };
        let (writer_qos, reader_qos) = reliable();
        let reader_qos = DataReaderQos { time_based_filter: separation, ..reader_qos };
        let (a, b, w, r) = lossy(sim, &writer_qos, &reader_qos);
        for n in 0..10 {
            a.run(|| w.writer.write(&reading(1, n))).unwrap();
            sim.run_for(millis(50)).unwrap();
        }
        sim.run_for(secs(2)).unwrap();
        assert_eq!(numbers(&r.reader), [0, 9]);
        let every = DataReaderQos { time_based_filter: TimeBasedFilter::default(), ..r.reader.qos() };
        b.run(|| r.reader.set_qos(&every)).unwrap();
        // The writer has to hear of it.
        sim.run_for(secs(2)).unwrap();
        for n in 0..3 {
            a.run(|| w.writer.write(&reading(1, n))).unwrap();
        }
        sim.run_for(secs(2)).unwrap();
        assert_eq!(numbers(&r.reader), [0, 1, 2]);
    });
}

#[test]
fn destination_order_by_source_sorts_what_came_in_another_order() {
    each_seed(|sim| {
        let kind = DestinationOrderKind::BySourceTimestamp;
        let (writer_qos, reader_qos) = reliable();
        let writer_qos = DataWriterQos { destination_order: DestinationOrder { kind }, ..writer_qos };
        let reader_qos = DataReaderQos { destination_order: DestinationOrder { kind }, ..reader_qos };
        let (a, _b, w, r) = lossy(sim, &writer_qos, &reader_qos);
        let second = a.run(|| w.publisher.create_datawriter(&w.topic, &writer_qos)).unwrap();
        sim.run_until(|| r.reader.matched_publications().len() == 2, secs(9)).unwrap();
        let at = |n: i64| WallTime(1_000_000_000 * n);
        a.run(|| w.writer.write_w_timestamp(&reading(1, 3), at(3))).unwrap();
        sim.run_for(secs(1)).unwrap();
        a.run(|| second.write_w_timestamp(&reading(1, 2), at(2))).unwrap();
        sim.run_for(secs(1)).unwrap();
        assert_eq!(numbers(&r.reader), [2, 3]);
        let backwards = a.run(|| second.write_w_timestamp(&reading(1, 1), at(1)));
        assert_eq!(backwards, Err(WriteError::BadTimestamp));
    });
}

#[test]
fn a_keep_last_writer_repairs_the_newest_of_each_instance() {
    each_seed(|sim| {
        let (_, reader_qos) = reliable();
        let (a, b, w, r) = lossy(sim, &DataWriterQos::default().reliable().keep_last(2), &reader_qos);
        sim.run_for(secs(1)).unwrap();
        sim.cut(&a, &b);
        for n in 0..20 {
            a.run(|| w.writer.write(&reading(n % 2, n))).unwrap();
            sim.run_for(millis(10)).unwrap();
        }
        let deeper =
            DataWriterQos { history: History { kind: HistoryKind::KeepLast, depth: 3 }, ..w.writer.qos() };
        assert_eq!(
            a.run(|| w.writer.set_qos(&deeper)).unwrap_err().return_code(),
            ReturnCode::ImmutablePolicy
        );
        sim.mend(&a, &b);
        let mut seen = Vec::new();
        sim.run_until(
            || {
                seen.extend(numbers(&r.reader));
                seen.len() >= 4
            },
            secs(9),
        )
        .unwrap();
        sim.run_for(secs(2)).unwrap();
        seen.extend(numbers(&r.reader));
        seen.sort_unstable();
        assert_eq!(seen, [16, 17, 18, 19], "the last two of each instance");
        assert_eq!(r.reader.sample_lost_status().total, 16, "the others were replaced");
    });
}

#[test]
fn keep_last_keeps_the_newest_of_each_instance() {
    each_seed(|sim| {
        let (writer_qos, _) = reliable();
        let (a, _b, w, r) = lossy(sim, &writer_qos, &DataReaderQos::default().reliable().keep_last(2));
        for n in 0..10 {
            a.run(|| w.writer.write(&reading(n % 2, n))).unwrap();
        }
        sim.run_for(secs(2)).unwrap();
        let mut seen = numbers(&r.reader);
        seen.sort_unstable();
        assert_eq!(seen, [6, 7, 8, 9]);
        assert_eq!(r.reader.sample_lost_status().total, 0, "replaced is not lost");
    });
}

#[test]
fn sample_beyond_reader_resource_limits_is_rejected_and_repaired_later() {
    each_seed(|sim| {
        let (writer_qos, reader_qos) = reliable();
        let (a, b, w, r) = lossy(sim, &writer_qos, &reader_qos.resource_limits(2, -1, -1));
        for n in 0..4 {
            a.run(|| w.writer.write(&reading(1, n))).unwrap();
        }
        sim.run_for(secs(1)).unwrap();
        let status = r.reader.sample_rejected_status();
        assert_eq!(status.last_reason, Some(SampleRejectedReason::SamplesLimit));
        assert!(status.count.total >= 1);
        let mut seen = Vec::new();
        for _ in 0..4 {
            seen.extend(b.run(|| numbers(&r.reader)));
            sim.run_for(secs(1)).unwrap();
        }
        assert_eq!(seen, [0, 1, 2, 3], "nothing was lost");
    });
}

#[test]
fn unregistering_disposes_as_the_life_cycle_says() {
    for autodispose in [true, false] {
        each_seed(|sim| {
            let (writer_qos, reader_qos) = reliable();
            let writer_qos = writer_qos.autodispose_unregistered_instances(autodispose);
            let (a, _b, w, r) = lossy(sim, &writer_qos, &reader_qos);
            a.run(|| w.writer.write(&reading(1, 1))).unwrap();
            a.run(|| w.writer.unregister_instance(&reading(1, 0))).unwrap();
            sim.run_for(secs(1)).unwrap();
            let states: Vec<_> = r.reader.read(9).unwrap().iter().map(|s| s.info.instance_state).collect();
            let expected =
                if autodispose { InstanceState::NotAliveDisposed } else { InstanceState::NotAliveNoWriters };
            assert_eq!(states.last(), Some(&expected), "autodispose {autodispose}");
        });
    }
}

#[test]
fn instances_not_alive_are_purged_after_the_autopurge_delay() {
    each_seed(|sim| {
        let (writer_qos, reader_qos) = reliable();
        let lifecycle = ReaderDataLifecycle {
            autopurge_nowriter_samples_delay: secs(2),
            autopurge_disposed_samples_delay: secs(1),
        };
        let reader_qos = DataReaderQos { reader_data_lifecycle: lifecycle, ..reader_qos };
        let (a, _b, w, r) = lossy(sim, &writer_qos.autodispose_unregistered_instances(false), &reader_qos);
        for id in [1, 2] {
            a.run(|| w.writer.write(&reading(id, id))).unwrap();
        }
        a.run(|| w.writer.dispose(&reading(1, 0))).unwrap();
        a.run(|| w.writer.unregister_instance(&reading(2, 0))).unwrap();
        sim.run_for(millis(500)).unwrap();
        let left = || {
            r.reader.read(9).unwrap().iter().filter_map(|s| s.data.as_ref().map(|d| d.id)).collect::<Vec<_>>()
        };
        assert_eq!(left(), [1, 2]);
        sim.run_for(secs(1)).unwrap();
        assert_eq!(left(), [2]);
        sim.run_for(secs(1)).unwrap();
        assert!(left().is_empty());
    });
}

#[test]
fn disabled_entities_are_not_seen_until_they_are_enabled() {
    let mut sim = Sim::new(1);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let r = reads(&b, &DataReaderQos::default());
    let factory = EntityFactory { autoenable_created_entities: false };
    let (participant, publisher, writer) = a.run(|| {
        let participant = DomainParticipant::new(0).unwrap();
        let topic = participant.create_topic::<Reading>("Readings", &TopicQos::default()).unwrap();
        let qos = PublisherQos { entity_factory: factory, ..PublisherQos::default() };
        let publisher = participant.create_publisher(&qos).unwrap();
        let writer = publisher.create_datawriter(&topic, &DataWriterQos::default()).unwrap();
        (participant, publisher, writer)
    });
    sim.run_for(secs(2)).unwrap();
    assert_eq!(writer.write(&reading(1, 1)), Err(WriteError::NotEnabled));
    assert!(writer.instance_handle().is_nil() && r.reader.matched_publications().is_empty());
    assert_eq!((writer.status_changes(), writer.qos().history.depth), (StatusMask::NONE, 1));
    assert_eq!(publisher.lookup_datawriter::<Reading>("Readings").unwrap().topic_name(), "Readings");
    a.run(|| writer.enable()).unwrap();
    a.run(|| writer.enable()).unwrap();
    sim.run_until(|| !r.reader.matched_publications().is_empty(), secs(9)).unwrap();
    assert!(participant.contains_entity(writer.instance_handle()));
    // It is changed for what is created later.
    a.run(|| publisher.set_qos(&PublisherQos::default())).unwrap();
    let second = a.run(|| publisher.create_datawriter(&writer.topic(), &DataWriterQos::default())).unwrap();
    assert!(second.guid().is_some());
}

#[test]
fn best_effort_skips_and_reliable_repairs() {
    each_seed(|sim| {
        struct Quiet;
        impl PublisherListener for Quiet {}
        let (a, b, w, r) = lossy(sim, &reliable().0, &reliable().1);
        let (_publisher, best_effort) = b.run(|| {
            let subscriber = r.participant.create_subscriber(&SubscriberQos::default()).unwrap();
            let qos = DataReaderQos::default().best_effort().keep_all();
            (subscriber.clone(), subscriber.create_datareader(&r.topic, &qos).unwrap())
        });
        w.publisher.set_listener(Quiet, StatusMask::ALL);
        sim.run_until(|| w.writer.matched_subscriptions().len() == 2, secs(30)).unwrap();
        sim.run_for(secs(1)).unwrap();
        for n in 0..200 {
            a.run(|| w.writer.write(&reading(1, n))).unwrap();
            sim.run_for(millis(5)).unwrap();
        }
        sim.run_for(secs(5)).unwrap();
        assert_eq!(numbers(&r.reader), (0..200).collect::<Vec<_>>());
        let seen = numbers(&best_effort);
        assert!(seen.len() < 200 && seen.len() > 100 && seen.is_sorted(), "{}", seen.len());
        assert!(best_effort.sample_lost_status().total > 0);
    });
}

#[test]
fn immutable_policies_stay_and_contradictions_are_refused() {
    let (_sim, a, b, w, r) = pair();
    let code = |qos: &DataWriterQos| a.run(|| w.writer.set_qos(qos)).unwrap_err().return_code();
    assert_eq!(code(&w.writer.qos().best_effort()), ReturnCode::ImmutablePolicy);
    assert_eq!(code(&w.writer.qos().transient_local()), ReturnCode::ImmutablePolicy);
    assert_eq!(code(&w.writer.qos().deadline(Duration::from_secs(-1))), ReturnCode::InconsistentPolicy);
    let qos = DataReaderQos {
        time_based_filter: TimeBasedFilter { minimum_separation: secs(5) },
        ..r.reader.qos().deadline(secs(1))
    };
    let refused = b.run(|| r.reader.set_qos(&qos)).unwrap_err().return_code();
    assert_eq!(refused, ReturnCode::InconsistentPolicy);
    assert_eq!(r.reader.read_states(1, StateMasks::ANY).unwrap().len(), 0);
}

#[test]
fn a_registration_with_a_timestamp_counts_for_the_order_of_the_writer() {
    let mut sim = Sim::new(8);
    let a = sim.node("a");
    let w = writing(&a, &DataWriterQos::default().keep_all());
    let at = |n: i64| WallTime(n * 1_000_000_000);
    let now = a.run(|| w.participant.current_time());
    let later = WallTime(now.0 + at(60).0);
    let handle = a.run(|| w.writer.register_instance_w_timestamp(&reading(1, 0), later)).unwrap();
    assert_eq!(
        (handle, w.writer.key_value(handle).unwrap().id),
        (w.writer.lookup_instance(&reading(1, 9)), 1)
    );
    let before = WallTime(later.0 - 1);
    for refused in [
        a.run(|| w.writer.register_instance_w_timestamp(&reading(2, 0), before)).map(drop),
        a.run(|| w.writer.write_w_timestamp(&reading(1, 1), before)),
    ] {
        assert_eq!(refused, Err(WriteError::BadTimestamp));
    }
    assert!(w.writer.lookup_instance(&reading(2, 0)).is_nil(), "a refused registration leaves nothing");
    a.run(|| w.writer.write_w_timestamp(&reading(1, 1), later)).unwrap();
    a.run(|| w.writer.write(&reading(1, 2))).unwrap();
    assert_eq!(WriteError::BadTimestamp.return_code(), ReturnCode::BadParameter);
}
