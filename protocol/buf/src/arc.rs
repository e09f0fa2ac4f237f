//! The reference count behind shared bytes: that of `alloc`, and in this crate's own models that of `loom`.
//!
//! Only in its own models: crates above are modelled at the level of their locks, and every reference count
//! more would multiply what there is to explore.

#[cfg(not(all(loom, test)))]
pub(crate) use alloc::sync::Arc;
use alloc::vec::Vec;

#[cfg(all(loom, test))]
pub(crate) use loom::sync::Arc;

/// The vector of a reference that nobody else has; it is never copied.
#[cfg(not(all(loom, test)))]
#[inline]
pub(crate) fn exclusive(owner: &mut Arc<Vec<u8>>) -> &mut Vec<u8> {
    Arc::make_mut(owner)
}

/// The same, and a failure of the model if somebody else has the reference.
#[cfg(all(loom, test))]
pub(crate) fn exclusive(owner: &mut Arc<Vec<u8>>) -> &mut Vec<u8> {
    Arc::get_mut(owner).expect("nobody else has it")
}
