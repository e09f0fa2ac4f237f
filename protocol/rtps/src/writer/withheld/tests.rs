//! Filters and separations without a writer (DDS 1.4 §2.2.3.12, RTPS 2.5 §8.7.3).

use alloc::sync::Arc;

use dunlin_core::Duration;
use dunlin_wire::pid;

use super::*;
use crate::proxy_index::ProxyIndex;
use crate::tests::support::{change, host, reader_guid, sample};
use crate::{ReaderFilter, ReaderProxyConfig};

/// Rejects samples longer than this.
#[derive(Debug)]
struct Short(usize);

impl ReaderFilter for Short {
    fn rejects(&self, change: &Change) -> bool {
        change.payload.as_ref().is_some_and(|payload| payload.len() > self.0)
    }
}

fn at(ms: u64) -> MonoTime {
    MonoTime(ms * 1_000_000)
}

fn configuration(n: u8) -> ReaderProxyConfig {
    let guid = reader_guid(n);
    ReaderProxyConfig { guid, unicast: [host(guid.prefix)].into(), ..Default::default() }
}

/// What is not sent to these readers, of which each is reliable or not.
fn withheld<const N: usize>(configurations: [(ReaderProxyConfig, bool); N]) -> (Withheld, Readers) {
    let (mut withheld, mut readers) = (Withheld::default(), Readers::default());
    for (cfg, reliable) in configurations {
        let proxy = ReaderProxy::new(cfg, reliable, SequenceNumber::ZERO);
        withheld.add(&proxy);
        let slot = readers.vacancy(proxy.guid()).unwrap();
        readers.insert(slot, proxy);
    }
    readers.refresh_routes();
    (withheld, readers)
}

fn filtered(n: u8, most: usize) -> ReaderProxyConfig {
    ReaderProxyConfig { filter: Some(Arc::new(Short(most))), ..configuration(n) }
}

fn separated(n: u8, ms: i64) -> ReaderProxyConfig {
    ReaderProxyConfig { minimum_separation: Duration::from_millis(ms), ..configuration(n) }
}

#[test]
fn without_filters_no_change_is_evaluated() {
    let (mut withheld, mut readers) = withheld([(configuration(1), true), (filtered(2, 5), true)]);
    assert!(withheld.is_on());
    readers.remove(ProxyIndex::new(1));
    readers.refresh();
    withheld.survey(&readers);
    assert!(!withheld.is_on());
}

#[test]
fn a_filtered_change_goes_to_readers_whose_filter_accepts_it() {
    let (mut withheld, mut readers) = withheld([(filtered(1, 5), true), (configuration(2), true)]);
    let mut stats = WriterStats::default();
    let long = change(1, sample(9));
    let outcome = withheld.select(at(0), &long, &mut readers, &mut stats);
    assert_eq!(outcome, FilterOutcome { wanted: true, rejected: true, separated: false, new: true });
    assert!(withheld.is_narrow());
    assert_eq!(withheld.destinations(readers.routes()), [host(reader_guid(2).prefix)]);
    assert!(!withheld.is_sent_to(readers.get(ProxyIndex::new(0)).unwrap(), true));
    let again = withheld.select(at(1), &long, &mut readers, &mut stats);
    assert!(!again.new && stats.filters_evaluated == 2, "it waited for the pacer");

    let outcome = withheld.select(at(1), &change(2, sample(3)), &mut readers, &mut stats);
    assert!(outcome.new && !outcome.rejected && !withheld.is_narrow());
    assert_eq!(withheld.destinations(readers.routes()), readers.routes());
}

#[test]
fn a_change_rejected_by_all_filters_is_not_sent() {
    let (mut withheld, mut readers) = withheld([(filtered(1, 5), true), (filtered(2, 6), false)]);
    let outcome = withheld.select(at(0), &change(1, sample(9)), &mut readers, &mut WriterStats::default());
    assert!(!outcome.wanted && outcome.rejected);
}

#[test]
fn readers_with_one_filter_share_its_evaluation() {
    let filter: Arc<dyn ReaderFilter> = Arc::new(Short(5));
    let shared = |n| (ReaderProxyConfig { filter: Some(filter.clone()), ..configuration(n) }, true);
    let (mut withheld, mut readers) = withheld([shared(1), shared(2), shared(3)]);
    let mut stats = WriterStats::default();
    withheld.select(at(0), &change(1, sample(9)), &mut readers, &mut stats);
    assert_eq!(stats.filters_evaluated, 1);
}

#[test]
fn submessages_join_only_changes_for_the_same_readers() {
    let (mut withheld, mut readers) = withheld([(filtered(1, 5), true), (configuration(2), true)]);
    let mut stats = WriterStats::default();
    withheld.select(at(0), &change(1, sample(9)), &mut readers, &mut stats);
    assert!(!withheld.is_for_the_same(&change(2, sample(3)), &readers, &mut stats), "both want it");
    assert!(withheld.is_for_the_same(&change(2, sample(8)), &readers, &mut stats));
    withheld.note_joined(&change(2, sample(8)), &mut readers, &mut stats);
    let unannounced =
        |index: usize| readers.get(ProxyIndex::new(index)).unwrap().unannounced.contains(SequenceNumber(2));
    assert!(unannounced(0) && !unannounced(1) && stats.samples_filtered == 1);
    let decided = withheld.select(at(0), &change(2, sample(8)), &mut readers, &mut stats);
    assert!(!decided.new, "it was decided when it joined");
}

