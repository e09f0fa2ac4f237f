//! Bounded strings, sequences and maps (DDS-XTypes 1.3 §7.2.2.4.3, §7.2.4.4.4).

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Deref;

use crate::{CdrError, CdrRead, CdrWrite, Decoder, ElementKind, Encoder, KeySize, LengthCode, WString};

/// A type that can have a bound: the greatest number of characters, elements or pairs.
pub trait Bounded: Sized {
    /// The current length. Strings count bytes, wide strings UTF-16 units.
    fn bounded_len(&self) -> usize;

    /// Shortens the value to `bound` (`try_construct = "trim"`).
    fn trim(&mut self, bound: usize);

    /// The greatest size of the value as a key when it is bounded.
    #[doc(hidden)]
    const KEY: BoundedKey = BoundedKey::Unbounded;

    /// Checks a bound.
    ///
    /// # Errors
    /// [`CdrError::BoundExceeded`].
    #[inline]
    fn check_bound(&self, bound: usize) -> Result<(), CdrError> {
        let len = self.bounded_len();
        if len > bound { Err(CdrError::BoundExceeded { bound, len }) } else { Ok(()) }
    }
}

/// How the greatest key size follows from a bound.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum BoundedKey {
    /// Not at all.
    Unbounded,
    /// Length, that many bytes, NUL.
    Text,
    /// Length, twice as many bytes.
    WideText,
    /// Count and elements of this size.
    Elements(KeySize),
    /// DHEADER, count and elements of this size.
    DelimitedElements(KeySize),
}

impl BoundedKey {
    /// The size with the bound.
    #[must_use]
    pub const fn size(self, bound: usize) -> KeySize {
        let header = KeySize::primitive(4);
        match self {
            Self::Unbounded => KeySize::UNBOUNDED,
            Self::Text => KeySize::string(bound),
            Self::WideText => header.then(KeySize::octets(bound.saturating_mul(2))),
            Self::Elements(element) => header.then(element.repeat(bound)),
            Self::DelimitedElements(element) => header.then(header).then(element.repeat(bound)),
        }
    }
}

impl Bounded for String {
    const KEY: BoundedKey = BoundedKey::Text;

    #[inline]
    fn bounded_len(&self) -> usize {
        self.len()
    }

    fn trim(&mut self, bound: usize) {
        // Not in the middle of a character.
        let end = (0..=bound.min(self.len())).rev().find(|end| self.is_char_boundary(*end));
        self.truncate(end.unwrap_or(0));
    }
}

impl Bounded for &str {
    const KEY: BoundedKey = BoundedKey::Text;

    #[inline]
    fn bounded_len(&self) -> usize {
        self.len()
    }

    fn trim(&mut self, bound: usize) {
        let end = (0..=bound.min(self.len())).rev().find(|end| self.is_char_boundary(*end));
        *self = end.and_then(|end| self.get(..end)).unwrap_or("");
    }
}

impl Bounded for WString {
    const KEY: BoundedKey = BoundedKey::WideText;

    #[inline]
    fn bounded_len(&self) -> usize {
        self.0.len()
    }

    fn trim(&mut self, bound: usize) {
        self.0.truncate(bound);
    }
}

const fn elements_key<T: CdrWrite>() -> BoundedKey {
    match T::KIND {
        ElementKind::Primitive => BoundedKey::Elements(T::KEY_SIZE),
        _ => BoundedKey::DelimitedElements(T::KEY_SIZE),
    }
}

impl<T: CdrWrite> Bounded for Vec<T> {
    const KEY: BoundedKey = elements_key::<T>();

    #[inline]
    fn bounded_len(&self) -> usize {
        self.len()
    }

    fn trim(&mut self, bound: usize) {
        self.truncate(bound);
    }
}

impl Bounded for &[u8] {
    const KEY: BoundedKey = elements_key::<u8>();

    #[inline]
    fn bounded_len(&self) -> usize {
        self.len()
    }

    fn trim(&mut self, bound: usize) {
        *self = self.get(..bound).unwrap_or(self);
    }
}

impl<K: Ord, V> Bounded for BTreeMap<K, V> {
    #[inline]
    fn bounded_len(&self) -> usize {
        self.len()
    }

    fn trim(&mut self, bound: usize) {
        while self.len() > bound {
            self.pop_last();
        }
    }
}

/// A string, sequence or map of at most `N` characters, elements or pairs, for places where the `bound` attribute
/// does not reach: elements of collections, members of unions.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bound<T, const N: usize>(T);

/// A string of at most `N` bytes.
pub type BoundedString<const N: usize> = Bound<String, N>;
/// A sequence of at most `N` elements.
pub type BoundedVec<T, const N: usize> = Bound<Vec<T>, N>;

impl<T: Bounded, const N: usize> Bound<T, N> {
    /// Wraps a value.
    ///
    /// # Errors
    /// [`CdrError::BoundExceeded`].
    pub fn new(value: T) -> Result<Self, CdrError> {
        value.check_bound(N)?;
        Ok(Self(value))
    }
}

impl<T, const N: usize> Bound<T, N> {
    /// The value inside.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T, const N: usize> Deref for Bound<T, N> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<const N: usize> TryFrom<&str> for Bound<String, N> {
    type Error = CdrError;

    fn try_from(text: &str) -> Result<Self, CdrError> {
        Self::new(String::from(text))
    }
}

impl<T: CdrWrite + Bounded, const N: usize> CdrWrite for Bound<T, N> {
    const KIND: ElementKind = T::KIND;
    const LENGTH_CODE: LengthCode = T::LENGTH_CODE;
    const KEY_SIZE: KeySize = T::KEY.size(N);

    #[inline]
    fn write(&self, e: &mut Encoder<'_>) -> Result<(), CdrError> {
        self.0.write(e)
    }
}

impl<'de, T: CdrRead<'de> + Bounded, const N: usize> CdrRead<'de> for Bound<T, N> {
    const KIND: ElementKind = T::KIND;
    const MIN_SIZE: usize = T::MIN_SIZE;

    #[inline]
    fn read(d: &mut Decoder<'de>) -> Result<Self, CdrError> {
        T::read(d).and_then(Self::new)
    }

    #[inline]
    fn default_value() -> Self {
        Self(T::default_value())
    }

    #[inline]
    fn skip(d: &mut Decoder<'de>) -> Result<(), CdrError> {
        T::skip(d)
    }
}
