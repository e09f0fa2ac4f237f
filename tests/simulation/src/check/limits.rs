//! What a run may cost: memory, queues, datagrams.

use std::collections::BTreeSet;

use dunlin_cache::{SampleData, Selection};
use dunlin_sim::Delay;

use crate::failure::Violation;
use crate::log::{Nanos, ReaderLog, WriterLog, Written};
use crate::run::{MS, Run};
use crate::scenario::{Class, Fault, Ms, Part, PathFault};

/// A writer asks for an acknowledgement no more often than this, and repeats the question after so long at first.
const ASKED_EVERY: Nanos = 10 * MS;

/// Octets after which a writer asks within a change (docs/loss-recovery.md).
const HALF_WINDOW: u64 = 64 << 10;

/// At rest a writer holds what its QoS says and nothing else.
pub(super) fn histories(run: &Run<'_>, found: &mut Vec<Violation>) {
    for (w, writer) in run.log.writers.iter().enumerate().filter(|(_, writer)| writer.ended.is_none()) {
        let plan = &run.scenario.endpoints[writer.plan];
        let tainted = (0..run.scenario.nodes.len()).any(|node| run.scenario.is_tainted(node));
        let most = most_held(run, writer, plan.qos.durable);
        let held = writer.slot.history_len() as u64;
        if held > most && !tainted {
            let text = format!("writer {w} holds {held} changes at rest, at most {most} are of use");
            found.push(Violation::new("history at rest", text));
        }
    }
    for (r, reader) in run.log.readers.iter().enumerate().filter(|(_, reader)| reader.ended.is_none()) {
        cache(run, r, reader, found);
    }
}

/// A reader holds no more samples than its RESOURCE_LIMITS allow; those without data, which tell a change of state, do not
/// count, and of each instance there is one at most.
fn cache(run: &Run<'_>, r: usize, reader: &ReaderLog, found: &mut Vec<Violation>) {
    let plan = &run.scenario.endpoints[reader.plan];
    if run.scenario.is_tainted(reader.node) {
        return;
    }
    let (mut samples, mut told, mut twice) = (0, BTreeSet::new(), 0);
    let mut count = |sample: &SampleData<'_>| {
        if sample.payload.is_some() {
            samples += 1;
        } else if !told.insert(sample.instance) {
            twice += 1;
        }
        false
    };
    let _ = reader.slot.has_matching_where(&Selection::default(), &mut count);
    let text = format!("reader {r} holds {samples} samples, and {} without data", told.len() + twice);
    if samples + told.len() + twice != reader.slot.len() {
        found.push(Violation::new("cache at rest", format!("{text}, but {} in all", reader.slot.len())));
    }
    if plan.qos.max_samples.is_some_and(|limit| samples > limit as usize) {
        found.push(Violation::new("cache at rest", format!("{text}, limit {:?}", plan.qos.max_samples)));
    }
    if twice > 0 {
        found.push(Violation::new("cache at rest", format!("{text}, of {} instances", told.len())));
    }
}

fn most_held(run: &Run<'_>, writer: &WriterLog, durable: bool) -> u64 {
    let qos = &run.scenario.endpoints[writer.plan].qos;
    let written = writer.changes.len() as u64;
    let keys = writer.registered.len() as u64;
    // The end of a set stays as long as something of the set does, the last one until the next.
    let ends = writer.changes.iter().filter(|change| change.ends_set()).count() as u64;
    let kept = match (durable, qos.keep_last) {
        (true, None) => written,
        // An unregistration that does not dispose stands besides the last values.
        (true, Some(depth)) => written.min((u64::from(depth) + 1) * keys),
        (false, _) if !qos.reliable => written,
        // Where nobody has to acknowledge, the last change stays until the next one is written.
        (false, _) => 1,
    };
    kept + ends.min(if durable { kept + 1 } else { 1 })
}

/// What a node may send; a daemon passes on besides what the others send.
fn with_passed_on(run: &Run<'_>, index: usize, most: impl Fn(usize) -> u64) -> u64 {
    if !matches!(run.scenario.nodes[index].part, Part::Daemon(_)) {
        return most(index);
    }
    let nodes = run.machines.iter().enumerate().filter(|(_, machine)| machine.is_some());
    nodes.map(|(node, _)| most(node)).sum()
}

