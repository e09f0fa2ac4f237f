//! Types known at run time made of type objects that came from the network (DDS-XTypes 1.3 §7.3.4, §7.5.2
//! `create_type_w_type_object`).

mod annotations;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::TypeIdentifier;
use crate::applied::AnnotationIndex;
use crate::identifier::{StronglyConnectedComponentId, kind};
use crate::model::*;
use crate::object::TypeObject;
use crate::object::annotation::{AppliedBuiltinMemberAnnotations, NameHash};
use crate::object::common::{
    CommonBitfield, CommonDiscriminatorMember, CommonEnumeratedLiteral, CommonStructMember, CommonUnionMember,
};
use crate::object::complete::*;
use crate::object::minimal::*;

/// Gives the object of an identifier.
type ObjectOf<'a> = dyn Fn(&TypeIdentifier) -> Option<TypeObject> + 'a;

/// Definitions that one type may depend on.
pub(crate) const MAX_DEFINITIONS: usize = 1024;
/// Most bytes of a name.
pub(crate) const MAX_NAME: usize = 256;

/// Why type objects give no type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// The object of an identifier is missing.
    Unknown(TypeIdentifier),
    /// Part of a later version of the standard, or an annotation where a type should be.
    Unsupported,
    /// More than [`MAX_DEFINITIONS`].
    TooMany,
    /// The identifier of several types that depend on each other, which does not say which one is meant.
    Ambiguous,
    /// A name of more than [`MAX_NAME`] bytes (`QualifiedTypeName` of DDS-XTypes 1.3 Annex B has 256).
    NameTooLong,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(id) => write!(f, "the type object of {id:?} is not known"),
            Self::Unsupported => f.write_str("the type has a part that this version does not know"),
            Self::TooMany => write!(f, "the type depends on more than {MAX_DEFINITIONS} others"),
            Self::Ambiguous => {
                f.write_str("the identifier is that of several types and does not say which one is meant")
            }
            Self::NameTooLong => write!(f, "the type has a name of more than {MAX_NAME} bytes"),
        }
    }
}

impl core::error::Error for LoadError {}

/// The type with an identifier and all that it depends on. Objects are not looked at before they are needed; each is
/// looked at once.
///
/// # Errors
/// [`LoadError`].
pub fn from_objects(
    root: &TypeIdentifier,
    object_of: &ObjectOf<'_>,
) -> Result<(TypeGraph, TypeIndex), LoadError> {
    let mut loader = Loader {
        graph: TypeGraph::default(),
        known: BTreeMap::new(),
        open: Vec::new(),
        annotations: BTreeMap::new(),
        parameter_types: BTreeMap::new(),
    };
    let index = loader.named(&one_type(root)?)?;
    while let Some((index, id)) = loader.open.pop() {
        let object = object_of(&id).ok_or(LoadError::Unknown(id))?;
        let definition = loader.definition(&object)?;
        loader.graph.set(index, definition);
        if let TypeObject::Complete(object) = &object {
            let said = loader.annotations(object, object_of);
            loader.graph.annotate(index, said);
        }
    }
    crate::labels::widen(&mut loader.graph);
    Ok((loader.graph, index))
}

/// The type that an announced identifier means: that of a component with one type means this one (§7.3.4.9).
fn one_type(id: &TypeIdentifier) -> Load<TypeIdentifier> {
    match id {
        TypeIdentifier::Component(it) if it.scc_index == 0 && it.scc_length == 1 => {
            Ok(TypeIdentifier::Component(StronglyConnectedComponentId { scc_index: 1, ..*it }))
        }
        id if id.is_of_several() => Err(LoadError::Ambiguous),
        other => Ok(other.clone()),
    }
}

struct Loader {
    graph: TypeGraph,
    known: BTreeMap<TypeIdentifier, TypeIndex>,
    /// Definitions whose objects are still to be looked at.
    open: Vec<(TypeIndex, TypeIdentifier)>,
    /// Annotations that were looked at, with the hashes of their parameters' names; `None` for those that are not known.
    annotations: BTreeMap<TypeIdentifier, Option<(AnnotationIndex, BTreeSet<NameHash>)>>,
    /// Types of their parameters that were looked at; `None` for those that a parameter may not have.
    parameter_types: BTreeMap<TypeIdentifier, Option<TypeIndex>>,
}

type Load<T> = Result<T, LoadError>;

impl Loader {
    fn named(&mut self, id: &TypeIdentifier) -> Load<TypeIndex> {
        if let Some(index) = self.known.get(id) {
            return Ok(*index);
        }
        if self.graph.len() >= MAX_DEFINITIONS {
            return Err(LoadError::TooMany);
        }
        let index = self.graph.reserve();
        self.known.insert(id.clone(), index);
        self.open.push((index, id.clone()));
        Ok(index)
    }

