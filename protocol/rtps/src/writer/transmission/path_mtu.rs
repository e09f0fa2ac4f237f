//! RFC 8899 (Datagram PLPMTUD) for RTPS 2.5 §8.3.8.3.2 fragmentsInSubmessage: how long datagrams may be on a way that is said to
//! carry longer ones than usual.
//!
//! What is said may be wrong: a peer of this host has moved to another one, or something on the way drops what is long. A repair in
//! time for each sample would hide that, at the price of a sample sent twice. So when a few long datagrams in a row are missed, all
//! become as short as usual ("black hole"). Then one datagram of a sample is longer than the others now and then, a probe: twice as long
//! with each that arrives, and after each that does not the next one waits for twice as many samples.

use dunlin_core::SequenceNumber;

/// Long datagrams that are missed before those that carry the next data become short (RFC 8899 §5.1.2 MAX_PROBES).
const MAX_LOST: u32 = 3;
/// Long datagrams back to which it is remembered what was missed.
const REMEMBERED: u32 = 8;
/// Most samples between two probes.
const MOST_BETWEEN: u32 = 64;

/// Fragments in one datagram that is longer than those before it.
#[derive(Clone, Copy, Debug)]
struct Probe {
    sn: SequenceNumber,
    /// The first fragments of the change, so many.
    fragments: u32,
    /// Octets of the datagram.
    octets: usize,
}

/// What is known of how long datagrams of one writer arrive.
///
/// Order of calls: [`begins`](Self::begins) with each large change; [`sent`](Self::sent) with each long datagram, or
/// [`probed`](Self::probed) with a probe; [`misses`](Self::misses) and [`missed`](Self::missed), or [`misses_all`](Self::misses_all), with what readers ask for,
/// [`acknowledged`](Self::acknowledged) with each acknowledgment.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::writer) struct PathMtu {
    /// Octets of the longest that are known to arrive since some did not.
    known: Option<usize>,
    /// Changes before this one say nothing about it.
    since: SequenceNumber,
    begun: SequenceNumber,
    /// Fragments in the last long datagram; those sent in such, and those of them that were missed, as far as remembered.
    each: u32,
    sent: u32,
    missed: u32,
    /// Long datagrams with changes of which nothing arrived, since something did, and the last of those changes.
    in_a_row: u32,
    row_through: SequenceNumber,
    probe: Option<Probe>,
    /// Large changes before the next probe, and after the next one that is lost.
    rest: u32,
    between: u32,
}

impl PathMtu {
    /// Octets of the longest datagram that may leave where `said` is what the way is said to carry.
    pub(in crate::writer) fn limit(&self, said: usize, usual: usize) -> usize {
        self.known.map_or(said, |known| known.max(usual).min(said))
    }

    /// A large change begins to leave; `heard`: all that say what they miss were there before.
    pub(in crate::writer) fn begins(&mut self, sn: SequenceNumber, heard: bool) {
        if sn == self.begun {
            return;
        }
        self.begun = sn;
        self.rest = self.rest.saturating_sub(1);
        if !heard {
            // Who does not know the writer yet has missed it whatever its length.
            self.since = sn.next();
        }
    }

    /// A datagram with so many fragments has left that is longer than usual.
    pub(in crate::writer) fn sent(&mut self, fragments: u32) {
        self.each = fragments.max(1);
        if self.sent >= self.each.saturating_mul(REMEMBERED) {
            (self.sent, self.missed) = (self.sent / 2, self.missed / 2);
        }
        self.sent = self.sent.saturating_add(fragments);
    }

    /// Octets of a probe, if one is to leave with the change that begins, where the way is said to carry so much.
    pub(in crate::writer) fn probe(&self, said: usize, usual: usize) -> Option<usize> {
        let known = self.known.filter(|_| self.probe.is_none() && self.rest == 0)?.max(usual);
        (known < said).then(|| known.saturating_mul(2).min(said))
    }

    /// A probe with the first fragments of a change has left.
    pub(in crate::writer) fn probed(&mut self, sn: SequenceNumber, fragments: u32, octets: usize) {
        self.probe = Some(Probe { sn, fragments, octets });
    }

    /// Whether the probe under way is part of this change.
    pub(in crate::writer) fn probes(&self, sn: SequenceNumber) -> bool {
        self.probe.is_some_and(|probe| probe.sn == sn)
    }

    /// Readers have acknowledged everything up to there.
    pub(in crate::writer) fn acknowledged(&mut self, through: SequenceNumber) {
        if through > self.row_through {
            self.in_a_row = 0;
        }
        let Some(probe) = self.probe.filter(|probe| probe.sn <= through) else { return };
        self.probe = None;
        self.known = Some(probe.octets);
        self.between /= 2;
    }

