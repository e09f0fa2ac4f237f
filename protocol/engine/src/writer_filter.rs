//! Filtering at the writer: by content (DDS 1.4 §2.2.2.3.3 ContentFilteredTopic; RTPS 2.5 §8.7.3), with the filters that readers
//! announce, compiled once for all readers of a writer that have the same; and by time (DDS 1.4 §2.2.3.12).
//!
//! A reader filters what it gets in any case, so a filter that is not used here costs datagrams and nothing else. It is not
//! used where a reader would tell the difference: see [`sees_what_is_filtered`]. A filter that takes too many steps is not used any
//! more: see [`budget`].

mod budget;

use alloc::sync::Arc;
use alloc::vec::Vec;

use budget::{Budget, Cost, Owners};
use dunlin_cdr::{DecodeOptions, TypeRef};
use dunlin_core::{Behaviour, Duration, GuidPrefix};
use dunlin_discovery::{ContentFilterProperty, DiscoveredReader};
use dunlin_filter::{Filter, Verdict};
use dunlin_qos::{DestinationOrderKind, HistoryKind, LivelinessKind, OwnershipKind, ReliabilityKind};
use dunlin_rtps::{Change, ChangeKind, ReaderFilter};

use crate::config::WriterSpec;

/// Most different filters of one writer; further readers get everything.
const MAX_FILTERS: usize = 32;

/// The filters of the readers of one writer.
#[derive(Debug)]
pub(crate) struct WriterFilters {
    /// `None` if the writer does not filter.
    ty: Option<TypeRef>,
    /// LIVELINESS is shown by what is written.
    alive_by_writing: bool,
    known: Vec<Known>,
    budget: Arc<Budget>,
    owners: Owners,
    /// Dropped filters that were told of.
    dropped_told: usize,
    /// Readers with a TIME_BASED_FILTER are sent no more than it shows.
    separates: bool,
    /// A sample displaces an older one of its instance in the history, whether or not that was sent.
    displaces: bool,
    /// Other writers may write to the same instances.
    other_writers: bool,
    /// That matters to some reader.
    watches_other_writers: bool,
}

/// A filter as readers of ours and of other vendors share it: who has the same allocation is not asked again.
#[derive(Debug, Clone)]
struct Known {
    filter: Arc<SampleFilter>,
    told: Arc<Told>,
}

impl Known {
    /// Whether any reader has it; of the filter, this and `told` have one reference each.
    fn is_used(&self) -> bool {
        Arc::strong_count(&self.filter) > 2 || Arc::strong_count(&self.told) > 1
    }
}

/// One of them.
#[derive(Debug)]
struct SampleFilter {
    signature: [u8; 16],
    filter: Filter,
    cost: Cost,
    /// It can never have been another one, and looks at the key alone: then it also holds for the end of an instance.
    for_ends: bool,
}

impl WriterFilters {
    /// Of a writer that is not part of a publisher whose changes belong together, if it is to filter at all.
    pub(crate) fn new(spec: &WriterSpec, enabled: bool) -> Self {
        let liveliness = spec.qos.liveliness;
        Self {
            ty: spec.type_description.clone().filter(|_| enabled),
            alive_by_writing: liveliness.kind != LivelinessKind::Automatic
                && !liveliness.lease_duration.is_infinite(),
            known: Vec::new(),
            budget: Arc::default(),
            owners: Owners::default(),
            dropped_told: 0,
            separates: enabled,
            displaces: spec.qos.history.kind == HistoryKind::KeepLast
                || spec.qos.reliability.kind == ReliabilityKind::BestEffort,
            other_writers: true,
            watches_other_writers: false,
        }
    }

    /// The minimum separation to keep towards a reader; zero if it gets everything.
    pub(crate) fn separation(&mut self, remote: &DiscoveredReader) -> Duration {
        self.watches_other_writers |= self.may_separate(remote) && !orders_by_source(remote);
        self.separation_now(remote)
    }

    /// The same, of a reader that was asked about before.
    ///
    /// What is kept back arrives late. A reader that orders by reception would take it for newer than what another writer
    /// has written meanwhile; one that orders by source timestamp knows better.
    pub(crate) fn separation_now(&self, remote: &DiscoveredReader) -> Duration {
        let exact = !self.other_writers || orders_by_source(remote);
        let wanted = remote.qos.time_based_filter.minimum_separation;
        if exact && self.may_separate(remote) && !wanted.is_infinite() { wanted } else { Duration::ZERO }
    }

    fn may_separate(&self, remote: &DiscoveredReader) -> bool {
        self.separates
            && !self.alive_by_writing
            && remote.qos.time_based_filter.minimum_separation > Duration::ZERO
            && remote.vendor.does(Behaviour::SpeaksDunlin)
            && !sees_what_is_filtered(remote)
            // What is kept back could be displaced by a sample that the reader's filter by content rejects.
            && !(self.displaces && remote.content_filter.is_some())
    }

