//! RTPS 2.5 §8.4.2 "Behavior Required for Interoperability": a writer and several readers over a channel that loses,
//! reorders and repeats datagrams, in virtual time. Every run follows from its seed.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use dunlin_buf::SharedBytes;
use dunlin_core::{Duration, Locator, MonoTime, Now, Rng, WallTime};

use super::support::*;
use crate::{Pacing, ReaderConfig, ReaderProxyConfig, WriterConfig, WriterHistory, WriterProxyConfig};

const MS: u64 = 1_000_000;

/// Properties of the channel.
#[derive(Clone, Copy, Debug)]
struct Channel {
    loss_percent: u64,
    duplicate_percent: u64,
    min_delay: u64,
    max_delay: u64,
}

const LOSSY: Channel = Channel { loss_percent: 30, duplicate_percent: 5, min_delay: MS / 20, max_delay: MS };
const CLEAN: Channel =
    Channel { loss_percent: 0, duplicate_percent: 0, min_delay: MS / 20, max_delay: MS / 20 };

#[derive(Clone, Copy, PartialEq, Eq)]
enum Node {
    Writer,
    Reader(usize),
}

struct Peer {
    target: Target,
    multicast: bool,
    reliable: bool,
    durable: bool,
    /// Last change written when it was matched.
    joined_after: i64,
    /// The sink has no room until this time.
    full_until: u64,
}

struct World {
    rng: Rng,
    now: u64,
    channel: Channel,
    source: Source,
    peers: Vec<Peer>,
    flights: BTreeMap<(u64, u64), (Node, Packet)>,
    launched: u64,
    written: Vec<SharedBytes>,
    keep_last: Option<usize>,
    transient_local: bool,
}

impl World {
    fn new(seed: u64, channel: Channel, cfg: WriterConfig) -> Self {
        Self {
            rng: Rng::new(seed),
            now: MS,
            channel,
            transient_local: cfg.transient_local,
            source: Source::new(cfg),
            peers: vec![],
            flights: BTreeMap::new(),
            launched: 0,
            written: vec![],
            keep_last: None,
        }
    }

    fn now(&self) -> Now {
        Now { mono: MonoTime(self.now), wall: WallTime(self.now as i64) }
    }

    /// Matches a new reader on both sides, at slightly different times.
    fn join(&mut self, cfg: ReaderConfig, reliable: bool, durable: bool, multicast: bool) {
        let n = self.peers.len() as u8 + 1;
        let cfg = ReaderConfig { reliable, ..cfg };
        let mut target = Target::new(n, cfg);
        let now = self.now();
        let writer = WriterProxyConfig {
            guid: WRITER,
            reliable: true,
            durable: durable && self.transient_local,
            unicast: [host(WRITER.prefix)].into(),
            ..Default::default()
        };
        let proxy = ReaderProxyConfig {
            reliable,
            durable,
            multicast: if multicast { [GROUP].into() } else { [].into() },
            ..reader_proxy(n)
        };
        let writer_first = self.rng.chance(1, 2);
        if writer_first {
            self.source.match_reader(now, proxy.clone());
            // The reader does not know the writer yet: what is sent now does not reach it.
            self.launch();
        }
        target.reader.match_writer(now, writer, &mut target.out);
        let joined_after = self.written.len() as i64;
        self.peers.push(Peer { target, multicast, reliable, durable, joined_after, full_until: 0 });
        self.launch();
        if !writer_first {
            self.source.match_reader(now, proxy);
        }
        self.launch();
    }

    fn write(&mut self, len: usize) {
        let now = self.now();
        let sn = self.source.history.add(len);
        self.written.push(sample(len));
        if let Some(depth) = self.keep_last {
            while self.source.history.changes.len() > depth {
                self.source.history.changes.pop_first();
            }
        }
        self.source.push(now, sn);
        self.launch();
    }

    /// Puts everything that was sent on its way.
    fn launch(&mut self) {
        for packet in drain(&mut self.source.out) {
            for to in packet.to.clone() {
                for index in self.receivers(to) {
                    self.fly(Node::Reader(index), &packet);
                }
            }
        }
        for index in 0..self.peers.len() {
            for packet in drain(&mut self.peers[index].target.out) {
                assert_eq!(packet.to, [host(WRITER.prefix)]);
                self.fly(Node::Writer, &packet);
            }
        }
    }

