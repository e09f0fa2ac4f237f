//! Sequence and fragment number sets (RTPS 2.5 §9.4.2.6, §9.4.2.8): a base and at most 256 bits,
//! the first bit in the most significant position of the first word.

use crate::SequenceNumber;

/// The most bits a set may carry.
pub const MAX_SET_BITS: u32 = 256;

const WORDS: usize = 8;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Bits {
    num_bits: u32,
    words: [u32; WORDS],
}

impl Bits {
    fn new(num_bits: u32, words: &[u32]) -> Option<Self> {
        if num_bits > MAX_SET_BITS || words.len() < num_bits.div_ceil(32) as usize {
            return None;
        }
        let mut bits = Self { num_bits, words: [0; WORDS] };
        for (to, from) in bits.words.iter_mut().zip(words.iter().take(num_bits.div_ceil(32) as usize)) {
            *to = *from;
        }
        Some(bits)
    }

    fn contains(&self, index: u32) -> bool {
        index < self.num_bits
            && self
                .words
                .get((index / 32) as usize)
                .is_some_and(|word| word & (0x8000_0000 >> (index % 32)) != 0)
    }

    fn insert(&mut self, index: u32) -> bool {
        if index >= MAX_SET_BITS {
            return false;
        }
        if let Some(word) = self.words.get_mut((index / 32) as usize) {
            *word |= 0x8000_0000 >> (index % 32);
        }
        self.num_bits = self.num_bits.max(index.saturating_add(1));
        true
    }

    fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.num_bits).filter(|index| self.contains(*index))
    }

    fn words(&self) -> &[u32] {
        self.words.get(..self.num_bits.div_ceil(32) as usize).unwrap_or(&[])
    }
}

/// A set of sequence numbers within 256 of its base.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SequenceNumberSet {
    base: SequenceNumber,
    bits: Bits,
}

impl SequenceNumberSet {
    /// The empty set at `base`: in an ACKNACK it acknowledges everything below.
    #[must_use]
    pub fn empty(base: SequenceNumber) -> Self {
        Self { base, bits: Bits::default() }
    }

    /// From its parts on the wire. `None` when `num_bits` is above 256, a word is missing, or base
    /// plus bits overflows. A base below 1 is left to the caller, who may tolerate 0.
    #[must_use]
    pub fn from_parts(base: SequenceNumber, num_bits: u32, words: &[u32]) -> Option<Self> {
        base.0.checked_add(i64::from(num_bits))?;
        Some(Self { base, bits: Bits::new(num_bits, words)? })
    }

    /// bitmapBase.
    #[must_use]
    pub fn base(&self) -> SequenceNumber {
        self.base
    }

    /// numBits.
    #[must_use]
    pub fn num_bits(&self) -> u32 {
        self.bits.num_bits
    }

    /// The words that go on the wire.
    #[must_use]
    pub fn words(&self) -> &[u32] {
        self.bits.words()
    }

    /// Adds `sn`; false when it lies outside the window of 256 from the base.
    pub fn insert(&mut self, sn: SequenceNumber) -> bool {
        match u32::try_from(sn.0.wrapping_sub(self.base.0)) {
            Ok(index) if sn >= self.base => self.bits.insert(index),
            _ => false,
        }
    }

    /// Whether `sn` is in the set.
    #[must_use]
    pub fn contains(&self, sn: SequenceNumber) -> bool {
        sn >= self.base && u32::try_from(sn.0.wrapping_sub(self.base.0)).is_ok_and(|i| self.bits.contains(i))
    }

    /// True when no bit is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bits.iter().next().is_none()
    }

    /// The members, ascending (at most 256).
    pub fn iter(&self) -> impl Iterator<Item = SequenceNumber> + '_ {
        self.bits.iter().map(|index| self.base.plus(i64::from(index)))
    }
}

/// A set of fragment numbers within 256 of its base.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FragmentNumberSet {
    base: u32,
    bits: Bits,
}

impl FragmentNumberSet {
    /// The empty set at `base` (the first fragment has number 1).
    #[must_use]
    pub fn empty(base: u32) -> Self {
        Self { base, bits: Bits::default() }
    }

    /// From its parts on the wire. `None` when base is 0, `num_bits` is above 256, a word is missing,
    /// or base plus bits overflows.
    #[must_use]
    pub fn from_parts(base: u32, num_bits: u32, words: &[u32]) -> Option<Self> {
        if base == 0 {
            return None;
        }
        base.checked_add(num_bits)?;
        Some(Self { base, bits: Bits::new(num_bits, words)? })
    }

    /// bitmapBase.
    #[must_use]
    pub fn base(&self) -> u32 {
        self.base
    }

    /// numBits.
    #[must_use]
    pub fn num_bits(&self) -> u32 {
        self.bits.num_bits
    }

    /// The words that go on the wire.
    #[must_use]
    pub fn words(&self) -> &[u32] {
        self.bits.words()
    }

    /// Adds `number`; false when it lies outside the window of 256 from the base.
    pub fn insert(&mut self, number: u32) -> bool {
        number.checked_sub(self.base).is_some_and(|index| self.bits.insert(index))
    }

    /// Whether `number` is in the set.
    #[must_use]
    pub fn contains(&self, number: u32) -> bool {
        number.checked_sub(self.base).is_some_and(|index| self.bits.contains(index))
    }

    /// True when no bit is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bits.iter().next().is_none()
    }

    /// The members, ascending (at most 256).
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.bits.iter().map(|index| self.base.saturating_add(index))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn example_of_the_standard() {
        // 1234/12:00110
        let set = SequenceNumberSet::from_parts(SequenceNumber(1234), 12, &[0x3000_0000]).unwrap();
        assert_eq!(set.iter().map(|sn| sn.0).collect::<Vec<_>>(), [1236, 1237]);
    }

    #[test]
    fn bitmap_edges() {
        for n in [0, 1, 31, 32, 33, 256] {
            let set = SequenceNumberSet::from_parts(SequenceNumber(1), n, &[u32::MAX; 8]).unwrap();
            assert_eq!(set.iter().count(), n as usize);
            assert_eq!(set.words().len(), n.div_ceil(32) as usize);
        }
        assert!(SequenceNumberSet::from_parts(SequenceNumber(1), 257, &[0; 9]).is_none());
        assert!(SequenceNumberSet::from_parts(SequenceNumber(1), 33, &[0]).is_none());
        assert!(SequenceNumberSet::from_parts(SequenceNumber(i64::MAX), 1, &[0]).is_none());
        assert!(FragmentNumberSet::from_parts(0, 1, &[0]).is_none());
        assert!(FragmentNumberSet::from_parts(u32::MAX, 1, &[0]).is_none());
    }

    #[test]
    fn insert_and_contains_agree() {
        let mut set = SequenceNumberSet::empty(SequenceNumber(100));
        assert!(set.insert(SequenceNumber(100)) && set.insert(SequenceNumber(355)));
        assert!(!set.insert(SequenceNumber(356)) && !set.insert(SequenceNumber(99)));
        assert!(!set.insert(SequenceNumber::MAX) && !set.insert(SequenceNumber(i64::MIN)));
        assert!(set.contains(SequenceNumber(355)) && !set.contains(SequenceNumber(101)));
        let mut fragments = FragmentNumberSet::empty(5);
        assert!(fragments.insert(9) && !fragments.insert(4) && fragments.contains(9));
        assert_eq!(fragments.iter().collect::<Vec<_>>(), [9]);
    }
}
