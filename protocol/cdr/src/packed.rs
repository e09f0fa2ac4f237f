//! Types whose bytes are in the same places in both encoding versions: sequences of them are converted without
//! checks per member (DDS-XTypes 1.3 §7.4.1.1.1, §7.4.2.1 alignment).

use alloc::vec::Vec;

use crate::{CdrError, CdrRead, CdrWrite, Decoder, Encoder};

/// The layout of a type without padding: numbers, characters, arrays of them, and final structures where every member
/// falls on its natural alignment and the first has the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packed {
    size: usize,
    align: usize,
    /// Alignment of the first member.
    first: usize,
}

impl Packed {
    /// A primitive of `size` bytes, at most eight.
    #[must_use]
    pub const fn primitive(size: usize) -> Option<Self> {
        if size > 8 { None } else { Some(Self { size, align: size, first: size }) }
    }

    /// An array of `n` primitives.
    #[must_use]
    pub const fn array(item: Option<Self>, n: usize) -> Option<Self> {
        match item {
            Some(item) if n > 0 => Some(Self { size: item.size.saturating_mul(n), ..item }),
            _ => None,
        }
    }

    /// A final structure of such members.
    #[must_use]
    pub const fn structure(members: &[Option<Self>]) -> Option<Self> {
        let [Some(first), others @ ..] = members else { return None };
        let (mut whole, mut rest) = (*first, others);
        while let [member, others @ ..] = rest {
            let Some(member) = member else { return None };
            if whole.size & member.align.wrapping_sub(1) != 0 {
                return None;
            }
            whole.size = whole.size.saturating_add(member.size);
            if member.align > whole.align {
                return None;
            }
            rest = others;
        }
        if whole.first == whole.align && whole.size & whole.align.wrapping_sub(1) == 0 {
            Some(whole)
        } else {
            None
        }
    }

    /// Bytes of a value.
    #[must_use]
    pub const fn size(layout: Option<Self>) -> usize {
        match layout {
            Some(layout) => layout.size,
            None => 0,
        }
    }

    /// Bytes of a value, at least one, for dividing into values.
    #[must_use]
    pub(crate) const fn chunk(layout: Option<Self>) -> usize {
        let size = Self::size(layout);
        if size == 0 { 1 } else { size }
    }
}

/// How many values of `size` bytes are written before the next ones: room is made (and zeroed) for so many at a time, so
/// that it is in the nearest cache when they are written. A second pass over a large sample would cost as much as the first.
#[inline]
pub(crate) const fn items_in_block(size: usize) -> usize {
    const OCTETS: usize = 1_024;
    match OCTETS.checked_div(size) {
        Some(0) | None => 1,
        Some(items) => items,
    }
}

/// The first `n` bytes and the rest; both empty if there are fewer.
#[inline]
pub fn split_mut(octets: &mut [u8], n: usize) -> (&mut [u8], &mut [u8]) {
    octets.split_at_mut_checked(n).unwrap_or_default()
}

impl Encoder<'_> {
    /// Appends the values of a type with such a layout.
    #[inline]
    pub(crate) fn write_packed<T: CdrWrite>(&mut self, items: &[T], layout: Packed) {
        if items.is_empty() {
            return;
        }
        self.align(layout.align);
        self.reserve(items.len().saturating_mul(layout.size));
        let big_endian = self.is_big_endian();
        for block in items.chunks(items_in_block(layout.size)) {
            let room = self.extend_by(block.len().saturating_mul(layout.size));
            let pairs = room.chunks_exact_mut(layout.size).zip(block);
            // Two loops, each with a constant byte order.
            if big_endian {
                pairs.for_each(|(to, item)| item.pack(to, true));
            } else {
                pairs.for_each(|(to, item)| item.pack(to, false));
            }
        }
    }
}

impl<'de> Decoder<'de> {
    /// Reads `n` values of a type with such a layout.
    #[inline]
    pub(crate) fn read_packed<T: CdrRead<'de>>(
        &mut self,
        n: usize,
        layout: Packed,
    ) -> Result<Vec<T>, CdrError> {
        let octets = self.read_packed_octets(n, layout)?;
        let big_endian = self.is_big_endian();
        let mut items = Vec::with_capacity(n);
        let chunks = octets.chunks_exact(layout.size);
        // Two loops, each with a constant byte order.
        if big_endian {
            items.extend(chunks.filter_map(|from| T::unpack(from, true)));
        } else {
            items.extend(chunks.filter_map(|from| T::unpack(from, false)));
        }
        Ok(items)
    }

    /// The bytes of `n` values of a type with such a layout.
    #[inline]
    pub(crate) fn read_packed_octets(&mut self, n: usize, layout: Packed) -> Result<&'de [u8], CdrError> {
        if n == 0 {
            return Ok(&[]);
        }
        self.align(layout.align);
        self.read_bytes(n.saturating_mul(layout.size))
    }
}

#[cfg(test)]
mod tests {
    use super::Packed;

    #[test]
    fn layouts() {
        let [p1, p2, p4, p8] = [1, 2, 4, 8].map(Packed::primitive);
        assert_eq!(Packed::size(Packed::structure(&[p4, p4, p4])), 12);
        assert_eq!(Packed::size(Packed::structure(&[p8, p4, p2, p1, p1])), 16);
        assert_eq!(Packed::size(Packed::structure(&[p4, Packed::array(p1, 4)])), 8);
        let inner = Packed::structure(&[p4, p2, p2]);
        assert_eq!(Packed::size(Packed::structure(&[p8, inner])), 16);
        for padded in [&[p4, p8][..], &[p8, p4], &[p1, p2], &[p4, p1, p2], &[None], &[], &[p2, p2, p4]] {
            assert_eq!(Packed::structure(padded), None);
        }
        assert_eq!(Packed::primitive(16), None);
        assert_eq!(Packed::array(p1, 0), None);
    }
}
