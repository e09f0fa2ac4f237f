//! Types known at run time made of the descriptions of Rust types.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use dunlin_cdr::annotation::{self, ParameterType, TypeAnnotations};
use dunlin_cdr::{
    BitsDescription, CaseDescription, CdrError, Char8, Char16, Decoder, EnumerationDescription, Float128,
    MemberAnnotations, MemberDescription, PrimitiveKind, StructureDescription, TypeDescription, TypeKind,
    TypeRef, UnionDescription, WString, WriteDefault,
};

use crate::TypeIdentifier;
use crate::identifier::kind;
use crate::model::*;
use crate::object::annotation::{
    AnnotationParameterValue, AppliedAnnotationParameter, AppliedBuiltinMemberAnnotations,
    AppliedVerbatimAnnotation,
};
use crate::object::name_hash;

/// The type that a description describes, and those it depends on.
///
/// Types are told apart by name: two Rust types with the same name are taken for one.
#[must_use]
pub fn from_description(description: &TypeDescription) -> (TypeGraph, TypeIndex) {
    let mut builder = Builder { graph: TypeGraph::default(), known: BTreeMap::new() };
    let index = builder.definition(description);
    (builder.graph, index)
}

struct Builder<'d> {
    graph: TypeGraph,
    known: BTreeMap<&'d str, TypeIndex>,
}

/// Bounds above 32 bits are none that the type system knows.
fn bound(bound: Option<usize>) -> u32 {
    bound.and_then(|bound| u32::try_from(bound).ok()).unwrap_or(0)
}

impl<'d> Builder<'d> {
    fn definition(&mut self, description: &'d TypeDescription) -> TypeIndex {
        if let Some(index) = self.known.get(&*description.name) {
            return *index;
        }
        let index = self.graph.reserve();
        self.known.insert(&description.name, index);
        let (flags, kind) = match &description.kind {
            TypeKind::Structure(it) => {
                (flags(it.extensibility, it.nested, it.autoid_hash), self.structure(it))
            }
            TypeKind::Union(it) => (flags(it.extensibility, it.nested, it.autoid_hash), self.union(it)),
            TypeKind::Enumeration(it) => (extensibility_flag(it.extensibility), enumeration(it)),
            TypeKind::Bitmask { extensibility, bit_bound, bits } => {
                (extensibility_flag(*extensibility), bitmask(*bit_bound, bits))
            }
            TypeKind::Bitset { extensibility, holder, bits } => {
                (extensibility_flag(*extensibility), bitset(*holder, bits))
            }
            TypeKind::Alias(target) => (0, Kind::Alias(Element { ty: self.usage(target.get()), flags: 0 })),
            _ => (0, Kind::Alias(Element { ty: self.usage(description), flags: 0 })),
        };
        self.graph.set(index, Definition { name: String::from(&*description.name), flags, kind });
        self.annotate(index, &description.annotations);
        index
    }

    fn annotate(&mut self, index: TypeIndex, said: &'d TypeAnnotations) {
        let verbatim = said.verbatim.map(|it| AppliedVerbatimAnnotation {
            placement: it.placement.into(),
            language: it.language.into(),
            text: it.text.into(),
        });
        let mut applied = Vec::new();
        for (part, it) in said.applied {
            let part = match part {
                annotation::Part::Type => Some(Part::Type),
                annotation::Part::Discriminator => Some(Part::Discriminator),
                annotation::Part::Member(name) => self.graph.part_of(index, name),
            };
            // A name that no member has says nothing.
            let Some(part) = part else { continue };
            let annotation = self.declare(it.annotation);
            let values = it.values.iter().map(|(name, value)| AppliedAnnotationParameter {
                paramname_hash: name_hash(name),
                value: said_value(value),
            });
            applied.push(Applied { part, annotation, values: values.collect() });
        }
        self.graph.annotate(index, Annotations { verbatim, applied });
    }

    fn declare(&mut self, it: &'d annotation::Annotation) -> AnnotationIndex {
        let parameters = it.parameters.iter().map(|parameter| AnnotationParameter {
            name: parameter.name.into(),
            ty: match parameter.ty {
                ParameterType::Any => Type::Primitive(kind::NONE),
                ParameterType::Primitive(it) => Type::Primitive(primitive(it)),
                ParameterType::Text(bound) => Type::String { wide: false, bound },
                ParameterType::WideText(bound) => Type::String { wide: true, bound },
                ParameterType::Enumeration(description) => Type::Named(self.definition(description)),
            },
            default: parameter.default.as_ref().map(said_value),
        });
        let parameters = parameters.collect();
        self.graph.declare_annotation(Annotation { name: it.name.into(), parameters })
    }

