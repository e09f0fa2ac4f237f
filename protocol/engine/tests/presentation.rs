//! Readers that show what they receive together (PRESENTATION) hold their writers back like others.

mod common;

use std::sync::Arc;

use common::*;
use dunlin_buf::SharedBytes;
use dunlin_cache::InstanceState;
use dunlin_core::{Duration, EntityId, Locator, SequenceNumber, VendorId};
use dunlin_engine::{
    Event, ParticipantConfig, PublisherGroup, ReaderSlot, ReaderSpec, SubscriberGroup, Tuning, WriterSlot,
    WriterSpec,
};
use dunlin_qos::{DataReaderQos, DataWriterQos, PresentationAccessScope, PublisherQos, SubscriberQos};
use dunlin_rtps::ChangeKind;
use dunlin_wire::{GroupDigest, GroupDigests, Message, Submessage, params};

const COUNT: i64 = 200;

fn ms(ms: i64) -> Duration {
    Duration::from_millis(ms)
}

fn by(scope: PresentationAccessScope) -> PublisherQos {
    PublisherQos::default().presentation(scope, true, true)
}

fn writer(net: &mut Net, topic: &str, scope: PresentationAccessScope) -> Arc<WriterSlot> {
    writer_of_sets(net, topic, scope).0
}

fn writer_of_sets(
    net: &mut Net,
    topic: &str,
    scope: PresentationAccessScope,
) -> (Arc<WriterSlot>, Arc<PublisherGroup>) {
    let group = net.nodes[0].participant.create_publisher_group(by(scope).presentation);
    let group = group.expect("names are left");
    (writer_of(net, topic, scope, &group), group)
}

fn writer_of(
    net: &mut Net,
    topic: &str,
    scope: PresentationAccessScope,
    group: &Arc<PublisherGroup>,
) -> Arc<WriterSlot> {
    let mut spec = writer_spec(topic, &DataWriterQos::default().reliable().keep_all());
    spec.publisher_qos = by(scope);
    let own = Some(Arc::clone(group));
    net.with(0, |participant, now, out| participant.create_grouped_writer(now, spec, own, None, out))
        .expect("a good writer")
}

fn group(net: &Net, scope: PresentationAccessScope) -> Arc<SubscriberGroup> {
    let qos = SubscriberQos::default().presentation(scope, true, true);
    net.nodes[1].participant.create_subscriber_group(qos.presentation)
}

/// A reader with room for so many samples; 0 is without limit.
fn reader(
    net: &mut Net,
    topic: &str,
    scope: PresentationAccessScope,
    group: &Arc<SubscriberGroup>,
    room: i32,
) -> Arc<ReaderSlot> {
    let qos = DataReaderQos::default().reliable().keep_all();
    let room = if room == 0 { -1 } else { room };
    let mut spec = reader_spec(topic, &qos.resource_limits(room, -1, -1));
    spec.subscriber_qos = SubscriberQos::default().presentation(scope, true, true);
    let group = Some(Arc::clone(group));
    net.with(1, |participant, now, out| participant.create_filtered_reader(now, spec, None, group, None, out))
        .expect("a good reader")
}

fn number(sample: &dunlin_cache::CachedSample) -> u8 {
    unpack(sample).1[0]
}

fn is_acked(writer: &WriterSlot, reader: &ReaderSlot) -> bool {
    writer.is_acked_by(reader.guid(), SequenceNumber(COUNT))
}

fn none_lost(net: &mut Net) -> bool {
    !net.take_events(1).iter().any(|event| matches!(event, Event::SampleLost { .. }))
}

#[test]
fn a_full_reader_of_coherent_sets_holds_back_its_writer() {
    let scope = PresentationAccessScope::Topic;
    let mut net = Net::started(2);
    let group = group(&net, scope);
    let (writer, reader) = (writer(&mut net, "T", scope), reader(&mut net, "T", scope, &group, 5));
    net.settle();
    for n in 0..COUNT {
        net.write(0, &writer, 1, &[n as u8]).expect("no limit");
        net.run(ms(1));
    }
    net.run(ms(1_000));
    assert_eq!(reader.len(), 5);
    assert!(!is_acked(&writer, &reader));
    assert!(writer.history_len() > 190, "{} stay with the writer", writer.history_len());
    let mut seen = Vec::new();
    net.run_until(|net| {
        seen.extend(net.take(1, &reader).iter().map(number));
        seen.len() == COUNT as usize
    });
    assert!(seen.into_iter().eq(0..COUNT as u8), "in order, each once");
    net.run_until(|_| is_acked(&writer, &reader));
    assert!(none_lost(&mut net));
}

