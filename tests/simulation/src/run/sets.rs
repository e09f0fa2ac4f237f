//! Publishers and subscribers, and coherent sets.

use std::sync::Arc;

use dunlin_engine::{Output, Participant, PublisherGroup, SubscriberGroup};
use dunlin_qos::PresentationAccessScope;
use dunlin_rtps::ChangeKind;

use super::agenda::Action;
use super::{MS, Run};
use crate::log::{SetLog, Written};
use crate::qos::Qos;
use crate::scenario::{GroupPlan, Role};

/// What the engine knows of a publisher or subscriber; nothing if its PRESENTATION asks for nothing.
#[derive(Clone)]
pub(super) enum Common {
    Publisher(Option<Arc<PublisherGroup>>),
    Subscriber(Option<Arc<SubscriberGroup>>),
}

/// A publisher or subscriber in one life of its node.
#[derive(Clone)]
pub(super) struct GroupLife {
    /// No other one of the run has this number.
    pub(super) number: usize,
    pub(super) common: Common,
    /// The set that was begun and not ended.
    pub(super) open: Option<usize>,
}

impl Run<'_> {
    /// The publisher or subscriber of an endpoint that is created now.
    pub(super) fn join_group(&mut self, index: usize) -> GroupLife {
        let plan = &self.scenario.endpoints[index];
        let known = plan.group.and_then(|group| self.groups[group].clone());
        if let Some(known) = known {
            return known;
        }
        self.group_lives += 1;
        let common = self.new_group(plan.node, &plan.qos, plan.is_writer());
        let life = GroupLife { number: self.group_lives, common, open: None };
        if let Some(group) = plan.group {
            self.groups[group] = Some(life.clone());
        }
        life
    }

    /// As the public API makes it.
    fn new_group(&mut self, node: usize, qos: &Qos, publisher: bool) -> Common {
        let by_group = qos.scope == PresentationAccessScope::Group;
        let wanted = qos.coherent || (qos.ordered && by_group);
        let Some(id) = self.id(node).filter(|_| wanted) else {
            return if publisher { Common::Publisher(None) } else { Common::Subscriber(None) };
        };
        self.world.with(id, |participant: &Participant, _, _: &mut Output| {
            if publisher {
                let presentation = qos.writer().1.presentation;
                Common::Publisher(participant.create_publisher_group(presentation).ok())
            } else {
                let presentation = qos.reader().1.presentation;
                Common::Subscriber(Some(participant.create_subscriber_group(presentation)))
            }
        })
    }

    /// The program on a node has ended, and all its publishers and subscribers with it.
    pub(super) fn forget_groups(&mut self, node: usize) {
        for (plan, life) in self.scenario.groups.iter().zip(&mut self.groups) {
            if plan.node == node {
                *life = None;
            }
        }
    }

    /// The live writers of a publisher, in the order of their creation.
    fn members(&self, group: usize) -> Vec<(usize, usize)> {
        let plans = self.scenario.endpoints.iter().enumerate();
        let living = plans.filter_map(|(index, plan)| {
            (plan.group == Some(group)).then(|| self.living[index].map(|number| (number, index))).flatten()
        });
        let mut members: Vec<_> = living.collect();
        members.sort_unstable();
        members
    }

    fn publisher(&self, group: usize) -> Option<Arc<PublisherGroup>> {
        match &self.groups[group].as_ref()?.common {
            Common::Publisher(publisher) => publisher.clone(),
            Common::Subscriber(_) => None,
        }
    }

    pub(super) fn begin_set(&mut self, group: usize) {
        let GroupPlan { node, sets: Some(sets) } = self.scenario.groups[group] else { return };
        if !self.writing {
            return;
        }
        let publisher = self.publisher(group).filter(|_| self.is_awake(node));
        let Some(publisher) = publisher else {
            self.agenda.at(self.age() + 20 * MS, Action::BeginSet(group));
            return;
        };
        publisher.begin_set();
        let set = self.log.sets.len();
        self.log.sets.push(SetLog { begun: self.age(), ended: None });
        let Some(life) = &mut self.groups[group] else { return };
        life.open = Some(set);
        for (number, index) in self.members(group) {
            for _ in 0..self.group_dice[group].within(0, sets.burst) {
                self.write_next(number, index);
            }
        }
        let at_once = self.group_dice[group].percent(30);
        let lasts = if at_once { 0 } else { self.group_dice[group].within(1, sets.lasts) };
        self.agenda.at(self.age() + lasts * MS, Action::EndSet(group));
    }

    pub(super) fn end_set(&mut self, group: usize) {
        let GroupPlan { node, sets: Some(sets) } = self.scenario.groups[group] else { return };
        let paused = self.machines[node].as_ref().is_some_and(|machine| machine.paused);
        if paused {
            self.agenda.at(self.age() + 20 * MS, Action::EndSet(group));
            return;
        }
        self.end_open_set(group);
        let pause = self.group_dice[group].within(1, sets.pause);
        self.agenda.at(self.age() + pause * MS, Action::BeginSet(group));
    }

    /// Ends the set that is open, unless its publisher has gone.
    pub(super) fn end_open_set(&mut self, group: usize) {
        let node = self.scenario.groups[group].node;
        let open = self.groups[group].as_mut().and_then(|life| life.open.take());
        let (Some(set), Some(publisher), Some(id)) = (open, self.publisher(group), self.id(node)) else {
            return;
        };
        let now = self.age();
        let end = publisher.end_set().flatten();
        for (number, _) in self.members(group) {
            let slot = Arc::clone(&self.log.writers[number].slot);
            let Some(sn) = end.as_ref().and_then(|end| self.world.end_set(id, &slot, end)) else { continue };
            self.note_written(number, sn, Written::end_of_set(now, set));
        }
        self.log.sets[set].ended = Some(now);
    }

    /// The next sample, or end, of an instance.
    pub(super) fn write_next(&mut self, number: usize, index: usize) {
        let Role::Writer { workload, keys, first_key, .. } = self.scenario.endpoints[index].role else {
            return;
        };
        let key = 1 + first_key + self.next_instance(index, workload, keys);
        let kind: ChangeKind = self.kind(index, number, key, workload);
        self.write(number, kind, key);
    }
}
