//! The join itself: the latest values of each topic's instances, and the rows they make.

use super::plan::Plan;
use dunlin_core::{InstanceHandle, WallTime};
use dunlin_filter::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The instances, one of each topic, that make a row.
pub(crate) type Combination = Vec<InstanceHandle>;

/// A value that joins.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum KeyValue {
    Boolean(bool),
    Integer(i128),
    /// By its bits: equal keys have equal octets.
    Float(u64),
    Character(u32),
    Text(String),
}

impl From<&Value<'_>> for KeyValue {
    fn from(value: &Value<'_>) -> Self {
        match value {
            Value::Boolean(value) => Self::Boolean(*value),
            Value::Integer(value) => Self::Integer(*value),
            Value::Float(value) => Self::Float(value.to_bits()),
            Value::Character(value) => Self::Character(*value),
            Value::Text(text) => Self::Text(text.clone().into_owned()),
        }
    }
}

/// An instance of a topic.
#[derive(Debug)]
struct Entry {
    values: Vec<Option<Value<'static>>>,
    /// The values of the topic's columns, in the order of the plan.
    key: Vec<KeyValue>,
    source: WallTime,
    /// The rows that were seen of it.
    seen: BTreeSet<Combination>,
}

/// What is known of one topic.
#[derive(Debug, Default)]
struct Known {
    entries: BTreeMap<InstanceHandle, Entry>,
    by_key: BTreeMap<Vec<KeyValue>, BTreeSet<InstanceHandle>>,
}

/// Everything that rows are made of.
#[derive(Debug)]
pub(crate) struct Join {
    sides: Vec<Known>,
    /// The instance of rows that each row that was seen belongs to.
    rows: BTreeMap<Combination, InstanceHandle>,
    /// How many such rows an instance has.
    support: BTreeMap<InstanceHandle, usize>,
}

/// A row that can be made.
#[derive(Debug)]
pub(crate) struct Row {
    pub combination: Combination,
    pub payload: Vec<u8>,
    /// The latest time at which a part of it was written.
    pub source: WallTime,
}

impl Join {
    pub fn new(plan: &Plan) -> Self {
        let sides = plan.sides.iter().map(|_| Known::default()).collect();
        Self { sides, rows: BTreeMap::new(), support: BTreeMap::new() }
    }

    /// Takes in a sample and returns the rows that it makes with the others. A sample without one of the columns makes
    /// none.
    pub fn update(
        &mut self,
        plan: &Plan,
        side: usize,
        instance: InstanceHandle,
        values: Vec<Option<Value<'static>>>,
        source: WallTime,
    ) -> Vec<Row> {
        let columns = plan.sides[side].columns.iter();
        let key = columns.map(|(_, field)| values[*field].as_ref().map(KeyValue::from));
        let Some(key) = key.collect::<Option<Vec<_>>>() else { return Vec::new() };
        let known = &mut self.sides[side];
        known.by_key.entry(key.clone()).or_default().insert(instance);
        match known.entries.get_mut(&instance) {
            Some(entry) => (entry.values, entry.source) = (values, source),
            None => {
                known.entries.insert(instance, Entry { values, key, source, seen: BTreeSet::new() });
            }
        }
        let mut partial = vec![None; plan.sides.len()];
        partial[side] = Some(instance);
        let mut found = Vec::new();
        self.complete(plan, &mut partial, 0, &mut found);
        found.into_iter().filter_map(|combination| self.row(plan, combination)).collect()
    }

    /// The values of the columns that the instances chosen so far have.
    fn bound(&self, plan: &Plan, partial: &[Option<InstanceHandle>]) -> Vec<Option<KeyValue>> {
        let mut bound = vec![None; plan.column_count()];
        for ((side, known), chosen) in plan.sides.iter().zip(&self.sides).zip(partial) {
            let Some(entry) = chosen.as_ref().and_then(|instance| known.entries.get(instance)) else {
                continue;
            };
            for ((column, _), value) in side.columns.iter().zip(&entry.key) {
                bound[*column] = Some(value.clone());
            }
        }
        bound
    }

    /// Chooses instances for the topics from `at` on that have none yet.
    fn complete(
        &self,
        plan: &Plan,
        partial: &mut Vec<Option<InstanceHandle>>,
        at: usize,
        found: &mut Vec<Combination>,
    ) {
        let Some(side) = plan.sides.get(at) else {
            found.extend(partial.iter().copied().collect::<Option<Combination>>());
            return;
        };
        if partial[at].is_some() {
            self.complete(plan, partial, at + 1, found);
            return;
        }
        let bound = self.bound(plan, partial);
        let wanted: Vec<Option<&KeyValue>> =
            side.columns.iter().map(|(column, _)| bound[*column].as_ref()).collect();
        let known = &self.sides[at];
        let all: Option<Vec<KeyValue>> = wanted.iter().map(|value| value.cloned()).collect();
        let candidates: Vec<InstanceHandle> = match all {
            Some(key) => known.by_key.get(&key).into_iter().flatten().copied().collect(),
            None => {
                let fits = |key: &[KeyValue]| {
                    key.iter().zip(&wanted).all(|(is, wanted)| wanted.is_none_or(|wanted| wanted == is))
                };
                known.by_key.iter().filter(|(key, _)| fits(key)).flat_map(|(_, all)| all).copied().collect()
            }
        };
        for candidate in candidates {
            partial[at] = Some(candidate);
            self.complete(plan, partial, at + 1, found);
        }
        partial[at] = None;
    }

