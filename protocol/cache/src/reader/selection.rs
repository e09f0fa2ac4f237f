//! Which samples `read` and `take` return, and in which order (DDS 1.4 §2.2.2.5.3.8, §2.2.3.6 PRESENTATION).
//!
//! Samples of one instance stand together, in the order of DESTINATION_ORDER; instances come in the order in which
//! their oldest sample arrived, so that none is left behind when few samples are taken at a time. When PRESENTATION
//! is ordered, all samples come in the order of DESTINATION_ORDER instead.

use core::ops::Bound;

use dunlin_core::InstanceHandle;

use super::ReaderCache;
use super::instance::Instance;
use super::sample::{ARRIVAL, OF_INSTANCE, SampleData, UNREAD};
use super::states::{InstanceStateMask, SampleStateMask, ViewStateMask};
use crate::list::List;
use crate::slab::{Id, NIL};

/// Which samples are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Selection {
    /// At most so many.
    pub max_samples: usize,
    /// In one of these sample states.
    pub sample_states: SampleStateMask,
    /// Of instances in one of these view states.
    pub view_states: ViewStateMask,
    /// Of instances in one of these instance states.
    pub instance_states: InstanceStateMask,
    /// Of this instance.
    pub instance: InstanceSelect,
}

impl Default for Selection {
    /// Everything.
    fn default() -> Self {
        Self {
            max_samples: usize::MAX,
            sample_states: SampleStateMask::ANY,
            view_states: ViewStateMask::ANY,
            instance_states: InstanceStateMask::ANY,
            instance: InstanceSelect::Any,
        }
    }
}

/// Which instances are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum InstanceSelect {
    /// All.
    #[default]
    Any,
    /// This one (`read_instance`).
    Exact(InstanceHandle),
    /// The one with the smallest handle above this that has matching samples (`read_next_instance`); the handle need
    /// not be known, and HANDLE_NIL is below all.
    Next(InstanceHandle),
}

/// The selection asks for an instance that this reader does not know: BAD_PARAMETER.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownInstance;

/// A condition on the contents of samples, as of a QueryCondition.
pub(super) type Query<'q> = Option<&'q mut dyn FnMut(&SampleData<'_>) -> bool>;

/// A sample on its way out, with its ranks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Picked {
    pub(super) sample: Id,
    pub(super) rank: u32,
    pub(super) generation_rank: u32,
}

/// How much of a walk through the cache is left.
struct Walk<'s, 'q> {
    selection: &'s Selection,
    query: Query<'q>,
    /// Samples that match the masks and were not looked at yet.
    ahead: usize,
    /// Samples that may still be picked.
    wanted: usize,
}

impl Walk<'_, '_> {
    const fn done(&self) -> bool {
        self.ahead == 0 || self.wanted == 0
    }

    fn wants(&self, instance: &Instance) -> bool {
        self.selection.view_states.contains(instance.view)
            && self.selection.instance_states.contains(instance.state)
    }
}

impl ReaderCache {
    /// How many samples match the masks of a selection, `max_samples` aside. For [`InstanceSelect::Any`] the cost
    /// does not depend on how many there are.
    #[must_use]
    pub fn count_matching(&self, selection: &Selection) -> usize {
        match selection.instance {
            InstanceSelect::Any => self.counts.matching(
                selection.sample_states,
                selection.view_states,
                selection.instance_states,
            ),
            InstanceSelect::Exact(handle) => {
                self.find(self.shown(handle)).map_or(0, |id| self.count_in(id, selection))
            }
            InstanceSelect::Next(previous) => {
                let found = self.instances_above(previous).map(|id| self.count_in(id, selection));
                found.into_iter().find(|count| *count > 0).unwrap_or(0)
            }
        }
    }

    /// Whether any sample matches the masks of a selection: the trigger of a ReadCondition.
    #[must_use]
    pub fn has_matching(&self, selection: &Selection) -> bool {
        self.count_matching(selection) > 0
    }

    /// How many samples of an instance match.
    fn count_in(&self, id: Id, selection: &Selection) -> usize {
        match self.instances.get(id) {
            Some(found)
                if selection.view_states.contains(found.view)
                    && selection.instance_states.contains(found.state) =>
            {
                found.matching(selection.sample_states)
            }
            _ => 0,
        }
    }

    fn instances_above(&self, previous: InstanceHandle) -> impl Iterator<Item = Id> {
        self.by_handle.range((Bound::Excluded(previous), Bound::Unbounded)).map(|(_, id)| *id)
    }

