//! The traits that types implement to be serialized (DDS-XTypes 1.3 §7.4), usually by derivation.

use alloc::vec::Vec;

use crate::codegen::Ids;
use crate::in_place::InPlace;
use crate::packed::Packed;
use crate::{
    CdrError, Decoder, Described, ElementKind, Encoder, Extensibility, KeySize, LengthCode, Representation,
    Scope,
};

/// A value that can be serialized.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be serialized as CDR",
    label = "no CDR serialization for this type",
    note = "derive `DdsType` (or `CdrWrite`) for it; optional members must be written as `Option<...>` literally"
)]
pub trait CdrWrite {
    /// How collections treat this type.
    const KIND: ElementKind = ElementKind::Compound;
    /// How the size of a member of this type is announced in XCDR2 mutable types.
    const LENGTH_CODE: LengthCode = LengthCode::NextInt;
    /// Extensibility of the type, for the encapsulation header.
    const FORM: Extensibility = Extensibility::Final;
    /// The greatest size of the value as (part of) a key.
    const KEY_SIZE: KeySize = KeySize::UNBOUNDED;
    /// Kind of the innermost element if this type is a dimension of an array.
    #[doc(hidden)]
    const ITEM_KIND: ElementKind = Self::KIND;
    /// The layout, if it has no padding.
    #[doc(hidden)]
    const PACKED: Option<Packed> = None;
    /// Whether values can be used where their serialization lies.
    #[doc(hidden)]
    const IN_PLACE: InPlace<Self> = InPlace::NO;

    /// Writes the value, or the part of it that [`Encoder::scope`] asks for.
    ///
    /// # Errors
    /// A length or nesting that cannot be represented, or an exceeded bound.
    fn write(&self, e: &mut Encoder<'_>) -> Result<(), CdrError>;

    /// Writes several values in a row.
    ///
    /// # Errors
    /// As [`CdrWrite::write`].
    #[inline]
    fn write_slice(items: &[Self], e: &mut Encoder<'_>) -> Result<(), CdrError>
    where
        Self: Sized,
    {
        if let (Some(layout), Scope::Sample) = (Self::PACKED, e.scope()) {
            e.write_packed(items, layout);
            return Ok(());
        }
        items.iter().try_for_each(|item| item.write(e))
    }

    /// Writes the values as a dimension of an array, that is without headers between nested arrays.
    ///
    /// # Errors
    /// As [`CdrWrite::write`].
    #[doc(hidden)]
    #[inline]
    fn write_dimension(items: &[Self], e: &mut Encoder<'_>) -> Result<(), CdrError>
    where
        Self: Sized,
    {
        Self::write_slice(items, e)
    }

    /// Puts the value, which is [packed](CdrWrite::PACKED), into as many bytes as it takes.
    #[doc(hidden)]
    #[inline]
    fn pack(&self, to: &mut [u8], big_endian: bool) {
        let _ = (to, big_endian);
    }
}

/// A value that can be deserialized from bytes that live for `'de`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be deserialized from CDR",
    label = "no CDR deserialization for this type",
    note = "derive `DdsType` (or `CdrRead`) for it; optional members must be written as `Option<...>` literally"
)]
pub trait CdrRead<'de>: Sized {
    /// How collections treat this type.
    const KIND: ElementKind = ElementKind::Compound;
    /// A lower limit of the bytes that a value takes; bounds the counts of collections.
    const MIN_SIZE: usize = 0;
    /// Extensibility of the type, expected in the encapsulation header.
    const FORM: Extensibility = Extensibility::Final;
    /// Kind of the innermost element if this type is a dimension of an array.
    #[doc(hidden)]
    const ITEM_KIND: ElementKind = Self::KIND;
    /// The layout, if it has no padding.
    #[doc(hidden)]
    const PACKED: Option<Packed> = None;

