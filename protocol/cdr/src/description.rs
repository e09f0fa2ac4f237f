//! What a type looks like, for code that handles its values without the Rust type: names, ids, flags, kinds, bounds and
//! nesting (DDS-XTypes 1.3 §7.2.2, the contents of a TypeObject, §7.3.4.5).
//!
//! Descriptions of Rust types are constants made by `#[derive(DdsType)]`. They refer to each other by functions, so that
//! recursive types have finite descriptions. Descriptions of types known at run time are built, shared, and freed with the last
//! [`TypeRef`] to them.

mod standard;
mod static_or_arc;

use alloc::sync::Arc;
use core::fmt;

pub use static_or_arc::StaticOrArc;

use crate::annotation::TypeAnnotations;
use crate::{Bound, Bounded, CdrError, ElementKind, Encoder, Extensibility, Scope};

/// A type that describes itself.
///
/// `#[derive(DdsType)]` implements it. A type with a hand-written serialization says which one it has the bytes of:
/// `const DESCRIPTION: TypeDescription = u64::DESCRIPTION;`
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no type description",
    label = "no description of this type",
    note = "derive `DdsType` for it (with `#[dds(nested)]` if it is no topic type)"
)]
pub trait Described {
    /// The description.
    const DESCRIPTION: TypeDescription;
    /// The flags of elements, keys of maps and discriminators of this type: what becomes of those that do not fit, and
    /// whether a pointer holds them.
    const FLAGS: MemberFlags = MemberFlags::TRY_CONSTRUCT_DISCARD;
}

/// The description of a type.
#[derive(Clone, Debug)]
pub struct TypeDescription {
    /// The qualified name; empty for types that need none: primitives, strings, collections.
    pub name: StaticOrArc<str>,
    /// What it is.
    pub kind: TypeKind,
    /// What its source says of it beyond that.
    pub annotations: TypeAnnotations,
}

/// The kinds of types (DDS-XTypes 1.3 §7.2.2.4).
#[derive(Clone, Debug)]
pub enum TypeKind {
    /// A number, boolean or character.
    Primitive(PrimitiveKind),
    /// A string of bytes, UTF-8.
    String {
        /// Most bytes.
        bound: Option<usize>,
    },
    /// A string of UTF-16 units.
    WideString {
        /// Most units.
        bound: Option<usize>,
    },
    /// An enumeration.
    Enumeration(EnumerationDescription),
    /// A set of flags.
    Bitmask {
        /// How it may evolve.
        extensibility: Extensibility,
        /// Number of flags; 1 to 64.
        bit_bound: u8,
        /// The flags with names, as far as the type says them.
        bits: StaticOrArc<[BitsDescription]>,
    },
    /// Fields of bits in one integer.
    Bitset {
        /// How it may evolve.
        extensibility: Extensibility,
        /// Bits of that integer: 8, 16, 32 or 64.
        holder: u8,
        /// The fields, as far as the type says them.
        bits: StaticOrArc<[BitsDescription]>,
    },
    /// Another name for a type.
    Alias(TypeRef),
    /// A structure.
    Structure(StructureDescription),
    /// A union.
    Union(UnionDescription),
    /// A sequence.
    Sequence {
        /// Type of the elements.
        element: TypeRef,
        /// Most elements.
        bound: Option<usize>,
    },
    /// One dimension of an array; further dimensions are arrays as elements.
    Array {
        /// Type of the elements.
        element: TypeRef,
        /// Number of elements.
        length: usize,
    },
    /// A map.
    Map {
        /// Type of the keys.
        key: TypeRef,
        /// Type of the values.
        value: TypeRef,
        /// Most pairs.
        bound: Option<usize>,
    },
}

