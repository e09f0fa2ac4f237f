//! How fast what is lost is repaired: rates and times that paths with loss still reach (docs/loss-recovery.md).

use std::sync::Arc;

use dunlin_core::Duration;
use dunlin_engine::{ReaderSlot, WriterSlot};
use dunlin_sim::{Delay, NodeId, PathConfig, World};

use crate::common::*;

/// One frame of 1,500 octets each, lost each on its own.
fn ethernet(loss_ppm: u32) -> PathConfig {
    PathConfig { loss_ppm, mtu: 1472, rate: Some(125_000_000), ..PathConfig::default() }
}

/// Samples of 100 KB for a second of virtual time, as fast as they can be written. Octets per second that arrived.
fn goodput(seed: u64, loss_ppm: u32) -> u64 {
    const LEN: usize = 102_400;
    let filling = Filling::new(LEN);
    let (mut world, nodes) = world_on(seed, 2, ethernet(loss_ppm));
    let qos = keep_all_writer().resource_limits(20, 1, 20).max_blocking_time(secs(10));
    let writer = writer(&mut world, nodes[0], "Large", qos);
    let reader = reader(&mut world, nodes[1], "Large", keep_all_reader());
    until_matched(&mut world, &[&writer], &[&reader]);
    let begin = world.age().as_nanos();
    let mut next = 0;
    while world.age().as_nanos() < begin + secs(1).as_nanos() {
        write_all(&mut world, nodes[0], &writer, &filling, [next], LEN);
        next += 1;
        if next % 10 == 0 {
            world.take(nodes[1], &reader);
        }
    }
    until_acked(&mut world, &writer, secs(10));
    let took = world.age().as_nanos() - begin;
    assert_eq!(reader.stats().delivered, next);
    next * LEN as u64 * 1_000_000_000 / took as u64
}

/// Random loss is no sign of a full queue: of a line of 1 Gbit/s, four fifths are used with 1 % loss, two fifths with 10 %.
fn large_samples_under_loss(seed: u64) {
    let [none, one, ten] = [0, 10_000, 100_000].map(|loss_ppm| goodput(seed, loss_ppm));
    println!("{none} octets/s without loss, {one} with 1 %, {ten} with 10 %");
    assert!(none > 110_000_000 && one > 100_000_000 && ten > 50_000_000, "{none} {one} {ten}");
}
scenario!(goodput_under_loss, 2, large_samples_under_loss);

struct End {
    node: NodeId,
    writer: Arc<WriterSlot>,
    reader: Arc<ReaderSlot>,
}

fn end(world: &mut World, node: NodeId, out: &str, back: &str) -> End {
    let writer = writer(world, node, out, keep_all_writer());
    let reader = reader(world, node, back, keep_all_reader());
    End { node, writer, reader }
}

/// Round trips of 64 octets, one after the other, in microseconds, sorted.
fn round_trips(seed: u64, loss_ppm: u32, count: u64) -> Vec<i64> {
    let filling = Filling::new(64);
    let (mut world, nodes) = world_on(seed, 2, ethernet(loss_ppm));
    let ends = [end(&mut world, nodes[0], "Ping", "Pong"), end(&mut world, nodes[1], "Pong", "Ping")];
    until_matched(&mut world, &[&ends[0].writer], &[&ends[1].reader]);
    until_matched(&mut world, &[&ends[1].writer], &[&ends[0].reader]);
    let mut times: Vec<i64> = (0..count)
        .map(|number| {
            let begin = world.age().as_nanos();
            for (from, to) in [(&ends[0], &ends[1]), (&ends[1], &ends[0])] {
                write_all(&mut world, from.node, &from.writer, &filling, [number], 64);
                world.run_until(|_| !to.reader.is_empty(), secs(2)).expect("it is repaired");
                assert_eq!(take_numbers(&mut world, to.node, &to.reader, &filling), [number]);
            }
            (world.age().as_nanos() - begin) / 1_000
        })
        .collect();
    times.sort_unstable();
    times
}

/// A lost ping does not wait for the slow HEARTBEAT.
fn ping_pong(seed: u64) {
    const COUNT: u64 = 3_000;
    for (loss_ppm, p99, worst) in [(10_000, 5_000, 25_000), (100_000, 40_000, 300_000)] {
        let times = round_trips(seed, loss_ppm, COUNT);
        let at = |share: usize| times[times.len() * share / 100];
        println!("{loss_ppm} ppm: median {}, 99 % {}, worst {} us", at(50), at(99), times[times.len() - 1]);
        assert!(at(50) < 150 && at(99) <= p99 && times[times.len() - 1] <= worst, "{loss_ppm} ppm");
    }
}
scenario!(ping_pong_under_loss, 3, ping_pong);

/// A near reader behind a line that is full for a minute: what is in flight stays within the window, and the queue never
/// runs over for long.
fn full_line(seed: u64) {
    const LEN: usize = 20_000;
    let filling = Filling::new(LEN);
    let path = PathConfig {
        delay: Delay::Fixed(Duration::from_micros(100)),
        rate: Some(2_000_000),
        queue: 256 * 1024,
        mtu: 1472,
        ..PathConfig::default()
    };
    let (mut world, nodes) = world_on(seed, 2, path);
    let qos = keep_all_writer().resource_limits(200, 1, 200).max_blocking_time(secs(10));
    let writer = writer(&mut world, nodes[0], "Full", qos);
    let reader = reader(&mut world, nodes[1], "Full", keep_all_reader());
    until_matched(&mut world, &[&writer], &[&reader]);
    let end = world.age().as_nanos() + secs(60).as_nanos();
    let mut next = 0;
    while world.age().as_nanos() < end {
        write_all(&mut world, nodes[0], &writer, &filling, [next], LEN);
        next += 1;
        if next % 100 == 0 {
            world.take(nodes[1], &reader);
        }
    }
    let stats = writer.stats();
    let (sent, repaired) = (stats.fragments_sent, stats.repair_fragments_sent);
    println!("{next} samples, {sent} fragments, {repaired} repaired");
    assert!(next * LEN as u64 > 100_000_000, "{next} samples in a minute");
    assert!(repaired * 50 < sent, "{repaired} of {sent} fragments repaired");
}
scenario!(line_that_is_always_full, 1, full_line);
