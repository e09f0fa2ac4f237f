//! Announcements that arrive after a later one of their sender: RTPS 2.5 §8.5.3.2. The SPDP writer is best-effort, so
//! nothing else puts its samples in order.

use alloc::collections::BTreeMap;

use dunlin_core::{Duration, GuidPrefix, MonoTime, SequenceNumber, WallTime};
use dunlin_rtps::ChangeKind;
use dunlin_wire::{Data, status_info};

/// How long a datagram may be in flight. Later, an announcement that looks old is believed: its sender may have started
/// again with the same GUID and a clock that was set back.
const LONGEST_TRANSIT: Duration = Duration::from_secs(10);
/// So long a goodbye counts that anybody may have said: announcements of the last moments may still be under way.
const CLAIM_COUNTS: Duration = Duration::from_millis(500);
/// After this time another one counts. Who starts announces itself more than once in between, so it gets in.
const CLAIM_AGAIN: Duration = Duration::from_millis(750);
/// What a peer has sent before its goodbye may come so long after that.
const ON_THE_WAY: Duration = Duration::from_millis(50);
/// A peer is asked again after this time, and then after twice as long each time.
const FIRST_WAIT: Duration = Duration::from_millis(100);
/// So often a peer is asked whether it is still there.
const MOST_QUESTIONS: u32 = 4;
/// A peer that has answered is asked again no earlier.
const REST: Duration = Duration::from_secs(1);
/// A timer that comes so late was held up.
const LATE: Duration = Duration::from_millis(500);
/// Most goodbyes that are remembered, of peers and of others each.
pub(crate) const MAX_GOODBYES: usize = 1024;

/// Whether a sample of an SPDP writer announces a participant; otherwise it says that the participant leaves.
pub(crate) fn is_alive(data: &Data<'_>) -> bool {
    let status = data.inline_qos.as_ref().map(status_info).unwrap_or_default();
    ChangeKind::from_status(status) == ChangeKind::Alive
}

/// Which sample of an SPDP writer was the latest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Latest {
    sn: SequenceNumber,
    timestamp: Option<WallTime>,
    /// When it arrived.
    at: MonoTime,
}

impl Latest {
    pub(crate) const fn new(now: MonoTime, sn: SequenceNumber, timestamp: Option<WallTime>) -> Self {
        Self { sn, timestamp, at: now }
    }

    /// Its number, and when it was sent.
    pub(crate) const fn sample(&self) -> (SequenceNumber, Option<WallTime>) {
        (self.sn, self.timestamp)
    }

    /// Whether a sample was sent before this one. A program that starts again with the same GUID begins to count anew,
    /// but at a later time.
    pub(crate) fn is_after(&self, now: MonoTime, sn: SequenceNumber, timestamp: Option<WallTime>) -> bool {
        let times = timestamp.zip(self.timestamp);
        let started_again = times.is_some_and(|(new, old)| new > old);
        let of_an_earlier_run = sn == self.sn && times.is_some_and(|(new, old)| new < old);
        ((sn < self.sn && !started_again) || of_an_earlier_run) && self.at.plus(LONGEST_TRANSIT) > now
    }

    /// Whether a sample was sent later, however long ago this one came.
    pub(crate) fn precedes(&self, sn: SequenceNumber, timestamp: Option<WallTime>) -> bool {
        sn > self.sn || timestamp.zip(self.timestamp).is_some_and(|(new, old)| new > old)
    }

    /// Takes up a sample, unless it was sent before this one.
    pub(crate) fn take_up(&mut self, now: MonoTime, sn: SequenceNumber, timestamp: Option<WallTime>) -> bool {
        let stale = self.is_after(now, sn, timestamp);
        // A repetition leaves the time as it was: what matters is when something new was said.
        if !stale && (sn != self.sn || timestamp > self.timestamp) {
            *self = Self::new(now, sn, timestamp);
        }
        !stale
    }
}

