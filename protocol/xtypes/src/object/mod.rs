//! Type objects (DDS-XTypes 1.3 §7.3.4.5, Annex B), serialized as XCDR2 little-endian (§7.3.4.5).

mod annotated;
pub mod annotation;
mod change;
pub mod common;
pub mod complete;
pub mod minimal;
mod reduce;

use alloc::vec::Vec;

use complete::CompleteTypeObject;
use dunlin_cdr::{CdrError, CdrRead, CdrWrite, Decoder, Encoder, Endianness, Limits, Representation};
use minimal::MinimalTypeObject;

use crate::identifier::EquivalenceHash;
use crate::{TypeIdentifier, identifier};

/// Everything that a type is, besides the types it refers to.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(union, discriminator = "u8", appendable)]
#[allow(clippy::large_enum_variant, reason = "objects are few, and most of them are complete")]
pub enum TypeObject {
    /// With names and annotations.
    #[dds(case = 0xf2)]
    Complete(CompleteTypeObject),
    /// With what assignability needs.
    #[dds(case = 0xf1)]
    Minimal(MinimalTypeObject),
}

/// Bounds of what decoding type objects from the network may cost.
pub const LIMITS: Limits = Limits { max_bytes: 4 << 20, max_sequence_len: 1 << 16, max_depth: 64 };

/// Serializes as type objects and type information are: XCDR2, little-endian, without encapsulation header.
///
/// # Errors
/// Lengths or nesting that cannot be represented.
pub fn to_octets<T: CdrWrite + ?Sized>(value: &T) -> Result<Vec<u8>, CdrError> {
    let mut out = Vec::new();
    value.write(&mut Encoder::new(&mut out, Representation::Xcdr2, Endianness::Little))?;
    Ok(out)
}

/// The reverse of [`to_octets`], with bounded memory and nesting ([`LIMITS`]).
///
/// # Errors
/// Bytes that are no serialization of `T`, or too costly ones.
pub fn from_octets<'de, T: CdrRead<'de>>(octets: &'de [u8]) -> Result<T, CdrError> {
    T::read(&mut Decoder::new(octets, Representation::Xcdr2, Endianness::Little, &LIMITS))
}

impl TypeObject {
    /// The identifier: the kind and the hash of the serialized object (§7.3.4.5).
    ///
    /// # Errors
    /// As [`to_octets`].
    pub fn identifier(&self) -> Result<TypeIdentifier, CdrError> {
        Ok(self.identifier_of(&to_octets(self)?))
    }

    /// The identifier of this object, whose bytes are given.
    #[must_use]
    pub fn identifier_of(&self, octets: &[u8]) -> TypeIdentifier {
        let hash = equivalence_hash(octets);
        match self {
            Self::Complete(_) => TypeIdentifier::Complete(hash),
            Self::Minimal(_) => TypeIdentifier::Minimal(hash),
        }
    }

    /// Calls `visit` with the identifiers of other types that the object mentions.
    pub fn visit_identifiers(&self, visit: &mut dyn FnMut(&TypeIdentifier)) {
        match self {
            Self::Complete(object) => reduce::visit_complete(object, visit),
            Self::Minimal(object) => reduce::visit_minimal(object, visit),
        }
    }

    /// The same as [`Self::visit_identifiers`], also with those of the annotations that are applied in it.
    pub(crate) fn visit_all_identifiers(&self, visit: &mut dyn FnMut(&TypeIdentifier)) {
        self.visit_identifiers(visit);
        if let Self::Complete(object) = self {
            annotated::visit(object, &mut |applied| visit(&applied.annotation_typeid));
        }
    }

    /// Calls `visit` with the identifiers of the annotations that are applied in the object, and in that of an annotation with
    /// those of the types of its parameters.
    pub(crate) fn visit_annotations(&self, visit: &mut dyn FnMut(&TypeIdentifier)) {
        match self {
            Self::Complete(CompleteTypeObject::Annotation(_)) => self.visit_identifiers(visit),
            Self::Complete(object) => annotated::visit(object, &mut |it| visit(&it.annotation_typeid)),
            Self::Minimal(_) => {}
        }
    }

    /// The same as [`Self::visit_identifiers`], to change them.
    pub(crate) fn change_identifiers(&mut self, change: &mut dyn FnMut(&mut TypeIdentifier)) {
        match self {
            Self::Complete(object) => change::complete(object, change),
            Self::Minimal(object) => change::minimal(object, change),
        }
    }
}

/// The first bytes of the MD5 digest.
fn digest<const N: usize>(octets: &[u8]) -> [u8; N] {
    use md5::{Digest, Md5};
    let digest = Md5::digest(octets);
    let mut out = [0; N];
    out.iter_mut().zip(digest.iter()).for_each(|(to, from)| *to = *from);
    out
}

/// The hash of a serialized type object.
#[must_use]
pub fn equivalence_hash(octets: &[u8]) -> EquivalenceHash {
    digest(octets)
}

/// The hash that stands for a name in minimal type objects (§7.3.4.5).
#[must_use]
pub fn name_hash(name: &str) -> annotation::NameHash {
    digest(name.as_bytes())
}

/// The member id that is the hash of a name (§7.3.1.2.1.1 `@hashid`).
#[must_use]
pub fn hashed_id(name: &str) -> u32 {
    u32::from_le_bytes(name_hash(name)) & 0x0fff_ffff
}

pub use identifier::kind;
pub use reduce::to_minimal;
