//! The transport itself: sockets, routes and groups put together.

use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use dunlin_buf::{BufPool, Outbox, SharedBytes};
use dunlin_core::{Locator, Path};
use dunlin_transport::{
    Channel, Locators, RecvMode, SendMode, SendReport, Transport, TransportStats, closed,
};
use socket2::Socket;

use crate::bind::{self, Unicast};
use crate::counters::Counters;
use crate::groups::Groups;
use crate::interface::{self, Interface};
use crate::receive::{self, Receiver, Receivers};
use crate::route::{BoundPorts, Routes};
use crate::send::Sender;
use crate::{Family, MulticastUse, UdpConfig, broadcast, buffers};

/// Datagrams, or runs of them, taken at a time from one socket of discovery.
const META_BURST: usize = 256;

/// UDP sockets of one process in one domain.
pub struct UdpTransport {
    config: UdpConfig,
    ports: BoundPorts,
    sender: Sender,
    channels: Vec<Channel>,
    data: Receivers,
    meta: Receivers,
    data_group: Receivers,
    stopped: AtomicBool,
    counters: Counters,
    routes: RwLock<Arc<Routes>>,
    hosts: Mutex<Host>,
    notes: Vec<String>,
}

/// What follows the interfaces.
struct Host {
    interfaces: Vec<Interface>,
    groups: Groups,
}

/// Sockets being opened.
#[derive(Default)]
struct Opening {
    notes: Vec<String>,
    groups: Vec<(Family, Arc<Socket>)>,
}

impl Opening {
    fn receiver(&mut self, config: &UdpConfig, socket: Socket, what: &str) -> io::Result<Receiver> {
        if let Some(shortage) = buffers::set_receive(&socket, config.receive_buffer)? {
            self.notes.push(format!("{what}: {shortage}"));
        }
        Ok(Receiver::new(Arc::new(socket), config.receive_offload))
    }

    fn unicast(&mut self, config: &UdpConfig, unicast: Unicast) -> io::Result<Vec<Receiver>> {
        let what = format!("port {}", unicast.port);
        unicast.sockets.into_iter().map(|(_, socket)| self.receiver(config, socket, &what)).collect()
    }

    fn group(&mut self, config: &UdpConfig, port: u16) -> io::Result<Vec<Receiver>> {
        let mut receivers = Vec::new();
        for family in config.families() {
            let group: IpAddr = match family {
                Family::V4 => config.group_v4.into(),
                Family::V6 => config.group_v6.into(),
            };
            let socket = bind::group(family, group, port)?;
            let receiver = self.receiver(config, socket, &format!("multicast port {port}"))?;
            self.groups.push((family, receiver.socket()));
            receivers.push(receiver);
        }
        Ok(receivers)
    }

    fn broadcast(&mut self, config: &UdpConfig, port: u16) -> io::Result<Vec<Receiver>> {
        let sockets = broadcast::receiving(config, port)?;
        let what = format!("broadcast port {port}");
        sockets.into_iter().map(|socket| self.receiver(config, socket, &what)).collect()
    }
}

fn check(config: &UdpConfig) -> io::Result<(u16, u16)> {
    let refuse = |text: String| Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    if config.families().next().is_none() {
        return refuse("neither IPv4 nor IPv6 is switched on".into());
    }
    if let Some(why) = broadcast::refusal(config) {
        return refuse(why);
    }
    for group in [IpAddr::from(config.group_v4), config.group_v6.into()] {
        if !group.is_multicast() {
            return refuse(format!("{group} is not a multicast address"));
        }
    }
    let (meta, data) =
        (config.ports.metatraffic_multicast(config.domain), config.ports.user_multicast(config.domain));
    match (meta, data) {
        (Some(meta), Some(data)) => Ok((meta, data)),
        _ => refuse(format!("domain {} has no ports below 65536", config.domain)),
    }
}

impl UdpTransport {
    /// Opens the sockets.
    ///
    /// # Errors
    /// Of kind `InvalidInput` for a configuration that makes no sense, `NotFound` for an interface that
    /// does not exist, and those of the operating system; each says what could not be done.
    pub fn open(config: UdpConfig) -> io::Result<Self> {
        let (meta_group, data_group) = check(&config)?;
        let interfaces = interface::all()?;
        let mut opening = Opening::default();
        let bound = bind::unicast(&config, &bind::addresses(&config, &interfaces))?;
        let ports = BoundPorts { meta: bound.meta.port, data: bound.data.port };
        let routes = Routes::plan(&config, &interfaces, ports);
        if let Some(unknown) = routes.unmatched.first() {
            let there = interface::list(&interfaces);
            let text = format!("no interface matches {unknown:?}; this host has {there}");
            return Err(io::Error::new(io::ErrorKind::NotFound, text));
        }
        let mut meta = opening.unicast(&config, bound.meta)?;
        if config.multicast != MulticastUse::Never {
            meta.extend(opening.group(&config, meta_group)?);
        }
        if broadcast::is_on(&config) {
            meta.extend(opening.broadcast(&config, meta_group)?);
        }
        let data = opening.unicast(&config, bound.data)?;
        let mut channels = vec![Channel::Meta, Channel::Data];
        let mut data_receivers = Vec::new();
        if config.multicast == MulticastUse::On {
            channels.push(Channel::DataMulticast);
            data_receivers = opening.group(&config, data_group)?;
        } else if broadcast::carries_data(&config) {
            channels.push(Channel::DataMulticast);
            data_receivers = opening.broadcast(&config, data_group)?;
        }
        let sender = Sender::open(&config)?;
        let mut groups = Groups::new(config.group_v4, config.group_v6, opening.groups);
        groups.follow(&routes.members);
        let mut notes = opening.notes;
        notes.extend(sender.notes.iter().cloned());
        if config.multicast != MulticastUse::Never {
            notes.extend(complaints(&routes, &groups, &interfaces));
        }
        Ok(Self {
            config,
            ports,
            sender,
            channels,
            data: Receivers { sockets: data, burst: 1 },
            meta: Receivers { sockets: meta, burst: META_BURST },
            data_group: Receivers { sockets: data_receivers, burst: 1 },
            stopped: AtomicBool::new(false),
            counters: Counters::default(),
            routes: RwLock::new(Arc::new(routes)),
            hosts: Mutex::new(Host { interfaces, groups }),
            notes,
        })
    }

