//! DEADLINE, LIVELINESS, OWNERSHIP, LIFESPAN and TIME_BASED_FILTER on a bad network.

use dunlin_core::{Duration, Guid};
use dunlin_engine::{Event, WriterSlot};
use dunlin_qos::LivelinessKind;
use dunlin_sim::{NodeId, World};

use crate::common::*;

fn missed_deadlines(world: &mut World, node: NodeId) -> u32 {
    let count = |event: &Event| match event {
        Event::OfferedDeadlineMissed { count, .. } | Event::RequestedDeadlineMissed { count, .. } => *count,
        _ => 0,
    };
    events(world, node).iter().map(count).sum()
}

/// Each period that passes without a sample is told once, on the side that sees it.
fn deadlines(seed: u64) {
    let filling = Filling::new(100);
    let (mut world, nodes) = patient_world(seed, 2, 100_000);
    let writer = writer(&mut world, nodes[0], "Deadline", keep_all_writer().deadline(ms(500)));
    let reader = reader(&mut world, nodes[1], "Deadline", keep_all_reader().deadline(ms(500)));
    until_matched(&mut world, &[&writer], &[&reader]);
    let mut number = 0;
    let mut write_for = |world: &mut World, rounds: usize| {
        for _ in 0..rounds {
            write_all(world, nodes[0], &writer, &filling, [number], 100);
            number += 1;
            world.run_for(ms(40));
        }
    };
    write_for(&mut world, 50);
    world.take_events(nodes[0]);
    world.take_events(nodes[1]);
    write_for(&mut world, 50);
    assert_eq!((missed_deadlines(&mut world, nodes[0]), missed_deadlines(&mut world, nodes[1])), (0, 0));

    // The reader hears nothing for 4 s: eight periods, the first from the last sample that got through.
    world.cut(nodes[0], nodes[1]);
    write_for(&mut world, 100);
    assert_eq!(missed_deadlines(&mut world, nodes[0]), 0, "the writer kept its word");
    let missed = missed_deadlines(&mut world, nodes[1]);
    assert!((7..=8).contains(&missed), "{missed} periods were missed");

    world.heal();
    write_for(&mut world, 50);
    world.take_events(nodes[1]);
    write_for(&mut world, 20);
    assert_eq!(missed_deadlines(&mut world, nodes[1]), 0);

    // Now the writer is silent.
    world.run_for(ms(1_600));
    assert_eq!(missed_deadlines(&mut world, nodes[0]), 3);
    let missed = missed_deadlines(&mut world, nodes[1]);
    assert!((2..=3).contains(&missed), "{missed} periods were missed");
}
scenario!(deadline, 20, deadlines);

/// A program that stood still and then writes before its timer runs has been late all the same.
fn late_before_the_timer(seed: u64) {
    let filling = Filling::new(100);
    let (mut world, nodes) = patient_world(seed, 1, 0);
    let node = nodes[0];
    let kinds = [LivelinessKind::ManualByTopic, LivelinessKind::ManualByParticipant];
    let topics = ["A", "B", "C"];
    let qos = |kind| keep_all_writer().deadline(ms(500)).liveliness(kind, secs(1));
    let mut writers: Vec<_> =
        kinds.iter().zip(topics).map(|(kind, topic)| writer(&mut world, node, topic, qos(*kind))).collect();
    for writer in &writers {
        write_all(&mut world, node, writer, &filling, [1], 100);
    }
    world.pause(node);
    world.run_for(ms(1_250));
    world.resume(node);
    // Creating a writer is no sign of life of those that exist.
    writers.push(writer(&mut world, node, topics[2], qos(kinds[1])));
    let busy = writer(&mut world, node, "D", keep_all_writer());
    for writer in [&busy, &writers[0], &writers[1]] {
        write_all(&mut world, node, writer, &filling, [2], 100);
    }
    world.run_for(ms(400));
    let told = events(&mut world, node);
    for writer in &writers[..2] {
        let id = writer.guid().entity_id;
        let missed = |event: &Event| match event {
            Event::OfferedDeadlineMissed { writer, count, .. } if *writer == id => *count,
            _ => 0,
        };
        assert_eq!(told.iter().map(missed).sum::<u32>(), 2);
        let lost = Event::LivelinessLost { writer: id };
        assert_eq!(told.iter().filter(|event| **event == lost).count(), 1);
    }
    assert!(!told.contains(&Event::LivelinessLost { writer: writers[2].guid().entity_id }));

    // All fall silent; a writer that comes later is none of their signs.
    world.run_for(secs(3));
    world.take_events(node);
    writers.push(writer(&mut world, node, "E", qos(kinds[1])));
    world.run_for(secs(3));
    let told = events(&mut world, node);
    let lost =
        |index: usize| told.contains(&Event::LivelinessLost { writer: writers[index].guid().entity_id });
    assert_eq!([lost(0), lost(1), lost(2), lost(3)], [false, false, false, true]);
}
scenario!(late, 3, late_before_the_timer);

