//! What goes wrong, and when.

use dunlin_core::Duration;
use dunlin_sim::Delay;

use super::{Dice, Size, whole};
use crate::scenario::{
    CLASSES, Class, EndpointPlan, FIRST_CLASSES, Fault, FaultPlan, Ms, NodePlan, PathFault,
};

/// So many datagrams in a million begin a burst.
const BURSTS: u32 = 10_000;
/// A node that starts again under its old name has been forgotten by all if it was away for its lease and so much
/// longer.
pub(super) const FORGOTTEN: Ms = 1_500;

/// To whom faults happen.
#[derive(Clone, Copy)]
pub(super) struct Stage<'a> {
    pub(super) nodes: &'a [NodePlan],
    pub(super) endpoints: &'a [EndpointPlan],
    /// All is over then.
    pub(super) lasts: Ms,
}

pub(super) fn faults(dice: &mut Dice, stage: Stage<'_>, size: Size) -> Vec<FaultPlan> {
    let Stage { nodes, lasts, .. } = stage;
    let mut plans: Vec<FaultPlan> = climate(dice, nodes, lasts);
    if size == Size::Whole {
        plans.extend(whole::together(dice, stage));
    }
    let wanted = (lasts / 2_000).min(16) + dice.within(0, 6);
    let classes: Vec<Class> = (0..wanted).map(|_| class(dice)).collect();
    for class in classes {
        let from = dice.within(0, lasts.saturating_sub(300));
        let until = (from + dice.small(100, 6_000)).min(lasts);
        let node = dice.index(nodes.len());
        let Some(plan) = fault(dice, class, node, (from, until), stage) else { continue };
        if plans.iter().all(|other| !clash(other, &plan)) {
            plans.push(plan);
        }
    }
    plans
}

/// Adds a fault unless it would disturb another one.
pub(super) fn add(plans: &mut Vec<FaultPlan>, class: Class, from: Ms, until: Ms, fault: Fault) {
    let plan = FaultPlan { on: true, class, from, until, fault };
    if plans.iter().all(|other| !clash(other, &plan)) {
        plans.push(plan);
    }
}

/// What comes next. Corruption is rarer, as nothing that its victims do afterwards can be judged.
pub(super) fn class(dice: &mut Dice) -> Class {
    let class = dice.one_of(&CLASSES[..FIRST_CLASSES]).0;
    if class == Class::Corrupt && dice.percent(60) { Class::Loss } else { class }
}

/// Some networks are bad all the time, on all paths.
fn climate(dice: &mut Dice, nodes: &[NodePlan], lasts: Ms) -> Vec<FaultPlan> {
    let mut plans = Vec::new();
    let bad = dice.percent(30);
    for class in [Class::Loss, Class::Burst, Class::Duplicate, Class::Reorder] {
        if !(bad && dice.percent(50)) {
            continue;
        }
        let fault = match class {
            Class::Loss => PathFault::Loss(dice.small(1_000, 200_000) as u32),
            Class::Burst => PathFault::Burst(BURSTS, dice.within(2, 8) as u32),
            Class::Duplicate => PathFault::Duplicate(dice.small(1_000, 200_000) as u32),
            _ => PathFault::Reorder(dice.small(1_000, 200_000) as u32, dice.within(1, 10) as i64),
        };
        let to = dice.percent(30).then(|| dice.index(nodes.len()));
        plans.push(FaultPlan { on: true, class, from: 0, until: lasts, fault: Fault::Path(None, to, fault) });
    }
    plans
}

