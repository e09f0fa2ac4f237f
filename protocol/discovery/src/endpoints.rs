//! The endpoints of this participant and of all others, and which of them match: RTPS 2.5 §8.5.5, DDS 1.4 §2.2.3.
//!
//! A pair is judged in the order topic, partition, type, request/offer. The judgement of every pair with a local side
//! is remembered, so that only changes become effects.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    string::String,
    sync::Arc,
    vec::Vec,
};

use dunlin_core::{EntityId, Guid, GuidPrefix};
use dunlin_qos::{IncompatiblePolicy, check_compatible};

use crate::{
    config::Quotas,
    data::{DiscoveredReader, DiscoveredWriter},
    effect::DiscoveryEffect,
    interner::Interner,
    local_type::TypeDiscovery,
    standing::{TypeStanding, is_ignored, same_partition, type_standing},
    types::{LookupKey, Types, first_of},
};

mod topics;

pub(crate) use topics::LocalTopic;
use topics::LocalTopics;

/// How a writer and a reader of one topic stand to each other.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Verdict {
    Matched,
    OtherPartition,
    /// The reader takes nothing that has come through the writer's service: as it was told, so nobody is told of it.
    IgnoredService,
    /// Other names, or a key on one side only.
    OtherType,
    /// The reader's type cannot read what the writer writes.
    Types(Arc<[dunlin_xtypes::Mismatch]>),
    /// A participant is being asked for its type.
    Unsettled,
    Incompatible(Vec<IncompatiblePolicy>),
}

/// The local endpoints of a topic.
#[derive(Debug, Default)]
struct Topic {
    writers: BTreeSet<Guid>,
    readers: BTreeSet<Guid>,
}

/// All known endpoints and the verdict on each pair with a local side.
#[derive(Debug)]
pub(crate) struct Endpoints {
    own: GuidPrefix,
    writers: BTreeMap<Guid, Arc<DiscoveredWriter>>,
    readers: BTreeMap<Guid, Arc<DiscoveredReader>>,
    topics: BTreeMap<Arc<str>, Topic>,
    /// Endpoints of others by topic, two words each: most topics of a large domain are of no interest here.
    remote_writers: BTreeSet<(Arc<str>, Guid)>,
    remote_readers: BTreeSet<(Arc<str>, Guid)>,
    interner: Interner,
    /// Keyed by writer and reader.
    verdicts: BTreeMap<(Guid, Guid), Verdict>,
    pub(crate) types: Types,
    /// Pairs that wait for a type of a participant.
    waiting: BTreeMap<LookupKey, BTreeSet<(Guid, Guid)>>,
    /// The topics that exist here, whether or not they have endpoints.
    local_topics: LocalTopics,
}

impl Endpoints {
    fn judge(&mut self, writer: &DiscoveredWriter, reader: &DiscoveredReader) -> Verdict {
        let was_matched = self.verdicts.get(&(writer.guid, reader.guid)) == Some(&Verdict::Matched);
        if !same_partition(writer, reader) {
            return Verdict::OtherPartition;
        }
        if is_ignored(writer, reader) {
            return Verdict::IgnoredService;
        }
        match type_standing(&mut self.types, writer, reader, true) {
            TypeStanding::Fits => {}
            TypeStanding::OtherName | TypeStanding::OtherKey => return Verdict::OtherType,
            TypeStanding::Differs(reasons) => return Verdict::Types(reasons),
            TypeStanding::Unsettled(key) => {
                self.waiting.entry(key).or_default().insert((writer.guid, reader.guid));
                // Who is matched stays so: what was known of the types has been forgotten, and they have to show anew that
                // they do not fit.
                if !was_matched {
                    return Verdict::Unsettled;
                }
            }
        }
        let policies = check_compatible(&writer.offer(), &reader.request());
        if policies.is_empty() { Verdict::Matched } else { Verdict::Incompatible(policies) }
    }

