//! The writer of the statistics: made when somebody subscribes, gone some time after nobody does.
//!
//! It is no entity of the application: it has no publisher, no listener, and look-up does not find it.

use std::collections::BTreeSet;
use std::sync::Arc;

use dunlin_buf::SharedBytes;
use dunlin_cdr::{DdsType, Representation, TypeRef};
use dunlin_core::{Duration, EntityId, Guid};
use dunlin_engine::{
    BandStats, EndpointLocators, Event, ReaderSlot, RelayStats, WriteRequest, WriterSlot, WriterSpec,
};
use dunlin_qos::{DataRepresentationId, DataWriterQos, PublisherQos, TopicData};
use dunlin_rtps::ChangeKind;

use crate::builtin::BuiltinTopicKey;
use crate::mutex::lock;
use crate::participant::ParticipantInner;
use crate::statistics::{
    BandCounters, DaemonCounters, EntityStatistics, MOST_INACTIVE_NAMED, MOST_MISBEHAVIOURS_TOLD,
    MisbehaviourCount, ParticipantCounters, ReaderCounters, STATISTICS_TOPIC, State, WriterCounters,
};
use crate::topic::TopicInner;
use crate::types::local_type;

/// Endpoints whose counters are published at once; those of a participant with more take turns.
const MOST_AT_ONCE: usize = 256;
/// From the discovery of a subscriber to the first samples: it has to discover the writer, too.
const FIRST: Duration = Duration::from_millis(100);
/// How long the writer stays when nobody subscribes any more. Whoever comes and goes again and again does not have a new one
/// announced, and an entity id used up, each time.
const LINGER: Duration = Duration::from_secs(5);

enum Slot {
    Writer(Arc<WriterSlot>),
    Reader(Arc<ReaderSlot>),
}

/// A local endpoint.
struct Local {
    guid: Guid,
    topic: Arc<TopicInner>,
    slot: Slot,
}

/// BEST_EFFORT: a sample that is lost is replaced by the next one, and nobody who watches can make the watched keep or repeat
/// anything.
fn writer_qos() -> DataWriterQos {
    DataWriterQos::default().best_effort().keep_last(1).representation(&[DataRepresentationId::Xcdr2])
}

fn is_asker(topic: &str, type_name: &str) -> bool {
    topic == STATISTICS_TOPIC && type_name == EntityStatistics::TYPE_NAME
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(0)
}

/// Those of all local endpoints whose turn it is.
fn next_turn(state: &mut State, mut all: Vec<Local>) -> Vec<Local> {
    all.sort_by_key(|local| local.guid);
    let begin = state.turn.map_or(0, |turn| all.partition_point(|local| local.guid <= turn));
    all.rotate_left(begin);
    all.truncate(MOST_AT_ONCE);
    state.turn = all.last().map(|local| local.guid);
    state.published.extend(all.iter().map(|local| local.guid));
    all
}

impl ParticipantInner {
    /// Somebody subscribes to the statistics, or no longer does, or it is time to tell them.
    pub(crate) fn follow_statistics(&self, event: &Event) {
        if !self.statistics.enabled {
            return;
        }
        match event {
            Event::ReaderDiscovered(data) if is_asker(&data.topic_name, &data.type_name) => {
                self.add_asker(data.guid);
            }
            Event::ReaderLost(guid) => self.remove_asker(*guid),
            Event::Alarm => self.tell_statistics(),
            _ => {}
        }
    }

    fn add_asker(&self, guid: Guid) {
        self.run(|engine, now, out| {
            let mut state = lock(&self.statistics.state);
            // Events of different threads come in no fixed order: this one may be gone again.
            if engine.find_reader(guid).is_none() {
                return;
            }
            let first = state.askers.is_empty();
            state.askers.insert(guid);
            if state.writer.is_none() {
                // Without entity ids, or in a participant that leaves, there are no statistics.
                let Ok(writer) = engine.create_writer(now, self.writer_spec(), out) else {
                    return state.end(engine, now, out);
                };
                state.writer = Some(writer);
            }
            state.ends = None;
            let (soonest, last) = (now.mono.plus(FIRST), state.last);
            let due = last.map_or(soonest, |last| soonest.max(last.plus(self.statistics.hurry())));
            // Those who subscribed before get samples at the end of the period at the latest.
            let at_latest = last.map(|last| last.plus(self.statistics.period)).filter(|_| !first);
            engine.set_alarm(Some(at_latest.map_or(due, |latest| due.min(latest))), out);
        });
    }

    fn writer_spec(&self) -> WriterSpec {
        WriterSpec {
            topic_name: STATISTICS_TOPIC.to_owned(),
            type_name: EntityStatistics::TYPE_NAME.to_owned(),
            keyed: true,
            qos: writer_qos(),
            publisher_qos: PublisherQos::default(),
            topic_data: TopicData::default(),
            type_information: self.announced_type(STATISTICS_TOPIC, local_type::<EntityStatistics>),
            type_description: Some(TypeRef::of::<EntityStatistics>()),
            locators: EndpointLocators::default(),
        }
    }