    fn receivers(&self, to: Locator) -> Vec<usize> {
        let at = |index: &usize| {
            let peer = &self.peers[*index];
            if to == GROUP { peer.multicast } else { to == host(peer.target.reader.guid().prefix) }
        };
        (0..self.peers.len()).filter(at).collect()
    }

    fn fly(&mut self, to: Node, packet: &Packet) {
        let copies = 1 + u64::from(self.rng.chance(self.channel.duplicate_percent, 100));
        for _ in 0..copies {
            if self.rng.chance(self.channel.loss_percent, 100) {
                continue;
            }
            let spread = self.channel.max_delay - self.channel.min_delay + 1;
            let arrival = self.now + self.channel.min_delay + self.rng.below(spread);
            self.launched += 1;
            self.flights.insert((arrival, self.launched), (to, packet.clone()));
        }
    }

    fn next_event(&self) -> Option<u64> {
        let deadlines = self.peers.iter().filter_map(|peer| peer.target.reader.next_deadline());
        let timers = deadlines.chain(self.source.writer.next_deadline()).map(|mono| mono.0);
        let room = self.peers.iter().map(|peer| peer.full_until).filter(|until| *until > self.now);
        timers.chain(room).chain(self.flights.keys().next().map(|key| key.0)).min()
    }

    /// Lets time pass up to the next event, or to `end`. False when there is no event before `end`.
    fn step(&mut self, end: u64) -> bool {
        let Some(at) = self.next_event().filter(|at| *at <= end) else {
            self.now = self.now.max(end);
            return false;
        };
        self.now = self.now.max(at);
        let now = self.now();
        while let Some(entry) = self.flights.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let (to, packet) = entry.remove();
            match to {
                Node::Writer => self.source.receive(now, &packet),
                Node::Reader(index) => {
                    let peer = &mut self.peers[index];
                    peer.target.sink.room = (peer.full_until > self.now).then_some(0);
                    peer.target.receive(now, &packet);
                }
            }
        }
        self.source.timer(now);
        for peer in &mut self.peers {
            if peer.full_until <= self.now {
                peer.target.sink.room = None;
                let Target { reader, sink, out } = &mut peer.target;
                reader.retry_rejected(now, sink, out);
            }
            peer.target.timer(now);
        }
        if self.keep_last.is_none() && !self.transient_local {
            let acked = self.source.writer.acked_by_all();
            self.source.history.changes.retain(|sn, _| *sn > acked);
        }
        self.launch();
        true
    }

    fn run_until(&mut self, end: u64) {
        while self.step(end) {}
    }

    fn settled(&self) -> bool {
        let last = self.source.history.last_sn();
        self.source.writer.acked_by_all() >= last && !self.source.writer.has_waiting_data()
    }

    /// Runs until every reliable reader has everything; how long that took.
    fn settle(&mut self, bound: u64, seed: u64) -> u64 {
        let (begin, end) = (self.now, self.now + bound);
        while !self.settled() {
            assert!(self.step(end), "seed {seed}: not settled after {bound} ns of virtual time");
        }
        self.now - begin
    }

    /// Once everything is acknowledged, the world falls silent.
    fn assert_quiet(&mut self, seed: u64) {
        self.run_until(self.now + 3 * self.channel.max_delay + 200 * MS);
        let sent = self.launched;
        self.run_until(self.now + 60_000 * MS);
        assert_eq!(self.launched, sent, "seed {seed}: somebody still talks");
        assert_eq!(self.next_event(), None, "seed {seed}: somebody still waits");
    }

    fn assert_payloads(&self, seed: u64) {
        for peer in &self.peers {
            for (sn, payload) in peer.target.sink.got.iter().zip(&peer.target.sink.payloads) {
                let (payload, written) = (payload.as_ref().unwrap(), &self.written[*sn as usize - 1]);
                assert!(payload.starts_with(written), "seed {seed}: payload of {sn}");
                assert!(payload.len() - written.len() < 4, "seed {seed}: length of {sn}");
            }
        }
    }

    fn assert_everything_once_in_order(&self, seed: u64) {
        let last = self.written.len() as i64;
        for (index, peer) in self.peers.iter().enumerate() {
            let got = &peer.target.sink.got;
            if peer.reliable {
                let durable = peer.durable && self.transient_local;
                let first = if durable { 1 } else { peer.joined_after + 1 };
                // A datagram that was in flight to others when a volatile reader came may reach it too.
                let early = if durable { 0 } else { got.iter().take_while(|sn| **sn < first).count() };
                assert!(early <= 1, "seed {seed}, reader {index}: {got:?}");
                assert_eq!(got[early..], (first..=last).collect::<Vec<_>>(), "seed {seed}, reader {index}");
                assert_eq!(peer.target.sink.lost, 0, "seed {seed}, reader {index}");
            } else {
                assert!(got.windows(2).all(|pair| pair[0] < pair[1]), "seed {seed}, reader {index}");
            }
            assert!(peer.target.reader.historical_complete());
        }
    }
}

