//! Types of endpoints: what is announced of those of this participant, and what others tell of theirs (DDS-XTypes 1.3
//! §7.6.3.2 and §7.6.3.3).

use crate::participant::{DomainParticipant, ParticipantInner};
use dunlin_cdr::{DdsType, description};
use dunlin_core::Guid;
use dunlin_dynamic::DynamicType;
use dunlin_engine::{LocalType, TypeDiscovery};
use dunlin_xtypes::{TypeGraph, TypeIndex};
use std::sync::Arc;

/// The type objects of a Rust type.
pub(crate) fn local_type<T: DdsType>() -> Option<Arc<LocalType>> {
    let (graph, root) = dunlin_xtypes::from_description(description::<T>());
    type_of_graph(Arc::new(graph), root, T::TYPE_NAME)
}

/// The type objects of a type known at run time.
pub(crate) fn local_dynamic_type(ty: &DynamicType) -> Option<Arc<LocalType>> {
    type_of_graph(Arc::clone(ty.graph()), ty.index(), ty.name())
}

fn type_of_graph(graph: Arc<TypeGraph>, root: TypeIndex, name: &str) -> Option<Arc<LocalType>> {
    LocalType::new(graph, root)
        .inspect_err(|error| tracing::debug!("no type information for {name}: {error}"))
        .ok()
}

impl ParticipantInner {
    /// The type of a topic, if the configuration lets types be announced.
    pub(crate) fn announced_type(
        &self,
        make: impl FnOnce() -> Option<Arc<LocalType>>,
    ) -> Option<Arc<LocalType>> {
        self.announces_types.then(make).flatten()
    }
}

impl DomainParticipant {
    /// The type of a writer or reader, of this or another participant, as far as it is known. If the other participant has
    /// to be asked for it, this asks: the answer is [`TypeDiscovery::Pending`] then, and a later call tells what came of
    /// it, at the latest after some seconds.
    #[must_use]
    pub fn discovered_type(&self, endpoint: Guid) -> TypeDiscovery {
        self.inner().run(|engine, now, out| engine.discovered_type(now, endpoint, out))
    }
}
