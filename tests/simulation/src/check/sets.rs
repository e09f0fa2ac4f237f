//! Coherent sets: who asks for coherent_access is shown all of one or nothing, and nothing before it has ended.
//!
//! With access scope GROUP a set comprises what all writers of the publisher wrote, for all readers of the subscriber;
//! otherwise each writer's part is a set of its own, for each reader.

use std::collections::{BTreeMap, BTreeSet};

use dunlin_rtps::ChangeKind;

use super::delivery::{has_rivals, pair_alone};
use crate::data::Content;
use crate::failure::Violation;
use crate::log::{Nanos, ReaderLog, Received, SetLog, Span, WriterLog, Written};
use crate::qos::Qos;
use crate::run::{MS, Run};

/// A writer that is younger than this may not have been discovered.
const FOUND: Nanos = 3_000 * MS;

fn offered<'a>(run: &'a Run<'_>, w: usize) -> &'a Qos {
    &run.scenario.endpoints[run.log.writers[w].plan].qos
}

fn requested<'a>(run: &'a Run<'_>, r: usize) -> &'a Qos {
    &run.scenario.endpoints[run.log.readers[r].plan].qos
}

fn matches(run: &Run<'_>, w: usize, r: usize) -> bool {
    let topic = |plan: usize| run.scenario.endpoints[plan].topic;
    let same = topic(run.log.writers[w].plan) == topic(run.log.readers[r].plan);
    same && offered(run, w).matches(requested(run, r))
}

/// The writers that share the sets of this one as a reader sees it, itself among them.
fn writers_with(run: &Run<'_>, w: usize, r: usize) -> Vec<usize> {
    if !requested(run, r).is_by_publisher() {
        return vec![w];
    }
    let publisher = run.log.writers[w].publisher;
    (0..run.log.writers.len()).filter(|other| run.log.writers[*other].publisher == publisher).collect()
}

/// The readers that show sets together with this one, itself among them.
fn readers_with(run: &Run<'_>, r: usize) -> Vec<usize> {
    if !requested(run, r).is_by_publisher() {
        return vec![r];
    }
    let subscriber = run.log.readers[r].subscriber;
    (0..run.log.readers.len()).filter(|other| run.log.readers[*other].subscriber == subscriber).collect()
}

/// Whether another reader that shows sets, or the order of writing, together with this one has limits.
pub(super) fn is_crowded(run: &Run<'_>, r: usize) -> bool {
    let others = readers_with(run, r).into_iter().filter(|other| *other != r);
    others.into_iter().any(|other| requested(run, other).max_samples.is_some())
}

/// Whether two had matched when something began, and one had not parted from the other by then.
fn covers(spans: &[Span], begin: Nanos) -> bool {
    spans.iter().any(|(from, until)| *from < begin && until.is_none_or(|until| until > begin))
}

/// Whether two have met again in some time: for the writer the reader begins anew, and gets what it still has of earlier sets.
fn met_again(spans: &[Span], begin: Nanos, until: Nanos) -> bool {
    spans.iter().any(|(from, _)| *from >= begin && *from <= until)
}

/// Whether a reader that is shown a set at some time is shown this sample of it, and has it when it looks.
fn is_due(run: &Run<'_>, w: usize, r: usize, shown_at: Nanos, (number, change): (u64, &Written)) -> bool {
    let (writer, reader) = (&run.log.writers[w], &run.log.readers[r]);
    let (offer, request) = (offered(run, w), requested(run, r));
    let shown = request.separation == 0 && !request.exclusive && offer.lifespan.is_none();
    let in_order = !request.by_source || !has_rivals(run, w, r);
    let later =
        || writer.changes.iter().skip(number as usize).filter(|later| later.key == change.key).count();
    let kept = request.keep_last.is_none_or(|depth| later() < depth as usize && !has_rivals(run, w, r));
    let begun = change.set.map_or(0, |set| run.log.sets[set].begun);
    // Other writers may have met the reader when the set had begun, or later.
    let both = [writer.meetings.of(reader.guid), reader.meetings.of(writer.guid)];
    let met = !request.is_by_publisher()
        || both.iter().all(|spans| covers(spans, begun) && !met_again(spans, begun, shown_at));
    let wanted = change.kind == ChangeKind::Alive && request.wants(change.key, number);
    wanted && shown && in_order && kept && met
}

