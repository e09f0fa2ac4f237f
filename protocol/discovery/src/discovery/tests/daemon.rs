//! A daemon, the programs for which it speaks, and participants that know nothing of daemons.

use alloc::{
    collections::BTreeSet,
    string::{String, ToString},
    vec,
    vec::Vec,
};

use dunlin_core::{SequenceNumber, SequenceNumberSet};
use dunlin_qos::{PublisherQos, SubscriberQos};
use dunlin_wire::{AckNack, DataSpec, MessageBuilder, PayloadSpec};

use super::net::*;
use crate::{
    DIRECT_WRITE, DIRECT_WRITE_PROPERTY, DiscoveryRole, ROLE_APPLICATION, ROLE_DAEMON, ROLE_PROPERTY,
    RelayConfig,
};

fn with_role(node: usize, name: &str) -> DiscoveryConfig {
    let mut config = config(node);
    config.property.values.push((ROLE_PROPERTY.to_string(), name.to_string()));
    config
}

/// A daemon that speaks for these nodes.
fn daemon(node: usize, programs: &[usize]) -> DiscoveryConfig {
    let relay = RelayConfig {
        addresses: programs.iter().filter_map(|node| unicast(*node, 0).ip()).collect(),
        ..RelayConfig::default()
    };
    DiscoveryConfig { role: DiscoveryRole::Daemon(relay), ..with_role(node, ROLE_DAEMON) }
}

/// A program that reaches others by a daemon.
fn program(node: usize, daemon: usize) -> DiscoveryConfig {
    let place = unicast(daemon, 7410);
    let mut config = DiscoveryConfig {
        role: DiscoveryRole::Application(vec![place]),
        initial_peers: vec![place],
        spdp_destinations: vec![],
        ..with_role(node, ROLE_APPLICATION)
    };
    config.locators.metatraffic_multicast.clear();
    config
}

fn net_of(configs: impl IntoIterator<Item = DiscoveryConfig>) -> Net {
    let mut net = Net::new(configs);
    for node in &mut net.nodes {
        node.joined = !matches!(node.discovery.config.role, DiscoveryRole::Application(_));
    }
    net
}

/// A daemon, its programs 1 and 2, and 3 and 4, which are decentralised.
fn net() -> Net {
    net_of([daemon(0, &[1, 2]), program(1, 0), program(2, 0), config(3), config(4)])
}

fn known(net: &Net, node: usize) -> BTreeSet<usize> {
    let participants = net.nodes[node].discovery.participants();
    participants.map(|known| usize::from(known.guid_prefix.0[0] - 1)).collect()
}

/// What leaves in good order is missed at once by those on either side of the daemon, long before its lease ends.
#[test]
fn a_goodbye_passes_the_daemon_at_once() {
    let mut net = net();
    net.start();
    net.run_for(secs(5));
    let all_but = |node: usize| (0..5).filter(|other| *other != node).collect::<BTreeSet<_>>();
    (0..5).for_each(|node| assert_eq!(known(&net, node), all_but(node), "{node}"));
    net.with(1, |d, now, out, _| d.shutdown(now, out));
    net.run_for(millis(50));
    assert!([0, 2, 3, 4].into_iter().all(|node| !known(&net, node).contains(&1)));
    net.with(4, |d, now, out, _| d.shutdown(now, out));
    net.run_for(millis(50));
    assert!([0, 2, 3].into_iter().all(|node| !known(&net, node).contains(&4)));
}

