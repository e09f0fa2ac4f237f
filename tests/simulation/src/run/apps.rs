//! What the applications do: create, write, show that they are alive.

use std::sync::Arc;

use dunlin_core::SequenceNumber;
use dunlin_engine::{EndpointLocators, Output, Participant, ReaderSpec, WriteError, WriterSpec};
use dunlin_qos::TopicData;
use dunlin_rtps::ChangeKind;

use super::agenda::Action;
use super::sets::Common;
use super::{Known, MS, Run};
use crate::data::{self, Content, Data, HEADER};
use crate::log::{ReaderLog, WriterLog, Written};
use crate::qos::FILTERS;
use crate::scenario::{EndpointPlan, Role, Workload};

fn topic_name(plan: &EndpointPlan) -> String {
    format!("Topic{}", plan.topic)
}

fn type_name(plan: &EndpointPlan) -> String {
    if plan.keyed { "Keyed".into() } else { "Plain".into() }
}

fn writer_spec(plan: &EndpointPlan) -> WriterSpec {
    let (qos, publisher_qos) = plan.qos.writer();
    WriterSpec {
        topic_name: topic_name(plan),
        type_name: type_name(plan),
        keyed: plan.keyed,
        qos,
        publisher_qos,
        topic_data: TopicData::default(),
        type_information: None,
        type_description: Some(data::description(plan.keyed).into()),
        locators: EndpointLocators::default(),
    }
}

fn reader_spec(plan: &EndpointPlan) -> ReaderSpec {
    let (qos, subscriber_qos) = plan.qos.reader();
    ReaderSpec {
        topic_name: topic_name(plan),
        type_name: type_name(plan),
        qos,
        subscriber_qos,
        topic_data: TopicData::default(),
        type_information: None,
        locators: EndpointLocators::default(),
        type_support: Arc::new(Data { keyed: plan.keyed }),
    }
}