    fn remove_asker(&self, guid: Guid) {
        // Of most endpoints that go nobody here was asked.
        if !lock(&self.statistics.state).askers.contains(&guid) {
            return;
        }
        self.run(|engine, now, out| {
            let mut state = lock(&self.statistics.state);
            let is_gone = engine.find_reader(guid).is_none();
            if is_gone && state.askers.remove(&guid) && state.askers.is_empty() {
                let ends = now.mono.plus(LINGER);
                state.ends = Some(ends);
                engine.set_alarm(Some(ends), out);
            }
        });
    }

    fn tell_statistics(&self) {
        let writer = self.run(|engine, now, out| {
            let mut state = lock(&self.statistics.state);
            match state.ends {
                Some(ends) if ends > now.mono => engine.set_alarm(Some(ends), out),
                Some(_) => state.end(engine, now, out),
                None => {
                    let writer = state.writer.clone()?;
                    // Who asks for something else than is offered does not match, and is not counted for.
                    let is_matched = !writer.matched_readers().is_empty();
                    let wait = if is_matched { self.statistics.period } else { self.statistics.hurry() };
                    engine.set_alarm(Some(now.mono.plus(wait)), out);
                    if is_matched {
                        state.last = Some(now.mono);
                        return Some(writer);
                    }
                }
            }
            None
        });
        let Some(writer) = writer else { return };
        let own = writer.guid();
        let (gone, turn) = self.entities_due(own);
        // They share datagrams.
        writer.set_suspended(true);
        for guid in gone {
            self.put(&writer, guid, None);
        }
        let participant = Guid::new(own.prefix, EntityId::PARTICIPANT);
        self.put(&writer, participant, Some(self.participant_statistics(participant)));
        for Local { guid, topic, slot } in turn {
            let sample = EntityStatistics {
                topic_name: topic.name.clone(),
                type_name: topic.type_name.clone(),
                writer: if let Slot::Writer(slot) = &slot { Some(writer_counters(slot)) } else { None },
                reader: if let Slot::Reader(slot) = &slot { Some(reader_counters(slot)) } else { None },
                ..self.no_statistics(guid)
            };
            self.put(&writer, guid, Some(sample));
        }
        writer.set_suspended(false);
        self.flush(&writer);
    }

    /// Endpoints that are gone since their counters were published, and those whose turn it is.
    fn entities_due(&self, own: Guid) -> (Vec<Guid>, Vec<Local>) {
        let mut all: Vec<Local> = Vec::new();
        for core in self.sink().writers() {
            if let Some(slot) = core.slot().filter(|_| !core.is_deleted()) {
                let (topic, slot) = (Arc::clone(&core.topic), Arc::clone(slot));
                all.push(Local { guid: slot.guid(), topic, slot: Slot::Writer(slot) });
            }
        }
        for core in self.sink().readers() {
            // Of private ones, which read built-in topics and rows, others do not know.
            let is_announced = |slot: &ReaderSlot| self.engine().find_reader(slot.guid()).is_some();
            if let Some(slot) = core.slot().filter(|slot| !core.is_deleted() && is_announced(slot)) {
                let slot = Arc::clone(slot);
                all.push(Local { guid: slot.guid(), topic: core.source().topic, slot: Slot::Reader(slot) });
            }
        }
        all.retain(|local| local.guid != own);
        let present: BTreeSet<Guid> = all.iter().map(|local| local.guid).collect();
        let mut state = lock(&self.statistics.state);
        let gone: Vec<Guid> = state.published.difference(&present).copied().collect();
        state.published.retain(|guid| present.contains(guid));
        (gone, next_turn(&mut state, all))
    }

    /// A sample without counters.
    fn no_statistics(&self, guid: Guid) -> EntityStatistics {
        EntityStatistics {
            entity: guid.into(),
            time: self.now().0,
            period: nanos(self.statistics.period),
            ..EntityStatistics::default()
        }
    }

    fn participant_statistics(&self, guid: Guid) -> EntityStatistics {
        let (own, shared) = (self.engine().stats(), self.transport_stats());
        let counters = ParticipantCounters {
            datagrams: own.datagrams as u64,
            malformed: own.malformed as u64,
            unknown_endpoint: own.unknown_endpoint as u64,
            sent_datagrams: shared.sent_datagrams,
            sent_octets: shared.sent_octets,
            send_full: shared.send_full,
            send_failed: shared.send_failed,
            received_datagrams: shared.received_datagrams,
            received_octets: shared.received_octets,
            receive_overflow: shared.receive_overflow,
            shared_sent_datagrams: shared.shared_sent_datagrams,
            shared_sent_octets: shared.shared_sent_octets,
            shared_send_full: shared.shared_send_full,
            shared_received_datagrams: shared.shared_received_datagrams,
            shared_received_octets: shared.shared_received_octets,
        };
        // Every daemon has a band.
        let relay = &own.discovery.relay;
        let daemon = relay.bands.iter().flatten().next().map(|_| daemon_counters(relay));
        let misbehaviours = self.misbehaviour_counts();
        EntityStatistics { participant: Some(counters), daemon, misbehaviours, ..self.no_statistics(guid) }
    }

