//! Each reliable reader gets every sample once, or a declared reason why not.

use std::collections::BTreeSet;

use dunlin_rtps::ChangeKind;

use super::loss::{HISTORY_SENT, Pair};
use crate::failure::Violation;
use crate::log::{Nanos, ReaderLog, Span, WriterLog, Written};
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
pub(super) fn made_room(changes: &[Written], offered: &Qos, disposal: usize, met: Nanos) -> bool {
    let Some(limit) = offered.max_samples else { return false };
    let later = changes.iter().enumerate().skip((limit as usize).max(disposal + 1));
    later.take_while(|(_, change)| change.at <= met).next().is_some()
}

/// Samples that are due, were not taken, and that neither HISTORY nor an end of their instance before writer and reader met
/// excuses: their numbers.
pub fn missing(
    (changes, met): (&[Written], Nanos),
    offered: &Qos,
    requested: &Qos,
    received: impl Fn(u64) -> u8,
    first: u64,
) -> Vec<u64> {
    let depth = [offered.keep_last, requested.keep_last].into_iter().flatten().min();
    let mut later: std::collections::BTreeMap<u32, (u32, bool)> = std::collections::BTreeMap::new();
    let mut missing = Vec::new();
    // From the newest back: how many later changes of the instance there are, and whether one ends it.
    for (index, change) in changes.iter().enumerate().rev() {
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
            ChangeKind::Disposed => made_room(changes, offered, index, met),
            ChangeKind::Unregistered | ChangeKind::DisposedUnregistered => true,
        };
    }
    missing.reverse();
    missing
}

/// What is lost between a writer and a reader, and why.
fn pair<'a>(run: &'a Run<'_>, w: usize, r: usize) -> Pair<'a> {
    Pair { torn: super::sets::may_be_torn(run, w, r), ..pair_alone(run, w, r) }
}

/// The same without regard to coherent sets.
pub(super) fn pair_alone<'a>(run: &'a Run<'_>, w: usize, r: usize) -> Pair<'a> {
    let (writer, reader) = (&run.log.writers[w], &run.log.readers[r]);
    let requested = &run.scenario.endpoints[reader.plan].qos;
    let forged = super::near::forged(run, writer, reader);
    Pair {
        changes: &writer.changes,
        offered: &run.scenario.endpoints[writer.plan].qos,
        requested,
        by_writer: own_meetings(writer.meetings.of(reader.guid), reader.created),
        by_reader: reader.meetings.of(writer.guid),
        created: reader.created,
        inactive: silences(run, writer, reader),
        received: reader.received.get(&w),
        looks: &reader.looks,
        unseen: unseen(run, reader),
        // A forged sample without a timestamp counts as written when it came.
        stale: is_stale_possible(run, r, requested) || (requested.by_source && !forged.is_empty()),
        crowded: super::sets::is_crowded(run, r),
        orderly: is_orderly(run, writer, reader),
        torn: BTreeSet::new(),
        shown_sets: super::sets::shown(writer, reader.received.get(&w)),
        forged,
    }
}

/// When a writer had matched a reader, without the lives that it had under the same name before it was created. A writer that
/// has not met it since is judged by how it parted from the one before.
fn own_meetings(all: &[Span], created: Nanos) -> &[Span] {
    let earlier = all.partition_point(|(from, _)| *from < created);
    all.get(earlier..).filter(|own| !own.is_empty()).unwrap_or(all)
}

/// From when to when what was written may have arrived at a reader that is gone after it had last looked.
fn unseen(run: &Run<'_>, reader: &ReaderLog) -> Option<(Nanos, Nanos)> {
    let looked = reader.looks.last().copied().unwrap_or(0);
    let until = reader.ended?;
    Some((looked.saturating_sub(run.scenario.longest_way() * MS), until))
}

/// Whether no fault of the network was in force when the writer had just met the reader.
fn is_orderly(run: &Run<'_>, writer: &WriterLog, reader: &ReaderLog) -> bool {
    // What happens to a daemon happens to what it passes on.
    let network = |plan: &FaultPlan| {
        use Class::{Crash, Drift, Jump, Leave, Rebirth, Slow};
        let to_hub = plan.fault.node().is_some_and(|node| run.scenario.nodes[node].is_hub());
        to_hub || ![Crash, Rebirth, Leave, Jump, Drift, Slow].contains(&plan.class)
    };
    let meetings = writer.meetings.of(reader.guid);
    let near = |plan: &FaultPlan, met: Nanos| {
        plan.from * MS <= met + HISTORY_SENT && met <= plan.until * MS + HISTORY_SENT
    };
    let disturbs =
        |plan: &FaultPlan| plan.on && network(plan) && meetings.iter().any(|(met, _)| near(plan, *met));
    !run.scenario.faults.iter().any(disturbs)
}

