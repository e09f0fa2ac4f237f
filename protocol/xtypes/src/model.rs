//! Types known at run time (DDS-XTypes 1.3 §7.2.2, §7.5.2 `DynamicType`): what type objects, IDL and the descriptions of
//! Rust types have in common.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use dunlin_cdr::{CdrError, Decoder, Encoder, Endianness, Extensibility, Limits, Representation};

pub use crate::applied::{
    Annotation, AnnotationIndex, AnnotationParameter, Annotations, Applied, MAX_TEXT, Part, verbatim_fits,
};
use crate::identifier::kind;
use crate::object::annotation::{AppliedBuiltinMemberAnnotations, NameHash};
use crate::object::name_hash;

/// Flags of members (§7.3.4.5.1).
pub mod member_flag {
    /// A value that does not fit discards what contains it.
    pub const DISCARD: u16 = 0x0001;
    /// A value that does not fit becomes the default.
    pub const USE_DEFAULT: u16 = 0x0002;
    /// A value that does not fit is shortened.
    pub const TRIM: u16 = 0x0003;
    /// Held by a pointer.
    pub const EXTERNAL: u16 = 0x0004;
    /// May be absent.
    pub const OPTIONAL: u16 = 0x0008;
    /// Who lacks the member discards the sample.
    pub const MUST_UNDERSTAND: u16 = 0x0010;
    /// Part of the key.
    pub const KEY: u16 = 0x0020;
    /// The default case of a union, or the default literal of an enumeration.
    pub const DEFAULT: u16 = 0x0040;
}

/// Flags of types (§7.3.4.5.1).
pub mod type_flag {
    /// Nothing may be added.
    pub const FINAL: u16 = 0x0001;
    /// Members may be added at the end.
    pub const APPENDABLE: u16 = 0x0002;
    /// Members may be added, removed and moved.
    pub const MUTABLE: u16 = 0x0004;
    /// No topic type.
    pub const NESTED: u16 = 0x0008;
    /// Member ids are hashes of names.
    pub const AUTOID_HASH: u16 = 0x0010;
}

/// A definition in a [`TypeGraph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TypeIndex(pub(crate) usize);

/// Types that refer to each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TypeGraph {
    definitions: Vec<Definition>,
    /// Annotations that sources declare.
    pub(crate) declared: Vec<Annotation>,
    /// Where annotations are applied: few definitions have any.
    pub(crate) annotations: BTreeMap<TypeIndex, Annotations>,
}

/// A type where it is used.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// A primitive type, by its kind: [`kind::BOOLEAN`] to [`kind::CHAR16`].
    Primitive(u8),
    /// A string.
    String {
        /// Of UTF-16 units instead of bytes.
        wide: bool,
        /// Most units; 0 is none.
        bound: u32,
    },
    /// A sequence.
    Sequence {
        /// The elements.
        element: Box<Element>,
        /// Most of them; 0 is none.
        bound: u32,
    },
    /// An array.
    Array {
        /// The elements.
        element: Box<Element>,
        /// The dimensions, the outermost first.
        dimensions: Vec<u32>,
    },
    /// A map.
    Map {
        /// The keys.
        key: Box<Element>,
        /// The values.
        value: Box<Element>,
        /// Most pairs; 0 is none.
        bound: u32,
    },
    /// A type with a name.
    Named(TypeIndex),
}

/// Elements of a collection, keys of a map, the discriminator of a union or what an alias stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    /// The type.
    pub ty: Type,
    /// Flags ([`member_flag`]).
    pub flags: u16,
}

/// A name: of types from minimal objects, the hash alone is known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    /// The name; empty if unknown.
    pub text: String,
    /// Its hash.
    pub hash: NameHash,
}

impl Name {
    /// A name that is known.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self { text: text.into(), hash: name_hash(text) }
    }

    /// A name of which only the hash is known.
    #[must_use]
    pub const fn hashed(hash: NameHash) -> Self {
        Self { text: String::new(), hash }
    }
}

impl core::fmt::Display for Name {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if !self.text.is_empty() {
            return f.write_str(&self.text);
        }
        write!(f, "#{:08x}", u32::from_be_bytes(self.hash))
    }
}

/// A type with a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// The qualified name; empty if unknown.
    pub name: String,
    /// Flags ([`type_flag`]).
    pub flags: u16,
    /// What it is.
    pub kind: Kind,
}

/// The kinds of types with names.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// `struct`
    Structure(Structure),
    /// `union`
    Union(Union),
    /// `enum`
    Enumeration(Enumeration),
    /// `bitmask`
    Bitmask(Bitmask),
    /// `bitset`
    Bitset(Bitset),
    /// `typedef`
    Alias(Element),
}

/// A structure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Structure {
    /// What it inherits from.
    pub base: Option<TypeIndex>,
    /// Its own members.
    pub members: Vec<Member>,
}

