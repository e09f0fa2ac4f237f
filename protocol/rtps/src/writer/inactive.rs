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
    fn has_inactivity(&self) -> bool {
        self.cfg.inactive_after > Duration::ZERO && !self.cfg.inactive_after.is_infinite()
    }

    /// Readers were asked for acknowledgments.
    pub(super) fn await_answers(&mut self, now: MonoTime) {
        if self.inactive_due.is_none() && self.has_inactivity() {
            self.inactive_due = Some(now.plus(self.cfg.inactive_after));
        }
    }

    /// Finds readers that do not answer, and asks those that are inactive again.
    pub(super) fn inactivity_due(&mut self, now: MonoTime, history: &dyn WriterHistory, out: &mut Outbox) {
        if !is_due(self.inactive_due, now) {
            return;
        }
        let (pushed, after) = (self.pushed, self.cfg.inactive_after);
        let (mut next, mut fallen) = (None, false);
        for index in 0..self.proxies.len() {
            let Some(proxy) = self.proxies.get_mut(index) else { break };
            if proxy.standing != Standing::Silent && proxy.needs_heartbeat(pushed) {
                let Some(since) = proxy.unanswered else { continue };
                if since.plus(after) > now {
                    arm(&mut next, since.plus(after));
                    continue;
                }
                fallen = true;
                self.fall_silent(now, index);
            }
            self.probe(now, index, history, out);
            if let Some(proxy) = self.proxies.get(index).filter(|proxy| proxy.standing == Standing::Silent) {
                arm(&mut next, proxy.probe.0);
            }
        }
        self.inactive_due = next;
        if fallen {
            self.proxies_changed();
            self.survey_window();
        }
    }

    fn fall_silent(&mut self, now: MonoTime, index: usize) {
        let period = self.cfg.heartbeat_period;
        let Some(proxy) = self.proxies.get_mut(index) else { return };
        if proxy.standing == Standing::Active {
            self.stats.readers_inactivated = self.stats.readers_inactivated.saturating_add(1);
            self.standing_news.push((proxy.guid(), false));
        }
        proxy.standing = Standing::Silent;
        (proxy.overdue, proxy.given_up_at) = (proxy.windowed, now);
        proxy.probe = (now, period);
    }

    /// Asks an inactive reader, if it is time.
    fn probe(&mut self, now: MonoTime, index: usize, history: &dyn WriterHistory, out: &mut Outbox) {
        let most = self.cfg.heartbeat_max_period;
        let silent = |proxy: &&mut alloc::boxed::Box<ReaderProxy>| proxy.standing == Standing::Silent;
        let Some(proxy) = self.proxies.get_mut(index).filter(silent) else { return };
        if proxy.probe.0 <= now {
            let interval = proxy.probe.1.times(2).min(most);
            proxy.probe = (now.plus(interval), interval);
            self.heartbeat_to(index, history, out);
        }
    }

    /// An inactive reader has answered.
    pub(super) fn answers_again(&mut self, now: MonoTime, reader: Guid) {
        if let Some(proxy) = self.find(reader).and_then(|index| self.proxies.get_mut(index)) {
            proxy.standing = Standing::Returning;
            self.proxies_changed();
            self.heartbeat_soon(now);
        }
    }

    /// A reader has acknowledged something: if it was inactive, it may have caught up.
    pub(super) fn note_return(&mut self, index: usize, history: &dyn WriterHistory) {
        if self.lagging == 0 {
            return;
        }
        let behind = |proxy: &ReaderProxy| self.pushed.0.saturating_sub(proxy.acked.0).saturating_mul(2);
        let kept =
            history.first_sn().map_or(0, |first| self.pushed.0.saturating_sub(first.0).saturating_add(1));
        let returned = |proxy: &&alloc::boxed::Box<ReaderProxy>| {
            proxy.standing == Standing::Returning && behind(proxy) <= kept
        };
        if self.proxies.get(index).filter(returned).is_none() {
            return;
        }
        if let Some(proxy) = self.proxies.get_mut(index) {
            proxy.standing = Standing::Active;
            self.standing_news.push((proxy.guid(), true));
            self.count_lagging();
        }
    }

    pub(super) fn count_lagging(&mut self) {
        self.lagging = self.proxies.iter().filter(|proxy| proxy.standing != Standing::Active).count();
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
        let active = self.proxies.iter().filter(|proxy| proxy.reliable && proxy.standing == Standing::Active);
        active.map(|proxy| proxy.acked).min().unwrap_or(self.pushed).min(self.pushed)
    }

    /// The oldest change of a history, if only readers that are inactive have not acknowledged it. The caller removes it:
    /// those readers will be told that it is lost.
    pub fn release_next(&mut self, history: &dyn WriterHistory) -> Option<SequenceNumber> {
        if self.lagging == 0 {
            return None;
        }
        let first = history.first_sn().filter(|first| *first <= self.acked_by_active())?;
        self.released = self.released.max(first);
        self.stats.released_unacknowledged = self.stats.released_unacknowledged.saturating_add(1);
        Some(first)
    }

    /// The next reader that became inactive (false) or active again (true).
    pub fn next_standing(&mut self) -> Option<(Guid, bool)> {
        if self.standing_news.is_empty() { None } else { Some(self.standing_news.remove(0)) }
    }
}