    fn misbehaviour_counts(&self) -> Vec<MisbehaviourCount> {
        let refused = self.engine().misbehaviours();
        let mut counts: Vec<MisbehaviourCount> = Vec::new();
        for misbehaved in &refused {
            let participant = Guid::new(misbehaved.participant, EntityId::PARTICIPANT);
            counts.extend(misbehaved.counts.iter().map(|(what, count)| MisbehaviourCount {
                participant: participant.into(),
                cause: what.name().to_owned(),
                count: count.into(),
            }));
        }
        counts.sort_by_key(|counted| std::cmp::Reverse(counted.count));
        counts.truncate(MOST_MISBEHAVIOURS_TOLD);
        counts
    }

    /// Writes a sample, or disposes of one.
    fn put(&self, writer: &WriterSlot, guid: Guid, sample: Option<EntityStatistics>) {
        let mut octets = Vec::new();
        let encoded = match &sample {
            Some(sample) => dunlin_cdr::to_payload(sample, Representation::Xcdr2, &mut octets),
            None => {
                let key = EntityStatistics { entity: guid.into(), ..EntityStatistics::default() };
                dunlin_cdr::key_payload(&key, Representation::Xcdr2, &mut octets)
            }
        };
        if encoded.is_err() {
            return;
        }
        let kind = if sample.is_some() { ChangeKind::Alive } else { ChangeKind::DisposedUnregistered };
        let payload = SharedBytes::from(octets);
        let request = WriteRequest { kind, instance: guid.into(), source_timestamp: None, payload };
        // A best-effort writer does not wait; one that was deleted meanwhile has nobody to tell.
        let _ = self.try_write_with(writer, request, None);
    }
}

fn daemon_counters(relay: &RelayStats) -> DaemonCounters {
    let band = |band: &BandStats| BandCounters {
        from: band.from,
        passed: band.passed,
        octets: band.octets,
        delayed: band.delayed,
        dropped: band.dropped,
        waiting: band.waiting,
        waiting_octets: band.waiting_octets,
        longest_wait: band.longest_wait,
    };
    DaemonCounters {
        applications: relay.applications,
        taken: relay.taken,
        passed: relay.passed,
        octets: relay.octets,
        over_rate: relay.over_rate,
        bands: relay.bands.iter().flatten().map(band).collect(),
    }
}

fn writer_counters(slot: &WriterSlot) -> WriterCounters {
    let standing = slot.standing(MOST_INACTIVE_NAMED);
    let stats = standing.stats;
    WriterCounters {
        written: standing.written,
        sent: stats.samples_sent,
        sent_datagrams: stats.datagrams_sent,
        sent_octets: stats.octets_sent,
        repairs: stats.repairs_sent,
        repair_fragments: stats.repair_fragments_sent,
        repair_octets: stats.repair_octets_sent,
        heartbeats_sent: stats.heartbeats_sent,
        gaps_sent: stats.gaps_sent,
        acknacks_received: stats.acknacks_received,
        nack_frags_received: stats.nack_frags_received,
        filtered: stats.samples_filtered,
        given_up: stats.released_unacknowledged,
        unacknowledged: standing.unacknowledged,
        kept: standing.kept as u64,
        matched: u32::try_from(standing.matched).unwrap_or(u32::MAX),
        inactive: u32::try_from(stats.readers_inactive).unwrap_or(u32::MAX),
        direct: u32::try_from(standing.direct).unwrap_or(u32::MAX),
        inactive_readers: standing.inactive.into_iter().map(BuiltinTopicKey::from).collect(),
    }
}

fn reader_counters(slot: &ReaderSlot) -> ReaderCounters {
    let stats = slot.stats();
    ReaderCounters {
        received: stats.delivered,
        lost: slot.samples_lost(),
        rejected: stats.rejected,
        duplicates: stats.duplicates,
        out_of_order: stats.out_of_order,
        fragments: stats.fragments_received,
        heartbeats_received: stats.heartbeats_received,
        gaps_received: stats.gaps_received,
        acknacks_sent: stats.acknacks_sent,
        nack_frags_sent: stats.nack_frags_sent,
        kept: slot.len() as u64,
        waiting_octets: stats.out_of_order_octets.saturating_add(stats.reassembly_octets),
        matched: u32::try_from(slot.matched_writers().len()).unwrap_or(u32::MAX),
        from_future: stats.from_future,
        replaced_unseen: stats.replaced_unseen,
    }
}