/// The primitive types (DDS-XTypes 1.3 §7.2.2.2).
#[allow(missing_docs, reason = "each says what it is")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrimitiveKind {
    Boolean,
    /// `octet`: what `u8` stands for unless `#[dds(uint8)]` says otherwise.
    Octet,
    Int8,
    UInt8,
    Int16,
    UInt16,
    Int32,
    UInt32,
    Int64,
    UInt64,
    Float32,
    Float64,
    Float128,
    Char8,
    Char16,
}

impl PrimitiveKind {
    /// Bytes of a value.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::Boolean | Self::Octet | Self::Int8 | Self::UInt8 | Self::Char8 => 1,
            Self::Int16 | Self::UInt16 | Self::Char16 => 2,
            Self::Int32 | Self::UInt32 | Self::Float32 => 4,
            Self::Int64 | Self::UInt64 | Self::Float64 => 8,
            Self::Float128 => 16,
        }
    }

    /// The IDL name.
    #[must_use]
    pub const fn idl_name(self) -> &'static str {
        match self {
            Self::Boolean => "boolean",
            Self::Octet => "octet",
            Self::Int8 => "int8",
            Self::UInt8 => "uint8",
            Self::Int16 => "int16",
            Self::UInt16 => "uint16",
            Self::Int32 => "int32",
            Self::UInt32 => "uint32",
            Self::Int64 => "int64",
            Self::UInt64 => "uint64",
            Self::Float32 => "float",
            Self::Float64 => "double",
            Self::Float128 => "long double",
            Self::Char8 => "char",
            Self::Char16 => "wchar",
        }
    }
}

/// Refers to the description of another type, and keeps it if it was made at run time. Cheap to clone.
#[derive(Clone)]
pub struct TypeRef {
    target: Target,
    flags: MemberFlags,
}

#[derive(Clone)]
enum Target {
    /// Of a Rust type: recursive types have finite descriptions so.
    Function(fn() -> &'static TypeDescription),
    /// Of a Rust type, or of a type known at run time.
    Value(StaticOrArc<TypeDescription>),
}

impl TypeRef {
    /// The description of `T`.
    #[must_use]
    pub const fn of<T: Described + ?Sized>() -> Self {
        Self::flagged::<T>(T::FLAGS)
    }

    /// The description of `T`, with other flags than `T` has by itself.
    #[must_use]
    pub const fn flagged<T: Described + ?Sized>(flags: MemberFlags) -> Self {
        Self::calling(description::<T>, flags)
    }

    /// The description of `T` with at most `N` characters, elements or pairs.
    #[must_use]
    pub const fn bounded<T: Described + Bounded, const N: usize>() -> Self {
        Self::calling(description::<Bound<T, N>>, T::FLAGS)
    }

    /// A description that was made at run time. It must not contain itself, or it is never freed.
    #[must_use]
    pub fn to(description: Arc<TypeDescription>) -> Self {
        Self {
            target: Target::Value(StaticOrArc::shared(description)),
            flags: MemberFlags::TRY_CONSTRUCT_DISCARD,
        }
    }

    /// The same with other flags.
    #[must_use]
    pub fn with_flags(self, flags: MemberFlags) -> Self {
        Self { flags, ..self }
    }

    const fn calling(description: fn() -> &'static TypeDescription, flags: MemberFlags) -> Self {
        Self { target: Target::Function(description), flags }
    }

    /// What it calls, if it is of a Rust type.
    const fn function(&self) -> Option<fn() -> &'static TypeDescription> {
        match &self.target {
            Target::Function(description) => Some(*description),
            Target::Value(_) => None,
        }
    }

    /// The same for many looks: [`get`](Self::get) then calls no function.
    #[must_use]
    pub fn evaluated(self) -> Self {
        match self.target {
            Target::Function(description) => {
                Self { target: Target::Value(StaticOrArc::constant(description())), flags: self.flags }
            }
            Target::Value(_) => self,
        }
    }

    /// The flags of elements of collections, keys of maps and discriminators. Members have flags of their own.
    #[must_use]
    pub const fn flags(&self) -> MemberFlags {
        self.flags
    }

