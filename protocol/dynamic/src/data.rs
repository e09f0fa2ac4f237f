//! Values with their types (DDS-XTypes 1.3 §7.5.2.11 `DynamicData`).

use alloc::borrow::Cow;
use alloc::string::ToString;
use alloc::vec::Vec;

use dunlin_cdr::{
    CdrError, DecodeOptions, Decoder, EncapsulationHeader, Encoder, Endianness, Extensibility, KeyHash,
    Limits, Representation, Scope, key_hash_of_octets, write_payload,
};

use crate::convert::convert;
use crate::path::{self, AccessError, AccessFailure, Found, Step};
use crate::types::{DynamicType, Shape, TypeView};
use crate::value::Value;
use crate::{MAX_NESTING, read, write};

/// A value of a [`DynamicType`]: a structure or union.
#[derive(Clone, Debug)]
pub struct DynamicData {
    ty: DynamicType,
    value: Value,
}

/// Equal values of types that are the same.
impl PartialEq for DynamicData {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value && self.ty.is_same(&other.ty)
    }
}

impl DynamicData {
    /// The default value of a type (DDS-XTypes 1.3 §7.2.2.4.4.4.7).
    #[must_use]
    pub fn new(ty: &DynamicType) -> Self {
        Self { ty: ty.clone(), value: ty.view().default_value() }
    }

    /// A value of a type, converted where that loses nothing.
    ///
    /// # Errors
    /// When the value does not fit.
    pub fn from_value(ty: &DynamicType, value: Value) -> Result<Self, crate::ValueError> {
        Ok(Self { ty: ty.clone(), value: convert(ty.view(), value, MAX_NESTING)? })
    }

    /// The type.
    #[must_use]
    pub fn dynamic_type(&self) -> &DynamicType {
        &self.ty
    }

    /// The whole value.
    #[must_use]
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The value without its type.
    #[must_use]
    pub fn into_value(self) -> Value {
        self.value
    }

    /// The part at a path; `None` if it is absent: an optional member, a member that a union does not hold, a key that a
    /// map does not have. An element of a sequence of bytes and a discriminator have to be copied: see
    /// [`DynamicData::part`].
    ///
    /// # Errors
    /// A path that the type does not have, or an index beyond the end.
    pub fn get(&self, path: &str) -> Result<Option<&Value>, AccessError> {
        access(path, |steps| match path::find(self.ty.view(), &self.value, &steps)?.1 {
            Found::Value(value) => Ok(Some(value)),
            Found::Absent | Found::Made(_) => Ok(None),
        })
    }

    /// As [`DynamicData::get`], with its type, of anything that has a path.
    ///
    /// # Errors
    /// As [`DynamicData::get`].
    pub fn part(&self, path: &str) -> Result<Option<(TypeView<'_>, Cow<'_, Value>)>, AccessError> {
        part(self.ty.view(), &self.value, path)
    }

    /// Sets the part at a path. What is absent on the way gets its default first; a member of a union is selected; a key
    /// is added to a map. Numbers are converted where that changes nothing, an enumeration takes the name of a literal.
    ///
    /// # Errors
    /// A path that the type does not have, an index beyond the end (see [`DynamicData::resize`]), or a value that does not
    /// fit.
    pub fn set(&mut self, path: &str, value: impl Into<Value>) -> Result<(), AccessError> {
        let Self { ty, value: whole } = self;
        access(path, |steps| path::set(ty.view(), whole, &steps, value.into(), MAX_NESTING))
    }

    /// Makes an optional member absent, removes a key of a map, and gives any other part its default.
    ///
    /// # Errors
    /// A path that the type does not have.
    pub fn clear(&mut self, path: &str) -> Result<(), AccessError> {
        let Self { ty, value } = self;
        access(path, |steps| path::clear(ty.view(), value, &steps))
    }

    /// Gives a sequence another length: new elements have their defaults.
    ///
    /// # Errors
    /// A path that leads to no sequence, or a length beyond its bound.
    pub fn resize(&mut self, path: &str, len: usize) -> Result<(), AccessError> {
        let Self { ty, value } = self;
        access(path, |steps| {
            let (view, value) = path::find_mut(ty.view(), value, &steps)?;
            path::resize(view, value, len)
        })
    }

    /// Number of elements, pairs or members at a path; 0 of what has none.
    ///
    /// # Errors
    /// As [`DynamicData::get`].
    pub fn item_count(&self, path: &str) -> Result<usize, AccessError> {
        Ok(match self.get(path)? {
            Some(Value::Structure(members)) => members.len(),
            Some(value) => crate::convert::len_of(value),
            None => 0,
        })
    }

    /// Decodes a payload with encapsulation header, of any representation and byte order.
    ///
    /// # Errors
    /// A payload that is no serialization of the type, or a limit reached.
    pub fn from_payload(ty: &DynamicType, payload: &[u8]) -> Result<Self, CdrError> {
        Self::from_payload_with(ty, payload, &Limits::default(), DecodeOptions::default())
    }

    /// Decodes a payload of a writer with the given deviations, like [`DynamicData::from_payload`].
    ///
    /// # Errors
    /// As [`DynamicData::from_payload`].
    pub fn from_payload_with(
        ty: &DynamicType,
        payload: &[u8],
        limits: &Limits,
        options: DecodeOptions,
    ) -> Result<Self, CdrError> {
        let mut d = Decoder::from_payload(payload, ty.view().extensibility(), limits)?.with_options(options);
        Ok(Self { ty: ty.clone(), value: read::read(ty.view(), &mut d)? })
    }

