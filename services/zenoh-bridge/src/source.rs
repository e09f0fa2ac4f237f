//! A route of another bridge of Dunlin: its changes in their order, each once. What was missed is asked for.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use zenoh::bytes::ZBytes;

use crate::attachment::Meta;

/// How often the same part of a history is asked for.
const TRIES: u32 = 3;

/// A change and its octets.
pub(crate) type Change = (Meta, ZBytes);

/// What to ask a source for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ask {
    /// The first number.
    pub(crate) from: u64,
    /// Only what late readers get.
    pub(crate) history_only: bool,
}

/// How much of a source is held back while it is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    pub(crate) samples: usize,
    pub(crate) octets: usize,
}

/// A source.
pub(crate) struct Source {
    room: Room,
    /// The number of the next change; none before the first one.
    expected: Option<u64>,
    /// What late readers get has come.
    has_history: bool,
    asking: Option<Asking>,
    held: BTreeMap<u64, Change>,
    octets: usize,
    /// Since when it is not announced.
    pub(crate) gone: Option<Instant>,
}

#[derive(Clone, Copy)]
struct Asking {
    ask: Ask,
    /// The last number of the answer so far.
    last: u64,
    tries: u32,
    /// A part of the answer found no room.
    incomplete: bool,
    /// What came meanwhile found no room.
    again: bool,
}

/// What came of a change or an answer.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// To be asked now.
    pub(crate) ask: Option<Ask>,
    /// Changes that were had before.
    pub(crate) copies: u64,
    /// Changes that are lost.
    pub(crate) missed: u64,
    /// Changes that found no room.
    pub(crate) no_room: u64,
}

impl Source {
    pub(crate) fn new(kept: bool, room: Room) -> Self {
        let held = BTreeMap::new();
        Self { room, expected: None, has_history: !kept, asking: None, held, octets: 0, gone: None }
    }

    fn ask(&mut self, from: u64, history_only: bool, tries: u32) -> Outcome {
        let ask = Ask { from, history_only };
        self.asking = Some(Asking { ask, last: 0, tries, incomplete: false, again: false });
        Outcome { ask: Some(ask), ..Outcome::default() }
    }

    /// It is announced, for the first time or again.
    pub(crate) fn appeared(&mut self) -> Outcome {
        self.gone = None;
        if self.asking.is_some() {
            return Outcome::default();
        }
        match self.expected {
            Some(expected) => self.ask(expected, false, 0),
            None if !self.has_history => self.ask(0, true, 0),
            None => Outcome::default(),
        }
    }

    /// Something of it may have found no room.
    pub(crate) fn missed(&mut self) -> Outcome {
        match &mut self.asking {
            Some(asking) => {
                asking.incomplete = true;
                Outcome::default()
            }
            None => self.expected.map_or_else(Outcome::default, |expected| self.ask(expected, false, 0)),
        }
    }

    /// A change that it has just passed on.
    pub(crate) fn live(&mut self, change: Change, ready: &mut VecDeque<Change>) -> Outcome {
        let number = change.0.number;
        if self.asking.is_some() {
            return self.hold(change);
        }
        match self.expected {
            None if !self.has_history => {
                self.hold(change);
                self.ask(0, true, 0)
            }
            Some(expected) if number < expected => Outcome { copies: 1, ..Outcome::default() },
            Some(expected) if number > expected => {
                self.hold(change);
                self.ask(expected, false, 0)
            }
            _ => {
                self.expected = Some(number + 1);
                ready.push_back(change);
                Outcome::default()
            }
        }
    }

    /// A change that was asked for.
    pub(crate) fn answer(&mut self, change: Change) -> Outcome {
        let Some(asking) = &mut self.asking else { return Outcome::default() };
        asking.last = asking.last.max(change.0.number);
        self.hold(change)
    }

    fn hold(&mut self, change: Change) -> Outcome {
        let (number, octets) = (change.0.number, change.1.len());
        if self.expected.is_some_and(|expected| number < expected) || self.held.contains_key(&number) {
            return Outcome { copies: 1, ..Outcome::default() };
        }
        if self.held.len() >= self.room.samples || self.octets + octets > self.room.octets {
            if let Some(asking) = &mut self.asking {
                asking.again = true;
            }
            return Outcome { no_room: 1, ..Outcome::default() };
        }
        self.octets += octets;
        self.held.insert(number, change);
        Outcome::default()
    }

