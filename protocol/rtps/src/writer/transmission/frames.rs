//! RTPS 2.5 §8.3.8.3.2 fragmentsInSubmessage, over a network: whether a datagram may be longer than a frame, so that IP sends it in
//! several.
//!
//! A datagram of eight frames has one header where eight have eight, and wakes its reader once; one of 43 as many more. It is lost
//! with any of its frames, and some paths let no such frame pass at all. So longer ones are tried where little was lost for a while,
//! the longest where nothing was, and left when more is lost than they are worth. A fast line has no use for them: there the kernel
//! cuts runs of datagrams into frames at less cost than IP does.

use dunlin_core::{MonoTime, SequenceNumber};

use crate::timing::{FAST_LINE, octets_in_a_millisecond};

/// Frames of a datagram, step by step. The longest is just under 64 KiB, of which two find room in the usual window.
const FRAMES: [usize; 3] = [1, 8, FRAMES_MOST];
pub(in crate::writer) const FRAMES_MOST: usize = 43;
/// Octets of an IP header, which every frame but the first has in the place of the header of UDP, rounded as IP does.
const FRAME_MORE: usize = 8;
/// Octets of new data after which is looked back at what was lost.
const REVIEW: u64 = 2 << 20;
/// One in so many octets may be missed: of long datagrams, where several times as much is missed as of frames (of the longest
/// that is one datagram of a review), and for trying the first of them. Longer ones still are tried where nothing was missed.
const MOST_MISSED: u64 = 25;
const FEW_MISSED: u64 = 250;
/// Reviews with next to nothing missed that come before a trial, after one that failed twice as many, up to the most.
const MOST_REVIEWS: u32 = 64;
/// A change with fewer octets says more about the time of answers than about the line.
const TIMED: usize = 64 << 10;

/// A change on its way, until its readers have acknowledged it.
#[derive(Clone, Copy, Debug)]
struct Timed {
    sn: SequenceNumber,
    octets: usize,
    since: MonoTime,
    /// All of it has left.
    left: bool,
}

/// How long the datagrams of one writer to other hosts are, and what that follows from.
///
/// Order of calls: [`begins`](Self::begins) with each large change, [`sent`](Self::sent) with its data; [`missed`](Self::missed)
/// with what is repaired for the first time, [`acknowledged`](Self::acknowledged) with each acknowledgment.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::writer) struct Frames {
    /// Of [`FRAMES`].
    step: usize,
    /// Octets since the last review: sent, and missed by readers.
    sent: u64,
    missed: u64,
    /// Most octets in a millisecond since then.
    fastest: u64,
    timed: Option<Timed>,
    /// Reviews in a row that were good enough for the next step, and for the present one.
    good: u32,
    lasted: u32,
    /// How many good ones each step takes.
    needed: [u32; FRAMES.len()],
}

/// Octets of a datagram that fills so many frames, of which the first has room for `usual` octets.
pub(in crate::writer) fn filling(usual: usize, frames: usize) -> usize {
    usual.saturating_add(FRAME_MORE).saturating_mul(frames).saturating_sub(FRAME_MORE)
}

impl Frames {
    /// How many frames a datagram may have.
    pub(in crate::writer) fn count(&self) -> usize {
        FRAMES.get(self.step).copied().unwrap_or(1)
    }

    /// The first fragment of a change is about to leave.
    pub(in crate::writer) fn begins(&mut self, now: MonoTime, sn: SequenceNumber, octets: usize) {
        if self.timed.is_none() && octets >= TIMED {
            self.timed = Some(Timed { sn, octets, since: now, left: false });
        }
    }

    /// The last fragment of a change has left.
    pub(in crate::writer) fn left(&mut self, sn: SequenceNumber) {
        if let Some(timed) = self.timed.as_mut().filter(|timed| timed.sn == sn) {
            timed.left = true;
        }
    }

    /// Readers have acknowledged everything up to there.
    pub(in crate::writer) fn acknowledged(&mut self, now: MonoTime, through: SequenceNumber) {
        let Some(timed) = self.timed.filter(|timed| timed.sn <= through) else { return };
        self.timed = None;
        if !timed.left {
            // Something else replaced it, and what was acknowledged is that.
            return;
        }
        let rate = octets_in_a_millisecond(timed.octets, now.since(timed.since));
        self.fastest = self.fastest.max(rate);
    }

    /// A reader missed so many octets.
    pub(in crate::writer) fn missed(&mut self, octets: usize) {
        self.missed = self.missed.saturating_add(octets as u64);
        if self.step > 0 && self.missed.saturating_mul(MOST_MISSED) > REVIEW {
            if let Some(needed) = self.needed.get_mut(self.step) {
                *needed = (*needed).max(1).saturating_mul(2).min(MOST_REVIEWS);
            }
            self.go_to(self.step.saturating_sub(1));
            (self.sent, self.missed) = (0, 0);
        }
    }

