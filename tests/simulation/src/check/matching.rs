//! Discovery: who is there is known, who is not is forgotten; endpoints match if and only if their QoS says so.

use std::collections::BTreeSet;

use crate::failure::Violation;
use crate::run::Run;

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
    let expected: BTreeSet<_> =
        nodes.iter().filter(|node| clean(node)).filter_map(|node| prefix(*node)).collect();
    for node in nodes.iter().filter(|node| clean(node)) {
        let Some(machine) = &run.machines[*node] else { continue };
        let known = run.world.participant(machine.id).discovered_participants();
        let known: BTreeSet<_> = known.iter().map(|data| data.guid_prefix).collect();
        let own = prefix(*node);
        for gone in known.iter().filter(|prefix| !all.contains(prefix)) {
            let text = format!("node {node} still knows {gone:?}");
            missing.push(Violation::new("participant not forgotten", text));
        }
        for unknown in expected.iter().filter(|prefix| Some(**prefix) != own && !known.contains(prefix)) {
            let text = format!("node {node} does not know {unknown:?}");
            missing.push(Violation::new("participant not found", text));
        }
    }
    missing
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
