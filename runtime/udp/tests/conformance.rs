//! The conformance suite of transports on real sockets, plain and through the wrappers.

use std::io;
use std::sync::Arc;

use dunlin_core::PortParameters;
use dunlin_transport::conformance::{Listener, Pair, run, single};
use dunlin_transport::{Channel, Fault, FaultConfig, Pcap, SendMode, Transport};
use dunlin_udp::{MulticastUse, ParticipantIndex, UdpConfig, UdpTransport};

/// A range of ports of its own for each test.
fn config(base: u16) -> UdpConfig {
    UdpConfig { ports: PortParameters { base, ..PortParameters::default() }, ..UdpConfig::default() }
}

fn open(config: &UdpConfig) -> Arc<dyn Transport> {
    Arc::new(UdpTransport::open(config.clone()).unwrap())
}

fn pair(config: &UdpConfig) -> Pair {
    (open(config), open(config))
}

#[test]
fn udp_with_offload_conforms() {
    let config = config(23_000);
    run(&|| pair(&config));
}

#[test]
fn udp_without_offload_conforms() {
    let off = UdpConfig { segmentation_offload: false, receive_offload: false, ..config(23_250) };
    run(&|| pair(&off));
}

#[test]
fn offload_on_one_side_only() {
    let plain = UdpConfig { segmentation_offload: false, receive_offload: false, ..config(23_500) };
    run(&|| (open(&config(23_500)), open(&plain)));
    run(&|| (open(&plain), open(&config(23_500))));
}

#[test]
fn udp_on_loopback_only_conforms() {
    let lo = UdpConfig { interfaces: vec!["lo".into()], ..config(23_750) };
    run(&|| pair(&lo));
}

#[test]
fn loopback_only_and_all_interface_transports_reach_each_other() {
    let lo = UdpConfig { interfaces: vec!["lo".into()], ..config(24_000) };
    let (narrow, wide) = (open(&lo), open(&config(24_000)));
    let listener = Listener::start(&wide, Channel::Meta);
    assert_eq!(narrow.send(&single(b"here I am", &narrow.announce_to()), SendMode::Blocking).sent, 1);
    assert_eq!(&*listener.next().0, b"here I am");
    let answers = Listener::start(&narrow, Channel::Meta);
    let to = narrow.locators().metatraffic_unicast;
    assert_eq!(wide.send(&single(b"so am I", &to), SendMode::Blocking).sent, 1);
    let mut arrived = answers.next().0;
    if &*arrived == b"here I am" {
        // Its own announcement, looped back.
        arrived = answers.next().0;
    }
    assert_eq!(&*arrived, b"so am I");
}

#[test]
fn ipv6_unicast_on_loopback() {
    let v6 = UdpConfig {
        ipv4: false,
        ipv6: true,
        interfaces: vec!["::1".into()],
        multicast: MulticastUse::Off,
        ..config(24_250)
    };
    run(&|| pair(&v6));
}

#[test]
fn ipv6_multicast_where_an_interface_can() {
    let v6 = UdpConfig { ipv4: false, ipv6: true, ..config(20_000) };
    let interfaces = dunlin_udp::interface::all().unwrap();
    if !interfaces.iter().any(|i| i.up && i.multicast && !i.loopback && i.v6().is_some()) {
        let remedy = "sudo ip link add dunlin0 type dummy && sudo ip link set dunlin0 multicast on up";
        return dunlin_notes::skipped("no interface can multicast over IPv6", remedy);
    }
    run(&|| pair(&v6));
}

#[test]
fn udp_with_both_ip_versions_on_ephemeral_ports_conforms() {
    let both = UdpConfig { ipv6: true, participant_index: ParticipantIndex::Ephemeral, ..config(24_500) };
    run(&|| pair(&both));
}

#[test]
fn udp_through_fault_and_pcap_wrappers_conforms() {
    let config = config(24_750);
    let wrap = |inner| -> Arc<dyn Transport> {
        let captured = Pcap::new(inner, Box::new(io::sink()), u64::MAX).unwrap();
        Arc::new(Fault::new(Arc::new(captured), FaultConfig::default()).unwrap())
    };
    run(&|| (wrap(open(&config)), wrap(open(&config))));
}