/// When nothing is written, nodes send announcements and signs of life, and nothing else.
pub(crate) fn quiet(run: &mut Run<'_>, before: &[u64], lasted: Ms) {
    let scenario = run.scenario;
    let nodes = run.machines.iter().flatten().filter(|machine| machine.up).count() as u64;
    let tainted = (0..scenario.nodes.len()).any(|node| scenario.is_tainted(node));
    if tainted {
        return;
    }
    let most = |index: usize| {
        let plan = &scenario.nodes[index];
        let announcements = (lasted / plan.period + 2) * (nodes + 1);
        // Signs of life of both kinds by participant go through a reliable writer: each is acknowledged by all.
        let lease = scenario.endpoints.iter().filter_map(|endpoint| endpoint.qos.lease).min();
        let signs = lease.map_or(0, |lease| 12 * lasted / lease + 6) * (nodes + 1) * 4;
        announcements + signs + 10 * nodes + 20
    };
    for (index, before) in before.iter().enumerate() {
        let Some(machine) = &run.machines[index] else { continue };
        let sent = run.world.sent_by(machine.id).datagrams - before;
        let most = with_passed_on(run, index, most);
        if sent > most {
            let text = format!("node {index} sent {sent} datagrams in {lasted} ms of quiet, at most {most}");
            run.log.violation("silence", text);
        }
    }
}

/// What a node sends is bounded by what its applications write and by how many others there are.
pub(super) fn traffic(run: &Run<'_>, found: &mut Vec<Violation>) {
    let scenario = run.scenario;
    let nodes = run.machines.iter().flatten().count() as u64;
    let seconds = run.age() / 1_000_000_000 + 1;
    let written = |index: usize| -> u64 {
        run.log
            .writers
            .iter()
            .filter(|writer| writer.node == index)
            .flat_map(|writer| &writer.changes)
            .map(|change| change.len as u64 + 300)
            .sum()
    };
    let most = |index: usize| {
        let endpoints = scenario.endpoints.len() as u64;
        let announcements = (seconds * 1_000 / scenario.nodes[index].period + 20) * (nodes + 1) * 700;
        let discovery = nodes * (40 + 20 * endpoints) * 600;
        let steady = seconds * nodes * (2_000 + 500 * endpoints);
        let factor = if is_futile(run) { 100 } else { 12 };
        factor * written(index) * nodes + announcements + discovery + steady
    };
    for index in 0..scenario.nodes.len() {
        let Some(machine) = &run.machines[index] else { continue };
        let most = with_passed_on(run, index, most);
        let sent = run.world.sent_by(machine.id).octets;
        if sent > most {
            let written = written(index);
            let text = format!("node {index} sent {sent} octets for {written} written, at most {most}");
            found.push(Violation::new("octets", text));
        }
    }
}

/// In no second does a node send more than a few datagrams for each pair of endpoints, for each change that is young or
/// may have to be repaired, and for each question of a writer: no two ever answer each other without end.
pub(super) fn peaks(run: &Run<'_>, found: &mut Vec<Violation>) {
    let nodes = run.machines.iter().flatten().count() as u64;
    let endpoints = run.scenario.endpoints.len() as u64;
    for second in run.meter.windows(2) {
        let [(from, before), (until, after)] = second else { continue };
        for (index, sent) in after.iter().zip(before).map(|(after, before)| after - before).enumerate() {
            let seconds = (until - from).div_ceil(1_000 * MS);
            let most = |index: usize| {
                let new = copies_until(run, index, *until) * if is_futile(run) { 25 } else { 2 };
                seconds * (nodes * (40 + 6 * endpoints) + new) + answers(run, index, (*from, *until))
            };
            let most = with_passed_on(run, index, most);
            if sent > most {
                let (from, until) = (from / MS, until / MS);
                let text =
                    format!("node {index} sent {sent} datagrams from {from} to {until} ms, at most {most}");
                found.push(Violation::new("datagrams", text));
            }
        }
    }
}

