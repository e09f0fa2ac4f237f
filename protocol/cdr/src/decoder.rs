//! Reading serialized values: state, regions and limits (DDS-XTypes 1.3 §7.4.1, §7.4.2; RTPS 2.5 §10.2).

mod compound;
mod octets;

pub use compound::Member;

use crate::{
    CdrError, DecodeOptions, EncapsulationHeader, Endianness, Extensibility, LimitKind, Limits,
    Representation, Scope,
};

/// Reads values from a byte slice. Never panics; work and memory are bounded by the bytes present and by
/// [`Limits`].
#[derive(Clone, Debug)]
pub struct Decoder<'de> {
    /// The bytes up to the end of the innermost delimited region.
    data: &'de [u8],
    pos: usize,
    origin: usize,
    align_mask: usize,
    big_endian: bool,
    representation: Representation,
    scope: Scope,
    /// The outermost appendable type comes without its DHEADER.
    undelimited_top: bool,
    depth: u16,
    keys: Keys,
    max_sequence_len: usize,
    /// Heap bytes that may still be claimed.
    heap: usize,
    /// Elements without any bytes that may still be made.
    empties: usize,
    /// Values that a search went past.
    passed: usize,
    options: DecodeOptions,
}

/// Whether `@key` counts where the decoder is: in a structure that is no part of the topic's key it says nothing
/// (DDS-XTypes 1.3 §7.2.4.4.8, key erased types).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keys {
    /// Before the outermost structure or union, which decides.
    Undecided,
    Count,
    Erased,
}

/// A position to come back to.
#[derive(Clone, Copy, Debug)]
pub struct Mark<'de> {
    data: &'de [u8],
    pos: usize,
    origin: usize,
    depth: u16,
}

/// A delimited part of the input that has been entered; give it back to [`Decoder::leave`].
#[derive(Debug)]
#[must_use]
pub struct Region<'de> {
    outer: &'de [u8],
}

impl<'de> Decoder<'de> {
    /// A decoder of data without encapsulation header.
    #[must_use]
    pub fn new(
        data: &'de [u8],
        representation: Representation,
        endianness: Endianness,
        limits: &Limits,
    ) -> Self {
        Self {
            data,
            pos: 0,
            origin: 0,
            align_mask: representation.max_alignment().wrapping_sub(1),
            big_endian: matches!(endianness, Endianness::Big),
            representation,
            scope: Scope::Sample,
            undelimited_top: false,
            depth: limits.max_depth,
            keys: Keys::Undecided,
            max_sequence_len: limits.max_sequence_len,
            heap: limits.max_bytes,
            empties: data.len().saturating_add(256),
            passed: 0,
            options: DecodeOptions::default(),
        }
    }

    /// A decoder of a payload with encapsulation header that holds a value of the given extensibility.
    ///
    /// Final and appendable are told apart by the header, not by the local type: types without annotation are
    /// appendable to some tools and final to others.
    ///
    /// # Errors
    /// [`CdrError::UnexpectedEnd`], [`CdrError::UnsupportedEncapsulation`], or
    /// [`CdrError::ExtensibilityMismatch`] if one side is mutable and the other is not.
    pub fn from_payload(
        payload: &'de [u8],
        extensibility: Extensibility,
        limits: &Limits,
    ) -> Result<Self, CdrError> {
        let (header, body) = EncapsulationHeader::parse(payload)?;
        let (representation, form) = header.form()?;
        let kept = body.len().checked_sub(header.padding());
        let data = kept
            .and_then(|len| body.get(..len))
            .ok_or(CdrError::UnexpectedEnd { offset: body.len(), needed: header.padding() })?;
        let mut decoder = Self::new(data, representation, header.endianness(), limits);
        match (extensibility, form) {
            (Extensibility::Mutable, Extensibility::Mutable)
            | (Extensibility::Final, Extensibility::Final)
            | (Extensibility::Appendable, Extensibility::Appendable) => {}
            (Extensibility::Appendable, Extensibility::Final) => {
                decoder.undelimited_top = matches!(representation, Representation::Xcdr2);
            }
            (Extensibility::Final, Extensibility::Appendable) => {
                let _outermost = decoder.enter_delimited()?;
            }
            _ => {
                return Err(CdrError::ExtensibilityMismatch {
                    encapsulation: header.id,
                    expected: extensibility,
                });
            }
        }
        Ok(decoder)
    }

