//! Reading structures, delimiters and member headers (DDS-XTypes 1.3 §7.4.3.5 rules 10-30, §7.4.1.2).

use super::Decoder;
use crate::{CdrError, CdrRead, ElementKind, Extensibility, LimitKind, Scope};

/// Bits of a short XCDR1 member id, without its two flags.
const PID_MASK: u16 = 0x3fff;
const PID_EXTENDED: u16 = 0x3f01;
const PID_LIST_END: u16 = 0x3f02;
const PID_IGNORE: u16 = 0x3f03;
const ID_MASK: u32 = 0x0fff_ffff;

/// A member of a mutable type whose value is next; give it back to [`Decoder::end_member`].
#[derive(Debug)]
#[must_use]
pub struct Member<'de> {
    /// The member id.
    pub id: u32,
    /// Whether a reader that does not know the member has to discard the sample.
    pub must_understand: bool,
    outer: &'de [u8],
    outer_origin: usize,
}

/// A decoded member header.
struct Header {
    id: u32,
    must_understand: bool,
    /// The member belongs to the sender's implementation, not to the type.
    private: bool,
    len: usize,
}

impl<'de> Decoder<'de> {
    /// Reads a structure or union of the given extensibility; `members` reads its members.
    ///
    /// # Errors
    /// Those of `members`; [`CdrError::LimitExceeded`] when values nest too deeply; [`CdrError::UnexpectedEnd`].
    #[inline]
    pub fn read_struct<R>(
        &mut self,
        extensibility: Extensibility,
        members: impl FnOnce(&mut Self) -> Result<R, CdrError>,
    ) -> Result<R, CdrError> {
        let Some(depth) = self.depth.checked_sub(1) else {
            return Err(CdrError::LimitExceeded { limit: LimitKind::Depth });
        };
        self.depth = depth;
        let result = if self.is_delimited(extensibility) {
            let region = self.enter_delimited()?;
            let result = members(self)?;
            self.leave(region);
            result
        } else {
            members(self)?
        };
        self.depth = depth.wrapping_add(1);
        Ok(result)
    }

    /// Skips a structure or union; `members` skips its members where nothing delimits them.
    ///
    /// # Errors
    /// As [`Decoder::read_struct`].
    #[inline]
    pub fn skip_struct(
        &mut self,
        extensibility: Extensibility,
        members: impl FnOnce(&mut Self) -> Result<(), CdrError>,
    ) -> Result<(), CdrError> {
        let Some(depth) = self.depth.checked_sub(1) else {
            return Err(CdrError::LimitExceeded { limit: LimitKind::Depth });
        };
        self.depth = depth;
        if self.is_delimited(extensibility) {
            let region = self.enter_delimited()?;
            self.leave(region);
        } else {
            members(self)?;
        }
        self.depth = depth.wrapping_add(1);
        Ok(())
    }

    /// Whether the structure that starts here has a DHEADER.
    #[inline]
    fn is_delimited(&mut self, extensibility: Extensibility) -> bool {
        let delimited = self.is_xcdr2()
            && !matches!(extensibility, Extensibility::Final)
            && !matches!(self.scope, Scope::KeyHash);
        delimited && !core::mem::take(&mut self.undelimited_top)
    }

