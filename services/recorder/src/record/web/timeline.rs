//! What came when: for the picture at the top of the page.

use std::collections::VecDeque;
use std::time::Instant;

use dunlin_recorder::Counts;

/// Seconds that are shown.
const SECONDS: usize = 600;

/// One second.
#[derive(Clone, Copy, Default, serde::Serialize)]
struct Second {
    recorded: u64,
    missing: u64,
}

#[derive(Clone, serde::Serialize)]
pub(super) struct Timeline {
    /// The second of the recording that the first entry is about.
    first: u64,
    seconds: VecDeque<Second>,
    #[serde(skip)]
    began: Instant,
    #[serde(skip)]
    before: Second,
}

impl Default for Timeline {
    fn default() -> Self {
        Self { first: 0, seconds: VecDeque::new(), began: Instant::now(), before: Second::default() }
    }
}

impl Timeline {
    pub(super) fn note(&mut self, counts: &Counts) {
        let (recorded, missing) = (counts.recorded, counts.dropped + counts.lost);
        let now = self.began.elapsed().as_secs();
        while self.first + self.seconds.len() as u64 <= now {
            self.seconds.push_back(Second::default());
            if self.seconds.len() > SECONDS {
                self.seconds.pop_front();
                self.first += 1;
            }
        }
        if let Some(last) = self.seconds.back_mut() {
            last.recorded += recorded.saturating_sub(self.before.recorded);
            last.missing += missing.saturating_sub(self.before.missing);
        }
        self.before = Second { recorded, missing };
    }
}
