//! Submessages of a writer on their way into a reader.

use dunlin_buf::{Outbox, SharedBytes};
use dunlin_core::{Duration, EntityId, Guid, GuidPrefix, Now};
use dunlin_discovery::WriterSign;
use dunlin_rtps::Run;
use dunlin_wire::{Data, DataFrag, Payload, PlainData, ReceiverState, Submessage, Submessages};

use super::sink::CacheSink;
use super::{Protocol, ReaderSlot, Store};
use crate::later_datagrams::LaterDatagrams;
use crate::output::Output;
use crate::parties::writer_to_reader;

/// Most submessages that are taken in under the same locks: a message in shared memory may have hundreds of thousands.
const LONGEST_RUN: usize = 64;

/// What finds no room because other readers have taken it is tried again after so long.
const CROWDED: Duration = Duration::from_millis(100);

impl ReaderSlot {
    /// Where locks are held that whoever waits would need, the timer tells of the room that was made, at once. Of that which
    /// readers share nobody tells: it is tried again in a while.
    pub(crate) fn note_room(&self, now: Now, store: &mut Store, closer: &mut bool) {
        let crowded = store.cache.take_crowded();
        if self.has_use_for_room(store) {
            if !store.deleted {
                store.room = true;
                self.common.arm(self.cache_timer, &mut store.armed, Some(now.mono), closer);
            }
        } else if crowded {
            // Nothing was made yet: who asks before then must not take it for room, and try again at once for ever.
            store.retry_at.get_or_insert(now.mono.plus(CROWDED));
            self.arm_cache(store, closer);
        }
    }

    /// A submessage of a writer to this reader.
    pub(crate) fn on_submessage(
        &self,
        now: Now,
        state: &ReceiverState,
        submessage: &Submessage<'_>,
        packet: &SharedBytes,
        out: &mut Output,
    ) {
        self.protocol(now, out, |protocol, sink, outbox| {
            // A thread may have found this reader just before it was deleted.
            if !protocol.deleted {
                protocol.take_in(now, state, submessage, packet, sink, outbox);
            }
        });
    }

    /// The same, with those right behind it in its message that go the same way: locks, timers and events once for all of
    /// them. Those are taken from `rest`; behind fragments at the end of a message, those of the messages that follow.
    pub(crate) fn on_submessages(
        &self,
        now: Now,
        (state, behind): (&mut ReceiverState, &mut LaterDatagrams<'_>),
        first: &Submessage<'_>,
        rest: &mut Submessages<'_>,
        packet: &SharedBytes,
        out: &mut Output,
    ) {
        // A group of readers hears of each by itself.
        let more = self.group.is_none();
        self.protocol(now, out, |protocol, sink, outbox| {
            if protocol.deleted {
                return;
            }
            protocol.take_in(now, state, first, packet, sink, outbox);
            let run = protocol.run_of(state, first).filter(|_| more);
            let follows =
                |run: &&Named| rest.clone().next_plain(run.reader_id, run.writer.entity_id).is_some();
            let several = run.as_ref().filter(follows);
            if let Some(kept) = several.and_then(|_| sink.keep_datagram(packet, rest)) {
                let mut within = rest.within(&kept);
                protocol.take_rest(now, state, (first, run, &mut within), &kept, sink, outbox);
                sink.end_of_datagram();
                rest.catch_up(&within);
            } else if more {
                protocol.take_rest(now, state, (first, run, rest), packet, sink, outbox);
                if let Submessage::DataFrag(frag) = first
                    && rest.octets_left() == 0
                    && behind.is_of(state)
                {
                    protocol.take_behind(now, frag, behind, sink, outbox);
                }
            }
        });
    }
}

/// The next submessage if it goes from the same writer to the same reader as `first`, with the timestamp before it. Takes
/// nothing from `rest` otherwise.
fn following<'m>(
    first: &Submessage<'_>,
    state: &mut ReceiverState,
    rest: &mut Submessages<'m>,
) -> Option<Submessage<'m>> {
    let mut ahead = rest.clone();
    let mut next = ahead.next()?.ok()?.body;
    let mut timestamp = state.timestamp;
    if let Submessage::InfoTs(stated) = next {
        timestamp = stated;
        next = ahead.next()?.ok()?.body;
    }
    // What another vendor means by the kinds of this one has to be looked at first.
    let same = writer_to_reader(&next).is_some_and(|way| writer_to_reader(first) == Some(way));
    if !same || matches!(next, Submessage::EchoRequest(_)) {
        return None;
    }
    state.timestamp = timestamp;
    *rest = ahead;
    Some(next)
}