#[test]
fn a_reader_with_ordered_access_alone_does_not_wait_for_the_end_of_a_set() {
    let scope = PresentationAccessScope::Group;
    let mut net = Net::started(2);
    let (writer, sets) = writer_of_sets(&mut net, "T", scope);
    let mut spec = reader_spec("T", &DataReaderQos::default().reliable().keep_all());
    spec.subscriber_qos = SubscriberQos::default().presentation(scope, false, true);
    let reader = net.with(1, |participant, now, out| participant.create_reader(now, spec, out));
    let reader = reader.expect("a good reader");
    net.settle();
    sets.begin_set();
    net.write(0, &writer, 1, &[1]).expect("no limit");
    net.run(ms(100));
    assert_eq!(reader.len(), 1, "the set is open");
}

/// The history that comes again when writer and reader meet again lacks some of a set by then, which so is not shown again.
#[test]
fn shown_samples_are_not_lost_by_partial_history_after_a_rematch() {
    let scope = PresentationAccessScope::Topic;
    let mut net = Net::started(2);
    let sets =
        net.nodes[0].participant.create_publisher_group(by(scope).presentation).expect("names are left");
    let mut spec = writer_spec("T", &DataWriterQos::default().reliable().transient_local().keep_last(1));
    spec.publisher_qos = by(scope);
    let own = Some(Arc::clone(&sets));
    let writer =
        net.with(0, |participant, now, out| participant.create_grouped_writer(now, spec, own, None, out));
    let writer = writer.expect("a good writer");
    let mut spec = reader_spec("T", &DataReaderQos::default().reliable().transient_local().keep_all());
    spec.subscriber_qos = SubscriberQos::default().presentation(scope, true, true);
    let reader = net.with(1, |participant, now, out| participant.create_reader(now, spec, out));
    let reader = reader.expect("a good reader");
    net.settle();
    for keys in [&[1, 2][..], &[1]] {
        sets.begin_set();
        keys.iter().for_each(|key| net.write(0, &writer, *key, &[1]).expect("no limit"));
        let end = sets.end_set().flatten().expect("there is a set");
        net.with(0, |_, now, out| _ = writer.end_set(now, &end, out));
        net.settle();
    }
    assert_eq!(net.take(1, &reader).len(), 3);
    net.loss = 1_000;
    net.run_until(|_| reader.matched_writers().is_empty());
    assert!(net.take(1, &reader).iter().all(|sample| !sample.info.valid_data));
    net.loss = 0;
    net.run_until(|_| !reader.is_empty());
    net.settle();
    assert_eq!(net.take(1, &reader).len(), 1, "the second set is whole");
    assert!(none_lost(&mut net));
}

/// Else nobody would ever take back what it owns: an exclusive instance would be its own for ever.
#[test]
fn change_shown_after_writer_deletion_leaves_instance_without_writer() {
    let scope = PresentationAccessScope::Group;
    let mut net = Net::started(2);
    let group = group(&net, scope);
    let (writer, reader) = (writer(&mut net, "T", scope), reader(&mut net, "T", scope, &group, 0));
    net.settle();
    group.begin_access();
    (1..=2).for_each(|n| net.write(0, &writer, 1, &[n]).expect("no limit"));
    net.settle();
    net.with(0, |participant, now, out| participant.delete_writer(now, &writer, out));
    net.run_until(|_| reader.matched_writers().is_empty());
    assert!(net.with(1, |_, now, out| group.end_access(now, out)));
    assert_eq!(reader.instance_state(instance(1)), Some(InstanceState::NotAliveNoWriters));
    let taken = net.take(1, &reader);
    let generations = taken.iter().map(|sample| sample.info.no_writers_generation_count);
    assert_eq!(generations.collect::<Vec<_>>(), [0, 0], "it left once");
}

