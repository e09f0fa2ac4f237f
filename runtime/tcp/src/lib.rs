//! TCP transport, for where UDP does not pass: through routers that translate addresses, across sites, encrypted.
//!
//! The framing is that of Fast DDS. A participant listens on one port. On a connection, in whichever direction it was
//! opened, both ends send to **logical ports**: one for discovery, one for user data. A locator of TCP has the port of the
//! connection in the lower half of its port, and the logical one in the upper half. A connection says when it begins under
//! which address its end is announced, so what is meant for that address goes out on it: participants that cannot be
//! connected to are reached by the connections that they have opened.
//!
//! The thread that receives user data accepts, connects, reads, and sends what a socket did not take at once. The thread
//! `dunlin-tcp` does it while that one is away. Those who write send on their own threads. What unverified peers can make it remember is bounded: see `docs/tcp.md`.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(unreachable_pub))]

mod control;
mod counters;
mod engine;
mod frame;
mod inbox;
mod link;
mod listen;
mod queue;
mod reader;
mod table;
mod tls;
mod transport;

pub use counters::TcpStats;
use dunlin_core::{DomainId, PortParameters};
pub use tls::{TlsConfig, TlsError};
pub use transport::TcpTransport;

/// The port that others connect to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Listen {
    /// The lowest free one of the well-known ports that UDP would use for discovery; beyond those any free one.
    #[default]
    Auto,
    /// This one or none.
    Port(u16),
    /// Nobody can connect; this end connects to others.
    Off,
}

/// How a [`TcpTransport`] is set up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TcpConfig {
    /// The domain, which decides the logical ports.
    pub domain: DomainId,
    /// Constants of the port formula.
    pub ports: PortParameters,
    /// Which port others connect to.
    pub listen: Listen,
    /// Names or addresses of the interfaces that are announced; as for UDP.
    pub interfaces: Vec<String>,
    /// Use IPv4.
    pub ipv4: bool,
    /// Use IPv6.
    pub ipv6: bool,
    /// Most connections.
    pub max_connections: usize,
    /// Encrypt.
    pub tls: Option<TlsConfig>,
}

impl Default for TcpConfig {
    fn default() -> Self {
        Self {
            domain: 0,
            ports: PortParameters::default(),
            listen: Listen::default(),
            interfaces: Vec::new(),
            ipv4: true,
            ipv6: false,
            max_connections: 512,
            tls: None,
        }
    }
}
