//! A reader that stops must not cost the others anything, and hears how much it missed (docs/slow-readers.md).

use std::sync::Arc;

use dunlin_core::Duration;
use dunlin_engine::{Event, ReaderSlot, WriteError, WriterSlot};
use dunlin_qos::{DataReaderQos, DataWriterQos};
use dunlin_rtps::ChangeKind;
use dunlin_sim::{Delay, NetworkConfig, NodeConfig, NodeId, PathConfig, World};

use crate::common::*;

mod leases;
mod policies;

const LEN: usize = 64;
const INACTIVE_AFTER: Duration = Duration::from_millis(500);
/// Twice what a sample takes on the default path.
const SOON: Duration = Duration::from_micros(100);

/// One writer at 1 kHz and three readers on nodes of their own.
struct Scene {
    world: World,
    nodes: Vec<NodeId>,
    writer: Arc<WriterSlot>,
    readers: Vec<Arc<ReaderSlot>>,
    filling: Filling,
    next: u64,
    refused: u64,
    /// When each write began that did not return at once, and how long it took.
    blocked: Vec<(Duration, Duration)>,
    got: [Vec<u64>; 3],
    late: [u64; 3],
    stopped: [bool; 3],
}

impl Scene {
    fn new(seed: u64, history: i32, inactive_after: Duration) -> Self {
        let mut config = NodeConfig::default();
        config.participant.lease_duration = secs(300);
        config.participant.tuning.inactive_after = inactive_after;
        config.participant.tuning.inactive_backlog = 2_000;
        let qos = keep_all_writer().max_blocking_time(ms(100));
        let qos = if history == 0 { qos } else { qos.resource_limits(history, 1, history) };
        Self::with(seed, &config, qos, &keep_all_reader())
    }

    fn with(seed: u64, config: &NodeConfig, offered: DataWriterQos, requested: &DataReaderQos) -> Self {
        let mut world = World::new(seed, NetworkConfig::of(PathConfig::default()));
        let nodes: Vec<_> = (0..4).map(|_| world.add_node(config.clone())).collect();
        let writer = writer(&mut world, nodes[0], "Slow", offered);
        let readers: Vec<_> =
            (1..4).map(|n| reader(&mut world, nodes[n], "Slow", requested.clone())).collect();
        until_matched(&mut world, &[&writer], &readers.iter().collect::<Vec<_>>());
        world.run_for(ms(100));
        let filling = Filling::new(LEN);
        let (blocked, got, late, stopped) = (Vec::new(), Default::default(), [0; 3], [false; 3]);
        Self { world, nodes, writer, readers, filling, next: 0, refused: 0, blocked, got, late, stopped }
    }

    /// Writes one sample, looks soon after who has it, and goes on to the next period.
    fn tick(&mut self) {
        self.tick_of(1);
    }

    /// The same with a sample of that instance.
    fn tick_of(&mut self, key: u32) {
        let begin = self.world.age();
        let request = self.filling.request(key, self.next, LEN);
        match self.world.write_blocking(self.nodes[0], &self.writer, request) {
            Ok(_) => self.next += 1,
            Err(WriteError::Full { .. }) => self.refused += 1,
            Err(error) => panic!("{error}"),
        }
        let took = self.world.age().as_nanos() - begin.as_nanos();
        if took > 0 {
            self.blocked.push((begin, Duration::from_nanos(took)));
        }
        self.world.run_for(SOON);
        for n in (0..3).filter(|n| !self.stopped[*n]).collect::<Vec<_>>() {
            self.take(n);
            self.late[n] += u64::from(self.got[n].last() != self.next.checked_sub(1).as_ref());
        }
        let rest = ms(1).as_nanos() + begin.as_nanos() - self.world.age().as_nanos();
        self.world.run_for(Duration::from_nanos(rest.max(0)));
    }

    /// Writes as fast as the history lets it.
    fn write_on(&mut self, lasts: Duration) {
        let end = self.world.age().as_nanos() + lasts.as_nanos();
        while self.world.age().as_nanos() < end {
            let request = self.filling.request(1, self.next, LEN);
            match self.world.write(self.nodes[0], &self.writer, request) {
                Ok(_) => self.next += 1,
                Err(WriteError::Full { .. }) => {}
                Err(error) => panic!("{error}"),
            }
            self.world.run_for(Duration::from_micros(200));
        }
        for n in (0..3).filter(|n| !self.stopped[*n]).collect::<Vec<_>>() {
            self.take(n);
        }
    }

    fn take(&mut self, n: usize) {
        let numbers = take_numbers(&mut self.world, self.nodes[n + 1], &self.readers[n], &self.filling);
        self.got[n].extend(numbers);
    }

