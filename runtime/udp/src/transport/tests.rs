use std::net::Ipv4Addr;

use dunlin_core::PortParameters;
use dunlin_transport::conformance::{Listener, pattern, push, single};

use super::*;
use crate::route::Outlet;

fn config(base: u16) -> UdpConfig {
    UdpConfig { ports: PortParameters { base, ..PortParameters::default() }, ..UdpConfig::default() }
}

fn burst(count: usize, len: usize, to: Locator) -> Outbox {
    let mut outbox = Outbox::new();
    for number in 0..count {
        push(&mut outbox, &pattern(number as u64, len), &[to]);
    }
    outbox
}

/// Sends a burst to `to` and gives what arrives.
fn exchange(from: &UdpTransport, to: &Arc<dyn Transport>, count: usize, len: usize) {
    let listener = Listener::start(to, Channel::Data);
    let report = from.send(&burst(count, len, to.locators().default_unicast[0]), SendMode::Blocking);
    assert_eq!(report, SendReport { sent: count, ..SendReport::default() });
    for (number, bytes) in listener.take(count).iter().enumerate() {
        assert_eq!(**bytes, *pattern(number as u64, len), "datagram {number}");
    }
}

#[test]
fn a_burst_of_64_kib_takes_one_call_out_and_few_in() {
    let sender = UdpTransport::open(config(25_000)).unwrap();
    let receiver: Arc<dyn Transport> = Arc::new(UdpTransport::open(config(25_000)).unwrap());
    if !sender.segmentation_offload() {
        return dunlin_notes::skipped("this kernel has no UDP segmentation offload", "Linux 4.18 has");
    }
    exchange(&sender, &receiver, 45, 1_444);
    let (out, back) = (sender.stats(), receiver.stats());
    assert_eq!((out.send_calls, out.sent_datagrams, out.sent_octets), (1, 45, 45 * 1_444));
    assert_eq!((back.received_datagrams, back.received_octets), (45, 45 * 1_444));
    assert_eq!(back.receive_calls, 1, "receive offload");
    assert_eq!((out.segmentation_refused, back.receive_truncated, back.receive_overflow), (0, 0, 0));
}

#[test]
fn a_kernel_that_refuses_to_segment_gets_them_one_by_one() {
    let sender = UdpTransport::open(config(25_250)).unwrap();
    let receiver: Arc<dyn Transport> = Arc::new(UdpTransport::open(config(25_250)).unwrap());
    if !sender.segmentation_offload() {
        return dunlin_notes::skipped("this kernel has no UDP segmentation offload", "Linux 4.18 has");
    }
    sender.sender.refuse_segmentation();
    exchange(&sender, &receiver, 40, 1_000);
    let stats = sender.stats();
    assert_eq!((stats.segmentation_refused, stats.send_calls, stats.sent_datagrams), (1, 41, 40));
    let receiver: Arc<dyn Transport> = Arc::new(UdpTransport::open(config(25_250)).unwrap());
    exchange(&sender, &receiver, 40, 1_000);
    assert_eq!(sender.stats().segmentation_refused, 1, "it is not asked again");
    assert_eq!(sender.stats().send_calls, 81);
}

#[test]
fn datagrams_of_very_many_pieces_arrive_whole() {
    let sender = UdpTransport::open(config(25_500)).unwrap();
    let receiver: Arc<dyn Transport> = Arc::new(UdpTransport::open(config(25_500)).unwrap());
    let listener = Listener::start(&receiver, Channel::Data);
    let whole = pattern(3, 9_000);
    for piece in [9_000 / 9, 9_000 / 200, 9_000 / 1_500] {
        let mut outbox = Outbox::new();
        outbox.begin();
        whole.chunks(piece).for_each(|piece| outbox.put_shared(SharedBytes::copy_from(piece)));
        outbox.finish(&[receiver.locators().default_unicast[0]]);
        assert_eq!(sender.send(&outbox, SendMode::Blocking).sent, 1);
        assert_eq!(*listener.next().0, *whole);
    }
}

