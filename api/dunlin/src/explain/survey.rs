//! From what the engine knows to explanations.

use std::sync::Arc;

use dunlin_core::{Duration, EntityId, Guid, GuidPrefix, Locator, VendorId};
use dunlin_discovery::{DiscoveredReader, DiscoveredWriter, ParticipantState, Survey};
use dunlin_engine::Misbehaved;

use super::others::{self, Side};
use super::{Against, EndpointInfo, Explanation, Note, Pair};
use crate::any::sealed::Local;
use crate::cause::{Cause, announced};
use crate::participant::{DomainParticipant, ParticipantInner};
use crate::process::ProcessInfo;
use crate::reader_inner::ReaderInner;
use crate::writer_inner::WriterInner;

/// Who has been known for less than this may yet answer.
const TIME_TO_ANSWER: Duration = Duration::from_millis(400);

/// What one explanation is made from.
struct View<'a> {
    participant: &'a ParticipantInner,
    own: GuidPrefix,
    survey: Survey,
    has_durability_service: bool,
    /// What others did that this participant refused.
    misbehaved: Vec<Misbehaved>,
}

/// An explanation of every known pair of a topic.
pub(super) fn topic(participant: &ParticipantInner, topic: &str) -> Explanation {
    let view = View::new(participant, |name, _| name == topic);
    let readers = &view.survey.readers;
    let pairs = view.survey.writers.iter().flat_map(|w| readers.iter().map(|r| view.pair(w, r)));
    let pairs = pairs.collect();
    let mut causes = Vec::new();
    for (writers, none) in [(true, view.survey.writers.is_empty()), (false, readers.is_empty())] {
        if none {
            causes.push(view.no_counterpart(writers, topic));
        }
    }
    view.conclude(topic, pairs, causes)
}

/// An explanation of a local endpoint.
pub(super) fn endpoint(participant: &ParticipantInner, local: &Local, against: Against) -> Explanation {
    let (guid, topic) = match local {
        Local::Writer(core) => (core.slot().map(|slot| slot.guid()), &core.topic.name),
        Local::Reader(core) => (core.slot().map(|slot| slot.guid()), &core.topic.name),
    };
    let Some(guid) = guid else { return disabled(participant.domain, local, topic) };
    let view = View::new(participant, |name, other| {
        guid == other
            || match against {
                Against::Topic => name == topic,
                Against::Endpoint(wanted) => wanted == other,
            }
    });
    let (mut pairs, mut causes) = (view.pairs_of(guid), Vec::new());
    match against {
        Against::Endpoint(wanted) if pairs.is_empty() => pairs.push(view.unknown(guid, wanted)),
        Against::Topic if pairs.is_empty() => {
            causes.push(view.no_counterpart(guid.entity_id.is_reader(), topic));
        }
        _ => {}
    }
    view.conclude(topic, pairs, causes)
}

/// Names the domains in which those are who are missing.
pub(super) fn look_in(explanation: &mut Explanation, others: &[DomainParticipant]) {
    let topic = &explanation.topic;
    let elsewhere: Vec<_> = others
        .iter()
        .filter(|other| other.domain_id() != explanation.domain)
        .map(|other| (other.domain_id(), other.inner().engine().survey(|name, _| name == topic)))
        .collect();
    for cause in &mut explanation.causes {
        let Cause::NoCounterpart { writers, topic, .. } = cause else { continue };
        let found = |survey: &Survey| {
            if *writers { !survey.writers.is_empty() } else { !survey.readers.is_empty() }
        };
        let mut domains: Vec<u32> =
            elsewhere.iter().filter(|(_, survey)| found(survey)).map(|(domain, _)| *domain).collect();
        domains.sort_unstable();
        domains.dedup();
        if !domains.is_empty() {
            *cause = Cause::Domain { writers: *writers, topic: std::mem::take(topic), domains };
        }
    }
}

fn disabled(domain: u32, local: &Local, topic: &str) -> Explanation {
    let info = |type_name: &str| EndpointInfo {
        guid: Guid::UNKNOWN,
        type_name: type_name.to_owned(),
        vendor: VendorId::DUNLIN,
        participant_name: String::new(),
        process: ProcessInfo::default(),
        shared_memory: None,
        local: true,
    };
    let (writer, reader) = match local {
        Local::Writer(core) => (Some(info(&core.topic.type_name)), None),
        Local::Reader(core) => (None, Some(info(&core.topic.type_name))),
    };
    let pair = Pair { writer, reader, matched: false, causes: vec![Cause::NotEnabled], notes: Vec::new() };
    Explanation { domain, topic: topic.to_owned(), pairs: vec![pair], causes: Vec::new() }
}

