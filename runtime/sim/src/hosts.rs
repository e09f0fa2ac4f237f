//! Nodes on one host: datagrams between them may be as long as UDP carries, and those that share memory have a second way
//! beside the network, through which nothing is lost, damaged or overtaken as long as it is there and has room.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dunlin_buf::SharedBytes;
use dunlin_core::{Duration, GuidPrefix, Locator, LocatorKind, Path, Paths, defaults, is_on_this_host};
use dunlin_engine::{Event, Participant};

use crate::node::{NodeId, prefix};
use crate::queue::SimEvent;
use crate::traffic::Datagram;
use crate::world::World;

/// Octets of the longest message through memory.
pub(crate) const LONGEST_MESSAGE: usize = 256 << 10;
/// Octets that a ring holds, of one sender to one receiver.
pub(crate) const RING: usize = 1 << 20;
/// Time from one process to the other.
const THROUGH_MEMORY: Duration = Duration::from_micros(5);
/// Who could not send through memory finds out so much later.
const FOUND_OUT: Duration = Duration::from_millis(1);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The addresses of the nodes of a host, as its participants see them.
#[derive(Debug, Default)]
pub(crate) struct Addresses(Mutex<BTreeMap<NodeId, Vec<IpAddr>>>);

/// The paths of a node on a host.
#[derive(Debug)]
pub(crate) struct PathsOfNode {
    pub(crate) addresses: Arc<Addresses>,
    /// It shares memory with others.
    pub(crate) memory: bool,
}

impl Paths for PathsOfNode {
    fn path(&self, to: &Locator) -> Path {
        if to.kind == LocatorKind::SHARED_MEMORY && self.memory {
            let (max_message, room) = (LONGEST_MESSAGE, RING / 2);
            return Path { kind: to.kind, max_message, room, same_host: true, in_frames: false };
        }
        let own = |ip: IpAddr| lock(&self.addresses.0).values().any(|addresses| addresses.contains(&ip));
        let same_host = to.ip().is_some_and(|ip| is_on_this_host(ip, own));
        let max_message = if same_host { defaults::LONG_DATAGRAM } else { 0 };
        let in_frames = !same_host && to.to_socket_addr().is_some_and(|to| !to.ip().is_multicast());
        Path { max_message, same_host, in_frames, ..Path::unknown(to.kind) }
    }
}

#[derive(Default)]
pub(crate) struct Hosts {
    addresses: BTreeMap<u32, Arc<Addresses>>,
    /// Where somebody receives, and who that is.
    inboxes: BTreeMap<Locator, (NodeId, GuidPrefix)>,
    /// Octets that a node has put there and that were not taken.
    under_way: BTreeMap<(NodeId, Locator), usize>,
    /// Which places nodes send to.
    attached: BTreeMap<(NodeId, GuidPrefix), Locator>,
    /// Which they found not to work: they do not try those again.
    refused: BTreeSet<(NodeId, Locator)>,
    /// What nodes put there does not arrive.
    cut: BTreeSet<(NodeId, Locator)>,
    /// Messages that took this way, and those that did not arrive because it had no room or was cut.
    sent: u64,
    lost: u64,
}

impl Hosts {
    pub(crate) fn addresses(&mut self, host: u32) -> Arc<Addresses> {
        Arc::clone(self.addresses.entry(host).or_default())
    }

    /// The addresses that a node has from now on.
    pub(crate) fn moved(&mut self, host: u32, node: NodeId, locators: &[Locator]) {
        let addresses = locators.iter().filter(|to| !to.is_multicast()).filter_map(Locator::ip).collect();
        lock(&self.addresses(host).0).insert(node, addresses);
    }
}

/// Where a node receives in one of its lives.
pub(crate) fn inbox(host: u32, node: NodeId, incarnation: u32) -> Locator {
    let [a, b, c, d] = host.to_be_bytes();
    let number = (u64::from(node.0) << 32) | u64::from(incarnation);
    Locator::shared_memory([b's', b'i', b'm', 0, a, b, c, d], number + 1)
}

impl World {
    /// Messages that were put into memory so far, and those that found no room or nobody there.
    #[must_use]
    pub fn through_memory(&self) -> (u64, u64) {
        (self.hosts.sent - self.hosts.lost, self.hosts.lost)
    }

    /// From now on nothing gets through memory from one node to another, until that starts again. The sender finds out when it tries,
    /// and uses the network from then on; it does not try that place again.
    pub fn cut_memory(&mut self, from: NodeId, to: NodeId) {
        self.hosts.cut.extend(self.own_inbox(to).map(|place| (from, place)));
    }

