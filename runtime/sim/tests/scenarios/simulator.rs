//! The simulator itself: it repeats what it did, and the network does what its configuration says.

use dunlin_buf::SharedBytes;
use dunlin_core::{Duration, Locator};
use dunlin_sim::{Burst, Datagram, Delay, Identity, NetworkConfig, NodeConfig, NodeId, PathConfig, World};

use crate::common::*;

fn run(seed: u64) -> (u64, u64) {
    let filling = Filling::new(500);
    let (mut world, nodes) = faulty_world(7, 2, 200_000);
    let mut other = World::new(seed, NetworkConfig::of(faulty(&mut dunlin_core::Rng::new(7), 200_000)));
    let others: Vec<_> = nodes.iter().map(|_| other.add_node(NodeConfig::default())).collect();
    for (world, nodes) in [(&mut world, &nodes), (&mut other, &others)] {
        let writer = writer(world, nodes[0], "T", keep_all_writer());
        let reader = reader(world, nodes[1], "T", keep_all_reader());
        until_matched(world, &[&writer], &[&reader]);
        write_all(world, nodes[0], &writer, &filling, 0..50, 500);
        until_acked(world, &writer, secs(10));
    }
    (world.fingerprint(), other.fingerprint())
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let (first, second) = (run(1), run(1));
    assert_eq!(first, second);
    assert_ne!(run(2).1, second.1, "another seed gives another run");
}

/// Two bystanders and what one sends to the other.
struct Wire {
    world: World,
    ends: [NodeId; 2],
}

impl Wire {
    fn new(path: PathConfig) -> Self {
        let mut world = World::new(5, NetworkConfig::of(path));
        let ends = [(); 2].map(|()| world.add_bystander(NodeConfig::default()));
        Self { world, ends }
    }

    fn place(node: NodeId) -> Locator {
        Locator::udp_v4(node.address(), 7411)
    }

    /// Sends numbered datagrams, `gap` apart; returns what has arrived a second later.
    fn send(&mut self, count: u32, len: usize, gap: Duration) -> Vec<Datagram> {
        let [from, to] = self.ends;
        for number in 0..count {
            let mut bytes = vec![0; len];
            bytes[..4].copy_from_slice(&number.to_be_bytes());
            self.world.inject(from, Self::place(from), Self::place(to), SharedBytes::from(bytes));
            self.world.run_for(gap);
        }
        self.world.run_for(secs(1));
        self.world.take_inbox(to)
    }
}

fn numbers(datagrams: &[Datagram]) -> Vec<u32> {
    datagrams.iter().map(|d| u32::from_be_bytes(d.bytes[..4].try_into().expect("four octets"))).collect()
}

#[test]
fn delays_vary_but_keep_the_order_unless_reordering_is_on() {
    let delay = Delay::Tail(Duration::from_micros(10), ms(1));
    let arrived =
        Wire::new(PathConfig { delay, ..PathConfig::default() }).send(500, 100, Duration::from_micros(50));
    assert_eq!(numbers(&arrived), (0..500).collect::<Vec<_>>());

    let path = PathConfig { delay, reorder_ppm: 200_000, ..PathConfig::default() };
    let mut wire = Wire::new(path);
    let mut arrived = numbers(&wire.send(500, 100, Duration::from_micros(50)));
    assert!(!arrived.is_sorted());
    arrived.sort_unstable();
    assert_eq!(arrived, (0..500).collect::<Vec<_>>(), "nothing is lost");
    assert!((60..140).contains(&wire.world.network_stats().held_back));
}

#[test]
fn shares_of_loss_and_duplication_are_kept() {
    let path = PathConfig { loss_ppm: 200_000, duplicate_ppm: 100_000, ..PathConfig::default() };
    let mut wire = Wire::new(path);
    let arrived = wire.send(10_000, 100, Duration::from_micros(1)).len();
    let stats = wire.world.network_stats();
    assert!((1_800..2_200).contains(&stats.lost), "{} lost", stats.lost);
    assert_eq!(arrived as u64, 10_000 - stats.lost + stats.duplicated);
    assert!((700..900).contains(&stats.duplicated), "{} twice", stats.duplicated);
}

