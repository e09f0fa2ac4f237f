//! DDS 1.4 §2.2.3.14 RELIABILITY, §2.2.3.18 HISTORY: a reader that does not answer must not hold up a writer that keeps
//! everything until it is acknowledged, and all other readers with it.
//!
//! A reader that leaves every request for an acknowledgment without an answer for `inactive_after` is *inactive*. So is one that
//! answers, but asks for the same again and again for so long although it is sent that. To one that is silent nothing
//! but a HEARTBEAT of its own is sent, ever less often, and when the history is full the oldest change that all others
//! have acknowledged is released. A reader that answers again gets all that is left, and new data; a HEARTBEAT tells it
//! what is gone, which it counts as lost. Until it has acknowledged everything that had been sent when it answered, it is still not
//! waited for: else the writer would have to wait for its repairs.

use alloc::vec::Vec;

use dunlin_buf::Outbox;
use dunlin_core::{Duration, Guid, MonoTime, SequenceNumber};

use super::Writer;
use super::readers::{InactivityWait, Lacking, ReaderProxy, ReaderState, Silence};
use crate::proxy_index::ProxyIndex;
use crate::timing::{arm, is_due};
use crate::{WriterConfig, WriterHistory};

/// When a writer looks for readers that do not answer, and what came of it.
///
/// Order of calls: [`await_answers`](Self::await_answers) whenever readers are asked; when that is due, the readers are looked
/// through and the next time is set; [`turned`](Self::turned) for each that has become inactive or active again.
#[derive(Debug)]
pub(super) struct Inactivity {
    /// See [`WriterConfig::inactive_after`]; `None` for never.
    after: Option<Duration>,
    /// When to look for readers that do not answer, or to ask them again.
    due: Option<MonoTime>,
    /// Readers that became inactive or active again since this was last asked for.
    news: Vec<(Guid, bool)>,
    /// Changes up to here were removed although inactive readers had not acknowledged them.
    released: SequenceNumber,
}

impl Inactivity {
    pub(super) fn new(cfg: &WriterConfig) -> Self {
        let after = cfg.inactive_after;
        Self {
            after: (after > Duration::ZERO && !after.is_infinite()).then_some(after),
            due: None,
            news: Vec::new(),
            released: SequenceNumber::ZERO,
        }
    }

    /// What is to be remembered of a new reader that acknowledges, and may `delay` its answers; nothing if readers never become
    /// inactive.
    pub(super) fn silence(&self, delay: bool) -> Option<Silence> {
        (delay || self.after.is_some()).then(Silence::default)
    }

    /// When there is something to do.
    #[inline]
    pub(super) fn deadline(&self) -> Option<MonoTime> {
        self.due
    }

    /// Readers were asked for acknowledgments.
    #[inline]
    pub(super) fn await_answers(&mut self, now: MonoTime) {
        if self.due.is_none()
            && let Some(after) = self.after
        {
            // At the earliest they are asked for the last time then.
            self.due = Some(now.plus(half(after)));
        }
    }

    /// A reader has become inactive (false) or active again (true).
    pub(super) fn turned(&mut self, reader: Guid, active: bool) {
        self.news.push((reader, active));
    }

    /// Up to where that is lost and not irrelevant which a reader lacks: what was released while it was inactive, or before it
    /// was met again, as far as the history begins with `first`.
    pub(super) fn lost_through(
        &self,
        before_it_came: SequenceNumber,
        first: Option<SequenceNumber>,
    ) -> SequenceNumber {
        let released = self.released.max(before_it_came);
        first.map_or(released, |first| released.min(first.previous()))
    }
}

