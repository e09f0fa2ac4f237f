//! DDS 1.4 §2.2.3.12 TIME_BASED_FILTER at the writer, against a reader that applies it to everything.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use dunlin_core::{Duration, InstanceHandle, Rng, SequenceNumber};

use super::support::*;
use crate::{Change, ChangeKind, ReaderConfig, ReaderProxyConfig, WriterConfig, WriterHistory};

/// One way.
const DELAY: u64 = 300;
/// The minimum separation.
pub(super) const SEPARATION: u64 = 100_000;

/// What a reader shows, as its cache decides it: when, and which change of which instance.
#[derive(Default)]
pub(super) struct Shown {
    last: BTreeMap<u8, u64>,
    pending: BTreeMap<u8, i64>,
    pub(super) list: Vec<(u64, u8, i64)>,
}

impl Shown {
    fn pass(&mut self, now: u64) {
        let due = |(instance, sn): (&u8, &i64)| Some((self.last.get(instance)? + SEPARATION, *instance, *sn));
        let mut due: Vec<_> = self.pending.iter().filter_map(due).filter(|(at, ..)| *at <= now).collect();
        due.sort_unstable();
        for (at, instance, sn) in due {
            self.pending.remove(&instance);
            self.last.insert(instance, at);
            self.list.push((at, instance, sn));
        }
    }

    fn take(&mut self, now: u64, instance: u8, sn: i64) {
        self.pass(now);
        if self.last.get(&instance).is_some_and(|last| now < last + SEPARATION) {
            self.pending.insert(instance, sn);
        } else {
            self.pending.remove(&instance);
            self.last.insert(instance, now);
            self.list.push((now, instance, sn));
        }
    }
}

/// A writer, a reader and a line between them that loses one datagram in so many.
pub(super) struct Line {
    pub(super) source: Source,
    pub(super) target: Target,
    flights: BTreeMap<(u64, u64), (bool, Packet)>,
    number: u64,
    loss: Option<u64>,
    rng: Rng,
    pub(super) shown: Shown,
    pub(super) samples: usize,
    datagrams: usize,
    /// The history is VOLATILE and keeps the last change of an instance.
    pub(super) keep_last: bool,
    pub(super) len: usize,
    /// The instances of the changes.
    instances: BTreeMap<i64, u8>,
}

impl Line {
    pub(super) fn new(
        minimum: u64,
        proxy: ReaderProxyConfig,
        cfg: WriterConfig,
        loss: Option<u64>,
        seed: u64,
    ) -> Self {
        let mut line = Self {
            source: Source::new(cfg),
            target: Target::new(0, ReaderConfig { reliable: proxy.reliable, ..ReaderConfig::default() }),
            flights: BTreeMap::new(),
            number: 0,
            loss: None,
            rng: Rng::new(seed),
            shown: Shown::default(),
            samples: 0,
            datagrams: 0,
            keep_last: false,
            len: 100,
            instances: BTreeMap::new(),
        };
        let minimum_separation = Duration::from_micros(minimum as i64);
        line.source.match_reader(at(0), ReaderProxyConfig { minimum_separation, ..proxy });
        line.target.match_writer(at(0), false);
        line.collect(0);
        line.run(50_000);
        (line.loss, line.datagrams) = (loss, 0);
        line
    }

    pub(super) fn collect(&mut self, now: u64) {
        let forth = drain(&mut self.source.out).into_iter().map(|packet| (true, packet));
        let back = drain(&mut self.target.out).into_iter().map(|packet| (false, packet));
        for (forth, packet) in forth.chain(back) {
            self.number += 1;
            if forth {
                self.datagrams += 1;
                self.samples += packet.seen().iter().filter(|seen| matches!(seen, Seen::Data { .. })).count();
            }
            if self.loss.is_none_or(|one_in| !self.rng.chance(1, one_in)) {
                self.flights.insert((now + DELAY, self.number), (forth, packet));
            }
        }
    }

    /// Lets everything happen that does before `end`.
    pub(super) fn run(&mut self, end: u64) {
        loop {
            let flight = self.flights.keys().next().map(|(at, _)| *at);
            let timers = [self.source.writer.next_deadline(), self.target.reader.next_deadline()];
            let timer = timers.into_iter().flatten().min().map(|at| at.0.div_ceil(1000));
            let Some(now) = flight.into_iter().chain(timer).min().filter(|now| *now < end) else { return };
            if flight == Some(now)
                && let Some((_, (forth, packet))) = self.flights.pop_first()
            {
                self.arrive(now, forth, &packet);
            } else {
                self.source.timer(at(now));
                self.target.timer(at(now));
            }
            self.collect(now);
        }
    }

