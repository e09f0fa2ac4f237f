//! RTPS 2.5 §8.4.9 "RTPS StatefulWriter Reference Implementation".

mod batch;
mod config;
mod filtering;
mod handing;
mod heartbeat;
mod inactive;
mod matching;
mod memory;
mod path;
mod proxy;
mod push;
mod repair;
mod repaired;
mod requests;
mod round_trip;
mod routes;
mod separation;
mod wide;
mod window;

pub use config::{ReaderProxyConfig, WriterConfig};
pub use filtering::ReaderFilter;
pub use requests::AckOutcome;

use crate::emit::Framing;
use crate::pacer::Pacer;
use crate::remembered::Remembered;
use crate::timing::earliest;
use crate::{WriterHistory, WriterStats};
use alloc::boxed::Box;
use alloc::vec::Vec;
use batch::Batch;
use dunlin_buf::{Outbox, SharedBytes};
use dunlin_core::{Duration, Guid, Locator, MonoTime, Now, SequenceNumber, SnRange};
use dunlin_wire::HeartbeatGroup;
pub use heartbeat::HeartbeatCounts;
use heartbeat::HeartbeatState;
use memory::Split;
use proxy::ReaderProxy;
use repair::RepairGate;
use routes::Cover;
pub use wide::Paths;
use window::Window;

/// A writer with its matched readers.
///
/// New data leaves in [`on_new_change`](Self::on_new_change), or later in [`on_timer`](Self::on_timer) when it is paced or
/// waits for more, see [`WriterConfig::latency_budget`].
/// After the datagrams of such a call were handed to the transport, tell [`mark_on_wire`](Self::mark_on_wire) what
/// [`sent_sn`](Self::sent_sn) said right after the call: until then no HEARTBEAT announces those changes, except the one
/// that travels with them, so a HEARTBEAT sent by another thread cannot overtake the data it announces.
#[derive(Debug)]
pub struct Writer {
    cfg: WriterConfig,
    framing: Framing,
    /// Sorted by GUID; boxed, so that making room among a thousand moves pointers.
    #[expect(clippy::vec_box, reason = "a proxy is a third of a kilobyte")]
    proxies: Vec<Box<ReaderProxy>>,
    /// Their GUIDs in the same order, close together for the search.
    guids: Vec<Guid>,
    /// Destinations of new data.
    routes: Vec<Locator>,
    cover: Cover,
    /// The set of readers has changed since `routes` was derived from it.
    routes_stale: bool,
    split: Split,
    /// Some reader has a filter or a minimum separation, so each change is asked about.
    filters: bool,
    /// When the minimum separation of what is kept back is over, at the earliest.
    separation_due: Option<MonoTime>,
    /// The first change that is kept back for a reader that acknowledges nothing.
    held: Option<SequenceNumber>,
    /// Somebody waits for acknowledgments of changes up to here, so none is kept back.
    hurry_through: SequenceNumber,
    /// Destinations of what not all readers want; empty while they do.
    narrow: Vec<Locator>,
    /// Changes up to here were asked about, and who does not get them is known.
    filtered_through: SequenceNumber,
    /// Some reader on the routes expects inline QoS.
    inline_qos_expected: bool,
    /// Matched readers that acknowledge.
    reliable_count: usize,
    /// Highest change the writer was told of.
    last_sn: SequenceNumber,
    /// Changes up to here were handed out for sending, or skipped because they are gone.
    pushed: SequenceNumber,
    /// The fragment to go on with in the change after `pushed`.
    next_fragment: u32,
    push_due: Option<MonoTime>,
    on_wire: SequenceNumber,
    /// Lowest `acked` of the reliable readers.
    acked_min: Option<SequenceNumber>,
    /// How many reliable readers have acknowledged no more than that.
    slowest: usize,
    pacer: Option<Pacer>,
    window: Window,
    batch: Batch,
    /// New data waits for more, not for the pacer.
    holding: bool,
    /// What HEARTBEATs say of the publisher.
    group: Option<HeartbeatGroup>,
    heartbeat: HeartbeatState,
    gate: RepairGate,
    repair_due: Option<MonoTime>,
    /// All readers are being served, so that `repair_due` says nothing about them.
    serving_all: bool,
    /// Which reader is served first at the next opportunity.
    repair_turn: usize,
    /// When to look for readers that do not answer, or to ask them again.
    inactive_due: Option<MonoTime>,
    /// Readers that are not waited for.
    lagging: usize,
    /// While there are such: the lowest `acked` of the others, and how many have acknowledged no more than that.
    active_min: Option<SequenceNumber>,
    slowest_active: usize,
    /// Readers that became inactive or active again since this was last asked for.
    standing_news: Vec<(Guid, bool)>,
    /// Changes up to here were removed although such readers had not acknowledged them.
    released: SequenceNumber,
    /// What readers had acknowledged whose participants were not heard for their lease.
    lost_readers: Remembered,
    inline: Vec<u8>,
    gaps: Vec<SnRange>,
    stats: WriterStats,
}