    /// Judges the pairs whose types became known, or will not be; whether there were any.
    pub(crate) fn judge_again(&mut self, fx: &mut Vec<DiscoveryEffect>) -> bool {
        let finished = core::mem::take(&mut self.types.lookups.finished);
        let recovered = core::mem::take(&mut self.types.lookups.recovered);
        let any = !finished.is_empty();
        let mut pairs: BTreeSet<(Guid, Guid)> =
            finished.iter().filter_map(|key| self.waiting.remove(key)).flatten().collect();
        if !recovered.is_empty() {
            // Names have decided on these, and nobody has waited.
            let of = |guid: &Guid| recovered.contains(&guid.prefix);
            pairs.extend(self.verdicts.keys().filter(|(writer, reader)| of(writer) || of(reader)));
        }
        for (writer, reader) in pairs {
            self.judge_pair(writer, reader, writer.prefix != self.own, fx);
        }
        for endpoint in self.local_topics.take_waiting(&finished) {
            self.compare_topic(endpoint, fx);
        }
        any
    }

    /// The type of an endpoint.
    pub(crate) fn discovered_type(&mut self, guid: Guid) -> TypeDiscovery {
        let of_writer = self.writers.get(&guid).map(|it| (&it.type_name, &it.type_information));
        let of_reader = || self.readers.get(&guid).map(|it| (&it.type_name, &it.type_information));
        let Some((type_name, information)) = of_writer.or_else(of_reader) else {
            return TypeDiscovery::NotAnnounced;
        };
        self.types.discover((guid.prefix, type_name), information.as_ref())
    }

    pub(crate) fn new(own: GuidPrefix, quotas: &Quotas) -> Self {
        Self {
            own,
            writers: BTreeMap::new(),
            readers: BTreeMap::new(),
            topics: BTreeMap::new(),
            remote_writers: BTreeSet::new(),
            remote_readers: BTreeSet::new(),
            interner: Interner::default(),
            verdicts: BTreeMap::new(),
            types: Types::new(own, quotas),
            waiting: BTreeMap::new(),
            local_topics: LocalTopics::default(),
        }
    }

    pub(crate) fn writer(&self, guid: Guid) -> Option<&Arc<DiscoveredWriter>> {
        self.writers.get(&guid)
    }

    pub(crate) fn reader(&self, guid: Guid) -> Option<&Arc<DiscoveredReader>> {
        self.readers.get(&guid)
    }

    pub(crate) fn writers(&self) -> impl Iterator<Item = &Arc<DiscoveredWriter>> {
        self.writers.values()
    }

    pub(crate) fn readers(&self) -> impl Iterator<Item = &Arc<DiscoveredReader>> {
        self.readers.values()
    }

    /// Writers of one participant.
    pub(crate) fn writers_of(&self, prefix: GuidPrefix) -> impl Iterator<Item = &Arc<DiscoveredWriter>> {
        self.writers.range(guids_of(prefix)).map(|(_, writer)| writer)
    }

    /// Readers of one participant.
    pub(crate) fn readers_of(&self, prefix: GuidPrefix) -> impl Iterator<Item = &Arc<DiscoveredReader>> {
        self.readers.range(guids_of(prefix)).map(|(_, reader)| reader)
    }

    /// Adds a writer, or replaces what is known of it; judges it anew against every reader of its topic.
    /// Whether that was anything new.
    pub(crate) fn put_writer(&mut self, mut writer: DiscoveredWriter, fx: &mut Vec<DiscoveryEffect>) -> bool {
        let guid = writer.guid;
        let remote = guid.prefix != self.own;
        let known = self.writers.get(&guid);
        if known.is_some_and(|old| old.topic_name != writer.topic_name) {
            self.remove_writer(guid, fx);
        } else if known.is_some_and(|old| **old == writer) {
            return false;
        }
        // What else changes about a writer is of no matter to its publisher.
        let publisher_before = self.writers.get(&guid).map(|old| old.publisher());
        self.interner.writer(&mut writer);
        let writer = Arc::new(writer);
        let news = self.writers.insert(guid, Arc::clone(&writer)).is_none();
        if remote {
            self.remote_writers.insert((Arc::clone(&writer.topic_name), guid));
            fx.push(if news {
                DiscoveryEffect::WriterDiscovered(Arc::clone(&writer))
            } else {
                DiscoveryEffect::WriterUpdated(Arc::clone(&writer))
            });
        } else {
            self.topics.entry(Arc::clone(&writer.topic_name)).or_default().writers.insert(guid);
        }
        for reader in self.readers_facing(&writer.topic_name, remote) {
            self.judge_pair(guid, reader, true, fx);
        }
        let publisher = writer.publisher();
        if publisher_before != Some(publisher) {
            let changed = [publisher_before.flatten(), publisher];
            fx.extend(changed.into_iter().flatten().map(DiscoveryEffect::GroupChanged));
        }
        if remote {
            self.compare_topic(guid, fx);
        }
        true
    }

