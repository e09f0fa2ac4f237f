//! DEADLINE, LIVELINESS and TIME_BASED_FILTER against small models.

use std::collections::BTreeMap;

use dunlin_rtps::ChangeKind;

use crate::failure::Violation;
use crate::log::{Nanos, WriterLog};
use crate::run::{MS, Run};

/// Two times that are nearer than this are the same for a model.
pub const BLUR: Nanos = 3 * MS;

/// How many periods end in a gap, at least and at most.
#[must_use]
pub fn periods(gap: Nanos, period: Nanos) -> (u64, u64) {
    (gap.saturating_sub(BLUR) / period, (gap + BLUR) / period)
}

fn add(sum: &mut (u64, u64), more: (u64, u64)) {
    sum.0 += more.0;
    sum.1 += more.1;
}

/// Each period that passes without a write of a registered instance is told once.
pub(super) fn deadlines_of_writers(run: &Run<'_>, found: &mut Vec<Violation>) {
    for (w, writer) in run.log.writers.iter().enumerate() {
        let plan = &run.scenario.endpoints[writer.plan];
        let Some(period) = plan.qos.deadline.map(|ms| ms * MS) else { continue };
        // A crash may come before the last period was told.
        let Some(end) = writer.ended.is_none().then(|| run.age()) else { continue };
        let mut sums: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        let mut since: BTreeMap<u32, Nanos> = BTreeMap::new();
        for change in writer.changes.iter().filter(|change| !change.ends_set()) {
            let key = if plan.keyed { change.key } else { 1 };
            if let Some(since) = since.remove(&key) {
                add(sums.entry(key).or_default(), periods(change.at - since, period));
            }
            if change.kind == ChangeKind::Alive {
                since.insert(key, change.at);
            }
        }
        for (key, since) in since {
            add(sums.entry(key).or_default(), periods(end - since, period));
        }
        for (key, (least, most)) in sums {
            let told = writer.deadlines_missed.get(&key).copied().unwrap_or(0);
            if told < least || told > most {
                let text =
                    format!("writer {w}, instance {key}: {told} missed deadlines, not {least} to {most}");
                found.push(Violation::new("offered deadline", text));
            }
        }
    }
}

/// Each period that passes without a sample of an instance that has a writer is told once. Judged where all arrivals
/// are seen: one writer, which is always there, never disposes, and whose samples are all taken.
pub(super) fn deadlines_of_readers(run: &Run<'_>, found: &mut Vec<Violation>) {
    for (r, reader) in run.log.readers.iter().enumerate().filter(|(_, reader)| reader.ended.is_none()) {
        let plan = &run.scenario.endpoints[reader.plan];
        let Some(period) = plan.qos.deadline.map(|ms| ms * MS) else { continue };
        let topic = run.log.writers.iter().enumerate();
        let mut writers = topic.filter(|(_, writer)| run.scenario.endpoints[writer.plan].topic == plan.topic);
        let (Some((w, writer)), None) = (writers.next(), writers.next()) else { continue };
        let steady = writer.ended.is_none()
            && writer.changes.iter().all(|change| change.kind == ChangeKind::Alive || change.ends_set())
            && reader.received.get(&w).is_some_and(|received| received.sessions == 1)
            && reader.matched.contains_key(&writer.guid);
        let offer = &run.scenario.endpoints[writer.plan].qos;
        let simple = plan.qos.keep_last.is_none()
            && plan.qos.max_samples.is_none()
            && plan.qos.separation == 0
            && plan.qos.filter.is_none()
            && offer.lifespan.is_none()
            // An instance all of whose samples were taken is forgotten while its writer is not alive.
            && !reader.once_dead.contains(&writer.guid);
        let clock = run.scenario.has_odd_clock(reader.node) || run.scenario.is_tainted(reader.node);
        if !steady || !simple || clock || run.scenario.is_forged_to(reader.plan) {
            continue;
        }
        let Some(machine) = &run.machines[reader.node] else { continue };
        let now = run.world.now(machine.id).wall.0;
        for (key, arrivals) in &reader.arrivals {
            let ends = arrivals.iter().skip(1).chain([&now]);
            let mut sum = (0, 0);
            for (from, to) in arrivals.iter().zip(ends) {
                add(&mut sum, periods(u64::try_from(to - from).unwrap_or(0), period));
            }
            let told = reader.deadlines_missed.get(key).copied().unwrap_or(0);
            if told < sum.0 || told > sum.1 {
                let (least, most) = sum;
                let text =
                    format!("reader {r}, instance {key}: {told} missed deadlines, not {least} to {most}");
                found.push(Violation::new("requested deadline", text));
            }
        }
    }
}

