//! One change of an instance, as it is kept.

use dunlin::{Guid, InstanceHandle, SampleIdentity, SequenceNumber, VendorId, WallTime};

/// What happened to an instance.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// It has a new value.
    Data,
    /// It was disposed.
    Dispose,
    /// Its writer gave it up. Nothing of it is kept but that.
    Unregister,
}

impl Kind {
    const fn octet(self) -> u8 {
        match self {
            Self::Data => 0,
            Self::Dispose => 1,
            Self::Unregister => 2,
        }
    }

    const fn from_octet(octet: u8) -> Option<Self> {
        match octet {
            0 => Some(Self::Data),
            1 => Some(Self::Dispose),
            2 => Some(Self::Unregister),
            _ => None,
        }
    }
}

/// Names a history in a store.
pub type GroupId = u32;

/// A place in a store: later changes have higher ones.
pub type Position = u64;

/// What is known of a change besides its octets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    /// The history that it belongs to.
    pub group: GroupId,
    /// The instance.
    pub instance: InstanceHandle,
    /// The writer that made it first, and its number there: what tells changes apart, whichever way they came.
    pub origin: SampleIdentity,
    /// When it was made.
    pub source_timestamp: WallTime,
    /// When LIFESPAN ends; `None` for never.
    pub expires: Option<WallTime>,
    /// Whose implementation serialized it.
    pub vendor: VendorId,
    /// What happened.
    pub kind: Kind,
    /// Octets of the value, or of the key of a dispose.
    pub octets: u32,
}

/// A change with its octets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// What is known of it.
    pub head: Head,
    /// The value with its encapsulation header; of a dispose the key.
    pub payload: Payload,
}

/// Octets that are shared and not copied.
pub type Payload = dunlin::SharedBytes;

/// Length of an encoded head.
pub const HEAD: usize = 67;

impl Head {
    /// As stores keep it: little-endian, of one length.
    #[must_use]
    pub fn encode(&self) -> [u8; HEAD] {
        let mut octets = [0; HEAD];
        let mut at = 0;
        let mut put = |part: &[u8]| {
            octets[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        };
        put(&self.group.to_le_bytes());
        put(&self.instance.0);
        put(&self.origin.writer.to_bytes());
        put(&self.origin.sequence_number.0.to_le_bytes());
        put(&self.source_timestamp.0.to_le_bytes());
        put(&self.expires.map_or(i64::MAX, |at| at.0).to_le_bytes());
        put(&self.vendor.0);
        put(&[self.kind.octet()]);
        put(&self.octets.to_le_bytes());
        octets
    }

    /// What [`encode`](Self::encode) made; `None` if it is not that.
    #[must_use]
    pub fn decode(octets: &[u8]) -> Option<Self> {
        let octets: &[u8; HEAD] = octets.try_into().ok()?;
        let mut rest = &octets[..];
        let group = u32::from_le_bytes(take(&mut rest)?);
        let instance = InstanceHandle(take(&mut rest)?);
        let writer = Guid::from_bytes(take(&mut rest)?);
        let sequence_number = SequenceNumber(i64::from_le_bytes(take(&mut rest)?));
        let source_timestamp = WallTime(i64::from_le_bytes(take(&mut rest)?));
        let expires = WallTime(i64::from_le_bytes(take(&mut rest)?));
        let vendor = VendorId(take(&mut rest)?);
        let [kind] = take(&mut rest)?;
        let length = u32::from_le_bytes(take(&mut rest)?);
        (sequence_number.0 >= 1).then_some(())?;
        Some(Self {
            group,
            instance,
            origin: SampleIdentity { writer, sequence_number },
            source_timestamp,
            expires: (expires.0 != i64::MAX).then_some(expires),
            vendor,
            kind: Kind::from_octet(kind)?,
            octets: length,
        })
    }
}

/// The first octets of a slice, which then begins after them.
pub(crate) fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, after) = rest.split_first_chunk::<N>()?;
    *rest = after;
    Some(*first)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn heads_come_back(group: u32, instance: [u8; 16], writer: [u8; 16], number in 1..i64::MAX, at: i64,
            expires in 0..i64::MAX, octets: u32, kind in 0u8..3)
        {
            let origin = SampleIdentity { writer: Guid::from_bytes(writer), sequence_number: SequenceNumber(number) };
            let head = Head { group, instance: InstanceHandle(instance), origin, source_timestamp: WallTime(at),
                expires: Some(WallTime(expires)), vendor: VendorId([1, 2]), kind: Kind::from_octet(kind).unwrap(), octets };
            prop_assert_eq!(Head::decode(&head.encode()), Some(head));
            let forever = Head { expires: None, ..head };
            prop_assert_eq!(Head::decode(&forever.encode()), Some(forever));
        }

        #[test]
        fn random_bytes_decode_to_a_change_head_or_nothing(octets in proptest::collection::vec(any::<u8>(), 0..2 * HEAD)) {
            if let Some(head) = Head::decode(&octets) {
                prop_assert_eq!(&head.encode()[..], &octets[..]);
            }
        }
    }
}
