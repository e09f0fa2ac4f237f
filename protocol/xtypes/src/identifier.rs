//! Type identifiers (DDS-XTypes 1.3 §7.3.4.2, Annex B `TypeIdentifier`).

use alloc::boxed::Box;
use alloc::vec::Vec;

use dunlin_cdr::{CdrRead, CdrWrite, PrimitiveKind};

/// Kinds of types, the discriminators of the standard (§7.3.4.2, table 40).
pub mod kind {
    /// No type.
    pub const NONE: u8 = 0x00;
    /// `boolean`
    pub const BOOLEAN: u8 = 0x01;
    /// `octet`
    pub const BYTE: u8 = 0x02;
    /// `int16`
    pub const INT16: u8 = 0x03;
    /// `int32`
    pub const INT32: u8 = 0x04;
    /// `int64`
    pub const INT64: u8 = 0x05;
    /// `uint16`
    pub const UINT16: u8 = 0x06;
    /// `uint32`
    pub const UINT32: u8 = 0x07;
    /// `uint64`
    pub const UINT64: u8 = 0x08;
    /// `float`
    pub const FLOAT32: u8 = 0x09;
    /// `double`
    pub const FLOAT64: u8 = 0x0a;
    /// `long double`
    pub const FLOAT128: u8 = 0x0b;
    /// `int8`
    pub const INT8: u8 = 0x0c;
    /// `uint8`
    pub const UINT8: u8 = 0x0d;
    /// `char`
    pub const CHAR8: u8 = 0x10;
    /// `wchar`
    pub const CHAR16: u8 = 0x11;
    /// `string`, in values of annotations
    pub const STRING8: u8 = 0x20;
    /// `wstring`, in values of annotations
    pub const STRING16: u8 = 0x21;
    /// `typedef`
    pub const ALIAS: u8 = 0x30;
    /// `enum`
    pub const ENUM: u8 = 0x40;
    /// `bitmask`
    pub const BITMASK: u8 = 0x41;
    /// `@annotation`
    pub const ANNOTATION: u8 = 0x50;
    /// `struct`
    pub const STRUCTURE: u8 = 0x51;
    /// `union`
    pub const UNION: u8 = 0x52;
    /// `bitset`
    pub const BITSET: u8 = 0x53;
    /// `sequence` with annotations of its own
    pub const SEQUENCE: u8 = 0x60;
    /// Array with annotations of its own
    pub const ARRAY: u8 = 0x61;
    /// `map` with annotations of its own
    pub const MAP: u8 = 0x62;
    /// Equivalence by minimal objects.
    pub const EK_MINIMAL: u8 = 0xf1;
    /// Equivalence by complete objects.
    pub const EK_COMPLETE: u8 = 0xf2;
    /// Of a plain collection whose elements need no hash.
    pub const EK_BOTH: u8 = 0xf3;
}

/// The first 14 bytes of an MD5 digest (§7.3.4.4 `EquivalenceHash`).
pub type EquivalenceHash = [u8; 14];

/// Names a type (§7.3.4.2).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, CdrRead, CdrWrite)]
#[dds(union, discriminator = "u8", final, nested)]
pub enum TypeIdentifier {
    /// A primitive type, or [`kind::NONE`].
    #[dds(case(
        0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x10, 0x11
    ))]
    Primitive {
        /// Its kind.
        #[dds(discriminator)]
        kind: u8,
    },
    /// A string with a bound of at most 255; 0 is none.
    #[dds(case(0x70, 0x72))]
    StringSmall {
        /// 0x70 of bytes, 0x72 of UTF-16 units.
        #[dds(discriminator)]
        kind: u8,
        /// The bound.
        bound: u8,
    },
    /// A string with a bound above 255.
    #[dds(case(0x71, 0x73))]
    StringLarge {
        /// 0x71 of bytes, 0x73 of UTF-16 units.
        #[dds(discriminator)]
        kind: u8,
        /// The bound.
        bound: u32,
    },
    /// A sequence with a bound of at most 255; 0 is none.
    #[dds(case = 0x80)]
    SequenceSmall(Box<PlainSequenceSmall>),
    /// A sequence with a bound above 255.
    #[dds(case = 0x81)]
    SequenceLarge(Box<PlainSequenceLarge>),
    /// An array with no dimension above 255.
    #[dds(case = 0x90)]
    ArraySmall(Box<PlainArraySmall>),
    /// An array with a dimension above 255.
    #[dds(case = 0x91)]
    ArrayLarge(Box<PlainArrayLarge>),
    /// A map with a bound of at most 255; 0 is none.
    #[dds(case = 0xa0)]
    MapSmall(Box<PlainMapSmall>),
    /// A map with a bound above 255.
    #[dds(case = 0xa1)]
    MapLarge(Box<PlainMapLarge>),
    /// A type of several that depend on each other (§7.3.4.9).
    #[dds(case = 0xb0)]
    Component(StronglyConnectedComponentId),
    /// A type named by the hash of its minimal object.
    #[dds(case = 0xf1)]
    Minimal(EquivalenceHash),
    /// A type named by the hash of its complete object.
    #[dds(case = 0xf2)]
    Complete(EquivalenceHash),
    /// Of a later version of the standard.
    #[dds(default)]
    Extended {
        /// The kind.
        #[dds(discriminator)]
        kind: u8,
        /// Nothing is known of it.
        definition: ExtendedDefinition,
    },
}

