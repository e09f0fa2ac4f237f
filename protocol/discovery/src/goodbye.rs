//! Announcements that arrive after a later one of their sender: RTPS 2.5 §8.5.3.2. The SPDP writer is best-effort, so
//! nothing else puts its samples in order.

use alloc::collections::BTreeMap;

use dunlin_core::{Duration, GuidPrefix, MonoTime, SequenceNumber, WallTime};

/// How long a datagram may be in flight. Later, an announcement that looks old is believed: its sender may have started
/// again with the same GUID and a clock that was set back.
const LONGEST_TRANSIT: Duration = Duration::from_secs(10);
/// So long a goodbye counts that anybody may have said: announcements of the last moments may still be under way.
const CLAIM_COUNTS: Duration = Duration::from_millis(500);
/// After this time another one counts. Who starts announces itself more than once in between, so it gets in.
const CLAIM_AGAIN: Duration = Duration::from_millis(750);
/// Most goodbyes that are remembered, of peers and of others each.
pub(crate) const MAX_GOODBYES: usize = 1024;

/// Which sample of an SPDP writer was the latest.
#[derive(Debug, Clone, Copy)]
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
    fn is_after(&self, now: MonoTime, sn: SequenceNumber, timestamp: Option<WallTime>) -> bool {
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