/// Where something goes from a daemon that one node says.
fn passed_on(
    net: &mut Net,
    daemon: usize,
    from: usize,
    say: impl FnOnce(&mut MessageBuilder<'_>),
) -> BTreeSet<Locator> {
    let mut out = Outbox::new();
    let mut message = MessageBuilder::new(&mut out, prefix(from));
    say(&mut message);
    message.finish(&[unicast(daemon, 7411)]);
    let mut bytes = Vec::new();
    out.datagrams().next().expect("there is one").copy_to(&mut bytes);
    let packet = SharedBytes::from(bytes);
    net.with(daemon, |d, now, out, _| {
        d.pass_on(now, unicast(from, 40_000), &packet, out);
        out.datagrams().flat_map(|it| it.destinations().to_vec()).collect()
    })
}

/// A sample that names no reader.
fn sample(message: &mut MessageBuilder<'_>) {
    message.data(&DataSpec {
        reader_id: EntityId::UNKNOWN,
        writer_id: WRITER,
        writer_sn: SequenceNumber(1),
        inline_qos: &[],
        payload: PayloadSpec::Data(vec![0, 1, 0, 0, 7, 0, 0, 0].into()),
    });
}

/// A sample goes to those whose partitions meet that of the writer, whether they name it or say how its name looks.
#[test]
fn a_daemon_knows_patterns_of_partitions() {
    let mut net = net();
    let mut writer = local_writer(Default::default());
    writer.publisher_qos = PublisherQos::default().partition(["north"]);
    net.with(1, |d, now, out, fx| d.add_writer(now, writer, out, fx)).expect("valid names");
    for (node, name) in [(2, "north"), (3, "nor*"), (4, "south")] {
        let mut reader = local_reader(Default::default());
        reader.subscriber_qos = SubscriberQos::default().partition([String::from(name)]);
        net.with(node, |d, now, out, fx| d.add_reader(now, reader, out, fx)).expect("valid names");
    }
    net.start();
    net.run_for(secs(5));
    assert_eq!(passed_on(&mut net, 0, 1, sample), [unicast(2, 7411), unicast(3, 7411)].into());
}

/// What is written directly goes from the daemon to the readers of its own host alone, and answers go to the writer itself.
#[test]
fn direct_data_and_its_acknacks_do_not_pass_both_daemons() {
    for direct in [false, true] {
        let mut writes = program(1, 0);
        writes.property.values.push((DIRECT_WRITE_PROPERTY.to_string(), DIRECT_WRITE.to_string()));
        let mut answers = daemon(3, &[4]);
        answers.quotas.foreign_locators = true;
        let mut net = net_of([daemon(0, &[1, 2]), writes, program(2, 0), answers, program(4, 3)]);
        net.add_writer(1, DataWriterQos::default().direct_write(direct));
        [2, 4].into_iter().for_each(|node| net.add_reader(node, Default::default()));
        net.start();
        net.run_for(secs(5));
        let (near, far) = (unicast(2, 7411), unicast(3, 7411));
        let expected = if direct { vec![near] } else { vec![near, far] };
        assert_eq!(passed_on(&mut net, 0, 1, sample), expected.into_iter().collect(), "{direct}");
        let answer = |message: &mut MessageBuilder<'_>| {
            message.info_dst(prefix(1));
            message.acknack(&AckNack {
                reader_id: READER,
                writer_id: WRITER,
                reader_sn_state: SequenceNumberSet::empty(SequenceNumber(2)),
                count: 1,
                final_flag: true,
            });
        };
        let expected = if direct { unicast(1, 7411) } else { unicast(0, 7411) };
        assert_eq!(passed_on(&mut net, 3, 4, answer), [expected].into(), "{direct}");
    }
}

/// It says where it takes answers by way of its daemon, in announcements that are believed; its ports are not those of the daemon.
#[test]
fn a_direct_writer_is_accepted_from_its_own_address() {
    for direct in [false, true] {
        let mut writes = program(1, 0);
        writes.source_ports = [40_000, 0, 0, 0];
        if direct {
            writes.property.values.push((DIRECT_WRITE_PROPERTY.to_string(), DIRECT_WRITE.to_string()));
        }
        let mut net = net_of([daemon(0, &[1]), writes, daemon(2, &[3]), program(3, 2), config(4)]);
        net.start();
        net.run_for(secs(5));
        let heard = |at: usize, from: usize, port| {
            let known = net.nodes[at].discovery.participants.get(&prefix(1)).expect("it is known");
            known.unverified.is_none() && known.whereabouts.sources().admit(&unicast(from, port))
        };
        for at in [2, 4] {
            assert!(heard(at, 0, 40_000) && heard(at, 0, 40_001), "{at}: by way of its daemon");
            assert_eq!((heard(at, 1, 40_000), heard(at, 1, 40_001)), (direct, direct), "{at}");
            assert!(!heard(at, 5, 40_000), "{at}: a stranger");
        }
        assert!(heard(3, 2, 40_000) && !heard(3, 1, 40_000), "a program hears its daemon alone");
        assert!(heard(0, 1, 40_000) && !heard(0, 1, 40_001), "between the two nobody writes other ports");
    }
}
