//! Each reliable reader gets every sample once, or a declared reason why not.

use dunlin_rtps::ChangeKind;

use crate::failure::Violation;
use crate::log::{Nanos, ReaderLog, WriterLog};
use crate::qos::Qos;
use crate::run::{MS, Run};
use crate::scenario::{Class, FaultPlan};

/// Which changes a reader owes an explanation for: from this number on.
#[must_use]
pub fn first_due(writer: &WriterLog, reader: &ReaderLog, durable: bool) -> Option<u64> {
    let since = writer.matched.get(&reader.guid)?.max(reader.matched.get(&writer.guid)?);
    if durable {
        return Some(1);
    }
    let before = writer.changes.iter().take_while(|change| change.at <= *since).count();
    Some(before as u64 + 1)
}

/// Whether a full history may have given up what it holds of an instance that was disposed by this change, before writer
/// and reader met: room for what was written afterwards is made of disposed instances that everybody knew of.
pub(super) fn made_room(writer: &WriterLog, offered: &Qos, disposal: usize, met: Nanos) -> bool {
    let Some(limit) = offered.max_samples else { return false };
    let later = writer.changes.iter().enumerate().skip((limit as usize).max(disposal + 1));
    later.take_while(|(_, change)| change.at <= met).next().is_some()
}

/// Samples that are due, were not taken, and that nothing excuses: their numbers.
pub fn missing(
    writer: &WriterLog,
    reader: &ReaderLog,
    offered: &Qos,
    requested: &Qos,
    received: impl Fn(u64) -> u8,
    first: u64,
) -> Vec<u64> {
    let met = writer.matched.get(&reader.guid).copied().unwrap_or(0);
    let depth = [offered.keep_last, requested.keep_last].into_iter().flatten().min();
    let mut later: std::collections::BTreeMap<u32, (u32, bool)> = std::collections::BTreeMap::new();
    let mut missing = Vec::new();
    // From the newest back: how many later changes of the instance there are, and whether one ends it.
    for (index, change) in writer.changes.iter().enumerate().rev() {
        let number = index as u64 + 1;
        if number < first {
            break;
        }
        let (count, gone) = later.entry(change.key).or_default();
        let wanted = change.kind == ChangeKind::Alive && requested.wants(change.key, number);
        if wanted && received(number) == 0 {
            // A disposal that was read says all, so the sample before it need not be kept either.
            let replaced = depth.is_some_and(|depth| *count >= depth);
            let ended = *gone && change.at <= met;
            if !replaced && !ended {
                missing.push(number);
            }
        }
        *count += 1;
        *gone |= match change.kind {
            ChangeKind::Alive => false,
            ChangeKind::Disposed => made_room(writer, offered, index, met),
            ChangeKind::Unregistered | ChangeKind::DisposedUnregistered => true,
        };
    }
    missing.reverse();
    missing
}

pub(super) fn complete(run: &Run<'_>, found: &mut Vec<Violation>) {
    for (w, writer, r, reader) in super::pairs(run) {
        let offered = &run.scenario.endpoints[writer.plan].qos;
        let requested = &run.scenario.endpoints[reader.plan].qos;
        let reliable = offered.reliable && requested.reliable && offered.matches(requested);
        // What these leave out is looked at by other checks.
        let selective = requested.exclusive || requested.separation > 0 || offered.lifespan.is_some();
        if !reliable || selective || is_stale_possible(run, r, requested) {
            continue;
        }
        let durable = offered.durable && requested.durable;
        let Some(first) = first_due(writer, reader, durable) else { continue };
        let received = reader.received.get(&w);
        let count = |number| received.map_or(0, |received| received.count(number));
        let missing = missing(writer, reader, offered, requested, count, first);
        // Several writers may fill the same instance of a KEEP_LAST reader.
        let shared = requested.keep_last.is_some() && has_rivals(run, w, r);
        let unheard = unheard_until(run, writer, reader);
        let untold = |number: &&u64| writer.changes[**number as usize - 1].at > unheard;
        let released = may_release(run, writer, reader, missing.iter().filter(untold).count());
        if !missing.is_empty() && !shared && !released {
            let text = format!(
                "reader {r} lacks {} of the {} samples of writer {w} from {first} on, first {:?}; it was told of {} lost",
                missing.len(),
                writer.changes.len(),
                &missing[..missing.len().min(8)],
                reader.lost,
            );
            found.push(Violation::new("complete", text));
        }
        lost(run, r, reader, found);
    }
}

/// A reader with a TIME_BASED_FILTER ends with the last value of each instance.
pub(super) fn last_values(run: &Run<'_>, found: &mut Vec<Violation>) {
    for (w, writer, r, reader) in super::pairs(run) {
        let offered = &run.scenario.endpoints[writer.plan].qos;
        let requested = &run.scenario.endpoints[reader.plan].qos;
        let reliable = offered.reliable && requested.reliable && offered.matches(requested);
        let plain = !requested.exclusive && offered.lifespan.is_none() && requested.separation > 0;
        // Several writers may write to an instance.
        if !reliable || !plain || has_rivals(run, w, r) || lacks_some(run, writer, reader) {
            continue;
        }
        let Some(first) = first_due(writer, reader, offered.durable && requested.durable) else { continue };
        let keyed = run.scenario.endpoints[writer.plan].keyed;
        let mut last = std::collections::BTreeMap::new();
        for (number, change) in (1_u64..).zip(&writer.changes) {
            last.insert(if keyed { change.key } else { 1 }, (number, change));
        }
        for (key, (number, change)) in last {
            let due = number >= first && change.kind == ChangeKind::Alive;
            let got = reader.received.get(&w).is_some_and(|received| received.count(number) > 0);
            if due && requested.wants(change.key, number) && !got {
                let text = format!("reader {r}, instance {key}: the last value, number {number}, is missing");
                found.push(Violation::new("last value", text));
            }
        }
    }
}

