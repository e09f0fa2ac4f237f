//! What leaves a daemon for other hosts, in bands of TRANSPORT_PRIORITY (DDS 1.4 §2.2.3.15) and no faster than it may: the more
//! urgent band first, datagram by datagram, and within a band one destination after the other.

use alloc::{
    collections::{BTreeMap, VecDeque},
    vec::Vec,
};

use dunlin_buf::{Outbox, SharedBytes};
use dunlin_core::{Locator, LocatorKind, MonoTime};

use crate::{
    relay::bucket::Bucket,
    relay_config::{Band, BandStats, Limit, MAX_BANDS, Shaping},
};

/// Destinations that have a limit of their own at a time.
const MOST_DESTINATIONS: usize = 4_096;
/// Octets of the headers of UDP and IP.
const HEADERS_V4: usize = 28;
const HEADERS_V6: usize = 48;

/// By which band something leaves, and with which code point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lane {
    /// Discovery: it never waits, but counts.
    Discovery,
    Band {
        band: usize,
        class: u8,
    },
}

impl Lane {
    fn class(self) -> u8 {
        match self {
            Self::Discovery => 0,
            Self::Band { class, .. } => class,
        }
    }
}

/// A datagram that waits.
#[derive(Debug)]
struct Waiting {
    message: SharedBytes,
    class: u8,
    since: MonoTime,
}

#[derive(Debug)]
struct Queue {
    config: Band,
    bucket: Bucket,
    /// What waits, by destinations.
    waiting: BTreeMap<Locator, VecDeque<Waiting>>,
    /// The destinations with something that waits, in the order of their turns.
    turns: VecDeque<Locator>,
    octets: usize,
    stats: BandStats,
}

/// Queues and buckets of everything that leaves for other hosts.
#[derive(Debug)]
pub(crate) struct Shaper {
    /// The lowest band first; at least one.
    bands: Vec<Queue>,
    all: Bucket,
    destination: Option<Limit>,
    destinations: BTreeMap<Locator, Bucket>,
    /// Nothing that waits may leave before this.
    next: Option<MonoTime>,
    /// There is a limit.
    limited: bool,
    /// Datagrams that have left, of discovery too, and their octets.
    left: (u64, u64),
}

/// What may happen next.
enum Next {
    /// The first datagram of a band to a destination leaves, whose turn it is as this one.
    Leaves(usize, usize),
    Waits(MonoTime),
    Nothing,
}

/// What a message to a place takes of a limit.
fn cost(place: &Locator, message: &SharedBytes) -> usize {
    let headers = if place.kind == LocatorKind::UDP_V6 { HEADERS_V6 } else { HEADERS_V4 };
    message.len().saturating_add(headers)
}

fn leave(place: Locator, message: SharedBytes, class: u8, out: &mut Outbox) {
    out.begin();
    out.set_class(class);
    out.put_shared(message);
    out.finish(&[place]);
}

impl Queue {
    fn new(config: Band) -> Self {
        Self {
            bucket: Bucket::new(config.limit),
            waiting: BTreeMap::new(),
            turns: VecDeque::new(),
            octets: 0,
            stats: BandStats { from: config.from, ..BandStats::default() },
            config,
        }
    }

    fn count_passed(&mut self, octets: usize) {
        self.stats.passed = self.stats.passed.saturating_add(1);
        self.stats.octets = self.stats.octets.saturating_add(u64::try_from(octets).unwrap_or(u64::MAX));
    }

    /// The first datagram to the destination whose turn it is as this one.
    fn head(&self, turn: usize) -> Option<(&Locator, &Waiting)> {
        let place = self.turns.get(turn)?;
        Some((place, self.waiting.get(place)?.front()?))
    }