    /// The description.
    #[must_use]
    pub fn get(&self) -> &TypeDescription {
        match &self.target {
            Target::Function(description) => description(),
            Target::Value(description) => description,
        }
    }

    /// The type behind aliases.
    #[must_use]
    pub fn resolved(&self) -> &Self {
        let mut ty = self;
        while let TypeKind::Alias(target) = &ty.get().kind {
            ty = target;
        }
        ty
    }
}

impl From<&'static TypeDescription> for TypeRef {
    fn from(description: &'static TypeDescription) -> Self {
        Self {
            target: Target::Value(StaticOrArc::constant(description)),
            flags: MemberFlags::TRY_CONSTRUCT_DISCARD,
        }
    }
}

/// The name alone: descriptions of recursive types have no end.
impl fmt::Debug for TypeRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TypeRef({})", self.get())
    }
}

/// The description of a type.
#[must_use]
pub fn description<T: Described + ?Sized>() -> &'static TypeDescription {
    const { &T::DESCRIPTION }
}

/// A flag of a bitmask or a field of a bitset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BitsDescription {
    /// Its name.
    pub name: StaticOrArc<str>,
    /// Its least bit, 0 the least of all.
    pub position: u8,
    /// Number of bits; 1 for a flag.
    pub width: u8,
    /// The type of its value; [`PrimitiveKind::Boolean`] for a flag.
    pub holder: PrimitiveKind,
}

impl BitsDescription {
    /// The type of a bit field's value if none is said (IDL 4.2 §7.4.13.4.3.2).
    #[must_use]
    pub const fn holder_of(width: u8) -> PrimitiveKind {
        match width {
            0 | 1 => PrimitiveKind::Boolean,
            2..=8 => PrimitiveKind::Octet,
            9..=16 => PrimitiveKind::UInt16,
            17..=32 => PrimitiveKind::UInt32,
            _ => PrimitiveKind::UInt64,
        }
    }
}

/// An enumeration.
#[derive(Clone, Debug)]
pub struct EnumerationDescription {
    /// How it may evolve.
    pub extensibility: Extensibility,
    /// Bits of its values: 1 to 32.
    pub bit_bound: u8,
    /// The literals, in the order of their declaration.
    pub literals: StaticOrArc<[LiteralDescription]>,
}

/// A literal of an enumeration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiteralDescription {
    /// Its name.
    pub name: StaticOrArc<str>,
    /// Its value.
    pub value: i32,
    /// Whether it is what a missing member has.
    pub is_default: bool,
}

impl EnumerationDescription {
    /// The literal with a name.
    #[must_use]
    pub fn literal(&self, name: &str) -> Option<&LiteralDescription> {
        self.literals.iter().find(|literal| literal.name == name)
    }

    /// The value that a missing member has.
    #[must_use]
    pub fn default_value(&self) -> i32 {
        let default = self.literals.iter().find(|literal| literal.is_default);
        default.or(self.literals.first()).map_or(0, |literal| literal.value)
    }
}

/// Flags of a member (DDS-XTypes 1.3 §7.3.4.5.1 MemberFlag), with the standard's bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemberFlags(pub u16);

impl MemberFlags {
    /// A value that does not fit discards the sample.
    pub const TRY_CONSTRUCT_DISCARD: Self = Self(1);
    /// A value that does not fit becomes the default.
    pub const TRY_CONSTRUCT_DEFAULT: Self = Self(2);
    /// A value that does not fit is shortened.
    pub const TRY_CONSTRUCT_TRIM: Self = Self(3);
    /// Held by a pointer.
    pub const EXTERNAL: Self = Self(4);
    /// May be absent.
    pub const OPTIONAL: Self = Self(8);
    /// Who lacks the member discards the sample.
    pub const MUST_UNDERSTAND: Self = Self(0x10);
    /// Part of the key.
    pub const KEY: Self = Self(0x20);
    /// The default case of a union.
    pub const DEFAULT: Self = Self(0x40);

