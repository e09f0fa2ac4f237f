//! Counts of each status and their changes (DDS 1.4 §2.2.4.1): reading a status or telling a listener of it sets the changes
//! to zero.

use std::sync::{Arc, Mutex};

use dunlin::qos::*;
use dunlin::sim::{Node, Sim};
use dunlin::{
    Count, DataReader, DataReaderListener, DataWriter, DataWriterListener, DeadlineMissedStatus, Duration,
    IncompatibleQosStatus, InstanceHandle, LivelinessChangedStatus, LivelinessLostStatus, MatchedStatus,
    SampleLostStatus, SampleRejectedReason, SampleRejectedStatus, StatusMask,
};

use crate::support::*;

/// Writes down what it is told; each change is zero when it asks itself.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<String>>>);

impl Heard {
    fn note(&self, what: &str, count: Count, again: Count) {
        assert_eq!(again, Count { change: 0, ..count }, "{what}: reset before the call");
        self.0.lock().unwrap().push(format!("{what} {} {}", count.total, count.change));
    }

    fn taken(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    /// Listens to both sides.
    fn of(w: &Writing, r: &Reads) -> Self {
        let heard = Self::default();
        w.writer.set_listener(heard.clone(), StatusMask::ALL);
        r.reader.set_listener(heard.clone(), StatusMask::ALL);
        heard
    }
}

impl DataWriterListener<Reading> for Heard {
    fn on_publication_matched(&self, writer: &DataWriter<Reading>, status: MatchedStatus) {
        let again = writer.publication_matched_status();
        assert_eq!((again.total_count_change, again.current_count_change), (0, 0));
        self.0.lock().unwrap().push(format!("publication matched {:?}", matches(status)));
    }

    fn on_offered_deadline_missed(&self, writer: &DataWriter<Reading>, status: DeadlineMissedStatus) {
        self.note("offered deadline", status.count, writer.offered_deadline_missed_status().count);
    }

    fn on_offered_incompatible_qos(&self, writer: &DataWriter<Reading>, status: IncompatibleQosStatus) {
        self.note("offered", status.count, writer.offered_incompatible_qos_status().count);
    }

    fn on_liveliness_lost(&self, writer: &DataWriter<Reading>, status: LivelinessLostStatus) {
        self.note("liveliness lost", status, writer.liveliness_lost_status());
    }
}

impl DataReaderListener<Reading> for Heard {
    fn on_subscription_matched(&self, reader: &DataReader<Reading>, status: MatchedStatus) {
        let again = reader.subscription_matched_status();
        assert_eq!((again.total_count_change, again.current_count_change), (0, 0));
        self.0.lock().unwrap().push(format!("subscription matched {:?}", matches(status)));
    }

    fn on_requested_deadline_missed(&self, reader: &DataReader<Reading>, status: DeadlineMissedStatus) {
        self.note("requested deadline", status.count, reader.requested_deadline_missed_status().count);
    }

    fn on_requested_incompatible_qos(&self, reader: &DataReader<Reading>, status: IncompatibleQosStatus) {
        self.note("requested", status.count, reader.requested_incompatible_qos_status().count);
    }

    fn on_liveliness_changed(&self, reader: &DataReader<Reading>, status: LivelinessChangedStatus) {
        let again = reader.liveliness_changed_status();
        assert_eq!((again.alive_count_change, again.not_alive_count_change), (0, 0));
        self.0.lock().unwrap().push(format!("liveliness {:?}", liveliness(status)));
    }

    fn on_sample_lost(&self, reader: &DataReader<Reading>, status: SampleLostStatus) {
        self.note("lost", status, reader.sample_lost_status());
    }

