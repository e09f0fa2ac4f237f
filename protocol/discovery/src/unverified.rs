//! What is remembered of a participant until it has shown that it receives where it says. RTPS 2.5 §8.5.3 knows no such
//! state; see `docs/hostile-input.md` for why there is one.

use dunlin_core::MonoTime;
use dunlin_wire::{AckNack, Heartbeat, Submessage, size};

use crate::table::TOPICS;

/// An unverified participant is sent at most so many times the octets that came in its name.
const MOST_PER_OCTET: usize = 3;
/// Octets of an ACKNACK without bitmap.
pub(crate) const ACKNACK_EMPTY: usize = 28;

/// A participant whose locators may be somebody else's.
#[derive(Debug, Default)]
pub(crate) struct Unverified {
    /// Octets that came in its name, headers left out.
    heard: usize,
    /// Octets that were sent because of it.
    sent: usize,
    /// When it was last told what the built-in writers have.
    pub(crate) heartbeats_sent_at: Option<MonoTime>,
    /// It was told of that it answers nothing.
    pub(crate) complained_of: bool,
    /// It was answered once.
    pub(crate) answered: bool,
    /// When its announcement is to be answered.
    pub(crate) answer_due: Option<MonoTime>,
    /// The last HEARTBEAT of each of its built-in writers: what there will be to ask for.
    pub(crate) heartbeats: [Option<Heartbeat>; TOPICS],
    /// The last ACKNACK for each of our built-in writers, if it fits what that has.
    pub(crate) proofs: [Option<AckNack>; TOPICS],
}

impl Unverified {
    /// Something of `octets` came in its name.
    pub(crate) fn hear(&mut self, octets: usize) {
        self.heard = self.heard.saturating_add(octets);
    }

    /// To how many of `destinations` places `octets` may be sent; they count as sent.
    pub(crate) fn spend(&mut self, octets: usize, destinations: usize) -> usize {
        let credit = self.heard.saturating_mul(MOST_PER_OCTET).saturating_sub(self.sent);
        let places = credit.checked_div(octets).unwrap_or(0).min(destinations);
        self.sent = self.sent.saturating_add(octets.saturating_mul(places));
        places
    }
}

/// Octets that a submessage takes at least.
pub(crate) const fn least_octets(submessage: &Submessage<'_>) -> usize {
    match submessage {
        Submessage::Heartbeat(_) => size::HEARTBEAT,
        Submessage::AckNack(_) => ACKNACK_EMPTY,
        Submessage::Data(_) | Submessage::DataFrag(_) => size::SUBMESSAGE_HEADER.saturating_add(20),
        _ => size::SUBMESSAGE_HEADER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amplification_to_an_unverified_participant_is_at_most_three() {
        let mut unverified = Unverified::default();
        assert_eq!(unverified.spend(1, 5), 0);
        unverified.hear(100);
        assert_eq!(unverified.spend(90, 2), 2);
        assert_eq!(unverified.spend(60, 4), 2, "fewer places than there are");
        assert_eq!(unverified.spend(1, 1), 0);
        unverified.hear(1);
        assert_eq!((unverified.spend(4, 1), unverified.spend(3, 1)), (0, 1));
        assert_eq!(unverified.spend(0, 1), 0, "nothing is not sent");
    }
}