#[test]
fn a_coherent_set_does_not_wait_for_a_deleted_reader() {
    let scope = PresentationAccessScope::Group;
    let mut net = Net::started(2);
    let group = group(&net, scope);
    let writer = writer(&mut net, "T", scope);
    let full = reader(&mut net, "T", scope, &group, 2);
    let other = reader(&mut net, "T", scope, &group, 0);
    net.settle();
    for n in 0..COUNT {
        net.write(0, &writer, 1, &[n as u8]).expect("no limit");
    }
    net.run(ms(500));
    assert_eq!((full.len(), other.len()), (2, 2), "they show the same");
    net.with(1, |participant, now, out| participant.delete_reader(now, &full, out));
    net.run_until(|_| other.len() == COUNT as usize);
}

#[test]
fn samples_held_during_begin_access_are_bounded() {
    let scope = PresentationAccessScope::Topic;
    let tuning = Tuning { max_out_of_order_bytes_total: 20_000, ..Tuning::default() };
    let mut net = Net::with_tuning(2, &tuning);
    net.start();
    let group = group(&net, scope);
    let (writer, reader) = (writer(&mut net, "T", scope), reader(&mut net, "T", scope, &group, 0));
    net.settle();
    group.begin_access();
    for n in 0..COUNT {
        net.write(0, &writer, 1, &pattern(n as u32, 1_000)).expect("no limit");
        net.run(ms(1));
    }
    net.run(ms(1_000));
    assert_eq!(reader.len(), 0);
    assert!(!is_acked(&writer, &reader) && writer.history_len() > 150, "{}", writer.history_len());
    assert!(net.with(1, |_, now, out| group.end_access(now, out)));
    net.run_until(|_| reader.len() == COUNT as usize);
    assert!(none_lost(&mut net));
}

/// Each sample of the set would find room by itself, all of them only when another reader has given back what it holds.
#[test]
fn a_set_that_waits_for_what_readers_share_is_shown_when_there_is_room() {
    let scope = PresentationAccessScope::Topic;
    let tuning = Tuning { max_samples_octets: 200_000, ..Tuning::default() };
    let mut net = Net::with_tuning(2, &tuning);
    net.start();
    let (writer, sets) = writer_of_sets(&mut net, "T", scope);
    let group = group(&net, scope);
    let reader = reader(&mut net, "T", scope, &group, 0);
    let other_writer = net.writer(0, "Other", &DataWriterQos::default().reliable().keep_all());
    let other = net.reader(1, "Other", &DataReaderQos::default().reliable().keep_all());
    net.settle();
    net.write(0, &other_writer, 1, &pattern(1, 120_000)).expect("no limit");
    net.settle();
    assert_eq!(other.len(), 1);
    sets.begin_set();
    (1..=3).for_each(|key| net.write(0, &writer, key, &pattern(key, 30_000)).expect("no limit"));
    let end = sets.end_set().flatten().expect("there is a set");
    net.with(0, |_, now, out| _ = writer.end_set(now, &end, out));
    net.run(ms(500));
    assert_eq!(reader.len(), 0);
    let told = net.take_events(1);
    assert_eq!(told.iter().filter(|event| matches!(event, Event::OverQuota { .. })).count(), 1, "once");
    assert_eq!(net.take(1, &other).len(), 1);
    net.run_until(|_| reader.len() == 3);
    assert!(none_lost(&mut net));
}

/// A writer ends an instance, another one needs its place: it is there as soon as nobody writes the first one any more.
fn leaves_its_place(net: &mut Net, writers: [Arc<WriterSlot>; 2], reader: &Arc<ReaderSlot>) {
    net.settle();
    net.write(0, &writers[0], 1, &[1]).expect("no limit");
    net.change(0, &writers[0], ChangeKind::Disposed, 1, &[]).expect("no limit");
    net.run(ms(50));
    assert!(!net.take(1, reader).is_empty());
    net.write(0, &writers[1], 2, &[2]).expect("no limit");
    net.run(ms(500));
    assert_eq!(reader.len(), 0);
    net.with(0, |participant, now, out| participant.delete_writer(now, &writers[0], out));
    net.run_until(|_| reader.len() == 1);
}

#[test]
fn a_coherent_set_waiting_for_max_instances_is_shown_when_one_is_free() {
    let scope = PresentationAccessScope::Topic;
    let mut net = Net::started(2);
    let writers = [writer(&mut net, "T", scope), writer(&mut net, "T", scope)];
    let group = group(&net, scope);
    let mut spec =
        reader_spec("T", &DataReaderQos::default().reliable().keep_all().resource_limits(-1, 1, -1));
    spec.subscriber_qos = SubscriberQos::default().presentation(scope, true, true);
    let reader = net.with(1, |participant, now, out| {
        participant.create_filtered_reader(now, spec, None, Some(group), None, out)
    });
    leaves_its_place(&mut net, writers, &reader.expect("a good reader"));
}

