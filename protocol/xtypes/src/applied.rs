//! Annotations that the source of types declares itself, and `@verbatim`, in types known at run time (IDL 4.2 §7.4.15,
//! §8.3.5; DDS-XTypes 1.3 §7.5.2.7 `DynamicType::get_annotation`).

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use crate::model::{Kind, Name, Type, TypeGraph, TypeIndex};
use crate::object::annotation::{
    AnnotationParameterValue, AppliedAnnotationParameter, AppliedVerbatimAnnotation, NameHash,
};
use crate::object::name_hash;

/// Most characters of a text as the value of a parameter (Annex B `ANNOTATION_STR_VALUE_MAX_LEN`).
pub const MAX_TEXT: usize = 128;
/// Most bytes of language and placement of `@verbatim` (Annex B `ANNOTATION_STR_VALUE_MAX_LEN`, `string<32>`).
pub(crate) const MAX_WORD: usize = 32;

/// A declared annotation in a [`TypeGraph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AnnotationIndex(pub(crate) usize);

/// An annotation that a source declares.
#[derive(Clone, Debug, PartialEq)]
pub struct Annotation {
    /// The qualified name.
    pub name: String,
    /// Its parameters.
    pub parameters: Vec<AnnotationParameter>,
}

/// A parameter of an annotation.
#[derive(Clone, Debug, PartialEq)]
pub struct AnnotationParameter {
    /// The name.
    pub name: String,
    /// The type: primitive, a string or an enumeration; the primitive type `NONE` is `any`.
    pub ty: Type,
    /// The value where none is given.
    pub default: Option<AnnotationParameterValue>,
}

/// What an annotation stands before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The type itself.
    Type,
    /// The discriminator of a union.
    Discriminator,
    /// The member, case, literal, bit or field at this place of the definition's list.
    Member(usize),
}

/// An annotation where it is applied.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// What it stands before.
    pub part: Part,
    /// Which annotation it is.
    pub annotation: AnnotationIndex,
    /// The values of its parameters, whether given or from the declaration.
    pub values: Vec<AppliedAnnotationParameter>,
}

/// What the source of a type says of it and its parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Annotations {
    /// `@verbatim` on the type.
    pub verbatim: Option<AppliedVerbatimAnnotation>,
    /// Annotations that the source declares itself.
    pub applied: Vec<Applied>,
}

impl Annotations {
    /// By what they stand before, in their order.
    #[must_use]
    pub fn by_part(&self) -> BTreeMap<Part, Vec<&Applied>> {
        let mut parts: BTreeMap<Part, Vec<&Applied>> = BTreeMap::new();
        for it in &self.applied {
            parts.entry(it.part).or_default().push(it);
        }
        parts
    }

    /// Those of one part: looks at all of them.
    pub fn of(&self, part: Part) -> impl Iterator<Item = &Applied> {
        self.applied.iter().filter(move |it| it.part == part)
    }
}

impl Annotation {
    /// The parameter whose name has a hash.
    #[must_use]
    pub fn parameter(&self, hash: NameHash) -> Option<&AnnotationParameter> {
        self.parameters.iter().find(|it| name_hash(&it.name) == hash)
    }
}

impl AnnotationParameterValue {
    /// Whether type objects have room for it.
    #[must_use]
    pub fn fits(&self) -> bool {
        match self {
            Self::String(it) => it.len() <= MAX_TEXT,
            Self::WideString(it) => it.0.len() <= MAX_TEXT,
            Self::Extended { .. } => false,
            _ => true,
        }
    }
}

/// Whether type objects have room for it.
#[must_use]
pub fn verbatim_fits(it: &AppliedVerbatimAnnotation) -> bool {
    it.language.len() <= MAX_WORD && it.placement.len() <= MAX_WORD
}

impl TypeGraph {
    /// Adds the declaration of an annotation; one that is there already is not added again.
    pub fn declare_annotation(&mut self, annotation: Annotation) -> AnnotationIndex {
        if let Some(index) = self.declared.iter().position(|it| *it == annotation) {
            return AnnotationIndex(index);
        }
        self.declared.push(annotation);
        AnnotationIndex(self.declared.len().saturating_sub(1))
    }

    /// A declared annotation.
    #[must_use]
    pub fn annotation(&self, index: AnnotationIndex) -> Option<&Annotation> {
        self.declared.get(index.0)
    }

    /// Says what the source of a type says of it.
    pub fn annotate(&mut self, index: TypeIndex, annotations: Annotations) {
        if annotations == Annotations::default() {
            self.annotations.remove(&index);
        } else {
            self.annotations.insert(index, annotations);
        }
    }

    /// What the source of a type says of it; `None` if it says nothing.
    #[must_use]
    pub fn annotations(&self, index: TypeIndex) -> Option<&Annotations> {
        self.annotations.get(&index)
    }

    pub(crate) fn has_annotations(&self) -> bool {
        !self.annotations.is_empty()
    }

    /// Forgets what sources say of types.
    pub(crate) fn forget_annotations(&mut self) {
        self.annotations.clear();
    }

    /// The name of the member, literal, bit or field at a place of a definition.
    #[must_use]
    pub fn part_name(&self, index: TypeIndex, at: usize) -> Option<&Name> {
        Some(match &self.get(index)?.kind {
            Kind::Structure(it) => &it.members.get(at)?.name,
            Kind::Union(it) => &it.cases.get(at)?.member.name,
            Kind::Enumeration(it) => &it.literals.get(at)?.name,
            Kind::Bitmask(it) => &it.bits.get(at)?.name,
            Kind::Bitset(it) => &it.fields.get(at)?.name,
            Kind::Alias(_) => return None,
        })
    }

    /// The part of a definition with a name.
    #[must_use]
    pub fn part_of(&self, index: TypeIndex, name: &str) -> Option<Part> {
        let at = match &self.get(index)?.kind {
            Kind::Structure(it) => it.members.iter().position(|it| it.name.text == name),
            Kind::Union(it) => it.cases.iter().position(|it| it.member.name.text == name),
            Kind::Enumeration(it) => it.literals.iter().position(|it| it.name.text == name),
            Kind::Bitmask(it) => it.bits.iter().position(|it| it.name.text == name),
            Kind::Bitset(it) => it.fields.iter().position(|it| it.name.text == name),
            Kind::Alias(_) => None,
        };
        at.map(Part::Member)
    }
}
