//! RTPS 2.5 §8.4.9 "RTPS StatefulWriter Reference Implementation".
//!
//! A [`Writer`] is made of parts, each with a module and private state: `readers`, `transmission`, `announcements`, `repairs`,
//! `withheld`, `inactivity`. A part may be given the readers; otherwise parts know nothing of each other, and none sends.
//!
//! The other modules are methods of the writer, which coordinate the parts and send: `matching` and `acknack` serve readers,
//! `push`, `large_datagrams`, `shared_memory`, `local_delivery`, `echo` and `unheard` new data, `heartbeat` what is announced, `repair`
//! what readers ask for, `withhold` what they are not sent.

mod acknack;
mod announcements;
mod config;
mod echo;
mod heartbeat;
mod inactivity;
mod large_datagrams;
mod local_delivery;
mod lossless;
mod matching;
mod push;
mod readers;
mod repair;
mod repairs;
mod transmission;
mod unheard;
mod withheld;
mod withhold;

use alloc::vec::Vec;

pub use acknack::AckOutcome;
use announcements::Announcements;
pub use announcements::HeartbeatCounts;
pub use config::{ReaderFilter, ReaderProxyConfig, WriterConfig};
use dunlin_buf::{Outbox, SharedBytes};
use dunlin_core::{Duration, Guid, Misbehaviour, MonoTime, Now, SequenceNumber, SnRange};
use dunlin_wire::HeartbeatGroup;
use inactivity::Inactivity;
use large_datagrams::Forms;
use readers::{LongDatagramPaths, ReaderProxy, Readers};
use repairs::Repairs;
use transmission::Transmission;
use withheld::Withheld;

use crate::emit::Framing;
use crate::timing::earliest;
use crate::{WriterHistory, WriterStats};

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

    // Parts
    readers: Readers,
    /// New data on its way.
    transmission: Transmission,
    announcements: Announcements,
    repairs: Repairs,
    withheld: Withheld,
    inactivity: Inactivity,
    /// How large changes left.
    forms: Forms,
    long_datagram_paths: LongDatagramPaths,

    // Scratch
    /// Inline QoS of the change that is just leaving.
    inline: Vec<u8>,
    /// What a reader is just told that it does not get.
    gaps: Vec<SnRange>,

    stats: WriterStats,
    /// For [`take_refused`](Self::take_refused).
    refused: Option<Misbehaviour>,
}

