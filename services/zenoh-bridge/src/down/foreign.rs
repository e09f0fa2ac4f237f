//! What comes from others than Dunlin's bridges: no numbers, but the times of zenoh perhaps.

use std::collections::{HashMap, VecDeque};

use zenoh::bytes::ZBytes;
use zenoh::time::{Timestamp, TimestampId};

use crate::stats::{Count, Counts};

/// Sources whose last times are remembered.
const SOURCES: usize = 1024;

type Timed = (ZBytes, Option<Timestamp>);

/// Samples of others in their order.
pub(super) struct Foreign {
    /// Histories are asked for, so samples may come twice.
    history: bool,
    most: usize,
    asking: bool,
    /// Others appeared while an answer was awaited.
    again: bool,
    answers: Vec<Timed>,
    held: Vec<Timed>,
    last: HashMap<TimestampId, Timestamp>,
    ready: VecDeque<Timed>,
}

impl Foreign {
    pub(super) fn new(history: bool, most: usize) -> Self {
        Self {
            history,
            most,
            asking: false,
            again: false,
            answers: Vec::new(),
            held: Vec::new(),
            last: HashMap::new(),
            ready: VecDeque::new(),
        }
    }

    pub(super) const fn keep_history(&mut self) {
        self.history = true;
    }

    /// Whether to ask now; otherwise it will be told when the present answer has come.
    pub(super) const fn ask(&mut self) -> bool {
        if self.asking {
            self.again = true;
            return false;
        }
        self.asking = true;
        true
    }

    pub(super) fn sample(
        &mut self,
        payload: ZBytes,
        timestamp: Option<Timestamp>,
        asked: bool,
        counts: &Counts,
    ) {
        if !self.asking {
            return self.pass((payload, timestamp), counts);
        }
        let waiting = if asked { &mut self.answers } else { &mut self.held };
        if waiting.len() < self.most {
            waiting.push((payload, timestamp));
        } else {
            counts.one(Count::NoRoom);
        }
    }

    /// All answers have come; true if others are to be asked.
    pub(super) fn answered(&mut self, counts: &Counts) -> bool {
        self.asking = false;
        let mut answers = std::mem::take(&mut self.answers);
        answers.sort_by_key(|(_, timestamp)| *timestamp);
        let held = std::mem::take(&mut self.held);
        for timed in answers.into_iter().chain(held) {
            self.pass(timed, counts);
        }
        std::mem::take(&mut self.again)
    }

    fn pass(&mut self, timed: Timed, counts: &Counts) {
        if self.history
            && let Some(timestamp) = timed.1
        {
            let id = *timestamp.get_id();
            if self.last.get(&id).is_some_and(|last| *last >= timestamp) {
                return counts.one(Count::Copies);
            }
            if self.last.len() < SOURCES || self.last.contains_key(&id) {
                self.last.insert(id, timestamp);
            }
        }
        self.ready.push_back(timed);
    }

    pub(super) fn front(&self) -> Option<Timed> {
        self.ready.front().cloned()
    }

    pub(super) fn pop(&mut self) {
        self.ready.pop_front();
    }
}