/// Sizes of samples: many small, some in fragments, few large.
fn size(rng: &mut Rng) -> usize {
    match rng.below(10) {
        0..6 => 4 + rng.below(400) as usize,
        6..8 => 1300 + rng.below(200) as usize,
        8 => 1404 * (1 + rng.below(4) as usize) + rng.below(3) as usize,
        _ => 5_000 + rng.below(60_000) as usize,
    }
}

fn random_writer(rng: &mut Rng) -> WriterConfig {
    WriterConfig {
        transient_local: rng.chance(1, 2),
        nack_response_delay: Duration::from_micros(if rng.chance(1, 3) { 2000 } else { 0 }),
        repair_budget_per_event: if rng.chance(1, 3) { 5000 } else { 128 * 1024 },
        pacing: rng.chance(1, 3).then_some(Pacing { rate: 10_000_000, burst: 20_000 }),
        ack_request_samples: 1 + rng.below(64) as u32,
        ..Default::default()
    }
}

fn random_reader(rng: &mut Rng) -> ReaderConfig {
    ReaderConfig {
        max_out_of_order_samples: 2 + rng.below(50) as usize,
        max_partial_samples: 1 + rng.below(8) as usize,
        preemptive_ack_delay: Duration::from_millis(rng.below(2) as i64 * 10),
        heartbeat_response_delay: Duration::from_micros(rng.below(2) as i64 * 500),
        ..Default::default()
    }
}

#[test]
fn reliable_readers_get_everything_once_and_in_order() {
    for seed in 0..if cfg!(miri) { 1 } else { 150 } {
        let mut rng = Rng::new(seed ^ 0x5eed);
        let channel = Channel { loss_percent: 20 + rng.below(21), ..LOSSY };
        let mut world = World::new(seed, channel, random_writer(&mut rng));
        for _ in 0..1 + rng.below(4) {
            let reliable = rng.chance(4, 5);
            world.join(random_reader(&mut rng), reliable, rng.chance(1, 2), rng.chance(1, 2));
        }
        for i in 0..60 {
            world.write(size(&mut rng));
            if rng.chance(1, 3) {
                world.run_until(world.now + rng.below(20 * MS));
            }
            if i == 30 && rng.chance(1, 2) {
                world.join(random_reader(&mut rng), true, rng.chance(1, 2), rng.chance(1, 2));
            }
            if rng.chance(1, 20) {
                let until = world.now + rng.below(50 * MS);
                let index = rng.below(world.peers.len() as u64) as usize;
                world.peers[index].full_until = if world.peers[index].reliable { until } else { 0 };
            }
        }
        world.settle(20_000 * MS, seed);
        world.assert_everything_once_in_order(seed);
        world.assert_payloads(seed);
        world.assert_quiet(seed);
    }
}

#[test]
fn late_joiners_get_what_their_durability_says() {
    for seed in 0..if cfg!(miri) { 1 } else { 60 } {
        let mut rng = Rng::new(seed);
        let mut world = World::new(seed, LOSSY, WriterConfig { transient_local: true, ..Default::default() });
        (0..40).for_each(|_| world.write(size(&mut rng)));
        world.join(ReaderConfig::default(), true, true, true);
        world.join(ReaderConfig::default(), true, false, true);
        world.run_until(world.now + rng.below(30 * MS));
        (0..10).for_each(|_| world.write(size(&mut rng)));
        world.settle(20_000 * MS, seed);
        world.assert_everything_once_in_order(seed);
        world.assert_payloads(seed);
        assert_eq!(world.peers[1].target.sink.got.first(), Some(&41), "seed {seed}");
        world.assert_quiet(seed);
    }
}