    /// Puts a datagram behind the others; true if nothing waited for its destination before. What finds no room is dropped.
    fn put(&mut self, now: MonoTime, place: Locator, message: &SharedBytes, class: u8) -> bool {
        let octets = self.octets.saturating_add(message.len());
        if octets > self.config.queue {
            self.stats.dropped = self.stats.dropped.saturating_add(1);
            return false;
        }
        self.octets = octets;
        self.stats.waiting = self.stats.waiting.saturating_add(1);
        let queue = self.waiting.entry(place).or_default();
        // It would keep all that it came with.
        let message = SharedBytes::copy_from(message);
        queue.push_back(Waiting { message, class, since: now });
        let first = queue.len() == 1;
        if first {
            self.turns.push_back(place);
        }
        first
    }

    /// Takes out the first datagram to the destination whose turn it is as this one; then it is the turn of the others.
    fn take(&mut self, turn: usize) -> Option<(Locator, Waiting)> {
        let place = self.turns.remove(turn)?;
        let queue = self.waiting.get_mut(&place)?;
        let first = queue.pop_front()?;
        if queue.is_empty() {
            self.waiting.remove(&place);
        } else {
            self.turns.push_back(place);
        }
        self.octets = self.octets.saturating_sub(first.message.len());
        self.stats.waiting = self.stats.waiting.saturating_sub(1);
        Some((place, first))
    }
}

impl Shaper {
    pub(crate) fn new(shaping: &Shaping) -> Self {
        let mut bands: Vec<Band> = shaping.bands.iter().take(MAX_BANDS).copied().collect();
        bands.sort_by_key(|band| band.from);
        if bands.is_empty() {
            bands.push(Band::default());
        }
        let limits = bands.iter().map(|band| band.limit).chain([shaping.all, shaping.destination]);
        Self {
            limited: limits.flatten().next().is_some(),
            bands: bands.into_iter().map(Queue::new).collect(),
            all: Bucket::new(shaping.all),
            destination: shaping.destination,
            destinations: BTreeMap::new(),
            next: None,
            left: (0, 0),
        }
    }

    /// Datagrams that have left, and their octets.
    pub(crate) fn left(&self) -> (u64, u64) {
        self.left
    }

    /// The lane of data with this TRANSPORT_PRIORITY.
    pub(crate) fn lane(&self, priority: i32) -> Lane {
        let band = self.bands.iter().rposition(|band| band.config.from <= priority).unwrap_or(0);
        let dscp = self.bands.get(band).and_then(|band| band.config.dscp);
        let own = u8::try_from(priority).ok().filter(|own| *own < 64).unwrap_or(0);
        Lane::Band { band, class: dscp.unwrap_or(own) }
    }

    pub(crate) fn next_deadline(&self) -> Option<MonoTime> {
        self.next
    }

    pub(crate) fn stats(&self) -> [Option<BandStats>; MAX_BANDS] {
        let mut all = [None; MAX_BANDS];
        for (to, band) in all.iter_mut().zip(&self.bands) {
            let waiting_octets = u64::try_from(band.octets).unwrap_or(u64::MAX);
            *to = Some(BandStats { waiting_octets, ..band.stats });
        }
        all
    }

    /// A message leaves for some places of other hosts, now or when it may.
    pub(crate) fn send(
        &mut self,
        now: MonoTime,
        lane: Lane,
        places: &[Locator],
        message: &SharedBytes,
        out: &mut Outbox,
    ) {
        let band = match lane {
            Lane::Band { band, .. } if self.limited => Some(band),
            _ => None,
        };
        let Some(band) = band else {
            places.iter().for_each(|place| self.charge(now, *place, lane, message));
            out.begin();
            out.set_class(lane.class());
            out.put_shared(message.clone());
            out.finish(places);
            return;
        };
        for place in places {
            let has_room = self.has_bucket(now, place);
            if self.next.is_some_and(|at| at <= now) {
                self.send_due(now, out);
            }
            let Some(queue) = self.bands.get_mut(band) else { return };
            if !has_room {
                queue.stats.dropped = queue.stats.dropped.saturating_add(1);
            } else if queue.put(now, *place, message, lane.class()) {
                self.send_due(now, out);
            }
        }
    }

