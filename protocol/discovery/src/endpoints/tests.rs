use alloc::{string::ToString, vec};

use dunlin_core::{Duration, VendorId};
use dunlin_qos::{
    DataReaderQos, DataWriterQos, PolicyId, PublisherQos, ServiceMark, SubscriberQos, TopicData,
};

use super::*;
use crate::config::Quotas;
use crate::data::{EndpointLocators, LocalReader, LocalWriter};

const OWN: GuidPrefix = GuidPrefix([1; 12]);
const PEER: GuidPrefix = GuidPrefix([2; 12]);
const WRITER: EntityId = EntityId([0, 0, 1, 2]);
const READER: EntityId = EntityId([0, 0, 1, 7]);

fn writer(prefix: GuidPrefix, edit: impl FnOnce(&mut LocalWriter)) -> DiscoveredWriter {
    let mut writer = LocalWriter {
        entity_id: WRITER,
        topic_name: "Square".to_string(),
        type_name: "ShapeType".to_string(),
        qos: DataWriterQos::default(),
        publisher_qos: PublisherQos::default(),
        group: EntityId::UNKNOWN,
        topic_data: TopicData::default(),
        type_information: None,
        locators: EndpointLocators::default(),
        related: None,
    };
    edit(&mut writer);
    writer.describe(prefix, VendorId::DUNLIN)
}

fn reader(prefix: GuidPrefix, edit: impl FnOnce(&mut LocalReader)) -> DiscoveredReader {
    let mut reader = LocalReader {
        entity_id: READER,
        topic_name: "Square".to_string(),
        type_name: "ShapeType".to_string(),
        qos: DataReaderQos::default(),
        subscriber_qos: SubscriberQos::default(),
        topic_data: TopicData::default(),
        type_information: None,
        locators: EndpointLocators::default(),
        related: None,
        content_filter: None,
    };
    edit(&mut reader);
    reader.describe(prefix, VendorId::DUNLIN)
}

/// The effects as short words.
fn words(fx: &mut Vec<DiscoveryEffect>) -> Vec<&'static str> {
    let word = |effect: DiscoveryEffect| match effect {
        DiscoveryEffect::WriterDiscovered(_) => "writer found",
        DiscoveryEffect::WriterUpdated(_) => "writer changed",
        DiscoveryEffect::WriterLost(_) => "writer lost",
        DiscoveryEffect::ReaderDiscovered(_) => "reader found",
        DiscoveryEffect::ReaderUpdated(_) => "reader changed",
        DiscoveryEffect::ReaderLost(_) => "reader lost",
        DiscoveryEffect::WriterMatched { .. } => "writer matched",
        DiscoveryEffect::MatchedWriterUpdated { .. } => "writer still matched",
        DiscoveryEffect::WriterUnmatched { .. } => "writer unmatched",
        DiscoveryEffect::ReaderMatched { .. } => "reader matched",
        DiscoveryEffect::MatchedReaderUpdated { .. } => "reader still matched",
        DiscoveryEffect::ReaderUnmatched { .. } => "reader unmatched",
        DiscoveryEffect::IncompatibleQos { .. } => "incompatible",
        DiscoveryEffect::OtherPartition { .. } => "elsewhere",
        DiscoveryEffect::InconsistentTopic { .. } => "inconsistent",
        _ => "other",
    };
    fx.drain(..).map(word).collect()
}

fn endpoints() -> (Endpoints, Vec<DiscoveryEffect>) {
    (Endpoints::new(OWN, &Quotas::default()), vec![])
}

