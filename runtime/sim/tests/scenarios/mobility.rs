//! Addresses that come and go under a reliable stream.

use std::net::Ipv4Addr;

use dunlin_sim::PathConfig;

use crate::common::*;

/// A second address appears and the first vanishes, on the side of the writer or of the reader.
#[test]
fn a_stream_goes_on_when_addresses_come_and_go() {
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
            // Half of it is under way, or waits, when the addresses change.
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
