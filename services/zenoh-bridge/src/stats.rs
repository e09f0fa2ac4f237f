//! What a bridge counts.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counts {
    ($($name:ident: $text:literal),+ $(,)?) => {
        /// Something that is counted.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[allow(missing_docs, reason = "the texts say it")]
        pub enum Count { $($name),+ }

        impl Count {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// For people.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self { $(Self::$name => $text),+ }
            }
        }
    };
}

counts! {
    ToZenoh: "samples to zenoh",
    EndsToZenoh: "ends of instances to zenoh",
    FromZenoh: "samples from zenoh",
    EndsFromZenoh: "ends of instances from zenoh",
    HistorySent: "samples sent again to who asked",
    HistoryAsked: "requests for history or for what was missed",
    Copies: "left out: had before",
    CameFromZenoh: "left out: came from zenoh itself",
    AlreadyThere: "left out: its writer is in the domain itself",
    LostBeforeZenoh: "lost: the writers were faster than zenoh",
    NotPut: "lost: zenoh did not take it",
    NoRoom: "left out for want of room; other bridges are asked for it again",
    Missed: "lost: no longer in the history of the other bridge",
    TooLarge: "refused: larger than limits.sample_mib",
    NoCdr: "refused: no CDR encapsulation",
    BadAttachment: "refused: unreadable attachment",
    BadToken: "refused: unreadable announcement",
    TooManySources: "refused: more sources than limits.sources",
    NotWritten: "refused: not writable in the domain",
    NoKey: "left out: the key of the instance is not known",
}

/// Counters of a bridge.
#[derive(Debug, Default)]
pub struct Counts([AtomicU64; Count::ALL.len()]);

impl Counts {
    pub(crate) fn add(&self, count: Count, amount: u64) {
        if let Some(counter) = self.0.get(count as usize) {
            counter.fetch_add(amount, Ordering::Relaxed);
        }
    }

    pub(crate) fn one(&self, count: Count) {
        self.add(count, 1);
    }

    /// How often it happened.
    #[must_use]
    pub fn get(&self, count: Count) -> u64 {
        self.0.get(count as usize).map_or(0, |counter| counter.load(Ordering::Relaxed))
    }
}

/// In one line, without what has not happened.
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for count in Count::ALL {
            let number = self.get(*count);
            if number > 0 {
                write!(f, "{}{number} {}", if first { "" } else { "; " }, count.text())?;
                first = false;
            }
        }
        if first { f.write_str("nothing has passed") } else { Ok(()) }
    }
}