/// When a writer showed itself alive by its own doing.
fn signs(run: &Run<'_>, writer: &WriterLog) -> Vec<Nanos> {
    let by_participant = run.scenario.endpoints[writer.plan].qos.liveliness == 1;
    let mut signs = vec![writer.created];
    for other in &run.log.writers {
        let own = other.guid == writer.guid && other.created == writer.created;
        let same_life = other.guid.prefix == writer.guid.prefix && other.ended.is_none();
        if own || (by_participant && same_life) {
            signs.extend(other.changes.iter().filter(|change| !change.ends_set()).map(|change| change.at));
            let manual = run.scenario.endpoints[other.plan].qos.liveliness > 0;
            signs.extend(other.asserted.iter().filter(|_| own || manual));
        }
    }
    signs.retain(|at| *at >= writer.created);
    signs.sort_unstable();
    signs
}

/// A writer that must show itself alive and does not for its lease is told once each time.
pub(super) fn liveliness_lost(run: &Run<'_>, found: &mut Vec<Violation>) {
    for (w, writer) in run.log.writers.iter().enumerate().filter(|(_, writer)| writer.ended.is_none()) {
        let plan = &run.scenario.endpoints[writer.plan];
        let (1.., Some(lease)) = (plan.qos.liveliness, plan.qos.lease.map(|ms| ms * MS)) else { continue };
        // Writers of the participant that are gone have given signs that are not followed here; refused writes, too.
        let others = run.log.writers.iter().any(|other| {
            (other.guid.prefix == writer.guid.prefix && other.ended.is_some()) || other.full > 0
        });
        if plan.qos.liveliness == 1 && others || writer.full > 0 {
            continue;
        }
        let signs = signs(run, writer);
        let ends = signs.iter().skip(1).copied().chain([run.age()]);
        let mut sum = (0, 0);
        for (from, to) in signs.iter().zip(ends) {
            let gap = to - from;
            sum.0 += u64::from(gap > lease + 2 * BLUR);
            sum.1 += u64::from(gap + 2 * BLUR > lease);
        }
        // A look at the wrong moment tells the same loss late, never twice.
        let told = writer.liveliness_lost;
        if told < sum.0 || told > sum.1 {
            let (least, most) = sum;
            let text = format!("writer {w}: liveliness lost {told} times, not {least} to {most}");
            found.push(Violation::new("liveliness lost", text));
        }
    }
}

/// Readers hold a writer for alive if it showed itself alive within its lease.
pub(super) fn liveliness_at_rest(run: &Run<'_>, found: &mut Vec<Violation>) {
    let now = run.age();
    for (w, writer, r, reader) in super::pairs(run) {
        let (offer, request) =
            (&run.scenario.endpoints[writer.plan].qos, &run.scenario.endpoints[reader.plan].qos);
        if !offer.matches(request) {
            continue;
        }
        let expected = match offer.lease.map(|ms| ms * MS) {
            Some(lease) if offer.liveliness > 0 => {
                let others = run.log.writers.iter().any(|other| other.full > 0);
                let last = signs(run, writer).last().copied().unwrap_or(0);
                let met = reader.matched.get(&writer.guid).copied().unwrap_or(0);
                let age = now - last.max(met);
                if others || (age + lease / 2 + 200 * MS > lease && age < 2 * lease + 500 * MS) {
                    continue;
                }
                // Silence that is over long before they met is told from then on.
                age < lease
            }
            _ => true,
        };
        let told = reader.alive.get(&writer.guid).copied().unwrap_or_default();
        let is = (told.alive, told.not_alive);
        let should = if expected { (1, 0) } else { (0, 1) };
        if is != should {
            let text = format!("reader {r} holds writer {w} for (alive, not alive) {is:?}, not {should:?}");
            found.push(Violation::new("liveliness at rest", text));
        }
    }
}

/// Samples of an instance come no faster than the reader wants them.
pub(super) fn separations(run: &Run<'_>, found: &mut Vec<Violation>) {
    for (r, reader) in run.log.readers.iter().enumerate() {
        let separation = run.scenario.endpoints[reader.plan].qos.separation * MS;
        if separation == 0 {
            continue;
        }
        let lived = reader.ended.unwrap_or(run.age()) - reader.created;
        // An instance that comes back to life begins anew.
        let revived: u64 = run.log.writers.iter().map(|writer| writer.changes.len() as u64).sum();
        let kinds = run.log.writers.iter().flat_map(|writer| &writer.changes);
        let ends = kinds.filter(|change| change.kind != ChangeKind::Alive).count() as u64;
        let most = lived / separation + 2 + ends.min(revived);
        for (key, count) in reader.shown_count.iter().filter(|(_, count)| **count > most) {
            let text = format!("reader {r}, instance {key}: {count} samples, at most {most} are wanted");
            found.push(Violation::new("separation", text));
        }
    }
}