#[test]
fn ungrouped_reader_at_max_instances_shows_samples_when_one_is_freed() {
    let mut net = Net::started(2);
    let qos = DataWriterQos::default().reliable().keep_all();
    let writers = [net.writer(0, "T", &qos), net.writer(0, "T", &qos)];
    let reader =
        net.reader(1, "T", &DataReaderQos::default().reliable().keep_all().resource_limits(-1, 1, -1));
    leaves_its_place(&mut net, writers, &reader);
}

#[test]
fn full_reader_of_a_group_rejects_a_sample_once() {
    let scope = PresentationAccessScope::Topic;
    let mut net = Net::started(2);
    let group = group(&net, scope);
    let writers = [writer(&mut net, "T", scope), writer(&mut net, "T", scope)];
    let (full, other) = (reader(&mut net, "T", scope, &group, 5), reader(&mut net, "U", scope, &group, 0));
    let lively = writer(&mut net, "U", scope);
    net.settle();
    net.take_events(1);
    for n in 0..60 {
        net.write(0, &writers[n % 2], 1, &[n as u8]).expect("no limit");
        net.write(0, &lively, 1, &[n as u8]).expect("no limit");
        net.run(ms(20));
        assert_eq!(net.take(1, &other).len(), 1);
    }
    let rejected = |event: &&Event| matches!(event, Event::SampleRejected { .. });
    let events = net.take_events(1);
    let told = events.iter().filter(rejected).count();
    assert!((1..=4).contains(&told), "told {told} times that something was rejected");
    let mut taken = 0;
    net.run_until(|net| {
        taken += net.take(1, &full).len();
        taken == 60
    });
}

/// One writer's changes fill what may wait, another one's set is turned away in the middle.
fn is_shown_whole(single: usize, in_set: usize) {
    let scope = PresentationAccessScope::Topic;
    let tuning = Tuning { max_out_of_order_bytes_total: 20_000, ..Tuning::default() };
    let mut net = Net::with_tuning(2, &tuning);
    net.start();
    let group = group(&net, scope);
    let sources = [writer_of_sets(&mut net, "T", scope), writer_of_sets(&mut net, "T", scope)];
    let reader = reader(&mut net, "T", scope, &group, 0);
    net.settle();
    group.begin_access();
    for n in 0..14 {
        net.write(0, &sources[single].0, 1, &pattern(n, 1_000)).expect("no limit");
        net.run(ms(1));
    }
    let (writer, set) = &sources[in_set];
    set.begin_set();
    for n in 0..8 {
        net.write(0, writer, 1, &pattern(n, 1_000)).expect("no limit");
        net.run(ms(1));
    }
    let end = set.end_set().flatten().expect("there is a set");
    net.with(0, |_, now, out| _ = writer.end_set(now, &end, out));
    net.run(ms(500));
    assert_eq!(reader.len(), 0);
    assert!(net.with(1, |_, now, out| group.end_access(now, out)));
    net.run_until(|_| reader.len() == 22);
    assert!(none_lost(&mut net));
}

#[test]
fn a_coherent_set_with_a_rejected_sample_is_shown_whole() {
    // Whichever is looked at first.
    is_shown_whole(0, 1);
    is_shown_whole(1, 0);
}

/// A publisher with writers of "A" and "B", and a subscriber that listens to "A", "B" and "C".
struct Group {
    net: Net,
    publisher: Arc<PublisherGroup>,
    writers: Vec<Arc<WriterSlot>>,
    readers: Vec<Arc<ReaderSlot>>,
}

const BY_GROUP: PresentationAccessScope = PresentationAccessScope::Group;

impl Group {
    fn new(mut net: Net) -> Self {
        net.start();
        let subscriber = group(&net, BY_GROUP);
        let readers = ["A", "B", "C"].map(|topic| reader(&mut net, topic, BY_GROUP, &subscriber, 0)).into();
        let (first, publisher) = writer_of_sets(&mut net, "A", BY_GROUP);
        let second = writer_of(&mut net, "B", BY_GROUP, &publisher);
        net.settle();
        Self { net, publisher, writers: vec![first, second], readers }
    }

