//! Receive groups: the sockets and threads that the participants of a process share.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::Duration as StdDuration;

use dunlin_buf::{BufPool, SharedBytes};
use dunlin_core::{Duration, GuidPrefix, Locator, MonoTime, Now};
use dunlin_engine::{Locators, Output, Participant, ReceiveRoom};
use dunlin_host::{Work, run_timers, work_off};
use dunlin_shm::{ShmConfig, ShmTransport};
use dunlin_tcp::{TcpConfig, TcpTransport};
use dunlin_transport::{Channel, Fault, FaultConfig, Pcap, RecvMode, Together, Transport};
use dunlin_udp::{UdpConfig, UdpTransport};

use crate::clock;
use crate::config::{DriverConfig, JoinError};
use crate::group_member::{GroupMember, GroupServices};
use crate::limiter::Limiter;
use crate::lock::lock;
use crate::machine::{Machine, Pump, Pumped};
use crate::platform::Platform;
use crate::pumping::{self, Housekeeping, PumpError, Pumpable, Pumping};
use crate::thread::{self, Run};
use crate::thread_port::{self, ThreadPort};
use crate::timer::Timer;
use crate::waiting::{ReceiveConfig, Threads, Waiter, Waiting, on_battery};

/// Octets of buffers a receiving thread keeps for reuse.
const POOL: usize = 16 << 20;
/// Pause after a receive that failed, so that an error that stays does not spin.
const AFTER_ERROR: StdDuration = StdDuration::from_millis(10);

/// What is told in the log once in a while.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Warning {
    Receiving(Channel),
    Overflow,
}

/// What sessions must have in common to share a group.
#[derive(PartialEq, Eq, Debug)]
struct Key {
    udp: UdpConfig,
    use_udp: bool,
    tcp: Option<TcpConfig>,
    shared_memory: ShmConfig,
    in_process: bool,
    pcap: Option<(PathBuf, u64)>,
    fault: Option<FaultConfig>,
    interface_poll: StdDuration,
    receive: ReceiveConfig,
}

impl Key {
    /// Whether participants reach each other within the process.
    fn hands_over(&self) -> bool {
        self.in_process && self.shared_memory.enabled && self.pcap.is_none() && self.fault.is_none()
    }

    fn of(config: &DriverConfig) -> Self {
        Self {
            udp: config.udp.clone(),
            use_udp: config.use_udp,
            tcp: config.tcp.clone(),
            shared_memory: config.shared_memory.clone(),
            in_process: config.in_process,
            pcap: config.pcap.clone().map(|path| (path, config.pcap_max_octets)),
            fault: config.fault.filter(FaultConfig::is_active),
            interface_poll: config.interface_poll,
            receive: config.receive,
        }
    }
}

/// A receiving thread that the system has refused.
struct RefusedThread {
    channel: Channel,
    /// When it is tried again.
    due: MonoTime,
    pause: Duration,
}

impl RefusedThread {
    const FIRST_PAUSE: Duration = Duration::from_millis(10);
    const LONGEST_PAUSE: Duration = Duration::from_secs(1);

    fn new(channel: Channel, now: MonoTime) -> Self {
        Self { channel, due: now.plus(Self::FIRST_PAUSE), pause: Self::FIRST_PAUSE }
    }

    /// It was refused again.
    fn again(self, now: MonoTime) -> Self {
        let pause = self.pause.times(2).min(Self::LONGEST_PAUSE);
        Self { due: now.plus(pause), pause, ..self }
    }
}

type Members = Arc<Vec<Arc<GroupMember>>>;