    /// Both.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of `other` are set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// A member of a structure.
#[derive(Clone, Debug)]
pub struct MemberDescription {
    /// Its name.
    pub name: StaticOrArc<str>,
    /// Its id.
    pub id: u32,
    /// Its properties.
    pub flags: MemberFlags,
    /// Its type, without regard to its being optional.
    pub ty: TypeRef,
    /// Writes the value that a missing member has, if that is not the default of its type.
    pub write_default: Option<WriteDefault>,
    /// What else is said of it.
    pub annotations: MemberAnnotations,
}

/// Annotations of a member that change nothing about its values (DDS-XTypes 1.3 Annex B
/// `AppliedBuiltinMemberAnnotations`).
#[derive(Clone, Debug, Default)]
pub struct MemberAnnotations {
    /// `@unit`
    pub unit: Option<&'static str>,
    /// Writes the value of `@min`, which is one of the member's type.
    pub min: Option<WriteDefault>,
    /// Writes the value of `@max`.
    pub max: Option<WriteDefault>,
    /// `@hashid`: the name whose hash the id is; empty for the member's own.
    pub hash_id: Option<&'static str>,
}

impl MemberAnnotations {
    /// None.
    pub const NONE: Self = Self { unit: None, min: None, max: None, hash_id: None };
}

/// Writes a value.
#[derive(Clone)]
pub struct WriteDefault(StaticOrArc<WriteValue>);

/// A function that writes a value.
pub type WriteValue = dyn Fn(&mut Encoder<'_>) -> Result<(), CdrError> + Send + Sync;

impl WriteDefault {
    /// What calls `write`.
    #[must_use]
    pub const fn new(write: &'static WriteValue) -> Self {
        Self(StaticOrArc::constant(write))
    }

    /// What calls a function that was made at run time.
    #[must_use]
    pub fn shared(write: Arc<WriteValue>) -> Self {
        Self(StaticOrArc::shared(write))
    }

    /// Writes the value.
    ///
    /// # Errors
    /// As [`CdrWrite::write`](crate::CdrWrite::write).
    pub fn write(&self, e: &mut Encoder<'_>) -> Result<(), CdrError> {
        (self.0)(e)
    }
}

impl fmt::Debug for WriteDefault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WriteDefault")
    }
}

impl MemberDescription {
    /// Whether the member may be absent.
    #[must_use]
    pub const fn is_optional(&self) -> bool {
        self.flags.contains(MemberFlags::OPTIONAL)
    }

    /// Whether the member is part of the key.
    #[must_use]
    pub const fn is_key(&self) -> bool {
        self.flags.contains(MemberFlags::KEY)
    }

    /// Whether a sample without the member is refused; `keys_count` where the structure is part of the topic's key, or the
    /// topic's type itself.
    #[must_use]
    pub const fn is_required(&self, keys_count: bool) -> bool {
        (keys_count && self.is_key())
            || (self.flags.contains(MemberFlags::MUST_UNDERSTAND) && !self.is_optional())
    }
}

/// A structure.
#[derive(Clone, Debug)]
pub struct StructureDescription {
    /// How it may evolve.
    pub extensibility: Extensibility,
    /// Whether it is no topic type.
    pub nested: bool,
    /// Whether ids are hashes of names unless members say otherwise.
    pub autoid_hash: bool,
    /// What it inherits from: a structure.
    pub base: Option<TypeRef>,
    /// Its own members in the order of their declaration.
    pub members: StaticOrArc<[MemberDescription]>,
}

impl StructureDescription {
    fn base(&self) -> Option<&Self> {
        match &self.base.as_ref()?.get().resolved().kind {
            TypeKind::Structure(base) => Some(base),
            _ => None,
        }
    }

