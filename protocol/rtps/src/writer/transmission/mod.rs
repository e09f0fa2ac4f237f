//! RTPS 2.5 §8.4.9 "pushing" state: how far new changes are on their way, and what they wait for.

mod batch;
mod frames;
mod path_mtu;
mod split;
mod window;

use batch::Batch;
use dunlin_core::{Duration, MonoTime, SequenceNumber};
use frames::Frames;
pub(super) use frames::{FRAMES_MOST, filling};
use path_mtu::PathMtu;
use split::Split;
use window::Window;
pub(super) use window::{Blocked, cost};

use super::readers::Readers;
use crate::pacer::{self, Pacer};
use crate::proxy_index::ProxyIndex;
use crate::timing::is_due;
use crate::{WriterConfig, WriterStats};

/// What new data waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Wait {
    /// Nothing.
    #[default]
    Nothing,
    /// More data, until then.
    More(MonoTime),
    /// Pacer or readers. Then it is to be looked at again.
    Room(MonoTime),
}

/// The way of new changes out of one writer.
///
/// Order of calls for each change: [`written`](Self::written); either [`hold`](Self::hold), where it may wait for more, or
/// [`begin`](Self::begin) and for each datagram [`may_leave`](Self::may_leave) and [`spend`](Self::spend);
/// [`finish`](Self::finish) when all of it was put into an outbox; [`mark_on_wire`](Self::mark_on_wire) when the outbox was
/// handed to the transport. The counts only rise: `on_wire <= pushed <= last_sn`.
#[derive(Debug)]
pub(super) struct Transmission {
    // The stream
    /// Highest change the writer was told of.
    last_sn: SequenceNumber,
    /// Changes up to here were handed out for sending, or skipped because they are gone.
    pushed: SequenceNumber,
    /// The fragment to go on with in the change after `pushed`.
    next_fragment: u32,
    on_wire: SequenceNumber,
    /// Where the parts of large changes go.
    split: Split,
    /// In how long datagrams they go to other hosts.
    frames: Frames,
    /// How long those are that arrive where the way is said to carry longer ones than usual.
    path_mtu: PathMtu,

    // What it waits for
    wait: Wait,
    pacer: Option<Pacer>,
    window: Window,
    batch: Batch,
}

/// The stream.
impl Transmission {
    pub(super) fn new(cfg: &WriterConfig) -> Self {
        Self {
            last_sn: SequenceNumber::ZERO,
            pushed: SequenceNumber::ZERO,
            next_fragment: 1,
            on_wire: SequenceNumber::ZERO,
            split: Split::default(),
            frames: Frames::default(),
            path_mtu: PathMtu::default(),
            wait: Wait::Nothing,
            pacer: cfg.pacing.map(Pacer::new),
            window: Window::new(cfg.window, cfg.max_message_size, cfg.window_patience),
            batch: Batch::new(cfg),
        }
    }

    /// The highest change that was [written](Self::written).
    #[inline]
    pub(super) fn last_sn(&self) -> SequenceNumber {
        self.last_sn
    }

    /// The highest change that was completely put into an outbox, or skipped.
    #[inline]
    pub(super) fn pushed(&self) -> SequenceNumber {
        self.pushed
    }

    /// The highest change that was handed to the transport, with all before it.
    #[inline]
    pub(super) fn on_wire(&self) -> SequenceNumber {
        self.on_wire
    }

    /// The fragment to go on with in the change after [`pushed`](Self::pushed).
    #[inline]
    pub(super) fn next_fragment(&self) -> u32 {
        self.next_fragment
    }

    /// Changes up to this one are in the history.
    #[inline]
    pub(super) fn written(&mut self, sn: SequenceNumber) {
        self.last_sn = self.last_sn.max(sn);
    }

    /// Nothing up to `through` is to be sent any more.
    #[inline]
    pub(super) fn finish(&mut self, through: SequenceNumber) {
        self.pushed = through;
        self.next_fragment = 1;
    }

    /// Fragments of the change after [`pushed`](Self::pushed) have left, and the next is this one.
    #[inline]
    pub(super) fn go_on_with(&mut self, fragment: u32) {
        self.next_fragment = fragment;
    }

