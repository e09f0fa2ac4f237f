//! Types at run time, compiled for work with values: flat members, resolved aliases, sizes (DDS-XTypes 1.3 §7.2.2,
//! §7.5.2 `DynamicType`).

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use dunlin_cdr::{
    CdrError, Decoder, ElementKind, Encoder, Extensibility, KeySize, LengthCode, PrimitiveKind,
};
use dunlin_xtypes::model::{Annotations, member_flag};
use dunlin_xtypes::{TypeGraph, TypeIndex};

use crate::offsets::Extent;
use crate::value::Value;

/// A type known at run time. Cheap to clone.
#[derive(Clone)]
pub struct DynamicType(pub(crate) Arc<Compiled>);

pub(crate) struct Compiled {
    pub name: String,
    pub graph: Arc<TypeGraph>,
    pub index: TypeIndex,
    pub nodes: Vec<Node>,
    pub root: usize,
}

/// What the discriminator of a union is called in paths.
pub(crate) const DISCRIMINATOR: &str = "_d";

/// A type with everything about it that does not depend on a value.
pub(crate) struct Node {
    /// The qualified name; empty if it has none.
    pub name: String,
    pub shape: Shape,
    /// A lower limit of the bytes that a value takes.
    pub least: usize,
    /// The greatest size as (part of) a key.
    pub key_size: KeySize,
    /// Parts of the default value.
    pub parts: usize,
    pub extent: Extent,
}

/// Why a type graph makes no type.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TypeError {
    /// A type is mentioned that the graph does not hold.
    Missing,
    /// The type that topics have must be a structure or a union.
    NotAggregated {
        /// The type.
        name: String,
    },
    /// A type contains itself other than in a sequence, a map or an optional member.
    Endless {
        /// The type.
        name: String,
    },
    /// A type goes beyond [`crate::MAX_TYPES`], [`crate::MAX_MEMBERS`], [`crate::MAX_DEFAULT`] or
    /// [`crate::MAX_NESTING`].
    TooLarge {
        /// The type.
        name: String,
    },
    /// Two members of a structure have the same id.
    DuplicateId {
        /// The type.
        name: String,
        /// The id.
        id: u32,
    },
    /// Two literals of an enumeration have the same value, or two cases of a union the same label.
    DuplicateValue {
        /// The type.
        name: String,
        /// The value.
        value: i64,
    },
    /// Two members, literals or fields of a type have the same name, or a member of a union that of its discriminator (`_d`).
    DuplicateName {
        /// The type.
        name: String,
        /// What has the name.
        member: String,
    },
    /// The id of a member has more than 28 bits, which no parameter header can have (DDS-XTypes 1.3 §7.2.2.4.4.4.1).
    WideId {
        /// The type.
        name: String,
        /// The id.
        id: u32,
    },
    /// A bitset that is wider than 64 bits, or a bound of bits that no integer has.
    Bits {
        /// The type.
        name: String,
    },
    /// The default of a member is no value of its type.
    Default {
        /// The type.
        name: String,
        /// The member.
        member: String,
    },
}

impl fmt::Display for TypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("the type depends on one that is not there"),
            Self::NotAggregated { name } => write!(f, "{name} is neither a structure nor a union"),
            Self::Endless { name } => write!(f, "{name} contains itself without end"),
            Self::TooLarge { name } => write!(f, "{name} is too large to make values of"),
            Self::DuplicateId { name, id } => write!(f, "two members of {name} have the id {id:#x}"),
            Self::DuplicateValue { name, value } => write!(f, "{name} has {value} twice"),
            Self::DuplicateName { name, member } => write!(f, "{name} has two parts with the name {member}"),
            Self::WideId { name, id } => {
                write!(f, "the id {id:#x} of a member of {name} has more than 28 bits")
            }
            Self::Bits { name } => write!(f, "{name} has more bits than an integer"),
            Self::Default { name, member } => {
                write!(f, "the default of {name}.{member} is no value of the member's type")
            }
        }
    }
}

impl core::error::Error for TypeError {}

