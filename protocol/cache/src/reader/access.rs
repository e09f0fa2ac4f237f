//! `read` and `take` in their many forms (DDS 1.4 §2.2.2.5.3.8 to §2.2.2.5.3.20; §2.2.2.5.1.5 to §2.2.2.5.1.7 for
//! generations and ranks).

use alloc::vec::Vec;

use dunlin_core::{InstanceHandle, WallTime};

use super::ReaderCache;
use super::instance::Instance;
use super::sample::{CachedSample, Sample, SampleData, SampleInfo};
use super::selection::{Picked, Query, Selection, UnknownInstance};
use super::states::{InstanceState, ViewState};
use crate::slab::Id;

impl ReaderCache {
    /// Appends the selected samples to `out` and leaves them in the cache as read. Returns how many there are; none
    /// is NO_DATA.
    ///
    /// # Errors
    /// [`UnknownInstance`] when the selection names an instance that is not known.
    pub fn read(
        &mut self,
        selection: &Selection,
        out: &mut Vec<CachedSample>,
    ) -> Result<usize, UnknownInstance> {
        self.access(selection, None, false, out)
    }

    /// Like [`ReaderCache::read`], of the samples for which `query` is true.
    ///
    /// # Errors
    /// As [`ReaderCache::read`].
    pub fn read_where(
        &mut self,
        selection: &Selection,
        query: &mut dyn FnMut(&SampleData<'_>) -> bool,
        out: &mut Vec<CachedSample>,
    ) -> Result<usize, UnknownInstance> {
        self.access(selection, Some(query), false, out)
    }

    /// Moves the selected samples to `out`. Returns how many there are; none is NO_DATA.
    ///
    /// # Errors
    /// [`UnknownInstance`] when the selection names an instance that is not known.
    pub fn take(
        &mut self,
        selection: &Selection,
        out: &mut Vec<CachedSample>,
    ) -> Result<usize, UnknownInstance> {
        if let Some(count) = self.take_front(selection, out) {
            return Ok(count);
        }
        self.access(selection, None, true, out)
    }

    /// Like [`ReaderCache::take`], of the samples for which `query` is true.
    ///
    /// # Errors
    /// As [`ReaderCache::read`].
    pub fn take_where(
        &mut self,
        selection: &Selection,
        query: &mut dyn FnMut(&SampleData<'_>) -> bool,
        out: &mut Vec<CachedSample>,
    ) -> Result<usize, UnknownInstance> {
        self.access(selection, Some(query), true, out)
    }

    /// Whether there is a selected sample for which `query` is true: the trigger of a QueryCondition.
    pub fn has_matching_where(
        &mut self,
        selection: &Selection,
        query: &mut dyn FnMut(&SampleData<'_>) -> bool,
    ) -> bool {
        let first = Selection { max_samples: 1, ..*selection };
        self.select(&first, Some(query)).is_ok() && !self.picked.is_empty()
    }

    /// When each selected sample was received, in the order in which they would be read. Nothing changes by it.
    ///
    /// # Errors
    /// As [`ReaderCache::read`].
    pub fn receptions(
        &mut self,
        selection: &Selection,
        out: &mut Vec<WallTime>,
    ) -> Result<(), UnknownInstance> {
        self.select(selection, None)?;
        out.extend(self.picked.iter().filter_map(|picked| Some(self.samples.kept(picked.sample)?.reception)));
        Ok(())
    }

    fn access(
        &mut self,
        selection: &Selection,
        query: Query<'_>,
        take: bool,
        out: &mut Vec<CachedSample>,
    ) -> Result<usize, UnknownInstance> {
        self.select(selection, query)?;
        self.rank();
        // All information is of the moment before the call changes anything.
        out.extend(self.picked.iter().filter_map(|picked| self.present(picked)));
        let picked = core::mem::take(&mut self.picked);
        for Picked { sample, .. } in &picked {
            self.note_seen(*sample);
            if take {
                self.take_sample(*sample);
            } else {
                self.mark_read(*sample);
            }
        }
        let count = picked.len();
        self.picked = picked;
        Ok(count)
    }

    /// Computes the ranks, from the last picked sample to the first.
    fn rank(&mut self) {
        self.walks = self.walks.wrapping_add(1);
        for picked in self.picked.iter_mut().rev() {
            let Some(sample) = self.samples.kept(picked.sample) else { continue };
            let Some(instance) = self.instances.kept_mut(sample.instance) else { continue };
            let generations = sample.generations();
            if core::mem::replace(&mut instance.visited, self.walks) == self.walks {
                instance.rank = instance.rank.saturating_add(1);
            } else {
                (instance.rank, instance.rank_generations) = (0, generations);
            }
            picked.rank = instance.rank;
            picked.generation_rank = instance.rank_generations.saturating_sub(generations);
        }
    }

    fn present(&self, picked: &Picked) -> Option<CachedSample> {
        let sample = self.samples.kept(picked.sample)?;
        let instance = self.instances.kept(sample.instance)?;
        let identities = sample.identities.as_deref().copied().unwrap_or_default();
        let info = SampleInfo {
            sample_state: sample.state(),
            view_state: instance.view,
            instance_state: self.state_shown(sample, instance),
            disposed_generation_count: sample.disposed_generations,
            no_writers_generation_count: sample.no_writers_generations,
            sample_rank: picked.rank,
            generation_rank: picked.generation_rank,
            absolute_generation_rank: instance.generations().saturating_sub(sample.generations()),
            source_timestamp: sample.source,
            reception_timestamp: sample.reception,
            instance_handle: instance.handle,
            publication_handle: InstanceHandle::from(sample.writer),
            sequence_number: sample.sn,
            related_sample: identities.related,
            original_sample: identities.original,
            valid_data: sample.valid(),
        };
        let key = if sample.valid() { None } else { instance.key.clone() };
        let vendor = sample.vendor_of(Some(instance));
        Some(CachedSample { info, payload: sample.payload.clone(), key, vendor })
    }

    /// The state of the instance, or what the change brought about where every change is shown.
    fn state_shown(&self, sample: &Sample, instance: &Instance) -> InstanceState {
        if self.config.every_change { sample.end.unwrap_or(InstanceState::Alive) } else { instance.state }
    }

    /// The application saw the newest generation of an instance: it is not new any more.
    fn note_seen(&mut self, id: Id) {
        let Some(sample) = self.samples.kept(id) else { return };
        let owner = sample.instance;
        let Some(instance) = self.instances.kept(owner) else { return };
        if instance.view == ViewState::New && sample.generations() == instance.generations() {
            let state = instance.state;
            self.set_states(owner, state, ViewState::NotNew);
        }
    }

    fn take_sample(&mut self, id: Id) {
        let Some(sample) = self.samples.kept(id) else { return };
        let (owner, key, valid) = (sample.instance, sample.key(), sample.valid());
        if valid
            && self.by_source()
            && let Some(instance) = self.instances.kept_mut(owner)
        {
            instance.floor = instance.floor.max(Some(key));
        }
        self.remove_sample(id);
        self.forget_if_unused(owner);
    }
}