    /// One more writer, of which node 1 is not told.
    fn add_unknown(&mut self) {
        self.net.unreachable = Some(Locator::udp_v4(std::net::Ipv4Addr::new(10, 0, 0, 2), 7410));
        self.writers.push(writer_of(&mut self.net, "C", BY_GROUP, &self.publisher));
        self.net.settle();
    }

    /// A set with a sample of each writer, the last in the middle.
    fn write_set(&mut self, n: u8) {
        self.publisher.begin_set();
        let last = self.writers.len() - 1;
        for at in [0, last, 1] {
            self.net.write(0, &self.writers[at], 1, &[n]).expect("no limit");
        }
        let end = self.publisher.end_set().flatten().expect("there is a set");
        for writer in &self.writers {
            self.net.with(0, |_, now, out| _ = writer.end_set(now, &end, out));
        }
    }

    fn shown(&self) -> Vec<usize> {
        self.readers.iter().map(|reader| reader.len()).collect()
    }
}

#[test]
fn a_coherent_set_waits_for_an_undiscovered_writer() {
    let mut group = Group::new(Net::new(2));
    group.add_unknown();
    group.write_set(1);
    group.net.run(ms(5_000));
    assert_eq!(group.shown(), [0, 0, 0], "the third may have a part");
    group.net.unreachable = None;
    let (mut net, readers) = (group.net, group.readers);
    net.run_until(|_| readers.iter().any(|reader| !reader.is_empty()));
    assert!(readers.iter().all(|reader| reader.len() == 1));
    assert!(none_lost(&mut net));
}

fn lost(net: &mut Net) -> usize {
    net.take_events(1).iter().filter(|event| matches!(event, Event::SampleLost { .. })).count()
}

#[test]
fn the_wait_for_a_writer_never_discovered_is_bounded() {
    let mut group = Group::new(Net::new(2));
    let other = writer(&mut group.net, "A", BY_GROUP);
    group.net.settle();
    group.add_unknown();
    group.write_set(1);
    group.net.run(ms(9_000));
    assert_eq!((group.shown(), lost(&mut group.net)), (vec![0; 3], 0));
    group.net.write(0, &other, 1, &[2]).expect("no limit");
    group.net.run(ms(100));
    assert_eq!(group.shown(), [1, 0, 0], "another publisher is not held up");
    group.net.run(ms(2_000));
    assert_eq!((group.shown(), lost(&mut group.net)), (vec![1, 0, 0], 2), "what had arrived is lost");
}

/// Another vendor may make its digests otherwise, or of other writers: then its sets are shown as if it told of none.
#[test]
fn digests_of_another_vendor_that_never_fit_are_waited_for_once() {
    let mut net = Net::new(2);
    net.disguised.insert(0, VendorId([1, 0x7f]));
    let mut group = Group::new(net);
    group.add_unknown();
    group.write_set(1);
    group.net.run(ms(9_000));
    assert_eq!(group.shown(), [0, 0, 0]);
    group.net.run(ms(2_000));
    assert_eq!(group.shown(), [1, 1, 0]);
    group.write_set(2);
    group.net.run(ms(100));
    assert_eq!((group.shown(), lost(&mut group.net)), (vec![2, 2, 0], 0));
}

#[test]
fn data_end_of_set_and_heartbeat_carry_the_writer_group_digest() {
    let mut group = Group::new(Net::new(2));
    let mut ids: Vec<EntityId> = group.writers.iter().map(|writer| writer.guid().entity_id).collect();
    let digest = GroupDigest::of(&mut ids);
    group.net.record = Some(vec![]);
    group.write_set(1);
    group.net.settle();
    let (mut changes, mut heartbeats) = (0, 0);
    for datagram in group.net.record.take().expect("recorded") {
        for submessage in Message::parse(&datagram).expect("a message").submessages() {
            match submessage.expect("understood").body {
                Submessage::Data(data) if ids.contains(&data.writer_id) => {
                    assert_eq!(data.inline_qos.as_ref().and_then(params::writer_group_info), Some(digest));
                    changes += 1;
                }
                Submessage::Heartbeat(heartbeat) if ids.contains(&heartbeat.writer_id) => {
                    let Some(report) = heartbeat.group else { continue };
                    let secure_writer_set = GroupDigest::EMPTY;
                    assert_eq!(report.digests, Some(GroupDigests { writer_set: digest, secure_writer_set }));
                    heartbeats += 1;
                }
                _ => {}
            }
        }
    }
    assert!(changes >= 5 && heartbeats >= 2, "{changes} and {heartbeats}");
}

