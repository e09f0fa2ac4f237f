//! Writing structures, delimiters and member headers (DDS-XTypes 1.3 §7.4.3.5 rules 10-30).

use super::Encoder;
use crate::{CdrError, CdrWrite, Extensibility, LengthCode, LimitKind, Scope};

/// Short-form identifier that announces a long member header, flagged must-understand.
const EXTENDED: u16 = 0x7f01;
/// Bytes of the long header's second part.
const EXTENDED_LENGTH: u16 = 8;
/// End of a parameter list, flagged must-understand.
const LIST_END: u16 = 0x7f02;
/// Must-understand flag of a long XCDR1 header.
const XCDR1_MUST_UNDERSTAND: u32 = 0x4000_0000;
/// Must-understand flag of EMHEADER1.
const XCDR2_MUST_UNDERSTAND: u32 = 0x8000_0000;

impl Encoder<'_> {
    /// Writes what `body` writes, after a `u32` with its size (a DHEADER or a NEXTINT).
    ///
    /// # Errors
    /// Those of `body`, and [`CdrError::TooLong`].
    #[inline]
    pub fn write_delimited(
        &mut self,
        body: impl FnOnce(&mut Self) -> Result<(), CdrError>,
    ) -> Result<(), CdrError> {
        self.write_u32(0);
        let start = self.out.len();
        body(self)?;
        let len = self.out.len().wrapping_sub(start);
        self.patch_u32(start.wrapping_sub(4), u32::try_from(len).map_err(|_| CdrError::TooLong { len })?);
        Ok(())
    }

    /// Writes a DHEADER before `body` only if the encoding version and `needed` ask for one.
    ///
    /// # Errors
    /// As [`Encoder::write_delimited`].
    #[inline]
    pub fn write_delimited_if(
        &mut self,
        needed: bool,
        body: impl FnOnce(&mut Self) -> Result<(), CdrError>,
    ) -> Result<(), CdrError> {
        if needed && self.is_xcdr2() { self.write_delimited(body) } else { body(self) }
    }

    /// Writes a structure or union of the given extensibility; `members` writes its members.
    ///
    /// # Errors
    /// Those of `members`; [`CdrError::LimitExceeded`] when values nest too deeply.
    #[inline]
    pub fn write_struct(
        &mut self,
        extensibility: Extensibility,
        members: impl FnOnce(&mut Self) -> Result<(), CdrError>,
    ) -> Result<(), CdrError> {
        let Some(depth) = self.depth.checked_sub(1) else {
            return Err(CdrError::LimitExceeded { limit: LimitKind::Depth });
        };
        self.depth = depth;
        if matches!(extensibility, Extensibility::Final) || self.scope() == Scope::KeyHash {
            members(self)?;
        } else if self.is_xcdr2() {
            self.write_delimited(members)?;
        } else {
            members(self)?;
            if matches!(extensibility, Extensibility::Mutable) {
                self.align(4);
                self.write_u16(LIST_END);
                self.write_u16(0);
            }
        }
        self.depth = depth.wrapping_add(1);
        Ok(())
    }

    /// Writes a member of a mutable type with its header.
    ///
    /// # Errors
    /// Those of the member's value.
    #[inline]
    pub fn write_member<T: CdrWrite + ?Sized>(
        &mut self,
        id: u32,
        must_understand: bool,
        value: &T,
    ) -> Result<(), CdrError> {
        self.write_member_as(id, must_understand, T::LENGTH_CODE, |e| value.write(e))
    }

    /// Writes a member of a mutable type with its header; `value` writes its value, whose size is announced by `code`.
    ///
    /// # Errors
    /// Those of `value`.
    #[inline]
    pub fn write_member_as(
        &mut self,
        id: u32,
        must_understand: bool,
        code: LengthCode,
        value: impl FnOnce(&mut Self) -> Result<(), CdrError>,
    ) -> Result<(), CdrError> {
        if self.scope() == Scope::KeyHash {
            return value(self);
        }
        if !self.is_xcdr2() {
            return self.write_long_header(id, must_understand, Some(value));
        }
        let flag = if must_understand { XCDR2_MUST_UNDERSTAND } else { 0 };
        self.write_u32(flag | (code.code() << 28) | (id & 0x0fff_ffff));
        if matches!(code, LengthCode::NextInt) { self.write_delimited(value) } else { value(self) }
    }

    /// Writes an optional member of a mutable type: nothing if absent.
    ///
    /// # Errors
    /// Those of the member's value.
    #[inline]
    pub fn write_optional_member<T: CdrWrite>(
        &mut self,
        id: u32,
        must_understand: bool,
        value: Option<&T>,
    ) -> Result<(), CdrError> {
        match value {
            // In a key every type is final, so presence needs its flag.
            _ if self.scope() == Scope::KeyHash => self.write_optional(id, must_understand, value),
            Some(value) => self.write_member(id, must_understand, value),
            None => Ok(()),
        }
    }

    /// Writes an optional member of a final or appendable type.
    ///
    /// # Errors
    /// Those of the member's value.
    #[inline]
    pub fn write_optional<T: CdrWrite>(
        &mut self,
        id: u32,
        must_understand: bool,
        value: Option<&T>,
    ) -> Result<(), CdrError> {
        self.write_optional_as(id, must_understand, value.map(|value| |e: &mut Self| value.write(e)))
    }

    /// Writes an optional member of a final or appendable type, whose value `value` writes, if it is present.
    ///
    /// # Errors
    /// Those of `value`.
    #[inline]
    pub fn write_optional_as(
        &mut self,
        id: u32,
        must_understand: bool,
        value: Option<impl FnOnce(&mut Self) -> Result<(), CdrError>>,
    ) -> Result<(), CdrError> {
        if !self.is_xcdr2() {
            return self.write_long_header(id, must_understand, value);
        }
        self.write_u8(u8::from(value.is_some()));
        value.map_or(Ok(()), |value| value(self))
    }

    /// Writes a member in XCDR1 with the long header, which holds any id and size: the size is not known before the
    /// value is written, and the short form would have to be widened afterwards. Alignment restarts at the value.
    fn write_long_header(
        &mut self,
        id: u32,
        must_understand: bool,
        value: Option<impl FnOnce(&mut Self) -> Result<(), CdrError>>,
    ) -> Result<(), CdrError> {
        self.align(4);
        self.write_u16(EXTENDED);
        self.write_u16(EXTENDED_LENGTH);
        self.write_u32(if must_understand { id | XCDR1_MUST_UNDERSTAND } else { id });
        let Some(value) = value else {
            self.write_u32(0);
            return Ok(());
        };
        self.write_delimited(|e| {
            let outer = e.origin;
            e.origin = e.out.len();
            value(e)?;
            e.origin = outer;
            Ok(())
        })
    }
}
