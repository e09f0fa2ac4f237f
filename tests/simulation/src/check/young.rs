//! LIFESPAN, the other half: what is younger than that is shown.

use dunlin_rtps::ChangeKind;

use crate::failure::Violation;
use crate::log::{Nanos, ReaderLog, WriterLog, Written};
use crate::run::{MS, Run};

/// After a fault all is as usual: what it held back was repaired.
const SETTLED: Nanos = 2_000 * MS;
/// After two endpoints met.
const BEGUN: Nanos = 500 * MS;
/// The longest way on a good network, and how far clocks are apart at most.
const SLACK: Nanos = 150 * MS;

/// Where no fault is near, who looked between the time a sample takes at most and its end has taken it.
pub(super) fn young(run: &Run<'_>, found: &mut Vec<Violation>) {
    for (w, writer, r, reader) in super::pairs(run) {
        let Some(met) = judged_from(run, writer, reader) else { continue };
        for (number, change) in (1_u64..).zip(&writer.changes) {
            let got = reader.received.get(&w).is_some_and(|received| received.count(number) > 0);
            if change.at > met && !got && is_due(run, writer, reader, number, change) {
                let text = format!("reader {r} was not shown number {number} of writer {w}, which was young");
                found.push(Violation::new("young", text));
            }
        }
    }
}

/// From when on nothing else than its LIFESPAN, and newer samples, keeps a sample of this writer from this reader; `None`
/// if something does all the time.
fn judged_from(run: &Run<'_>, writer: &WriterLog, reader: &ReaderLog) -> Option<Nanos> {
    let plans = &run.scenario.endpoints;
    let (offer, request) = (&plans[writer.plan].qos, &plans[reader.plan].qos);
    offer.lifespan?;
    let alone = run.log.writers.iter().filter(|other| plans[other.plan].topic == plans[writer.plan].topic);
    // Which of two writers wrote first is for their clocks to say.
    let ordered = !request.by_source || alone.count() == 1;
    let open = request.max_samples.is_none() && request.separation == 0 && !request.exclusive && ordered;
    // Until a writer has found out that its group is not heard, repairs, too, may come when all is over.
    let heard = [writer.node, reader.node].iter().all(|node| !run.scenario.nodes[*node].unaware);
    let odd = run.scenario.has_odd_clock(writer.node) || run.scenario.has_odd_clock(reader.node);
    if !open || !heard || odd || !writer.given_up.is_empty() {
        return None;
    }
    let met = writer.matched.get(&reader.guid)?.max(reader.matched.get(&writer.guid)?);
    Some(met + BEGUN)
}

fn is_due(run: &Run<'_>, writer: &WriterLog, reader: &ReaderLog, number: u64, change: &Written) -> bool {
    let plans = &run.scenario.endpoints;
    let (offer, request) = (&plans[writer.plan].qos, &plans[reader.plan].qos);
    let lifespan = offer.lifespan.unwrap_or(0) * MS;
    let (from, until) =
        (change.at + SLACK + offer.latency * MS, (change.at + lifespan).saturating_sub(SLACK));
    if change.kind != ChangeKind::Alive || !request.wants(change.key, number) {
        return false;
    }
    let look = reader.looks.partition_point(|at| *at < from);
    let Some(look) = reader.looks.get(look).copied().filter(|look| *look <= until) else { return false };
    let faults = run.scenario.faults.iter().filter(|plan| plan.on);
    let near = |begin: Nanos, end: Nanos| begin <= look && change.at <= end + SETTLED;
    if faults.into_iter().any(|plan| near(plan.from * MS, plan.until * MS)) {
        return false;
    }
    let depth = [offer.keep_last, request.keep_last].into_iter().flatten().min();
    depth.is_none_or(|depth| followers(run, reader, change, look) <= depth as usize)
}

/// How many samples of its instance may have come between a sample, itself among them, and a look.
fn followers(run: &Run<'_>, reader: &ReaderLog, change: &Written, look: Nanos) -> usize {
    let plan = &run.scenario.endpoints[reader.plan];
    let writers =
        run.log.writers.iter().filter(|other| run.scenario.endpoints[other.plan].topic == plan.topic);
    let same = |other: &&Written| !plan.keyed || other.key == change.key;
    let about = |other: &&Written| other.at + SLACK >= change.at && other.at <= look;
    writers.flat_map(|writer| &writer.changes).filter(same).filter(about).count()
}