impl Run<'_> {
    /// Whether the program on a node does anything now.
    pub(super) fn is_awake(&self, node: usize) -> bool {
        self.machines[node].as_ref().is_some_and(|machine| machine.up && !machine.paused)
    }

    pub(super) fn appear(&mut self, index: usize) {
        let plan = &self.scenario.endpoints[index];
        if self.living[index].is_some() || plan.leaves.is_some_and(|leaves| leaves * MS <= self.age()) {
            return;
        }
        if !self.is_awake(plan.node) {
            // A program that stands still creates it later; one that crashed creates everything when it starts.
            if self.machines[plan.node].as_ref().is_some_and(|machine| machine.up) {
                self.agenda.at(self.age() + 20 * MS, Action::Appear(index));
            }
            return;
        }
        self.lives[index] += 1;
        let life = self.lives[index];
        match plan.role {
            Role::Writer { .. } => self.create_writer(index, plan, life),
            Role::Reader { period } => {
                self.create_reader(index, plan);
                self.agenda.at(self.age() + period * MS, Action::Take(index, life));
            }
        }
    }

    fn create_writer(&mut self, index: usize, plan: &EndpointPlan, life: u32) {
        let group = self.join_group(index);
        let Some(machine) = &mut self.machines[plan.node] else { return };
        let create = |participant: &Participant, now, out: &mut Output| {
            let Common::Publisher(common) = group.common else { unreachable!("a writer has a publisher") };
            participant.create_grouped_writer(now, writer_spec(plan), common, None, out)
        };
        let slot = self.world.with(machine.id, create).expect("a good writer");
        let number = self.log.writers.len();
        machine.entities.insert(slot.guid().entity_id, Known::Writer(number));
        let created = self.age();
        self.log.writers.push(WriterLog::new(index, (plan.node, group.number), slot, created));
        self.living[index] = Some(number);
        let first = self.dice[index].within(1, 200);
        self.agenda.at(created + first * MS, Action::Tick(index, life));
        if let (1.., Some(lease)) = (plan.qos.liveliness, plan.qos.lease) {
            self.agenda.at(created + lease * MS / 4, Action::Assert(index, life));
        }
    }

    fn create_reader(&mut self, index: usize, plan: &EndpointPlan) {
        let group = self.join_group(index);
        let Some(machine) = &mut self.machines[plan.node] else { return };
        let filter = plan.qos.filter.map(|filter| data::filter(plan.keyed, FILTERS[filter].0));
        let create = |participant: &Participant, now, out: &mut Output| {
            let Common::Subscriber(common) = group.common else { unreachable!("a reader has a subscriber") };
            participant.create_filtered_reader(now, reader_spec(plan), filter, common, None, out)
        };
        let slot = self.world.with(machine.id, create).expect("a good reader");
        let number = self.log.readers.len();
        machine.entities.insert(slot.guid().entity_id, Known::Reader(number));
        let created = self.age();
        self.log.readers.push(ReaderLog::new(index, (plan.node, group.number), slot, created));
        self.living[index] = Some(number);
    }

    pub(super) fn vanish(&mut self, index: usize) {
        let plan = &self.scenario.endpoints[index];
        let Some(number) = self.living[index] else { return };
        if !self.is_awake(plan.node) {
            self.agenda.at(self.age() + 20 * MS, Action::Vanish(index));
            return;
        }
        let Some(id) = self.machines[plan.node].as_ref().map(|machine| machine.id) else { return };
        self.poll(plan.node);
        self.living[index] = None;
        let now = self.age();
        if plan.is_writer() {
            let writer = &mut self.log.writers[number];
            writer.ended = Some(now);
            let slot = Arc::clone(&writer.slot);
            self.world.with(id, |participant, now, out| participant.delete_writer(now, &slot, out));
        } else {
            self.take(number);
            let reader = &mut self.log.readers[number];
            reader.ended = Some(now);
            let slot = Arc::clone(&reader.slot);
            self.world.with(id, |participant, now, out| participant.delete_reader(now, &slot, out));
        }
    }

    pub(super) fn tick(&mut self, index: usize) {
        let plan = &self.scenario.endpoints[index];
        let Role::Writer { workload, period, silent_from, .. } = plan.role else { return };
        if !self.writing || silent_from.is_some_and(|from| from * MS <= self.age()) {
            return;
        }
        let life = self.lives[index];
        let wait = match workload {
            Workload::Alerts => self.dice[index].within(1, 2 * period),
            Workload::Replies(_) => return,
            _ => period,
        };
        self.agenda.at(self.age() + wait * MS, Action::Tick(index, life));
        let (Some(number), true) = (self.living[index], self.is_awake(plan.node)) else { return };
        let count = match workload {
            Workload::Tracks => 3,
            Workload::Alerts => self.dice[index].small(1, 8),
            _ => 1,
        };
        for _ in 0..count {
            self.write_next(number, index);
        }
    }

    /// Which of its instances is next.
    pub(super) fn next_instance(&mut self, index: usize, workload: Workload, keys: u32) -> u32 {
        self.ticks[index] += 1;
        let turn = match workload {
            Workload::Tracks | Workload::Alerts => self.dice[index].within(0, u64::from(keys) - 1),
            _ => self.ticks[index] % u64::from(keys),
        };
        turn as u32
    }

    /// What happens to an instance next: tracks come and go.
    pub(super) fn kind(&mut self, index: usize, number: usize, key: u32, workload: Workload) -> ChangeKind {
        let plan = &self.scenario.endpoints[index];
        let registered = self.log.writers[number].registered.get(&key).copied().unwrap_or(false);
        if !plan.keyed || !registered || !matches!(workload, Workload::Tracks | Workload::Sensor) {
            return ChangeKind::Alive;
        }
        match self.dice[index].within(0, 35) {
            0 | 1 => ChangeKind::Disposed,
            2 => ChangeKind::Unregistered,
            3 => ChangeKind::DisposedUnregistered,
            _ => ChangeKind::Alive,
        }
    }

    /// Writes; a full history is no failure, the sample is then not written.
    pub(super) fn write(&mut self, number: usize, kind: ChangeKind, key: u32) {
        let now = self.age();
        let writer = &mut self.log.writers[number];
        let plan = &self.scenario.endpoints[writer.plan];
        let Role::Writer { size, .. } = plan.role else { return };
        let Some(machine) = &self.machines[plan.node] else { return };
        let next = writer.changes.len() as u64 + 1;
        let len = size.max(HEADER);
        let content = Content { key, writer: number as u32, number: next };
        let big_endian = self.scenario.nodes[plan.node].big_endian;
        let request = self.filling.request(kind, content, len, big_endian);
        let slot = Arc::clone(&writer.slot);
        match self.world.write(machine.id, &slot, request) {
            Ok(sn) => {
                let gone = matches!(kind, ChangeKind::Unregistered | ChangeKind::DisposedUnregistered);
                writer.registered.insert(key, !gone);
                let open =
                    plan.group.and_then(|group| self.groups[group].as_ref()).and_then(|life| life.open);
                let set = open.filter(|_| plan.qos.coherent);
                self.note_written(number, sn, Written { kind, key, len, at: now, set, turn: 0 });
            }
            Err(WriteError::Full { .. }) => {
                writer.full += 1;
                // Nobody acknowledges what has not left.
                if slot.is_waiting_for_more() {
                    let text = format!("writer {number} is full and still waits for more");
                    self.log.violation("waits although full", text);
                }
            }
            Err(WriteError::OutOfResources) => writer.full += 1,
            Err(error) => self.log.violation("write", format!("writer {number} cannot write: {error}")),
        }
    }

    /// Takes note of a change that has this number.
    pub(super) fn note_written(&mut self, number: usize, sn: SequenceNumber, written: Written) {
        self.turns += 1;
        let changes = &mut self.log.writers[number].changes;
        changes.push(Written { turn: self.turns, ..written });
        let next = changes.len();
        if sn.0 != next as i64 {
            let text = format!("writer {number}: change {next} has number {}", sn.0);
            self.log.violation("numbering", text);
        }
    }

    pub(super) fn assert_alive(&mut self, index: usize) {
        let plan = &self.scenario.endpoints[index];
        let (Role::Writer { silent_from, .. }, Some(lease)) = (plan.role, plan.qos.lease) else { return };
        let now = self.age();
        if silent_from.is_some_and(|from| from * MS <= now) {
            return;
        }
        self.agenda.at(now + lease * MS / 4, Action::Assert(index, self.lives[index]));
        let (Some(number), true) = (self.living[index], self.is_awake(plan.node)) else { return };
        let Some(id) = self.machines[plan.node].as_ref().map(|machine| machine.id) else { return };
        let writer = &mut self.log.writers[number];
        writer.asserted.push(now);
        let slot = Arc::clone(&writer.slot);
        if plan.qos.liveliness == 1 {
            self.world.with(id, |participant, now, out| participant.assert_liveliness(now, out));
        } else {
            self.world.with(id, |_, now, out| slot.assert_liveliness(now, out));
        }
    }

    /// Rivals for an instance write it once more in turn, all is told in between, and once again: by then everybody
    /// knows who owns it. What they write last is what counts for ownership.
    pub(super) fn last_words(&mut self) {
        let since = self.age();
        // A writer that has written nothing yet first has to find out who does not hear its group, and whoever has moved at the
        // end is believed where it is after a second and a half.
        let late = self.scenario.nodes.iter().any(|node| node.unaware) || self.scenario.verifies_places;
        // Of a large sample one window leaves for each round trip, and that takes as many ways as there are daemons between.
        let soon = 600 * self.scenario.hops();
        for wait in [if late { soon.max(3_000) } else { soon }, soon] {
            for index in 0..self.log.writers.len() {
                let writer = &self.log.writers[index];
                let plan = &self.scenario.endpoints[writer.plan];
                let Role::Writer { keys, first_key, silent_from: None, .. } = plan.role else { continue };
                if plan.qos.exclusive && plan.keyed && writer.ended.is_none() {
                    (0..keys).for_each(|key| self.write(index, ChangeKind::Alive, 1 + first_key + key));
                }
            }
            let end = self.age_ms() + wait;
            self.go_on_until(end);
        }
        self.poll_all();
        crate::check::owners(self, since);
    }
}
