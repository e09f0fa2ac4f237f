//! A transport written by an application, [`link`], under the suite of transports and under tests of the DCPS entities: none of
//! these knows which transport it runs on.

#[path = "../dcps/deleting.rs"]
mod deleting;
#[path = "../dcps/exchange.rs"]
mod exchange;
mod link;
#[path = "../dcps/reading.rs"]
mod reading;
mod stage;
#[path = "../dcps/support.rs"]
mod support;
#[path = "../dcps/timestamps.rs"]
mod timestamps;
#[path = "../dcps/topics.rs"]
mod topics;
#[path = "../common/mod.rs"]
mod usual;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use dunlin::qos::{DataReaderQos, DataWriterQos};
use dunlin::{Config, CreateParticipantError, DomainParticipant};
use dunlin_transport::conformance;
use dunlin_transport::memory::MemoryNetwork;
use link::Link;

/// What the tests share, with participants on a link in place of the loopback interface.
mod common {
    pub(crate) use super::usual::*;
    pub(crate) type Fixture = FixtureOn<super::OnLink>;

    pub(crate) fn participant(domain: u32) -> dunlin::DomainParticipant {
        <super::OnLink as Join>::participant(domain)
    }
}

pub(crate) struct OnLink;

impl usual::Join for OnLink {
    fn participant(domain: u32) -> DomainParticipant {
        static LINKS: Mutex<BTreeMap<u32, Arc<Link>>> = Mutex::new(BTreeMap::new());
        let link = Arc::clone(LINKS.lock().unwrap().entry(domain).or_default());
        DomainParticipant::builder(domain).config(Config::default()).transport(link.attach()).build().unwrap()
    }
}

#[test]
fn a_transport_of_the_application_passes_the_conformance_suite() {
    conformance::run(&|| {
        let link = Arc::new(Link::default());
        (link.attach(), link.attach())
    });
}

#[test]
fn two_transports_in_one_participant() {
    let (link, network) = (Arc::new(Link::default()), MemoryNetwork::new());
    let on_both = || DomainParticipant::builder(3).config(Config::default()).transport(network.attach(3));
    // They share the link, but hear each other nowhere else.
    let one = on_both().transport(link.attach()).build().unwrap();
    let other =
        DomainParticipant::builder(3).config(Config::default()).transport(link.attach()).build().unwrap();
    let third = on_both().build().unwrap();
    let (qos, wanted) = (DataWriterQos::default().reliable(), DataReaderQos::default().reliable());
    let writer = usual::writer_in(&one, "Both", &qos);
    let readers = [&other, &third].map(|participant| usual::reader_in(participant, "Both", &wanted));
    usual::eventually("a match over each", || writer.matched_subscriptions().len() == 2);
    usual::eventually("a match of both", || {
        readers.iter().all(|reader| !reader.matched_publications().is_empty())
    });
    writer.write(&usual::track(1, 2)).unwrap();
    for reader in &readers {
        usual::eventually("the sample", || {
            reader.take(1).unwrap().iter().any(|sample| sample.data.is_some())
        });
    }
}

#[test]
fn settings_of_other_transports_are_refused() {
    let mut config = Config::default();
    config.set("network.interfaces", "lo").unwrap();
    let end = Arc::new(Link::default()).attach();
    let error = DomainParticipant::builder(4).config(config).transport(end).build().unwrap_err();
    assert!(matches!(&error, CreateParticipantError::Network { .. }), "{error}");
    let mut text = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    assert!(text.contains("`network.*` has no effect on a transport of the application's"), "{text}");
}