/// What of a set a reader should have been shown and was not.
fn lacks(
    run: &Run<'_>,
    set: usize,
    w: usize,
    (r, shown_at): (usize, Nanos),
    has: impl Fn(usize, u64) -> bool,
) -> Option<(usize, u64)> {
    let matching = writers_with(run, w, r).into_iter().filter(|other| matches(run, *other, r));
    matching.into_iter().find_map(|other| {
        let mut members = run.log.writers[other].members(set);
        let lacking =
            members.find(|member| !has(other, member.0) && is_due(run, other, r, shown_at, *member));
        lacking.map(|(number, _)| (other, number))
    })
}

/// What a reader takes at once: nothing of a set that has not ended, and all of one or nothing.
pub(crate) fn taken(run: &mut Run<'_>, r: usize, seen: &[Content]) {
    if !requested(run, r).coherent {
        return;
    }
    let mut parts: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    for content in seen {
        let w = content.writer as usize;
        if let Some(set) = run.log.writers[w].set_of(content.number) {
            parts.entry((set, w)).or_insert(content.number);
        }
    }
    let here: BTreeSet<(usize, u64)> = seen.iter().map(|it| (it.writer as usize, it.number)).collect();
    let mut found = Vec::new();
    for ((set, w), number) in parts {
        let reader = &run.log.readers[r];
        let got = |w: usize, n: u64| reader.received.get(&w).is_some_and(|received| received.count(n) > 0);
        let what = format!("reader {r} got number {number} of writer {w}, in set {set}");
        if !has_ended(run, set, w, r) {
            found.push(format!("{what}, which has not ended"));
        } else if let Some((other, lacked)) =
            lacks(run, set, w, (r, run.age()), |w, n| here.contains(&(w, n)) || got(w, n))
        {
            found.push(format!("{what}, but not number {lacked} of writer {other} with it"));
        }
    }
    found.into_iter().for_each(|text| run.log.violation("torn set", text));
}

/// Whether a set, or with a narrower scope the part of this writer, has ended.
fn has_ended(run: &Run<'_>, set: usize, w: usize, r: usize) -> bool {
    let whole = run.log.sets[set].ended.is_some();
    whole
        && (requested(run, r).is_by_publisher()
            || run.log.writers[w].members(set).any(|(_, it)| it.ends_set()))
}

/// When all that was shown is taken: a set that one reader of a subscriber was shown is there for the others.
pub(super) fn whole(run: &Run<'_>, found: &mut Vec<Violation>) {
    for (w, writer, r, reader) in super::pairs(run) {
        let Some(received) = reader.received.get(&w).filter(|_| requested(run, r).is_by_publisher()) else {
            continue;
        };
        if !requested(run, r).coherent || !matches(run, w, r) {
            continue;
        }
        let sets = shown(writer, Some(received));
        for (set, other) in
            sets.into_iter().flat_map(|set| readers_with(run, r).into_iter().map(move |o| (set, o)))
        {
            let peer = &run.log.readers[other];
            let got = |w: usize, n: u64| peer.received.get(&w).is_some_and(|received| received.count(n) > 0);
            let taken = writer.members(set).filter_map(|(number, _)| received.first_taken_at(number));
            let shown_at = taken.min().unwrap_or(0);
            let lacking = lacks(run, set, w, (other, shown_at), got).filter(|_| peer.ended.is_none());
            let Some((from, number)) = lacking else {
                continue;
            };
            if peer.created >= run.log.sets[set].begun {
                continue;
            }
            let text = format!(
                "reader {r} got set {set} of writer {w}, reader {other} lacks number {number} of writer {from}"
            );
            found.push(Violation::new("torn set", text));
        }
    }
}