/// A member of a structure.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The name.
    pub name: Name,
    /// The id.
    pub id: u32,
    /// Flags ([`member_flag`]).
    pub flags: u16,
    /// The type.
    pub ty: Type,
    /// Annotations that complete objects show.
    pub annotations: AppliedBuiltinMemberAnnotations,
    /// `@default`, where the source of the type says it: type objects do not show it (Annex B,
    /// `AppliedBuiltinMemberAnnotations`).
    pub default: Option<DefaultValue>,
}

/// The value that a missing member has: its bytes in XCDR2, little-endian, without header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultValue(Vec<u8>);

impl DefaultValue {
    /// The bytes that `write` makes.
    ///
    /// # Errors
    /// Those of `write`.
    pub fn written(write: impl FnOnce(&mut Encoder<'_>) -> Result<(), CdrError>) -> Result<Self, CdrError> {
        let mut octets = Vec::new();
        write(&mut Encoder::new(&mut octets, Representation::Xcdr2, Endianness::Little))?;
        Ok(Self(octets))
    }

    /// A decoder that is about to read the value.
    #[must_use]
    pub fn decoder(&self) -> Decoder<'_> {
        Decoder::new(&self.0, Representation::Xcdr2, Endianness::Little, &Limits::default())
    }

    /// How many bytes the value has.
    #[must_use]
    pub fn size(&self) -> usize {
        self.0.len()
    }
}

impl Member {
    /// Whether a flag is set.
    #[must_use]
    pub const fn has(&self, flag: u16) -> bool {
        self.flags & flag == flag
    }
}

/// A union.
#[derive(Clone, Debug, PartialEq)]
pub struct Union {
    /// The discriminator.
    pub discriminator: Element,
    /// The members.
    pub cases: Vec<Case>,
}

/// A case of a union.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Its member.
    pub member: Member,
    /// The labels that select it: values of the discriminator; those of `uint64` as the `int64` of the same bits.
    pub labels: Vec<i64>,
}

impl Case {
    /// Whether all values without label select it.
    #[must_use]
    pub const fn is_default(&self) -> bool {
        self.member.has(member_flag::DEFAULT)
    }
}

/// An enumeration.
#[derive(Clone, Debug, PartialEq)]
pub struct Enumeration {
    /// Bits of the values, 1 to 32.
    pub bit_bound: u16,
    /// The literals.
    pub literals: Vec<Literal>,
    /// `@ignore_literal_names`, where the source of the type says it: type objects have no flag for it (Annex B,
    /// `EnumTypeFlag`).
    pub ignore_literal_names: bool,
}

/// A literal of an enumeration.
#[derive(Clone, Debug, PartialEq)]
pub struct Literal {
    /// The name.
    pub name: Name,
    /// The value.
    pub value: i32,
    /// Whether it is the default.
    pub is_default: bool,
}

/// A bitmask.
#[derive(Clone, Debug, PartialEq)]
pub struct Bitmask {
    /// Number of bits, 1 to 64.
    pub bit_bound: u16,
    /// The bits with names.
    pub bits: Vec<Bit>,
}

/// A bit of a bitmask.
#[derive(Clone, Debug, PartialEq)]
pub struct Bit {
    /// The name.
    pub name: Name,
    /// The position, 0 the least.
    pub position: u16,
}

/// A bitset.
#[derive(Clone, Debug, PartialEq)]
pub struct Bitset {
    /// The fields with names, those of bases first.
    pub fields: Vec<Field>,
    /// Number of bits, or of the bits of the integer that holds them. Type objects know no bits behind the last field.
    pub width: u16,
}

impl Bitset {
    /// A bitset of which no bits are known but those of the fields.
    #[must_use]
    pub fn of(fields: Vec<Field>) -> Self {
        let ends = fields.iter().map(|field| field.position.saturating_add(field.width.into()));
        Self { width: ends.max().unwrap_or(0), fields }
    }
}

/// A field of a bitset.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The name.
    pub name: Name,
    /// Position of its least bit.
    pub position: u16,
    /// Number of bits.
    pub width: u8,
    /// Kind of the integer that holds its value.
    pub holder: u8,
}

impl Definition {
    /// How the type may evolve; aliases, which have no flags, count as final.
    #[must_use]
    pub const fn extensibility(&self) -> Extensibility {
        if self.flags & type_flag::MUTABLE != 0 {
            Extensibility::Mutable
        } else if self.flags & type_flag::APPENDABLE != 0 {
            Extensibility::Appendable
        } else {
            Extensibility::Final
        }
    }
}

/// The flag of an extensibility.
#[must_use]
pub const fn extensibility_flag(extensibility: Extensibility) -> u16 {
    match extensibility {
        Extensibility::Final => type_flag::FINAL,
        Extensibility::Appendable => type_flag::APPENDABLE,
        Extensibility::Mutable => type_flag::MUTABLE,
    }
}