#[test]
#[cfg_attr(target_arch = "arm", ignore = "user-mode emulation drops the ancillary data that counts")]
fn a_receiver_that_is_too_slow_loses_and_counts() {
    let small = UdpConfig { receive_buffer: Some(8_192), ..config(25_750) };
    let sender = UdpTransport::open(config(25_750)).unwrap();
    let receiver: Arc<dyn Transport> = Arc::new(UdpTransport::open(small).unwrap());
    let to = receiver.locators().default_unicast[0];
    for _ in 0..100 {
        sender.send(&single(&[0; 1_000], &[to]), SendMode::NonBlocking);
    }
    let listener = Listener::start(&receiver, Channel::Data);
    let _ = listener.next();
    // The count of drops travels with the datagrams behind the gap.
    for _ in 0..200 {
        if receiver.stats().receive_overflow > 0 {
            break;
        }
        assert_eq!(sender.send(&single(&[1; 10], &[to]), SendMode::Blocking).sent, 1);
        let _ = listener.next();
    }
    assert!((1..100).contains(&receiver.stats().receive_overflow));
}

#[test]
fn small_datagrams_do_not_keep_large_buffers() {
    let sender = UdpTransport::open(config(26_000)).unwrap();
    let receiver: Arc<dyn Transport> = Arc::new(UdpTransport::open(config(26_000)).unwrap());
    let listener = Listener::start(&receiver, Channel::Data);
    let to = receiver.locators().default_unicast[0];
    sender.send(&single(&[1; 1_400], &[to]), SendMode::Blocking);
    assert!(listener.next().0.retained_len() <= 4_096);
}

#[test]
fn shortages_and_unknown_interfaces_are_said_in_words() {
    let greedy = UdpConfig { receive_buffer: Some(1 << 30), send_buffer: Some(1 << 30), ..config(26_250) };
    let notes = UdpTransport::open(greedy).unwrap().notes();
    assert!(notes.iter().any(|note| note.starts_with("port 26260: asked for a receive buffer")), "{notes:?}");
    assert!(notes.iter().any(|note| note.contains("net.core.wmem_max")), "{notes:?}");

    let lost = UdpConfig { interfaces: vec!["eth99".into()], ..config(26_250) };
    let error = UdpTransport::open(lost).err().unwrap();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    assert!(error.to_string().starts_with("no interface matches \"eth99\"; this host has lo ("), "{error}");
}

#[test]
fn senseless_configurations_are_refused() {
    let refused = |config: UdpConfig, words: &str| {
        let error = UdpTransport::open(config).err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        assert!(error.to_string().contains(words), "{error}");
    };
    refused(UdpConfig { ipv4: false, ..config(26_500) }, "neither IPv4 nor IPv6");
    refused(UdpConfig { domain: 233, ..config(7_400) }, "domain 233");
    refused(UdpConfig { group_v4: [10, 0, 0, 1].into(), ..config(26_500) }, "10.0.0.1 is not a multicast");
}

#[test]
fn a_change_of_interfaces_is_followed_and_reported() {
    let transport = UdpTransport::open(config(26_750)).unwrap();
    assert!(!transport.refresh(), "nothing has changed");
    let mut interfaces = interface::all().unwrap();
    let before = transport.locators();
    let appeared: IpAddr = [198, 51, 100, 7].into();
    interfaces.push(Interface {
        name: "test0".into(),
        index: 9_999,
        mtu: 1_300,
        up: true,
        loopback: false,
        multicast: true,
        addresses: vec![appeared],
    });
    assert!(transport.follow(interfaces.clone()));
    let (meta, data) = transport.unicast_ports();
    let expected = |port| Locator::udp(std::net::SocketAddr::new(appeared, port));
    assert!(transport.locators().metatraffic_unicast.contains(&expected(meta)));
    assert!(transport.locators().default_unicast.contains(&expected(data)));
    assert!(transport.max_message_size() <= 1_300 - 28);
    assert!(!transport.follow(interfaces), "the same again is no change");
    assert!(transport.refresh(), "the true list again");
    assert_eq!(transport.locators(), before);
}

