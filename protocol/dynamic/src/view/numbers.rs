//! Numbers of sequences and arrays where they lie.

use core::fmt;

use dunlin_cdr::PrimitiveKind;

use crate::types::Shape;
use crate::value::Value;

/// A number that elements can be: in place, or read one by one.
pub trait Number: bytemuck::AnyBitPattern + sealed::Number {}

pub(crate) mod sealed {
    use super::{PrimitiveKind, Value};

    pub trait Number: Sized {
        /// What a type of these numbers is.
        const KINDS: &'static [PrimitiveKind];

        /// What it is called.
        const NAME: &'static str;

        /// The number that bytes are, of which there are enough.
        fn of_octets(octets: &[u8], big_endian: bool) -> Option<Self>;

        /// The number that a value is.
        fn of_value(value: &Value) -> Option<Self>;
    }
}

macro_rules! numbers {
    ($($ty:ty, $variant:ident, $name:literal, $($kind:ident)|*;)*) => {$(
        impl sealed::Number for $ty {
            const KINDS: &'static [PrimitiveKind] = &[$(PrimitiveKind::$kind),*];
            const NAME: &'static str = $name;

            #[inline]
            fn of_octets(octets: &[u8], big_endian: bool) -> Option<Self> {
                let octets = octets.first_chunk()?;
                Some(if big_endian { Self::from_be_bytes(*octets) } else { Self::from_le_bytes(*octets) })
            }

            fn of_value(value: &Value) -> Option<Self> {
                match value {
                    Value::$variant(value) => Some(*value),
                    _ => None,
                }
            }
        }

        impl Number for $ty {}
    )*};
}

numbers! {
    u8, Octet, "a list of bytes", Octet | UInt8;
    i8, Int8, "a list of int8", Int8;
    i16, Int16, "a list of short", Int16;
    u16, UInt16, "a list of unsigned short", UInt16;
    i32, Int32, "a list of long", Int32;
    u32, UInt32, "a list of unsigned long", UInt32;
    i64, Int64, "a list of long long", Int64;
    u64, UInt64, "a list of unsigned long long", UInt64;
    f32, Float32, "a list of float", Float32;
    f64, Float64, "a list of double", Float64;
}

/// Whether elements of a type are such numbers.
pub(crate) fn are<T: Number>(element: &Shape) -> bool {
    matches!(element, Shape::Primitive(kind) if T::KINDS.contains(kind))
}

/// The numbers of a sequence or array, in whichever byte order they lie.
#[derive(Clone)]
pub struct Numbers<'a, T> {
    pub(crate) from: From<'a>,
    pub(crate) big_endian: bool,
    pub(crate) what: core::marker::PhantomData<fn() -> T>,
}

#[derive(Clone)]
pub(crate) enum From<'a> {
    Octets(&'a [u8]),
    Values(core::slice::Iter<'a, Value>),
    /// So many zeros.
    Default(usize),
}

impl<T: Number> Iterator for Numbers<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        match &mut self.from {
            From::Octets(octets) => {
                let (first, rest) = octets.split_at_checked(size_of::<T>())?;
                *octets = rest;
                T::of_octets(first, self.big_endian)
            }
            From::Values(values) => values.next().and_then(T::of_value),
            From::Default(left) => {
                *left = left.checked_sub(1)?;
                Some(T::zeroed())
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = match &self.from {
            From::Octets(octets) => octets.len().checked_div(size_of::<T>()).unwrap_or(0),
            From::Values(values) => values.len(),
            From::Default(left) => *left,
        };
        (len, Some(len))
    }
}

impl<T: Number> ExactSizeIterator for Numbers<'_, T> {}

impl<T: Number + fmt::Debug> fmt::Debug for Numbers<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}