/// The lease of the readers' participant is short, that of the writers' is not.
fn where_readers_are_lost_alone() -> Net {
    let lease = |index| Duration::from_secs(if index == 0 { 60 } else { 2 });
    let configs = (0..2).map(|index| ParticipantConfig {
        lease_duration: lease(index),
        announcement_period: ms(500),
        ..config(index)
    });
    let mut net = Net::with_configs(configs);
    net.start();
    net
}

/// The writer's participant takes the reader's for gone, not the reverse, and so keeps nothing for it.
fn lose_the_reader(net: &mut Net, writer: &WriterSlot, meanwhile: impl FnOnce(&mut Net)) {
    net.loss = 1_000;
    meanwhile(net);
    net.run_until(|_| writer.matched_readers().is_empty());
    net.loss = 0;
    net.run_until(|_| !writer.matched_readers().is_empty());
    net.settle();
}

fn end_set(net: &mut Net, sets: &PublisherGroup, writer: &WriterSlot) {
    let end = sets.end_set().flatten().expect("there is a set");
    net.with(0, |_, now, out| _ = writer.end_set(now, &end, out));
}

#[test]
fn a_coherent_set_whose_end_is_lost_counts_as_lost_without_later_changes() {
    for scope in [PresentationAccessScope::Topic, PresentationAccessScope::Group] {
        let mut net = where_readers_are_lost_alone();
        let group = group(&net, scope);
        let ((writer, sets), reader) =
            (writer_of_sets(&mut net, "T", scope), reader(&mut net, "T", scope, &group, 0));
        net.settle();
        sets.begin_set();
        net.write(0, &writer, 1, &[1]).expect("no limit");
        net.settle();
        lose_the_reader(&mut net, &writer, |net| end_set(net, &sets, &writer));
        assert_eq!(reader.matched_writers().len(), 1);
        assert!(reader.is_empty(), "{scope:?}: its set has no end");
        assert_eq!(reader.samples_lost(), 2, "{scope:?}: the sample and the end");
    }
}

#[test]
fn a_coherent_set_of_a_deleted_writer_stays_torn_for_the_next_writer() {
    let scope = PresentationAccessScope::Group;
    let mut net = Net::started(2);
    let group = group(&net, scope);
    let ((first, sets), reader) =
        (writer_of_sets(&mut net, "T", scope), reader(&mut net, "T", scope, &group, 0));
    net.settle();
    sets.begin_set();
    net.write(0, &first, 1, &[1]).expect("no limit");
    net.settle();
    net.with(0, |participant, now, out| participant.delete_writer(now, &first, out));
    net.run_until(|_| reader.matched_writers().is_empty());
    let second = writer_of(&mut net, "T", scope, &sets);
    net.settle();
    for n in [2, 3] {
        net.write(0, &second, 1, &[n]).expect("no limit");
        end_set(&mut net, &sets, &second);
        net.settle();
        sets.begin_set();
    }
    let shown: Vec<u8> = net.take(1, &reader).iter().map(number).collect();
    assert_eq!((shown, reader.samples_lost()), (vec![3], 2), "one of each writer");
}

/// The change that said which writers there were when the set began is gone with its writer.
#[test]
fn end_of_coherent_set_tells_a_late_joiner_of_a_deleted_writer() {
    let mut net = Net::started(2);
    let sets = net.nodes[0].participant.create_publisher_group(by(BY_GROUP).presentation);
    let sets = sets.expect("names are left");
    let [gone, other] = ["A", "B"].map(|topic| {
        let qos = DataWriterQos::default().reliable().keep_all().transient_local();
        let spec = WriterSpec { publisher_qos: by(BY_GROUP), ..writer_spec(topic, &qos) };
        let own = Some(Arc::clone(&sets));
        net.with(0, |participant, now, out| participant.create_grouped_writer(now, spec, own, None, out))
            .expect("a good writer")
    });
    sets.begin_set();
    net.write(0, &gone, 1, &[1]).expect("no limit");
    net.with(0, |participant, now, out| participant.delete_writer(now, &gone, out));
    net.settle();
    for n in [2, 3] {
        net.write(0, &other, 1, &[n]).expect("no limit");
        end_set(&mut net, &sets, &other);
        sets.begin_set();
    }
    let subscriber = group(&net, BY_GROUP);
    let [_, reader] = ["A", "B"].map(|topic| {
        let qos = DataReaderQos::default().reliable().keep_all().transient_local();
        let subscriber_qos = SubscriberQos::default().presentation(BY_GROUP, true, true);
        let (spec, own) =
            (ReaderSpec { subscriber_qos, ..reader_spec(topic, &qos) }, Some(Arc::clone(&subscriber)));
        net.with(1, |participant, now, out| {
            participant.create_filtered_reader(now, spec, None, own, None, out)
        })
        .expect("a good reader")
    });
    net.settle();
    let shown: Vec<u8> = net.take(1, &reader).iter().map(number).collect();
    assert_eq!((shown, reader.samples_lost()), (vec![3], 1), "2 belongs to what is gone");
}

