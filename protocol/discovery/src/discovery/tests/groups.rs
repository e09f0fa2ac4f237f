//! Which writers publishers with access scope GROUP have, as far as discovery knows.

use alloc::vec::Vec;

use dunlin_core::SequenceNumber;
use dunlin_qos::PresentationAccessScope;
use dunlin_wire::{Heartbeat, MessageBuilder};

use super::{hostile::inject, net::*};

const GROUP: EntityId = EntityId([0, 0, 9, 8]);

fn started(count: usize) -> Net {
    let mut net = Net::new((0..count).map(config));
    net.start();
    net.run_for(secs(1));
    net.forget_events();
    net
}

fn add(net: &mut Net, node: usize, key: u8, qos: DataWriterQos) {
    let publisher_qos = PublisherQos::default().presentation(PresentationAccessScope::Group, true, true);
    let entity_id = EntityId([0, 0, key, 2]);
    let writer = LocalWriter { entity_id, group: GROUP, publisher_qos, ..local_writer(qos) };
    net.with(node, |d, now, out, fx| d.add_writer(now, writer, out, fx)).expect("valid names");
}

/// How many writers of the publisher of `node` the last node knows.
fn known(net: &Net, node: usize) -> usize {
    let last = net.nodes.last().expect("there are some");
    last.discovery.writers_of_publisher(guid(node, GROUP)).expect("all is settled").len()
}

/// The publishers that the last node was told of since the last call.
fn told(net: &mut Net) -> Vec<Guid> {
    let effects = net.nodes.last_mut().expect("there are some").fx.drain(..);
    let publisher = |effect| match effect {
        DiscoveryEffect::GroupChanged(publisher) => Some(publisher),
        _ => None,
    };
    effects.filter_map(publisher).collect()
}

/// One that announces more than it may takes nothing of what the other may.
#[test]
fn ignored_writers_are_counted_for_each_participant() {
    let mut net = started(3);
    net.with(2, |d, _, _, fx| d.ignore_topic("Square", "ShapeType", fx));
    (1..=80).for_each(|key| add(&mut net, 0, key, DataWriterQos::default()));
    net.run_for(secs(1));
    add(&mut net, 1, 1, DataWriterQos::default());
    net.run_for(secs(1));
    assert_eq!((known(&net, 0), known(&net, 1)), (64, 1));
    // A place that becomes free can be taken.
    net.with(0, |d, now, out, fx| d.remove_writer(now, EntityId([0, 0, 1, 2]), out, fx));
    net.run_for(secs(1));
    assert_eq!(known(&net, 0), 63);
    add(&mut net, 0, 81, DataWriterQos::default());
    net.run_for(secs(1));
    assert_eq!(known(&net, 0), 64);
}

/// Its removal may be among what was lost.
#[test]
fn ignored_writers_are_forgotten_when_their_removal_can_be_lost() {
    let mut net = started(2);
    add(&mut net, 0, 1, DataWriterQos::default());
    net.run_for(secs(1));
    // One is known when it is ignored, the others are announced later.
    net.with(1, |d, _, _, fx| d.ignore_topic("Square", "ShapeType", fx));
    (2..=3).for_each(|key| add(&mut net, 0, key, DataWriterQos::default()));
    net.run_for(secs(1));
    assert_eq!(known(&net, 0), 3);
    net.forget_events();
    let heartbeat = |count| Heartbeat {
        reader_id: EntityId::UNKNOWN,
        writer_id: EntityId::SEDP_PUBLICATIONS_WRITER,
        first_sn: SequenceNumber(i64::MAX - 2),
        last_sn: SequenceNumber(i64::MAX - 2),
        count,
        final_flag: true,
        liveliness_flag: false,
        group: None,
    };
    net.nodes[0].cut_off = true;
    // It is believed when it is said again.
    for count in [1_000, 1_001] {
        inject(&mut net, 1, |out| {
            let mut message = MessageBuilder::new(out, prefix(0));
            message.heartbeat(&heartbeat(count));
            message.finish(&[unicast(9, 1)]);
        });
        net.run_for(millis(20));
    }
    assert_eq!(known(&net, 0), 0);
    assert_eq!(told(&mut net), [guid(0, GROUP); 3]);
}

/// All writers of a participant are looked through for each of these.
#[test]
fn a_publisher_is_reported_only_if_its_writers_change() {
    let mut net = started(2);
    let update = |net: &mut Net, group, data: u8| {
        let publisher_qos = PublisherQos::default().presentation(PresentationAccessScope::Group, true, true);
        let qos = DataWriterQos::default().user_data([data]);
        let writer = LocalWriter { group, publisher_qos, ..local_writer(qos) };
        net.with(0, |d, now, out, fx| d.add_writer(now, writer, out, fx)).expect("valid names");
        net.run_for(secs(1));
        told(net)
    };
    assert_eq!(update(&mut net, GROUP, 0), [guid(0, GROUP)]);
    assert_eq!(update(&mut net, GROUP, 1), []);
    assert_eq!(
        net.nodes[1].discovery.writer(guid(0, WRITER)).map(|it| it.qos.user_data.0.clone()),
        Some([1].into())
    );
    let other = EntityId([0, 0, 8, 8]);
    assert_eq!(update(&mut net, other, 1), [guid(0, GROUP), guid(0, other)]);
    net.with(0, |d, now, out, fx| d.remove_writer(now, WRITER, out, fx));
    net.run_for(secs(1));
    assert_eq!(told(&mut net), [guid(0, other)]);
}
