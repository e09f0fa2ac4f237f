//! What the application does not want to know of others (DDS 1.4 §2.2.2.2.1.14 to §2.2.2.2.1.16, ignore_participant, ignore_topic,
//! ignore_publication and ignore_subscription), and what of it has to be counted all the same (RTPS 2.5 §8.7.6).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::{sync::Arc, vec::Vec};

use dunlin_core::{EntityId, Guid, GuidPrefix, SequenceNumber};

use crate::effect::DiscoveryEffect;

/// Most ignored writers that are remembered: they are announced without being charged to anybody.
const MAX_WRITERS: usize = 1024;
/// Most of one participant, so that none takes the room of the others.
const MAX_WRITERS_PER_PARTICIPANT: usize = 64;

/// A writer that is ignored, but announces itself and is counted by its publisher.
#[derive(Debug, Clone, Copy)]
struct CountedWriter {
    publisher: Guid,
    /// The last change that announced it.
    sn: SequenceNumber,
}

/// What is ignored, for good.
///
/// Order of calls: [`participant`](Self::participant), [`endpoint`](Self::endpoint) and [`topic`](Self::topic) when the
/// application says so; for each announcement [`has_participant`](Self::has_participant) or [`covers`](Self::covers), and for a
/// writer that is ignored [`note_writer`](Self::note_writer), until [`forget_writer`](Self::forget_writer).
#[derive(Debug, Default)]
pub(crate) struct Ignored {
    participants: BTreeSet<GuidPrefix>,
    endpoints: BTreeSet<Guid>,
    /// By topic and type name.
    topics: BTreeSet<(Arc<str>, Arc<str>)>,
    /// Writers of publishers with access scope GROUP.
    writers: BTreeMap<Guid, CountedWriter>,
}

/// What the application does not want to know.
impl Ignored {
    pub(crate) fn participant(&mut self, prefix: GuidPrefix) {
        self.participants.insert(prefix);
    }

    pub(crate) fn endpoint(&mut self, guid: Guid) {
        self.endpoints.insert(guid);
    }

    /// Every endpoint with this topic and type.
    pub(crate) fn topic(&mut self, topic_name: &str, type_name: &str) {
        self.topics.insert((topic_name.into(), type_name.into()));
    }

    pub(crate) fn has_participant(&self, prefix: GuidPrefix) -> bool {
        self.participants.contains(&prefix)
    }

    /// Whether an endpoint is ignored, by itself or for its topic and type.
    pub(crate) fn covers(&self, guid: Guid, topic: &(Arc<str>, Arc<str>)) -> bool {
        self.endpoints.contains(&guid) || self.topics.contains(topic)
    }

    pub(crate) fn participants(&self) -> impl Iterator<Item = GuidPrefix> {
        self.participants.iter().copied()
    }

    pub(crate) fn endpoints(&self) -> impl Iterator<Item = Guid> {
        self.endpoints.iter().copied()
    }

    pub(crate) fn topic_names(&self) -> impl Iterator<Item = Arc<str>> {
        self.topics.iter().map(|(name, _)| Arc::clone(name))
    }
}

/// Writers that their publishers count.
impl Ignored {
    /// Those of a publisher.
    pub(crate) fn writers_of(&self, publisher: Guid) -> impl Iterator<Item = EntityId> {
        let writers = self.writers_of_participant(publisher.prefix);
        writers.filter(move |(_, known)| known.publisher == publisher).map(|(writer, _)| writer.entity_id)
    }

    fn writers_of_participant(&self, prefix: GuidPrefix) -> impl Iterator<Item = (&Guid, &CountedWriter)> {
        let (first, last) = (EntityId([0; 4]), EntityId([u8::MAX; 4]));
        self.writers.range(Guid::new(prefix, first)..=Guid::new(prefix, last))
    }

    /// A writer is ignored, but its [publisher](crate::DiscoveredWriter::publisher) counts it, if it has one; `sn` announced it
    /// last.
    pub(crate) fn note_writer(
        &mut self,
        writer: Guid,
        publisher: Option<Guid>,
        sn: SequenceNumber,
        fx: &mut Vec<DiscoveryEffect>,
    ) {
        let Some(publisher) = publisher else { return };
        let news = CountedWriter { publisher, sn };
        if let Some(known) = self.writers.get_mut(&writer) {
            let before = core::mem::replace(known, news).publisher;
            if before != publisher {
                fx.extend([before, publisher].map(DiscoveryEffect::GroupChanged));
            }
            return;
        }
        let own = self.writers_of_participant(writer.prefix).count();
        if own < MAX_WRITERS_PER_PARTICIPANT && self.writers.len() < MAX_WRITERS {
            self.writers.insert(writer, news);
            fx.push(DiscoveryEffect::GroupChanged(publisher));
        }
    }

