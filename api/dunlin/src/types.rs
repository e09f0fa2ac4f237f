//! Types of the topics of this process: their type objects, and the names that they were registered under (DDS-XTypes 1.3
//! §7.6.3.2).

use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};

use dunlin_cdr::{DdsType, description};
use dunlin_dynamic::DynamicType;
use dunlin_engine::LocalType;
use dunlin_xtypes::{TypeGraph, TypeIndex};

use crate::mutex::lock;

/// What is announced of Rust types that topics have: they share it, as thousands may have one type.
static LOCAL_TYPES: Mutex<BTreeMap<TypeId, Weak<LocalType>>> = Mutex::new(BTreeMap::new());

/// The type objects of a Rust type.
pub(crate) fn local_type<T: DdsType>() -> Option<Arc<LocalType>> {
    let known = || lock(&LOCAL_TYPES).get(&TypeId::of::<T>()).and_then(Weak::upgrade);
    if let Some(known) = known() {
        return Some(known);
    }
    // Without the lock, since it may be logged by somebody who has topics too.
    let (graph, root) = dunlin_xtypes::from_description(description::<T>());
    let ty = type_of_graph(Arc::new(graph), root, T::TYPE_NAME)?;
    let mut types = lock(&LOCAL_TYPES);
    types.retain(|_, ty| ty.strong_count() > 0);
    let weak = types.entry(TypeId::of::<T>()).or_insert_with(|| Arc::downgrade(&ty));
    Some(weak.upgrade().unwrap_or(ty))
}

/// The type objects of a type known at run time.
pub(crate) fn local_dynamic_type(ty: &DynamicType) -> Option<Arc<LocalType>> {
    type_of_graph(Arc::clone(ty.graph()), ty.index(), ty.name())
}

fn type_of_graph(graph: Arc<TypeGraph>, root: TypeIndex, name: &str) -> Option<Arc<LocalType>> {
    LocalType::new(graph, root)
        .inspect_err(|error| dunlin_driver::log!(DEBUG, "no type information for {name}: {error}"))
        .ok()
}

/// Names that types were registered under with a participant.
#[derive(Default)]
pub(crate) struct RegisteredTypes(Mutex<BTreeMap<String, TypeId>>);

impl RegisteredTypes {
    /// The type registered under a name.
    pub(crate) fn of(&self, name: &str) -> Option<TypeId> {
        lock(&self.0).get(name).copied()
    }

    /// Registers a type under a name; false if another type has it.
    pub(crate) fn add(&self, name: &str, ty: TypeId) -> bool {
        *lock(&self.0).entry(name.to_owned()).or_insert(ty) == ty
    }

    /// Whether the type may be meant by a name: its own unless another type has it, or one it was registered under.
    pub(crate) fn has<T: DdsType>(&self, name: &str) -> bool {
        self.of(name).map_or(name == T::TYPE_NAME, |known| known == TypeId::of::<T>())
    }
}