/// What a type is, behind aliases.
#[derive(Debug)]
#[non_exhaustive]
pub enum Shape {
    /// A number, boolean or character; `uint8` counts as `octet`.
    Primitive(PrimitiveKind),
    /// A string.
    Text {
        /// Of UTF-16 units instead of bytes.
        wide: bool,
        /// Most units.
        bound: Option<usize>,
    },
    /// An enumeration.
    Enumeration(EnumerationShape),
    /// A bitmask or bitset.
    Bits(BitsShape),
    /// A structure.
    Structure(StructureShape),
    /// A union.
    Union(UnionShape),
    /// A sequence.
    Sequence {
        /// Type of the elements.
        element: Part,
        /// Most elements.
        bound: Option<usize>,
    },
    /// One dimension of an array.
    Array {
        /// Type of the elements; further dimensions are arrays as elements.
        element: Part,
        /// Number of elements.
        length: usize,
        /// A further dimension of an array.
        dimension: bool,
    },
    /// A map.
    Map {
        /// Type of the keys.
        key: Part,
        /// Type of the values.
        value: Part,
        /// Most pairs.
        bound: Option<usize>,
    },
}

/// Refers to the type of a part: [`TypeView::at`] finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub(crate) node: usize,
    /// What becomes of values that do not fit ([`member_flag`]).
    pub(crate) flags: u16,
}

/// What becomes of a value that does not fit (§7.2.2.4.4.4.7).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum TryConstruct {
    Discard,
    UseDefault,
    Trim,
}

impl Part {
    pub(crate) const fn try_construct(self) -> TryConstruct {
        match self.flags & member_flag::TRIM {
            member_flag::USE_DEFAULT => TryConstruct::UseDefault,
            member_flag::TRIM => TryConstruct::Trim,
            _ => TryConstruct::Discard,
        }
    }
}

/// An enumeration.
#[derive(Debug)]
pub struct EnumerationShape {
    /// The integer on the wire.
    pub holder: PrimitiveKind,
    /// Name and value of the literals.
    pub literals: Vec<(String, i32)>,
    /// The value that a missing member has.
    pub default: i32,
    /// Values in ascending order, with the positions of their literals.
    pub(crate) by_value: Vec<(i32, usize)>,
    pub(crate) extensibility: Extensibility,
    pub(crate) bit_bound: u8,
}

impl EnumerationShape {
    /// The name of a value.
    #[must_use]
    pub fn name_of(&self, value: i32) -> Option<&str> {
        let found = self.by_value.binary_search_by_key(&value, |(known, _)| *known).ok()?;
        let (_, position) = self.by_value.get(found)?;
        self.literals.get(*position).map(|(name, _)| name.as_str())
    }

    /// The value of a name.
    #[must_use]
    pub fn value_of(&self, name: &str) -> Option<i32> {
        self.literals.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }
}

/// A bitmask or bitset.
#[derive(Debug)]
pub struct BitsShape {
    /// The integer on the wire.
    pub holder: PrimitiveKind,
    /// Fields of several bits instead of flags.
    pub is_bitset: bool,
    /// The flags or fields with names.
    pub fields: Vec<BitField>,
    pub(crate) extensibility: Extensibility,
    pub(crate) bit_bound: u8,
}

/// A flag of a bitmask or a field of a bitset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BitField {
    /// Its name.
    pub name: String,
    /// Its least bit.
    pub position: u8,
    /// Number of bits.
    pub width: u8,
    /// Whether its value has a sign.
    pub signed: bool,
}

impl BitField {
    /// Its bits where they are.
    #[must_use]
    pub const fn mask(&self) -> u64 {
        let ones = match self.width {
            0 => 0,
            1..=63 => u64::MAX >> (64_u8.saturating_sub(self.width)),
            _ => u64::MAX,
        };
        match ones.checked_shl(self.position as u32) {
            Some(mask) => mask,
            None => 0,
        }
    }

    /// Its value in an integer.
    #[must_use]
    pub fn get(&self, bits: u64) -> i128 {
        let raw = (bits & self.mask()).checked_shr(self.position.into()).unwrap_or(0);
        let negative = self.signed
            && self.width > 0
            && raw.checked_shr(u32::from(self.width.saturating_sub(1))).unwrap_or(0) & 1 == 1;
        if negative {
            let high = u64::MAX.checked_shl(self.width.into()).unwrap_or(0);
            return i128::from((raw | high).cast_signed());
        }
        i128::from(raw)
    }

