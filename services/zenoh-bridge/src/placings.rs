//! Which routes a sample takes: those of what its writer offered when it wrote the sample, as far as that can be known.
//!
//! The inputs of several routes get the same sample, at different times. So what a writer changes counts from a number on, which is the
//! same for all of them: each sample passes once.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use dunlin::{Guid, PublicationBuiltinTopicData};

use crate::plan;
use crate::up::UpKey;

/// Changes of one writer that are remembered.
const CHANGES: usize = 16;
/// Writers that are remembered beside those that are there: inputs may still have samples of one that has gone.
const GONE: usize = 4096;

type Data = Arc<PublicationBuiltinTopicData>;

/// A writer.
struct Placed {
    /// The highest number that was asked for.
    latest: i64,
    changes: VecDeque<Change>,
}

/// What a writer offered from a number on.
struct Change {
    from: i64,
    data: Data,
    /// What it writes goes to zenoh.
    passes: bool,
}

/// What writers offered.
#[derive(Default)]
pub(crate) struct Placings(BTreeMap<Guid, Placed>);

impl Placings {
    /// What a writer offers now. What comes from zenoh does not pass.
    pub(crate) fn learn(&mut self, data: &Data, passes: bool) {
        let placed =
            self.0.entry(data.guid).or_insert_with(|| Placed { latest: 0, changes: VecDeque::new() });
        let is_known = placed.changes.back().is_some_and(|it| it.passes == passes && is_same(&it.data, data));
        if is_known {
            return;
        }
        if placed.changes.len() >= CHANGES {
            placed.changes.pop_front();
        }
        let from = placed.latest.saturating_add(1);
        placed.changes.push_back(Change { from, data: Arc::clone(data), passes });
    }

    /// Lets go writers that have gone, once there are many.
    pub(crate) fn tidy(&mut self, there: impl Iterator<Item = Guid> + Clone) {
        if self.0.len() > GONE.saturating_add(there.clone().count()) {
            let there: std::collections::BTreeSet<Guid> = there.collect();
            self.0.retain(|writer, _| there.contains(writer));
        }
    }

    /// Whether a sample of a writer takes a route; none if nothing is known of the writer.
    pub(crate) fn takes(&mut self, key: &UpKey, writer: Guid, number: i64) -> Option<bool> {
        let placed = self.0.get_mut(&writer)?;
        placed.latest = placed.latest.max(number);
        let then = placed.changes.iter().rev().find(|it| it.from <= number);
        let then = then.or_else(|| placed.changes.front())?;
        Some(then.passes && is_route_of(key, &then.data))
    }
}

fn is_same(one: &Data, other: &Data) -> bool {
    Arc::ptr_eq(one, other)
        || plan::offer_of(one) == plan::offer_of(other)
            && one.publisher_qos.partition.names == other.publisher_qos.partition.names
}

/// Whether a writer is one that a route is about.
fn is_route_of(key: &UpKey, data: &PublicationBuiltinTopicData) -> bool {
    *data.topic_name == *key.topic
        && *data.type_name == *key.type_name
        && plan::offer_of(data) == key.offer
        && plan::partitions(&data.publisher_qos.partition.names).any(|it| it == key.partition)
}
