//! DDS 1.4 §2.2.3.18 HISTORY, KEEP_LAST: samples that are replaced before anybody has seen them.
//!
//! Samples arrive many at once. A listener that is told of them together sees the last of each instance alone. So where the next
//! sample would replace one that nobody has seen, there is a pause for the listener. An application that looks on its own,
//! or waits for a wait-set, gains nothing by that: it is noticed because nothing was seen during the pause, and pauses become rare.

/// Samples without a pause after one in vain; twice as many after the next, up to the most.
const REST: u32 = 8;
const MOST_REST: u32 = 4096;

/// What is replaced unseen, and whether a pause may change that.
///
/// Order of calls for each sample that is shown: [`arrives`](Self::arrives), [`endanger`](Self::endanger), and
/// [`wants_pause`](Self::wants_pause) of whoever may make one.
#[derive(Debug, Default)]
pub(super) struct Unseen {
    replaced: u64,
    /// A sample of the instance of the last one would replace another that nobody has seen.
    endangered: bool,
    /// There was a pause since the last sample came.
    paused: bool,
    /// Samples until the next pause, and how many there were since the last one in vain.
    rest: u32,
    penalty: u32,
}

impl Unseen {
    pub(super) fn replaced(&self) -> u64 {
        self.replaced
    }

    /// A sample is shown, in place of one that nobody has seen or not.
    pub(super) fn arrives(&mut self, replaces_unseen: bool) {
        self.replaced = self.replaced.saturating_add(u64::from(replaces_unseen));
        if !core::mem::take(&mut self.paused) {
            return;
        }
        if replaces_unseen {
            self.penalty = self.penalty.saturating_mul(2).clamp(REST, MOST_REST);
            self.rest = self.penalty;
        } else {
            self.penalty = 0;
        }
    }

    pub(super) fn endanger(&mut self, endangered: bool) {
        self.endangered = endangered;
    }

    pub(super) fn wants_pause(&mut self) -> bool {
        if !core::mem::take(&mut self.endangered) {
            return false;
        }
        self.paused = self.rest == 0;
        self.rest = self.rest.saturating_sub(1);
        self.paused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_go_on_while_they_help_and_become_rare_where_not() {
        let pauses = |helps: bool| {
            let mut unseen = Unseen::default();
            let count = (0..10_000).fold((0, true), |(count, seen), _| {
                unseen.arrives(!seen);
                unseen.endanger(true);
                let pause = unseen.wants_pause();
                (count + u32::from(pause), pause && helps)
            });
            (count.0, unseen.replaced())
        };
        assert_eq!(pauses(true), (10_000, 0));
        let (count, replaced) = pauses(false);
        assert!(count < 20 && replaced == 9_999, "{count} pauses, {replaced} replaced");
    }
}
