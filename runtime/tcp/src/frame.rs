//! The unit of the stream: fourteen octets of header, then the message. The framing is that of Fast DDS ("RTCP"), as its
//! versions 2.9 and 3.6 write and read it; no standard describes one.

use std::fmt;

/// Octets of a header.
pub(crate) const HEADER: usize = 14;
/// Octets of the largest message: what Fast DDS takes by default.
pub(crate) const MAX_MESSAGE: usize = 65_500;
/// The same between ends that say that they take longer ones, as Dunlin does: samples up to this size are not cut.
pub(crate) const MAX_LONG_MESSAGE: usize = 1 << 20;
/// Octets of the largest message before a connection is bound: control messages alone.
pub(crate) const MAX_UNBOUND: usize = 1024;
const MAGIC: [u8; 4] = *b"RTCP";

/// What stands in front of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Header {
    /// Octets of the message.
    pub(crate) len: usize,
    /// Sum of its octets; 0 if the sender does not compute it.
    pub(crate) checksum: u32,
    /// Who gets it; 0 for control messages.
    pub(crate) port: u16,
}

/// Why a peer makes no sense: the connection ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum FramingError {
    /// It does not begin like a unit of this framing; these are the octets.
    Foreign([u8; 4]),
    /// A message of so many octets, where this many are allowed.
    Long { len: usize, limit: usize },
    /// The checksum is another one.
    Checksum,
    /// A control message that says nothing.
    Control(&'static str),
}

impl fmt::Display for FramingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign([0x16, 3, ..]) => f.write_str(
                "it speaks TLS, and TLS is off here: set `tls.enabled` on both sides, or on none",
            ),
            Self::Foreign([0x15, 3, ..]) => f.write_str(
                "it answers with a TLS alert, and TLS is off here: set `tls.enabled` on both sides, or on none",
            ),
            Self::Foreign([b'R', b'T', b'P', b'S']) => f.write_str(
                "it speaks RTPS without the framing of Fast DDS, as Cyclone DDS does over TCP: use UDP to reach it",
            ),
            Self::Foreign([0xdd, 0x54, 0xdd, 0x55]) => {
                f.write_str("it speaks the TCP protocol of RTI Connext, which is not public: use UDP to reach it")
            }
            Self::Foreign(octets) => {
                write!(f, "it speaks no RTPS over TCP (it begins with {octets:02x?}): is another service on this port?")
            }
            Self::Long { len, limit } => write!(f, "a message of {len} bytes, where at most {limit} are allowed"),
            Self::Checksum => f.write_str("the checksum of a message is wrong"),
            Self::Control(what) => write!(f, "a control message makes no sense: {what}"),
        }
    }
}

impl Header {
    /// Of a message for `port`.
    pub(crate) fn of<'p>(port: u16, len: usize, parts: impl Iterator<Item = &'p [u8]>) -> Self {
        Self { len, checksum: parts.map(sum).fold(0, u32::wrapping_add), port }
    }

    pub(crate) fn encode(&self) -> [u8; HEADER] {
        let mut octets = [0; HEADER];
        let length = u32::try_from(self.len + HEADER).unwrap_or(u32::MAX);
        octets[..4].copy_from_slice(&MAGIC);
        octets[4..8].copy_from_slice(&length.to_le_bytes());
        octets[8..12].copy_from_slice(&self.checksum.to_le_bytes());
        octets[12..].copy_from_slice(&self.port.to_le_bytes());
        octets
    }

    /// Reads a header; messages may have up to `limit` octets.
    pub(crate) fn decode(octets: &[u8; HEADER], limit: usize) -> Result<Self, FramingError> {
        let [m0, m1, m2, m3, l0, l1, l2, l3, c0, c1, c2, c3, p0, p1] = *octets;
        if [m0, m1, m2, m3] != MAGIC {
            return Err(FramingError::Foreign([m0, m1, m2, m3]));
        }
        let whole = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        let len = whole.checked_sub(HEADER).ok_or(FramingError::Control("it is shorter than its header"))?;
        if len > limit {
            return Err(FramingError::Long { len, limit });
        }
        let checksum = u32::from_le_bytes([c0, c1, c2, c3]);
        Ok(Self { len, checksum, port: u16::from_le_bytes([p0, p1]) })
    }

    /// Whether the message that followed is the one that was sent.
    pub(crate) fn check(&self, message: &[u8]) -> Result<(), FramingError> {
        if self.checksum == 0 || sum(message) == self.checksum { Ok(()) } else { Err(FramingError::Checksum) }
    }
}

/// The sum of all octets. It cannot overflow: a message has at most [`MAX_LONG_MESSAGE`].
fn sum(octets: &[u8]) -> u32 {
    // In blocks whose sums fit 16 bits, which vector instructions add many at a time.
    octets
        .chunks(256)
        .map(|block| u32::from(block.iter().fold(0_u16, |sum, octet| sum + u16::from(*octet))))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_as_fast_dds_writes_them() {
        let header = Header::of(7410, 5, [&[1, 2][..], &[255, 0, 4]].into_iter());
        let octets = header.encode();
        assert_eq!(octets, *b"RTCP\x13\0\0\0\x06\x01\0\0\xf2\x1c");
        assert_eq!(Header::decode(&octets, 5), Ok(header));
        assert_eq!(header.check(&[1, 2, 255, 0, 4]), Ok(()));
        assert_eq!(header.check(&[1, 2, 255, 0, 5]), Err(FramingError::Checksum));
        assert_eq!(Header { checksum: 0, ..header }.check(&[9]), Ok(()));
    }

    #[test]
    fn headers_of_other_protocols_are_refused_by_name() {
        let header = Header { len: 6, checksum: 0, port: 1 }.encode();
        assert_eq!(Header::decode(&header, 5), Err(FramingError::Long { len: 6, limit: 5 }));
        let mut short = header;
        short[4] = 13;
        assert!(matches!(Header::decode(&short, 5), Err(FramingError::Control(_))));
        for (start, said) in [
            (*b"\x16\x03\x01\x02", "TLS is off here"),
            (*b"RTPS", "Cyclone DDS"),
            ([0xdd, 0x54, 0xdd, 0x55], "RTI Connext"),
            (*b"GET ", "another service"),
        ] {
            let mut foreign = header;
            foreign[..4].copy_from_slice(&start);
            let text = Header::decode(&foreign, 5).unwrap_err().to_string();
            assert!(text.contains(said), "{text}");
        }
    }

    #[test]
    fn the_longest_message_has_a_sum() {
        assert_eq!(sum(&vec![255; MAX_LONG_MESSAGE]), 255 * MAX_LONG_MESSAGE as u32);
    }
}
