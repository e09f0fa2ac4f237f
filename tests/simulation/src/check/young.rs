//! LIFESPAN, the other half: what is younger than that is shown. And everything else is shown in time too.

use dunlin_rtps::ChangeKind;

use crate::failure::Violation;
use crate::log::{Nanos, ReaderLog, WriterLog, Written};
use crate::run::{MS, Run};
use crate::scenario::{Class, Fault, FaultPlan, Ms};

/// After a fault all is as usual: what it held back was repaired.
const SETTLED: Nanos = 2_000 * MS;
/// So long who is not believed to be where he speaks from is asked where he was (docs/hostile-input.md, places of a peer).
const ASKED: Ms = 1_500;
/// What is not believed makes room for what is said after it when it is so old.
const STALE: Ms = 3_000;
/// After two endpoints met.
const BEGUN: Nanos = 500 * MS;
/// The longest way on a good network, and how far clocks are apart at most.
const SLACK: Nanos = 150 * MS;
/// So long a reliable writer waits for a reader that has no room and does not answer (docs/loss-recovery.md), such as one that
/// has crashed and is known until its lease ends. Samples with a LIFESPAN are granted it only while such a node is known.
const PATIENCE: Nanos = 200 * MS;

/// Where no fault is near, who looked between the time a sample takes at most and its end, if it has one, has taken it.
pub(super) fn young(run: &Run<'_>, found: &mut Vec<Violation>) {
    for (w, writer, r, reader) in super::pairs(run) {
        let Some(met) = judged_from(run, writer, reader) else { continue };
        let mortal = run.scenario.endpoints[writer.plan].qos.lifespan.is_some();
        for (number, change) in (1_u64..).zip(&writer.changes) {
            let Some(shown) = super::sets::shown_from(run, w, r, met, change) else { continue };
            let Some(look) = due_at(run, (writer, shown), r, number, change) else { continue };
            let taken = reader.received.get(&w).and_then(|received| received.first_taken_at(number));
            if taken.is_some_and(|taken| taken <= look) {
                continue;
            }
            let text = format!(
                "reader {r} was not shown number {number} of writer {w}, which was written at {} ms, at {} ms, but: {:?}",
                change.at / MS,
                look / MS,
                taken.map(|taken| taken / MS),
            );
            found.push(Violation::new(if mortal { "young" } else { "prompt" }, text));
        }
    }
}

/// From when on nothing else than its LIFESPAN, if it has one, and newer samples, keeps a sample of this writer from this
/// reader; `None` if something does all the time.
fn judged_from(run: &Run<'_>, writer: &WriterLog, reader: &ReaderLog) -> Option<Nanos> {
    let plans = &run.scenario.endpoints;
    let request = &plans[reader.plan].qos;
    let alone = run.log.writers.iter().filter(|other| plans[other.plan].topic == plans[writer.plan].topic);
    // Which of two writers wrote first is for their clocks to say.
    let ordered = !request.by_source || alone.count() == 1;
    let open = request.max_samples.is_none() && request.separation == 0 && !request.exclusive && ordered;
    // Until a writer has found out that its group is not heard, repairs, too, may come when all is over.
    let heard = [writer.node, reader.node].iter().all(|node| !run.scenario.nodes[*node].unaware);
    let odd = run.scenario.has_odd_clock(writer.node) || run.scenario.has_odd_clock(reader.node);
    let forged = run.scenario.is_forged_to(reader.plan);
    if !open || !heard || odd || forged || !writer.given_up.is_empty() {
        return None;
    }
    let met = writer.matched.get(&reader.guid)?.max(reader.matched.get(&writer.guid)?);
    Some(met + BEGUN)
}

