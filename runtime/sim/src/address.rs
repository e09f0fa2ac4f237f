//! Where nodes can be reached: changes of address, routers that translate addresses, groups that fail.

use std::net::Ipv4Addr;

use dunlin_core::{Locator, LocatorKind};
use dunlin_engine::Locators;

use crate::node::NodeId;
use crate::world::World;

/// A router that translates the address of one node, each port to one of its own: what the node sends comes from outside
/// addresses, and what is sent to those reaches it. Its inside addresses and groups are out of reach for others, and no
/// group on the other side hears it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Nat {
    /// The address outside.
    pub address: Ipv4Addr,
    /// Added to each port, modulo 2^16.
    pub port_shift: u16,
}

impl Nat {
    /// How an inside locator is seen from outside.
    #[must_use]
    pub fn outside(self, inside: Locator) -> Locator {
        Locator::udp_v4(self.address, port(inside).wrapping_add(self.port_shift))
    }

    /// The same of everything that a participant announces: the groups are left out.
    #[must_use]
    pub fn announced(self, inside: &Locators) -> Locators {
        let seen = |list: &[Locator]| list.iter().map(|locator| self.outside(*locator)).collect();
        Locators {
            metatraffic_unicast: seen(&inside.metatraffic_unicast),
            metatraffic_multicast: Vec::new(),
            default_unicast: seen(&inside.default_unicast),
            default_multicast: Vec::new(),
        }
    }
}

fn port(locator: Locator) -> u16 {
    u16::try_from(locator.port).unwrap_or(0)
}

impl World {
    /// The locators that a node listens to.
    #[must_use]
    pub fn locators(&self, node: NodeId) -> &Locators {
        &self.node(node).config.participant.locators
    }

    /// The node has another address from now on, as when an interface changes: nobody reaches it at the old one.
    /// `told` says whether its participant learns of it, as from the system; it announces the new locators then. A
    /// later start of the node uses them in any case.
    pub fn change_address(&mut self, node: NodeId, address: Ipv4Addr, told: bool) {
        self.set_addresses(node, &[address], told);
    }

    /// The same for a node with several interfaces: these are the addresses it has from now on. It sends from the first.
    pub fn set_addresses(&mut self, node: NodeId, addresses: &[Ipv4Addr], told: bool) {
        self.stop_listening(node);
        let known = self.node_mut(node);
        let locators = &mut known.config.participant.locators;
        for list in [&mut locators.metatraffic_unicast, &mut locators.default_unicast] {
            let Some(port) = list.first().map(|locator| port(*locator)) else { continue };
            *list = addresses.iter().map(|address| Locator::udp_v4(*address, port)).collect();
        }
        self.start_listening(node);
        if told {
            self.announce_locators(node);
        }
    }

    /// Puts a node behind a router, or takes it away from there. `told` as for
    /// [`change_address`](Self::change_address); the participant then announces the outside locators.
    pub fn set_nat(&mut self, node: NodeId, nat: Option<Nat>, told: bool) {
        self.stop_listening(node);
        self.node_mut(node).nat = nat;
        self.start_listening(node);
        if told {
            self.announce_locators(node);
        }
    }

    /// What is sent to a group reaches nobody from now on, or does not reach one node.
    pub fn break_group(&mut self, group: Locator, receiver: Option<NodeId>) {
        self.network.break_group(group, receiver);
    }

    /// Takes back [`break_group`](Self::break_group) for the same group and receiver.
    pub fn mend_group(&mut self, group: Locator, receiver: Option<NodeId>) {
        self.network.mend_group(group, receiver);
    }

    /// How many datagrams to a group have not arrived so far because it had failed; one counts for each node that listens.
    #[must_use]
    pub fn group_failures(&self, group: Locator) -> u64 {
        self.network.failed(group)
    }

    /// Whether multicast passes between a node and the others, in both directions; unicast always does. It is where the node
    /// is, and no fault that ends with the others.
    pub fn set_multicast(&mut self, node: NodeId, passes: bool) {
        self.network.set_multicast(node, passes);
    }

    /// What others see of the locators of a node.
    fn reachable_at(&self, node: NodeId) -> Vec<Locator> {
        let known = self.node(node);
        let inside = known.listens_to();
        match known.nat {
            None => inside,
            Some(nat) => {
                let single = inside.iter().filter(|locator| !locator.is_multicast());
                single.map(|locator| nat.outside(*locator)).collect()
            }
        }
    }

    fn stop_listening(&mut self, node: NodeId) {
        let locators = self.reachable_at(node);
        self.network.unlisten(node, &locators);
    }

    pub(crate) fn start_listening(&mut self, node: NodeId) {
        let locators = self.reachable_at(node);
        self.network.listen(node, &locators);
        if let Some(host) = self.node(node).config.host {
            self.hosts.moved(host, node, &locators);
        }
    }

    fn announce_locators(&mut self, node: NodeId) {
        let known = self.node(node);
        if known.participant.is_none() || known.paused {
            return;
        }
        let inside = &known.config.participant.locators;
        let mut seen = known.nat.map_or_else(|| inside.clone(), |nat| nat.announced(inside));
        seen.default_unicast.extend(self.own_inbox(node));
        self.with(node, |participant, now, out| participant.set_locators(now, seen, out));
    }

    /// Whether a datagram from a node gets out to a locator: a router lets no group through.
    pub(crate) fn passes_router(&self, node: NodeId, to: &Locator) -> bool {
        self.node(node).nat.is_none() || !to.is_multicast() || to.kind == LocatorKind::LOCAL
    }
}