    /// How many members there are, those of the bases included.
    #[must_use]
    pub fn member_count(&self) -> usize {
        self.base().map_or(0, Self::member_count).saturating_add(self.members.len())
    }

    /// The member at a position; those of the bases come first.
    #[must_use]
    pub fn member(&self, position: usize) -> Option<&MemberDescription> {
        let Some(base) = self.base() else { return self.members.get(position) };
        match position.checked_sub(base.member_count()) {
            Some(own) => self.members.get(own),
            None => base.member(position),
        }
    }

    /// The position of the member with a name.
    #[must_use]
    pub fn position(&self, name: &str) -> Option<usize> {
        (0..self.member_count()).find(|at| self.member(*at).is_some_and(|member| member.name == name))
    }

    /// Whether any member is marked as key.
    #[must_use]
    pub fn has_key(&self) -> bool {
        self.base().is_some_and(Self::has_key) || self.members.iter().any(MemberDescription::is_key)
    }

    /// Whether a member is present in a serialization of this scope: in a structure without marked members all belong to
    /// the key, if the structure does.
    #[must_use]
    pub fn in_scope(&self, position: usize, scope: Scope) -> bool {
        if scope == Scope::Sample || !self.has_key() {
            return true;
        }
        // Only the base can have key members then.
        match self.base() {
            Some(base) => position < base.member_count() && base.in_scope(position, scope),
            None => self.members.get(position).is_some_and(MemberDescription::is_key),
        }
    }
}

/// A union.
#[derive(Clone, Debug)]
pub struct UnionDescription {
    /// How it may evolve.
    pub extensibility: Extensibility,
    /// Whether it is no topic type.
    pub nested: bool,
    /// Whether ids are hashes of names unless members say otherwise.
    pub autoid_hash: bool,
    /// Type of the discriminator, and what becomes of one that does not fit.
    pub discriminator: TypeRef,
    /// Whether the discriminator is the key.
    pub key: bool,
    /// The cases in the order of their declaration.
    pub cases: StaticOrArc<[CaseDescription]>,
}

/// A case of a union.
#[derive(Clone, Debug)]
pub struct CaseDescription {
    /// Name of its member.
    pub name: StaticOrArc<str>,
    /// Id of its member.
    pub id: u32,
    /// Properties of its member.
    pub flags: MemberFlags,
    /// The labels that select it: values of the discriminator.
    pub labels: StaticOrArc<[i64]>,
    /// Whether it is selected by all other values.
    pub is_default: bool,
    /// The member; a case may have none.
    pub ty: Option<TypeRef>,
    /// Writes the value that a member has which was not sent, if that is not the default of its type.
    pub write_default: Option<WriteDefault>,
    /// What else is said of the member.
    pub annotations: MemberAnnotations,
}

impl UnionDescription {
    /// The position of the case that a discriminator selects.
    #[must_use]
    pub fn selected(&self, discriminator: i64) -> Option<usize> {
        let labelled = self.cases.iter().position(|case| case.labels.contains(&discriminator));
        labelled.or_else(|| self.cases.iter().position(|case| case.is_default))
    }

    /// The discriminator that a missing union has.
    #[must_use]
    pub fn default_discriminator(&self) -> i64 {
        let value = match &self.discriminator.get().resolved().kind {
            TypeKind::Enumeration(enumeration) => i64::from(enumeration.default_value()),
            _ => 0,
        };
        if self.selected(value).is_some() {
            return value;
        }
        self.cases.first().and_then(|case| case.labels.first()).copied().unwrap_or(value)
    }
}

/// An empty string, which holds nothing.
const NO_TYPE: TypeKind = TypeKind::String { bound: Some(0) };

impl TypeDescription {
    /// A type that needs no name.
    pub(crate) const fn anonymous(kind: TypeKind) -> Self {
        Self { name: StaticOrArc::constant(""), kind, annotations: TypeAnnotations::NONE }
    }

