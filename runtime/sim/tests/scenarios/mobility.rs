//! Addresses that come and go under a reliable stream.

use std::net::Ipv4Addr;

use dunlin_engine::Event;
use dunlin_sim::PathConfig;

use crate::common::*;

/// A second address appears and the first vanishes, on the side of the writer or of the reader.
#[test]
fn a_stream_survives_added_and_removed_addresses() {
    for side in [0, 1] {
        let filling = Filling::new(4_000);
        let (mut world, nodes) = world_on(3, 2, PathConfig::default());
        let writer = writer(&mut world, nodes[0], "Moving", keep_all_writer());
        let reader = reader(&mut world, nodes[1], "Moving", keep_all_reader());
        until_matched(&mut world, &[&writer], &[&reader]);
        let (first, second) = (nodes[side].address(), Ipv4Addr::new(172, 16, 0, 9));
        let mut taken = Vec::new();
        for (numbers, addresses) in
            [(0..20, vec![first]), (20..40, vec![first, second]), (40..60, vec![second])]
        {
            // Half of it is in flight, or waits, when the addresses change.
            let half = numbers.start + 10;
            write_all(&mut world, nodes[0], &writer, &filling, numbers.start..half, 100);
            world.set_addresses(nodes[side], &addresses, true);
            write_all(&mut world, nodes[0], &writer, &filling, half..numbers.end, 100);
            until_acked(&mut world, &writer, secs(10));
            taken.extend(take_numbers(&mut world, nodes[1], &reader, &filling));
            // The other side knows what was announced; of several addresses it keeps one that works.
            world.run_for(secs(1));
            let announced = world.locators(nodes[side]).default_unicast.clone();
            assert_eq!(announced.len(), addresses.len());
            let other = world.participant(nodes[1 - side]).discovered_participants();
            assert_eq!(other.len(), 1, "side {side}");
            let known = &other[0].locators.default_unicast;
            let of_now = !known.is_empty() && known.iter().all(|place| announced.contains(place));
            assert!(of_now, "side {side}: {known:?} of {announced:?}");
        }
        assert_eq!(taken, (0..60).collect::<Vec<_>>(), "side {side}");
    }
}

/// The only interface vanishes in the middle of the stream, on the side of the writer or of the reader, and comes back with
/// another address after less than the lease: nothing passes meanwhile, nothing is lost, and the two stay matched.
#[test]
fn a_stream_survives_a_new_address_of_the_only_interface() {
    for (side, seed) in [0, 1].into_iter().flat_map(|side| (1..=5).map(move |seed| (side, seed))) {
        let filling = Filling::new(4_000);
        let (mut world, nodes) = world_on(seed, 2, PathConfig::default());
        let writer = writer(&mut world, nodes[0], "Moving", keep_all_writer());
        let reader = reader(&mut world, nodes[1], "Moving", keep_all_reader());
        until_matched(&mut world, &[&writer], &[&reader]);
        let before = [nodes[0], nodes[1]].map(|node| world.locators(node).default_unicast.clone());
        let mut taken = Vec::new();
        for (begin, last) in [(0, 9), (30, 10), (60, 11)] {
            write_all(&mut world, nodes[0], &writer, &filling, begin..begin + 10, 100);
            world.partition(&nodes[..1], &nodes[1..]);
            write_all(&mut world, nodes[0], &writer, &filling, begin + 10..begin + 20, 100);
            world.run_for(secs(3));
            taken.extend(take_numbers(&mut world, nodes[1], &reader, &filling));
            assert!(taken.iter().all(|number| *number < begin + 10), "it arrived without an interface");
            world.heal();
            world.change_address(nodes[side], Ipv4Addr::new(172, 16, 0, last), true);
            write_all(&mut world, nodes[0], &writer, &filling, begin + 20..begin + 30, 100);
            until_acked(&mut world, &writer, secs(10));
            taken.extend(take_numbers(&mut world, nodes[1], &reader, &filling));
            let other = world.participant(nodes[1 - side]).discovered_participants();
            let announced = &world.locators(nodes[side]).default_unicast;
            assert_ne!(*announced, before[side]);
            assert_eq!(other[0].locators.default_unicast, *announced, "side {side}, seed {seed}");
        }
        assert_eq!(taken, (0..90).collect::<Vec<_>>(), "side {side}, seed {seed}");
        let events = events(&mut world, nodes[1]);
        let parted = |event: &Event| matches!(event, Event::SubscriptionMatched { added: false, .. });
        assert!(!events.iter().any(parted), "side {side}, seed {seed}");
    }
}

/// The interface of one side is away for three to nine seconds while the writer goes on, with lease and patience as they are
/// unless set: the reader is inactive meanwhile, but not lost. Nothing is lost that the history has room for.
fn away(side: usize, seed: u64, limited: bool, seconds: u64) {
    const PER_SECOND: u64 = 200;
    let case = format!("side {side}, {seconds} s, limited: {limited}");
    let (filling, total) = (Filling::new(100), (seconds + 4) * PER_SECOND);
    let (mut world, nodes) = world_on(seed, 2, PathConfig::default());
    let offered = keep_all_writer().max_blocking_time(ms(1));
    // Room for what is written while nobody answers, and until the other side is found again.
    let room = i32::try_from(total).unwrap();
    let offered = if limited { offered.resource_limits(room, 1, room) } else { offered };
    let writer = writer(&mut world, nodes[0], "Moving", offered);
    let reader = reader(&mut world, nodes[1], "Moving", keep_all_reader());
    until_matched(&mut world, &[&writer], &[&reader]);
    let (mut taken, mut inactive) = (Vec::new(), false);
    for number in 0..total {
        if number == PER_SECOND {
            world.partition(&nodes[..1], &nodes[1..]);
        } else if number == (seconds + 1) * PER_SECOND {
            world.heal();
            world.change_address(nodes[side], Ipv4Addr::new(172, 16, 0, 9), true);
        }
        write_all(&mut world, nodes[0], &writer, &filling, [number], 100);
        world.run_for(ms(1_000 / PER_SECOND as i64));
        inactive |= writer.is_inactive(reader.guid()) == Some(true);
    }
    world.run_until(|_| reader.len() as u64 >= total, secs(20)).expect(&case);
    taken.extend(take_numbers(&mut world, nodes[1], &reader, &filling));
    assert_eq!(taken, (0..total).collect::<Vec<_>>(), "{case}");
    let lost = |event: &Event| matches!(event, Event::SampleLost { .. });
    assert!(!events(&mut world, nodes[1]).iter().any(lost), "{case}");
    assert!(inactive || seconds <= 3, "{case}");
    assert_eq!(writer.stats().released_unacknowledged, 0, "{case}");
}

#[test]
fn an_interface_outage_of_seconds_loses_no_sample_within_the_history() {
    for (side, limited) in [(0, true), (1, false), (1, true)] {
        for seconds in [3, 5, 7, 9] {
            away(side, seconds, limited, seconds);
        }
    }
}