    fn arrive(&mut self, now: u64, forth: bool, packet: &Packet) {
        if !forth {
            self.source.receive(at(now), packet);
            return;
        }
        let before = self.target.sink.got.len();
        self.target.receive(at(now), packet);
        for sn in self.target.sink.got.get(before..).unwrap_or(&[]).to_vec() {
            let instance = self.instances[&sn];
            self.shown.take(now, instance, sn);
        }
    }

    pub(super) fn write(&mut self, now: u64, instance: u8, kind: ChangeKind) {
        self.run(now);
        let sn = self.source.history.last_sn().next();
        let mut handle = [0; 16];
        handle[15] = instance;
        let handle = InstanceHandle(handle);
        if self.keep_last {
            self.make_room(now, handle, kind);
        }
        let change = Change { instance: handle, kind, ..change(sn.0, sample(self.len)) };
        self.instances.insert(sn.0, instance);
        let sn = self.source.history.add_change(change);
        self.source.push(at(now), sn);
        self.collect(now);
    }

    fn make_room(&mut self, now: u64, instance: InstanceHandle, kind: ChangeKind) {
        let Source { writer, history, out } = &mut self.source;
        if kind != ChangeKind::Alive {
            writer.let_go(at(now), history, out);
        }
        let acked = writer.acked_by_all();
        history.changes.retain(|sn, change| *sn > acked && change.instance != instance);
    }

    /// The last change of each instance that was shown.
    pub(super) fn last_shown(&mut self, end: u64) -> BTreeMap<u8, i64> {
        self.run(end);
        self.shown.pass(end);
        self.shown.list.iter().map(|(_, instance, sn)| (*instance, *sn)).collect()
    }
}

/// Random writes: time and instance.
pub(super) fn writes(seed: u64, instances: u64) -> Vec<(u64, u8)> {
    let mut rng = Rng::new(seed);
    let mut now = 100_000;
    (0..600)
        .map(|_| {
            now += if rng.chance(1, 40) { rng.below(250_000) } else { rng.below(9_000) };
            (now, (rng.below(instances)) as u8)
        })
        .collect()
}

fn played(minimum: u64, writes: &[(u64, u8)], loss: Option<u64>, seed: u64) -> Line {
    let mut line = Line::new(minimum, reader_proxy(0), WriterConfig::default(), loss, seed);
    writes.iter().for_each(|(now, instance)| line.write(*now, *instance, ChangeKind::Alive));
    let end = writes.last().map_or(0, |(now, _)| now + 20 * SEPARATION);
    line.last_shown(end);
    line
}

#[test]
fn writer_side_separation_shows_the_same_samples_of_one_instance() {
    for seed in 0..20 {
        let writes = writes(seed, 1);
        let (off, on) = (played(0, &writes, None, seed), played(SEPARATION, &writes, None, seed));
        assert_eq!(on.shown.list, off.shown.list, "seed {seed}");
        assert_eq!(on.samples, on.shown.list.len(), "what is not shown is not sent");
        assert!(off.samples == 600 && off.samples > 4 * on.samples, "{} of {}", on.samples, off.samples);
        assert!(off.datagrams > 2 * on.datagrams, "{} of {}", on.datagrams, off.datagrams);
        assert_eq!(on.source.writer.acked_by_all(), SequenceNumber(600));
    }
}

/// What would have been shown is shown, or something newer, within two separations more.
#[test]
fn writer_side_separation_misses_nothing_of_many_instances() {
    for seed in 0..40 {
        let writes = writes(seed, 1 + seed % 9);
        let (off, on) = (played(0, &writes, None, seed), played(SEPARATION, &writes, None, seed));
        for (time, instance, sn) in &off.shown.list {
            let as_new = |(shown, of, other): &&(u64, u8, i64)| {
                *of == *instance && *other >= *sn && *shown <= time + 2 * SEPARATION + 2 * DELAY
            };
            assert!(on.shown.list.iter().any(|shown| as_new(&shown)), "seed {seed}: {time} {instance} {sn}");
        }
        assert!(on.samples <= off.samples);
    }
}

#[test]
fn writer_side_separation_sends_instances_together() {
    let writes: Vec<_> = (0..1000).map(|n| (100_000 + n * 1000, (n % 10) as u8)).collect();
    let line = played(SEPARATION, &writes, None, 1);
    assert!(line.samples <= 130, "{} samples", line.samples);
    assert!(line.datagrams <= 70, "{} datagrams", line.datagrams);
}

#[test]
fn the_last_values_arrive_whatever_is_lost() {
    for seed in 0..60 {
        let writes = writes(seed, 1 + seed % 5);
        let mut line = Line::new(SEPARATION, reader_proxy(0), WriterConfig::default(), Some(5), seed);
        let mut last = BTreeMap::new();
        for (n, (now, instance)) in writes.iter().enumerate() {
            line.write(*now, *instance, ChangeKind::Alive);
            last.insert(*instance, n as i64 + 1);
        }
        let end = writes.last().map_or(0, |(now, _)| now + 100 * SEPARATION);
        assert_eq!(line.last_shown(end), last, "seed {seed}");
        assert!(line.samples < 600 && line.target.sink.lost == 0);
        assert_eq!(line.source.writer.acked_by_all(), SequenceNumber(600), "seed {seed}");
    }
}

