//! RTPS 2.5 §9.4.2.11 "ParameterList": walking a list. The whole structure is checked once, before anything is read.

use dunlin_core::VendorId;

use super::pid;
use crate::cursor::Cursor;
use crate::{Endianness, Malformation, ParamReader, WireError};

const ALIGNMENT: usize = 4;
const EXTENDED_HEADER_LEN: usize = 8;
const EXTENDED_ID_MASK: u32 = 0x0fff_ffff;
const EXTENDED_MUST_UNDERSTAND: u32 = 0x4000_0000;
/// Encapsulation identifiers of parameter lists (§10.2).
const PL_CDR_BE: [u8; 2] = [0x00, 0x02];
const PL_CDR_LE: [u8; 2] = [0x00, 0x03];

/// A well-formed list of parameters inside received bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParameterList<'a> {
    /// From the first parameter to the end of the sentinel, if there is one.
    bytes: &'a [u8],
    endianness: Endianness,
}

/// One parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter<'a> {
    /// Parameter id with its flag bits, see [`pid`].
    pub pid: u16,
    /// Value with its padding.
    pub value: &'a [u8],
}

/// Iterator over the parameters of a list, without padding and sentinel.
#[derive(Debug, Clone)]
pub struct Parameters<'a> {
    cursor: Cursor<'a>,
}

/// What stands at one position of a list.
enum Element<'a> {
    Parameter(Parameter<'a>),
    Padding,
    Sentinel,
}

impl<'a> ParameterList<'a> {
    /// Reads the list at the start of `bytes` and returns it with the bytes it takes, sentinel included.
    ///
    /// # Errors
    /// [`WireError::ParameterList`] when a parameter's length is not a multiple of four, when a parameter runs past the
    /// end or when there is no sentinel.
    pub fn parse(bytes: &'a [u8], endianness: Endianness) -> Result<(Self, usize), WireError> {
        Self::scan(bytes, endianness).map_err(WireError::ParameterList)
    }

    /// Reads a serialized payload that consists of the encapsulation header PL_CDR_BE or PL_CDR_LE and a list.
    ///
    /// # Errors
    /// [`WireError::TooShort`] without encapsulation header, [`WireError::ParameterList`] for another encapsulation or
    /// as for [`ParameterList::parse`].
    pub fn from_payload(payload: &'a [u8]) -> Result<Self, WireError> {
        let (header, list) = payload.split_first_chunk::<ALIGNMENT>().ok_or(WireError::TooShort)?;
        let endianness = match header {
            [a, b, ..] if [*a, *b] == PL_CDR_LE => Endianness::Little,
            [a, b, ..] if [*a, *b] == PL_CDR_BE => Endianness::Big,
            _ => return Err(WireError::ParameterList(Malformation::Payload)),
        };
        Ok(Self::parse(list, endianness)?.0)
    }

    pub(crate) fn scan(bytes: &'a [u8], endianness: Endianness) -> Result<(Self, usize), Malformation> {
        let mut cursor = Cursor::new(bytes, endianness);
        while !matches!(element(&mut cursor)?, Element::Sentinel) {}
        let consumed = bytes.len().saturating_sub(cursor.remaining());
        let bytes = bytes.get(..consumed).unwrap_or(bytes);
        Ok((Self { bytes, endianness }, consumed))
    }

    /// As [`ParameterList::scan`] for the one place where the sentinel may be missing (§9.4.5).
    pub(crate) fn scan_open(bytes: &'a [u8], endianness: Endianness) -> Result<Self, Malformation> {
        let mut cursor = Cursor::new(bytes, endianness);
        while cursor.remaining() > 0 {
            if matches!(element(&mut cursor)?, Element::Sentinel) {
                break;
            }
        }
        let consumed = bytes.len().saturating_sub(cursor.remaining());
        Ok(Self { bytes: bytes.get(..consumed).unwrap_or(bytes), endianness })
    }

    /// Byte order of the values.
    pub const fn endianness(&self) -> Endianness {
        self.endianness
    }

