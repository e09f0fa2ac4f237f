//! Types whose memory is their serialization in both encoding versions (DDS-XTypes 1.3 §7.4.1.1.1, §7.4.2.1 alignment), so that
//! values can be used where they lie.

use crate::packed::Packed;

/// What memory for values is aligned to: no number in CDR needs more.
const MAX_ALIGN: usize = 8;

/// Whether the memory of a type is its little-endian serialization, and any bytes are a value.
///
/// A type that says so without being so makes memory safety of programs depend on it; only this crate and the code that it
/// derives make such values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InPlace(bool);

impl InPlace {
    /// It is not.
    pub const NO: Self = Self(false);

    /// A number of so many bytes, on a machine of the same byte order.
    pub(crate) const fn number(size: usize) -> Self {
        Self(cfg!(target_endian = "little") && size <= MAX_ALIGN)
    }

    /// A structure of this size and alignment in memory, with the given layout: what its members say, and their offsets in
    /// memory.
    #[must_use]
    pub const fn structure(
        (size, align): (usize, usize),
        layout: Option<Packed>,
        members: &[(usize, Option<Packed>, Self)],
    ) -> Self {
        if layout.is_none() || Packed::size(layout) != size || align > MAX_ALIGN {
            return Self::NO;
        }
        let (mut end, mut rest) = (0usize, members);
        while let [(offset, layout, in_place), others @ ..] = rest {
            if *offset != end || !in_place.0 {
                return Self::NO;
            }
            end = end.saturating_add(Packed::size(*layout));
            rest = others;
        }
        Self(end == size)
    }

    /// Whether it is.
    #[must_use]
    pub const fn holds(self) -> bool {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_lie_in_order_without_padding() {
        let number = |size| (Packed::primitive(size), InPlace::number(size));
        let [(p4, n), (p8, _)] = [number(4), number(8)];
        let layout = Packed::structure(&[p8, p4, p4]);
        assert!(InPlace::structure((16, 8), layout, &[(0, p8, n), (8, p4, n), (12, p4, n)]).holds());
        for (size, align, layout, members) in [
            (24, 8, layout, [(0, p8, n), (8, p4, n), (12, p4, n)]),
            (16, 8, None, [(0, p8, n), (8, p4, n), (12, p4, n)]),
            (16, 8, layout, [(8, p8, n), (0, p4, n), (4, p4, n)]),
            (16, 8, layout, [(0, p8, n), (12, p4, n), (8, p4, n)]),
            (16, 16, layout, [(0, p8, n), (8, p4, n), (12, p4, n)]),
            (16, 8, layout, [(0, p8, n), (8, p4, InPlace::NO), (12, p4, n)]),
        ] {
            assert_eq!(InPlace::structure((size, align), layout, &members), InPlace::NO);
        }
        assert_eq!(
            InPlace::number(16),
            InPlace::NO,
            "aligned to sixteen in memory, to eight at most on the wire"
        );
    }
}
