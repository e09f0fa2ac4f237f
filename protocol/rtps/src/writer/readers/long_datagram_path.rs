//! RFC 8899 (Datagram PLPMTUD) for best-effort readers, RTPS 2.5 §8.4.9.1: whether datagrams of several frames reach a reader that
//! never says what it misses.
//!
//! A sample that nobody repairs is lost with any of its frames, however those are joined. So two things have to be known: that the
//! path lets such frames pass, and that the line is slow enough to profit. Two questions find them out, which carry no data: a short
//! one, and right behind it one as long as the datagrams would be. The time between the answers is what the line takes for the long
//! one. From then on a question rides on the data now and then: when none is answered any more, datagrams have one frame again.

use alloc::vec::Vec;

use dunlin_core::{Duration, Guid, MonoTime};

use crate::timing::{FAST_LINE, octets_in_a_millisecond};

/// Octets of new data before the first trial, and most before one that comes after others that failed.
const FIRST: u64 = 2 << 20;
const MOST: u64 = 128 << 20;
/// What is not answered within this time is not any more.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(500);
/// Time from an answer to the next question.
const BETWEEN: Duration = Duration::from_millis(100);
/// Readers of a writer whose ways are found out. With more, datagrams to the network have one frame.
const MOST_READERS: usize = 64;
/// Questions in a row without an answer after which the path carries no long datagrams (RFC 8899 §5.1.2 MAX_PROBES).
const MAX_LOST: u32 = 3;

/// What a reader is to be asked now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::writer) enum Question {
    Nothing,
    /// Whether a long datagram without data arrives.
    Trial,
    /// Whether one with data does.
    Check,
}

/// What is known of the ways to the best-effort readers of one writer that answer questions. Few writers have such readers, so this
/// is beside the readers, not in them.
#[derive(Clone, Debug, Default)]
pub(in crate::writer) struct LongDatagramPaths(Vec<(Guid, LongDatagramPath)>);

impl LongDatagramPaths {
    /// Nothing is known of the way to a reader, which may be new.
    pub(in crate::writer) fn begin(&mut self, reader: Guid) {
        self.remove(reader);
        if self.0.len() < MOST_READERS {
            self.0.push((reader, LongDatagramPath::default()));
        }
    }

    pub(in crate::writer) fn remove(&mut self, reader: Guid) {
        self.0.retain(|(known, _)| *known != reader);
    }

    /// A reader that answers questions.
    pub(in crate::writer) fn get_mut(&mut self, reader: Guid) -> Option<&mut LongDatagramPath> {
        self.0.iter_mut().find(|(known, _)| *known == reader).map(|(_, path)| path)
    }

    /// Whether long datagrams arrive at a reader, and pay.
    pub(in crate::writer) fn is_open(&self, reader: Guid) -> bool {
        self.0.iter().any(|(known, path)| *known == reader && path.is_open())
    }

    pub(in crate::writer) fn iter_mut(&mut self) -> impl Iterator<Item = (Guid, &mut LongDatagramPath)> {
        self.0.iter_mut().map(|(reader, path)| (*reader, path))
    }
}

#[derive(Clone, Copy, Debug)]
struct Asked {
    count: i32,
    at: MonoTime,
    /// Octets of the long datagram of a trial; the short one before it had the count before this one.
    trial: Option<usize>,
    short_answered: Option<MonoTime>,
}

/// What is known of the way to one best-effort reader.
///
/// Order of calls: [`sent`](Self::sent) with new data; [`question`](Self::question), and when there is one [`tried`](Self::tried)
/// or [`checked`](Self::checked); [`answered`](Self::answered) with what comes back.
#[derive(Clone, Debug, Default)]
pub(in crate::writer) struct LongDatagramPath {
    open: bool,
    /// Octets since the last trial, and how many there have to be for the next.
    sent: u64,
    needed: u64,
    /// Of the last question, and of the last answer.
    count: i32,
    heard: i32,
    asked: Option<Asked>,
    answered_at: MonoTime,
    unanswered: u32,
}

impl LongDatagramPath {
    /// Whether long datagrams arrive, and pay.
    pub(in crate::writer) fn is_open(&self) -> bool {
        self.open
    }

    /// So many octets of new data have left for the reader.
    pub(in crate::writer) fn sent(&mut self, octets: u64) {
        self.sent = self.sent.saturating_add(octets);
    }

    pub(in crate::writer) fn question(&mut self, now: MonoTime) -> Question {
        if let Some(asked) = self.asked {
            if now.since(asked.at) < ANSWER_TIMEOUT {
                return Question::Nothing;
            }
            self.unheard(asked);
        }
        match self.open {
            true if now >= self.answered_at.plus(BETWEEN) => Question::Check,
            false if self.sent >= self.needed.max(FIRST) => Question::Trial,
            _ => Question::Nothing,
        }
    }

    fn unheard(&mut self, asked: Asked) {
        self.asked = None;
        self.unanswered = self.unanswered.saturating_add(1);
        if asked.trial.is_some() || self.unanswered >= MAX_LOST {
            self.close();
        }
    }

    /// Datagrams have one frame, until twice as much has left as before the last trial.
    fn close(&mut self) {
        (self.open, self.sent, self.unanswered) = (false, 0, 0);
        self.needed = self.needed.max(FIRST).saturating_mul(2).min(MOST);
    }

