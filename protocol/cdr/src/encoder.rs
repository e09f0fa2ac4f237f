//! Writing bytes: primitives and alignment (DDS-XTypes 1.3 §7.4.1, §7.4.2; RTPS 2.5 §10.2).

mod compound;

use alloc::vec::Vec;

use crate::layout::MAX_DEPTH;
use crate::packed::items_in_block;
use crate::{CdrError, Endianness, Representation, Scope};

/// Appends a serialized value to a byte vector.
///
/// Alignment counts from where the vector ended when the encoder was made. Nothing is allocated while the
/// capacity of the vector suffices.
#[derive(Debug)]
pub struct Encoder<'b> {
    pub(crate) out: &'b mut Vec<u8>,
    pub(crate) origin: usize,
    align_mask: usize,
    big_endian: bool,
    representation: Representation,
    scope: Scope,
    pub(crate) depth: u16,
}

impl<'b> Encoder<'b> {
    /// An encoder of whole values.
    #[inline]
    #[must_use]
    pub fn new(out: &'b mut Vec<u8>, representation: Representation, endianness: Endianness) -> Self {
        Self::with_scope(out, representation, endianness, Scope::Sample)
    }

    /// An encoder of the key members in the form the key hash is computed of: XCDR2, big-endian.
    #[inline]
    #[must_use]
    pub fn for_key_hash(out: &'b mut Vec<u8>) -> Self {
        Self::with_scope(out, Representation::Xcdr2, Endianness::Big, Scope::KeyHash)
    }

    /// An encoder of the given part of values. [`Scope::KeyHash`] is always XCDR2, big-endian: use
    /// [`Encoder::for_key_hash`].
    #[inline]
    #[must_use]
    pub fn with_scope(
        out: &'b mut Vec<u8>,
        representation: Representation,
        endianness: Endianness,
        scope: Scope,
    ) -> Self {
        let origin = out.len();
        Self {
            out,
            origin,
            align_mask: representation.max_alignment().wrapping_sub(1),
            big_endian: matches!(endianness, Endianness::Big),
            representation,
            scope,
            depth: MAX_DEPTH,
        }
    }

    /// The encoding version.
    #[inline]
    #[must_use]
    pub fn representation(&self) -> Representation {
        self.representation
    }

    /// The part of values that is written.
    #[inline]
    #[must_use]
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// Byte order.
    #[inline]
    #[must_use]
    pub fn endianness(&self) -> Endianness {
        if self.big_endian { Endianness::Big } else { Endianness::Little }
    }

    #[inline]
    pub(crate) fn is_big_endian(&self) -> bool {
        self.big_endian
    }

    /// Whether this is XCDR2.
    #[inline]
    pub(crate) fn is_xcdr2(&self) -> bool {
        matches!(self.representation, Representation::Xcdr2)
    }

    /// Bytes written since the current alignment origin.
    #[inline]
    #[must_use]
    pub fn position(&self) -> usize {
        self.out.len().wrapping_sub(self.origin)
    }

    /// Appends zero bytes up to a multiple of `alignment` (a power of two, at most what the encoding
    /// version aligns to).
    #[inline]
    pub fn align(&mut self, alignment: usize) {
        let mask = alignment.wrapping_sub(1) & self.align_mask;
        let padding = self.origin.wrapping_sub(self.out.len()) & mask;
        if padding != 0 {
            self.pad(padding);
        }
    }

    #[inline]
    fn pad(&mut self, padding: usize) {
        const ZEROS: [u8; 8] = [0; 8];
        if let Some(zeros) = ZEROS.get(..padding) {
            self.out.extend_from_slice(zeros);
        }
    }

    /// Appends a primitive given in both byte orders.
    #[inline]
    fn put<const N: usize>(&mut self, alignment: usize, big: [u8; N], little: [u8; N]) {
        self.align(alignment);
        self.out.extend_from_slice(if self.big_endian { &big } else { &little });
    }

    /// Writes a byte.
    #[inline]
    pub fn write_u8(&mut self, value: u8) {
        self.out.push(value);
    }

    /// Writes a 16-bit integer.
    #[inline]
    pub fn write_u16(&mut self, value: u16) {
        self.put(2, value.to_be_bytes(), value.to_le_bytes());
    }

    /// Writes a 32-bit integer.
    #[inline]
    pub fn write_u32(&mut self, value: u32) {
        self.put(4, value.to_be_bytes(), value.to_le_bytes());
    }

    /// Writes a 64-bit integer.
    #[inline]
    pub fn write_u64(&mut self, value: u64) {
        self.put(8, value.to_be_bytes(), value.to_le_bytes());
    }

    /// Writes a 128-bit pattern (long double), aligned like a 64-bit value.
    #[inline]
    pub fn write_u128(&mut self, value: u128) {
        self.put(8, value.to_be_bytes(), value.to_le_bytes());
    }

    /// Appends bytes as they are, without length or alignment.
    #[inline]
    pub fn write_bytes(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// Appends the elements of a slice of primitives of `N` bytes each.
    #[inline]
    pub(crate) fn write_items<T: Copy, const N: usize>(
        &mut self,
        items: &[T],
        alignment: usize,
        big: fn(T) -> [u8; N],
        little: fn(T) -> [u8; N],
    ) {
        if items.is_empty() {
            return;
        }
        self.align(alignment);
        self.out.reserve(items.len().saturating_mul(N));
        let big_endian = self.big_endian;
        for block in items.chunks(items_in_block(N)) {
            let pairs =
                self.extend_by(block.len().saturating_mul(N)).as_chunks_mut::<N>().0.iter_mut().zip(block);
            if big_endian {
                pairs.for_each(|(to, from)| *to = big(*from));
            } else {
                pairs.for_each(|(to, from)| *to = little(*from));
            }
        }
    }

    /// Appends `len` zeros and returns them for filling.
    #[inline]
    pub(crate) fn extend_by(&mut self, len: usize) -> &mut [u8] {
        let start = self.out.len();
        self.out.resize(start.saturating_add(len), 0);
        self.out.get_mut(start..).unwrap_or_default()
    }

    /// Makes room for so many bytes at once.
    #[inline]
    pub(crate) fn reserve(&mut self, len: usize) {
        self.out.reserve(len);
    }

    /// Writes a length or count.
    ///
    /// # Errors
    /// [`CdrError::TooLong`] above 2³²−1.
    #[inline]
    pub fn write_len(&mut self, len: usize) -> Result<(), CdrError> {
        self.write_u32(u32::try_from(len).map_err(|_| CdrError::TooLong { len })?);
        Ok(())
    }

    /// Writes a string: length with NUL, bytes, NUL.
    ///
    /// # Errors
    /// [`CdrError::TooLong`] above 2³²−2 bytes.
    #[inline]
    pub fn write_str(&mut self, value: &str) -> Result<(), CdrError> {
        self.write_len(value.len().saturating_add(1))?;
        self.out.extend_from_slice(value.as_bytes());
        self.out.push(0);
        Ok(())
    }

    /// Overwrites the `u32` at index `at` of the vector.
    pub(crate) fn patch_u32(&mut self, at: usize, value: u32) {
        let bytes = if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
        if let Some(slot) = self.out.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<4>()) {
            *slot = bytes;
        }
    }
}
