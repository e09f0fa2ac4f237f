//! The sockets of one participant on a simulated node.

use std::io;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use dunlin_buf::{BufPool, Outbox, SharedBytes};
use dunlin_core::defaults::{LARGEST_DATAGRAM, MAX_PARTICIPANT_INDEX};
use dunlin_core::{DomainId, Locator, LocatorKind, MonoTime};
use dunlin_driver::machine::{Pump, Sockets};
use dunlin_driver::{DriverConfig, JoinError, ReceiveConfig};
use dunlin_shm::ShmConfig;
use dunlin_transport::{
    Channel, Locators, RecvMode, SendMode, SendReport, Transport, TransportStats, closed,
};
use dunlin_udp::{MulticastUse, ParticipantIndex, UdpConfig};

use crate::mutex::lock;

/// Ports of participants without an index begin here.
const EPHEMERAL: u16 = 40_000;

/// What a port needs of the machine that has it.
pub(crate) trait PortHost: Send + Sync + Sized + 'static {
    fn clock(&self) -> MonoTime;

    /// Puts a datagram on its way. `outside` says whether it may leave the node.
    fn send(&self, from: Locator, to: Locator, bytes: &SharedBytes, outside: bool);

    /// What is sent to the port no longer reaches the node, unless another one there hears it too.
    fn close(&self, port: &SimPort<Self>);

    /// Has the port [called](SimPort::ring) at a time.
    fn ring_at(&self, at: MonoTime, port: Weak<SimPort<Self>>);
}

pub(crate) struct SimPort<H> {
    machine: Arc<H>,
    me: Weak<Self>,
    domain: DomainId,
    index: u32,
    locators: Locators,
    /// Where it announces itself.
    announce_to: Vec<Locator>,
    /// Groups that it hears only when they are sent to on the same node.
    quiet_groups: Vec<Locator>,
    pump: OnceLock<Pump>,
    /// When the pump will be called; the earliest time if it will be several times.
    planned: Mutex<Option<MonoTime>>,
    sent_datagrams: AtomicU64,
    sent_octets: AtomicU64,
    received_datagrams: AtomicU64,
    received_octets: AtomicU64,
}

/// The first key that asks for what the simulated network does not have.
fn refused(config: &DriverConfig) -> Option<&'static str> {
    let udp = &config.udp;
    let keys = [
        (!udp.interfaces.is_empty(), "network.interfaces"),
        (!udp.ipv4, "network.ipv4"),
        (udp.ipv6, "network.ipv6"),
        (udp.multicast_ttl == 0, "network.multicast_ttl"),
        (config.tcp.is_some(), "tcp.*"),
        (!config.use_udp, "network.udp"),
        (config.shared_memory.enabled && config.shared_memory != ShmConfig::default(), "shared_memory.*"),
        (config.pcap.is_some(), "debug.pcap"),
        (config.fault.is_some(), "fault.*"),
        (config.receive != ReceiveConfig::default(), "receive.*"),
    ];
    keys.iter().find(|(asked, _)| *asked).map(|(_, key)| *key)
}

/// The unicast ports for discovery and for data.
fn unicast_ports(udp: &UdpConfig, index: u32) -> Option<(u16, u16)> {
    if udp.participant_index == ParticipantIndex::Ephemeral {
        let first = EPHEMERAL.checked_add(u16::try_from(index).ok()?.checked_mul(2)?)?;
        return Some((first, first + 1));
    }
    Some((udp.ports.metatraffic_unicast(udp.domain, index)?, udp.ports.user_unicast(udp.domain, index)?))
}

/// The lowest index that nobody on the node has, or the one that is asked for.
fn index(udp: &UdpConfig, taken: &[u32]) -> Option<u32> {
    let free = |index: &u32| !taken.contains(index);
    match udp.participant_index {
        ParticipantIndex::Fixed(index) => Some(index).filter(free),
        ParticipantIndex::Auto | ParticipantIndex::Ephemeral => (0..=MAX_PARTICIPANT_INDEX).find(free),
    }
}

