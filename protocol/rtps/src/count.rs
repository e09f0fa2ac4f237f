//! RTPS 2.5 §8.3.5.10 Count_t: repeated submessages are told from new ones by a count compared modulo 2^32.

use dunlin_core::{Duration, MonoTime};

use crate::lazy::StaticDefault;

/// A peer that was silent for this long may start again from a lower count: it restarted with the same GUID, or somebody else has
/// counted in its name, and a duplicate that old is rare and does no harm.
const RESTART_AFTER: Duration = Duration::from_millis(500);

/// So far ahead of the last one a count is within that time if the peer has sent it. Beyond that it may be forged.
const PLAUSIBLE: i32 = 1 << 16;

/// Remembers the last count of a stream of submessages.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CountFilter {
    heard: Heard,
    last: i32,
    /// The one that is not believed.
    suspect: i32,
    at: MonoTime,
}

impl StaticDefault for CountFilter {
    const STATIC_DEFAULT: &'static Self =
        &Self { heard: Heard::Nothing, last: 0, suspect: 0, at: MonoTime(0) };
}

/// What counts of a stream have come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Heard {
    #[default]
    Nothing,
    /// Those up to the last one.
    Last,
    /// One more, which was too far ahead to be believed alone.
    Suspect,
}

impl CountFilter {
    /// True when `count` is newer than every one accepted before, and not so far ahead that no later one would be, unless the one
    /// before it was as far.
    pub(crate) fn accept(&mut self, now: MonoTime, count: i32) -> bool {
        if self.heard() && now.since(self.at) < RESTART_AFTER {
            let ahead = count.wrapping_sub(self.last);
            if ahead <= 0 {
                return false;
            }
            if ahead > PLAUSIBLE && !self.is_confirmed(count) {
                (self.heard, self.suspect) = (Heard::Suspect, count);
                return false;
            }
        }
        (self.heard, self.last, self.at) = (Heard::Last, count, now);
        true
    }

    fn is_confirmed(&self, count: i32) -> bool {
        self.heard == Heard::Suspect && (1..=PLAUSIBLE).contains(&count.wrapping_sub(self.suspect))
    }

    /// True once any count was accepted.
    pub(crate) fn heard(&self) -> bool {
        self.heard != Heard::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_compare_modulo_and_restart_after_silence() {
        let mut filter = CountFilter::default();
        assert!(!filter.heard());
        assert!(filter.accept(MonoTime(0), i32::MAX) && filter.heard());
        assert!(!filter.accept(MonoTime(1), i32::MAX));
        assert!(filter.accept(MonoTime(2), i32::MIN));
        assert!(!filter.accept(MonoTime(3), i32::MAX));
        assert!(filter.accept(MonoTime(4), i32::MIN + 7));
        assert!(!filter.accept(MonoTime(5), i32::MIN));
        assert!(filter.accept(MonoTime(4).plus(RESTART_AFTER), 1));
    }

    #[test]
    fn heartbeat_count_far_ahead_does_not_block_the_next() {
        let mut filter = CountFilter::default();
        let ms = |n: u64| MonoTime(n * 1_000_000);
        assert!(filter.accept(ms(0), 10));
        for (n, far) in [i32::MAX, i32::MAX / 2, 100_000].into_iter().enumerate() {
            assert!(!filter.accept(ms(1), far), "nothing near it was heard before");
            assert!(filter.accept(ms(2), 11 + n as i32), "the next one counts");
        }
        assert!(
            !filter.accept(ms(3), 100_000) && !filter.accept(ms(4), 99_000) && filter.accept(ms(5), 99_001)
        );
        assert!(filter.accept(ms(505), 20), "who was far ahead is forgotten after half a second");
    }
}
