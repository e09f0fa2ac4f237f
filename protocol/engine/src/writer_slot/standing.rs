//! How far the readers of a writer are, for whoever watches it from outside.

use alloc::vec::Vec;

use dunlin_core::Guid;
use dunlin_qos::ReliabilityKind;
use dunlin_rtps::{WriterHistory, WriterStats};

use super::WriterSlot;

/// A writer at one moment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct WriterStanding {
    /// What it has done since it was made.
    pub stats: WriterStats,
    /// Changes written, ends of instances among them.
    pub written: u64,
    /// Changes that some matched reliable reader has not acknowledged, whether or not it is waited for; 0 of a best-effort
    /// writer.
    pub unacknowledged: u64,
    /// Changes that the history holds.
    pub kept: usize,
    /// Readers that are matched.
    pub matched: usize,
    /// Those of them that are not waited for because they do not answer, by GUID, as many as were asked for.
    pub inactive: Vec<Guid>,
}

impl WriterSlot {
    /// Where the writer and its readers are now, with at most so many GUIDs of inactive readers.
    #[must_use]
    pub fn standing(&self, most_inactive: usize) -> WriterStanding {
        let core = self.turnstile.core();
        let (stats, last) = (core.writer.stats(), core.cache.last_sn());
        let inactive = match stats.readers_inactive {
            0 => Vec::new(),
            _ => {
                let readers = core.readers.iter().map(|reader| reader.guid);
                readers
                    .filter(|reader| core.writer.is_inactive(*reader) == Some(true))
                    .take(most_inactive)
                    .collect()
            }
        };
        let behind = last.0.saturating_sub(core.writer.acked_by_all().0);
        let reliable = core.qos.reliability.kind == ReliabilityKind::Reliable;
        WriterStanding {
            stats,
            written: u64::try_from(last.0).unwrap_or(0),
            unacknowledged: if reliable { u64::try_from(behind).unwrap_or(0) } else { 0 },
            kept: core.cache.len(),
            matched: core.readers.len(),
            inactive,
        }
    }
}