    /// Adds a reader, or replaces what is known of it; judges it anew against every writer of its topic.
    /// Whether that was anything new.
    pub(crate) fn put_reader(&mut self, mut reader: DiscoveredReader, fx: &mut Vec<DiscoveryEffect>) -> bool {
        let guid = reader.guid;
        let remote = guid.prefix != self.own;
        let known = self.readers.get(&guid);
        if known.is_some_and(|old| old.topic_name != reader.topic_name) {
            self.remove_reader(guid, fx);
        } else if known.is_some_and(|old| **old == reader) {
            return false;
        }
        self.interner.reader(&mut reader);
        let reader = Arc::new(reader);
        let news = self.readers.insert(guid, Arc::clone(&reader)).is_none();
        if remote {
            self.remote_readers.insert((Arc::clone(&reader.topic_name), guid));
            fx.push(if news {
                DiscoveryEffect::ReaderDiscovered(Arc::clone(&reader))
            } else {
                DiscoveryEffect::ReaderUpdated(Arc::clone(&reader))
            });
        } else {
            self.topics.entry(Arc::clone(&reader.topic_name)).or_default().readers.insert(guid);
        }
        for writer in self.writers_facing(&reader.topic_name, remote) {
            self.judge_pair(writer, guid, false, fx);
        }
        if remote {
            self.compare_topic(guid, fx);
        }
        true
    }

    /// Removes a writer; whether it was known.
    pub(crate) fn remove_writer(&mut self, guid: Guid, fx: &mut Vec<DiscoveryEffect>) -> bool {
        let Some(writer) = self.writers.remove(&guid) else { return false };
        let remote = guid.prefix != self.own;
        for reader in self.readers_facing(&writer.topic_name, remote) {
            if self.forget_pair(guid, reader) {
                self.unmatched(guid, reader, fx);
            }
        }
        if remote {
            self.remote_writers.remove(&(Arc::clone(&writer.topic_name), guid));
        } else if let Some(topic) = self.topics.get_mut(&writer.topic_name) {
            topic.writers.remove(&guid);
            self.forget_empty_topic(&writer.topic_name);
        }
        fx.extend(writer.publisher().map(DiscoveryEffect::GroupChanged));
        if remote {
            fx.push(DiscoveryEffect::WriterLost(guid));
        }
        true
    }

    /// Removes a reader; whether it was known.
    pub(crate) fn remove_reader(&mut self, guid: Guid, fx: &mut Vec<DiscoveryEffect>) -> bool {
        let Some(reader) = self.readers.remove(&guid) else { return false };
        let remote = guid.prefix != self.own;
        for writer in self.writers_facing(&reader.topic_name, remote) {
            if self.verdicts.get(&(writer, guid)) == Some(&Verdict::Unsettled) {
                let writer = self.writers.get(&writer);
                fx.extend(writer.and_then(|it| it.publisher()).map(DiscoveryEffect::GroupChanged));
            }
            if self.forget_pair(writer, guid) {
                self.unmatched(writer, guid, fx);
            }
        }
        if remote {
            self.remote_readers.remove(&(Arc::clone(&reader.topic_name), guid));
        } else if let Some(topic) = self.topics.get_mut(&reader.topic_name) {
            topic.readers.remove(&guid);
            self.forget_empty_topic(&reader.topic_name);
        }
        if remote {
            fx.push(DiscoveryEffect::ReaderLost(guid));
        }
        true
    }

    /// Removes every endpoint of a participant.
    pub(crate) fn remove_participant(&mut self, prefix: GuidPrefix, fx: &mut Vec<DiscoveryEffect>) {
        let writers: Vec<Guid> = self.writers_of(prefix).map(|writer| writer.guid).collect();
        for guid in writers {
            self.remove_writer(guid, fx);
        }
        let readers: Vec<Guid> = self.readers_of(prefix).map(|reader| reader.guid).collect();
        for guid in readers {
            self.remove_reader(guid, fx);
        }
    }

