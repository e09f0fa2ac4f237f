//! From the schema to the settings of the driver.

use std::net::Ipv4Addr;
use std::time::Duration as StdDuration;

use dunlin_core::{DomainId, Duration, Locator, PortParameters, defaults};
use dunlin_driver::{
    DriverConfig, ReceiveConfig, Threads, daemon_locators, daemon_on_loopback, peer_locators, server_locators,
};
use dunlin_engine::{DiscoveryRole, Quotas, RelayConfig, Shaping, Tuning};
use dunlin_qos::DomainParticipantQos;
use dunlin_rtps::Pacing;
use dunlin_shm::ShmConfig;
use dunlin_tcp::{Listen, TcpConfig, TlsConfig};
use dunlin_transport::FaultConfig;
use dunlin_udp::{MulticastUse, UdpConfig};

use crate::bands::limit;
use crate::error::Problems;
use crate::value::{Access, Architecture, DirectWrite, Multicast, ParticipantIndex, Size, TcpPort, Waiting};
use crate::{Config, ConfigError};

/// An infinite duration becomes a very long one.
fn std_duration(duration: Duration) -> StdDuration {
    duration.to_std().unwrap_or(StdDuration::from_secs(u64::from(u32::MAX)))
}

fn count(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl Config {
    /// The settings for a participant in `domain`. Names of peers are looked up now.
    ///
    /// # Errors
    /// As [`Config::check`], and for peers that are not known.
    pub fn driver_config(
        &self,
        domain: DomainId,
        qos: DomainParticipantQos,
        entity_name: &str,
    ) -> Result<DriverConfig, ConfigError> {
        self.check()?;
        let initial_peers = self.initial_peers(domain)?;
        let fault = self.fault_config();
        let role = match () {
            () if self.discovery.server => DiscoveryRole::Server,
            () if self.daemon.run => DiscoveryRole::Daemon(self.relay_config()),
            () if self.is_federated() => DiscoveryRole::Application(initial_peers.clone()),
            () => DiscoveryRole::Participant,
        };
        // What is sent to the daemon over loopback leaves it as it is.
        let size = self.network.max_message_size.value().map(Size::to_usize);
        let max_message_size = size.or(self.is_federated().then_some(defaults::MAX_MESSAGE_SIZE));
        Ok(DriverConfig {
            udp: self.udp_config(domain),
            use_udp: self.network.udp,
            tcp: self.tcp.enabled.then(|| self.tcp_config(domain)),
            shared_memory: self.shared_memory_config(),
            in_process: self.shared_memory.in_process,
            pcap: Some(&self.debug.pcap).filter(|path| !path.is_empty()).map(Into::into),
            pcap_max_octets: self.debug.pcap_limit.0,
            fault: fault.is_active().then_some(fault),
            interface_poll: std_duration(self.network.interface_poll),
            receive: self.receive_config(),
            threads: Threads::default(),
            domain_tag: self.domain.tag.clone(),
            initial_peers,
            qos,
            lease_duration: self.discovery.lease_duration,
            announcement_period: self.discovery.announcement_period,
            max_message_size,
            tuning: self.tuning(),
            quotas: self.quotas(),
            role,
            entity_name: entity_name.into(),
        })
    }

    /// Single places to announce to, whether or not somebody is there.
    fn initial_peers(&self, domain: DomainId) -> Result<Vec<Locator>, ConfigError> {
        let mut problems = Problems::default();
        let mut initial_peers = Vec::new();
        let ports = self.port_parameters();
        if self.is_federated() {
            let daemon = daemon_locators(&self.daemon.address, domain, &ports);
            return daemon.map_err(|error| Problems::of(self.origin("daemon.address"), error.to_string()));
        }
        for peer in &self.discovery.peers {
            match peer_locators(peer, domain, &ports) {
                Ok(locators) => initial_peers.extend(locators),
                Err(error) => problems.add(self.origin("discovery.peers"), error.to_string()),
            }
        }
        for server in &self.discovery.servers {
            match server_locators(server, domain) {
                Ok(locators) => initial_peers.extend(locators),
                Err(error) => problems.add(self.origin("discovery.servers"), error.to_string()),
            }
        }
        problems.into_result()?;
        Ok(initial_peers)
    }

    /// Whether a daemon speaks for this participant.
    fn is_federated(&self) -> bool {
        self.discovery.architecture == Architecture::Federated && !self.daemon.run && !self.discovery.server
    }

    fn relay_config(&self) -> RelayConfig {
        let daemon = &self.daemon;
        RelayConfig {
            addresses: daemon.applications.iter().filter_map(|address| address.parse().ok()).collect(),
            max_applications: count(daemon.max_applications),
            rate: daemon.application_rate.value().map(|rate| rate.0 / 8),
            bundle_delay: daemon.bundle_delay,
            shaping: Shaping {
                bands: daemon.bands.0.iter().map(|band| band.settled(daemon.burst)).collect(),
                all: daemon.network_rate.value().map(|rate| limit(rate, daemon.burst)),
                destination: daemon.destination_rate.value().map(|rate| limit(rate, daemon.burst)),
            },
        }
    }

    /// Whether nothing is sent to groups, and nothing received from them.
    fn without_groups(&self) -> bool {
        self.discovery.server
            || self.is_federated()
            || self.discovery.architecture == Architecture::Centralised
    }

    /// The constants of the well-known ports.
    #[must_use]
    pub fn port_parameters(&self) -> PortParameters {
        let ports = &self.ports;
        PortParameters {
            base: ports.base,
            domain_gain: ports.domain_gain,
            participant_gain: ports.participant_gain,
            d0: ports.d0,
            d1: ports.d1,
            d2: ports.d2,
            d3: ports.d3,
        }
    }

    fn udp_config(&self, domain: DomainId) -> UdpConfig {
        let network = &self.network;
        UdpConfig {
            domain,
            ports: self.port_parameters(),
            participant_index: match network.participant_index {
                // Nobody looks for it but the daemon, to which it says where it is.
                _ if self.is_federated() => dunlin_udp::ParticipantIndex::Ephemeral,
                ParticipantIndex::Auto => dunlin_udp::ParticipantIndex::Auto,
                ParticipantIndex::Ephemeral => dunlin_udp::ParticipantIndex::Ephemeral,
                ParticipantIndex::Fixed(index) => dunlin_udp::ParticipantIndex::Fixed(index),
            },
            interfaces: self.own_interface().map_or_else(|| network.interfaces.clone(), |own| vec![own]),
            ipv4: network.ipv4,
            ipv6: network.ipv6,
            multicast: match network.multicast {
                _ if self.without_groups() => MulticastUse::Never,
                Multicast::On => MulticastUse::On,
                Multicast::Spdp => MulticastUse::SpdpOnly,
                Multicast::Off => MulticastUse::Off,
            },
            group_v4: network.multicast_group_v4,
            group_v6: network.multicast_group_v6,
            multicast_ttl: network.multicast_ttl,
            broadcast: self.broadcast(),
            broadcast_data: network.broadcast_data && !self.daemon.run,
            receive_buffer: network.receive_buffer.value().map(Size::to_usize),
            send_buffer: network.send_buffer.value().map(Size::to_usize),
            segmentation_offload: network.segmentation_offload,
            receive_offload: network.receive_offload,
        }
    }

    /// Broadcast addresses, where anything goes to groups.
    fn broadcast(&self) -> Vec<Ipv4Addr> {
        let named = self.network.broadcast.iter().filter(|_| !self.without_groups());
        named.filter_map(|address| address.parse().ok()).collect()
    }

    /// The interface of loopback, by address, if the daemon is reached there.
    fn own_interface(&self) -> Option<String> {
        if !self.is_federated() || self.daemon.direct_write != DirectWrite::Never {
            return None;
        }
        daemon_on_loopback(&self.daemon.address).map(|ip| ip.to_string())
    }

    fn tcp_config(&self, domain: DomainId) -> TcpConfig {
        let (network, tcp) = (&self.network, &self.tcp);
        TcpConfig {
            domain,
            ports: self.port_parameters(),
            listen: match tcp.port {
                TcpPort::Auto => Listen::Auto,
                TcpPort::Off => Listen::Off,
                TcpPort::Fixed(port) => Listen::Port(port),
            },
            interfaces: network.interfaces.clone(),
            ipv4: network.ipv4,
            ipv6: network.ipv6,
            max_connections: count(tcp.max_connections),
            tls: self.tls.enabled.then(|| self.tls_config()),
        }
    }

    fn tls_config(&self) -> TlsConfig {
        let tls = &self.tls;
        let path = |text: &String| Some(text).filter(|text| !text.is_empty()).map(Into::into);
        TlsConfig {
            certificate: path(&tls.certificate),
            key: path(&tls.key),
            authorities: path(&tls.authorities),
            server_name: Some(&tls.server_name).filter(|name| !name.is_empty()).cloned(),
            client_certificates: tls.client_certificates,
        }
    }

    fn shared_memory_config(&self) -> ShmConfig {
        let memory = &self.shared_memory;
        ShmConfig {
            enabled: memory.enabled,
            directory: memory.directory.clone().into(),
            ring_size: u32::try_from(memory.ring_size.0).unwrap_or(u32::MAX),
            access: match memory.access {
                Access::User => dunlin_shm::Access::User,
                Access::Group => dunlin_shm::Access::Group,
                Access::Everyone => dunlin_shm::Access::Everyone,
            },
            sigbus_handler: memory.sigbus_handler,
        }
    }

    fn receive_config(&self) -> ReceiveConfig {
        let receive = &self.receive;
        ReceiveConfig {
            waiting: match receive.waiting {
                Waiting::Adaptive => dunlin_driver::Waiting::Adaptive,
                Waiting::Blocking => dunlin_driver::Waiting::Blocking,
                Waiting::Polling => dunlin_driver::Waiting::Polling,
            },
            spin: std_duration(receive.spin),
            cpu: receive.cpu.value().map(count),
            priority: receive.priority.value().map(|priority| u8::try_from(priority).unwrap_or(u8::MAX)),
        }
    }

    fn tuning(&self) -> Tuning {
        let reliability = &self.reliability;
        let pacing = |rate: crate::Rate| Pacing { rate: rate.0 / 8, burst: reliability.pacing_burst.0 };
        let fragment = reliability.fragment_size.value().unwrap_or_default();
        Tuning {
            heartbeat_period: reliability.heartbeat_period,
            heartbeat_max_period: reliability.heartbeat_max_period,
            heartbeat_response_delay: reliability.heartbeat_response_delay,
            nack_response_delay: reliability.nack_response_delay,
            nack_suppression: reliability.nack_suppression,
            repair_budget_per_event: reliability.repair_budget.to_usize(),
            fragment_size: u16::try_from(fragment.0).unwrap_or(u16::MAX),
            burst_delay: self.batching.burst_delay,
            batch_octets: self.batching.max_size.to_usize(),
            pacing: reliability.pacing_rate.value().map(pacing),
            window: reliability.send_window.to_usize(),
            window_limit: reliability.send_window_limit.to_usize(),
            window_patience: reliability.send_window_patience,
            inactive_after: reliability.inactive_after,
            inactive_backlog: count(reliability.inactive_backlog),
            high_water: reliability.high_water.to_usize(),
            max_reassembly_bytes_per_writer: reliability.max_reassembly_per_writer.to_usize(),
            max_reassembly_bytes: reliability.max_reassembly.to_usize(),
            max_out_of_order_bytes: reliability.max_out_of_order.to_usize(),
            max_out_of_order_bytes_total: reliability.max_out_of_order_total.to_usize(),
            max_out_of_order_samples: count(reliability.max_out_of_order_samples),
            timestamp_tolerance: self.quotas.timestamp_tolerance,
            max_instances: count(self.quotas.max_instances),
            max_samples_octets: self.quotas.max_samples_octets.to_usize(),
            filter_at_writer: self.filters.at_writer,
        }
    }

    fn quotas(&self) -> Quotas {
        let quotas = &self.quotas;
        Quotas {
            max_participants: count(quotas.max_participants),
            max_unverified: count(quotas.max_unverified),
            max_unverified_per_source: count(quotas.max_unverified_per_source),
            max_endpoints: count(quotas.max_endpoints),
            max_octets: quotas.max_octets.to_usize(),
            max_type_octets: quotas.max_type.to_usize(),
            max_told_type_octets: quotas.max_told_type.to_usize(),
            max_type_object_octets: quotas.max_type_objects.to_usize(),
            max_type_object_octets_per_participant: quotas.max_type_objects_per_participant.to_usize(),
            foreign_locators: quotas.foreign_locators,
            verify_places: quotas.verify_places,
            max_endpoints_per_participant: count(quotas.max_endpoints_per_participant),
            max_octets_per_participant: quotas.max_octets_per_participant.to_usize(),
            max_opaque_octets: quotas.max_opaque.to_usize(),
            max_string_octets: quotas.max_string.to_usize(),
            max_partitions: count(quotas.max_partitions),
            max_reassembly_octets_per_participant: quotas.max_reassembly_per_participant.to_usize(),
            max_reassembly_octets: quotas.max_reassembly.to_usize(),
            max_out_of_order_octets_per_participant: quotas.max_out_of_order_per_participant.to_usize(),
            max_out_of_order_octets: quotas.max_out_of_order.to_usize(),
            max_locators: count(quotas.max_locators),
            max_properties: count(quotas.max_properties),
        }
    }

    fn fault_config(&self) -> FaultConfig {
        let fault = &self.fault;
        FaultConfig {
            seed: fault.seed,
            loss_ppm: fault.loss.0,
            duplicate_ppm: fault.duplicate.0,
            reorder_ppm: fault.reorder.0,
            delay: std_duration(fault.delay),
            jitter: std_duration(fault.jitter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(config: &Config) -> DriverConfig {
        config.driver_config(7, DomainParticipantQos::default(), "name").unwrap()
    }

    #[test]
    fn the_defaults_are_those_of_the_layers_below() {
        let config = made(&Config::default());
        let mut expected = DriverConfig { entity_name: "name".into(), ..DriverConfig::default() };
        expected.udp.domain = 7;
        assert_eq!(format!("{config:?}"), format!("{expected:?}"));
    }

    #[test]
    fn every_key_has_an_effect() {
        let values = [
            ("domain.tag", "x"),
            ("discovery.peers", "192.0.2.1"),
            ("discovery.servers", "192.0.2.1:7"),
            ("discovery.server", "true"),
            ("daemon.address", "192.0.2.1"),
            ("daemon.run", "true"),
            ("daemon.direct_write", "asked"),
            ("daemon.applications", "192.0.2.1"),
            ("daemon.max_applications", "7"),
            ("daemon.application_rate", "7Mbit/s"),
            ("daemon.bundle_delay", "7ms"),
            ("daemon.network_rate", "7Mbit/s"),
            ("daemon.destination_rate", "7Mbit/s"),
            ("daemon.burst", "7KiB"),
            ("daemon.bands", "7 dscp=8"),
            ("discovery.announcement_period", "1s"),
            ("discovery.lease_duration", "77s"),
            ("network.interfaces", "eth0"),
            ("network.ipv4", "false"),
            ("network.ipv6", "true"),
            ("network.multicast", "spdp"),
            ("network.multicast_group_v4", "239.1.1.1"),
            ("network.multicast_group_v6", "ff02::77"),
            ("network.multicast_ttl", "7"),
            ("network.broadcast", "192.0.2.255"),
            ("network.broadcast_data", "true"),
            ("network.participant_index", "7"),
            ("network.receive_buffer", "1MiB"),
            ("network.send_buffer", "1MiB"),
            ("network.max_message_size", "8KiB"),
            ("network.segmentation_offload", "false"),
            ("network.receive_offload", "false"),
            ("network.interface_poll", "7s"),
            ("network.udp", "false"),
            ("tcp.enabled", "true"),
            ("tcp.port", "off"),
            ("tcp.max_connections", "7"),
            ("tls.enabled", "true"),
            ("tls.certificate", "/x.pem"),
            ("tls.key", "/x.key"),
            ("tls.authorities", "/x.pem"),
            ("tls.server_name", "x"),
            ("tls.client_certificates", "true"),
            ("shared_memory.enabled", "false"),
            ("shared_memory.directory", "/dev/shm/x"),
            ("shared_memory.ring_size", "8MiB"),
            ("shared_memory.access", "group"),
            ("shared_memory.sigbus_handler", "false"),
            ("shared_memory.in_process", "false"),
            ("receive.waiting", "polling"),
            ("receive.spin", "7us"),
            ("receive.cpu", "0"),
            ("receive.priority", "7"),
            ("ports.base", "7000"),
            ("ports.domain_gain", "200"),
            ("ports.participant_gain", "4"),
            ("ports.d0", "5"),
            ("ports.d1", "5"),
            ("ports.d2", "5"),
            ("ports.d3", "5"),
            ("reliability.heartbeat_period", "7ms"),
            ("reliability.heartbeat_max_period", "70s"),
            ("reliability.heartbeat_response_delay", "7ms"),
            ("reliability.nack_response_delay", "77ms"),
            ("reliability.nack_suppression", "77ms"),
            ("reliability.repair_budget", "7KiB"),
            ("reliability.fragment_size", "700B"),
            ("reliability.pacing_rate", "7Mbit/s"),
            ("reliability.send_window", "7KiB"),
            ("reliability.send_window_limit", "7MiB"),
            ("reliability.send_window_patience", "7ms"),
            ("reliability.inactive_after", "7s"),
            ("reliability.inactive_backlog", "7"),
            ("reliability.high_water", "7MiB"),
            ("reliability.max_reassembly", "7MiB"),
            ("reliability.max_reassembly_per_writer", "7MiB"),
            ("reliability.max_out_of_order", "7KiB"),
            ("reliability.max_out_of_order_total", "7KiB"),
            ("reliability.max_out_of_order_samples", "7"),
            ("batching.burst_delay", "7us"),
            ("batching.max_size", "7KiB"),
            ("filters.at_writer", "false"),
            ("quotas.timestamp_tolerance", "7s"),
            ("quotas.max_instances", "7"),
            ("quotas.max_samples_octets", "7KiB"),
            ("quotas.max_participants", "7"),
            ("quotas.max_unverified", "7"),
            ("quotas.max_unverified_per_source", "7"),
            ("quotas.max_endpoints", "7"),
            ("quotas.max_octets", "7KiB"),
            ("quotas.max_type", "7KiB"),
            ("quotas.max_told_type", "7KiB"),
            ("quotas.max_type_objects", "7KiB"),
            ("quotas.max_type_objects_per_participant", "7KiB"),
            ("quotas.foreign_locators", "true"),
            ("quotas.verify_places", "false"),
            ("quotas.max_endpoints_per_participant", "7"),
            ("quotas.max_octets_per_participant", "7KiB"),
            ("quotas.max_opaque", "7B"),
            ("quotas.max_string", "7B"),
            ("quotas.max_partitions", "7"),
            ("quotas.max_reassembly", "7KiB"),
            ("quotas.max_reassembly_per_participant", "7KiB"),
            ("quotas.max_out_of_order", "7KiB"),
            ("quotas.max_out_of_order_per_participant", "7KiB"),
            ("quotas.max_locators", "7"),
            ("quotas.max_properties", "7"),
            ("debug.pcap", "x.pcapng"),
            ("debug.pcap_limit", "7MiB"),
            ("fault.loss", "7%"),
            ("fault.duplicate", "7%"),
            ("fault.reorder", "7%"),
            ("fault.delay", "7ms"),
            ("fault.jitter", "7ms"),
        ];
        // These act only together with another, or on programs instead of the driver.
        let elsewhere = [
            "reliability.pacing_burst",
            "fault.seed",
            "domain.id",
            "logging.filter",
            "logging.standard_error",
            "durability.without_service",
            "types.announce",
            // See the tests of statistics in the simulator.
            "statistics.enabled",
            "statistics.period",
            "discovery.announce_process",
            "discovery.announce_process_in_full",
            // See the tests of servers and daemons in the simulator.
            "discovery.architecture",
            "daemon.absent",
            "discovery.interest",
        ];
        for key in crate::schema::KEYS.iter().map(crate::schema::Key::path) {
            let Some((_, value)) = values.iter().find(|(named, _)| *named == key) else {
                assert!(elsewhere.contains(&&*key), "{key} is not tested");
                continue;
            };
            let mut base = Config::default();
            if key == "discovery.servers" {
                base.discovery.architecture = crate::Architecture::Centralised;
                base.discovery.servers.push("192.0.2.2".into());
            }
            if ["daemon.address", "daemon.direct_write"].contains(&&*key) {
                base.discovery.architecture = crate::Architecture::Federated;
            }
            base.daemon.run = key.starts_with("daemon.")
                && !["daemon.address", "daemon.run", "daemon.direct_write"].contains(&&*key);
            if key == "daemon.burst" {
                base.set("daemon.network_rate", "9Mbit/s").unwrap();
            }
            base.network.ipv6 = key == "network.ipv4";
            if key.starts_with("network.broadcast") {
                base.network.multicast = Multicast::Off;
                base.network.broadcast = vec!["192.0.2.127".into()];
            }
            let of_tls = key.starts_with("tls.");
            base.tcp.enabled = of_tls || ["network.udp", "tcp.port", "tcp.max_connections"].contains(&&*key);
            if of_tls {
                base.tls.enabled = key != "tls.enabled";
                for file in ["tls.certificate", "tls.key", "tls.authorities"] {
                    base.set(file, "/file").unwrap();
                }
            }
            let before = format!("{:?}", made(&base));
            base.set(&key, value).unwrap();
            assert_ne!(format!("{:?}", made(&base)), before, "{key} changes nothing");
        }
    }

    #[test]
    fn keys_that_act_together_do() {
        let mut config = Config::default();
        config.set("reliability.pacing_rate", "8Mbit/s").unwrap();
        config.set("reliability.pacing_burst", "10kB").unwrap();
        assert_eq!(made(&config).tuning.pacing, Some(Pacing { rate: 1_000_000, burst: 10_000 }));
        config.set("fault.loss", "1%").unwrap();
        config.set("fault.seed", "9").unwrap();
        assert_eq!(made(&config).fault.map(|fault| (fault.seed, fault.loss_ppm)), Some((9, 10_000)));
    }

    #[test]
    fn a_centralised_participant_announces_itself_to_servers_alone() {
        let text =
            "[discovery]\narchitecture = \"centralised\"\nservers = [\"udp://192.0.2.1\", \"192.0.2.2:9\"]";
        let config = made(&Config::from_toml("a.toml", text).unwrap());
        let peers: Vec<String> = config.initial_peers.iter().map(ToString::to_string).collect();
        assert_eq!(peers, ["udp/192.0.2.1:11825", "udp/192.0.2.2:9"]);
        assert_eq!(config.udp.multicast, MulticastUse::Never);
    }

    #[test]
    fn a_federated_participant_speaks_to_its_daemon_alone() {
        let text = "[discovery]\narchitecture = \"federated\"\npeers = [\"192.0.2.1\"]\n\
            [network]\ninterfaces = [\"eth0\"]\n[daemon]\n";
        for (address, place, interface) in [
            ("", "udp/127.0.0.1:9398", "127.0.0.1"),
            ("127.0.0.1:99", "udp/127.0.0.1:99", "127.0.0.1"),
            ("[::1]:99", "udp/[::1]:99", "::1"),
            ("192.0.2.7:99", "udp/192.0.2.7:99", "eth0"),
        ] {
            let text = format!("{text}address = \"{address}\"");
            let config = made(&Config::from_toml("a.toml", &text).unwrap());
            assert_eq!(config.role, DiscoveryRole::Application(config.initial_peers.clone()));
            let peers: Vec<String> = config.initial_peers.iter().map(ToString::to_string).collect();
            assert_eq!((peers, &*config.udp.interfaces), (vec![place.into()], &[interface.to_owned()][..]));
            assert_eq!((config.udp.multicast, config.max_message_size), (MulticastUse::Never, Some(1_472)));
        }
        // The daemon itself takes the same file.
        let mut config = Config::from_toml("a.toml", text).unwrap();
        config.daemon.run = true;
        let config = made(&config);
        assert_eq!((&*config.udp.interfaces, config.initial_peers.len()), (&["eth0".to_owned()][..], 10));
    }

    #[test]
    fn an_unknown_peer_is_named_with_its_origin() {
        let config = Config::from_toml("a.toml", "[discovery]\n\npeers = [\"no such host\"]").unwrap();
        let error = config.driver_config(0, DomainParticipantQos::default(), "").unwrap_err();
        assert!(error.to_string().starts_with("a.toml:3: peer \"no such host\": "), "{error}");
    }
}
