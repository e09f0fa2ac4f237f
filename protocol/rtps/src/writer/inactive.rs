//! DDS 1.4 §2.2.3.14 RELIABILITY, §2.2.3.18 HISTORY: a reader that does not answer must not hold up a writer that keeps
//! everything until it is acknowledged, and all other readers with it.
//!
//! A reader that leaves every request for an acknowledgment without an answer for `inactive_after` is *inactive*. Nothing
//! but a HEARTBEAT of its own is sent to it, ever less often, and when the history is full the oldest change that all others
//! have acknowledged is released. A reader that answers again gets all that is left, and new data; a HEARTBEAT tells it
//! what is gone, which it counts as lost. Until it has caught up with half of the history it is still not waited for:
//! else the writer would have to wait for its repairs.

use super::Writer;
use super::proxy::{ReaderProxy, Standing};
use crate::WriterHistory;
use crate::timing::{arm, is_due};
use dunlin_buf::Outbox;
use dunlin_core::{Duration, Guid, MonoTime, SequenceNumber};

impl Writer {
    /// Whether readers may become inactive.
    pub(super) fn has_inactivity(&self) -> bool {
        self.cfg.inactive_after > Duration::ZERO && !self.cfg.inactive_after.is_infinite()
    }

    /// Readers were asked for acknowledgments.
    pub(super) fn await_answers(&mut self, now: MonoTime) {
        if self.inactive_due.is_none() && self.has_inactivity() {
            // At the earliest they are asked for the last time then.
            self.inactive_due = Some(now.plus(half(self.cfg.inactive_after)));
        }
    }

    /// Finds readers that do not answer, and asks those that are inactive again.
    pub(super) fn inactivity_due(&mut self, now: MonoTime, history: &dyn WriterHistory, out: &mut Outbox) {
        if !is_due(self.inactive_due, now) {
            return;
        }
        let pushed = self.pushed;
        let (mut next, mut fallen) = (None, false);
        for index in 0..self.proxies.len() {
            let Some(proxy) = self.proxies.get_mut(index) else { break };
            if proxy.standing != Standing::Silent && proxy.needs_heartbeat(pushed) {
                let Some(since) = proxy.silence.as_ref().and_then(|silence| silence.unanswered) else {
                    continue;
                };
                if let Some(later) = self.wait_on(now, index, since, history, out) {
                    arm(&mut next, later);
                    continue;
                }
                fallen = true;
                self.fall_silent(now, index);
            }
            self.probe(now, index, history, out);
            if let Some(proxy) = self.proxies.get(index).filter(|proxy| proxy.standing == Standing::Silent)
                && let Some(silence) = &proxy.silence
            {
                arm(&mut next, silence.probe.0);
            }
        }
        self.inactive_due = next;
        if fallen {
            self.proxies_changed();
            self.survey_window();
        }
    }

    /// Until when to wait for a reader that has not answered since then, if that is still to come. Shortly before, it is
    /// asked on its own for the last time, and it always has that long to answer: a writer that stood still itself has
    /// heard nothing meanwhile, and must not take that for silence.
    fn wait_on(
        &mut self,
        now: MonoTime,
        index: usize,
        since: MonoTime,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) -> Option<MonoTime> {
        let (after, period) = (self.cfg.inactive_after, self.cfg.heartbeat_period);
        let proxy = self.proxies.get_mut(index)?;
        let grace = period.max(proxy.round_trip.window().times(2)).min(half(after));
        let silence = proxy.silence.as_mut()?;
        if let Some(at) = silence.last_call {
            return Some(at.plus(grace).max(since.plus(after))).filter(|end| *end > now);
        }
        let call_at =
            MonoTime(since.plus(after).0.saturating_sub(u64::try_from(grace.as_nanos()).unwrap_or(0)));
        if call_at > now {
            return Some(call_at);
        }
        silence.last_call = Some(now);
        self.tell_untold(index, true, history, out);
        Some(now.plus(grace).max(since.plus(after)))
    }

    fn fall_silent(&mut self, now: MonoTime, index: usize) {
        let period = self.cfg.heartbeat_period;
        let Some(proxy) = self.proxies.get_mut(index) else { return };
        if proxy.standing == Standing::Active {
            self.stats.readers_inactivated = self.stats.readers_inactivated.saturating_add(1);
            self.standing_news.push((proxy.guid(), false));
        }
        proxy.standing = Standing::Silent;
        proxy.forget_kept();
        if let Some(flow) = &mut proxy.flow {
            (flow.overdue, flow.given_up_at) = (true, now);
        }
        if let Some(silence) = &mut proxy.silence {
            silence.last_call = None;
            silence.probe = (now, period);
        }
    }

