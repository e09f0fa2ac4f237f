//! A writer behind its locks (DDS 1.4 §2.2.2.4.2 DataWriter): what application threads, receive threads and
//! the timer do to it.

mod change;
mod ending;
mod high_water;
mod joining;
mod life;
mod liveliness;
mod membership;
mod room;
mod sender;
mod separation;
mod standing;
mod writing;

use alloc::sync::Arc;
use alloc::vec::Vec;

use dunlin_buf::SharedBytes;
use dunlin_cache::{DeadlineMissed, NewChange, WriterCache};
use dunlin_core::{
    Duration, EntityId, Guid, GuidPrefix, InstanceHandle, Locator, MonoTime, Now, SequenceNumber, WallTime,
};
use dunlin_discovery::DiscoveredReader;
use dunlin_qos::{DataWriterQos, LivelinessKind, ReliabilityKind, TransportPriority};
use dunlin_rtps::{ChangeKind, Writer, WriterHistory, WriterStats};
use dunlin_wire::{AckNack, Echo, NackFrag};
use high_water::HighWater;
pub use high_water::LONGEST_AT_HIGH_WATER;
pub(crate) use life::Life;
use liveliness::Shown;
use membership::Member;
use sender::Sender;
pub use standing::WriterStanding;
pub use writing::{RefusedWrite, WriteMode};

use crate::common::{Common, earliest};
use crate::group::{PublisherGroup, SetEnd};
use crate::matching;
use crate::output::{Event, Output, Sent};
use crate::parameters;
use crate::timers::{TimerId, TimerOwner};
use crate::turn::{OnWire, Turn, Turnstile};
use crate::writer_filter::WriterFilters;

/// A priority is a differentiated services code point.
fn traffic_class(priority: TransportPriority) -> u8 {
    u8::try_from(priority.value).unwrap_or(0)
}

/// How long the timer waits for a thread that is just sending new data of the same writer.
const TURN_RETRY: Duration = Duration::from_micros(200);

/// One change to write.
#[derive(Clone, Debug)]
pub struct WriteRequest {
    /// What it does to the instance.
    pub kind: ChangeKind,
    /// The instance: the key hash, or the handle made from it. Ignored when the topic has no key.
    pub instance: InstanceHandle,
    /// Source timestamp; `None` takes the present time.
    pub source_timestamp: Option<WallTime>,
    /// Serialized value, or serialized key when `kind` is not [`ChangeKind::Alive`]; with encapsulation header.
    pub payload: SharedBytes,
}

/// Why a change was not written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteError {
    /// The history is full. There will be room once readers acknowledge or samples expire, which
    /// [`Event::SpaceFreed`] tells; after `until` the write fails with TIMEOUT (DDS 1.4 §2.2.2.4.2.11).
    Full {
        /// The present time plus RELIABILITY max_blocking_time.
        until: MonoTime,
    },
    /// Readers have more to acknowledge than [`Tuning::high_water`](crate::Tuning::high_water). [`Event::SpaceFreed`] tells when
    /// that is less. Only writes that [wait](WriteMode::waits_at_high_water) hear of it.
    AtHighWater {
        /// From when on it is to be written without waiting for that.
        until: MonoTime,
        /// The present time plus RELIABILITY max_blocking_time.
        give_up: MonoTime,
    },
    /// Waiting would not help: OUT_OF_RESOURCES.
    OutOfResources,
    /// Only a registered instance can be unregistered: PRECONDITION_NOT_MET.
    NotRegistered,
    /// The source timestamp is before that of the previous change, or no message can carry it: BAD_PARAMETER.
    BadTimestamp,
    /// The writer was deleted: ALREADY_DELETED.
    Deleted,
}

impl core::fmt::Display for WriteError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Full { .. } => "the history is full until readers acknowledge",
            Self::AtHighWater { .. } => "readers have much to acknowledge",
            Self::OutOfResources => "RESOURCE_LIMITS are reached and waiting would not help",
            Self::NotRegistered => "the instance is not registered",
            Self::BadTimestamp => {
                "the source timestamp is before that of the previous change, before 1970 or after 2106"
            }
            Self::Deleted => "the writer was deleted",
        })
    }
}

impl core::error::Error for WriteError {}

