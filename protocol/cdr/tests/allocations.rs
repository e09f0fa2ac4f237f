//! Steady state allocates nothing.

use std::collections::BTreeMap;

use dunlin_cdr::{
    DdsType, DecodeOptions, Limits, Representation, TypeSupport, TypeSupportOf, from_payload, key_hash_with,
    key_payload, to_payload,
};

#[derive(DdsType, Clone, PartialEq, Debug)]
struct Track {
    #[dds(key)]
    name: String,
    #[dds(key)]
    id: u64,
    points: Vec<Point>,
    data: Vec<u8>,
    labels: BTreeMap<u32, String>,
    optional: Option<Point>,
}

#[derive(DdsType, Clone, PartialEq, Debug)]
#[dds(final)]
struct Point {
    x: f64,
    y: f64,
}

#[derive(DdsType, Clone, PartialEq, Debug)]
#[dds(final)]
struct Flat {
    #[dds(key)]
    id: u16,
    values: [f32; 64],
    name: [Point; 2],
}

fn track() -> Track {
    Track {
        name: "track".into(),
        id: 7,
        points: vec![Point { x: 1.0, y: 2.0 }; 10],
        data: vec![0; 1000],
        labels: BTreeMap::from([(1, "one".into())]),
        optional: Some(Point { x: 0.0, y: 0.0 }),
    }
}

#[test]
fn writing_and_hashing() {
    let value = track();
    let support = TypeSupportOf::<Track>::new();
    for rep in [Representation::Xcdr1, Representation::Xcdr2] {
        let (mut payload, mut key, mut scratch) = (Vec::new(), Vec::new(), Vec::new());
        let mut once = || {
            to_payload(&value, rep, &mut payload).unwrap();
            key_payload(&value, rep, &mut key).unwrap();
            let hash = key_hash_with(&value, &mut scratch).unwrap();
            let options = DecodeOptions::default();
            assert_eq!(support.key_hash_with(&payload, false, options, &mut scratch), Ok(hash));
            assert_eq!(support.key_hash_with(&key, true, options, &mut scratch), Ok(hash));
        };
        once();
        let cost = allocation_counter::measure(once);
        assert_eq!(cost.count_total, 0, "{rep:?}");
    }
}

#[test]
fn reading_values_without_heap_parts() {
    let value = Flat { id: 1, values: [1.0; 64], name: [Point { x: 1.0, y: 2.0 }, Point { x: 3.0, y: 4.0 }] };
    let mut payload = Vec::new();
    to_payload(&value, Representation::Xcdr2, &mut payload).unwrap();
    let cost = allocation_counter::measure(|| {
        assert_eq!(from_payload::<Flat>(&payload, &Limits::default()).as_ref(), Ok(&value));
    });
    assert_eq!(cost.count_total, 0);
}

#[test]
fn reading_allocates_once_per_heap_part() {
    let value = Track { labels: BTreeMap::new(), ..track() };
    let mut payload = Vec::new();
    to_payload(&value, Representation::Xcdr2, &mut payload).unwrap();
    let cost = allocation_counter::measure(|| {
        assert_eq!(from_payload::<Track>(&payload, &Limits::default()).as_ref(), Ok(&value));
    });
    // The name, the points, the data.
    assert_eq!(cost.count_total, 3);
}
