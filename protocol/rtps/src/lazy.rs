//! RTPS 2.5 §8.4.9.2 ReaderProxy, §8.4.10.4 WriterProxy: the parts of them that most never need, so that those of a thousand
//! built-in endpoints stay small.

use alloc::boxed::Box;
use core::ops::Deref;

use dunlin_core::SnRanges;

/// Has a value that stands for one that was never made.
pub(crate) trait StaticDefault: Default + 'static {
    /// As `default()` makes it.
    const STATIC_DEFAULT: &'static Self;
}

/// A value that takes no memory before it is first written to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lazy<T>(Option<Box<T>>);

impl StaticDefault for SnRanges {
    const STATIC_DEFAULT: &'static Self = &Self::new();
}

impl<T: StaticDefault> Lazy<T> {
    /// The value, to be written to: made if it is not there.
    pub(crate) fn made(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }

    /// The value, to be written to, if it was made.
    pub(crate) fn if_made(&mut self) -> Option<&mut T> {
        self.0.as_deref_mut()
    }

    /// Makes it blank again.
    pub(crate) fn forget(&mut self) {
        self.0 = None;
    }
}

impl<T: StaticDefault> Deref for Lazy<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or(T::STATIC_DEFAULT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, Default, PartialEq)]
    struct Part(u8);

    impl StaticDefault for Part {
        const STATIC_DEFAULT: &'static Self = &Self(0);
    }

    #[test]
    fn lazy_allocates_at_the_first_write() {
        let mut part = Lazy::<Part>::default();
        assert!(*part == Part::default() && part.if_made().is_none());
        part.made().0 = 5;
        part.made().0 += 1;
        assert_eq!((part.0.is_some(), part.if_made().cloned()), (true, Some(Part(6))));
        part.forget();
        assert!(*part == Part(0) && part.0.is_none());
    }
}