fn assert_alive(world: &mut World, node: NodeId, writer: &WriterSlot, kind: LivelinessKind) {
    match kind {
        LivelinessKind::Automatic => {}
        LivelinessKind::ManualByParticipant => {
            world.with(node, |participant, now, out| participant.assert_liveliness(now, out));
        }
        LivelinessKind::ManualByTopic => world.with(node, |_, now, out| writer.assert_liveliness(now, out)),
    }
}

fn alive_changes(world: &mut World, node: NodeId, of: Guid) -> Vec<(i32, i32)> {
    let change = |event: Event| match event {
        Event::LivelinessChanged { writer, alive_delta, not_alive_delta, .. } if writer == of => {
            Some((alive_delta, not_alive_delta))
        }
        _ => None,
    };
    events(world, node).into_iter().filter_map(change).collect()
}

/// A writer that cannot be heard for its lease is not alive, and alive again when it can.
fn liveliness(seed: u64, kind: LivelinessKind) {
    let (mut world, nodes) = patient_world(seed, 2, 100_000);
    let writer = writer(&mut world, nodes[0], "Alive", keep_all_writer().liveliness(kind, secs(1)));
    let reader = reader(&mut world, nodes[1], "Alive", keep_all_reader());
    until_matched(&mut world, &[&writer], &[&reader]);
    let run = |world: &mut World, rounds: usize| {
        for _ in 0..rounds {
            assert_alive(world, nodes[0], &writer, kind);
            world.run_for(ms(70));
        }
    };
    run(&mut world, 20);
    world.take_events(nodes[1]);
    run(&mut world, 60);
    assert_eq!(alive_changes(&mut world, nodes[1], writer.guid()), [], "some assertions always get through");
    world.cut(nodes[0], nodes[1]);
    run(&mut world, 50);
    assert_eq!(alive_changes(&mut world, nodes[1], writer.guid()), [(-1, 1)]);
    world.heal();
    run(&mut world, 50);
    assert_eq!(alive_changes(&mut world, nodes[1], writer.guid()), [(1, -1)]);
    let lost = Event::LivelinessLost { writer: writer.guid().entity_id };
    assert!(!events(&mut world, nodes[0]).contains(&lost), "the writer kept its word");

    // Without assertions a manual writer loses its liveliness on both sides.
    world.run_for(secs(4));
    let manual = kind != LivelinessKind::Automatic;
    assert_eq!(events(&mut world, nodes[0]).contains(&lost), manual);
    let expected: &[_] = if manual { &[(-1, 1)] } else { &[] };
    assert_eq!(alive_changes(&mut world, nodes[1], writer.guid()), expected);
}

fn automatic_liveliness(seed: u64) {
    liveliness(seed, LivelinessKind::Automatic);
}
scenario!(automatic, 15, automatic_liveliness);

fn manual_by_participant_liveliness(seed: u64) {
    liveliness(seed, LivelinessKind::ManualByParticipant);
}
scenario!(manual_by_participant, 15, manual_by_participant_liveliness);

fn manual_by_topic_liveliness(seed: u64) {
    liveliness(seed, LivelinessKind::ManualByTopic);
}
scenario!(manual_by_topic, 15, manual_by_topic_liveliness);

