//! Type objects and type information of types known at run time (DDS-XTypes 1.3 §7.3.4.5, §7.3.4.9).

mod annotations;
mod components;
mod identifiers;
mod objects;

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use dunlin_cdr::CdrError;
pub(crate) use identifiers::of as identifier_of;
pub(crate) use objects::name_of;

use crate::identifier::{StronglyConnectedComponentId, TypeObjectHashId};
use crate::information::{TypeIdentifierWithDependencies, TypeIdentifierWithSize, TypeInformation};
use crate::model::{TypeGraph, TypeIndex};
use crate::object::complete::CompleteTypeObject;
use crate::object::{TypeObject, equivalence_hash, to_minimal, to_octets};
use crate::{Equivalence, TypeIdentifier};

/// Why a type has no type objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildError {
    /// A member refers to a definition that the graph lacks, or has no type.
    Dangling,
    /// A label of a union needs more than 32 bits.
    Label {
        /// The union.
        union: String,
        /// The label.
        label: i64,
    },
    /// An object cannot be serialized.
    Serialize(CdrError),
    /// The type is no structure or union, so that no topic can have it.
    NoTopicType(String),
}

impl From<CdrError> for BuildError {
    fn from(error: CdrError) -> Self {
        Self::Serialize(error)
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dangling => f.write_str("a member has a type that is not defined"),
            Self::Label { union, label } => write!(f, "label {label} of {union} needs more than 32 bits"),
            Self::Serialize(error) => write!(f, "the type object cannot be serialized: {error}"),
            Self::NoTopicType(name) => write!(f, "{name} is no structure or union"),
        }
    }
}

impl core::error::Error for BuildError {}

/// A type object with its identifier.
#[derive(Clone, Debug, PartialEq)]
pub struct IdentifiedObject {
    /// The identifier.
    pub id: TypeIdentifier,
    /// The object.
    pub object: TypeObject,
    /// Bytes of the serialized object.
    pub size: u32,
}

/// Both objects of a definition.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeRecord {
    /// The definition.
    pub index: TypeIndex,
    /// The minimal object.
    pub minimal: IdentifiedObject,
    /// The complete object.
    pub complete: IdentifiedObject,
}

/// The objects of a type and of all that it depends on; what it depends on comes first.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeObjects {
    /// The objects.
    pub records: Vec<TypeRecord>,
    /// The complete objects of annotations that are applied in the others, and of the enumerations of their parameters.
    /// They are no dependencies: nobody has to know them to know the types.
    pub annotations: Vec<IdentifiedObject>,
    /// Which of them is the type itself.
    root: TypeIndex,
}

/// Makes the type objects of a definition and of all that it depends on. Of a graph that was made of minimal objects, whose
/// names are not known, the minimal objects are right and the complete ones have no names.
///
/// # Errors
/// [`BuildError`].
pub fn type_objects(graph: &TypeGraph, root: TypeIndex) -> Result<TypeObjects, BuildError> {
    let mut builder = Builder::new(graph);
    for component in components::of(graph, root) {
        builder.component(&component)?;
    }
    Ok(TypeObjects { records: builder.records, annotations: builder.annotations, root })
}

/// The minimal identifiers of all definitions of a graph; `None` for those that have no type objects.
pub(crate) fn minimal_identifiers(graph: &TypeGraph) -> Vec<Option<TypeIdentifier>> {
    let mut builder = Builder::new(graph);
    for component in components::all(graph) {
        if builder.side(&component, Equivalence::Minimal).is_err() {
            for index in &component.members {
                if let Some(slot) = builder.minimal.get_mut(index.0) {
                    *slot = None;
                }
            }
        }
    }
    builder.minimal
}

struct Builder<'a> {
    graph: &'a TypeGraph,
    /// The identifiers found so far, by definition.
    minimal: Vec<Option<TypeIdentifier>>,
    complete: Vec<Option<TypeIdentifier>>,
    records: Vec<TypeRecord>,
    /// Of each annotation, whether it was looked at, and its identifier.
    annotation_ids: Vec<(bool, Option<TypeIdentifier>)>,
    annotations: Vec<IdentifiedObject>,
}

impl<'a> Builder<'a> {
    fn new(graph: &'a TypeGraph) -> Self {
        let (minimal, complete) = (alloc::vec![None; graph.len()], alloc::vec![None; graph.len()]);
        let annotation_ids = alloc::vec![(false, None); graph.declared.len()];
        Self { graph, minimal, complete, records: Vec::new(), annotation_ids, annotations: Vec::new() }
    }

    fn object(&self, index: TypeIndex, equivalence: Equivalence) -> Result<TypeObject, BuildError> {
        let minimal = equivalence == Equivalence::Minimal;
        let ids = if minimal { &self.minimal } else { &self.complete };
        let definition = self.graph.get(index).ok_or(BuildError::Dangling)?;
        let mut object = objects::complete(self.graph, definition, ids)?;
        if !minimal {
            annotations::apply(self.graph, index, &self.annotation_ids, &mut object);
            return Ok(TypeObject::Complete(object));
        }
        // The identifiers in it are those of minimal objects already.
        let mut object = to_minimal(&object, &mut |id| Some(id.clone())).ok_or(BuildError::Dangling)?;
        objects::set_name_hashes(&mut object, definition);
        Ok(TypeObject::Minimal(object))
    }

