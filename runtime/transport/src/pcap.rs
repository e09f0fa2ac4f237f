//! Capture of all datagrams, sent and received, to a file that Wireshark and tshark read.
//!
//! The file is in the pcapng format with nanosecond time stamps and a direction for each packet. A
//! transport sees only UDP payloads, so the Ethernet, IP and UDP headers are made up: addresses and ports
//! are those of the locators; an incoming datagram is shown as sent to the first unicast locator of its
//! channel.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dunlin_buf::{BufPool, Outbox, SharedBytes};
use dunlin_core::{Locator, WallTime};

use crate::{Channel, Lender, Locators, RecvMode, SendMode, SendReport, Transport, TransportStats};

mod frame;

/// Stands for an address that is not known or not of UDP.
const UNKNOWN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Inbound,
    Outbound,
}

struct Sink {
    file: Box<dyn Write + Send>,
    /// Blocks of the current call, written at its end in one piece.
    buffer: Vec<u8>,
    written: u64,
}

/// A transport that writes down what passes through it.
pub struct Pcap {
    inner: Arc<dyn Transport>,
    sink: Mutex<Sink>,
    max_octets: u64,
    stopped: AtomicBool,
    missed: AtomicU64,
}

impl Pcap {
    /// Captures around `inner` into a new file at `path`, at most `max_octets` long.
    ///
    /// # Errors
    /// When the file cannot be created or written.
    pub fn create(inner: Arc<dyn Transport>, path: &Path, max_octets: u64) -> io::Result<Self> {
        Self::new(inner, Box::new(File::create(path)?), max_octets)
    }

    /// Captures around `inner` into `file`.
    ///
    /// # Errors
    /// When the head of the file cannot be written.
    pub fn new(inner: Arc<dyn Transport>, file: Box<dyn Write + Send>, max_octets: u64) -> io::Result<Self> {
        let mut sink = Sink { file, buffer: Vec::new(), written: 0 };
        frame::put_file_head(&mut sink.buffer, inner.name());
        sink.flush()?;
        let (stopped, missed) = (AtomicBool::new(false), AtomicU64::new(0));
        Ok(Self { inner, sink: Mutex::new(sink), max_octets, stopped, missed })
    }

    /// Datagrams that were not written: the file was full or could not be written.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.missed.load(Relaxed)
    }

    /// Runs `record` with the buffer and writes what it put there.
    fn write(&self, datagrams: usize, record: impl FnOnce(&mut Vec<u8>)) {
        let missed = || self.missed.fetch_add(datagrams as u64, Relaxed);
        if self.stopped.load(Relaxed) {
            missed();
            return;
        }
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        record(&mut sink.buffer);
        let too_long = sink.written + sink.buffer.len() as u64 > self.max_octets;
        if too_long || sink.flush().is_err() {
            // A file with a hole in the middle would mislead: the capture ends here.
            self.stopped.store(true, Relaxed);
            missed();
        }
    }

    fn own_address(list: &[Locator], like: SocketAddr) -> SocketAddr {
        let addresses = || list.iter().filter_map(address);
        addresses().find(|own| own.is_ipv4() == like.is_ipv4()).unwrap_or(match like {
            SocketAddr::V4(_) => UNKNOWN,
            SocketAddr::V6(_) => SocketAddr::new(std::net::Ipv6Addr::UNSPECIFIED.into(), 0),
        })
    }
}

/// A capture file of datagrams that somebody else moves, at times of their own. The last ones are written when it is
/// dropped.
pub struct PcapFile {
    sink: Sink,
}

impl PcapFile {
    /// A new file at `path`, whose packets pass an interface of this name.
    ///
    /// # Errors
    /// When the file cannot be created or written.
    pub fn create(path: &Path, interface: &str) -> io::Result<Self> {
        Self::new(Box::new(BufWriter::new(File::create(path)?)), interface)
    }

    fn new(file: Box<dyn Write + Send>, interface: &str) -> io::Result<Self> {
        let mut sink = Sink { file, buffer: Vec::new(), written: 0 };
        frame::put_file_head(&mut sink.buffer, interface);
        sink.write()?;
        Ok(Self { sink })
    }

    /// Adds a datagram that was sent at `time`; a locator that is of neither UDP nor TCP is shown as 0.0.0.0.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn put(&mut self, time: WallTime, from: Locator, to: Locator, bytes: &[u8]) -> io::Result<()> {
        let time = u64::try_from(time.0).unwrap_or_default();
        let [from, to] = [from, to].map(|locator| address(&locator).unwrap_or(UNKNOWN));
        frame::put_packet(&mut self.sink.buffer, time, Direction::Outbound, from, to, bytes);
        self.sink.write()
    }
}

/// The address of a locator. What TCP carries is shown as datagrams too: in the file they are RTPS messages.
fn address(locator: &Locator) -> Option<SocketAddr> {
    locator.to_socket_addr().or_else(|| locator.to_tcp().map(|(address, _)| address))
}

