//! A network inside the process, for tests: no sockets, nothing lost unless a queue is full.

use std::collections::VecDeque;
use std::io;
use std::net::Ipv4Addr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

use dunlin_buf::{BufPool, Datagram, Outbox, SharedBytes};
use dunlin_core::defaults::LARGEST_DATAGRAM;
use dunlin_core::{DomainId, Locator, LocatorKind, PortParameters};

use crate::{Channel, Locators, RecvMode, SendMode, SendReport, Transport, closed};

/// Datagrams a channel holds before it is full.
const QUEUE: usize = 1024;
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 0, 1);

/// A network; every transport attached to it reaches every other.
#[derive(Default)]
pub struct MemoryNetwork {
    members: Mutex<Members>,
}

#[derive(Default)]
struct Members {
    next_host: u32,
    all: Vec<Weak<Inbox>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MemoryNetwork {
    /// An empty network.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// A transport with an address of its own, on the well-known ports of `domain` (modulo 232).
    #[must_use]
    pub fn attach(self: &Arc<Self>, domain: DomainId) -> Arc<MemoryTransport> {
        let mut members = lock(&self.members);
        members.next_host += 1;
        let address = Ipv4Addr::from(0x0a00_0000 | members.next_host & 0x00ff_ffff);
        let ports = PortParameters::default();
        let port = |port: Option<u16>| port.unwrap_or_default();
        let domain = domain % 232;
        let one = |ip, p| vec![Locator::udp_v4(ip, port(p))];
        let locators = Locators {
            metatraffic_unicast: one(address, ports.metatraffic_unicast(domain, 0)),
            metatraffic_multicast: one(GROUP, ports.metatraffic_multicast(domain)),
            default_unicast: one(address, ports.user_unicast(domain, 0)),
            default_multicast: one(GROUP, ports.user_multicast(domain)),
        };
        let inbox = Arc::new(Inbox { locators, queues: Default::default() });
        members.all.retain(|member| member.strong_count() > 0);
        members.all.push(Arc::downgrade(&inbox));
        Arc::new(MemoryTransport { network: Arc::clone(self), inbox })
    }

    fn receivers(&self, destination: &Locator) -> Vec<(Arc<Inbox>, Channel)> {
        let members = lock(&self.members);
        let alive = members.all.iter().filter_map(Weak::upgrade);
        alive.filter_map(|inbox| inbox.channel_of(destination).map(|channel| (inbox, channel))).collect()
    }
}

#[derive(Default)]
struct Queue {
    state: Mutex<QueueState>,
    arrived: Condvar,
    taken: Condvar,
}

#[derive(Default)]
struct QueueState {
    datagrams: VecDeque<(SharedBytes, Locator)>,
    closed: bool,
}

struct Inbox {
    locators: Locators,
    queues: [Queue; 3],
}

impl Inbox {
    fn channel_of(&self, destination: &Locator) -> Option<Channel> {
        let here = |list: &[Locator]| list.contains(destination);
        let locators = &self.locators;
        if here(&locators.default_unicast) {
            Some(Channel::Data)
        } else if here(&locators.metatraffic_unicast) || here(&locators.metatraffic_multicast) {
            Some(Channel::Meta)
        } else {
            here(&locators.default_multicast).then_some(Channel::DataMulticast)
        }
    }

    fn queue(&self, channel: Channel) -> &Queue {
        let [data, meta, group] = &self.queues;
        match channel {
            Channel::Data => data,
            Channel::Meta => meta,
            Channel::DataMulticast | Channel::DataShared | Channel::Added(_) => group,
        }
    }
}

impl Queue {
    /// False if the queue stayed full.
    fn push(&self, bytes: SharedBytes, from: Locator, mode: SendMode) -> bool {
        let mut state = lock(&self.state);
        while state.datagrams.len() >= QUEUE && !state.closed {
            if mode == SendMode::NonBlocking {
                return false;
            }
            state = self.taken.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if !state.closed {
            state.datagrams.push_back((bytes, from));
            self.arrived.notify_one();
        }
        true
    }
}

/// One end of a [`MemoryNetwork`].
pub struct MemoryTransport {
    network: Arc<MemoryNetwork>,
    inbox: Arc<Inbox>,
}

impl MemoryTransport {
    fn source(&self) -> Locator {
        self.inbox.locators.default_unicast.first().copied().unwrap_or_default()
    }

    fn send_to(&self, datagram: &Datagram<'_>, destination: &Locator, mode: SendMode) -> SendReport {
        if datagram.len() > LARGEST_DATAGRAM {
            return SendReport { failed: 1, ..SendReport::default() };
        }
        let mut bytes = Vec::with_capacity(datagram.len());
        datagram.copy_to(&mut bytes);
        let bytes = SharedBytes::from(bytes);
        let mut all_fit = true;
        for (inbox, channel) in self.network.receivers(destination) {
            all_fit &= inbox.queue(channel).push(bytes.clone(), self.source(), mode);
        }
        SendReport { sent: all_fit.into(), full: (!all_fit).into(), ..SendReport::default() }
    }
}

impl Transport for MemoryTransport {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn carries(&self, locator: &Locator) -> bool {
        locator.kind == LocatorKind::UDP_V4
    }

    fn channels(&self) -> &[Channel] {
        &[Channel::Data, Channel::Meta, Channel::DataMulticast]
    }

    fn send(&self, datagrams: &Outbox, mode: SendMode) -> SendReport {
        let mut report = SendReport::default();
        for datagram in datagrams.datagrams() {
            for destination in datagram.destinations() {
                if self.carries(destination) {
                    report.add(self.send_to(&datagram, destination, mode));
                } else {
                    report.skipped += 1;
                }
            }
        }
        report
    }

    fn recv(
        &self,
        channel: Channel,
        mode: RecvMode,
        _pool: &mut BufPool,
        out: &mut Vec<(SharedBytes, Locator)>,
    ) -> io::Result<()> {
        let queue = self.inbox.queue(channel);
        let mut state = lock(&queue.state);
        while mode == RecvMode::Blocking && state.datagrams.is_empty() && !state.closed {
            state = queue.arrived.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.closed {
            return Err(closed());
        }
        out.extend(state.datagrams.pop_front());
        queue.taken.notify_one();
        Ok(())
    }

    fn shutdown(&self) {
        for queue in &self.inbox.queues {
            lock(&queue.state).closed = true;
            queue.arrived.notify_all();
            queue.taken.notify_all();
        }
    }

    fn locators(&self) -> Locators {
        self.inbox.locators.clone()
    }

    fn max_message_size(&self) -> usize {
        LARGEST_DATAGRAM
    }
}
