//! Nodes of the centralised and the federated architecture are made as the programs of `services/hub` and `discovery.architecture`
//! make them (`api/config/src/driver.rs`).

use std::net::Ipv4Addr;

use dunlin_core::{Duration, Locator, defaults, domain_ports};
use dunlin_engine::{
    DiscoveryRole, Locators, ROLE_APPLICATION, ROLE_DAEMON, ROLE_PROPERTY, ROLE_SERVER, RelayConfig, Shaping,
};
use dunlin_sim::NodeConfig;

use super::{Run, router};
use crate::scenario::{Ms, Part, Scenario};

/// Daemons receive at the ports of this participant of a host.
const DAEMON_INDEX: u32 = defaults::MAX_PARTICIPANT_INDEX;
/// A server introduces two that know each other already again after so long at most (docs/architectures.md).
const INTRODUCED_AGAIN: Ms = 30_000;

/// How long two that have lost each other may have to wait for a server to introduce them again: no longer than since the last time.
pub(super) fn until_introduced_again(scenario: &Scenario) -> Ms {
    let centralised = scenario.nodes.iter().any(|node| node.part == Part::Client);
    let longest = scenario.nodes.iter().map(|node| node.period).max().unwrap_or(0);
    if centralised { INTRODUCED_AGAIN.min(scenario.lasts) + longest } else { 0 }
}

fn address(number: u32) -> Ipv4Addr {
    let [_, a, b, c] = number.to_be_bytes();
    Ipv4Addr::new(10, a, b, c)
}

impl Run<'_> {
    /// Where a node is to be found at first; `None` if it does not take part, or is reached through its daemon alone.
    pub(super) fn place(&self, index: usize, addresses: &[Option<u32>]) -> Option<Locator> {
        let plan = &self.scenario.nodes[index];
        let participant = match plan.part {
            Part::Application(_) => return None,
            Part::Daemon(_) => DAEMON_INDEX,
            _ => 0,
        };
        let [_, port, _, _] = domain_ports(0, participant).expect("domain 0 has ports");
        let inside = Locator::udp_v4(address(addresses[index]?), port);
        Some(if plan.nat { router(index, 0).outside(inside) } else { inside })
    }

    fn places_of(&self, addresses: &[Option<u32>], part: impl Fn(Part) -> bool) -> Vec<Locator> {
        let those = (0..addresses.len()).filter(|index| part(self.scenario.nodes[*index].part));
        those.filter_map(|index| self.place(index, addresses)).collect()
    }

    /// Makes a node what it is in its architecture.
    pub(super) fn take_part(&self, index: usize, addresses: &[Option<u32>], config: &mut NodeConfig) {
        let part = self.scenario.nodes[index].part;
        let role = match part {
            Part::Equal => return,
            Part::Server => ROLE_SERVER,
            Part::Client => "",
            Part::Daemon(_) => ROLE_DAEMON,
            Part::Application(_) => ROLE_APPLICATION,
        };
        let participant = &mut config.participant;
        if !role.is_empty() {
            participant.qos.property.values.push((ROLE_PROPERTY.to_owned(), role.to_owned()));
        }
        match part {
            Part::Equal => {}
            Part::Server => participant.role = DiscoveryRole::Server,
            Part::Client => {
                participant.initial_peers = self.places_of(addresses, |part| part == Part::Server);
            }
            Part::Daemon(bundle_us) => {
                participant.role = DiscoveryRole::Daemon(self.relay(index, addresses, bundle_us));
                participant.locators = self.locators_of_daemon(index, addresses, config.multicast);
            }
            Part::Application(daemon) => {
                let daemon: Vec<Locator> = self.place(daemon, addresses).into_iter().collect();
                participant.initial_peers.clone_from(&daemon);
                participant.role = DiscoveryRole::Application(daemon);
            }
        }
        config.multicast &= matches!(part, Part::Daemon(_));
    }

    fn relay(&self, daemon: usize, addresses: &[Option<u32>], bundle_us: u64) -> RelayConfig {
        let own = |index: &usize| self.scenario.nodes[*index].part == Part::Application(daemon);
        let own = (0..addresses.len()).filter(own).filter_map(|index| addresses[index]);
        RelayConfig {
            addresses: own.map(|number| address(number).into()).collect(),
            max_applications: addresses.len(),
            rate: None,
            bundle_delay: Duration::from_micros(bundle_us as i64),
            shaping: Shaping::default(),
        }
    }

    /// It is in the group of discovery alone.
    fn locators_of_daemon(&self, index: usize, addresses: &[Option<u32>], multicast: bool) -> Locators {
        let [_, meta, _, user] = domain_ports(0, DAEMON_INDEX).expect("domain 0 has ports");
        let place = |port| addresses[index].map(|number| Locator::udp_v4(address(number), port));
        let [group, _] = super::faults::groups();
        Locators {
            metatraffic_unicast: place(meta).into_iter().collect(),
            metatraffic_multicast: if multicast { vec![group] } else { Vec::new() },
            default_unicast: place(user).into_iter().collect(),
            default_multicast: Vec::new(),
        }
    }
}