    /// Whether it matters if the topic has other writers.
    pub(crate) fn watches_other_writers(&self) -> bool {
        self.watches_other_writers
    }

    /// Whether the topic has other writers; true if that is news.
    pub(crate) fn set_other_writers(&mut self, other_writers: bool) -> bool {
        core::mem::replace(&mut self.other_writers, other_writers) != other_writers
    }

    /// The filter to use for a reader; `None` if it gets everything.
    pub(crate) fn find(&mut self, remote: &DiscoveredReader) -> Option<Arc<dyn ReaderFilter>> {
        let Known { filter, told } = self.known_filter(remote)?;
        if remote.vendor.does(Behaviour::SpeaksDunlin) { Some(filter) } else { Some(told) }
    }

    /// Steps that evaluations have taken.
    pub(crate) fn steps(&self) -> u64 {
        self.budget.steps() as u64
    }

    /// Filters that were dropped because they took too many steps.
    pub(crate) fn dropped(&self) -> u64 {
        self.budget.dropped() as u64
    }

    /// Whose filters those are that were dropped since this was asked last, each participant once.
    pub(crate) fn newly_dropped(&mut self) -> Option<Vec<GuidPrefix>> {
        let dropped = self.budget.dropped();
        let news = core::mem::replace(&mut self.dropped_told, dropped) != dropped;
        news.then(|| self.owners.newly_dropped())
    }

    fn known_filter(&mut self, remote: &DiscoveredReader) -> Option<Known> {
        let property = remote.content_filter.as_ref()?;
        let ty = self.ty.as_ref().filter(|_| !self.alive_by_writing && !sees_what_is_filtered(remote))?;
        let signature = property.signature();
        if let Some(known) = self.known.iter().find(|known| known.filter.signature == signature) {
            return Some(known.clone()).filter(|known| known.filter.is_for(remote));
        }
        self.known.retain(Known::is_used);
        if self.known.len() >= MAX_FILTERS {
            return None;
        }
        let owner = self.owners.of(remote.guid.prefix);
        if owner.is_out() {
            return None;
        }
        let cost = Cost::new(owner, &self.budget);
        let filter = Arc::new(SampleFilter::compile(ty, property, signature, cost)?);
        if !filter.is_for(remote) {
            return None;
        }
        let known = Known { told: Arc::new(Told(Arc::clone(&filter))), filter };
        self.known.push(known.clone());
        Some(known)
    }
}

fn orders_by_source(remote: &DiscoveredReader) -> bool {
    remote.qos.destination_order.kind == DestinationOrderKind::BySourceTimestamp
}

/// Whether a reader takes notice of samples that its filter rejects: they keep OWNERSHIP and DEADLINE of an instance alive.
fn sees_what_is_filtered(remote: &DiscoveredReader) -> bool {
    remote.qos.ownership.kind == OwnershipKind::Exclusive || !remote.qos.deadline.period.is_infinite()
}

impl SampleFilter {
    /// `None` if the filter is of another language, or not for this type.
    fn compile(
        ty: &TypeRef,
        property: &ContentFilterProperty,
        signature: [u8; 16],
        cost: Cost,
    ) -> Option<Self> {
        if property.filter_class_name != ContentFilterProperty::SQL {
            return None;
        }
        let parameters = &property.expression_parameters;
        let filter = Filter::for_type(ty.clone(), &property.filter_expression, parameters).ok()?;
        // Without parameters it stays as it is.
        let for_ends = filter.is_about_key() && parameters.is_empty();
        Some(Self { signature, filter, cost, for_ends })
    }

    /// Whether a reader decides as this does, and knows what is missing for filtered. Best-effort readers of other vendors take
    /// it for lost.
    fn is_for(&self, remote: &DiscoveredReader) -> bool {
        let reliable = remote.qos.reliability.kind == ReliabilityKind::Reliable;
        remote.vendor.does(Behaviour::SpeaksDunlin) || (reliable && self.filter.is_beyond_doubt())
    }
}

impl ReaderFilter for SampleFilter {
    fn rejects(&self, change: &Change) -> bool {
        // Without data the change only carries inline QoS. What cannot be read is for the reader to judge.
        let Some(payload) = &change.payload else { return false };
        let options = DecodeOptions::default();
        self.cost.within(change.sn, payload.len(), |steps| match change.kind {
            ChangeKind::Alive => self.filter.check_within(payload, options, steps),
            // The reader may know the instance from before its parameters changed, or from other writers.
            _ if self.for_ends => self.filter.check_key_within(payload, options, steps),
            _ => Ok(Verdict::Passed),
        }) == Verdict::Rejected
    }
}

/// The same for a reader that is told what came of it. Those of ours are not: that would cost 36 octets, and looking again some
/// ten nanoseconds.
#[derive(Debug)]
struct Told(Arc<SampleFilter>);

impl ReaderFilter for Told {
    fn rejects(&self, change: &Change) -> bool {
        self.0.rejects(change)
    }

    fn signature(&self) -> Option<[u8; 16]> {
        Some(self.0.signature)
    }
}