    /// Counts what leaves at once.
    fn charge(&mut self, now: MonoTime, place: Locator, lane: Lane, message: &SharedBytes) {
        let octets = cost(&place, message);
        self.left.0 = self.left.0.saturating_add(1);
        self.left.1 = self.left.1.saturating_add(u64::try_from(message.len()).unwrap_or(u64::MAX));
        self.all.take(now, octets);
        if let Some(bucket) = self.destinations.get_mut(&place) {
            bucket.take(now, octets);
        }
        if let Lane::Band { band, .. } = lane
            && let Some(queue) = self.bands.get_mut(band)
        {
            queue.bucket.take(now, octets);
            queue.count_passed(message.len());
        }
    }

    /// Whether a destination has the limit that it shall have: those that have sent nothing for long give way.
    fn has_bucket(&mut self, now: MonoTime, place: &Locator) -> bool {
        if self.destination.is_none() || self.destinations.contains_key(place) {
            return true;
        }
        if self.destinations.len() >= MOST_DESTINATIONS {
            let bands = &self.bands;
            let waits = |place: &Locator| bands.iter().any(|band| band.waiting.contains_key(place));
            self.destinations.retain(|place, bucket| !bucket.is_full(now) || waits(place));
        }
        let room = self.destinations.len() < MOST_DESTINATIONS;
        if room {
            self.destinations.insert(*place, Bucket::new(self.destination));
        }
        room
    }

    /// Sends what has waited and may leave now.
    pub(crate) fn send_due(&mut self, now: MonoTime, out: &mut Outbox) {
        loop {
            match self.first(now) {
                Next::Leaves(band, turn) => self.release(now, band, turn, out),
                Next::Waits(until) => {
                    self.next = Some(until);
                    return;
                }
                Next::Nothing => {
                    self.next = None;
                    return;
                }
            }
        }
    }

    fn first(&self, now: MonoTime) -> Next {
        let mut until: Option<MonoTime> = None;
        let sooner = |known: Option<MonoTime>, at: MonoTime| Some(known.map_or(at, |known| known.min(at)));
        for (index, band) in self.bands.iter().enumerate().rev() {
            for turn in 0..band.turns.len() {
                let Some((place, head)) = band.head(turn) else { continue };
                let octets = cost(place, &head.message);
                let destination =
                    self.destinations.get(place).map_or(MonoTime::default(), |it| it.ready(octets));
                let own = band.bucket.ready(octets).max(destination);
                let all = self.all.ready(octets);
                if own > now {
                    until = sooner(until, own);
                } else if all > now {
                    // What is less urgent takes nothing of what this one waits for.
                    return sooner(until, all).map_or(Next::Nothing, Next::Waits);
                } else {
                    return Next::Leaves(index, turn);
                }
            }
        }
        until.map_or(Next::Nothing, Next::Waits)
    }

