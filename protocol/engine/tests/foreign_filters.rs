//! Filters that readers of other vendors announce (DDS 1.4 §2.2.2.3.3; RTPS 2.5 §8.7.3, §9.6.4.1): what a writer does not send to
//! them, and what it says of what it sends.

#![cfg(not(any(loom, shuttle)))]

mod common;

use std::sync::Arc;

use common::{Body, Net, reader_spec, unpack};
use dunlin_core::VendorId;
use dunlin_engine::{ContentFilter, ContentFilterProperty, Event, ReaderSlot, WriterSlot};
use dunlin_filter::Filter;
use dunlin_qos::{DataReaderQos, DataWriterQos};
use dunlin_wire::params::content_filter_passed;
use dunlin_wire::{Message, Submessage};

fn filter(expression: &str, parameters: &[&str]) -> Arc<ContentFilter> {
    let property = ContentFilterProperty {
        content_filtered_topic_name: "Some".into(),
        related_topic_name: "T".into(),
        filter_class_name: ContentFilterProperty::SQL.into(),
        filter_expression: expression.into(),
        expression_parameters: parameters.iter().map(|&parameter| parameter.to_owned()).collect(),
    };
    let filter = Filter::new::<Body>(expression, parameters).expect("it fits the type");
    Arc::new(ContentFilter::new(property, filter, 0))
}

/// Of each sample that was sent, whether the writer said that it passed the filter with this signature.
fn said(net: &mut Net, signature: &[u8; 16]) -> Vec<Option<bool>> {
    let mut said = Vec::new();
    for datagram in net.record.take().expect("it was recorded") {
        for submessage in Message::parse(&datagram).expect("a message").submessages() {
            if let Submessage::Data(data) = submessage.expect("a submessage").body
                && !data.writer_id.is_builtin()
            {
                said.push(data.inline_qos.and_then(|list| content_filter_passed(&list, signature)));
            }
        }
    }
    said
}

struct Outcome {
    net: Net,
    writer: Arc<WriterSlot>,
    reader: Arc<ReaderSlot>,
    /// Keys of what was received, and what was said of it.
    taken: Vec<u32>,
    said: Vec<Option<bool>>,
}

/// Ten samples with keys from 0 on for a reader of a vendor.
fn exchange(vendor: VendorId, filter: &Arc<ContentFilter>, qos: &DataReaderQos, length: usize) -> Outcome {
    let mut net = Net::new(2);
    net.disguised.insert(1, vendor);
    net.start();
    let writer = net.writer(0, "T", &DataWriterQos::default().reliable().keep_all());
    let spec = reader_spec("T", qos);
    let reader = net
        .with(1, |p, now, out| p.create_filtered_reader(now, spec, Some(Arc::clone(filter)), None, None, out))
        .expect("a good reader");
    net.settle();
    assert_eq!(writer.matched_readers()[0].vendor, vendor);
    net.record = Some(Vec::new());
    for key in 0..10 {
        net.write(0, &writer, key, &vec![7; length]).expect("there is room");
    }
    net.settle();
    let said = said(&mut net, &filter.property().signature());
    let mut taken: Vec<u32> = net.take(1, &reader).iter().map(|sample| unpack(sample).0).collect();
    taken.sort_unstable();
    Outcome { net, writer, reader, taken, said }
}

fn reliable() -> DataReaderQos {
    DataReaderQos::default().reliable().keep_all()
}

#[test]
fn reliable_readers_of_other_vendors_get_content_filter_info() {
    let mut outcome = exchange(VendorId::FAST_DDS, &filter("key < %0", &["3"]), &reliable(), 16);
    assert_eq!(outcome.taken, [0, 1, 2]);
    assert_eq!(outcome.said, [Some(true); 3], "nothing else was sent");
    assert_eq!(outcome.writer.stats().samples_filtered, 7);
    assert_eq!(outcome.writer.acked_by_all(), outcome.writer.last_sn());
    let lost = |event: &Event| matches!(event, Event::SampleLost { .. });
    assert!(!outcome.net.take_events(1).iter().any(lost));
    let stats = outcome.reader.content_filter_stats();
    assert_eq!((stats.passed, stats.rejected), (3, 0));
}

