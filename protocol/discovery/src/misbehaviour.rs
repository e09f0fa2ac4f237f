//! What other participants announce or ask and is refused (RTPS 2.5 §8.5), until whoever calls discovery counts it.

use dunlin_core::{GuidPrefix, Misbehaviour};

use crate::discovery::Discovery;

/// So many are remembered from one call to the next; a call that refuses more has counted them in its statistics all the same.
const MOST_REMEMBERED: usize = 64;

impl Discovery {
    /// What was refused since this was last called: of which participant, as it said, and what.
    pub fn take_refused(&mut self) -> impl Iterator<Item = (GuidPrefix, Misbehaviour)> + use<'_> {
        self.refused.drain(..)
    }

    /// Counts something that is refused.
    pub(crate) fn refuse(&mut self, participant: GuidPrefix, what: Misbehaviour) {
        let counter = match what {
            Misbehaviour::UnreadableAnnouncement => Some(&mut self.stats.malformed),
            Misbehaviour::NotUnderstood => Some(&mut self.stats.not_understood),
            Misbehaviour::ForeignEntity => Some(&mut self.stats.foreign_guid),
            Misbehaviour::Overtaken => Some(&mut self.stats.overtaken),
            Misbehaviour::OtherDomain => Some(&mut self.stats.other_domain),
            Misbehaviour::Misplaced => Some(&mut self.stats.misplaced),
            _ => None,
        };
        if let Some(counter) = counter {
            *counter = counter.saturating_add(1);
        }
        if self.refused.len() < MOST_REMEMBERED {
            self.refused.push((participant, what));
        }
    }

    /// The same of what a built-in writer or reader has refused, if it has.
    pub(crate) fn refuse_any(&mut self, participant: GuidPrefix, what: Option<Misbehaviour>) {
        what.into_iter().for_each(|what| self.refuse(participant, what));
    }
}
