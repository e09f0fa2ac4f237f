//! Against a definition: all combinations whose columns are equal.

use std::sync::{Arc, Weak};

use dunlin_cdr::{DdsType, DecodeOptions, Limits, Representation, TypeRef, from_payload, to_payload};
use dunlin_core::Rng;
use dunlin_filter::Selection;
use dunlin_qos::TopicQos;

use super::*;
use crate::participant::ParticipantInner;
use crate::topic::TopicInner;

#[derive(DdsType, Clone, Debug)]
struct A {
    #[dds(key)]
    a: i32,
    #[dds(key)]
    b: String,
    x: u8,
}

#[derive(DdsType, Clone, Debug)]
struct B {
    #[dds(key)]
    b: String,
    y: u8,
}

#[derive(DdsType, Clone, Debug)]
#[dds(mutable)]
struct C {
    #[dds(key)]
    a: i32,
    #[dds(key)]
    c: i32,
    z: Option<u8>,
}

#[derive(DdsType, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[dds(mutable)]
struct All {
    #[dds(key)]
    a: i32,
    b: String,
    c: i32,
    x: u8,
    y: u8,
    z: Option<u8>,
    other: Option<u8>,
}

fn topic<T: DdsType>(name: &str) -> Arc<TopicInner> {
    let nobody = Weak::<ParticipantInner>::new();
    Arc::new(TopicInner::new::<T>(nobody, InstanceHandle::NIL, name, &TopicQos::default(), None))
}

/// The latest samples, by what names their instances.
#[derive(Default)]
struct Naive {
    a: BTreeMap<(i32, String), A>,
    b: BTreeMap<String, B>,
    c: BTreeMap<(i32, i32), C>,
}

impl Naive {
    fn rows(&self, wanted: impl Fn(&A, &B, &C) -> bool) -> Vec<All> {
        let mut rows = Vec::new();
        for a in self.a.values() {
            for b in self.b.values().filter(|b| b.b == a.b) {
                for c in self.c.values().filter(|c| c.a == a.a && wanted(a, b, c)) {
                    let (x, y, z) = (a.x, b.y, c.z);
                    rows.push(All { a: a.a, b: a.b.clone(), c: c.c, x, y, z, other: None });
                }
            }
        }
        rows.sort();
        rows
    }
}

struct Both {
    plan: Plan,
    join: Join,
    naive: Naive,
}

impl Both {
    fn sample<T: DdsType>(&mut self, side: usize, value: &T) -> (Vec<Row>, Vec<All>) {
        let mut payload = Vec::new();
        to_payload(value, Representation::Xcdr2, &mut payload).unwrap();
        let values = self.plan.sides[side].read(&payload, DecodeOptions::default()).unwrap();
        let instance = InstanceHandle(dunlin_cdr::key_hash(value).unwrap());
        let Change { rows, left, too_many } =
            self.join.update(&self.plan, side, instance, values, WallTime(1));
        assert!(left.is_empty() && !too_many, "the keys alone join");
        let mut decoded: Vec<All> =
            rows.iter().map(|row| from_payload(&row.payload, &Limits::default()).unwrap()).collect();
        decoded.sort();
        (rows, decoded)
    }

    /// Writes a random sample, and checks the rows that it makes.
    fn write(&mut self, rng: &mut Rng) -> Vec<Row> {
        let number = |rng: &mut Rng| rng.below(3) as i32;
        let (a, c, value) = (number(rng), number(rng), rng.below(200) as u8);
        let b = ["", "x", "yy"][rng.below(3) as usize].to_owned();
        let (rows, is, should) = match rng.below(3) {
            0 => {
                let sample = A { a, b: b.clone(), x: value };
                self.naive.a.insert((a, b.clone()), sample.clone());
                let (rows, is) = self.sample(0, &sample);
                (rows, is, self.naive.rows(|row, _, _| row.a == a && row.b == b))
            }
            1 => {
                let sample = B { b: b.clone(), y: value };
                self.naive.b.insert(b.clone(), sample.clone());
                let (rows, is) = self.sample(1, &sample);
                (rows, is, self.naive.rows(|_, row, _| row.b == b))
            }
            _ => {
                let sample = C { a, c, z: (value > 9).then_some(value) };
                self.naive.c.insert((a, c), sample.clone());
                let (rows, is) = self.sample(2, &sample);
                (rows, is, self.naive.rows(|_, _, row| row.a == a && row.c == c))
            }
        };
        assert_eq!(is, should);
        rows
    }