/// The strongest writer that can be heard owns the instance.
fn ownership_fails_over(seed: u64) {
    let filling = Filling::new(100);
    let (mut world, nodes) = patient_world(seed, 3, 100_000);
    let qos = |strength| {
        let lively = keep_all_writer().liveliness(LivelinessKind::Automatic, secs(1));
        lively.exclusive().ownership_strength(strength)
    };
    let weak = writer(&mut world, nodes[0], "Owned", qos(1));
    let strong = writer(&mut world, nodes[1], "Owned", qos(2));
    let reader = reader(&mut world, nodes[2], "Owned", keep_all_reader().exclusive());
    until_matched(&mut world, &[&weak, &strong], &[&reader]);
    let mut number = 0;
    // Even numbers are of the weak writer. Returns what arrived in the last of the rounds.
    let mut write_for = |world: &mut World, rounds: usize| {
        let mut last = vec![];
        for round in 0..rounds {
            world.write(nodes[0], &weak, filling.request(1, number, 100)).expect("no limits");
            write_all(world, nodes[1], &strong, &filling, [number + 1], 100);
            number += 2;
            world.run_for(ms(50));
            let numbers = take_numbers(world, nodes[2], &reader, &filling);
            if round >= rounds - 20 {
                last.extend(numbers);
            }
        }
        last
    };
    let of_strong = |numbers: &[u64]| !numbers.is_empty() && numbers.iter().all(|n| n % 2 == 1);
    let of_weak = |numbers: &[u64]| !numbers.is_empty() && numbers.iter().all(|n| n % 2 == 0);
    assert!(of_strong(&write_for(&mut world, 40)));
    world.cut(nodes[1], nodes[2]);
    assert!(of_weak(&write_for(&mut world, 60)));
    world.heal();
    assert!(of_strong(&write_for(&mut world, 80)));
    world.cut(nodes[0], nodes[2]);
    assert!(of_strong(&write_for(&mut world, 60)));
}
scenario!(ownership, 20, ownership_fails_over);

/// Nothing is handed out that is older than it may be.
fn lifespans(seed: u64) {
    let filling = Filling::new(100);
    let (mut world, nodes) = patient_world(seed, 2, 100_000);
    let lifespan = ms(80);
    let writer = writer(&mut world, nodes[0], "Mortal", keep_all_writer().lifespan(lifespan));
    let reader = reader(&mut world, nodes[1], "Mortal", keep_all_reader());
    until_matched(&mut world, &[&writer], &[&reader]);
    let (mut taken, mut rounds) = (0, 0);
    for number in 0..300 {
        write_all(&mut world, nodes[0], &writer, &filling, [number], 100);
        world.run_for(ms(5));
        if world.rng().chance(1, 20) {
            rounds += 1;
            let now = world.now(nodes[1]).wall;
            for sample in world.take(nodes[1], &reader) {
                let age = now.since(sample.info.source_timestamp);
                assert!(age <= lifespan, "a sample {age:?} old");
                taken += 1;
            }
        }
    }
    assert!(rounds == 0 || taken > 0, "some are young enough");
    until_acked(&mut world, &writer, secs(10));
    world.run_for(secs(1));
    assert_eq!((reader.len(), writer.history_len()), (0, 0));

    // The timers of a program that stood still are late.
    write_all(&mut world, nodes[0], &writer, &filling, [300], 100);
    world.run_for(ms(20));
    world.pause(nodes[1]);
    world.run_for(secs(1));
    world.resume(nodes[1]);
    assert_eq!(take_numbers(&mut world, nodes[1], &reader, &filling), []);
}
scenario!(lifespan, 20, lifespans);

/// Samples of an instance come no faster than asked for, and the last one comes.
fn separations(seed: u64) {
    let filling = Filling::new(100);
    let (mut world, nodes) = patient_world(seed, 2, 100_000);
    let separation = ms(50);
    let writer = writer(&mut world, nodes[0], "Slow", keep_all_writer());
    let reader = reader(&mut world, nodes[1], "Slow", keep_all_reader().time_based_filter(separation));
    until_matched(&mut world, &[&writer], &[&reader]);
    let mut seen: [Vec<(Duration, u64)>; 2] = [vec![], vec![]];
    let mut look = |world: &mut World| {
        for sample in world.take(nodes[1], &reader) {
            let (key, number) = filling.open(&sample);
            seen[key as usize].push((world.age(), number));
        }
        (seen[0].len(), seen[1].len())
    };
    let mut last = [0, 0];
    for number in 0..400 {
        let key = world.rng().below(2) as u32;
        world.write(nodes[0], &writer, filling.request(key, number, 100)).expect("no limits");
        last[key as usize] = number;
        world.run_for(ms(2));
        look(&mut world);
    }
    until_acked(&mut world, &writer, secs(10));
    world.run_for(secs(1));
    look(&mut world);
    for (key, seen) in seen.iter().enumerate() {
        assert!(seen.is_sorted_by(|a, b| a.1 < b.1), "in order");
        assert!(seen.len() >= 5, "{} samples are too few", seen.len());
        assert!(seen.len() <= 20 + 20, "{} samples in a second or two are too many", seen.len());
        assert_eq!(seen.last().map(|(_, number)| *number), Some(last[key]), "the last value is shown");
    }
}
scenario!(filter, 20, separations);