impl<H: PortHost> SimPort<H> {
    /// # Errors
    /// When the configuration asks for what there is not, or no port is left.
    pub(crate) fn open(
        machine: &Arc<H>,
        address: Ipv4Addr,
        config: &DriverConfig,
        taken: &[u32],
    ) -> Result<Arc<Self>, JoinError> {
        if let Some(key) = refused(config) {
            return Err(JoinError::Simulated(key));
        }
        let udp = &config.udp;
        let domain = udp.domain;
        let out_of_ports = |index| JoinError::OutOfPorts { domain, index };
        let fixed = match udp.participant_index {
            ParticipantIndex::Fixed(index) => index,
            _ => MAX_PARTICIPANT_INDEX,
        };
        let index = index(udp, taken).ok_or(out_of_ports(fixed))?;
        let (meta, data) = unicast_ports(udp, index).ok_or(out_of_ports(index))?;
        let group = |port: Option<u16>, wanted: bool| {
            port.filter(|_| wanted).map(|port| Locator::udp_v4(udp.group_v4, port)).into_iter().collect()
        };
        let (meta_group, data_group) =
            (udp.ports.metatraffic_multicast(domain), udp.ports.user_multicast(domain));
        let off = udp.multicast == MulticastUse::Off;
        let never = udp.multicast == MulticastUse::Never;
        let locators = Locators {
            metatraffic_unicast: vec![Locator::udp_v4(address, meta)],
            metatraffic_multicast: group(meta_group, !off && !never),
            default_unicast: vec![Locator::udp_v4(address, data)],
            default_multicast: group(data_group, udp.multicast == MulticastUse::On),
        };
        Ok(Arc::new_cyclic(|me| Self {
            machine: Arc::clone(machine),
            me: me.clone(),
            domain,
            index,
            locators,
            announce_to: group(meta_group, !never),
            quiet_groups: group(meta_group, off),
            pump: OnceLock::new(),
            planned: Mutex::default(),
            sent_datagrams: AtomicU64::new(0),
            sent_octets: AtomicU64::new(0),
            received_datagrams: AtomicU64::new(0),
            received_octets: AtomicU64::new(0),
        }))
    }

    pub(crate) fn machine(&self) -> &Arc<H> {
        &self.machine
    }

    /// The domain and the participant index there.
    pub(crate) fn place(&self) -> (DomainId, u32) {
        (self.domain, self.index)
    }

    /// What it hears from other nodes.
    pub(crate) fn heard(&self) -> impl Iterator<Item = &Locator> {
        let Locators { metatraffic_unicast, metatraffic_multicast, default_unicast, default_multicast } =
            &self.locators;
        let lists = [metatraffic_unicast, metatraffic_multicast, default_unicast, default_multicast];
        lists.into_iter().flatten()
    }

    fn hears(&self, to: &Locator) -> bool {
        self.heard().chain(&self.quiet_groups).any(|heard| heard == to)
    }

    /// Hands a datagram to the participant, if it is for it.
    pub(crate) fn receive(&self, from: Locator, to: &Locator, bytes: &SharedBytes) {
        let Some(pump) = self.pump.get().filter(|_| self.hears(to)) else { return };
        self.received_datagrams.fetch_add(1, Relaxed);
        self.received_octets.fetch_add(bytes.len() as u64, Relaxed);
        pump.receive(from, bytes);
    }

    /// Calls the participant if that was planned for now and not brought forward since.
    pub(crate) fn ring(&self, at: MonoTime) {
        let mut planned = lock(&self.planned);
        if *planned != Some(at) {
            return;
        }
        *planned = None;
        drop(planned);
        if let Some(pump) = self.pump.get() {
            pump.run_timers();
        }
        self.plan();
    }

    /// As [`plan`](Self::plan), for a plan that was passed over.
    pub(crate) fn plan_anew(&self) {
        *lock(&self.planned) = None;
        self.plan();
    }

    /// Sees to it that the participant is called when it wants to be.
    fn plan(&self) {
        let deadline = self.pump.get().map_or(MonoTime::MAX, Pump::next_deadline);
        if deadline < MonoTime::MAX {
            self.wake_by(deadline);
        }
    }

    fn send_one(&self, bytes: &SharedBytes, to: Locator) {
        let outside = !self.quiet_groups.contains(&to);
        let from = self.locators.metatraffic_unicast.first().copied().unwrap_or(Locator::INVALID);
        self.sent_datagrams.fetch_add(1, Relaxed);
        self.sent_octets.fetch_add(bytes.len() as u64, Relaxed);
        self.machine.send(from, to, bytes, outside);
    }
}

