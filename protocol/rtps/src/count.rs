//! RTPS 2.5 §8.3.5.10 Count_t: repeated submessages are told from new ones by a count compared modulo 2^32.

use dunlin_core::{Duration, MonoTime};

/// A peer that was silent for this long may start again from a lower count: it restarted with the same GUID, and a
/// duplicate that old is not to be expected.
const RESTART_AFTER: Duration = Duration::from_secs(3);

/// Remembers the last count of a stream of submessages.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CountFilter {
    last: Option<(i32, MonoTime)>,
}

impl CountFilter {
    /// True when `count` is newer than every one accepted before.
    pub(crate) fn accept(&mut self, now: MonoTime, count: i32) -> bool {
        if let Some((last, at)) = self.last
            && count.wrapping_sub(last) <= 0
            && now.since(at) < RESTART_AFTER
        {
            return false;
        }
        self.last = Some((count, now));
        true
    }

    /// True once any count was accepted.
    pub(crate) fn heard(&self) -> bool {
        self.last.is_some()
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
}