    fn on_sample_rejected(&self, reader: &DataReader<Reading>, status: SampleRejectedStatus) {
        self.note("rejected", status.count, reader.sample_rejected_status().count);
    }
}

/// Alive, not alive, and their changes.
fn liveliness(status: LivelinessChangedStatus) -> [i32; 4] {
    let LivelinessChangedStatus { alive_count, not_alive_count, .. } = status;
    [alive_count, not_alive_count, status.alive_count_change, status.not_alive_count_change]
}

fn matched(writer_qos: &DataWriterQos, reader_qos: &DataReaderQos) -> (Sim, Node, Node, Writing, Reads) {
    let mut sim = Sim::new(5);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let (w, r) = (writing(&a, writer_qos), reads(&b, reader_qos));
    let both = || !w.writer.matched_subscriptions().is_empty() && !r.reader.matched_publications().is_empty();
    sim.run_until(both, secs(9)).unwrap();
    sim.run_for(secs(1)).unwrap();
    (sim, a, b, w, r)
}

/// Of a status that was not read before and grew to `total`.
fn read_twice(total: i32, mut read: impl FnMut() -> Count) {
    assert_eq!(read(), Count { total, change: total });
    assert_eq!(read(), Count { total, change: 0 }, "reset by reading");
}

/// Total count, current count, and their changes.
fn matches(status: MatchedStatus) -> [i32; 4] {
    let MatchedStatus { total_count, current_count, .. } = status;
    [total_count, status.total_count_change, current_count, status.current_count_change]
}

#[test]
fn matched_endpoints() {
    let (w_qos, r_qos) = (DataWriterQos::default(), DataReaderQos::default().reliable());
    let (mut sim, a, b, w, r) = matched(&w_qos, &r_qos);
    let of_writer = || w.writer.publication_matched_status();
    let of_reader = || r.reader.subscription_matched_status();
    let first = (w.writer.instance_handle(), r.reader.instance_handle());
    assert_eq!((matches(of_writer()), of_writer().last_handle), ([1, 1, 1, 1], first.1));
    assert_eq!((matches(of_reader()), of_reader().last_handle), ([1, 1, 1, 1], first.0));
    assert_eq!([matches(of_writer()), matches(of_reader())], [[1, 0, 1, 0]; 2], "reset by reading");
    // A second one on each side, of which the first hears.
    let second = a.run(|| w.publisher.create_datawriter(&w.topic, &w_qos)).unwrap();
    let other = b.run(|| r.subscriber.create_datareader(&r.topic, &r_qos)).unwrap();
    sim.run_for(secs(1)).unwrap();
    let handles = (second.instance_handle(), other.instance_handle());
    assert_eq!((matches(of_writer()), of_writer().last_handle), ([2, 1, 2, 1], handles.1));
    assert_eq!((matches(of_reader()), of_reader().last_handle), ([2, 1, 2, 1], handles.0));
    // The first ones of the other side go; then the other ones. What nobody reads adds up.
    let changed = |changes: StatusMask, bit| changes & bit == bit;
    let (by_writer, by_reader) = (StatusMask::PUBLICATION_MATCHED, StatusMask::SUBSCRIPTION_MATCHED);
    assert!(!changed(w.writer.status_changes(), by_writer) && !changed(r.reader.status_changes(), by_reader));
    a.run(|| drop(second));
    b.run(|| drop(other));
    sim.run_for(secs(2)).unwrap();
    assert!(changed(w.writer.status_changes(), by_writer) && changed(r.reader.status_changes(), by_reader));
    let third = b.run(|| r.subscriber.create_datareader(&r.topic, &r_qos)).unwrap();
    sim.run_for(secs(1)).unwrap();
    assert_eq!((matches(of_writer()), of_writer().last_handle), ([3, 1, 2, 0], third.instance_handle()));
    assert_eq!((matches(of_reader()), of_reader().last_handle), ([2, 0, 1, -1], handles.0));
    let heard = Heard::of(&w, &r);
    b.run(|| drop(third));
    sim.run_for(secs(2)).unwrap();
    assert_eq!(heard.taken(), ["publication matched [3, 0, 1, -1]"]);
    let _fourth = a.run(|| w.publisher.create_datawriter(&w.topic, &w_qos)).unwrap();
    sim.run_for(secs(1)).unwrap();
    assert_eq!(heard.taken(), ["subscription matched [3, 1, 2, 1]", "liveliness [2, 0, 2, 0]"]);
}

#[test]
fn missed_deadlines() {
    let reader_qos = DataReaderQos::default().reliable().deadline(secs(2));
    let (mut sim, a, _b, w, r) = matched(&DataWriterQos::default().deadline(secs(1)), &reader_qos);
    a.run(|| w.writer.write(&reading(1, 1))).unwrap();
    sim.run_for(Duration::from_millis(4_500)).unwrap();
    assert_eq!(
        r.reader.status_changes() & StatusMask::REQUESTED_DEADLINE_MISSED,
        StatusMask::REQUESTED_DEADLINE_MISSED
    );
    let instance = w.writer.lookup_instance(&reading(1, 0));
    read_twice(4, || w.writer.offered_deadline_missed_status().count);
    read_twice(2, || r.reader.requested_deadline_missed_status().count);
    assert_eq!(r.reader.requested_deadline_missed_status().last_instance, instance);
    assert_eq!(r.reader.status_changes() & StatusMask::REQUESTED_DEADLINE_MISSED, StatusMask::NONE);
    let heard = Heard::of(&w, &r);
    sim.run_for(secs(2)).unwrap();
    let mut told = heard.taken();
    told.sort();
    assert_eq!(told, ["offered deadline 5 1", "offered deadline 6 1", "requested deadline 3 1"]);
}

#[test]
fn liveliness_of_a_writer() {
    let manual = LivelinessKind::ManualByTopic;
    let reader_qos = DataReaderQos::default().reliable().liveliness(manual, secs(5));
    let (mut sim, a, _b, w, r) = matched(&DataWriterQos::default().liveliness(manual, secs(5)), &reader_qos);
    assert_eq!(liveliness(r.reader.liveliness_changed_status()), [1, 0, 1, 0]);
    sim.run_for(secs(10)).unwrap();
    read_twice(1, || w.writer.liveliness_lost_status());
    let changed = r.reader.liveliness_changed_status();
    assert_eq!((liveliness(changed), changed.last_publication), ([0, 1, -1, 1], w.writer.instance_handle()));
    assert_eq!(liveliness(r.reader.liveliness_changed_status()), [0, 1, 0, 0], "reset by reading");
    let heard = Heard::of(&w, &r);
    a.run(|| w.writer.assert_liveliness()).unwrap();
    sim.run_for(secs(1)).unwrap();
    assert_eq!(heard.taken(), ["liveliness [1, 0, 1, -1]"]);
    sim.run_for(secs(10)).unwrap();
    let mut told = heard.taken();
    told.sort();
    assert_eq!(told, ["liveliness [0, 1, -1, 1]", "liveliness lost 2 1"]);
}

#[test]
fn incompatible_qos() {
    let mut sim = Sim::new(5);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let offered = DataWriterQos::default().best_effort();
    let requested = DataReaderQos::default().reliable();
    let (w, r) = (writing(&a, &offered), reads(&b, &requested));
    sim.run_for(secs(2)).unwrap();
    read_twice(1, || w.writer.offered_incompatible_qos_status().count);
    read_twice(1, || r.reader.requested_incompatible_qos_status().count);
    let heard = Heard::of(&w, &r);
    let _second = a.run(|| w.publisher.create_datawriter(&w.topic, &offered)).unwrap();
    sim.run_for(secs(2)).unwrap();
    assert_eq!(heard.taken(), ["requested 2 1"]);
    let _other = b.run(|| r.subscriber.create_datareader(&r.topic, &requested)).unwrap();
    sim.run_for(secs(2)).unwrap();
    assert_eq!(heard.taken(), ["offered 2 1"]);
    assert_eq!(w.writer.offered_incompatible_qos_status().policies, [(PolicyId::Reliability, 2)].into());
}

/// Several policies of one pair count as one endpoint, and each of them by itself (DDS 1.4 §2.2.4.1, `policies`).
#[test]
fn incompatible_policies_of_one_pair_count_as_one_endpoint() {
    let mut sim = Sim::new(5);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let offered = DataWriterQos::default().best_effort();
    let requested = DataReaderQos::default().reliable().transient_local().deadline(secs(2));
    let (w, r) = (writing(&a, &offered), reads(&b, &requested));
    let times = |reliability, others| {
        let each = [PolicyId::Reliability, PolicyId::Durability, PolicyId::Deadline];
        each.into_iter().zip([reliability, others, others]).collect::<std::collections::BTreeMap<_, _>>()
    };
    let both = |n: i32, change: i32, policies: &std::collections::BTreeMap<PolicyId, i32>| {
        for status in
            [w.writer.offered_incompatible_qos_status(), r.reader.requested_incompatible_qos_status()]
        {
            assert_eq!(status.count, Count { total: n, change }, "{status:?}");
            assert_eq!(&status.policies, policies);
            assert!(policies.contains_key(&status.last_policy_id.unwrap()), "{status:?}");
        }
    };
    sim.run_for(secs(2)).unwrap();
    both(1, 1, &times(1, 1));
    both(1, 0, &times(1, 1));
    // One more endpoint for each side, in three policies again.
    let _readers = b.run(|| r.subscriber.create_datareader(&r.topic, &requested)).unwrap();
    let _writers = a.run(|| w.publisher.create_datawriter(&w.topic, &offered)).unwrap();
    sim.run_for(secs(2)).unwrap();
    both(2, 1, &times(2, 2));
    // And one in a single policy.
    let one = DataReaderQos::default().reliable();
    let other = offered.clone().transient_local().deadline(secs(1));
    let _reader = b.run(|| r.subscriber.create_datareader(&r.topic, &one)).unwrap();
    let _writer = a.run(|| w.publisher.create_datawriter(&w.topic, &other)).unwrap();
    sim.run_for(secs(2)).unwrap();
    both(3, 1, &times(3, 2));
    both(3, 0, &times(3, 2));
}

#[test]
fn lost_samples() {
    let reader_qos = DataReaderQos::default().best_effort().keep_all();
    let (mut sim, a, b, w, r) = matched(&DataWriterQos::default().keep_all(), &reader_qos);
    let mut lose = |count| lose(&mut sim, (&a, &b), &w, count);
    lose(3);
    read_twice(3, || r.reader.sample_lost_status());
    let heard = Heard::of(&w, &r);
    lose(2);
    assert_eq!(heard.taken(), ["lost 5 2"]);
    assert_eq!(r.reader.sample_lost_status(), Count { total: 5, change: 0 }, "reset by the call");
}

/// Writes so many samples that reach nobody, with one before and one behind them that do.
fn lose(sim: &mut Sim, (a, b): (&Node, &Node), w: &Writing, count: i32) {
    a.run(|| w.writer.write(&reading(1, 0))).unwrap();
    sim.run_for(Duration::from_millis(100)).unwrap();
    sim.partition(&[a], &[b]);
    a.run(|| (0..count).try_for_each(|n| w.writer.write(&reading(1, n)))).unwrap();
    sim.run_for(Duration::from_millis(100)).unwrap();
    sim.heal();
    a.run(|| w.writer.write(&reading(1, 9))).unwrap();
    sim.run_for(Duration::from_millis(100)).unwrap();
}

/// Hears that its own reader has lost samples, and looks at another: how many that has taken, and its SAMPLE_LOST.
struct LooksAt {
    other: DataReader<Reading>,
    seen: Arc<Mutex<Vec<(usize, Count)>>>,
}

impl DataReaderListener<Reading> for LooksAt {
    fn on_sample_lost(&self, _: &DataReader<Reading>, _: SampleLostStatus) {
        let taken = self.other.take(100).unwrap().len();
        self.seen.lock().unwrap().push((taken, self.other.sample_lost_status()));
    }
}

/// A datagram is for both readers. When the first is told of its loss, the second has the sample behind it but was told
/// nothing yet: whoever takes that sample must not find fewer lost than there are.
#[test]
fn lost_samples_are_counted_before_what_lies_behind_them_is_taken() {
    let reader_qos = DataReaderQos::default().best_effort().keep_all();
    let (mut sim, a, b, w, r) = matched(&DataWriterQos::default().keep_all(), &reader_qos);
    let other = b.run(|| r.subscriber.create_datareader(&r.topic, &reader_qos)).unwrap();
    sim.run_for(secs(1)).unwrap();
    let heard = Heard::default();
    other.set_listener(heard.clone(), StatusMask::SAMPLE_LOST);
    let seen = Arc::<Mutex<_>>::default();
    let looks = LooksAt { other: other.clone(), seen: Arc::clone(&seen) };
    r.reader.set_listener(looks, StatusMask::SAMPLE_LOST);
    for (count, total) in [(3, 3), (2, 5)] {
        lose(&mut sim, (&a, &b), &w, count);
        // The one before, the one behind.
        assert_eq!(seen.lock().unwrap().drain(..).collect::<Vec<_>>(), [(2, Count { total, change: count })]);
        assert_eq!(heard.taken(), Vec::<String>::new(), "the application knows already");
        assert_eq!(other.status_changes() & StatusMask::SAMPLE_LOST, StatusMask::NONE);
        assert_eq!(other.sample_lost_status(), Count { total, change: 0 });
    }
    r.reader.set_listener(Heard::default(), StatusMask::NONE);
    lose(&mut sim, (&a, &b), &w, 4);
    assert_eq!(heard.taken(), ["lost 9 4"], "nobody asked before");
}

#[test]
fn rejected_samples() {
    use SampleRejectedReason::{InstancesLimit, SamplesLimit, SamplesPerInstanceLimit};
    for (limits, readings, reason) in [
        ((2, -1, -1), [1, 2, 3], SamplesLimit),
        ((-1, 2, -1), [1, 2, 3], InstancesLimit),
        ((-1, -1, 2), [1, 1, 1], SamplesPerInstanceLimit),
    ] {
        // Best effort: what is rejected does not come again.
        let reader_qos =
            DataReaderQos::default().best_effort().keep_all().resource_limits(limits.0, limits.1, limits.2);
        let (mut sim, a, _b, w, r) = matched(&DataWriterQos::default().keep_all(), &reader_qos);
        for id in readings {
            a.run(|| w.writer.write(&reading(id, 1))).unwrap();
        }
        sim.run_for(secs(1)).unwrap();
        let status = r.reader.sample_rejected_status();
        assert_eq!((status.count, status.last_reason), (Count { total: 1, change: 1 }, Some(reason)));
        let instance: InstanceHandle = w.writer.lookup_instance(&reading(readings[2], 0));
        assert_eq!(status.last_instance, instance, "{reason:?}");
        assert_eq!(r.reader.sample_rejected_status().count, Count { total: 1, change: 0 });
        let heard = Heard::of(&w, &r);
        a.run(|| w.writer.write(&reading(readings[2], 2))).unwrap();
        sim.run_for(secs(1)).unwrap();
        assert_eq!(heard.taken(), ["rejected 2 1"], "{reason:?}");
    }
}