/// The changes of a writer in sets that a reader may not have been shown as something of them is lost, or as they never ended.
pub(super) fn may_be_torn(run: &Run<'_>, w: usize, r: usize) -> BTreeSet<u64> {
    let writer = &run.log.writers[w];
    if !requested(run, r).coherent || !matches(run, w, r) {
        return BTreeSet::new();
    }
    let sets: BTreeSet<usize> = writer.changes.iter().filter_map(|change| change.set).collect();
    let torn = sets.into_iter().filter(|set| is_torn(run, *set, w, r));
    torn.flat_map(|set| writer.members(set).map(|(number, _)| number)).collect()
}

fn is_torn(run: &Run<'_>, set: usize, w: usize, r: usize) -> bool {
    if !has_ended(run, set, w, r) {
        return true;
    }
    let SetLog { begun, .. } = run.log.sets[set];
    let writers = writers_with(run, w, r);
    let unsteady = |writer: &WriterLog| {
        let young = writer.created + FOUND >= begun;
        requested(run, r).is_by_publisher() && (young || writer.ended.is_some())
    };
    if writers.iter().any(|w| unsteady(&run.log.writers[*w])) {
        return true;
    }
    readers_with(run, r).into_iter().any(|r| {
        let matching = || writers.iter().filter(|w| matches(run, **w, r));
        let size: usize = matching().map(|w| run.log.writers[*w].members(set).count()).sum();
        let crowded = requested(run, r).max_samples.is_some_and(|most| size > most as usize);
        crowded || matching().any(|w| may_lack(run, set, *w, r))
    })
}

/// Whether a reader may lack some of what a writer has written of a set, or have lost what it had.
fn may_lack(run: &Run<'_>, set: usize, w: usize, r: usize) -> bool {
    let (writer, reader) = (&run.log.writers[w], &run.log.readers[r]);
    let begun = run.log.sets[set].begun;
    let parted = |spans: &[Span]| {
        spans.is_empty()
            || spans.iter().any(|(from, until)| *from >= begun || until.is_some_and(|until| until >= begun))
    };
    let late = reader.created >= begun;
    late || parted(reader.meetings.of(writer.guid)) || parted(writer.meetings.of(reader.guid)) || {
        let pair = pair_alone(run, w, r);
        // What of a best-effort set has not arrived nobody can tell of one that is not shown.
        let torn = |(_, change): (u64, &Written)| !pair.reliable() && pair.withheld(change);
        let lost = |(number, _): (u64, &Written)| pair.own_reason(number).is_some();
        writer.members(set).any(|member| torn(member) || lost(member))
    }
}

/// The sets of a writer of which a reader has taken something.
pub(super) fn shown(writer: &WriterLog, received: Option<&Received>) -> BTreeSet<usize> {
    let taken = |number: u64| received.is_some_and(|received| received.count(number) > 0);
    let changes = (1..).zip(&writer.changes).filter(|(number, _)| taken(*number));
    changes.filter_map(|(_, change)| change.set).collect()
}

/// Whether what other writers of the publisher write after a change is not shown before it. Nobody can be asked for what is
/// best-effort, and the history of a late joiner comes when it comes.
pub(crate) fn waits_for(run: &Run<'_>, w: usize, r: usize, number: u64) -> bool {
    let (writer, reader) = (&run.log.writers[w], &run.log.readers[r]);
    let at = writer.changes[number as usize - 1].at;
    let steady = |spans: &[Span]| matches!(spans, [(from, None)] if *from < at);
    let met = steady(writer.meetings.of(reader.guid)) && steady(reader.meetings.of(writer.guid));
    met && offered(run, w).reliable && requested(run, r).reliable
}

/// Since when a change can be shown to a reader which the writer has known since `met`; `None` if that depends on others too
/// much.
pub(super) fn shown_from(run: &Run<'_>, w: usize, r: usize, met: Nanos, change: &Written) -> Option<Nanos> {
    let (request, offer) = (requested(run, r), offered(run, w));
    let set = change.set.filter(|_| request.coherent);
    // A set is for those who were there for all of it.
    let begun = set.map_or(change.at, |set| first_of(run, set, w, r));
    if begun <= met || (request.is_by_publisher() && !is_company_steady(run, w, r, begun)) {
        return None;
    }
    // What is replaced in the history tears its set.
    if set.is_some() && offer.keep_last.is_some() {
        return None;
    }
    visible_from(run, r, change)
}

