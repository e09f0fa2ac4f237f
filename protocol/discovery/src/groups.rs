//! Which writers a publisher has, as far as they are known (RTPS 2.5 §8.7.6).

use alloc::vec::Vec;

use dunlin_core::{EntityId, Guid};
use dunlin_qos::PresentationAccessScope;

use crate::data::DiscoveredWriter;
use crate::discovery::Discovery;

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
        ids.extend(self.ignored.writers_of(publisher));
        Some(ids)
    }
}
