//! How far the readers of a writer are, for whoever watches it from outside.

use alloc::vec::Vec;

use dunlin_core::{Guid, SequenceNumber};
use dunlin_discovery::DiscoveredReader;
use dunlin_qos::{DurabilityKind, ReliabilityKind};
use dunlin_rtps::{WriterHistory, WriterStats};

use super::{WriterCore, WriterSlot};
use crate::output::{Event, Output};

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
    /// Those of them to which it sends past the daemon of its host.
    pub direct: usize,
    /// Those of them that are not waited for because they do not answer, by GUID, as many as were asked for.
    pub inactive: Vec<Guid>,
}

impl WriterSlot {
    /// Where the writer and its readers are now, with at most so many GUIDs of inactive readers.
    #[must_use]
    pub fn standing(&self, most_inactive: usize) -> WriterStanding {
        let core = self.turnstile.core();
        let (stats, last) = (core.stats(), core.cache.last_sn());
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
            direct: core.readers.iter().filter(|reader| core.direct_to(reader).is_some()).count(),
            inactive,
        }
    }
    /// How many changes were written before the first reader matched that could get them, and how many in all. A durable
    /// reader gets those of a durable writer that are older than their match.
    #[must_use]
    pub fn written_before_readers(&self) -> (u64, u64) {
        let core = self.turnstile.core();
        let last = core.cache.last_sn();
        let count = |sn: SequenceNumber| u64::try_from(sn.0).unwrap_or(0);
        (count(core.missed_by_all.unwrap_or(last)), count(last))
    }

    /// How many changes that some matched reliable reader has not acknowledged go with a writer that was
    /// [closed](crate::Participant::close_writer) and is about to be deleted.
    pub(crate) fn left_behind(&self) -> u64 {
        let core = self.turnstile.core();
        let last = core.life.closing().map_or(SequenceNumber::ZERO, |closing| closing.last);
        u64::try_from(last.0.saturating_sub(core.writer.acked_by_all().0)).unwrap_or(0)
    }
}

impl WriterCore {
    /// A reader has matched: from some change on somebody is there.
    pub(super) fn note_reader(&mut self, reader: &DiscoveredReader) {
        let keeps = self.qos.durability.kind != DurabilityKind::Volatile;
        let gets_history = keeps && reader.qos.durability.kind != DurabilityKind::Volatile;
        let missed = if gets_history { SequenceNumber::ZERO } else { self.cache.last_sn() };
        self.missed_by_all = Some(self.missed_by_all.map_or(missed, |before| before.min(missed)));
    }

    /// Counters since the writer was made.
    pub(super) fn stats(&self) -> WriterStats {
        let (filter_steps, filters_dropped) = (self.filters.steps(), self.filters.dropped());
        WriterStats { filter_steps, filters_dropped, ..self.writer.stats() }
    }

    /// Tells whose content filters are not evaluated any more.
    pub(super) fn tell_dropped_filters(&mut self, out: &mut Output) {
        let writer = self.writer.guid().entity_id;
        for participant in self.filters.newly_dropped().into_iter().flatten() {
            out.events.push(Event::ContentFiltersDropped { writer, participant });
        }
    }
}
