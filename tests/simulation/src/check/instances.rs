//! Instances: readers think of them what writers did to them, and of rivals the right one owns them.

use std::collections::{BTreeMap, BTreeSet};

use dunlin_cache::{InstanceState, instance_handle};
use dunlin_rtps::ChangeKind;

use super::delivery::{first_due, made_room};
use crate::data::instance;
use crate::failure::Violation;
use crate::log::{Nanos, ReaderLog, WriterLog};
use crate::qos::Qos;
use crate::run::Run;

/// What a writer has last done to an instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Doing {
    /// It disposed the instance after it last wrote it.
    pub disposed: bool,
    /// It has registered it.
    pub registered: bool,
}

impl Doing {
    /// Whether this is how a reader that knows all of it may have the instance; `None` if it does not know the instance.
    #[must_use]
    pub fn leads_to(self, state: Option<InstanceState>) -> bool {
        let left = match (self.disposed, self.registered) {
            (true, _) => InstanceState::NotAliveDisposed,
            (false, true) => InstanceState::Alive,
            (false, false) => InstanceState::NotAliveNoWriters,
        };
        // Without writers and samples an instance may be forgotten.
        state == Some(left) || (state.is_none() && !self.registered)
    }
}

/// What a writer has last done to its instances, from the change with this number on.
#[must_use]
pub fn doings(writer: &WriterLog, first: u64) -> BTreeMap<u32, Doing> {
    let mut doings: BTreeMap<u32, Doing> = BTreeMap::new();
    for change in writer.changes.iter().skip(first as usize - 1).filter(|change| !change.ends_set()) {
        let doing = doings.entry(change.key).or_default();
        match change.kind {
            ChangeKind::Alive => *doing = Doing { disposed: false, registered: true },
            ChangeKind::Disposed => *doing = Doing { disposed: true, registered: true },
            ChangeKind::DisposedUnregistered => *doing = Doing { disposed: true, registered: false },
            ChangeKind::Unregistered => doing.registered = false,
        }
    }
    doings
}

/// The instances of a reader at the end, where they follow from what the writers did.
pub(super) fn states(run: &Run<'_>, found: &mut Vec<Violation>) {
    for (r, reader) in run.log.readers.iter().enumerate().filter(|(_, reader)| reader.ended.is_none()) {
        let plan = &run.scenario.endpoints[reader.plan];
        let qos = &plan.qos;
        let plain =
            qos.reliable && !qos.exclusive && qos.separation == 0 && qos.filter.is_none() && plan.keyed;
        // Who was inactive may have lost the last that a writer said of an instance.
        let released = (0..run.log.writers.len()).any(|w| super::delivery::lacks_some(run, w, r));
        let forged = run.scenario.is_forged_to(reader.plan);
        if !plain || released || forged || run.scenario.is_tainted(reader.node) {
            continue;
        }
        for (key, doing) in expected(run, reader) {
            let handle = instance_handle(instance(key).0);
            let state = reader.slot.instance_state(handle);
            if !doing.leads_to(state) {
                let text = format!("reader {r}, instance {key}: {state:?}, but its writer left it {doing:?}");
                found.push(Violation::new("instance state", text));
            }
        }
    }
}

/// The instances that one live writer alone has ever written, with what it last did to them.
fn expected(run: &Run<'_>, reader: &ReaderLog) -> BTreeMap<u32, Doing> {
    let plan = &run.scenario.endpoints[reader.plan];
    let mut all: BTreeMap<u32, Doing> = BTreeMap::new();
    let mut unclear: BTreeSet<u32> = BTreeSet::new();
    let mut claimed: BTreeSet<u32> = BTreeSet::new();
    for writer in &run.log.writers {
        let offer = &run.scenario.endpoints[writer.plan];
        if offer.topic != plan.topic || !offer.qos.matches(&plan.qos) {
            continue;
        }
        let keys: BTreeSet<u32> = writer.changes.iter().map(|change| change.key).collect();
        // An instance all of whose samples were taken is forgotten while its writer is not alive.
        let lively = !reader.once_dead.contains(&writer.guid);
        let durable = offer.qos.durable && plan.qos.durable;
        let usable = writer.ended.is_none()
            && offer.qos.lifespan.is_none()
            && lively
            && !run.scenario.is_tainted(writer.node);
        let first = first_due(writer, reader, durable).filter(|_| usable);
        let Some(first) = first else {
            unclear.extend(keys);
            continue;
        };
        // Of what a rival did before it parted a reader may know.
        unclear.extend(keys.iter().filter(|key| !claimed.insert(**key)));
        let met = writer.matched.get(&reader.guid).copied().unwrap_or(0);
        unclear.extend(given_up(writer, &offer.qos, met));
        all.extend(doings(writer, first));
    }
    // What happened before a reader came need not be known to it, but may be from an earlier meeting.
    all.retain(|key, doing| {
        let settled = doing.registered || !doing.disposed;
        !unclear.contains(key) && settled
    });
    all
}

