//! Sending: runs of datagrams as scatter lists, with segmentation where the kernel has it.

use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use dunlin_buf::{Datagram, Outbox};
use dunlin_core::{Locator, LocatorKind};
use dunlin_transport::{SendMode, SendReport};
use socket2::{SockAddr, Socket};

use crate::counters::{Counters, add};
use crate::route::{Outlet, Routes};
use crate::segment::{MAX_PARTS, Offload, Run, scatter};
use crate::sys::{self, Control};
use crate::{Family, UdpConfig, bind, buffers};

/// The sockets everything is sent from, one for each IP version.
pub(crate) struct Sender {
    v4: Option<Port>,
    v6: Option<Port>,
    /// Sentences about buffers that came out too small.
    pub(crate) notes: Vec<String>,
}

struct Port {
    socket: Socket,
    offload: Offload,
}

/// What became of a run to one destination.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Sent,
    Full,
    Failed(Option<i32>),
}

impl Sender {
    pub(crate) fn open(config: &UdpConfig) -> io::Result<Self> {
        let mut sender = Self { v4: None, v6: None, notes: Vec::new() };
        for family in config.families() {
            let socket = bind::open(family)?;
            sender.notes.extend(buffers::set_send(&socket, config.send_buffer)?.map(|s| s.to_string()));
            let ttl = u32::from(config.multicast_ttl);
            // Looping back is how participants on one host hear each other.
            match family {
                Family::V4 => {
                    socket.set_multicast_ttl_v4(ttl)?;
                    socket.set_multicast_loop_v4(true)?;
                }
                Family::V6 => {
                    socket.set_multicast_hops_v6(ttl)?;
                    socket.set_multicast_loop_v6(true)?;
                }
            }
            let offload = Offload::probe(socket.as_fd(), config.segmentation_offload);
            let port = Some(Port { socket, offload });
            match family {
                Family::V4 => sender.v4 = port,
                Family::V6 => sender.v6 = port,
            }
        }
        Ok(sender)
    }

    pub(crate) fn carries(&self, locator: &Locator) -> bool {
        match locator.kind {
            LocatorKind::UDP_V4 => self.v4.is_some(),
            LocatorKind::UDP_V6 => self.v6.is_some(),
            _ => false,
        }
    }

    fn port(&self, locator: &Locator) -> Option<(&Port, SocketAddr)> {
        let port = match locator.kind {
            LocatorKind::UDP_V4 => self.v4.as_ref(),
            LocatorKind::UDP_V6 => self.v6.as_ref(),
            _ => None,
        }?;
        Some((port, locator.to_socket_addr()?))
    }

    /// True if segmentation is in use at all.
    pub(crate) fn segments(&self) -> bool {
        self.ports().any(|port| port.offload.is_enabled())
    }

    /// Interfaces have changed.
    pub(crate) fn forget_refusals(&self) {
        self.ports().for_each(|port| port.offload.forget());
    }

    fn ports(&self) -> impl Iterator<Item = &Port> {
        self.v4.iter().chain(&self.v6)
    }

    pub(crate) fn send(
        &self,
        outbox: &Outbox,
        mode: SendMode,
        routes: impl Fn() -> Arc<Routes>,
        counters: &Counters,
    ) -> SendReport {
        let mut call = Call { sender: self, mode, routes: &routes, known: None, counters, report: SendReport::default(), full: false };
        let segments = self.segments();
        let mut datagrams = outbox.datagrams();
        while datagrams.len() > 0 {
            let taken = if segments && datagrams.len() > 1 {
                call.run::<MAX_PARTS>(datagrams.clone(), true)
            } else {
                call.run::<8>(datagrams.clone(), false)
            };
            datagrams.nth(taken - 1);
        }
        let report = call.report;
        add(&counters.sent_datagrams, report.sent);
        add(&counters.send_full, report.full);
        add(&counters.send_failed, report.failed);
        report
    }
}

/// One call of [`Sender::send`].
struct Call<'s, R> {
    sender: &'s Sender,
    mode: SendMode,
    routes: &'s R,
    /// Fetched when the first multicast destination turns up.
    known: Option<Arc<Routes>>,
    counters: &'s Counters,
    report: SendReport,
    /// A socket was full: the rest of a non-blocking call is dropped without asking again.
    full: bool,
}