    /// Decodes a serialized key: the key members are set, the others have their defaults.
    ///
    /// # Errors
    /// As [`DynamicData::from_payload`].
    pub fn from_key_payload(
        ty: &DynamicType,
        payload: &[u8],
        limits: &Limits,
        options: DecodeOptions,
    ) -> Result<Self, CdrError> {
        if !ty.is_keyed() {
            EncapsulationHeader::parse(payload)?.0.form()?;
            return Ok(Self::new(ty));
        }
        let d = Decoder::from_payload(payload, ty.view().extensibility(), limits)?;
        let mut d = d.with_scope(Scope::Key).with_options(options);
        Ok(Self { ty: ty.clone(), value: read::read(ty.view(), &mut d)? })
    }

    /// Decodes what a decoder is about to read, in its scope.
    ///
    /// # Errors
    /// As [`DynamicData::from_payload`].
    pub fn read(ty: &DynamicType, d: &mut Decoder<'_>) -> Result<Self, CdrError> {
        Ok(Self { ty: ty.clone(), value: read::read(ty.view(), d)? })
    }

    /// Decodes the key of a whole sample, or of key members alone. The result serves for keys, and for nothing else.
    pub(crate) fn read_key(ty: &DynamicType, d: &mut Decoder<'_>) -> Result<Self, CdrError> {
        Ok(Self { ty: ty.clone(), value: read::read_key(ty.view(), d)? })
    }

    /// Encodes the value, in the scope of the encoder.
    ///
    /// # Errors
    /// Lengths that cannot be represented, or nesting that no reader accepts.
    pub fn write(&self, e: &mut Encoder<'_>) -> Result<(), CdrError> {
        write::write(self.ty.view(), &self.value, e)
    }

    /// The value as a payload, little-endian, as `dunlin_cdr::to_payload` makes it. `out` is cleared first.
    ///
    /// # Errors
    /// As [`DynamicData::write`].
    pub fn to_payload(&self, rep: Representation, out: &mut Vec<u8>) -> Result<(), CdrError> {
        self.to_payload_as(rep, Endianness::Little, Scope::Sample, out)
    }

    /// The value or its key as a payload in the given byte order. `out` is cleared first.
    ///
    /// # Errors
    /// As [`DynamicData::write`].
    pub fn to_payload_as(
        &self,
        rep: Representation,
        endianness: Endianness,
        scope: Scope,
        out: &mut Vec<u8>,
    ) -> Result<(), CdrError> {
        write_payload(self.ty.view().extensibility(), rep, endianness, scope, out, |e| self.write(e))
    }

    /// The serialized key; without key members there is only the encapsulation header. `out` is cleared first.
    ///
    /// # Errors
    /// As [`DynamicData::write`].
    pub fn key_payload(&self, rep: Representation, out: &mut Vec<u8>) -> Result<(), CdrError> {
        if self.ty.is_keyed() {
            return self.to_payload_as(rep, Endianness::Little, Scope::Key, out);
        }
        write_payload(self.ty.view().extensibility(), rep, Endianness::Little, Scope::Key, out, |_| Ok(()))
    }

    /// The key hash; all zero for types without key. `scratch` is memory to reuse.
    ///
    /// # Errors
    /// As [`DynamicData::write`].
    pub fn key_hash(&self, scratch: &mut Vec<u8>) -> Result<KeyHash, CdrError> {
        if !self.ty.is_keyed() {
            return Ok([0; 16]);
        }
        scratch.clear();
        self.write(&mut Encoder::for_key_hash(scratch))?;
        Ok(key_hash_of_octets(scratch, self.ty.max_key_size()))
    }
}

fn access<R>(path: &str, run: impl FnOnce(Vec<Step>) -> Result<R, AccessFailure>) -> Result<R, AccessError> {
    let steps = path::parse(path).map_err(AccessFailure::from);
    steps.and_then(run).map_err(|why| AccessError { path: path.to_string(), why })
}

/// The part of a value at a path, with its type.
pub(crate) fn part<'t, 'v>(
    view: TypeView<'t>,
    value: &'v Value,
    path: &str,
) -> Result<Option<(TypeView<'t>, Cow<'v, Value>)>, AccessError> {
    access(path, |steps| {
        let (view, found) = path::find(view, value, &steps)?;
        Ok(match found {
            Found::Value(value) => Some((view, Cow::Borrowed(value))),
            Found::Made(value) => Some((view, Cow::Owned(value))),
            Found::Absent => None,
        })
    })
}

impl DynamicType {
    /// The greatest size of the key members in XCDR2, or `None` without upper limit.
    #[must_use]
    pub fn max_key_size(&self) -> Option<usize> {
        self.view().node.key_size.max_size()
    }

    /// What a writer uses unless told otherwise: XCDR1 where it serves, XCDR2 for mutable types and types with optional
    /// members, as for Rust types.
    #[must_use]
    pub fn default_representation(&self) -> Representation {
        let mutable = self.view().extensibility() == Extensibility::Mutable;
        let optional = match self.view().shape() {
            Shape::Structure(it) => it.members.iter().any(crate::MemberShape::is_optional),
            _ => false,
        };
        if mutable || optional { Representation::Xcdr2 } else { Representation::Xcdr1 }
    }
}