    /// A reader asks for the first time for fragments of a change that left in long datagrams, so many and the lowest of them this
    /// one: there will be no more such datagrams if it lacks most of what left in them.
    pub(in crate::writer) fn misses(&mut self, sn: SequenceNumber, lowest: u32, fragments: u32) {
        if self.lost_probe(sn, lowest) || !self.counts(sn) {
            return;
        }
        let missed = self.missed.saturating_add(fragments);
        let most = missed.saturating_mul(4) >= self.sent.saturating_mul(3);
        if most && missed >= self.each.saturating_mul(MAX_LOST) {
            self.become_short();
        }
    }

    /// The same, and it has nothing of the change.
    pub(in crate::writer) fn misses_all(&mut self, sn: SequenceNumber, fragments: u32) {
        if self.lost_probe(sn, 1) || !self.counts(sn) {
            return;
        }
        self.in_a_row = self.in_a_row.saturating_add(fragments.div_ceil(self.each.max(1)));
        self.row_through = self.row_through.max(sn);
        self.missed = self.missed.saturating_add(fragments);
        if self.in_a_row >= MAX_LOST {
            self.become_short();
        }
    }

    /// So many of those that it [misses](Self::misses) are sent again.
    pub(in crate::writer) fn missed(&mut self, sn: SequenceNumber, fragments: u32) {
        if self.counts(sn) {
            self.missed = self.missed.saturating_add(fragments);
        }
    }

    fn counts(&self, sn: SequenceNumber) -> bool {
        sn >= self.since && self.sent > 0
    }

    /// Whether the probe under way is lost because this fragment is missed.
    fn lost_probe(&mut self, sn: SequenceNumber, fragment: u32) -> bool {
        let lost = self.probe.is_some_and(|probe| probe.sn == sn && fragment <= probe.fragments);
        if lost {
            self.probe = None;
            self.wait_longer();
        }
        lost
    }

    fn become_short(&mut self) {
        // What is missed of those under way is no longer news.
        (self.known, self.since, self.probe) = (Some(0), self.begun.next(), None);
        (self.sent, self.missed, self.in_a_row) = (0, 0, 0);
        self.wait_longer();
    }

    fn wait_longer(&mut self) {
        self.rest = self.between.max(1);
        self.between = self.rest.saturating_mul(2).min(MOST_BETWEEN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: usize = 1_472;
    const SAID: usize = 65_000;

    /// Samples of three long datagrams of 36 fragments, of which none arrives that is longer than `carries`; what was lost.
    fn send(mtu: &mut PathMtu, numbers: core::ops::Range<i64>, carries: usize) -> usize {
        let mut lost = 0;
        for n in numbers {
            let sn = SequenceNumber(n);
            mtu.begins(sn, true);
            let limit = mtu.limit(SAID, USUAL);
            if let Some(octets) = mtu.probe(SAID, USUAL) {
                mtu.probed(sn, 2, octets);
                lost += usize::from(octets > carries);
                if octets > carries {
                    mtu.misses(sn, 1, 2);
                }
            }
            if limit > USUAL {
                (0..3).for_each(|_| mtu.sent(36));
            }
            if limit > carries {
                lost += 3;
                mtu.misses_all(sn, 3 * 36);
            }
            mtu.acknowledged(sn);
        }
        lost
    }

    #[test]
    fn a_way_that_carries_what_it_is_said_to_is_believed() {
        let mut mtu = PathMtu::default();
        assert_eq!(send(&mut mtu, 1..100, SAID), 0);
        assert_eq!((mtu.limit(SAID, USUAL), mtu.limit(1_000, USUAL)), (SAID, 1_000));
    }

    #[test]
    fn a_way_that_carries_less_is_found_out_once_and_probed_ever_less_often() {
        let mut mtu = PathMtu::default();
        assert_eq!(send(&mut mtu, 1..2, 9_000), 3);
        assert_eq!(mtu.limit(SAID, USUAL), USUAL);
        let lost = send(&mut mtu, 2..1_000, 9_000);
        assert!((5..=30).contains(&lost), "{lost}");
        assert_eq!(mtu.limit(SAID, USUAL), 4 * USUAL, "twice as much would be too much");
        assert_eq!(send(&mut mtu, 1_000..1_200, SAID), 0, "the way has become wider");
        assert_eq!(mtu.limit(SAID, USUAL), SAID);
        assert_eq!(send(&mut mtu, 1_200..1_201, USUAL), 3, "and narrow again");
        assert_eq!(mtu.limit(SAID, USUAL), USUAL);
    }

    #[test]
    fn partial_losses_and_losses_of_later_readers_leave_the_path_mtu() {
        let mut mtu = PathMtu::default();
        for n in 1..100 {
            mtu.begins(SequenceNumber(n), true);
            (0..3).for_each(|_| mtu.sent(36));
            mtu.misses(SequenceNumber(n), 40, 36);
            mtu.missed(SequenceNumber(n), 36);
        }
        assert_eq!(mtu.limit(SAID, USUAL), SAID, "one of three");
        let mut mtu = PathMtu::default();
        mtu.begins(SequenceNumber(1), false);
        (0..3).for_each(|_| mtu.sent(36));
        mtu.misses_all(SequenceNumber(1), 3 * 36);
        assert_eq!(mtu.limit(SAID, USUAL), SAID);
    }
}