    /// The integer with another value of the field; `None` if that does not fit.
    #[must_use]
    pub fn put(&self, bits: u64, value: i128) -> Option<u64> {
        let low = u64::try_from(value & i128::from(u64::MAX)).ok()?;
        let moved = low.checked_shl(self.position.into()).unwrap_or(0) & self.mask();
        let new = (bits & !self.mask()) | moved;
        (self.get(new) == value).then_some(new)
    }
}

/// A structure.
#[derive(Debug)]
pub struct StructureShape {
    /// How it may evolve.
    pub extensibility: Extensibility,
    /// The members, those of bases first.
    pub members: Vec<MemberShape>,
    /// Whether any member is marked as key.
    pub has_key: bool,
    /// Positions of the members in the order of their ids.
    pub(crate) by_id: Vec<usize>,
    /// Where the first members start, from the start of the structure's members: as far as that is the same for all values.
    pub(crate) offsets: Vec<Extent>,
}

impl StructureShape {
    /// The position of the member with a name.
    #[must_use]
    pub fn position(&self, name: &str) -> Option<usize> {
        self.members.iter().position(|member| member.name == name)
    }

    pub(crate) fn position_of_id(&self, id: u32) -> Option<usize> {
        let id_at = |at: &usize| self.members.get(*at).map_or(u32::MAX, |member| member.id);
        let found = self.by_id.binary_search_by_key(&id, id_at).ok()?;
        self.by_id.get(found).copied()
    }
}

/// A member of a structure.
#[derive(Debug)]
pub struct MemberShape {
    /// Its name.
    pub name: String,
    /// Its id.
    pub id: u32,
    /// Its type.
    pub part: Part,
    pub(crate) flags: u16,
    /// `@default`
    pub(crate) default: Option<Value>,
}

impl MemberShape {
    pub(crate) const fn has(&self, flag: u16) -> bool {
        self.flags & flag == flag
    }

    /// Its value in a structure of type `of` that does not have it: that of `@default`, where the source of the type says it, or the
    /// default of its type.
    #[must_use]
    pub fn default_value(&self, of: TypeView<'_>) -> Value {
        crate::value::own_or_default(of.at(self.part), self.default.as_ref())
    }

    /// Whether it may be absent.
    #[must_use]
    pub const fn is_optional(&self) -> bool {
        self.has(member_flag::OPTIONAL)
    }

    /// Whether it is part of the key.
    #[must_use]
    pub const fn is_key(&self) -> bool {
        self.has(member_flag::KEY)
    }

    /// Whether a reader that lacks it discards the sample.
    #[must_use]
    pub const fn must_understand(&self) -> bool {
        self.has(member_flag::MUST_UNDERSTAND)
    }
}

/// A union.
#[derive(Debug)]
pub struct UnionShape {
    /// How it may evolve.
    pub extensibility: Extensibility,
    /// Type of the discriminator.
    pub discriminator: Part,
    /// Whether the discriminator is the key.
    pub has_key: bool,
    /// The cases.
    pub cases: Vec<CaseShape>,
    /// Labels in ascending order, with the positions of their cases.
    pub(crate) by_label: Vec<(i64, usize)>,
    /// The position of the default case.
    pub(crate) default: Option<usize>,
    /// A value of the discriminator that is no label.
    pub(crate) free: Option<i64>,
}

impl UnionShape {
    /// The case that a discriminator selects.
    #[must_use]
    pub fn selected(&self, discriminator: i64) -> Option<&CaseShape> {
        let found = self.by_label.binary_search_by_key(&discriminator, |(label, _)| *label).ok();
        let labelled = found.and_then(|found| self.by_label.get(found)).map(|(_, case)| *case);
        self.cases.get(labelled.or(self.default)?)
    }

    /// A discriminator that selects a case: its first label, or for the default case a value of the discriminator's type
    /// that no other has. `None` if there is none, and nothing selects the case.
    #[must_use]
    pub fn label_of(&self, case: &CaseShape) -> Option<i64> {
        case.labels.first().copied().or(self.free.filter(|_| case.is_default))
    }
}