impl Writer {
    /// A writer without matched readers.
    #[must_use]
    pub fn new(cfg: WriterConfig) -> Self {
        Self {
            framing: Framing::new(cfg.guid, cfg.keyed, cfg.max_message_size, cfg.fragment_size)
                .directed(cfg.only),
            readers: Readers::default(),
            transmission: Transmission::new(&cfg),
            announcements: Announcements::new(&cfg),
            repairs: Repairs::new(&cfg),
            withheld: Withheld::default(),
            inactivity: Inactivity::new(&cfg),
            forms: Forms::default(),
            long_datagram_paths: LongDatagramPaths::default(),
            inline: Vec::new(),
            gaps: Vec::new(),
            stats: WriterStats::default(),
            refused: None,
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
        if self.transmission.is_due(now) {
            self.transmission.time_out();
            self.push(now, history, out);
        }
        self.heartbeats_due(now, history, out);
        self.inactivity_due(now, history, out);
    }

    /// When [`on_timer`](Self::on_timer) next has something to do; it may turn out to be nothing.
    #[must_use]
    pub fn next_deadline(&self) -> Option<MonoTime> {
        let data = earliest(
            self.transmission.deadline(),
            earliest(self.repairs.deadline(), self.withheld.deadline()),
        );
        earliest(data, earliest(self.announcements.deadline(), self.inactivity.deadline()))
    }

    /// The change with this number, and all before it, have been handed to the transport.
    pub fn mark_on_wire(&mut self, sn: SequenceNumber) {
        self.transmission.mark_on_wire(sn);
    }

    /// The highest change that was completely put into an outbox.
    #[must_use]
    pub fn sent_sn(&self) -> SequenceNumber {
        self.transmission.pushed()
    }

    /// True while new data waits, for the pacer or for more of it.
    #[must_use]
    pub fn has_waiting_data(&self) -> bool {
        self.transmission.has_waiting_data()
    }

    /// True if [`on_timer`](Self::on_timer) would send new data now, for whose order on the wire the caller has to care.
    #[must_use]
    pub fn is_push_due(&self, now: MonoTime) -> bool {
        self.transmission.has_waiting_data() && self.transmission.is_due(now)
    }

    /// True while new data waits for the pacer or for readers, so that more of it would only be queued.
    #[must_use]
    pub fn is_held_back(&self, now: MonoTime) -> bool {
        self.transmission.is_held_back(now)
    }

    /// What HEARTBEATs say of the publisher from now on (RTPS 2.5 §8.3.8.6), as far as they announce everything that is
    /// written.
    pub fn set_group(&mut self, group: Option<HeartbeatGroup>) {
        self.announcements.set_group(group);
    }

    /// Changes how urgent the datagrams of the writer are (DDS 1.4 §2.2.3.15 TRANSPORT_PRIORITY): a differentiated services
    /// code point, 0 by default.
    pub fn set_traffic_class(&mut self, class: u8) {
        self.framing.class = class;
    }

    /// Lets new data wait without limit of time, or not (DDS 1.4 §2.2.2.4.1.8 suspend_publications).
    pub fn set_suspended(&mut self, suspended: bool) {
        self.transmission.set_suspended(suspended);
    }

    /// Whether new data [waits](Self::set_suspended) without limit of time.
    #[must_use]
    pub fn is_suspended(&self) -> bool {
        self.transmission.is_suspended()
    }

    /// Octets of new data that may be under way at most to the reader that has the least room; 0 if no reader has a window.
    #[must_use]
    pub fn reach(&self) -> u64 {
        self.transmission.window().reach()
    }

    /// Changes [`WriterConfig::latency_budget`], also for what waits: it counts from the first sample that does.
    pub fn set_latency_budget(&mut self, budget: Duration) {
        self.transmission.set_latency_budget(budget);
    }

    /// Changes [`WriterConfig::reader_inline_qos`], for everything that is sent from now on.
    pub fn set_reader_inline_qos(&mut self, parameters: Option<SharedBytes>) {
        self.cfg.reader_inline_qos = parameters;
    }

    /// The write that [`on_new_change`](Self::on_new_change) was last told of ended at this time, all sent: what comes
    /// right behind it makes a burst.
    pub fn write_ended(&mut self, at: MonoTime) {
        self.transmission.write_ended(at);
    }

    /// Every change up to this one is acknowledged by every matched reliable reader, and was sent to the others: what is kept
    /// back for one of them (DDS 1.4 §2.2.3.12 TIME_BASED_FILTER) is still needed.
    #[must_use]
    #[inline]
    pub fn acked_by_all(&self) -> SequenceNumber {
        let left = self.left_through();
        self.readers.acked().map_or(left, |acked| acked.min(left))
    }

    /// Whether a matched reader has acknowledged a change. A best-effort reader acknowledges everything that was sent;
    /// a reader that is not matched, nothing.
    #[must_use]
    pub fn is_acked_by(&self, reader: Guid, sn: SequenceNumber) -> bool {
        let proxy = self.readers.by_guid(reader);
        let left = |proxy: &ReaderProxy| {
            self.transmission.pushed() >= sn && proxy.first_kept().is_none_or(|kept| kept > sn)
        };
        proxy.is_some_and(|proxy| if proxy.reliable { proxy.acked >= sn } else { left(proxy) })
    }

    /// Every change up to this one is acknowledged by a matched reliable reader; `None` when it is not matched, or is a
    /// best-effort reader.
    #[must_use]
    pub fn acked_by(&self, reader: Guid) -> Option<SequenceNumber> {
        let proxy = self.readers.by_guid(reader)?;
        proxy.reliable.then_some(proxy.acked)
    }

    /// The matched readers, by GUID.
    pub fn matched_readers(&self) -> impl ExactSizeIterator<Item = &ReaderProxyConfig> {
        self.readers.iter().map(|proxy| &proxy.cfg)
    }

    /// Why the last submessage was refused, if it was.
    pub fn take_refused(&mut self) -> Option<Misbehaviour> {
        self.refused.take()
    }

    /// Counters since the writer was made.
    #[must_use]
    pub fn stats(&self) -> WriterStats {
        WriterStats { readers_inactive: self.readers.lagging() as u64, ..self.stats }
    }
}
