//! Who writes and reads what, with which QoS.

use std::collections::BTreeSet;

use dunlin_qos::PresentationAccessScope;

use super::Dice;
use crate::qos::{FILTERS, PARTITIONS, Qos};
use crate::scenario::{EndpointPlan, Ms, NodePlan, Role, Workload};

/// Deliveries of a scenario at most, roughly: what it may cost.
const MAX_DELIVERIES: u64 = 2_500;

/// What the endpoints of a topic have in common.
struct Topic {
    number: usize,
    workload: Workload,
    keyed: bool,
    qos: Qos,
    period: Ms,
    size: u64,
    keys: u32,
}

pub(super) fn endpoints(dice: &mut Dice, nodes: &[NodePlan], lasts: Ms) -> Vec<EndpointPlan> {
    let mut plans = Vec::new();
    let topics = dice.within(1, 4) as usize;
    for number in 0..topics {
        let topic = topic(dice, number);
        if matches!(topic.workload, Workload::Requests) {
            requests(dice, &topic, nodes, &mut plans);
        } else {
            plain(dice, &topic, nodes, lasts, &mut plans);
        }
    }
    slow_down(&mut plans, lasts);
    plans
}

fn topic(dice: &mut Dice, number: usize) -> Topic {
    let workload = match dice.index(10) {
        0..3 => Workload::Sensor,
        3..6 => Workload::Tracks,
        6..8 => Workload::Alerts,
        8 => Workload::Frames,
        _ => Workload::Requests,
    };
    let (period, size, keys) = match workload {
        Workload::Sensor => (dice.within(20, 400), dice.within(24, 400), dice.small(1, 5)),
        Workload::Tracks => (dice.within(50, 500), dice.within(24, 200), dice.within(8, 40)),
        Workload::Alerts => (dice.within(500, 3_000), dice.within(24, 1_000), dice.small(1, 10)),
        Workload::Frames => (dice.within(500, 3_000), dice.within(3_000, 60_000), dice.small(1, 2)),
        Workload::Requests | Workload::Replies(_) => (dice.within(100, 800), dice.within(24, 300), 1),
    };
    let keyed = !matches!(workload, Workload::Frames) || dice.percent(50);
    let qos = topic_qos(dice, workload, keyed);
    Topic { number, workload, keyed, qos, period, size, keys: keys as u32 }
}

/// What all endpoints of a topic agree upon, unless one of them is odd.
fn topic_qos(dice: &mut Dice, workload: Workload, keyed: bool) -> Qos {
    let mut qos = Qos { reliable: dice.percent(85), durable: dice.percent(35), ..Qos::default() };
    let request = matches!(workload, Workload::Requests);
    qos.keep_last = dice.percent(35).then(|| dice.small(1, 8) as u32);
    if matches!(workload, Workload::Sensor | Workload::Alerts) && keyed && dice.percent(25) {
        qos.exclusive = true;
    }
    if !request && dice.percent(20) {
        qos.deadline = Some(dice.within(300, 3_000));
    }
    if !request && dice.percent(25) {
        qos.liveliness = dice.one_of(&[0, 1, 2]);
        qos.lease = Some(dice.within(800, 4_000));
    }
    if !request && dice.percent(15) {
        qos.lifespan = Some(dice.within(100, 3_000));
    }
    qos.by_source = dice.percent(15);
    if dice.percent(20) {
        qos.partition = dice.index(PARTITIONS.len());
    }
    qos
}

/// One policy of an endpoint is not as the others expect.
fn oddity(dice: &mut Dice, qos: &mut Qos) {
    match dice.index(8) {
        0 => qos.reliable = !qos.reliable,
        1 => qos.durable = !qos.durable,
        2 => qos.deadline = dice.percent(60).then(|| dice.within(300, 3_000)),
        3 => qos.liveliness = dice.one_of(&[0, 1, 2]),
        4 => qos.lease = dice.percent(60).then(|| dice.within(800, 4_000)),
        5 => qos.exclusive = !qos.exclusive,
        6 => qos.by_source = !qos.by_source,
        _ => qos.partition = dice.index(PARTITIONS.len()),
    }
}

