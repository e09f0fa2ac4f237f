//! RTPS 2.5 §9.4.5 "HeaderExtension": writing it. Length and checksum are filled in when the message is complete.

use dunlin_core::{RtpsTime, WallTime};

use super::{MessageBuilder, size};
use crate::Endianness;
use crate::checksum::{Checksum, ChecksumKind};
use crate::encoder::{Block, Encoder};
use crate::submessage::{checksum_flags, he_flag, kind};

/// What a header extension should say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeaderExtensionSpec<'a> {
    /// State the length of the message, for transports without message boundaries.
    pub message_length: bool,
    /// When the message is sent; must lie in 1970–2106.
    pub send_timestamp: Option<WallTime>,
    /// Reserved for the standard.
    pub u_extension4: Option<[u8; 4]>,
    /// Reserved for the standard.
    pub w_extension8: Option<[u8; 8]>,
    /// Add a checksum of the message.
    pub checksum: Option<ChecksumKind>,
    /// Ready-made parameter list in the byte order of the message, with sentinel; empty for none.
    pub parameters: &'a [u8],
}

/// Fields of a header extension that depend on the whole message: positions in the outbox's scratch bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pending {
    length: Option<(usize, Endianness)>,
    checksum: Option<(usize, ChecksumKind)>,
}

impl MessageBuilder<'_> {
    /// Adds a header extension; refused when it says nothing or is not the first submessage.
    pub fn header_extension(&mut self, spec: &HeaderExtensionSpec<'_>) -> bool {
        if !self.is_empty() {
            return false;
        }
        let mut block = Block::new();
        let mut pending = Pending::default();
        let body_position = self.out.scratch_position().saturating_add(size::SUBMESSAGE_HEADER);
        let flags = encode(spec, self.endianness, &mut block, &mut pending, body_position);
        let len = block.as_bytes().len().saturating_add(spec.parameters.len());
        if !self.begin(kind::HEADER_EXTENSION, flags, len) {
            return false;
        }
        self.out.put(block.as_bytes());
        self.out.put(spec.parameters);
        self.align(len);
        self.pending = Some(pending);
        true
    }

    pub(super) fn complete_header_extension(&mut self) {
        let Some(pending) = self.pending.take() else { return };
        if let Some((position, endianness)) = pending.length {
            let length = u32::try_from(self.len()).unwrap_or(u32::MAX);
            self.out.patch(
                position,
                &match endianness {
                    Endianness::Big => length.to_be_bytes(),
                    Endianness::Little => length.to_le_bytes(),
                },
            );
        }
        if let Some((position, kind)) = pending.checksum {
            // The bytes of the checksum itself are still zero here, as the computation wants them.
            let checksum = Checksum::compute(kind, self.out.open_parts());
            self.out.patch(position, checksum.as_bytes());
        }
    }
}

/// Writes the fields before the parameters and returns the flags.
fn encode(
    spec: &HeaderExtensionSpec<'_>,
    endianness: Endianness,
    block: &mut Block,
    pending: &mut Pending,
    body_position: usize,
) -> u8 {
    let mut flags = 0;
    if spec.message_length {
        flags |= he_flag::MESSAGE_LENGTH;
        pending.length = Some((body_position, endianness));
        Encoder::new(block, endianness).u32(0);
    }
    if let Some(timestamp) = spec.send_timestamp {
        flags |= he_flag::SEND_TIMESTAMP;
        Encoder::new(block, endianness).time(RtpsTime::from_wall(timestamp));
    }
    if let Some(octets) = spec.u_extension4 {
        flags |= he_flag::U_EXTENSION;
        Encoder::new(block, endianness).bytes(&octets);
    }
    if let Some(octets) = spec.w_extension8 {
        flags |= he_flag::W_EXTENSION;
        Encoder::new(block, endianness).bytes(&octets);
    }
    if let Some(kind) = spec.checksum {
        flags |= checksum_flags(kind);
        pending.checksum = Some((body_position.saturating_add(block.as_bytes().len()), kind));
        let zeros = [0_u8; 16];
        Encoder::new(block, endianness).bytes(zeros.get(..kind.size()).unwrap_or(&zeros));
    }
    if !spec.parameters.is_empty() {
        flags |= he_flag::PARAMETERS;
    }
    flags
}
