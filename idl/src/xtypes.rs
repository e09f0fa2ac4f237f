//! The resolved model as types known at run time, of which type objects are made (DDS-XTypes 1.3 §7.3.4), and such types
//! as XML.
//!
//! ```
//! use dunlin_idl::{Memory, Options, compile, xtypes};
//!
//! let text = "<types><struct name='Shape'><member name='x' type='int32' key='true'/></struct></types>";
//! let model = compile("shape.xml", &Options::default(), &Memory::default().with("shape.xml", text)).model.unwrap();
//! // `DynamicType::new(graph, root)` makes a type of it that topics can have.
//! let (graph, root) = xtypes::type_graph_of(&model, "Shape").unwrap();
//! assert!(xtypes::to_xml(&graph, root).unwrap().contains("<struct name=\"Shape\" extensibility=\"appendable\">"));
//! ```

mod said;

use dunlin_xtypes::cdr::{CdrError, CdrWrite, Encoder, Float128, WString};
use dunlin_xtypes::identifier::kind;
use dunlin_xtypes::model::*;
use dunlin_xtypes::object::annotation::{AnnotationParameterValue, AppliedBuiltinMemberAnnotations};

use crate::check::bit_fields;
use crate::ir::{self, IdSource, Model, TryConstruct, TypeId, Value};

/// The types of a model, and which of them each type is: the n-th of the model is the n-th of the list.
#[must_use]
pub fn type_graph(model: &Model) -> (TypeGraph, Vec<TypeIndex>) {
    let mut graph = TypeGraph::default();
    let indices: Vec<TypeIndex> = model.types().map(|_| graph.reserve()).collect();
    let bridge = Bridge { model, indices: &indices };
    for ((id, ty), index) in model.types().zip(&indices) {
        graph.set(*index, bridge.definition(id, ty));
    }
    for ((id, ty), index) in model.types().zip(&indices) {
        let said = bridge.said(id, ty, &mut graph);
        graph.annotate(*index, said);
    }
    (graph, indices)
}

/// The types of a model, and the one with a name: `M::N::T`.
#[must_use]
pub fn type_graph_of(model: &Model, name: &str) -> Option<(TypeGraph, TypeIndex)> {
    let (graph, _) = type_graph(model);
    let index = graph.find(name)?;
    Some((graph, index))
}

/// A type and all that it depends on as XML (DDS-XTypes 1.3 §7.3.2), with all ids; default values, which type objects do
/// not have, are left out.
///
/// # Errors
/// What XML cannot say of it: names of which only hashes are known, arrays in collections that have no name.
pub fn to_xml(graph: &TypeGraph, root: TypeIndex) -> Result<String, String> {
    crate::print::to_xml(graph, root)
}

struct Bridge<'a> {
    model: &'a Model,
    indices: &'a [TypeIndex],
}

const fn try_construct(how: TryConstruct) -> u16 {
    match how {
        TryConstruct::Discard => member_flag::DISCARD,
        TryConstruct::UseDefault => member_flag::USE_DEFAULT,
        TryConstruct::Trim => member_flag::TRIM,
    }
}

const fn flag(set: bool, flag: u16) -> u16 {
    if set { flag } else { 0 }
}

