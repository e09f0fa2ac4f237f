//! What bridges of Dunlin attach to samples. Others leave it unread.

use dunlin::{Guid, InstanceHandle, SampleIdentity, SequenceNumber, WallTime};

/// At the beginning of an attachment, with the version.
const MARK: [u8; 5] = *b"dnln\x01";
/// Octets of one that names no related sample.
const SHORT: usize = 5 + 1 + 1 + 1 + 12 + 4 + 8 + 24 + 8 + 16;
/// Octets of an identity.
const IDENTITY: usize = 24;

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    /// A sample with data.
    Data,
    /// The instance was disposed of; the payload is its key.
    Dispose,
    /// The writer has given the instance up; the payload is its key.
    Unregister,
}

impl Change {
    const fn code(self) -> u8 {
        match self {
            Self::Data => 0,
            Self::Dispose => 1,
            Self::Unregister => 2,
        }
    }

    const fn of(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Data),
            1 => Some(Self::Dispose),
            2 => Some(Self::Unregister),
            _ => None,
        }
    }
}

/// The route of a bridge that a sample came by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) struct SourceId {
    /// The bridge: the first twelve octets of its participant's GUID.
    pub(crate) bridge: [u8; 12],
    /// The route there.
    pub(crate) route: u32,
}

/// An attachment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Meta {
    pub(crate) change: Change,
    /// More is there for whoever asked for history.
    pub(crate) more: bool,
    pub(crate) source: SourceId,
    /// Counts the changes of the source from 1 on.
    pub(crate) number: u64,
    /// The first writer and its number; the number is 0 where no message has told the change.
    pub(crate) origin: SampleIdentity,
    pub(crate) timestamp: WallTime,
    pub(crate) instance: InstanceHandle,
    pub(crate) related: Option<SampleIdentity>,
}

impl Meta {
    pub(crate) fn to_octets(self) -> Vec<u8> {
        let mut out = Vec::with_capacity(SHORT + IDENTITY);
        out.extend_from_slice(&MARK);
        out.extend_from_slice(&[self.change.code(), u8::from(self.more), u8::from(self.related.is_some())]);
        out.extend_from_slice(&self.source.bridge);
        out.extend_from_slice(&self.source.route.to_le_bytes());
        out.extend_from_slice(&self.number.to_le_bytes());
        put_identity(&mut out, self.origin);
        out.extend_from_slice(&self.timestamp.0.to_le_bytes());
        out.extend_from_slice(&self.instance.0);
        if let Some(related) = self.related {
            put_identity(&mut out, related);
        }
        out
    }

    /// `None` if it is none of ours.
    ///
    /// # Errors
    /// When it begins as one of ours, and cannot be read.
    pub(crate) fn parse(octets: &[u8]) -> Option<Result<Self, Unreadable>> {
        let rest = octets.strip_prefix(&MARK)?;
        Some(Self::read(rest).ok_or(Unreadable))
    }

    fn read(mut rest: &[u8]) -> Option<Self> {
        let [code, more, related] = take(&mut rest)?;
        let change = Change::of(code)?;
        let more = flag(more)?;
        let related = flag(related)?;
        let source = SourceId { bridge: take(&mut rest)?, route: u32::from_le_bytes(take(&mut rest)?) };
        let number = u64::from_le_bytes(take(&mut rest)?);
        let origin = take_identity(&mut rest)?;
        let timestamp = WallTime(i64::from_le_bytes(take(&mut rest)?));
        let instance = InstanceHandle(take(&mut rest)?);
        let related = if related { Some(take_identity(&mut rest)?) } else { None };
        // Numbers are counted on.
        let sound = (1..u64::MAX).contains(&number)
            && origin.sequence_number.0 >= 0
            && related.is_none_or(|related| related.sequence_number.0 > 0)
            && rest.is_empty();
        sound.then_some(Self { change, more, source, number, origin, timestamp, instance, related })
    }
}

/// An attachment that begins as one of ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Unreadable;

const fn flag(octet: u8) -> Option<bool> {
    match octet {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

fn put_identity(out: &mut Vec<u8>, identity: SampleIdentity) {
    out.extend_from_slice(&identity.writer.to_bytes());
    out.extend_from_slice(&identity.sequence_number.0.to_le_bytes());
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, left) = rest.split_first_chunk::<N>()?;
    *rest = left;
    Some(*taken)
}

fn take_identity(rest: &mut &[u8]) -> Option<SampleIdentity> {
    let writer = Guid::from_bytes(take(rest)?);
    Some(SampleIdentity { writer, sequence_number: SequenceNumber(i64::from_le_bytes(take(rest)?)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(octet: u8, number: i64) -> SampleIdentity {
        SampleIdentity { writer: Guid::from_bytes([octet; 16]), sequence_number: SequenceNumber(number) }
    }

    fn meta(related: Option<SampleIdentity>) -> Meta {
        Meta {
            change: Change::Dispose,
            more: true,
            source: SourceId { bridge: [3; 12], route: 9 },
            number: 77,
            origin: identity(7, 5),
            timestamp: WallTime(1_700_000_000_000_000_001),
            instance: InstanceHandle([8; 16]),
            related,
        }
    }

    #[test]
    fn attachments_come_back() {
        for related in [None, Some(identity(9, 1))] {
            let octets = meta(related).to_octets();
            assert_eq!(Meta::parse(&octets), Some(Ok(meta(related))));
        }
        assert_eq!(meta(None).to_octets().len(), SHORT);
    }

    #[test]
    fn hostile_attachments_are_refused() {
        let whole = meta(Some(identity(9, 1))).to_octets();
        for end in 5..whole.len() {
            assert_eq!(Meta::parse(&whole[..end]), Some(Err(Unreadable)), "{end}");
        }
        for (at, octet) in [(5, 3), (6, 2), (7, 2), (7, 0)] {
            let mut changed = whole.clone();
            changed[at] = octet;
            assert_eq!(Meta::parse(&changed), Some(Err(Unreadable)), "{at}");
        }
        for other in [&b""[..], b"dnln\x02", b"rqh0123456789abcdef0"] {
            assert_eq!(Meta::parse(other), None);
        }
        let mut nothing = meta(None);
        for number in [0, u64::MAX] {
            nothing.number = number;
            assert_eq!(Meta::parse(&nothing.to_octets()), Some(Err(Unreadable)), "{number}");
        }
    }
}