impl TypeGraph {
    /// Adds a definition. What it refers to may follow later.
    pub fn add(&mut self, definition: Definition) -> TypeIndex {
        self.definitions.push(definition);
        TypeIndex(self.definitions.len().saturating_sub(1))
    }

    /// Replaces a definition.
    pub fn set(&mut self, index: TypeIndex, definition: Definition) {
        if let Some(slot) = self.definitions.get_mut(index.0) {
            *slot = definition;
        }
    }

    /// A place for a definition that [`TypeGraph::set`] fills in later: members may refer to it before.
    pub fn reserve(&mut self) -> TypeIndex {
        let kind = Kind::Structure(Structure::default());
        self.add(Definition { name: String::new(), flags: type_flag::FINAL, kind })
    }

    /// The definition.
    #[must_use]
    pub fn get(&self, index: TypeIndex) -> Option<&Definition> {
        self.definitions.get(index.0)
    }

    /// The definition with a name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<TypeIndex> {
        self.definitions.iter().position(|definition| definition.name == name).map(TypeIndex)
    }

    /// How many definitions there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.definitions.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.definitions.is_empty()
    }

    /// All definitions.
    pub fn iter(&self) -> impl Iterator<Item = (TypeIndex, &Definition)> {
        self.definitions.iter().enumerate().map(|(index, definition)| (TypeIndex(index), definition))
    }

    /// What a type stands for behind aliases; a chain of aliases that leads nowhere stands for itself.
    #[must_use]
    pub fn resolve<'a>(&'a self, ty: &'a Type) -> &'a Type {
        let mut resolved = ty;
        for _ in 0..=self.definitions.len() {
            let Type::Named(index) = resolved else { break };
            let Some(Definition { kind: Kind::Alias(target), .. }) = self.get(*index) else { break };
            resolved = &target.ty;
        }
        resolved
    }

    /// The definition behind aliases, if the type has a name in the end.
    #[must_use]
    pub fn definition<'a>(&'a self, ty: &'a Type) -> Option<&'a Definition> {
        match self.resolve(ty) {
            Type::Named(index) => self.get(*index),
            _ => None,
        }
    }

    /// The base of a structure, behind aliases.
    fn base_of(&self, structure: &Structure) -> Option<TypeIndex> {
        let mut base = structure.base?;
        for _ in 0..=self.definitions.len() {
            match &self.get(base)?.kind {
                Kind::Alias(Element { ty: Type::Named(next), .. }) => base = *next,
                Kind::Structure(_) => return Some(base),
                _ => return None,
            }
        }
        None
    }

    /// The members of a structure, those of the bases first. Bases that go round are cut.
    #[must_use]
    pub fn members(&self, index: TypeIndex) -> Vec<&Member> {
        let (mut levels, mut next) = (Vec::new(), Some(index));
        let mut seen = BTreeSet::new();
        while let Some(Definition { kind: Kind::Structure(structure), .. }) =
            next.and_then(|index| self.get(index))
        {
            if !next.is_some_and(|index| seen.insert(index)) {
                break;
            }
            levels.push(&structure.members);
            next = self.base_of(structure);
        }
        levels.into_iter().rev().flatten().collect()
    }
}

impl Type {
    /// Calls `visit` with the definitions that the type mentions.
    pub fn visit_named(&self, visit: &mut dyn FnMut(TypeIndex)) {
        match self {
            Self::Named(index) => visit(*index),
            Self::Sequence { element, .. } | Self::Array { element, .. } => element.ty.visit_named(visit),
            Self::Map { key, value, .. } => {
                key.ty.visit_named(visit);
                value.ty.visit_named(visit);
            }
            Self::Primitive(_) | Self::String { .. } => {}
        }
    }
}

impl Definition {
    /// Calls `visit` with the definitions that this one mentions.
    pub fn visit_named(&self, visit: &mut dyn FnMut(TypeIndex)) {
        match &self.kind {
            Kind::Structure(it) => {
                it.base.iter().for_each(|base| visit(*base));
                it.members.iter().for_each(|member| member.ty.visit_named(visit));
            }
            Kind::Union(it) => {
                it.discriminator.ty.visit_named(visit);
                it.cases.iter().for_each(|case| case.member.ty.visit_named(visit));
            }
            Kind::Alias(it) => it.ty.visit_named(visit),
            Kind::Enumeration(_) | Kind::Bitmask(_) | Kind::Bitset(_) => {}
        }
    }
}

impl Type {
    /// A primitive type.
    #[must_use]
    pub const fn is_primitive(&self) -> bool {
        matches!(self, Self::Primitive(kind::BOOLEAN..=kind::CHAR16))
    }
}