pub(crate) struct ReceiveGroup {
    /// Of the process that has made it: a child of fork has none of its threads.
    generation: u32,
    /// `None` for a group around a transport of the caller's or of a machine that is not the real one.
    key: Option<Key>,
    pub(crate) transport: Arc<dyn Transport>,
    /// What its receive buffers hold of what is in flight, to whichever member.
    pub(crate) room: ReceiveRoom,
    pub(crate) platform: Platform,
    interface_poll: Duration,
    receive: ReceiveConfig,
    /// Spinning is worth its energy now.
    may_spin: AtomicBool,
    members: RwLock<Members>,
    /// What other threads leave to the timer thread.
    deferred: Mutex<VecDeque<Work<Arc<GroupMember>>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Threads that the system has refused.
    refused_threads: Mutex<Vec<RefusedThread>>,
    /// Whether the thread for shared memory runs: once somebody may send that way.
    shared_thread: Mutex<bool>,
    /// The same, for a look without the lock.
    shared_runs: AtomicBool,
    /// What who pumps keeps, in a group without threads.
    pumping: Option<Mutex<Pumping>>,
    /// What the user should know, besides the notes of the transport.
    notes: Vec<String>,
    /// What was told in the log.
    log: Limiter<Warning>,
}

/// The groups of this process that can be joined.
static GROUPS: Mutex<Vec<Arc<ReceiveGroup>>> = Mutex::new(Vec::new());

/// Puts a member, made for the group, into the group for `config`, which is made if there is none.
pub(crate) fn join(
    config: &DriverConfig,
    make: impl FnOnce(&ReceiveGroup) -> Result<Arc<GroupMember>, JoinError>,
) -> Result<(Arc<ReceiveGroup>, Arc<GroupMember>), JoinError> {
    if config.threads == Threads::Caller {
        return join_pumped(config, make);
    }
    let key = Key::of(config);
    let mut groups = lock(&GROUPS);
    if let Some(group) = groups.iter().find(|group| group.is_here() && group.key.as_ref() == Some(&key)) {
        let member = make(group)?;
        member.set_group(group);
        group.add(&member);
        return Ok((Arc::clone(group), member));
    }
    let (transport, notes) = open(&key)?;
    for note in transport.notes().iter().chain(&notes) {
        crate::log!(WARN, "{}: {note}", transport.name());
    }
    let (group, member) = start(Some(key), transport, notes, config, make)?;
    groups.push(Arc::clone(&group));
    Ok((group, member))
}

/// Makes a group of one member with sockets of its own, and without threads.
fn join_pumped(
    config: &DriverConfig,
    make: impl FnOnce(&ReceiveGroup) -> Result<Arc<GroupMember>, JoinError>,
) -> Result<(Arc<ReceiveGroup>, Arc<GroupMember>), JoinError> {
    let mut key = Key::of(config);
    // It wakes whoever waits for it otherwise than sockets do.
    key.shared_memory.enabled = false;
    let (transport, notes) = open(&key)?;
    start(None, transport, notes, config, make)
}

/// Makes a group of one member around a transport.
pub(crate) fn join_on(
    transport: Arc<dyn Transport>,
    config: &DriverConfig,
    make: impl FnOnce(&ReceiveGroup) -> Result<Arc<GroupMember>, JoinError>,
) -> Result<(Arc<ReceiveGroup>, Arc<GroupMember>), JoinError> {
    let key = Key::of(config);
    start(None, wrap(transport, &key)?, Vec::new(), config, make)
}

/// Makes a group of one member, without threads, on a machine that is not the real one.
pub(crate) fn join_machine(
    machine: Arc<dyn Machine>,
    config: &DriverConfig,
    make: impl FnOnce(&ReceiveGroup) -> Result<Arc<GroupMember>, JoinError>,
) -> Result<(Arc<ReceiveGroup>, Arc<GroupMember>), JoinError> {
    let sockets = machine.open(config)?;
    let transport = Arc::clone(&sockets) as Arc<dyn Transport>;
    let platform = Platform::Machine(machine, Arc::clone(&sockets));
    let group = Arc::new(ReceiveGroup::new(None, transport, platform, Vec::new(), config));
    let member = make(&group)?;
    member.set_group(&group);
    group.add(&member);
    sockets.attach(Pump::of(&group));
    Ok((group, member))
}