#[test]
fn the_end_of_an_instance_is_never_filtered() {
    let mut line = Line::new(SEPARATION, reader_proxy(0), WriterConfig::default(), None, 1);
    for (now, kind) in [
        (100_000, ChangeKind::Alive),
        (101_000, ChangeKind::Alive),
        (102_000, ChangeKind::Disposed),
        (103_000, ChangeKind::Alive),
        (104_000, ChangeKind::Unregistered),
    ] {
        line.write(now, 1, kind);
    }
    line.run(105_000);
    assert_eq!(line.target.sink.got, [1, 2, 3, 4, 5]);
}

#[test]
fn a_best_effort_reader_gets_the_last_value_and_loses_nothing() {
    let proxy = ReaderProxyConfig { reliable: false, ..reader_proxy(0) };
    let mut line = Line::new(SEPARATION, proxy, WriterConfig::default(), None, 1);
    (0..500).for_each(|n| line.write(100_000 + n * 1000, 1, ChangeKind::Alive));
    assert_eq!(line.last_shown(900_000), BTreeMap::from([(1, 500)]));
    assert_eq!((line.samples, line.target.sink.lost), (6, 0));
}

#[test]
fn waiting_for_acknowledgments_releases_withheld_samples() {
    let mut line = Line::new(SEPARATION, reader_proxy(0), WriterConfig::default(), None, 1);
    (0..20).for_each(|n| line.write(100_000 + n * 100, 1, ChangeKind::Alive));
    line.run(110_000);
    assert_eq!(line.source.writer.acked_by_all(), SequenceNumber(1));
    let Source { writer, history, out } = &mut line.source;
    writer.request_acknowledgments(at(110_000), history, out);
    line.collect(110_000);
    line.run(112_000);
    assert_eq!(line.source.writer.acked_by_all(), SequenceNumber(20));
    assert_eq!(line.target.sink.got, [1, 20]);
}

#[test]
fn samples_withheld_for_a_separation_are_bounded() {
    let mut line = Line::new(1_000_000_000, reader_proxy(0), WriterConfig::default(), None, 1);
    (0..5000).for_each(|n| line.write(100_000 + n * 100, 1, ChangeKind::Alive));
    assert!((4..=6).contains(&line.samples), "{} samples", line.samples);
    assert!(line.source.writer.acked_by_all() > SequenceNumber(3900));
    let mut line = Line::new(1_000_000_000, reader_proxy(0), WriterConfig::default(), None, 1);
    (0..5000).for_each(|n| line.write(100_000 + n * 100, (n % 200) as u8, ChangeKind::Alive));
    assert!(line.samples <= 200 * 6, "{} samples", line.samples);
}

#[test]
fn readers_without_a_time_based_filter_get_every_sample_at_once() {
    let mut line = Line::new(SEPARATION, reader_proxy(0), WriterConfig::default(), None, 1);
    line.source.match_reader(at(60_000), reader_proxy(1));
    line.collect(60_000);
    (0..50).for_each(|n| line.write(100_000 + n * 1000, 1, ChangeKind::Alive));
    assert!((50..=52).contains(&line.samples), "{} samples", line.samples);
    // Where both receive in the same place the data cannot be kept from the one.
    let mut line = Line::new(SEPARATION, reader_proxy(0), WriterConfig::default(), None, 1);
    let unicast = [host(reader_guid(0).prefix)].into();
    line.source.match_reader(at(60_000), ReaderProxyConfig { unicast, ..reader_proxy(1) });
    line.collect(60_000);
    (0..50).for_each(|n| line.write(100_000 + n * 1000, 1, ChangeKind::Alive));
    line.run(160_000);
    assert_eq!((line.samples, line.target.sink.got.len()), (50, 50));
}

#[test]
fn withheld_samples_leave_when_the_separation_ends() {
    let mut line = Line::new(SEPARATION, reader_proxy(0), WriterConfig::default(), None, 1);
    (0..5).for_each(|n| line.write(100_000 + n * 1000, 1, ChangeKind::Alive));
    let Source { writer, history, out } = &mut line.source;
    writer.set_reader_separation(at(104_500), reader_guid(0), Duration::ZERO, history, out);
    line.collect(104_500);
    (5..8).for_each(|n| line.write(100_000 + n * 1000, 1, ChangeKind::Alive));
    line.run(110_000);
    assert_eq!(line.target.sink.got, [1, 5, 6, 7, 8]);
}