    fn component(&mut self, component: &components::Component) -> Result<(), BuildError> {
        let minimal = self.side(component, Equivalence::Minimal)?;
        for index in &component.members {
            self.prepare(*index, 0)?;
        }
        let complete = self.side(component, Equivalence::Complete)?;
        let sides = minimal.into_iter().zip(complete);
        self.records.extend(
            component.members.iter().zip(sides).map(|(index, (minimal, complete))| TypeRecord {
                index: *index,
                minimal,
                complete,
            }),
        );
        Ok(())
    }

    fn remember(&mut self, equivalence: Equivalence, index: TypeIndex, id: TypeIdentifier) {
        let ids = if equivalence == Equivalence::Minimal { &mut self.minimal } else { &mut self.complete };
        if let Some(slot) = ids.get_mut(index.0) {
            *slot = Some(id);
        }
    }

    /// The minimal or the complete objects of a component.
    fn side(
        &mut self,
        component: &components::Component,
        equivalence: Equivalence,
    ) -> Result<Vec<IdentifiedObject>, BuildError> {
        if let ([index], false) = (component.members.as_slice(), component.recursive) {
            let object = self.object(*index, equivalence)?;
            let octets = to_octets(&object)?;
            let id = object.identifier_of(&octets);
            self.remember(equivalence, *index, id.clone());
            return Ok(alloc::vec![IdentifiedObject { id, object, size: size(&octets) }]);
        }
        // Objects that refer to each other are made with provisional identifiers first (§7.3.4.9).
        self.number(component, equivalence, [0; 14]);
        let provisional = self.objects(component, equivalence)?;
        let hash = equivalence_hash(&to_octets(&provisional)?);
        self.number(component, equivalence, hash);
        let objects = self.objects(component, equivalence)?;
        let mut result = Vec::with_capacity(objects.len());
        for (index, object) in component.members.iter().zip(objects) {
            let ids = if equivalence == Equivalence::Minimal { &self.minimal } else { &self.complete };
            let id = ids.get(index.0).cloned().flatten().ok_or(BuildError::Dangling)?;
            let octets = to_octets(&object)?;
            result.push(IdentifiedObject { id, object, size: size(&octets) });
        }
        Ok(result)
    }

    fn objects(
        &self,
        component: &components::Component,
        equivalence: Equivalence,
    ) -> Result<Vec<TypeObject>, BuildError> {
        component.members.iter().map(|index| self.object(*index, equivalence)).collect()
    }

    /// Gives the members of a component their identifiers.
    fn number(
        &mut self,
        component: &components::Component,
        equivalence: Equivalence,
        hash: crate::EquivalenceHash,
    ) {
        let sc_component_id = match equivalence {
            Equivalence::Minimal => TypeObjectHashId::Minimal(hash),
            Equivalence::Complete | Equivalence::Both => TypeObjectHashId::Complete(hash),
        };
        let scc_length = i32::try_from(component.members.len()).unwrap_or(i32::MAX);
        for (index, scc_index) in component.members.iter().zip(1..) {
            let id = StronglyConnectedComponentId { sc_component_id, scc_length, scc_index };
            self.remember(equivalence, *index, TypeIdentifier::Component(id));
        }
    }
}

fn size(octets: &[u8]) -> u32 {
    u32::try_from(octets.len()).unwrap_or(u32::MAX)
}

impl TypeObjects {
    /// The objects of the type itself.
    #[must_use]
    pub fn root(&self) -> Option<&TypeRecord> {
        self.records.iter().find(|record| record.index == self.root)
    }

    /// What discovery announces of the type.
    ///
    /// # Errors
    /// [`BuildError::NoTopicType`].
    pub fn information(&self) -> Result<TypeInformation, BuildError> {
        let record = self.root().ok_or(BuildError::Dangling)?;
        if let TypeObject::Complete(object) = &record.complete.object
            && !matches!(object, CompleteTypeObject::Structure(_) | CompleteTypeObject::Union(_))
        {
            return Err(BuildError::NoTopicType(objects::name_of(object).into()));
        }
        Ok(TypeInformation {
            minimal: self.side(record, |record| &record.minimal),
            complete: self.side(record, |record| &record.complete),
        })
    }

    fn side(
        &self,
        root: &TypeRecord,
        pick: fn(&TypeRecord) -> &IdentifiedObject,
    ) -> TypeIdentifierWithDependencies {
        let own = pick(root).id.lookup_id();
        let mut dependencies: Vec<TypeIdentifierWithSize> = Vec::new();
        let mut own_size = 0_u32;
        for entry in self.records.iter().map(pick) {
            let type_id = entry.id.lookup_id();
            // The objects of a component are looked up together.
            let known = if type_id == own {
                Some(&mut own_size)
            } else {
                dependencies
                    .iter_mut()
                    .find(|known| known.type_id == type_id)
                    .map(|known| &mut known.typeobject_serialized_size)
            };
            match known {
                Some(sum) => *sum = sum.saturating_add(entry.size),
                None => dependencies
                    .push(TypeIdentifierWithSize { type_id, typeobject_serialized_size: entry.size }),
            }
        }
        // The identifier of a whole component would leave open which of its types it is: of several, it is the type's own.
        let own = match &pick(root).id {
            TypeIdentifier::Component(id) if id.scc_length > 1 => pick(root).id.clone(),
            _ => own,
        };
        TypeIdentifierWithDependencies {
            typeid_with_size: TypeIdentifierWithSize { type_id: own, typeobject_serialized_size: own_size },
            dependent_typeid_count: i32::try_from(dependencies.len()).unwrap_or(i32::MAX),
            dependent_typeids: dependencies,
        }
    }
}
