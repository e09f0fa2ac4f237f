//! Which readers a durability service has given their history: in the USER_DATA of the writer that gives it, so that
//! [`wait_for_historical_data`](crate::DataReader::wait_for_historical_data) waits for it.

use std::collections::VecDeque;

use dunlin_core::Guid;

/// What the USER_DATA begins with.
const TITLE: &[u8] = b"dunlin.given_history 1\n";
/// What the USER_DATA of the last writer of a service begins with.
const BEHIND: &[u8] = b"dunlin.given_history all\n";
/// Readers that are named: what is announced is bounded.
const MOST: usize = 500;
/// Octets of a GUID.
const GUID: usize = 16;

/// The readers that a writer has given all of its history.
///
/// ```
/// use dunlin::{DeliveredHistory, Guid};
///
/// let (mut given, reader) = (DeliveredHistory::default(), Guid::from_bytes([7; 16]));
/// assert_eq!(DeliveredHistory::is_complete(&given.to_user_data(), reader), Some(false));
/// given.add(reader);
/// assert_eq!(DeliveredHistory::is_complete(&given.to_user_data(), reader), Some(true));
/// assert_eq!(DeliveredHistory::is_complete(b"something else", reader), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeliveredHistory {
    readers: VecDeque<Guid>,
    /// There were more than are named.
    is_cut: bool,
}

impl DeliveredHistory {
    /// The property of the participant of a service that tells.
    pub const PROPERTY: &str = "store.tells_given_history";

    /// The USER_DATA of a writer that is announced anew behind all that give history: whoever knows it knows those. Each time
    /// another number.
    #[must_use]
    pub fn end_marker(number: u64) -> Vec<u8> {
        [BEHIND, &number.to_le_bytes()].concat()
    }

    /// Whether a writer with this USER_DATA is announced behind all that give history.
    #[must_use]
    pub fn is_end_marker(user_data: &[u8]) -> bool {
        user_data.starts_with(BEHIND)
    }

    /// A reader has everything. Beyond 500 the first ones are named no longer; nobody waits for such a writer any more.
    pub fn add(&mut self, reader: Guid) {
        if !self.readers.contains(&reader) {
            self.readers.push_back(reader);
        }
        if self.readers.len() > MOST {
            self.readers.pop_front();
            self.is_cut = true;
        }
    }

    /// Forgets readers that have gone.
    pub fn retain(&mut self, is_there: impl Fn(Guid) -> bool) {
        self.readers.retain(|reader| is_there(*reader));
    }

    /// As the writer announces it.
    #[must_use]
    pub fn to_user_data(&self) -> Vec<u8> {
        let readers = self.readers.iter().flat_map(|reader| reader.to_bytes());
        TITLE.iter().copied().chain([u8::from(self.is_cut)]).chain(readers).collect()
    }

    /// Whether a writer with this USER_DATA has given a reader everything; `None` of one that does not tell.
    #[must_use]
    pub fn is_complete(user_data: &[u8], reader: Guid) -> Option<bool> {
        let (is_cut, readers) = user_data.strip_prefix(TITLE)?.split_first()?;
        Some(*is_cut != 0 || readers.chunks_exact(GUID).any(|known| known == reader.to_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delivered_history_list_is_bounded_and_unlisted_readers_stop_waiting() {
        let guid = |n: u16| Guid::from_bytes([n.to_be_bytes(); 8].concat().try_into().unwrap());
        let mut given = DeliveredHistory::default();
        (0..500).for_each(|n| given.add(guid(n)));
        (0..500).for_each(|n| given.add(guid(n)));
        let told = given.to_user_data();
        assert!((0..500).all(|n| DeliveredHistory::is_complete(&told, guid(n)) == Some(true)));
        assert_eq!(DeliveredHistory::is_complete(&told, guid(500)), Some(false));
        given.retain(|reader| reader != guid(3));
        assert_eq!(DeliveredHistory::is_complete(&given.to_user_data(), guid(3)), Some(false));
        (500..600).for_each(|n| given.add(guid(n)));
        let told = given.to_user_data();
        assert!(told.len() <= 16_384 && DeliveredHistory::is_complete(&told, guid(0)) == Some(true));
        assert_eq!(DeliveredHistory::is_complete(&told[..10], guid(0)), None);
    }
}