fn writer_qos(dice: &mut Dice, topic: &Topic) -> Qos {
    let mut qos = topic.qos;
    qos.strength = dice.within(0, 2) as i32;
    if qos.reliable && qos.keep_last.is_none() && !qos.durable && dice.percent(20) {
        qos.max_samples = Some(dice.within(5, 50) as u32);
    }
    if dice.percent(10) {
        oddity(dice, &mut qos);
    }
    qos
}

fn reader_qos(dice: &mut Dice, topic: &Topic) -> Qos {
    let mut qos = topic.qos;
    if qos.keep_last.is_none() && dice.percent(15) {
        qos.max_samples = Some(dice.within(5, 50) as u32);
    }
    if dice.percent(20) {
        qos.keep_last = if qos.keep_last.is_some() { None } else { Some(dice.small(1, 6) as u32) };
        qos.max_samples = None;
    }
    if !qos.exclusive && dice.percent(8) {
        qos.separation = dice.within(20, 250);
    }
    if dice.percent(10) {
        qos.durable = false;
    }
    if dice.percent(12) {
        oddity(dice, &mut qos);
    }
    qos
}

/// Most endpoints are there from the start, some come late, some go.
fn life(dice: &mut Dice, lasts: Ms) -> (Ms, Option<Ms>) {
    let appears = if dice.percent(70) { dice.within(0, 50) } else { dice.within(0, lasts * 3 / 4) };
    let leaves = dice.percent(10).then(|| dice.within(appears + 500, lasts.max(appears + 600)));
    (appears, leaves.filter(|leaves| *leaves < lasts))
}

fn writer(dice: &mut Dice, topic: &Topic, nodes: &[NodePlan], lasts: Ms, index: u32) -> EndpointPlan {
    // Under EXCLUSIVE ownership writers compete for instances; else mostly each has its own.
    let common = topic.qos.exclusive || !topic.keyed || dice.percent(25);
    let first_key = if common { 0 } else { index * topic.keys };
    let qos = writer_qos(dice, topic);
    let manual = qos.liveliness != 0 && qos.lease.is_some();
    let silent_from = (manual && dice.percent(40)).then(|| dice.within(lasts / 3, lasts));
    let (appears, leaves) = life(dice, lasts);
    let role = Role::Writer {
        workload: topic.workload,
        period: topic.period,
        size: (topic.size as usize).next_multiple_of(4),
        keys: if topic.keyed { topic.keys } else { 1 },
        first_key,
        silent_from,
    };
    let node = dice.index(nodes.len());
    EndpointPlan {
        on: true,
        node,
        topic: topic.number,
        keyed: topic.keyed,
        qos,
        group: None,
        appears,
        leaves,
        role,
    }
}

fn reader(dice: &mut Dice, topic: &Topic, nodes: &[NodePlan], lasts: Ms) -> EndpointPlan {
    let (appears, leaves) = life(dice, lasts);
    let role = Role::Reader { period: dice.small(10, 500) };
    let node = dice.index(nodes.len());
    let qos = reader_qos(dice, topic);
    EndpointPlan {
        on: true,
        node,
        topic: topic.number,
        keyed: topic.keyed,
        qos,
        group: None,
        appears,
        leaves,
        role,
    }
}

fn plain(dice: &mut Dice, topic: &Topic, nodes: &[NodePlan], lasts: Ms, plans: &mut Vec<EndpointPlan>) {
    let writers = if topic.qos.exclusive { dice.within(2, 3) } else { dice.small(1, 4) };
    for index in 0..writers {
        plans.push(writer(dice, topic, nodes, lasts, index as u32));
    }
    for _ in 0..dice.within(1, 4) {
        plans.push(reader(dice, topic, nodes, lasts));
    }
}

