//! The transport interface, and what works around any transport: fault injection, capture to a file,
//! an in-memory network for tests, and the conformance suite.
//!
//! A transport carries whole datagrams and promises nothing about delivery: reliability is above all
//! transports. The thread that has something to send calls [`Transport::send`]; threads of the driver
//! block in [`Transport::recv`], one per [`Channel`].
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(unreachable_pub))]

#[cfg(feature = "conformance")]
pub mod conformance;
pub mod fault;
mod loan;
pub mod memory;
pub mod pcap;
mod report;
mod together;

use std::io;
use std::time::Duration;

use dunlin_buf::{BufPool, Outbox, SharedBytes};
use dunlin_core::{Locator, Path};
pub use fault::{Fault, FaultConfig};
pub use loan::{Lender, Loan};
pub use pcap::{Pcap, PcapFile};
pub use report::{SendReport, TransportStats};
pub use together::Together;

/// One stream of incoming datagrams, received by a thread of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Channel {
    /// User data sent to this participant alone.
    Data,
    /// Discovery and liveliness, however addressed.
    Meta,
    /// User data sent to a group.
    DataMulticast,
    /// User data from processes of this host through memory. Its thread is needed once a path was
    /// [opened](Transport::open_path), or somebody might open one from the other side.
    DataShared,
    /// A channel of a transport that stands beside another one, see [`Together`].
    Added(u8),
}

/// What to do when the transport cannot take a datagram at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SendMode {
    /// Wait: back-pressure for reliable writers on application threads.
    Blocking,
    /// Drop the datagram and count it: for best-effort data and for receive threads.
    NonBlocking,
}

/// What to do when nothing has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecvMode {
    /// Wait for it.
    Blocking,
    /// Return without anything.
    NonBlocking,
}

/// Where a participant can be reached (RTPS 2.5 §8.5.3.2): what it announces.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Locators {
    /// Discovery, this participant alone.
    pub metatraffic_unicast: Vec<Locator>,
    /// Discovery, the group.
    pub metatraffic_multicast: Vec<Locator>,
    /// User data, this participant alone.
    pub default_unicast: Vec<Locator>,
    /// User data, the group.
    pub default_multicast: Vec<Locator>,
}

/// Carries datagrams between participants.
pub trait Transport: Send + Sync {
    /// A short name for logs.
    fn name(&self) -> &'static str;

    /// True if datagrams to this locator are this transport's affair; all others it skips.
    fn carries(&self, locator: &Locator) -> bool;

    /// The channels that need a receiving thread; the same for the life of the transport.
    fn channels(&self) -> &[Channel];

    /// Sends every datagram of the outbox to each of its destinations that this transport
    /// [carries](Transport::carries), in order. Failures are counted, never returned early: one bad
    /// destination does not keep the others from their data.
    fn send(&self, datagrams: &Outbox, mode: SendMode) -> SendReport;

    /// Appends what has arrived on `channel`, each datagram with the address it came from; if there is nothing,
    /// `mode` says whether to wait for it. May return without a datagram in both modes; call it again then.
    ///
    /// # Errors
    /// Of kind `NotConnected` after [`Transport::shutdown`]; anything else means that this call
    /// failed and a later one may work.
    fn recv(
        &self,
        channel: Channel,
        mode: RecvMode,
        pool: &mut BufPool,
        out: &mut Vec<(SharedBytes, Locator)>,
    ) -> io::Result<()>;

    /// Whether [`wait`](Transport::wait) works, so that one thread can watch several channels.
    fn gathers(&self) -> bool {
        false
    }

    /// Waits until one of `channels` has something to receive, `patience` at most (`None`: without end), and appends those that
    /// have to `ready`. May return without any; call it again then.
    ///
    /// # Errors
    /// As [`Transport::recv`]; of kind `Unsupported` if the transport does not [gather](Transport::gathers).
    fn wait(
        &self,
        _channels: &[Channel],
        _ready: &mut Vec<Channel>,
        _patience: Option<Duration>,
    ) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Wakes all receivers and makes them fail from now on. Sending still works, so that a last
    /// message can go out.
    fn shutdown(&self);

    /// Where this end can be reached now.
    fn locators(&self) -> Locators;

    /// The ports that everything is sent from which goes by UDP, if no others are ever used; the same for the life of the transport.
    /// Others believe what comes in the participant's name only if it comes from one of them.
    fn source_ports(&self) -> Vec<u16> {
        Vec::new()
    }

    /// Where a participant announces itself so that others which know nothing of it find it.
    fn announce_to(&self) -> Vec<Locator> {
        self.locators().metatraffic_multicast
    }

    /// Largest datagram that needs no fragmentation below this transport, in octets.
    fn max_message_size(&self) -> usize;

    /// Describes the path to a place that this transport [carries](Transport::carries), whether or not somebody is there. It must
    /// take no time. [`Path::max_message`] is 0 where a datagram can be no larger than [`Transport::max_message_size`];
    /// [`Path::room`], where there is any, holds at least the longest message that was sent there.
    fn path(&self, to: &Locator) -> Path {
        Path::unknown(to.kind)
    }

    /// Octets of data in flight for which its receive buffers have room, with some left for others; 0 if that is unknown.
    fn receive_room(&self) -> usize {
        0
    }

    /// Where memory for payloads of `len` octets comes from that other processes of the host can map; `None` if there is
    /// no such memory, or not for so many.
    fn lender(&self, _len: usize) -> Option<Box<dyn Lender>> {
        None
    }

    /// Looks whether the network interfaces of the host have changed and adapts; true if
    /// [`Transport::locators`] now gives something else.
    fn refresh(&self) -> bool {
        false
    }

    /// Whether a path must be [opened](Transport::open_path) before anything is sent there. While it is open, data takes no other.
    fn opens(&self, _to: &Locator) -> bool {
        false
    }

    /// Opens the path to a place, for a participant that has announced it.
    ///
    /// # Errors
    /// Why the place cannot be reached this way, for people.
    fn open_path(&self, to: &Locator) -> Result<(), String> {
        Err(format!("{} opens no {:?}", self.name(), to.kind))
    }

    /// Ends what one call of [`open_path`](Transport::open_path) has begun.
    fn close_path(&self, _to: &Locator) {}

    /// Why an open path leads nowhere any more, if so.
    fn lost(&self, _to: &Locator) -> Option<String> {
        None
    }

    /// Whether a path that is [lost](Transport::lost) is worth being opened again later. To be asked before it is closed.
    fn may_return(&self, _to: &Locator) -> bool {
        false
    }

    /// What the user should know about how this transport was set up, in sentences.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// What went wrong since this was asked last, in sentences for people: peers that cannot be connected to, or are not who
    /// they have to be. What is wrong for long is said once.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// What is wrong now, in sentences for people: who cannot be reached, and why. Bounded, whatever others do.
    fn troubles(&self) -> Vec<String> {
        Vec::new()
    }

    /// Counters since the start.
    fn stats(&self) -> TransportStats {
        TransportStats::default()
    }
}

/// The error of [`Transport::recv`] after shutdown.
#[must_use]
pub fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::NotConnected, "the transport was shut down")
}
