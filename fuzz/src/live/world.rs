//! The network between two participants, and the accounts of what leaves it.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};

use dunlin_buf::SharedBytes;
use dunlin_core::{Duration, Locator, LocatorKind, MonoTime, Now, WallTime};
use dunlin_engine::{Event, Output, Participant};

use super::node::{Node, address, prefix};

/// Octets that may leave because of one call.
const MOST_SENT: usize = 96 * 1024;
/// Timers that one moment may have: more and it would never end.
const MOST_TIMERS: usize = 200;
/// Rounds until two participants must have found each other, or everything must have arrived.
const PATIENCE: usize = 2_000;
/// A stranger's address is sent at most so many times what strangers sent.
const MOST_PER_OCTET: u64 = 3;
/// Datagrams that are on the way at most.
const MAX_QUEUE: usize = 512;
/// Datagrams that passed lately.
const RECENT: usize = 8;

/// A datagram on its way to a node.
#[derive(Clone)]
pub(super) struct Packet {
    pub(super) to: usize,
    pub(super) from: Locator,
    pub(super) bytes: SharedBytes,
}

pub(super) struct World {
    pub(super) now: Now,
    pub(super) nodes: Vec<Node>,
    pub(super) queue: VecDeque<Packet>,
    pub(super) recent: VecDeque<Packet>,
    /// What each node was sent by others than its peer, and sent to other places than its peer's.
    strangers: Vec<(u64, u64)>,
    /// Which nodes have verified somebody besides their peer.
    befriended: Vec<bool>,
    /// Somebody spoke in the name of a node.
    pub(super) forged: bool,
    /// The two lost each other, or one left.
    parted: bool,
    /// Copies of what one node sends.
    pub(super) record: Option<(usize, Vec<SharedBytes>)>,
}

pub(super) fn place(address: Ipv4Addr) -> Locator {
    Locator::udp_v4(address, 7410)
}

impl World {
    /// So many participants, all but the first two without use for each other, which have found each other.
    pub(super) fn matched(nodes: usize, qos: u8) -> Self {
        Self::recorded(nodes, qos, None)
    }

    pub(super) fn recorded(nodes: usize, qos: u8, record: Option<usize>) -> Self {
        let now = Now { mono: MonoTime(1_000_000_000), wall: WallTime(1_700_000_000_000_000_000) };
        let peer = |node: usize| if node == 0 { 1 } else { 0 };
        let mut world = Self {
            now,
            nodes: (0..nodes).map(|node| Node::new(now, node, peer(node), qos)).collect(),
            queue: VecDeque::new(),
            recent: VecDeque::new(),
            strangers: vec![(0, 0); nodes],
            befriended: vec![false; nodes],
            forged: false,
            parted: false,
            record: record.map(|node| (node, Vec::new())),
        };
        for node in 0..nodes {
            world.send(node);
        }
        for _ in 0..PATIENCE {
            world.deliver(usize::MAX);
            let read = world.nodes.iter().all(|node| !node.reader.matched_writers().is_empty());
            if read && world.nodes.iter().take(2).all(|node| !node.writer.matched_readers().is_empty()) {
                return world;
            }
            world.pass_to_next();
        }
        panic!("the participants did not find each other");
    }

    /// Calls a participant and sends what it says.
    pub(super) fn with(&mut self, node: usize, call: impl FnOnce(&Participant, Now, &mut Output)) {
        let now = self.now;
        let Node { participant, out, .. } = &mut self.nodes[node];
        call(participant, now, out);
        self.send(node);
    }