/// Nobody reads the writers that go, of which only the first has a part in the set.
#[test]
fn a_reader_that_knew_writers_deleted_within_a_set_gets_the_rest() {
    let mut net = Net::started(2);
    let (other, sets) = writer_of_sets(&mut net, "C", BY_GROUP);
    let [unread, idle] = ["A", "B"].map(|topic| writer_of(&mut net, topic, BY_GROUP, &sets));
    let subscriber = group(&net, BY_GROUP);
    let reader = reader(&mut net, "C", BY_GROUP, &subscriber, 0);
    net.settle();
    sets.begin_set();
    net.write(0, &unread, 1, &[1]).expect("no limit");
    for gone in [&unread, &idle] {
        net.with(0, |participant, now, out| participant.delete_writer(now, gone, out));
        net.settle();
    }
    net.write(0, &other, 1, &[2]).expect("no limit");
    end_set(&mut net, &sets, &other);
    net.settle();
    let shown: Vec<u8> = net.take(1, &reader).iter().map(number).collect();
    assert_eq!((shown, reader.samples_lost()), (vec![2], 0));
}

/// Numbers of the samples of a writer that were sent, and those of which GAPs said that they are not for their reader.
fn sent_and_skipped(record: &[SharedBytes], writer: &WriterSlot) -> (Vec<i64>, Vec<i64>) {
    let (mut sent, mut skipped, id) = (vec![], vec![], writer.guid().entity_id);
    for datagram in record {
        for submessage in Message::parse(datagram).expect("a message").submessages() {
            match submessage.expect("understood").body {
                Submessage::Data(data) if data.writer_id == id && data.payload.bytes().is_some() => {
                    sent.push(data.writer_sn.0);
                }
                Submessage::Gap(gap) if gap.writer_id == id => {
                    skipped.extend(gap.gap_start.0..gap.gap_list.base().0);
                    skipped.extend(gap.gap_list.iter().map(|sn| sn.0));
                }
                _ => {}
            }
        }
    }
    skipped.sort_unstable();
    skipped.dedup();
    (sent, skipped)
}

/// A writer in whose set, which is open, the first sample is written.
fn in_the_middle_of_a_set(
    net: &mut Net,
    scope: PresentationAccessScope,
) -> (Arc<WriterSlot>, Arc<PublisherGroup>) {
    let (writer, sets) = writer_of_sets(net, "T", scope);
    net.settle();
    sets.begin_set();
    net.write(0, &writer, 1, &[1]).expect("no limit");
    net.settle();
    (writer, sets)
}

/// Writes the second and third sample of the set, its end, and a set of one sample behind it, while so many of a thousand
/// datagrams are lost.
fn write_the_rest(net: &mut Net, (writer, sets): &(Arc<WriterSlot>, Arc<PublisherGroup>), loss: u64) {
    net.loss = loss;
    (2..=3).for_each(|n| net.write(0, writer, n, &[n as u8]).expect("no limit"));
    end_set(net, sets, writer);
    net.settle();
    sets.begin_set();
    net.write(0, writer, 4, &[4]).expect("no limit");
    end_set(net, sets, writer);
    net.settle();
}