/// The writer and the reader that a DATA names, of which others may follow.
struct Named {
    reader_id: EntityId,
    writer: Guid,
    run: Run,
}

impl Protocol {
    fn run_of(&self, state: &ReceiverState, first: &Submessage<'_>) -> Option<Named> {
        let Submessage::Data(data) = first else { return None };
        let (reader_id, writer) = (data.reader_id, Guid::new(state.source_prefix, data.writer_id));
        Some(Named { reader_id, writer, run: self.reader.run_of(writer, reader_id)? })
    }

    /// What follows `first` in the same way.
    fn take_rest(
        &mut self,
        now: Now,
        state: &mut ReceiverState,
        (first, run, rest): (&Submessage<'_>, Option<Named>, &mut Submessages<'_>),
        packet: &SharedBytes,
        sink: &mut CacheSink<'_>,
        outbox: &mut Outbox,
    ) {
        for _ in 0..LONGEST_RUN {
            if sink.wants_pause() {
                break;
            }
            if let Some(run) = &run
                && let Some(next) = rest.next_plain(run.reader_id, run.writer.entity_id)
            {
                state.timestamp = next.timestamp.unwrap_or(state.timestamp);
                self.take_next(now, state, (run, &next), packet, sink, outbox);
                continue;
            }
            let Some(next) = following(first, state, rest) else { break };
            self.take_in(now, state, &next, packet, sink, outbox);
        }
    }

    /// Fragments in messages of their own that arrived with the one that ended with `first`.
    fn take_behind(
        &mut self,
        now: Now,
        first: &DataFrag<'_>,
        behind: &mut LaterDatagrams<'_>,
        sink: &mut CacheSink<'_>,
        outbox: &mut Outbox,
    ) {
        while behind.taken() < LONGEST_RUN
            && !sink.wants_pause()
            && let Some(next) = behind.take_next(first.reader_id, first.writer_id)
        {
            let submessage = Submessage::DataFrag(next.fragments);
            self.take_in(now, next.state, &submessage, next.packet, sink, outbox);
        }
    }

