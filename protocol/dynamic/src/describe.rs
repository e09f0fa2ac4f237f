//! Descriptions of types known at run time, for what works with descriptions: the language of filters.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use dunlin_cdr::annotation::TypeAnnotations;
use dunlin_cdr::{
    BitsDescription, CaseDescription, Encoder, EnumerationDescription, LiteralDescription, MemberAnnotations,
    MemberDescription, MemberFlags, PrimitiveKind, StaticOrArc, StructureDescription, TypeDescription,
    TypeKind, TypeRef, UnionDescription, WriteDefault,
};

use crate::MAX_NESTING;
use crate::Value;
use crate::convert::name_of;
use crate::types::*;
use crate::write::write;

/// Why a type has no description.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DescribeError {
    /// It contains values of itself.
    Recursive {
        /// The type.
        name: String,
    },
    /// Types lie within each other more than [`MAX_NESTING`] levels deep.
    TooDeep {
        /// The type.
        name: String,
    },
}

impl fmt::Display for DescribeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Recursive { name } => {
                write!(f, "{name} contains values of itself, which expressions cannot look into")
            }
            Self::TooDeep { name } => {
                write!(f, "{name} is more than {MAX_NESTING} levels deep in what contains it")
            }
        }
    }
}

impl core::error::Error for DescribeError {}

impl DynamicType {
    /// The description of the type. It is made anew with each call, and freed with the last [`TypeRef`] to it: keep it.
    ///
    /// # Errors
    /// [`DescribeError`].
    pub fn describe(&self) -> Result<TypeRef, DescribeError> {
        let mut known = Vec::new();
        known.resize(self.0.nodes.len(), State::New);
        Describer { ty: self, nodes: &self.0.nodes, known, levels: MAX_NESTING }
            .description(self.0.root)
            .map(TypeRef::to)
    }
}

#[derive(Clone)]
enum State {
    New,
    Open,
    Done(Arc<TypeDescription>),
}

struct Describer<'n> {
    ty: &'n DynamicType,
    nodes: &'n [Node],
    known: Vec<State>,
    /// Levels that may follow.
    levels: u16,
}

fn text(text: &str) -> StaticOrArc<str> {
    StaticOrArc::shared(text)
}

fn list<T>(items: Vec<T>) -> StaticOrArc<[T]> {
    StaticOrArc::shared(items)
}

/// What is selected where no case is: such a union has no member.
const NO_MEMBER: CaseDescription = CaseDescription {
    name: StaticOrArc::constant(""),
    id: 0,
    flags: MemberFlags(0),
    labels: StaticOrArc::constant(&[]),
    is_default: true,
    ty: None,
    write_default: None,
    annotations: MemberAnnotations::NONE,
};