/// As when an interface is gone and the next look at the interfaces is still to come, or a firewall lets nothing out of it.
#[test]
fn a_burst_leaves_by_the_outlets_that_work() {
    let lo = || UdpConfig { interfaces: vec!["lo".into()], ..config(27_250) };
    let sender = UdpTransport::open(lo()).unwrap();
    let receiver: Arc<dyn Transport> = Arc::new(UdpTransport::open(lo()).unwrap());
    if !sender.segmentation_offload() {
        return dunlin_notes::skipped("this kernel has no UDP segmentation offload", "Linux 4.18 has");
    }
    let mut routes = Routes::plan(&lo(), &interface::all().unwrap(), sender.ports);
    let gone = Outlet { interface: 9_999, ..routes.outlets_v4[0] };
    routes.outlets_v4.insert(0, gone);
    *sender.routes.write().unwrap() = Arc::new(routes);
    let group = receiver.locators().metatraffic_multicast[0];
    let listener = Listener::start(&receiver, Channel::Meta);
    let report = sender.send(&burst(20, 1_000, group), SendMode::Blocking);
    assert_eq!(report, SendReport { sent: 20, ..SendReport::default() });
    for (number, bytes) in listener.take(20).iter().enumerate() {
        assert_eq!(**bytes, *pattern(number as u64, 1_000), "datagram {number}");
    }
}

/// As when the limit of memberships (net.ipv4.igmp_max_memberships) is reached.
#[test]
fn a_group_that_could_not_be_joined_is_joined_when_that_is_possible() {
    let lo = || UdpConfig { interfaces: vec!["lo".into()], ..config(27_500) };
    let transport = UdpTransport::open(lo()).unwrap();
    let interfaces = interface::all().unwrap();
    let failures = || transport.hosts.lock().unwrap().groups.failures().count();
    let mut others = Vec::new();
    transport.follow(Vec::new());
    for n in 0..=u8::MAX {
        let group = Ipv4Addr::new(239, 255, 7, n);
        if transport.hosts.lock().unwrap().groups.occupy(group).is_err() {
            break;
        }
        others.push(group);
    }
    transport.follow(interfaces.clone());
    if failures() == 0 {
        return dunlin_notes::skipped("this host has no limit of memberships", "run it on Linux");
    }
    others.iter().for_each(|group| transport.hosts.lock().unwrap().groups.vacate(*group));
    assert!(!transport.follow(interfaces), "nothing that others must be told");
    assert_eq!(failures(), 0);
}

#[test]
fn unicast_is_read_before_later_multicast() {
    let sender = UdpTransport::open(config(27_000)).unwrap();
    let receiver = UdpTransport::open(config(27_000)).unwrap();
    let to = receiver.locators();
    let mut outbox = Outbox::new();
    for number in 0..100_u8 {
        // Of changing length, so that each leaves as a datagram of its own.
        push(&mut outbox, &[number; 100][..usize::from(number) + 1], &[to.metatraffic_unicast[0]]);
    }
    push(&mut outbox, b"goodbye", &[to.metatraffic_multicast[0]]);
    assert_eq!(sender.send(&outbox, SendMode::Blocking).sent, 101);
    let (mut pool, mut batch) = (BufPool::new(1 << 20), vec![]);
    while batch.len() < 101 {
        receiver.recv(Channel::Meta, RecvMode::Blocking, &mut pool, &mut batch).unwrap();
    }
    assert_eq!(&*batch[100].0, b"goodbye");
    assert!(batch[..100].iter().enumerate().all(|(number, (bytes, _))| bytes.len() == number + 1));
}

/// Sends one datagram and a run of them, and gives the traffic class octet of what arrives.
fn traffic_classes(
    config: UdpConfig,
    address: &str,
    kind: fn(std::net::IpAddr, u16) -> Locator,
) -> Vec<Option<u8>> {
    let sender = UdpTransport::open(config).unwrap();
    let socket = std::net::UdpSocket::bind((address, 0)).unwrap();
    socket.set_read_timeout(Some(std::time::Duration::from_secs(10))).unwrap();
    crate::sys::report_class(&socket).unwrap();
    let to = socket.local_addr().unwrap();
    let to = kind(to.ip(), to.port());
    for (count, class) in [(1, 46), (5, 10), (1, 0)] {
        let mut outbox = Outbox::new();
        for number in 0..count {
            outbox.begin();
            outbox.set_class(class);
            outbox.put(&pattern(number, 500));
            outbox.finish(&[to]);
        }
        assert_eq!(sender.send(&outbox, SendMode::Blocking).sent, count as usize);
    }
    (0..7).map(|_| crate::sys::receive_class(&socket).unwrap()).collect()
}