    /// Ends a random instance; the keys of the rows that ended.
    fn end(&mut self, rng: &mut Rng) -> Vec<InstanceHandle> {
        let side = rng.below(3) as usize;
        let entries = &self.join.sides[side].entries;
        if entries.is_empty() {
            return Vec::new();
        }
        let at = rng.below(entries.len() as u64) as usize;
        let Some(instance) = entries.keys().nth(at).copied() else { return Vec::new() };
        fn forget<K: Ord + Clone, T: DdsType>(map: &mut BTreeMap<K, T>, gone: InstanceHandle) {
            map.retain(|_, value| dunlin_cdr::key_hash(value).unwrap() != gone.0);
        }
        match side {
            0 => forget(&mut self.naive.a, instance),
            1 => forget(&mut self.naive.b, instance),
            _ => forget(&mut self.naive.c, instance),
        }
        self.join.end(&self.plan, side, instance)
    }
}

#[test]
fn rows_are_all_combinations_that_fit() {
    let topics = vec![topic::<A>("A"), topic::<B>("B"), topic::<C>("C")];
    let plan = Plan::new(&TypeRef::of::<All>(), &Selection::All, topics, Representation::Xcdr2).unwrap();
    let mut both = Both { join: Join::new(&plan), plan, naive: Naive::default() };
    let (mut rng, mut alive, mut made) = (Rng::new(7), BTreeSet::new(), 0);
    for _ in 0..4_000 {
        if rng.below(4) > 0 {
            for row in both.write(&mut rng) {
                let value: All = from_payload(&row.payload, &Limits::default()).unwrap();
                let instance = InstanceHandle(dunlin_cdr::key_hash(&value).unwrap());
                assert_eq!(both.join.saw(&row.combination, instance), Ok(None), "the key comes from keys");
                alive.insert(instance);
                made += 1;
            }
        } else {
            for ended in both.end(&mut rng) {
                assert!(alive.remove(&ended), "an instance of rows ends once");
            }
        }
        let rows = both.naive.rows(|_, _, _| true);
        let expected: BTreeSet<_> =
            rows.iter().map(|row| InstanceHandle(dunlin_cdr::key_hash(row).unwrap())).collect();
        assert_eq!(alive, expected);
        assert_eq!(both.join.rows.len(), rows.len());
    }
    assert!(made > 3_000, "{made}");
}

#[test]
fn a_row_that_changes_its_key_leaves_its_instance() {
    let topics = vec![topic::<A>("A"), topic::<B>("B")];
    let plan = Plan::new(&TypeRef::of::<Some_>(), &Selection::All, topics, Representation::Xcdr1).unwrap();
    let mut both = Both { join: Join::new(&plan), plan, naive: Naive::default() };
    both.sample(1, &B { b: "x".into(), y: 1 });
    let made = |both: &mut Both, x: u8| {
        let mut payload = Vec::new();
        let sample = A { a: 1, b: "x".into(), x };
        to_payload(&sample, Representation::Xcdr1, &mut payload).unwrap();
        let values = both.plan.sides[0].read(&payload, DecodeOptions::default()).unwrap();
        let rows = both.join.update(&both.plan, 0, InstanceHandle([1; 16]), values, WallTime(5)).rows;
        let row: Some_ = from_payload(&rows[0].payload, &Limits::default()).unwrap();
        assert_eq!((rows.len(), rows[0].source, row.y), (1, WallTime(5), 1));
        both.join.saw(&rows[0].combination, InstanceHandle([row.x; 16]))
    };
    assert_eq!(made(&mut both, 3), Ok(None));
    assert_eq!(made(&mut both, 3), Ok(None));
    assert_eq!(made(&mut both, 4), Ok(Some(InstanceHandle([3; 16]))));
    assert_eq!(both.join.end(&both.plan, 0, InstanceHandle([1; 16])), [InstanceHandle([4; 16])]);
    assert!(both.join.rows.is_empty() && both.join.support.is_empty());
    assert!(both.join.end(&both.plan, 0, InstanceHandle([1; 16])).is_empty());
}

/// A row whose key is no key of the topics.
#[derive(DdsType)]
#[dds(final)]
struct Some_ {
    #[dds(key)]
    x: u8,
    y: u8,
}
