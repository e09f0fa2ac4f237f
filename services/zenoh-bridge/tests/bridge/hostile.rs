//! A peer of zenoh that sends what nobody should.

use dunlin_test_program::{Place, eventually};
use dunlin_zenoh_bridge::{Bridge, Count};
use zenoh::Wait;
use zenoh::qos::CongestionControl;

use crate::support::*;

#[test]
fn unreadable_zenoh_messages_are_counted_and_skipped() {
    let place = Place::new("zenoh-hostile");
    let port = free_port();
    let routes = format!("{ALL}[limits]\nsample_mib = 1\n");
    let bridge = Bridge::start(config(&place, "one", 0, &listening(port), &routes)).unwrap();
    let session = session(&connecting(&[port]));
    let victim = reader::<Track>(&place, 0, "In", &live_reader());
    let publisher =
        session.declare_publisher("In").congestion_control(CongestionControl::Block).wait().unwrap();
    eventually("the bridge subscribes", || publisher.matching_status().wait().unwrap().matching());
    let counted = |what: Count| eventually(what.text(), || count(&bridge, what) > 0);
    for payload in [&b""[..], b"\x00", b"\x00\x01\x00", b"\xff\xff\xff\xff", b"hello, world"] {
        publisher.put(payload).wait().unwrap();
    }
    counted(Count::NoCdr);
    // A header, and nothing that the type could be.
    publisher.put(&b"\x00\x01\x00\x00\x07"[..]).wait().unwrap();
    publisher.put(vec![0; (1 << 20) + 1]).wait().unwrap();
    counted(Count::TooLarge);
    publisher.put(&b"\x00\x01\x00\x00"[..]).attachment(&b"dnln\x01garbage"[..]).wait().unwrap();
    counted(Count::BadAttachment);
    publisher.delete().wait().unwrap();
    counted(Count::NoKey);
    let _tokens: Vec<_> =
        ["@dunlin_bridge/x/1/In/T/00", "@dunlin_bridge/00/99999999999/In/T/00", "@/1/@ros2_lv/MP/In/T/x"]
            .into_iter()
            .map(|token| session.liveliness().declare_token(token).wait().unwrap())
            .collect();
    counted(Count::BadToken);
    // Everything goes on.
    let mut octets = vec![0, 1, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0];
    octets.extend_from_slice(&1_i64.to_le_bytes());
    publisher.put(octets).wait().unwrap();
    let mut seen = Vec::new();
    eventually("the good one arrives", || {
        seen.extend(positions(&victim.take(usize::MAX).unwrap()));
        seen == [1]
    });
}
