//! Values that do not make sense, alone or together.

use std::net::{IpAddr, Ipv4Addr};

use dunlin_core::{Duration, defaults};
use dunlin_driver::TCP_PEER;

use crate::bands::{LEAST_BURST, LEAST_RATE};
use crate::error::Problems;
use crate::value::{Architecture, Multicast, Size, Switch};
use crate::{Config, ConfigError};

/// Highest domain with all its ports below 65536, with the default constants.
const MAX_DOMAIN: u32 = 232;
const MAX_DATAGRAM: Size = Size(defaults::LARGEST_DATAGRAM as u64);
/// Smallest datagram that carries every announcement in few fragments.
const MIN_DATAGRAM: Size = Size(1_024);
const MIN_RING: Size = Size(256 << 10);
const MAX_RING: Size = Size(256 << 20);
const MAX_FRAGMENT: Size = Size(defaults::LONG_DATAGRAM as u64);
const MIN_FRAGMENT: Size = Size(64);

struct Checker<'c> {
    config: &'c Config,
    problems: Problems,
}

impl Checker<'_> {
    /// Notes a problem with `key` unless `fine`.
    fn that(&mut self, fine: bool, key: &str, text: &str) {
        if !fine {
            let value = self.config.get(key).unwrap_or_default();
            self.problems.add(self.config.origin(key), format!("{key} = {value}: {text}"));
        }
    }

    fn network(&mut self) {
        let network = &self.config.network;
        self.that(network.ipv4 || network.ipv6, "network.ipv6", "one of ipv4 and ipv6 must be true");
        for (key, group) in [
            ("network.multicast_group_v4", IpAddr::from(network.multicast_group_v4)),
            ("network.multicast_group_v6", network.multicast_group_v6.into()),
        ] {
            self.that(group.is_multicast(), key, "not a multicast address");
        }
        self.broadcast();
        if let Some(size) = network.max_message_size.value() {
            let fits = (MIN_DATAGRAM..=MAX_DATAGRAM).contains(&size);
            self.that(fits, "network.max_message_size", "must be from 1KiB to 65507B");
        }
        let poll = network.interface_poll;
        self.that(poll >= Duration::from_millis(100), "network.interface_poll", "must be at least 100ms");
    }

    fn broadcast(&mut self) {
        let (network, discovery) = (&self.config.network, &self.config.discovery);
        let named = !network.broadcast.is_empty();
        let wrong = network.broadcast.iter().find(|address| {
            let address = address.parse::<Ipv4Addr>();
            !address.is_ok_and(|address| !address.is_multicast() && !address.is_unspecified())
        });
        let text =
            wrong.map_or(String::new(), |address| format!("{address:?} is no broadcast address of IPv4"));
        self.that(wrong.is_none(), "network.broadcast", &text);
        self.that(network.broadcast.len() <= 4, "network.broadcast", "four addresses at most");
        let text = "broadcast is for networks without multicast: set network.multicast = \"off\"";
        self.that(!named || network.multicast == Multicast::Off, "network.broadcast", text);
        self.that(!named || network.ipv4, "network.broadcast", "needs network.ipv4");
        self.that(!named || network.udp, "network.broadcast", "needs network.udp");
        let groups = discovery.architecture != Architecture::Centralised && !discovery.server;
        let text = "servers tell participants of each other, and nothing is broadcast";
        self.that(!named || groups, "network.broadcast", text);
        let text = "needs addresses in network.broadcast";
        self.that(named || !network.broadcast_data, "network.broadcast_data", text);
    }

    fn tcp(&mut self) {
        let (tcp, tls) = (&self.config.tcp, &self.config.tls);
        let text = "without UDP there is no transport unless tcp.enabled is true";
        self.that(self.config.network.udp || tcp.enabled, "network.udp", text);
        self.that(!tls.enabled || tcp.enabled, "tls.enabled", "encrypts TCP alone, and tcp.enabled is false");
        self.that(
            (1..=65_536).contains(&tcp.max_connections),
            "tcp.max_connections",
            "must be from 1 to 65536",
        );
        if tls.enabled {
            for (key, path) in [
                ("tls.certificate", &tls.certificate),
                ("tls.key", &tls.key),
                ("tls.authorities", &tls.authorities),
            ] {
                self.that(!path.is_empty(), key, "must name a file, because tls.enabled is true");
            }
        }
        let over_tcp = |peer: &&String| peer.starts_with(TCP_PEER);
        if !tcp.enabled
            && let Some(peer) = self.config.discovery.peers.iter().find(over_tcp)
        {
            let text = format!("peer {peer:?} is reached over TCP, and tcp.enabled is false");
            self.problems.add(self.config.origin("discovery.peers"), text);
        }
    }

    fn discovery(&mut self) {
        let discovery = &self.config.discovery;
        let period = discovery.announcement_period;
        self.that(period > Duration::ZERO, "discovery.announcement_period", "must be longer than zero");
        let text = "must be 100ms or more: others do not believe a shorter one";
        self.that(discovery.lease_duration >= defaults::SHORTEST_LEASE, "discovery.lease_duration", text);
        let text = "must be shorter than discovery.lease_duration";
        self.that(period < discovery.lease_duration, "discovery.announcement_period", text);
        self.architecture();
        self.daemon();
        self.that(self.config.domain.id <= MAX_DOMAIN, "domain.id", "must be from 0 to 232");
        self.that(self.config.domain.tag.len() <= 256, "domain.tag", "has more than 256 bytes");
    }

    fn architecture(&mut self) {
        let discovery = &self.config.discovery;
        let centralised = discovery.architecture == Architecture::Centralised;
        let (servers, server) = (discovery.servers.len(), discovery.server);
        let text = "\"centralised\" needs discovery.servers";
        self.that(!centralised || server || servers > 0, "discovery.architecture", text);
        let text = "have no effect unless discovery.architecture is \"centralised\"";
        self.that(centralised || server || servers == 0, "discovery.servers", text);
        let text = "a server has no servers itself: participants announce themselves to all of them";
        self.that(!server || servers == 0, "discovery.servers", text);
        let text = "name them in discovery.servers, or leave discovery.architecture \"decentralised\"";
        self.that(!centralised || server || discovery.peers.is_empty(), "discovery.peers", text);
        self.that(!server || self.config.network.udp, "network.udp", "a discovery server needs UDP");
    }

    fn daemon(&mut self) {
        let (daemon, discovery) = (&self.config.daemon, &self.config.discovery);
        let federated = discovery.architecture == Architecture::Federated && !discovery.server;
        let text = "a discovery server is no daemon: run both beside each other";
        self.that(!(daemon.run && discovery.server), "daemon.run", text);
        if federated || daemon.run {
            self.that(self.config.network.udp, "network.udp", "a daemon is reached over UDP");
            let text = "a daemon passes on what comes over UDP alone";
            self.that(!self.config.tcp.enabled, "tcp.enabled", text);
        }
        let refused = daemon.applications.iter().find(|text| text.parse::<IpAddr>().is_err());
        if let Some(address) = refused {
            let text = format!("daemon.applications: {address:?} is no address");
            self.problems.add(self.config.origin("daemon.applications"), text);
        }
        self.that(daemon.max_applications > 0, "daemon.max_applications", "must be larger than zero");
        if let Switch::Value(rate) = daemon.application_rate {
            self.that(rate.0 >= 8_000, "daemon.application_rate", "must be at least 8kbit/s");
        }
        let fits = (Duration::ZERO..=Duration::from_millis(100)).contains(&daemon.bundle_delay);
        self.that(fits, "daemon.bundle_delay", "must be at most 100ms");
        self.shaping();
    }

    fn shaping(&mut self) {
        let daemon = &self.config.daemon;
        for (key, rate) in [
            ("daemon.network_rate", daemon.network_rate),
            ("daemon.destination_rate", daemon.destination_rate),
        ] {
            if let Switch::Value(rate) = rate {
                self.that(rate >= LEAST_RATE, key, "must be at least 64kbit/s");
            }
        }
        if let Some(burst) = daemon.burst.value() {
            self.that(burst >= LEAST_BURST, "daemon.burst", "must be at least 1500B: a datagram");
        }
        if let Some(wrong) = daemon.bands.problem() {
            self.problems.add(self.config.origin("daemon.bands"), format!("daemon.bands: {wrong}"));
        }
    }

    fn reliability(&mut self) {
        let reliability = &self.config.reliability;
        let period = reliability.heartbeat_period;
        self.that(period > Duration::ZERO, "reliability.heartbeat_period", "must be longer than zero");
        let text = "must not be shorter than reliability.heartbeat_period";
        self.that(reliability.heartbeat_max_period >= period, "reliability.heartbeat_max_period", text);
        if let Some(size) = reliability.fragment_size.value() {
            let fits = (MIN_FRAGMENT..=MAX_FRAGMENT).contains(&size);
            self.that(fits, "reliability.fragment_size", "must be from 64B to 65000B");
        }
        if let Switch::Value(rate) = reliability.pacing_rate {
            self.that(rate.0 >= 8_000, "reliability.pacing_rate", "must be at least 8kbit/s");
        }
        let patience = reliability.send_window_patience;
        self.that(patience > Duration::ZERO, "reliability.send_window_patience", "must be longer than zero");
        let burst = reliability.pacing_burst;
        self.that(burst > Size(0), "reliability.pacing_burst", "must be larger than zero");
    }

    fn receive(&mut self) {
        let receive = &self.config.receive;
        let fits = (Duration::ZERO..=Duration::from_millis(1)).contains(&receive.spin);
        self.that(fits, "receive.spin", "must be at most 1ms");
        if let Switch::Value(priority) = receive.priority {
            self.that((1..=99).contains(&priority), "receive.priority", "must be from 1 to 99");
        }
    }

    fn shared_memory(&mut self) {
        let memory = &self.config.shared_memory;
        let size = memory.ring_size;
        let fits = (MIN_RING..=MAX_RING).contains(&size) && size.0.is_power_of_two();
        self.that(fits, "shared_memory.ring_size", "must be a power of two from 256KiB to 256MiB");
        let directory = std::path::Path::new(&memory.directory);
        self.that(directory.is_absolute(), "shared_memory.directory", "must begin with /");
    }

    fn statistics(&mut self) {
        let fits =
            (Duration::from_millis(100)..=Duration::from_secs(3600)).contains(&self.config.statistics.period);
        self.that(fits, "statistics.period", "must be from 100ms to 1h");
    }

    fn fault(&mut self) {
        let fault = &self.config.fault;
        for (key, span) in [("fault.delay", fault.delay), ("fault.jitter", fault.jitter)] {
            self.that(span <= Duration::from_secs(60), key, "must be at most one minute");
        }
    }
}

impl Config {
    /// Checks what the types alone do not say.
    ///
    /// # Errors
    /// Every value that makes no sense, with its origin.
    pub fn check(&self) -> Result<(), ConfigError> {
        let mut checker = Checker { config: self, problems: Problems::default() };
        checker.network();
        checker.tcp();
        checker.discovery();
        checker.reliability();
        checker.receive();
        checker.shared_memory();
        checker.statistics();
        checker.fault();
        checker.problems.into_result()
    }
}
