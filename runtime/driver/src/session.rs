//! A participant with everything that makes it run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use dunlin_buf::SharedBytes;
use dunlin_core::{
    Duration, GuidPrefix, Locator, LocatorKind, MonoTime, Now, Path, Paths, SequenceNumber, defaults,
};
use dunlin_engine::{Output, Participant, ParticipantConfig, SetEnd, WriteError, WriteRequest, WriterSlot};
use dunlin_host::WriteWait;
use dunlin_transport::{Lender, Transport, TransportStats};

use crate::config::{DriverConfig, JoinError};
use crate::group_member::GroupServices;
use crate::group_member::{EventSink, GroupMember};
use crate::machine::{self, CannotWait, Machine};
use crate::pumping::{PumpError, Pumpable};
use crate::receive_group::{self, ReceiveGroup};
use crate::thread_port::ThreadPort;
use crate::waiting::Threads;

/// A participant on the network, from [`Session::join`] to [`Session::leave`] or drop. The sockets close when the
/// last session that uses them is dropped.
pub struct Session {
    group: Arc<ReceiveGroup>,
    member: Arc<GroupMember>,
    left: AtomicBool,
    announced: AtomicBool,
}

impl Session {
    /// Makes a participant, puts it on the network and announces it. `sink` hears its events. On a thread that has
    /// [entered](crate::machine::enter) a machine of its own the participant lives there.
    ///
    /// # Errors
    /// When sockets, files or threads that `config` asks for cannot be had.
    pub fn join(config: DriverConfig, sink: Arc<dyn EventSink>) -> Result<Arc<Self>, JoinError> {
        let session = Self::prepare(config, sink)?;
        session.announce();
        Ok(session)
    }

    /// The same without announcing the participant: it neither says nor hears anything until [`announce`](Self::announce).
    ///
    /// # Errors
    /// As [`join`](Self::join).
    pub fn prepare(config: DriverConfig, sink: Arc<dyn EventSink>) -> Result<Arc<Self>, JoinError> {
        let make = |group: &ReceiveGroup| make_member(&config, sink, group);
        check_threads(&config)?;
        let (group, member) = match machine::entered() {
            Some(_) if config.threads == Threads::Caller => {
                return Err(JoinError::Simulated("without_threads"));
            }
            Some(machine) => receive_group::join_machine(machine, &config, make)?,
            None if machine::outside_of_machines() => return Err(JoinError::OutsideOfNodes),
            None => receive_group::join(&config, make)?,
        };
        Ok(Self::new(group, member))
    }

    /// The same as [`join`](Self::join) over a transport of the caller's.
    ///
    /// # Errors
    /// As [`prepare_on`](Self::prepare_on).
    pub fn join_on(
        transport: Arc<dyn Transport>,
        config: DriverConfig,
        sink: Arc<dyn EventSink>,
    ) -> Result<Arc<Self>, JoinError> {
        let session = Self::prepare_on(transport, config, sink)?;
        session.announce();
        Ok(session)
    }

    /// The same as [`prepare`](Self::prepare) over a transport of the caller's, which no other session uses.
    ///
    /// # Errors
    /// When `config` asks for what only transports of the driver have, on a simulated machine, and when threads or files
    /// cannot be had.
    pub fn prepare_on(
        transport: Arc<dyn Transport>,
        config: DriverConfig,
        sink: Arc<dyn EventSink>,
    ) -> Result<Arc<Self>, JoinError> {
        if machine::entered().is_some() || machine::outside_of_machines() {
            return Err(JoinError::Simulated("transport"));
        }
        check_threads(&config)?;
        if let Some(key) = config.of_own_transports() {
            return Err(JoinError::OtherTransport(key));
        }
        let make = |group: &ReceiveGroup| make_member(&config, sink, group);
        let (group, member) = receive_group::join_on(transport, &config, make)?;
        Ok(Self::new(group, member))
    }

    fn new(group: Arc<ReceiveGroup>, member: Arc<GroupMember>) -> Arc<Self> {
        Arc::new(Self { group, member, left: AtomicBool::new(false), announced: AtomicBool::new(false) })
    }

    /// Announces a participant that was [prepared](Self::prepare), and lets discovery begin. Further calls do nothing.
    pub fn announce(&self) {
        if !self.left.load(Relaxed) && !self.announced.swap(true, Relaxed) {
            self.run(|now, out| self.participant().start(now, out));
        }
    }

    /// The participant.
    #[must_use]
    pub fn participant(&self) -> &Participant {
        &self.member.participant
    }

    /// The machine that the participant lives on, if it is not the real one.
    #[must_use]
    pub fn machine(&self) -> Option<&Arc<dyn Machine>> {
        self.member.platform.machine()
    }

    /// Both clocks.
    #[must_use]
    pub fn now(&self) -> Now {
        self.member.platform.now()
    }

