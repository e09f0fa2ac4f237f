//! Whom messages can be sent to, and by which connections.
//!
//! A peer is the address under which it is announced. A connection that this end has opened to that address, or that came
//! from its host, is preferred to one whose other end only says that it is reached there: behind a router that cannot be
//! checked, so the address itself is tried as well, and wins.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dunlin_core::{Locator, Rng};

use crate::link::Link;

/// Most peers.
const MAX_PEERS: usize = 1024;
/// Octets that wait for one peer without a connection; the oldest give way.
const HELD: usize = 256 << 10;
/// Octets that wait for all of them.
const ALL_HELD: usize = 16 << 20;
/// Most connections of one peer.
const LINKS: usize = 4;
/// A peer to which nothing was sent for so long is forgotten.
const UNUSED: Duration = Duration::from_secs(60);
/// First pause after a connection that failed; it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// Hosts of which is told why they cannot be reached.
const TROUBLES: usize = 8;
/// Most connections that are being opened at a time.
pub(crate) const MAX_DIALING: usize = 32;

/// A message that waits for a connection.
pub(crate) type Held = (u16, Vec<u8>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Dial {
    At(Instant),
    Busy,
}

struct Peer {
    links: Vec<Arc<Link>>,
    held: VecDeque<Held>,
    held_octets: usize,
    dial: Dial,
    failures: u32,
    /// When something was to be sent to it last.
    used: Option<Instant>,
    trouble: Option<String>,
}

impl Peer {
    fn new(now: Instant) -> Self {
        Self {
            links: Vec::new(),
            held: VecDeque::new(),
            held_octets: 0,
            dial: Dial::At(now),
            failures: 0,
            used: None,
            trouble: None,
        }
    }

    /// Whether something was to be sent to it of late. Where a stranger says that it is announced, nothing is sent, and no
    /// connection opened, before discovery wants it.
    fn is_used(&self, now: Instant) -> bool {
        self.used.is_some_and(|used| now.saturating_duration_since(used) < UNUSED)
    }

    /// When a connection to it is to be opened.
    fn wants_dial(&self, locator: &Locator, now: Instant) -> Option<Instant> {
        let sure = self.links.iter().any(|link| is_sure(link, locator));
        match self.dial {
            Dial::At(at) if !sure && self.is_used(now) => Some(at),
            _ => None,
        }
    }
}

impl Peer {
    /// Takes a connection among those that lead to it; false if there are too many.
    ///
    /// Those that lead there for certain come first, and take the place of others. Of one host the latest comes first: a host
    /// that lost its power connects again while its last connection still seems to be there. Whoever only claims the address
    /// comes after those of other hosts that claimed it before.
    fn admit(&mut self, link: &Arc<Link>, locator: &Locator) -> bool {
        let sure = is_sure(link, locator);
        let same_host =
            |other: &Link| is_sure(other, locator) == sure && (sure || other.remote.ip() == link.remote.ip());
        if self.links.len() >= LINKS {
            let oldest =
                self.links.iter().rposition(|other| !is_sure(other, locator) && sure || same_host(other));
            let Some(oldest) = oldest else { return false };
            self.links.remove(oldest);
        }
        let after = |other: &Arc<Link>| same_host(other) || sure && !is_sure(other, locator);
        let at = self.links.iter().position(after).unwrap_or(self.links.len());
        self.links.insert(at, Arc::clone(link));
        if sure {
            self.trouble = None;
        }
        true
    }
}

/// Whether a connection leads to the host of a locator for certain.
fn is_sure(link: &Link, locator: &Locator) -> bool {
    link.dialed || locator.ip() == Some(link.remote.ip().to_canonical())
}

#[derive(Default)]
struct State {
    peers: BTreeMap<Locator, Peer>,
    held_octets: usize,
    dialing: usize,
}

/// All peers.
#[derive(Default)]
pub(crate) struct Table {
    state: Mutex<State>,
}

/// What is known of the way to a peer.
pub(crate) enum Way {
    Link(Arc<Link>),
    /// The message waits for a connection.
    Held,
    /// Nothing more is remembered.
    Full,
}

impl Table {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection to a peer, or else a place for the message until there is one; and whether the thread of the transport
    /// has to open a connection.
    pub(crate) fn way(
        &self,
        peer: Locator,
        port: u16,
        message: impl FnOnce() -> Vec<u8>,
        now: Instant,
    ) -> (Way, bool) {
        let mut guard = self.lock();
        let state = &mut *guard;
        if !state.peers.contains_key(&peer) {
            if state.peers.len() >= MAX_PEERS && !state.forget_unused(now) {
                return (Way::Full, false);
            }
            state.peers.insert(peer, Peer::new(now));
        }
        let Some(known) = state.peers.get_mut(&peer) else { return (Way::Full, false) };
        let before = known.used.replace(now);
        if let Some(link) = known.links.first() {
            let look = known.wants_dial(&peer, now).is_some_and(|at| at <= now);
            return (Way::Link(Arc::clone(link)), look);
        }
        let look = known.held.is_empty()
            || before.is_none_or(|before| now.saturating_duration_since(before) > UNUSED);
        let message = message();
        if state.held_octets + message.len() > ALL_HELD {
            return (Way::Full, look);
        }
        known.held_octets += message.len();
        state.held_octets += message.len();
        known.held.push_back((port, message));
        while known.held_octets > HELD {
            let Some((_, oldest)) = known.held.pop_front() else { break };
            known.held_octets -= oldest.len();
            state.held_octets -= oldest.len();
        }
        (Way::Held, look)
    }

    /// Octets of the longest message that a peer takes, if there is a connection to it.
    pub(crate) fn longest(&self, peer: &Locator) -> Option<usize> {
        Some(self.lock().peers.get(peer)?.links.first()?.longest())
    }

    /// The peers to connect to now, and when to look again.
    pub(crate) fn to_dial(&self, now: Instant) -> (Vec<Locator>, Option<Instant>) {
        let mut guard = self.lock();
        let state = &mut *guard;
        state.forget(now);
        let (mut due, mut next) = (Vec::new(), None::<Instant>);
        for (locator, peer) in &mut state.peers {
            match peer.wants_dial(locator, now) {
                Some(at) if at <= now && state.dialing < MAX_DIALING => {
                    peer.dial = Dial::Busy;
                    state.dialing += 1;
                    due.push(*locator);
                }
                Some(at) => next = Some(next.map_or(at, |next| next.min(at))),
                None => {}
            }
        }
        // Where too many are being opened, one that ends makes the transport look again.
        (due, next.map(|next| next.max(now + Duration::from_millis(10))))
    }

    /// A connection could not be opened, or is over; `trouble` says why. True if this is another reason than before.
    pub(crate) fn failed(&self, peer: &Locator, trouble: String, now: Instant, rng: &mut Rng) -> bool {
        let mut state = self.lock();
        state.dialing = state.dialing.saturating_sub(1);
        let Some(peer) = state.peers.get_mut(peer) else { return false };
        let pause = FIRST_PAUSE.saturating_mul(1 << peer.failures.min(10)).min(LONGEST_PAUSE);
        // Up to a quarter more or less, so that those who lost the same server do not come back in step.
        let jitter = pause.as_millis() as u64 / 2;
        let pause = pause * 3 / 4 + Duration::from_millis(rng.below(jitter));
        peer.failures = peer.failures.saturating_add(1);
        peer.dial = Dial::At(now + pause);
        let news = peer.trouble.as_ref() != Some(&trouble);
        peer.trouble = Some(trouble);
        news
    }

    /// A connection leads to a peer: `leave` is called with what waited for one. Until that is over nobody else is given the
    /// connection, so that nothing overtakes it. False if the peer has too many connections.
    pub(crate) fn attach(
        &self,
        peer: Locator,
        link: &Arc<Link>,
        now: Instant,
        leave: impl FnMut(Held),
    ) -> bool {
        let mut guard = self.lock();
        let state = &mut *guard;
        if link.dialed {
            state.dialing = state.dialing.saturating_sub(1);
        }
        if !state.peers.contains_key(&peer) && state.peers.len() >= MAX_PEERS && !state.forget_unused(now) {
            return false;
        }
        let known = state.peers.entry(peer).or_insert_with(|| Peer::new(now));
        if link.dialed {
            known.failures = 0;
            known.dial = Dial::At(now);
        }
        if !known.admit(link, &peer) {
            return false;
        }
        state.held_octets -= known.held_octets;
        known.held_octets = 0;
        std::mem::take(&mut known.held).into_iter().for_each(leave);
        true
    }

    /// A connection has ended.
    pub(crate) fn detach(&self, peer: &Locator, link: &Link, trouble: &str, now: Instant) {
        let mut state = self.lock();
        let Some(known) = state.peers.get_mut(peer) else { return };
        known.links.retain(|other| other.id != link.id);
        if known.links.is_empty() {
            known.trouble = Some(trouble.to_owned());
        }
        if known.dial != Dial::Busy {
            known.dial = Dial::At(now + FIRST_PAUSE);
        }
    }

    /// Why a peer cannot be reached, if that is so.
    pub(crate) fn trouble(&self, peer: &Locator) -> Option<String> {
        let state = self.lock();
        let known = state.peers.get(peer)?;
        known.trouble.clone().filter(|_| known.links.is_empty())
    }

    /// Why peers cannot be reached to which something was sent of late: one reason for each host, and none where another port of
    /// it is connected, which is not this end itself (`is_own`).
    pub(crate) fn troubles(&self, is_own: impl Fn(&Locator) -> bool, now: Instant) -> Vec<String> {
        let state = self.lock();
        let connected = |ip: Option<IpAddr>| {
            let mut others = state.peers.iter().filter(|(other, _)| !is_own(other));
            others.any(|(other, peer)| other.ip() == ip && !peer.links.is_empty())
        };
        let mut hosts: BTreeMap<Option<IpAddr>, String> = BTreeMap::new();
        for (locator, peer) in &state.peers {
            if let Some(trouble) =
                peer.trouble.as_ref().filter(|_| peer.links.is_empty() && peer.is_used(now))
            {
                hosts.entry(locator.ip()).or_insert_with(|| trouble.clone());
            }
        }
        hosts
            .into_iter()
            .filter(|(ip, _)| !connected(*ip))
            .map(|(_, trouble)| trouble)
            .take(TROUBLES)
            .collect()
    }

    /// How many peers are known, and how many octets wait for them.
    #[cfg(test)]
    pub(crate) fn size(&self) -> (usize, usize) {
        let state = self.lock();
        (state.peers.len(), state.held_octets)
    }
}

impl State {
    /// Forgets the peers that nobody speaks to any more.
    fn forget(&mut self, now: Instant) {
        let held = &mut self.held_octets;
        self.peers.retain(|_, peer| {
            let keep = !peer.links.is_empty() || peer.dial == Dial::Busy || peer.is_used(now);
            if !keep {
                *held -= peer.held_octets;
            }
            keep
        });
    }

    /// Makes room for a peer: one without a connection gives way, of those the one not spoken to for longest.
    fn forget_unused(&mut self, now: Instant) -> bool {
        self.forget(now);
        if self.peers.len() < MAX_PEERS {
            return true;
        }
        let idle = self.peers.iter().filter(|(_, peer)| peer.links.is_empty() && peer.dial != Dial::Busy);
        let Some(oldest) = idle.min_by_key(|(_, peer)| peer.used).map(|(locator, _)| *locator) else {
            return false;
        };
        let gone = self.peers.remove(&oldest);
        self.held_octets -= gone.map_or(0, |peer| peer.held_octets);
        true
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;

    fn peer(n: u16) -> Locator {
        Locator::tcp(SocketAddr::new([10, 0, (n >> 8) as u8, n as u8].into(), 7410), 0)
    }

    fn hold(table: &Table, n: u16, len: usize, now: Instant) {
        table.way(peer(n), 7411, || vec![0; len], now);
    }

    #[test]
    fn messages_waiting_for_peers_are_bounded() {
        let (table, now) = (Table::default(), Instant::now());
        for n in 0..5_000 {
            hold(&table, n, 1_000, now + Duration::from_millis(n.into()));
        }
        assert_eq!(table.size(), (MAX_PEERS, MAX_PEERS * 1_000));
        for _ in 0..1_000 {
            hold(&table, 4_999, 10_000, now);
        }
        let (_, octets) = table.size();
        assert!(octets <= (MAX_PEERS - 1) * 1_000 + HELD, "{octets}");
        for n in 4_000..5_000 {
            for _ in 0..20 {
                hold(&table, n, 60_000, now);
            }
        }
        assert!(table.size().1 <= ALL_HELD);
        table.to_dial(now + Duration::from_secs(100));
        table.to_dial(now + Duration::from_secs(100));
        let (peers, octets) = table.size();
        assert!(peers <= MAX_DIALING && octets <= MAX_DIALING * HELD, "{peers} {octets}");
    }

    /// A connection between this address of the loopback interface and another one.
    fn link(id: u64, from: u8, dialed: bool) -> Arc<Link> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        Arc::new(Link::new(id, stream, SocketAddr::new([10, 0, 0, from].into(), 40_000), dialed))
    }

    /// The numbers of the connections of a peer, in the order in which they are used.
    fn used(table: &Table, of: u16) -> Vec<u64> {
        table.lock().peers[&peer(of)].links.iter().map(|link| link.id).collect()
    }

    #[test]
    fn a_claimed_address_does_not_block_its_owner() {
        let (table, now) = (Table::default(), Instant::now());
        hold(&table, 1, 10, now);
        for id in 0..8 {
            assert_eq!(table.attach(peer(1), &link(id, 99 + id as u8, false), now, drop), id < LINKS as u64);
        }
        // Its own connection, and one that was opened to it.
        assert_eq!(table.to_dial(now).0, [peer(1)]);
        assert!(table.attach(peer(1), &link(10, 1, false), now, drop));
        assert!(table.attach(peer(1), &link(11, 1, true), now, drop));
        assert_eq!(used(&table, 1), [11, 10, 0, 1]);
        assert_eq!(table.lock().dialing, 0);
        // Those are not displaced by claims.
        assert!(!table.attach(peer(1), &link(12, 77, false), now, drop));
    }

    #[test]
    fn the_latest_connection_of_a_host_is_used_and_the_oldest_gives_way() {
        let (table, now) = (Table::default(), Instant::now());
        for id in 0..6 {
            assert!(table.attach(peer(1), &link(id, 1, false), now, drop));
        }
        assert_eq!(used(&table, 1), [5, 4, 3, 2]);
        // From behind a router: the address that it says of itself cannot be checked.
        for id in 0..6 {
            assert!(table.attach(peer(2), &link(id, 50, false), now, drop));
        }
        assert!(!table.attach(peer(2), &link(6, 51, false), now, drop));
        assert_eq!(used(&table, 2), [5, 4, 3, 2]);
    }

    /// Whoever is given the connection sends on it at once.
    #[test]
    fn a_new_connection_is_used_only_after_its_queued_messages() {
        let (table, now) = (Table::default(), Instant::now());
        (0..3).for_each(|_| hold(&table, 1, 10, now));
        let link = link(1, 1, true);
        let (given, others) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let mut left = 0;
            table.attach(peer(1), &link, now, |_| {
                if left == 0 {
                    let (given, table) = (given.clone(), &table);
                    scope.spawn(move || {
                        let (way, _) = table.way(peer(1), 7411, Vec::new, now);
                        given.send(matches!(way, Way::Link(_))).unwrap();
                    });
                }
                left += 1;
                assert!(
                    others.recv_timeout(Duration::from_millis(50)).is_err(),
                    "it overtakes number {left}"
                );
            });
            assert_eq!((left, others.recv()), (3, Ok(true)));
        });
    }

    #[test]
    fn pauses_grow_and_are_not_in_step() {
        let (table, mut now, mut rng) = (Table::default(), Instant::now(), Rng::new(1));
        let mut pauses = vec![];
        for n in 0..10 {
            hold(&table, 1, 10, now);
            assert_eq!(table.to_dial(now).0, [peer(1)], "attempt {n}");
            let news = table.failed(&peer(1), "refused".into(), now, &mut rng);
            assert_eq!(news, n == 0);
            let (due, next) = table.to_dial(now);
            assert!(due.is_empty());
            pauses.push(next.unwrap() - now);
            now = next.unwrap();
        }
        assert!(pauses[0] >= Duration::from_millis(75) && pauses[0] <= Duration::from_millis(125));
        assert!(pauses[9] >= Duration::from_millis(7_500) && pauses[9] <= Duration::from_millis(12_500));
        assert_ne!(pauses[8], pauses[9]);
        assert_eq!(table.trouble(&peer(1)).as_deref(), Some("refused"));
    }

    #[test]
    fn an_unreachable_host_is_reported_by_name() {
        let (table, now) = (Table::default(), Instant::now());
        let mut rng = Rng::new(1);
        // A host that nobody answers at on four ports, one that answers on one of two, and this one.
        let at = |host: u8, port: u16| Locator::tcp(SocketAddr::new([10, 0, 0, host].into(), port), 0);
        for (host, port) in [(1, 1), (1, 2), (1, 3), (1, 4), (2, 1), (2, 2), (9, 1), (9, 2)] {
            table.way(at(host, port), 7411, Vec::new, now);
            table.failed(&at(host, port), format!("{host} refuses"), now, &mut rng);
        }
        for host in [2, 9] {
            assert!(table.attach(at(host, 1), &link(u64::from(host), host, true), now, drop));
        }
        let own = |locator: &Locator| *locator == at(9, 1);
        assert_eq!(table.troubles(own, now), ["1 refuses", "9 refuses"]);
        // Nobody wants to speak to them any more.
        assert!(table.troubles(own, now + UNUSED).is_empty());
        for host in 20..60 {
            table.way(at(host, 1), 7411, Vec::new, now);
            table.failed(&at(host, 1), "refused".into(), now, &mut rng);
        }
        assert_eq!(table.troubles(own, now).len(), TROUBLES);
    }

    #[test]
    fn concurrent_connection_attempts_are_bounded() {
        let (table, now) = (Table::default(), Instant::now());
        for n in 0..100 {
            hold(&table, n, 10, now);
        }
        assert_eq!(table.to_dial(now).0.len(), MAX_DIALING);
        assert_eq!(table.to_dial(now).0.len(), 0);
        table.failed(&peer(0), String::new(), now, &mut Rng::new(1));
        assert_eq!(table.to_dial(now).0.len(), 1);
    }
}
