//! RTPS 2.5 §8.3.4.1 "Rules Followed by the Message Receiver" and §9.4.5.1 "Submessage Header": walking a message.

use crate::checksum::Checksum;
use crate::submessage::{self, NotUnderstood, Reject, Submessage, kind};
use crate::{Endianness, Header, HeaderExtension, Malformation, WireError, size};

/// A received message whose header has been checked.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    bytes: &'a [u8],
    header: Header,
}

/// A submessage with its place in the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parsed<'a> {
    /// Submessage id, see [`kind`].
    pub kind: u8,
    /// Flags as received.
    pub flags: u8,
    /// Offset of the submessage header from the start of the message.
    pub offset: usize,
    /// The octets of the submessage, header included.
    pub raw: &'a [u8],
    /// What it says.
    pub body: Submessage<'a>,
}

/// Iterator over the submessages of a message. An error is its last item: the rest of the message is dropped.
#[derive(Debug, Clone)]
pub struct Submessages<'a> {
    bytes: &'a [u8],
    offset: usize,
}

/// A place in a walk through the submessages of a message.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// Where the message ends, as its header extension says.
    end: usize,
    offset: usize,
}

impl<'a> Message<'a> {
    /// Checks the header of a message.
    ///
    /// # Errors
    /// [`WireError::TooShort`], [`WireError::NotRtps`] or [`WireError::UnsupportedVersion`]: drop the message.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, WireError> {
        Ok(Self { bytes, header: Header::parse(bytes)? })
    }

    /// The header.
    pub const fn header(&self) -> Header {
        self.header
    }

    /// All octets of the message.
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Goes on with a walk through this message.
    #[must_use]
    pub fn submessages_from(&self, place: Place) -> Submessages<'a> {
        Submessages { bytes: self.bytes.get(..place.end).unwrap_or(self.bytes), offset: place.offset }
    }

    /// Walks the submessages.
    ///
    /// A header extension limits the walk to the message length that it gives, and its checksum is verified.
    pub const fn submessages(&self) -> Submessages<'a> {
        Submessages { bytes: self.bytes, offset: size::HEADER }
    }
}

impl<'a> IntoIterator for &Message<'a> {
    type Item = Result<Parsed<'a>, WireError>;
    type IntoIter = Submessages<'a>;

    fn into_iter(self) -> Submessages<'a> {
        self.submessages()
    }
}

impl<'a> Iterator for Submessages<'a> {
    type Item = Result<Parsed<'a>, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.offset >= self.bytes.len() {
            return None;
        }
        let parsed = self.read();
        if parsed.is_err() {
            self.offset = self.bytes.len();
        }
        Some(parsed)
    }
}

impl core::iter::FusedIterator for Submessages<'_> {}

impl<'a> Submessages<'a> {
    /// Where the walk is, to go on from [there](Message::submessages_from).
    #[must_use]
    pub fn place(&self) -> Place {
        Place { end: self.bytes.len(), offset: self.offset }
    }

    /// What was not walked yet.
    pub(crate) fn rest(&self) -> Option<&'a [u8]> {
        self.bytes.get(self.offset..)
    }

    /// How many octets were not walked yet.
    #[must_use]
    pub fn octets_left(&self) -> usize {
        self.bytes.len().saturating_sub(self.offset)
    }

    /// The same walk through a copy of the message.
    #[must_use]
    pub fn within<'b>(&self, copy: &'b [u8]) -> Submessages<'b> {
        Submessages { bytes: copy.get(..self.bytes.len()).unwrap_or(&[]), offset: self.offset }
    }

    /// Goes on where a walk through a copy of the message is.
    pub fn catch_up(&mut self, copy: &Submessages<'_>) {
        self.offset = copy.offset;
    }

    /// Goes on with these last octets of the message.
    pub(crate) fn go_on_with(&mut self, rest: &[u8]) {
        self.offset = self.bytes.len().saturating_sub(rest.len());
    }

    fn read(&mut self) -> Result<Parsed<'a>, WireError> {
        let offset = self.offset;
        let rest = self.bytes.get(offset..).ok_or(WireError::LengthBeyondMessage)?;
        let (kind, flags, end) = extent(rest)?;
        let raw = rest.get(..end).ok_or(WireError::LengthBeyondMessage)?;
        let octets = raw.get(size::SUBMESSAGE_HEADER..).ok_or(WireError::LengthBeyondMessage)?;
        let body = self.interpret(kind, flags, octets)?;
        self.offset = offset.saturating_add(end);
        Ok(Parsed { kind, flags, offset, raw, body })
    }

    fn interpret(&mut self, kind: u8, flags: u8, octets: &'a [u8]) -> Result<Submessage<'a>, WireError> {
        let malformed = |reason| WireError::Malformed { kind, reason };
        match submessage::parse(kind, flags, octets) {
            Ok(Submessage::HeaderExtension(extension)) => {
                self.extend_header(&extension, octets.len()).map_err(|error| match error {
                    Extension::Malformed(reason) => malformed(reason),
                    Extension::Refused(error) => error,
                })?;
                Ok(Submessage::HeaderExtension(extension))
            }
            Ok(body) => Ok(body),
            Err(Reject::Malformed(reason)) => Err(malformed(reason)),
            Err(Reject::NotUnderstood(reason)) => Ok(Submessage::NotUnderstood(reason)),
        }
    }

    /// Applies what a header extension says about the whole message (§8.3.7.4).
    fn extend_header(&mut self, extension: &HeaderExtension<'_>, body_len: usize) -> Result<(), Extension> {
        if self.offset != size::HEADER {
            return Err(Extension::Malformed(Malformation::Misplaced));
        }
        if let Some(pid) = extension.parameters.and_then(|list| list.not_understood()) {
            return Err(Extension::Refused(WireError::NotUnderstoodParameter { pid }));
        }
        let body = self.offset.saturating_add(size::SUBMESSAGE_HEADER);
        if let Some(length) = extension.message_length {
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            let inside = length >= body.saturating_add(body_len);
            let whole = self.bytes.get(..length).filter(|_| inside);
            self.bytes = whole.ok_or(Extension::Malformed(Malformation::MessageLength))?;
        }
        let Some(stated) = extension.checksum else { return Ok(()) };
        let position = body.saturating_add(extension.checksum_offset);
        if Checksum::of_message(stated.kind, self.bytes, position) == Some(stated) {
            Ok(())
        } else {
            Err(Extension::Refused(WireError::ChecksumMismatch))
        }
    }
}

/// Why a header extension makes the message unusable.
enum Extension {
    Malformed(Malformation),
    Refused(WireError),
}

/// Id, flags and total length, which may be more than is there, of the submessage at the start of `rest` (§9.4.5.1.3): a
/// length field of zero means "to the end of the message", except where a submessage may be empty.
fn extent(rest: &[u8]) -> Result<(u8, u8, usize), WireError> {
    let ([kind, flags, l0, l1], body) = rest.split_first_chunk().ok_or(WireError::LengthBeyondMessage)?;
    let stated = match Endianness::from_flags(*flags) {
        Endianness::Big => u16::from_be_bytes([*l0, *l1]),
        Endianness::Little => u16::from_le_bytes([*l0, *l1]),
    };
    let length = if stated == 0 && !kind::may_be_empty(*kind) { body.len() } else { usize::from(stated) };
    Ok((*kind, *flags, size::SUBMESSAGE_HEADER.saturating_add(length)))
}

impl NotUnderstood {
    /// Which rule makes a receiver skip the submessage.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EntityKind(_) => "entity id of another kind",
            Self::Parameter(_) => "unknown parameter that has to be understood",
        }
    }
}
