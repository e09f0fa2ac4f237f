//! What a type description (DDS-XTypes 1.3 §7.3.4.5) is made of: constants for Rust types, shared memory for types known at run
//! time.

use alloc::sync::Arc;
use core::fmt;
use core::ops::Deref;

/// A constant, or memory that is freed with the last of those that share it.
pub struct StaticOrArc<T: ?Sized + 'static>(Source<T>);

enum Source<T: ?Sized + 'static> {
    Static(&'static T),
    Shared(Arc<T>),
}

impl<T: ?Sized> StaticOrArc<T> {
    /// A constant.
    #[must_use]
    pub const fn constant(value: &'static T) -> Self {
        Self(Source::Static(value))
    }

    /// Made at run time.
    pub fn shared(value: impl Into<Arc<T>>) -> Self {
        Self(Source::Shared(value.into()))
    }
}

impl<T: ?Sized> Deref for StaticOrArc<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        match &self.0 {
            Source::Static(value) => value,
            Source::Shared(value) => value,
        }
    }
}

impl<T: ?Sized> Clone for StaticOrArc<T> {
    fn clone(&self) -> Self {
        Self(match &self.0 {
            Source::Static(value) => Source::Static(value),
            Source::Shared(value) => Source::Shared(Arc::clone(value)),
        })
    }
}

impl<T: ?Sized + PartialEq> PartialEq for StaticOrArc<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: ?Sized + Eq> Eq for StaticOrArc<T> {}

impl PartialEq<str> for StaticOrArc<str> {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for StaticOrArc<str> {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for StaticOrArc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