#[test]
#[cfg_attr(target_arch = "arm", ignore = "user-mode emulation drops the ancillary data that counts")]
fn datagrams_are_marked_with_their_class() {
    let expected = [46, 10, 10, 10, 10, 10, 0].map(|class: u8| Some(class << 2));
    let v4 = |ip, port| match ip {
        std::net::IpAddr::V4(ip) => Locator::udp_v4(ip, port),
        std::net::IpAddr::V6(_) => panic!("bound to IPv4"),
    };
    assert_eq!(traffic_classes(config(29_500), "127.0.0.1", v4), expected);
}

#[test]
#[cfg_attr(target_arch = "arm", ignore = "user-mode emulation drops the ancillary data that counts")]
fn datagrams_of_ipv6_are_marked_with_their_class() {
    if std::net::UdpSocket::bind("[::1]:0").is_err() {
        let remedy = "sudo sysctl net.ipv6.conf.all.disable_ipv6=0";
        return dunlin_notes::skipped("this host has no IPv6", remedy);
    }
    let expected = [46, 10, 10, 10, 10, 10, 0].map(|class: u8| Some(class << 2));
    let v6 = |ip, port| match ip {
        std::net::IpAddr::V6(ip) => Locator::udp_v6(ip, port),
        std::net::IpAddr::V4(_) => panic!("bound to IPv6"),
    };
    assert_eq!(traffic_classes(UdpConfig { ipv6: true, ..config(29_750) }, "::1", v6), expected);
}

#[test]
fn a_broadcast_address_announced_by_others_is_never_sent_to() {
    let place = Ipv4Addr::new(127, 255, 255, 255);
    let broadcast = UdpConfig {
        interfaces: vec!["lo".into()],
        multicast: MulticastUse::Off,
        broadcast: vec![place],
        broadcast_data: true,
        ..config(26_750)
    };
    let transport: Arc<dyn Transport> = Arc::new(UdpTransport::open(broadcast.clone()).unwrap());
    let [group] = transport.locators().default_multicast[..] else { panic!("the group is announced") };
    assert_eq!((group, transport.announce_to().len()), (Locator::udp_v4(broadcast.group_v4, 26_751), 1));
    let listener = Listener::start(&transport, Channel::DataMulticast);
    // A burst has to go one by one, and each only once.
    assert_eq!(transport.send(&burst(20, 1_000, group), SendMode::Blocking).sent, 20);
    let arrived = listener.take(20);
    assert!(arrived.iter().enumerate().all(|(number, bytes)| **bytes == *pattern(number as u64, 1_000)));
    // The address itself, as a locator of others.
    let named = transport.send(&burst(1, 100, Locator::udp_v4(place, 26_751)), SendMode::Blocking);
    assert_eq!((named.sent, named.failed), (0, 1));
    let stats = transport.stats();
    assert_eq!((stats.received_datagrams, stats.sent_datagrams), (20, 20));
    for (wrong, why) in [
        (UdpConfig { multicast: MulticastUse::On, ..broadcast.clone() }, "multicast is on"),
        (UdpConfig { broadcast: vec![Ipv4Addr::UNSPECIFIED], ..broadcast.clone() }, "no broadcast address"),
        (UdpConfig { broadcast: vec![place; 5], ..broadcast.clone() }, "4 at most"),
    ] {
        let refused = UdpTransport::open(wrong).err().unwrap().to_string();
        assert!(refused.contains(why), "{refused}");
    }
}

/// Whoever takes what comes from other ports for somebody else's would not hear this one.
#[test]
fn datagrams_leave_from_the_announced_source_ports() {
    let sender = UdpTransport::open(config(28_000)).unwrap();
    let receiver: Arc<dyn Transport> = Arc::new(UdpTransport::open(config(28_000)).unwrap());
    let listener = Listener::start(&receiver, Channel::Data);
    let to = receiver.locators().default_unicast[0];
    assert_eq!(sender.send(&single(&[1; 10], &[to]), SendMode::Blocking).sent, 1);
    let ports: Vec<u32> = sender.source_ports().into_iter().map(u32::from).collect();
    assert_eq!(ports, [listener.next().1.port]);
}
