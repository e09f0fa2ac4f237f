//! Content-filtered readers: each gets what satisfies its filter, and nothing is lost on the way.

use std::sync::Arc;

use dunlin_cdr::DdsType;
use dunlin_engine::{ContentFilter, ContentFilterProperty, Event, Output, Participant, ReaderSlot};
use dunlin_filter::Filter;
use dunlin_sim::{NodeId, World};

use crate::common::*;

/// How the samples of the scenarios look to a filter.
#[derive(DdsType)]
#[dds(final, name = "Keyed")]
pub struct Numbered {
    #[dds(key)]
    pub key: u32,
    pub number: u32,
}

pub fn filter(expression: &str, parameters: &[String], revision: u32) -> Arc<ContentFilter> {
    let property = ContentFilterProperty {
        content_filtered_topic_name: "Some".into(),
        related_topic_name: "All".into(),
        filter_class_name: ContentFilterProperty::SQL.into(),
        filter_expression: expression.into(),
        expression_parameters: parameters.to_vec(),
    };
    let filter = Filter::new::<Numbered>(expression, parameters).expect("a good filter");
    Arc::new(ContentFilter::new(property, filter, revision))
}

pub fn filtered(
    world: &mut World,
    node: NodeId,
    durable: bool,
    filter: Arc<ContentFilter>,
) -> Arc<ReaderSlot> {
    let qos = if durable { keep_all_reader().transient_local() } else { keep_all_reader() };
    let create = |participant: &Participant, now, out: &mut Output| {
        participant.create_filtered_reader(now, reader_spec("All", qos), Some(filter), None, None, out)
    };
    world.with(node, create).expect("a good reader")
}

pub fn set_filter(world: &mut World, node: NodeId, reader: &ReaderSlot, filter: &Arc<ContentFilter>) {
    world.with(node, |participant, now, out| participant.set_content_filter(now, reader, filter, out));
}

pub fn losses(world: &mut World, node: NodeId) -> usize {
    events(world, node).iter().filter(|event| matches!(event, Event::SampleLost { .. })).count()
}

/// An early, a late durable and an unfiltered reader on a bad network.
fn each_gets_its_own(seed: u64) {
    const COUNT: u64 = 150;
    let filling = Filling::new(4_000);
    let (mut world, nodes) = faulty_world(seed, 3, 250_000);
    let writer = writer(&mut world, nodes[0], "All", keep_all_writer().transient_local());
    let (low, high) = (world.rng().below(COUNT), world.rng().below(COUNT));
    let range = "number BETWEEN %0 AND %1";
    let parameters = [low.to_string(), high.to_string()];
    let early = filtered(&mut world, nodes[1], false, filter(range, &parameters, 0));
    let all = reader(&mut world, nodes[1], "All", keep_all_reader());
    until_matched(&mut world, &[&writer], &[&early, &all]);
    let len = 16 + 4 * world.rng().below(900) as usize;
    write_all(&mut world, nodes[0], &writer, &filling, 0..COUNT / 2, len);
    let late = filtered(&mut world, nodes[2], true, filter("NOT number < %0", &parameters, 0));
    until_matched(&mut world, &[&writer], &[&early, &all, &late]);
    write_all(&mut world, nodes[0], &writer, &filling, COUNT / 2..COUNT, len);
    until_acked(&mut world, &writer, secs(30));

    let expected = |wanted: &dyn Fn(u64) -> bool| (0..COUNT).filter(|n| wanted(*n)).collect::<Vec<_>>();
    let numbers = take_numbers(&mut world, nodes[1], &early, &filling);
    assert_eq!(numbers, expected(&|n| low <= n && n <= high));
    assert_eq!(take_numbers(&mut world, nodes[1], &all, &filling), expected(&|_| true));
    assert_eq!(take_numbers(&mut world, nodes[2], &late, &filling), expected(&|n| n >= low));
    assert_eq!((losses(&mut world, nodes[1]), losses(&mut world, nodes[2])), (0, 0));
    let announced = writer.matched_readers().iter().filter(|reader| reader.content_filter.is_some()).count();
    assert_eq!(announced, 2);
}
scenario!(own, 20, each_gets_its_own);

/// Parameters that change while samples are in flight: everything that arrives later obeys them, and the writer hears of
/// the last ones set, in whatever order they are set.
fn parameters_change(seed: u64) {
    let filling = Filling::new(100);
    let (mut world, nodes) = faulty_world(seed, 2, 250_000);
    let writer = writer(&mut world, nodes[0], "All", keep_all_writer());
    let number = |limit: u64| [limit.to_string()];
    let reader = filtered(&mut world, nodes[1], false, filter("number < %0", &number(10), 0));
    until_matched(&mut world, &[&writer], &[&reader]);
    write_all(&mut world, nodes[0], &writer, &filling, 0..20, 100);
    until_acked(&mut world, &writer, secs(30));
    set_filter(&mut world, nodes[1], &reader, &filter("number < %0", &number(35), 2));
    set_filter(&mut world, nodes[1], &reader, &filter("number < %0", &number(0), 1));
    write_all(&mut world, nodes[0], &writer, &filling, 20..40, 100);
    until_acked(&mut world, &writer, secs(30));
    let expected: Vec<u64> = (0..10).chain(20..35).collect();
    assert_eq!(take_numbers(&mut world, nodes[1], &reader, &filling), expected);
    let last = |_: &mut World| {
        let readers = writer.matched_readers();
        readers.iter().any(|reader| {
            reader.content_filter.as_ref().is_some_and(|filter| filter.expression_parameters == number(35))
        })
    };
    world.run_until(last, secs(30)).expect("the last parameters are announced");
    assert_eq!(losses(&mut world, nodes[1]), 0);
}
scenario!(change, 20, parameters_change);