/// The right to send the datagrams of one `write()`: send them, then [`finish`](Self::finish).
///
/// While it exists no other thread writes with this writer, so new data leaves in the order of its sequence
/// numbers. The thread that has it must only send: writing again with the same writer would wait for ever, and
/// listeners and deliveries to [`dunlin_core::Locator::LOCAL`] come afterwards. Dropping it finishes it.
#[must_use = "send the output first; the turn ends when this is dropped"]
pub struct TxTurn<'a> {
    turn: Turn<'a, WriterCore>,
    sn: SequenceNumber,
}

impl TxTurn<'_> {
    /// The number of the change that was written.
    #[must_use]
    pub fn sequence_number(&self) -> SequenceNumber {
        self.sn
    }

    /// The datagrams were sent, or will not be: heartbeats may announce the change from now on.
    pub fn finish(self) {}

    /// The same, `now`: a write right behind this one belongs to the same burst, see
    /// [`Tuning::burst_delay`](crate::Tuning::burst_delay).
    ///
    /// True when more can leave at once, see [`WriterSlot::flush`]: readers have answered meanwhile.
    pub fn finish_at(self, now: MonoTime) -> bool {
        self.turn.end(|core| {
            core.writer.write_ended(now);
            core.writer.is_push_due(now) && !core.sender.is_timer()
        })
    }
}

/// A writer. Application threads hold it directly, so writing looks nothing up.
pub struct WriterSlot {
    guid: Guid,
    common: Arc<Common>,
    timer: TimerId,
    /// RELIABILITY kind, which cannot change.
    reliable: bool,
    pub(crate) turnstile: Turnstile<WriterCore>,
}

pub(crate) struct WriterCore {
    // What it is.
    pub(crate) writer: Writer,
    cache: WriterCache,
    qos: Arc<DataWriterQos>,
    /// The publisher, if changes are numbered or belong together.
    member: Option<Member>,
    pub(crate) life: Life,

    // Its readers.
    /// By GUID.
    readers: Vec<Arc<DiscoveredReader>>,
    filters: WriterFilters,
    /// The last change that none of the readers that ever matched was there for; `None` before the first.
    missed_by_all: Option<SequenceNumber>,

    // Room in the history, and who waits for it or for acknowledgements.
    /// A write was refused because the history was full.
    refused: bool,
    /// Samples kept for inactive readers at most.
    inactive_backlog: usize,
    high_water: HighWater,
    /// Somebody may wait for acknowledgements of changes up to here.
    pub(crate) awaited: SequenceNumber,

    // Time.
    sender: Sender,
    /// What the timers have for this writer; never later than the true deadline.
    armed: Option<MonoTime>,
    /// Both clocks, as they were last read for a sample.
    clocks: Now,
    /// When it showed itself alive.
    shown: Shown,
    /// Kept for reuse.
    missed: Vec<DeadlineMissed>,
}

impl OnWire for WriterCore {
    fn mark_on_wire(&mut self, sent: SequenceNumber) {
        self.writer.mark_on_wire(sent);
    }
}

impl Sent for WriterSlot {
    fn timer_sent(&self, sent: SequenceNumber) {
        let mut core = self.turnstile.core();
        core.writer.mark_on_wire(sent);
        core.sender.timer_ended();
    }
}

impl WriterSlot {
    pub(crate) fn new(
        now: Now,
        common: &Arc<Common>,
        writer: Writer,
        cache: WriterCache,
        qos: Arc<DataWriterQos>,
        group: Option<Arc<PublisherGroup>>,
        filters: WriterFilters,
    ) -> Self {
        let guid = writer.guid();
        let mut writer = writer;
        writer.set_traffic_class(traffic_class(qos.transport_priority));
        if qos.liveliness.kind == LivelinessKind::ManualByParticipant {
            common.manual.add_writer(now.mono, qos.liveliness.lease_duration);
        }
        let reliable = qos.reliability.kind == ReliabilityKind::Reliable;
        let core = WriterCore {
            high_water: HighWater::new(&qos, &common.tuning),
            writer,
            cache,
            qos,
            readers: Vec::new(),
            filters,
            armed: None,
            refused: false,
            inactive_backlog: common.tuning.inactive_backlog,
            sender: Sender::Writes,
            clocks: now,
            shown: Shown::at(now.mono),
            awaited: SequenceNumber::ZERO,
            life: Life::Open,
            missed_by_all: None,
            missed: Vec::new(),
            member: group.map(Member::new),
        };
        let timer = common.timers.register(TimerOwner::Writer(guid.entity_id));
        Self { guid, common: Arc::clone(common), timer, reliable, turnstile: Turnstile::new(core) }
    }