#[test]
fn remote_endpoints_match_local_ones() {
    let (mut endpoints, mut fx) = endpoints();
    endpoints.put_writer(writer(OWN, |_| ()), &mut fx);
    assert_eq!(words(&mut fx), [""; 0]);
    endpoints.put_reader(reader(PEER, |_| ()), &mut fx);
    assert_eq!(words(&mut fx), ["reader found", "reader matched"]);
    assert!(!endpoints.put_reader(reader(PEER, |_| ()), &mut fx), "nothing new");
    assert_eq!(words(&mut fx), [""; 0]);
    endpoints.put_writer(writer(PEER, |_| ()), &mut fx);
    assert_eq!(words(&mut fx), ["writer found"], "two remote ones are no concern of ours");
    endpoints.remove_participant(PEER, &mut fx);
    assert_eq!(words(&mut fx), ["writer lost", "reader unmatched", "reader lost"]);
    assert!(!endpoints.remove_reader(Guid::new(PEER, READER), &mut fx));
    assert_eq!(endpoints.topics.len(), 1);
    endpoints.remove_writer(Guid::new(OWN, WRITER), &mut fx);
    assert!(endpoints.topics.is_empty() && endpoints.verdicts.is_empty());
}

#[test]
fn local_endpoints_match_each_other_through_the_local_locator() {
    let (mut endpoints, mut fx) = endpoints();
    endpoints.put_reader(reader(OWN, |_| ()), &mut fx);
    endpoints.put_writer(writer(OWN, |_| ()), &mut fx);
    let [
        DiscoveryEffect::WriterMatched { local: r, remote: w },
        DiscoveryEffect::ReaderMatched { local, remote },
    ] = &fx[..]
    else {
        panic!("{fx:?}")
    };
    assert_eq!((*r, *local), (READER, WRITER));
    assert_eq!((&*w.unicast, &remote.unicast), (&[dunlin_core::Locator::LOCAL][..], &w.unicast));
    fx.clear();
    endpoints.remove_reader(Guid::new(OWN, READER), &mut fx);
    assert_eq!(words(&mut fx), ["reader unmatched", "writer unmatched"]);
}

#[test]
fn mismatches_are_reported_once() {
    let (mut endpoints, mut fx) = endpoints();
    endpoints
        .put_reader(reader(OWN, |r| r.qos = DataReaderQos::default().reliable().transient_local()), &mut fx);
    let best_effort = |w: &mut LocalWriter| w.qos = DataWriterQos::default().best_effort();
    endpoints.put_writer(writer(PEER, best_effort), &mut fx);
    let DiscoveryEffect::IncompatibleQos { local, remote, policies } = &fx[1] else { panic!("{fx:?}") };
    assert_eq!((*local, *remote), (READER, Guid::new(PEER, WRITER)));
    let ids: Vec<PolicyId> = policies.iter().map(|found| found.policy).collect();
    assert_eq!(ids, [PolicyId::Durability, PolicyId::Reliability]);
    fx.clear();
    let with_data = |w: &mut LocalWriter| w.qos = DataWriterQos::default().best_effort().user_data([1]);
    endpoints.put_writer(writer(PEER, with_data), &mut fx);
    assert_eq!(words(&mut fx), ["writer changed"]);
    endpoints.put_writer(writer(PEER, |w| w.qos = DataWriterQos::default()), &mut fx);
    assert_eq!(words(&mut fx), ["writer changed", "incompatible"], "another set of policies");
    endpoints.put_writer(writer(PEER, |w| w.qos = DataWriterQos::default().transient_local()), &mut fx);
    assert_eq!(words(&mut fx), ["writer changed", "writer matched"]);
    endpoints.put_writer(writer(PEER, best_effort), &mut fx);
    assert_eq!(words(&mut fx), ["writer changed", "writer unmatched", "incompatible"]);
}

#[test]
fn types_must_agree_and_so_must_their_keys() {
    let (mut endpoints, mut fx) = endpoints();
    endpoints.put_writer(writer(OWN, |_| ()), &mut fx);
    endpoints.put_reader(reader(PEER, |r| r.type_name = "Other".to_string()), &mut fx);
    let DiscoveryEffect::InconsistentTopic { topic_name, type_name, .. } = &fx[1] else { panic!("{fx:?}") };
    assert_eq!((topic_name.as_str(), type_name.as_str()), ("Square", "Other"));
    fx.clear();
    endpoints.put_reader(reader(PEER, |r| r.entity_id = EntityId([0, 0, 2, 4])), &mut fx);
    assert_eq!(words(&mut fx), ["reader found", "inconsistent"]);
    // The type comes after the partition: of endpoints of other partitions no more is told.
    let elsewhere = |r: &mut LocalReader| {
        r.entity_id = EntityId([0, 0, 3, 7]);
        r.type_name = "Other".to_string();
        r.subscriber_qos = SubscriberQos::default().partition(["elsewhere"]);
    };
    endpoints.put_reader(reader(PEER, elsewhere), &mut fx);
    assert_eq!(words(&mut fx), ["reader found", "elsewhere"]);
}

