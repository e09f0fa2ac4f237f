//! RTPS 2.5 §9.3.2 GroupDigest_t: which writers a publisher has, in four bytes.

use dunlin_core::EntityId;
use md5::{Digest, Md5};

/// A digest of the writers of a publisher: the first bytes of the MD5 of their entity ids.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct GroupDigest(pub [u8; 4]);

impl GroupDigest {
    /// Of a publisher without writers.
    pub const EMPTY: Self = Self([0; 4]);

    /// The digest of these writers, in any order, each once: sorted as little-endian signed numbers and serialized as a
    /// big-endian CDR sequence.
    #[must_use]
    pub fn of(writers: &mut [EntityId]) -> Self {
        if writers.is_empty() {
            return Self::EMPTY;
        }
        writers.sort_unstable_by_key(|id| i32::from_le_bytes(id.0));
        let mut hasher = Md5::new();
        hasher.update(u32::try_from(writers.len()).unwrap_or(u32::MAX).to_be_bytes());
        writers.iter().for_each(|id| hasher.update(id.0));
        let mut digest = Self::EMPTY;
        digest.0.iter_mut().zip(hasher.finalize()).for_each(|(to, from)| *to = from);
        digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values were computed by another program.
    #[test]
    fn digests_of_writers() {
        assert_eq!(GroupDigest::of(&mut []), GroupDigest([0; 4]));
        assert_eq!(GroupDigest::of(&mut [EntityId([0, 0, 1, 3])]).0, [0xc8, 0x80, 0x2b, 0xef]);
        let [a, b, c] = [EntityId([0, 0, 1, 3]), EntityId([1, 0, 0, 2]), EntityId([0, 1, 0, 3])];
        for mut ids in [[a, b, c], [c, b, a], [b, a, c]] {
            assert_eq!(GroupDigest::of(&mut ids).0, [0xf2, 0x0b, 0xc2, 0x2d]);
        }
        // The sign counts: a kind octet from 0x80 on comes first.
        let mut ids = [a, EntityId([0, 0, 0, 0xc2])];
        _ = GroupDigest::of(&mut ids);
        assert_eq!(ids[1], a);
    }
}
