//! Sending: runs of datagrams as scatter lists, with segmentation where the kernel has it.

use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use dunlin_buf::{Datagram, Outbox};
use dunlin_core::{Locator, LocatorKind};
use dunlin_transport::{SendMode, SendReport};
use socket2::{SockAddr, Socket};

use crate::broadcast::Broadcast;
use crate::counters::{Counters, add};
use crate::route::{Outlet, Routes};
use crate::segment::{MAX_PARTS, Offload, Run, is_refusal, scatter};
use crate::sys::{self, Control};
use crate::{Family, UdpConfig, bind, buffers};

/// Pieces of a datagram that needs no long list.
const FEW_PARTS: usize = 8;

/// The sockets everything is sent from, one for each IP version.
pub(crate) struct Sender {
    v4: Option<Port>,
    v6: Option<Port>,
    broadcast: Option<Broadcast>,
    /// The ports that everything is sent from.
    pub(crate) source_ports: Vec<u16>,
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
        let broadcast = Broadcast::open(config)?;
        let broadcasts_from =
            broadcast.as_ref().map(|it| bind::any_port(&it.socket, Family::V4)).transpose()?;
        let source_ports = broadcasts_from.into_iter().collect();
        let mut sender = Self { v4: None, v6: None, broadcast, source_ports, notes: Vec::new() };
        for family in config.families() {
            let socket = bind::open(family)?;
            sender.source_ports.push(bind::any_port(&socket, family)?);
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
        let mut call = Call {
            sender: self,
            mode,
            routes: &routes,
            known: None,
            counters,
            report: SendReport::default(),
            class: 0,
            full: false,
        };
        let segments = self.segments();
        let mut datagrams = outbox.datagrams();
        while datagrams.len() > 0 {
            // The long list costs a little to set up, so it is used only where a run may begin.
            let taken = if segments && begins_run(datagrams.clone()) {
                call.run::<MAX_PARTS>(datagrams.clone(), true)
            } else {
                call.run::<FEW_PARTS>(datagrams.clone(), false)
            };
            let taken = taken.or_else(|| call.run::<MAX_PARTS>(datagrams.clone(), false));
            datagrams.nth(taken.unwrap_or_else(|| call.joined(datagrams.clone())) - 1);
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
    /// How urgent what is being sent is.
    class: u8,
    /// A socket was full: the rest of a non-blocking call is dropped without asking again.
    full: bool,
}

impl<R: Fn() -> Arc<Routes>> Call<'_, R> {
    /// Sends the run at the start of `datagrams`, with up to `N` pieces; returns how many datagrams it
    /// took, `None` if the first one has more pieces.
    fn run<'a, const N: usize>(
        &mut self,
        datagrams: impl Iterator<Item = Datagram<'a>> + Clone,
        offload: bool,
    ) -> Option<usize> {
        let mut parts = [IoSlice::new(&[]); N];
        let run = Run::gather(datagrams.clone(), &mut parts, offload)?;
        self.class = run.class;
        for destination in datagrams.clone().next()?.destinations() {
            let Some((port, address)) = self.sender.port(destination) else {
                self.report.skipped += run.count;
                continue;
            };
            let pieces = &parts[..run.parts];
            if run.count == 1 {
                let result = self.transmit(port, address, pieces, None);
                self.count(result, 1, run.octets);
            } else if !self.segmented(port, address, pieces, run) {
                datagrams.clone().take(run.count).for_each(|datagram| self.alone(&datagram, port, address));
            }
        }
        Some(run.count)
    }