#[test]
fn a_late_joiner_within_a_coherent_set_gets_a_gap_for_the_rest() {
    for (scope, loss) in [PresentationAccessScope::Topic, BY_GROUP].into_iter().zip([0, 400]) {
        let mut net = Net::started(2);
        let publisher = in_the_middle_of_a_set(&mut net, scope);
        let group = group(&net, scope);
        let reader = reader(&mut net, "T", scope, &group, 0);
        net.run_until(|_| !publisher.0.matched_readers().is_empty());
        net.record = Some(vec![]);
        write_the_rest(&mut net, &publisher, loss);
        net.run_until(|_| !reader.is_empty());
        let (sent, skipped) = sent_and_skipped(&net.record.take().expect("recorded"), &publisher.0);
        let rest = [2, 3];
        assert!(
            rest.iter().all(|sn| !sent.contains(sn) && skipped.contains(sn)),
            "{scope:?}: {sent:?}, {skipped:?}"
        );
        assert!(sent.iter().all(|sn| !skipped.contains(sn)), "{scope:?}: {sent:?}, {skipped:?}");
        assert_eq!(net.take(1, &reader).iter().map(number).collect::<Vec<_>>(), [4], "{scope:?}");
        assert_eq!(reader.samples_lost(), 0, "{scope:?}: none of it was for this reader");
    }
}

#[test]
fn a_reader_without_coherent_access_gets_the_rest_of_a_set() {
    let mut net = Net::started(2);
    let publisher = in_the_middle_of_a_set(&mut net, PresentationAccessScope::Topic);
    let reader = net.reader(1, "T", &DataReaderQos::default().reliable().keep_all());
    net.settle();
    net.record = Some(vec![]);
    write_the_rest(&mut net, &publisher, 0);
    let (sent, _) = sent_and_skipped(&net.record.take().expect("recorded"), &publisher.0);
    assert!(sent.starts_with(&[2, 3]), "{sent:?}");
    assert_eq!(net.take(1, &reader).iter().map(number).collect::<Vec<_>>(), [2, 3, 4]);
}

/// The number before the sample is of a writer that nobody here reads, so the other ones have to say that they did not have it.
#[test]
fn an_unanswered_request_for_a_group_sequence_number_is_repeated() {
    let mut net = Net::started(2);
    let (quiet, publisher) = writer_of_sets(&mut net, "A", BY_GROUP);
    let [speaking, unread] = ["B", "C"].map(|topic| writer_of(&mut net, topic, BY_GROUP, &publisher));
    let subscriber = group(&net, BY_GROUP);
    let [other, reader] = ["A", "B"].map(|topic| reader(&mut net, topic, BY_GROUP, &subscriber, 0));
    net.settle();
    net.write(0, &quiet, 1, &[1]).expect("no limit");
    net.settle();
    assert_eq!(net.take(1, &other).len(), 1);
    net.write(0, &unread, 1, &[2]).expect("no limit");
    net.write(0, &speaking, 1, &[3]).expect("no limit");
    net.run_until(|_| speaking.is_acked_by(reader.guid(), SequenceNumber(1)));
    assert!(reader.is_empty(), "the first question is a millisecond away");
    net.loss = 1_000;
    net.run(ms(2));
    net.loss = 0;
    net.run(ms(100));
    assert_eq!(net.take(1, &reader).iter().map(number).collect::<Vec<_>>(), [3]);
}

/// For the reader the writer never went, so it was there for all of the set.
#[test]
fn best_effort_reader_lost_within_a_coherent_set_gets_gaps_for_the_rest() {
    let scope = PresentationAccessScope::Topic;
    let mut net = where_readers_are_lost_alone();
    let (writer, sets) = writer_of_sets(&mut net, "T", scope);
    let mut spec = reader_spec("T", &DataReaderQos::default().best_effort().keep_all());
    spec.subscriber_qos = SubscriberQos::default().presentation(scope, true, true);
    let reader = net.with(1, |participant, now, out| participant.create_reader(now, spec, out));
    let reader = reader.expect("a good reader");
    net.settle();
    sets.begin_set();
    net.write(0, &writer, 1, &[1]).expect("no limit");
    net.settle();
    lose_the_reader(&mut net, &writer, |net| net.write(0, &writer, 1, &[2]).expect("no limit"));
    assert_eq!(reader.matched_writers().len(), 1);
    net.write(0, &writer, 1, &[3]).expect("no limit");
    end_set(&mut net, &sets, &writer);
    net.settle();
    assert_eq!((reader.len(), reader.samples_lost()), (0, 3), "none of the set can be shown");
}
