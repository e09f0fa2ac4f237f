//! Primitive types (DDS-XTypes 1.3 §7.4.1.1.1, §7.4.2.1): numbers, booleans, characters.

use alloc::vec::Vec;

use crate::in_place::InPlace;
use crate::packed::Packed;
use crate::traits::fill;
use crate::{CdrError, CdrRead, CdrWrite, Decoder, ElementKind, Encoder, Endianness, KeySize, LengthCode};

/// An 8-bit character (IDL `char`): a byte without character set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Char8(pub u8);

/// An 8-bit unsigned integer (IDL `uint8`). `u8` does as well, but is described as `octet` where `#[dds(uint8)]` does not
/// say otherwise; the bytes are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UInt8(pub u8);

/// A 16-bit character (IDL `wchar`): one UTF-16 unit, no surrogate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Char16(pub u16);

/// A quadruple-precision number (IDL `long double`), as its IEEE 754 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Float128(pub u128);

/// Bytes before alignment counts of a primitive: 16-octet values align like 8-octet ones.
const fn alignment(size: usize) -> usize {
    if size > 8 { 8 } else { size }
}

/// Elements that are octets already are copied as they are, all at once.
fn themselves(items: &[u8]) -> Option<&[u8]> {
    Some(items)
}

fn copied(octets: &[u8]) -> Option<Vec<u8>> {
    Some(octets.to_vec())
}

/// Others are converted one by one.
fn no_octets<T>(_: &[T]) -> Option<&[u8]> {
    None
}

fn no_copy<T>(_: &[u8]) -> Option<Vec<T>> {
    None
}

/// Implements the traits for a type of `$size` bytes that converts to and from the unsigned integer `$raw`.
macro_rules! primitive {
    ($($ty:ty, $raw:ty, $write:ident, $read:ident, $to:expr, $from:expr, $default:expr;)*) => {
        primitive!($($ty, $raw, $write, $read, $to, $from, $default, no_octets, no_copy;)*);
    };
    ($($ty:ty, $raw:ty, $write:ident, $read:ident, $to:expr, $from:expr, $default:expr, $octets:ident, $copy:ident;)*) => {$(
        impl CdrWrite for $ty {
            const KIND: ElementKind = ElementKind::Primitive;
            const LENGTH_CODE: LengthCode = LengthCode::of_primitive(size_of::<$raw>());
            const KEY_SIZE: KeySize = KeySize::primitive(size_of::<$raw>());
            const PACKED: Option<Packed> = Packed::primitive(size_of::<$raw>());
            const IN_PLACE: InPlace<Self> = InPlace::number(size_of::<$raw>());

            #[inline]
            fn pack(&self, to: &mut [u8], big_endian: bool) {
                let raw: $raw = $to(*self);
                if let Some(to) = to.first_chunk_mut() {
                    *to = if big_endian { raw.to_be_bytes() } else { raw.to_le_bytes() };
                }
            }

            #[inline]
            fn write(&self, e: &mut Encoder<'_>) -> Result<(), CdrError> {
                e.$write($to(*self));
                Ok(())
            }

            #[inline]
            fn write_slice(items: &[Self], e: &mut Encoder<'_>) -> Result<(), CdrError> {
                if let Some(octets) = $octets(items) {
                    e.write_bytes(octets);
                    return Ok(());
                }
                e.write_items(
                    items,
                    alignment(size_of::<$raw>()),
                    |v| <$raw>::to_be_bytes($to(v)),
                    |v| <$raw>::to_le_bytes($to(v)),
                );
                Ok(())
            }
        }

        impl<'de> CdrRead<'de> for $ty {
            const KIND: ElementKind = ElementKind::Primitive;
            const MIN_SIZE: usize = size_of::<$raw>();
            const PACKED: Option<Packed> = Packed::primitive(size_of::<$raw>());

            #[inline]
            fn unpack(from: &[u8], big_endian: bool) -> Option<Self> {
                let raw = *from.first_chunk()?;
                Some($from(if big_endian { <$raw>::from_be_bytes(raw) } else { <$raw>::from_le_bytes(raw) }))
            }

            #[inline]
            fn read(d: &mut Decoder<'de>) -> Result<Self, CdrError> {
                Ok($from(d.$read()?))
            }

            #[inline]
            fn default_value() -> Self {
                $default
            }

            #[inline]
            fn skip(d: &mut Decoder<'de>) -> Result<(), CdrError> {
                Self::skip_slice(d, 1)
            }

            fn read_vec(d: &mut Decoder<'de>, n: usize) -> Result<Vec<Self>, CdrError> {
                d.claim(n.saturating_mul(size_of::<Self>()))?;
                let items = d.read_items::<{ size_of::<$raw>() }>(n, alignment(size_of::<$raw>()))?;
                if let Some(copy) = $copy(items.as_flattened()) {
                    return Ok(copy);
                }
                let items = items.iter();
                Ok(match d.endianness() {
                    Endianness::Big => items.map(|b| $from(<$raw>::from_be_bytes(*b))).collect(),
                    Endianness::Little => items.map(|b| $from(<$raw>::from_le_bytes(*b))).collect(),
                })
            }

            #[inline]
            fn skip_slice(d: &mut Decoder<'de>, n: usize) -> Result<(), CdrError> {
                d.read_items::<{ size_of::<$raw>() }>(n, alignment(size_of::<$raw>())).map(drop)
            }

            fn read_array<const N: usize>(d: &mut Decoder<'de>) -> Result<[Self; N], CdrError> {
                let items = d.read_items::<{ size_of::<$raw>() }>(N, alignment(size_of::<$raw>()))?;
                let mut array = [Self::default_value(); N];
                let pairs = array.iter_mut().zip(items);
                match d.endianness() {
                    Endianness::Big => pairs.for_each(|(to, b)| *to = $from(<$raw>::from_be_bytes(*b))),
                    Endianness::Little => pairs.for_each(|(to, b)| *to = $from(<$raw>::from_le_bytes(*b))),
                }
                Ok(array)
            }
        }
    )*};
}

