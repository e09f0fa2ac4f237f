//! Sessions of zenoh that speak the official conventions by hand.

use std::sync::{Arc, Mutex};

use dunlin_test_program::{Place, eventually};
use dunlin_zenoh_bridge::{Bridge, Count};
use zenoh::Wait;
use zenoh::query::{ConsolidationMode, ReplyKeyExpr};
use zenoh::sample::{Locality, SampleKind};

use crate::support::*;

/// `Track { id: 5, position }` in CDR, little endian, as it is on the wire.
fn track_octets(position: i64) -> Vec<u8> {
    let mut octets = vec![0, 1, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0];
    octets.extend_from_slice(&position.to_le_bytes());
    octets
}

/// A string in CDR, little endian, padded at its end as the header says.
fn text_octets(text: &str) -> Vec<u8> {
    let padding = (3 - text.len() % 4) as u8;
    let mut octets = vec![0, 1, 0, padding];
    octets.extend_from_slice(&(text.len() as u32 + 1).to_le_bytes());
    octets.extend_from_slice(text.as_bytes());
    octets.resize(octets.len() + 1 + usize::from(padding), 0);
    octets
}

type Received = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

fn subscribe(session: &zenoh::Session, key: &'static str) -> (zenoh::pubsub::Subscriber<()>, Received) {
    let received = Received::default();
    let sink = Arc::clone(&received);
    let subscriber = session
        .declare_subscriber(key)
        .callback(move |sample| {
            assert_eq!(sample.kind(), SampleKind::Put);
            let sample = (sample.key_expr().to_string(), sample.payload().to_bytes().into_owned());
            sink.lock().unwrap().push(sample);
        })
        .wait()
        .unwrap();
    (subscriber, received)
}

fn query(session: &zenoh::Session, selector: &str) -> Vec<Vec<u8>> {
    let replies = session
        .get(selector)
        .consolidation(ConsolidationMode::None)
        .accept_replies(ReplyKeyExpr::Any)
        .wait()
        .unwrap();
    replies
        .iter()
        .filter_map(|reply| reply.into_result().ok())
        .map(|it| it.payload().to_bytes().into_owned())
        .collect()
}

#[test]
fn the_convention_of_plugin_dds_both_ways() {
    let place = Place::new("zenoh-dds");
    let port = free_port();
    let routes = "[[route]]\nconvention = \"dds\"\nscope = \"site/a\"\n";
    let bridge = Bridge::start(config(&place, "one", 0, &listening(port), routes)).unwrap();
    let session = session(&connecting(&[port]));
    let (_subscriber, received) = subscribe(&session, "site/a/**");
    let out = writer::<Track>(&place, 0, "Out", &kept_writer());
    matches(&out);
    out.write(&track(5, 77)).unwrap();
    eventually("it arrives", || !received.lock().unwrap().is_empty());
    assert_eq!(*received.lock().unwrap(), [("site/a/Out".to_owned(), track_octets(77))]);
    // The end of an instance is no sample for others.
    out.dispose(&track(5, 0)).unwrap();
    out.write(&track(5, 78)).unwrap();
    eventually("it arrives", || received.lock().unwrap().len() >= 2);
    assert_eq!(received.lock().unwrap()[1].1, track_octets(78));
    // History as FetchingSubscriber asks for it.
    assert_eq!(query(&session, "site/a/Out/@dds_pub_cache/*"), [track_octets(78)]);
    let into = reader::<Track>(&place, 0, "In", &live_reader());
    let publisher =
        session.declare_publisher("site/a/In").allowed_destination(Locality::Remote).wait().unwrap();
    eventually("the bridge subscribes", || publisher.matching_status().wait().unwrap().matching());
    publisher.put(track_octets(9)).wait().unwrap();
    assert_eq!(take(&into, 1)[0].data, Some(track(5, 9)), "{}", bridge.counts());
}

#[test]
fn history_of_plugin_dds_reaches_late_joiners() {
    let place = Place::new("zenoh-dds-history");
    let port = free_port();
    let bridge = bridge(&place, "one", 0, &listening(port));
    let session = session(&connecting(&[port]));
    let early = session.new_timestamp();
    let _queryable = session
        .declare_queryable("Old/@dds_pub_cache/77")
        .callback(move |query| {
            query.reply("Old", track_octets(3)).timestamp(early).wait().unwrap();
        })
        .wait()
        .unwrap();
    let late = reader::<Track>(&place, 0, "Old", &kept_reader());
    assert_eq!(positions(&take(&late, 1)), [3], "{}", bridge.counts());
    // What is had already does not come again when another bridge of that kind appears.
    let _token = session.liveliness().declare_token("zenoh-plugin-dds/77").wait().unwrap();
    eventually("it is asked again", || count(&bridge, Count::Copies) > 0);
    session.put("Old", track_octets(4)).wait().unwrap();
    assert_eq!(positions(&take(&late, 1)), [4]);
}

#[test]
fn the_convention_of_plugin_ros2dds_both_ways() {
    let place = Place::new("zenoh-ros");
    let port = free_port();
    let bridge = Bridge::start(config(&place, "one", 0, &listening(port), ROS)).unwrap();
    let session = session(&connecting(&[port]));
    let tokens = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&tokens);
    let _tokens = session
        .liveliness()
        .declare_subscriber("@/*/@ros2_lv/**")
        .history(true)
        .callback(move |sample| sink.lock().unwrap().push(sample.key_expr().to_string()))
        .wait()
        .unwrap();
    let (_subscriber, received) = subscribe(&session, "bot/chatter");
    let talker = writer::<Text>(&place, 0, "rt/chatter", &kept_writer());
    let listener = reader::<Text>(&place, 0, "rt/orders", &live_reader());
    matches(&talker);
    talker.write(&Text { data: "hello".into() }).unwrap();
    eventually("it arrives", || !received.lock().unwrap().is_empty());
    assert_eq!(*received.lock().unwrap(), [("bot/chatter".to_owned(), text_octets("hello"))]);
    let wanted = [
        "/@ros2_lv/MP/bot§chatter/std_msgs§msg§String/:1:1:0,1",
        "/@ros2_lv/MS/bot§orders/std_msgs§msg§String/:1:0:1,0",
    ];
    for wanted in wanted {
        eventually(wanted, || tokens.lock().unwrap().iter().any(|token| token.ends_with(wanted)));
    }
    // History as AdvancedSubscriber asks for it.
    assert_eq!(query(&session, "bot/chatter/@adv/**?_max=10"), [text_octets("hello")]);
    let publisher = session.declare_publisher("bot/orders").wait().unwrap();
    eventually("the bridge subscribes", || publisher.matching_status().wait().unwrap().matching());
    publisher.put(text_octets("go")).wait().unwrap();
    assert_eq!(take(&listener, 1)[0].data.as_ref().unwrap().data, "go", "{}", bridge.counts());
    // What is no topic of ROS stays, and somebody can see why.
    let _square = writer::<Track>(&place, 0, "Square", &kept_writer());
    eventually("it is refused", || bridge.refusals().iter().any(|(topic, _)| topic == "Square"));
}
