//! The writers that discovery knows, and what each is to the service.

use std::collections::BTreeMap;
use std::sync::Arc;

use dunlin::qos::DurabilityKind;
use dunlin::{Behaviour, DomainParticipant, Guid, PublicationBuiltinTopicData, VendorId};

use crate::contract::Contract;
use crate::topic::{TopicKey, seniority};

/// A writer.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    pub(crate) data: Arc<PublicationBuiltinTopicData>,
    /// The history that its samples belong to, if they are to last.
    pub(crate) key: Option<TopicKey>,
    /// What it asks to be kept.
    pub(crate) contract: Contract,
    /// It is a durability service's: what it sends was somebody else's first.
    pub(crate) of_service: bool,
}

impl Writer {
    fn of(data: Arc<PublicationBuiltinTopicData>) -> Self {
        let of_service = data.qos.property.service().is_some_and(|mark| mark.kind == "durability");
        Self { key: TopicKey::of(&data), contract: Contract::of(&data.qos), of_service, data }
    }

    /// Whether those who come late get its samples from itself.
    pub(crate) fn serves_late_joiners(&self) -> bool {
        serves_late_joiners(self.data.vendor, self.data.qos.durability.kind)
    }
}

fn serves_late_joiners(vendor: VendorId, durability: DurabilityKind) -> bool {
    match durability {
        DurabilityKind::Volatile => false,
        DurabilityKind::TransientLocal => true,
        _ => !vendor.does(Behaviour::LeavesTransientToServices),
    }
}

/// All that are known now.
#[derive(Default)]
pub(crate) struct Writers {
    known: BTreeMap<Guid, Writer>,
}

impl Writers {
    /// Takes what discovery knows. Returns those that have gone.
    pub(crate) fn learn(&mut self, participant: &DomainParticipant) -> Vec<Guid> {
        let mut known = BTreeMap::new();
        for data in participant.discovered_publications() {
            let old = self.known.remove(&data.guid).filter(|old| Arc::ptr_eq(&old.data, &data));
            known.insert(data.guid, old.unwrap_or_else(|| Writer::of(data)));
        }
        let gone = self.known.keys().filter(|guid| !known.contains_key(guid)).copied().collect();
        self.known = known;
        gone
    }

    pub(crate) fn get(&self, guid: Guid) -> Option<&Writer> {
        self.known.get(&guid)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Writer> {
        self.known.values()
    }

    /// Whether another service that is older than this writer of ours gives the same history.
    pub(crate) fn has_elder(&self, key: &TopicKey, own: (i64, Guid)) -> bool {
        let others = self.all().filter(|writer| writer.of_service && writer.data.guid != own.1);
        others
            .filter(|writer| writer.key.as_ref() == Some(key))
            .filter_map(|it| seniority(&it.data))
            .any(|it| it < own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transient_writers_of_cyclone_serve_nobody() {
        use DurabilityKind::{Persistent, Transient, TransientLocal, Volatile};
        let all = [Volatile, TransientLocal, Transient, Persistent];
        let serve = |vendor| all.map(|durability| serves_late_joiners(vendor, durability));
        assert_eq!(serve(VendorId::CYCLONE_DDS), [false, true, false, false]);
        assert_eq!(serve(VendorId::FAST_DDS), [false, true, true, true]);
        assert_eq!(serve(VendorId::DUNLIN), [false, true, true, true]);
    }
}
