//! RTPS 2.5 §9.4.2.15 "MessageChecksum": the three checksums that a header extension can carry.
//!
//! Each covers the complete message, header included, with the bytes of the checksum itself taken as zero; each is
//! stored big-endian whatever the endianness of the submessage.

mod crc32c;
mod crc64xz;

pub use crc32c::{Crc32c, crc32c};
pub use crc64xz::{Crc64Xz, crc64_xz};
use md5::{Digest, Md5};

/// Which checksum a header extension carries (flags C1 and C2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChecksumKind {
    /// Four bytes, CRC-32C.
    Crc32c,
    /// Eight bytes, CRC-64/XZ.
    Crc64Xz,
    /// Sixteen bytes, MD5.
    Md5,
}

impl ChecksumKind {
    /// Bytes that this checksum takes.
    pub const fn size(self) -> usize {
        match self {
            Self::Crc32c => 4,
            Self::Crc64Xz => 8,
            Self::Md5 => 16,
        }
    }
}

/// A checksum as it stands in a message: the first [`ChecksumKind::size`] bytes count, the others are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checksum {
    /// Which function.
    pub kind: ChecksumKind,
    /// Value, big-endian, in the first bytes.
    pub octets: [u8; 16],
}

impl Checksum {
    /// Computes the checksum of the concatenation of `pieces`.
    pub fn compute<'p>(kind: ChecksumKind, pieces: impl IntoIterator<Item = &'p [u8]>) -> Self {
        let mut hasher = Hasher::new(kind);
        for piece in pieces {
            hasher.update(piece);
        }
        hasher.finish()
    }

    /// Computes the checksum of `message` with the checksum bytes at `position` taken as zero; `None` when they are
    /// not inside the message.
    pub fn of_message(kind: ChecksumKind, message: &[u8], position: usize) -> Option<Self> {
        let before = message.get(..position)?;
        let after = message.get(position.checked_add(kind.size())?..)?;
        let zeros = [0_u8; 16];
        let blank = zeros.get(..kind.size())?;
        Some(Self::compute(kind, [before, blank, after]))
    }

    /// The checksum in the first bytes of `bytes`; missing ones count as zero.
    pub(crate) fn from_bytes(kind: ChecksumKind, bytes: &[u8]) -> Self {
        let mut octets = [0; 16];
        for (slot, octet) in octets.iter_mut().zip(bytes.iter().take(kind.size())) {
            *slot = *octet;
        }
        Self { kind, octets }
    }

    /// The bytes as stored in a message.
    pub fn as_bytes(&self) -> &[u8] {
        self.octets.get(..self.kind.size()).unwrap_or(&self.octets)
    }
}

/// A checksum being computed over a message whose bytes are not in one piece.
pub enum Hasher {
    /// CRC-32C state.
    Crc32c(Crc32c),
    /// CRC-64/XZ state.
    Crc64Xz(Crc64Xz),
    /// MD5 state.
    Md5(Md5),
}

impl Hasher {
    /// Starts a checksum.
    pub fn new(kind: ChecksumKind) -> Self {
        match kind {
            ChecksumKind::Crc32c => Self::Crc32c(Crc32c::new()),
            ChecksumKind::Crc64Xz => Self::Crc64Xz(Crc64Xz::new()),
            ChecksumKind::Md5 => Self::Md5(Md5::new()),
        }
    }

    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Crc32c(state) => state.update(bytes),
            Self::Crc64Xz(state) => state.update(bytes),
            Self::Md5(state) => Digest::update(state, bytes),
        }
    }

    /// The checksum of everything added.
    pub fn finish(self) -> Checksum {
        match self {
            Self::Crc32c(state) => Checksum::from_bytes(ChecksumKind::Crc32c, &state.finish().to_be_bytes()),
            Self::Crc64Xz(state) => {
                Checksum::from_bytes(ChecksumKind::Crc64Xz, &state.finish().to_be_bytes())
            }
            Self::Md5(state) => Checksum { kind: ChecksumKind::Md5, octets: state.finalize().into() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> alloc::vec::Vec<u8> {
        crate::testing::hex(text)
    }

    #[test]
    fn md5_of_known_text() {
        let sum = Checksum::compute(ChecksumKind::Md5, [b"abc".as_slice()]);
        assert_eq!(sum.as_bytes(), hex("900150983cd24fb0d6963f7d28e17f72"));
    }

    #[test]
    fn pieces_do_not_matter() {
        let text = b"the quick brown fox jumps over the lazy dog";
        for kind in [ChecksumKind::Crc32c, ChecksumKind::Crc64Xz, ChecksumKind::Md5] {
            let whole = Checksum::compute(kind, [text.as_slice()]);
            for cut in (0..text.len()).step_by(if cfg!(miri) { 11 } else { 1 }) {
                assert_eq!(Checksum::compute(kind, [&text[..cut], &text[cut..]]), whole);
            }
        }
    }

    #[test]
    fn checksum_octets_count_as_zero() {
        let mut message = *b"RTPS....cccc....";
        let sum = Checksum::of_message(ChecksumKind::Crc32c, &message, 8);
        message[8..12].fill(0xff);
        assert_eq!(Checksum::of_message(ChecksumKind::Crc32c, &message, 8), sum);
        message[8..12].fill(0);
        assert_eq!(sum, Some(Checksum::compute(ChecksumKind::Crc32c, [message.as_slice()])));
        assert_eq!(Checksum::of_message(ChecksumKind::Md5, &message, 8), None);
    }
}
