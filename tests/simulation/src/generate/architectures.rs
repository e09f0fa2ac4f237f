//! Other architectures: participants that find each other by servers, or speak through a daemon of their host. Only in scenarios of
//! numbers from [`ARCHITECTURES`] on, so that all others stay what they are.

use super::faults::{self, FORGOTTEN, path_fault};
use super::{Dice, HOSTILE};
use crate::scenario::{Class, Fault, FaultPlan, Ms, NodePlan, Part, Scenario};

/// Scenarios from this number on are centralised or federated.
pub const ARCHITECTURES: u64 = 2_000_000_000_000_000_000;

/// From this number on several clients of servers move at the same time.
const MOVES_TOGETHER: u64 = ARCHITECTURES + 100_000_000;

const _: () = assert!(MOVES_TOGETHER < HOSTILE);

/// Makes the scenario one of another architecture.
pub(super) fn draw(dice: &mut Dice, scenario: &mut Scenario) {
    if dice.percent(25) {
        // Whatever the hubs suffer is then all that happens.
        scenario.faults.clear();
    }
    let first = scenario.nodes.len();
    if dice.percent(45) {
        centralised(dice, scenario);
    } else {
        federated(dice, scenario);
    }
    let hubs: Vec<usize> = (first..scenario.nodes.len()).collect();
    if hubs.len() > 1 && dice.percent(25) {
        // It comes late.
        let until = dice.within(500, scenario.lasts / 2);
        faults::add(&mut scenario.faults, Class::Crash, 0, until, Fault::Crash(hubs[0], false));
    }
    for _ in 0..dice.within(1, 2 + scenario.lasts / 8_000) {
        let hub = dice.one_of(&hubs);
        suffer(dice, scenario, hub);
    }
}

fn hub(dice: &mut Dice, scenario: &Scenario, part: Part) -> NodePlan {
    let lease: Ms = dice.within(2_000, 6_000);
    NodePlan {
        lease,
        period: lease / dice.within(4, 6),
        part,
        big_endian: false,
        nat: false,
        peers: false,
        unaware: false,
        host: None,
        memory: false,
        ..scenario.nodes[0].clone()
    }
}

/// One to three servers, which nobody corrupts: what they believed then would reach everybody.
fn centralised(dice: &mut Dice, scenario: &mut Scenario) {
    for node in &mut scenario.nodes {
        (node.part, node.peers, node.unaware) = (Part::Client, false, false);
        (node.host, node.memory) = (None, false);
    }
    for _ in 0..dice.one_of(&[1, 2, 2, 2, 3]) {
        let server = hub(dice, scenario, Part::Server);
        scenario.nodes.push(server);
    }
    let none = |class: Class| matches!(class, Class::Memory | Class::Group | Class::Takeover);
    scenario.faults.retain(|plan| !none(plan.class));
    if scenario.seed.number < MOVES_TOGETHER {
        one_moves_at_a_time(&mut scenario.faults);
    }
}

/// Two clients that moved at the same time lost each other until a lease ended, as servers introduced nobody again then. Seeds from before
/// that was mended mean what they meant.
fn one_moves_at_a_time(faults: &mut Vec<FaultPlan>) {
    let moves = |plan: &FaultPlan| matches!(plan.class, Class::Address | Class::Interface | Class::Nat);
    let mut kept: Vec<(Ms, Ms)> = Vec::new();
    faults.retain(|plan| {
        let near =
            |(from, until): &(Ms, Ms)| plan.from <= until + FORGOTTEN && *from <= plan.until + FORGOTTEN;
        let keeps = !moves(plan) || !kept.iter().any(near);
        if moves(plan) && keeps {
            kept.push((plan.from, plan.until));
        }
        keeps
    });
}

/// One to four hosts with daemons; in some domains some nodes are decentralised. All who are not applications hear groups, or know
/// each other's addresses.
fn federated(dice: &mut Dice, scenario: &mut Scenario) {
    let first = scenario.nodes.len();
    let hosts = dice.within(1, (first as u64 / 2 + 1).min(4)) as usize;
    let free = dice.one_of(&[0, 0, 0, 30, 60]);
    let peers = dice.percent(30);
    for node in &mut scenario.nodes {
        let alone = dice.percent(free);
        node.part = if alone { Part::Equal } else { Part::Application(first + dice.index(hosts)) };
        (node.peers, node.unaware, node.nat) = (peers && alone, false, false);
        (node.host, node.memory) = (None, false);
    }
    for _ in 0..hosts {
        let part = Part::Daemon(dice.one_of(&[0, 0, 500, 5_000]));
        let daemon = NodePlan { peers, ..hub(dice, scenario, part) };
        scenario.nodes.push(daemon);
    }
    let nodes = &scenario.nodes;
    let stays = |node: usize| nodes[node].part != Part::Equal || peers;
    scenario.faults.retain(|plan| match &plan.fault {
        // Applications are where their daemon expects them, and a lasting place is what others know by heart.
        Fault::Address(node, _) | Fault::Interface(node) => !stays(*node),
        Fault::Takeover(from, to, _) => !stays(*from) && !stays(*to),
        // A daemon would pass it on.
        _ => !matches!(plan.class, Class::Corrupt | Class::Nat | Class::Memory),
    });
}

/// Something happens to a server or a daemon.
fn suffer(dice: &mut Dice, scenario: &mut Scenario, hub: usize) {
    let count = scenario.nodes.len();
    let from = dice.within(0, scenario.lasts.saturating_sub(300));
    let until = (from + dice.small(100, 8_000)).min(scenario.lasts);
    let (class, fault) = match dice.index(10) {
        0..4 => (Class::Crash, Fault::Crash(hub, false)),
        4 => (Class::Leave, Fault::Leave(hub)),
        5 => (Class::Pause, Fault::Pause(hub)),
        6 => {
            let side: Vec<usize> = (0..count).filter(|node| *node == hub || dice.percent(50)).collect();
            if side.len() == count {
                return;
            }
            (Class::Partition, Fault::Partition(side))
        }
        7 => (Class::Cut, Fault::Cut(hub, (hub + 1 + dice.index(count - 1)) % count)),
        _ => {
            let class =
                dice.one_of(&[Class::Loss, Class::Burst, Class::Duplicate, Class::Reorder, Class::Delay]);
            let Some(fault) = path_fault(dice, class) else { return };
            let (from, to) = if dice.percent(50) { (Some(hub), None) } else { (None, Some(hub)) };
            (class, Fault::Path(from, to, fault))
        }
    };
    faults::add(&mut scenario.faults, class, from, until, fault);
}