impl Writer {
    /// A writer without matched readers.
    #[must_use]
    pub fn new(cfg: WriterConfig) -> Self {
        Self {
            framing: Framing::new(cfg.guid, cfg.keyed, cfg.max_message_size, cfg.fragment_size)
                .directed(cfg.only),
            proxies: Vec::new(),
            guids: Vec::new(),
            routes: Vec::new(),
            cover: Cover::default(),
            routes_stale: false,
            split: Split::default(),
            filters: false,
            separation_due: None,
            held: None,
            hurry_through: SequenceNumber::ZERO,
            narrow: Vec::new(),
            filtered_through: SequenceNumber::ZERO,
            inline_qos_expected: false,
            reliable_count: 0,
            last_sn: SequenceNumber::ZERO,
            pushed: SequenceNumber::ZERO,
            next_fragment: 1,
            push_due: None,
            on_wire: SequenceNumber::ZERO,
            acked_min: None,
            slowest: 0,
            pacer: cfg.pacing.map(Pacer::new),
            window: Window::new(cfg.window, cfg.max_message_size, cfg.window_patience),
            batch: Batch::new(&cfg),
            holding: false,
            group: None,
            heartbeat: HeartbeatState::new(&cfg),
            gate: RepairGate::default(),
            repair_due: None,
            serving_all: false,
            repair_turn: 0,
            inactive_due: None,
            lagging: 0,
            active_min: None,
            slowest_active: 0,
            standing_news: Vec::new(),
            released: SequenceNumber::ZERO,
            lost_readers: Remembered::default(),
            inline: Vec::new(),
            gaps: Vec::new(),
            stats: WriterStats::default(),
            cfg,
        }
    }

    /// The writer's GUID.
    #[must_use]
    pub fn guid(&self) -> Guid {
        self.cfg.guid
    }

    /// Does what has become due: paced data, repairs, HEARTBEATs.
    pub fn on_timer(&mut self, now: Now, history: &dyn WriterHistory, out: &mut Outbox) {
        let now = now.mono;
        self.repairs_due(now, history, out);
        self.separations_due(now, history, out);
        if crate::timing::is_due(self.push_due, now) {
            if self.holding {
                self.batch.timed_out();
            }
            self.push(now, history, out);
        }
        self.heartbeats_due(now, history, out);
        self.inactivity_due(now, history, out);
    }

    /// When [`on_timer`](Self::on_timer) next has something to do; it may turn out to be nothing.
    #[must_use]
    pub fn next_deadline(&self) -> Option<MonoTime> {
        let data = earliest(self.push_due, earliest(self.repair_due, self.separation_due));
        earliest(data, earliest(self.heartbeat.due, self.inactive_due))
    }

    /// The change with this number, and all before it, have been handed to the transport.
    pub fn mark_on_wire(&mut self, sn: SequenceNumber) {
        self.on_wire = self.on_wire.max(sn).min(self.pushed);
    }

    /// The highest change that was completely put into an outbox.
    #[must_use]
    pub fn sent_sn(&self) -> SequenceNumber {
        self.pushed
    }

    /// True while new data waits, for the pacer or for more of it.
    #[must_use]
    pub fn has_waiting_data(&self) -> bool {
        self.pushed < self.last_sn
    }

