//! A running pair, a bystander, and the means of an attacker: everything he sends is counted.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::{JoinHandle, spawn};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use dunlin_core::Guid;
use nix::fcntl::{Flock, FlockArg};

use crate::children;
use crate::pair::{RATE, Ready, Report};
use crate::peer::{HEADERS, Peer, Traffic};
use crate::places::{Channel, Places, Side, Speaks, Way, has_own_network};
use crate::raw::{Raw, ports_of};

/// Ports that the bystander listens on, one after the other.
const BYSTANDER_PORTS: u16 = 16;
/// The first of them.
const BYSTANDER_PORT: u16 = 61_000;
/// How often sockets are looked at.
const SWEEP: Duration = Duration::from_millis(5);
/// From the first sample to the attack, and from its end to the last sample.
const CALM: Duration = Duration::from_millis(400);

/// Who is attacked.
#[derive(Clone, Debug)]
pub enum Make {
    /// A pair of this program, at this path.
    Dunlin(PathBuf),
    /// A pair of a program that an interpreter runs: both paths.
    Cyclone(PathBuf, PathBuf),
}

/// One side, running.
#[derive(Debug)]
pub struct Running {
    process: Child,
    asks: ChildStdin,
    lines: BufReader<ChildStdout>,
    /// Its endpoint.
    pub guid: Guid,
}

impl Running {
    fn start(make: &Make, side: Side, places: Places, seconds: u64, folder: &Path) -> Result<Self> {
        let mut command = match make {
            Make::Dunlin(program) => {
                let mut command = Command::new(program);
                command.arg("side");
                command
            }
            Make::Cyclone(interpreter, script) => {
                let mut command = Command::new(interpreter);
                command.arg(script);
                command
            }
        };
        let way = format!("{:?}", places.way).to_lowercase().replace("sharedmemory", "shared-memory");
        command.args(["--role", if side == Side::Reader { "reader" } else { "writer" }, "--way", &way]);
        command.args(["--domain", &places.domain.to_string(), "--seconds", &seconds.to_string()]);
        command.arg("--folder").arg(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
        let lines = BufReader::new(process.stdout.take().context("no standard output")?);
        let asks = process.stdin.take().context("no standard input")?;
        Ok(Self { process, asks, lines, guid: Guid::UNKNOWN })
    }

    fn line<T: for<'d> serde::Deserialize<'d>>(&mut self) -> Result<T> {
        let mut line = String::new();
        self.lines.read_line(&mut line)?;
        serde_json::from_str(&line).with_context(|| format!("a side said {line:?}"))
    }

    fn wait_ready(&mut self) -> Result<()> {
        let ready: Ready = self.line()?;
        let mut octets = [0; 16];
        for (octet, digits) in octets.iter_mut().zip(ready.guid.as_bytes().chunks(2)) {
            *octet = u8::from_str_radix(std::str::from_utf8(digits)?, 16)?;
        }
        self.guid = Guid::from_bytes(octets);
        Ok(())
    }

    fn finish(mut self) -> Result<Report> {
        let report = self.line();
        let status = self.process.wait()?;
        ensure!(status.success(), "a side ended with {status}");
        report
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

/// Sockets whose traffic is counted: those of somebody who asked for nothing, and some of the attacker.
#[derive(Debug)]
pub struct Listener {
    places: Vec<SocketAddr>,
    heard: Arc<[AtomicU64]>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    /// Listens at these ports of an address.
    ///
    /// # Errors
    /// When one of them is in use.
    pub fn new(address: IpAddr, ports: Range<u16>) -> Result<Self> {
        let listen = |port| -> Result<UdpSocket> {
            let socket = UdpSocket::bind((address, port))?;
            socket.set_nonblocking(true)?;
            Ok(socket)
        };
        let sockets = ports.map(listen).collect::<Result<Vec<_>>>()?;
        let places = sockets.iter().map(UdpSocket::local_addr).collect::<Result<_, _>>()?;
        let heard: Arc<[AtomicU64]> = sockets.iter().map(|_| AtomicU64::new(0)).collect();
        let over = Arc::new(AtomicBool::new(false));
        let (counted, ended) = (Arc::clone(&heard), Arc::clone(&over));
        let thread = spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            while !ended.load(Relaxed) {
                for (socket, counted) in sockets.iter().zip(counted.iter()) {
                    while let Ok(len) = socket.recv(&mut buffer) {
                        counted.fetch_add(len as u64 + HEADERS, Relaxed);
                    }
                }
                std::thread::park_timeout(SWEEP);
            }
        });
        Ok(Self { places, heard, over, thread: Some(thread) })
    }

    /// Octets that arrived at each of them, with the headers in front.
    pub fn heard(&self) -> impl Iterator<Item = u64> + '_ {
        self.heard.iter().map(|octets| octets.load(Relaxed))
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.over.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}

/// What was seen of one attack.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// What the reader said.
    pub reader: Report,
    /// What the writer said.
    pub writer: Report,
    /// Samples that never arrived.
    pub lost: u64,
    /// Octets that the attacker sent.
    pub octets_in: u64,
    /// Octets that the bystander got.
    pub octets_out: u64,
    /// Files of shared memory that somebody still held when the pair had ended: nobody would remove them.
    pub files: u64,
    /// Octets on the network besides those that the attacker sent or got, where the whole of it can be looked at.
    pub network: Option<u64>,
}

