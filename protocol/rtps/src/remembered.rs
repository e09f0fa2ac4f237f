//! RTPS 2.5 §8.5.3.2 leaseDuration: an endpoint whose participant was not heard for its lease is forgotten. If it is met again
//! in the same life, both sides go on where they were.

use alloc::vec::Vec;

use dunlin_core::{Guid, SequenceNumber, WallTime};

/// Most that one endpoint remembers; the one that was lost first gives way.
pub(crate) const MAX_REMEMBERED: usize = 256;

/// One life of an endpoint: which announcement it is known by (RTPS 2.5 §8.5.4). The writer of announcements keeps that as long
/// as the endpoint exists, and sends the same again to whoever asks. A process that starts again under its old GUID announces
/// its endpoints anew: they have written other changes under the same numbers, and received none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life {
    /// The number of the announcement. Dunlin begins anywhere.
    pub number: SequenceNumber,
    /// When it was written.
    pub time: WallTime,
}

/// How far endpoints were that have been lost, the longest lost first.
#[derive(Debug)]
pub(crate) struct Remembered<T>(Vec<(Guid, Life, T)>);

impl<T> Default for Remembered<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Remembered<T> {
    pub(crate) fn put(&mut self, guid: Guid, life: Life, place: T) {
        self.take(guid, None);
        if self.0.len() >= MAX_REMEMBERED {
            self.0.remove(0);
        }
        self.0.push((guid, life, place));
    }

    /// What is known of an endpoint that is met again; nothing of one that only has the GUID of another, which is gone for good.
    pub(crate) fn take(&mut self, guid: Guid, life: Option<Life>) -> Option<T> {
        let at = self.0.iter().position(|(known, ..)| *known == guid)?;
        let (_, before, place) = self.0.remove(at);
        (life == Some(before)).then_some(place)
    }

    /// How far an endpoint was that is still lost.
    pub(crate) fn get_mut(&mut self, guid: Guid) -> Option<&mut T> {
        self.0.iter_mut().find(|(known, ..)| *known == guid).map(|(.., place)| place)
    }
}

#[cfg(test)]
mod tests {
    use dunlin_core::{EntityId, GuidPrefix};

    use super::*;

    fn guid(n: usize) -> Guid {
        let mut octets = [0; 12];
        octets[..8].copy_from_slice(&(n as u64).to_be_bytes());
        Guid::new(GuidPrefix(octets), EntityId([0, 0, 1, 7]))
    }

    const LIFE: Life = Life { number: SequenceNumber(3), time: WallTime(5) };

    #[test]
    fn positions_of_the_latest_unmatched_endpoints_are_remembered() {
        let mut remembered = Remembered::default();
        for n in 0..2 * MAX_REMEMBERED {
            remembered.put(guid(n), LIFE, SequenceNumber(n as i64));
            assert!(remembered.0.len() <= MAX_REMEMBERED);
        }
        assert_eq!(remembered.take(guid(MAX_REMEMBERED - 1), Some(LIFE)), None);
        remembered.put(guid(MAX_REMEMBERED), LIFE, SequenceNumber(7));
        assert_eq!(remembered.take(guid(MAX_REMEMBERED), Some(LIFE)), Some(SequenceNumber(7)));
        assert_eq!(remembered.take(guid(MAX_REMEMBERED), Some(LIFE)), None);
    }

    #[test]
    fn a_restarted_participant_has_no_remembered_position() {
        let earlier = Life { time: WallTime(4), ..LIFE };
        let as_another = Life { number: SequenceNumber(4), ..LIFE };
        for (life, known) in [
            (Some(LIFE), Some(SequenceNumber(7))),
            (Some(earlier), None),
            (Some(as_another), None),
            (None, None),
        ] {
            let mut remembered = Remembered::default();
            remembered.put(guid(1), LIFE, SequenceNumber(7));
            assert_eq!(remembered.take(guid(1), life), known);
            assert_eq!(remembered.take(guid(1), Some(LIFE)), None, "who was met is not remembered");
        }
    }
}
