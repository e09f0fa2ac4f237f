//! Which faults really happened, and to how much: counted in the run, not read from the plan.

use std::collections::{BTreeMap, BTreeSet};

use super::Run;
use super::faults::groups;
use crate::scenario::{Class, Fault};

/// What faults did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Effects {
    /// By kind. Loss, bursts, duplicates, reordering, corruption, MTU, groups, cuts and partitions: datagrams that it
    /// happened to. Delay and rate: datagrams sent on the paths while it was in force. Byte order: datagrams sent in
    /// big-endian. Slow readers: looks that they left out. Hosts: datagrams longer than elsewhere. Memory: messages that did not
    /// arrive. Sets: those that ended. Forged samples: those that were taken. All others: how often it happened to a node that ran.
    pub kinds: BTreeMap<Class, u64>,
    /// Datagrams that did not arrive because the group of discovery or that of samples had failed.
    pub groups: [u64; 2],
    /// Single faults that began; those of a node only if it ran.
    pub begun: BTreeSet<usize>,
    /// How many kinds were in force at the same time, at most.
    pub together: usize,
    /// What had been sent on the paths of a fault when it began.
    before: BTreeMap<usize, u64>,
}

impl Effects {
    pub(super) fn add(&mut self, class: Class, count: u64) {
        if count > 0 {
            *self.kinds.entry(class).or_default() += count;
        }
    }
}

/// What is counted path by path.
fn by_paths(class: Class) -> bool {
    matches!(class, Class::Delay | Class::Rate | Class::Cut | Class::Partition)
}

/// What the network counts.
fn by_network(class: Class) -> bool {
    use Class::{Burst, Corrupt, Duplicate, Group, Loss, Memory, Mtu, Reorder};
    matches!(class, Loss | Burst | Duplicate | Reorder | Mtu | Group | Corrupt | Memory)
}

impl Run<'_> {
    /// Takes note that a fault begins; before it does, so that who crashes still runs.
    pub(super) fn effect_begins(&mut self, index: usize) {
        let plan = &self.scenario.faults[index];
        let runs = |node: usize| self.machines[node].as_ref().is_some_and(|machine| machine.up);
        if plan.fault.node().is_some_and(|node| !runs(node)) {
            return;
        }
        self.effects.begun.insert(index);
        if by_paths(plan.class) {
            let before = self.sent_on_paths(&plan.fault);
            self.effects.before.insert(index, before);
        } else if !by_network(plan.class) && !matches!(plan.class, Class::Slow | Class::Samples) {
            self.effects.add(plan.class, 1);
        }
        let begun = self.active.iter().filter(|index| self.effects.begun.contains(index));
        let mut kinds: BTreeSet<Class> = begun.map(|index| self.scenario.faults[*index].class).collect();
        if self.scenario.nodes.iter().any(|node| node.on && node.big_endian) {
            kinds.insert(Class::Endian);
        }
        self.effects.together = self.effects.together.max(kinds.len());
    }

    pub(super) fn effect_ends(&mut self, index: usize) {
        let plan = &self.scenario.faults[index];
        if let Some(before) = self.effects.before.remove(&index) {
            let sent = self.sent_on_paths(&plan.fault) - before;
            self.effects.add(plan.class, sent);
        }
    }

    /// What was sent on the paths of a fault so far; of a cut, what it stopped.
    fn sent_on_paths(&self, fault: &Fault) -> u64 {
        let hit = |from: usize, to: usize| match fault {
            Fault::Path(of, at, _) => of.is_none_or(|of| of == from) && at.is_none_or(|at| at == to),
            Fault::Cut(of, at) => (*of, *at) == (from, to),
            Fault::Partition(side) => side.contains(&from) != side.contains(&to),
            _ => false,
        };
        let count = self.machines.len();
        let pairs = (0..count).flat_map(|from| (0..count).map(move |to| (from, to)));
        let sent = |(from, to)| match (self.id(from), self.id(to)) {
            (Some(one), Some(other)) if matches!(fault, Fault::Path(..)) => {
                self.world.sent_between(one, other)
            }
            (Some(one), Some(other)) => self.world.cut_between(one, other),
            _ => 0,
        };
        pairs.filter(|(from, to)| hit(*from, *to)).map(sent).sum()
    }

    /// Adds what the network and the nodes have counted all along.
    pub(super) fn add_effects_of_the_network(&self, effects: &mut Effects) {
        let stats = self.world.network_stats();
        effects.add(Class::Loss, stats.lost - stats.lost_in_bursts);
        effects.add(Class::Burst, stats.lost_in_bursts);
        effects.add(Class::Duplicate, stats.duplicated);
        effects.add(Class::Reorder, stats.held_back);
        effects.add(Class::Corrupt, stats.corrupted);
        effects.add(Class::Mtu, stats.too_long);
        effects.add(Class::Host, stats.long);
        effects.add(Class::Memory, self.world.through_memory().1);
        effects.add(Class::Sets, self.log.sets.iter().filter(|set| set.ended.is_some()).count() as u64);
        effects.groups = groups().map(|group| self.world.group_failures(group));
        effects.add(Class::Group, effects.groups.iter().sum());
        for (plan, machine) in self.scenario.nodes.iter().zip(&self.machines) {
            if let (true, Some(machine)) = (plan.big_endian, machine) {
                effects.add(Class::Endian, self.world.sent_by(machine.id).datagrams);
            }
        }
    }
}
