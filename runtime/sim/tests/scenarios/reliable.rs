//! RELIABLE and KEEP_ALL: everything arrives, once, in order and whole.

use dunlin_core::{Duration, Rng};
use dunlin_sim::{Delay, PathConfig, World};

use crate::common::*;

/// 20 % loss, reordering and duplication.
fn bad_path() -> PathConfig {
    PathConfig {
        delay: Delay::Uniform(Duration::from_micros(100), Duration::from_micros(300)),
        loss_ppm: 200_000,
        duplicate_ppm: 50_000,
        reorder_ppm: 50_000,
        reorder_by: ms(1),
        ..PathConfig::default()
    }
}

/// Sends `count` samples of 1 KiB through a limited history and checks each as it arrives.
fn stream(seed: u64, count: u64, path: PathConfig) -> World {
    let filling = Filling::new(1024);
    let (mut world, nodes) = world_on(seed, 2, path);
    let limits = |n| keep_all_writer().resource_limits(n, 1, n).max_blocking_time(secs(60));
    let writer = writer(&mut world, nodes[0], "Stream", limits(1000));
    let reader = reader(&mut world, nodes[1], "Stream", keep_all_reader());
    until_matched(&mut world, &[&writer], &[&reader]);
    let mut next = 0;
    let mut drain = |world: &mut World| {
        for number in take_numbers(world, nodes[1], &reader, &filling) {
            assert_eq!(number, next, "once and in order");
            next += 1;
        }
        next
    };
    for number in 0..count {
        write_all(&mut world, nodes[0], &writer, &filling, [number], 1024);
        if number % 256 == 0 {
            drain(&mut world);
            world.take_events(nodes[0]);
            world.take_events(nodes[1]);
        }
    }
    until_acked(&mut world, &writer, secs(60));
    assert_eq!(drain(&mut world), count, "complete");
    world
}

#[test]
fn fifty_thousand_samples() {
    run_seeds(concat!(module_path!(), "::fifty_thousand_samples"), 1, |seed| {
        stream(seed, 50_000, bad_path());
    });
}

#[test]
#[ignore = "takes about a minute when optimised"]
#[expect(clippy::disallowed_types, reason = "the real time is reported")]
fn a_million_samples() {
    let begin = std::time::Instant::now();
    let count = from_environment("SAMPLES").unwrap_or(1_000_000);
    let world = stream(from_environment("SEED").unwrap_or(1), count, bad_path());
    let (age, real) = (world.age(), begin.elapsed());
    println!("{count} samples of 1 KiB: {age:?} of virtual time in {real:?}; {:?}", world.network_stats());
}

fn short_streams(seed: u64) {
    stream(seed, 500, faulty(&mut Rng::new(seed), 300_000));
}
scenario!(any_path, 20, short_streams);

/// Large samples over a path that passes Ethernet frames only.
fn large_samples(seed: u64) {
    const LEN: usize = 921_600;
    let filling = Filling::new(LEN);
    let path = PathConfig { loss_ppm: 50_000, reorder_ppm: 20_000, mtu: 1472, ..PathConfig::default() };
    let (mut world, nodes) = world_on(seed, 2, path);
    let writer = writer(&mut world, nodes[0], "Large", keep_all_writer());
    let reader = reader(&mut world, nodes[1], "Large", keep_all_reader());
    until_matched(&mut world, &[&writer], &[&reader]);
    for number in 0..5 {
        write_all(&mut world, nodes[0], &writer, &filling, [number], LEN);
        world.run_for(ms(33));
    }
    until_acked(&mut world, &writer, secs(20));
    assert_eq!(take_numbers(&mut world, nodes[1], &reader, &filling), (0..5).collect::<Vec<_>>());
    assert_eq!(world.network_stats().too_long, 0);
}
scenario!(large, 8, large_samples);