    fn row(&self, plan: &Plan, combination: Combination) -> Option<Row> {
        let entry = |side: usize| self.sides[side].entries.get(&combination[side]);
        let payload = plan.payload(|cell| entry(cell.side)?.values[cell.field].as_ref())?;
        let source = (0..combination.len()).filter_map(|side| Some(entry(side)?.source)).max()?;
        Some(Row { combination, payload, source })
    }

    /// Notes that a row was seen, of this instance of rows. Returns the instance that it belonged to before, if no row
    /// that was seen is left of that.
    pub fn saw(&mut self, combination: &Combination, instance: InstanceHandle) -> Option<InstanceHandle> {
        let before = self.rows.insert(combination.clone(), instance);
        if before == Some(instance) {
            return None;
        }
        *self.support.entry(instance).or_default() += 1;
        for (known, part) in self.sides.iter_mut().zip(combination) {
            if let Some(entry) = known.entries.get_mut(part) {
                entry.seen.insert(combination.clone());
            }
        }
        before.filter(|before| self.release(*before))
    }

    /// One row less of an instance of rows; whether it was the last.
    fn release(&mut self, instance: InstanceHandle) -> bool {
        let Some(count) = self.support.get_mut(&instance) else { return false };
        *count -= 1;
        let last = *count == 0;
        if last {
            self.support.remove(&instance);
        }
        last
    }

    /// An instance of a topic ended. Returns the instances of rows that ended with it.
    pub fn end(&mut self, side: usize, instance: InstanceHandle) -> Vec<InstanceHandle> {
        let known = &mut self.sides[side];
        let Some(gone) = known.entries.remove(&instance) else { return Vec::new() };
        if let Some(same) = known.by_key.get_mut(&gone.key) {
            same.remove(&instance);
            if same.is_empty() {
                known.by_key.remove(&gone.key);
            }
        }
        let mut ended = Vec::new();
        for combination in gone.seen {
            for (known, part) in self.sides.iter_mut().zip(&combination) {
                if let Some(entry) = known.entries.get_mut(part) {
                    entry.seen.remove(&combination);
                }
            }
            if let Some(row) = self.rows.remove(&combination)
                && self.release(row)
            {
                ended.push(row);
            }
        }
        ended
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    //! Against a definition: all combinations whose columns are equal.

    use super::*;
    use crate::topic::TopicInner;
    use dunlin_cdr::{DdsType, DecodeOptions, Limits, Representation, description, from_payload, to_payload};
    use dunlin_core::Rng;
    use dunlin_filter::Selection;
    use dunlin_qos::TopicQos;
    use std::sync::{Arc, Weak};

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
        Arc::new(TopicInner::new::<T>(Weak::new(), InstanceHandle::NIL, name, &TopicQos::default(), None))
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
            let fields = self.plan.sides[side].fields.iter();
            let values =
                fields.map(|field| field.read(&payload, DecodeOptions::default()).unwrap()).collect();
            let instance = InstanceHandle(dunlin_cdr::key_hash(value).unwrap());
            let rows = self.join.update(&self.plan, side, instance, values, WallTime(1));
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
            self.join.end(side, instance)
        }
    }

    #[test]
    fn rows_are_all_combinations_that_fit() {
        let topics = vec![topic::<A>("A"), topic::<B>("B"), topic::<C>("C")];
        let plan = Plan::new(description::<All>(), &Selection::All, topics, Representation::Xcdr2).unwrap();
        let mut both = Both { join: Join::new(&plan), plan, naive: Naive::default() };
        let (mut rng, mut alive, mut made) = (Rng::new(7), BTreeSet::new(), 0);
        for _ in 0..4_000 {
            if rng.below(4) > 0 {
                for row in both.write(&mut rng) {
                    let value: All = from_payload(&row.payload, &Limits::default()).unwrap();
                    let instance = InstanceHandle(dunlin_cdr::key_hash(&value).unwrap());
                    assert_eq!(both.join.saw(&row.combination, instance), None, "the key comes from keys");
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
        let plan = Plan::new(description::<Some_>(), &Selection::All, topics, Representation::Xcdr1).unwrap();
        let mut both = Both { join: Join::new(&plan), plan, naive: Naive::default() };
        both.sample(1, &B { b: "x".into(), y: 1 });
        let made = |both: &mut Both, x: u8| {
            let mut payload = Vec::new();
            let sample = A { a: 1, b: "x".into(), x };
            to_payload(&sample, Representation::Xcdr1, &mut payload).unwrap();
            let fields = both.plan.sides[0].fields.iter();
            let values =
                fields.map(|field| field.read(&payload, DecodeOptions::default()).unwrap()).collect();
            let rows = both.join.update(&both.plan, 0, InstanceHandle([1; 16]), values, WallTime(5));
            let row: Some_ = from_payload(&rows[0].payload, &Limits::default()).unwrap();
            assert_eq!((rows.len(), rows[0].source, row.y), (1, WallTime(5), 1));
            both.join.saw(&rows[0].combination, InstanceHandle([row.x; 16]))
        };
        assert_eq!(made(&mut both, 3), None);
        assert_eq!(made(&mut both, 3), None);
        assert_eq!(made(&mut both, 4), Some(InstanceHandle([3; 16])));
        assert_eq!(both.join.end(0, InstanceHandle([1; 16])), [InstanceHandle([4; 16])]);
        assert!(both.join.rows.is_empty() && both.join.support.is_empty());
        assert!(both.join.end(0, InstanceHandle([1; 16])).is_empty());
    }

    /// A row whose key is no key of the topics.
    #[derive(DdsType)]
    #[dds(final)]
    struct Some_ {
        #[dds(key)]
        x: u8,
        y: u8,
    }
}
