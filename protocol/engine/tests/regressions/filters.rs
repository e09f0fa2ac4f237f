//! Content filters that cost the writer more than they save: one `write` of a text of 20 KB took 27 s with 32 readers of one
//! peer.

use std::sync::Arc;

use dunlin_cdr::{DdsType, TypeRef};
use dunlin_engine::{ContentFilter, ContentFilterProperty, Event, ReaderSlot, WriterSlot};
use dunlin_filter::Filter;
use dunlin_qos::{DataReaderQos, DataWriterQos};

use crate::common::{Net, reader_spec, writer_spec};

#[derive(DdsType)]
#[dds(name = "Keyed")]
struct Text {
    #[dds(key)]
    key: u32,
    text: String,
}

/// The octets of a text as it stands in a sample.
fn text(length: usize) -> Vec<u8> {
    let count = u32::try_from(length + 1).expect("a short text");
    [&count.to_le_bytes()[..], &vec![b'a'; length], &[0]].concat()
}

/// A pattern that compares hundreds of characters with each of the text, 60 times. None of them is met.
fn costly(n: usize) -> String {
    let pattern = "a".repeat(230);
    (0..60).map(|at| format!("text LIKE '%{pattern}b{n}c{at}'")).collect::<Vec<_>>().join(" OR ")
}

fn reader(net: &mut Net, expression: &str) -> Arc<ReaderSlot> {
    let property = ContentFilterProperty {
        content_filtered_topic_name: "Some".into(),
        related_topic_name: "T".into(),
        filter_class_name: ContentFilterProperty::SQL.into(),
        filter_expression: expression.into(),
        expression_parameters: vec![],
    };
    // The reader itself does not waste its time.
    let own = Filter::new::<Text>("", &[] as &[&str]).expect("it fits the type");
    let filter = Arc::new(ContentFilter::new(property, own, 0));
    let spec = reader_spec("T", &DataReaderQos::default().reliable().keep_all());
    net.with(1, |p, now, out| p.create_filtered_reader(now, spec, Some(filter), None, None, out))
        .expect("a good reader")
}

fn writer(net: &mut Net) -> Arc<WriterSlot> {
    let mut spec = writer_spec("T", &DataWriterQos::default().reliable().keep_all());
    spec.type_description = Some(TypeRef::of::<Text>());
    net.with(0, |p, now, out| p.create_writer(now, spec, out)).expect("a good writer")
}

#[test]
fn costly_filters_are_dropped_counted_and_logged() {
    let mut net = Net::started(2);
    let writer = writer(&mut net);
    let costly: Vec<_> = (0..32).map(|n| reader(&mut net, &costly(n))).collect();
    net.settle();
    assert_eq!(writer.matched_readers().len(), 32);
    for key in 0..3 {
        net.write(0, &writer, key, &text(20_000)).expect("there is room");
        net.settle();
    }
    for reader in &costly {
        assert_eq!(net.take(1, reader).len(), 3, "what goes unfiltered is for the reader to filter");
    }
    let stats = writer.stats();
    assert_eq!((stats.filters_dropped, stats.samples_filtered), (32, 0));
    // Ten times what all may take on one sample, although there were three; 32 times two billion without a limit.
    assert!(stats.filter_steps < 8_000_000, "{stats:?}");
    let peer = net.nodes[1].participant.guid_prefix();
    let told = net.take_events(0).into_iter().filter(
        |event| matches!(event, Event::ContentFiltersDropped { participant, .. } if *participant == peer),
    );
    assert_eq!(told.count(), 1);
    // Nor does it compile a further one of this peer, however cheap, but that filters nothing for it either.
    let late = reader(&mut net, "key < 2");
    net.settle();
    let evaluated = writer.stats().filters_evaluated;
    net.write(0, &writer, 9, &text(100)).expect("there is room");
    net.settle();
    assert_eq!(net.take(1, &late).len(), 1);
    assert!(writer.stats().filters_evaluated - evaluated <= 32);
}

#[test]
fn ordinary_filters_stay() {
    let mut net = Net::started(2);
    let writer = writer(&mut net);
    let expressions =
        ["key < 2", "text LIKE '%a_b%'", "text LIKE 'b%'", "text <> 'b' AND NOT key BETWEEN 3 AND 9"];
    let readers: Vec<_> = expressions.iter().map(|expression| reader(&mut net, expression)).collect();
    net.settle();
    for length in [0, 1, 100, 20_000, 200_000] {
        net.write(0, &writer, 1, &text(length)).expect("there is room");
        net.settle();
    }
    let stats = writer.stats();
    assert_eq!(stats.filters_dropped, 0);
    assert!(stats.filters_evaluated >= 20, "all of them were looked at");
    drop(readers);
}
