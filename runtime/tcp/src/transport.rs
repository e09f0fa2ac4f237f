//! The transport: what the driver calls.

use std::io;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use dunlin_buf::{BufPool, Datagram, Outbox, SharedBytes};
use dunlin_core::{Locator, LocatorKind, Path};
use dunlin_transport::{Channel, Locators, RecvMode, SendMode, SendReport, Transport, TransportStats};
use dunlin_udp::interface::{self, Interface};

use crate::TcpConfig;
use crate::counters::TcpStats;
use crate::engine::{Engine, Shared, Turns};
use crate::frame::MAX_MESSAGE;
use crate::inbox::ROOM;
use crate::link::{Link, Pieces, Taken};
use crate::listen::{self, Bound, LogicalPorts};
use crate::table::Way;
use crate::tls::Context;

/// Octets of large samples that may be under way to a reader at a time, more than one of them: what the buffers of two systems
/// hold at least, and few enough that what is urgent does not wait for long.
const ROOM_ON_WAY: usize = 2 << 20;
const CHANNELS: [Channel; 2] = [Channel::Meta, Channel::Data];

/// What follows the interfaces.
struct Host {
    interfaces: Vec<Interface>,
    locators: Locators,
}

/// TCP connections of one process in one domain.
pub struct TcpTransport {
    shared: Arc<Shared>,
    turns: Arc<Turns>,
    host: Mutex<Host>,
    thread: Option<JoinHandle<()>>,
}

impl TcpTransport {
    /// Binds the port and starts the thread.
    ///
    /// # Errors
    /// Of kind `InvalidInput` for a configuration that makes no sense or files of TLS that cannot be used, `NotFound` for an
    /// interface that does not exist, and those of the operating system; each says what could not be done.
    pub fn open(config: TcpConfig) -> io::Result<Self> {
        let logical = LogicalPorts::of(&config)?;
        let tls = config.tls.as_ref().map(Context::load).transpose()?;
        let interfaces = interface::all()?;
        let chosen = listen::choose(&config, &interfaces)?;
        let bound = Bound::open(&config, &chosen)?;
        let locators = listen::locators(&config, &chosen, bound.port, logical);
        let shared = Arc::new(Shared::new(config, bound.port, logical, tls)?);
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let engine = Engine::new(Arc::clone(&shared), bound, since_epoch.as_nanos() as u64);
        let turns = Arc::new(Turns::new(engine, Arc::clone(&shared)));
        let background = Arc::clone(&turns);
        let thread = std::thread::Builder::new().name("dunlin-tcp".into());
        let thread = thread.spawn(move || background.run_background_thread())?;
        Ok(Self { shared, turns, host: Mutex::new(Host { interfaces, locators }), thread: Some(thread) })
    }

    /// The port that others connect to, or by which they know this end if they cannot.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.shared.port
    }

    /// Counters of connections since the start.
    #[must_use]
    pub fn connections(&self) -> TcpStats {
        self.shared.counters.connections()
    }

    fn peer(&self, to: &Locator) -> Option<(Locator, u16)> {
        if !self.carries(to) {
            return None;
        }
        let (address, port) = to.to_tcp()?;
        Some((Locator::tcp(address, 0), port))
    }

    /// Takes what waits on a channel.
    fn take(
        &self,
        channel: Channel,
        mode: RecvMode,
        out: &mut Vec<(SharedBytes, Locator)>,
    ) -> io::Result<()> {
        if self.shared.inbox.take(channel, mode, out)? {
            self.shared.wake.wake();
        }
        Ok(())
    }

    fn send_one(
        &self,
        datagram: &Datagram<'_>,
        parts: &[&[u8]],
        to: (Locator, u16),
        (mode, now): (SendMode, Instant),
        touched: &mut Vec<Arc<Link>>,
    ) -> Taken {
        let (peer, port) = to;
        // Nobody knows who will take what waits for a connection.
        let long = datagram.len() > MAX_MESSAGE;
        if port == 0 || long && self.shared.table.longest(&peer).is_none_or(|most| datagram.len() > most) {
            return Taken::Refused;
        }
        let whole = || parts.concat();
        let (way, look) = self.shared.table.way(peer, port, whole, now);
        if look {
            self.shared.look_for_peers();
        }
        match way {
            Way::Link(link) => {
                let pieces = Pieces { port, len: datagram.len(), parts, last: datagram.last() };
                // What an end of a connection swallows is repeated by those who are reliable.
                let taken = link.send(&pieces, mode);
                if !touched.iter().any(|other| other.id == link.id) {
                    touched.push(link);
                }
                taken
            }
            Way::Held => Taken::Sent,
            Way::Full => Taken::Full,
        }
    }
}

