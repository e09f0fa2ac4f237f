//! BEST_EFFORT: writing never waits; what arrives is in order, and what does not is counted.

use dunlin_engine::Event;
use dunlin_qos::{DataReaderQos, DataWriterQos};

use crate::common::*;

fn order_and_gaps(seed: u64) {
    let filling = Filling::new(256);
    let (mut world, nodes) = faulty_world(seed, 2, 300_000);
    let qos = DataWriterQos::default().best_effort().keep_all().resource_limits(20, 1, 20);
    let writer = writer(&mut world, nodes[0], "Fast", qos);
    let reader = reader(&mut world, nodes[1], "Fast", DataReaderQos::default().best_effort().keep_all());
    until_matched(&mut world, &[&writer], &[&reader]);
    world.take_events(nodes[1]);
    const COUNT: u64 = 2_000;
    for number in 0..COUNT {
        let result = world.write(nodes[0], &writer, filling.request(1, number, 256));
        result.expect("a best-effort writer never waits");
        world.run_for(dunlin_core::Duration::from_micros(200));
    }
    world.run_for(secs(1));
    let numbers = take_numbers(&mut world, nodes[1], &reader, &filling);
    assert!(numbers.is_sorted_by(|a, b| a < b), "in order, none twice");
    assert!(numbers.len() as u64 > COUNT / 4, "{} of {COUNT} arrived", numbers.len());
    let gaps: u64 = numbers.windows(2).map(|pair| pair[1] - pair[0] - 1).sum();
    let lost = |event: &Event| match event {
        Event::SampleLost { count, .. } => *count,
        _ => 0,
    };
    let told: u64 = events(&mut world, nodes[1]).iter().map(lost).sum();
    let before_the_first = numbers[0];
    assert!(
        told >= gaps && told <= gaps + before_the_first,
        "{told} told, {gaps} missing, {before_the_first} before"
    );
    let (sent, heartbeats) = (writer.stats().samples_sent, writer.stats().heartbeats_sent);
    assert_eq!((sent, heartbeats), (COUNT, 0));
}
scenario!(order, 20, order_and_gaps);
