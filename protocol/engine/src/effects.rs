//! Carrying out what discovery decides: matches are applied to each endpoint under its own lock, one at a time.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;

use dunlin_core::{EntityId, Guid, Locator, Now};
use dunlin_discovery::DiscoveryEffect;

use crate::group::SubscriberGroup;
use crate::output::{Event, Output};
use crate::participant::{Control, ControlGuard, Participant};
use crate::reader_slot::ReaderSlot;
use crate::routes::Routes;
use crate::writer_slot::WriterSlot;

/// The routing tables while effects are applied: copied with the first change, since most effects change none.
struct Draft {
    current: Arc<Routes>,
    changed: Option<Routes>,
}

impl Draft {
    fn read(&self) -> &Routes {
        self.changed.as_ref().unwrap_or(&self.current)
    }

    /// A reader that is told of a match. It is deleted under the lock under which matches are told.
    fn matched_reader(&self, id: EntityId) -> Option<&Arc<ReaderSlot>> {
        let reader = self.read().reader(id);
        debug_assert!(reader.is_some(), "a match is told of a reader that is there: {id}");
        reader
    }

    /// The same of a writer.
    fn matched_writer(&self, id: EntityId) -> Option<&Arc<WriterSlot>> {
        let writer = self.read().writer(id);
        debug_assert!(writer.is_some(), "a match is told of a writer that is there: {id}");
        writer
    }

    fn edit(&mut self) -> &mut Routes {
        self.changed.get_or_insert_with(|| Routes::clone(&self.current))
    }
}

impl Participant {
    /// Applies the effects of a call of discovery, in their order, and sets its timer. The control lock is held
    /// meanwhile, so that no other thread applies a later decision first.
    pub(crate) fn conclude(&self, now: Now, mut control: ControlGuard<'_>, out: &mut Output) {
        for (participant, what) in control.discovery.take_refused() {
            self.common.misbehaved(participant, what, &mut out.events);
        }
        let news = core::mem::take(&mut control.writers_changed) || !control.effects.is_empty();
        if !control.effects.is_empty() {
            let mut effects = core::mem::take(&mut control.effects);
            let mut routes = Draft { current: self.routes.load(), changed: None };
            let mut publishers = BTreeSet::new();
            for effect in effects.drain(..) {
                publishers.extend(publisher_of(&effect, &control));
                let writer = writer_with_readers(&effect);
                self.apply(now, effect, &mut routes, out);
                let watching = writer
                    .filter(|id| routes.read().writer(*id).is_some_and(|it| it.watches_other_writers()));
                control.watching_other_writers.extend(watching);
            }
            tell_writers(now, &publishers, &control, routes.read(), out);
            if let Some(routes) = routes.changed {
                self.routes.store(routes);
            }
            control.effects = effects;
        }
        if news {
            self.tell_of_other_writers(now, &control, out);
        }
        let deadline = control.discovery.next_deadline();
        self.common.arm(
            self.common.participant_timer,
            &mut control.armed,
            deadline,
            &mut out.deadline_closer,
        );
    }

    /// Tells the writers for which it matters whether there are others of their topics.
    fn tell_of_other_writers(&self, now: Now, control: &Control, out: &mut Output) {
        let routes = self.routes.load();
        for slot in control.watching_other_writers.iter().filter_map(|id| routes.writer(*id)) {
            let guid = slot.guid();
            let Some(own) = control.discovery.writer(guid) else { continue };
            slot.set_other_writers(now, control.discovery.has_other_writers(&own.topic_name, guid), out);
        }
    }

    /// Applies one effect.
    fn apply(&self, now: Now, effect: DiscoveryEffect, routes: &mut Draft, out: &mut Output) {
        match effect {
            DiscoveryEffect::WriterMatched { local, remote } => {
                let Some(reader) = routes.matched_reader(local).cloned() else { return };
                reader.match_writer(now, &remote, out);
                routes.edit().add_match(remote.guid, &reader);
            }
            DiscoveryEffect::MatchedWriterUpdated { local, remote } => {
                let Some(reader) = routes.matched_reader(local).cloned() else { return };
                reader.match_writer(now, &remote, out);
                routes.edit().add_match(remote.guid, &reader);
                tell_place(local, remote.guid, &[&remote.unicast, &remote.multicast], out);
            }
            DiscoveryEffect::WriterUnmatched { local, remote, lease_expired } => {
                routes.edit().remove_match(remote, local);
                if let Some(reader) = routes.read().reader(local) {
                    reader.unmatch_writer(now, remote, lease_expired, out);
                }
            }
            DiscoveryEffect::ReaderMatched { local, remote } => {
                if let Some(writer) = routes.matched_writer(local) {
                    writer.match_reader(now, &remote, out);
                }
            }
            DiscoveryEffect::MatchedReaderUpdated { local, remote } => {
                let Some(writer) = routes.matched_writer(local) else { return };
                writer.match_reader(now, &remote, out);
                tell_place(local, remote.guid, &[&remote.unicast, &remote.multicast], out);
            }
            DiscoveryEffect::ReaderUnmatched { local, remote, lease_expired } => {
                if let Some(writer) = routes.read().writer(local) {
                    writer.unmatch_reader(remote, lease_expired, out);
                }
            }
            DiscoveryEffect::LivelinessAsserted { prefix, kind, since } => {
                for reader in routes.read().readers() {
                    reader.on_liveliness(now, since, (prefix, kind), out);
                }
            }
            DiscoveryEffect::ParticipantDiscovered(participant) => {
                out.events.push(Event::ParticipantDiscovered(participant));
            }
            DiscoveryEffect::ParticipantVerified(prefix) => routes.edit().add_peer(prefix),
            DiscoveryEffect::SourcesChanged { prefix, sources } => routes.edit().set_sources(prefix, sources),
            DiscoveryEffect::ParticipantLost { prefix, reason } => {
                // Of those that never were verified nothing is known there: anybody can make many.
                if routes.read().peer(prefix).is_some() {
                    routes.edit().remove_peer(prefix);
                }
                out.events.push(Event::ParticipantLost { prefix, reason });
            }
            other => tell(other, out),
        }
    }
}