impl Transport for TcpTransport {
    fn name(&self) -> &'static str {
        "tcp"
    }

    fn carries(&self, locator: &Locator) -> bool {
        let config = &self.shared.config;
        let enabled = match locator.kind {
            LocatorKind::TCP_V4 => config.ipv4,
            LocatorKind::TCP_V6 => config.ipv6,
            _ => false,
        };
        enabled && locator.to_tcp().is_some_and(|(address, _)| !address.ip().is_multicast())
    }

    fn channels(&self) -> &[Channel] {
        &CHANNELS
    }

    fn send(&self, datagrams: &Outbox, mode: SendMode) -> SendReport {
        let (mut report, mut octets) = (SendReport::default(), 0);
        let (mut parts, mut touched, now) = (Vec::new(), Vec::new(), Instant::now());
        for datagram in datagrams.datagrams() {
            parts.clear();
            parts.extend(datagram.parts());
            for destination in datagram.destinations() {
                let Some(to) = self.peer(destination) else {
                    report.skipped += 1;
                    continue;
                };
                match self.send_one(&datagram, &parts, to, (mode, now), &mut touched) {
                    Taken::Sent => {
                        report.sent += 1;
                        octets += datagram.len();
                    }
                    Taken::Full => report.full += 1,
                    Taken::Refused | Taken::Gone => report.failed += 1,
                }
            }
        }
        for link in touched {
            link.leave(|| self.shared.wake.wake());
        }
        self.shared.counters.count_sent(&report, octets);
        report
    }

    fn recv(
        &self,
        channel: Channel,
        mode: RecvMode,
        _pool: &mut BufPool,
        out: &mut Vec<(SharedBytes, Locator)>,
    ) -> io::Result<()> {
        if channel != Channel::Data {
            return self.take(channel, mode, out);
        }
        let before = out.len();
        let mut result = self.take(channel, RecvMode::NonBlocking, out);
        while result.is_ok() && out.len() == before {
            self.turns.receive(mode == RecvMode::Blocking);
            result = self.take(channel, RecvMode::NonBlocking, out);
            if mode == RecvMode::NonBlocking {
                break;
            }
        }
        self.turns.leave();
        result
    }

    fn gathers(&self) -> bool {
        true
    }

    fn wait(
        &self,
        channels: &[Channel],
        ready: &mut Vec<Channel>,
        patience: Option<Duration>,
    ) -> io::Result<()> {
        self.shared.inbox.wait(channels, ready, patience)
    }

    fn shutdown(&self) {
        self.shared.inbox.close();
        self.shared.wake.wake();
    }

    fn locators(&self) -> Locators {
        self.host.lock().unwrap_or_else(PoisonError::into_inner).locators.clone()
    }

    fn max_message_size(&self) -> usize {
        MAX_MESSAGE
    }

    fn path(&self, to: &Locator) -> Path {
        let Some((peer, _)) = self.peer(to) else { return Path::unknown(to.kind) };
        // Who takes long messages gets samples whole: what is under way waits for room, and is not lost.
        let long = self.shared.table.longest(&peer).filter(|longest| *longest > MAX_MESSAGE);
        let (max_message, room) = long.map_or((MAX_MESSAGE, 0), |longest| (longest, ROOM_ON_WAY));
        Path { max_message, room, ..Path::unknown(to.kind) }
    }

    fn receive_room(&self) -> usize {
        ROOM / 2
    }

    fn refresh(&self) -> bool {
        let Ok(interfaces) = interface::all() else { return false };
        let mut host = self.host.lock().unwrap_or_else(PoisonError::into_inner);
        if host.interfaces == interfaces {
            return false;
        }
        let (chosen, _) = interface::choose(&interfaces, &self.shared.config.interfaces);
        let locators = listen::locators(&self.shared.config, &chosen, self.shared.port, self.shared.logical);
        host.interfaces = interfaces;
        let changed = host.locators != locators;
        host.locators = locators;
        changed
    }

    fn lost(&self, peer: &Locator) -> Option<String> {
        let (peer, _) = self.peer(peer)?;
        self.shared.table.trouble(&peer)
    }

    fn warnings(&self) -> Vec<String> {
        self.shared.take_troubles()
    }

    fn troubles(&self) -> Vec<String> {
        let (own, now) = (self.locators().metatraffic_unicast, Instant::now());
        let is_own = |peer: &Locator| {
            own.iter()
                .filter_map(Locator::to_tcp)
                .any(|(own, _)| peer.to_tcp().is_some_and(|(peer, _)| peer == own))
        };
        let mut troubles = self.shared.table.troubles(is_own, now);
        troubles.extend(self.shared.refusals(now));
        troubles
    }

    fn stats(&self) -> TransportStats {
        self.shared.counters.transport()
    }
}

impl Drop for TcpTransport {
    fn drop(&mut self) {
        self.shared.inbox.close();
        self.shared.quit.store(true, SeqCst);
        self.turns.wake();
        if let Some(thread) = self.thread.take() {
            // A panic of that thread has been reported by itself.
            let _ = thread.join();
        }
    }
}
