//! Reading bytes: alignment, primitives, strings (DDS-XTypes 1.3 §7.4.1.1, §7.4.2.1; RTPS 2.5 §10.2).

use super::Decoder;
use crate::CdrError;

impl<'de> Decoder<'de> {
    /// Skips padding up to a multiple of `alignment` (a power of two, at most what the encoding version aligns to).
    /// Padding may reach beyond the end; the next read notices.
    #[inline]
    pub fn align(&mut self, alignment: usize) {
        let mask = alignment.wrapping_sub(1) & self.align_mask;
        let padding = self.origin.wrapping_sub(self.pos) & mask;
        self.pos = self.pos.saturating_add(padding);
    }

    #[inline]
    fn take<const N: usize>(&mut self, alignment: usize) -> Result<[u8; N], CdrError> {
        self.align(alignment);
        match self.data.get(self.pos..).and_then(|rest| rest.first_chunk::<N>()) {
            Some(bytes) => {
                self.pos = self.pos.saturating_add(N);
                Ok(*bytes)
            }
            None => Err(self.unexpected_end(N)),
        }
    }

    /// Reads `n` bytes as they are.
    ///
    /// # Errors
    /// [`CdrError::UnexpectedEnd`].
    #[inline]
    pub fn read_bytes(&mut self, n: usize) -> Result<&'de [u8], CdrError> {
        match self.data.get(self.pos..).and_then(|rest| rest.get(..n)) {
            Some(bytes) => {
                self.pos = self.pos.saturating_add(n);
                Ok(bytes)
            }
            None => Err(self.unexpected_end(n)),
        }
    }

    /// Reads a byte.
    ///
    /// # Errors
    /// [`CdrError::UnexpectedEnd`].
    #[inline]
    pub fn read_u8(&mut self) -> Result<u8, CdrError> {
        self.take::<1>(1).map(|[b]| b)
    }

    /// Reads a 16-bit integer.
    ///
    /// # Errors
    /// [`CdrError::UnexpectedEnd`].
    #[inline]
    pub fn read_u16(&mut self) -> Result<u16, CdrError> {
        let bytes = self.take(2)?;
        Ok(if self.big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    }

    /// Reads a 32-bit integer.
    ///
    /// # Errors
    /// [`CdrError::UnexpectedEnd`].
    #[inline]
    pub fn read_u32(&mut self) -> Result<u32, CdrError> {
        let bytes = self.take(4)?;
        Ok(if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    /// Reads a 64-bit integer.
    ///
    /// # Errors
    /// [`CdrError::UnexpectedEnd`].
    #[inline]
    pub fn read_u64(&mut self) -> Result<u64, CdrError> {
        let bytes = self.take(8)?;
        Ok(if self.big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) })
    }

    /// Reads a 128-bit pattern (long double), aligned like a 64-bit value.
    ///
    /// # Errors
    /// [`CdrError::UnexpectedEnd`].
    #[inline]
    pub fn read_u128(&mut self) -> Result<u128, CdrError> {
        let bytes = self.take(8)?;
        Ok(if self.big_endian { u128::from_be_bytes(bytes) } else { u128::from_le_bytes(bytes) })
    }

    /// Reads a boolean, which must be 0 or 1.
    ///
    /// # Errors
    /// [`CdrError::UnexpectedEnd`], [`CdrError::InvalidBool`].
    #[inline]
    pub fn read_bool(&mut self) -> Result<bool, CdrError> {
        match self.read_u8()? {
            0 => Ok(false),
            1 => Ok(true),
            value => Err(CdrError::InvalidBool { value }),
        }
    }

    /// Reads a string in place. Length 0 (instead of 1 for an empty string) is seen in the wild and accepted.
    ///
    /// # Errors
    /// [`CdrError::UnexpectedEnd`]; [`CdrError::InvalidString`] without final NUL or if not UTF-8.
    #[inline]
    pub fn read_str(&mut self) -> Result<&'de str, CdrError> {
        let len = self.read_len()?;
        if len == 0 {
            return Ok("");
        }
        let bytes = self.read_bytes(len)?;
        let text = bytes.split_last().filter(|(nul, _)| **nul == 0);
        text.and_then(|(_, text)| core::str::from_utf8(text).ok())
            .ok_or(CdrError::InvalidString { offset: self.pos })
    }

    /// Reads a length in bytes and checks that as many are present.
    ///
    /// # Errors
    /// [`CdrError::UnexpectedEnd`].
    #[inline]
    pub fn read_len(&mut self) -> Result<usize, CdrError> {
        let len = usize::try_from(self.read_u32()?).unwrap_or(usize::MAX);
        if len > self.remaining() { Err(self.unexpected_end(len)) } else { Ok(len) }
    }

    /// Reads the bytes of `n` primitives of `N` bytes each.
    #[inline]
    pub(crate) fn read_items<const N: usize>(
        &mut self,
        n: usize,
        alignment: usize,
    ) -> Result<&'de [[u8; N]], CdrError> {
        if n == 0 {
            return Ok(&[]);
        }
        self.align(alignment);
        Ok(self.read_bytes(n.saturating_mul(N))?.as_chunks::<N>().0)
    }
}