    /// Does on this thread what threads of the library would do for a participant [without](crate::Threads::Caller) them: receives, runs
    /// timers, calls listeners. Returns true once something has arrived and was dealt with, false after `timeout`.
    ///
    /// # Errors
    /// When it has threads, has left, or is pumped already, by another thread or by who has called this listener.
    pub fn pump(&self, timeout: Duration) -> Result<bool, PumpError> {
        if self.left.load(Relaxed) {
            return Err(PumpError::Left);
        }
        self.group.pump(self.now().mono.plus(timeout))
    }

    /// Whether the participant has no threads.
    #[must_use]
    pub fn is_pumped(&self) -> bool {
        self.member.platform.is_pumped()
    }

    /// When [`pump`](Self::pump) has something to do even if nothing arrives.
    #[must_use]
    pub fn next_due(&self) -> MonoTime {
        self.group.next_due()
    }

    /// Pumps a participant without threads until `done`; false if `until` came first. `None` if it has threads or the present thread
    /// cannot pump it.
    pub fn pump_until(&self, until: MonoTime, mut done: impl FnMut() -> bool) -> Option<bool> {
        self.group.pump_until(until, &mut done)
    }

    /// Runs `f` with an empty output, sends what `f` puts there and tells the events, unless this is called by a
    /// listener: then those events are told when the listener has returned.
    pub fn run<R>(&self, f: impl FnOnce(Now, &mut Output) -> R) -> R {
        dunlin_host::call(&mut ThreadPort, &self.member, |out| f(self.now(), out))
    }

    /// Like [`run`](Self::run), for `f` that seldom needs the time.
    pub fn run_with_clock<R>(&self, f: impl FnOnce(&dyn Fn() -> Now, &mut Output) -> R) -> R {
        dunlin_host::call(&mut ThreadPort, &self.member, |out| f(&|| self.now(), out))
    }

    /// Like [`run`](Self::run), for `f` that makes an entity and makes it known to the sink: no thread tells an event
    /// before both are done, so none is lost. `f` must not call the session, nor wait for
    /// anything that other threads have to do.
    pub fn create<R>(&self, f: impl FnOnce(Now, &mut Output) -> R) -> R {
        self.run(|now, out| self.member.introduction.run(|| f(now, out)))
    }

    /// Writes and sends one change. While the history is full it waits for room, up to max_blocking_time of the
    /// writer's RELIABILITY, and while readers have too much to acknowledge; never on a thread of the library or in a listener,
    /// because the room may be made on the same thread.
    ///
    /// # Errors
    /// As [`WriterSlot::write`]; `Full` after max_blocking_time.
    pub fn write(&self, slot: &WriterSlot, request: WriteRequest) -> Result<SequenceNumber, WriteError> {
        self.write_with(slot, request, None, WriteWait::default())
    }

    /// [`write`](Self::write) with inline QoS, see [`WriterSlot::write_with`].
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_with(
        &self,
        slot: &WriterSlot,
        request: WriteRequest,
        inline_qos: Option<SharedBytes>,
        wait: WriteWait,
    ) -> Result<SequenceNumber, WriteError> {
        dunlin_host::write_blocking(&mut ThreadPort, &self.member, slot, request, inline_qos, wait)
    }

    /// Why the present thread cannot wait for the participant, if it cannot: see
    /// [`cannot_wait`](crate::cannot_wait). Besides, a thread of the real machine cannot wait for one that lives
    /// elsewhere.
    #[must_use]
    pub fn cannot_wait(&self) -> Option<CannotWait> {
        self.member.cannot_wait()
    }

    /// [`write`](Self::write) without waiting.
    ///
    /// # Errors
    /// As [`WriterSlot::write`].
    pub fn try_write(&self, slot: &WriterSlot, request: WriteRequest) -> Result<SequenceNumber, WriteError> {
        self.try_write_with(slot, request, None)
    }

    /// [`write_with`](Self::write_with) without waiting.
    ///
    /// # Errors
    /// As [`WriterSlot::write`].
    pub fn try_write_with(
        &self,
        slot: &WriterSlot,
        request: WriteRequest,
        inline_qos: Option<SharedBytes>,
    ) -> Result<SequenceNumber, WriteError> {
        dunlin_host::try_write(&mut ThreadPort, &self.member, slot, request, inline_qos)
    }

    /// Sends what waits for more of the same writer: in a burst, or for its LATENCY_BUDGET.
    pub fn flush(&self, slot: &WriterSlot) {
        dunlin_host::flush(&mut ThreadPort, &self.member, slot);
    }

    /// Ends a coherent set at a writer, and sends that.
    pub fn end_set(&self, slot: &WriterSlot, end: &SetEnd) {
        dunlin_host::end_set(&mut ThreadPort, &self.member, slot, end);
    }

    /// Unregisters every instance of a writer that is about to be deleted; with `dispose` they are disposed too. Nothing can
    /// be written any more. What windows or the pacer hold back leaves later.
    pub fn end_instances(&self, slot: &WriterSlot, dispose: bool) {
        dunlin_host::end_instances(&mut ThreadPort, &self.member, slot, dispose);
    }

