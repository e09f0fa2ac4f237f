//! Parts that have no parts.

use alloc::borrow::Cow;
use alloc::string::{String, ToString};

use dunlin_cdr::CdrError;

use super::{DynamicView, Source, ViewError, ViewFailure};
use crate::read::Reader;
use crate::types::*;
use crate::value::Value;

/// The part of a text up to a bound, at the end of a character.
fn up_to(text: &str, bound: usize) -> &str {
    let end = (0..=bound.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or(0)).unwrap_or_default()
}

impl<'a> DynamicView<'a> {
    /// The text of a string, where it lies.
    ///
    /// # Errors
    /// Another kind, wide strings included; bytes that are no serialization of the type; [`ViewFailure::Conversion`] in a list that
    /// was shortened.
    pub fn as_str(&self) -> Result<&'a str, ViewError> {
        self.text().map_err(|why| ViewError::at("", why))
    }

    /// The text of a string: where it lies, or of a wide string made, with U+FFFD in place of unpaired surrogates.
    ///
    /// # Errors
    /// As [`DynamicView::as_str`].
    pub fn as_text(&self) -> Result<Cow<'a, str>, ViewError> {
        self.cow_text().map_err(|why| ViewError::at("", why))
    }

    pub(super) fn cow_text(&self) -> Result<Cow<'a, str>, ViewFailure> {
        match (self.ty.shape(), &self.source) {
            (Shape::Text { wide: true, .. }, _) | (Shape::Text { .. }, Source::Converted(_)) => {
                Ok(match self.value()? {
                    Value::WString(text) => Cow::Owned(text.to_string_lossy()),
                    Value::String(text) => Cow::Owned(text),
                    _ => Cow::Borrowed(""),
                })
            }
            _ => self.text().map(Cow::Borrowed),
        }
    }

    pub(super) fn text(&self) -> Result<&'a str, ViewFailure> {
        let Shape::Text { wide: false, bound } = self.ty.shape() else {
            return Err(self.kind_error("a string"));
        };
        match &self.source {
            Source::Octets(octets) => {
                let text = octets.d.clone().read_str()?;
                match *bound {
                    Some(bound) if text.len() > bound && octets.any_length => Ok(up_to(text, bound)),
                    Some(bound) if text.len() > bound => {
                        Err(CdrError::BoundExceeded { bound, len: text.len() }.into())
                    }
                    _ => Ok(text),
                }
            }
            Source::Made(Value::String(text)) => Ok(text),
            Source::Converted(_) => Err(ViewFailure::Conversion),
            _ => Ok(""),
        }
    }

    /// A value that has no parts; `None` if it has.
    fn scalar(&self) -> Result<Option<Value>, ViewFailure> {
        match (self.ty.shape(), &self.source) {
            (Shape::Primitive(_) | Shape::Enumeration(_) | Shape::Bits(_), Source::Octets(octets)) => {
                Ok(Some(Reader::new(self.ty).value(self.ty, &mut octets.d.clone())?))
            }
            (Shape::Primitive(_) | Shape::Enumeration(_) | Shape::Bits(_), _) => self.value().map(Some),
            _ => Ok(None),
        }
    }

    /// The number that an integer, boolean, octet, character, enumeration or set of bits is.
    ///
    /// # Errors
    /// As [`DynamicView::as_str`].
    pub fn as_integer(&self) -> Result<i128, ViewError> {
        let number = self.scalar().and_then(|value| {
            value.and_then(|value| value.as_integer()).ok_or_else(|| self.kind_error("an integer"))
        });
        number.map_err(|why| ViewError::at("", why))
    }

    /// The number that a float or an integer is, rounded to 64 bits.
    ///
    /// # Errors
    /// As [`DynamicView::as_str`].
    pub fn as_f64(&self) -> Result<f64, ViewError> {
        let number = self.scalar().and_then(|value| {
            value.and_then(|value| value.as_f64()).ok_or_else(|| self.kind_error("a number"))
        });
        number.map_err(|why| ViewError::at("", why))
    }
}

/// What a part of a value can be read as: see [`DynamicView::read`].
pub trait FromView<'a>: Sized {
    /// The part as this.
    ///
    /// # Errors
    /// A part of another kind, a number beyond the range, bytes that are no serialization of the type.
    fn from_view(view: &DynamicView<'a>) -> Result<Self, ViewError>;
}

macro_rules! integers {
    ($($ty:ty, $name:literal;)*) => {$(
        impl<'a> FromView<'a> for $ty {
            fn from_view(view: &DynamicView<'a>) -> Result<Self, ViewError> {
                let number = view.as_integer()?;
                Self::try_from(number).map_err(|_| {
                    ViewError::at("", ViewFailure::Kind { is: number.to_string(), wanted: $name })
                })
            }
        }
    )*};
}

integers! {
    u8, "a number of 8 bits without sign"; i8, "a number of 8 bits"; u16, "a number of 16 bits without sign";
    i16, "a number of 16 bits"; u32, "a number of 32 bits without sign"; i32, "a number of 32 bits";
    u64, "a number of 64 bits without sign"; i64, "a number of 64 bits"; i128, "an integer";
}

impl<'a> FromView<'a> for bool {
    fn from_view(view: &DynamicView<'a>) -> Result<Self, ViewError> {
        match view.scalar() {
            Ok(Some(Value::Boolean(value))) => Ok(value),
            Ok(_) => Err(ViewError::at("", view.kind_error("a boolean"))),
            Err(why) => Err(ViewError::at("", why)),
        }
    }
}

impl<'a> FromView<'a> for f32 {
    fn from_view(view: &DynamicView<'a>) -> Result<Self, ViewError> {
        match view.scalar() {
            Ok(Some(Value::Float32(value))) => Ok(value),
            Ok(_) => Err(ViewError::at("", view.kind_error("a float"))),
            Err(why) => Err(ViewError::at("", why)),
        }
    }
}

impl<'a> FromView<'a> for f64 {
    fn from_view(view: &DynamicView<'a>) -> Result<Self, ViewError> {
        view.as_f64()
    }
}

impl<'a> FromView<'a> for &'a str {
    fn from_view(view: &DynamicView<'a>) -> Result<Self, ViewError> {
        view.as_str()
    }
}

impl<'a> FromView<'a> for Cow<'a, str> {
    fn from_view(view: &DynamicView<'a>) -> Result<Self, ViewError> {
        view.as_text()
    }
}

impl<'a> FromView<'a> for String {
    fn from_view(view: &DynamicView<'a>) -> Result<Self, ViewError> {
        view.as_text().map(Cow::into_owned)
    }
}

impl<'a> FromView<'a> for &'a [u8] {
    fn from_view(view: &DynamicView<'a>) -> Result<Self, ViewError> {
        view.as_octets()
    }
}

impl<'a> FromView<'a> for Value {
    fn from_view(view: &DynamicView<'a>) -> Result<Self, ViewError> {
        view.to_value()
    }
}