    /// The type behind aliases.
    #[must_use]
    pub fn resolved(&self) -> &Self {
        let mut ty = self;
        while let TypeKind::Alias(target) = &ty.kind {
            ty = target.get();
        }
        ty
    }

    /// The description of a Rust type with a bound. Nothing that implements [`Bounded`] is without one, nor
    /// made at run time; it would be described as an empty string.
    pub(crate) const fn bounded(&self, most: usize) -> Self {
        let bound = Some(most);
        let kind = match &self.kind {
            TypeKind::String { .. } => TypeKind::String { bound },
            TypeKind::WideString { .. } => TypeKind::WideString { bound },
            TypeKind::Sequence { element, .. } => match element.function() {
                Some(of) => TypeKind::Sequence { element: TypeRef::calling(of, element.flags), bound },
                None => NO_TYPE,
            },
            TypeKind::Map { key, value, .. } => match (key.function(), value.function()) {
                (Some(k), Some(v)) => TypeKind::Map {
                    key: TypeRef::calling(k, key.flags),
                    value: TypeRef::calling(v, value.flags),
                    bound,
                },
                _ => NO_TYPE,
            },
            _ => NO_TYPE,
        };
        Self::anonymous(kind)
    }

    /// How collections treat elements of this type.
    #[must_use]
    pub fn element_kind(&self) -> ElementKind {
        match self.resolved().kind {
            TypeKind::Primitive(_) => ElementKind::Primitive,
            TypeKind::Enumeration(_) | TypeKind::Bitmask { .. } | TypeKind::Bitset { .. } => {
                ElementKind::EnumLike
            }
            _ => ElementKind::Compound,
        }
    }

    /// How an array of this type treats its elements: the dimensions of an array have one header together.
    #[must_use]
    pub fn item_kind(&self) -> ElementKind {
        let mut ty = self;
        while let TypeKind::Array { element, .. } = &ty.kind {
            ty = element.get();
        }
        ty.element_kind()
    }

    /// The integer that holds a value of an enumeration, bitmask or bitset.
    pub(crate) const fn holder(&self) -> Option<PrimitiveKind> {
        Some(match self.kind {
            TypeKind::Enumeration(EnumerationDescription { bit_bound, .. }) => match bit_bound {
                0..=8 => PrimitiveKind::Int8,
                9..=16 => PrimitiveKind::Int16,
                _ => PrimitiveKind::Int32,
            },
            TypeKind::Bitmask { bit_bound: bits, .. } | TypeKind::Bitset { holder: bits, .. } => match bits {
                0..=8 => PrimitiveKind::Octet,
                9..=16 => PrimitiveKind::UInt16,
                17..=32 => PrimitiveKind::UInt32,
                _ => PrimitiveKind::UInt64,
            },
            _ => return None,
        })
    }
}

/// The name, or what stands for it.
impl fmt::Display for TypeDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.name.is_empty() {
            return f.write_str(&self.name);
        }
        match &self.kind {
            TypeKind::Primitive(kind) => f.write_str(kind.idl_name()),
            TypeKind::String { bound } => write_bounded(f, "string", *bound),
            TypeKind::WideString { bound } => write_bounded(f, "wstring", *bound),
            TypeKind::Sequence { element, bound: None } => write!(f, "sequence<{}>", element.get()),
            TypeKind::Sequence { element, bound: Some(n) } => write!(f, "sequence<{}, {n}>", element.get()),
            TypeKind::Array { element, length } => write!(f, "{}[{length}]", element.get()),
            TypeKind::Map { key, value, .. } => write!(f, "map<{}, {}>", key.get(), value.get()),
            _ => f.write_str("a type without name"),
        }
    }
}

fn write_bounded(f: &mut fmt::Formatter<'_>, name: &str, bound: Option<usize>) -> fmt::Result {
    match bound {
        Some(bound) => write!(f, "{name}<{bound}>"),
        None => f.write_str(name),
    }
}