/// Takes a member out of its group; the last one ends the threads.
pub(crate) fn leave(group: &Arc<ReceiveGroup>, member: &Arc<GroupMember>) {
    let mut groups = lock(&GROUPS);
    let empty = group.remove(member);
    if empty {
        // From here on somebody who joins gets a new group, with other ports while this one still has its own.
        groups.retain(|other| !Arc::ptr_eq(other, group));
    }
    drop(groups);
    if empty {
        group.stop();
    }
}

/// The sockets of all transports that lead to other hosts.
fn open_network(key: &Key) -> Result<Arc<dyn Transport>, JoinError> {
    let mut all: Vec<Arc<dyn Transport>> = Vec::new();
    if key.use_udp {
        all.push(Arc::new(UdpTransport::open(key.udp.clone()).map_err(JoinError::Network)?));
    }
    if let Some(tcp) = &key.tcp {
        all.push(Arc::new(TcpTransport::open(tcp.clone()).map_err(JoinError::Tcp)?));
    }
    Together::of(all).ok_or(JoinError::NoTransport)
}

fn open(key: &Key) -> Result<(Arc<dyn Transport>, Vec<String>), JoinError> {
    let mut transport = open_network(key)?;
    let mut notes = Vec::new();
    if key.shared_memory.enabled {
        match ShmTransport::open(Arc::clone(&transport), &key.shared_memory) {
            Ok(shared) => transport = Arc::new(shared),
            Err(error) => notes.push(format!(
                "no shared memory in {}, so data for other processes of this host goes over the network: {error}",
                key.shared_memory.directory.display()
            )),
        }
    }
    Ok((wrap(transport, key)?, notes))
}

/// Puts around a transport what looks at the traffic or spoils it, if that is asked for.
fn wrap(mut transport: Arc<dyn Transport>, key: &Key) -> Result<Arc<dyn Transport>, JoinError> {
    if let Some((path, max_octets)) = &key.pcap {
        let pcap = Pcap::create(transport, path, *max_octets);
        let pcap = pcap.map_err(|source| JoinError::Capture { path: path.clone(), source })?;
        transport = Arc::new(pcap);
    }
    if let Some(fault) = key.fault {
        let fault = Fault::new(transport, fault);
        transport = Arc::new(fault.map_err(|source| JoinError::Thread { name: "dunlin-fault", source })?);
    }
    Ok(transport)
}

fn start(
    key: Option<Key>,
    transport: Arc<dyn Transport>,
    notes: Vec<String>,
    config: &DriverConfig,
    make: impl FnOnce(&ReceiveGroup) -> Result<Arc<GroupMember>, JoinError>,
) -> Result<(Arc<ReceiveGroup>, Arc<GroupMember>), JoinError> {
    let timer = Arc::new(Timer::new());
    let platform = match config.threads {
        Threads::Library => Platform::Real(Arc::clone(&timer)),
        Threads::Caller => Platform::Pumped,
    };
    let group = Arc::new(ReceiveGroup::new(key, transport, platform, notes, config));
    let member = make(&group)?;
    member.set_group(&group);
    group.add(&member);
    if config.threads == Threads::Library
        && let Err(error) = group.start_threads(timer)
    {
        group.stop();
        return Err(error);
    }
    Ok((group, member))
}

fn thread_name(channel: Channel) -> &'static str {
    match channel {
        Channel::Data => "dunlin-rx-data",
        Channel::Meta => "dunlin-rx-meta",
        Channel::DataMulticast => "dunlin-rx-mcast",
        Channel::DataShared => "dunlin-rx-shm",
        Channel::Added(_) => "dunlin-rx-more",
    }
}

impl ReceiveGroup {
    /// See [`Session::pump`](crate::Session::pump).
    pub(crate) fn pump(&self, until: MonoTime) -> Result<bool, PumpError> {
        pumping::pump(self, until)
    }