/// Since when a change is visible to a reader at the earliest, if it ever is.
pub(super) fn visible_from(run: &Run<'_>, r: usize, change: &Written) -> Option<Nanos> {
    let set = change.set.filter(|_| requested(run, r).coherent);
    set.map_or(Some(change.at), |set| run.log.sets[set].ended)
}

/// When the first of a set was written, by all writers who share it.
fn first_of(run: &Run<'_>, set: usize, w: usize, r: usize) -> Nanos {
    let begun = run.log.sets[set].begun;
    if requested(run, r).is_by_publisher() {
        return begun;
    }
    run.log.writers[w].members(set).next().map_or(begun, |(_, first)| first.at)
}

/// Whether all writers of a publisher had been there for a while, and are, and had met all readers of a subscriber.
fn is_company_steady(run: &Run<'_>, w: usize, r: usize, at: Nanos) -> bool {
    let writers = writers_with(run, w, r);
    let there = |created: Nanos, ended: Option<Nanos>| created + FOUND < at && ended.is_none();
    let readers = readers_with(run, r);
    let met = |writer: &WriterLog, reader: &ReaderLog| {
        let since = |spans: &[Span]| spans.iter().any(|(from, until)| from + FOUND < at && until.is_none());
        since(writer.meetings.of(reader.guid)) && since(reader.meetings.of(writer.guid))
    };
    writers.iter().all(|w| {
        let writer = &run.log.writers[*w];
        let calm = offered(run, *w).keep_last.is_none() && offered(run, *w).lifespan.is_none();
        let judged = there(writer.created, writer.ended) && calm && writer.given_up.is_empty();
        judged
            && readers.iter().all(|r| {
                let reader = &run.log.readers[*r];
                let open = requested(run, *r).max_samples.is_none() && there(reader.created, reader.ended);
                open && (!matches(run, *w, *r) || met(writer, reader))
            })
    })
}

/// What became of coherent sets. Those without samples do not count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sets {
    /// They were ended.
    pub ended: u64,
    /// Of those with access scope GROUP, several writers wrote in them.
    pub by_several: u64,
    /// Their publisher, or the writer, was gone before.
    pub broken: u64,
    /// A reader that asks for coherent_access was shown one; each reader counts.
    pub shown: u64,
    /// One that a reader was matched for was not shown to it.
    pub withheld: u64,
}

/// Counts them.
pub(crate) fn count(run: &Run<'_>) -> Sets {
    let mut sets = Sets::default();
    let has_data = |w: usize, set: usize| {
        run.log.writers[w].members(set).any(|(_, change)| change.kind == ChangeKind::Alive)
    };
    for (set, log) in run.log.sets.iter().enumerate() {
        let parts: Vec<usize> = (0..run.log.writers.len()).filter(|w| has_data(*w, set)).collect();
        if parts.is_empty() {
            continue;
        }
        let whole = log.ended.is_some()
            && parts.iter().all(|w| run.log.writers[*w].members(set).any(|(_, change)| change.ends_set()));
        sets.ended += u64::from(log.ended.is_some());
        sets.broken += u64::from(!whole);
        let by_group = offered(run, parts[0]).is_by_publisher();
        sets.by_several += u64::from(by_group && parts.len() > 1 && log.ended.is_some());
        for (w, r) in parts.iter().flat_map(|w| (0..run.log.readers.len()).map(move |r| (*w, r))) {
            let (writer, reader) = (&run.log.writers[w], &run.log.readers[r]);
            let met = covers(reader.meetings.of(writer.guid), log.begun);
            if !requested(run, r).coherent || !matches(run, w, r) || !met {
                continue;
            }
            let received = reader.received.get(&w);
            let has = |number: u64| received.is_some_and(|received| received.count(number) > 0);
            let shown = writer.members(set).any(|(number, _)| has(number));
            sets.shown += u64::from(shown);
            sets.withheld += u64::from(!shown);
        }
    }
    sets
}