    /// An answer is complete; with more to be asked for perhaps.
    pub(crate) fn answered(&mut self, more: bool, ready: &mut VecDeque<Change>) -> Outcome {
        let Some(asking) = self.asking.take() else { return Outcome::default() };
        if asking.incomplete && asking.tries < TRIES {
            return self.ask(asking.ask.from, asking.ask.history_only, asking.tries + 1);
        }
        let until = if more { asking.last } else { u64::MAX };
        let missed = self.release(until, asking.ask.history_only, ready);
        let next = self.expected.unwrap_or(0);
        let outcome = if more && asking.last > 0 {
            self.ask(next.max(asking.last + 1), asking.ask.history_only, 0)
        } else {
            self.has_history = true;
            if asking.again && self.expected.is_some() {
                self.ask(next, false, 0)
            } else {
                Outcome::default()
            }
        };
        Outcome { missed, ..outcome }
    }

    /// Passes on what is held, up to a number; how many are missing between.
    fn release(&mut self, until: u64, history: bool, ready: &mut VecDeque<Change>) -> u64 {
        let mut missed = 0;
        while let Some(first) = self.held.first_entry().filter(|entry| *entry.key() <= until) {
            let (number, change) = first.remove_entry();
            self.octets -= change.1.len();
            // Of history there are only those numbers that late readers get.
            if let Some(expected) = self.expected.filter(|_| !history) {
                missed += number.saturating_sub(expected);
            }
            self.expected = Some(number + 1);
            ready.push_back(change);
        }
        missed
    }
}

#[cfg(test)]
mod tests {
    use dunlin::{InstanceHandle, SampleIdentity, WallTime};

    use super::*;
    use crate::attachment::{self, SourceId};

    const ROOM: Room = Room { samples: 4, octets: 1000 };

    fn change(number: u64) -> Change {
        let meta = Meta {
            change: attachment::Change::Data,
            more: false,
            source: SourceId::default(),
            number,
            origin: SampleIdentity::default(),
            timestamp: WallTime(0),
            instance: InstanceHandle::NIL,
            related: None,
        };
        (meta, ZBytes::from(vec![0; 8]))
    }

    #[derive(Default)]
    struct Ready(VecDeque<Change>);

    impl Ready {
        fn numbers(&mut self) -> Vec<u64> {
            self.0.drain(..).map(|change| change.0.number).collect()
        }
    }

    fn ask(from: u64, history_only: bool) -> Option<Ask> {
        Some(Ask { from, history_only })
    }

    #[test]
    fn a_gap_is_asked_for_and_the_order_is_kept() {
        let (mut source, mut ready) = (Source::new(false, ROOM), Ready::default());
        assert_eq!(source.live(change(7), &mut ready.0), Outcome::default());
        assert_eq!(source.live(change(10), &mut ready.0).ask, ask(8, false));
        assert_eq!(source.live(change(11), &mut ready.0).ask, None);
        assert_eq!(ready.numbers(), [7]);
        for number in [8, 9, 10] {
            source.answer(change(number));
        }
        assert_eq!(source.answered(false, &mut ready.0), Outcome::default());
        assert_eq!(ready.numbers(), [8, 9, 10, 11]);
        assert_eq!(source.live(change(9), &mut ready.0).copies, 1);
        assert_eq!(source.live(change(12), &mut ready.0), Outcome::default());
        assert_eq!(ready.numbers(), [12]);
    }

    #[test]
    fn samples_lost_for_good_are_counted() {
        let (mut source, mut ready) = (Source::new(false, ROOM), Ready::default());
        source.live(change(1), &mut ready.0);
        source.live(change(6), &mut ready.0);
        source.answer(change(4));
        assert_eq!(source.answered(false, &mut ready.0).missed, 3);
        assert_eq!(ready.numbers(), [1, 4, 6]);
    }

    #[test]
    fn history_comes_in_pages_before_what_is_new() {
        let (mut source, mut ready) = (Source::new(true, ROOM), Ready::default());
        assert_eq!(source.appeared().ask, ask(0, true));
        source.live(change(20), &mut ready.0);
        source.answer(change(3));
        source.answer(change(9));
        let outcome = source.answered(true, &mut ready.0);
        assert_eq!((outcome.ask, outcome.missed), (ask(10, true), 0));
        assert_eq!(ready.numbers(), [3, 9]);
        source.answer(change(15));
        assert_eq!(source.answered(false, &mut ready.0), Outcome::default());
        assert_eq!(ready.numbers(), [15, 20]);
        // It comes back after it could not be reached.
        assert_eq!(source.appeared().ask, ask(21, false));
    }

    #[test]
    fn samples_beyond_the_buffer_are_requested_again() {
        let (mut source, mut ready) = (Source::new(false, ROOM), Ready::default());
        source.live(change(1), &mut ready.0);
        for number in 3..9 {
            source.live(change(number), &mut ready.0);
        }
        source.answer(change(2));
        let outcome = source.answered(false, &mut ready.0);
        // 2 had no room: four were held.
        assert_eq!((outcome.ask, outcome.missed), (ask(7, false), 1));
        assert_eq!(source.missed(), Outcome::default());
        assert_eq!(source.answered(false, &mut ready.0).ask, ask(7, false));
    }
}