    /// Asks an inactive reader, if it is time.
    fn probe(&mut self, now: MonoTime, index: usize, history: &dyn WriterHistory, out: &mut Outbox) {
        let most = self.cfg.heartbeat_max_period;
        let silent = |proxy: &&mut alloc::boxed::Box<ReaderProxy>| proxy.standing == Standing::Silent;
        let proxy = self.proxies.get_mut(index).filter(silent);
        let Some(silence) = proxy.and_then(|proxy| proxy.silence.as_mut()) else { return };
        if silence.probe.0 <= now {
            let interval = silence.probe.1.times(2).min(most);
            silence.probe = (now.plus(interval), interval);
            self.tell_untold(index, true, history, out);
        }
    }

    /// An inactive reader has answered.
    pub(super) fn answers_again(&mut self, now: MonoTime, reader: Guid) {
        if let Some(proxy) = self.find(reader).and_then(|index| self.proxies.get_mut(index)) {
            proxy.standing = Standing::Returning;
            if let Some(silence) = &mut proxy.silence {
                silence.return_to = self.pushed;
            }
            self.proxies_changed();
            // It is sent new data again, so that it is asked for ECHOs: its window opens with the first.
            self.survey_window();
            self.heartbeat_soon(now);
        }
    }

    /// A reader has acknowledged something: if it was inactive, it may have caught up.
    pub(super) fn note_return(&mut self, index: usize) {
        if self.lagging == 0 {
            return;
        }
        let returned = |proxy: &&mut alloc::boxed::Box<ReaderProxy>| {
            let to = proxy.silence.as_ref().map(|silence| silence.return_to);
            proxy.standing == Standing::Returning && to.is_none_or(|to| proxy.acked >= to)
        };
        if let Some(proxy) = self.proxies.get_mut(index).filter(returned) {
            proxy.standing = Standing::Active;
            self.standing_news.push((proxy.guid(), true));
            self.count_lagging();
        }
    }

    pub(super) fn count_lagging(&mut self) {
        self.lagging = self.proxies.iter().filter(|proxy| proxy.standing != Standing::Active).count();
        self.refresh_active();
    }

    /// Finds out what the slowest of those that are waited for has acknowledged; only while that is not all readers.
    pub(super) fn refresh_active(&mut self) {
        if self.lagging > 0 {
            let acked = || self.proxies.iter().filter(|proxy| proxy.is_waited_for()).map(|proxy| proxy.acked);
            let least = acked().min();
            self.active_min = least;
            self.slowest_active = acked().filter(|acked| Some(*acked) == least).count();
        }
    }

    /// A reader that had acknowledged no more than `before` has acknowledged more.
    pub(super) fn note_active(&mut self, index: usize, before: SequenceNumber) {
        let counts = self.proxies.get(index).is_some_and(|proxy| proxy.is_waited_for());
        if self.lagging > 0 && counts && self.active_min == Some(before) {
            self.slowest_active = self.slowest_active.saturating_sub(1);
            if self.slowest_active == 0 {
                self.refresh_active();
            }
        }
    }

    /// True while a reader is inactive, or not yet active again.
    #[must_use]
    pub fn has_inactive_readers(&self) -> bool {
        self.lagging > 0
    }

    /// Whether a matched reader is inactive or not yet active again; `None` when it is not matched.
    #[must_use]
    pub fn is_inactive(&self, reader: Guid) -> Option<bool> {
        let proxy = self.proxies.get(self.find(reader)?)?;
        Some(proxy.standing != Standing::Active)
    }

    /// Every change up to this one is acknowledged by every matched reliable reader that is active.
    #[must_use]
    pub fn acked_by_active(&self) -> SequenceNumber {
        if self.lagging == 0 {
            return self.acked_by_all();
        }
        let left = self.left_through();
        self.active_min.map_or(left, |acked| acked.min(left))
    }

    /// Up to `sn` the history is about to treat everything as acknowledged, although readers that are inactive have not
    /// acknowledged it, and gives up so many changes that they lack: what is gone then they will be told is lost.
    pub fn note_released(&mut self, sn: SequenceNumber, count: usize) {
        self.released = self.released.max(sn);
        self.stats.released_unacknowledged = self.stats.released_unacknowledged.saturating_add(count as u64);
    }

    /// The next reader that became inactive (false) or active again (true).
    pub fn next_standing(&mut self) -> Option<(Guid, bool)> {
        if self.standing_news.is_empty() { None } else { Some(self.standing_news.remove(0)) }
    }
}

fn half(duration: Duration) -> Duration {
    Duration::from_nanos(duration.as_nanos() / 2)
}
