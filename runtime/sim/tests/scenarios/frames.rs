//! Datagrams of several frames on the network (docs/loss-recovery.md): where they go, and what becomes of them where they are lost.

use dunlin_core::Duration;
use dunlin_qos::{DataReaderQos, DataWriterQos};
use dunlin_sim::{Delay, NetworkConfig, NodeConfig, PathConfig, World};

use crate::common::*;

const FRAME: usize = 921_600;

/// A line of 100 Mbit/s with frames of 1,500 octets.
fn line(loss_ppm: u32, in_frames: bool) -> PathConfig {
    PathConfig {
        delay: Delay::Fixed(Duration::from_micros(50)),
        loss_ppm,
        mtu: 1472,
        in_frames,
        rate: Some(12_500_000),
        ..PathConfig::default()
    }
}

/// What came of writing video frames as fast as the line takes them.
struct Outcome {
    /// Datagrams for each sample, of the last half.
    datagrams: u64,
    /// Percent of the line, of the last half.
    share: u64,
    /// Datagrams that were too long for the line.
    too_long: u64,
}

fn stream(seed: u64, path: PathConfig, count: u64) -> Outcome {
    let filling = Filling::new(FRAME);
    let mut world = World::new(seed, NetworkConfig::of(path));
    // Each on a host of its own, whose paths are known.
    let nodes = [0, 1].map(|host| world.add_node(NodeConfig { host: Some(host), ..NodeConfig::default() }));
    let writer = writer(&mut world, nodes[0], "Frames", keep_all_writer().max_blocking_time(secs(1)));
    let reader = reader(&mut world, nodes[1], "Frames", keep_all_reader());
    until_matched(&mut world, &[&writer], &[&reader]);
    let (mut half, mut at) = (0, 0);
    for number in 0..count {
        if number == count / 2 {
            until_acked(&mut world, &writer, secs(10));
            (half, at) = (world.network_stats().sent.datagrams, world.age().as_nanos());
        }
        write_all(&mut world, nodes[0], &writer, &filling, [number], FRAME);
        let expected: Vec<_> = take_numbers(&mut world, nodes[1], &reader, &filling);
        assert!(expected.iter().all(|got| *got <= number));
    }
    until_acked(&mut world, &writer, secs(10));
    assert_eq!(reader.stats().delivered, count, "every sample arrives");
    let (samples, took) = (count - count / 2, (world.age().as_nanos() - at) as u64);
    Outcome {
        datagrams: (world.network_stats().sent.datagrams - half) / samples,
        share: samples * FRAME as u64 * 1_000_000_000 / took * 100 / 12_500_000,
        too_long: world.network_stats().too_long,
    }
}

/// A line without loss gets datagrams of 43 frames: there are 657 fragments, 15 such datagrams, and what answers them.
fn without_loss(seed: u64) {
    let outcome = stream(seed, line(0, true), 20);
    assert!((15..=40).contains(&outcome.datagrams), "{} datagrams for a sample", outcome.datagrams);
    assert!(outcome.share >= 95, "{} % of the line", outcome.share);
}
scenario!(without_loss, 2, without_loss);

/// Where one frame in a hundred is lost they go alone; where one in a thousand is, it is worth it.
fn with_loss(seed: u64) {
    let outcome = stream(seed, line(10_000, true), 40);
    assert!(outcome.datagrams > 400, "{} datagrams for a sample", outcome.datagrams);
    assert!(outcome.share >= 85, "{} % of the line", outcome.share);
    let outcome = stream(seed, line(1_000, true), 40);
    assert!(outcome.datagrams < 250, "{} datagrams for a sample", outcome.datagrams);
    assert!(outcome.share >= 92, "{} % of the line", outcome.share);
}
scenario!(with_loss, 2, with_loss);

/// A path that lets no such datagram pass costs a few of them, now and then.
fn never_passed(seed: u64) {
    let outcome = stream(seed, line(0, false), 60);
    assert!((1..=60).contains(&outcome.too_long), "{} were too long", outcome.too_long);
    assert!(outcome.share >= 85, "{} % of the line", outcome.share);
}
scenario!(never_passed, 1, never_passed);

/// A fast line gets runs of frames, which the kernel cuts at less cost.
fn fast_line(seed: u64) {
    let outcome = stream(seed, PathConfig { rate: Some(125_000_000), ..line(0, true) }, 20);
    assert!(outcome.datagrams > 600, "{} datagrams for a sample", outcome.datagrams);
}
scenario!(fast_line, 1, fast_line);

/// What came of best-effort pictures, twenty in a second, of which the line has room for one and a trial.
fn pictures(seed: u64, path: PathConfig, count: u64) -> (Outcome, u64) {
    const PICTURE: usize = 150_000;
    let filling = Filling::new(PICTURE);
    let mut world = World::new(seed, NetworkConfig::of(path));
    let nodes = [0, 1].map(|host| world.add_node(NodeConfig { host: Some(host), ..NodeConfig::default() }));
    let writer = writer(&mut world, nodes[0], "Pictures", DataWriterQos::default().best_effort());
    let reader = reader(&mut world, nodes[1], "Pictures", DataReaderQos::default().best_effort());
    until_matched(&mut world, &[&writer], &[&reader]);
    let (mut half, mut taken) = (0, 0);
    for number in 0..count {
        if number == count / 2 {
            half = world.network_stats().sent.datagrams;
        }
        world.write(nodes[0], &writer, filling.request(1, number, PICTURE)).expect("room");
        world.run_for(ms(50));
        taken += take_numbers(&mut world, nodes[1], &reader, &filling).len() as u64;
    }
    let stats = world.network_stats();
    let datagrams = (stats.sent.datagrams - half) / (count - count / 2);
    let share = 0;
    (Outcome { datagrams, share, too_long: stats.too_long }, taken)
}

/// A best-effort reader that never says what it misses gets long datagrams as well: 107 fragments are three of them.
fn best_effort(seed: u64) {
    let (outcome, taken) = pictures(seed, line(0, true), 60);
    assert!(outcome.datagrams <= 8, "{} datagrams for a picture", outcome.datagrams);
    assert_eq!(taken, 60);
}
scenario!(best_effort, 2, best_effort);

/// Where no such datagram passes, trials are lost and no picture is; on a fast line they do not pay.
fn best_effort_in_frames(seed: u64) {
    let (outcome, taken) = pictures(seed, line(0, false), 200);
    assert_eq!((outcome.datagrams, taken), (107, 200));
    assert!((1..=6).contains(&outcome.too_long), "{} were too long", outcome.too_long);
    let (outcome, taken) = pictures(seed, PathConfig { rate: Some(125_000_000), ..line(0, true) }, 60);
    assert_eq!((outcome.datagrams, taken), (107, 60));
}
scenario!(best_effort_in_frames, 1, best_effort_in_frames);
