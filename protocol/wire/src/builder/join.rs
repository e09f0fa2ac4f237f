//! RTPS 2.5 §8.3.3: a message holds any number of submessages, so several messages to one participant can be one.

use dunlin_buf::Outbox;

use super::size;
use crate::kind;

/// Puts messages from number `from` on together that go from one participant to one other at the same place, up to
/// `max_len` bytes. Only messages that begin with INFO_DST are: after it, nothing of what came before matters to
/// submessages that depend on no other state than the source timestamp, which every DATA of ours brings along.
pub fn join_directed(out: &mut Outbox, from: usize, max_len: usize) {
    let header = size::HEADER.saturating_add(size::INFO_DST);
    out.join(from, max_len, header, |head| head.get(size::HEADER) == Some(&kind::INFO_DST));
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use dunlin_core::{GuidPrefix, Locator};

    use super::*;
    use crate::{Message, MessageBuilder, Submessage};

    fn put(out: &mut Outbox, to: Option<u8>) {
        let mut message = MessageBuilder::new(out, GuidPrefix([1; 12]));
        if let Some(to) = to {
            message.info_dst(GuidPrefix([to; 12]));
        }
        message.info_ts(None);
        message.finish(&[Locator::LOCAL]);
    }

    /// Whom the datagram of a message names that has these INFO_DST, the first one behind `before` other submessages.
    fn receiver(before: usize, all: &[GuidPrefix]) -> Option<GuidPrefix> {
        let mut out = Outbox::new();
        let mut message = MessageBuilder::new(&mut out, GuidPrefix([1; 12]));
        for _ in 0..before {
            message.info_ts(None);
        }
        for prefix in all {
            message.info_dst(*prefix);
            message.info_ts(None);
        }
        message.finish(&[Locator::LOCAL]);
        out.datagrams().next().unwrap().receiver()
    }

    #[test]
    fn a_joined_message_names_its_receiver_if_there_is_only_one() {
        let (two, three) = (GuidPrefix([2; 12]), GuidPrefix([3; 12]));
        assert_eq!((receiver(0, &[two]), receiver(0, &[two, two])), (Some(two), Some(two)));
        for (before, all) in [(1, &[][..]), (1, &[two]), (0, &[two, three]), (0, &[GuidPrefix::UNKNOWN])] {
            assert_eq!(receiver(before, all), None, "{before} {all:?}");
        }
    }

    #[test]
    fn messages_to_one_participant_become_one() {
        let mut out = Outbox::new();
        for to in [Some(2), Some(2), None, Some(3), Some(2)] {
            put(&mut out, to);
        }
        join_directed(&mut out, 0, 1000);
        let receivers: Vec<_> = out.datagrams().map(|datagram| datagram.receiver()).collect();
        let prefix = |n: u8| Some(GuidPrefix([n; 12]));
        assert_eq!(receivers, [prefix(2), None, prefix(3), prefix(2)]);
        let messages = out.datagrams().map(|datagram| {
            let mut bytes = Vec::new();
            datagram.copy_to(&mut bytes);
            let message = Message::parse(&bytes).unwrap();
            let bodies =
                message.submessages().map(|parsed| matches!(parsed.unwrap().body, Submessage::InfoDst(_)));
            bodies.collect::<Vec<_>>()
        });
        let messages: Vec<_> = messages.collect();
        let expected: [&[bool]; 4] = [&[true, false, false], &[false], &[true, false], &[true, false]];
        assert_eq!(messages, expected);
    }
}
