//! The octets of an input as a stream of decisions.

use dunlin_core::{FragmentNumberSet, SequenceNumber, SequenceNumberSet};

/// What is left of an input. Behind its end there are zeros.
pub(crate) struct Input<'a> {
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    pub(crate) fn new(rest: &'a [u8]) -> Self {
        Self { rest }
    }

    /// What is left.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn u8(&mut self) -> u8 {
        let Some((first, rest)) = self.rest.split_first() else { return 0 };
        self.rest = rest;
        *first
    }

    pub(crate) fn u16(&mut self) -> u16 {
        u16::from_le_bytes([self.u8(), self.u8()])
    }

    pub(crate) fn u32(&mut self) -> u32 {
        u32::from(self.u16()) | u32::from(self.u16()) << 16
    }

    fn i64(&mut self) -> i64 {
        (u64::from(self.u32()) | u64::from(self.u32()) << 32).cast_signed()
    }

    pub(crate) fn bytes(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(len.min(self.rest.len()));
        self.rest = rest;
        taken
    }

    /// One of several.
    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::from(self.u8()) % of.len()]
    }

    /// A sequence number: near those in use, at an edge of what can be counted, or any.
    pub(crate) fn sn(&mut self, near: SequenceNumber) -> SequenceNumber {
        let (kind, offset) = (self.u8(), i64::from(self.u8().cast_signed()));
        let from = match kind % 12 {
            0..=5 => near.0,
            6 => 1,
            7 => 1 << 32,
            8 => 1 << 62,
            9 => i64::MAX - 128,
            10 => i64::MIN + 128,
            _ => self.i64(),
        };
        SequenceNumber(from.wrapping_add(offset))
    }

    /// A count of a submessage.
    pub(crate) fn count(&mut self, next: i32) -> i32 {
        match self.u8() {
            jump @ 0xf0.. => next.wrapping_add(i32::from(jump) << 24),
            small => next.wrapping_add(i32::from(small % 4)),
        }
    }

    /// Up to eight words of a bitmap, few of them mostly.
    fn words(&mut self) -> ([u32; 8], usize) {
        let choice = self.u8();
        let len = usize::from(choice & 7) + usize::from(choice >> 7);
        let fill = match choice >> 3 & 3 {
            0 => 0x8000_0000,
            1 => u32::MAX,
            2 => 0xaaaa_aaaa,
            _ => self.u32(),
        };
        ([fill; 8], len.min(8))
    }

    pub(crate) fn sn_set(&mut self, near: SequenceNumber) -> SequenceNumberSet {
        let base = self.sn(near);
        let (words, len) = self.words();
        SequenceNumberSet::from_parts(base, len as u32 * 32, &words)
            .unwrap_or_else(|| SequenceNumberSet::empty(base))
    }

    pub(crate) fn fragment_set(&mut self) -> FragmentNumberSet {
        let base = self.fragment_number();
        let (words, len) = self.words();
        FragmentNumberSet::from_parts(base, len as u32 * 32, &words)
            .unwrap_or_else(|| FragmentNumberSet::empty(base))
    }

    pub(crate) fn fragment_number(&mut self) -> u32 {
        let choice = self.u8();
        match choice % 8 {
            0..=4 => u32::from(choice / 8),
            5 => u32::from(self.u16()),
            6 => u32::MAX - u32::from(choice / 8),
            _ => self.u32(),
        }
    }
}
