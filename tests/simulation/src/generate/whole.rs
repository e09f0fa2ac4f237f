//! Scenarios in which faults of every kind are in force at one moment.

use super::Dice;
use super::faults::{FORGOTTEN, Stage, fault};
use crate::scenario::{
    CLASSES, Class, EndpointPlan, FIRST_CLASSES, Fault, FaultPlan, Ms, NodePlan, PathFault,
};

/// A fault hits so many datagrams at least, in parts per million.
const OFTEN: u32 = 100_000;
/// The node that stands still goes on so long after that moment at the latest.
const PAUSE_ENDS: Ms = 1_000;

/// What not every node is: behind a router, of both byte orders; and a reader that is always there.
pub(super) fn complete(nodes: &mut [NodePlan], endpoints: &mut [EndpointPlan]) {
    if let [first, second, third, ..] = nodes {
        (first.big_endian, second.big_endian) = (true, false);
        (third.peers, third.nat, third.unaware) = (true, true, false);
        (second.peers, second.nat, second.unaware) = (false, false, false);
    }
    if let Some(reader) = endpoints.iter_mut().find(|plan| !plan.is_writer()) {
        (reader.appears, reader.leaves) = (0, None);
    }
}

/// One fault of every kind. Each lasts over the same moment, and each that a node suffers has a node of its own.
pub(super) fn together(dice: &mut Dice, stage: Stage<'_>) -> Vec<FaultPlan> {
    let Stage { nodes, endpoints, lasts } = stage;
    let moment = dice.within(lasts * 2 / 5, lasts * 9 / 20);
    let reader = endpoints.iter().position(|plan| !plan.is_writer()).unwrap_or(0);
    let mut free: Vec<usize> =
        (0..nodes.len()).filter(|node| endpoints.get(reader).is_none_or(|plan| plan.node != *node)).collect();
    let mut plans = Vec::new();
    // What only some nodes can suffer has the first choice.
    let (picky, others): (Vec<Class>, Vec<Class>) = CLASSES[..FIRST_CLASSES]
        .iter()
        .map(|(class, _)| *class)
        .partition(|class| matches!(class, Class::Nat | Class::Interface));
    for class in picky.into_iter().chain(others).filter(|class| *class != Class::Endian) {
        let node = own_node(dice, class, &mut free, nodes);
        let (early, late) = match class {
            // What stops everything hides the others, so it is over sooner.
            Class::Group | Class::Partition => ((300, 1_000), (300, 2_000)),
            // Who stands still forgets nobody; it must have time to forget the node that starts under its old name.
            Class::Pause => ((1_500, 3_000), (300, PAUSE_ENDS)),
            _ => ((1_500, 3_000), (2_000, 6_000)),
        };
        let from = moment - dice.within(early.0, early.1);
        let until = moment + dice.within(late.0, late.1);
        // Sides of a partition are drawn, and may be empty.
        let Some(mut plan) = (0..20).find_map(|_| fault(dice, class, node, (from, until), stage)) else {
            continue;
        };
        if class == Class::Rebirth {
            plan.until = moment + PAUSE_ENDS + nodes[node].lease + FORGOTTEN + dice.within(0, 1_000);
        }
        strengthen(&mut plan.fault, node, reader, endpoints);
        plans.push(plan);
    }
    plans
}

/// A node that no other of these faults is about, where the fault is about one.
fn own_node(dice: &mut Dice, class: Class, free: &mut Vec<usize>, nodes: &[NodePlan]) -> usize {
    use Class::{Address, Corrupt, Crash, Cut, Drift, Interface, Jump, Leave, Mtu, Nat, Pause, Rebirth};
    let exclusive = [Address, Corrupt, Crash, Cut, Drift, Interface, Jump, Leave, Mtu, Nat, Pause, Rebirth]
        .contains(&class);
    let fits = |node: usize| match class {
        Nat => nodes[node].nat,
        Interface => !nodes[node].nat,
        _ => true,
    };
    let places: Vec<usize> = (0..free.len()).filter(|place| fits(free[*place])).collect();
    if !exclusive || places.is_empty() {
        let fitting: Vec<usize> = (0..nodes.len()).filter(|node| fits(*node)).collect();
        return dice.one_of(&fitting);
    }
    free.remove(dice.one_of(&places))
}

/// Makes sure that it meets something: what paths suffer comes from all nodes, and often.
fn strengthen(fault: &mut Fault, node: usize, reader: usize, endpoints: &[EndpointPlan]) {
    match fault {
        Fault::Path(from, to, fault) => {
            *from = None;
            match fault {
                PathFault::Loss(ppm)
                | PathFault::Duplicate(ppm)
                | PathFault::Reorder(ppm, _)
                | PathFault::Corrupt(ppm) => *ppm = (*ppm).max(OFTEN),
                // Announcements are longer.
                PathFault::Mtu(mtu) => (*to, *mtu) = (Some(node), 200),
                PathFault::Burst(begin_ppm, _) => (*to, *begin_ppm) = (None, OFTEN),
                PathFault::Delay(_) | PathFault::Rate(..) => {}
            }
            // Little is sent to who is not there; this one always is.
            if !matches!(fault, PathFault::Mtu(_) | PathFault::Corrupt(_)) {
                *to = to.map(|_| endpoints[reader].node);
            }
        }
        // One group fails for all: that of discovery, which is always in use.
        Fault::Group(node, which) => (*node, *which) = (None, which.filter(|which| *which == 0)),
        Fault::Slow(slow) => *slow = reader,
        _ => {}
    }
}