    /// A node has a new inbox, if it shares memory; the one of its last life is gone with what was in it.
    pub(crate) fn open_inbox(&mut self, node: NodeId) -> Option<Locator> {
        self.close_inbox(node);
        let known = self.node(node);
        let host = known.config.host.filter(|_| known.config.memory && known.nat.is_none())?;
        let (place, owner) = (inbox(host, node, known.incarnation), prefix(node, known.incarnation));
        for places in [&mut self.hosts.refused, &mut self.hosts.cut] {
            places.retain(|(_, known)| *known != place);
        }
        self.hosts.inboxes.insert(place, (node, owner));
        Some(place)
    }

    pub(crate) fn close_inbox(&mut self, node: NodeId) {
        let hosts = &mut self.hosts;
        hosts.inboxes.retain(|_, (owner, _)| *owner != node);
        let Hosts { inboxes, under_way, attached, refused, .. } = hosts;
        under_way.retain(|(_, place), _| inboxes.contains_key(place));
        attached.retain(|(from, _), _| *from != node);
        refused.retain(|(from, _)| *from != node);
    }

    /// Puts a message into an inbox.
    pub(crate) fn send_through_memory(&mut self, node: NodeId, to: Locator, bytes: SharedBytes) {
        let (now, hosts) = (self.now, &mut self.hosts);
        hosts.sent += 1;
        let receiver = hosts.inboxes.get(&to).copied();
        let Some((receiver, _)) = receiver.filter(|_| !hosts.cut.contains(&(node, to))) else {
            hosts.lost += 1;
            self.queue.push(now.plus(FOUND_OUT), SimEvent::NoMemory(node, to));
            return;
        };
        let under_way = hosts.under_way.entry((node, to)).or_default();
        if *under_way + bytes.len() > RING {
            hosts.lost += 1;
            return;
        }
        *under_way += bytes.len();
        let from = self.own_inbox(node).unwrap_or(to);
        let datagram = Datagram { at: now, sender: node, from, to, bytes };
        self.queue.push(now.plus(THROUGH_MEMORY), SimEvent::Arrival(receiver, Box::new(datagram)));
    }

    pub(crate) fn own_inbox(&self, node: NodeId) -> Option<Locator> {
        self.hosts.inboxes.iter().find(|(_, (owner, _))| *owner == node).map(|(place, _)| *place)
    }

    /// Takes a message out of an inbox; false if that is one of an earlier life.
    pub(crate) fn taken_from_memory(&mut self, datagram: &Datagram) -> bool {
        if datagram.to.kind != LocatorKind::SHARED_MEMORY {
            return true;
        }
        if let Some(under_way) = self.hosts.under_way.get_mut(&(datagram.sender, datagram.to)) {
            *under_way = under_way.saturating_sub(datagram.bytes.len());
        }
        self.hosts.inboxes.contains_key(&datagram.to)
    }

    /// Attaches who has come, and lets go of who is gone, as the driver does.
    pub(crate) fn follow_memory(&mut self, node: NodeId, events: &[Event]) {
        if !self.node(node).config.memory {
            return;
        }
        for event in events {
            match event {
                Event::ParticipantDiscovered(data) | Event::ParticipantUpdated(data) => {
                    self.queue.push(self.now, SimEvent::Attach(node, data.guid_prefix));
                }
                Event::ParticipantLost { prefix, .. } => _ = self.hosts.attached.remove(&(node, *prefix)),
                _ => {}
            }
        }
    }

    pub(crate) fn attach(&mut self, node: NodeId, peer: GuidPrefix) {
        let Some(participant) = self.node(node).participant.as_ref().filter(|_| !self.node(node).paused)
        else {
            return;
        };
        let place = participant.place_to_open(peer).filter(|place| {
            let own = self.own_inbox(node).and_then(|own| own.shared_memory_inbox());
            own.zip(place.shared_memory_inbox()).is_some_and(|((own, _), (other, _))| own == other)
                && self.hosts.inboxes.contains_key(place)
                && !self.hosts.refused.contains(&(node, *place))
        });
        let known = self.hosts.attached.get(&(node, peer)).copied();
        if place == known {
            return;
        }
        match place {
            Some(place) => self.hosts.attached.insert((node, peer), place),
            None => self.hosts.attached.remove(&(node, peer)),
        };
        self.with(node, |participant, now, out| participant.choose_path(now, peer, place, out));
    }

    /// A node has found out that it cannot send to a place.
    pub(crate) fn no_memory(&mut self, node: NodeId, place: Locator) {
        if self.node(node).participant.is_none() || self.node(node).paused {
            return;
        }
        let peers = self.hosts.attached.iter().filter(|((from, _), to)| *from == node && **to == place);
        let peers: Vec<GuidPrefix> = peers.map(|((_, peer), _)| *peer).collect();
        for peer in peers {
            self.hosts.attached.remove(&(node, peer));
            self.hosts.refused.insert((node, place));
            let leave = |participant: &Participant, now, out: &mut _| {
                participant.choose_path(now, peer, None, out);
            };
            self.with(node, leave);
        }
    }
}
