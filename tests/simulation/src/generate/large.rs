//! What makes the second generation hard on samples of many datagrams: long ones, on paths that lose single datagrams,
//! between nodes with datagrams of different lengths.

use super::{Dice, faults, sets};
use crate::scenario::{Class, EndpointPlan, Fault, GroupPlan, Ms, PathFault, Role, Scenario, Workload};

/// Datagrams of such samples to all readers of a scenario, roughly: what it may cost.
const MOST: u64 = 12_000;
/// Longest datagram between two hosts.
const BETWEEN_HOSTS: usize = 9_000;

/// One scenario in ten has a topic with samples of 64 KiB to 1 MiB.
pub(super) fn add(dice: &mut Dice, scenario: &mut Scenario) {
    if dice.index(10) != 0 {
        return;
    }
    let topics: Vec<usize> = scenario.endpoints.iter().map(|plan| plan.topic).collect();
    let topics: Vec<usize> =
        topics.into_iter().filter(|topic| sets::is_plain(&scenario.endpoints, *topic)).collect();
    if topics.is_empty() {
        return;
    }
    let topic = dice.one_of(&topics);
    grow(dice, scenario, topic);
    if dice.percent(70) {
        share_hosts(dice, scenario, topic);
    }
    lose_some(dice, scenario);
}

/// Gives the samples of a topic their size, and the writers the time for them.
fn grow(dice: &mut Dice, scenario: &mut Scenario, topic: usize) {
    let size = dice.small(64 << 10, 1 << 20).next_multiple_of(4);
    let Scenario { endpoints, groups, lasts, .. } = scenario;
    let of_topic = |plan: &&EndpointPlan| plan.topic == topic;
    let writers = endpoints.iter().filter(of_topic).filter(|plan| plan.is_writer()).count() as u64;
    let readers = endpoints.iter().filter(of_topic).count() as u64 - writers;
    let samples = (MOST / (size / 1_300) / readers.max(1)).max(2);
    let least: Ms = *lasts * writers / samples;
    for plan in endpoints.iter_mut().filter(|plan| plan.topic == topic) {
        if let Role::Writer { workload, period, size: octets, .. } = &mut plan.role {
            (*workload, *octets) = (Workload::Frames, size as usize);
            *period = least.max(300);
            calm_sets(groups, plan.group);
        }
    }
}

/// Sets are as long as the samples are rare.
fn calm_sets(groups: &mut [GroupPlan], group: Option<usize>) {
    let sets = group.and_then(|group| groups.get_mut(group)).and_then(|group| group.sets.as_mut());
    if let Some(sets) = sets {
        sets.burst = sets.burst.min(1);
        sets.pause = sets.pause.max(2_000);
    }
}

/// Who writes and reads the topic is mostly on one host; on some hosts nothing longer arrives than between hosts.
fn share_hosts(dice: &mut Dice, scenario: &mut Scenario, topic: usize) {
    let ends: Vec<usize> =
        scenario.endpoints.iter().filter(|plan| plan.topic == topic).map(|plan| plan.node).collect();
    let sharing = dice.one_of(&[0, 0, 100]);
    for node in ends {
        let plan = &mut scenario.nodes[node];
        plan.host = (!plan.nat && dice.percent(80)).then_some(1);
        plan.memory = plan.host.is_some() && dice.percent(sharing);
        plan.max_message_size = dice.one_of(&[1_200, 1_472, 4_000, 8_900]);
    }
    let large = |plan: &&EndpointPlan| matches!(plan.role, Role::Writer { size: 1_000.., .. });
    let reliable = scenario.endpoints.iter().filter(large).all(|plan| plan.qos.reliable);
    let asked = scenario.endpoints.iter().filter(|plan| !plan.is_writer()).all(|plan| plan.qos.reliable);
    if reliable && asked && dice.percent(40) {
        scenario.base.mtu = BETWEEN_HOSTS;
    }
}

/// Single datagrams are lost, all the time or for a while.
fn lose_some(dice: &mut Dice, scenario: &mut Scenario) {
    for _ in 0..dice.within(0, 2) {
        let from = if dice.percent(50) { 0 } else { dice.within(0, scenario.lasts / 2) };
        let until = dice.within(from + 100, scenario.lasts);
        let to = dice.percent(50).then(|| dice.index(scenario.nodes.len()));
        let fault = Fault::Path(None, to, PathFault::Loss(dice.small(500, 60_000) as u32));
        faults::add(&mut scenario.faults, Class::Loss, from, until, fault);
    }
}
