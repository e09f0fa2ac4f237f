//! Which writers a publisher has, as far as they are known (RTPS 2.5 §8.7.6).

use alloc::vec::Vec;

use dunlin_core::{EntityId, Guid, GuidPrefix, SequenceNumber};
use dunlin_qos::PresentationAccessScope;

use crate::data::DiscoveredWriter;
use crate::discovery::Discovery;
use crate::effect::DiscoveryEffect;

/// Most ignored writers that are remembered: they are announced without being charged to anybody.
const MAX_IGNORED: usize = 1024;

/// Most of one participant, so that none takes the room of the others.
const MAX_IGNORED_PER_PARTICIPANT: usize = 64;

/// A writer that is ignored, but announces itself and is counted by its publisher.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IgnoredWriter {
    publisher: Guid,
    /// The last change that announced it.
    sn: SequenceNumber,
}

impl DiscoveredWriter {
    /// The publisher, if its access scope is GROUP and it is announced: those who listen to several of its writers have to know
    /// all of them (DDS 1.4 §2.2.3.6).
    #[must_use]
    pub fn publisher(&self) -> Option<Guid> {
        let by_group = self.publisher_qos.presentation.access_scope == PresentationAccessScope::Group;
        let named = by_group && self.group != EntityId::UNKNOWN;
        named.then(|| Guid::new(self.guid.prefix, self.group))
    }
}

impl Discovery {
    /// The writers of a publisher that are known, those that are ignored among them; `None` as long as it has to be found out
    /// whether one of them matches a local reader.
    #[must_use]
    pub fn writers_of_publisher(&self, publisher: Guid) -> Option<Vec<EntityId>> {
        let mut ids = Vec::new();
        for writer in self.endpoints.writers_of(publisher.prefix) {
            if writer.publisher() == Some(publisher) {
                if self.endpoints.is_unsettled(writer.guid) {
                    return None;
                }
                ids.push(writer.guid.entity_id);
            }
        }
        let ignored = self.ignored_of(publisher.prefix).filter(|(_, known)| known.publisher == publisher);
        ids.extend(ignored.map(|(writer, _)| writer.entity_id));
        Some(ids)
    }

    fn ignored_of(&self, prefix: GuidPrefix) -> impl Iterator<Item = (&Guid, &IgnoredWriter)> {
        let (first, last) = (EntityId([0; 4]), EntityId([u8::MAX; 4]));
        self.ignored_writers.range(Guid::new(prefix, first)..=Guid::new(prefix, last))
    }

    /// A writer is ignored, but its publisher counts it; `sn` announced it last.
    pub(crate) fn note_ignored(
        &mut self,
        writer: &DiscoveredWriter,
        sn: SequenceNumber,
        fx: &mut Vec<DiscoveryEffect>,
    ) {
        let Some(publisher) = writer.publisher() else { return };
        let news = IgnoredWriter { publisher, sn };
        if let Some(known) = self.ignored_writers.get_mut(&writer.guid) {
            let before = core::mem::replace(known, news).publisher;
            if before != publisher {
                fx.extend([before, publisher].map(DiscoveryEffect::GroupChanged));
            }
            return;
        }
        let own = self.ignored_of(writer.guid.prefix).count();
        if own < MAX_IGNORED_PER_PARTICIPANT && self.ignored_writers.len() < MAX_IGNORED {
            self.ignored_writers.insert(writer.guid, news);
            fx.push(DiscoveryEffect::GroupChanged(publisher));
        }
    }

    /// What announced these before `first` can never be received, nor what removed them.
    pub(crate) fn forget_ignored_before(
        &mut self,
        prefix: GuidPrefix,
        first: SequenceNumber,
        fx: &mut Vec<DiscoveryEffect>,
    ) {
        let gone = self.ignored_of(prefix).filter(|(_, known)| known.sn < first);
        for writer in gone.map(|(writer, _)| *writer).collect::<Vec<_>>() {
            self.forget_ignored(writer, fx);
        }
    }

    /// A writer is no more.
    pub(crate) fn forget_ignored(&mut self, writer: Guid, fx: &mut Vec<DiscoveryEffect>) {
        let known = self.ignored_writers.remove(&writer);
        fx.extend(known.map(|known| DiscoveryEffect::GroupChanged(known.publisher)));
    }
}
