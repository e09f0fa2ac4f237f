//! RTPS 2.5 §8.3.4: how each submessage changes the receiver's state.

use core::net::Ipv4Addr;

use dunlin_buf::Outbox;

use super::*;
use crate::{Message, MessageBuilder};

const OWN: GuidPrefix = GuidPrefix([1; 12]);
const PEER: GuidPrefix = GuidPrefix([2; 12]);
const OTHER: GuidPrefix = GuidPrefix([3; 12]);

fn state_after(build: impl FnOnce(&mut MessageBuilder<'_>)) -> ReceiverState {
    let mut outbox = Outbox::new();
    let mut builder = MessageBuilder::new(&mut outbox, PEER);
    build(&mut builder);
    builder.finish(&[Locator::LOCAL]);
    let mut bytes = alloc::vec::Vec::new();
    outbox.datagrams().for_each(|datagram| datagram.copy_to(&mut bytes));
    let message = Message::parse(&bytes).unwrap();
    let mut state = ReceiverState::new(OWN, &message.header());
    for parsed in &message {
        state.apply(&parsed.unwrap().body);
    }
    state
}

fn locator(port: u16) -> Locator {
    Locator::udp_v4(Ipv4Addr::new(192, 168, 1, 2), port)
}

#[test]
fn header_sets_the_source() {
    let state = state_after(|builder| assert!(builder.pad(0)));
    assert_eq!(state, ReceiverState::new(OWN, &Header::of(PEER)));
    assert_eq!(state.source(EntityId::SPDP_WRITER), Guid::new(PEER, EntityId::SPDP_WRITER));
    assert_eq!(state.destination(EntityId::SPDP_READER), Guid::new(OWN, EntityId::SPDP_READER));
    assert!(state.is_destination());
}

#[test]
fn destination_changes_and_comes_back() {
    let state = state_after(|builder| assert!(builder.info_dst(OTHER)));
    assert!(!state.is_destination());
    let state = state_after(|builder| {
        assert!(builder.info_dst(OTHER));
        assert!(builder.info_dst(GuidPrefix::UNKNOWN));
    });
    assert!(state.is_destination());
}

#[test]
fn timestamp_is_set_invalidated_and_cleared_by_a_new_source() {
    let time = WallTime(1_700_000_000_123_456_789);
    let source = InfoSrc {
        version: ProtocolVersion { major: 2, minor: 1 },
        vendor_id: VendorId::RTI,
        guid_prefix: OTHER,
    };
    assert_eq!(state_after(|builder| assert!(builder.info_ts(Some(time)))).timestamp, Some(time));
    let cleared = state_after(|builder| assert!(builder.info_ts(Some(time)) && builder.info_ts(None)));
    assert_eq!(cleared.timestamp, None);
    let state = state_after(|builder| {
        assert!(builder.info_ts(Some(time)));
        assert!(builder.info_reply(&[locator(1)], Some(&[locator(2)])));
        assert!(builder.info_src(&source));
    });
    assert_eq!((state.timestamp, state.source_prefix), (None, OTHER));
    assert_eq!((state.source_vendor, state.source_version), (VendorId::RTI, source.version));
    assert!(state.unicast_reply.as_slice().is_empty() && state.multicast_reply.as_slice().is_empty());
}

#[test]
fn reply_locators_are_kept_up_to_four() {
    let many: alloc::vec::Vec<_> = (1..10).map(locator).collect();
    let state = state_after(|builder| assert!(builder.info_reply(&many, Some(&many[..2]))));
    assert_eq!(state.unicast_reply.as_slice(), &many[..4]);
    assert_eq!(state.multicast_reply.as_slice(), &many[..2]);
    let state = state_after(|builder| {
        assert!(builder.info_reply(&many, Some(&many)));
        assert!(builder.info_reply_ip4(&InfoReplyIp4 { unicast: locator(7), multicast: None }));
    });
    assert_eq!(state.unicast_reply.as_slice(), &[locator(7)]);
    assert!(state.multicast_reply.as_slice().is_empty());
    let invalid = InfoReplyIp4 { unicast: Locator::INVALID, multicast: Some(locator(8)) };
    let state = state_after(|builder| assert!(builder.info_reply_ip4(&invalid)));
    assert!(state.unicast_reply.as_slice().is_empty());
    assert_eq!(state.multicast_reply.as_slice(), &[locator(8)]);
}

#[test]
fn send_timestamp_gives_the_clock_offset() {
    let sent = WallTime(5_000_000_000);
    let state = state_after(|builder| {
        let spec = crate::HeaderExtensionSpec { send_timestamp: Some(sent), ..Default::default() };
        assert!(builder.header_extension(&spec));
    });
    assert_eq!(state.clock_offset(WallTime(5_000_000_500)), Some(Duration::from_nanos(500)));
    assert_eq!(state_after(|builder| assert!(builder.pad(0))).clock_offset(WallTime(1)), None);
}
