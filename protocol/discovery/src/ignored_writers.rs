//! Ignored writers that their publisher counts among its own (RTPS 2.5 §8.7.6).

use alloc::{collections::BTreeMap, vec::Vec};

use dunlin_core::{EntityId, Guid, GuidPrefix, SequenceNumber};

use crate::effect::DiscoveryEffect;

/// Most ignored writers that are remembered: they are announced without being charged to anybody.
const MAX_IGNORED: usize = 1024;

/// Most of one participant, so that none takes the room of the others.
const MAX_IGNORED_PER_PARTICIPANT: usize = 64;

/// A writer that is ignored, but announces itself and is counted by its publisher.
#[derive(Debug, Clone, Copy)]
struct IgnoredWriter {
    publisher: Guid,
    /// The last change that announced it.
    sn: SequenceNumber,
}

/// The ignored writers of all publishers, bounded.
#[derive(Debug, Default)]
pub(crate) struct IgnoredWriters(BTreeMap<Guid, IgnoredWriter>);

impl IgnoredWriters {
    /// Those of one publisher.
    pub(crate) fn of_publisher(&self, publisher: Guid) -> impl Iterator<Item = EntityId> {
        let of_publisher = self.of(publisher.prefix).filter(move |(_, known)| known.publisher == publisher);
        of_publisher.map(|(writer, _)| writer.entity_id)
    }

    fn of(&self, prefix: GuidPrefix) -> impl Iterator<Item = (&Guid, &IgnoredWriter)> {
        let (first, last) = (EntityId([0; 4]), EntityId([u8::MAX; 4]));
        self.0.range(Guid::new(prefix, first)..=Guid::new(prefix, last))
    }

    /// `sn` announced the writer last.
    pub(crate) fn note(
        &mut self,
        writer: Guid,
        publisher: Guid,
        sn: SequenceNumber,
        fx: &mut Vec<DiscoveryEffect>,
    ) {
        let news = IgnoredWriter { publisher, sn };
        if let Some(known) = self.0.get_mut(&writer) {
            let before = core::mem::replace(known, news).publisher;
            if before != publisher {
                fx.extend([before, publisher].map(DiscoveryEffect::GroupChanged));
            }
            return;
        }
        let own = self.of(writer.prefix).count();
        if own < MAX_IGNORED_PER_PARTICIPANT && self.0.len() < MAX_IGNORED {
            self.0.insert(writer, news);
            fx.push(DiscoveryEffect::GroupChanged(publisher));
        }
    }

    /// What announced these before `first` can never be received, nor what removed them.
    pub(crate) fn forget_before(
        &mut self,
        prefix: GuidPrefix,
        first: SequenceNumber,
        fx: &mut Vec<DiscoveryEffect>,
    ) {
        let gone = self.of(prefix).filter(|(_, known)| known.sn < first);
        for writer in gone.map(|(writer, _)| *writer).collect::<Vec<_>>() {
            self.forget(writer, fx);
        }
    }

    /// A writer is no more.
    pub(crate) fn forget(&mut self, writer: Guid, fx: &mut Vec<DiscoveryEffect>) {
        let known = self.0.remove(&writer);
        fx.extend(known.map(|known| DiscoveryEffect::GroupChanged(known.publisher)));
    }

    /// A participant is no more, and with it its publishers.
    pub(crate) fn forget_participant(&mut self, prefix: GuidPrefix) {
        self.0.retain(|writer, _| writer.prefix != prefix);
    }
}