impl Seen {
    /// Samples that the application was told of, on the side that was told of more.
    pub fn told(&self) -> u64 {
        let writer = self.writer.failed + u64::from(self.writer.unacknowledged);
        self.reader.told.max(writer)
    }
}

/// A folder that goes with its owner.
#[derive(Debug)]
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

/// Somebody who writes the sockets that the two send from as the source of his datagrams.
#[derive(Debug)]
struct Forger {
    raw: Raw,
    reader: SocketAddr,
    writer: SocketAddr,
}

impl Forger {
    fn new(places: Places, [reader, writer]: [&Running; 2]) -> Result<Self> {
        let ipv6 = places.way == Way::Ipv6;
        let of = |running: &Running, side: Side| -> Result<SocketAddr> {
            let ports = ports_of(running.id(), ipv6)?;
            // What is sent goes out of a socket beside those of the domain, if there is one.
            let own = places.domain_ports();
            let other = ports.iter().find(|port| !own.contains(*port)).copied();
            let port = other.unwrap_or(places.of(side, Channel::Metatraffic).port());
            Ok(SocketAddr::new(places.pair(), port))
        };
        let (reader, writer) = (of(reader, Side::Reader)?, of(writer, Side::Writer)?);
        Ok(Self { raw: Raw::open(ipv6)?, reader, writer })
    }

    /// What one gets comes from the other.
    fn send(&self, side: Side, to: SocketAddr, bytes: &[u8]) -> bool {
        self.raw.send(if side == Side::Reader { self.writer } else { self.reader }, to, bytes)
    }
}

/// The scene of an attack.
#[derive(Debug)]
pub struct Field {
    /// Where everybody is.
    pub places: Places,
    /// The reading side.
    pub reader: Running,
    /// The writing side.
    pub writer: Running,
    folder: Folder,
    bystander: Listener,
    listener: Option<Listener>,
    socket: UdpSocket,
    /// Speaks as the socket of one of the pair.
    forger: Option<Forger>,
    traffic: Arc<Traffic>,
    network: Option<u64>,
    seconds: u64,
    end: Instant,
    peers: u8,
    /// Bounds of its own that an attack has found to be broken, in words.
    pub broken: Vec<String>,
}

/// Octets that loopback has carried, if this process has a network of its own.
fn network() -> Option<u64> {
    has_own_network().then_some(())?;
    // Not that of /sys, which stays the one of the network in which it was mounted.
    let devices = fs::read_to_string("/proc/self/net/dev").ok()?;
    let counters = devices.lines().find_map(|line| line.trim().strip_prefix("lo:"))?;
    counters.split_whitespace().next()?.parse().ok()
}

/// Files of a folder whose lock somebody holds. Others are removed by the next process that looks.
fn held_files(folder: &Path) -> Result<u64> {
    let mut held = 0;
    for entry in fs::read_dir(folder)? {
        let locked = Flock::lock(fs::File::open(entry?.path())?, FlockArg::LockSharedNonblock);
        held += u64::from(locked.is_err());
    }
    Ok(held)
}

impl Field {
    /// Starts the pair and waits until the two have found each other.
    ///
    /// # Errors
    /// When a side ends, or a socket cannot be had.
    pub fn new(make: &Make, places: Places, speaks: Speaks, seconds: u64) -> Result<Self> {
        let folder =
            PathBuf::from(format!("/dev/shm/dunlin-attack-{}-{}", std::process::id(), places.domain));
        fs::create_dir_all(&folder)?;
        let folder = Folder(folder);
        let bystander = Listener::new(places.bystander(), BYSTANDER_PORT..BYSTANDER_PORT + BYSTANDER_PORTS)?;
        let address = if speaks == Speaks::Elsewhere { places.attacker() } else { places.pair() };
        let socket = UdpSocket::bind((address, 0))?;
        let mut reader = Running::start(make, Side::Reader, places, seconds, &folder.0)?;
        reader.wait_ready()?;
        let mut writer = Running::start(make, Side::Writer, places, seconds, &folder.0)?;
        writer.wait_ready()?;
        let end = Instant::now() + Duration::from_secs(seconds).saturating_sub(CALM);
        let (traffic, network) = (Arc::default(), network());
        let forges = (speaks == Speaks::AsThePair).then_some(());
        let forger = forges.map(|()| Forger::new(places, [&reader, &writer])).transpose()?;
        let mut field = Self {
            places,
            reader,
            writer,
            folder,
            bystander,
            listener: None,
            socket,
            forger,
            traffic,
            network,
            seconds,
            end,
            peers: 0,
            broken: vec![],
        };
        field.rest(CALM);
        Ok(field)
    }