    /// Changes up to this one were handed to the transport.
    #[inline]
    pub(super) fn mark_on_wire(&mut self, sn: SequenceNumber) {
        self.on_wire = self.on_wire.max(sn).min(self.pushed);
    }

    /// Nobody is there who could be sent anything: nothing is in flight.
    pub(super) fn mark_all_on_wire(&mut self) {
        self.on_wire = self.pushed;
    }

    /// A change has left without a datagram.
    pub(super) fn delivered_locally(&mut self, sn: SequenceNumber) {
        self.last_sn = sn;
        self.finish(sn);
        self.on_wire = sn;
    }

    /// Whether a change just written may leave before anything else does: all before it is on the wire, and nothing lets it
    /// wait.
    pub(super) fn may_leave_at_once(&self, sn: SequenceNumber) -> bool {
        let waits = self.pacer.is_some() || !self.batch.is_at_once() || self.wait != Wait::Nothing;
        let all_sent =
            self.pushed == self.last_sn && self.on_wire == self.pushed && self.pushed == sn.previous();
        !waits && all_sent
    }

    /// The last change of which a part may have left.
    pub(super) fn begun(&self) -> SequenceNumber {
        let pushed = if self.next_fragment > 1 { self.pushed.next() } else { self.pushed };
        pushed.max(self.split.through())
    }

    /// Where the parts of large changes go.
    #[inline]
    pub(super) fn split(&self) -> &Split {
        &self.split
    }

    #[inline]
    pub(super) fn frames(&self) -> &Frames {
        &self.frames
    }

    pub(super) fn frames_mut(&mut self) -> &mut Frames {
        &mut self.frames
    }

    #[inline]
    pub(super) fn path_mtu(&self) -> &PathMtu {
        &self.path_mtu
    }

    pub(super) fn path_mtu_mut(&mut self) -> &mut PathMtu {
        &mut self.path_mtu
    }

    pub(super) fn split_mut(&mut self) -> &mut Split {
        &mut self.split
    }
}

/// What new data waits for.
impl Transmission {
    /// True while new data waits, for whatever reason.
    #[inline]
    pub(super) fn has_waiting_data(&self) -> bool {
        self.pushed < self.last_sn
    }

    /// When what waits is to be looked at.
    #[inline]
    pub(super) fn deadline(&self) -> Option<MonoTime> {
        match self.wait {
            Wait::Nothing => None,
            Wait::More(at) | Wait::Room(at) => Some(at),
        }
    }

    /// Whether that time has come.
    #[inline]
    pub(super) fn is_due(&self, now: MonoTime) -> bool {
        is_due(self.deadline(), now)
    }

    /// Whether new data waits for more of it.
    #[inline]
    pub(super) fn is_holding(&self) -> bool {
        matches!(self.wait, Wait::More(_))
    }

    /// Whether it waits for pacer or readers, so that more of it would only be queued.
    #[inline]
    pub(super) fn is_held_back(&self, now: MonoTime) -> bool {
        matches!(self.wait, Wait::Room(at) if at > now)
    }

    /// A sample of `len` octets was written. Until when it may wait for more; `None` if everything is to leave now.
    #[inline]
    pub(super) fn batch_until(&mut self, now: MonoTime, len: usize) -> Option<MonoTime> {
        self.batch.on_write(now, len)
    }

    /// New data waits for more of it until then.
    #[inline]
    pub(super) fn hold(&mut self, until: MonoTime) {
        self.wait = Wait::More(until);
    }

    /// Whether a sample that counts for `len` octets may join others that wait for more.
    #[inline]
    pub(super) fn may_join(&self, now: MonoTime, len: usize) -> bool {
        self.is_holding() && self.batch.may_join(now, len)
    }

    /// Such a sample has joined them.
    #[inline]
    pub(super) fn joined(&mut self, now: MonoTime, sn: SequenceNumber, len: usize) {
        self.batch.joined(now, len);
        self.written(sn);
    }

