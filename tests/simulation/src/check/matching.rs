//! Discovery: who is there is known, who is not is forgotten; endpoints match if and only if their QoS says so.

use std::collections::BTreeSet;

use crate::failure::Violation;
use crate::log::{ReaderLog, Span, WriterLog};
use crate::run::{MS, Run};
use crate::scenario::{Fault, FaultPlan, Ms, Part};

/// A daemon that is back has learnt who is there after so long, besides the time between two announcements.
const RELEARNT: Ms = 500;

/// What is still missing until everything is as it should be.
pub(crate) fn convergence(run: &Run<'_>) -> Vec<Violation> {
    let mut missing = participants(run);
    strangers(run, &mut missing);
    refusals(run, &mut missing);
    super::timing::liveliness_at_rest(run, &mut missing);
    let tainted = (0..run.scenario.nodes.len()).any(|node| run.scenario.is_tainted(node));
    for (w, writer, r, reader) in super::pairs(run) {
        let offered = &run.scenario.endpoints[writer.plan].qos;
        let requested = &run.scenario.endpoints[reader.plan].qos;
        let expected = offered.matches(requested);
        let by_writer = writer.matched.contains_key(&reader.guid);
        let by_reader = reader.matched.contains_key(&writer.guid);
        if by_writer != expected || by_reader != expected {
            let text = format!(
                "writer {w} and reader {r} should match: {expected}; by writer {by_writer}, by reader {by_reader}"
            );
            missing.push(Violation::new("matching", text));
        } else if expected && offered.reliable && requested.reliable {
            let last = writer.slot.last_sn();
            if last.0 > 0 && !writer.slot.is_acked_by(reader.guid, last) {
                let text = format!("reader {r} has not acknowledged change {} of writer {w}", last.0);
                missing.push(Violation::new("acknowledged", text));
            }
            if !tainted && !reader.slot.historical_complete() {
                let text = format!("reader {r} waits for the history of a writer");
                missing.push(Violation::new("history", text));
            }
        }
    }
    missing
}

/// Matches with endpoints that are gone.
fn strangers(run: &Run<'_>, missing: &mut Vec<Violation>) {
    let log = &run.log;
    let clean = |node: usize| !run.scenario.is_tainted(node);
    let writers: BTreeSet<_> =
        log.writers.iter().filter(|writer| writer.ended.is_none()).map(|writer| writer.guid).collect();
    let readers: BTreeSet<_> =
        log.readers.iter().filter(|reader| reader.ended.is_none()).map(|reader| reader.guid).collect();
    for (w, writer) in log.writers.iter().enumerate() {
        if writer.ended.is_none() && clean(writer.node) {
            let gone = writer.matched.keys().filter(|guid| !readers.contains(guid));
            let text = |guid| format!("writer {w} is still matched with {guid:?}, which is gone");
            missing.extend(gone.map(|guid| Violation::new("match with what is gone", text(guid))));
        }
    }
    for (r, reader) in log.readers.iter().enumerate() {
        if reader.ended.is_none() && clean(reader.node) {
            let gone = reader.matched.keys().filter(|guid| !writers.contains(guid));
            let text = |guid| format!("reader {r} is still matched with {guid:?}, which is gone");
            missing.extend(gone.map(|guid| Violation::new("match with what is gone", text(guid))));
        }
    }
}

fn participants(run: &Run<'_>) -> Vec<Violation> {
    let mut missing = Vec::new();
    let up = |node: &usize| run.machines[*node].as_ref().is_some_and(|machine| machine.up);
    let clean = |node: &usize| !run.scenario.is_tainted(*node);
    let nodes: Vec<usize> = (0..run.machines.len()).filter(up).collect();
    let prefix = |node: usize| {
        let machine = run.machines[node].as_ref()?;
        Some(run.world.participant(machine.id).guid_prefix())
    };
    let all: BTreeSet<_> = nodes.iter().filter_map(|node| prefix(*node)).collect();
    for node in nodes.iter().filter(|node| clean(node)) {
        let Some(machine) = &run.machines[*node] else { continue };
        let known = run.world.participant(machine.id).discovered_participants();
        let known: BTreeSet<_> = known.iter().map(|data| data.guid_prefix).collect();
        for gone in known.iter().filter(|prefix| !all.contains(prefix)) {
            let text = format!("node {node} still knows {gone:?}");
            missing.push(Violation::new("participant not forgotten", text));
        }
        for other in nodes.iter().filter(|other| clean(other) && **other != *node) {
            let Some(unknown) = prefix(*other).filter(|prefix| !known.contains(prefix)) else { continue };
            if concern_each_other(run, *node, *other) {
                let text = format!("node {node} does not know {unknown:?}");
                missing.push(Violation::new("participant not found", text));
            }
        }
    }
    missing
}