impl Writer {
    /// Finds readers that do not answer, and asks those that are inactive again.
    pub(super) fn inactivity_due(&mut self, now: MonoTime, history: &dyn WriterHistory, out: &mut Outbox) {
        if !is_due(self.inactivity.due, now) {
            return;
        }
        let pushed = self.transmission.pushed();
        let (mut next, mut fallen) = (None, false);
        for index in self.readers.indices() {
            let Some(proxy) = self.readers.get_mut(index) else { break };
            if proxy.state != ReaderState::Silent && proxy.needs_heartbeat(pushed) {
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
            if let Some(proxy) = self.readers.get(index).filter(|proxy| proxy.state == ReaderState::Silent)
                && let Some(silence) = &proxy.silence
            {
                arm(&mut next, silence.next_probe());
            }
        }
        self.inactivity.due = next;
        if fallen {
            self.readers_changed();
            self.transmission.survey(&self.readers);
        }
    }

    /// Until when to wait for a reader that has not answered since then, if that is still to come.
    fn wait_on(
        &mut self,
        now: MonoTime,
        index: ProxyIndex,
        since: MonoTime,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) -> Option<MonoTime> {
        let (after, period) = (self.inactivity.after?, self.cfg.heartbeat_period);
        let proxy = self.readers.get_mut(index)?;
        let grace = period.max(proxy.round_trip.window().times(2)).min(half(after));
        match proxy.silence.as_mut()?.patience(now, since, after, grace) {
            InactivityWait::Until(later) => Some(later),
            InactivityWait::LastCall(later) => {
                self.announce_withheld(index, true, history, out);
                Some(later)
            }
            InactivityWait::Over => None,
        }
    }

    fn fall_silent(&mut self, now: MonoTime, index: ProxyIndex) {
        let period = self.cfg.heartbeat_period;
        let Some(proxy) = self.readers.get_mut(index) else { return };
        if proxy.state == ReaderState::Active {
            self.stats.readers_inactivated = self.stats.readers_inactivated.saturating_add(1);
            self.inactivity.turned(proxy.guid(), false);
        }
        proxy.state = ReaderState::Silent;
        proxy.forget_kept();
        if let Some(flow) = &mut proxy.flow {
            flow.suspend(now);
        }
        if let Some(silence) = &mut proxy.silence {
            silence.begin(now, period);
        }
    }

    /// A reader asks for what was sent to it again already. If it has asked for nothing else for as long as readers are waited
    /// for, it answers but gets no further: it is not waited for until it does.
    pub(super) fn note_lack(&mut self, now: MonoTime, index: ProxyIndex, lacking: Lacking) {
        let pushed = self.transmission.pushed();
        let (Some(after), Some(proxy)) = (self.inactivity.after, self.readers.get_mut(index)) else { return };
        let Some(silence) = proxy.silence.as_mut() else { return };
        if now.since(silence.lacks(now, lacking)) < after || proxy.state != ReaderState::Active {
            return;
        }
        silence.return_to = pushed;
        proxy.state = ReaderState::Returning;
        self.stats.readers_inactivated = self.stats.readers_inactivated.saturating_add(1);
        self.inactivity.turned(proxy.guid(), false);
        self.readers_changed();
    }

    /// Asks an inactive reader, if it is time.
    fn probe(&mut self, now: MonoTime, index: ProxyIndex, history: &dyn WriterHistory, out: &mut Outbox) {
        let most = self.cfg.heartbeat_max_period;
        let silent = |proxy: &&mut ReaderProxy| proxy.state == ReaderState::Silent;
        let proxy = self.readers.get_mut(index).filter(silent);
        let Some(silence) = proxy.and_then(|proxy| proxy.silence.as_mut()) else { return };
        if silence.probes(now, most) {
            self.announce_withheld(index, true, history, out);
        }
    }

    /// An inactive reader has answered.
    pub(super) fn answers_again(&mut self, now: MonoTime, reader: Guid) {
        if let Some(proxy) = self.readers.by_guid_mut(reader) {
            proxy.state = ReaderState::Returning;
            if let Some(silence) = &mut proxy.silence {
                silence.return_to = self.transmission.pushed();
            }
            self.readers_changed();
            // It is sent new data again, so that it is asked for ECHOs: its window opens with the first.
            self.transmission.survey(&self.readers);
            self.heartbeat_soon(now);
        }
    }

    /// A reader has acknowledged something: if it was inactive, it may have caught up.
    pub(super) fn note_return(&mut self, index: ProxyIndex) {
        if let Some(reader) = self.readers.readmit(index) {
            self.inactivity.turned(reader, true);
        }
    }

    /// True while a reader is inactive, or not yet active again.
    #[must_use]
    pub fn has_inactive_readers(&self) -> bool {
        self.readers.lagging() > 0
    }

    /// Whether a matched reader is inactive or not yet active again; `None` when it is not matched.
    #[must_use]
    pub fn is_inactive(&self, reader: Guid) -> Option<bool> {
        let proxy = self.readers.by_guid(reader)?;
        Some(proxy.state.is_lagging())
    }

    /// Every change up to this one is acknowledged by every matched reliable reader that is active.
    #[must_use]
    pub fn acked_by_active(&self) -> SequenceNumber {
        let left = self.left_through();
        self.readers.acked_by_active().map_or(left, |acked| acked.min(left))
    }

    /// Up to `sn` the history is about to treat everything as acknowledged, although readers that are inactive have not
    /// acknowledged it, and gives up so many changes that they lack: what is gone then they will be told is lost.
    pub fn note_released(&mut self, sn: SequenceNumber, count: usize) {
        self.inactivity.released = self.inactivity.released.max(sn);
        self.stats.released_unacknowledged = self.stats.released_unacknowledged.saturating_add(count as u64);
    }

    /// The next reader that became inactive (false) or active again (true).
    pub fn next_standing(&mut self) -> Option<(Guid, bool)> {
        let news = &mut self.inactivity.news;
        if news.is_empty() { None } else { Some(news.remove(0)) }
    }
}

fn half(duration: Duration) -> Duration {
    Duration::from_nanos(duration.as_nanos() / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_are_looked_for_after_half_the_time() {
        let seconds = |n: u64| MonoTime(n * 1_000_000_000);
        let cfg = WriterConfig { inactive_after: Duration::from_secs(10), ..Default::default() };
        let mut inactivity = Inactivity::new(&cfg);
        inactivity.await_answers(seconds(1));
        inactivity.await_answers(seconds(3));
        assert_eq!(inactivity.deadline(), Some(seconds(6)), "after the first question");
        assert!(inactivity.silence(false).is_some());
        for never in [Duration::ZERO, Duration::INFINITE] {
            let mut inactivity = Inactivity::new(&WriterConfig { inactive_after: never, ..cfg.clone() });
            inactivity.await_answers(seconds(1));
            assert!(inactivity.deadline().is_none() && inactivity.silence(false).is_none());
        }
    }

    #[test]
    fn a_reader_gets_a_last_heartbeat_before_it_is_inactive() {
        let ms = |n: u64| MonoTime(n * 1_000_000);
        let (after, grace) = (Duration::from_millis(100), Duration::from_millis(20));
        let mut silence = Silence::default();
        let mut patience = |now| silence.patience(ms(now), ms(0), after, grace);
        assert_eq!(patience(50), InactivityWait::Until(ms(80)));
        assert_eq!(patience(80), InactivityWait::LastCall(ms(100)));
        assert_eq!(patience(99), InactivityWait::Until(ms(100)));
        assert_eq!(patience(100), InactivityWait::Over);
        silence.end();
        let late = silence.patience(ms(500), ms(0), after, grace);
        assert_eq!(late, InactivityWait::LastCall(ms(520)), "the writer itself stood still");
    }

    #[test]
    fn an_inactive_reader_gets_heartbeats_ever_less_often() {
        let ms = |n: u64| MonoTime(n * 1_000_000);
        let mut silence = Silence::default();
        silence.begin(ms(0), Duration::from_millis(10));
        let mut probes = |now| silence.probes(ms(now), Duration::from_millis(30));
        let asked: Vec<u64> = (0..120).filter(|now| probes(*now)).collect();
        assert_eq!(asked, [0, 20, 50, 80, 110]);
    }

    #[test]
    fn samples_still_in_the_history_are_not_lost() {
        let mut inactivity = Inactivity::new(&WriterConfig::default());
        inactivity.released = SequenceNumber(7);
        let lost_through = |before, first: Option<i64>| {
            inactivity.lost_through(SequenceNumber(before), first.map(SequenceNumber)).0
        };
        assert_eq!([None, Some(5), Some(9)].map(|first| lost_through(0, first)), [7, 4, 7]);
        assert_eq!([None, Some(5), Some(9)].map(|first| lost_through(10, first)), [10, 4, 8]);
    }
}
