//! What the second generation adds besides coherent sets: hosts with several nodes, addresses that go to another node, and
//! nodes that go without a goodbye.

use std::collections::BTreeSet;

use super::faults::{FORGOTTEN, is_about};
use super::{Dice, sets};
use crate::scenario::{Class, EndpointPlan, Fault, FaultPlan, Ms, Role, Scenario};

/// In some scenarios nodes share hosts, and some of those memory; nodes differ in their longest datagrams.
pub(super) fn hosts(dice: &mut Dice, scenario: &mut Scenario) {
    if !dice.percent(40) {
        return;
    }
    let hosts = dice.within(1, 3);
    let sharing = dice.one_of(&[0, 60, 100]);
    let mixed = dice.percent(50);
    for node in scenario.nodes.iter_mut() {
        node.host = (!node.nat && dice.percent(75)).then(|| dice.within(1, hosts) as u32);
        node.memory = node.host.is_some() && dice.percent(sharing);
        if mixed {
            node.max_message_size = dice.one_of(&[1_200, 1_472, 4_000, 8_900]);
        }
    }
    long_samples(dice, &mut scenario.endpoints);
    for _ in 0..dice.within(0, 3) {
        let (from, to) = (dice.index(scenario.nodes.len()), dice.index(scenario.nodes.len()));
        let at = dice.within(0, scenario.lasts);
        let memory = |node: usize| scenario.nodes[node].host.filter(|_| scenario.nodes[node].memory);
        if from != to && memory(from).is_some() && memory(from) == memory(to) {
            let fault = Fault::Memory(from, to);
            scenario.faults.push(FaultPlan { on: true, class: Class::Memory, from: at, until: at, fault });
        }
    }
}

/// A topic that is not written often has samples of many fragments.
fn long_samples(dice: &mut Dice, endpoints: &mut [EndpointPlan]) {
    let rare = |plan: &&EndpointPlan| matches!(plan.role, Role::Writer { period: 250.., .. });
    let topics: BTreeSet<usize> = endpoints.iter().filter(rare).map(|plan| plan.topic).collect();
    let topics: Vec<usize> = topics.into_iter().filter(|topic| sets::is_plain(endpoints, *topic)).collect();
    if topics.is_empty() || !dice.percent(60) {
        return;
    }
    let topic = dice.one_of(&topics);
    let longer = dice.within(2_000, 40_000) as usize;
    for plan in endpoints.iter_mut().filter(|plan| plan.topic == topic) {
        if let Role::Writer { size, .. } = &mut plan.role {
            *size = longer.next_multiple_of(4).max(*size);
        }
    }
}

/// A node that nothing happens to around this time.
fn is_free(scenario: &Scenario, node: usize, from: Ms, until: Ms) -> bool {
    let near = |plan: &FaultPlan| plan.from <= until + FORGOTTEN && from <= plan.until + FORGOTTEN;
    !scenario.faults.iter().any(|plan| is_about(&plan.fault, node) && near(plan))
}

/// Nodes get addresses of others. Where nodes know each other by addresses they stay.
pub(super) fn takeovers(dice: &mut Dice, scenario: &mut Scenario) {
    let count = scenario.nodes.len();
    if scenario.nodes.iter().any(|node| node.peers) || !dice.percent(50) {
        return;
    }
    for _ in 0..dice.within(1, 3) {
        let giver = dice.index(count);
        let taker = (giver + 1 + dice.index(count - 1)) % count;
        let from = dice.within(0, scenario.lasts.saturating_sub(300));
        let until = (from + dice.small(50, 6_000)).min(scenario.lasts);
        let both = dice.percent(30);
        if is_free(scenario, giver, from, until) && is_free(scenario, taker, from, until) {
            let fault = Fault::Takeover(giver, taker, both);
            scenario.faults.push(FaultPlan { on: true, class: Class::Takeover, from, until, fault });
        }
    }
}

/// Nodes that go without a goodbye. What would have happened to them later does not.
pub(super) fn departures(dice: &mut Dice, scenario: &mut Scenario) {
    if !dice.percent(35) {
        return;
    }
    let most = (scenario.nodes.len() as u64 / 3).clamp(1, 3);
    for _ in 0..dice.within(1, most) {
        let node = dice.index(scenario.nodes.len());
        let at = dice.within(scenario.lasts / 5, scenario.lasts);
        let cleared = dice.percent(40);
        let gone = |plan: &FaultPlan| matches!(plan.fault, Fault::Vanish(other, _) if other == node);
        if scenario.faults.iter().any(gone) {
            continue;
        }
        // Whoever takes over the address of a node that has gone has it for itself.
        let taken =
            |fault: &Fault| matches!(fault, Fault::Takeover(from, to, _) if *from == node && *to != node);
        scenario.faults.retain(|plan| plan.until < at || !is_about(&plan.fault, node) || taken(&plan.fault));
        let fault = Fault::Vanish(node, cleared);
        scenario.faults.push(FaultPlan { on: true, class: Class::Vanish, from: at, until: at, fault });
    }
}
