//! RTPS 2.5 §8.5.3.2 leaseDuration: an endpoint whose participant was not heard for its lease is forgotten, but its GUID is
//! never given to another one. If it is met again, it is the same, and both sides go on where they were.

use alloc::vec::Vec;
use dunlin_core::{Guid, SequenceNumber};

/// Most that one endpoint remembers; the one that was lost first gives way.
pub(crate) const MAX_REMEMBERED: usize = 256;

/// How far endpoints were that have been lost, the longest lost first.
#[derive(Debug, Default)]
pub(crate) struct Remembered(Vec<(Guid, SequenceNumber)>);

impl Remembered {
    pub(crate) fn put(&mut self, guid: Guid, sn: SequenceNumber) {
        self.take(guid);
        if self.0.len() >= MAX_REMEMBERED {
            self.0.remove(0);
        }
        self.0.push((guid, sn));
    }

    /// What is known of an endpoint that is met again.
    pub(crate) fn take(&mut self, guid: Guid) -> Option<SequenceNumber> {
        let at = self.0.iter().position(|(known, _)| *known == guid)?;
        Some(self.0.remove(at).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dunlin_core::{EntityId, GuidPrefix};

    #[test]
    fn few_are_remembered_the_latest_first() {
        let guid = |n: usize| {
            let mut octets = [0; 12];
            octets[..8].copy_from_slice(&(n as u64).to_be_bytes());
            Guid::new(GuidPrefix(octets), EntityId([0, 0, 1, 7]))
        };
        let mut remembered = Remembered::default();
        for n in 0..2 * MAX_REMEMBERED {
            remembered.put(guid(n), SequenceNumber(n as i64));
            assert!(remembered.0.len() <= MAX_REMEMBERED);
        }
        assert_eq!(remembered.take(guid(MAX_REMEMBERED - 1)), None);
        remembered.put(guid(MAX_REMEMBERED), SequenceNumber(7));
        assert_eq!(remembered.take(guid(MAX_REMEMBERED)), Some(SequenceNumber(7)));
        assert_eq!(remembered.take(guid(MAX_REMEMBERED)), None);
    }
}
