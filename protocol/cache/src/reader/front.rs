//! `take` of what stands first, all of one instance: the usual case without keys (DDS 1.4 §2.2.2.5.3.9).

use alloc::vec::Vec;

use dunlin_core::InstanceHandle;

use super::ReaderCache;
use super::sample::{ARRIVAL, CachedSample, OF_INSTANCE, SampleInfo, UNREAD};
use super::selection::{InstanceSelect, Selection};
use super::states::{InstanceState, InstanceStateMask, SampleStateMask, ViewState, ViewStateMask};
use crate::list::{Linked, List};
use crate::slab::NIL;

impl Selection {
    /// Whether it takes whatever comes first.
    fn is_open(&self) -> bool {
        self.instance == InstanceSelect::Any
            && self.sample_states == SampleStateMask::ANY
            && self.view_states == ViewStateMask::ANY
            && self.instance_states == InstanceStateMask::ANY
    }
}

impl ReaderCache {
    /// Moves the first samples to `out`, all at once, and returns how many. `None` where they have to be picked one by one:
    /// more than one instance has samples, they are not in the order of arrival, some expire, or some are of an older
    /// generation of the instance.
    pub(super) fn take_front(&mut self, selection: &Selection, out: &mut Vec<CachedSample>) -> Option<usize> {
        if !selection.is_open() || self.by_source() || self.timers.expiries.peek().is_some() {
            return None;
        }
        let first = self.samples.get(self.arrival.head())?;
        let (owner, generations) = (first.instance, first.generations());
        let instance = self.instances.get(owner)?;
        // Generations only grow: if the first is of the present one, all are, and no rank but that of place differs from 0.
        if instance.samples.len() != self.arrival.len() || generations != instance.generations() {
            return None;
        }
        let count = selection.max_samples.min(instance.samples.len());
        let (view, state, handle) = (instance.view, instance.state, instance.handle);
        out.reserve(count);
        let every_change = self.config.every_change;
        let (mut next, mut next_unread) = (self.arrival.head(), self.unread.head());
        let (mut unread, mut valid) = (0usize, 0usize);
        for after in (0..count as u32).rev() {
            let Some(sample) = self.samples.remove(next) else { break };
            let (sample_state, has_data) = (sample.state(), sample.valid());
            let shown = if every_change { sample.end.unwrap_or(InstanceState::Alive) } else { state };
            if !sample.read {
                next_unread = Linked::<UNREAD>::links(&sample).next();
                unread = unread.saturating_add(1);
            }
            valid = valid.saturating_add(usize::from(sample.takes_room()));
            if self.account.counts(sample.writer.prefix) {
                self.account.release(sample.octets());
            }
            let (mut key, mut vendor) = (None, sample.vendor);
            if !has_data && let Some(instance) = self.instances.kept_mut(owner) {
                (key, vendor, instance.marker) = (instance.key.clone(), instance.key_vendor, NIL);
            }
            next = Linked::<ARRIVAL>::links(&sample).next();
            let identities = sample.identities.as_deref().copied().unwrap_or_default();
            let info = SampleInfo {
                sample_state,
                view_state: view,
                instance_state: shown,
                disposed_generation_count: sample.disposed_generations,
                no_writers_generation_count: sample.no_writers_generations,
                sample_rank: after,
                generation_rank: 0,
                absolute_generation_rank: 0,
                source_timestamp: sample.source,
                reception_timestamp: sample.reception,
                instance_handle: handle,
                publication_handle: InstanceHandle::from(sample.writer),
                sequence_number: sample.sn,
                related_sample: identities.related,
                original_sample: identities.original,
                valid_data: has_data,
            };
            out.push(CachedSample { info, payload: sample.payload, key, vendor });
        }
        self.arrival.drop_front(&mut self.samples, next, count);
        self.unread.drop_front(&mut self.samples, next_unread, unread);
        self.counts.subtract(view, state, count.saturating_sub(unread), unread);
        self.valid_samples.subtract(valid);
        self.gone.freed |= valid > 0;
        if let Some(instance) = self.instances.kept_mut(owner) {
            List::<OF_INSTANCE>::drop_front(&mut instance.samples, &mut self.samples, next, count);
            instance.unread.subtract(unread);
        }
        if count > 0 && view == ViewState::New {
            self.set_states(owner, state, ViewState::NotNew);
        }
        self.forget_if_unused(owner);
        Some(count)
    }
}
