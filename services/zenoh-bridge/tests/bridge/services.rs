//! Services of ROS 2 in the convention of zenoh-plugin-ros2dds.

use dunlin::{DataReader, DataWriter, DdsType, WriteParams};
use dunlin_test_program::{Place, eventually};
use dunlin_zenoh_bridge::Bridge;
use zenoh::Wait;

use crate::support::*;

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
#[dds(name = "example_interfaces::srv::dds_::AddTwoInts_Request_")]
struct Add {
    a: i64,
    b: i64,
}

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
#[dds(name = "example_interfaces::srv::dds_::AddTwoInts_Response_")]
struct Sum {
    sum: i64,
}

fn octets(numbers: &[i64]) -> Vec<u8> {
    let data = numbers.iter().flat_map(|number| number.to_le_bytes());
    [0, 1, 0, 0].into_iter().chain(data).collect()
}

fn client(place: &Place, domain: u32) -> (DataWriter<Add>, DataReader<Sum>) {
    let replies = reader(place, domain, "rr/addReply", &live_reader());
    (writer(place, domain, "rq/addRequest", &live_writer()), replies)
}

/// Replies to what has come until it is asked to.
fn serve(requests: &DataReader<Add>, replies: &DataWriter<Sum>) {
    for sample in requests.take(usize::MAX).unwrap() {
        let Some(add) = sample.data else { continue };
        let params = WriteParams { related: Some(sample.info.origin()), ..WriteParams::default() };
        replies.write_with(&Sum { sum: add.a + add.b }, &params).unwrap();
    }
}

fn server(place: &Place, domain: u32) -> (DataReader<Add>, DataWriter<Sum>) {
    let replies = writer(place, domain, "rr/addReply", &live_writer());
    (reader(place, domain, "rq/addRequest", &live_reader()), replies)
}

#[test]
fn a_client_and_a_server_find_each_other_through_two_bridges() {
    let place = Place::new("zenoh-services");
    let port = free_port();
    let one = Bridge::start(config(&place, "one", 0, &listening(port), ROS)).unwrap();
    let other = Bridge::start(config(&place, "other", 1, &connecting(&[port]), ROS)).unwrap();
    let (requests, replies) = server(&place, 1);
    let (ask, answers) = client(&place, 0);
    matches(&ask);
    eventually("the bridge reads the replies", || !replies.matched_subscriptions().is_empty());
    eventually("the bridge writes replies", || !answers.matched_publications().is_empty());
    for number in 0..20 {
        let request = ask.write_with(&Add { a: number, b: 1 }, &WriteParams::default()).unwrap();
        let mut answer = None;
        eventually(&format!("an answer; {}; {}", one.counts(), other.counts()), || {
            serve(&requests, &replies);
            answer = answers.take(1).unwrap().pop();
            answer.is_some()
        });
        let answer = answer.unwrap();
        assert_eq!(answer.data, Some(Sum { sum: number + 1 }));
        assert_eq!(answer.info.related_sample, Some(request));
    }
}

#[test]
fn a_session_of_zenoh_is_client_and_server_by_hand() {
    let place = Place::new("zenoh-services-hand");
    let port = free_port();
    let one = Bridge::start(config(&place, "one", 0, &listening(port), ROS)).unwrap();
    let session = session(&connecting(&[port]));
    let (requests, replies) = server(&place, 0);
    let querier = session.declare_querier("bot/add").wait().unwrap();
    eventually("the service is there", || querier.matching_status().wait().unwrap().matching());
    eventually("it is matched", || !replies.matched_subscriptions().is_empty());
    eventually("it is matched", || !requests.matched_publications().is_empty());
    let replied = querier.get().payload(octets(&[20, 22])).wait().unwrap();
    let mut reply = None;
    eventually("a reply", || {
        serve(&requests, &replies);
        reply = replied.try_recv().ok().flatten();
        reply.is_some()
    });
    let reply = reply.unwrap().into_result().unwrap().payload().to_bytes().into_owned();
    assert_eq!(reply, octets(&[42]));
    // Nonsense is refused, not passed on.
    let refused = querier.get().payload("nonsense").wait().unwrap();
    assert!(refused.recv().unwrap().into_result().is_err());
    drop((requests, replies));
    let _served = session
        .declare_queryable("bot/multiply")
        .callback(|query| {
            let payload = query.payload().unwrap().to_bytes().into_owned();
            let attachment = query.attachment().unwrap().to_bytes().into_owned();
            assert!(attachment.len() == 20 && attachment.starts_with(b"rqh"));
            let number = |at: usize| i64::from_le_bytes(payload[at..at + 8].try_into().unwrap());
            query.reply("bot/multiply", octets(&[number(4) * number(12)])).wait().unwrap();
        })
        .wait()
        .unwrap();
    let ask = writer::<Add>(&place, 0, "rq/multiplyRequest", &live_writer());
    let answers = reader::<Sum>(&place, 0, "rr/multiplyReply", &live_reader());
    matches(&ask);
    eventually("the bridge writes replies", || !answers.matched_publications().is_empty());
    let request = ask.write_with(&Add { a: 6, b: 7 }, &WriteParams::default()).unwrap();
    let taken = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| take(&answers, 1)));
    let answer = taken.unwrap_or_else(|_| panic!("{}", one.counts())).pop().unwrap();
    assert_eq!((answer.data, answer.info.related_sample), (Some(Sum { sum: 42 }), Some(request)));
}

#[test]
fn a_service_is_announced_once_its_server_has_matched() {
    let place = Place::new("zenoh-services-half");
    let port = free_port();
    let _one = Bridge::start(config(&place, "one", 0, &listening(port), ROS)).unwrap();
    let session = session(&connecting(&[port]));
    let querier = |name: &str| session.declare_querier(format!("bot/{name}")).wait().unwrap();
    let (half, whole) = (querier("half"), querier("add"));
    // Nobody replies yet.
    let requests = reader::<Add>(&place, 0, "rq/halfRequest", &live_reader());
    eventually("it is matched", || !requests.matched_publications().is_empty());
    let _server = server(&place, 0);
    eventually("a later one is there", || whole.matching_status().wait().unwrap().matching());
    assert!(!half.matching_status().wait().unwrap().matching(), "its replies would be lost");
    let replies = writer::<Sum>(&place, 0, "rr/halfReply", &live_writer());
    eventually("the service is there", || half.matching_status().wait().unwrap().matching());
    let replied = half.get().payload(octets(&[20, 22])).wait().unwrap();
    eventually("the server knows the bridge", || !replies.matched_subscriptions().is_empty());
    let mut reply = None;
    eventually("a reply to the first request", || {
        serve(&requests, &replies);
        reply = replied.try_recv().ok().flatten();
        reply.is_some()
    });
    assert_eq!(&*reply.unwrap().into_result().unwrap().payload().to_bytes(), octets(&[42]));
    drop(requests);
    eventually("nobody takes requests", || !half.matching_status().wait().unwrap().matching());
}