    /// The bytes of the list, sentinel included.
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The parameters in order.
    pub const fn iter(&self) -> Parameters<'a> {
        Parameters { cursor: Cursor::new(self.bytes, self.endianness) }
    }

    /// The value of the first parameter `pid`.
    pub fn find(&self, pid: u16) -> Option<&'a [u8]> {
        self.iter().find(|parameter| parameter.pid == pid).map(|parameter| parameter.value)
    }

    /// A reader of the value of the first parameter `pid`.
    pub fn read(&self, pid: u16) -> Option<ParamReader<'a>> {
        self.find(pid).map(|value| ParamReader::new(value, self.endianness))
    }

    /// The first parameter that has to be understood and is unknown to this crate, if any: then whatever carries the
    /// list has to be dropped (§9.4.2.11.2).
    pub fn not_understood(&self) -> Option<u16> {
        self.iter().map(|parameter| parameter.pid).find(|pid| pid::is_incomprehensible(*pid))
    }

    /// The first value of a parameter of `vendor`'s own, when `source` is that vendor: the same identifier means
    /// something else to every vendor.
    pub fn find_of_vendor(&self, vendor: VendorId, source: VendorId, pid: u16) -> Option<&'a [u8]> {
        if vendor == source { self.find(pid) } else { None }
    }
}

impl<'a> IntoIterator for ParameterList<'a> {
    type Item = Parameter<'a>;
    type IntoIter = Parameters<'a>;

    fn into_iter(self) -> Parameters<'a> {
        self.iter()
    }
}

impl<'a> IntoIterator for &ParameterList<'a> {
    type Item = Parameter<'a>;
    type IntoIter = Parameters<'a>;

    fn into_iter(self) -> Parameters<'a> {
        self.iter()
    }
}

impl<'a> Iterator for Parameters<'a> {
    type Item = Parameter<'a>;

    fn next(&mut self) -> Option<Parameter<'a>> {
        loop {
            match element(&mut self.cursor) {
                Ok(Element::Parameter(parameter)) => return Some(parameter),
                Ok(Element::Padding) => {}
                // A list was checked when it was made; it can only end.
                Ok(Element::Sentinel) | Err(_) => {
                    self.cursor = Cursor::new(&[], self.cursor.endianness());
                    return None;
                }
            }
        }
    }
}

/// Reads one element; each takes at least four bytes, so a walk ends.
fn element<'a>(cursor: &mut Cursor<'a>) -> Result<Element<'a>, Malformation> {
    let end = |_| Malformation::ParameterListEnd;
    let id = cursor.u16().map_err(end)?;
    let length = usize::from(cursor.u16().map_err(end)?);
    if id == pid::SENTINEL || id & !pid::MUST_UNDERSTAND == pid::LIST_END {
        return Ok(Element::Sentinel);
    }
    if !length.is_multiple_of(ALIGNMENT) {
        return Err(Malformation::ParameterLength);
    }
    let value = cursor.take(length).map_err(end)?;
    match id & !pid::MUST_UNDERSTAND {
        pid::PAD => Ok(Element::Padding),
        pid::EXTENDED => extended(id, value, cursor).map(Element::Parameter),
        _ => Ok(Element::Parameter(Parameter { pid: id, value })),
    }
}

/// XTypes 1.3 §7.4.1.2: the value of this parameter is a member id and a length in 32 bits, and the member's bytes
/// follow it. A member id that is no ordinary parameter id is reported under the extended identifier itself.
fn extended<'a>(id: u16, header: &'a [u8], cursor: &mut Cursor<'a>) -> Result<Parameter<'a>, Malformation> {
    if header.len() < EXTENDED_HEADER_LEN {
        return Err(Malformation::ParameterValue);
    }
    let mut fields = Cursor::new(header, cursor.endianness());
    let member = fields.u32()?;
    let length = usize::try_from(fields.u32()?).map_err(|_| Malformation::ParameterListEnd)?;
    if !length.is_multiple_of(ALIGNMENT) {
        return Err(Malformation::ParameterLength);
    }
    let value = cursor.take(length).map_err(|_| Malformation::ParameterListEnd)?;
    let must_understand = id & pid::MUST_UNDERSTAND != 0 || member & EXTENDED_MUST_UNDERSTAND != 0;
    let flag = if must_understand { pid::MUST_UNDERSTAND } else { 0 };
    let ordinary = |short: &u16| *short > pid::SENTINEL && *short < pid::EXTENDED;
    let short = u16::try_from(member & EXTENDED_ID_MASK).ok().filter(ordinary);
    Ok(Parameter { pid: short.unwrap_or(pid::EXTENDED) | flag, value })
}

#[cfg(test)]
mod tests;