    /// Reads a value. If [`Decoder::scope`] is not the whole sample, members that are not part of the key get their
    /// default values.
    ///
    /// # Errors
    /// Bytes that are no serialization of this type, or a limit reached.
    fn read(d: &mut Decoder<'de>) -> Result<Self, CdrError>;

    /// The value of a member that is missing (DDS-XTypes 1.3 §7.2.2.4.4.4.7, table 9).
    fn default_value() -> Self;

    /// Goes past a value without making it.
    ///
    /// # Errors
    /// As [`CdrRead::read`].
    fn skip(d: &mut Decoder<'de>) -> Result<(), CdrError> {
        Self::read(d).map(drop)
    }

    /// Reads the key members of the value that starts here and writes them with `e`. Where the decoder is
    /// afterwards is not defined.
    ///
    /// # Errors
    /// As [`CdrRead::read`] and [`CdrWrite::write`].
    #[inline]
    fn copy_key(d: &mut Decoder<'de>, e: &mut Encoder<'_>) -> Result<(), CdrError>
    where
        Self: CdrWrite,
    {
        Self::read(d)?.write(e)
    }

    /// Reads `n` values in a row.
    ///
    /// # Errors
    /// As [`CdrRead::read`].
    fn read_vec(d: &mut Decoder<'de>, n: usize) -> Result<Vec<Self>, CdrError> {
        // Values without size in memory still cost time, so each claims something.
        d.claim(n.saturating_mul(size_of::<Self>().max(1)))?;
        if let (Some(layout), Scope::Sample) = (Self::PACKED, d.scope()) {
            return d.read_packed(n, layout);
        }
        let mut items = Vec::with_capacity(n);
        for _ in 0..n {
            items.push(Self::read(d)?);
        }
        Ok(items)
    }

    /// Goes past `n` values.
    ///
    /// # Errors
    /// As [`CdrRead::read`].
    fn skip_slice(d: &mut Decoder<'de>, n: usize) -> Result<(), CdrError> {
        if let (Some(layout), Scope::Sample) = (Self::PACKED, d.scope()) {
            return d.read_packed_octets(n, layout).map(drop);
        }
        (0..n).try_for_each(|_| Self::skip(d))
    }

    /// Reads the elements of an array.
    ///
    /// # Errors
    /// As [`CdrRead::read`].
    #[doc(hidden)]
    fn read_array<const N: usize>(d: &mut Decoder<'de>) -> Result<[Self; N], CdrError> {
        fill(|| Self::read(d), Self::default_value)
    }

    /// Reads the elements of an array of this type as one more dimension.
    ///
    /// # Errors
    /// As [`CdrRead::read`].
    #[doc(hidden)]
    #[inline]
    fn read_dimension<const N: usize>(d: &mut Decoder<'de>) -> Result<[Self; N], CdrError> {
        Self::read_array(d)
    }

    /// Takes the value, which is [packed](CdrRead::PACKED), out of its bytes; `None` if they are too few.
    #[doc(hidden)]
    #[inline]
    fn unpack(from: &[u8], big_endian: bool) -> Option<Self> {
        let _ = (from, big_endian);
        None
    }

    /// Skips `n` values that are a dimension of an array.
    ///
    /// # Errors
    /// As [`CdrRead::read`].
    #[doc(hidden)]
    #[inline]
    fn skip_dimension(d: &mut Decoder<'de>, n: usize) -> Result<(), CdrError> {
        Self::skip_slice(d, n)
    }
}

/// Makes an array; after the first error the rest is filled up and thrown away.
pub(crate) fn fill<T, const N: usize>(
    mut read: impl FnMut() -> Result<T, CdrError>,
    default: fn() -> T,
) -> Result<[T; N], CdrError> {
    let mut failure = None;
    let items = core::array::from_fn(|_| {
        if failure.is_some() {
            return default();
        }
        read().unwrap_or_else(|error| {
            failure = Some(error);
            default()
        })
    });
    failure.map_or(Ok(items), Err)
}

/// A topic type: what `#[derive(DdsType)]` makes of a structure or union.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no topic type",
    label = "not a topic type",
    note = "derive `DdsType` for it, without `#[dds(nested)]`"
)]
pub trait DdsType: CdrWrite + for<'de> CdrRead<'de> + Described + Send + Sync + 'static {
    /// The name under which the type is registered and announced.
    const TYPE_NAME: &'static str;
    /// How the type may evolve.
    const EXTENSIBILITY: Extensibility;
    /// Whether the topic has instances.
    const HAS_KEY: bool;
    /// The greatest size of the key members in XCDR2, or `None` without upper limit. Up to 16 bytes they are the
    /// key hash themselves.
    const MAX_KEY_SIZE: Option<usize>;
    /// What a writer uses unless told otherwise: XCDR1 where it serves, XCDR2 for mutable types and types with
    /// optional members.
    const DEFAULT_REPRESENTATION: Representation;
    /// What writers and readers may use (DDS-XTypes 1.3 §7.3.1.2.1.12 `@data_representation`).
    const REPRESENTATIONS: &'static [Representation] = &[Representation::Xcdr1, Representation::Xcdr2];
}

/// What derived structures write, for the structures that inherit from them.
#[doc(hidden)]
pub trait StructWrite: CdrWrite {
    /// The member ids.
    const IDS: Ids;
    /// Whether any member is a key.
    const HAS_KEY: bool;
    /// Writes the members without delimiter.
    fn write_members(&self, e: &mut Encoder<'_>) -> Result<(), CdrError>;
}

/// What derived structures read, for the structures that inherit from them.
#[doc(hidden)]
pub trait StructRead<'de>: CdrRead<'de> {
    /// The member ids.
    const IDS: Ids;
    /// Whether any member is a key.
    const HAS_KEY: bool;
    /// Reads the members. A base ignores the members of its derived structures.
    fn read_members(d: &mut Decoder<'de>, as_base: bool) -> Result<Self, CdrError>;
    /// Skips the members where nothing delimits them.
    fn skip_members(d: &mut Decoder<'de>) -> Result<(), CdrError>;
    /// See [`CdrRead::copy_key`].
    fn copy_key_members(d: &mut Decoder<'de>, e: &mut Encoder<'_>) -> Result<(), CdrError>
    where
        Self: StructWrite,
    {
        Self::read_members(d, true)?.write_members(e)
    }
}
