//! What tells requests apart.

use dunlin::SampleIdentity;

/// At the beginning of an attachment with the number of a request.
const MARK: [u8; 3] = *b"rqh";
/// Octets of the encapsulation header.
const CDR: usize = 4;
const HEADER: usize = 16;

/// Client and number, as rmw_cyclonedds has them in front of the data.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct RequestId(pub(super) [u8; HEADER]);

impl RequestId {
    /// Of a client and a number, little endian.
    pub(super) fn new(client: u64, number: u64) -> Self {
        let mut octets = [0; HEADER];
        let (first, second) = octets.split_at_mut(8);
        first.copy_from_slice(&client.to_le_bytes());
        second.copy_from_slice(&number.to_le_bytes());
        Self(octets)
    }

    /// Of a request that has its identity beside the data.
    pub(super) fn of_identity(identity: SampleIdentity) -> Self {
        let guid = identity.writer.to_bytes();
        let client = guid.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, octet| {
            (hash ^ u64::from(*octet)).wrapping_mul(0x0100_0000_01b3)
        });
        Self::new(client, identity.sequence_number.0.unsigned_abs())
    }

    pub(super) fn to_attachment(self, little_endian: bool) -> Vec<u8> {
        [&MARK[..], &self.0, &[u8::from(little_endian)]].concat()
    }

    pub(super) fn from_attachment(octets: &[u8]) -> Option<Self> {
        let rest = octets.strip_prefix(&MARK)?;
        let (id, rest) = rest.split_first_chunk()?;
        (rest.len() == 1).then_some(Self(*id))
    }
}

/// Whether octets begin as CDR of XCDR1, the one that services of ROS 2 speak, and in little endian.
pub(super) fn little_endian(payload: &[u8]) -> Option<bool> {
    match payload.get(..CDR)? {
        [0, order @ (0 | 1), ..] => Some(*order == 1),
        _ => None,
    }
}

/// Puts the number between the encapsulation header and the data.
pub(super) fn with_header(payload: &[u8], id: RequestId) -> Option<Vec<u8>> {
    little_endian(payload)?;
    let (cdr, data) = payload.split_at_checked(CDR)?;
    Some([cdr, &id.0, data].concat())
}

/// Takes the number out again.
pub(super) fn without_header(payload: &[u8]) -> Option<(RequestId, Vec<u8>)> {
    little_endian(payload)?;
    let (cdr, rest) = payload.split_at_checked(CDR)?;
    let (id, data) = rest.split_first_chunk()?;
    Some((RequestId(*id), [cdr, data].concat()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_and_attachments_come_back() {
        let id = RequestId::new(7, 9);
        let whole = with_header(&[0, 1, 0, 0, 5], id).unwrap();
        assert_eq!(whole.len(), 21);
        assert_eq!(without_header(&whole), Some((id, vec![0, 1, 0, 0, 5])));
        let attachment = id.to_attachment(true);
        assert_eq!((attachment.len(), attachment[19]), (20, 1));
        assert_eq!(RequestId::from_attachment(&attachment), Some(id));
    }

    #[test]
    fn hostile_ones_are_refused() {
        for payload in [&b""[..], b"\x00\x01\x00", b"\x00\x06\x00\x00", b"\x01\x00\x00\x00"] {
            assert_eq!(with_header(payload, RequestId([0; 16])), None);
        }
        assert_eq!(without_header(&[0, 1, 0, 0, 1, 2, 3]), None);
        for attachment in [&b""[..], b"rqh", &[b'r'; 20], &[&b"rqh"[..], &[0; 18]].concat()] {
            assert_eq!(RequestId::from_attachment(attachment), None);
        }
    }
}