    /// Begins to wait for what becomes due although nothing is ever written or matched: the loss of liveliness.
    pub(crate) fn start(&self, out: &mut Output) {
        self.arm(&mut self.turnstile.core(), out);
    }

    /// The writer's GUID.
    #[must_use]
    pub fn guid(&self) -> Guid {
        self.guid
    }

    /// Whether it offers RELIABILITY RELIABLE.
    #[must_use]
    pub fn is_reliable(&self) -> bool {
        self.reliable
    }

    pub(crate) fn id(&self) -> EntityId {
        self.guid.entity_id
    }

    /// Describes the datagrams of what waits for more, see [`Tuning::burst_delay`](crate::Tuning::burst_delay) and
    /// LATENCY_BUDGET; `None` if nothing does. Waits while another thread has the turn of this writer.
    pub fn flush(&self, now: Now, out: &mut Output) -> Option<TxTurn<'_>> {
        let flush = |core: &mut WriterCore| {
            // What a timer call has to send before leaves with it.
            if core.life.is_deleted() || core.sender.is_timer() || !core.writer.has_waiting_data() {
                return Err(());
            }
            core.progressing(out, |core, out| core.writer.flush(now, &core.cache, &mut out.outbox));
            self.arm(core, out);
            let sent = core.writer.sent_sn();
            Ok((Some(sent), sent))
        };
        let (turn, sn) = self.turnstile.begin(flush).ok()?;
        Some(TxTurn { turn, sn })
    }

    /// Ends a coherent set at this writer (RTPS 2.5 §8.7.5, §8.7.6); `None` if it had no part in it and need not say so.
    pub fn end_set(&self, now: Now, end: &SetEnd, out: &mut Output) -> Option<TxTurn<'_>> {
        let (turn, sn) = self.turnstile.begin(|core| core.end_set(now, end, self, out)).ok()?;
        Some(TxTurn { turn, sn })
    }

    /// Lets new data wait without limit of time (DDS 1.4 §2.2.2.4.1.8), or not any more; then [`flush`](Self::flush).
    pub fn set_suspended(&self, suspended: bool) {
        self.turnstile.core().writer.set_suspended(suspended);
    }

    /// Whether anything waits for more, or for the pacer.
    #[must_use]
    pub fn has_waiting_data(&self) -> bool {
        self.turnstile.core().writer.has_waiting_data()
    }

    /// Whether samples wait for more to share a datagram, in a burst or for LATENCY_BUDGET; not for the pacer or for readers.
    #[must_use]
    pub fn is_waiting_for_more(&self) -> bool {
        self.turnstile.core().writer.is_waiting_for_more()
    }

    /// Registers an instance (DDS 1.4 §2.2.2.4.2.5, §2.2.2.4.2.6); registering it again does nothing. `key` is its
    /// serialized key, for [`instance_key`](Self::instance_key). No later write may have an earlier timestamp than a given one.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn register_instance(
        &self,
        now: Now,
        instance: InstanceHandle,
        key: Option<SharedBytes>,
        source_timestamp: Option<WallTime>,
        out: &mut Output,
    ) -> Result<(), WriteError> {
        let mut core = self.turnstile.core();
        if !core.life.is_open() {
            return Err(WriteError::Deleted);
        }
        core.check_timestamp(source_timestamp, None)?;
        core.make_room_of_inactive(instance, None);
        let acked = core.writer.acked_by_all();
        let result = core.cache.register(now, instance, key, acked);
        if let (Ok(()), Some(given)) = (result, source_timestamp) {
            core.cache.note_source_timestamp(given);
        }
        let result = result.map_err(|error| core.refuse(now, error, out));
        self.arm(&mut core, out);
        result
    }

    /// Whether the handle is one of an instance of this writer, registered or with samples in the history.
    #[must_use]
    pub fn contains_instance(&self, instance: InstanceHandle) -> bool {
        self.turnstile.core().cache.contains_instance(instance)
    }

    /// Whether the instance is registered, explicitly or by a write.
    #[must_use]
    pub fn is_registered(&self, instance: InstanceHandle) -> bool {
        self.turnstile.core().cache.is_registered(instance)
    }

    /// The serialized key of an instance, if it was given.
    #[must_use]
    pub fn instance_key(&self, instance: InstanceHandle) -> Option<SharedBytes> {
        self.turnstile.core().cache.instance_key(instance).cloned()
    }

    /// Whether the instance is registered and its key known. That of an unregistered one may go with its last change.
    #[must_use]
    pub fn is_keyed(&self, instance: InstanceHandle) -> bool {
        let core = self.turnstile.core();
        core.cache.is_registered(instance) && core.cache.instance_key(instance).is_some()
    }

    /// Keeps the serialized key of an instance, unless it is known already.
    pub fn set_instance_key(&self, instance: InstanceHandle, key: &SharedBytes) {
        self.turnstile.core().cache.set_instance_key(instance, key);
    }

    /// Every change up to this one is acknowledged by every matched reliable reader. Compare it with
    /// [`last_sn`](Self::last_sn) to wait for acknowledgements.
    #[must_use]
    pub fn acked_by_all(&self) -> SequenceNumber {
        self.turnstile.core().writer.acked_by_all()
    }

    /// Whether one matched reader has acknowledged a change.
    #[must_use]
    pub fn is_acked_by(&self, reader: Guid, sn: SequenceNumber) -> bool {
        self.turnstile.core().writer.is_acked_by(reader, sn)
    }

    /// The last change written; 0 before the first.
    #[must_use]
    pub fn last_sn(&self) -> SequenceNumber {
        self.turnstile.core().cache.last_sn()
    }

    /// The latest source timestamp written: a later write must not have an earlier one.
    #[must_use]
    pub fn last_source_timestamp(&self) -> Option<WallTime> {
        self.turnstile.core().cache.last_source_timestamp()
    }

    /// Asks every reader that has not acknowledged everything to do so now, for a caller that waits.
    pub fn request_acknowledgments(&self, now: Now, out: &mut Output) {
        let mut guard = self.turnstile.core();
        let core = &mut *guard;
        core.awaited = core.cache.last_sn();
        core.progressing(out, |core, out| {
            core.writer.request_acknowledgments(now, &core.cache, &mut out.outbox);
        });
        self.arm(core, out);
    }

    /// The matched readers, by GUID.
    #[must_use]
    pub fn matched_readers(&self) -> Vec<Arc<DiscoveredReader>> {
        self.turnstile.core().readers.clone()
    }

    /// Whether a matched reader has ever acknowledged anything; `None` when it is not matched, or never would.
    #[must_use]
    pub fn has_heard(&self, reader: Guid) -> Option<bool> {
        self.turnstile.core().writer.has_heard(reader)
    }

    /// The QoS in force.
    #[must_use]
    pub fn qos(&self) -> Arc<DataWriterQos> {
        Arc::clone(&self.turnstile.core().qos)
    }

    /// Whether a matched reader is inactive, or does not count as active again yet; `None` when it is not matched.
    #[must_use]
    pub fn is_inactive(&self, reader: Guid) -> Option<bool> {
        self.turnstile.core().writer.is_inactive(reader)
    }

    /// Counters since the writer was made.
    #[must_use]
    pub fn stats(&self) -> WriterStats {
        self.turnstile.core().stats()
    }

    /// How many changes the history holds.
    #[must_use]
    pub fn history_len(&self) -> usize {
        self.turnstile.core().cache.len()
    }

    pub(crate) fn on_acknack(
        self: &Arc<Self>,
        now: Now,
        source: GuidPrefix,
        acknack: &AckNack,
        out: &mut Output,
    ) {
        let turn = self.turnstile.try_turn();
        let mut guard = self.turnstile.core();
        let core = &mut *guard;
        let outcome = core.progressing(out, |core, out| {
            core.writer.on_acknack(now, source, acknack, &core.cache, &mut out.outbox)
        });
        self.note_refused(core, source, out);
        if outcome.first {
            // Somebody may be waiting for a sign of this reader.
            out.tell_once(Event::AckAdvanced { writer: self.id() });
        }
        self.go_on(core, turn.is_some(), now, out);
    }

    /// A reader has taken what was in flight: what waited for that leaves at once.
    pub(crate) fn on_echo(self: &Arc<Self>, now: Now, source: GuidPrefix, echo: &Echo, out: &mut Output) {
        let turn = self.turnstile.try_turn();
        let mut guard = self.turnstile.core();
        let core = &mut *guard;
        if core.writer.on_echo(now, source, echo) {
            self.go_on(core, turn.is_some(), now, out);
        }
        self.note_refused(core, source, out);
    }

    /// Counts what the writer has refused, if it has.
    fn note_refused(&self, core: &mut WriterCore, source: GuidPrefix, out: &mut Output) {
        if let Some(what) = core.writer.take_refused() {
            self.common.misbehaved(source, what, &mut out.events);
        }
    }

    /// Sends new data that need not wait any longer, if it is this thread's turn. Otherwise the thread whose turn it is
    /// looks at its end; the timer looks too, in case it has just done so.
    fn go_on(self: &Arc<Self>, core: &mut WriterCore, has_turn: bool, now: Now, out: &mut Output) {
        if core.life.is_deleted() || !core.writer.is_push_due(now.mono) {
            self.arm(core, out);
        } else if !has_turn || core.sender.is_timer() {
            self.arm_for_turn(core, now.mono, out);
        } else {
            core.progressing(out, |core, out| core.writer.flush(now, &core.cache, &mut out.outbox));
            core.sender.timer_begins();
            out.sent_by_timer(Arc::clone(self) as Arc<dyn Sent>, core.writer.sent_sn());
            self.arm(core, out);
        }
    }

    /// Another thread has the turn: look again soon. Whatever else is due can wait as long.
    fn arm_for_turn(&self, core: &mut WriterCore, now: MonoTime, out: &mut Output) {
        let others = core.next_deadline().filter(|at| *at > now);
        let deadline = earliest(others, Some(now.plus(TURN_RETRY)));
        self.common.arm(self.timer, &mut core.armed, deadline, &mut out.deadline_closer);
    }

    pub(crate) fn on_nack_frag(&self, now: Now, source: GuidPrefix, nack: &NackFrag, out: &mut Output) {
        let mut guard = self.turnstile.core();
        let core = &mut *guard;
        core.progressing(out, |core, out| {
            core.writer.on_nack_frag(now, source, nack, &core.cache, &mut out.outbox);
        });
        self.note_refused(core, source, out);
        self.arm(core, out);
    }

    /// Runs what is due. Paced data is new data: it leaves only if no other thread has the turn, and `out`
    /// keeps others from sending past it until it is cleared.
    pub(crate) fn on_timer(self: &Arc<Self>, now: Now, out: &mut Output) {
        let turn = self.turnstile.try_turn();
        let mut guard = self.turnstile.core();
        let core = &mut *guard;
        core.armed = None;
        if core.life.is_deleted() {
            return;
        }
        let freed = core.cache.on_timer(now, &mut core.missed);
        if freed > 0 {
            core.tell_space(self.id(), out);
        }
        core.tell_missed(self.id(), out);
        core.check_liveliness(now.mono, self, out);
        let new_data = core.sender.has_queued() || core.writer.is_push_due(now.mono);
        if new_data && (turn.is_none() || core.sender.is_timer()) {
            self.arm_for_turn(core, now.mono, out);
            return;
        }
        core.progressing(out, |core, out| core.send_due(now, out));
        if new_data {
            core.sender.timer_begins();
            out.sent_by_timer(Arc::clone(self) as Arc<dyn Sent>, core.writer.sent_sn());
        }
        self.arm(core, out);
    }

    /// A reader was matched, or changed.
    pub(crate) fn match_reader(&self, now: Now, remote: &Arc<DiscoveredReader>, out: &mut Output) {
        let mut guard = self.turnstile.core();
        let core = &mut *guard;
        if !core.life.takes_new_readers() && !core.readers.iter().any(|known| known.guid == remote.guid) {
            return;
        }
        let mut proxy = matching::reader_proxy(remote);
        if let Some(places) = core.direct_to(remote) {
            (proxy.unicast, proxy.multicast) = (Arc::clone(places), Arc::default());
        }
        if remote.subscriber_qos.presentation.coherent_access {
            proxy.begun_set = core.member.as_ref().and_then(Member::begun_set);
        }
        proxy.filter = core.filters.find(remote);
        proxy.minimum_separation = core.filters.separation(remote);
        if matching::upsert(&mut core.readers, Arc::clone(remote)) {
            let (current, life) = (core.readers.len(), remote.life);
            core.note_reader(remote);
            let remote = remote.guid;
            out.events.push(Event::PublicationMatched { writer: self.id(), remote, current, added: true });
            // What the pacer still held back when the last reader went is not for the first that comes.
            core.progressing(out, |core, out| {
                core.writer.match_reader_of(now, life, proxy, &core.cache, &mut out.outbox);
            });
        } else {
            core.writer.update_reader(remote.guid, proxy.unicast, proxy.multicast);
            core.progressing(out, |core, out| {
                core.writer.set_reader_filter(remote.guid, proxy.filter, &core.cache, &mut out.outbox);
            });
            core.set_separation(now, remote.guid, proxy.minimum_separation, out);
        }
        self.arm(core, out);
    }

    /// A reader no longer matches, or was not heard for the lease of its participant.
    pub(crate) fn unmatch_reader(&self, remote: Guid, lease_expired: bool, out: &mut Output) {
        let mut guard = self.turnstile.core();
        let core = &mut *guard;
        let reader = matching::remove(&mut core.readers, remote);
        debug_assert!(reader.is_some(), "discovery ends matches that it began: {remote}");
        let Some(reader) = reader else { return };
        let current = core.readers.len();
        out.events.push(Event::PublicationMatched { writer: self.id(), remote, current, added: false });
        core.progressing(out, |core, _| match lease_expired {
            true => core.writer.lose_reader(remote, reader.life),
            false => core.writer.unmatch_reader(remote),
        });
        // Somebody may be waiting for exactly this reader.
        out.tell_once(Event::AckAdvanced { writer: self.id() });
        core.tell_space(self.id(), out);
        self.arm(core, out);
    }

    /// From now on nothing is written, answered or timed. Whoever waits for room is told to try again, and hears why
    /// there will be none.
    pub(crate) fn delete(&self, out: &mut Output) {
        let mut core = self.turnstile.core();
        if !core.life.delete() {
            return;
        }
        core.tell_space(self.id(), out);
        core.abandon_mark(out);
        core.member.iter().for_each(|member| member.leave(self.id()));
        if core.qos.liveliness.kind == LivelinessKind::ManualByParticipant {
            self.common.manual.remove_writer();
        }
        self.common.timers.unregister(self.timer);
    }

    pub(crate) fn is_deleted(&self) -> bool {
        self.turnstile.core().life.is_deleted()
    }

    pub(crate) fn arm(&self, core: &mut WriterCore, out: &mut Output) {
        if !core.life.is_deleted() {
            let deadline = core.next_deadline();
            self.common.arm(self.timer, &mut core.armed, deadline, &mut out.deadline_closer);
        }
    }
}