    fn new(
        key: Option<Key>,
        transport: Arc<dyn Transport>,
        platform: Platform,
        notes: Vec<String>,
        config: &DriverConfig,
    ) -> Self {
        let pumping = platform.is_pumped();
        Self {
            generation: dunlin_udp::process_generation(),
            key,
            room: ReceiveRoom::new(transport.receive_room()),
            transport,
            platform,
            interface_poll: config.interface_poll.into(),
            receive: config.receive,
            may_spin: AtomicBool::new(true),
            members: RwLock::default(),
            deferred: Mutex::default(),
            threads: Mutex::default(),
            refused_threads: Mutex::default(),
            shared_thread: Mutex::default(),
            shared_runs: AtomicBool::new(false),
            pumping: pumping.then(|| Mutex::new(Pumping::new(BufPool::new(POOL)))),
            notes,
            log: Limiter::default(),
        }
    }

    /// Whether this process has made it.
    pub(crate) fn is_here(&self) -> bool {
        self.generation == dunlin_udp::process_generation()
    }

    /// What the user should know, in sentences.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.transport.notes().into_iter().chain(self.notes.iter().cloned()).collect()
    }

    fn start_shared(self: &Arc<Self>) -> Result<(), JoinError> {
        let mut runs = lock(&self.shared_thread);
        if !*runs {
            let channel = Channel::DataShared;
            self.start_receiving(channel)?;
            *runs = true;
            self.shared_runs.store(true, Relaxed);
        }
        Ok(())
    }

    fn members(&self) -> Members {
        Arc::clone(&self.members.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, member: &Arc<GroupMember>) {
        let mut members = self.members.write().unwrap_or_else(PoisonError::into_inner);
        let with = members.iter().chain([member]).cloned().collect();
        *members = Arc::new(with);
    }

    /// True if nobody is left.
    fn remove(&self, member: &Arc<GroupMember>) -> bool {
        let mut members = self.members.write().unwrap_or_else(PoisonError::into_inner);
        let without: Vec<_> = members.iter().filter(|other| !Arc::ptr_eq(other, member)).cloned().collect();
        *members = Arc::new(without);
        members.is_empty()
    }

    fn start_threads(self: &Arc<Self>, timer: Arc<Timer>) -> Result<(), JoinError> {
        let channels = self.transport.channels().iter().copied();
        let of_data = channels.filter(|channel| !matches!(channel, Channel::Meta | Channel::DataShared));
        let (watched, at_once): (Vec<_>, Vec<_>) =
            of_data.partition(|channel| self.transport.gathers() && !self.needs_thread(*channel));
        self.spawn(thread_name(Channel::Meta), Run::default(), move |group| {
            group.watch(watched);
            group.receive(Channel::Meta);
        })?;
        at_once.into_iter().try_for_each(|channel| self.start_receiving(channel))?;
        self.spawn("dunlin-timer", Run::default(), move |group| group.run_timer(&timer))
    }

    /// Whether a channel needs its thread before anything arrives: one that polls, or that may turn out to be refused, or of a
    /// transport that is not the one that watches.
    fn needs_thread(&self, channel: Channel) -> bool {
        let special = channel == Channel::Data
            && (self.receive.waiting == Waiting::Polling || self.receive.run().is_special());
        special || matches!(channel, Channel::Added(_))
    }

    fn start_receiving(self: &Arc<Self>, channel: Channel) -> Result<(), JoinError> {
        let run = if channel == Channel::Data { self.receive.run() } else { Run::default() };
        self.spawn(thread_name(channel), run, move |group| group.receive(channel))
    }

    /// The thread of discovery while channels for user data have none: the first datagram on one of them gets it a thread,
    /// and is received there. With the first word from a participant that is known all get theirs, because a listener of
    /// discovery may wait for data. Returns when all have theirs, or at the end.
    fn watch(self: &Arc<Self>, mut channels: Vec<Channel>) {
        let (mut pool, mut batch, mut ready) = (BufPool::new(POOL), Vec::new(), Vec::new());
        channels.push(Channel::Meta);
        while channels.len() > 1 {
            ready.clear();
            match self.transport.wait(&channels, &mut ready, None) {
                Err(error) if error.kind() == io::ErrorKind::NotConnected => return,
                result => self.pause_after(result, Channel::Meta),
            }
            for channel in &ready {
                if *channel == Channel::Meta {
                    match self.transport.recv(*channel, RecvMode::NonBlocking, &mut pool, &mut batch) {
                        Err(error) if error.kind() == io::ErrorKind::NotConnected => return,
                        received => self.pause_after(received, *channel),
                    }
                    let something = !batch.is_empty();
                    if something {
                        self.start_if_known(&mut channels);
                    }
                    self.hand_out(&mut batch);
                    // Who has just come has been answered, and its next word takes longer than starting threads.
                    if something {
                        self.start_if_known(&mut channels);
                    }
                } else if channels.contains(channel) {
                    self.start_or_owe(*channel);
                    channels.retain(|watched| watched != channel);
                }
            }
        }
    }

    /// Starts the threads of channels that are watched once there are others.
    fn start_if_known(self: &Arc<Self>, channels: &mut Vec<Channel>) {
        if channels.len() > 1 && self.knows_others() {
            for channel in channels.drain(..).filter(|channel| *channel != Channel::Meta) {
                self.start_or_owe(channel);
            }
            channels.push(Channel::Meta);
        }
    }

    /// Starts the thread of a channel. If that fails the timer thread tries it again, so that discovery goes on: what arrives
    /// waits in its socket.
    fn start_or_owe(self: &Arc<Self>, channel: Channel) {
        if let Err(error) = self.start_receiving(channel) {
            self.warn(&error, channel);
            self.owe(channel);
        }
    }

    /// Leaves the start of a thread to the timer thread.
    fn owe(&self, channel: Channel) {
        let refused = RefusedThread::new(channel, clock::mono());
        let due = refused.due;
        let mut all = lock(&self.refused_threads);
        if !all.iter().any(|other| other.channel == channel) {
            all.push(refused);
        }
        drop(all);
        self.platform.wake_by(due);
    }

    /// Tries again what the system has refused, if it is time.
    fn retry_threads(self: &Arc<Self>) {
        let now = clock::mono();
        let (due, mut later): (Vec<_>, Vec<_>) = std::mem::take(&mut *lock(&self.refused_threads))
            .into_iter()
            .partition(|refused| refused.due <= now);
        for refused in due {
            let started = match refused.channel {
                Channel::DataShared => self.start_shared(),
                channel => self.start_receiving(channel),
            };
            if let Err(error) = started {
                self.warn(&error, refused.channel);
                later.push(refused.again(clock::mono()));
            }
        }
        lock(&self.refused_threads).append(&mut later);
    }

    fn warn(&self, error: &dyn std::fmt::Display, channel: Channel) {
        if let Some(again) = self.log.admit(clock::mono(), Warning::Receiving(channel)) {
            crate::log!(WARN, "receiving failed on {channel:?}: {error}{again}");
        }
    }

    /// Whether a participant of this group has verified another.
    fn knows_others(&self) -> bool {
        self.members().iter().any(|member| member.participant.knows_others())
    }

    /// Reports a receive that failed, and pauses.
    fn pause_after(&self, received: io::Result<()>, channel: Channel) {
        let Err(error) = received else { return };
        self.warn(&error, channel);
        // Nothing unparks this thread: a pause, so that a broken socket does not take a core.
        std::thread::park_timeout(AFTER_ERROR);
    }

    /// Hands what has arrived to every participant.
    fn hand_out(&self, batch: &mut Vec<(SharedBytes, Locator)>) {
        if batch.is_empty() {
            return;
        }
        for member in self.members().iter() {
            dunlin_host::receive(&mut ThreadPort, member, batch);
        }
        batch.clear();
    }

    fn spawn(
        self: &Arc<Self>,
        name: &'static str,
        run: Run,
        work: impl FnOnce(&Arc<Self>) + Send + 'static,
    ) -> Result<(), JoinError> {
        let group = Arc::clone(self);
        let thread = thread::spawn(name, run, move || {
            thread_port::become_library_thread();
            work(&group);
        });
        lock(&self.threads).push(thread.map_err(|source| JoinError::Thread { name, source })?);
        Ok(())
    }

    /// Ends all threads and waits for them, except for the present one if it is among them.
    fn stop(&self) {
        if let Platform::Real(timer) = &self.platform {
            timer.stop();
        }
        self.transport.shutdown();
        let present = std::thread::current().id();
        loop {
            let threads = std::mem::take(&mut *lock(&self.threads));
            if threads.is_empty() {
                // One that was joined may have started another before.
                return;
            }
            for thread in threads.into_iter().filter(|thread| thread.thread().id() != present) {
                // A panic of that thread has been reported by itself.
                let _ = thread.join();
            }
        }
    }

    /// A receiving thread.
    fn receive(&self, channel: Channel) {
        let (mut pool, mut batch) = (BufPool::new(POOL), Vec::new());
        let mut waiter = Waiter::new(self.waiting(channel), self.receive.spin, &self.may_spin);
        let mut gives_way = channel == Channel::Data && self.receive.waiting == Waiting::Polling;
        loop {
            let received = waiter.receive(|mode| {
                if gives_way && self.shared_runs.load(Relaxed) {
                    // From now on the thread for shared memory polls: one core is enough.
                    return Ok(true);
                }
                self.transport.recv(channel, mode, &mut pool, &mut batch).map(|()| !batch.is_empty())
            });
            match received {
                Err(error) if error.kind() == io::ErrorKind::NotConnected => return,
                received => self.pause_after(received, channel),
            }
            if gives_way && self.shared_runs.load(Relaxed) {
                gives_way = false;
                waiter = Waiter::new(Waiting::Adaptive, self.receive.spin, &self.may_spin);
            }
            self.hand_out(&mut batch);
        }
    }

    /// Discovery has time. Of those who were told to poll only the thread for unicast does, or two cores would be taken.
    fn waiting(&self, channel: Channel) -> Waiting {
        match (channel, self.receive.waiting) {
            (Channel::Meta, _) => Waiting::Blocking,
            (Channel::DataMulticast, Waiting::Polling) => Waiting::Adaptive,
            (_, waiting) => waiting,
        }
    }

    /// Does what was deferred so far.
    fn work_off_deferred(&self) {
        let deferred = std::mem::take(&mut *lock(&self.deferred));
        work_off(&mut ThreadPort, deferred);
    }

    /// When the timer thread has something to do.
    fn next_turn(&self) -> MonoTime {
        if !lock(&self.deferred).is_empty() {
            return MonoTime(0);
        }
        let refused = lock(&self.refused_threads).iter().map(|refused| refused.due).min();
        refused.into_iter().fold(self.next_deadline(), MonoTime::min)
    }

    /// The timer thread.
    fn run_timer(self: &Arc<Self>, timer: &Timer) {
        let mut housekeeping = Housekeeping { next: clock::mono().plus(self.interface_poll), overflow: 0 };
        while timer.sleep(|| self.next_turn().min(housekeeping.next)) {
            self.retry_threads();
            self.run_due(&mut housekeeping);
        }
    }

    /// Does work of the library for every participant.
    fn drive(&self, mut work: impl FnMut(&Participant, Now, &mut Output)) {
        let now = self.platform.now();
        for member in self.members().iter() {
            dunlin_host::drive(&mut ThreadPort, member, |participant, out| work(participant, now, out));
        }
    }

    /// Does what is due now, and says when that was.
    fn drive_timers(&self) -> MonoTime {
        let now = self.platform.now();
        for member in self.members().iter() {
            run_timers(&mut ThreadPort, member, now);
        }
        now.mono
    }

    fn next_deadline(&self) -> MonoTime {
        let members = self.members();
        members.iter().filter_map(|member| member.participant.next_deadline()).min().unwrap_or(MonoTime::MAX)
    }

    /// Announces the new addresses when the interfaces of the host have changed.
    fn follow_interfaces(&self) {
        for warning in self.transport.warnings() {
            crate::log!(WARN, "{warning}");
        }
        let changed = self.transport.refresh();
        for member in self.members().iter() {
            member.leave_lost_paths(&mut ThreadPort);
            member.return_to_lost_paths(&mut ThreadPort);
        }
        if !changed {
            return;
        }
        let locators = locators(&*self.transport);
        crate::log!(INFO, "the network interfaces have changed: {locators:?}");
        self.drive(|participant, now, out| participant.set_locators(now, locators.clone(), out));
    }

    /// Says that datagrams were lost on their way into this process, and how many since it was last said.
    fn report_overflow(&self, reported: &mut u64) {
        let overflow = self.transport.stats().receive_overflow;
        if overflow > *reported && self.log.admit(clock::mono(), Warning::Overflow).is_some() {
            crate::log!(
                WARN,
                "{} datagrams were dropped because nobody took them from the socket in time: a listener takes \
                 too long, or the receive buffer is too small for the bursts; it is set by \
                 `network.receive_buffer` and limited by `sysctl net.core.rmem_max`",
                overflow - *reported
            );
            *reported = overflow;
        }
    }
}