/// A writer whose history is limited releases what only inactive readers have not acknowledged; they are told how much. A
/// reader is inactive if something kept it from answering, for which there must have been a fault.
fn may_release(run: &Run<'_>, writer: &WriterLog, reader: &ReaderLog, missing: usize) -> bool {
    let offered = &run.scenario.endpoints[writer.plan].qos;
    let patience = run.scenario.nodes[writer.node].inactive_after;
    let long_enough =
        |plan: &FaultPlan| plan.on && (plan.until - plan.from >= patience || plan.class != Class::Pause);
    let limited = offered.max_samples.is_some() && offered.keep_last.is_none() && !offered.durable;
    let silent = writer.given_up.contains_key(&reader.guid) && run.scenario.faults.iter().any(long_enough);
    limited && silent && missing as u64 <= reader.lost
}

/// A reader that had heard nothing of its writer when that gave it up cannot tell what was released until it is back from
/// what was written before it came, and is told of no loss (`docs/slow-readers.md`).
fn unheard_until(run: &Run<'_>, writer: &WriterLog, reader: &ReaderLog) -> Nanos {
    let (Some(met), Some(times)) = (reader.matched.get(&writer.guid), writer.given_up.get(&reader.guid))
    else {
        return 0;
    };
    let own = |w: &usize| std::ptr::eq(&raw const run.log.writers[*w], writer);
    let received = reader.received.iter().find(|(w, _)| own(w)).map(|(_, received)| received);
    let first = received.and_then(|received| received.first_taken).unwrap_or(Nanos::MAX);
    let over = |(from, until): &(Nanos, Option<Nanos>)| {
        let until = until.unwrap_or(Nanos::MAX);
        (*met <= until && (from <= met || *from <= first)).then_some(until)
    };
    times.iter().find_map(over).unwrap_or(0)
}

/// Whether something was released that the reader has not got, told of or not.
pub(super) fn lacks_some(run: &Run<'_>, writer: &WriterLog, reader: &ReaderLog) -> bool {
    may_release(run, writer, reader, usize::from(unheard_until(run, writer, reader) == 0))
}

/// BY_SOURCE_TIMESTAMP drops what comes too late, which happens between writers with different clocks.
fn is_stale_possible(run: &Run<'_>, r: usize, requested: &Qos) -> bool {
    requested.by_source && run.log.readers[r].received.len() > 1
}

fn has_rivals(run: &Run<'_>, w: usize, r: usize) -> bool {
    let topic = run.scenario.endpoints[run.log.readers[r].plan].topic;
    let same =
        |(other, log): (usize, &WriterLog)| other != w && run.scenario.endpoints[log.plan].topic == topic;
    run.log.writers.iter().enumerate().any(same)
}

/// A reader that keeps all, of writers that keep all, that never parted from any, has lost nothing.
fn lost(run: &Run<'_>, r: usize, reader: &ReaderLog, found: &mut Vec<Violation>) {
    if reader.lost == 0 {
        return;
    }
    let topic = run.scenario.endpoints[reader.plan].topic;
    let steady = run.log.writers.iter().enumerate().all(|(w, writer)| {
        let plan = &run.scenario.endpoints[writer.plan];
        let parted = reader.received.get(&w).is_some_and(|received| received.sessions > 1)
            || writer.matched.get(&reader.guid).is_some_and(|since| {
                // The writer forgot the reader and found it again.
                *since > reader.matched.get(&writer.guid).copied().unwrap_or(0) + 10_000 * MS
            });
        plan.topic != topic
            || (writer.ended.is_none()
                && !parted
                && !run.scenario.is_tainted(writer.node)
                && plan.qos.keep_last.is_none()
                && plan.qos.lifespan.is_none()
                && plan.qos.reliable)
    });
    let never_parted = run.scenario.faults.iter().all(|plan| !plan.on);
    if steady && never_parted {
        let text = format!("reader {r} was told of {} lost samples and there was no reason", reader.lost);
        found.push(Violation::new("lost without reason", text));
    }
}

/// What a best-effort reader does not get between two samples that it got is declared lost.
pub(super) fn declared(run: &Run<'_>, found: &mut Vec<Violation>) {
    for (r, reader) in run.log.readers.iter().enumerate().filter(|(_, reader)| reader.ended.is_none()) {
        let qos = &run.scenario.endpoints[reader.plan].qos;
        let plain = qos.keep_last.is_none() && qos.max_samples.is_none() && !qos.exclusive && !qos.by_source;
        let tainted = (0..run.scenario.nodes.len()).any(|node| run.scenario.is_tainted(node));
        if qos.reliable || !plain || qos.separation > 0 || tainted {
            continue;
        }
        let mut holes = 0;
        for (w, received) in &reader.received {
            let writer = &run.log.writers[*w];
            let mortal = run.scenario.endpoints[writer.plan].qos.lifespan.is_some();
            if mortal || received.sessions > 1 {
                continue;
            }
            let got = |number: &usize| received.count(*number as u64) > 0;
            let Some(first) = (1..=received.samples.len()).find(got) else { continue };
            let missed = (first..=received.samples.len()).filter(|number| !got(number));
            let wanted = |number: &usize| {
                let change = &writer.changes[number - 1];
                change.kind == ChangeKind::Alive && qos.wants(change.key, *number as u64)
            };
            holes += missed.filter(wanted).count() as u64;
        }
        if holes > reader.lost {
            let text = format!("reader {r} lacks {holes} samples and was told of {} lost", reader.lost);
            found.push(Violation::new("declared", text));
        }
    }
}