    /// A type where it is used.
    fn usage(&mut self, description: &'d TypeDescription) -> Type {
        match &description.kind {
            TypeKind::Primitive(kind) => Type::Primitive(primitive(*kind)),
            TypeKind::String { bound: most } => Type::String { wide: false, bound: bound(*most) },
            TypeKind::WideString { bound: most } => Type::String { wide: true, bound: bound(*most) },
            TypeKind::Sequence { element, bound: most } => {
                Type::Sequence { element: self.element(element), bound: bound(*most) }
            }
            TypeKind::Array { element, length } => {
                let mut dimensions = alloc::vec![u32::try_from(*length).unwrap_or(u32::MAX)];
                let mut element = element;
                while let TypeKind::Array { element: inner, length } = &element.get().kind {
                    dimensions.push(u32::try_from(*length).unwrap_or(u32::MAX));
                    element = inner;
                }
                Type::Array { element: self.element(element), dimensions }
            }
            TypeKind::Map { key, value, bound: most } => {
                Type::Map { key: self.element(key), value: self.element(value), bound: bound(*most) }
            }
            TypeKind::Enumeration(_)
            | TypeKind::Bitmask { .. }
            | TypeKind::Bitset { .. }
            | TypeKind::Alias(_)
            | TypeKind::Structure(_)
            | TypeKind::Union(_) => Type::Named(self.definition(description)),
        }
    }

    fn element(&mut self, element: &'d TypeRef) -> Box<Element> {
        Box::new(Element { ty: self.usage(element.get()), flags: element.flags().0 })
    }

    fn structure(&mut self, it: &'d StructureDescription) -> Kind {
        let base = it.base.as_ref().map(|base| self.definition(base.get()));
        let members = it.members.iter().map(|member| self.member(member)).collect();
        Kind::Structure(Structure { base, members })
    }

    fn member(&mut self, member: &'d MemberDescription) -> Member {
        Member {
            name: Name::new(&member.name),
            id: member.id,
            flags: member.flags.0,
            ty: self.usage(member.ty.get()),
            annotations: annotations(&member.annotations, member.ty.get()),
            default: default(member.write_default.as_ref()),
        }
    }

    fn union(&mut self, it: &'d UnionDescription) -> Kind {
        let key = if it.key { member_flag::KEY } else { 0 };
        let discriminator = Element {
            ty: self.usage(it.discriminator.get()),
            flags: it.discriminator.flags().0 | member_flag::MUST_UNDERSTAND | key,
        };
        // A case without member has none in the type system either: its labels select nothing, unless there is a default
        // case that they would select. Such a type has no type objects, because of the type that is none.
        let has_default = it.cases.iter().any(|case| case.is_default && case.ty.is_some());
        let kept = it.cases.iter().filter(|case| case.ty.is_some() || has_default);
        let cases = kept.map(|case| self.case(case)).collect();
        Kind::Union(Union { discriminator, cases })
    }

    fn case(&mut self, case: &'d CaseDescription) -> Case {
        let member = Member {
            name: Name::new(&case.name),
            id: case.id,
            flags: case.flags.0,
            ty: case.ty.as_ref().map_or(Type::Primitive(kind::NONE), |ty| self.usage(ty.get())),
            annotations: case
                .ty
                .as_ref()
                .map(|ty| annotations(&case.annotations, ty.get()))
                .unwrap_or_default(),
            default: default(case.write_default.as_ref()),
        };
        Case { member, labels: case.labels.to_vec() }
    }
}

/// The value of a parameter.
fn said_value(value: &annotation::Value) -> AnnotationParameterValue {
    use annotation::Value as Said;
    match *value {
        Said::Boolean(it) => AnnotationParameterValue::Boolean(it),
        Said::Octet(it) => AnnotationParameterValue::Byte(it),
        Said::Int8(it) => AnnotationParameterValue::Int8(it),
        Said::UInt8(it) => AnnotationParameterValue::UInt8(it),
        Said::Int16(it) => AnnotationParameterValue::Int16(it),
        Said::UInt16(it) => AnnotationParameterValue::UInt16(it),
        Said::Int32(it) => AnnotationParameterValue::Int32(it),
        Said::UInt32(it) => AnnotationParameterValue::UInt32(it),
        Said::Int64(it) => AnnotationParameterValue::Int64(it),
        Said::UInt64(it) => AnnotationParameterValue::UInt64(it),
        Said::Float32(it) => AnnotationParameterValue::Float32(it),
        Said::Float64(it) => AnnotationParameterValue::Float64(it),
        Said::Float128(it) => AnnotationParameterValue::Float128(Float128(it)),
        Said::Char8(it) => AnnotationParameterValue::Char(Char8(it)),
        Said::Char16(it) => AnnotationParameterValue::WideChar(Char16(it)),
        Said::Enumerated(it) => AnnotationParameterValue::Enumerated(it),
        Said::Text(it) => AnnotationParameterValue::String(it.into()),
        Said::WideText(it) => AnnotationParameterValue::WideString(WString(it.into())),
    }
}

