//! Strings and wide strings (DDS-XTypes 1.3 §7.4.1.1.2; RTPS 2.5 §10.2).

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::{CdrError, CdrRead, CdrWrite, Decoder, Encoder, LengthCode};

/// Implements serialization for something that is a `str`.
macro_rules! text_write {
    ($($ty:ty),*) => {$(
        impl CdrWrite for $ty {
            const LENGTH_CODE: LengthCode = LengthCode::Octets;

            #[inline]
            fn write(&self, e: &mut Encoder<'_>) -> Result<(), CdrError> {
                e.write_str(self)
            }
        }
    )*};
}

text_write!(str, String);

fn skip_text(d: &mut Decoder<'_>) -> Result<(), CdrError> {
    let len = d.read_len()?;
    d.read_bytes(len).map(drop)
}

/// Implements deserialization of a `str` that is kept in `$ty`.
macro_rules! text_read {
    ($(impl<$($lifetime:lifetime),*> for $ty:ty, $heap:expr, $from:expr;)*) => {$(
        impl<'de $(: $lifetime, $lifetime)*> CdrRead<'de> for $ty {
            const MIN_SIZE: usize = 4;

            #[inline]
            fn read(d: &mut Decoder<'de>) -> Result<Self, CdrError> {
                let text = d.read_str()?;
                if $heap {
                    d.claim(text.len())?;
                }
                Ok($from(text))
            }

            #[inline]
            fn default_value() -> Self {
                $from("")
            }

            fn skip(d: &mut Decoder<'de>) -> Result<(), CdrError> {
                skip_text(d)
            }

            #[inline]
            fn copy_key(d: &mut Decoder<'de>, e: &mut Encoder<'_>) -> Result<(), CdrError> {
                e.write_str(d.read_str()?)
            }
        }
    )*};
}

text_read! {
    impl<> for String, true, String::from;
    impl<> for Box<str>, true, Box::from;
    impl<'a> for &'a str, false, core::convert::identity;
    impl<'a> for Cow<'a, str>, false, Cow::Borrowed;
}

/// A wide string (IDL `wstring`): UTF-16 units, on the wire without NUL and byte order mark.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WString(pub Vec<u16>);

impl From<&str> for WString {
    fn from(text: &str) -> Self {
        Self(text.encode_utf16().collect())
    }
}

impl WString {
    /// The text, with U+FFFD in place of unpaired surrogates.
    #[must_use]
    pub fn to_string_lossy(&self) -> String {
        String::from_utf16_lossy(&self.0)
    }
}

impl fmt::Debug for WString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_string_lossy(), f)
    }
}

impl fmt::Display for WString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_string_lossy())
    }
}

impl CdrWrite for WString {
    const LENGTH_CODE: LengthCode = LengthCode::Octets;

    fn write(&self, e: &mut Encoder<'_>) -> Result<(), CdrError> {
        e.write_len(self.0.len().saturating_mul(2))?;
        u16::write_slice(&self.0, e)
    }
}

/// Number of UTF-16 units of the wide string that starts here; reads its length.
fn wide_len(d: &mut Decoder<'_>) -> Result<usize, CdrError> {
    let len = d.read_len()?;
    let units = if d.options().wstring_length_in_units { len.saturating_mul(2) } else { len };
    if units % 2 == 1 { Err(CdrError::InvalidString { offset: d.position() }) } else { Ok(units / 2) }
}

impl<'de> Decoder<'de> {
    /// Reads a wide string in place: the bytes of its UTF-16 units, in the byte order of the decoder.
    ///
    /// # Errors
    /// [`CdrError::UnexpectedEnd`]; [`CdrError::InvalidString`] if there is half a unit.
    pub fn read_wide_octets(&mut self) -> Result<&'de [u8], CdrError> {
        let units = wide_len(self)?;
        self.read_bytes(units.saturating_mul(2))
    }
}

impl<'de> CdrRead<'de> for WString {
    const MIN_SIZE: usize = 4;

    fn read(d: &mut Decoder<'de>) -> Result<Self, CdrError> {
        let units = wide_len(d)?;
        u16::read_vec(d, units).map(Self)
    }

    fn default_value() -> Self {
        Self::default()
    }

    fn skip(d: &mut Decoder<'de>) -> Result<(), CdrError> {
        let units = wide_len(d)?;
        u16::skip_slice(d, units)
    }
}
