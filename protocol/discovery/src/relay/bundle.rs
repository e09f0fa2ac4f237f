//! Messages of several participants in one datagram to another daemon: RTPS 2.5 §8.3.8.10 (InfoSource), §8.3.8.8 (InfoDestination).

use alloc::{collections::BTreeMap, vec::Vec};

use dunlin_buf::{Outbox, SharedBytes};
use dunlin_core::{Duration, GuidPrefix, Locator, MonoTime};
use dunlin_wire::{Header, kind, size};

use crate::{
    relay::shaper::{Lane, Shaper},
    relay_config::RelayStats,
};

/// Octets of INFO_SRC and INFO_DST in front of each message but the first.
const BETWEEN: usize = 24 + size::INFO_DST;
/// Places for which messages wait.
const MOST: usize = 1_024;

/// Messages that wait for others.
#[derive(Debug)]
pub(crate) struct Bundles {
    delay: Duration,
    /// By where they go and how urgent they are.
    waiting: BTreeMap<(Locator, Lane), Bundle>,
}

/// The way out of the daemon, to other hosts.
pub(crate) struct Exit<'a> {
    pub(crate) now: MonoTime,
    pub(crate) shaper: &'a mut Shaper,
    pub(crate) stats: &'a mut RelayStats,
    pub(crate) out: &'a mut Outbox,
}

impl Exit<'_> {
    pub(crate) fn send(&mut self, lane: Lane, places: &[Locator], message: &SharedBytes) {
        self.shaper.send(self.now, lane, places, message, self.out);
    }

    /// Passes a message on within the host.
    pub(crate) fn send_near(&mut self, places: &[Locator], message: SharedBytes) {
        let count = u64::try_from(places.len()).unwrap_or(u64::MAX);
        let octets = u64::try_from(message.len()).unwrap_or(u64::MAX);
        self.stats.passed = self.stats.passed.saturating_add(count);
        self.stats.octets = self.stats.octets.saturating_add(octets.saturating_mul(count));
        self.out.begin();
        self.out.put_shared(message);
        self.out.finish(places);
    }
}

#[derive(Debug)]
struct Bundle {
    octets: Vec<u8>,
    messages: u64,
    due: MonoTime,
}

/// INFO_SRC, which names who speaks from here on, and INFO_DST, which names nobody: the message itself may.
fn between(source: &Header) -> [u8; BETWEEN] {
    let [_, _, _, _, major, minor, v0, v1, prefix @ ..] = source.to_bytes();
    let mut octets = [0; BETWEEN];
    let parts: [&[u8]; 5] = [
        &[kind::INFO_SRC, 1, 20, 0, 0, 0, 0, 0, major, minor, v0, v1],
        &prefix,
        &[kind::INFO_DST, 1, 12, 0],
        &GuidPrefix::UNKNOWN.0,
        &[],
    ];
    for (to, from) in octets.iter_mut().zip(parts.into_iter().flatten()) {
        *to = *from;
    }
    octets
}

/// Whether something may stand behind a message: its length is whole, and it does not speak of itself as a whole.
fn may_be_followed(body: &[u8]) -> bool {
    let mut rest = body;
    while let Some(([kind, flags, l0, l1], behind)) = rest.split_first_chunk() {
        let length = if flags & 1 == 0 { [*l1, *l0] } else { [*l0, *l1] };
        let length = usize::from(u16::from_le_bytes(length));
        let to_the_end = length == 0 && !kind::may_be_empty(*kind);
        let Some(behind) = behind.get(length..) else { return false };
        if to_the_end || *kind == kind::HEADER_EXTENSION {
            return false;
        }
        rest = behind;
    }
    rest.is_empty() && body.len().is_multiple_of(4)
}

impl Bundles {
    pub(crate) fn new(delay: Duration) -> Self {
        Self { delay, waiting: BTreeMap::new() }
    }

    pub(crate) fn next_deadline(&self) -> Option<MonoTime> {
        self.waiting.values().map(|bundle| bundle.due).min()
    }

    /// Lets a message wait for others to the same place. False if it may not: then those that wait there have been sent.
    pub(crate) fn add(
        &mut self,
        place: Locator,
        lane: Lane,
        message: &[u8],
        max: usize,
        exit: &mut Exit<'_>,
    ) -> bool {
        if self.delay <= Duration::ZERO {
            return false;
        }
        let parts = message.split_at_checked(size::HEADER);
        let parts = parts.and_then(|(_, body)| Some((Header::parse(message).ok()?, body)));
        let small = message.len().saturating_add(BETWEEN) <= max.checked_div(2).unwrap_or(0);
        let fitting = parts.filter(|(_, body)| small && may_be_followed(body));
        let full =
            |bundle: &Bundle| bundle.octets.len().saturating_add(message.len()).saturating_add(BETWEEN) > max;
        if fitting.is_none() || self.waiting.get(&(place, lane)).is_some_and(full) {
            self.send(&(place, lane), exit);
        }
        let Some((header, body)) = fitting else { return false };
        if let Some(bundle) = self.waiting.get_mut(&(place, lane)) {
            bundle.octets.extend_from_slice(&between(&header));
            bundle.octets.extend_from_slice(body);
            bundle.messages = bundle.messages.saturating_add(1);
            return true;
        }
        if self.waiting.len() >= MOST {
            return false;
        }
        let bundle = Bundle { octets: message.to_vec(), messages: 1, due: exit.now.plus(self.delay) };
        self.waiting.insert((place, lane), bundle);
        true
    }