impl<R: Fn() -> Arc<Routes>> Call<'_, R> {
    /// Sends the run at the start of `datagrams`, with up to `N` pieces; returns how many it took.
    fn run<'a, const N: usize>(
        &mut self,
        mut datagrams: impl Iterator<Item = Datagram<'a>> + Clone,
        offload: bool,
    ) -> usize {
        let mut parts = [IoSlice::new(&[]); N];
        let Some(run) = Run::gather(datagrams.clone(), &mut parts, offload) else {
            // More pieces than the list holds.
            datagrams.next().inspect(|datagram| self.joined(datagram));
            return 1;
        };
        let Some(first) = datagrams.clone().next() else { return 1 };
        for destination in first.destinations() {
            let Some((port, address)) = self.sender.port(destination) else {
                self.report.skipped += run.count;
                continue;
            };
            let pieces = &parts[..run.parts];
            if run.count > 1 && port.offload.allows(address.ip(), run.segment) {
                let result = self.to_all_outlets(port, address, pieces, Some(run.segment));
                match result {
                    Err(error) if port.offload.learn(&error, address.ip(), run.segment) => {
                        add(&self.counters.segmentation_refused, 1);
                    }
                    result => {
                        self.count(result, run.count, run.octets);
                        continue;
                    }
                }
            }
            if run.count == 1 {
                let result = self.to_all_outlets(port, address, pieces, None);
                self.count(result, 1, run.octets);
            } else {
                datagrams.clone().take(run.count).for_each(|datagram| self.alone(&datagram, port, address));
            }
        }
        run.count
    }

    /// Sends one datagram of a run to one of its destinations.
    fn alone(&mut self, datagram: &Datagram<'_>, port: &Port, address: SocketAddr) {
        let mut parts = [IoSlice::new(&[]); MAX_PARTS];
        let used = scatter(datagram, &mut parts).unwrap_or_default();
        let result = self.to_all_outlets(port, address, &parts[..used], None);
        self.count(result, 1, datagram.len());
    }

    /// Sends a datagram of very many pieces as one copy.
    fn joined(&mut self, datagram: &Datagram<'_>) {
        let mut bytes = Vec::with_capacity(datagram.len());
        datagram.copy_to(&mut bytes);
        for destination in datagram.destinations() {
            match self.sender.port(destination) {
                Some((port, address)) => {
                    let result = self.to_all_outlets(port, address, &[IoSlice::new(&bytes)], None);
                    self.count(result, 1, bytes.len());
                }
                None => self.report.skipped += 1,
            }
        }
    }

    /// Unicast goes where the kernel routes it, multicast out of every outlet. Of several outlets one
    /// that works is enough.
    fn to_all_outlets(
        &mut self,
        port: &Port,
        address: SocketAddr,
        parts: &[IoSlice<'_>],
        segment: Option<usize>,
    ) -> io::Result<()> {
        if self.full && self.mode == SendMode::NonBlocking {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let to = SockAddr::from(address);
        if !address.ip().is_multicast() {
            return self.once(port, &to, parts, segment, None);
        }
        let routes = Arc::clone(self.known.get_or_insert_with(self.routes));
        let mut result = Err(io::Error::from_raw_os_error(libc::ENETUNREACH));
        for outlet in routes.outlets(address.ip()) {
            match self.once(port, &to, parts, segment, Some(outlet)) {
                // Sending one by one must not repeat what an outlet before this one has sent; it may be
                // a duplicate there, which readers discard, but it must not be a loss here.
                Err(error) if segment.is_some() => return Err(error),
                Err(error) => result = result.or(Err(error)),
                Ok(()) => result = Ok(()),
            }
        }
        result
    }

    fn once(
        &self,
        port: &Port,
        to: &SockAddr,
        parts: &[IoSlice<'_>],
        segment: Option<usize>,
        outlet: Option<&Outlet>,
    ) -> io::Result<()> {
        let mut control = Control::new();
        if let Some(size) = segment.and_then(|size| u16::try_from(size).ok()) {
            control.segment(size);
        }
        match outlet.map(|outlet| (outlet.interface, outlet.source)) {
            Some((interface, IpAddr::V4(source))) => control.out_of_v4(interface, source),
            Some((interface, IpAddr::V6(source))) => control.out_of_v6(interface, source),
            None => {}
        }
        add(&self.counters.send_calls, 1);
        let socket: BorrowedFd<'_> = port.socket.as_fd();
        sys::send_message(socket, to, parts, &control, self.mode == SendMode::Blocking)
    }

    fn count(&mut self, result: io::Result<()>, datagrams: usize, octets: usize) {
        match outcome(result) {
            Outcome::Sent => {
                self.report.sent += datagrams;
                add(&self.counters.sent_octets, octets);
            }
            Outcome::Full => {
                self.report.full += datagrams;
                self.full = true;
            }
            Outcome::Failed(number) => {
                self.report.failed += datagrams;
                self.report.last_error = number.or(self.report.last_error);
            }
        }
    }
}

fn outcome(result: io::Result<()>) -> Outcome {
    match result {
        Ok(()) => Outcome::Sent,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Outcome::Full,
        // The queue of the interface was full.
        Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => Outcome::Full,
        Err(error) => Outcome::Failed(error.raw_os_error()),
    }
}

#[cfg(test)]
impl Sender {
    /// Makes the kernel refuse to segment, as devices and routes that cannot do it.
    pub(crate) fn refuse_segmentation(&self) {
        for port in self.ports() {
            sys::set_option(port.socket.as_fd(), sys::IntOption::NO_CHECK, 1).expect("a known option");
        }
    }
}
