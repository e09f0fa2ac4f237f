//! A receive group: one transport, its threads, and the participants that share them.

use crate::clock;
use crate::config::{DriverConfig, JoinError};
use crate::context::{drain_local, mark_receive_thread, put_output, queue_local, take_output};
use crate::member::Member;
use crate::timer::Timer;
use dunlin_buf::{BufPool, SharedBytes};
use dunlin_core::{Locator, LocatorKind, Now};
use dunlin_engine::{Event, Output};
use dunlin_transport::{Channel, Fault, Pcap, SendMode, Transport};
use dunlin_udp::UdpTransport;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::thread::JoinHandle;

/// Octets of receive buffers that a thread keeps for reuse.
const RECEIVE_BUFFERS: usize = 16 << 20;
/// A socket that fails this often in a row is given up.
const MAX_FAILURES: u32 = 1000;

static GROUPS: Mutex<Vec<Weak<Group>>> = Mutex::new(Vec::new());

pub(crate) struct Group {
    key: GroupKey,
    pub transport: Arc<dyn Transport>,
    members: RwLock<Arc<[Arc<Member>]>>,
    pub timer: Timer,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// Settings that must be equal for two participants to share sockets.
#[derive(Clone, PartialEq)]
struct GroupKey {
    udp: dunlin_udp::UdpConfig,
    pcap: Option<std::path::PathBuf>,
    fault: Option<dunlin_transport::FaultConfig>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn open_transport(config: &DriverConfig) -> Result<Arc<dyn Transport>, JoinError> {
    let udp = UdpTransport::open(config.udp.clone()).map_err(JoinError::Network)?;
    for note in udp.notes() {
        tracing::warn!("{note}");
    }
    let mut transport: Arc<dyn Transport> = Arc::new(udp);
    if let Some(fault) = config.fault.clone().filter(dunlin_transport::FaultConfig::is_active) {
        transport = Arc::new(Fault::new(transport, fault).map_err(JoinError::Network)?);
    }
    if let Some(path) = &config.pcap {
        let capture = Pcap::create(transport, path, config.pcap_max_octets);
        let failed = |source| JoinError::Capture { path: path.clone(), source };
        transport = Arc::new(capture.map_err(failed)?);
    }
    Ok(transport)
}

impl Group {
    /// The group of these settings, with its threads running.
    pub fn obtain(config: &DriverConfig) -> Result<Arc<Self>, JoinError> {
        let key = GroupKey { udp: config.udp.clone(), pcap: config.pcap.clone(), fault: config.fault.clone() };
        let mut groups = lock(&GROUPS);
        groups.retain(|group| group.strong_count() > 0);
        let open = |group: &Arc<Self>| group.key == key && !group.timer.is_stopped();
        if let Some(group) = groups.iter().filter_map(Weak::upgrade).find(open) {
            return Ok(group);
        }
        let transport = open_transport(config)?;
        let group = Arc::new(Self {
            key,
            transport,
            members: RwLock::new(Arc::from([])),
            timer: Timer::default(),
            threads: Mutex::default(),
        });
        if let Err(error) = group.start_threads(config.interface_poll) {
            group.stop();
            return Err(error);
        }
        groups.push(Arc::downgrade(&group));
        Ok(group)
    }

    fn start_threads(self: &Arc<Self>, interface_poll: std::time::Duration) -> Result<(), JoinError> {
        for channel in self.transport.channels() {
            let (group, channel) = (Arc::clone(self), *channel);
            let name = match channel {
                Channel::Data => "dunlin-rx-data",
                Channel::Meta => "dunlin-rx-meta",
                Channel::DataMulticast => "dunlin-rx-mc",
            };
            self.spawn(name, move || group.receive(channel))?;
        }
        let group = Arc::clone(self);
        self.spawn("dunlin-timer", move || crate::timer::run(&group, interface_poll))
    }