    /// True if [`on_timer`](Self::on_timer) would send new data now, for whose order on the wire the caller has to care.
    #[must_use]
    pub fn is_push_due(&self, now: MonoTime) -> bool {
        self.has_waiting_data() && crate::timing::is_due(self.push_due, now)
    }

    /// True while new data waits for the pacer or for readers, so that more of it would only be queued.
    #[must_use]
    pub fn is_held_back(&self, now: MonoTime) -> bool {
        !self.holding && self.push_due.is_some_and(|at| at > now)
    }

    /// What HEARTBEATs say of the publisher from now on (RTPS 2.5 §8.3.8.6), as far as they announce everything that is
    /// written.
    pub fn set_group(&mut self, group: Option<HeartbeatGroup>) {
        self.group = group;
    }

    /// Changes how urgent the datagrams of the writer are (DDS 1.4 §2.2.3.15 TRANSPORT_PRIORITY): a differentiated services
    /// code point, 0 by default.
    pub fn set_traffic_class(&mut self, class: u8) {
        self.framing.class = class;
    }

    /// Lets new data wait without limit of time, or not (DDS 1.4 §2.2.2.4.1.8 suspend_publications).
    pub fn set_suspended(&mut self, suspended: bool) {
        self.batch.set_suspended(suspended);
    }

    /// Changes [`WriterConfig::latency_budget`], also for what waits: it counts from the first sample that does.
    pub fn set_latency_budget(&mut self, budget: Duration) {
        let due = self.batch.set_budget(budget);
        if self.holding && due.is_some() {
            self.push_due = due;
        }
    }

    /// Changes [`WriterConfig::reader_inline_qos`], for everything that is sent from now on.
    pub fn set_reader_inline_qos(&mut self, parameters: Option<SharedBytes>) {
        self.cfg.reader_inline_qos = parameters;
    }

    /// The write that [`on_new_change`](Self::on_new_change) was last told of ended at this time, all sent: what comes
    /// right behind it makes a burst.
    pub fn write_ended(&mut self, at: MonoTime) {
        self.batch.write_ended(at);
    }

    /// Every change up to this one is acknowledged by every matched reliable reader, and was sent to the others: what is kept
    /// back for one of them (DDS 1.4 §2.2.3.12 TIME_BASED_FILTER) is still needed.
    #[must_use]
    #[inline]
    pub fn acked_by_all(&self) -> SequenceNumber {
        let left = self.left_through();
        self.acked_min.map_or(left, |acked| acked.min(left))
    }

    /// Whether a matched reader has acknowledged a change. A best-effort reader acknowledges everything that was sent;
    /// a reader that is not matched, nothing.
    #[must_use]
    pub fn is_acked_by(&self, reader: Guid, sn: SequenceNumber) -> bool {
        let proxy = self.find(reader).and_then(|index| self.proxies.get(index));
        let left = |proxy: &ReaderProxy| self.pushed >= sn && proxy.first_kept().is_none_or(|kept| kept > sn);
        proxy.is_some_and(|proxy| if proxy.reliable { proxy.acked >= sn } else { left(proxy) })
    }

    /// Every change up to this one is acknowledged by a matched reliable reader; `None` when it is not matched, or is a
    /// best-effort reader.
    #[must_use]
    pub fn acked_by(&self, reader: Guid) -> Option<SequenceNumber> {
        let proxy = self.proxies.get(self.find(reader)?)?;
        proxy.reliable.then_some(proxy.acked)
    }

    /// The matched readers, by GUID.
    pub fn matched_readers(&self) -> impl ExactSizeIterator<Item = &ReaderProxyConfig> {
        self.proxies.iter().map(|proxy| &proxy.cfg)
    }

    /// Counters since the writer was made.
    #[must_use]
    pub fn stats(&self) -> WriterStats {
        WriterStats { readers_inactive: self.lagging as u64, ..self.stats }
    }

    fn find(&self, reader: Guid) -> Option<usize> {
        self.guids.binary_search(&reader).ok()
    }

    fn refresh_acked(&mut self) {
        let acked = || self.proxies.iter().filter(|proxy| proxy.reliable).map(|proxy| proxy.acked);
        self.acked_min = acked().min();
        self.slowest = acked().filter(|acked| Some(*acked) == self.acked_min).count();
    }
}
