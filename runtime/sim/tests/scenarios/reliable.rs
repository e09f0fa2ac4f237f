//! RELIABLE and KEEP_ALL: everything arrives, once, in order and whole.

use dunlin_core::{Duration, Rng};
use dunlin_engine::WriteError;
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
    let count = from_environment("SAMPLES").unwrap_or(1_000_000);
    run_seeds(concat!(module_path!(), "::a_million_samples"), 1, |seed| {
        let begin = std::time::Instant::now();
        let world = stream(seed, count, bad_path());
        let (age, real) = (world.age(), begin.elapsed());
        println!(
            "{count} samples of 1 KiB: {age:?} of virtual time in {real:?}; {:?}",
            world.network_stats()
        );
    });
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

/// A reader with little room: what it refuses comes again when there is room.
fn slow_reader(seed: u64) {
    const COUNT: u64 = 150;
    let filling = Filling::new(2_000);
    let (mut world, nodes) = faulty_world(seed, 3, 200_000);
    let qos = keep_all_writer().resource_limits(30, 1, 30).max_blocking_time(secs(60));
    let writer = writer(&mut world, nodes[0], "Slow", qos);
    let quick = reader(&mut world, nodes[1], "Slow", keep_all_reader());
    let slow = reader(&mut world, nodes[2], "Slow", keep_all_reader().resource_limits(4, 1, 4));
    until_matched(&mut world, &[&writer], &[&quick, &slow]);
    let (mut written, mut next) = (0, 0);
    let mut look = |world: &mut World| {
        assert!(slow.len() <= 4);
        for number in take_numbers(world, nodes[2], &slow, &filling) {
            assert_eq!(number, next, "once and in order");
            next += 1;
        }
        next
    };
    while written < COUNT {
        match world.write(nodes[0], &writer, filling.request(1, written, 2_000)) {
            Ok(_) => written += 1,
            Err(WriteError::Full { .. }) => {
                look(&mut world);
            }
            Err(error) => panic!("{error}"),
        }
        world.run_for(ms(2));
    }
    world.run_until(|world| look(world) == COUNT, secs(60)).expect("all of it arrives in the end");
    until_acked(&mut world, &writer, secs(10));
    assert_eq!(take_numbers(&mut world, nodes[1], &quick, &filling), (0..COUNT).collect::<Vec<_>>());
}
scenario!(little_room, 20, slow_reader);

/// Far away, and over a thin line whose queue overflows.
fn thin_line(seed: u64) {
    let filling = Filling::new(20_000);
    let path = PathConfig {
        delay: Delay::Tail(ms(80), ms(20)),
        loss_ppm: 20_000,
        reorder_ppm: 10_000,
        rate: Some(500_000),
        queue: 100_000,
        ..PathConfig::default()
    };
    let (mut world, nodes) = world_on(seed, 2, path);
    let qos = keep_all_writer().resource_limits(20, 1, 20).max_blocking_time(secs(60));
    let writer = writer(&mut world, nodes[0], "Far", qos);
    let reader = reader(&mut world, nodes[1], "Far", keep_all_reader());
    until_matched(&mut world, &[&writer], &[&reader]);
    let begin = world.age();
    write_all(&mut world, nodes[0], &writer, &filling, 0..100, 20_000);
    until_acked(&mut world, &writer, secs(60));
    assert_eq!(take_numbers(&mut world, nodes[1], &reader, &filling), (0..100).collect::<Vec<_>>());
    // The line carries the two million octets in four seconds.
    let took = world.age().as_nanos() - begin.as_nanos();
    assert!(took < secs(40).as_nanos(), "it took {:?}", Duration::from_nanos(took));
    // The queue drops half of every burst, yet repairs do not repeat while others are still on their way.
    let sent = world.sent_by(nodes[0]).octets;
    assert!(sent < 4 * 2_000_000, "{sent} octets for two million");
}
scenario!(far, 10, thin_line);

/// However far the reader is, what is in flight is not sent again and again.
fn distances(seed: u64) {
    const COUNT: u64 = 400;
    let filling = Filling::new(1024);
    for one_way in [100, 10_000, 80_000, 300_000].map(Duration::from_micros) {
        for loss_ppm in [0, 50_000, 200_000] {
            let path = PathConfig { delay: Delay::Fixed(one_way), loss_ppm, ..PathConfig::default() };
            let (mut world, nodes) = world_on(seed, 2, path);
            let writer = writer(&mut world, nodes[0], "Distance", keep_all_writer());
            let reader = reader(&mut world, nodes[1], "Distance", keep_all_reader());
            until_matched(&mut world, &[&writer], &[&reader]);
            for number in 0..COUNT {
                write_all(&mut world, nodes[0], &writer, &filling, [number], 1024);
                world.run_for(ms(1));
            }
            until_acked(&mut world, &writer, secs(60));
            assert_eq!(take_numbers(&mut world, nodes[1], &reader, &filling), (0..COUNT).collect::<Vec<_>>());
            let repairs = writer.stats().repairs_sent;
            let most = if loss_ppm == 0 { 0 } else { 3 * COUNT };
            assert!(repairs <= most, "{repairs} repairs over {one_way:?} with {loss_ppm} lost in a million");
        }
    }
}
scenario!(any_distance, 5, distances);