/// A case of a union.
#[derive(Debug)]
pub struct CaseShape {
    /// Name of its member.
    pub name: String,
    /// Id of its member.
    pub id: u32,
    /// The labels that select it.
    pub labels: Vec<i64>,
    /// Whether all other values select it.
    pub is_default: bool,
    /// Type of its member.
    pub part: Part,
    /// `@default`
    pub(crate) default: Option<Value>,
}

impl CaseShape {
    /// The value of its member in a union of type `of` that selects it: that of `@default`, where the source of the type says it,
    /// or the default of its type.
    #[must_use]
    pub fn default_value(&self, of: TypeView<'_>) -> Value {
        crate::value::own_or_default(of.at(self.part), self.default.as_ref())
    }
}

/// A look at a type or a part of it.
#[derive(Clone, Copy)]
pub struct TypeView<'a> {
    pub(crate) nodes: &'a [Node],
    pub(crate) node: &'a Node,
}

/// Stands for a part that a type does not have, which does not happen.
static NOTHING: Node = Node {
    name: String::new(),
    shape: Shape::Primitive(PrimitiveKind::Octet),
    least: 0,
    key_size: KeySize::UNBOUNDED,
    parts: 1,
    extent: Extent::NONE,
};

impl<'a> TypeView<'a> {
    /// The qualified name; empty if it has none.
    #[must_use]
    pub fn name(self) -> &'a str {
        &self.node.name
    }

    /// What it is.
    #[must_use]
    pub fn shape(self) -> &'a Shape {
        &self.node.shape
    }

    /// The type of a part.
    #[must_use]
    pub fn at(self, part: Part) -> Self {
        Self { nodes: self.nodes, node: self.nodes.get(part.node).unwrap_or(&NOTHING) }
    }

    /// The value of a member of this type that is missing (§7.2.2.4.4.4.7, table 9), unless the member has one of its own
    /// ([`MemberShape::default_value`]).
    #[must_use]
    pub fn default_value(self) -> Value {
        crate::value::default_of(self)
    }

    /// A value as one of this type, if it says the same: numbers of other kinds, names of literals, bytes as a list.
    ///
    /// # Errors
    /// When it does not fit.
    pub fn convert(self, value: Value) -> Result<Value, crate::ValueError> {
        crate::convert::convert(self, value, crate::MAX_NESTING)
    }

    /// Decodes a value of this type that a decoder is about to read, in its scope: a part of a sample, found by
    /// [`Decoder::locate`](dunlin_cdr::Decoder::locate).
    ///
    /// # Errors
    /// Bytes that are no serialization of the type, or a limit reached.
    pub fn read(self, d: &mut Decoder<'_>) -> Result<Value, CdrError> {
        crate::read::read_part(self, d)
    }

    /// Encodes a value of this type, in the scope of the encoder.
    ///
    /// # Errors
    /// [`CdrError::ForeignType`] for a value of another type; lengths that cannot be represented.
    pub fn write(self, value: &Value, e: &mut Encoder<'_>) -> Result<(), CdrError> {
        crate::write::write(self, value, e)
    }

    /// The part of a value of this type at a path, as [`DynamicData::part`](crate::DynamicData::part).
    ///
    /// # Errors
    /// As there.
    pub fn find<'v>(
        self,
        value: &'v Value,
        path: &str,
    ) -> Result<Option<(Self, Cow<'v, Value>)>, crate::AccessError> {
        crate::data::part(self, value, path)
    }

    /// How the type may evolve.
    #[must_use]
    pub const fn extensibility(self) -> Extensibility {
        match &self.node.shape {
            Shape::Structure(it) => it.extensibility,
            Shape::Union(it) => it.extensibility,
            Shape::Enumeration(it) => it.extensibility,
            Shape::Bits(it) => it.extensibility,
            _ => Extensibility::Final,
        }
    }

    /// How collections treat elements of this type.
    pub(crate) const fn element_kind(self) -> ElementKind {
        match &self.node.shape {
            Shape::Primitive(_) => ElementKind::Primitive,
            Shape::Enumeration(_) | Shape::Bits(_) => ElementKind::EnumLike,
            _ => ElementKind::Compound,
        }
    }

    /// How an array of this type treats its elements: the dimensions of an array have one header together.
    pub(crate) fn item_kind(self) -> ElementKind {
        let mut view = self;
        while let Shape::Array { element, dimension: true, .. } = &view.node.shape {
            view = view.at(*element);
        }
        view.element_kind()
    }

    /// How a map of such keys and values treats them.
    pub(crate) const fn pair_kind(key: ElementKind, value: ElementKind) -> ElementKind {
        match (key, value) {
            (ElementKind::Primitive, value) => value,
            (key, ElementKind::Primitive) => key,
            (ElementKind::EnumLike, ElementKind::EnumLike) => ElementKind::EnumLike,
            _ => ElementKind::Compound,
        }
    }

    /// How the size of a member of this type is announced in XCDR2 mutable types.
    pub(crate) fn length_code(self) -> LengthCode {
        match &self.node.shape {
            Shape::Primitive(kind) => LengthCode::of_primitive(kind.size()),
            Shape::Enumeration(it) => LengthCode::of_primitive(it.holder.size()),
            Shape::Bits(it) => LengthCode::of_primitive(it.holder.size()),
            Shape::Text { .. } => LengthCode::Octets,
            Shape::Structure(StructureShape { extensibility, .. })
            | Shape::Union(UnionShape { extensibility, .. }) => match extensibility {
                Extensibility::Final => LengthCode::NextInt,
                _ => LengthCode::Octets,
            },
            Shape::Sequence { element, .. } => {
                let element = self.at(*element);
                LengthCode::of_sequence(element.element_kind(), element.length_code())
            }
            Shape::Array { element, .. } => of_delimited(self.at(*element).item_kind()),
            Shape::Map { key, value, .. } => {
                of_delimited(Self::pair_kind(self.at(*key).element_kind(), self.at(*value).element_kind()))
            }
        }
    }
}

