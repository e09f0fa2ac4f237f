//! RTPS 2.5 §8.3.8.3.2 fragmentsInSubmessage, over a network: whether a datagram may be longer than a frame, so that IP sends it in
//! several.
//!
//! A datagram of eight frames has one header where eight have eight, and wakes its reader once. It is lost with any of its
//! frames, and some paths let no such frame pass at all. So it is tried where little was lost for a while, and left when
//! more is lost than the headers are worth. A fast line has no use for it: there the kernel cuts runs of datagrams into frames
//! at less cost than IP does.

use dunlin_core::{MonoTime, SequenceNumber};

/// Frames of a long datagram. With more of them a header more is saved for every further frame, and as much more lost with each.
pub(in crate::writer) const FRAMES: usize = 8;
/// Octets of an IP header, which every frame but the first has in the place of the header of UDP, rounded as IP does.
const FRAME_MORE: usize = 8;
/// Octets of new data after which is looked back at what was lost.
const REVIEW: u64 = 2 << 20;
/// One in so many octets may be missed: of long datagrams, where eight times as much is missed as of frames, and for trying them.
const MOST_MISSED: u64 = 25;
const FEW_MISSED: u64 = 250;
/// Reviews with next to nothing missed that come before a trial, after one that failed twice as many, up to the most.
const MOST_REVIEWS: u32 = 64;
/// Octets in a millisecond of a line for which the kernel had better cut: 320 Mbit/s.
const FAST: u64 = 40_000;
/// A change with fewer octets says more about the time of answers than about the line.
const TIMED: usize = 64 << 10;

/// A change on its way, until its readers have acknowledged it.
#[derive(Clone, Copy, Debug)]
struct Timed {
    sn: SequenceNumber,
    octets: usize,
    since: MonoTime,
}

/// How long the datagrams of one writer to other hosts are, and what that follows from.
///
/// Order of calls: [`begins`](Self::begins) with each large change, [`sent`](Self::sent) with its data; [`missed`](Self::missed)
/// with what is repaired for the first time, [`acknowledged`](Self::acknowledged) with each acknowledgment.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::writer) struct Frames {
    long: bool,
    /// Octets since the last review: sent, and missed by readers.
    sent: u64,
    missed: u64,
    /// Most octets in a millisecond since then.
    fastest: u64,
    timed: Option<Timed>,
    /// Reviews in a row that were good, and how many of them it takes.
    good: u32,
    needed: u32,
}

/// Octets of a datagram that fills so many frames, of which the first has room for `usual` octets.
pub(in crate::writer) fn filling(usual: usize) -> usize {
    usual.saturating_add(FRAME_MORE).saturating_mul(FRAMES).saturating_sub(FRAME_MORE)
}

impl Frames {
    /// Whether datagrams may be longer than a frame.
    pub(in crate::writer) fn are_joined(&self) -> bool {
        self.long
    }

    /// The first fragment of a change is about to leave.
    pub(in crate::writer) fn begins(&mut self, now: MonoTime, sn: SequenceNumber, octets: usize) {
        if self.timed.is_none() && octets >= TIMED {
            self.timed = Some(Timed { sn, octets, since: now });
        }
    }

    /// Readers have acknowledged everything up to there.
    pub(in crate::writer) fn acknowledged(&mut self, now: MonoTime, through: SequenceNumber) {
        let Some(timed) = self.timed.filter(|timed| timed.sn <= through) else { return };
        self.timed = None;
        let micros = u64::try_from(now.since(timed.since).as_nanos() / 1_000).unwrap_or(0);
        let rate = (timed.octets as u64).saturating_mul(1_000).checked_div(micros).unwrap_or(u64::MAX);
        self.fastest = self.fastest.max(rate);
    }

    /// A reader missed so many octets.
    pub(in crate::writer) fn missed(&mut self, octets: usize) {
        self.missed = self.missed.saturating_add(octets as u64);
        if self.long && self.missed.saturating_mul(MOST_MISSED) > REVIEW {
            self.long = false;
            self.needed = self.needed.max(1).saturating_mul(2).min(MOST_REVIEWS);
            self.look_afresh();
        }
    }

    /// So many octets of fragments were sent for the first time.
    pub(in crate::writer) fn sent(&mut self, octets: usize) {
        self.sent = self.sent.saturating_add(octets as u64);
        if self.sent < REVIEW {
            return;
        }
        let slow = (1..FAST).contains(&self.fastest);
        let good = self.missed.saturating_mul(FEW_MISSED) <= self.sent;
        self.good = if good { self.good.saturating_add(1) } else { 0 };
        if self.long && good && self.good >= self.needed {
            // A trial that lasts makes the next one come sooner.
            (self.needed, self.good) = (self.needed / 2, 0);
        }
        self.long = slow && (self.long || self.good >= self.needed.max(1));
        (self.sent, self.missed, self.fastest) = (0, 0, 0);
    }

    fn look_afresh(&mut self) {
        (self.sent, self.missed, self.good) = (0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: usize = 1 << 20;

    fn at(ms: u64) -> MonoTime {
        MonoTime(ms * 1_000_000)
    }

    /// Samples of a megabyte, each `ms` milliseconds on the way, of which one octet in `loss` is missed.
    fn send(frames: &mut Frames, count: i64, ms: u64, loss: Option<usize>) {
        for n in 1..=count {
            frames.begins(at(0), SequenceNumber(n), SAMPLE);
            if let Some(loss) = loss {
                frames.missed(SAMPLE / loss);
            }
            frames.sent(SAMPLE);
            frames.acknowledged(at(ms), SequenceNumber(n));
        }
    }

    #[test]
    fn a_slow_line_without_loss_gets_long_datagrams() {
        let mut frames = Frames::default();
        assert!(!frames.are_joined());
        send(&mut frames, 1, 84, None);
        assert!(!frames.are_joined(), "nothing is known yet");
        send(&mut frames, 2, 84, None);
        assert!(frames.are_joined());
        send(&mut frames, 2, 8, None);
        send(&mut frames, 2, 8, None);
        assert!(!frames.are_joined(), "the line has become fast");
    }

    #[test]
    fn a_line_that_loses_gets_frames() {
        let mut frames = Frames::default();
        send(&mut frames, 100, 84, Some(100));
        assert!(!frames.are_joined());
        let mut frames = Frames::default();
        send(&mut frames, 100, 84, Some(1000));
        assert!(frames.are_joined());
        send(&mut frames, 100, 84, Some(125));
        assert!(frames.are_joined(), "one frame in a thousand");
        send(&mut frames, 2, 84, Some(12));
        assert!(!frames.are_joined(), "one frame in a hundred");
    }

    #[test]
    fn a_path_that_lets_none_pass_is_tried_ever_less_often() {
        let (mut frames, mut trials, mut lost) = (Frames::default(), 0, 0);
        for n in 1..=2_000 {
            frames.begins(at(0), SequenceNumber(n), SAMPLE);
            if frames.are_joined() {
                trials += 1;
                while frames.are_joined() {
                    frames.missed(11_232);
                    lost += 11_232;
                }
            }
            frames.sent(SAMPLE);
            frames.acknowledged(at(84), SequenceNumber(n));
        }
        assert!((5..=25).contains(&trials), "{trials}");
        assert!(lost < 2_000 * SAMPLE / 1_000, "{lost}");
    }

    #[test]
    fn a_datagram_fills_its_frames() {
        // What follows the headers of IP, UDP among it, is a multiple of eight in each frame but the last.
        assert_eq!(filling(1_472), 8 * 1_480 - 8);
    }
}