/// The look by which a reader has taken a sample, if it has to.
fn due_at(
    run: &Run<'_>,
    (writer, shown): (&WriterLog, Nanos),
    r: usize,
    number: u64,
    change: &Written,
) -> Option<Nanos> {
    let reader = &run.log.readers[r];
    let plans = &run.scenario.endpoints;
    let (offer, request) = (&plans[writer.plan].qos, &plans[reader.plan].qos);
    let end = |lifespan: u64| (change.at + lifespan * MS).saturating_sub(SLACK);
    let waits = offer.reliable && (offer.lifespan.is_none() || knows_a_node_that_is_gone(run, change.at));
    let patience = if waits { PATIENCE } else { 0 };
    let from = shown + SLACK + patience + most_latency(run, writer) * MS;
    let until = offer.lifespan.map_or(Nanos::MAX, end);
    if change.kind != ChangeKind::Alive || !request.wants(change.key, number) {
        return None;
    }
    let look = reader.looks.partition_point(|at| *at < from);
    let look = reader.looks.get(look).copied().filter(|look| *look <= until)?;
    // Forged goodbyes hold up nobody, and forged samples only who gets them.
    let forged = |class| matches!(class, Class::Goodbyes | Class::Samples);
    let faults = run.scenario.faults.iter().filter(|plan| plan.on && !forged(plan.class));
    let near = |begin: Nanos, end: Nanos| begin <= look && change.at <= end;
    // What a bottleneck has kept back when it goes arrives later.
    let over = |plan: &FaultPlan| (plan.until + plan.fault.holds_up()) * MS + settling(run, plan);
    if faults.into_iter().any(|plan| near(plan.from * MS, over(plan))) {
        return None;
    }
    let depth = [offer.keep_last, request.keep_last].into_iter().flatten().min();
    let stays = depth.is_none_or(|depth| followers(run, r, shown, change, look) <= depth as usize);
    stays.then_some(look)
}

/// How long after a fault all is as usual. Where places are verified, whoever has moved before is heard again when it has announced that,
/// which the fault may have swallowed, and was asked where it was. Of who moves again, that counts when the first move is
/// forgotten.
fn settling(run: &Run<'_>, fault: &FaultPlan) -> Nanos {
    let scenario = run.scenario;
    let before = scenario.faults.iter().filter(|plan| plan.on && plan.from <= fault.until);
    let mut moved: Vec<usize> = before.flat_map(|plan| plan.fault.moved()).collect();
    if moved.is_empty() || !scenario.verifies_places {
        return SETTLED;
    }
    let count = moved.len();
    moved.sort_unstable();
    moved.dedup();
    let again = if moved.len() < count { STALE } else { 0 };
    let period = scenario.nodes.iter().map(|node| node.period).max().unwrap_or(0);
    SETTLED.max((period + ASKED + again) * MS + SLACK)
}

/// Whether a node went without a goodbye less than its lease, and the time after a fault, before.
fn knows_a_node_that_is_gone(run: &Run<'_>, at: Nanos) -> bool {
    run.scenario.faults.iter().filter(|plan| plan.on).any(|plan| {
        let (Fault::Vanish(node, _) | Fault::Crash(node, _)) = plan.fault else { return false };
        let known = plan.from * MS..(plan.from + run.scenario.nodes[node].lease) * MS + SETTLED;
        known.contains(&at)
    })
}

/// How many samples of its instance may have become visible between a sample, itself among them, and a look.
fn followers(run: &Run<'_>, r: usize, shown: Nanos, change: &Written, look: Nanos) -> usize {
    let reader = &run.log.readers[r];
    let plan = &run.scenario.endpoints[reader.plan];
    let writers =
        run.log.writers.iter().filter(|other| run.scenario.endpoints[other.plan].topic == plan.topic);
    // What a writer's group does not hear comes when the writer has found that out.
    let late = |writer: &WriterLog| if run.scenario.nodes[writer.node].unaware { SETTLED } else { SLACK };
    let about = |other: &Written, late: Nanos| {
        let visible = super::sets::visible_from(run, r, other);
        let same = !plan.keyed || other.key == change.key;
        same && visible.is_some_and(|visible| visible + late >= shown && visible <= look)
    };
    let of = |writer: &WriterLog| writer.changes.iter().filter(|other| about(other, late(writer))).count();
    writers.map(of).sum()
}

/// How long a sample may wait for others, or for those that another writer of its publisher keeps back.
fn most_latency(run: &Run<'_>, writer: &WriterLog) -> Ms {
    let writers = run.log.writers.iter().filter(|other| other.publisher == writer.publisher);
    writers.map(|writer| run.scenario.endpoints[writer.plan].qos.latency).max().unwrap_or(0)
}