    /// Sends a run in one piece; false if the kernel does not do that.
    fn segmented(&mut self, port: &Port, to: SocketAddr, pieces: &[IoSlice<'_>], run: Run) -> bool {
        let broadcast = self.sender.broadcast.as_ref().is_some_and(|it| it.replaces(to));
        if broadcast || !port.offload.allows(to.ip(), run.segment) {
            return false;
        }
        match self.transmit(port, to, pieces, Some(run.segment)) {
            Err(error) if port.offload.learn(&error, to.ip(), run.segment) => {
                add(&self.counters.segmentation_refused, 1);
                false
            }
            result => {
                self.count(result, run.count, run.octets);
                true
            }
        }
    }

    /// Sends one datagram of a run to one of its destinations.
    fn alone(&mut self, datagram: &Datagram<'_>, port: &Port, address: SocketAddr) {
        let mut parts = [IoSlice::new(&[]); MAX_PARTS];
        let used = scatter(datagram, &mut parts).unwrap_or_default();
        let result = self.transmit(port, address, &parts[..used], None);
        self.count(result, 1, datagram.len());
    }

    /// Sends the first datagram, which has very many pieces, as one copy; returns 1.
    fn joined<'a>(&mut self, mut datagrams: impl Iterator<Item = Datagram<'a>>) -> usize {
        let Some(datagram) = datagrams.next() else { return 1 };
        let mut bytes = Vec::with_capacity(datagram.len());
        datagram.copy_to(&mut bytes);
        self.class = datagram.class();
        for destination in datagram.destinations() {
            match self.sender.port(destination) {
                Some((port, address)) => {
                    let result = self.transmit(port, address, &[IoSlice::new(&bytes)], None);
                    self.count(result, 1, bytes.len());
                }
                None => self.report.skipped += 1,
            }
        }
        1
    }

    /// Unicast goes where the kernel routes it, multicast out of every outlet. Of several outlets one
    /// that works is enough.
    fn transmit(
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
            return self.once(&port.socket, &to, parts, segment, None);
        }
        let routes = Arc::clone(self.known.get_or_insert_with(self.routes));
        let broadcast = self.sender.broadcast.as_ref().filter(|it| it.replaces(address));
        if let Some(broadcast) = broadcast {
            let result = self.broadcast(broadcast, address.port(), parts, &routes.broadcasts);
            if broadcast.is_enough(address) {
                return result;
            }
        }
        let mut result = Err(io::Error::from_raw_os_error(libc::ENETUNREACH));
        for outlet in routes.outlets(address.ip()) {
            match self.once(&port.socket, &to, parts, segment, Some(outlet)) {
                // The run goes out again one by one. Where an outlet before this one has sent it, readers
                // discard the second copy.
                Err(error) if segment.is_some() && is_refusal(&error) => return Err(error),
                Err(error) => result = result.or(Err(error)),
                Ok(()) => result = Ok(()),
            }
        }
        result
    }

    /// Sends what is for the group to the broadcast addresses; one that works is enough.
    fn broadcast(
        &self,
        broadcast: &Broadcast,
        port: u16,
        parts: &[IoSlice<'_>],
        outlets: &[Outlet],
    ) -> io::Result<()> {
        let limited = outlets.iter().filter_map(|outlet| Some((broadcast.limited(port)?, Some(outlet))));
        let places = broadcast.directed(port).map(|to| (to, None)).chain(limited);
        let mut result = Err(io::Error::from_raw_os_error(libc::ENETUNREACH));
        for (to, outlet) in places {
            let sent = self.once(&broadcast.socket, &to, parts, None, outlet);
            result = if sent.is_ok() { sent } else { result.or(sent) };
        }
        result
    }

    fn once(
        &self,
        socket: &Socket,
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
        match to.is_ipv6() {
            _ if self.class == 0 => {}
            false => control.class_v4(self.class),
            true => control.class_v6(self.class),
        }
        add(&self.counters.send_calls, 1);
        let socket: BorrowedFd<'_> = socket.as_fd();
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

/// True if the first two datagrams may belong to one run.
fn begins_run<'a>(mut datagrams: impl Iterator<Item = Datagram<'a>>) -> bool {
    let (Some(first), Some(second)) = (datagrams.next(), datagrams.next()) else { return false };
    second.len() <= first.len()
        && second.class() == first.class()
        && first.destinations() == second.destinations()
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
