//! Publishers and subscribers with several endpoints, and coherent sets.

use std::collections::BTreeSet;

use dunlin_qos::PresentationAccessScope;

use super::Dice;
use crate::scenario::{EndpointPlan, GroupPlan, Ms, Role, Scenario, SetsPlan, Workload};

/// Endpoints of a publisher or subscriber, at most.
const MOST: usize = 3;

/// In some scenarios publishers write coherent sets, some of them with several writers.
pub(super) fn add(dice: &mut Dice, scenario: &mut Scenario) {
    let Scenario { nodes, endpoints, groups, .. } = scenario;
    if !dice.percent(50) {
        return;
    }
    let mut topics = plain_topics(endpoints);
    topics.retain(|_| dice.percent(75));
    let scope = match dice.index(4) {
        0 => PresentationAccessScope::Instance,
        1 => PresentationAccessScope::Topic,
        _ => PresentationAccessScope::Group,
    };
    let ordered = dice.percent(40);
    for topic in &topics {
        siblings(dice, endpoints, *topic, nodes.len());
    }
    for plan in endpoints.iter_mut().filter(|plan| topics.contains(&plan.topic)) {
        (plan.qos.scope, plan.qos.ordered, plan.qos.coherent) = (scope, ordered, true);
        if !plan.is_writer() && dice.percent(12) {
            // Asks for less.
            match dice.index(3) {
                0 => plan.qos.coherent = false,
                1 => plan.qos.ordered = false,
                _ => plan.qos.scope = PresentationAccessScope::Instance,
            }
        }
    }
    for writers in [true, false] {
        join(dice, (endpoints, groups), &topics, writers);
    }
}

/// Whether nobody waits for answers in a topic.
pub(super) fn is_plain(endpoints: &[EndpointPlan], topic: usize) -> bool {
    plain_topics(endpoints).contains(&topic)
}

/// Topics in which nobody waits for an answer.
fn plain_topics(endpoints: &[EndpointPlan]) -> BTreeSet<usize> {
    let asks = |plan: &&EndpointPlan| {
        matches!(plan.role, Role::Writer { workload: Workload::Requests | Workload::Replies(_), .. })
    };
    let asked: BTreeSet<usize> = endpoints.iter().filter(asks).map(|plan| plan.topic).collect();
    endpoints.iter().map(|plan| plan.topic).filter(|topic| !asked.contains(topic)).collect()
}

/// Another writer of a topic, and another reader, so that there are some to share a publisher.
fn siblings(dice: &mut Dice, endpoints: &mut Vec<EndpointPlan>, topic: usize, nodes: usize) {
    for writes in [true, false] {
        let one = endpoints.iter().find(|plan| plan.topic == topic && plan.is_writer() == writes);
        let Some(mut other) = one.filter(|_| dice.percent(50)).cloned() else { continue };
        other.node = dice.index(nodes);
        if let Role::Writer { keys, first_key, .. } = &mut other.role
            && other.keyed
            && !other.qos.exclusive
        {
            *first_key += 10 * *keys;
        }
        endpoints.push(other);
    }
}

/// Makes publishers of writers, or subscribers of readers: who joins one moves to its node.
fn join(
    dice: &mut Dice,
    (endpoints, groups): (&mut [EndpointPlan], &mut Vec<GroupPlan>),
    topics: &BTreeSet<usize>,
    writers: bool,
) {
    let several = dice.one_of(&[0, 50, 90]);
    let mut members: Vec<usize> = Vec::new();
    for index in 0..endpoints.len() {
        if endpoints[index].is_writer() != writers || !topics.contains(&endpoints[index].topic) {
            continue;
        }
        let first = members.first().map(|first| &endpoints[*first]);
        let joined = first.filter(|_| members.len() < MOST && dice.percent(several));
        let joined = joined.map(|first| (first.node, first.qos, first.group));
        if let Some((node, qos, group)) = joined {
            let plan = &mut endpoints[index];
            (plan.node, plan.group) = (node, group);
            (plan.qos.scope, plan.qos.ordered, plan.qos.coherent) = (qos.scope, qos.ordered, qos.coherent);
            plan.qos.partition = qos.partition;
            members.push(index);
            continue;
        }
        members = vec![index];
        endpoints[index].group = Some(groups.len());
        let sets = rhythm(dice, &endpoints[index]).filter(|_| dice.percent(85));
        groups.push(GroupPlan { node: endpoints[index].node, sets });
    }
}

/// Sets about as often as there are samples.
fn rhythm(dice: &mut Dice, plan: &EndpointPlan) -> Option<SetsPlan> {
    let Role::Writer { period, size, .. } = plan.role else { return None };
    let some = |dice: &mut Dice, most: Ms| dice.within(20, most.clamp(30, 3_000));
    let (pause, lasts) = (some(dice, 5 * period), some(dice, 4 * period));
    let burst = if size > 2_000 { dice.within(0, 1) } else { dice.within(0, 4) };
    Some(SetsPlan { pause, lasts: lasts.min(1_500), burst })
}