/// Every sample that is due to a reliable reader arrives, or may be lost.
pub(super) fn complete(run: &Run<'_>, found: &mut Vec<Violation>) {
    for (w, writer, r, reader) in super::pairs(run) {
        let pair = pair(run, w, r);
        // Several writers may fill the same instance of a KEEP_LAST reader.
        let shared = pair.requested.keep_last.is_some() && has_rivals(run, w, r);
        if shared || !pair.offered.matches(pair.requested) {
            continue;
        }
        let missing = pair.verdict().missing;
        let met = reader.meetings.of(writer.guid);
        if !missing.is_empty() {
            let text = format!(
                "reader {r} lacks {} of the {} samples of writer {w} without a reason, first {:?}; it was told of {} lost",
                missing.len(),
                writer.changes.len(),
                &missing[..missing.len().min(8)],
                reader.lost,
            );
            let coherent = pair.requested.coherent && missing.iter().all(|n| writer.set_of(*n).is_some());
            let span = writer.set_of(missing[0]).map(|set| run.log.sets[set]);
            let text = if coherent { format!("{text}; {span:?} in ns, they had met {met:?}") } else { text };
            found.push(Violation::new(if coherent { "set missing" } else { "complete" }, text));
        }
    }
}

/// SAMPLE_LOST counts what is lost: all that must be told, and nothing that nothing explains.
pub(super) fn told(run: &Run<'_>, found: &mut Vec<Violation>) {
    for (r, reader) in run.log.readers.iter().enumerate() {
        let plan = &run.scenario.endpoints[reader.plan];
        let writers = run.log.writers.iter().enumerate().filter(|(_, writer)| {
            let offer = &run.scenario.endpoints[writer.plan];
            offer.topic == plan.topic && offer.qos.matches(&plan.qos)
        });
        let tainted = writers.clone().any(|(_, writer)| run.scenario.is_tainted(writer.node));
        if tainted || run.scenario.is_tainted(reader.node) {
            continue;
        }
        let (mut must, mut may) = (0, 0);
        for (w, writer) in writers {
            let verdict = pair(run, w, r).verdict();
            may += verdict.may;
            // What was still on its way when one of them went is nobody's loss.
            let lives = writer.ended.is_none() && reader.ended.is_none();
            let shared = plan.qos.keep_last.is_some() && has_rivals(run, w, r);
            must += if lives && !shared { verdict.must } else { 0 };
        }
        if reader.lost > may {
            let text = format!("reader {r} was told of {} lost samples, at most {may} may be", reader.lost);
            found.push(Violation::new("lost without reason", text));
        }
        if reader.lost < must {
            let text = format!("reader {r} was told of {} lost samples, but lacks {must}", reader.lost);
            found.push(Violation::new("silent loss", text));
        }
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
        let forged = run.scenario.is_forged_to(reader.plan);
        if !reliable || !plain || forged || has_rivals(run, w, r) || lacks_some(run, w, r) {
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

/// When the writer did not wait for a reader, as far as something kept that from answering: a fault, or it had not discovered the
/// writer when that asked it for the last time.
fn silences(run: &Run<'_>, writer: &WriterLog, reader: &ReaderLog) -> Vec<Span> {
    let patience = run.scenario.nodes[writer.node].inactive_after;
    let long_enough =
        |plan: &FaultPlan| plan.on && (plan.until - plan.from >= patience || plan.class != Class::Pause);
    let disturbed = run.scenario.faults.iter().any(long_enough);
    let meetings = reader.meetings.of(writer.guid);
    let spans = writer.given_up.of(reader.guid).iter();
    spans.filter(|(from, _)| disturbed || !could_answer(meetings, *from, patience * MS)).copied().collect()
}

/// Whether a reader that is given up after so long without an answer knew the writer at the last question, of which half of that
/// time was left.
fn could_answer(meetings: &[Span], given_up: Nanos, patience: Nanos) -> bool {
    let asked = given_up.saturating_sub(patience / 2);
    meetings.iter().any(|(met, parted)| *met <= asked && parted.is_none_or(|parted| parted > asked))
}

/// Whether something was released that the reader has not got, told of or not.
pub(super) fn lacks_some(run: &Run<'_>, w: usize, r: usize) -> bool {
    pair(run, w, r).lacks_some()
}

/// BY_SOURCE_TIMESTAMP drops what comes too late, which happens between writers with different clocks.
fn is_stale_possible(run: &Run<'_>, r: usize, requested: &Qos) -> bool {
    requested.by_source && run.log.readers[r].received.len() > 1
}

pub(super) fn has_rivals(run: &Run<'_>, w: usize, r: usize) -> bool {
    let topic = run.scenario.endpoints[run.log.readers[r].plan].topic;
    let same =
        |(other, log): (usize, &WriterLog)| other != w && run.scenario.endpoints[log.plan].topic == topic;
    run.log.writers.iter().enumerate().any(same)
}

#[cfg(test)]
mod tests {
    use super::{could_answer, own_meetings};

    #[test]
    fn meetings_of_a_former_life_are_not_those_of_the_reader() {
        let all = [(10, Some(20)), (40, Some(50)), (60, None)];
        assert_eq!(own_meetings(&all, 0), &all);
        assert_eq!(own_meetings(&all, 30), &all[1..]);
        assert_eq!(own_meetings(&all, 60), &all[2..]);
        assert_eq!(own_meetings(&all, 61), &all, "it has not met the writer");
        assert!(own_meetings(&[], 0).is_empty());
    }

    #[test]
    fn a_reader_that_has_not_discovered_the_writer_cannot_acknowledge() {
        let silent = |meetings: &[_]| !could_answer(meetings, 200, 100);
        assert!(silent(&[]));
        assert!(silent(&[(151, None)]), "it may not have heard a question");
        assert!(!silent(&[(150, None)]));
        assert!(!silent(&[(10, Some(151))]));
        assert!(silent(&[(10, Some(150))]));
        assert!(silent(&[(10, Some(150)), (160, None)]));
    }
}