    /// Sets the deviations of the writer's vendor.
    #[must_use]
    pub fn with_options(mut self, options: DecodeOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets which part of the value is present.
    #[must_use]
    pub fn with_scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// Which part of the value is present.
    #[inline]
    #[must_use]
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// The encoding version.
    #[inline]
    #[must_use]
    pub fn representation(&self) -> Representation {
        self.representation
    }

    /// Byte order.
    #[inline]
    #[must_use]
    pub fn endianness(&self) -> Endianness {
        if self.big_endian { Endianness::Big } else { Endianness::Little }
    }

    /// The deviations in force.
    #[inline]
    #[must_use]
    pub fn options(&self) -> &DecodeOptions {
        &self.options
    }

    #[inline]
    pub(crate) fn is_big_endian(&self) -> bool {
        self.big_endian
    }

    #[inline]
    pub(crate) fn is_xcdr2(&self) -> bool {
        matches!(self.representation, Representation::Xcdr2)
    }

    /// Position from the octet after the encapsulation header.
    #[inline]
    #[must_use]
    pub fn position(&self) -> usize {
        self.pos
    }

    /// How many values [`locate`](Self::locate) and [`skip_value`](Self::skip_value) went past, each element of a collection that
    /// has no length in bytes included: what a search costs.
    #[must_use]
    pub fn values_passed(&self) -> usize {
        self.passed
    }

    #[inline]
    pub(crate) fn note_passed(&mut self) {
        self.passed = self.passed.saturating_add(1);
    }

    /// Position modulo the greatest alignment of the encoding version, counted from where alignment starts: what the
    /// bytes of padding before the next value depend on.
    #[inline]
    #[must_use]
    pub fn phase(&self) -> usize {
        self.pos.wrapping_sub(self.origin) & self.align_mask
    }

    /// Bytes left in the innermost delimited region.
    #[inline]
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.data.len().saturating_sub(self.pos)
    }

    /// Whether the innermost delimited region is used up.
    #[inline]
    #[must_use]
    pub fn at_end(&self) -> bool {
        self.remaining() == 0
    }

    /// Whether the sender's version of an appendable type ended before the next member. Keys do not evolve: key members
    /// alone are never fewer.
    #[inline]
    #[must_use]
    pub fn ends_early(&self) -> bool {
        self.at_end() && self.scope == Scope::Sample
    }

    /// Enters a structure or union, with keys or without; the outermost decides whether keys count at all.
    #[inline]
    pub(crate) fn enter_keys(&mut self, has_key: bool) {
        if self.keys == Keys::Undecided {
            self.keys = if has_key { Keys::Count } else { Keys::Erased };
        }
    }

    /// Whether a key member has to be there.
    #[inline]
    pub(crate) fn keys_count(&self) -> bool {
        self.keys != Keys::Erased
    }

    /// Reads what is no part of the key.
    #[inline]
    pub(crate) fn without_keys<R>(&mut self, read: impl FnOnce(&mut Self) -> R) -> R {
        let outer = core::mem::replace(&mut self.keys, Keys::Erased);
        let result = read(self);
        self.keys = outer;
        result
    }

    #[inline]
    pub(crate) fn mark(&self) -> Mark<'de> {
        Mark { data: self.data, pos: self.pos, origin: self.origin, depth: self.depth }
    }

    #[inline]
    pub(crate) fn reset(&mut self, mark: Mark<'de>) {
        (self.data, self.pos, self.origin, self.depth) = (mark.data, mark.pos, mark.origin, mark.depth);
    }

    #[cold]
    fn unexpected_end(&self, needed: usize) -> CdrError {
        CdrError::UnexpectedEnd { offset: self.pos, needed }
    }

    /// Reads the number of elements of a collection whose elements take at least `min_size` bytes each.
    ///
    /// # Errors
    /// [`CdrError::UnexpectedEnd`] when that many cannot be present; [`CdrError::LimitExceeded`].
    pub fn read_count(&mut self, min_size: usize) -> Result<usize, CdrError> {
        let count = usize::try_from(self.read_u32()?).unwrap_or(usize::MAX);
        // Key members alone may be smaller than the whole element.
        let min_size = if self.scope == Scope::Sample { min_size } else { min_size.min(1) };
        if min_size == 0 {
            let limit = CdrError::LimitExceeded { limit: LimitKind::SequenceLength };
            self.empties = self.empties.checked_sub(count).ok_or(limit)?;
        } else if count.saturating_mul(min_size) > self.remaining() {
            return Err(self.unexpected_end(count.saturating_mul(min_size)));
        }
        if count > self.max_sequence_len {
            return Err(CdrError::LimitExceeded { limit: LimitKind::SequenceLength });
        }
        Ok(count)
    }

    /// Claims heap memory for the value being decoded. To be called before allocating.
    ///
    /// # Errors
    /// [`CdrError::LimitExceeded`].
    #[inline]
    pub fn claim(&mut self, octets: usize) -> Result<(), CdrError> {
        self.heap =
            self.heap.checked_sub(octets).ok_or(CdrError::LimitExceeded { limit: LimitKind::Bytes })?;
        Ok(())
    }

    /// Restricts reading to the next `len` bytes.
    ///
    /// # Errors
    /// [`CdrError::UnexpectedEnd`] if there are fewer.
    #[inline]
    pub fn enter(&mut self, len: usize) -> Result<Region<'de>, CdrError> {
        let inner = self.pos.checked_add(len).and_then(|end| self.data.get(..end));
        match inner {
            Some(inner) => Ok(Region { outer: core::mem::replace(&mut self.data, inner) }),
            None => Err(self.unexpected_end(len)),
        }
    }

    /// Reads a DHEADER and restricts reading to what it delimits.
    ///
    /// # Errors
    /// [`CdrError::UnexpectedEnd`].
    #[inline]
    pub fn enter_delimited(&mut self) -> Result<Region<'de>, CdrError> {
        let len = self.read_len()?;
        self.enter(len)
    }

    /// Goes on after a region, whatever of it has been read.
    #[inline]
    pub fn leave(&mut self, region: Region<'de>) {
        self.pos = self.data.len();
        self.data = region.outer;
    }
}