    /// Nesting of identifiers was limited when they were decoded.
    fn usage(&mut self, id: &TypeIdentifier) -> Load<Type> {
        Ok(match id {
            TypeIdentifier::Primitive { kind: kind::NONE } => return Err(LoadError::Unsupported),
            TypeIdentifier::Primitive { kind } => Type::Primitive(*kind),
            TypeIdentifier::StringSmall { kind, bound } => {
                Type::String { wide: *kind == 0x72, bound: (*bound).into() }
            }
            TypeIdentifier::StringLarge { kind, bound } => {
                Type::String { wide: *kind == 0x73, bound: *bound }
            }
            TypeIdentifier::SequenceSmall(it) => Type::Sequence {
                element: self.element(&it.element, it.header.element_flags)?,
                bound: it.bound.into(),
            },
            TypeIdentifier::SequenceLarge(it) => Type::Sequence {
                element: self.element(&it.element, it.header.element_flags)?,
                bound: it.bound,
            },
            TypeIdentifier::ArraySmall(it) => Type::Array {
                element: self.element(&it.element, it.header.element_flags)?,
                dimensions: it.bounds.iter().map(|size| (*size).into()).collect(),
            },
            TypeIdentifier::ArrayLarge(it) => Type::Array {
                element: self.element(&it.element, it.header.element_flags)?,
                dimensions: it.bounds.clone(),
            },
            TypeIdentifier::MapSmall(it) => Type::Map {
                key: self.element(&it.key, it.key_flags)?,
                value: self.element(&it.element, it.header.element_flags)?,
                bound: it.bound.into(),
            },
            TypeIdentifier::MapLarge(it) => Type::Map {
                key: self.element(&it.key, it.key_flags)?,
                value: self.element(&it.element, it.header.element_flags)?,
                bound: it.bound,
            },
            TypeIdentifier::Component(_) | TypeIdentifier::Minimal(_) | TypeIdentifier::Complete(_) => {
                Type::Named(self.named(id)?)
            }
            TypeIdentifier::Extended { .. } => return Err(LoadError::Unsupported),
        })
    }

    fn element(&mut self, id: &TypeIdentifier, flags: u16) -> Load<Box<Element>> {
        Ok(Box::new(Element { ty: self.usage(id)?, flags }))
    }

    fn base(&mut self, id: &TypeIdentifier) -> Load<Option<TypeIndex>> {
        if id.is_none() {
            return Ok(None);
        }
        match self.usage(id)? {
            Type::Named(index) => Ok(Some(index)),
            _ => Err(LoadError::Unsupported),
        }
    }

    fn definition(&mut self, object: &TypeObject) -> Load<Definition> {
        match object {
            TypeObject::Complete(object) => self.complete(object),
            TypeObject::Minimal(object) => self.minimal(object),
        }
    }

    fn complete(&mut self, object: &CompleteTypeObject) -> Load<Definition> {
        let (name, flags, kind) = match object {
            CompleteTypeObject::Structure(it) => {
                let members = it.member_seq.iter().map(|it| (named(&it.detail), &it.common));
                let kind = self.structure(&it.header.base_type, members)?;
                (&it.header.detail.type_name, it.struct_flags, kind)
            }
            CompleteTypeObject::Union(it) => {
                let members = it.member_seq.iter().map(|it| (named(&it.detail), &it.common));
                let kind = self.union(&it.discriminator.common, members)?;
                (&it.header.detail.type_name, it.union_flags, kind)
            }
            CompleteTypeObject::Alias(it) => {
                let body = &it.body.common;
                let element = *self.element(&body.related_type, body.related_flags)?;
                (&it.header.detail.type_name, it.alias_flags, Kind::Alias(element))
            }
            CompleteTypeObject::Enumeration(it) => {
                let literals = it.literal_seq.iter();
                let literals = literals.map(|it| literal(Name::new(&it.detail.name), &it.common));
                let bit_bound = it.header.common.bit_bound;
                let kind = enumeration(bit_bound, literals.collect());
                (&it.header.detail.type_name, it.enum_flags, kind)
            }
            CompleteTypeObject::Bitmask(it) => {
                let bits = it.flag_seq.iter();
                let bits =
                    bits.map(|it| Bit { name: Name::new(&it.detail.name), position: it.common.position });
                let bit_bound = it.header.common.bit_bound;
                let kind = Kind::Bitmask(Bitmask { bit_bound, bits: bits.collect() });
                (&it.header.detail.type_name, it.bitmask_flags, kind)
            }
            CompleteTypeObject::Bitset(it) => {
                let fields = it.field_seq.iter().map(|it| field(Name::new(&it.detail.name), &it.common));
                let kind = Kind::Bitset(Bitset::of(fields.collect()));
                (&it.header.detail.type_name, it.bitset_flags, kind)
            }
            // Collections with annotations of their own have objects, but no implementation makes them.
            CompleteTypeObject::Annotation(_)
            | CompleteTypeObject::Sequence(_)
            | CompleteTypeObject::Array(_)
            | CompleteTypeObject::Map(_)
            | CompleteTypeObject::Extended { .. } => return Err(LoadError::Unsupported),
        };
        if longest_name(name, &kind) > MAX_NAME {
            return Err(LoadError::NameTooLong);
        }
        Ok(Definition { name: name.clone(), flags, kind })
    }

