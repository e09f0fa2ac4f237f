//! Nodes whose participants live outside of the world: it gives them clock and network, and hands out what arrives.

use dunlin_core::{Locator, MonoTime, WallTime};

use crate::node::{Node, NodeConfig, NodeId};
use crate::traffic::Datagram;
use crate::world::{WALL_START, World};

impl World {
    /// Adds a node whose participants live outside. It has an address and a clock and listens nowhere yet; what it sends
    /// goes through [`inject`](Self::inject), and [`step_to`](Self::step_to) returns what arrives there.
    pub fn add_host(&mut self) -> NodeId {
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        let mut node = Node::new(NodeConfig::default());
        node.inbox = Some(Vec::new());
        self.nodes.push(node);
        id
    }

    /// What is sent to these locators reaches the node from now on.
    pub fn listen(&mut self, node: NodeId, locators: &[Locator]) {
        self.network.listen(node, locators);
    }

    /// Takes back [`listen`](Self::listen).
    pub fn stop_hearing(&mut self, node: NodeId, locators: &[Locator]) {
        self.network.unlisten(node, locators);
    }

    /// The monotonic clock, which all nodes share.
    #[must_use]
    pub fn clock(&self) -> MonoTime {
        self.now
    }

    /// What an exact wall clock shows.
    #[must_use]
    pub fn true_time(&self) -> WallTime {
        WallTime(WALL_START).plus(self.age())
    }

    /// When something happens next.
    #[must_use]
    pub fn next_event(&self) -> Option<MonoTime> {
        self.queue.next().map(|(at, _)| at)
    }

    /// Lets time pass, until the next event at most.
    pub fn advance_to(&mut self, time: MonoTime) {
        let next = self.next_event().unwrap_or(MonoTime::MAX);
        self.now = self.now.max(time.min(next));
    }

    /// Lets the next thing happen if it is not after `end`. Returns what arrives at a node of
    /// [`add_host`](Self::add_host) or at a bystander.
    pub fn step_to(&mut self, end: MonoTime) -> Option<(NodeId, Datagram)> {
        let node = self.queue.next().map(|(_, node)| node);
        let node = node.filter(|_| self.step(end))?;
        let arrived = self.node_mut(node).inbox.as_mut().and_then(Vec::pop)?;
        Some((node, arrived))
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use dunlin_core::Duration;

    use super::*;
    use crate::NetworkConfig;

    #[test]
    fn datagrams_to_an_external_host_leave_the_simulation_in_time() {
        let mut world = World::new(1, NetworkConfig::default());
        let (one, other) = (world.add_host(), world.add_host());
        let (from, to) = (Locator::udp_v4(one.address(), 7), Locator::udp_v4(other.address(), 7));
        let group = Locator::udp_v4(Ipv4Addr::new(239, 255, 0, 1), 7);
        world.inject(one, from, to, vec![1].into());
        assert_eq!(world.next_event(), None, "nobody listens yet");
        world.listen(other, &[to, group]);
        let begin = world.clock();
        world.inject(one, from, to, vec![2].into());
        world.inject(one, from, group, vec![3].into());
        let at = begin.plus(Duration::from_micros(50));
        assert_eq!(world.next_event(), Some(at));
        let early = begin.plus(Duration::from_micros(49));
        assert_eq!(world.step_to(early), None);
        assert_eq!(world.clock(), begin);
        world.advance_to(early);
        assert_eq!(world.clock(), early);
        world.advance_to(MonoTime::MAX);
        assert_eq!(world.clock(), at);
        for octet in [2, 3] {
            let (node, datagram) = world.step_to(MonoTime::MAX).unwrap();
            assert_eq!((node, &datagram.bytes[..], world.clock()), (other, &[octet][..], at));
        }
        world.stop_hearing(other, &[to]);
        world.inject(one, from, to, vec![4].into());
        assert_eq!(world.next_event(), None);
    }
}