    /// Says goodbye to the others and ends the threads if no other session needs them. Further calls do nothing. May be
    /// called by a listener; the thread it runs on then ends when the listener has returned.
    pub fn leave(&self) {
        // A child of fork has neither the threads of its parent nor the right to speak for its participants.
        if self.left.swap(true, Relaxed) || !self.group.is_here() {
            return;
        }
        self.member.retire();
        self.run(|now, out| self.participant().shutdown(now, out));
        self.member.close_paths();
        receive_group::leave(&self.group, &self.member);
        // Whoever still waits for room tries again and hears that the writer is gone.
        self.member.space.notify();
    }

    /// How many calls of listeners ended with a panic.
    #[must_use]
    pub fn listener_panics(&self) -> u64 {
        self.member.panics.load(Relaxed)
    }

    /// Counters of the transport, which other sessions of the process may share.
    #[must_use]
    pub fn transport_stats(&self) -> TransportStats {
        self.group.transport.stats()
    }

    /// Where memory for payloads of `len` octets comes from that other processes of the host can map.
    #[must_use]
    pub fn lender(&self, len: usize) -> Option<Box<dyn Lender>> {
        self.group.transport.lender(len)
    }

    /// Whether data for another participant goes through shared memory, or why not. `None` if it announced none, is not
    /// known, or shared memory is switched off here.
    #[must_use]
    pub fn shared_memory(&self, prefix: GuidPrefix) -> Option<Result<(), String>> {
        self.member.shared_memory(prefix)
    }

    /// What the user should know about the transport, in sentences.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        self.group.notes()
    }

    /// Who cannot be reached now, and why, in sentences; as far as the transport sees it.
    #[must_use]
    pub fn troubles(&self) -> Vec<String> {
        self.group.transport.troubles()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Without threads nothing can be asked for that needs one.
fn check_threads(config: &DriverConfig) -> Result<(), JoinError> {
    match config.needs_threads().filter(|_| config.threads == Threads::Caller) {
        Some(key) => Err(JoinError::WithoutThreads(key)),
        None => Ok(()),
    }
}

/// The paths of a transport.
struct PathsOf {
    transport: Arc<dyn Transport>,
    /// The user says how large datagrams are.
    fixed_size: bool,
}

impl core::fmt::Debug for PathsOf {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("PathsOf").field(&self.transport.name()).finish()
    }
}

impl Paths for PathsOf {
    fn path(&self, to: &Locator) -> Path {
        let path = self.transport.path(to);
        if self.fixed_size && !path.is_lossless() { Path::unknown(to.kind) } else { path }
    }
}

/// The kinds of locators of a transport whose paths are opened.
fn opened_kinds(transport: &dyn Transport) -> Vec<LocatorKind> {
    let own = transport.locators().default_unicast;
    let mut kinds: Vec<_> = own.iter().filter(|own| transport.opens(own)).map(|own| own.kind).collect();
    // What others announce of it is never the way to them where this participant has none.
    kinds.extend(defaults::OPENED_KINDS);
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// Those that everything is sent from; none if they are more than can be announced.
fn source_ports(transport: &dyn Transport) -> [u16; 4] {
    let mut ports = [0; 4];
    let own = transport.source_ports();
    if own.len() <= ports.len() {
        ports.iter_mut().zip(own).for_each(|(port, own)| *port = own);
    }
    ports
}

fn make_member(
    config: &DriverConfig,
    sink: Arc<dyn EventSink>,
    group: &ReceiveGroup,
) -> Result<Arc<GroupMember>, JoinError> {
    let transport = &group.transport;
    let (guid_prefix, seed, secret) = group.platform.identity()?;
    let automatic = || defaults::MAX_MESSAGE_SIZE.min(transport.max_message_size());
    let participant = ParticipantConfig {
        guid_prefix,
        domain_id: config.udp.domain,
        domain_tag: config.domain_tag.clone(),
        opened_kinds: opened_kinds(&**transport),
        locators: receive_group::locators(&**transport),
        source_ports: source_ports(&**transport),
        goodbye_secret: Some(secret),
        initial_peers: config.initial_peers.clone(),
        spdp_destinations: transport.announce_to(),
        broadcasts: !config.udp.broadcast.is_empty(),
        qos: config.qos.clone(),
        lease_duration: config.lease_duration,
        announcement_period: config.announcement_period,
        max_message_size: config.max_message_size.unwrap_or_else(automatic),
        paths: Some(Arc::new(PathsOf {
            transport: Arc::clone(transport),
            fixed_size: config.max_message_size.is_some(),
        })),
        receive_room: group.room.clone(),
        tuning: config.tuning.clone(),
        quotas: config.quotas,
        role: config.role.clone(),
        seed,
        entity_name: config.entity_name.clone(),
    };
    Ok(Arc::new(GroupMember::new(Participant::new(participant), sink, transport, group.platform.clone())))
}