    /// A change right behind another one of its writer.
    fn take_next(
        &mut self,
        now: Now,
        state: &ReceiverState,
        (named, next): (&Named, &PlainData<'_>),
        packet: &SharedBytes,
        sink: &mut CacheSink<'_>,
        outbox: &mut Outbox,
    ) {
        self.note_written(now, named.writer, next.writer_sn, WriterSign::Change);
        if self.reader.on_next(now, named.run, state.timestamp, next, packet, sink) {
            return;
        }
        let data = Data {
            reader_id: named.reader_id,
            writer_id: named.writer.entity_id,
            writer_sn: next.writer_sn,
            inline_qos: None,
            payload: Payload::Data(next.payload),
            non_standard_payload: false,
        };
        self.reader.on_data(now, state, &data, packet, sink, outbox);
        self.note_refused(state.source_prefix, sink);
    }

    /// Counts what the reader has refused, if it has.
    fn note_refused(&mut self, source: GuidPrefix, sink: &mut CacheSink<'_>) {
        if let Some(what) = self.reader.take_refused() {
            sink.misbehaved(source, what);
        }
    }

    fn take_in(
        &mut self,
        now: Now,
        state: &ReceiverState,
        submessage: &Submessage<'_>,
        packet: &SharedBytes,
        sink: &mut CacheSink<'_>,
        outbox: &mut Outbox,
    ) {
        let source = state.source_prefix;
        let reader = &mut self.reader;
        match submessage {
            Submessage::Data(data) => {
                let writer = Guid::new(source, data.writer_id);
                self.note_written(now, writer, data.writer_sn, WriterSign::Change);
                self.reader.on_data(now, state, data, packet, sink, outbox);
            }
            Submessage::DataFrag(frag) => {
                let writer = Guid::new(source, frag.writer_id);
                self.note_written(now, writer, frag.writer_sn, WriterSign::Change);
                self.reader.on_data_frag(now, state, frag, packet, sink, outbox);
            }
            Submessage::Heartbeat(heartbeat) => {
                let news = reader.on_heartbeat(now, state.into(), heartbeat, sink, outbox);
                let writer = Guid::new(source, heartbeat.writer_id);
                if sink.waits() && reader.has_passed(writer, heartbeat.last_sn) {
                    sink.note_passed(writer, heartbeat);
                }
                if news {
                    self.note_written(now, writer, heartbeat.last_sn, WriterSign::Announcement);
                }
                if news && heartbeat.liveliness_flag {
                    self.assert(now, writer);
                }
            }
            Submessage::HeartbeatFrag(heartbeat) => {
                reader.on_heartbeat_frag(now, source, heartbeat, outbox);
            }
            Submessage::EchoRequest(request) => reader.on_echo_request(now, source, request, outbox),
            Submessage::Gap(gap) => reader.on_gap(now, state.into(), gap, sink, outbox),
            _ => {}
        }
        self.note_refused(source, sink);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use dunlin_core::{EntityId, GuidPrefix, Locator, SequenceNumber, WallTime};
    use dunlin_wire::{DataSpec, Message, MessageBuilder, PayloadSpec};

    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn message(samples: &[(u32, i64)]) -> alloc::vec::Vec<u8> {
        let mut out = Outbox::new();
        let mut message = MessageBuilder::new(&mut out, GuidPrefix([5; 12]));
        for (number, (writer, seconds)) in samples.iter().enumerate() {
            assert!(message.info_ts(Some(WallTime(seconds * SECOND))));
            assert!(message.data(&DataSpec {
                reader_id: EntityId::UNKNOWN,
                writer_id: EntityId::user_writer(*writer, false),
                writer_sn: SequenceNumber(number as i64 + 1),
                inline_qos: &[],
                payload: PayloadSpec::Data(SharedBytes::copy_from(&[0, 1, 0, 0, 7, 7, 7, 7])),
            }));
        }
        message.finish(&[Locator::LOCAL]);
        out.datagrams().flat_map(|datagram| datagram.parts()).flatten().copied().collect()
    }

    #[test]
    fn consecutive_data_of_one_writer_is_one_run_with_separate_timestamps() {
        let octets = message(&[(1, 10), (1, 11), (1, 12), (2, 13)]);
        let message = Message::parse(&octets).expect("just built");
        let mut state = ReceiverState::new(GuidPrefix([6; 12]), &message.header());
        let mut rest = message.submessages();
        let mut next = || rest.next().expect("more").expect("well formed").body;
        state.apply(&next());
        let first = next();
        let mut seen = alloc::vec::Vec::new();
        while let Some(Submessage::Data(data)) = following(&first, &mut state, &mut rest) {
            seen.push((data.writer_sn.0, state.timestamp.map(|time| time.0 / SECOND)));
        }
        assert_eq!(seen, [(2, Some(11)), (3, Some(12))]);
        let stated = rest.next().map(|parsed| parsed.map(|parsed| parsed.body));
        assert_eq!(
            stated,
            Some(Ok(Submessage::InfoTs(Some(WallTime(13 * SECOND))))),
            "nothing else was taken"
        );
    }
}