    fn stop(&mut self, n: usize) {
        self.stopped[n] = true;
        self.world.pause(self.nodes[n + 1]);
    }

    fn go_on(&mut self, n: usize) {
        self.stopped[n] = false;
        self.world.resume(self.nodes[n + 1]);
    }

    fn ticks(&mut self, count: u64) {
        (0..count).for_each(|_| self.tick());
    }

    fn lost(&mut self, n: usize) -> u64 {
        let count = |event| if let Event::SampleLost { count, .. } = event { count } else { 0 };
        events(&mut self.world, self.nodes[n + 1]).into_iter().map(count).sum()
    }

    fn is_inactive(&self, n: usize) -> bool {
        self.writer.is_inactive(self.readers[n].guid()).expect("matched")
    }

    /// Ends an instance, if a write to it was not refused; like a write it may have to wait, here as long as it takes.
    fn end(&mut self, kind: ChangeKind, key: u32) {
        while self.writer.is_registered(instance(key)) {
            match self.world.write_blocking(self.nodes[0], &self.writer, life_cycle(kind, key)) {
                Ok(_) => return,
                Err(WriteError::Full { .. }) => self.refused += 1,
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// All that was written has arrived at the first two readers, in order; they are told of no loss.
    fn others_have_everything(&mut self) {
        for n in 0..2 {
            self.take(n);
            assert_eq!(self.got[n], (0..self.next).collect::<Vec<_>>());
            assert_eq!(self.lost(n), 0);
        }
    }

    /// The third reader has what is not lost, in order, and knows how much is. Returns how much.
    fn third_knows_what_it_missed(&mut self) -> u64 {
        self.take(2);
        assert!(self.got[2].is_sorted_by(|a, b| a < b));
        let missing = self.next - self.got[2].len() as u64;
        assert_eq!(self.lost(2), missing, "SAMPLE_LOST");
        missing
    }
}

/// SIGSTOP of one of three readers for 30 s at 1 kHz.
fn stopped(seed: u64) {
    for (history, kept) in [(1_000, 1_000_u64), (200, 200), (0, 2_000)] {
        let mut scene = Scene::new(seed, history, INACTIVE_AFTER);
        scene.ticks(2_000);
        assert_eq!((scene.late, scene.blocked.len()), ([0; 3], 0));
        let stopped_at = scene.world.age();
        scene.stop(2);
        scene.ticks(30_000);
        assert!(scene.is_inactive(2) && !scene.is_inactive(0) && !scene.is_inactive(1));
        let stats = scene.writer.stats();
        assert_eq!((stats.readers_inactive, stats.readers_inactivated), (1, 1));
        // A question is in flight at least every 10 ms.
        let acted_at = stopped_at.as_nanos() + INACTIVE_AFTER.as_nanos() + ms(12).as_nanos();
        for (begin, took) in &scene.blocked {
            let blocked_since = begin.as_nanos().max(acted_at);
            assert!(
                begin.as_nanos() + took.as_nanos() - blocked_since <= ms(1).as_nanos(),
                "{begin:?} {took:?}"
            );
        }
        if kept > 500 {
            assert_eq!((scene.blocked.len(), scene.refused), (0, 0), "a history of a second is enough");
        }
        // They wait once, for an eighth of the window's patience.
        assert!(scene.late[0] <= 30 && scene.late[1] <= 30, "{:?} of 30,000 came late", scene.late);
        let (writes_before, late_before) = (scene.blocked.len(), scene.late);
        scene.go_on(2);
        scene.ticks(2_000);
        assert_eq!(scene.blocked.len(), writes_before, "its return costs nobody anything");
        assert_eq!(scene.late[..2], late_before[..2]);
        assert!(!scene.is_inactive(2));
        until_acked(&mut scene.world, &scene.writer, secs(5));
        scene.others_have_everything();
        let missing = scene.third_knows_what_it_missed();
        // Some of what it had not acknowledged had arrived and waited in its socket.
        assert!(missing <= scene.writer.stats().released_unacknowledged);
        assert!(missing + kept < 30_000 && missing > 20_000, "{missing} lost with a history of {kept}");
    }
}
scenario!(stopped_reader, 3, stopped);

/// The same with the rule switched off: writes wait for their max_blocking_time and fail, and nothing is lost.
fn strict(seed: u64) {
    let mut scene = Scene::new(seed, 200, Duration::ZERO);
    scene.ticks(100);
    scene.stop(2);
    scene.ticks(1_000);
    assert!(!scene.is_inactive(2) && scene.refused > 500);
    scene.go_on(2);
    scene.ticks(100);
    until_acked(&mut scene.world, &scene.writer, secs(5));
    scene.others_have_everything();
    assert_eq!(scene.third_knows_what_it_missed(), 0);
}
scenario!(rule_switched_off, 3, strict);

/// A single reader that is inactive: the writer goes on alone. Waiting for acknowledgements waits for it all the same.
fn alone(seed: u64) {
    let mut scene = Scene::new(seed, 100, INACTIVE_AFTER);
    scene.ticks(10);
    (0..3).for_each(|n| scene.stop(n));
    scene.ticks(600);
    let refused = scene.refused;
    scene.ticks(1_000);
    assert_eq!(scene.refused, refused);
    assert_eq!(scene.writer.stats().readers_inactive, 3);
    assert!(scene.writer.acked_by_all() < scene.writer.last_sn());
    (0..3).for_each(|n| scene.go_on(n));
    until_acked(&mut scene.world, &scene.writer, secs(5));
    assert_eq!(scene.writer.stats().readers_inactive, 0);
    assert!(scene.third_knows_what_it_missed() > 500);
}
scenario!(nobody_answers, 3, alone);

/// A reader that answers but whose application takes nothing is not inactive: RELIABILITY asks the writer to wait for it.
fn takes_nothing(seed: u64) {
    let mut scene = Scene::new(seed, 50, INACTIVE_AFTER);
    let full = reader(&mut scene.world, scene.nodes[3], "Slow", keep_all_reader().resource_limits(4, 1, 4));
    until_matched(
        &mut scene.world,
        &[&scene.writer],
        &[&scene.readers[0], &scene.readers[1], &scene.readers[2], &full],
    );
    scene.ticks(200);
    assert!(scene.refused > 0);
    assert_eq!(scene.writer.stats().readers_inactivated, 0);
}
scenario!(full_reader, 2, takes_nothing);

/// A reader that stops again and again, in the middle of its return too.
fn stutters(seed: u64) {
    let mut scene = Scene::new(seed, 300, INACTIVE_AFTER);
    for round in 0..12 {
        scene.stop(2);
        scene.ticks(700 + 37 * round);
        scene.go_on(2);
        scene.ticks(1 + 5 * round);
    }
    scene.ticks(500);
    until_acked(&mut scene.world, &scene.writer, secs(5));
    scene.others_have_everything();
    scene.third_knows_what_it_missed();
}
scenario!(stops_again_and_again, 4, stutters);

/// The same where datagrams are lost, doubled and overtaken, with pauses also longer than counts are remembered for (3 s): what
/// was taken and what was lost is what was written.
fn stutters_on_a_bad_path(seed: u64) {
    let mut scene = Scene::new(seed, [60, 200, 500][seed as usize % 3], INACTIVE_AFTER);
    scene.world.set_network(PathConfig {
        delay: Delay::Uniform(Duration::from_micros(50), ms(3)),
        loss_ppm: 80_000,
        duplicate_ppm: 20_000,
        reorder_ppm: 50_000,
        reorder_by: ms(20),
        ..PathConfig::default()
    });
    for round in 0..6 {
        let pause = (seed.wrapping_mul(7919) + round * 977) % 4_500;
        scene.stop(2);
        scene.ticks(600 + pause);
        scene.go_on(2);
        scene.ticks(1 + pause % 331);
    }
    assert!(scene.writer.stats().released_unacknowledged > 0);
    scene.ticks(300);
    until_acked(&mut scene.world, &scene.writer, secs(20));
    scene.others_have_everything();
    scene.third_knows_what_it_missed();
}
scenario!(stops_again_and_again_on_a_bad_path, 3, stutters_on_a_bad_path);

/// A reader 50 ms away (there and back) from a writer that fills a small history at once comes back all the same: waited
/// for, with a window, and with everything that is written from then on.
fn far_away(seed: u64) {
    let mut scene = Scene::new(seed, 100, INACTIVE_AFTER);
    scene.world.set_network(PathConfig { delay: Delay::Fixed(ms(25)), ..PathConfig::default() });
    scene.stop(2);
    scene.write_on(secs(2));
    assert!(scene.is_inactive(2));
    scene.go_on(2);
    scene.write_on(secs(2));
    assert!(!scene.is_inactive(2));
    scene.take(2);
    let (lost, from) = (scene.lost(2), scene.next);
    let echoes = scene.writer.stats().echoes_received;
    scene.write_on(secs(2));
    until_acked(&mut scene.world, &scene.writer, secs(5));
    let got = scene.got[2].len() as u64;
    scene.take(2);
    assert!(lost > 0 && scene.next > from + 1_000, "{lost} lost, {} written", scene.next - from);
    assert_eq!(scene.lost(2), 0);
    assert_eq!(scene.got[2].len() as u64, scene.next - lost, "{got} before");
    assert!(scene.writer.stats().echoes_received > echoes);
}
scenario!(far_reader_returns, 2, far_away);

/// A writer that stands still itself, and to which nothing comes meanwhile, blames no reader for it.
fn writer_stops(seed: u64) {
    let mut scene = Scene::new(seed, 1_000, INACTIVE_AFTER);
    for round in 0..6 {
        scene.ticks(40 + round);
        // It has just asked.
        let request = scene.filling.request(1, scene.next, LEN);
        scene.world.write(scene.nodes[0], &scene.writer, request).expect("room");
        scene.next += 1;
        scene.world.pause(scene.nodes[0]);
        (1..4).for_each(|n| scene.world.cut(scene.nodes[n], scene.nodes[0]));
        scene.world.run_for(ms(490 + 5 * round as i64));
        (1..4).for_each(|n| scene.world.mend(scene.nodes[n], scene.nodes[0]));
        scene.world.resume(scene.nodes[0]);
    }
    scene.ticks(700);
    assert_eq!(scene.writer.stats().readers_inactivated, 0);
    scene.others_have_everything();
    assert_eq!(scene.third_knows_what_it_missed(), 0);
}
scenario!(paused_writer, 3, writer_stops);

/// A reader that was met before anything was written, and then hears nothing of what is written and released, counts it all.
fn cut_off(seed: u64) {
    let mut scene = Scene::new(seed, 200, INACTIVE_AFTER);
    scene.world.cut(scene.nodes[0], scene.nodes[3]);
    scene.ticks(3_000);
    assert!(scene.writer.stats().released_unacknowledged > 1_000);
    scene.world.mend(scene.nodes[0], scene.nodes[3]);
    scene.ticks(2_000);
    until_acked(&mut scene.world, &scene.writer, secs(5));
    scene.others_have_everything();
    assert!(scene.third_knows_what_it_missed() > 1_000);
}
scenario!(cut_off_before_the_first_write, 3, cut_off);

/// A reader that the writer knows, but that learns of the writer only when its history was full already: it begins with what is
/// left, and counts nothing as lost.
fn met_late(seed: u64) {
    let mut world = World::new(seed, NetworkConfig::of(PathConfig::default()));
    let mut config = NodeConfig::default();
    config.participant.lease_duration = secs(300);
    config.participant.tuning.inactive_after = INACTIVE_AFTER;
    let nodes: Vec<_> = (0..2).map(|_| world.add_node(config.clone())).collect();
    world.run_for(secs(3));
    world.cut(nodes[0], nodes[1]);
    let qos = keep_all_writer().resource_limits(1_000, 1, 1_000);
    let writer = writer(&mut world, nodes[0], "Slow", qos);
    let reader = reader(&mut world, nodes[1], "Slow", keep_all_reader());
    world.run_for(ms(300));
    assert_eq!((writer.matched_readers().len(), reader.matched_writers().len()), (1, 0));
    let (filling, mut got) = (Filling::new(LEN), Vec::new());
    for n in 0..1_500 {
        world.write_blocking(nodes[0], &writer, filling.request(1, n, LEN)).expect("room");
        world.run_for(ms(1));
        if n == 1_077 {
            world.mend(nodes[0], nodes[1]);
        }
    }
    until_acked(&mut world, &writer, secs(5));
    got.extend(take_numbers(&mut world, nodes[1], &reader, &filling));
    let released = writer.stats().released_unacknowledged;
    assert!(released >= 77, "{released}");
    assert_eq!(got, (released..1_500).collect::<Vec<_>>());
    assert_eq!(reader.stats().lost, 0);
}
scenario!(writer_met_after_it_released, 2, met_late);

/// Nothing is released while RESOURCE_LIMITS leave room, whatever the backlog; without limits, little with each write.
fn backlog(seed: u64) {
    let mut scene = Scene::new(seed, 5_000, INACTIVE_AFTER);
    scene.ticks(10);
    scene.stop(2);
    scene.ticks(4_000);
    assert!(scene.is_inactive(2));
    assert_eq!(scene.writer.stats().released_unacknowledged, 0);
    let mut scene = Scene::new(seed, 0, secs(3));
    scene.ticks(10);
    scene.stop(2);
    scene.ticks(2_900);
    for _ in 0..400 {
        let before = scene.writer.stats().released_unacknowledged;
        scene.tick();
        assert!(scene.writer.stats().released_unacknowledged <= before + 32);
    }
    // All but the backlog.
    let (released, written) = (scene.writer.stats().released_unacknowledged, scene.next);
    assert!((written - 2_020..=written - 1_999).contains(&released), "{released} of {written}");
}
scenario!(backlog_of_inactive_readers, 1, backlog);
