//! What somebody cannot do who sends from a node's own address and port: end a match, or take the place of samples untold
//! (docs/hostile-input.md, goodbyes and forged samples).

use std::collections::BTreeMap;

use dunlin_core::Misbehaviour;
use dunlin_rtps::ChangeKind;

use super::loss::Pair;
use crate::failure::Violation;
use crate::log::{Nanos, ReaderLog, WriterLog};
use crate::run::{MS, Run};
use crate::scenario::{Fault, FaultPlan, Ms};

/// The source timestamps of so many delivered samples are remembered.
const REMEMBERED: u64 = 64;
/// After a goodbye that is not believed at once a peer is asked for so long, and before that it may rest.
const ASKED: Ms = 2_600;
/// Two endpoints that met have said so to each other, and a fault is over and done with.
const SETTLED: Ms = 2_000;

/// Numbers that forged samples to the node of a reader had, and whether it has to notice what is replaced: it gets what is written, and
/// remembers it.
pub(super) fn forged(run: &Run<'_>, writer: &WriterLog, reader: &ReaderLog) -> BTreeMap<u64, bool> {
    // What was on the way when the reader was created it may get.
    let way = run.scenario.longest_way() * MS;
    let to_it =
        writer.forged.iter().filter(|(at, node, _)| *node == reader.node && *at + way >= reader.created);
    let mut first: BTreeMap<u64, Nanos> = BTreeMap::new();
    for (at, _, number) in to_it {
        first.entry(*number).or_insert(*at);
    }
    first.into_iter().map(|(number, at)| (number, is_noticed(run, (writer, reader), number, at))).collect()
}

fn is_noticed(run: &Run<'_>, (writer, reader): (&WriterLog, &ReaderLog), number: u64, forged: Nanos) -> bool {
    let Some(change) = writer.changes.get(number as usize - 1) else { return false };
    let scenario = run.scenario;
    let request = &scenario.endpoints[reader.plan].qos;
    // Such a reader need not take what arrives.
    let takes_all = request.keep_last.is_none() && request.max_samples.is_none() && request.separation == 0;
    let heard = [writer.node, reader.node].iter().all(|node| !scenario.nodes[*node].unaware);
    let met = writer.matched.get(&reader.guid).zip(reader.matched.get(&writer.guid));
    let begin = change.at.min(forged);
    let known = met.is_some_and(|(one, other)| *one.max(other) + SETTLED * MS <= begin);
    let arrived = change.at + scenario.longest_way() * MS;
    // What is lost on the way is not sent again: the forged one was acknowledged.
    let quiet = !scenario.is_disturbed((begin / MS).saturating_sub(SETTLED), arrived / MS);
    let written = writer.changes.partition_point(|change| change.at <= arrived) as u64;
    let sent = writer.forged.iter().filter(|(at, node, _)| *node == reader.node && *at <= arrived);
    let last = sent.map(|(.., number)| *number).max().unwrap_or(0).max(written);
    takes_all && heard && known && quiet && last < number + REMEMBERED
}

impl Pair<'_> {
    /// How many losses forged samples may seem to cause: one for each number and meeting, and to a best-effort reader, which goes on behind
    /// them, of all in front of them.
    pub(super) fn may_by_forgery(&self) -> u64 {
        let meetings = self.by_reader.len().max(1) as u64;
        let last = self.forged.keys().next_back().copied().unwrap_or(0);
        meetings * if self.reliable() { self.forged.len() as u64 } else { last }
    }

    /// Whether a reader must be told that a forged sample took the place of its writer's: every sample that arrives, it takes.
    pub(super) fn notices(&self, number: u64) -> bool {
        let alive = self.change(number).is_some_and(|change| change.kind == ChangeKind::Alive);
        let explained = self.reliable() && self.own_reason(number).is_some();
        alive && !explained && self.forged.get(&number).copied().unwrap_or(false)
    }

    /// How many samples the reader has to notice that it lacks because of forged ones.
    fn replaced_and_noticed(&self) -> u64 {
        let owed =
            self.requested.separation == 0 && !self.requested.exclusive && self.offered.lifespan.is_none();
        let first = self.first_due().filter(|_| owed && !self.stale);
        let Some(first) = first else { return 0 };
        let lacks = |number: &u64| {
            let wanted = self.change(*number).is_some_and(|it| self.requested.wants(it.key, *number));
            *number >= first && wanted && !self.taken(*number) && self.notices(*number)
        };
        self.forged.keys().filter(|number| lacks(number)).count() as u64
    }
}

/// What a reliable reader notices it counts as contradictory duplicates.
pub(super) fn contradicted(run: &Run<'_>, found: &mut Vec<Violation>) {
    for (r, reader) in run.log.readers.iter().enumerate().filter(|(_, reader)| reader.ended.is_none()) {
        if !run.scenario.is_forged_to(reader.plan) || run.scenario.is_tainted(reader.node) {
            continue;
        }
        let Some(machine) = &run.machines[reader.node] else { continue };
        let pairs = super::pairs(run).filter(|(.., other, _)| *other == r);
        let pairs = pairs.map(|(w, ..)| super::delivery::pair_alone(run, w, r));
        let noticed: u64 = pairs.filter(Pair::reliable).map(|pair| pair.replaced_and_noticed()).sum();
        let all = run.world.participant(machine.id).misbehaviours();
        let counted: u64 =
            all.iter().map(|one| u64::from(one.counts.of(Misbehaviour::ContradictoryDuplicate))).sum();
        if counted < noticed {
            let text = format!(
                "reader {r} counts {counted} contradictory duplicates, but {noticed} samples were replaced"
            );
            found.push(Violation::new("contradiction untold", text));
        }
    }
}

/// A forged goodbye ends no match, unless something else kept the peer from its answers.
pub(super) fn parted(run: &Run<'_>, found: &mut Vec<Violation>) {
    for writer in &run.log.writers {
        for reader in &run.log.readers {
            let ended = [writer.ended, reader.ended].into_iter().flatten().min();
            let sides = [
                ("writer", reader.node, writer.node, writer.meetings.of(reader.guid)),
                ("reader", writer.node, reader.node, reader.meetings.of(writer.guid)),
            ];
            for (side, named, at, met) in sides {
                let since = writer.created.max(reader.created);
                let lost = met.iter().filter_map(|(from, until)| until.filter(|_| *from >= since));
                let lost = lost.filter(|lost| ended.is_none_or(|ended| *lost < ended));
                for lost in lost.filter(|lost| is_by_goodbye(run, (named, at), *lost)) {
                    let text = format!("a {side} on node {at} lost node {named} at {} ms", lost / MS);
                    found.push(Violation::new("parted by a goodbye", text));
                }
            }
        }
    }
}

/// Whether nothing but a forged goodbye can have ended a match at this time.
fn is_by_goodbye(run: &Run<'_>, (named, at): (usize, usize), lost: Nanos) -> bool {
    let lost = lost / MS;
    let longest = run.scenario.nodes.iter().map(|node| node.lease).max().unwrap_or(0);
    let said = |plan: &FaultPlan| {
        let same = matches!(plan.fault, Fault::Goodbyes(who, to, _) if (who, to) == (named, at));
        plan.on && same && (plan.from..=plan.until + ASKED).contains(&lost)
    };
    let tainted = run.scenario.is_tainted(named) || run.scenario.is_tainted(at);
    let disturbed = run.scenario.is_disturbed(lost.saturating_sub(longest + SETTLED), lost);
    !tainted && !disturbed && run.scenario.faults.iter().any(said)
}