    /// Whether a participant is being asked for what decides if a writer matches a local reader.
    pub(crate) fn is_unsettled(&self, writer: Guid) -> bool {
        let readers = guids_of(self.own);
        let mut own = self.verdicts.range((writer, *readers.start())..=(writer, *readers.end()));
        own.any(|(_, verdict)| *verdict == Verdict::Unsettled)
    }

    /// Forgets a verdict; whether it was a match.
    fn forget_pair(&mut self, writer: Guid, reader: Guid) -> bool {
        // Only the two participants are asked for their types.
        for prefix in [writer.prefix, reader.prefix] {
            let of_it = self.waiting.range_mut(first_of(prefix)..).take_while(|(key, _)| key.0 == prefix);
            of_it.for_each(|(_, pairs)| {
                pairs.remove(&(writer, reader));
            });
        }
        self.verdicts.remove(&(writer, reader)) == Some(Verdict::Matched)
    }

    fn forget_empty_topic(&mut self, name: &str) {
        if self.topics.get(name).is_some_and(|topic| topic.writers.is_empty() && topic.readers.is_empty()) {
            self.topics.remove(name);
        }
    }

    /// The readers of a topic that a writer may match: local ones only for a remote writer, all for a local one.
    fn readers_facing(&self, topic: &Arc<str>, remote: bool) -> Vec<Guid> {
        let local = self.topics.get(topic).into_iter().flat_map(|topic| &topic.readers).copied();
        if remote { local.collect() } else { local.chain(of_topic(&self.remote_readers, topic)).collect() }
    }

    /// As [`Self::readers_facing`], for a reader.
    fn writers_facing(&self, topic: &Arc<str>, remote: bool) -> Vec<Guid> {
        let local = self.topics.get(topic).into_iter().flat_map(|topic| &topic.writers).copied();
        if remote { local.collect() } else { local.chain(of_topic(&self.remote_writers, topic)).collect() }
    }

    /// The endpoints of others that a writer of a topic may match, or a reader.
    pub(crate) fn remote_opposites(&self, of_writer: bool, topic: &Arc<str>) -> impl Iterator<Item = Guid> {
        of_topic(if of_writer { &self.remote_readers } else { &self.remote_writers }, topic)
    }

    /// Whether a topic has other writers than this one, here or elsewhere.
    pub(crate) fn has_other_writers(&self, topic: &Arc<str>, but: Guid) -> bool {
        let mut local = self.topics.get(topic).into_iter().flat_map(|topic| &topic.writers);
        local.any(|guid| *guid != but) || of_topic(&self.remote_writers, topic).any(|guid| guid != but)
    }

    /// Judges a pair of which one side is new or changed (`writer_changed` says which) and reports what is different.
    fn judge_pair(&mut self, w: Guid, r: Guid, writer_changed: bool, fx: &mut Vec<DiscoveryEffect>) {
        let (writer, reader) = (self.writers.get(&w), self.readers.get(&r));
        // A pair is judged of those who are there, whoever announced them.
        debug_assert!(writer.is_some() && reader.is_some(), "{w} and {r}");
        let (Some(writer), Some(reader)) = (writer, reader) else { return };
        let (writer, reader) = (Arc::clone(writer), Arc::clone(reader));
        let was_matched = self.verdicts.get(&(w, r)) == Some(&Verdict::Matched);
        let verdict = self.judge(&writer, &reader);
        let before = self.verdicts.insert((w, r), verdict.clone());
        match &verdict {
            Verdict::Matched if was_matched => self.still_matched(&writer, &reader, writer_changed, fx),
            Verdict::Matched => self.matched(&writer, &reader, fx),
            _ if was_matched => self.unmatched(w, r, fx),
            _ => (),
        }
        if before == Some(Verdict::Unsettled) && verdict != Verdict::Unsettled {
            fx.extend(writer.publisher().map(DiscoveryEffect::GroupChanged));
        }
        if before.as_ref() != Some(&verdict) {
            self.report_mismatch(&writer, &reader, &verdict, fx);
        }
    }

