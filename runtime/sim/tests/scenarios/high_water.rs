//! What a writer that keeps everything holds for its readers is bounded by octets (`reliability.high_water`).

use std::sync::Arc;

use dunlin_core::{Duration, SequenceNumber};
use dunlin_engine::{ReaderSlot, WriterSlot};
use dunlin_qos::DataWriterQos;
use dunlin_sim::{NetworkConfig, NodeConfig, NodeId, PathConfig, World};

use crate::common::*;

/// A frame of 640 × 480 RGB.
const FRAME: usize = 921_600;

struct Scene {
    world: World,
    nodes: Vec<NodeId>,
    writer: Arc<WriterSlot>,
    reader: Arc<ReaderSlot>,
    filling: Filling,
    written: u64,
}

impl Scene {
    /// A matched pair on a line of so many octets a second.
    fn new(seed: u64, rate: u64, high_water: usize, qos: DataWriterQos) -> Self {
        Self::with_window(seed, rate, (high_water, 127 << 10), qos)
    }

    fn with_window(seed: u64, rate: u64, (high_water, window): (usize, usize), qos: DataWriterQos) -> Self {
        let path = PathConfig { mtu: 1472, rate: Some(rate), ..PathConfig::default() };
        let mut world = World::new(seed, NetworkConfig::of(path));
        let mut config = NodeConfig::default();
        config.participant.tuning.high_water = high_water;
        config.participant.tuning.window = window;
        let nodes: Vec<_> = (0..2).map(|_| world.add_node(config.clone())).collect();
        let writer = writer(&mut world, nodes[0], "Frames", qos);
        let reader = reader(&mut world, nodes[1], "Frames", keep_all_reader());
        until_matched(&mut world, &[&writer], &[&reader]);
        Self { world, nodes, writer, reader, filling: Filling::new(FRAME), written: 0 }
    }

    /// Writes one sample as an application does. How long that took.
    fn write(&mut self, len: usize) -> Duration {
        let begin = self.world.age().as_nanos();
        write_all(&mut self.world, self.nodes[0], &self.writer, &self.filling, [self.written], len);
        self.written += 1;
        Duration::from_nanos(self.world.age().as_nanos() - begin)
    }

    /// Samples that the reader has not acknowledged.
    fn owed(&self) -> i64 {
        self.writer.last_sn().0 - self.writer.acked_by_all().0
    }

    /// Nothing gets through from the writer any more, and nothing back.
    fn cut(&mut self) {
        for (from, to) in [(0, 1), (1, 0)] {
            let dead = PathConfig { loss_ppm: 1_000_000, ..PathConfig::default() };
            self.world.set_path(self.nodes[from], self.nodes[to], dead);
        }
    }
}

/// A writer of video frames that writes as fast as it can on 100 Mbit/s holds two of them, not all; the line stays full.
fn frames_on_a_line(seed: u64) {
    let qos = keep_all_writer().max_blocking_time(secs(1));
    let mut scene = Scene::new(seed, 12_500_000, 2 << 20, qos);
    let begin = scene.world.age().as_nanos();
    for _ in 0..30 {
        scene.write(FRAME);
        assert!(scene.owed() <= 2, "{} samples are not acknowledged", scene.owed());
        scene.world.take(scene.nodes[1], &scene.reader);
    }
    until_acked(&mut scene.world, &scene.writer, secs(5));
    let took = (scene.world.age().as_nanos() - begin) as u64;
    let share = 30 * FRAME as u64 * 1_000_000_000 / took * 100 / 12_500_000;
    assert!(share >= 94, "{share} % of the line");
}
scenario!(frames, 2, frames_on_a_line);

/// Small samples stay below the mark too, and are told of room only when half of it is free.
fn small_samples(seed: u64) {
    const MARK: usize = 100_000;
    let qos = keep_all_writer().max_blocking_time(secs(1));
    // Else twice the window might be under way.
    let mut scene = Scene::with_window(seed, 1_000_000, (MARK, 0), qos);
    let mut waits = 0;
    for _ in 0..4_000 {
        waits += u32::from(scene.write(500) > Duration::ZERO);
        assert!(scene.owed() * 500 <= MARK as i64, "{} samples are not acknowledged", scene.owed());
        scene.world.take(scene.nodes[1], &scene.reader);
    }
    assert!((5..=60).contains(&waits), "{waits} writes had to wait");
}
scenario!(small, 2, small_samples);

/// The mark is soft: it holds a write up for max_blocking_time, and never fails it.
fn a_dead_line(seed: u64) {
    let qos = keep_all_writer().max_blocking_time(ms(100));
    let mut scene = Scene::new(seed, 12_500_000, 2 << 20, qos);
    scene.cut();
    let waited: Vec<_> = (0..5).map(|_| scene.write(FRAME)).collect();
    assert_eq!(waited, [Duration::ZERO, Duration::ZERO, ms(100), ms(100), ms(100)]);
    assert_eq!(scene.writer.last_sn(), SequenceNumber(5));

    let mut patient = Scene::new(seed, 12_500_000, 2 << 20, keep_all_writer().max_blocking_time(secs(100)));
    patient.cut();
    let waited: Vec<_> = (0..3).map(|_| patient.write(FRAME)).collect();
    assert_eq!(waited, [Duration::ZERO, Duration::ZERO, secs(1)], "no longer than a second");
}
scenario!(dead_line, 1, a_dead_line);

/// Who must not wait does not: a call that never blocks, a writer whose mark is off, and one that keeps the last.
fn nobody_waits(seed: u64) {
    let blocking = || keep_all_writer().max_blocking_time(ms(100));
    let mut scene = Scene::new(seed, 12_500_000, 2 << 20, blocking());
    scene.cut();
    for number in 0..6 {
        let request = scene.filling.request(1, number, FRAME);
        scene.world.write(scene.nodes[0], &scene.writer, request).expect("no write fails at the mark");
    }
    let last = DataWriterQos::default().reliable().keep_last(10).max_blocking_time(ms(100));
    for (mark, qos) in [(0, blocking()), (2 << 20, last)] {
        let mut scene = Scene::new(seed, 12_500_000, mark, qos);
        scene.cut();
        assert!((0..6).all(|_| scene.write(FRAME) == Duration::ZERO));
    }
}
scenario!(without_waiting, 1, nobody_waits);

/// RESOURCE_LIMITS come first and mean what they did: a history that is full refuses after max_blocking_time, which is not
/// spent twice.
fn a_full_history(seed: u64) {
    let qos = keep_all_writer().resource_limits(3, 1, 3).max_blocking_time(ms(100));
    let mut scene = Scene::new(seed, 12_500_000, 2 << 20, qos);
    scene.cut();
    assert_eq!(
        [scene.write(FRAME), scene.write(FRAME), scene.write(FRAME)],
        [Duration::ZERO, Duration::ZERO, ms(100)]
    );
    let begin = scene.world.age().as_nanos();
    let request = scene.filling.request(1, 3, FRAME);
    let refused = scene.world.write_blocking(scene.nodes[0], &scene.writer, request);
    assert!(matches!(refused, Err(dunlin_engine::WriteError::Full { .. })), "{refused:?}");
    assert_eq!(scene.world.age().as_nanos() - begin, ms(100).as_nanos());
}
scenario!(full_history, 1, a_full_history);