impl<H: PortHost> Transport for SimPort<H> {
    fn name(&self) -> &'static str {
        "simulated"
    }

    fn carries(&self, locator: &Locator) -> bool {
        locator.kind == LocatorKind::UDP_V4
    }

    fn channels(&self) -> &[Channel] {
        &[]
    }

    fn send(&self, datagrams: &Outbox, _mode: SendMode) -> SendReport {
        let mut report = SendReport::default();
        for datagram in datagrams.datagrams() {
            let mut bytes = Vec::with_capacity(datagram.len());
            datagram.copy_to(&mut bytes);
            let bytes = SharedBytes::from(bytes);
            for to in datagram.destinations() {
                if !self.carries(to) {
                    report.skipped += 1;
                } else if bytes.len() > LARGEST_DATAGRAM {
                    report.failed += 1;
                } else {
                    self.send_one(&bytes, *to);
                    report.sent += 1;
                }
            }
        }
        report
    }

    fn recv(
        &self,
        _channel: Channel,
        _mode: RecvMode,
        _pool: &mut BufPool,
        _out: &mut Vec<(SharedBytes, Locator)>,
    ) -> io::Result<()> {
        // What arrives is handed to the pump.
        Err(closed())
    }

    fn shutdown(&self) {
        self.machine.close(self);
    }

    fn locators(&self) -> Locators {
        self.locators.clone()
    }

    fn announce_to(&self) -> Vec<Locator> {
        self.announce_to.clone()
    }

    fn max_message_size(&self) -> usize {
        LARGEST_DATAGRAM
    }

    fn stats(&self) -> TransportStats {
        TransportStats {
            sent_datagrams: self.sent_datagrams.load(Relaxed),
            sent_octets: self.sent_octets.load(Relaxed),
            received_datagrams: self.received_datagrams.load(Relaxed),
            received_octets: self.received_octets.load(Relaxed),
            ..TransportStats::default()
        }
    }
}

impl<H: PortHost> Sockets for SimPort<H> {
    fn attach(&self, pump: Pump) {
        // Called once, by whoever opened the port.
        let _ = self.pump.set(pump);
    }

    fn wake_by(&self, deadline: MonoTime) {
        let mut planned = lock(&self.planned);
        let at = deadline.max(self.machine.clock());
        if planned.is_none_or(|planned| at < planned) {
            *planned = Some(at);
            self.machine.ring_at(at, self.me.clone());
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn configuration_keys_without_effect_in_the_simulation_are_refused() {
        let with = |change: fn(&mut DriverConfig)| {
            let mut config = DriverConfig::default();
            change(&mut config);
            refused(&config)
        };
        assert_eq!(with(|_| {}), None);
        assert_eq!(with(|config| config.interface_poll = Duration::from_secs(9)), None);
        assert_eq!(with(|config| config.udp.interfaces.push("lo".into())), Some("network.interfaces"));
        assert_eq!(with(|config| config.udp.ipv4 = false), Some("network.ipv4"));
        assert_eq!(with(|config| config.udp.ipv6 = true), Some("network.ipv6"));
        assert_eq!(with(|config| config.udp.multicast_ttl = 0), Some("network.multicast_ttl"));
        assert_eq!(with(|config| config.tcp = Some(Default::default())), Some("tcp.*"));
        assert_eq!(with(|config| config.use_udp = false), Some("network.udp"));
        assert_eq!(with(|config| config.shared_memory.enabled = false), None);
        assert_eq!(with(|config| config.shared_memory.ring_size *= 2), Some("shared_memory.*"));
        assert_eq!(with(|config| config.pcap = Some("x".into())), Some("debug.pcap"));
        assert_eq!(with(|config| config.fault = Some(Default::default())), Some("fault.*"));
    }

    #[test]
    fn indices_are_the_lowest_free_or_the_one_asked_for() {
        let mut udp = UdpConfig::default();
        assert_eq!(index(&udp, &[0, 2]), Some(1));
        assert_eq!(unicast_ports(&udp, 1), Some((7412, 7413)));
        udp.participant_index = ParticipantIndex::Fixed(2);
        assert_eq!((index(&udp, &[0, 2]), index(&udp, &[0])), (None, Some(2)));
        udp.participant_index = ParticipantIndex::Ephemeral;
        assert_eq!(unicast_ports(&udp, 1), Some((40_002, 40_003)));
    }
}