const fn of_delimited(kind: ElementKind) -> LengthCode {
    match kind {
        ElementKind::Primitive => LengthCode::NextInt,
        _ => LengthCode::Octets,
    }
}

impl DynamicType {
    /// The type of a definition in a graph: a structure or union, or an alias of one.
    ///
    /// # Errors
    /// [`TypeError`].
    pub fn new(graph: impl Into<Arc<TypeGraph>>, index: TypeIndex) -> Result<Self, TypeError> {
        crate::build::compile(graph.into(), index).map(|compiled| Self(Arc::new(compiled)))
    }

    /// The qualified name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// A look at the type.
    #[must_use]
    pub fn view(&self) -> TypeView<'_> {
        TypeView { nodes: &self.0.nodes, node: self.0.nodes.get(self.0.root).unwrap_or(&NOTHING) }
    }

    /// The graph that the type is in.
    #[must_use]
    pub fn graph(&self) -> &Arc<TypeGraph> {
        &self.0.graph
    }

    /// Its definition in [`DynamicType::graph`].
    #[must_use]
    pub fn index(&self) -> TypeIndex {
        self.0.index
    }

    /// What the source of the type says of it and its parts, without what it consists of: annotations that the source declares
    /// itself, and `@verbatim` (DDS-XTypes 1.3 §7.5.2.7.3 `get_annotation`). [`DynamicType::graph`] has the declarations of
    /// the annotations, and what is said of other types.
    #[must_use]
    pub fn annotations(&self) -> Option<&Annotations> {
        self.0.graph.annotations(self.0.index)
    }

    /// Whether topics of this type have instances.
    #[must_use]
    pub fn is_keyed(&self) -> bool {
        match self.view().shape() {
            Shape::Structure(it) => it.has_key,
            Shape::Union(it) => it.has_key,
            _ => false,
        }
    }

    /// Whether a value of `other` is one of this type: it is the same type, or one equal in every respect.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || (self.0.index == other.0.index && self.0.graph == other.0.graph)
    }

    /// The type as IDL.
    #[must_use]
    pub fn to_idl(&self) -> String {
        dunlin_xtypes::to_idl(&self.0.graph, self.0.index)
    }
}

impl fmt::Debug for DynamicType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DynamicType").field(&self.0.name).finish()
    }
}

impl fmt::Debug for TypeView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.node.shape, f)
    }
}