/// What a later version of the standard may add.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, CdrRead, CdrWrite)]
#[dds(mutable)]
pub struct ExtendedDefinition {}

/// What plain collections have in common (§7.3.4.2.2).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, CdrRead, CdrWrite)]
#[dds(final)]
pub struct PlainCollectionHeader {
    /// [`kind::EK_BOTH`] if no hash occurs inside, otherwise the kind of those hashes.
    pub equiv_kind: u8,
    /// Flags of the elements.
    pub element_flags: u16,
}

/// `sequence<element, bound>`
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, CdrRead, CdrWrite)]
#[dds(final)]
pub struct PlainSequenceSmall {
    /// About the elements.
    pub header: PlainCollectionHeader,
    /// Most elements.
    pub bound: u8,
    /// Their type.
    pub element: TypeIdentifier,
}

/// `sequence<element, bound>`
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, CdrRead, CdrWrite)]
#[dds(final)]
pub struct PlainSequenceLarge {
    /// About the elements.
    pub header: PlainCollectionHeader,
    /// Most elements.
    pub bound: u32,
    /// Their type.
    pub element: TypeIdentifier,
}

/// `element[bounds]`
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, CdrRead, CdrWrite)]
#[dds(final)]
pub struct PlainArraySmall {
    /// About the elements.
    pub header: PlainCollectionHeader,
    /// The dimensions, the outermost first.
    pub bounds: Vec<u8>,
    /// Type of the elements.
    pub element: TypeIdentifier,
}

/// `element[bounds]`
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, CdrRead, CdrWrite)]
#[dds(final)]
pub struct PlainArrayLarge {
    /// About the elements.
    pub header: PlainCollectionHeader,
    /// The dimensions, the outermost first.
    pub bounds: Vec<u32>,
    /// Type of the elements.
    pub element: TypeIdentifier,
}

/// `map<key, element, bound>`
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, CdrRead, CdrWrite)]
#[dds(final)]
pub struct PlainMapSmall {
    /// About the values.
    pub header: PlainCollectionHeader,
    /// Most pairs.
    pub bound: u8,
    /// Type of the values.
    pub element: TypeIdentifier,
    /// Flags of the keys.
    pub key_flags: u16,
    /// Type of the keys.
    pub key: TypeIdentifier,
}

/// `map<key, element, bound>`
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, CdrRead, CdrWrite)]
#[dds(final)]
pub struct PlainMapLarge {
    /// About the values.
    pub header: PlainCollectionHeader,
    /// Most pairs.
    pub bound: u32,
    /// Type of the values.
    pub element: TypeIdentifier,
    /// Flags of the keys.
    pub key_flags: u16,
    /// Type of the keys.
    pub key: TypeIdentifier,
}

/// The hash of types that depend on each other (Annex B `TypeObjectHashId`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, CdrRead, CdrWrite)]
#[dds(union, discriminator = "u8", final)]
pub enum TypeObjectHashId {
    /// Of the minimal objects.
    #[dds(case = 0xf1)]
    Minimal(EquivalenceHash),
    /// Of the complete objects.
    #[dds(case = 0xf2)]
    Complete(EquivalenceHash),
}

/// A type of several that depend on each other (§7.3.4.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, CdrRead, CdrWrite)]
#[dds(appendable)]
pub struct StronglyConnectedComponentId {
    /// The hash of all of them together.
    pub sc_component_id: TypeObjectHashId,
    /// How many there are.
    pub scc_length: i32,
    /// Which one it is, from 1; 0 means all of them.
    pub scc_index: i32,
}

/// Whether an identifier refers to type objects by hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Equivalence {
    /// It says everything itself.
    Both,
    /// Of minimal objects.
    Minimal,
    /// Of complete objects.
    Complete,
}

impl Equivalence {
    /// The standard's number.
    #[must_use]
    pub const fn value(self) -> u8 {
        match self {
            Self::Both => kind::EK_BOTH,
            Self::Minimal => kind::EK_MINIMAL,
            Self::Complete => kind::EK_COMPLETE,
        }
    }
}