    /// For how many seconds the pair exchanges samples.
    pub fn seconds(&self) -> u64 {
        self.seconds
    }

    /// Whether the attack has to end.
    pub fn is_over(&self) -> bool {
        Instant::now() >= self.end
    }

    /// Time that is left for the attack.
    pub fn left(&self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }

    /// Lets time pass, but not beyond the end of the attack.
    pub fn rest(&mut self, time: Duration) {
        let until = (Instant::now() + time).min(self.end);
        while let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
            std::thread::park_timeout(left);
        }
    }

    /// Does something every so often until the attack has to end.
    ///
    /// # Errors
    /// Those of what is done.
    pub fn again(
        &mut self,
        every: Duration,
        mut what: impl FnMut(&mut Self, u64) -> Result<()>,
    ) -> Result<()> {
        let mut round = 0;
        while !self.is_over() {
            what(self, round)?;
            round += 1;
            self.rest(every);
        }
        Ok(())
    }

    /// The folder of shared memory.
    pub fn folder(&self) -> &Path {
        &self.folder.0
    }

    /// One side.
    pub fn side(&self, side: Side) -> &Running {
        if side == Side::Reader { &self.reader } else { &self.writer }
    }

    /// Has a side make a child by `fork`.
    ///
    /// # Errors
    /// When it is gone.
    pub fn have_forked(&mut self, side: Side, way: children::Way) -> Result<()> {
        let running = if side == Side::Reader { &mut self.reader } else { &mut self.writer };
        writeln!(running.asks, "{}", way.word()).context("a side does not listen")
    }

    /// Sends a datagram from the attacker's address to a side. What the kernel has no room for is not sent.
    pub fn send(&self, side: Side, channel: Channel, bytes: &[u8]) {
        let to = self.places.of(side, channel);
        let sent = match &self.forger {
            Some(forger) => forger.send(side, to, bytes),
            None => self.socket.send_to(bytes, to).is_ok(),
        };
        if sent {
            self.traffic.sent.fetch_add(bytes.len() as u64, Relaxed);
        }
    }

    /// Listens at further ports of the attacker, until the pair ends. What arrives there he has asked for.
    ///
    /// # Errors
    /// When one of them is in use.
    pub fn listen(&mut self, ports: Range<u16>) -> Result<()> {
        self.listener = Some(Listener::new(self.places.attacker(), ports)?);
        Ok(())
    }

    /// What has arrived there so far.
    pub fn listener(&self) -> Option<&Listener> {
        self.listener.as_ref()
    }

    /// Counts octets that were sent otherwise.
    pub fn count(&self, octets: usize) {
        self.traffic.sent.fetch_add(octets as u64, Relaxed);
    }

    /// The bystander's sockets.
    pub fn bystander(&self) -> &[SocketAddr] {
        &self.bystander.places
    }

    /// A participant at the attacker's address that announces itself and answers honestly until both sides have verified it.
    ///
    /// # Errors
    /// When they do not.
    pub fn peer(&mut self) -> Result<Peer> {
        let mut peer = self.unverified_peer()?;
        peer.be_verified(self.left())?;
        Ok(peer)
    }

    /// The same, before it has said anything.
    ///
    /// # Errors
    /// When there is no socket.
    pub fn unverified_peer(&mut self) -> Result<Peer> {
        self.peers += 1;
        Peer::new(self.places, self.peers, Arc::clone(&self.traffic))
    }

    /// Waits for the end of the pair.
    ///
    /// # Errors
    /// When a side does not end well.
    pub fn finish(self) -> Result<Seen> {
        let (reader, writer) = (self.reader.finish()?, self.writer.finish()?);
        let octets_in = self.traffic.sent.load(Relaxed);
        let asked_for: u64 = self.listener.iter().flat_map(Listener::heard).sum();
        let own = octets_in + self.traffic.received.load(Relaxed) + asked_for;
        let network = network().zip(self.network).map(|(now, before)| (now - before).saturating_sub(own));
        Ok(Seen {
            lost: (self.seconds * RATE).saturating_sub(reader.received),
            octets_out: self.bystander.heard().sum(),
            reader,
            writer,
            octets_in,
            files: held_files(&self.folder.0)?,
            network,
        })
    }

    /// Sockets of the pair that this way has.
    pub fn sockets(&self) -> BTreeMap<u16, SocketAddr> {
        let sides = [Side::Reader, Side::Writer];
        let channels = [Channel::Metatraffic, Channel::Data];
        let all = sides.into_iter().flat_map(|side| channels.map(|channel| self.places.of(side, channel)));
        all.filter(|_| self.places.way != Way::Tcp).map(|place| (place.port(), place)).collect()
    }
}