/// A change that says of which coherent set it is; without payload it ends the set.
fn of_set(sn: i64, first: u32, payload: bool) -> Change {
    let mut list = [pid::COHERENT_SET, 8].map(u16::to_le_bytes).concat();
    list.extend([0, first].map(u32::to_le_bytes).concat());
    let change = change(sn, sample(3));
    Change { payload: change.payload.filter(|_| payload), inline_qos: Some(list.into()), ..change }
}

fn in_the_middle(n: u8) -> ReaderProxyConfig {
    ReaderProxyConfig { begun_set: Some(SequenceNumber(1)), ..configuration(n) }
}

#[test]
fn filtering_ends_with_the_coherent_set_that_a_late_joiner_missed() {
    let (mut withheld, mut readers) = withheld([(in_the_middle(1), true), (in_the_middle(2), false)]);
    let changes = [of_set(2, 1, true), of_set(3, 1, true), of_set(4, 1, false), of_set(5, 5, true)];
    let mut select = |change: &Change| {
        let outcome = withheld.select(at(0), change, &mut readers, &mut WriterStats::default());
        (outcome.wanted, withheld.is_on())
    };
    let [rest, last, end, next] = &changes;
    assert_eq!([rest, last, end].map(&mut select), [(false, true), (false, true), (true, true)]);
    assert_eq!(select(next), (true, false), "the next set is for them");
    let reader = readers.get_mut(ProxyIndex::new(0)).unwrap();
    assert_eq!([rest, last, end, next].map(|change| reader.rejects(change)), [true, true, false, false]);
    reader.acknowledge(SequenceNumber(4));
    assert!(reader.begun_set.is_none() && readers.get(ProxyIndex::new(1)).unwrap().begun_set.is_none());
}

#[test]
fn a_gap_for_the_rest_of_a_coherent_set_precedes_the_end_of_filtering() {
    let (mut withheld, mut readers) = withheld([(in_the_middle(1), true)]);
    let mut stats = WriterStats::default();
    withheld.select(at(0), &of_set(2, 1, true), &mut readers, &mut stats);
    withheld.note_joined(&of_set(3, 1, true), &mut readers, &mut stats);
    withheld.select(at(0), &of_set(4, 1, false), &mut readers, &mut stats);
    withheld.select(at(0), &change(5, sample(3)), &mut readers, &mut stats);
    assert!(withheld.is_on(), "it was told of nothing");
    let reader = readers.get_mut(ProxyIndex::new(0)).unwrap();
    assert!(reader.unannounced.contains(SequenceNumber(3)) && reader.rejects(&of_set(3, 1, true)));
    reader.unannounced.made().clear();
    withheld.select(at(0), &change(6, sample(3)), &mut readers, &mut stats);
    assert!(!withheld.is_on());
}

#[test]
fn the_last_sample_of_a_separation_is_withheld() {
    let (mut withheld, mut readers) = withheld([(separated(1, 100), false)]);
    let mut stats = WriterStats::default();
    let mut write = |sn: i64, ms: u64| {
        let change = change(sn, sample(3));
        let outcome = withheld.select(at(ms), &change, &mut readers, &mut stats);
        assert!(outcome.new && outcome.separated);
        let proxy = readers.get_mut(ProxyIndex::new(0)).unwrap();
        let kept = if outcome.wanted {
            proxy.separation.as_mut().unwrap().note_sent(at(ms), &change);
            None
        } else {
            withheld.keep_back(at(ms), proxy, &change)
        };
        withheld.refresh_held(&readers);
        (kept, withheld.deadline(), withheld.left_through(change.sn).0)
    };
    let kept =
        |overtaken: Option<i64>| Some(Kept { overtaken: overtaken.map(SequenceNumber), leaves: false });
    assert_eq!(write(1, 0), (None, None, 1));
    assert_eq!(write(2, 10), (kept(None), Some(at(100)), 1), "2 has not left");
    assert_eq!(write(3, 20), (kept(Some(2)), Some(at(100)), 2), "3 takes its place");
    assert_eq!(write(4, 110), (None, Some(at(100)), 2), "3 is still to leave");
}

#[test]
fn no_sample_is_withheld_during_wait_for_acknowledgments() {
    let (mut withheld, mut readers) = withheld([(separated(1, 100), true)]);
    let proxy = readers.get_mut(ProxyIndex::new(0)).unwrap();
    withheld.hurry(SequenceNumber(2));
    for (sn, leaves) in [(2, true), (3, false)] {
        let kept = withheld.keep_back(at(0), proxy, &change(sn, sample(3))).unwrap();
        assert_eq!(kept.leaves, leaves, "change {sn}");
    }
    let (mut none, mut others) = self::withheld([(configuration(2), true)]);
    assert_eq!(
        none.keep_back(at(0), others.get_mut(ProxyIndex::new(0)).unwrap(), &change(1, sample(3))),
        None
    );
}

#[test]
fn only_best_effort_readers_hold_up_what_counts_as_left() {
    let (mut withheld, mut readers) = withheld([(separated(1, 100), true)]);
    withheld.keep_back(at(0), readers.get_mut(ProxyIndex::new(0)).unwrap(), &change(1, sample(3)));
    withheld.refresh_held(&readers);
    assert_eq!(withheld.left_through(SequenceNumber(1)), SequenceNumber(1), "it will acknowledge it");
}