impl TypeIdentifier {
    /// No type.
    pub const NONE: Self = Self::Primitive { kind: kind::NONE };

    /// Whether it is [`TypeIdentifier::NONE`].
    #[must_use]
    pub const fn is_none(&self) -> bool {
        matches!(self, Self::Primitive { kind: kind::NONE })
    }

    /// Whether and of which objects it contains hashes.
    #[must_use]
    pub fn equivalence(&self) -> Equivalence {
        match self {
            Self::Minimal(_) => Equivalence::Minimal,
            Self::Complete(_) => Equivalence::Complete,
            Self::Component(id) => match id.sc_component_id {
                TypeObjectHashId::Minimal(_) => Equivalence::Minimal,
                TypeObjectHashId::Complete(_) => Equivalence::Complete,
            },
            Self::SequenceSmall(it) => it.element.equivalence(),
            Self::SequenceLarge(it) => it.element.equivalence(),
            Self::ArraySmall(it) => it.element.equivalence(),
            Self::ArrayLarge(it) => it.element.equivalence(),
            Self::MapSmall(it) => it.element.equivalence().max(it.key.equivalence()),
            Self::MapLarge(it) => it.element.equivalence().max(it.key.equivalence()),
            _ => Equivalence::Both,
        }
    }

    /// Calls `visit` with the hash identifiers in it: itself, or those of elements and keys.
    pub fn visit_hashed(&self, visit: &mut dyn FnMut(&Self)) {
        match self {
            Self::Minimal(_) | Self::Complete(_) | Self::Component(_) => visit(self),
            Self::SequenceSmall(it) => it.element.visit_hashed(visit),
            Self::SequenceLarge(it) => it.element.visit_hashed(visit),
            Self::ArraySmall(it) => it.element.visit_hashed(visit),
            Self::ArrayLarge(it) => it.element.visit_hashed(visit),
            Self::MapSmall(it) => {
                it.element.visit_hashed(visit);
                it.key.visit_hashed(visit);
            }
            Self::MapLarge(it) => {
                it.element.visit_hashed(visit);
                it.key.visit_hashed(visit);
            }
            _ => {}
        }
    }

    /// The same as [`Self::visit_hashed`], to change them.
    pub(crate) fn change_hashed(&mut self, change: &mut dyn FnMut(&mut Self)) {
        match self {
            Self::Minimal(_) | Self::Complete(_) | Self::Component(_) => change(self),
            Self::SequenceSmall(it) => it.element.change_hashed(change),
            Self::SequenceLarge(it) => it.element.change_hashed(change),
            Self::ArraySmall(it) => it.element.change_hashed(change),
            Self::ArrayLarge(it) => it.element.change_hashed(change),
            Self::MapSmall(it) => {
                it.element.change_hashed(change);
                it.key.change_hashed(change);
            }
            Self::MapLarge(it) => {
                it.element.change_hashed(change);
                it.key.change_hashed(change);
            }
            _ => {}
        }
    }

    /// Whether it is that of several types that depend on each other and leaves open which of them is meant.
    #[must_use]
    pub fn is_of_several(&self) -> bool {
        matches!(self, Self::Component(id) if id.scc_index == 0 && id.scc_length != 1)
    }

    /// The identifier under which the object is looked up: of types that depend on each other, all have one object list,
    /// with index 0 (§7.3.4.9).
    #[must_use]
    pub fn lookup_id(&self) -> Self {
        match self {
            Self::Component(id) => Self::Component(StronglyConnectedComponentId { scc_index: 0, ..*id }),
            other => other.clone(),
        }
    }

    /// The primitive's identifier.
    #[must_use]
    pub const fn of_primitive(primitive: PrimitiveKind) -> Self {
        let kind = match primitive {
            PrimitiveKind::Boolean => kind::BOOLEAN,
            PrimitiveKind::Octet => kind::BYTE,
            PrimitiveKind::Int8 => kind::INT8,
            PrimitiveKind::UInt8 => kind::UINT8,
            PrimitiveKind::Int16 => kind::INT16,
            PrimitiveKind::UInt16 => kind::UINT16,
            PrimitiveKind::Int32 => kind::INT32,
            PrimitiveKind::UInt32 => kind::UINT32,
            PrimitiveKind::Int64 => kind::INT64,
            PrimitiveKind::UInt64 => kind::UINT64,
            PrimitiveKind::Float32 => kind::FLOAT32,
            PrimitiveKind::Float64 => kind::FLOAT64,
            PrimitiveKind::Float128 => kind::FLOAT128,
            PrimitiveKind::Char8 => kind::CHAR8,
            PrimitiveKind::Char16 => kind::CHAR16,
        };
        Self::Primitive { kind }
    }
}
