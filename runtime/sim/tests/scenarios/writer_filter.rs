//! Writers that filter for their readers: each reader gets what it would get anyway, and less is sent.

use std::sync::Arc;

use dunlin_cdr::TypeRef;
use dunlin_core::{Locator, Rng};
use dunlin_engine::{ReaderSlot, WriterSlot};
use dunlin_qos::DataWriterQos;
use dunlin_rtps::ChangeKind;
use dunlin_sim::{NodeId, PathConfig, World};

use crate::common::*;
use crate::content_filter::{Numbered, filter, filtered, losses, set_filter};

fn filtering_writer(world: &mut World, node: NodeId, qos: DataWriterQos, filters: bool) -> Arc<WriterSlot> {
    let type_description = filters.then(TypeRef::of::<Numbered>);
    let spec = dunlin_engine::WriterSpec { type_description, ..writer_spec("All", qos) };
    world.create_writer(node, spec).expect("a good writer")
}

/// A filter with what it lets pass.
type Wanted = (&'static str, Box<dyn Fn(u32, u64) -> bool>);

fn wanted(rng: &mut Rng, low: u64, high: u64) -> Wanted {
    match rng.below(6) {
        0 => ("number BETWEEN %0 AND %1", Box::new(move |_, n| low <= n && n <= high)),
        1 => ("number < %0", Box::new(move |_, n| n < low)),
        2 => ("key = 1", Box::new(|key, _| key == 1)),
        3 => ("key = 2 OR number > %1", Box::new(move |key, n| key == 2 || n > high)),
        4 => ("number < 0", Box::new(|_, _| false)),
        _ => ("", Box::new(|_, _| true)),
    }
}

struct Subject {
    node: NodeId,
    reader: Arc<ReaderSlot>,
    wants: Box<dyn Fn(u32, u64) -> bool>,
    since: u64,
}

fn subject(world: &mut World, node: NodeId, rng: &mut Rng, count: u64, since: Option<u64>) -> Subject {
    let (low, high) = (rng.below(count), rng.below(count));
    let (expression, wants) = wanted(rng, low, high);
    let parameters = [low.to_string(), high.to_string()];
    let durable = since.is_none();
    let reader = filtered(world, node, durable, filter(expression, &parameters, 0));
    Subject { node, reader, wants, since: since.unwrap_or(0) }
}

/// What everybody got, as key and number, in a run in which the writer filters or not.
fn run(seed: u64, filters: bool) -> (Vec<Vec<(u32, u64)>>, u64) {
    const COUNT: u64 = 120;
    let rng = &mut Rng::new(seed ^ 0xf117);
    let filling = Filling::new(6_000);
    let (mut world, nodes) = faulty_world(seed, 3, 250_000);
    let qos = keep_all_writer().transient_local();
    let writer = filtering_writer(&mut world, nodes[0], qos, filters);
    let mut subjects: Vec<Subject> = (0..1 + rng.below(3))
        .map(|n| subject(&mut world, nodes[1 + n as usize % 2], rng, COUNT, Some(0)))
        .collect();
    let unfiltered = rng.chance(1, 2).then(|| reader(&mut world, nodes[2], "All", keep_all_reader()));
    let readers = |subjects: &[Subject]| {
        subjects.iter().map(|s| Arc::clone(&s.reader)).chain(unfiltered.clone()).collect::<Vec<_>>()
    };
    until_matched(&mut world, &[&writer], &readers(&subjects).iter().collect::<Vec<_>>());
    let mut written = Vec::new();
    for number in 0..COUNT {
        if number == COUNT / 2 {
            // A late one, which gets the history, and one that does not.
            subjects.push(subject(&mut world, nodes[2], rng, COUNT, None));
            subjects.push(subject(&mut world, nodes[1], rng, COUNT, Some(number)));
            until_matched(&mut world, &[&writer], &readers(&subjects).iter().collect::<Vec<_>>());
        }
        let key = 1 + rng.below(3) as u32;
        let len = if rng.chance(1, 10) { 5_000 } else { 16 + 4 * rng.below(100) as usize };
        world.write_blocking(nodes[0], &writer, filling.request(key, number, len)).expect("there is room");
        written.push((key, number));
        if rng.chance(1, 12) {
            let kind = if rng.chance(1, 2) { ChangeKind::Disposed } else { ChangeKind::Unregistered };
            world.write_blocking(nodes[0], &writer, life_cycle(kind, key)).expect("there is room");
        }
        if rng.chance(1, 8) {
            world.run_for(ms(rng.below(30) as i64));
        }
    }
    until_acked(&mut world, &writer, secs(60));
    let mut all = Vec::new();
    for Subject { node, reader, wants, since } in &subjects {
        let taken = world.take(*node, reader);
        let got: Vec<(u32, u64)> =
            taken.iter().filter(|s| s.info.valid_data).map(|sample| filling.open(sample)).collect();
        let mut in_order = got.clone();
        in_order.sort_by_key(|(_, number)| *number);
        let expected = written.iter().copied().filter(|(key, n)| n >= since && wants(*key, *n));
        assert_eq!(in_order, expected.collect::<Vec<_>>(), "filtered by the writer: {filters}");
        all.push(got);
    }
    if let Some(reader) = &unfiltered {
        assert_eq!(world.take(nodes[2], reader).iter().filter(|s| s.info.valid_data).count(), COUNT as usize);
    }
    assert_eq!((losses(&mut world, nodes[1]), losses(&mut world, nodes[2])), (0, 0));
    (all, writer.stats().samples_filtered)
}

/// Random filters, readers, instances and faults: whoever filters, each reader gets the same in the same order.
fn everybody_gets_the_same(seed: u64) {
    let (at_reader, none) = run(seed, false);
    let (at_writer, _) = run(seed, true);
    assert_eq!(at_writer, at_reader);
    assert_eq!(none, 0);
}
scenario!(same, 20, everybody_gets_the_same);

/// How many datagrams with data left, and how many datagrams at all, for 1000 samples of which one in ten is wanted.
fn sent(filters: bool, other: bool) -> (usize, usize, Vec<u64>) {
    let filling = Filling::new(100);
    let (mut world, nodes) = world_on(1, 3, PathConfig::default());
    let writer = filtering_writer(&mut world, nodes[0], keep_all_writer(), filters);
    let one = filtered(&mut world, nodes[1], false, filter("number BETWEEN 450 AND 549", &[], 0));
    let mut readers = vec![Arc::clone(&one)];
    if other {
        readers.push(filtered(&mut world, nodes[2], false, filter("number < 500", &[], 0)));
    }
    until_matched(&mut world, &[&writer], &readers.iter().collect::<Vec<_>>());
    world.record(true);
    for number in 0..1000 {
        world.write_blocking(nodes[0], &writer, filling.request(1, number, 64)).expect("there is room");
        world.run_for(ms(1));
    }
    until_acked(&mut world, &writer, secs(10));
    let to: Vec<Locator> = world.locators(nodes[1]).default_unicast.clone();
    let sent = world.record(false).into_iter().filter(|d| to.contains(&d.to) || d.to.is_multicast());
    let sent: Vec<_> = sent.collect();
    // Encapsulation and key.
    let begins_sample = |octets: &[u8]| octets == [0, 1, 0, 0, 1, 0, 0, 0];
    let with_data = sent.iter().filter(|d| d.bytes.windows(8).any(begins_sample)).count();
    let saved = writer.stats().samples_filtered;
    assert_eq!(
        saved,
        if !filters {
            0
        } else if other {
            900 + 500
        } else {
            900
        }
    );
    (with_data, sent.len(), take_numbers(&mut world, nodes[1], &one, &filling))
}

#[test]
fn samples_that_no_filter_accepts_are_not_sent() {
    let wanted: Vec<u64> = (450..550).collect();
    let (data, datagrams, numbers) = sent(true, false);
    assert_eq!((data, &numbers), (100, &wanted));
    assert!(datagrams < 350, "{datagrams} datagrams: some GAPs and HEARTBEATs besides the data");
    let (data, _, numbers) = sent(true, true);
    assert_eq!((data, &numbers), (100, &wanted), "the other reader gets its own alone");
    let (data, datagrams, numbers) = sent(false, false);
    assert_eq!((data, &numbers), (1000, &wanted));
    assert!(datagrams >= 1000);
}

/// A small history does not fill up with what nobody wants.
#[test]
fn filtered_samples_count_as_acknowledged() {
    let filling = Filling::new(100);
    let (mut world, nodes) = world_on(2, 2, PathConfig { loss_ppm: 200_000, ..PathConfig::default() });
    let qos = keep_all_writer().resource_limits(4, -1, -1).max_blocking_time(secs(5));
    let writer = filtering_writer(&mut world, nodes[0], qos, true);
    let reader = filtered(&mut world, nodes[1], false, filter("number >= 300", &[], 0));
    until_matched(&mut world, &[&writer], &[&reader]);
    write_all(&mut world, nodes[0], &writer, &filling, 0..303, 64);
    until_acked(&mut world, &writer, secs(10));
    assert_eq!(take_numbers(&mut world, nodes[1], &reader, &filling), [300, 301, 302]);
    assert_eq!((losses(&mut world, nodes[1]), writer.stats().samples_filtered), (0, 300));
    assert!(reader.stats().filtered_at_writer > 0, "{:?}", reader.stats());
}

/// What is written after the writer has heard of new parameters obeys them.
fn parameters_reach_the_writer(seed: u64) {
    let filling = Filling::new(100);
    let (mut world, nodes) = faulty_world(seed, 2, 250_000);
    let writer = filtering_writer(&mut world, nodes[0], keep_all_writer(), true);
    let number = |limit: u64| [limit.to_string()];
    let reader = filtered(&mut world, nodes[1], false, filter("number < %0", &number(10), 0));
    until_matched(&mut world, &[&writer], &[&reader]);
    write_all(&mut world, nodes[0], &writer, &filling, 0..20, 100);
    set_filter(&mut world, nodes[1], &reader, &filter("number < %0", &number(35), 1));
    let heard = |_: &mut World| {
        let readers = writer.matched_readers();
        let filter = readers.first().and_then(|reader| reader.content_filter.as_ref());
        filter.is_some_and(|filter| filter.expression_parameters == number(35))
    };
    world.run_until(heard, secs(30)).expect("the parameters are announced");
    write_all(&mut world, nodes[0], &writer, &filling, 20..40, 100);
    until_acked(&mut world, &writer, secs(30));
    let got = take_numbers(&mut world, nodes[1], &reader, &filling);
    let (old, new): (Vec<u64>, Vec<u64>) = got.into_iter().partition(|n| *n < 20);
    // Before that either filter may have been in force.
    assert!(old.len() >= 10 && old.is_sorted(), "{old:?}");
    assert_eq!(new, (20..35).collect::<Vec<_>>());
    assert_eq!(losses(&mut world, nodes[1]), 0);
}
scenario!(change, 20, parameters_reach_the_writer);