    /// Sends what has waited long enough.
    pub(crate) fn send_due(&mut self, exit: &mut Exit<'_>) {
        let due = self.waiting.iter().filter(|(_, bundle)| bundle.due <= exit.now).map(|(of, _)| *of);
        for of in due.collect::<Vec<_>>() {
            self.send(&of, exit);
        }
    }

    fn send(&mut self, of: &(Locator, Lane), exit: &mut Exit<'_>) {
        let Some(bundle) = self.waiting.remove(of) else { return };
        if bundle.messages > 1 {
            exit.stats.bundles = exit.stats.bundles.saturating_add(1);
            exit.stats.bundled = exit.stats.bundled.saturating_add(bundle.messages);
        }
        exit.send(of.1, &[of.0], &bundle.octets.into());
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use dunlin_core::{EntityId, WallTime};
    use dunlin_wire::{AckNack, Message, MessageBuilder, ReceiverState, Submessage};

    use super::*;
    use crate::relay_config::Shaping;

    fn message(source: u8, to: Option<u8>, timestamp: Option<WallTime>) -> Vec<u8> {
        let mut out = Outbox::new();
        let mut message = MessageBuilder::new(&mut out, GuidPrefix([source; 12]));
        if let Some(to) = to {
            message.info_dst(GuidPrefix([to; 12]));
        }
        if timestamp.is_some() {
            message.info_ts(timestamp);
        }
        message.acknack(&AckNack {
            reader_id: EntityId::SPDP_READER,
            writer_id: EntityId::SPDP_WRITER,
            reader_sn_state: dunlin_core::SequenceNumberSet::empty(dunlin_core::SequenceNumber::FIRST),
            count: 1,
            final_flag: true,
        });
        message.finish(&[Locator::LOCAL]);
        let mut octets = Vec::new();
        out.datagrams().next().unwrap().copy_to(&mut octets);
        octets
    }

    fn sent(out: &Outbox) -> Vec<Vec<u8>> {
        out.datagrams()
            .map(|datagram| {
                let mut octets = Vec::new();
                datagram.copy_to(&mut octets);
                octets
            })
            .collect()
    }

    #[test]
    fn bundled_message_keeps_its_source_destination_and_time() {
        let mut bundles = Bundles::new(Duration::from_millis(1));
        let (mut shaper, mut stats, mut out) =
            (Shaper::new(&Shaping::default()), RelayStats::default(), Outbox::new());
        let mut exit = Exit { now: MonoTime(5), shaper: &mut shaper, stats: &mut stats, out: &mut out };
        let time = WallTime(1_000_000_000_000_000_000);
        let all = [(1, Some(7), Some(time)), (2, None, None), (3, Some(8), None)];
        for (source, to, timestamp) in all {
            let message = message(source, to, timestamp);
            assert!(bundles.add(Locator::LOCAL, Lane::Discovery, &message, 1_472, &mut exit));
        }
        exit.now = MonoTime(1_000_004);
        bundles.send_due(&mut exit);
        assert!(sent(exit.out).is_empty() && bundles.next_deadline() == Some(MonoTime(1_000_005)));
        exit.now = MonoTime(1_000_005);
        bundles.send_due(&mut exit);
        let datagrams = sent(&out);
        assert_eq!((datagrams.len(), stats.bundles, stats.bundled), (1, 1, 3));
        let bundle = Message::parse(&datagrams[0]).unwrap();
        let mut state = ReceiverState::new(GuidPrefix([9; 12]), &bundle.header());
        let mut seen = vec![];
        for parsed in bundle.submessages() {
            let parsed = parsed.unwrap();
            state.apply(&parsed.body);
            if matches!(parsed.body, Submessage::AckNack(_)) {
                let to = (!state.is_destination()).then_some(state.dest_prefix.0[0]);
                seen.push((state.source_prefix.0[0], to, state.timestamp));
            }
        }
        assert_eq!(seen, all);
    }

    #[test]
    fn large_messages_are_not_bundled_and_follow_waiting_ones() {
        let mut bundles = Bundles::new(Duration::from_millis(1));
        let (mut shaper, mut stats, mut out) =
            (Shaper::new(&Shaping::default()), RelayStats::default(), Outbox::new());
        let mut exit = Exit { now: MonoTime(5), shaper: &mut shaper, stats: &mut stats, out: &mut out };
        let small = message(1, None, None);
        let mut open = small.clone();
        // Its last submessage reaches to the end of the message.
        (open[22], open[23]) = (0, 0);
        let large = [&small[..], &[1, 1, 0, 0].repeat(300)].concat();
        for alone in [open, large] {
            assert!(bundles.add(Locator::LOCAL, Lane::Discovery, &small, 1_472, &mut exit));
            assert!(!bundles.add(Locator::LOCAL, Lane::Discovery, &alone, 1_472, &mut exit));
        }
        assert_eq!((sent(&out), stats.bundles), (vec![small.clone(), small], 0));
        assert_eq!(bundles.next_deadline(), None);
    }
}