    /// Enters the next member of a mutable type, or returns `None` after the last.
    ///
    /// # Errors
    /// [`CdrError::UnexpectedEnd`], [`CdrError::InvalidMemberHeader`].
    pub fn next_member(&mut self) -> Result<Option<Member<'de>>, CdrError> {
        if self.is_xcdr2() {
            let header = self.read_emheader()?;
            return header.map(|header| self.enter_member(&header)).transpose();
        }
        while let Some(header) = self.read_xcdr1_header()? {
            let member = self.enter_member(&header)?;
            if !header.private {
                return Ok(Some(member));
            }
            // A member of the sender's implementation, whose id means nothing here.
            self.unknown_member(&member, false)?;
            self.end_member(member);
        }
        Ok(None)
    }

    fn enter_member(&mut self, header: &Header) -> Result<Member<'de>, CdrError> {
        let region = self.enter(header.len)?;
        let outer_origin = self.origin;
        if !self.is_xcdr2() {
            self.origin = self.pos;
        }
        let Header { id, must_understand, .. } = *header;
        Ok(Member { id, must_understand, outer: region.outer, outer_origin })
    }

    /// Goes on after a member, whatever of it has been read.
    #[inline]
    pub fn end_member(&mut self, member: Member<'de>) {
        self.pos = self.data.len();
        self.data = member.outer;
        self.origin = member.outer_origin;
    }

    /// Decides about a member that the local type lacks: to be skipped, unless it has to be understood.
    ///
    /// # Errors
    /// [`CdrError::MustUnderstand`].
    pub fn unknown_member(&self, member: &Member<'de>, known_elsewhere: bool) -> Result<(), CdrError> {
        if member.must_understand && !known_elsewhere {
            return Err(CdrError::MustUnderstand { id: member.id });
        }
        Ok(())
    }

    fn read_emheader(&mut self) -> Result<Option<Header>, CdrError> {
        self.align(4);
        // Fewer bytes than a header are padding.
        if self.remaining() < 4 {
            return Ok(None);
        }
        let word = self.read_u32()?;
        let len = match (word >> 28) & 7 {
            0 => 1,
            1 => 2,
            2 => 4,
            3 => 8,
            4 => self.read_len()?,
            code => self.peek_units(match code {
                5 => 1,
                6 => 4,
                _ => 8,
            })?,
        };
        Ok(Some(Header { id: word & ID_MASK, must_understand: word >> 31 == 1, private: false, len }))
    }

    /// Size of a member that starts with its own count of units of `unit` bytes.
    fn peek_units(&mut self, unit: usize) -> Result<usize, CdrError> {
        let start = self.mark();
        let count = usize::try_from(self.read_u32()?).unwrap_or(usize::MAX);
        self.reset(start);
        Ok(count.saturating_mul(unit).saturating_add(4))
    }

    fn read_xcdr1_header(&mut self) -> Result<Option<Header>, CdrError> {
        loop {
            self.align(4);
            let (flags, len) = (self.read_u16()?, usize::from(self.read_u16()?));
            match flags & PID_MASK {
                PID_LIST_END => return Ok(None),
                PID_IGNORE => {
                    self.read_bytes(len)?;
                }
                PID_EXTENDED => return self.read_extended(len).map(Some),
                id => {
                    let (must_understand, private) = (flags & 0x4000 != 0, flags & 0x8000 != 0);
                    return Ok(Some(Header { id: u32::from(id), must_understand, private, len }));
                }
            }
        }
    }

    fn read_extended(&mut self, header_len: usize) -> Result<Header, CdrError> {
        let Some(more) = header_len.checked_sub(8) else {
            return Err(CdrError::InvalidMemberHeader { offset: self.pos });
        };
        let (word, len) = (self.read_u32()?, self.read_u32()?);
        self.read_bytes(more)?;
        Ok(Header {
            id: word & ID_MASK,
            must_understand: word & 0x4000_0000 != 0,
            private: word & 0x8000_0000 != 0,
            len: usize::try_from(len).unwrap_or(usize::MAX),
        })
    }

    /// Reads an optional member of a final or appendable type with `value`, if it is present.
    ///
    /// # Errors
    /// Those of `value`, [`CdrError::InvalidBool`], [`CdrError::InvalidMemberHeader`],
    /// [`CdrError::UnexpectedEnd`].
    #[inline]
    pub fn read_optional<R>(
        &mut self,
        value: impl FnOnce(&mut Self) -> Result<R, CdrError>,
    ) -> Result<Option<R>, CdrError> {
        if self.is_xcdr2() {
            return if self.read_bool()? { value(self).map(Some) } else { Ok(None) };
        }
        // The position decides which member it is: vendors number members differently.
        let header = self.read_xcdr1_header()?.ok_or(CdrError::InvalidMemberHeader { offset: self.pos })?;
        if header.len == 0 {
            return Ok(None);
        }
        let member = self.enter_member(&header)?;
        let result = value(self)?;
        self.end_member(member);
        Ok(Some(result))
    }

    /// Reads a value; if its bytes are well formed but make no value of the type, skips it and takes `default`.
    ///
    /// # Errors
    /// Those of the value except construction failures.
    pub fn read_or<T: CdrRead<'de>>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, CdrError>,
        default: impl FnOnce() -> T,
    ) -> Result<T, CdrError> {
        let start = self.mark();
        match read(self) {
            // What to skip is not known where members are in the order of their ids.
            Err(error) if error.is_construction_failure() && self.scope() != Scope::KeyHash => {
                self.reset(start);
                T::skip(self)?;
                Ok(default())
            }
            result => result,
        }
    }

    /// Reads what follows a DHEADER, if a collection of such elements has one.
    ///
    /// # Errors
    /// Those of `elements`; [`CdrError::UnexpectedEnd`].
    #[inline]
    pub fn read_elements<R>(
        &mut self,
        kind: ElementKind,
        elements: impl FnOnce(&mut Self) -> Result<R, CdrError>,
    ) -> Result<R, CdrError> {
        if !self.has_dheader(kind) {
            return elements(self);
        }
        let region = self.enter_delimited()?;
        let result = elements(self)?;
        self.leave(region);
        Ok(result)
    }

    /// Whether a collection of such elements has a DHEADER.
    #[inline]
    #[must_use]
    pub fn has_dheader(&self, kind: ElementKind) -> bool {
        self.is_xcdr2()
            && match kind {
                ElementKind::Primitive => false,
                ElementKind::EnumLike => !self.options.no_dheader_for_enum_elements,
                ElementKind::Compound => true,
            }
    }
}