#[test]
fn bursts_lose_neighbours() {
    let burst = Burst { begin_ppm: 10_000, end_ppm: 100_000, loss_ppm: 1_000_000 };
    let mut wire = Wire::new(PathConfig { burst: Some(burst), ..PathConfig::default() });
    let arrived = numbers(&wire.send(10_000, 100, Duration::from_micros(1)));
    let gaps: Vec<_> = arrived.windows(2).map(|pair| pair[1] - pair[0] - 1).filter(|gap| *gap > 0).collect();
    let mean = gaps.iter().sum::<u32>() / gaps.len() as u32;
    assert!((7..14).contains(&mean), "bursts of {mean} on average");
}

#[test]
fn a_rate_delays_and_a_full_queue_loses() {
    let path = PathConfig { rate: Some(1_000_000), queue: 10_000, ..PathConfig::default() };
    let mut wire = Wire::new(path);
    let arrived = wire.send(20, 1_000, Duration::ZERO);
    assert_eq!(arrived.len(), 10);
    assert_eq!(wire.world.network_stats().queue_full, 10);
    let mut wire = Wire::new(path);
    assert_eq!(wire.send(20, 1_000, ms(1)).len(), 20, "at its rate everything passes");
}

#[test]
fn simulated_path_drops_long_datagrams_and_flips_few_bits() {
    let path = PathConfig { mtu: 1_000, corrupt_ppm: 1_000_000, ..PathConfig::default() };
    let mut wire = Wire::new(path);
    assert!(wire.send(3, 1_001, ms(1)).is_empty());
    assert_eq!(wire.world.network_stats().too_long, 3);
    for datagram in wire.send(100, 1_000, ms(1)) {
        let number = numbers(std::slice::from_ref(&datagram))[0].to_be_bytes();
        let ones = datagram.bytes[4..].iter().map(|octet| octet.count_ones()).sum::<u32>();
        assert!(ones <= 4, "{ones} bits behind {number:?}");
    }
}

#[test]
fn cuts_have_a_direction_and_others_hear() {
    let mut wire = Wire::new(PathConfig::default());
    let [one, other] = wire.ends;
    wire.world.cut(one, other);
    assert!(wire.send(3, 10, ms(1)).is_empty());
    wire.ends = [other, one];
    assert_eq!(wire.send(3, 10, ms(1)).len(), 3);
    wire.world.mend(one, other);
    wire.ends = [one, other];
    assert_eq!(wire.send(3, 10, ms(1)).len(), 3);
    let nobody = Locator::udp_v4(std::net::Ipv4Addr::new(10, 9, 9, 9), 1);
    wire.world.inject(one, nobody, nobody, SharedBytes::copy_from(&[1]));
    assert_eq!(wire.world.network_stats().unreachable, 1);
}

#[test]
fn clocks_names_and_lives_of_nodes() {
    let (mut world, nodes) = world_on(1, 2, PathConfig::default());
    let before = world.participant(nodes[0]).guid_prefix();
    world.set_wall_offset(nodes[1], secs(-5));
    let [here, there] = [nodes[0], nodes[1]].map(|node| world.now(node));
    assert_eq!((here.mono, here.wall.since(there.wall)), (there.mono, secs(5)));
    world.restart(nodes[0], Identity::Same);
    assert_eq!(world.participant(nodes[0]).guid_prefix(), before);
    world.restart(nodes[0], Identity::New);
    assert_ne!(world.participant(nodes[0]).guid_prefix(), before);
    world.leave(nodes[0]);
    let alone = |world: &mut World| world.participant(nodes[1]).discovered_participants().is_empty();
    world.run_until(alone, secs(15)).expect("it said goodbye, and what it was before is forgotten");
    let error = world.run_until(|_| false, secs(1)).expect_err("never");
    assert!(error.to_string().starts_with("seed 1: it did not happen within"), "{error}");
}
