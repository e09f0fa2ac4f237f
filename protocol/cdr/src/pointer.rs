//! Values behind pointers are serialized like the values themselves (IDL `@external`, DDS-XTypes 1.3 §7.3.1.2.1.9).

use alloc::borrow::{Cow, ToOwned};
use alloc::boxed::Box;
use alloc::sync::Arc;

use crate::{CdrError, CdrRead, CdrWrite, Decoder, ElementKind, Encoder, Extensibility, KeySize, LengthCode};

macro_rules! pointer_write {
    ($($ty:ty),*) => {$(
        impl<T: CdrWrite + ?Sized> CdrWrite for $ty {
            const KIND: ElementKind = T::KIND;
            const LENGTH_CODE: LengthCode = T::LENGTH_CODE;
            const FORM: Extensibility = T::FORM;
            const KEY_SIZE: KeySize = T::KEY_SIZE;
            const ITEM_KIND: ElementKind = T::ITEM_KIND;

            #[inline]
            fn write(&self, e: &mut Encoder<'_>) -> Result<(), CdrError> {
                (**self).write(e)
            }
        }
    )*};
}

pointer_write!(&T, Box<T>, Arc<T>);

impl<T: CdrWrite + ToOwned + ?Sized> CdrWrite for Cow<'_, T> {
    const KIND: ElementKind = T::KIND;
    const LENGTH_CODE: LengthCode = T::LENGTH_CODE;
    const FORM: Extensibility = T::FORM;
    const KEY_SIZE: KeySize = T::KEY_SIZE;

    #[inline]
    fn write(&self, e: &mut Encoder<'_>) -> Result<(), CdrError> {
        (**self).write(e)
    }
}

macro_rules! pointer_read {
    ($($pointer:ident),*) => {$(
        impl<'de, T: CdrRead<'de>> CdrRead<'de> for $pointer<T> {
            const KIND: ElementKind = T::KIND;
            const MIN_SIZE: usize = T::MIN_SIZE;
            const FORM: Extensibility = T::FORM;

            #[inline]
            fn read(d: &mut Decoder<'de>) -> Result<Self, CdrError> {
                d.claim(size_of::<T>())?;
                T::read(d).map($pointer::new)
            }

            #[inline]
            fn default_value() -> Self {
                $pointer::new(T::default_value())
            }

            #[inline]
            fn skip(d: &mut Decoder<'de>) -> Result<(), CdrError> {
                T::skip(d)
            }
        }
    )*};
}

pointer_read!(Box, Arc);