impl Describer<'_> {
    fn description(&mut self, node: usize) -> Result<Arc<TypeDescription>, DescribeError> {
        let nodes = self.nodes;
        let Some(it) = nodes.get(node) else { return Err(DescribeError::Recursive { name: String::new() }) };
        match self.known.get(node) {
            Some(State::Done(known)) => return Ok(Arc::clone(known)),
            Some(State::New) => {}
            _ => return Err(DescribeError::Recursive { name: name_of(TypeView { nodes, node: it }) }),
        }
        let Some(levels) = self.levels.checked_sub(1) else {
            return Err(DescribeError::TooDeep { name: name_of(TypeView { nodes, node: it }) });
        };
        self.levels = levels;
        self.set(node, State::Open);
        let kind = self.kind(&it.shape)?;
        self.levels = levels.saturating_add(1);
        let annotations = TypeAnnotations::NONE;
        let made = Arc::new(TypeDescription { name: text(&it.name), kind, annotations });
        self.set(node, State::Done(Arc::clone(&made)));
        Ok(made)
    }

    fn set(&mut self, node: usize, state: State) {
        if let Some(slot) = self.known.get_mut(node) {
            *slot = state;
        }
    }

    fn reference(&mut self, part: Part) -> Result<TypeRef, DescribeError> {
        self.description(part.node).map(|it| TypeRef::to(it).with_flags(MemberFlags(part.flags)))
    }

    fn kind(&mut self, shape: &Shape) -> Result<TypeKind, DescribeError> {
        Ok(match shape {
            Shape::Primitive(kind) => TypeKind::Primitive(*kind),
            Shape::Text { wide: false, bound } => TypeKind::String { bound: *bound },
            Shape::Text { wide: true, bound } => TypeKind::WideString { bound: *bound },
            Shape::Enumeration(it) => TypeKind::Enumeration(enumeration(it)),
            Shape::Bits(it) => bits(it),
            Shape::Sequence { element, bound } => {
                TypeKind::Sequence { element: self.reference(*element)?, bound: *bound }
            }
            Shape::Array { element, length, .. } => {
                TypeKind::Array { element: self.array_element(*element)?, length: *length }
            }
            Shape::Map { key, value, bound } => {
                TypeKind::Map { key: self.reference(*key)?, value: self.reference(*value)?, bound: *bound }
            }
            Shape::Structure(it) => TypeKind::Structure(self.structure(it)?),
            Shape::Union(it) => TypeKind::Union(self.union(it)?),
        })
    }

    /// An array that is an element of an array is another dimension to a description, unless an alias is between them.
    fn array_element(&mut self, element: Part) -> Result<TypeRef, DescribeError> {
        let description = self.reference(element)?;
        let shape = self.nodes.get(element.node).map(|node| &node.shape);
        if !matches!(shape, Some(Shape::Array { dimension: false, .. })) {
            return Ok(description);
        }
        let (kind, annotations) = (TypeKind::Alias(description), TypeAnnotations::NONE);
        let alias = TypeDescription { name: StaticOrArc::constant(""), kind, annotations };
        Ok(TypeRef::to(Arc::new(alias)))
    }

    fn structure(&mut self, it: &StructureShape) -> Result<StructureDescription, DescribeError> {
        let mut members = Vec::new();
        for member in &it.members {
            members.push(MemberDescription {
                name: text(&member.name),
                id: member.id,
                flags: MemberFlags(member.flags),
                ty: self.reference(member.part)?,
                write_default: self
                    .default(member.default.as_ref().filter(|_| !member.is_optional()), member.part),
                annotations: MemberAnnotations::NONE,
            });
        }
        Ok(StructureDescription {
            extensibility: it.extensibility,
            nested: false,
            autoid_hash: false,
            base: None,
            members: list(members),
        })
    }

    /// What writes the default that a member or case has of its own.
    fn default(&self, default: Option<&Value>, part: Part) -> Option<WriteDefault> {
        let (default, ty) = (default?.clone(), self.ty.clone());
        Some(WriteDefault::shared(Arc::new(move |e: &mut Encoder<'_>| {
            write(ty.view().at(part), &default, e)
        })))
    }

    fn union(&mut self, it: &UnionShape) -> Result<UnionDescription, DescribeError> {
        let mut cases = Vec::new();
        for case in &it.cases {
            cases.push(CaseDescription {
                name: text(&case.name),
                id: case.id,
                flags: MemberFlags(case.part.flags),
                labels: list(case.labels.clone()),
                is_default: case.is_default,
                ty: Some(self.reference(case.part)?),
                write_default: self.default(case.default.as_ref(), case.part),
                annotations: MemberAnnotations::NONE,
            });
        }
        if it.cases.iter().all(|case| !case.is_default) {
            cases.push(NO_MEMBER);
        }
        Ok(UnionDescription {
            extensibility: it.extensibility,
            nested: false,
            autoid_hash: false,
            discriminator: self.reference(it.discriminator)?,
            key: it.has_key,
            cases: list(cases),
        })
    }
}

fn enumeration(it: &EnumerationShape) -> EnumerationDescription {
    let literals = it.literals.iter().map(|(name, value)| LiteralDescription {
        name: text(name),
        value: *value,
        is_default: *value == it.default,
    });
    EnumerationDescription {
        extensibility: it.extensibility,
        bit_bound: it.bit_bound,
        literals: list(literals.collect()),
    }
}

fn bits(it: &BitsShape) -> TypeKind {
    let named = it.fields.iter().map(|field| BitsDescription {
        name: text(&field.name),
        position: field.position,
        width: field.width,
        holder: match (field.signed, field.width) {
            (false, width) => BitsDescription::holder_of(width),
            (true, 0..=8) => PrimitiveKind::Int8,
            (true, 9..=16) => PrimitiveKind::Int16,
            (true, 17..=32) => PrimitiveKind::Int32,
            (true, _) => PrimitiveKind::Int64,
        },
    });
    let (extensibility, bits) = (it.extensibility, list(named.collect()));
    if it.is_bitset {
        return TypeKind::Bitset { extensibility, holder: it.bit_bound, bits };
    }
    TypeKind::Bitmask { extensibility, bit_bound: it.bit_bound, bits }
}