/// The local writer that has got a reader, or one with another QoS.
fn writer_with_readers(effect: &DiscoveryEffect) -> Option<EntityId> {
    match effect {
        DiscoveryEffect::ReaderMatched { local, .. }
        | DiscoveryEffect::MatchedReaderUpdated { local, .. } => Some(*local),
        _ => None,
    }
}

/// The publisher of whose writers more or fewer are known, or heard here.
fn publisher_of(effect: &DiscoveryEffect, control: &Control) -> Option<Guid> {
    match effect {
        DiscoveryEffect::GroupChanged(publisher) => Some(*publisher),
        DiscoveryEffect::WriterMatched { remote, .. } => remote.publisher(),
        DiscoveryEffect::WriterUnmatched { remote, .. } => control.discovery.writer(*remote)?.publisher(),
        _ => None,
    }
}

/// Tells subscribers which writers publishers have that they listen to.
fn tell_writers(now: Now, publishers: &BTreeSet<Guid>, control: &Control, routes: &Routes, out: &mut Output) {
    if publishers.is_empty() {
        return;
    }
    let mut groups: Vec<&Arc<SubscriberGroup>> = Vec::new();
    for group in routes.readers().filter_map(|reader| reader.group()) {
        if !groups.iter().any(|known| Arc::ptr_eq(known, group)) {
            groups.push(group);
        }
    }
    for publisher in publishers {
        let mut listening = groups.iter().filter(|group| group.listens_to(*publisher)).peekable();
        if listening.peek().is_some()
            && let Some(writers) = control.discovery.writers_of_publisher(*publisher)
        {
            listening.for_each(|group| group.writers_known(now, *publisher, &writers, out));
        }
    }
}

/// Tells that nothing can go to a matched endpoint that has changed, if so.
fn tell_place(local: EntityId, remote: Guid, places: &[&[Locator]; 2], out: &mut Output) {
    if places.iter().all(|list| list.is_empty()) {
        out.events.push(Event::NoPlaceLeft { local, remote });
    }
}

/// Effects that are only to be told.
fn tell(effect: DiscoveryEffect, out: &mut Output) {
    out.events.push(match effect {
        DiscoveryEffect::ParticipantUpdated(participant) => Event::ParticipantUpdated(participant),
        DiscoveryEffect::WriterDiscovered(writer) => Event::WriterDiscovered(writer),
        DiscoveryEffect::WriterUpdated(writer) => Event::WriterUpdated(writer),
        DiscoveryEffect::WriterLost(writer) => Event::WriterLost(writer),
        DiscoveryEffect::ReaderDiscovered(reader) => Event::ReaderDiscovered(reader),
        DiscoveryEffect::ReaderUpdated(reader) => Event::ReaderUpdated(reader),
        DiscoveryEffect::ReaderLost(reader) => Event::ReaderLost(reader),
        DiscoveryEffect::InconsistentTopic { local, remote, topic_name, type_name, reasons } => {
            Event::InconsistentTopic { local, remote, topic_name, type_name, reasons }
        }
        DiscoveryEffect::OtherPartition { local, remote, topic_name, publisher, subscriber } => {
            Event::OtherPartition { local, remote, topic_name, publisher, subscriber }
        }
        DiscoveryEffect::DiscoveryProblem(problem) => Event::DiscoveryProblem(problem),
        DiscoveryEffect::IncompatibleQos { local, remote, policies } if local.is_writer() => {
            Event::OfferedIncompatibleQos { writer: local, remote, policies }
        }
        DiscoveryEffect::IncompatibleQos { local, remote, policies } => {
            Event::RequestedIncompatibleQos { reader: local, remote, policies }
        }
        _ => return,
    });
}
