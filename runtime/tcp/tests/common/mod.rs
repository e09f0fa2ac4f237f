//! What the tests of the transport share: transports on loopback, and the framing by hand.
#![allow(dead_code, reason = "each test file uses some of it")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use dunlin_core::{Locator, PortParameters};
use dunlin_tcp::{Listen, TcpConfig, TcpTransport};
use dunlin_transport::conformance::single;
use dunlin_transport::{SendMode, Transport};

/// Time in which things that must happen do happen, on a busy machine too.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// On loopback, with a range of ports of its own for each test.
pub fn config(base: u16) -> TcpConfig {
    TcpConfig {
        ports: PortParameters { base, ..PortParameters::default() },
        interfaces: vec!["lo".into()],
        ..TcpConfig::default()
    }
}

pub fn open(config: &TcpConfig) -> Arc<TcpTransport> {
    Arc::new(TcpTransport::open(config.clone()).unwrap())
}

/// The same as the interface knows it.
pub fn transport(of: &Arc<TcpTransport>) -> Arc<dyn Transport> {
    Arc::clone(of) as Arc<dyn Transport>
}

/// Waits for a condition.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

/// Where a transport receives user data.
pub fn data_of(transport: &TcpTransport) -> Locator {
    transport.locators().default_unicast[0]
}

/// Sends one message; a connection is opened if need be.
pub fn send(from: &TcpTransport, to: Locator, message: &[u8]) {
    assert_eq!(from.send(&single(message, &[to]), SendMode::Blocking).sent, 1);
}

/// A unit of the framing, without a checksum.
pub fn unit(port: u16, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 14).unwrap().to_le_bytes();
    [b"RTCP", &length[..], &[0; 4], &port.to_le_bytes(), body].concat()
}

/// A control message: the code of a response or nothing, the CDR of a payload or nothing.
pub fn control(kind: u8, transaction: [u8; 12], code: Option<u32>, cdr: &[u8]) -> Vec<u8> {
    let mut body = vec![kind, 0x0e, 0, 0];
    body.extend_from_slice(&transaction);
    body.extend(code.iter().flat_map(|code| code.to_le_bytes()));
    if !cdr.is_empty() {
        body.extend_from_slice(&[1, 0]);
        body.extend_from_slice(&u32::try_from(cdr.len() + 4).unwrap().to_le_bytes());
        body.extend_from_slice(&[0, 1, 0, 0]);
        body.extend_from_slice(cdr);
    }
    let length = u16::try_from(body.len()).unwrap().to_le_bytes();
    body[2..4].copy_from_slice(&length);
    unit(0, &body)
}

/// Says under which address an end is announced.
pub fn bind(address: SocketAddr) -> Vec<u8> {
    bind_as(address, [1; 12])
}

/// The transaction of an end that takes messages of so many octets.
pub fn takes(longest: u32) -> [u8; 12] {
    let parts = [&[1, 0, 0, 0], &b"DUNL"[..], &longest.to_le_bytes()].concat();
    parts.try_into().unwrap()
}

/// The same with a transaction.
pub fn bind_as(address: SocketAddr, transaction: [u8; 12]) -> Vec<u8> {
    let locator = Locator::tcp(address, 0);
    let head = [1, 0, 1, 0xd0];
    let numbers = [locator.kind.0.to_le_bytes(), locator.port.to_le_bytes()].concat();
    control(0xd1, transaction, None, &[&head[..], &numbers, &locator.address].concat())
}

/// An end that speaks the framing by hand.
pub struct Raw(pub TcpStream);

impl Raw {
    pub fn connect(to: &TcpTransport) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", to.port())).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self(stream)
    }

    /// Connects, and says that it is announced under `address`.
    pub fn bound(to: &TcpTransport, address: SocketAddr) -> Self {
        Self::bound_as(to, address, [1; 12])
    }

    /// The same with a transaction.
    pub fn bound_as(to: &TcpTransport, address: SocketAddr, transaction: [u8; 12]) -> Self {
        let mut raw = Self::connect(to);
        raw.0.write_all(&bind_as(address, transaction)).unwrap();
        let (port, body) = raw.next().expect("an answer");
        assert_eq!((port, body[0], &body[16..20]), (0, 0xe1, &[0; 4][..]), "bound");
        raw
    }

    /// The next unit: logical port and message; `None` at the end.
    pub fn next(&mut self) -> Option<(u16, Vec<u8>)> {
        let mut header = [0; 14];
        self.0.read_exact(&mut header).ok()?;
        let length = u32::from_le_bytes(header[4..8].try_into().unwrap()) as usize;
        let mut body = vec![0; length - 14];
        self.0.read_exact(&mut body).ok()?;
        Some((u16::from_le_bytes([header[12], header[13]]), body))
    }

    /// Opens the logical ports it is asked for, until `count` were.
    pub fn open_ports(&mut self, count: usize) {
        for _ in 0..count {
            let (port, body) = self.next().expect("a question");
            assert_eq!((port, body[0]), (0, 0xd2));
            self.0.write_all(&control(0xe2, body[4..16].try_into().unwrap(), Some(0), &[])).unwrap();
        }
    }

    /// Whether the other end closes the connection, within [`PATIENCE`] after the last octet.
    pub fn is_closed(&mut self) -> bool {
        let mut octets = [0; 4096];
        loop {
            match self.0.read(&mut octets) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(error) => return error.kind() == std::io::ErrorKind::ConnectionReset,
            }
        }
    }
}

/// An address that nobody listens at.
pub fn nowhere(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

/// Listens at one port only.
pub fn at(port: u16, base: u16) -> TcpConfig {
    TcpConfig { listen: Listen::Port(port), ..config(base) }
}