/// A fault of a kind; `None` if this node cannot suffer it, or not in this time.
pub(super) fn fault(
    dice: &mut Dice,
    class: Class,
    node: usize,
    (from, mut until): (Ms, Ms),
    stage: Stage<'_>,
) -> Option<FaultPlan> {
    let Stage { nodes, endpoints, lasts } = stage;
    let fault = match class {
        Class::Group => {
            let which = dice.index(4);
            Fault::Group(dice.percent(60).then_some(node), (which < 2).then_some(which))
        }
        Class::Partition => {
            let side: Vec<usize> = (0..nodes.len()).filter(|_| dice.percent(50)).collect();
            (!side.is_empty() && side.len() < nodes.len()).then_some(Fault::Partition(side))?
        }
        Class::Cut => {
            let other = (node + 1 + dice.index(nodes.len() - 1)) % nodes.len();
            Fault::Cut(node, other)
        }
        // A node that moves away for good from the one address that others know could not be found again.
        Class::Address => Fault::Address(node, dice.percent(30) || nodes.iter().any(|node| node.peers)),
        Class::Interface => (!nodes[node].nat).then_some(Fault::Interface(node))?,
        Class::Nat => nodes[node].nat.then_some(Fault::Nat(node))?,
        Class::Corrupt => {
            let from = dice.percent(50).then(|| dice.index(nodes.len()));
            Fault::Path(from, Some(node), PathFault::Corrupt(dice.within(5_000, 300_000) as u32))
        }
        Class::Crash => Fault::Crash(node, false),
        Class::Rebirth => {
            until = from + nodes[node].lease + FORGOTTEN + dice.within(0, 2_000);
            (until < lasts).then_some(Fault::Crash(node, true))?
        }
        Class::Leave => Fault::Leave(node),
        Class::Pause => Fault::Pause(node),
        Class::Jump => Fault::Jump(node, dice.within(0, 20_000) as i64 - 10_000),
        Class::Drift => Fault::Drift(node, dice.within(0, 2_000) as i32 - 1_000),
        Class::Slow => {
            let readers: Vec<usize> =
                (0..endpoints.len()).filter(|index| !endpoints[*index].is_writer()).collect();
            Fault::Slow(dice.one_of(&readers))
        }
        Class::Endian | Class::Sets | Class::Host | Class::Memory | Class::Vanish | Class::Takeover => {
            return None;
        }
        Class::Forger | Class::Liar | Class::Goodbyes | Class::Samples => return None,
        _ => {
            let end = |dice: &mut Dice| dice.percent(60).then(|| dice.index(nodes.len()));
            Fault::Path(end(dice), end(dice), path_fault(dice, class)?)
        }
    };
    Some(FaultPlan { on: true, class, from, until, fault })
}

pub(super) fn path_fault(dice: &mut Dice, class: Class) -> Option<PathFault> {
    Some(match class {
        Class::Loss => PathFault::Loss(dice.small(10_000, 900_000) as u32),
        Class::Burst => PathFault::Burst(BURSTS, dice.within(2, 40) as u32),
        Class::Duplicate => PathFault::Duplicate(dice.small(10_000, 900_000) as u32),
        Class::Reorder => PathFault::Reorder(dice.within(10_000, 500_000) as u32, dice.within(1, 60) as i64),
        Class::Delay => {
            let least = Duration::from_millis(dice.small(1, 150) as i64);
            let more = Duration::from_millis(dice.small(1, 40) as i64);
            PathFault::Delay(if dice.percent(50) { Delay::Fixed(least) } else { Delay::Tail(least, more) })
        }
        Class::Rate => PathFault::Rate(dice.within(20_000, 400_000), dice.one_of(&[4_000, 20_000, 100_000])),
        Class::Mtu => PathFault::Mtu(dice.one_of(&[200, 600, 1_000, 1_300])),
        _ => return None,
    })
}

/// The node that a fault is about, where only one such fault may happen at a time.
fn patient(fault: &Fault) -> Option<usize> {
    match fault {
        Fault::Address(node, _)
        | Fault::Interface(node)
        | Fault::Nat(node)
        | Fault::Crash(node, _)
        | Fault::Leave(node)
        | Fault::Vanish(node, _)
        | Fault::Pause(node) => Some(*node),
        _ => None,
    }
}

/// Whether a fault is of no use, or does harm, while this one goes on, or when the node has gone.
pub(super) fn is_about(fault: &Fault, node: usize) -> bool {
    patient(fault) == Some(node)
        || matches!(fault, Fault::Takeover(from, to, _) if *from == node || *to == node)
}

/// Whether two faults would disturb each other's bookkeeping, or make a node be born again before all have forgotten
/// it: one that stands still forgets nobody.
fn clash(one: &FaultPlan, other: &FaultPlan) -> bool {
    let apart = one.until + FORGOTTEN < other.from || other.until + FORGOTTEN < one.from;
    let same = patient(&one.fault).is_some() && patient(&one.fault) == patient(&other.fault);
    let reborn = |a: &Fault, b: &Fault| matches!(a, Fault::Crash(_, true)) && matches!(b, Fault::Pause(_));
    let clocks = match (&one.fault, &other.fault) {
        (Fault::Drift(a, _), Fault::Drift(b, _) | Fault::Jump(b, _)) => a == b,
        (Fault::Jump(a, _), Fault::Drift(b, _) | Fault::Jump(b, _)) => a == b,
        _ => false,
    };
    !apart && (same || clocks || reborn(&one.fault, &other.fault) || reborn(&other.fault, &one.fault))
}