const fn same<T: Copy>(value: T) -> T {
    value
}

primitive! {
    u8, u8, write_u8, read_u8, same, same, 0, themselves, copied;
}

primitive! {
    i8, u8, write_u8, read_u8, i8::cast_unsigned, u8::cast_signed, 0;
    u16, u16, write_u16, read_u16, same, same, 0;
    i16, u16, write_u16, read_u16, i16::cast_unsigned, u16::cast_signed, 0;
    u32, u32, write_u32, read_u32, same, same, 0;
    i32, u32, write_u32, read_u32, i32::cast_unsigned, u32::cast_signed, 0;
    u64, u64, write_u64, read_u64, same, same, 0;
    i64, u64, write_u64, read_u64, i64::cast_unsigned, u64::cast_signed, 0;
    f32, u32, write_u32, read_u32, f32::to_bits, f32::from_bits, 0.0;
    f64, u64, write_u64, read_u64, f64::to_bits, f64::from_bits, 0.0;
    Char8, u8, write_u8, read_u8, (|c: Char8| c.0), Char8, Char8(0);
    UInt8, u8, write_u8, read_u8, (|n: UInt8| n.0), UInt8, UInt8(0);
    Char16, u16, write_u16, read_u16, (|c: Char16| c.0), Char16, Char16(0);
    Float128, u128, write_u128, read_u128, (|f: Float128| f.0), Float128, Float128(0);
}

impl CdrWrite for bool {
    const KIND: ElementKind = ElementKind::Primitive;
    const LENGTH_CODE: LengthCode = LengthCode::One;
    const KEY_SIZE: KeySize = KeySize::primitive(1);

    #[inline]
    fn write(&self, e: &mut Encoder<'_>) -> Result<(), CdrError> {
        e.write_u8(u8::from(*self));
        Ok(())
    }

    fn write_slice(items: &[Self], e: &mut Encoder<'_>) -> Result<(), CdrError> {
        e.write_items(items, 1, |v| [u8::from(v)], |v| [u8::from(v)]);
        Ok(())
    }
}

impl<'de> CdrRead<'de> for bool {
    const KIND: ElementKind = ElementKind::Primitive;
    const MIN_SIZE: usize = 1;

    #[inline]
    fn read(d: &mut Decoder<'de>) -> Result<Self, CdrError> {
        d.read_bool()
    }

    #[inline]
    fn default_value() -> Self {
        false
    }

    #[inline]
    fn skip(d: &mut Decoder<'de>) -> Result<(), CdrError> {
        d.read_u8().map(drop)
    }

    fn read_vec(d: &mut Decoder<'de>, n: usize) -> Result<Vec<Self>, CdrError> {
        d.claim(n)?;
        let octets = d.read_bytes(n)?;
        if let Some(value) = octets.iter().copied().find(|b| *b > 1) {
            return Err(CdrError::InvalidBool { value });
        }
        Ok(octets.iter().map(|b| *b == 1).collect())
    }

    #[inline]
    fn skip_slice(d: &mut Decoder<'de>, n: usize) -> Result<(), CdrError> {
        d.read_bytes(n).map(drop)
    }

    fn read_array<const N: usize>(d: &mut Decoder<'de>) -> Result<[Self; N], CdrError> {
        fill(|| d.read_bool(), bool::default)
    }
}