#[test]
fn replaced_samples_become_gaps_and_the_last_ones_arrive() {
    for seed in 0..if cfg!(miri) { 1 } else { 60 } {
        let mut rng = Rng::new(seed);
        let pacing = rng.chance(1, 2).then_some(Pacing { rate: 5_000_000, burst: 10_000 });
        let mut world = World::new(seed, LOSSY, WriterConfig { pacing, ..Default::default() });
        world.keep_last = Some(5);
        world.join(ReaderConfig::default(), true, false, false);
        world.join(ReaderConfig::default(), true, false, true);
        for _ in 0..100 {
            world.write(size(&mut rng));
            if rng.chance(1, 2) {
                world.run_until(world.now + rng.below(2 * MS));
            }
        }
        world.settle(20_000 * MS, seed);
        world.assert_payloads(seed);
        for peer in &world.peers {
            let got = &peer.target.sink.got;
            assert!(got.windows(2).all(|pair| pair[0] < pair[1]), "seed {seed}");
            assert_eq!(got[got.len() - 5..], [96, 97, 98, 99, 100], "seed {seed}");
            assert!(got.len() as u64 + peer.target.sink.lost <= 100, "seed {seed}");
        }
        world.assert_quiet(seed);
    }
}

#[test]
#[cfg_attr(miri, ignore = "too much to interpret")]
fn a_clean_channel_needs_no_repairs_and_few_acknowledgments() {
    let mut world = World::new(1, CLEAN, WriterConfig::default());
    world.join(ReaderConfig::default(), true, false, false);
    world.run_until(world.now + 100 * MS);
    let before = world.peers[0].target.reader.stats().acknacks_sent;
    for i in 0..1000 {
        world.write(if i % 10 == 0 { 20_000 } else { 100 });
        world.run_until(world.now + MS / 5);
    }
    world.settle(100 * MS, 1);
    world.assert_everything_once_in_order(1);
    let (writer, reader) = (world.source.writer.stats(), world.peers[0].target.reader.stats());
    assert_eq!((writer.repairs_sent, writer.repair_fragments_sent, writer.gaps_sent), (0, 0, 0));
    assert_eq!((reader.out_of_order, reader.duplicates), (0, 0));
    // 200 ms at one per 10 ms or 64 samples.
    let acks = reader.acknacks_sent - before;
    assert!((15..40).contains(&acks), "{acks}");
    world.assert_quiet(1);
}

#[test]
fn last_sample_is_acked_within_milliseconds_without_a_request() {
    for gap in [0, MS / 10, 5 * MS, 50 * MS] {
        let mut world = World::new(2, CLEAN, WriterConfig::default());
        world.join(ReaderConfig::default(), true, false, false);
        world.run_until(world.now + 100 * MS);
        for _ in 0..10 {
            world.write(100);
            world.run_until(world.now + gap);
        }
        let took = world.settle(100 * MS, 2);
        assert!(took <= 11 * MS, "{took} ns after gaps of {gap} ns");
    }
}

#[test]
fn a_lost_sample_is_repaired_within_round_trips() {
    let mut world = World::new(3, CLEAN, WriterConfig::default());
    world.join(ReaderConfig::default(), true, false, false);
    world.run_until(world.now + 100 * MS);
    world.write(100);
    world.run_until(world.now + MS);
    let begin = world.now;
    world.channel.loss_percent = 100;
    world.write(100);
    world.channel.loss_percent = 0;
    world.write(100);
    while world.peers[0].target.sink.got.len() < 3 {
        assert!(world.step(begin + MS), "repair took longer than a millisecond");
    }
    // DATA and HEARTBEAT, ACKNACK, DATA: three one-way delays.
    assert_eq!(world.now - begin, 3 * MS / 20);
}

#[test]
#[cfg_attr(miri, ignore = "too much to interpret")]
fn a_large_sample_survives_heavy_loss_by_fragments() {
    for seed in 0..5 {
        let mut world = World::new(seed, Channel { loss_percent: 20, ..LOSSY }, WriterConfig::default());
        world.join(ReaderConfig::default(), true, false, false);
        world.run_until(world.now + 200 * MS);
        world.write(4_000_000);
        let took = world.settle(20_000 * MS, seed);
        world.assert_payloads(seed);
        let stats = world.source.writer.stats();
        // Little more than what was lost is sent again.
        let total = 4_000_000 / 1404;
        assert!(stats.repair_fragments_sent < total, "seed {seed}: {stats:?}");
        assert!(took < 2_000 * MS, "seed {seed}: {took} ns");
        world.assert_quiet(seed);
    }
}