    /// The time for waiting is over: for more, if that is what data waits for.
    pub(super) fn time_out(&mut self) {
        if self.is_holding() {
            self.batch.timed_out();
        }
    }

    /// New data leaves now, as far as pacer and window allow.
    #[inline]
    pub(super) fn begin(&mut self) {
        self.wait = Wait::Nothing;
        self.batch.left();
    }

    /// Whether pacer and window let a datagram with new data of up to `len` octets leave.
    #[inline]
    pub(super) fn may_leave(&mut self, now: MonoTime, len: usize) -> bool {
        pacer::is_ready(&mut self.pacer, now) && self.window.lets_leave(len)
    }

    /// Accounts for a datagram of `len` octets with new data that takes up so many octets of a buffer, which others share with
    /// it or not.
    #[inline]
    pub(super) fn spend(&mut self, len: usize, taken: usize, alone: bool) {
        self.window.spend(taken, alone);
        self.pace(len);
    }

    /// Accounts for octets that the pacer alone shapes: repairs.
    #[inline]
    pub(super) fn pace(&mut self, octets: usize) {
        if let Some(pacer) = &mut self.pacer {
            pacer.spend(octets);
        }
    }

    /// Whether the writer has a pacer.
    pub(super) fn is_paced(&self) -> bool {
        self.pacer.is_some()
    }

    /// When the pacer lets the next datagram leave.
    pub(super) fn paced_until(&mut self, now: MonoTime) -> MonoTime {
        pacer::ready_at(&mut self.pacer, now)
    }

    /// New data waits for the pacer until then.
    pub(super) fn wait_for_pacer(&mut self, until: MonoTime) {
        self.wait = Wait::Room(until);
    }

    /// The window is full: new data waits for the readers. Gives up on those that do not answer at all.
    pub(super) fn wait_for_readers(
        &mut self,
        now: MonoTime,
        readers: &mut Readers,
        stats: &mut WriterStats,
    ) -> Blocked {
        let blocked = self.window.block(now, readers, stats);
        if blocked != Blocked::No {
            self.wait = Wait::Room(self.window.probe_at());
        }
        blocked
    }

    /// The readers have changed, or what they have room for. Lets new data go on that waited for room, if there is room now.
    pub(super) fn survey(&mut self, readers: &Readers) {
        if !self.window.is_wanted() {
            return;
        }
        self.window.survey(readers.iter());
        if self.window.reopen() && self.has_waiting_data() && !self.is_holding() {
            self.wait = Wait::Room(MonoTime::default());
        }
    }

    /// A reader has acknowledged something: one that has acknowledged everything has taken everything.
    pub(super) fn note_taken(&mut self, now: MonoTime, readers: &mut Readers, index: ProxyIndex) {
        if let Some(acked) = readers.acked() {
            self.frames.acknowledged(now, acked);
            self.path_mtu.acknowledged(acked);
        }
        let complete = self.next_fragment <= 1;
        let pushed = self.pushed;
        let proxy = readers.get_mut(index).filter(|proxy| complete && proxy.acked >= pushed);
        if proxy.is_some_and(|proxy| self.window.took_all(now, proxy)) {
            self.survey(readers);
        }
    }

    #[inline]
    pub(super) fn window(&self) -> &Window {
        &self.window
    }

    pub(super) fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    /// See [`crate::Writer::set_suspended`].
    pub(super) fn set_suspended(&mut self, suspended: bool) {
        self.batch.set_suspended(suspended);
    }

    /// See [`crate::Writer::is_suspended`].
    pub(super) fn is_suspended(&self) -> bool {
        self.batch.is_suspended()
    }

    /// See [`crate::Writer::set_latency_budget`].
    pub(super) fn set_latency_budget(&mut self, budget: Duration) {
        let due = self.batch.set_budget(budget);
        if let Some(due) = due.filter(|_| self.is_holding()) {
            self.wait = Wait::More(due);
        }
    }

    /// The write of the last change ended at this time, all sent.
    #[inline]
    pub(super) fn write_ended(&mut self, at: MonoTime) {
        self.batch.write_ended(at);
    }
}

#[cfg(test)]
mod tests;