    /// Sends what a node has said, and looks at it.
    pub(super) fn send(&mut self, node: usize) {
        let mut out = std::mem::take(&mut self.nodes[node].out);
        assert!(out.outbox.octets() <= MOST_SENT, "{} octets at once", out.outbox.octets());
        for datagram in out.outbox.datagrams() {
            assert!(datagram.len() <= 1472, "{} octets in a datagram", datagram.len());
            let mut bytes = Vec::with_capacity(datagram.len());
            datagram.copy_to(&mut bytes);
            let bytes = SharedBytes::from(bytes);
            if let Some((_, record)) = self.record.as_mut().filter(|(of, _)| *of == node) {
                record.push(bytes.clone());
            }
            for destination in datagram.destinations() {
                self.post(node, *destination, &bytes);
            }
        }
        let (writer, reader) = (self.nodes[node].writer.guid(), self.nodes[node].reader.guid());
        for event in &out.events {
            self.parted |= match event {
                Event::PublicationMatched { writer: id, remote, added: false, .. } => {
                    *id == writer.entity_id && remote.prefix == prefix(1 - node.min(1))
                }
                Event::SubscriptionMatched { reader: id, remote, added: false, .. } => {
                    *id == reader.entity_id && remote.prefix == prefix(1 - node.min(1))
                }
                _ => false,
            };
        }
        out.clear();
        self.nodes[node].out = out;
    }

    fn post(&mut self, node: usize, destination: Locator, bytes: &SharedBytes) {
        if destination.kind == LocatorKind::LOCAL {
            self.enqueue(Packet { to: node, from: Locator::LOCAL, bytes: bytes.clone() });
            return;
        }
        let ip = destination.ip();
        let group = ip.is_some_and(|ip| ip.is_multicast());
        let mut known = group;
        for to in (0..self.nodes.len()).filter(|to| *to != node) {
            if group || ip == Some(IpAddr::V4(address(to))) {
                known = true;
                self.enqueue(Packet { to, from: place(address(node)), bytes: bytes.clone() });
            }
        }
        if !known {
            self.strangers[node].1 += bytes.len() as u64;
        }
    }

    fn enqueue(&mut self, packet: Packet) {
        if self.queue.len() < MAX_QUEUE {
            self.queue.push_back(packet);
        } else {
            self.parted = true;
        }
    }

    /// Delivers so many datagrams of what is on the way now.
    pub(super) fn deliver(&mut self, datagrams: usize) {
        for _ in 0..datagrams.min(MAX_QUEUE) {
            let Some(packet) = self.queue.pop_front() else { return };
            self.receive(&packet);
            if self.recent.len() >= RECENT {
                self.recent.pop_front();
            }
            self.recent.push_back(packet);
        }
    }

    fn receive(&mut self, packet: &Packet) {
        self.with(packet.to, |participant, now, out| {
            participant.on_datagram(now, packet.from, &packet.bytes, out);
        });
    }

    /// Somebody else sends a datagram.
    pub(super) fn attack(&mut self, to: usize, from: Locator, bytes: &[u8]) {
        let peer = 1 - to;
        self.forged |= [to, peer].iter().any(|node| is_in(&prefix(*node).0, without_destinations(bytes)));
        self.strangers[to].0 += bytes.len() as u64;
        self.receive(&Packet { to, from, bytes: SharedBytes::copy_from(bytes) });
        self.check_answers(to);
    }

    /// Nobody gets much without having shown that he receives.
    fn check_answers(&mut self, node: usize) {
        let stats = self.nodes[node].participant.stats().discovery;
        // A friend who has said goodbye was one all the same.
        self.befriended[node] |= stats.participants - stats.participants_unverified > 1;
        let (heard, said) = self.strangers[node];
        let allowed = self.forged || self.befriended[node] || self.parted;
        assert!(allowed || said <= MOST_PER_OCTET * heard, "{said} octets for {heard}");
    }

    pub(super) fn pass(&mut self, time: Duration) {
        self.now.mono = self.now.mono.plus(time);
        self.now.wall = self.now.wall.plus(time);
        for node in 0..self.nodes.len() {
            self.timers(node);
        }
    }

    fn timers(&mut self, node: usize) {
        for _ in 0..MOST_TIMERS {
            if self.nodes[node].participant.next_deadline().is_none_or(|at| at > self.now.mono) {
                return;
            }
            self.with(node, |participant, now, out| participant.on_timer(now, out));
        }
        panic!("timers without end");
    }