    /// So many octets of fragments were sent for the first time.
    pub(in crate::writer) fn sent(&mut self, octets: usize) {
        self.sent = self.sent.saturating_add(octets as u64);
        if self.sent < REVIEW {
            return;
        }
        // Nothing may have been timed; then what was known still holds.
        let (known, fast) = (self.fastest > 0, self.fastest >= FAST_LINE);
        let few = self.missed.saturating_mul(FEW_MISSED) <= self.sent;
        let good = if self.step == 0 { few } else { self.missed == 0 };
        self.good = if good { self.good.saturating_add(1) } else { 0 };
        self.lasted = if few { self.lasted.saturating_add(1) } else { 0 };
        if let Some(needed) = self.needed.get_mut(self.step)
            && self.lasted >= *needed
        {
            // A trial that lasts makes the next one come sooner.
            (*needed, self.lasted) = (*needed / 2, 0);
        }
        let next = self.step.saturating_add(1);
        if fast {
            self.go_to(0);
        } else if known && self.needed.get(next).is_some_and(|needed| self.good >= (*needed).max(1)) {
            self.go_to(next);
        }
        (self.sent, self.missed, self.fastest) = (0, 0, 0);
    }

    fn go_to(&mut self, step: usize) {
        if self.step != step {
            (self.step, self.good, self.lasted) = (step, 0, 0);
        }
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
            frames.left(SequenceNumber(n));
            frames.acknowledged(at(ms), SequenceNumber(n));
        }
    }

    /// A sample of which one frame in `loss` is lost, and its datagram with it.
    fn lose(frames: &mut Frames, n: i64, loss: usize) {
        frames.begins(at(0), SequenceNumber(n), SAMPLE);
        for _ in 0..SAMPLE / 1_404 / loss {
            frames.missed(1_404 * frames.count());
        }
        frames.sent(SAMPLE);
        frames.left(SequenceNumber(n));
        frames.acknowledged(at(84), SequenceNumber(n));
    }

    #[test]
    fn a_slow_line_without_loss_gets_long_datagrams() {
        let mut frames = Frames::default();
        assert_eq!(frames.count(), 1);
        send(&mut frames, 1, 84, None);
        assert_eq!(frames.count(), 1, "nothing is known yet");
        send(&mut frames, 2, 84, None);
        assert_eq!(frames.count(), 8);
        send(&mut frames, 2, 84, None);
        assert_eq!(frames.count(), 43);
        send(&mut frames, 20, 84, None);
        assert_eq!(frames.count(), 43);
        send(&mut frames, 2, 8, None);
        send(&mut frames, 2, 8, None);
        assert_eq!(frames.count(), 1, "the line has become fast");
    }

    #[test]
    fn samples_that_newer_ones_replace_do_not_make_a_line_look_fast() {
        let mut frames = Frames::default();
        send(&mut frames, 10, 84, None);
        assert_eq!(frames.count(), 43);
        for n in 11..40 {
            // Half of it leaves, then the next one is written, and the GAP is acknowledged at once.
            frames.begins(at(0), SequenceNumber(n), SAMPLE);
            frames.sent(SAMPLE / 2);
            frames.acknowledged(at(1), SequenceNumber(n));
        }
        assert_eq!(frames.count(), 43);
    }

    #[test]
    fn a_line_that_loses_gets_frames() {
        let mut frames = Frames::default();
        send(&mut frames, 100, 84, Some(100));
        assert_eq!(frames.count(), 1);
        let mut frames = Frames::default();
        send(&mut frames, 100, 84, Some(1000));
        assert_eq!(frames.count(), 8, "the longest are for lines that lose nothing");
        send(&mut frames, 100, 84, Some(125));
        assert_eq!(frames.count(), 8, "one frame in a thousand");
        send(&mut frames, 2, 84, Some(12));
        assert_eq!(frames.count(), 1, "one frame in a hundred");
    }

    #[test]
    fn the_longest_are_left_when_two_of_them_are_missed() {
        let mut frames = Frames::default();
        send(&mut frames, 10, 84, None);
        frames.missed(62_000);
        assert_eq!(frames.count(), 43, "one in two megabytes");
        frames.missed(62_000);
        assert_eq!(frames.count(), 8);
        let mut long = 0;
        for n in 1..=500 {
            lose(&mut frames, n, 700);
            assert!(frames.count() > 1, "one frame in 700");
            long += u32::from(frames.count() == 43);
        }
        assert!(long < 25, "{long} of 500 samples left in the longest");
    }

    #[test]
    fn a_path_that_lets_none_pass_is_tried_ever_less_often() {
        let (mut frames, mut trials, mut lost) = (Frames::default(), 0, 0);
        for n in 1..=2_000 {
            frames.begins(at(0), SequenceNumber(n), SAMPLE);
            if frames.count() > 1 {
                trials += 1;
                while frames.count() > 1 {
                    frames.missed(11_232);
                    lost += 11_232;
                }
            }
            frames.sent(SAMPLE);
            frames.left(SequenceNumber(n));
            frames.acknowledged(at(84), SequenceNumber(n));
        }
        assert!((5..=25).contains(&trials), "{trials}");
        assert!(lost < 2_000 * SAMPLE / 1_000, "{lost}");
    }

    #[test]
    fn a_datagram_fills_its_frames() {
        // What follows the headers of IP, UDP among it, is a multiple of eight in each frame but the last.
        assert_eq!(filling(1_472, 8), 8 * 1_480 - 8);
        // Two of the longest find room in the usual window.
        assert!(filling(1_472, FRAMES[2]) <= (127 << 10) / 2 - 1_280);
    }
}