    fn release(&mut self, now: MonoTime, band: usize, turn: usize, out: &mut Outbox) {
        let Some(queue) = self.bands.get_mut(band) else { return };
        let Some((place, first)) = queue.take(turn) else { return };
        let waited = u64::try_from(now.since(first.since).as_nanos()).unwrap_or(0);
        queue.stats.delayed = queue.stats.delayed.saturating_add(u64::from(waited > 0));
        queue.stats.longest_wait = queue.stats.longest_wait.max(waited);
        self.charge(now, place, Lane::Band { band, class: first.class }, &first.message);
        leave(place, first.message, first.class, out);
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use core::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn place(n: u8) -> Locator {
        Locator::udp_v4(Ipv4Addr::new(10, 0, 0, n), 7_411)
    }

    fn message(n: u8, octets: usize) -> SharedBytes {
        vec![n; octets].into()
    }

    fn limit(rate: u64, burst: u64) -> Option<Limit> {
        Some(Limit { rate, burst })
    }

    fn band(from: i32, limit: Option<Limit>) -> Band {
        Band { from, limit, ..Band::default() }
    }

    fn shaper(bands: &[Band], all: Option<Limit>, destination: Option<Limit>) -> Shaper {
        Shaper::new(&Shaping { bands: bands.to_vec(), all, destination })
    }

    /// First octet, destination and class of everything sent.
    fn sent(out: &mut Outbox) -> Vec<(u8, Locator, u8)> {
        let first = |datagram: &dunlin_buf::Datagram<'_>| datagram.parts().next().unwrap()[0];
        let all = out.datagrams().map(|it| (first(&it), it.destinations()[0], it.class())).collect();
        out.clear();
        all
    }

    /// Everything that leaves until nothing waits, with the time.
    fn drain(shaper: &mut Shaper, out: &mut Outbox) -> Vec<(u64, u8)> {
        let mut all = Vec::new();
        while let Some(at) = shaper.next_deadline() {
            shaper.send_due(at, out);
            all.extend(sent(out).into_iter().map(|(octet, ..)| (at.0, octet)));
            assert!(shaper.next_deadline().is_none_or(|next| next > at), "time goes on");
        }
        all
    }

    #[test]
    fn an_urgent_band_overtakes_a_long_sample_in_transit() {
        // 1,528 octets each millisecond.
        let mut shaper = shaper(&[band(0, None), band(40, None)], limit(1_528_000, 1_528), None);
        let mut out = Outbox::new();
        let (bulk, urgent) = (shaper.lane(0), shaper.lane(40));
        for _ in 0..2_700 {
            shaper.send(MonoTime(SECOND), bulk, &[place(1)], &message(0, 1_500), &mut out);
        }
        assert_eq!(sent(&mut out).len(), 1);
        shaper.send(MonoTime(SECOND), urgent, &[place(1)], &message(1, 1_500), &mut out);
        assert!(sent(&mut out).is_empty());
        let all = drain(&mut shaper, &mut out);
        assert_eq!(
            all[0],
            (SECOND + 1_000_000, 1),
            "behind the datagram that was leaving, before all others"
        );
        assert_eq!((all.len(), all.last().map(|(at, _)| *at)), (2_700, Some(SECOND + 2_700 * 1_000_000)));
        let stats = shaper.stats();
        let of =
            |n: usize| stats[n].map(|it| (it.from, it.passed, it.delayed, it.dropped, it.waiting_octets));
        assert_eq!((of(0), of(1)), (Some((0, 2_700, 2_699, 0, 0)), Some((40, 1, 1, 0, 0))));
        assert_eq!(stats[1].map(|it| it.longest_wait), Some(1_000_000));
    }

    #[test]
    fn short_datagrams_of_lower_bands_do_not_overtake_higher_bands() {
        let mut shaper = shaper(&[band(0, None), band(40, None)], limit(1_000_000, 1_528), None);
        let mut out = Outbox::new();
        let (bulk, urgent) = (shaper.lane(0), shaper.lane(63));
        for _ in 0..20 {
            shaper.send(MonoTime(SECOND), bulk, &[place(1)], &message(0, 72), &mut out);
        }
        shaper.send(MonoTime(SECOND), urgent, &[place(1)], &message(1, 1_500), &mut out);
        assert!(sent(&mut out).iter().all(|(octet, ..)| *octet == 0));
        assert_eq!(drain(&mut shaper, &mut out)[0].1, 1);
    }

    #[test]
    fn a_band_destinations_and_the_whole_stay_within_their_limits() {
        for (bands, all, destination) in [
            (vec![band(0, limit(1_000_000, 5_000))], None, None),
            (vec![band(0, None)], limit(1_000_000, 5_000), None),
            (vec![band(0, None)], None, limit(1_000_000, 5_000)),
            (vec![band(0, limit(9_000_000, 5_000))], limit(1_000_000, 5_000), limit(8_000_000, 5_000)),
        ] {
            let mut shaper = shaper(&bands, all, destination);
            let (mut out, lane) = (Outbox::new(), shaper.lane(0));
            let (mut octets, mut before) = (0, MonoTime(SECOND));
            for n in 0..2_000 {
                let now = MonoTime(SECOND + n * 500_000);
                while let Some(at) = shaper.next_deadline().filter(|at| *at < now) {
                    assert!(at > before);
                    before = at;
                    shaper.send_due(at, &mut out);
                }
                shaper.send(now, lane, &[place(1)], &message(0, 1_000), &mut out);
                octets += sent(&mut out).len() * 1_028;
            }
            assert!((950_000..=1_050_000).contains(&octets), "{octets} in a second, {all:?} {destination:?}");
        }
    }

    #[test]
    fn a_destination_at_its_rate_limit_delays_no_other() {
        let mut shaper = shaper(&[], None, limit(10_000, 2_000));
        let (mut out, lane) = (Outbox::new(), shaper.lane(0));
        for _ in 0..50 {
            shaper.send(MonoTime(SECOND), lane, &[place(1)], &message(1, 1_000), &mut out);
        }
        assert_eq!(sent(&mut out).len(), 1);
        shaper.send(MonoTime(SECOND), lane, &[place(2)], &message(2, 1_000), &mut out);
        assert_eq!(sent(&mut out), [(2, place(2), 0)]);
        // By turns: one after the other although one of them has much more.
        let mut shaper = self::shaper(&[], limit(1_028_000, 1_028), None);
        for to in [1, 1, 1, 1, 2, 2] {
            shaper.send(MonoTime(SECOND), lane, &[place(to)], &message(to, 1_000), &mut out);
        }
        let order: Vec<u8> = sent(&mut out)
            .into_iter()
            .map(|(octet, ..)| octet)
            .chain(drain(&mut shaper, &mut out).into_iter().map(|it| it.1))
            .collect();
        assert_eq!(order, [1, 1, 2, 1, 2, 1]);
    }

    #[test]
    fn a_full_queue_drops_and_counts_and_leaves_other_bands_alone() {
        let small = Band { queue: 10_000, ..Band::default() };
        let mut shaper = shaper(&[small, band(10, None)], limit(1_000_000, 1_500), None);
        let mut out = Outbox::new();
        let (low, high) = (shaper.lane(-5), shaper.lane(10));
        for _ in 0..100 {
            shaper.send(MonoTime(SECOND), low, &[place(1)], &message(0, 1_000), &mut out);
        }
        shaper.send(MonoTime(SECOND), high, &[place(1)], &message(1, 1_000), &mut out);
        let stats = shaper.stats();
        assert_eq!(
            stats[0].map(|it| (it.passed, it.waiting, it.waiting_octets, it.dropped)),
            Some((1, 10, 10_000, 89))
        );
        assert_eq!(stats[1].map(|it| (it.waiting, it.dropped)), Some((1, 0)));
        assert_eq!(drain(&mut shaper, &mut out).len(), 12);
        assert_eq!(shaper.left(), (12, 12_000));
    }

    #[test]
    fn shaper_without_a_limit_sends_at_once_with_the_code_point_of_the_band() {
        let marked = Band { from: 10, dscp: Some(46), ..Band::default() };
        let mut shaper = shaper(&[band(0, None), marked], None, None);
        let mut out = Outbox::new();
        let six = Locator::udp_v6(Ipv6Addr::LOCALHOST, 1);
        for (priority, class) in [(i32::MIN, 0), (-1, 0), (0, 0), (9, 9), (10, 46), (63, 46), (i32::MAX, 46)]
        {
            let lane = shaper.lane(priority);
            shaper.send(MonoTime(SECOND), lane, &[place(1), six], &message(7, 10), &mut out);
            assert_eq!(sent(&mut out), [(7, place(1), class)], "one datagram for two places");
        }
        assert_eq!(shaper.next_deadline(), None);
        // Discovery does not wait, but what it takes is not there for others.
        let mut shaper = self::shaper(&[], limit(1_000, 1_500), None);
        let lane = shaper.lane(0);
        for _ in 0..3 {
            shaper.send(MonoTime(SECOND), Lane::Discovery, &[place(1)], &message(1, 972), &mut out);
        }
        shaper.send(MonoTime(SECOND), lane, &[place(1)], &message(2, 972), &mut out);
        assert_eq!(sent(&mut out).len(), 3);
        assert_eq!(drain(&mut shaper, &mut out), [(SECOND + 2_500_000_000, 2)]);
    }
}