    /// What announced these before `first` can never be received, nor what removed them.
    pub(crate) fn forget_writers_before(
        &mut self,
        prefix: GuidPrefix,
        first: SequenceNumber,
        fx: &mut Vec<DiscoveryEffect>,
    ) {
        let gone = self.writers_of_participant(prefix).filter(|(_, known)| known.sn < first);
        for writer in gone.map(|(writer, _)| *writer).collect::<Vec<_>>() {
            self.forget_writer(writer, fx);
        }
    }

    /// A writer is no more.
    pub(crate) fn forget_writer(&mut self, writer: Guid, fx: &mut Vec<DiscoveryEffect>) {
        let known = self.writers.remove(&writer);
        fx.extend(known.map(|known| DiscoveryEffect::GroupChanged(known.publisher)));
    }

    /// A participant is gone, and its publishers with it.
    pub(crate) fn forget_writers_of(&mut self, prefix: GuidPrefix) {
        self.writers.retain(|writer, _| writer.prefix != prefix);
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn prefix(n: u8) -> GuidPrefix {
        GuidPrefix([n; 12])
    }

    fn guid(n: u8, key: u8) -> Guid {
        Guid::new(prefix(n), EntityId([0, 0, key, 2]))
    }

    #[test]
    fn an_endpoint_is_ignored_by_itself_or_for_its_topic_and_type() {
        let topic = |topic: &str, ty: &str| (Arc::from(topic), Arc::from(ty));
        let mut ignored = Ignored::default();
        ignored.endpoint(guid(1, 1));
        ignored.topic("Square", "ShapeType");
        ignored.participant(prefix(3));
        assert!(ignored.covers(guid(1, 1), &topic("Circle", "ShapeType")));
        assert!(ignored.covers(guid(2, 1), &topic("Square", "ShapeType")));
        assert!(!ignored.covers(guid(2, 1), &topic("Square", "Shape")));
        assert!(ignored.has_participant(prefix(3)) && !ignored.has_participant(prefix(1)));
        assert_eq!(ignored.topic_names().collect::<Vec<_>>(), [Arc::from("Square")]);
    }

    #[test]
    fn a_publisher_counts_its_ignored_writers_until_they_are_gone() {
        let (mut ignored, mut fx) = (Ignored::default(), Vec::new());
        let publisher = guid(1, 9);
        let counted = |ignored: &Ignored| ignored.writers_of(publisher).map(|id| id.0[2]).collect::<Vec<_>>();
        ignored.note_writer(guid(1, 1), None, SequenceNumber(1), &mut fx);
        assert!(fx.is_empty() && counted(&ignored).is_empty(), "no access scope GROUP");
        for key in 1..=3 {
            ignored.note_writer(guid(1, key), Some(publisher), SequenceNumber(key.into()), &mut fx);
        }
        ignored.note_writer(guid(1, 1), Some(publisher), SequenceNumber(4), &mut fx);
        assert_eq!((fx.len(), counted(&ignored)), (3, vec![1, 2, 3]), "announced again, 1 is no news");
        ignored.forget_writers_before(prefix(1), SequenceNumber(3), &mut fx);
        assert_eq!((fx.len(), counted(&ignored)), (4, vec![1, 3]));
        ignored.forget_writers_of(prefix(1));
        assert!(counted(&ignored).is_empty());
    }

    #[test]
    fn a_participant_takes_no_room_of_another() {
        let (mut ignored, mut fx) = (Ignored::default(), Vec::new());
        for (n, key) in (1..=2).flat_map(|n| (0..100).map(move |key| (n, key))) {
            ignored.note_writer(guid(n, key), Some(guid(n, 200)), SequenceNumber(1), &mut fx);
        }
        assert_eq!([1, 2].map(|n| ignored.writers_of(guid(n, 200)).count()), [64, 64]);
    }
}