impl GroupServices for ReceiveGroup {
    fn in_process(&self, prefix: GuidPrefix) -> Option<Arc<GroupMember>> {
        if !self.key.as_ref().is_some_and(Key::hands_over) {
            return None;
        }
        self.members().iter().find(|member| member.participant.guid_prefix() == prefix).cloned()
    }

    fn receive_shared(self: Arc<Self>) -> Result<(), JoinError> {
        let started = self.start_shared();
        if started.is_err() {
            // Others may send here whether or not we can send there.
            self.owe(Channel::DataShared);
        }
        started
    }

    fn defer(&self, work: Work<Arc<GroupMember>>) {
        lock(&self.deferred).push_back(work);
    }

    fn pump_until(&self, until: MonoTime, done: &mut dyn FnMut() -> bool) -> Option<bool> {
        pumping::pump_until(self, until, done)
    }
}

impl Pumpable for ReceiveGroup {
    fn pumping(&self) -> Option<&Mutex<Pumping>> {
        self.pumping.as_ref()
    }

    fn transport(&self) -> &dyn Transport {
        &*self.transport
    }

    fn take_what_arrived(&self, pumping: &mut Pumping) -> Result<bool, PumpError> {
        let mut something = false;
        for channel in self.transport.channels() {
            let Pumping { pool, batch, .. } = &mut *pumping;
            match self.transport.recv(*channel, RecvMode::NonBlocking, pool, batch) {
                Err(error) if error.kind() == io::ErrorKind::NotConnected => return Err(PumpError::Left),
                received => self.pause_after(received, *channel),
            }
            something |= !batch.is_empty();
            self.hand_out(batch);
        }
        Ok(something)
    }