    /// The unicast ports: discovery, user data.
    #[must_use]
    pub fn unicast_ports(&self) -> (u16, u16) {
        (self.ports.meta, self.ports.data)
    }

    /// True if runs of datagrams leave in one system call.
    #[must_use]
    pub fn segmentation_offload(&self) -> bool {
        self.sender.segments()
    }

    fn routes(&self) -> Arc<Routes> {
        Arc::clone(&self.routes.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn receivers(&self, channel: Channel) -> Option<&Receivers> {
        match channel {
            Channel::Data => Some(&self.data),
            Channel::Meta => Some(&self.meta),
            Channel::DataMulticast => Some(&self.data_group),
            Channel::DataShared | Channel::Added(_) => None,
        }
    }

    /// Adapts to the interfaces given; true if others must be told.
    fn follow(&self, interfaces: Vec<Interface>) -> bool {
        let mut host = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if host.interfaces == interfaces {
            host.groups.retry();
            return false;
        }
        let routes = Routes::plan(&self.config, &interfaces, self.ports);
        host.groups.follow(&routes.members);
        host.interfaces = interfaces;
        self.sender.forget_refusals();
        let mut current = self.routes.write().unwrap_or_else(PoisonError::into_inner);
        // New interfaces to announce on matter to others even if our addresses are the same.
        let changed = current.locators != routes.locators
            || current.outlets_v4 != routes.outlets_v4
            || current.outlets_v6 != routes.outlets_v6
            || current.broadcasts != routes.broadcasts;
        *current = Arc::new(routes);
        changed
    }
}

/// What is wrong with the interfaces, in sentences.
fn complaints(routes: &Routes, groups: &Groups, interfaces: &[Interface]) -> Vec<String> {
    let name = |index: u32| interfaces.iter().find(|i| i.index == index).map_or("?", |i| i.name.as_str());
    let failed = groups.failures().map(|(index, reason)| {
        format!("could not join the multicast group on interface {}: {reason}", name(index))
    });
    let mut all: Vec<String> = failed.collect();
    if routes.outlets_v4.is_empty() && routes.outlets_v6.is_empty() {
        let there = interface::list(interfaces);
        all.push(format!(
            "no interface can multicast, so only peers given by address are found; this host has {there}"
        ));
    }
    all
}

impl Transport for UdpTransport {
    fn name(&self) -> &'static str {
        "udp"
    }

    fn carries(&self, locator: &Locator) -> bool {
        self.sender.carries(locator)
    }

    fn channels(&self) -> &[Channel] {
        &self.channels
    }

    fn send(&self, datagrams: &Outbox, mode: SendMode) -> SendReport {
        self.sender.send(datagrams, mode, || self.routes(), &self.counters)
    }

    fn recv(
        &self,
        channel: Channel,
        mode: RecvMode,
        pool: &mut BufPool,
        out: &mut Vec<(SharedBytes, Locator)>,
    ) -> io::Result<()> {
        let receivers = self.receivers(channel).filter(|receivers| !receivers.sockets.is_empty());
        let Some(receivers) = receivers else { return Err(closed()) };
        receivers.receive(mode, &self.stopped, pool, out, &self.counters)
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
        let watched = channels.iter().filter_map(|channel| Some((*channel, self.receivers(*channel)?)));
        receive::wait(watched, &self.stopped, ready, patience)
    }

    fn shutdown(&self) {
        self.stopped.store(true, Relaxed);
        [&self.data, &self.meta, &self.data_group].into_iter().for_each(Receivers::wake);
    }

    fn locators(&self) -> Locators {
        self.routes().locators.clone()
    }

    fn source_ports(&self) -> Vec<u16> {
        self.sender.source_ports.clone()
    }

    fn announce_to(&self) -> Vec<Locator> {
        self.routes().announce_to.clone()
    }

    fn max_message_size(&self) -> usize {
        self.routes().max_message_size
    }

    fn path(&self, to: &Locator) -> Path {
        let address = to.to_socket_addr();
        let within = address.and_then(|to| self.routes().within_host(to.ip()));
        Path {
            max_message: within.unwrap_or(0),
            same_host: within.is_some(),
            in_frames: within.is_none() && address.is_some_and(|to| !to.ip().is_multicast()),
            ..Path::unknown(to.kind)
        }
    }

    fn receive_room(&self) -> usize {
        [&self.data, &self.data_group].into_iter().filter_map(Receivers::room).min().unwrap_or(0)
    }

    fn refresh(&self) -> bool {
        interface::all().is_ok_and(|interfaces| self.follow(interfaces))
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn stats(&self) -> TransportStats {
        let all = [&self.data, &self.meta, &self.data_group];
        self.counters.read(all.into_iter().map(Receivers::overflow).sum())
    }
}

#[cfg(test)]
mod tests;
