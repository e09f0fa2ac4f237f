//! The floor: the payload in datagrams over plain sockets, nothing around it. What a DDS adds is measured from here.
//!
//! `x.wait` is `block` (the default) or `spin`. Payloads above 65,000 octets travel in several datagrams, unprotected.

use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use dunlin_bench_adapter::{About, Can, Implementation, OnPayload, Open, Session, only};
use socket2::{Domain, Protocol, Socket, Type};

/// The most octets of one datagram.
const DATAGRAM: usize = 65_000;
/// A datagram of one octet asks "are you there", one of two answers.
const PROBE: usize = 1;
const PROBE_PERIOD: Duration = Duration::from_millis(1);

pub(crate) struct Udp;

impl Implementation for Udp {
    fn about(&self, options: &[(String, String)]) -> Result<About> {
        const CAN: &[Can] = &[Can::IntraProcess, Can::TwoHosts, Can::Reliable, Can::BestEffort];
        only(options, &["wait"])?;
        let waits = if spins(options)? { "spins" } else { "blocks" }.into();
        Ok(About {
            name: "UDP sockets".into(),
            version: "floor".into(),
            can: CAN,
            waits,
            built: super::BUILT.into(),
        })
    }

    fn open(&self, open: &Open, on_payload: OnPayload) -> Result<Box<dyn Session>> {
        let spin = spins(&open.options)?;
        if open.writes.len() > 1 || open.reads.len() > 1 {
            bail!("plain sockets have no topics: one per process");
        }
        if open.arriving <= PROBE + 1 {
            bail!("payloads of 1 and 2 bytes are how the sides find each other");
        }
        let domain =
            u16::try_from(open.domain).ok().filter(|domain| *domain < 10_000).context("no such domain")?;
        // Of the two topics of a ping-pong the first side has the lower port.
        let first = open.writes.first().is_some_and(|topic| topic.contains("Ping"))
            || open.reads.first().is_some_and(|topic| topic.contains("Pong"));
        let ports = (20_000 + domain * 2, 20_001 + domain * 2);
        let (mine, theirs) = if first { ports } else { (ports.1, ports.0) };
        let address =
            |text: &str| text.parse::<Ipv4Addr>().with_context(|| format!("'{text}' is no IPv4 address"));
        let socket = bind(SocketAddrV4::new(address(&open.address)?, mine))?;
        socket.connect(SocketAddrV4::new(address(&open.peer)?, theirs))?;
        Ok(Box::new(Link::start(socket, open, spin, on_payload)?))
    }
}

fn spins(options: &[(String, String)]) -> Result<bool> {
    match options.iter().find(|(key, _)| key == "wait").map_or("block", |(_, value)| value) {
        "block" => Ok(false),
        "spin" => Ok(true),
        other => bail!("wait={other}: there are block and spin"),
    }
}

fn bind(address: SocketAddrV4) -> Result<UdpSocket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_recv_buffer_size(4 << 20)?;
    socket.bind(&address.into()).with_context(|| format!("binding {address}"))?;
    Ok(socket.into())
}

struct Link {
    socket: Arc<UdpSocket>,
    end: Arc<AtomicBool>,
    peers: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
}

impl Link {
    fn start(socket: UdpSocket, open: &Open, spin: bool, on_payload: OnPayload) -> Result<Self> {
        socket.set_nonblocking(spin)?;
        socket.set_read_timeout(Some(PROBE_PERIOD))?;
        let (socket, end, peers) = (Arc::new(socket), Arc::default(), Arc::new(AtomicUsize::new(0)));
        let receiver = Receiver {
            socket: Arc::clone(&socket),
            end: Arc::clone(&end),
            peers: Arc::clone(&peers),
            payload: open.arriving,
        };
        let thread = std::thread::spawn(move || receiver.run(&on_payload));
        Ok(Self { socket, end, peers, thread: Some(thread) })
    }
}

struct Receiver {
    socket: Arc<UdpSocket>,
    end: Arc<AtomicBool>,
    peers: Arc<AtomicUsize>,
    payload: usize,
}

impl Receiver {
    fn run(&self, on_payload: &OnPayload) {
        let write = |payload: &[u8]| send(&self.socket, payload);
        let (mut buffer, mut whole) = (vec![0; DATAGRAM + 1], Vec::with_capacity(self.payload));
        let mut probe_at = Instant::now();
        while !self.end.load(Ordering::Relaxed) {
            if self.peers.load(Ordering::Relaxed) == 0 && Instant::now() >= probe_at {
                let _ = self.socket.send(&[0; PROBE]);
                probe_at = Instant::now() + PROBE_PERIOD;
            }
            let Ok(length) = self.socket.recv(&mut buffer) else { continue };
            let datagram = buffer.get(..length).unwrap_or_default();
            if length <= PROBE + 1 && self.payload > PROBE + 1 {
                if length == PROBE {
                    let _ = self.socket.send(&[0; PROBE + 1]);
                }
                self.peers.store(1, Ordering::Relaxed);
            } else if self.payload <= DATAGRAM {
                on_payload(datagram, &write);
            } else {
                whole.extend_from_slice(datagram);
                if whole.len() >= self.payload {
                    on_payload(&whole, &write);
                    whole.clear();
                }
            }
        }
    }
}

fn send(socket: &UdpSocket, payload: &[u8]) -> Result<()> {
    for datagram in payload.chunks(DATAGRAM) {
        while let Err(error) = socket.send(datagram) {
            // A spinning socket does not wait for room by itself.
            if error.kind() != std::io::ErrorKind::WouldBlock {
                return Err(error.into());
            }
        }
    }
    Ok(())
}

impl Session for Link {
    fn matched(&self) -> usize {
        self.peers.load(Ordering::Relaxed)
    }

    fn write(&self, payload: &[u8]) -> Result<()> {
        send(&self.socket, payload)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