#[test]
fn repairs_carry_content_filter_info() {
    let mut net = Net::new(2);
    net.disguised.insert(1, VendorId::FAST_DDS);
    net.start();
    let writer = net.writer(0, "T", &DataWriterQos::default().reliable().keep_all().transient_local());
    for key in 0..10 {
        net.write(0, &writer, key, b"early").expect("there is room");
    }
    let filter = filter("key < 3", &[]);
    let spec = reader_spec("T", &reliable().transient_local());
    net.record = Some(Vec::new());
    let reader = net
        .with(1, |p, now, out| {
            p.create_filtered_reader(now, spec, Some(Arc::clone(&filter)), None, None, out)
        })
        .expect("a good reader");
    net.settle();
    assert_eq!(net.take(1, &reader).len(), 3);
    assert_eq!(said(&mut net, &filter.property().signature()), [Some(true); 3]);
}

#[test]
fn filters_that_vendors_evaluate_differently_are_left_to_the_reader() {
    let best_effort = DataReaderQos::default().keep_all();
    // Compared as floating-point numbers; a reader that would take what is missing for lost.
    for (expression, qos) in [("key < 2.5", reliable()), ("key < 3", best_effort)] {
        let outcome = exchange(VendorId::FAST_DDS, &filter(expression, &[]), &qos, 16);
        assert_eq!(outcome.taken, [0, 1, 2], "the reader filters");
        assert_eq!(outcome.said, [None; 10], "{expression}");
        assert_eq!(outcome.writer.stats().samples_filtered, 0, "{expression}");
    }
}

#[test]
fn readers_of_the_same_vendor_get_no_content_filter_info() {
    let outcome = exchange(VendorId::DUNLIN, &filter("key < 2.5", &[]), &reliable(), 16);
    assert_eq!((outcome.taken, outcome.said), (vec![0, 1, 2], vec![None; 3]));
}

/// Fragments are as large as they were, so the parameter finds room in no datagram with a fragment.
#[test]
fn samples_that_fill_their_datagrams_go_without() {
    for (length, told) in [(1_000, true), (1_360, false), (1_400, false), (5_000, false)] {
        let outcome = exchange(VendorId::FAST_DDS, &filter("key < 3", &[]), &reliable(), length);
        assert_eq!(outcome.taken, [0, 1, 2], "{length}");
        assert_eq!(outcome.said.iter().any(Option::is_some), told, "{length}");
        assert_eq!(outcome.writer.stats().samples_filtered, 7, "{length}");
    }
}

/// Compiled once, and asked once for each write, however many readers have it.
#[test]
fn readers_of_another_vendor_with_one_filter_share_its_evaluation() {
    let mut net = Net::new(2);
    net.disguised.insert(1, VendorId::FAST_DDS);
    net.start();
    let writer = net.writer(0, "T", &DataWriterQos::default().reliable().keep_all());
    let filter = filter("key < 3", &[]);
    let readers: Vec<_> = (0..20)
        .map(|_| {
            let spec = reader_spec("T", &reliable());
            net.with(1, |p, now, out| {
                p.create_filtered_reader(now, spec, Some(Arc::clone(&filter)), None, None, out)
            })
            .expect("a good reader")
        })
        .collect();
    net.settle();
    assert_eq!(writer.matched_readers().len(), 20);
    for key in 0..10 {
        net.write(0, &writer, key, b"sample").expect("there is room");
    }
    net.settle();
    let stats = writer.stats();
    assert_eq!((stats.filters_evaluated, stats.samples_filtered), (10, 7 * 20));
    assert!(readers.iter().all(|reader| net.take(1, reader).len() == 3));
}