#[test]
fn changes_match_and_unmatch() {
    let (mut endpoints, mut fx) = endpoints();
    let within = |name: &'static str| {
        move |w: &mut LocalWriter| w.publisher_qos = PublisherQos::default().partition([name])
    };
    endpoints.put_writer(writer(OWN, within("a")), &mut fx);
    endpoints
        .put_reader(reader(PEER, |r| r.subscriber_qos = SubscriberQos::default().partition(["b*"])), &mut fx);
    let DiscoveryEffect::OtherPartition { local, publisher, subscriber, .. } = &fx[1] else {
        panic!("{fx:?}")
    };
    assert_eq!(
        (*local, &**publisher, &**subscriber),
        (WRITER, &["a".to_string()][..], &["b*".to_string()][..])
    );
    assert_eq!(words(&mut fx), ["reader found", "elsewhere"]);
    assert!(endpoints.put_writer(writer(OWN, within("b1")), &mut fx));
    assert_eq!(words(&mut fx), ["reader matched"]);
    endpoints.put_writer(writer(OWN, within("b2")), &mut fx);
    assert_eq!(words(&mut fx), [""; 0], "the peer learns of it, the local writer knows");
    endpoints.put_writer(writer(OWN, within("a")), &mut fx);
    assert_eq!(words(&mut fx), ["reader unmatched", "elsewhere"]);
    endpoints.put_writer(writer(OWN, within("b")), &mut fx);
    fx.clear();
    let slower = |r: &mut LocalReader| {
        r.subscriber_qos = SubscriberQos::default().partition(["b*"]);
        r.qos = DataReaderQos::default().user_data([1]);
    };
    endpoints.put_reader(reader(PEER, slower), &mut fx);
    assert_eq!(words(&mut fx), ["reader changed", "reader still matched"]);
    let strict = |r: &mut LocalReader| {
        r.subscriber_qos = SubscriberQos::default().partition(["b*"]);
        r.qos = DataReaderQos::default().deadline(Duration::from_secs(1));
    };
    endpoints.put_reader(reader(PEER, strict), &mut fx);
    assert_eq!(words(&mut fx), ["reader changed", "reader unmatched", "incompatible"]);
}

/// What a reader was told to take nothing of is no mistake that the log should name.
#[test]
fn an_ignored_service_raises_no_incompatible_qos() {
    let (mut endpoints, mut fx) = endpoints();
    let mark = ServiceMark { kind: "durability".into(), id: "s".into(), path: Vec::new() };
    endpoints.put_writer(writer(OWN, |w| w.qos = DataWriterQos::default().service(&mark)), &mut fx);
    let ignores = |r: &mut LocalReader| r.qos = DataReaderQos::default().ignore_service("s");
    endpoints.put_reader(reader(PEER, ignores), &mut fx);
    assert_eq!(words(&mut fx), ["reader found"]);
    endpoints.put_reader(reader(PEER, |_| ()), &mut fx);
    assert_eq!(words(&mut fx), ["reader changed", "reader matched"]);
}

#[test]
fn a_changed_topic_is_another_endpoint() {
    let (mut endpoints, mut fx) = endpoints();
    endpoints.put_writer(writer(OWN, |_| ()), &mut fx);
    endpoints.put_reader(reader(PEER, |_| ()), &mut fx);
    fx.clear();
    endpoints.put_reader(reader(PEER, |r| r.topic_name = "Circle".to_string()), &mut fx);
    assert_eq!(words(&mut fx), ["reader unmatched", "reader lost", "reader found"]);
}