    fn structure<'m>(
        &mut self,
        base: &TypeIdentifier,
        members: impl ExactSizeIterator<Item = (Spelling, &'m CommonStructMember)>,
    ) -> Load<Kind> {
        let base = self.base(base)?;
        let mut list = Vec::with_capacity(members.len());
        for (spelling, common) in members {
            let ty = self.usage(&common.member_type_id)?;
            list.push(member(spelling, common.member_id, common.member_flags, ty));
        }
        Ok(Kind::Structure(Structure { base, members: list }))
    }

    fn union<'m>(
        &mut self,
        discriminator: &CommonDiscriminatorMember,
        members: impl ExactSizeIterator<Item = (Spelling, &'m CommonUnionMember)>,
    ) -> Load<Kind> {
        let discriminator = *self.element(&discriminator.type_id, discriminator.member_flags)?;
        let mut cases = Vec::with_capacity(members.len());
        for (spelling, common) in members {
            let ty = self.usage(&common.type_id)?;
            // What they mean follows from the discriminator, whose type may not be known yet.
            let labels = common.label_seq.iter().map(|label| i64::from(*label)).collect();
            cases.push(Case { member: member(spelling, common.member_id, common.member_flags, ty), labels });
        }
        Ok(Kind::Union(Union { discriminator, cases }))
    }

    fn minimal(&mut self, object: &MinimalTypeObject) -> Load<Definition> {
        let (flags, kind) = match object {
            MinimalTypeObject::Structure(it) => {
                let members = it.member_seq.iter().map(|it| (hashed(&it.detail), &it.common));
                (it.struct_flags, self.structure(&it.header.base_type, members)?)
            }
            MinimalTypeObject::Union(it) => {
                let members = it.member_seq.iter().map(|it| (hashed(&it.detail), &it.common));
                (it.union_flags, self.union(&it.discriminator.common, members)?)
            }
            MinimalTypeObject::Alias(it) => {
                let body = &it.body.common;
                (it.alias_flags, Kind::Alias(*self.element(&body.related_type, body.related_flags)?))
            }
            MinimalTypeObject::Enumeration(it) => {
                let literals = it.literal_seq.iter();
                let literals = literals.map(|it| literal(Name::hashed(it.detail.name_hash), &it.common));
                let bit_bound = it.header.common.bit_bound;
                (it.enum_flags, enumeration(bit_bound, literals.collect()))
            }
            MinimalTypeObject::Bitmask(it) => {
                let bits = it
                    .flag_seq
                    .iter()
                    .map(|it| Bit { name: Name::hashed(it.detail.name_hash), position: it.common.position });
                let bit_bound = it.header.common.bit_bound;
                (it.bitmask_flags, Kind::Bitmask(Bitmask { bit_bound, bits: bits.collect() }))
            }
            MinimalTypeObject::Bitset(it) => {
                let fields = it.field_seq.iter().map(|it| field(Name::hashed(it.name_hash), &it.common));
                (it.bitset_flags, Kind::Bitset(Bitset::of(fields.collect())))
            }
            MinimalTypeObject::Annotation(_)
            | MinimalTypeObject::Sequence(_)
            | MinimalTypeObject::Array(_)
            | MinimalTypeObject::Map(_)
            | MinimalTypeObject::Extended { .. } => return Err(LoadError::Unsupported),
        };
        Ok(Definition { name: String::new(), flags, kind })
    }
}

/// Bytes of the longest name in a definition.
fn longest_name(name: &str, kind: &Kind) -> usize {
    let len = |name: &Name| name.text.len();
    let inner = match kind {
        Kind::Structure(it) => it.members.iter().map(|it| len(&it.name)).max(),
        Kind::Union(it) => it.cases.iter().map(|it| len(&it.member.name)).max(),
        Kind::Enumeration(it) => it.literals.iter().map(|it| len(&it.name)).max(),
        Kind::Bitmask(it) => it.bits.iter().map(|it| len(&it.name)).max(),
        Kind::Bitset(it) => it.fields.iter().map(|it| len(&it.name)).max(),
        Kind::Alias(_) => None,
    };
    inner.unwrap_or(0).max(name.len())
}

const fn enumeration(bit_bound: u16, literals: Vec<Literal>) -> Kind {
    Kind::Enumeration(Enumeration { bit_bound, literals, ignore_literal_names: false })
}

fn literal(name: Name, common: &CommonEnumeratedLiteral) -> Literal {
    Literal { name, value: common.value, is_default: common.flags & member_flag::DEFAULT != 0 }
}

fn field(name: Name, common: &CommonBitfield) -> Field {
    Field { name, position: common.position, width: common.bitcount, holder: common.holder_type }
}

/// What a complete and a minimal object say differently of a member.
type Spelling = (Name, AppliedBuiltinMemberAnnotations);

fn named(detail: &CompleteMemberDetail) -> Spelling {
    (Name::new(&detail.name), detail.ann_builtin.clone().unwrap_or_default())
}

fn hashed(detail: &MinimalMemberDetail) -> Spelling {
    (Name::hashed(detail.name_hash), AppliedBuiltinMemberAnnotations::default())
}

fn member((name, annotations): Spelling, id: u32, flags: u16, ty: Type) -> Member {
    Member { name, id, flags, ty, annotations, default: None }
}