/// A goodbye in the name of a peer that does not prove that the peer has said it. The peer is asked, and is gone if it does not answer.
#[derive(Debug)]
pub(crate) struct Doubt {
    /// What said it was that the peer was not heard for its lease.
    pub(crate) lease_ended: bool,
    /// Which sample it was.
    goodbye: Latest,
    /// When the peer is asked next, or is gone; `None` once it has answered.
    next: Option<MonoTime>,
    questions: u32,
    wait: Duration,
    /// The next doubt begins no earlier.
    rests_until: MonoTime,
}

/// What is to be done about a goodbye that proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nothing.
    Wait,
    /// The peer is to be asked whether it is still there.
    Ask,
    /// It has not answered.
    Gone(Latest),
}

impl Doubt {
    pub(crate) const fn new(lease_ended: bool, goodbye: Latest) -> Self {
        Self { lease_ended, goodbye, next: None, questions: 0, wait: FIRST_WAIT, rests_until: MonoTime(0) }
    }

    /// A goodbye has come. When the peer is asked for the first time, if it is not being asked already.
    pub(crate) fn begin(&mut self, lease_ended: bool, goodbye: Latest) -> Option<MonoTime> {
        if self.next.is_some() {
            return None;
        }
        let at = goodbye.at.plus(ON_THE_WAY).max(self.rests_until);
        *self = Self { next: Some(at), rests_until: self.rests_until, ..Self::new(lease_ended, goodbye) };
        self.next
    }

    pub(crate) const fn next(&self) -> Option<MonoTime> {
        self.next
    }

    /// What to do now. Who comes late may have stood still himself: then what came meanwhile was not looked at yet.
    pub(crate) fn step(&mut self, now: MonoTime) -> Step {
        let Some(due) = self.next.filter(|next| *next <= now) else { return Step::Wait };
        if now.since(due) >= LATE {
            (self.questions, self.wait) = (0, FIRST_WAIT);
        }
        if self.questions >= MOST_QUESTIONS {
            self.next = None;
            return Step::Gone(Latest { at: now, ..self.goodbye });
        }
        self.questions = self.questions.saturating_add(1);
        self.next = Some(now.plus(self.wait));
        self.wait = self.wait.times(2);
        Step::Ask
    }

    /// The peer has answered something; true if it was asked whether it is there.
    pub(crate) fn answer(&mut self, now: MonoTime) -> bool {
        let refuted = self.questions > 0 && self.next.take().is_some();
        if refuted {
            self.rests_until = now.plus(REST);
        }
        refuted
    }
}

/// Participants that said goodbye lately, so that an announcement overtaken by the goodbye does not bring them back.
#[derive(Debug, Default)]
pub(crate) struct Goodbyes {
    said: BTreeMap<GuidPrefix, Latest>,
    /// Those in the name of who was not verified, with the time of the first of a row.
    claimed: BTreeMap<GuidPrefix, Latest>,
    /// How many were forgotten before their time.
    pub(crate) forgotten: u64,
}

impl Goodbyes {
    /// Remembers the goodbye of a peer; the oldest one gives way if there are too many.
    pub(crate) fn remember(&mut self, prefix: GuidPrefix, goodbye: Latest) {
        if self.said.len() >= MAX_GOODBYES && !self.said.contains_key(&prefix) {
            self.said.retain(|_, known| known.at.plus(LONGEST_TRANSIT) > goodbye.at);
        }
        if self.said.len() >= MAX_GOODBYES
            && let Some(oldest) =
                self.said.iter().min_by_key(|(_, known)| known.at).map(|(prefix, _)| *prefix)
        {
            self.said.remove(&oldest);
            self.forgotten = self.forgotten.saturating_add(1);
        }
        self.said.insert(prefix, goodbye);
    }

    /// Remembers for a moment a goodbye in the name of who is not verified. Repetitions do not prolong it, so they keep nobody away.
    pub(crate) fn remember_claimed(&mut self, prefix: GuidPrefix, goodbye: Latest) {
        let now = goodbye.at;
        if let Some(known) = self.claimed.get_mut(&prefix).filter(|known| now < known.at.plus(CLAIM_AGAIN)) {
            if !known.is_after(now, goodbye.sn, goodbye.timestamp) {
                *known = Latest { at: known.at, ..goodbye };
            }
            return;
        }
        if self.claimed.len() >= MAX_GOODBYES {
            self.claimed.retain(|_, known| now < known.at.plus(CLAIM_AGAIN));
        }
        if self.claimed.len() >= MAX_GOODBYES {
            // None gives way: a flood would make room for another one in the same name.
            self.forgotten = self.forgotten.saturating_add(1);
            return;
        }
        self.claimed.insert(prefix, goodbye);
    }