    pub(super) fn pass_to_next(&mut self) {
        let next = self.nodes.iter().filter_map(|node| node.participant.next_deadline()).min();
        let time = next.map_or(Duration::from_millis(1), |at| at.since(self.now.mono));
        self.pass(time.max(Duration::from_nanos(1)));
    }

    pub(super) fn write(&mut self, node: usize, choice: u8) {
        let now = self.now;
        self.nodes[node].write(now, choice);
        self.send(node);
    }

    pub(super) fn end_instance(&mut self, node: usize, choice: u8) {
        let now = self.now;
        self.nodes[node].end_instance(now, choice);
        self.send(node);
    }

    pub(super) fn take(&mut self, node: usize) {
        // A reader that has forgotten a writer, which did not hear that the last sample had arrived, gets it again.
        let (now, honest) = (self.now, !self.forged && !self.parted);
        let writer = std::sync::Arc::clone(&self.nodes[1 - node].writer);
        self.nodes[node].take(now, &writer, honest);
        self.send(node);
    }

    pub(super) fn create_endpoint(&mut self, node: usize, choice: u8) {
        let now = self.now;
        self.nodes[node].create_endpoint(now, choice);
        self.send(node);
    }

    pub(super) fn delete_endpoint(&mut self, node: usize, choice: u8) {
        let now = self.now;
        self.nodes[node].delete_endpoint(now, choice);
        self.send(node);
    }

    pub(super) fn other_call(&mut self, node: usize, choice: u8) {
        let now = self.now;
        self.nodes[node].other_call(now, prefix(1 - node), choice);
        self.send(node);
    }

    pub(super) fn lose(&mut self) {
        self.queue.pop_front();
    }

    pub(super) fn duplicate(&mut self) {
        if let Some(first) = self.queue.front().cloned() {
            self.queue.push_front(first);
        }
    }

    pub(super) fn reorder(&mut self) {
        if let Some(first) = self.queue.pop_front() {
            self.queue.insert(self.queue.len().min(3), first);
        }
    }

    /// Whether the streams between the two need not be whole.
    pub(super) fn disturbed(&self) -> bool {
        self.forged || self.parted || self.nodes.iter().any(Node::is_shut_down)
    }

    /// What holds at any time.
    pub(super) fn check(&self) {
        for node in &self.nodes {
            let stats = node.participant.stats().discovery;
            assert!(stats.participants <= 6 && stats.participants_unverified <= 4, "{stats:?}");
            assert!(stats.endpoints <= 20 && stats.octets <= 32 * 1024, "{stats:?}");
        }
    }

    /// From here on nothing is lost any more: both streams arrive.
    pub(super) fn calm(&mut self) {
        for _ in 0..PATIENCE {
            self.deliver(usize::MAX);
            for node in 0..2 {
                self.take(node);
            }
            if self.queue.is_empty() && self.is_complete() {
                return;
            }
            self.pass_to_next();
            if self.disturbed() {
                return;
            }
        }
        let of = |node: &Node| (node.written, node.taken);
        panic!("written and taken: {:?}", self.nodes.iter().map(of).collect::<Vec<_>>());
    }

    fn is_complete(&self) -> bool {
        (0..2).all(|node| self.nodes[node].taken == self.nodes[1 - node].written)
    }
}

/// The submessages without the INFO_DST, where everybody names the victim.
fn without_destinations(bytes: &[u8]) -> Vec<u8> {
    const INFO_DST: u8 = 0x0e;
    let mut left = bytes.to_vec();
    for at in 0..bytes.len().saturating_sub(16) {
        if bytes[at] == INFO_DST && bytes[at + 1] <= 1 && bytes[at + 2..at + 4].contains(&12) {
            left[at + 4..at + 16].fill(0);
        }
    }
    left
}

fn is_in(what: &[u8], bytes: Vec<u8>) -> bool {
    bytes.windows(what.len()).any(|window| window == what)
}