impl Bridge<'_> {
    fn definition(&self, id: TypeId, ty: &ir::TypeDef) -> Definition {
        let extensibility = match ty.extensibility {
            ir::Extensibility::Final => type_flag::FINAL,
            ir::Extensibility::Appendable => type_flag::APPENDABLE,
            ir::Extensibility::Mutable => type_flag::MUTABLE,
        };
        // Sets of bits that say nothing are final to Cyclone DDS, whatever the default for other types is.
        let of_bits = if ty.extensibility_given { extensibility } else { type_flag::FINAL };
        let flags =
            extensibility | flag(ty.nested, type_flag::NESTED) | flag(ty.autoid_hash, type_flag::AUTOID_HASH);
        let (flags, kind) = match &ty.kind {
            ir::Kind::Struct(it) | ir::Kind::Exception(it) => (flags, self.structure(it, ty.autoid_hash)),
            ir::Kind::Union(it) => (flags, self.union(it, ty.autoid_hash)),
            ir::Kind::Enum(it) => (extensibility, enumeration(it)),
            ir::Kind::Bitmask(it) => (of_bits, bitmask(it)),
            ir::Kind::Bitset(it) => (of_bits, self.bitset(id, it.width)),
            ir::Kind::Alias(it) => (0, Kind::Alias(Element { ty: self.usage(&it.ty), flags: 0 })),
        };
        Definition { name: ty.full_name.clone(), flags, kind }
    }

    fn index(&self, id: TypeId) -> Option<TypeIndex> {
        self.indices.get(id.0).copied()
    }

    fn usage(&self, ty: &ir::Type) -> Type {
        if let Some(primitive) = primitive(ty) {
            return Type::Primitive(primitive);
        }
        match ty {
            ir::Type::String { bound } => Type::String { wide: false, bound: bound.unwrap_or(0) },
            ir::Type::WideString { bound } => Type::String { wide: true, bound: bound.unwrap_or(0) },
            ir::Type::Sequence { element, bound } => {
                Type::Sequence { element: self.element(element), bound: bound.unwrap_or(0) }
            }
            ir::Type::Array { element, dimensions } => {
                Type::Array { element: self.element(element), dimensions: dimensions.clone() }
            }
            ir::Type::Map { key, value, bound } => {
                Type::Map { key: self.element(key), value: self.element(value), bound: bound.unwrap_or(0) }
            }
            ir::Type::Named(id) => match self.index(*id) {
                Some(index) => Type::Named(index),
                None => Type::Primitive(kind::NONE),
            },
            _ => Type::Primitive(kind::NONE),
        }
    }

    fn element(&self, element: &ir::Element) -> Box<Element> {
        let flags = try_construct(element.try_construct) | flag(element.external, member_flag::EXTERNAL);
        Box::new(Element { ty: self.usage(&element.ty), flags })
    }

    fn structure(&self, it: &ir::Struct, autoid: bool) -> Kind {
        let members = it.members.iter().filter(|member| !member.non_serialized);
        Kind::Structure(Structure {
            base: it.base.and_then(|base| self.index(base)),
            members: members.map(|member| self.member(member, 0, autoid)).collect(),
        })
    }

    fn member(&self, member: &ir::Member, more: u16, autoid: bool) -> Member {
        Member {
            name: Name::new(&member.name),
            id: member.id,
            flags: try_construct(member.try_construct)
                | flag(member.external, member_flag::EXTERNAL)
                | flag(member.optional, member_flag::OPTIONAL)
                | flag(member.must_understand, member_flag::MUST_UNDERSTAND)
                | flag(member.key, member_flag::KEY)
                | more,
            ty: self.usage(&member.ty),
            annotations: self.annotations(member, autoid),
            default: member
                .default
                .as_ref()
                .and_then(|value| DefaultValue::written(|e| self.write(&member.ty, value, e)).ok()),
        }
    }

    /// Writes a constant as a value of a type.
    fn write(&self, ty: &ir::Type, value: &Value, e: &mut Encoder<'_>) -> Result<(), CdrError> {
        let holder = match self.model.resolve(ty) {
            ir::Type::Named(id) => match self.model.ty(*id).map(|ty| &ty.kind) {
                Some(ir::Kind::Enum(it)) => it.bit_bound,
                Some(ir::Kind::Bitmask(it)) => it.bit_bound,
                _ => return Err(CdrError::ForeignType),
            },
            ir::Type::Boolean | ir::Type::Octet | ir::Type::Char | ir::Type::Int8 | ir::Type::Uint8 => 8,
            ir::Type::WideChar | ir::Type::Int16 | ir::Type::Uint16 => 16,
            ir::Type::Int32 | ir::Type::Uint32 => 32,
            _ => 64,
        };
        let bits = match value {
            Value::Bool(it) => u64::from(*it),
            Value::Int(it) => *it as u64,
            Value::Char(it) => u64::from(*it),
            Value::WideChar(it) => u64::from(*it),
            Value::Bits(_, it) => *it,
            Value::Enum(id, index) => match self.model.ty(*id).map(|ty| &ty.kind) {
                Some(ir::Kind::Enum(it)) => {
                    let literal = it.literals.get(*index).ok_or(CdrError::ForeignType)?;
                    i64::from(literal.value).cast_unsigned()
                }
                _ => return Err(CdrError::ForeignType),
            },
            Value::Float(it) => return self.write_float(ty, *it, e),
            Value::Str(it) => {
                return e.write_str(core::str::from_utf8(it).map_err(|_| CdrError::ForeignType)?);
            }
            Value::WideStr(it) => return WString(it.clone()).write(e),
        };
        match holder {
            0..=8 => e.write_u8(bits as u8),
            9..=16 => e.write_u16(bits as u16),
            17..=32 => e.write_u32(bits as u32),
            _ => e.write_u64(bits),
        }
        Ok(())
    }

    fn write_float(&self, ty: &ir::Type, value: f64, e: &mut Encoder<'_>) -> Result<(), CdrError> {
        match self.model.resolve(ty) {
            ir::Type::Float => (value as f32).write(e),
            ir::Type::LongDouble => Float128(crate::rust::float128(value)).write(e),
            _ => value.write(e),
        }
    }

    /// `autoid`: ids are hashes of names without annotation.
    fn annotations(&self, member: &ir::Member, autoid: bool) -> AppliedBuiltinMemberAnnotations {
        let value = |value: &Option<Value>| value.as_ref().and_then(|it| self.value(&member.ty, it));
        AppliedBuiltinMemberAnnotations {
            unit: member.unit.clone(),
            min: value(&member.min),
            max: value(&member.max),
            hash_id: match &member.id_source {
                IdSource::HashOf(name) => Some(name.clone()),
                IdSource::HashOfName if !autoid => Some(String::new()),
                IdSource::HashOfName | IdSource::Sequential | IdSource::Given => None,
            },
        }
    }

    /// A constant as the value of an annotation's parameter; texts longer than the standard allows have none.
    fn value(&self, ty: &ir::Type, value: &Value) -> Option<AnnotationParameterValue> {
        use AnnotationParameterValue as Annotation;
        Some(match (value, self.model.resolve(ty)) {
            (Value::Bool(it), _) => Annotation::Boolean(*it),
            (Value::Char(it), _) => Annotation::Char(dunlin_xtypes::cdr::Char8(*it)),
            (Value::WideChar(it), _) => Annotation::WideChar(dunlin_xtypes::cdr::Char16(*it)),
            (Value::Float(it), ir::Type::Float) => Annotation::Float32(*it as f32),
            (Value::Float(it), ir::Type::LongDouble) => {
                Annotation::Float128(Float128(crate::rust::float128(*it)))
            }
            (Value::Float(it), _) => Annotation::Float64(*it),
            (Value::Str(it), _) => Annotation::String(String::from_utf8(it.clone()).ok()?),
            (Value::WideStr(it), _) => Annotation::WideString(dunlin_xtypes::cdr::WString(it.clone())),
            (Value::Enum(id, index), _) => match &self.model.ty(*id)?.kind {
                ir::Kind::Enum(it) => Annotation::Enumerated(it.literals.get(*index)?.value),
                _ => return None,
            },
            (Value::Bits(_, it), _) => Annotation::UInt64(*it),
            (Value::Int(it), ty) => integer(*it, ty)?,
        })
    }

    fn union(&self, it: &ir::Union, autoid: bool) -> Kind {
        let discriminator = Element {
            ty: self.usage(&it.discriminator),
            flags: try_construct(it.try_construct)
                | member_flag::MUST_UNDERSTAND
                | flag(it.key, member_flag::KEY),
        };
        let cases = it.cases.iter().map(|case| Case {
            member: self.member(&case.member, flag(case.is_default, member_flag::DEFAULT), autoid),
            labels: case.labels.iter().filter_map(|label| self.label(label)).collect(),
        });
        Kind::Union(Union { discriminator, cases: cases.collect() })
    }

    /// A label as a value of 64 bits; those of `uint64` wrap.
    fn label(&self, label: &Value) -> Option<i64> {
        Some(match label {
            Value::Bool(it) => i64::from(*it),
            Value::Int(it) => *it as i64,
            Value::Char(it) => i64::from(*it),
            Value::WideChar(it) => i64::from(*it),
            Value::Bits(_, it) => it.cast_signed(),
            Value::Enum(id, index) => match &self.model.ty(*id)?.kind {
                ir::Kind::Enum(it) => it.literals.get(*index)?.value.into(),
                _ => return None,
            },
            _ => return None,
        })
    }

    fn bitset(&self, id: TypeId, width: u16) -> Kind {
        let fields = bit_fields(self.model, id).into_iter().map(|field| Field {
            name: Name::new(&field.name),
            position: field.position,
            width: u8::try_from(field.width).unwrap_or(u8::MAX),
            holder: primitive(self.model.resolve(&field.holder)).unwrap_or(kind::NONE),
        });
        Kind::Bitset(Bitset { fields: fields.collect(), width })
    }
}