impl core::fmt::Debug for WriterSlot {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("WriterSlot").field("guid", &self.guid).finish_non_exhaustive()
    }
}

impl WriterCore {
    /// Where it sends to a reader past the daemon of its host, if it does.
    fn direct_to<'r>(&self, reader: &'r DiscoveredReader) -> Option<&'r Arc<[Locator]>> {
        let asked = self.qos.writes_directly() == Some(true);
        reader.direct.as_ref().filter(|_| asked)
    }

    /// Returns what is on the wire once `out` was sent, and the number of the change.
    fn write(
        &mut self,
        now: Now,
        (request, inline_qos): (WriteRequest, Option<SharedBytes>),
        mode: WriteMode,
        slot: &WriterSlot,
        out: &mut Output,
    ) -> Result<(Option<SequenceNumber>, SequenceNumber), WriteError> {
        if !self.life.is_open() {
            return Err(WriteError::Deleted);
        }
        let WriteRequest { kind, instance, source_timestamp, payload } = request;
        self.admit((instance, kind), source_timestamp, inline_qos.as_ref())?;
        self.clocks = now;
        // Threads read the clock before they queue for the turn, yet timestamps must follow the numbers.
        let last = self.cache.last_source_timestamp();
        let present = last.map_or(now.wall, |last| last.max(now.wall));
        let change = NewChange {
            kind,
            instance,
            source_timestamp: source_timestamp.unwrap_or(present),
            payload: (!payload.is_empty()).then_some(payload),
            inline_qos: inline_qos.clone(),
        };
        let (sent_before, before) = (self.writer.sent_sn(), self.progress());
        if self.writer.has_waiting_data()
            && !self.sender.is_timer()
            && self.cache.may_drop_after(instance, sent_before)
        {
            self.writer.flush(now, &self.cache, &mut out.outbox);
        }
        self.let_kept_leave(now, kind, out);
        self.make_room_of_inactive(instance, Some(kind));
        let acked = self.writer.acked_by_all();
        let sn = match self.cache.add(now, change, acked) {
            Ok(sn) => sn,
            Err(error) => {
                let refusal = self.refuse(now, error, out);
                // What left before may be acknowledged, and others may wait for its room.
                self.after_ack(before, out);
                return Err(refusal);
            }
        };
        if let Some(list) = self.member.as_mut().and_then(|member| member.number(sn)) {
            self.cache.set_inline_qos(sn, parameters::joined(inline_qos.as_ref(), list));
        }
        self.report_group();
        self.note_alive(now.mono, slot, out);
        if self.sender.is_timer() && !self.writer.is_held_back(now.mono) {
            self.sender.queue();
            self.after_ack(before, out);
            return Ok((None, sn));
        }
        let Output { local_delivery, outbox, .. } = out;
        let in_process = mode.in_process && !self.sender.is_timer() && self.member.is_none();
        if !in_process || !local_delivery.fill(|places| self.writer.deliver_locally(sn, &self.cache, places))
        {
            self.writer.on_new_change(now, sn, &self.cache, outbox);
        }
        let local = local_delivery.is_some();
        self.tell_dropped_filters(out);
        let sent = self.writer.sent_sn();
        let left = self.writer.acked_by_all();
        // Where nobody has to acknowledge, one change stays until the next is written, and not as many as left at once.
        if acked > before.all || left > acked.next() || self.refused {
            self.after_ack(before, out);
        }
        // A local delivery needs no mark: nothing is on its way.
        Ok(((!local && sent > sent_before).then_some(sent), sn))
    }

    fn end_set(
        &mut self,
        now: Now,
        end: &SetEnd,
        slot: &WriterSlot,
        out: &mut Output,
    ) -> Result<(Option<SequenceNumber>, SequenceNumber), ()> {
        let member = self.member.as_mut().filter(|_| !self.life.is_deleted()).ok_or(())?;
        let next = self.cache.last_sn().next();
        let (first, list) = member.end(end, next).ok_or(())?;
        let (before, acked) = (self.writer.sent_sn(), self.writer.acked_by_all());
        let time = self.cache.last_source_timestamp().map_or(now.wall, |last| last.max(now.wall));
        let sn = self.cache.add_set_end(time, first, list, acked);
        if self.sender.is_timer() {
            self.sender.queue();
        } else {
            self.progressing(out, |core, out| {
                core.writer.on_new_change(now, sn, &core.cache, &mut out.outbox);
                core.writer.flush(now, &core.cache, &mut out.outbox);
            });
        }
        slot.arm(self, out);
        let sent = self.writer.sent_sn();
        Ok(((sent > before).then_some(sent), sn))
    }

    /// What HEARTBEATs say of the publisher is of now.
    fn report_group(&mut self) {
        if let Some(member) = &self.member {
            self.writer.set_group(member.report());
        }
    }

    /// What the protocol has to send now, preceded by what was queued.
    fn send_due(&mut self, now: Now, out: &mut Output) {
        if self.sender.take_queued() {
            self.writer.on_new_change(now, self.cache.last_sn(), &self.cache, &mut out.outbox);
        }
        self.writer.on_timer(now, &self.cache, &mut out.outbox);
    }

    fn tell_missed(&mut self, id: EntityId, out: &mut Output) {
        for DeadlineMissed { instance, count } in self.missed.drain(..) {
            out.events.push(Event::OfferedDeadlineMissed { writer: id, instance, count });
        }
    }

    fn next_deadline(&self) -> Option<MonoTime> {
        // A queued change leaves as soon as the timer may send.
        let queued = self.sender.has_queued().then_some(MonoTime(0));
        let data = earliest(self.writer.next_deadline(), self.cache.next_deadline());
        let closing =
            self.life.closing().map(|it| if self.is_acked(it.last) { MonoTime(0) } else { it.until });
        earliest(earliest(data, queued), earliest(closing, self.liveliness_deadline()))
    }
}