/// Instances whose disposal may have left a full history before a reader came.
fn given_up(writer: &WriterLog, offered: &Qos, met: Nanos) -> impl Iterator<Item = u32> {
    let disposals =
        writer.changes.iter().enumerate().filter(|(_, change)| change.kind == ChangeKind::Disposed);
    disposals
        .filter(move |(index, _)| made_room(&writer.changes, offered, *index, met))
        .map(|(_, change)| change.key)
}

/// After every rival has written each instance twice on a good network since then, the second time belongs to the owner alone:
/// the strongest, and of equally strong ones the one with the lowest GUID.
pub(crate) fn owners(run: &mut Run<'_>, since: Nanos) {
    let mut found = Vec::new();
    for (r, reader) in run.log.readers.iter().enumerate().filter(|(_, reader)| reader.ended.is_none()) {
        let plan = &run.scenario.endpoints[reader.plan];
        let qos = &plan.qos;
        let judged = qos.exclusive && plan.keyed && qos.reliable && qos.deadline.is_none() && !qos.by_source;
        let unclear = |writer: &WriterLog| {
            run.scenario.endpoints[writer.plan].topic == plan.topic && run.scenario.is_tainted(writer.node)
        };
        if !judged || run.scenario.is_tainted(reader.node) || run.log.writers.iter().any(unclear) {
            continue;
        }
        let rivals: Vec<usize> = super::pairs(run)
            .filter(|(_, writer, other, _)| {
                let offer = &run.scenario.endpoints[writer.plan];
                *other == r && offer.qos.matches(qos) && offer.qos.reliable
            })
            .map(|(w, ..)| w)
            .collect();
        judge(run, r, (&rivals, since), &mut found);
    }
    found.into_iter().for_each(|violation| run.log.note(violation));
}

/// The last two changes of an instance, if these are the ones that were written for this check.
fn last_word(writer: &WriterLog, key: u32, since: Nanos) -> Option<u64> {
    let mut own = writer.changes.iter().enumerate().rev().filter(|(_, change)| change.key == key);
    let (last, one) = own.next()?;
    let (_, other) = own.next()?;
    let both = one.kind == ChangeKind::Alive && other.kind == ChangeKind::Alive;
    (both && other.at >= since).then_some(last as u64 + 1)
}

fn judge(run: &Run<'_>, r: usize, (rivals, since): (&[usize], Nanos), found: &mut Vec<Violation>) {
    let reader = &run.log.readers[r];
    let claim = |w: &usize| {
        let writer = &run.log.writers[*w];
        (run.scenario.endpoints[writer.plan].qos.strength, std::cmp::Reverse(writer.guid))
    };
    // All rivals must have spoken: one that fell silent may or may not be alive still.
    let silent = rivals.iter().any(|w| {
        let plan = &run.scenario.endpoints[run.log.writers[*w].plan];
        matches!(plan.role, crate::scenario::Role::Writer { silent_from: Some(_), .. })
            || plan.qos.lifespan.is_some()
    });
    if silent {
        return;
    }
    let keys: BTreeSet<u32> =
        rivals.iter().flat_map(|w| run.log.writers[*w].changes.iter().map(|change| change.key)).collect();
    for key in keys {
        let words = |w: &usize| last_word(&run.log.writers[*w], key, since).map(|number| (*w, number));
        let spoken: Vec<(usize, u64)> = rivals.iter().filter_map(words).collect();
        // Who could not speak, as its history is full, may own the instance all the same.
        let mute = |w: &&usize| {
            run.log.writers[**w].registered.get(&key) == Some(&true)
                && !spoken.iter().any(|(one, _)| one == *w)
        };
        if rivals.iter().any(|w| mute(&w)) {
            continue;
        }
        let Some((owner, _)) = spoken.iter().max_by_key(|(w, _)| claim(w)).copied() else { continue };
        for (w, number) in spoken {
            let shown = reader.received.get(&w).is_some_and(|received| received.count(number) > 0);
            if shown != (w == owner) {
                let text = format!(
                    "reader {r}, instance {key}: owner is writer {owner}, change {number} of writer {w} was taken: {shown}"
                );
                found.push(Violation::new("owner at the end", text));
            }
        }
    }
}