/// The name that differs from `name` by letter case or one or two letters.
fn similar(name: &str, names: &[Arc<str>]) -> Option<String> {
    let near = names.iter().filter(|other| &***other != name);
    let distance = |other: &&Arc<str>| {
        if other.eq_ignore_ascii_case(name) { 0 } else { edit_distance(name, other) }
    };
    let limit = (name.len() / 3).min(2);
    near.map(|other| (distance(&other), other)).filter(|(d, _)| *d <= limit).min().map(|(_, o)| o.to_string())
}

/// Letters to add, remove or change; of names longer than 64 octets only whether they are equal.
fn edit_distance(one: &str, other: &str) -> usize {
    if one.len().max(other.len()) > 64 {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=other.chars().count()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut before = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in other.chars().enumerate() {
            let kept = before + usize::from(a != b);
            before = row[j + 1];
            row[j + 1] = kept.min(row[j] + 1).min(before + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}

impl<'a> View<'a> {
    fn new(participant: &'a ParticipantInner, wanted: impl Fn(&str, Guid) -> bool) -> Self {
        let engine = participant.engine();
        Self {
            participant,
            own: engine.guid_prefix(),
            survey: engine.survey(wanted),
            has_durability_service: participant.has_durability_service(),
            misbehaved: engine.misbehaviours(),
        }
    }

    fn standing(&self, prefix: GuidPrefix) -> Option<&ParticipantState> {
        self.survey.participants.iter().find(|standing| standing.data.guid_prefix == prefix)
    }

    fn info(&self, guid: Guid, type_name: &str, vendor: VendorId) -> EndpointInfo {
        let known = self.standing(guid.prefix).map(|standing| &standing.data);
        EndpointInfo {
            guid,
            type_name: type_name.to_owned(),
            vendor,
            participant_name: known.map(|data| data.entity_name.clone()).unwrap_or_default(),
            process: known.map(|data| ProcessInfo::of(&data.property)).unwrap_or_default(),
            shared_memory: self.participant.shared_memory(guid.prefix),
            local: guid.prefix == self.own,
        }
    }

    fn writer(&self, writer: &DiscoveredWriter) -> EndpointInfo {
        self.info(writer.guid, &writer.type_name, writer.vendor)
    }

    fn reader(&self, reader: &DiscoveredReader) -> EndpointInfo {
        self.info(reader.guid, &reader.type_name, reader.vendor)
    }

    /// The pairs of one endpoint with everything else that was looked up.
    fn pairs_of(&self, guid: Guid) -> Vec<Pair> {
        let Survey { writers, readers, .. } = &self.survey;
        let one_writer = writers.iter().filter(|writer| writer.guid == guid);
        let as_writer = one_writer.flat_map(|writer| readers.iter().map(|reader| self.pair(writer, reader)));
        let one_reader = readers.iter().filter(|reader| reader.guid == guid);
        let as_reader = one_reader.flat_map(|reader| writers.iter().map(|writer| self.pair(writer, reader)));
        as_writer.chain(as_reader).collect()
    }

    fn pair(&self, writer: &DiscoveredWriter, reader: &DiscoveredReader) -> Pair {
        let mut causes: Vec<Cause> =
            self.survey.mismatches(writer, reader).into_iter().map(Cause::from).collect();
        let matched = causes.is_empty();
        if matched {
            self.look_at_reader(writer, reader, &mut causes);
            self.look_at_writer(writer, reader, &mut causes);
        }
        causes.extend(self.between_others(writer, reader));
        let mut notes = Note::of_writer(writer, self.has_durability_service);
        notes.extend(Note::of_misbehaviours(&self.misbehaved, [writer.guid.prefix, reader.guid.prefix]));
        Pair { writer: Some(self.writer(writer)), reader: Some(self.reader(reader)), matched, causes, notes }
    }

    /// Whether two other participants reach each other.
    fn between_others(&self, writer: &DiscoveredWriter, reader: &DiscoveredReader) -> Option<Cause> {
        if writer.guid.prefix == reader.guid.prefix {
            return None;
        }
        // This participant is not among the others.
        let writes = Side::new(self.standing(writer.guid.prefix)?, writer.announced_locators());
        let reads = Side::new(self.standing(reader.guid.prefix)?, reader.announced_locators());
        let judge = |sender: Side<'_>, receiver: Side<'_>, from_writer| {
            others::barrier(sender, receiver, &self.survey.own).map(|barrier| Cause::UnreachableForOther {
                from_writer,
                barrier,
                sender: sender.places().to_vec(),
                receiver: receiver.places().to_vec(),
            })
        };
        // Of a best-effort pair nothing goes back.
        let answers = || is_reliable(writer, reader).then(|| judge(reads, writes, false)).flatten();
        judge(writes, reads, true).or_else(answers)
    }

    /// What a local reader has heard of a writer that it matches.
    fn look_at_reader(&self, writer: &DiscoveredWriter, reader: &DiscoveredReader, causes: &mut Vec<Cause>) {
        let Some(core) = self.local_reader(reader.guid) else { return };
        let Some(slot) = core.slot() else { return };
        if writer.guid.prefix != self.own {
            let reliable = is_reliable(writer, reader);
            if slot.has_heard(writer.guid) == Some(false) {
                causes.push(self.silence(writer.guid.prefix, &writer.unicast, &writer.multicast, reliable));
            } else if reliable && writer.unicast.is_empty() && writer.multicast.is_empty() {
                // It arrived until now, but nothing can be asked for again.
                causes.push(Cause::Unreachable { announced: self.announced(writer.guid.prefix) });
            }
        }
        let filter = slot.content_filter_stats();
        let at_writer = usize::try_from(filter.at_writer).unwrap_or(usize::MAX);
        let rejected = filter.rejected.saturating_add(filter.unreadable).saturating_add(at_writer);
        // Without a filter of its own, what did not arrive came too soon: some of it is seen.
        if reader.content_filter.is_some() && filter.passed == 0 && rejected > 0 {
            causes.push(Cause::Filtered { rejected });
        }
    }

    /// What a local writer has heard of a reader that it matches.
    fn look_at_writer(&self, writer: &DiscoveredWriter, reader: &DiscoveredReader, causes: &mut Vec<Cause>) {
        let Some(core) = self.local_writer(writer.guid) else { return };
        let Some(slot) = core.slot() else { return };
        if reader.guid.prefix == self.own {
            return;
        }
        if slot.has_heard(reader.guid) == Some(false) {
            causes.push(self.silence(reader.guid.prefix, &reader.unicast, &reader.multicast, true));
        } else if slot.is_inactive(reader.guid) == Some(true) {
            let locators = reader.unicast.iter().chain(reader.multicast.iter()).copied().collect();
            causes.push(Cause::Inactive { locators });
        } else if reader.unicast.is_empty() && reader.multicast.is_empty() {
            causes.push(Cause::Unreachable { announced: self.announced(reader.guid.prefix) });
        }
    }

    fn silence(&self, prefix: GuidPrefix, one: &[Locator], other: &[Locator], reliable: bool) -> Cause {
        if one.is_empty() && other.is_empty() {
            return Cause::Unreachable { announced: self.announced(prefix) };
        }
        Cause::NothingReceived { locators: one.iter().chain(other).copied().collect(), reliable }
    }

    /// Where a participant says that its endpoints receive.
    fn announced(&self, prefix: GuidPrefix) -> Vec<Locator> {
        announced(&self.survey, prefix)
    }

    fn local_writer(&self, guid: Guid) -> Option<Arc<WriterInner>> {
        self.local(guid).and_then(|id| self.participant.sink().writer(id))
    }

    fn local_reader(&self, guid: Guid) -> Option<Arc<ReaderInner>> {
        self.local(guid).and_then(|id| self.participant.sink().reader(id))
    }

    fn local(&self, guid: Guid) -> Option<EntityId> {
        (guid.prefix == self.own).then_some(guid.entity_id)
    }

    /// A pair of which the other side is not known.
    fn unknown(&self, local: Guid, wanted: Guid) -> Pair {
        let is_writer = local.entity_id.is_writer();
        let find = |guid: Guid| {
            let writer = self.survey.writers.iter().find(|writer| writer.guid == guid);
            let reader = self.survey.readers.iter().find(|reader| reader.guid == guid);
            writer.map(|writer| self.writer(writer)).or_else(|| reader.map(|reader| self.reader(reader)))
        };
        let cause = if find(wanted).is_some() {
            Cause::SameKind
        } else if self.survey.ignored_participants.contains(&wanted.prefix) {
            Cause::Ignored { what: "participant" }
        } else if self.survey.ignored_endpoints.contains(&wanted) {
            Cause::Ignored { what: "endpoint" }
        } else {
            Cause::NotDiscovered { participant_is_known: self.standing(wanted.prefix).is_some() }
        };
        let this = find(local);
        let (writer, reader) = if is_writer { (this, None) } else { (None, this) };
        Pair { writer, reader, matched: false, causes: vec![cause], notes: Vec::new() }
    }

    fn no_counterpart(&self, writers: bool, topic: &str) -> Cause {
        let similar = similar(topic, &self.survey.topics);
        Cause::NoCounterpart { writers, topic: topic.to_owned(), similar }
    }

    /// Adds what concerns all pairs, unless everything is well.
    fn conclude(self, topic: &str, pairs: Vec<Pair>, mut causes: Vec<Cause>) -> Explanation {
        let well = causes.is_empty() && pairs.iter().all(|pair| pair.matched && pair.causes.is_empty());
        if !well {
            self.general(topic, &mut causes);
        } else if pairs.iter().any(|pair| !pair.is_local()) {
            // What others announce fits. Whether it arrives shows here in part: who does not answer may read or write the
            // topic too, and groups that are silent here may be silent there.
            let concerned =
                |standing: &ParticipantState| pairs.iter().any(|pair| pair.is_of(standing.data.guid_prefix));
            self.unheard(concerned, &mut causes);
        }
        Explanation { domain: self.participant.domain, topic: topic.to_owned(), pairs, causes }
    }

    /// Participants that do not answer, and those `concerned` of which nothing comes that is sent to groups.
    fn unheard(&self, concerned: impl Fn(&ParticipantState) -> bool, causes: &mut Vec<Cause>) {
        let (now, participants) = (self.participant.now(), &self.survey.participants);
        let silent =
            |standing: &&ParticipantState| !standing.verified && now.since(standing.since) >= TIME_TO_ANSWER;
        causes.extend(participants.iter().filter(silent).map(one_sided));
        let deaf = participants.iter().filter(|standing| standing.groups_silent && concerned(standing));
        causes.extend(deaf.map(Cause::multicast));
    }

    fn general(&self, topic: &str, causes: &mut Vec<Cause>) {
        let Survey { participants, ignored_participants, ignored_endpoints, ignored_topics, stats, .. } =
            &self.survey;
        if participants.is_empty() && ignored_participants.is_empty() {
            causes.push(Cause::Alone);
        }
        let known = participants.iter().filter(|known| known.verified);
        let servers = &self.participant.servers;
        causes.extend(servers.silent(known).into_iter().map(|name| {
            if servers.is_daemon() {
                Cause::DaemonSilent { daemon: name }
            } else {
                Cause::ServerSilent { server: name }
            }
        }));
        if ignored_topics.iter().any(|name| &**name == topic) {
            causes.push(Cause::Ignored { what: "topic" });
        }
        let (left_out, endpoints) = (ignored_participants.len(), ignored_endpoints.len());
        if left_out + endpoints + ignored_topics.len() > 0 {
            let topics = ignored_topics.len();
            causes.push(Cause::SomeIgnored { participants: left_out, endpoints, topics });
        }
        self.unheard(|_| true, causes);
        if stats.other_domain > 0 {
            causes.push(Cause::OtherDomain { announcements: stats.other_domain });
        }
        let refused = stats.participants_refused.saturating_add(stats.participants_evicted);
        if refused + stats.endpoints_refused > 0 {
            causes.push(Cause::Quota { participants: refused, endpoints: stats.endpoints_refused });
        }
        causes.extend(self.participant.connection_troubles().into_iter().map(Cause::Connection));
        causes.extend(self.participant.network_notes().into_iter().map(Cause::Network));
    }
}

fn is_reliable(writer: &DiscoveredWriter, reader: &DiscoveredReader) -> bool {
    let reliable = dunlin_qos::ReliabilityKind::Reliable;
    writer.qos.reliability.kind == reliable && reader.qos.reliability.kind == reliable
}

fn one_sided(standing: &ParticipantState) -> Cause {
    Cause::one_sided(&standing.data)
}

impl Pair {
    /// Whether one of the two is of the participant that was asked.
    fn is_local(&self) -> bool {
        [&self.writer, &self.reader].into_iter().flatten().any(|side| side.local)
    }

    /// Whether one of the two is of this participant.
    fn is_of(&self, prefix: GuidPrefix) -> bool {
        [&self.writer, &self.reader].into_iter().flatten().any(|side| side.guid.prefix == prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_topic_name_is_suggested() {
        let names: Vec<Arc<str>> = ["Square", "Circle", "Triangle", "A"].map(Arc::from).into();
        assert_eq!(similar("square", &names).as_deref(), Some("Square"));
        assert_eq!(similar("Squares", &names).as_deref(), Some("Square"));
        assert_eq!(similar("Cricle", &names).as_deref(), Some("Circle"));
        assert_eq!(similar("Square", &names[..1]), None, "the same name is not another");
        assert_eq!(similar("B", &names), None, "one letter of one is not near");
        assert_eq!(similar("Pentagon", &names), None);
        assert_eq!((edit_distance("", "abc"), edit_distance("kitten", "sitting")), (3, 3));
        assert_eq!(edit_distance(&"x".repeat(65), "x"), usize::MAX);
    }
}
