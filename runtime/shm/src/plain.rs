//! Values in place: types whose memory is their serialization, which `dunlin-cdr` finds out of derived types.
#![expect(unsafe_code, reason = "a value in memory that others map can only be had by a cast")]

use dunlin_buf::{Memory, SharedBytes};
use dunlin_cdr::CdrWrite;
use dunlin_transport::Loan;

/// Octets before a value: its encapsulation header.
const HEADER: usize = 4;
/// Octets of a word, the greatest alignment of a number.
const WORD: usize = size_of::<u64>();

/// Whether values of the type can be used where they lie, if they do at this place.
fn fits<T: CdrWrite>(value: &[u8]) -> bool {
    T::IN_PLACE.holds() && value.len() >= size_of::<T>() && value.as_ptr().cast::<T>().is_aligned()
}

/// The value behind an encapsulation header; `None` if the type is not one for that, or the value not there or not aligned.
#[must_use]
pub fn view<T: CdrWrite>(payload: &[u8]) -> Option<&T> {
    let value = payload.get(HEADER..)?;
    // SAFETY: so many octets, aligned as the type wants it, borrowed as long as the result. The type has numbers alone and
    // no padding between them, so any octets are a value of it.
    fits::<T>(value).then(|| unsafe { &*value.as_ptr().cast::<T>() })
}

/// The same, for writing.
#[must_use]
pub fn view_mut<T: CdrWrite>(payload: &mut [u8]) -> Option<&mut T> {
    let value = payload.get_mut(HEADER..)?;
    // SAFETY: as above, and borrowed for writing; whatever is written is initialised, as nothing is padding.
    fits::<T>(value).then(|| unsafe { &mut *value.as_mut_ptr().cast::<T>() })
}

/// Memory of this process alone for a payload, with the value behind the encapsulation header at a multiple of eight.
pub struct Aligned {
    words: Vec<u64>,
    len: usize,
}

impl Aligned {
    /// Zeros for a payload of so many octets.
    #[must_use]
    pub fn new(len: usize) -> Self {
        Self { words: vec![0; (WORD - HEADER + len).div_ceil(WORD)], len }
    }
}

impl Memory for Aligned {
    fn octets(&self) -> &[u8] {
        let all = self.words.as_ptr().cast::<u8>();
        // SAFETY: the words have the octets before the payload and the payload; octets are valid whatever the words are.
        unsafe { std::slice::from_raw_parts(all.add(WORD - HEADER), self.len) }
    }
}

impl Loan for Aligned {
    fn octets(&self) -> &[u8] {
        Memory::octets(self)
    }

    fn octets_mut(&mut self) -> &mut [u8] {
        let all = self.words.as_mut_ptr().cast::<u8>();
        // SAFETY: as above, borrowed for writing; any octets make words.
        unsafe { std::slice::from_raw_parts_mut(all.add(WORD - HEADER), self.len) }
    }

    fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    fn share(self: Box<Self>) -> SharedBytes {
        SharedBytes::lent(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_values_are_viewed_in_place_if_aligned_and_complete() {
        let mut memory = Aligned::new(HEADER + 16);
        *view_mut::<[u64; 2]>(memory.octets_mut()).unwrap() = [1, 0x0203];
        let octets = Box::new(memory).share();
        assert_eq!(octets[HEADER..], [1, 0, 0, 0, 0, 0, 0, 0, 3, 2, 0, 0, 0, 0, 0, 0]);
        assert_eq!(view::<[u64; 2]>(&octets), Some(&[1, 0x0203]));
        assert_eq!(view::<[u64; 3]>(&octets), None, "too short");
        assert_eq!(view::<u64>(&octets[1..]), None, "not aligned");
        assert_eq!(view::<bool>(&octets), None, "not any octet");
    }
}