/// Whether two nodes have to know each other: all do, but of two that servers introduce one writes and the other reads a topic.
fn concern_each_other(run: &Run<'_>, one: usize, other: usize) -> bool {
    let nodes = &run.scenario.nodes;
    match (nodes[one].part, nodes[other].part) {
        (Part::Client, Part::Client) => {
            let writer = |log: &WriterLog| (log.ended.is_none(), log.node, log.plan);
            let reader = |log: &ReaderLog| (log.ended.is_none(), log.node, log.plan);
            let alive = run.log.writers.iter().map(writer).chain(run.log.readers.iter().map(reader));
            let alive: Vec<_> =
                alive.filter(|(alive, ..)| *alive).map(|(_, node, plan)| (node, plan)).collect();
            have_a_topic(run, &alive, one, other)
        }
        (Part::Server, Part::Server) => false,
        _ => true,
    }
}

/// Whether one node writes and the other one reads the same topic, of these endpoints: their nodes and their numbers.
fn have_a_topic(run: &Run<'_>, endpoints: &[(usize, usize)], one: usize, other: usize) -> bool {
    let of = |node: usize| endpoints.iter().filter(move |(of, _)| *of == node).map(|(_, plan)| *plan);
    of(one).any(|a| {
        of(other).any(|b| {
            let (a, b) = (&run.scenario.endpoints[a], &run.scenario.endpoints[b]);
            a.topic == b.topic && a.is_writer() != b.is_writer()
        })
    })
}

/// Servers introduce nobody to those who have never had a topic in common with him.
pub(super) fn introduced(run: &Run<'_>, found: &mut Vec<Violation>) {
    let plans = run.scenario.endpoints.iter().enumerate().filter(|(_, plan)| plan.on);
    let plans: Vec<(usize, usize)> = plans.map(|(index, plan)| (plan.node, index)).collect();
    let clients = run.machines.iter().enumerate().filter_map(|(node, machine)| {
        let machine = machine.as_ref().filter(|machine| machine.up)?;
        let clean = !run.scenario.is_tainted(node);
        (clean && run.scenario.nodes[node].part == Part::Client).then_some((node, machine))
    });
    let clients: Vec<_> = clients.map(|(node, machine)| (node, run.world.participant(machine.id))).collect();
    for (node, participant) in &clients {
        let known: BTreeSet<_> =
            participant.discovered_participants().iter().map(|data| data.guid_prefix).collect();
        for (other, stranger) in clients.iter().filter(|(other, _)| other != node) {
            if known.contains(&stranger.guid_prefix()) && !have_a_topic(run, &plans, *node, *other) {
                let text = format!("node {node} knows node {other}, with which it has nothing in common");
                found.push(Violation::new("introduced for nothing", text));
            }
        }
    }
}

/// Where nothing happens but to servers and daemons, nobody matches anew: servers may be gone as long as they like, daemons for less
/// than a lease.
pub(super) fn once(run: &Run<'_>, found: &mut Vec<Violation>) {
    let nodes = &run.scenario.nodes;
    let is = |node: &usize, hub: fn(Part) -> bool| hub(nodes[*node].part);
    let server = |node: &usize| is(node, |part| part == Part::Server);
    let daemon = |node: &usize| is(node, |part| matches!(part, Part::Daemon(_)));
    let mut away = 0;
    let mut harmless = |plan: &FaultPlan| match &plan.fault {
        Fault::Crash(node, _) if daemon(node) => {
            away += plan.until - plan.from + RELEARNT;
            true
        }
        Fault::Crash(node, _) | Fault::Leave(node) | Fault::Pause(node) => server(node),
        Fault::Cut(from, to) => server(from) || server(to),
        Fault::Path(from, to, _) => from.iter().chain(to).any(server),
        fault => matches!(fault, Fault::Slow(_)),
    };
    let shortest = nodes.iter().map(|node| node.lease.saturating_sub(2 * node.period)).min().unwrap_or(0);
    let hubs = nodes.iter().any(|node| node.on && node.is_hub());
    if !hubs || !run.scenario.faults.iter().filter(|plan| plan.on).all(&mut harmless) || away > shortest {
        return;
    }
    for (w, writer, r, reader) in super::pairs(run) {
        let met = [writer.meetings.of(reader.guid), reader.meetings.of(writer.guid)];
        if met.iter().any(|met| met.len() > 1) {
            let ms = |met: &[Span]| met.iter().map(|(from, _)| from / MS).collect::<Vec<_>>();
            let met = met.map(ms);
            let text = format!("writer {w} and reader {r} matched more than once: at {met:?} ms");
            found.push(Violation::new("matched twice", text));
        }
    }
}

/// Endpoints that do not match although they meet are told every policy that stands against it, on both sides.
fn refusals(run: &Run<'_>, found: &mut Vec<Violation>) {
    for (w, writer, r, reader) in super::pairs(run) {
        let offered = &run.scenario.endpoints[writer.plan].qos;
        let requested = &run.scenario.endpoints[reader.plan].qos;
        let against = offered.against(requested);
        let types = run.scenario.endpoints[writer.plan].keyed == run.scenario.endpoints[reader.plan].keyed;
        if against.is_empty() || !offered.meets(requested) || !types {
            continue;
        }
        let told = [writer.refused.get(&reader.guid), reader.refused.get(&writer.guid)];
        for (side, told) in ["writer", "reader"].into_iter().zip(told) {
            if told != Some(&against) {
                let text =
                    format!("the {side} of writer {w} and reader {r} was told {told:?}, not {against:?}");
                found.push(Violation::new("refusal", text));
            }
        }
    }
}