    /// A trial leaves, with a long datagram of so many octets: the counts of the short question and of the long one.
    pub(in crate::writer) fn tried(&mut self, now: MonoTime, octets: usize) -> (i32, i32) {
        let short = self.count.wrapping_add(1);
        self.ask(now, short.wrapping_add(1), Some(octets));
        (short, self.count)
    }

    /// A question leaves with data: its count.
    pub(in crate::writer) fn checked(&mut self, now: MonoTime) -> i32 {
        self.ask(now, self.count.wrapping_add(1), None);
        self.count
    }

    fn ask(&mut self, now: MonoTime, count: i32, trial: Option<usize>) {
        self.count = count;
        self.asked = Some(Asked { count, at: now, trial, short_answered: None });
    }

    /// The reader has answered; false if it was never asked that, or has answered it.
    pub(in crate::writer) fn answered(&mut self, now: MonoTime, count: i32) -> bool {
        if count.wrapping_sub(self.heard) <= 0 || self.count.wrapping_sub(count) < 0 {
            return false;
        }
        self.heard = count;
        if let Some(asked) = &mut self.asked {
            match asked.trial {
                Some(_) if count == asked.count.wrapping_sub(1) => {
                    asked.short_answered.get_or_insert(now);
                }
                Some(octets) if count == asked.count => {
                    let first = asked.short_answered;
                    self.arrived(now, octets, first);
                }
                None if count == asked.count => {
                    (self.asked, self.unanswered, self.answered_at) = (None, 0, now);
                }
                _ => {}
            }
        }
        true
    }

    /// The long datagram of a trial is there.
    fn arrived(&mut self, now: MonoTime, octets: usize, short: Option<MonoTime>) {
        let rate = short.map(|short| octets_in_a_millisecond(octets, now.since(short)));
        self.asked = None;
        if rate.is_some_and(|rate| rate < FAST_LINE) {
            (self.open, self.unanswered, self.answered_at) = (true, 0, now);
            self.needed /= 2;
        } else {
            self.close();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: usize = 63_632;

    fn at(micros: u64) -> MonoTime {
        MonoTime(micros * 1_000)
    }

    /// A trial whose answers come so long after each other.
    fn tried(path: &mut LongDatagramPath, now: u64, apart: u64) {
        path.sent(path.needed.max(FIRST));
        assert_eq!(path.question(at(now)), Question::Trial);
        let (short, long) = path.tried(at(now), LONG);
        assert_eq!(path.question(at(now + 10)), Question::Nothing, "one at a time");
        assert!(path.answered(at(now + 9_000), short) && !path.is_open());
        assert!(path.answered(at(now + 9_000 + apart), long));
    }

    #[test]
    fn a_slow_line_that_lets_long_datagrams_pass_gets_them() {
        let mut path = LongDatagramPath::default();
        assert_eq!(path.question(at(0)), Question::Nothing, "nothing was sent");
        tried(&mut path, 1_000, 5_200);
        assert!(path.is_open(), "100 Mbit/s");
        let mut path = LongDatagramPath::default();
        tried(&mut path, 1_000, 520);
        assert!(!path.is_open(), "1 Gbit/s");
        let mut path = LongDatagramPath::default();
        tried(&mut path, 1_000, 0);
        assert!(!path.is_open(), "both at once");
    }

    #[test]
    fn a_path_that_lets_none_pass_is_tried_ever_less_often() {
        let (mut path, mut trials) = (LongDatagramPath::default(), 0);
        // 4 GB in samples of a megabyte, ten in a second.
        for n in 0..4_000 {
            path.sent(1 << 20);
            if path.question(at(n * 100_000)) == Question::Trial {
                trials += 1;
                let (short, _) = path.tried(at(n * 100_000), LONG);
                assert!(path.answered(at(n * 100_000 + 1_000), short));
            }
        }
        assert!((5..=40).contains(&trials), "{trials}");
        assert!(!path.is_open());
    }

    #[test]
    fn a_path_for_long_datagrams_closes_after_three_unanswered_checks() {
        let mut path = LongDatagramPath::default();
        tried(&mut path, 1_000, 5_200);
        let mut now = 1_000_000;
        for answers in [true, true, false, false, true, false, false] {
            assert_eq!(path.question(at(now)), Question::Check);
            let count = path.checked(at(now));
            assert!(!answers || path.answered(at(now + 5_000), count));
            now += 600_000;
        }
        assert_eq!(path.question(at(now)), Question::Check);
        assert!(path.is_open(), "never three in a row");
        path.checked(at(now));
        assert_eq!(path.question(at(now + 600_000)), Question::Nothing);
        assert!(!path.is_open());
    }

    #[test]
    fn unsolicited_and_repeated_probe_answers_are_rejected() {
        let mut path = LongDatagramPath::default();
        assert!(!path.answered(at(0), 1) && !path.answered(at(0), 0) && !path.answered(at(0), -1));
        tried(&mut path, 1_000, 5_200);
        assert!(!path.answered(at(20_000), 2) && !path.answered(at(20_000), 3));
        let count = path.checked(at(1_000_000));
        path.question(at(2_000_000));
        assert!(path.answered(at(2_000_000), count), "late");
        assert!(!path.answered(at(2_000_000), count), "twice");
    }
}
