//! What the participants tell, noted.

use dunlin_core::Guid;
use dunlin_engine::Event;
use dunlin_qos::{IncompatiblePolicy, PolicyId};

use super::{Known, Run};
use crate::data::key_of;
use crate::log::{Nanos, ReaderLog, WriterLog, nanos};

fn policies(found: Vec<IncompatiblePolicy>) -> Vec<PolicyId> {
    found.into_iter().map(|policy| policy.policy).collect()
}

fn tell_writer(writer: &mut WriterLog, at: Nanos, event: Event, keyed: bool) {
    match event {
        Event::PublicationMatched { remote, added: true, .. } => writer.meet(remote, at),
        Event::PublicationMatched { remote, added: false, .. } => writer.part(remote, at),
        Event::OfferedIncompatibleQos { remote, policies: found, .. } => {
            writer.refused.insert(remote, policies(found));
        }
        Event::OfferedDeadlineMissed { instance, count, .. } => {
            *writer.deadlines_missed.entry(key_of(instance, keyed)).or_default() += u64::from(count);
        }
        Event::LivelinessLost { .. } => writer.liveliness_lost += 1,
        Event::ReaderActivity { remote, active: false, .. } => writer.given_up.begin(remote, at),
        Event::ReaderActivity { remote, active: true, .. } => writer.given_up.end(remote, at),
        _ => {}
    }
}

impl Run<'_> {
    /// Takes note of the events of a node.
    pub(super) fn poll(&mut self, node: usize) {
        let Some(machine) = &self.machines[node] else { return };
        for (at, event) in self.world.take_events(machine.id) {
            let entity = match &event {
                Event::PublicationMatched { writer, .. }
                | Event::OfferedIncompatibleQos { writer, .. }
                | Event::OfferedDeadlineMissed { writer, .. }
                | Event::ReaderActivity { writer, .. }
                | Event::LivelinessLost { writer } => *writer,
                Event::SubscriptionMatched { reader, .. }
                | Event::RequestedIncompatibleQos { reader, .. }
                | Event::RequestedDeadlineMissed { reader, .. }
                | Event::SampleLost { reader, .. }
                | Event::LivelinessChanged { reader, .. } => *reader,
                _ => continue,
            };
            let known = self.machines[node].as_ref().and_then(|machine| machine.entities.get(&entity));
            match known {
                Some(Known::Writer(number)) => {
                    let writer = &mut self.log.writers[*number];
                    let keyed = self.scenario.endpoints[writer.plan].keyed;
                    tell_writer(writer, nanos(at), event, keyed);
                }
                Some(Known::Reader(number)) => self.tell_reader(*number, nanos(at), event),
                None => {}
            }
        }
    }

    pub(super) fn poll_all(&mut self) {
        (0..self.machines.len()).for_each(|node| self.poll(node));
    }

    fn tell_reader(&mut self, number: usize, at: Nanos, event: Event) {
        let keyed = self.scenario.endpoints[self.log.readers[number].plan].keyed;
        match event {
            Event::SubscriptionMatched { remote, added, .. } => self.meet(number, at, remote, added),
            Event::RequestedIncompatibleQos { remote, policies: found, .. } => {
                self.log.readers[number].refused.insert(remote, policies(found));
            }
            Event::RequestedDeadlineMissed { instance, count, .. } => {
                let missed = &mut self.log.readers[number].deadlines_missed;
                *missed.entry(key_of(instance, keyed)).or_default() += u64::from(count);
            }
            Event::SampleLost { count, .. } => self.log.readers[number].lost += count,
            Event::LivelinessChanged { writer, alive_delta, not_alive_delta, .. } => {
                self.note_liveliness(number, at, writer, [alive_delta, not_alive_delta]);
            }
            _ => {}
        }
    }

    fn meet(&mut self, number: usize, at: Nanos, remote: Guid, added: bool) {
        let writer = self.log.writer_at(remote, at);
        let reader: &mut ReaderLog = &mut self.log.readers[number];
        if added {
            reader.meet(remote, at);
        } else {
            reader.part(remote, at);
        }
        if let Some(writer) = writer {
            let received = reader.received.entry(writer).or_default();
            received.sessions += u32::from(added);
            received.fresh |= received.sessions > 1 || !added;
            received.resumed |= received.sessions > 1;
        }
        reader.shown.retain(|(_, shown), _| writer != Some(*shown));
    }

    fn note_liveliness(&mut self, number: usize, at: Nanos, writer: Guid, [alive, not_alive]: [i32; 2]) {
        let life = self.log.writer_at(writer, at);
        let reader = &mut self.log.readers[number];
        let sum = reader.alive.entry(writer).or_default();
        sum.alive += alive;
        sum.not_alive += not_alive;
        let sum = *sum;
        if sum.not_alive > 0 {
            reader.once_dead.insert(writer);
            reader.died.insert(writer, at);
        }
        // Who was not alive, even for a moment, may have lost what it owned.
        reader.shown.retain(|(_, shown), _| life != Some(*shown));
        let possible = matches!((sum.alive, sum.not_alive), (0, 0) | (1, 0) | (0, 1));
        let tainted = self.scenario.is_tainted(reader.node);
        if !possible && !tainted {
            let text = format!("reader {number}: liveliness of {writer:?} adds up to {sum:?}");
            self.log.violation("liveliness changed", text);
        }
    }
}
