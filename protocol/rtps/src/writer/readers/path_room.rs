//! RTPS 2.5 §8.4.9.2 "pushing": how much a path holds besides the receiver's buffer, found out from how long answers take.
//!
//! What is in flight on a long path need not find room in the reader's socket. How much that may be grows with what
//! arrives, twice as much with each round trip, until answers take longer: then a queue fills somewhere, and it is
//! reduced before the queue runs over. Datagrams that are lost while answers take no longer are lost at random, and say
//! nothing about the room.
//!
//! The least that an answer takes is that of all time: on a line that is always full every answer of the last seconds has
//! waited in a queue, and taking that for the way would make ever more room until the queue runs over for good. A way that
//! becomes longer while the reader keeps its address so has the room of the shorter one.

use dunlin_core::{Duration, MonoTime};

/// What a path carries at most, in octets for each microsecond: 1 Gbit/s.
const PATH_RATE: i64 = 125;
/// A shorter way holds next to nothing.
const NEAR: Duration = Duration::from_millis(1);

/// The room on the way to one reader.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PathRoom {
    octets: u64,
    /// A queue was met: it grows slowly from now on.
    steady: bool,
    /// When it was last reduced.
    reduced_at: Option<MonoTime>,
}

impl PathRoom {
    /// Octets that may be in flight besides those that the receiver has room for.
    pub(crate) fn octets(&self, least: Duration) -> u64 {
        let far = least.as_nanos().saturating_sub(NEAR.as_nanos()).max(0);
        let most = (far / 1000).saturating_mul(PATH_RATE);
        self.octets.min(u64::try_from(most).unwrap_or(0))
    }

    /// An answer has come: how long it took, the least that one takes, and how many octets it is about.
    pub(crate) fn answered(&mut self, now: MonoTime, took: Duration, least: Duration, octets: u64) {
        if least <= NEAR {
            return;
        }
        let queued = took.as_nanos().saturating_sub(least.as_nanos());
        if queued.saturating_mul(2) <= least.as_nanos().saturating_add(NEAR.as_nanos()) {
            let grown = if self.steady { octets / 16 } else { octets };
            let most = (least.as_nanos() / 1000).saturating_mul(PATH_RATE);
            self.octets = self.octets.saturating_add(grown).min(u64::try_from(most).unwrap_or(0));
        } else if self.reduced_at.is_none_or(|at| now.since(at) >= took) {
            // Once for each round trip: answers in flight know nothing of it yet.
            self.steady = true;
            self.reduced_at = Some(now);
            self.octets = self.octets.saturating_sub(self.octets / 4);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> MonoTime {
        MonoTime(ms * 1_000_000)
    }

    #[test]
    fn the_send_window_doubles_until_round_trips_grow() {
        let mut path = PathRoom::default();
        let mut room = 0;
        for round in 1..=5 {
            path.answered(at(round * 100), LEAST, LEAST, 100_000 + room);
            room = path.octets(LEAST);
        }
        assert_eq!(room, 3_100_000);
        path.answered(at(600), Duration::from_millis(151), LEAST, 100_000);
        path.answered(at(601), Duration::from_millis(151), LEAST, 100_000);
        assert_eq!(path.octets(LEAST), 2_325_000, "once in a round trip");
        path.answered(at(700), LEAST, LEAST, 160_000);
        assert_eq!(path.octets(LEAST), 2_335_000, "carefully from then on");
        (0..1000).for_each(|n| path.answered(at(800 + n), LEAST, LEAST, 10_000_000));
        assert_eq!(path.octets(LEAST), 99 * 125_000, "what 1 Gbit/s carries");
        assert_eq!(path.octets(Duration::from_micros(900)), 0);
    }

    #[test]
    fn path_room_of_near_readers_is_zero() {
        let mut path = PathRoom::default();
        path.answered(at(1), Duration::from_micros(100), Duration::from_micros(100), 1_000_000);
        assert_eq!(path.octets(Duration::from_micros(100)), 0);
    }
}