impl Sink {
    fn flush(&mut self) -> io::Result<()> {
        self.write().and_then(|()| self.file.flush())
    }

    fn write(&mut self) -> io::Result<()> {
        self.written += self.buffer.len() as u64;
        let result = self.file.write_all(&self.buffer);
        self.buffer.clear();
        result
    }
}

/// Nanoseconds since 1970.
fn timestamp() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Octets of a payload that a message has itself although the payload lies elsewhere.
const ENCAPSULATION: usize = 4;

/// A message as it would have come over a network, with the payload that was only lent.
fn whole(bytes: &SharedBytes) -> Cow<'_, [u8]> {
    match bytes.tail() {
        None => Cow::Borrowed(bytes),
        Some(tail) => {
            let before = bytes.get(..bytes.len().saturating_sub(ENCAPSULATION)).unwrap_or(&[]);
            Cow::Owned([before, tail].concat())
        }
    }
}

impl Transport for Pcap {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn carries(&self, locator: &Locator) -> bool {
        self.inner.carries(locator)
    }

    fn channels(&self) -> &[Channel] {
        self.inner.channels()
    }

    fn send(&self, datagrams: &Outbox, mode: SendMode) -> SendReport {
        let own = self.inner.locators().default_unicast;
        self.write(datagrams.datagram_count(), |buffer| {
            let mut payload = Vec::new();
            let time = timestamp();
            for datagram in datagrams.datagrams() {
                payload.clear();
                datagram.copy_to(&mut payload);
                for to in datagram.destinations().iter().filter(|to| self.inner.carries(to)) {
                    let to = to.to_socket_addr().unwrap_or(UNKNOWN);
                    let from = Self::own_address(&own, to);
                    frame::put_packet(buffer, time, Direction::Outbound, from, to, &payload);
                }
            }
        });
        self.inner.send(datagrams, mode)
    }

    fn recv(
        &self,
        channel: Channel,
        mode: RecvMode,
        pool: &mut BufPool,
        out: &mut Vec<(SharedBytes, Locator)>,
    ) -> io::Result<()> {
        let before = out.len();
        self.inner.recv(channel, mode, pool, out)?;
        let arrived = out.get(before..).unwrap_or_default();
        if arrived.is_empty() {
            return Ok(());
        }
        let locators = self.inner.locators();
        let own = match channel {
            Channel::Data | Channel::DataShared => locators.default_unicast,
            Channel::Meta => locators.metatraffic_unicast,
            Channel::DataMulticast => locators.default_multicast,
            Channel::Added(_) => Vec::new(),
        };
        self.write(arrived.len(), |buffer| {
            let time = timestamp();
            for (bytes, from) in arrived {
                let from = from.to_socket_addr().unwrap_or(UNKNOWN);
                let to = Self::own_address(&own, from);
                let whole = whole(bytes);
                frame::put_packet(buffer, time, Direction::Inbound, from, to, &whole);
            }
        });
        Ok(())
    }

    fn gathers(&self) -> bool {
        self.inner.gathers()
    }

    fn wait(
        &self,
        channels: &[Channel],
        ready: &mut Vec<Channel>,
        patience: Option<Duration>,
    ) -> io::Result<()> {
        self.inner.wait(channels, ready, patience)
    }

    fn shutdown(&self) {
        self.inner.shutdown();
    }

    fn locators(&self) -> Locators {
        self.inner.locators()
    }

    fn announce_to(&self) -> Vec<Locator> {
        self.inner.announce_to()
    }

    fn max_message_size(&self) -> usize {
        self.inner.max_message_size()
    }

    fn path(&self, to: &Locator) -> dunlin_core::Path {
        self.inner.path(to)
    }

    fn source_ports(&self) -> Vec<u16> {
        self.inner.source_ports()
    }

    fn receive_room(&self) -> usize {
        self.inner.receive_room()
    }

    fn lender(&self, len: usize) -> Option<Box<dyn Lender>> {
        self.inner.lender(len)
    }

    fn refresh(&self) -> bool {
        self.inner.refresh()
    }

    fn notes(&self) -> Vec<String> {
        self.inner.notes()
    }

    fn warnings(&self) -> Vec<String> {
        self.inner.warnings()
    }

    fn troubles(&self) -> Vec<String> {
        self.inner.troubles()
    }

    fn opens(&self, to: &Locator) -> bool {
        self.inner.opens(to)
    }

    fn open_path(&self, peer: &Locator) -> Result<(), String> {
        self.inner.open_path(peer)
    }

    fn close_path(&self, peer: &Locator) {
        self.inner.close_path(peer);
    }

    fn lost(&self, peer: &Locator) -> Option<String> {
        self.inner.lost(peer)
    }

    fn may_return(&self, peer: &Locator) -> bool {
        self.inner.may_return(peer)
    }

    fn stats(&self) -> TransportStats {
        self.inner.stats()
    }
}

#[cfg(test)]
mod tests;