/// A requester and one or two repliers: each side a writer and a reader on one node, on two topics.
fn requests(dice: &mut Dice, topic: &Topic, nodes: &[NodePlan], plans: &mut Vec<EndpointPlan>) {
    let qos = Qos { reliable: true, keep_last: None, exclusive: false, ..topic.qos };
    let replies = topic.number + 100;
    let plan = |node: usize, topic: usize, role: Role| EndpointPlan {
        on: true,
        node,
        topic,
        keyed: true,
        qos,
        group: None,
        appears: 0,
        leaves: None,
        role,
    };
    let write = |workload: Workload, first_key: u32| Role::Writer {
        workload,
        period: topic.period,
        size: (topic.size as usize).next_multiple_of(4),
        keys: 1,
        first_key,
        silent_from: None,
    };
    let asker = dice.index(nodes.len());
    plans.push(plan(asker, topic.number, write(Workload::Requests, 0)));
    plans.push(plan(asker, replies, Role::Reader { period: dice.small(10, 100) }));
    for index in 0..dice.within(1, 2) {
        let node = dice.index(nodes.len());
        let reader = plans.len();
        plans.push(plan(node, topic.number, Role::Reader { period: dice.small(10, 100) }));
        plans.push(plan(node, replies, write(Workload::Replies(reader), index as u32)));
    }
}

/// Some readers want less: by content, or by time.
pub(super) fn filters(dice: &mut Dice, plans: &mut [EndpointPlan]) {
    for plan in plans.iter_mut().filter(|plan| !plan.is_writer() && !plan.qos.exclusive) {
        if dice.percent(20) {
            plan.qos.filter = Some(dice.index(FILTERS.len()));
        }
        if dice.percent(15) && plan.qos.deadline.is_none_or(|deadline| deadline >= 1_000) {
            plan.qos.separation = dice.within(20, 1_000);
        }
    }
}

/// LATENCY_BUDGET: writers that have one let samples wait for each other so long, see `docs/configuration.md`.
pub(super) fn budgets(dice: &mut Dice, plans: &mut [EndpointPlan]) {
    const BUDGETS: [u64; 3] = [0, 20, 100];
    for topic in plans.iter().map(|plan| plan.topic).collect::<BTreeSet<_>>() {
        let common = if dice.percent(50) { dice.one_of(&BUDGETS) } else { 0 };
        for plan in plans.iter_mut().filter(|plan| plan.topic == topic) {
            plan.qos.latency = if dice.percent(8) { dice.one_of(&BUDGETS) } else { common };
        }
    }
}

/// PRESENTATION of publishers and subscribers.
pub(super) fn presentations(dice: &mut Dice, plans: &mut [EndpointPlan]) {
    let draw = |dice: &mut Dice| {
        let scopes = [
            PresentationAccessScope::Instance,
            PresentationAccessScope::Topic,
            PresentationAccessScope::Group,
        ];
        (dice.one_of(&scopes), dice.percent(60), dice.percent(30))
    };
    for topic in plans.iter().map(|plan| plan.topic).collect::<BTreeSet<_>>() {
        let common = if dice.percent(40) { draw(dice) } else { Default::default() };
        for plan in plans.iter_mut().filter(|plan| plan.topic == topic) {
            let own = if dice.percent(6) { draw(dice) } else { common };
            (plan.qos.scope, plan.qos.ordered, plan.qos.coherent) = own;
        }
    }
}

/// Lengthens the periods of all writers until what they write is within bounds.
fn slow_down(plans: &mut [EndpointPlan], lasts: Ms) {
    let mut cost = 0;
    for plan in plans.iter() {
        let Role::Writer { workload, period, size, .. } = plan.role else { continue };
        let readers = plans.iter().filter(|other| !other.is_writer() && other.topic == plan.topic).count();
        let samples = if matches!(workload, Workload::Tracks | Workload::Alerts) { 3 } else { 1 };
        let datagrams = 1 + size as u64 / 1_400;
        cost += lasts / period.max(1) * samples * datagrams * readers as u64;
    }
    let factor = cost.div_ceil(MAX_DELIVERIES).max(1);
    for plan in plans.iter_mut() {
        if let Role::Writer { period, .. } = &mut plan.role {
            *period *= factor;
        }
    }
}
