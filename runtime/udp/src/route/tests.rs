use super::*;

const BOUND: BoundPorts = BoundPorts { meta: 7412, data: 7413 };

fn interface(name: &str, index: u32, addresses: &[&str]) -> Interface {
    let loopback = name == "lo";
    Interface {
        name: name.into(),
        index,
        mtu: if loopback { 65_536 } else { 1_400 },
        up: true,
        loopback,
        multicast: !loopback && !name.starts_with("tun"),
        addresses: addresses.iter().map(|a| a.parse().unwrap()).collect(),
    }
}

fn host() -> Vec<Interface> {
    vec![
        interface("lo", 1, &["127.0.0.1", "::1"]),
        interface("eth0", 2, &["192.0.2.2", "fe80::2", "2001:db8::2"]),
        interface("tun0", 3, &["198.51.100.1"]),
    ]
}

fn texts(locators: &[Locator]) -> Vec<String> {
    locators.iter().map(ToString::to_string).collect()
}

fn indices(outlets: &[Outlet]) -> Vec<u32> {
    outlets.iter().map(|outlet| outlet.interface).collect()
}

#[test]
fn a_host_with_networks_announces_them_and_joins_loopback_too() {
    let routes = Routes::plan(&UdpConfig::default(), &host(), BOUND);
    let locators = &routes.locators;
    assert_eq!(texts(&locators.metatraffic_unicast), ["udp/192.0.2.2:7412", "udp/198.51.100.1:7412"]);
    assert_eq!(texts(&locators.default_unicast), ["udp/192.0.2.2:7413", "udp/198.51.100.1:7413"]);
    assert_eq!(texts(&locators.metatraffic_multicast), ["udp/239.255.0.1:7400"]);
    assert_eq!(texts(&locators.default_multicast), ["udp/239.255.0.1:7401"]);
    assert_eq!(indices(&routes.outlets_v4), [2]);
    assert!(routes.outlets_v6.is_empty());
    let joined: Vec<u32> = routes.members.iter().map(|member| member.interface).collect();
    assert_eq!(joined, [2, 1]);
    assert_eq!(routes.max_message_size, 1_400 - 28);
    assert_eq!(routes.announce_to, locators.metatraffic_multicast);
}

#[test]
fn within_the_host_datagrams_may_be_longer() {
    let to = |routes: &Routes, address: &str| routes.within_host(address.parse().unwrap()).unwrap_or(0);
    let routes = Routes::plan(&UdpConfig::default(), &host(), BOUND);
    for own in ["127.0.0.1", "127.0.0.9", "192.0.2.2", "198.51.100.1"] {
        assert_eq!(to(&routes, own), 65_507, "{own}");
    }
    for other in ["192.0.2.3", "203.0.113.1", "239.255.0.1"] {
        assert_eq!(to(&routes, other), 0, "{other}");
    }
    let mut jumbo = host();
    jumbo.iter_mut().for_each(|interface| interface.mtu = interface.mtu.max(9_000));
    let jumbo = Routes::plan(&UdpConfig::default(), &jumbo, BOUND);
    assert_eq!(to(&jumbo, "192.0.2.3"), 0, "the interface there may carry less");
    let alone = Routes::plan(&UdpConfig::default(), &host()[..1], BOUND);
    assert_eq!(to(&alone, "192.0.2.3"), 0, "no way is known");
    assert_eq!(to(&alone, "239.255.0.1"), 65_507, "the group is reached through the loopback interface");
}

#[test]
fn a_host_alone_uses_loopback() {
    let routes = Routes::plan(&UdpConfig::default(), &host()[..1], BOUND);
    assert_eq!(texts(&routes.locators.default_unicast), ["udp/127.0.0.1:7413"]);
    assert_eq!(routes.outlets_v4, [Outlet { interface: 1, source: Ipv4Addr::LOCALHOST.into() }]);
    assert_eq!(routes.members, [Member { family: Family::V4, interface: 1 }]);
    assert_eq!(routes.max_message_size, 65_507);
}

#[test]
fn a_host_without_any_interface_still_announces_something() {
    let routes = Routes::plan(&UdpConfig::default(), &[], BOUND);
    assert_eq!(texts(&routes.locators.metatraffic_unicast), ["udp/127.0.0.1:7412"]);
    assert!(routes.outlets_v4.is_empty());
    assert_eq!(texts(&routes.announce_to), ["udp/239.255.0.1:7400"], "for the day one comes up");
}

#[test]
fn an_interface_without_multicast_falls_back_to_loopback_for_it() {
    let config = UdpConfig { interfaces: vec!["tun0".into(), "eth7".into()], ..UdpConfig::default() };
    let routes = Routes::plan(&config, &host(), BOUND);
    assert_eq!(texts(&routes.locators.default_unicast), ["udp/198.51.100.1:7413"]);
    assert_eq!(indices(&routes.outlets_v4), [1]);
    assert_eq!(routes.unmatched, ["eth7"]);
}

#[test]
fn multicast_setting_limits_announced_groups_and_outlets() {
    let config = UdpConfig { multicast: MulticastUse::SpdpOnly, ..UdpConfig::default() };
    let routes = Routes::plan(&config, &host(), BOUND);
    assert_eq!(routes.locators.metatraffic_multicast.len(), 1);
    assert!(routes.locators.default_multicast.is_empty());
    assert_eq!(indices(&routes.outlets_v4), [2]);

    let config = UdpConfig { multicast: MulticastUse::Off, ..UdpConfig::default() };
    let routes = Routes::plan(&config, &host(), BOUND);
    assert!(routes.locators.metatraffic_multicast.is_empty());
    assert_eq!(indices(&routes.outlets_v4), [1], "only on this host");
    assert_eq!(routes.members, [Member { family: Family::V4, interface: 1 }]);
    assert_eq!(texts(&routes.announce_to), ["udp/239.255.0.1:7400"]);
}

#[test]
fn ipv6_is_announced_with_addresses_that_travel_and_sent_from_the_link() {
    let config = UdpConfig { ipv6: true, ..UdpConfig::default() };
    let routes = Routes::plan(&config, &host(), BOUND);
    let expected = ["udp/192.0.2.2:7413", "udp/198.51.100.1:7413", "udp/[2001:db8::2]:7413"];
    assert_eq!(texts(&routes.locators.default_unicast), expected);
    assert_eq!(routes.outlets_v6, [Outlet { interface: 2, source: "fe80::2".parse().unwrap() }]);
    assert_eq!(routes.max_message_size, 1_400 - 48);
    assert_eq!(routes.announce_to.len(), 2);
}

#[test]
fn ipv6_on_loopback_alone_asks_the_well_known_ports() {
    let config = UdpConfig { ipv4: false, ipv6: true, ..UdpConfig::default() };
    let routes = Routes::plan(&config, &host()[..1], BOUND);
    assert_eq!(texts(&routes.locators.default_unicast), ["udp/[::1]:7413"]);
    assert_eq!(routes.announce_to.len(), 21);
    assert_eq!(texts(&routes.announce_to[1..3]), ["udp/[::1]:7410", "udp/[::1]:7412"]);
}

#[test]
fn announcements_stay_small_on_a_host_with_many_addresses() {
    let many: Vec<Interface> =
        (0..200).map(|n| interface(&format!("eth{n}"), n, &[&format!("10.0.{n}.1")])).collect();
    let routes = Routes::plan(&UdpConfig::default(), &many, BOUND);
    assert_eq!(routes.locators.default_unicast.len(), MAX_ADDRESSES);
}