    /// Fills `picked` with the samples of a selection.
    pub(super) fn select(&mut self, selection: &Selection, query: Query<'_>) -> Result<(), UnknownInstance> {
        self.picked.clear();
        let mut walk = Walk { selection, query, ahead: 0, wanted: selection.max_samples };
        match selection.instance {
            InstanceSelect::Any => {
                walk.ahead = self.count_matching(selection);
                if self.config.ordered {
                    self.pick_ordered(&mut walk);
                } else {
                    self.pick_grouped(&mut walk);
                }
            }
            InstanceSelect::Exact(handle) => {
                let id = self.find(self.shown(handle)).ok_or(UnknownInstance)?;
                walk.ahead = self.count_in(id, selection);
                self.pick_from(id, NIL, &mut walk);
            }
            InstanceSelect::Next(previous) => self.pick_next(previous, &mut walk),
        }
        Ok(())
    }

    /// Picks from the first instance above a handle that yields anything.
    fn pick_next(&mut self, previous: InstanceHandle, walk: &mut Walk<'_, '_>) {
        let mut bound = previous;
        loop {
            let next = self.by_handle.range((Bound::Excluded(bound), Bound::Unbounded)).next();
            let Some((handle, id)) = next.map(|(handle, id)| (*handle, *id)) else { return };
            walk.ahead = self.count_in(id, walk.selection);
            self.pick_from(id, NIL, walk);
            if !self.picked.is_empty() || walk.wanted == 0 {
                return;
            }
            bound = handle;
        }
    }

    /// Picks instance by instance. When only unread samples are wanted, read ones are not even passed over.
    fn pick_grouped(&mut self, walk: &mut Walk<'_, '_>) {
        self.walks = self.walks.wrapping_add(1);
        let unread_only = !walk.selection.sample_states.contains(super::states::SampleState::Read);
        let mut cursor = if unread_only { self.unread.head() } else { self.arrival.head() };
        while !walk.done() {
            let Some(sample) = self.samples.get(cursor) else {
                debug_assert_eq!(cursor, NIL, "a list leads to what is kept, or ends");
                return;
            };
            let id = sample.instance;
            let Some(instance) = self.instances.kept_mut(id) else { return };
            if core::mem::replace(&mut instance.visited, self.walks) != self.walks {
                // In order of arrival, no unread sample of the instance stands before this one.
                let from = if unread_only && !self.by_source() { cursor } else { NIL };
                self.pick_from(id, from, walk);
            }
            cursor = if unread_only {
                List::<UNREAD>::next(&self.samples, cursor)
            } else {
                List::<ARRIVAL>::next(&self.samples, cursor)
            };
        }
    }

    /// Picks from one instance, from a sample of it or the first one on.
    fn pick_from(&mut self, id: Id, from: Id, walk: &mut Walk<'_, '_>) {
        let Some(instance) = self.instances.kept(id) else { return };
        if !walk.wants(instance) {
            return;
        }
        let mut ahead = instance.matching(walk.selection.sample_states);
        let mut cursor = if from == NIL { instance.samples.head() } else { from };
        while ahead > 0 && !walk.done() && cursor != NIL {
            if self.pick(cursor, walk) {
                ahead = ahead.saturating_sub(1);
            }
            cursor = List::<OF_INSTANCE>::next(&self.samples, cursor);
        }
    }

    /// Picks across instances.
    fn pick_ordered(&mut self, walk: &mut Walk<'_, '_>) {
        let wanted = walk.wanted;
        if self.by_source() {
            // The first ones by time of writing may be the last by arrival.
            walk.wanted = usize::MAX;
        }
        let mut cursor = self.arrival.head();
        while !walk.done() {
            let Some(sample) = self.samples.get(cursor) else { break };
            if self.instances.kept(sample.instance).is_some_and(|instance| walk.wants(instance)) {
                self.pick(cursor, walk);
            }
            cursor = List::<ARRIVAL>::next(&self.samples, cursor);
        }
        if self.by_source() {
            let samples = &self.samples;
            self.picked
                .sort_unstable_by_key(|picked| samples.get(picked.sample).map(super::sample::Sample::key));
            self.picked.truncate(wanted);
        }
    }

    /// Picks a sample if it is wanted. True if it matches the mask of sample states.
    fn pick(&mut self, id: Id, walk: &mut Walk<'_, '_>) -> bool {
        let Some(sample) = self.samples.kept(id) else { return false };
        if !walk.selection.sample_states.contains(sample.state()) {
            return false;
        }
        walk.ahead = walk.ahead.saturating_sub(1);
        if let Some(query) = walk.query.as_mut() {
            let instance = self.instances.kept(sample.instance);
            let data = SampleData {
                instance: instance.map_or(InstanceHandle::NIL, |found| found.handle),
                payload: sample.payload.as_ref(),
                key: instance.and_then(|found| found.key.as_ref()),
                vendor: sample.vendor_of(instance),
                writer: sample.writer,
                sequence_number: sample.sn,
            };
            if !query(&data) {
                return true;
            }
        }
        walk.wanted = walk.wanted.saturating_sub(1);
        self.picked.push(Picked { sample: id, rank: 0, generation_rank: 0 });
        true
    }
}