/// A value that cannot be written is one that no writer sends either.
fn default(write: Option<&WriteDefault>) -> Option<DefaultValue> {
    write.and_then(|it| DefaultValue::written(|e| it.write(e)).ok())
}

/// The annotations of a member of this type.
fn annotations(it: &MemberAnnotations, ty: &TypeDescription) -> AppliedBuiltinMemberAnnotations {
    let TypeKind::Primitive(kind) = &ty.resolved().kind else {
        // Only numbers and characters have a least and a greatest value.
        return AppliedBuiltinMemberAnnotations {
            unit: it.unit.map(String::from),
            hash_id: it.hash_id.map(String::from),
            ..Default::default()
        };
    };
    let value = |write: Option<&WriteDefault>| parameter(*kind, &mut default(write)?.decoder()).ok();
    AppliedBuiltinMemberAnnotations {
        unit: it.unit.map(String::from),
        min: value(it.min.as_ref()),
        max: value(it.max.as_ref()),
        hash_id: it.hash_id.map(String::from),
    }
}

/// A value of a primitive type as the parameter of an annotation.
fn parameter(kind: PrimitiveKind, d: &mut Decoder<'_>) -> Result<AnnotationParameterValue, CdrError> {
    use AnnotationParameterValue as Value;
    Ok(match kind {
        PrimitiveKind::Boolean => Value::Boolean(d.read_bool()?),
        PrimitiveKind::Octet => Value::Byte(d.read_u8()?),
        PrimitiveKind::Int8 => Value::Int8(d.read_u8()?.cast_signed()),
        PrimitiveKind::UInt8 => Value::UInt8(d.read_u8()?),
        PrimitiveKind::Int16 => Value::Int16(d.read_u16()?.cast_signed()),
        PrimitiveKind::UInt16 => Value::UInt16(d.read_u16()?),
        PrimitiveKind::Int32 => Value::Int32(d.read_u32()?.cast_signed()),
        PrimitiveKind::UInt32 => Value::UInt32(d.read_u32()?),
        PrimitiveKind::Int64 => Value::Int64(d.read_u64()?.cast_signed()),
        PrimitiveKind::UInt64 => Value::UInt64(d.read_u64()?),
        PrimitiveKind::Float32 => Value::Float32(f32::from_bits(d.read_u32()?)),
        PrimitiveKind::Float64 => Value::Float64(f64::from_bits(d.read_u64()?)),
        PrimitiveKind::Float128 => Value::Float128(Float128(d.read_u128()?)),
        PrimitiveKind::Char8 => Value::Char(Char8(d.read_u8()?)),
        PrimitiveKind::Char16 => Value::WideChar(Char16(d.read_u16()?)),
    })
}

fn primitive(primitive: PrimitiveKind) -> u8 {
    match TypeIdentifier::of_primitive(primitive) {
        TypeIdentifier::Primitive { kind } => kind,
        _ => kind::NONE,
    }
}

fn flags(extensibility: dunlin_cdr::Extensibility, nested: bool, autoid_hash: bool) -> u16 {
    extensibility_flag(extensibility)
        | if nested { type_flag::NESTED } else { 0 }
        | if autoid_hash { type_flag::AUTOID_HASH } else { 0 }
}

fn enumeration(it: &EnumerationDescription) -> Kind {
    // The first literal is the default unless another is marked.
    let default = it.default_value();
    let literals = it.literals.iter().map(|literal| Literal {
        name: Name::new(&literal.name),
        value: literal.value,
        is_default: literal.value == default,
    });
    // Rust types are compared by their type objects, which do not say it.
    let ignore_literal_names = false;
    let literals = literals.collect();
    Kind::Enumeration(Enumeration { bit_bound: it.bit_bound.into(), literals, ignore_literal_names })
}

fn bitmask(bit_bound: u8, bits: &[BitsDescription]) -> Kind {
    let bits = bits.iter().map(|bit| Bit { name: Name::new(&bit.name), position: bit.position.into() });
    Kind::Bitmask(Bitmask { bit_bound: bit_bound.into(), bits: bits.collect() })
}

fn bitset(width: u8, bits: &[BitsDescription]) -> Kind {
    let fields = bits.iter().map(|field| Field {
        name: Name::new(&field.name),
        position: field.position.into(),
        width: field.width,
        holder: primitive(field.holder),
    });
    Kind::Bitset(Bitset { fields: fields.collect(), width: width.into() })
}