fn enumeration(it: &ir::Enum) -> Kind {
    let literals = it.literals.iter().enumerate().map(|(index, literal)| Literal {
        name: Name::new(&literal.name),
        value: literal.value,
        is_default: index == it.default,
    });
    Kind::Enumeration(Enumeration {
        bit_bound: it.bit_bound,
        literals: literals.collect(),
        ignore_literal_names: it.ignore_literal_names,
    })
}

fn bitmask(it: &ir::Bitmask) -> Kind {
    let bits = it.bits.iter().map(|bit| Bit { name: Name::new(&bit.name), position: bit.position });
    Kind::Bitmask(Bitmask { bit_bound: it.bit_bound, bits: bits.collect() })
}

fn integer(value: i128, ty: &ir::Type) -> Option<AnnotationParameterValue> {
    use AnnotationParameterValue as Annotation;
    Some(match ty {
        ir::Type::Octet => Annotation::Byte(value.try_into().ok()?),
        ir::Type::Int8 => Annotation::Int8(value.try_into().ok()?),
        ir::Type::Uint8 => Annotation::UInt8(value.try_into().ok()?),
        ir::Type::Int16 => Annotation::Int16(value.try_into().ok()?),
        ir::Type::Uint16 => Annotation::UInt16(value.try_into().ok()?),
        ir::Type::Int32 => Annotation::Int32(value.try_into().ok()?),
        ir::Type::Uint32 => Annotation::UInt32(value.try_into().ok()?),
        ir::Type::Uint64 => Annotation::UInt64(value.try_into().ok()?),
        _ => Annotation::Int64(value.try_into().ok()?),
    })
}

fn primitive(ty: &ir::Type) -> Option<u8> {
    Some(match ty {
        ir::Type::Boolean => kind::BOOLEAN,
        ir::Type::Octet => kind::BYTE,
        ir::Type::Char => kind::CHAR8,
        ir::Type::WideChar => kind::CHAR16,
        ir::Type::Int8 => kind::INT8,
        ir::Type::Int16 => kind::INT16,
        ir::Type::Int32 => kind::INT32,
        ir::Type::Int64 => kind::INT64,
        ir::Type::Uint8 => kind::UINT8,
        ir::Type::Uint16 => kind::UINT16,
        ir::Type::Uint32 => kind::UINT32,
        ir::Type::Uint64 => kind::UINT64,
        ir::Type::Float => kind::FLOAT32,
        ir::Type::Double => kind::FLOAT64,
        ir::Type::LongDouble => kind::FLOAT128,
        _ => return None,
    })
}