    fn matched(
        &self,
        writer: &Arc<DiscoveredWriter>,
        reader: &Arc<DiscoveredReader>,
        fx: &mut Vec<DiscoveryEffect>,
    ) {
        // The reader first: within one participant it is then ready for the history the writer sends on its match.
        if let Some(local) = self.local(reader.guid) {
            fx.push(DiscoveryEffect::WriterMatched { local, remote: Arc::clone(writer) });
        }
        if let Some(local) = self.local(writer.guid) {
            fx.push(DiscoveryEffect::ReaderMatched { local, remote: Arc::clone(reader) });
        }
    }

    /// Tells the side that did not change itself.
    fn still_matched(
        &self,
        writer: &Arc<DiscoveredWriter>,
        reader: &Arc<DiscoveredReader>,
        writer_changed: bool,
        fx: &mut Vec<DiscoveryEffect>,
    ) {
        if writer_changed && let Some(local) = self.local(reader.guid) {
            fx.push(DiscoveryEffect::MatchedWriterUpdated { local, remote: Arc::clone(writer) });
        }
        if !writer_changed && let Some(local) = self.local(writer.guid) {
            fx.push(DiscoveryEffect::MatchedReaderUpdated { local, remote: Arc::clone(reader) });
        }
    }

    fn unmatched(&self, writer: Guid, reader: Guid, fx: &mut Vec<DiscoveryEffect>) {
        if let Some(local) = self.local(writer) {
            fx.push(DiscoveryEffect::ReaderUnmatched { local, remote: reader, lease_expired: false });
        }
        if let Some(local) = self.local(reader) {
            fx.push(DiscoveryEffect::WriterUnmatched { local, remote: writer, lease_expired: false });
        }
    }

    fn report_mismatch(
        &self,
        writer: &DiscoveredWriter,
        reader: &DiscoveredReader,
        verdict: &Verdict,
        fx: &mut Vec<DiscoveryEffect>,
    ) {
        let sides =
            [(reader.guid, writer.guid, &writer.type_name), (writer.guid, reader.guid, &reader.type_name)];
        for (one, other, type_name) in sides {
            let Some(local) = self.local(one) else { continue };
            match verdict {
                Verdict::Incompatible(policies) => {
                    fx.push(DiscoveryEffect::IncompatibleQos {
                        local,
                        remote: other,
                        policies: policies.clone(),
                    });
                }
                Verdict::OtherType | Verdict::Types(_) => {
                    let reasons = match verdict {
                        Verdict::Types(reasons) => Arc::clone(reasons),
                        _ => Arc::default(),
                    };
                    fx.push(DiscoveryEffect::InconsistentTopic {
                        local,
                        remote: other,
                        topic_name: String::from(&*writer.topic_name),
                        type_name: String::from(&**type_name),
                        reasons,
                    });
                }
                Verdict::OtherPartition => {
                    let topic_name = Arc::clone(&writer.topic_name);
                    fx.push(DiscoveryEffect::OtherPartition {
                        local,
                        remote: other,
                        topic_name,
                        publisher: writer.publisher_qos.partition.names.clone(),
                        subscriber: reader.subscriber_qos.partition.names.clone(),
                    });
                }
                Verdict::Matched | Verdict::IgnoredService | Verdict::Unsettled => (),
            }
        }
    }

    fn local(&self, guid: Guid) -> Option<EntityId> {
        (guid.prefix == self.own).then_some(guid.entity_id)
    }
}

/// Every GUID with this prefix.
fn guids_of(prefix: GuidPrefix) -> core::ops::RangeInclusive<Guid> {
    Guid::new(prefix, EntityId([0; 4]))..=Guid::new(prefix, EntityId([0xff; 4]))
}

/// The endpoints of a topic.
fn of_topic(endpoints: &BTreeSet<(Arc<str>, Guid)>, topic: &Arc<str>) -> impl Iterator<Item = Guid> {
    let from = (Arc::clone(topic), Guid::UNKNOWN);
    endpoints.range(from..).take_while(move |(name, _)| name == topic).map(|(_, guid)| *guid)
}

#[cfg(test)]
mod tests;