/// How often the readers of a node answer in some time. A reliable writer asks them with each write; as long as an answer
/// is not there it asks again 10, 20, 40 ms later and so on; and an answer that tells it news starts that over. So peers
/// that are far away are asked several times for one change, but a writer never asks more often than every 10 ms. A writer
/// that does not hear the answers asks on as long as they are missing.
fn answers(run: &Run<'_>, node: usize, (from, until): (Nanos, Nanos)) -> u64 {
    let trip = round_trip(run);
    let asked = 2 * (1 + u64::from((trip / ASKED_EVERY + 1).ilog2()));
    let asked_on = 1 + u64::from(((until - from) / ASKED_EVERY + 1).ilog2());
    let plans = &run.scenario.endpoints;
    let lived = |created: Nanos, ended: Option<Nanos>| {
        created <= until && ended.is_none_or(|ended| ended + trip >= from)
    };
    let readers = run.log.readers.iter().filter(|reader| reader.node == node);
    let writers = run.log.writers.iter().enumerate();
    let writers = writers.filter(|(_, writer)| lived(writer.created, writer.ended));
    let mut sum = 0;
    for reader in readers.filter(|reader| lived(reader.created, reader.ended)) {
        for (w, writer) in writers.clone() {
            let (offer, request) = (&plans[writer.plan], &plans[reader.plan]);
            let reliable = offer.qos.reliable && request.qos.reliable;
            let asked =
                if is_unheard(run, node, writer.node, (from, until)) { asked.max(asked_on) } else { asked };
            if offer.topic != request.topic || !reliable || !offer.qos.matches(&request.qos) {
                continue;
            }
            let young = |(number, change): &(u64, &Written)| {
                // One of many datagrams may be under way until it is taken: it is asked for bit by bit.
                let long = change.len > run.scenario.nodes[writer.node].max_message_size;
                let taken = || reader.received.get(&w).and_then(|received| received.first_taken_at(*number));
                let arrives = if long { taken().unwrap_or(Nanos::MAX - trip) } else { change.at };
                arrives + trip >= from && change.at <= until
            };
            let numbered = (1_u64..).zip(&writer.changes).filter(young);
            let parts = |change: &Written| 1 + change.len as u64 / HALF_WINDOW;
            let written: u64 = numbered.map(|(_, change)| parts(change)).sum();
            sum += (asked * written).min((until - from + trip) / ASKED_EVERY + 1);
        }
    }
    sum
}

/// Whether one node does not hear another for a part of some time.
fn is_unheard(run: &Run<'_>, speaks: usize, hears: usize, (from, until): (Nanos, Nanos)) -> bool {
    run.scenario.faults.iter().filter(|plan| plan.on).any(|plan| {
        let about = |from, to| (from, to) == (speaks, hears) || run.scenario.has_daemons();
        let about = matches!(plan.fault, Fault::Cut(from, to) if about(from, to));
        about && plan.from * MS <= until && from <= plan.until * MS
    })
}

/// How long question and answer may be on their way, as far as that is because of the delay of paths. The tails of delays
/// are cut at ten means, but few are longer than three.
fn round_trip(run: &Run<'_>) -> Nanos {
    let longest = |delay: &Delay| match *delay {
        Delay::Fixed(delay) | Delay::Uniform(_, delay) => delay.as_nanos(),
        Delay::Tail(least, mean) => least.as_nanos() + 3 * mean.as_nanos(),
    };
    let faults = run.scenario.faults.iter().filter(|plan| plan.on).filter_map(|plan| match &plan.fault {
        Fault::Path(_, _, PathFault::Delay(delay)) => Some(longest(delay)),
        _ => None,
    });
    let delay = faults.fold(longest(&run.scenario.base.delay), i64::max);
    2 * run.scenario.hops() * u64::try_from(delay).unwrap_or(0)
}

/// While only short datagrams pass, what is requested does not arrive, and is requested again some 15 times a second.
/// Writers that are not told to pace themselves do not spare a bottleneck either.
fn is_futile(run: &Run<'_>) -> bool {
    run.scenario.faults.iter().any(|plan| plan.on && matches!(plan.class, Class::Mtu | Class::Rate))
}

/// Datagrams that all changes written on a node take so far, each to every node. Readers ask by themselves, so where a writer has
/// more readers than there are nodes each of them may be sent all of it.
fn copies_until(run: &Run<'_>, node: usize, until: Nanos) -> u64 {
    let room = run.scenario.nodes[node].max_message_size as u64 - 100;
    let nodes = run.machines.iter().flatten().count();
    let plans = &run.scenario.endpoints;
    let asks = |writer: &WriterLog, reader: &ReaderLog| {
        let (offer, request) = (&plans[writer.plan], &plans[reader.plan]);
        let reliable = offer.qos.reliable && request.qos.reliable;
        offer.topic == request.topic && reliable && reader.node != node && reader.created <= until
    };
    let writers = run.log.writers.iter().filter(|writer| writer.node == node);
    let copies = writers.map(|writer| {
        let readers = run.log.readers.iter().filter(|reader| asks(writer, reader)).count();
        let changes = writer.changes.iter().filter(|change| change.at <= until);
        let datagrams: u64 = changes.map(|change| 1 + change.len as u64 / room).sum();
        datagrams * readers.max(nodes) as u64
    });
    copies.sum()
}
