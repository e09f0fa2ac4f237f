//! Reference-counted bytes.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::ops::{Deref, Range};

use crate::Memory;
use crate::arc::Arc;

/// Who keeps the bytes. What is rare is behind one pointer, so that the value stays small.
#[derive(Clone)]
enum Owner {
    Buffer(Arc<Vec<u8>>),
    Other(alloc::sync::Arc<Other>),
}

enum Other {
    Memory(Box<dyn Memory>),
    /// Bytes, and others that follow them elsewhere.
    Pair(SharedBytes, SharedBytes),
}

impl Owner {
    #[inline]
    fn octets(&self) -> &[u8] {
        match self {
            Self::Buffer(buffer) => buffer,
            Self::Other(other) => other.octets(),
        }
    }

    fn other(&self) -> Option<&Other> {
        match self {
            Self::Buffer(_) => None,
            Self::Other(other) => Some(other),
        }
    }
}

impl Other {
    fn octets(&self) -> &[u8] {
        match self {
            Self::Memory(memory) => memory.octets(),
            Self::Pair(first, _) => first,
        }
    }

    fn is_intact(&self) -> bool {
        match self {
            Self::Memory(memory) => memory.is_intact(),
            Self::Pair(first, tail) => first.is_intact() && tail.is_intact(),
        }
    }
}

/// A range of a reference-counted buffer. Cloning and slicing copy no bytes.
#[derive(Clone)]
pub struct SharedBytes {
    owner: Owner,
    start: usize,
    len: usize,
}

impl SharedBytes {
    /// The first `len` bytes of a buffer (fewer when it is shorter).
    pub(crate) fn from_arc(owner: Arc<Vec<u8>>, len: usize) -> Self {
        let len = len.min(owner.len());
        Self { owner: Owner::Buffer(owner), start: 0, len }
    }

    /// All bytes of a memory.
    #[must_use]
    pub fn lent(memory: Box<dyn Memory>) -> Self {
        let len = memory.octets().len();
        Self::with(Other::Memory(memory), len)
    }

    /// These bytes, which others [follow](Self::tail) that lie elsewhere.
    #[must_use]
    pub fn followed_by(self, tail: Self) -> Self {
        let len = self.len;
        Self::with(Other::Pair(self, tail), len)
    }

    fn with(other: Other, len: usize) -> Self {
        Self { owner: Owner::Other(alloc::sync::Arc::new(other)), start: 0, len }
    }

    /// How many bytes these are, without a look at who keeps them.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// What follows the bytes that these are, or are a part of.
    #[must_use]
    #[inline]
    pub fn tail(&self) -> Option<&Self> {
        match self.owner.other()? {
            Other::Pair(_, tail) => Some(tail),
            Other::Memory(_) => None,
        }
    }

    /// Whether they lie in a buffer of this process alone, with nothing that follows elsewhere.
    #[must_use]
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.owner.other().is_none()
    }

    /// The memory that these bytes are, if they are all of it.
    #[must_use]
    #[inline]
    pub fn memory(&self) -> Option<&dyn Memory> {
        match self.owner.other()? {
            Other::Memory(memory) if self.len == memory.octets().len() => Some(&**memory),
            _ => None,
        }
    }

    /// Whether the bytes read so far, and those that [follow](Self::tail), are those that were put there, see
    /// [`Memory::is_intact`]. Those in a buffer of this process always are.
    #[must_use]
    #[inline]
    pub fn is_intact(&self) -> bool {
        self.owner.other().is_none_or(Other::is_intact)
    }

    /// A new buffer with a copy of `bytes`.
    #[must_use]
    pub fn copy_from(bytes: &[u8]) -> Self {
        Self::from(bytes.to_vec())
    }

    /// A part of these bytes; `None` when the range does not lie inside.
    #[must_use]
    #[inline]
    pub fn slice(&self, range: Range<usize>) -> Option<Self> {
        if range.end > self.len {
            return None;
        }
        let len = range.end.checked_sub(range.start)?;
        Some(Self { owner: self.owner.clone(), start: self.start.checked_add(range.start)?, len })
    }

    /// The shared form of `part`, which must be borrowed from these bytes; `None` when it is not.
    #[must_use]
    #[inline]
    pub fn slice_ref(&self, part: &[u8]) -> Option<Self> {
        let start = (part.as_ptr() as usize).checked_sub(self.as_ptr() as usize)?;
        self.slice(start..start.checked_add(part.len())?)
    }

    /// Bytes of the whole buffer that these bytes keep alive.
    #[must_use]
    #[inline]
    pub fn retained_len(&self) -> usize {
        match &self.owner {
            Owner::Buffer(buffer) => buffer.len(),
            Owner::Other(other) => match &**other {
                // What matters is how long it is kept, not how large it is.
                Other::Memory(_) => self.len,
                Other::Pair(first, _) => first.retained_len(),
            },
        }
    }
}