    fn spawn(&self, name: &str, body: impl FnOnce() + Send + 'static) -> Result<(), JoinError> {
        let marked = move || {
            mark_receive_thread();
            body();
        };
        let spawned = std::thread::Builder::new().name(name.to_owned()).spawn(marked);
        let handle = spawned.map_err(|source| JoinError::Thread { name: name.to_owned(), source })?;
        lock(&self.threads).push(handle);
        Ok(())
    }

    pub fn members(&self) -> Arc<[Arc<Member>]> {
        Arc::clone(&self.members.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// False when the group is just being stopped: obtain another.
    pub fn add(&self, member: &Arc<Member>) -> bool {
        let mut members = self.members.write().unwrap_or_else(PoisonError::into_inner);
        if self.timer.is_stopped() {
            return false;
        }
        *members = members.iter().chain([member]).cloned().collect();
        true
    }

    /// Takes a participant out; stops the threads with the last.
    pub fn remove(&self, member: &Arc<Member>) {
        let mut members = self.members.write().unwrap_or_else(PoisonError::into_inner);
        *members = members.iter().filter(|other| !Arc::ptr_eq(other, member)).cloned().collect();
        let last = members.is_empty();
        if last {
            self.timer.stop();
        }
        drop(members);
        if last {
            self.stop();
        }
    }

    fn stop(&self) {
        self.timer.stop();
        self.transport.shutdown();
        let current = std::thread::current().id();
        for thread in std::mem::take(&mut *lock(&self.threads)) {
            // A listener that drops the last handle runs on a thread that cannot wait for itself.
            if thread.thread().id() != current {
                let _ = thread.join();
            }
        }
    }

    fn receive(&self, channel: Channel) {
        let (mut pool, mut batch, mut failures) = (BufPool::new(RECEIVE_BUFFERS), Vec::new(), 0);
        while failures < MAX_FAILURES {
            match self.transport.recv(channel, &mut pool, &mut batch) {
                Ok(()) => failures = 0,
                Err(error) if error.kind() == io::ErrorKind::NotConnected => return,
                Err(error) => {
                    failures += 1;
                    tracing::debug!("receiving {channel:?}: {error}");
                }
            }
            for (packet, from) in batch.drain(..) {
                for member in self.members().iter() {
                    self.run(member, |now, out| member.participant.on_datagram(now, from, &packet, out));
                }
            }
        }
        tracing::error!("receiving {channel:?} failed {failures} times in a row; the thread ends");
    }

    /// Calls the engine, then sends and tells what the call brought.
    pub fn run<R>(&self, member: &Arc<Member>, call: impl FnOnce(Now, &mut Output) -> R) -> R {
        let mut out = take_output();
        let result = call(clock::now(), &mut out);
        self.send(member, &out, SendMode::NonBlocking);
        self.tell(member, &mut out);
        put_output(out);
        result
    }

    /// Sends the datagrams; those to the participant itself are queued on this thread.
    pub fn send(&self, member: &Arc<Member>, out: &Output, mode: SendMode) {
        if out.outbox.is_empty() {
            return;
        }
        self.transport.send(&out.outbox, mode);
        for datagram in out.outbox.datagrams() {
            if !datagram.destinations().iter().any(|to| to.kind == LocatorKind::LOCAL) {
                continue;
            }
            let mut pool = lock(&member.local);
            let mut buffer = pool.take(datagram.len());
            let bytes = buffer.vec_mut();
            bytes.clear();
            datagram.copy_to(bytes);
            let packet = pool.freeze(buffer, datagram.len());
            drop(pool);
            queue_local(member, packet);
        }
    }

    /// Wakes the timer if it sleeps too long, tells the events, delivers what was queued.
    pub fn tell(&self, member: &Arc<Member>, out: &mut Output) {
        if out.deadline_closer {
            self.timer.wake();
        }
        for event in &out.events {
            if matches!(event, Event::SpaceFreed { .. }) {
                member.raise_space();
            }
            member.sink.on_event(event);
        }
        drain_local(|member, packet| self.deliver_local(member, packet));
    }

    fn deliver_local(&self, member: &Arc<Member>, packet: &SharedBytes) {
        self.run(member, |now, out| member.participant.on_datagram(now, Locator::LOCAL, packet, out));
    }
}
