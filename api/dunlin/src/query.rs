//! Queries (DDS 1.4 §2.2.2.5.9), and reading by them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use dunlin_cache::{CachedSample, InstanceSelect, SampleData, Selection};
use dunlin_cdr::{DecodeOptions, TypeRef};
use dunlin_core::{Guid, InstanceHandle, SequenceNumber};
use dunlin_filter::{Filter, SortKey};

use crate::error::{ExpressionError, ReadError};
use crate::mutex::lock;
use crate::reader_inner::ReaderInner;

/// The query of a condition; replaced as a whole, so that no lock is held while it is evaluated.
#[derive(Debug)]
pub(crate) struct Query(Mutex<Arc<Filter>>);

impl Query {
    pub(crate) fn new(
        ty: TypeRef,
        expression: &str,
        parameters: &[impl AsRef<str>],
    ) -> Result<Self, ExpressionError> {
        Ok(Self(Mutex::new(Arc::new(Filter::query(ty, expression, parameters)?))))
    }

    pub(crate) fn filter(&self) -> Arc<Filter> {
        Arc::clone(&lock(&self.0))
    }

    /// set_query_parameters.
    ///
    /// # Errors
    /// Parameters that are missing or do not fit the members they are compared with; nothing has changed then.
    pub(crate) fn set_parameters(&self, parameters: &[impl AsRef<str>]) -> Result<(), ExpressionError> {
        let mut present = lock(&self.0);
        let mut changed = Filter::clone(&present);
        changed.set_parameters(parameters)?;
        *present = Arc::new(changed);
        Ok(())
    }
}

/// Whether a sample satisfies a query.
pub(crate) fn satisfies(query: &Filter, sample: &SampleData<'_>) -> bool {
    let options = DecodeOptions::for_vendor(sample.vendor);
    match (sample.payload, sample.key) {
        (Some(payload), _) => query.check(payload, options).passed(),
        (None, Some(key)) if query.is_about_key() => query.check_key(key, options).passed(),
        (None, _) => query.passes_all(),
    }
}

/// What tells samples of one reader apart.
type Place = (InstanceHandle, Guid, SequenceNumber);

impl ReaderInner {
    /// Reads or takes the samples that satisfy a query, in its order.
    pub(crate) fn collect_query<R>(
        &self,
        selection: &Selection,
        query: &Filter,
        take: bool,
        each: impl FnOnce(&mut Vec<CachedSample>) -> R,
    ) -> Result<R, ReadError> {
        if !query.sorts() {
            return self.collect_where(selection, Some(&mut |sample| satisfies(query, sample)), take, each);
        }
        let places = self.first_places(selection, query)?;
        let mut chosen = |sample: &SampleData<'_>| places.contains_key(&place(sample));
        self.collect_where(selection, Some(&mut chosen), take, |found| {
            let position = |sample: &CachedSample| {
                let info = &sample.info;
                let writer = info.publication_handle.to_guid();
                places.get(&(info.instance_handle, writer, info.sequence_number)).copied()
            };
            found.sort_by_key(position);
            rank(found);
            each(found)
        })
    }

    /// The samples of a selection that come first in the order of a query, with their positions in it.
    fn first_places(
        &self,
        selection: &Selection,
        query: &Filter,
    ) -> Result<BTreeMap<Place, usize>, ReadError> {
        let mut found: Vec<(SortKey, Place)> = Vec::new();
        let next_only = matches!(selection.instance, InstanceSelect::Next(_));
        let mut note = |sample: &SampleData<'_>| {
            // Of the next instance alone, which is the first that has any.
            let other = found.first().is_some_and(|(_, (instance, ..))| *instance != sample.instance);
            if satisfies(query, sample) && !(next_only && other) {
                let payload = sample.payload.map_or(&[][..], |payload| payload);
                let options = DecodeOptions::for_vendor(sample.vendor);
                found.push((query.sort_key(payload, options), place(sample)));
            }
            false
        };
        let _none = self.enabled()?.has_matching_where(selection, &mut note);
        found.sort_by(|(a, _), (b, _)| a.order(b));
        found.truncate(selection.max_samples);
        Ok(found.into_iter().enumerate().map(|(position, (_, place))| (place, position)).collect())
    }
}

fn place(sample: &SampleData<'_>) -> Place {
    (sample.instance, sample.writer, sample.sequence_number)
}

/// Counts anew how many samples of the same instance follow each in the collection (DDS 1.4 §2.2.2.5.1.5).
fn rank(samples: &mut [CachedSample]) {
    let mut following: BTreeMap<InstanceHandle, u32> = BTreeMap::new();
    for sample in samples.iter_mut().rev() {
        let count = following.entry(sample.info.instance_handle).or_default();
        sample.info.sample_rank = *count;
        *count += 1;
    }
}
