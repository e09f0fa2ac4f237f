//! Reference-counted bytes.

use alloc::vec::Vec;
use core::fmt;
use core::ops::{Deref, Range};

use crate::arc::Arc;

/// A range of a reference-counted buffer. Cloning and slicing copy no bytes.
#[derive(Clone)]
pub struct SharedBytes {
    owner: Arc<Vec<u8>>,
    start: usize,
    len: usize,
}

impl SharedBytes {
    /// The first `len` octets of a buffer (fewer when it is shorter).
    pub(crate) fn from_arc(owner: Arc<Vec<u8>>, len: usize) -> Self {
        let len = len.min(owner.len());
        Self { owner, start: 0, len }
    }

    /// A new buffer with a copy of `bytes`.
    #[must_use]
    pub fn copy_from(bytes: &[u8]) -> Self {
        Self::from(bytes.to_vec())
    }

    /// A part of these bytes; `None` when the range does not lie inside.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Option<Self> {
        if range.end > self.len {
            return None;
        }
        let len = range.end.checked_sub(range.start)?;
        Some(Self { owner: Arc::clone(&self.owner), start: self.start.checked_add(range.start)?, len })
    }

    /// The shared form of `part`, which must be borrowed from these bytes; `None` when it is not.
    #[must_use]
    pub fn slice_ref(&self, part: &[u8]) -> Option<Self> {
        let start = (part.as_ptr() as usize).checked_sub(self.as_ptr() as usize)?;
        self.slice(start..start.checked_add(part.len())?)
    }

    /// Octets of the whole buffer that these bytes keep alive.
    #[must_use]
    pub fn retained_len(&self) -> usize {
        self.owner.len()
    }
}

impl Deref for SharedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // Both ends were checked when the value was made; the fall-back is never taken.
        self.owner.get(self.start..self.start.saturating_add(self.len)).unwrap_or(&[])
    }
}

impl AsRef<[u8]> for SharedBytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl From<Vec<u8>> for SharedBytes {
    fn from(bytes: Vec<u8>) -> Self {
        let len = bytes.len();
        Self { owner: Arc::new(bytes), start: 0, len }
    }
}

impl PartialEq for SharedBytes {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for SharedBytes {}

impl fmt::Debug for SharedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedBytes({} octets of {})", self.len, self.retained_len())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn slices_share_and_check() {
        let all = SharedBytes::copy_from(&[1, 2, 3, 4, 5]);
        let middle = all.slice(1..4).unwrap();
        assert_eq!(&*middle, [2, 3, 4]);
        assert_eq!(&*middle.slice(2..3).unwrap(), [4]);
        assert!(middle.slice(2..4).is_none() && all.slice(0..6).is_none());
        assert_eq!(middle.slice_ref(&middle[1..]).unwrap(), all.slice(2..4).unwrap());
        assert!(middle.slice_ref(&all[..1]).is_none());
        assert!(middle.slice_ref(&[9, 9]).is_none());
        assert_eq!(middle.retained_len(), 5);
    }
}