impl Deref for SharedBytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // Both ends were checked when the value was made; the fall-back is never taken.
        self.owner.octets().get(self.start..self.start.saturating_add(self.len)).unwrap_or(&[])
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
        Self { owner: Owner::Buffer(Arc::new(bytes)), start: 0, len }
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
        write!(f, "SharedBytes({} bytes of {})", self.len, self.retained_len())
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

    struct Chunk {
        _alive: alloc::sync::Arc<()>,
    }

    impl Memory for Chunk {
        fn octets(&self) -> &[u8] {
            &[7, 8, 9]
        }
    }

    struct Spoilt;

    impl Memory for Spoilt {
        fn octets(&self) -> &[u8] {
            &[0; 4]
        }

        fn is_intact(&self) -> bool {
            false
        }
    }

    #[test]
    fn bytes_are_intact_if_all_memory_that_they_lie_in_is() {
        let (plain, spoilt) = (SharedBytes::copy_from(&[1, 2]), SharedBytes::lent(Box::new(Spoilt)));
        let alive = SharedBytes::lent(Box::new(Chunk { _alive: alloc::sync::Arc::default() }));
        assert!(plain.is_intact() && alive.is_intact() && plain.clone().followed_by(alive).is_intact());
        assert!(!spoilt.is_intact() && !spoilt.slice(1..2).unwrap().is_intact());
        assert!(!plain.followed_by(spoilt).is_intact());
    }

    /// It is in every sample and every change of a history.
    #[test]
    fn loans_cost_others_one_word() {
        assert_eq!(size_of::<SharedBytes>(), 4 * size_of::<usize>());
        assert_eq!(size_of::<Option<SharedBytes>>(), size_of::<SharedBytes>());
    }

    #[test]
    fn memory_is_kept_as_long_as_any_part_of_it_and_known_when_it_is_whole() {
        let alive = alloc::sync::Arc::new(());
        let lent = SharedBytes::lent(Box::new(Chunk { _alive: alive.clone() }));
        assert!(lent.memory().is_some() && lent.slice(0..2).unwrap().memory().is_none());
        assert!(SharedBytes::copy_from(&[1]).memory().is_none());
        let whole = SharedBytes::copy_from(&[1, 2]).followed_by(lent.clone());
        assert_eq!((&*whole, whole.tail().map(|tail| &**tail)), (&[1, 2][..], Some(&[7, 8, 9][..])));
        let part = whole.slice_ref(&whole[1..]).unwrap();
        assert_eq!((&*part, part.tail(), part.retained_len()), (&[2][..], Some(&lent), 2));
        assert_eq!((lent.retained_len(), lent.tail()), (3, None));
        drop((lent, whole));
        assert_eq!(alloc::sync::Arc::strong_count(&alive), 2);
        drop(part);
        assert_eq!(alloc::sync::Arc::strong_count(&alive), 1);
    }
}
