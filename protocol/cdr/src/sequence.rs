//! Sequences and arrays (DDS-XTypes 1.3 §7.4.3.5 rules 8-13).

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::in_place::InPlace;
use crate::packed::Packed;
use crate::traits::fill;
use crate::{CdrError, CdrRead, CdrWrite, Decoder, ElementKind, Encoder, KeySize, LengthCode};

const fn is_compound(kind: ElementKind) -> bool {
    !matches!(kind, ElementKind::Primitive)
}

impl<T: CdrWrite> CdrWrite for [T] {
    const LENGTH_CODE: LengthCode = LengthCode::of_sequence(T::KIND, T::LENGTH_CODE);

    #[inline]
    fn write(&self, e: &mut Encoder<'_>) -> Result<(), CdrError> {
        e.write_delimited_if(is_compound(T::KIND), |e| {
            e.write_len(self.len())?;
            T::write_slice(self, e)
        })
    }
}

impl<T: CdrWrite> CdrWrite for Vec<T> {
    const LENGTH_CODE: LengthCode = <[T]>::LENGTH_CODE;

    #[inline]
    fn write(&self, e: &mut Encoder<'_>) -> Result<(), CdrError> {
        self.as_slice().write(e)
    }
}

/// Reads the DHEADER, if any, and the count of a sequence; `elements` reads its elements.
#[inline]
fn read_sequence<'de, T: CdrRead<'de>, R>(
    d: &mut Decoder<'de>,
    elements: impl FnOnce(&mut Decoder<'de>, usize) -> Result<R, CdrError>,
) -> Result<R, CdrError> {
    d.read_elements(T::KIND, |d| {
        let count = d.read_count(T::MIN_SIZE)?;
        elements(d, count)
    })
}

fn skip_sequence<'de, T: CdrRead<'de>>(d: &mut Decoder<'de>) -> Result<(), CdrError> {
    if d.has_dheader(T::KIND) {
        let region = d.enter_delimited()?;
        d.leave(region);
        return Ok(());
    }
    let count = d.read_count(T::MIN_SIZE)?;
    T::skip_slice(d, count)
}

impl<'de, T: CdrRead<'de>> CdrRead<'de> for Vec<T> {
    const MIN_SIZE: usize = 4;

    #[inline]
    fn read(d: &mut Decoder<'de>) -> Result<Self, CdrError> {
        read_sequence::<T, _>(d, T::read_vec)
    }

    #[inline]
    fn default_value() -> Self {
        Self::new()
    }

    fn skip(d: &mut Decoder<'de>) -> Result<(), CdrError> {
        skip_sequence::<T>(d)
    }
}

impl<'de, T: CdrRead<'de>> CdrRead<'de> for Box<[T]> {
    const MIN_SIZE: usize = 4;

    #[inline]
    fn read(d: &mut Decoder<'de>) -> Result<Self, CdrError> {
        Vec::read(d).map(Vec::into_boxed_slice)
    }

    #[inline]
    fn default_value() -> Self {
        Self::default()
    }

    fn skip(d: &mut Decoder<'de>) -> Result<(), CdrError> {
        skip_sequence::<T>(d)
    }
}

impl<'de: 'a, 'a> CdrRead<'de> for &'a [u8] {
    const MIN_SIZE: usize = 4;

    #[inline]
    fn read(d: &mut Decoder<'de>) -> Result<Self, CdrError> {
        let count = d.read_count(1)?;
        d.read_bytes(count)
    }

    #[inline]
    fn default_value() -> Self {
        &[]
    }
}

impl<'de: 'a, 'a> CdrRead<'de> for Cow<'a, [u8]> {
    const MIN_SIZE: usize = 4;

    #[inline]
    fn read(d: &mut Decoder<'de>) -> Result<Self, CdrError> {
        <&[u8]>::read(d).map(Cow::Borrowed)
    }

    #[inline]
    fn default_value() -> Self {
        Cow::Borrowed(&[])
    }
}

impl<T: CdrWrite, const N: usize> CdrWrite for [T; N] {
    const LENGTH_CODE: LengthCode =
        if is_compound(T::ITEM_KIND) { LengthCode::Octets } else { LengthCode::NextInt };
    const KEY_SIZE: KeySize = if is_compound(T::ITEM_KIND) {
        KeySize::primitive(4).then(T::KEY_SIZE.repeat(N))
    } else {
        T::KEY_SIZE.repeat(N)
    };
    const ITEM_KIND: ElementKind = T::ITEM_KIND;
    const PACKED: Option<Packed> = if is_compound(T::ITEM_KIND) { None } else { Packed::array(T::PACKED, N) };
    const IN_PLACE: InPlace<Self> = if is_compound(T::ITEM_KIND) { InPlace::NO } else { T::IN_PLACE.array() };

    #[inline]
    fn pack(&self, to: &mut [u8], big_endian: bool) {
        for (to, item) in to.chunks_exact_mut(const { Packed::chunk(T::PACKED) }).zip(self) {
            item.pack(to, big_endian);
        }
    }

    #[inline]
    fn write(&self, e: &mut Encoder<'_>) -> Result<(), CdrError> {
        e.write_delimited_if(is_compound(T::ITEM_KIND), |e| T::write_dimension(self, e))
    }

    #[inline]
    fn write_dimension(items: &[Self], e: &mut Encoder<'_>) -> Result<(), CdrError> {
        items.iter().try_for_each(|item| T::write_dimension(item, e))
    }
}

impl<'de, T: CdrRead<'de>, const N: usize> CdrRead<'de> for [T; N] {
    const MIN_SIZE: usize = T::MIN_SIZE.saturating_mul(N);
    const ITEM_KIND: ElementKind = T::ITEM_KIND;
    const PACKED: Option<Packed> = if is_compound(T::ITEM_KIND) { None } else { Packed::array(T::PACKED, N) };

    #[inline]
    fn unpack(from: &[u8], big_endian: bool) -> Option<Self> {
        let mut chunks = from.chunks_exact(const { Packed::chunk(T::PACKED) });
        let mut complete = true;
        let items = core::array::from_fn(|_| {
            let item = chunks.next().and_then(|from| T::unpack(from, big_endian));
            item.unwrap_or_else(|| {
                complete = false;
                T::default_value()
            })
        });
        complete.then_some(items)
    }

    #[inline]
    fn read(d: &mut Decoder<'de>) -> Result<Self, CdrError> {
        d.read_elements(T::ITEM_KIND, T::read_dimension)
    }

    #[inline]
    fn default_value() -> Self {
        core::array::from_fn(|_| T::default_value())
    }

    fn skip(d: &mut Decoder<'de>) -> Result<(), CdrError> {
        if d.has_dheader(T::ITEM_KIND) {
            let region = d.enter_delimited()?;
            d.leave(region);
            return Ok(());
        }
        T::skip_dimension(d, N)
    }

    fn read_dimension<const M: usize>(d: &mut Decoder<'de>) -> Result<[Self; M], CdrError> {
        fill(|| T::read_dimension(d), Self::default_value)
    }

    fn skip_dimension(d: &mut Decoder<'de>, n: usize) -> Result<(), CdrError> {
        (0..n).try_for_each(|_| T::skip_dimension(d, N))
    }
}
