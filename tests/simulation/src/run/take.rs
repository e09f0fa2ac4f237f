//! Readers take what they have; each sample is looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dunlin_cache::CachedSample;
use dunlin_core::InstanceHandle;
use dunlin_rtps::ChangeKind;

use super::agenda::Action;
use super::{MS, Run};
use crate::check::infos;
use crate::data::{Content, NOBODY, key_of};
use crate::log::WriterLog;
use crate::qos::Qos;
use crate::scenario::{Class, Role, Workload};

impl Run<'_> {
    pub(super) fn look(&mut self, index: usize) {
        let plan = &self.scenario.endpoints[index];
        let Role::Reader { period } = plan.role else { return };
        let period = if self.writing { period } else { period.min(100) };
        self.agenda.at(self.age() + period * MS, Action::Take(index, self.lives[index]));
        let (Some(number), true) = (self.living[index], self.is_awake(plan.node)) else { return };
        if self.slow.contains(&index) {
            self.effects.add(Class::Slow, 1);
            return;
        }
        let now = self.age();
        let reader = &mut self.log.readers[number];
        reader.looks.push(now);
        if !reader.slot.is_empty() {
            self.poll(plan.node);
            self.take(number);
        }
    }

    /// Takes everything.
    pub(super) fn take(&mut self, number: usize) {
        let reader = &self.log.readers[number];
        let Some(machine) = &self.machines[reader.node] else { return };
        let slot = Arc::clone(&reader.slot);
        let qos = self.scenario.endpoints[reader.plan].qos;
        let taken = self.world.take(machine.id, &slot);
        self.check_limits(number, &qos, &taken);
        self.check_infos(number, &taken);
        let mut seen = Vec::new();
        for sample in &taken {
            if let Some(content) = self.open(number, sample) {
                self.taken += 1;
                seen.push(content);
                self.receive(number, sample, content);
            }
        }
        self.check_presentation(number, &seen);
        crate::check::taken_sets(self, number, &seen);
        let now = self.age();
        for content in &seen {
            let received = self.log.readers[number].received.entry(content.writer as usize).or_default();
            received.last = received.last.max(content.number);
        }
        let reader = &mut self.log.readers[number];
        reader.received.values_mut().for_each(|received| {
            if std::mem::take(&mut received.fresh) {
                received.last = 0;
                received.last_of_key.clear();
            }
        });
        reader.last_take = now;
        self.answer(number, &seen);
    }

    /// No more at once than RESOURCE_LIMITS and HISTORY allow.
    fn check_limits(&mut self, number: usize, qos: &Qos, taken: &[CachedSample]) {
        let valid = || taken.iter().filter(|sample| sample.info.valid_data);
        let count = valid().count();
        if qos.max_samples.is_some_and(|limit| count > limit as usize) {
            let text = format!("reader {number} held {count} samples, limit {:?}", qos.max_samples);
            self.log.violation("RESOURCE_LIMITS", text);
        }
        let mut told = BTreeSet::new();
        let states = taken.iter().filter(|sample| !sample.info.valid_data);
        if let Some(twice) = states.map(|sample| sample.info.instance_handle).find(|of| !told.insert(*of)) {
            let text = format!("reader {number} held two samples without data of {twice:?}");
            self.log.violation("two without data", text);
        }
        let Some(depth) = qos.keep_last else { return };
        let mut kept: BTreeMap<InstanceHandle, u32> = BTreeMap::new();
        valid().for_each(|sample| *kept.entry(sample.info.instance_handle).or_default() += 1);
        if let Some((instance, count)) = kept.into_iter().find(|(_, count)| *count > depth) {
            let text = format!("reader {number} held {count} samples of {instance:?}, depth {depth}");
            self.log.violation("HISTORY", text);
        }
    }

    fn check_infos(&mut self, number: usize, taken: &[CachedSample]) {
        let reader = &mut self.log.readers[number];
        let by_source = self.scenario.endpoints[reader.plan].qos.by_source;
        for (kind, text) in infos::look(&mut reader.glimpses, taken, by_source) {
            self.log.violation(kind, format!("reader {number}, {text}"));
        }
    }

    /// What a sample says, if it says what was written.
    fn open(&mut self, number: usize, sample: &CachedSample) -> Option<Content> {
        let payload = sample.payload.as_ref()?;
        let reader = &self.log.readers[number];
        if self.scenario.is_tainted(reader.node) {
            return None;
        }
        let keyed = self.scenario.endpoints[reader.plan].keyed;
        let content = self.filling.open(payload);
        if content.is_some_and(|content| content.writer == NOBODY) && self.scenario.is_forged_to(reader.plan)
        {
            self.effects.add(Class::Samples, 1);
            return None;
        }
        let written = content.and_then(|content| {
            let writer = self.log.writers.get(content.writer as usize)?;
            let written = writer.changes.get(content.number.checked_sub(1)? as usize)?;
            let same = writer.guid.prefix.0 == sample.info.publication_handle.0[..12]
                && written.key == content.key
                && written.kind == ChangeKind::Alive
                && written.len == payload.len()
                && content.number as i64 == sample.info.sequence_number.0
                && key_of(sample.info.instance_handle, keyed) == if keyed { content.key } else { 1 };
            same.then_some(content)
        });
        if written.is_none() {
            let info = &sample.info;
            let text = format!("reader {number}: never written so: {content:?}, {info:?}");
            self.log.violation("contents", text);
        }
        written
    }

    fn receive(&mut self, number: usize, sample: &CachedSample, content: Content) {
        let writer = self.log.writers[content.writer as usize].plan;
        *self.delivered.entry((writer, self.log.readers[number].plan)).or_default() += 1;
        self.check_order(number, content);
        self.check_age(number, sample, content);
        self.check_owner(number, content);
        let reader = &mut self.log.readers[number];
        let keyed = self.scenario.endpoints[reader.plan].keyed;
        let key = if keyed { content.key } else { 1 };
        let qos = &self.scenario.endpoints[reader.plan].qos;
        if !qos.wants(content.key, content.number) {
            let text = format!("reader {number} got {content:?}, which its filter rejects");
            self.log.violation("filter", text);
            return;
        }
        *reader.shown_count.entry(key).or_default() += 1;
        if qos.deadline.is_some() {
            reader.arrivals.entry(key).or_default().push(sample.info.reception_timestamp.0);
        }
    }

    /// Once, and in the order of writing.
    fn check_order(&mut self, number: usize, content: Content) {
        let writer = content.writer as usize;
        let now = self.age();
        let reader = &mut self.log.readers[number];
        let qos = &self.scenario.endpoints[reader.plan].qos;
        let durable = qos.durable && self.scenario.endpoints[self.log.writers[writer].plan].qos.durable;
        let received = reader.received.entry(writer).or_default();
        received.note(content.number, now);
        received.first_taken.get_or_insert(now);
        let twice = received.count(content.number) > 1;
        // What was not acknowledged when they parted, or is history, comes again when they meet again.
        let again = received.sessions > 1;
        let written = self.log.writers[writer].changes.get(content.number as usize - 1);
        let old = !durable
            && written.is_some_and(|written| written.at < reader.created)
            && written.is_some_and(|written| written.at + self.scenario.longest_way() * MS < reader.created);
        let key = content.key;
        let before = received.last_of_key.insert(key, content.number).unwrap_or(0);
        let earlier = content.number <= received.last.max(before) && qos.separation == 0;
        // The first sample since they met again may stand behind some of before.
        received.fresh |= earlier && qos.waits() && std::mem::take(&mut received.resumed);
        let late = earlier && !received.fresh;
        let overall = received.last;
        if old {
            let text = format!("reader {number} is volatile and got {content:?}, written before it came");
            self.log.violation("volatile", text);
        } else if twice && !again {
            self.log.violation("twice", format!("reader {number} got {content:?} twice"));
        } else if late {
            let text = format!(
                "reader {number} got {content:?} after number {before} of the instance and {overall} of all"
            );
            self.log.violation("order", text);
        }
    }

    /// With ordered_access beyond instances: what is taken together stands in the order of writing, writer by writer, or
    /// publisher by publisher.
    fn check_presentation(&mut self, number: usize, seen: &[Content]) {
        let reader = &self.log.readers[number];
        let qos = &self.scenario.endpoints[reader.plan].qos;
        if !qos.orders_writers() {
            return;
        }
        let mut last = BTreeMap::new();
        for content in seen {
            let w = content.writer as usize;
            let writer = &self.log.writers[w];
            let turn = writer.changes[content.number as usize - 1].turn;
            let of_writer = last.insert((0, content.writer), turn).unwrap_or(0);
            let shared = qos.is_by_publisher() && crate::check::waits_for(self, w, number, content.number);
            let of_publisher = last.entry((writer.publisher, 0)).or_insert(0);
            let before = if shared { *of_publisher } else { of_writer };
            *of_publisher = turn.max(*of_publisher);
            let fresh = reader.received.get(&w).is_some_and(|received| received.fresh);
            if before > turn && !fresh {
                let text = format!("reader {number} got {content:?}, turn {turn}, after turn {before}");
                self.log.violation("presentation", text);
                return;
            }
        }
    }

    /// Not older than its LIFESPAN.
    fn check_age(&mut self, number: usize, sample: &CachedSample, content: Content) {
        let reader = &self.log.readers[number];
        let writer = &self.log.writers[content.writer as usize];
        let Some(lifespan) = self.scenario.endpoints[writer.plan].qos.lifespan else { return };
        if self.scenario.has_odd_clock(reader.node) {
            return;
        }
        let Some(machine) = &self.machines[reader.node] else { return };
        let age = self.world.now(machine.id).wall.since(sample.info.source_timestamp).as_nanos();
        if age > (lifespan * MS) as i64 {
            let text = format!("reader {number} got {content:?}, {age} ns old, limit {lifespan} ms");
            self.log.violation("lifespan", text);
        }
    }

    /// Under EXCLUSIVE ownership: not from a weaker writer while a stronger one owns the instance.
    fn check_owner(&mut self, number: usize, content: Content) {
        let now = self.age();
        let reader = &self.log.readers[number];
        let plan = &self.scenario.endpoints[reader.plan];
        if !plan.qos.exclusive || plan.qos.deadline.is_some() {
            return;
        }
        let claim = |writer: usize| {
            let writer = &self.log.writers[writer];
            (self.scenario.endpoints[writer.plan].qos.strength, std::cmp::Reverse(writer.guid))
        };
        let own = claim(content.writer as usize);
        let key = if plan.keyed { content.key } else { 1 };
        let rival = reader.shown.iter().find(|((instance, writer), since)| {
            *instance == key
                && **since < reader.last_take
                && claim(*writer) > own
                && self.log.writers[*writer].registered.get(&content.key).copied().unwrap_or(false)
                && !self.was_unregistered_since(*writer, content.key, **since)
        });
        if let Some(((_, rival), since)) = rival {
            let text = format!("reader {number} got {content:?} although writer {rival} owns since {since}");
            self.log.violation("owner", text);
        }
        // What a writer had shown before it parted gives it no claim afterwards, nor does what it wrote before it was
        // last told not to be alive, however late that is taken.
        let writer = content.writer as usize;
        let reader = &self.log.readers[number];
        let WriterLog { guid, changes, .. } = &self.log.writers[writer];
        let fresh = reader.received.get(&writer).is_some_and(|received| received.fresh);
        let written = changes.get(content.number as usize - 1).map_or(0, |change| change.at);
        let outdated = reader.died.get(guid).is_some_and(|died| written <= *died);
        if reader.matched.contains_key(guid) && !fresh && !outdated {
            self.log.readers[number].shown.entry((key, writer)).or_insert(now);
        }
    }

    fn was_unregistered_since(&self, writer: usize, key: u32, since: u64) -> bool {
        // Long before it was shown it may have been written.
        let since = since.saturating_sub(20_000 * MS);
        let changes = self.log.writers[writer].changes.iter().rev().take_while(|change| change.at >= since);
        changes.into_iter().any(|change| {
            change.key == key
                && matches!(change.kind, ChangeKind::Unregistered | ChangeKind::DisposedUnregistered)
        })
    }

    /// A replier writes one reply for each request.
    fn answer(&mut self, number: usize, seen: &[Content]) {
        if !self.writing || seen.is_empty() {
            return;
        }
        let asked = self.log.readers[number].plan;
        let replier = self.scenario.endpoints.iter().position(
            |plan| matches!(plan.role, Role::Writer { workload: Workload::Replies(reader), .. } if reader == asked),
        );
        let Some(replier) = replier else { return };
        let Role::Writer { first_key, .. } = self.scenario.endpoints[replier].role else { return };
        let Some(writer) = self.living[replier] else { return };
        for _ in seen {
            self.write(writer, ChangeKind::Alive, 1 + first_key);
        }
    }
}
