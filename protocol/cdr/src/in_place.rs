//! Types whose memory is their serialization in both encoding versions (DDS-XTypes 1.3 §7.4.1.1.1, §7.4.2.1 alignment), so that
//! values can be used where they lie.

use core::marker::PhantomData;

use crate::packed::Packed;

/// What memory for values is aligned to: no number in CDR needs more.
const MAX_ALIGN: usize = 8;

/// Whether the memory of a type is its little-endian serialization, and any bytes are a value.
///
/// Memory safety depends on it where values are used in place, so no safe code can say it of a type of its own.
///
/// ```compile_fail,E0308
/// use dunlin_cdr::{CdrWrite, codegen::InPlace};
/// struct Flag(bool);
/// const LIE: InPlace<Flag> = <u8 as CdrWrite>::IN_PLACE;
/// ```
///
/// ```compile_fail,E0133
/// use dunlin_cdr::codegen::InPlace;
/// struct Flag(bool);
/// const LIE: InPlace<Flag> = InPlace::structure((1, 1), None, &[]);
/// ```
#[derive(Debug)]
pub struct InPlace<T: ?Sized>(bool, PhantomData<fn() -> T>);

impl<T: ?Sized> InPlace<T> {
    /// It is not.
    pub const NO: Self = Self::of(false);

    const fn of(holds: bool) -> Self {
        Self(holds, PhantomData)
    }

    /// A number of so many bytes, on a machine of the same byte order.
    pub(crate) const fn number(size: usize) -> Self {
        Self::of(cfg!(target_endian = "little") && size <= MAX_ALIGN)
    }

    /// An array of such values, of which there is at least one.
    pub(crate) const fn array<const N: usize>(&self) -> InPlace<[T; N]>
    where
        T: Sized,
    {
        InPlace::of(self.0 && N > 0)
    }

    /// A structure of this size and alignment in memory, with the given layout: what its members say, and their offsets in
    /// memory.
    ///
    /// # Safety
    /// `size` and `align` are those of `T`, and `members` are all its fields, each with its offset and what the
    /// [`CdrWrite`](crate::CdrWrite) of its type says. Whoever derives `DdsType` need not care: the macro sees to it.
    #[expect(unsafe_code, reason = "who says it of a type answers for references to any bytes")]
    #[must_use]
    pub const unsafe fn structure(
        (size, align): (usize, usize),
        layout: Option<Packed>,
        members: &[(usize, Option<Packed>, bool)],
    ) -> Self {
        if layout.is_none() || Packed::size(layout) != size || align > MAX_ALIGN {
            return Self::NO;
        }
        let (mut end, mut rest) = (0usize, members);
        while let [(offset, layout, in_place), others @ ..] = rest {
            if *offset != end || !*in_place {
                return Self::NO;
            }
            end = end.saturating_add(Packed::size(*layout));
            rest = others;
        }
        Self::of(end == size)
    }

    /// Whether it is.
    #[must_use]
    pub const fn holds(&self) -> bool {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(unsafe_code, reason = "what is said of this type is not used")]
    fn holds(
        sizes: (usize, usize),
        layout: Option<Packed>,
        members: &[(usize, Option<Packed>, bool)],
    ) -> bool {
        // SAFETY: no value of the type is ever seen by way of it.
        unsafe { InPlace::<()>::structure(sizes, layout, members) }.holds()
    }

    #[test]
    fn members_lie_in_order_without_padding() {
        let number = |size| (Packed::primitive(size), InPlace::<u64>::number(size).holds());
        let [(p4, n), (p8, _)] = [number(4), number(8)];
        let layout = Packed::structure(&[p8, p4, p4]);
        assert!(holds((16, 8), layout, &[(0, p8, n), (8, p4, n), (12, p4, n)]));
        for (size, align, layout, members) in [
            (24, 8, layout, [(0, p8, n), (8, p4, n), (12, p4, n)]),
            (16, 8, None, [(0, p8, n), (8, p4, n), (12, p4, n)]),
            (16, 8, layout, [(8, p8, n), (0, p4, n), (4, p4, n)]),
            (16, 8, layout, [(0, p8, n), (12, p4, n), (8, p4, n)]),
            (16, 16, layout, [(0, p8, n), (8, p4, n), (12, p4, n)]),
            (16, 8, layout, [(0, p8, n), (8, p4, false), (12, p4, n)]),
        ] {
            assert!(!holds((size, align), layout, &members));
        }
        assert!(
            !InPlace::<u128>::number(16).holds(),
            "aligned to sixteen in memory, to eight at most on the wire"
        );
        let of_numbers = InPlace::<u32>::number(4);
        assert!(of_numbers.array::<3>().holds() && !InPlace::<u32>::number(4).array::<0>().holds());
    }
}
