//! Type information: what discovery says about the type of an endpoint (DDS-XTypes 1.3 §7.6.3.2.2, Annex B).

use alloc::vec::Vec;

use dunlin_cdr::{CdrRead, CdrWrite};

use crate::TypeIdentifier;

/// An identifier and the size of its serialized type object in bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct TypeIdentifierWithSize {
    /// The identifier.
    pub type_id: TypeIdentifier,
    /// Bytes of its object.
    pub typeobject_serialized_size: u32,
}

/// An identifier and those of the types it depends on.
#[derive(Clone, Debug, PartialEq, Eq, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct TypeIdentifierWithDependencies {
    /// The type.
    pub typeid_with_size: TypeIdentifierWithSize,
    /// How many types it depends on, directly or not; −1 if unknown.
    pub dependent_typeid_count: i32,
    /// Some or all of them.
    pub dependent_typeids: Vec<TypeIdentifierWithSize>,
}

impl TypeIdentifierWithDependencies {
    /// No type: what a peer that announces only the other kind of objects means.
    #[must_use]
    pub fn none() -> Self {
        Self {
            typeid_with_size: TypeIdentifierWithSize {
                type_id: TypeIdentifier::NONE,
                typeobject_serialized_size: 0,
            },
            dependent_typeid_count: 0,
            dependent_typeids: Vec::new(),
        }
    }
}

/// The type of an endpoint, as PID_TYPE_INFORMATION announces it.
#[derive(Clone, Debug, PartialEq, Eq, CdrRead, CdrWrite)]
#[dds(mutable)]
pub struct TypeInformation {
    /// The minimal object and those it depends on.
    #[dds(id = 0x1001)]
    pub minimal: TypeIdentifierWithDependencies,
    /// The complete object and those it depends on.
    #[dds(id = 0x1002)]
    pub complete: TypeIdentifierWithDependencies,
}

impl TypeInformation {
    /// The identifiers of the type itself, minimal first; those that the peer left out are missing.
    pub fn identifiers(&self) -> impl Iterator<Item = &TypeIdentifier> {
        [&self.minimal, &self.complete]
            .into_iter()
            .map(|side| &side.typeid_with_size.type_id)
            .filter(|id| !id.is_none())
    }

    /// The same with dependencies in the order of identifiers, so that information of different makers can be compared.
    #[must_use]
    pub fn normalized(mut self) -> Self {
        for side in [&mut self.minimal, &mut self.complete] {
            side.dependent_typeids.sort();
            side.dependent_typeids.dedup();
            side.dependent_typeid_count = i32::try_from(side.dependent_typeids.len()).unwrap_or(i32::MAX);
        }
        self
    }
}