    fn run_due(&self, housekeeping: &mut Housekeeping) {
        self.work_off_deferred();
        let now = self.drive_timers();
        if now >= housekeeping.next {
            housekeeping.next = now.plus(self.interface_poll);
            self.follow_interfaces();
            self.may_spin.store(!on_battery(), Relaxed);
            self.report_overflow(&mut housekeeping.overflow);
        }
    }

    fn next_due(&self) -> MonoTime {
        self.next_turn()
    }
}

impl Pumped for ReceiveGroup {
    fn receive(&self, from: Locator, packet: &SharedBytes) {
        thread_port::as_library(|| self.hand_out(&mut vec![(packet.clone(), from)]));
    }

    fn next_turn(&self) -> MonoTime {
        self.next_turn()
    }

    fn run_timers(&self) {
        thread_port::as_library(|| {
            self.work_off_deferred();
            self.drive_timers();
        });
    }
}

/// The locators of a transport as the engine wants them.
pub(crate) fn locators(transport: &dyn Transport) -> Locators {
    let locators = transport.locators();
    Locators {
        metatraffic_unicast: locators.metatraffic_unicast,
        metatraffic_multicast: locators.metatraffic_multicast,
        default_unicast: locators.default_unicast,
        default_multicast: locators.default_multicast,
    }
}
