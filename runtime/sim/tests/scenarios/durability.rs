//! DURABILITY: what readers get that come late.

use dunlin_engine::Event;

use crate::common::*;

fn late_joiners(seed: u64) {
    const OLD: u64 = 120;
    const NEW: u64 = 30;
    let filling = Filling::new(5_000);
    let (mut world, nodes) = faulty_world(seed, 3, 250_000);
    let writer = writer(&mut world, nodes[0], "History", keep_all_writer().transient_local());
    let early = reader(&mut world, nodes[1], "History", keep_all_reader());
    until_matched(&mut world, &[&writer], &[&early]);
    // A multiple of four, because the wire pads payloads to it.
    let len = 16 + 4 * world.rng().below(1_000) as usize;
    write_all(&mut world, nodes[0], &writer, &filling, 0..OLD, len);
    world.run_for(ms(200));

    let durable = reader(&mut world, nodes[2], "History", keep_all_reader().transient_local());
    let volatile = reader(&mut world, nodes[1], "History", keep_all_reader());
    until_matched(&mut world, &[&writer], &[&early, &durable, &volatile]);
    write_all(&mut world, nodes[0], &writer, &filling, OLD..OLD + NEW, len);
    until_acked(&mut world, &writer, secs(30));

    let everything: Vec<_> = (0..OLD + NEW).collect();
    assert_eq!(take_numbers(&mut world, nodes[1], &early, &filling), everything);
    assert_eq!(take_numbers(&mut world, nodes[2], &durable, &filling), everything);
    assert_eq!(take_numbers(&mut world, nodes[1], &volatile, &filling), everything[OLD as usize..]);
    let complete = Event::HistoricalComplete { reader: durable.guid().entity_id };
    assert!(events(&mut world, nodes[2]).contains(&complete));
    assert!(durable.historical_complete());
}
scenario!(late, 20, late_joiners);

/// A history of the last few samples is what a durable reader gets, whenever it comes.
fn keep_last_history(seed: u64) {
    let filling = Filling::new(100);
    let (mut world, nodes) = faulty_world(seed, 2, 250_000);
    let writer = writer(&mut world, nodes[0], "Last", keep_all_writer().transient_local().keep_last(4));
    let written = 1 + world.rng().below(20);
    write_all(&mut world, nodes[0], &writer, &filling, 0..written, 100);
    let reader = reader(&mut world, nodes[1], "Last", keep_all_reader().transient_local());
    until_matched(&mut world, &[&writer], &[&reader]);
    until_acked(&mut world, &writer, secs(30));
    let expected: Vec<_> = (written.saturating_sub(4)..written).collect();
    assert_eq!(take_numbers(&mut world, nodes[1], &reader, &filling), expected);
}
scenario!(last, 20, keep_last_history);
