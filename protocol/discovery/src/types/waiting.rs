//! Questions about types that are answered when the answers before them were acknowledged.
//!
//! Cyclone DDS asks for a type once and never again, and may ask for hundreds in a moment: a question that is dropped because
//! too many answers are in flight would be one without an answer for ever.

use alloc::{
    boxed::Box,
    collections::{BTreeMap, VecDeque},
    vec::Vec,
};

use dunlin_core::{Counter, GuidPrefix};

/// Octets of the questions of one participant that wait.
const MAX_OCTETS_OF_ONE: usize = 64 * 1024;
/// The same, of all participants.
const MAX_OCTETS: usize = 4 * 1024 * 1024;
/// What a question takes beside its octets.
const OVERHEAD: usize = 32;

/// Questions of everybody, in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    questions: BTreeMap<GuidPrefix, VecDeque<Box<[u8]>>>,
    octets: Counter,
}

fn size_of(question: &[u8]) -> usize {
    question.len().saturating_add(OVERHEAD)
}

impl Waiting {
    /// Whether questions of a participant wait: a later one waits behind them.
    pub(crate) fn has(&self, from: GuidPrefix) -> bool {
        self.questions.contains_key(&from)
    }

    /// Participants whose questions wait.
    pub(crate) fn participants(&self) -> Vec<GuidPrefix> {
        self.questions.keys().copied().collect()
    }

    /// How many wait, of all.
    pub(crate) fn count(&self) -> usize {
        self.questions.values().map(VecDeque::len).sum()
    }

    /// Keeps a question for later; false if there is no room for it.
    pub(crate) fn keep(&mut self, from: GuidPrefix, question: &[u8]) -> bool {
        let size = size_of(question);
        let there = self.questions.get(&from);
        let of_one = there.into_iter().flatten().map(|question| size_of(question)).sum::<usize>();
        let fits = of_one.saturating_add(size) <= MAX_OCTETS_OF_ONE
            && self.octets.get().saturating_add(size) <= MAX_OCTETS;
        if fits {
            self.octets.add(size);
            self.questions.entry(from).or_default().push_back(question.into());
        }
        fits
    }

    /// The oldest question of a participant.
    pub(crate) fn next(&mut self, from: GuidPrefix) -> Option<Box<[u8]>> {
        let questions = self.questions.get_mut(&from)?;
        let question = questions.pop_front()?;
        if questions.is_empty() {
            self.questions.remove(&from);
        }
        self.octets.subtract(size_of(&question));
        Some(question)
    }

    /// A participant is gone.
    pub(crate) fn forget(&mut self, from: GuidPrefix) {
        for question in self.questions.remove(&from).into_iter().flatten() {
            self.octets.subtract(size_of(&question));
        }
    }
}