    /// Whether an announcement was sent before its sender said goodbye.
    pub(crate) fn precede(
        &self,
        now: MonoTime,
        prefix: GuidPrefix,
        sn: SequenceNumber,
        timestamp: Option<WallTime>,
    ) -> bool {
        let claimed = self.claimed.get(&prefix).filter(|goodbye| now < goodbye.at.plus(CLAIM_COUNTS));
        // Not every peer counts its goodbye as one more sample: what has the same number was sent before it.
        self.said.get(&prefix).into_iter().chain(claimed).any(|goodbye| {
            Latest { sn: goodbye.sn.next(), ..*goodbye }.is_after(now, sn, timestamp) && sn <= goodbye.sn
        })
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn secs(n: u64) -> MonoTime {
        MonoTime(n * 1_000_000_000)
    }

    fn prefix(n: usize) -> GuidPrefix {
        let mut bytes = [0; 12];
        bytes[..8].copy_from_slice(&(n as u64).to_be_bytes());
        GuidPrefix(bytes)
    }

    fn goodbye(at: u64, sn: i64, timestamp: Option<i64>) -> Latest {
        Latest::new(secs(at), SequenceNumber(sn), timestamp.map(WallTime))
    }

    const fn ms(n: u64) -> MonoTime {
        MonoTime(n * 1_000_000)
    }

    /// One that was said at `at`, in milliseconds, and when the peer is asked first.
    fn doubted(doubt: &mut Doubt, at: u64) -> Option<u64> {
        let latest = Latest::new(ms(at), SequenceNumber(9), None);
        doubt.begin(false, latest).map(|next| next.0 / 1_000_000)
    }

    /// When the peer is asked until it is gone, in milliseconds; the last is when it is.
    fn asked(doubt: &mut Doubt) -> Vec<u64> {
        let mut times = Vec::new();
        while let Some(next) = doubt.next() {
            times.push(next.0 / 1_000_000);
            let step = doubt.step(next);
            assert_eq!(step != Step::Ask, times.len() == 5, "{step:?}");
        }
        times
    }

    #[test]
    fn a_peer_is_asked_four_times_and_what_was_on_the_way_is_no_answer() {
        let mut doubt = Doubt::new(false, goodbye(0, 9, None));
        assert_eq!((doubted(&mut doubt, 0), doubted(&mut doubt, 10)), (Some(50), None));
        assert_eq!(doubt.step(ms(49)), Step::Wait);
        assert!(!doubt.answer(ms(49)) && doubt.next() == Some(ms(50)));
        assert_eq!(asked(&mut doubt), [50, 150, 350, 750, 1_550]);
    }

    #[test]
    fn a_peer_that_has_answered_rests_for_a_second() {
        let mut doubt = Doubt::new(false, goodbye(0, 9, None));
        doubted(&mut doubt, 0);
        assert_eq!(doubt.step(ms(50)), Step::Ask);
        assert!(doubt.answer(ms(51)) && !doubt.answer(ms(52)) && doubt.next().is_none());
        assert_eq!((doubted(&mut doubt, 100), doubted(&mut doubt, 200)), (Some(1_051), None));
        assert_eq!(asked(&mut doubt), [1_051, 1_151, 1_351, 1_751, 2_551]);
    }

    /// SIGSTOP, say: what the peer has answered waits in a socket.
    #[test]
    fn who_stood_still_asks_again_before_it_believes_a_goodbye() {
        let mut doubt = Doubt::new(false, goodbye(0, 9, None));
        doubted(&mut doubt, 0);
        [50, 150, 350, 750].into_iter().for_each(|at| assert_eq!(doubt.step(ms(at)), Step::Ask));
        assert_eq!(doubt.step(ms(9_000)), Step::Ask);
        assert!(doubt.answer(ms(9_001)));
    }

    #[test]
    fn announcements_sent_before_a_goodbye_are_distinguished_from_a_restart() {
        let mut goodbyes = Goodbyes::default();
        goodbyes.remember(prefix(1), goodbye(1, 4, Some(100)));
        let precede = |at, sn, timestamp: Option<i64>| {
            goodbyes.precede(secs(at), prefix(1), SequenceNumber(sn), timestamp.map(WallTime))
        };
        assert!(precede(2, 3, Some(99)), "overtaken");
        assert!(precede(2, 4, Some(100)), "a peer that does not count its goodbye");
        assert!(precede(2, 3, None), "no time that tells otherwise");
        assert!(!precede(2, 5, Some(99)), "counted on: the same participant announces itself again");
        assert!(!precede(2, 1, Some(101)), "counted anew, later: started again");
        assert!(!precede(11, 1, Some(50)), "nothing is under way so long: started again with another clock");
        assert!(!goodbyes.precede(secs(2), prefix(2), SequenceNumber(1), None), "somebody else");
    }

    #[test]
    fn a_goodbye_of_anybody_counts_for_a_moment_however_often_it_is_said() {
        let mut goodbyes = Goodbyes::default();
        let ms = |n: u64| MonoTime(n * 1_000_000);
        let kept_away = (0..3_000_u64).filter(|n| {
            goodbyes.remember_claimed(prefix(1), Latest::new(ms(*n), SequenceNumber(1 << 40), None));
            goodbyes.precede(ms(*n), prefix(1), SequenceNumber(1), None)
        });
        let kept_away: Vec<u64> = kept_away.collect();
        let expected = (0..3_000).filter(|n| n % 750 < 500).collect::<Vec<_>>();
        assert_eq!(kept_away, expected);
        (0..3 * MAX_GOODBYES).for_each(|n| {
            goodbyes.remember_claimed(prefix(n), Latest::new(ms(5_000), SequenceNumber(1), None));
        });
        assert_eq!((goodbyes.claimed.len(), goodbyes.forgotten), (MAX_GOODBYES, 2 * MAX_GOODBYES as u64));
        let mut again = |n| {
            goodbyes.remember_claimed(prefix(n), Latest::new(ms(5_100), SequenceNumber(2), None));
            goodbyes.precede(ms(5_100), prefix(n), SequenceNumber(2), None)
        };
        assert!(again(0), "the last number counts");
        assert!(!again(4 * MAX_GOODBYES), "no room");
    }

    #[test]
    fn an_older_announcement_is_not_taken_up() {
        let mut latest = goodbye(1, 2, Some(100));
        assert!(!latest.take_up(secs(2), SequenceNumber(1), Some(WallTime(99))));
        assert!(latest.take_up(secs(2), SequenceNumber(2), Some(WallTime(100))), "the same again");
        assert!(latest.take_up(secs(3), SequenceNumber(1), Some(WallTime(200))), "started again");
        assert!(!latest.take_up(secs(3), SequenceNumber(1), Some(WallTime(99))), "from before that");
        assert!(!latest.take_up(secs(4), SequenceNumber(0), Some(WallTime(200))));
        assert!(latest.take_up(secs(13), SequenceNumber(0), Some(WallTime(7))), "not for ever");
    }

    #[test]
    #[cfg_attr(miri, ignore = "three thousand goodbyes")]
    fn the_latest_goodbyes_are_remembered() {
        let mut goodbyes = Goodbyes::default();
        for n in 0..3 * MAX_GOODBYES {
            goodbyes.remember(prefix(n), Latest::new(MonoTime(n as u64), SequenceNumber(1), None));
            assert!(goodbyes.said.len() <= MAX_GOODBYES);
        }
        assert_eq!(goodbyes.forgotten, 2 * MAX_GOODBYES as u64);
        let remembered = |n| goodbyes.precede(secs(1), prefix(n), SequenceNumber(1), None);
        assert!(remembered(3 * MAX_GOODBYES - 1) && remembered(2 * MAX_GOODBYES) && !remembered(0));
    }
}
