//! Submessages that are well formed and mean harm: huge ranges, contradictory numbers, lies about sizes. They cost
//! bounded time and memory, and what is honest still gets through.

use alloc::vec;
use alloc::vec::Vec;

use dunlin_buf::SharedBytes;
use dunlin_core::{
    EntityId, FragmentNumberSet, Guid, GuidPrefix, MonoTime, Now, ProtocolVersion, Rng, SequenceNumber,
    SequenceNumberSet, VendorId, WallTime,
};
use dunlin_wire::{
    AckNack, Data, DataFrag, Gap, Header, Heartbeat, HeartbeatFrag, NackFrag, Payload, ReceiverState,
};

use super::support::*;
use crate::{Pacing, ReaderConfig, ReaderProxyConfig, WriterConfig, WriterProxyConfig};

const HUGE: i64 = 1 << 62;

fn state() -> ReceiverState {
    let header =
        Header { version: ProtocolVersion::V2_5, vendor_id: VendorId::DUNLIN, guid_prefix: WRITER.prefix };
    ReceiverState::new(reader_guid(1).prefix, &header)
}

fn heartbeat(first: i64, last: i64, count: i32) -> Heartbeat {
    Heartbeat {
        reader_id: EntityId::UNKNOWN,
        writer_id: WRITER.entity_id,
        first_sn: SequenceNumber(first),
        last_sn: SequenceNumber(last),
        count,
        final_flag: false,
        liveliness_flag: false,
        group: None,
    }
}

fn gap(from: i64, base: i64, bits: &[u32]) -> Gap {
    Gap {
        reader_id: EntityId::UNKNOWN,
        writer_id: WRITER.entity_id,
        gap_start: SequenceNumber(from),
        gap_list: SequenceNumberSet::from_parts(SequenceNumber(base), bits.len() as u32 * 32, bits)
            .unwrap_or_else(|| SequenceNumberSet::empty(SequenceNumber(base))),
        group: None,
        filtered_count: None,
    }
}

fn frag<'a>(sn: i64, number: u32, fragment_size: u16, sample_size: u32, payload: &'a [u8]) -> DataFrag<'a> {
    DataFrag {
        reader_id: EntityId::UNKNOWN,
        writer_id: WRITER.entity_id,
        writer_sn: SequenceNumber(sn),
        fragment_starting_num: number,
        fragments_in_submessage: 1,
        fragment_size,
        sample_size,
        inline_qos: None,
        key_flag: false,
        non_standard_payload: false,
        payload,
    }
}

fn data(sn: i64, payload: &[u8]) -> Data<'_> {
    Data {
        reader_id: EntityId::UNKNOWN,
        writer_id: WRITER.entity_id,
        writer_sn: SequenceNumber(sn),
        inline_qos: None,
        payload: Payload::Data(payload),
        non_standard_payload: false,
    }
}

impl Target {
    fn on_heartbeat(&mut self, now: Now, heartbeat: &Heartbeat) {
        self.reader.on_heartbeat(now, WRITER.prefix.into(), heartbeat, &mut self.sink, &mut self.out);
    }

    /// What the writer says first to a durable reader that it has met.
    fn greet(&mut self, now: Now, last: i64) {
        let guid = self.reader.guid();
        let source = crate::Source { prefix: WRITER.prefix, directed: true };
        let heartbeat = Heartbeat { reader_id: guid.entity_id, ..heartbeat(1, last, 1) };
        self.reader.on_heartbeat(now, source, &heartbeat, &mut self.sink, &mut self.out);
    }

    fn on_gap(&mut self, now: Now, gap: &Gap) {
        self.reader.on_gap(now, WRITER.prefix.into(), gap, &mut self.sink, &mut self.out);
    }

    /// Everything up to a number out of reach is said to be gone, long enough for it to be believed.
    fn skip(&mut self, micros: u64) {
        self.on_heartbeat(at(micros), &heartbeat(HUGE, HUGE, 2));
        self.on_heartbeat(at(micros + 10_000), &heartbeat(HUGE, HUGE, 3));
    }

    pub(super) fn on_data(&mut self, now: Now, sn: i64) {
        let packet = sample(64);
        let data = data(sn, &packet);
        self.reader.on_data(now, &state(), &data, &packet, &mut self.sink, &mut self.out);
    }

    fn on_frag(&mut self, now: Now, frag: &DataFrag<'_>, packet: &SharedBytes) {
        self.reader.on_data_frag(now, &state(), frag, packet, &mut self.sink, &mut self.out);
    }
}

#[test]
#[cfg_attr(miri, ignore = "too much to interpret")]
fn huge_announcements_stay_intervals_at_the_reader() {
    let mut target = Target::new(1, ReaderConfig::default());
    target.match_writer(at(0), true);
    target.on_heartbeat(at(1), &heartbeat(1, HUGE, 1));
    let Seen::Ack { base: 1, bits, ask: false } = &target.sent()[0][1] else { panic!() };
    assert_eq!(bits.len(), 256);
    // Holes: every second number, then everything but a few.
    for i in 0..2000 {
        target.on_gap(at(2 + i), &gap(2 + 512 * i as i64, 2 + 512 * i as i64, &[0xaaaa_aaaa; 8]));
    }
    target.on_data(at(9_000), 1);
    target.on_gap(at(10_000), &gap(2, HUGE, &[]));
    target.on_data(at(10_001), HUGE);
    assert_eq!((target.sink.got.clone(), target.sink.lost), (vec![1, HUGE], 0));
    target.on_gap(at(10_002), &gap(HUGE + 1, i64::MAX, &[]));
    target.on_heartbeat(at(10_003), &heartbeat(i64::MAX, i64::MAX, 2));
    target.on_data(at(10_004), i64::MAX);
    target.on_gap(at(10_005), &gap(i64::MAX, i64::MAX, &[]));
    target.on_heartbeat(at(10_006), &heartbeat(i64::MAX, i64::MAX - 1, 3));
    assert!(drain(&mut target.out).len() < 10);
}

/// Cyclone DDS #1854, OpenDDS #4302, Fast DDS #3931.
#[test]
fn a_stream_recovers_after_a_heartbeat_with_numbers_out_of_reach() {
    let forged: [fn(&mut Target); 3] = [
        |target| target.skip(10),
        |target| target.on_gap(at(20_000), &gap(3, HUGE, &[])),
        |target| {
            target.skip(10);
            target.on_data(at(20_000), HUGE);
        },
    ];
    for (n, forge) in forged.into_iter().enumerate() {
        let mut target = Target::new(1, ReaderConfig::default());
        target.match_writer(at(0), true);
        target.on_heartbeat(at(1), &heartbeat(1, 2, 1));
        target.on_data(at(2), 1);
        target.on_data(at(3), 2);
        forge(&mut target);
        target.on_data(at(20_010), 3);
        assert!(!target.sink.got.contains(&3), "passed over");
        target.sent();
        target.on_heartbeat(at(20_020), &heartbeat(1, 4, 4));
        let requested = target.sent().concat();
        let asks = |seen: &Seen| matches!(seen, Seen::Ack { bits, .. } if *bits == [3, 4]);
        assert_eq!(requested.iter().any(asks), n != 2, "{n}: {requested:?}");
        (3..=5).for_each(|sn| target.on_data(at(20_030), sn));
        let tail: &[i64] = if n == 2 { &[HUGE, 5] } else { &[2, 3, 4, 5] };
        assert!(target.sink.got.ends_with(tail), "{n}: {:?}", target.sink.got);
    }
}

/// The writer goes on, or answers the question that this causes; a thousand such HEARTBEATs in a second change nothing.
#[test]
fn heartbeat_with_a_sudden_first_sn_jump_is_answered_by_a_request() {
    for answers in [false, true] {
        let mut target = Target::new(1, ReaderConfig::default());
        target.match_writer(at(0), true);
        target.on_heartbeat(at(1), &heartbeat(1, 2, 1));
        target.on_data(at(2), 1);
        target.on_data(at(3), 2);
        target.sent();
        let (mut asked, mut sn) = (0, 3);
        for round in 0..1_000_u64 {
            let now = at(20_000 + 1_000 * round);
            target.on_heartbeat(now, &heartbeat(HUGE, HUGE, 5_000 + round as i32));
            let question = target.sent().concat();
            asked += u64::from(!question.is_empty());
            if answers && !question.is_empty() {
                target.on_heartbeat(now, &heartbeat(1, sn - 1, sn as i32));
            } else if !answers && round % 15 == 0 {
                target.on_data(now, sn);
                sn += 1;
            }
        }
        assert_eq!((target.sink.lost, target.sink.got.last()), (0, Some(&(sn - 1))), "{answers}");
        assert!((50..=101).contains(&asked), "{asked}");
    }
}

/// A writer that keeps its last change only has written others meanwhile, and nothing of them has come.
#[test]
fn repeated_heartbeat_with_a_first_sn_jump_counts_changes_lost() {
    let mut target = Target::new(1, ReaderConfig::default());
    target.match_writer(at(0), true);
    target.greet(at(1), 2);
    target.on_data(at(2), 1);
    target.on_data(at(3), 2);
    target.sent();
    target.on_heartbeat(at(20_000), &heartbeat(9, 9, 2));
    assert_eq!(target.sent(), [[Seen::Dst(WRITER.prefix), Seen::Ack { base: 3, bits: vec![], ask: true }]]);
    target.on_heartbeat(at(20_100), &heartbeat(9, 9, 3));
    assert!(target.sink.lost == 0 && target.sent().is_empty());
    target.timer(at(30_000));
    assert_eq!(target.sent().len(), 1, "it is asked again");
    target.on_heartbeat(at(30_100), &heartbeat(9, 9, 4));
    assert_eq!(target.sent(), [[Seen::Dst(WRITER.prefix), Seen::Ack { base: 9, bits: vec![9], ask: false }]]);
    target.on_data(at(30_200), 9);
    assert_eq!((target.sink.got.clone(), target.sink.lost), (vec![1, 2, 9], 6));
}

/// Somebody else speaks in the name of a writer of announcements; then it speaks itself, and one that was cut off.
#[test]
fn builtin_data_waits_for_the_heartbeat_that_announces_it() {
    let mut target = Target::new(1, ReaderConfig::default());
    let writer = WriterProxyConfig {
        guid: WRITER,
        reliable: true,
        durable: true,
        only_announced: true,
        unicast: [host(WRITER.prefix)].into(),
        ..Default::default()
    };
    target.reader.match_writer(at(0), writer, &mut target.out);
    target.on_data(at(1), 1);
    assert!(target.sink.got.is_empty());
    target.on_heartbeat(at(1), &heartbeat(1, 1, 1));
    assert_eq!(target.sink.got, [1]);
    target.sent();
    target.on_data(at(1_000), 2);
    target.timer(at(11_000));
    let question = [[Seen::Dst(WRITER.prefix), Seen::Ack { base: 2, bits: vec![], ask: true }]];
    assert_eq!((target.sink.got.len(), target.sent()), (1, question.map(Vec::from).to_vec()));
    target.on_heartbeat(at(11_100), &heartbeat(1, 1, 2));
    assert_eq!(target.reader.stats().out_of_order_now, 0, "the writer has not written it");
    target.on_heartbeat(at(11_200), &heartbeat(1, 2, 3));
    assert_eq!(target.sink.got, [1], "it has now, and is asked for it");
    target.on_data(at(11_300), 2);
    assert_eq!(target.sink.got, [1, 2]);
}

#[test]
fn out_of_order_samples_count_with_their_inline_qos_and_in_total() {
    let cfg = ReaderConfig { max_out_of_order_bytes_total: 10_000, ..Default::default() };
    let mut target = Target::new(1, cfg);
    target.match_writer(at(0), true);
    let other = Guid::new(WRITER.prefix, EntityId([0, 0, 2, 2]));
    let proxy = WriterProxyConfig { guid: other, reliable: true, durable: true, ..Default::default() };
    target.reader.match_writer(at(0), proxy, &mut target.out);
    let packet = SharedBytes::from(vec![0; 60_000]);
    // A value of 4 octets that is forgotten about: a list of 3000.
    let mut list = vec![0; 3_000];
    list[..4].copy_from_slice(&[0x01, 0x80, 0xb0, 0x0b]);
    list.extend([1, 0, 0, 0]);
    let (inline_qos, _) = dunlin_wire::ParameterList::parse(&list, dunlin_wire::Endianness::Little).unwrap();
    for (writer, sn) in [(other, 5), (WRITER, 5), (WRITER, 6), (WRITER, 7), (WRITER, 8)] {
        let data =
            Data { writer_id: writer.entity_id, inline_qos: Some(inline_qos), ..data(sn, &packet[..4]) };
        let Target { reader, sink, out } = &mut target;
        reader.on_data(at(1), &state(), &data, &packet, sink, out);
    }
    let stats = target.reader.stats();
    assert_eq!((stats.out_of_order_now, stats.out_of_order_dropped), (3, 2), "{stats:?}");
    assert!((9_000..10_000).contains(&stats.out_of_order_octets), "{stats:?}");
}

#[test]
fn a_change_that_may_not_be_delivered_yet_is_no_reason_to_spin() {
    let mut target = Target::new(1, ReaderConfig::default());
    target.match_writer(at(0), false);
    target.on_data(at(1), 1);
    target.on_gap(at(2), &gap(1, 1, &[0x8000_0000]));
    assert!(target.sink.got.is_empty());
    target.on_heartbeat(at(3), &heartbeat(1, 1, 1));
    assert_eq!(target.sink.got, [1]);
}

#[test]
fn lost_changes_are_counted_and_not_enumerated() {
    let mut target = Target::new(1, ReaderConfig::default());
    target.match_writer(at(0), true);
    target.greet(at(1), 1);
    target.on_data(at(1), 1);
    target.on_heartbeat(at(2), &heartbeat(HUGE, HUGE, 2));
    target.on_heartbeat(at(10_002), &heartbeat(HUGE, HUGE, 3));
    assert_eq!(target.sink.lost, HUGE as u64 - 2);
    let mut best_effort = Target::new(1, ReaderConfig { reliable: false, ..Default::default() });
    best_effort.match_writer(at(0), false);
    best_effort.on_data(at(1), 1);
    best_effort.on_gap(at(1), &gap(10, HUGE - 10, &[]));
    best_effort.on_data(at(2), HUGE);
    assert_eq!((best_effort.sink.got, best_effort.sink.lost), (vec![1, HUGE], 18));
}

#[test]
#[cfg_attr(miri, ignore = "too much to interpret")]
fn lies_about_sample_sizes_do_not_take_memory() {
    let mut target = Target::new(1, ReaderConfig::default());
    target.match_writer(at(0), true);
    let packet = sample(1400);
    // Far larger than allowed; as large as allowed, again and again; a million fragments of one octet.
    for i in 0..1000 {
        let sn = 2 + i64::from(i);
        target.on_frag(at(1), &frag(sn, 1, 1400, u32::MAX, &packet), &packet);
        target.on_frag(at(1), &frag(sn, 20_000, 1400, 60 << 20, &packet), &packet);
        target.on_frag(at(1), &frag(sn, 1, 1, (1 << 20) - 1, &packet[..1]), &packet);
    }
    assert!(target.reader.stats().oversized >= 1000 - 256);
    // An honest sample comes through.
    target.on_data(at(2), 1);
    assert_eq!(target.sink.got[0], 1);
}

#[test]
fn fragments_that_contradict_the_first_are_refused() {
    let mut target = Target::new(1, ReaderConfig::default());
    target.match_writer(at(0), true);
    let packet = sample(1000);
    target.on_frag(at(1), &frag(1, 1, 1000, 2500, &packet), &packet);
    target.on_frag(at(1), &frag(1, 2, 1000, 2400, &packet), &packet);
    target.on_frag(at(1), &frag(1, 2, 900, 2500, &packet[..900]), &packet);
    assert_eq!(target.reader.stats().fragments_refused, 2);
    target.on_frag(at(1), &frag(1, 2, 1000, 2500, &packet), &packet);
    target.on_frag(at(1), &frag(1, 3, 1000, 2500, &packet[..500]), &packet);
    assert_eq!(target.sink.got, [1]);
}

#[test]
fn huge_requests_stay_intervals_at_the_writer() {
    let mut source = Source::new(WriterConfig { transient_local: true, ..WriterConfig::default() });
    source.match_reader(at(0), ReaderProxyConfig { durable: true, ..reader_proxy(1) });
    for i in 0..5 {
        source.write(at(i), 5000);
    }
    source.out.clear();
    let guid = reader_guid(1);
    let mut count = 0;
    let mut ack = |source: &mut Source, millis: u64, base: i64, bits: &[u32]| {
        count += 1;
        let set = SequenceNumberSet::from_parts(SequenceNumber(base), bits.len() as u32 * 32, bits);
        let acknack = AckNack {
            reader_id: guid.entity_id,
            writer_id: WRITER.entity_id,
            reader_sn_state: set.unwrap_or_else(|| SequenceNumberSet::empty(SequenceNumber(base))),
            count,
            final_flag: true,
        };
        source.writer.on_acknack(at(millis * 1000), guid.prefix, &acknack, &source.history, &mut source.out)
    };
    // Acknowledging what was never written acknowledges what was.
    assert!(ack(&mut source, 1, HUGE, &[u32::MAX; 8]).all_acked);
    assert_eq!(source.writer.acked_by_all(), SequenceNumber(5));
    assert!(source.out.is_empty());
    ack(&mut source, 1, i64::MAX, &[]);
    ack(&mut source, 1, 0, &[]);
    ack(&mut source, 1, i64::MIN, &[u32::MAX]);
    assert!(source.out.is_empty());
    // An acknowledgment is not taken back, a request for it is served all the same.
    let frags = |source: &mut Source| {
        source.sent().into_iter().flatten().filter(|seen| matches!(seen, Seen::Frag { .. })).count()
    };
    ack(&mut source, 2, 1, &[u32::MAX; 8]);
    assert_eq!(source.writer.acked_by_all(), SequenceNumber(5));
    assert_eq!(frags(&mut source), 20);
}

#[test]
#[cfg_attr(miri, ignore = "too much to interpret")]
fn a_flood_of_requests_is_answered_within_the_budget() {
    let mut source = Source::new(WriterConfig { repair_budget_per_event: 10_000, ..Default::default() });
    source.match_reader(at(0), reader_proxy(1));
    source.write(at(1), 1_000_000);
    source.out.clear();
    let guid = reader_guid(1);
    let mut octets = 0;
    for i in 0..1000 {
        let nack = NackFrag {
            reader_id: guid.entity_id,
            writer_id: WRITER.entity_id,
            writer_sn: SequenceNumber(1),
            fragment_number_state: FragmentNumberSet::from_parts(1 + i % 500, 256, &[u32::MAX; 8]).unwrap(),
            count: i as i32 + 1,
        };
        let now = at(u64::from(1000 + i));
        source.writer.on_nack_frag(now, guid.prefix, &nack, &source.history, &mut source.out);
        octets += source.out.octets();
        source.out.clear();
    }
    // 1000 requests within a millisecond: at most two budgets and the datagrams that end them.
    assert!(octets < 2 * (10_000 + 1472), "{octets}");
}

const EDGES: [i64; 12] = [0, 1, 2, 3, 5, 255, 256, 257, HUGE, i64::MAX - 256, i64::MAX - 1, i64::MAX];

fn edge(rng: &mut Rng) -> i64 {
    let around = EDGES[rng.below(12) as usize];
    around.saturating_add(rng.below(3) as i64 - 1)
}

fn words(rng: &mut Rng) -> Vec<u32> {
    (0..rng.below(9)).map(|_| rng.next_u64() as u32).collect()
}

#[test]
fn reader_survives_random_submessages() {
    let packet = sample(4000);
    for seed in 0..if cfg!(miri) { 2 } else { 400 } {
        let mut rng = Rng::new(seed);
        let reliable = seed % 4 != 0;
        let cfg = ReaderConfig { reliable, max_out_of_order_samples: 8, ..Default::default() };
        let mut target = Target::new(1, cfg);
        let writer =
            WriterProxyConfig { guid: WRITER, reliable, durable: seed % 2 == 0, ..Default::default() };
        target.reader.match_writer(at(0), writer, &mut target.out);
        for i in 0..300u64 {
            let now = Now { mono: MonoTime(i * rng.below(20_000_000)), wall: WallTime(0) };
            target.sink.room = (rng.chance(1, 5)).then_some(0);
            match rng.below(8) {
                0 | 1 => target.on_data(now, edge(&mut rng)),
                2 => target.on_gap(now, &gap(edge(&mut rng), edge(&mut rng).max(1), &words(&mut rng))),
                3 => target.on_heartbeat(now, &heartbeat(edge(&mut rng), edge(&mut rng), i as i32)),
                4 | 5 => {
                    let size = [1, 2, 100, 1000][rng.below(4) as usize];
                    let sample_size = [1u32, 1000, 2500, 3999, u32::MAX][rng.below(5) as usize];
                    let payload = &packet[..usize::from(size).min(sample_size as usize)];
                    let number = [0, 1, 2, 3, 4, u32::MAX][rng.below(6) as usize];
                    target.on_frag(now, &frag(edge(&mut rng), number, size, sample_size, payload), &packet);
                }
                6 => {
                    let heartbeat = HeartbeatFrag {
                        reader_id: EntityId::UNKNOWN,
                        writer_id: WRITER.entity_id,
                        writer_sn: SequenceNumber(edge(&mut rng)),
                        last_fragment_num: rng.next_u64() as u32,
                        count: i as i32,
                    };
                    target.reader.on_heartbeat_frag(now, WRITER.prefix, &heartbeat, &mut target.out);
                }
                _ => {
                    target.timer(now);
                    target.sink.room = None;
                    let Target { reader, sink, out } = &mut target;
                    reader.retry_rejected(now, sink, out);
                }
            }
            target.out.clear();
        }
        // From out of reach, a reliable stream comes back.
        assert!(reliable || target.sink.got.windows(2).all(|pair| pair[0] < pair[1]), "seed {seed}");
    }
}

#[test]
fn writer_survives_random_requests() {
    for seed in 0..if cfg!(miri) { 2 } else { 200 } {
        let mut rng = Rng::new(seed);
        let pacing =
            rng.chance(1, 2).then_some(Pacing { rate: rng.below(10_000_000), burst: rng.below(20_000) });
        let transient_local = rng.chance(1, 2);
        let mut source = Source::new(WriterConfig { pacing, transient_local, ..Default::default() });
        let mut now = at(0);
        for i in 0..300u64 {
            now.mono.0 += rng.below(3_000_000);
            let n = 1 + rng.below(3) as u8;
            let guid = reader_guid(n);
            match rng.below(9) {
                0 => {
                    let len = [10, 1500, 20_000][rng.below(3) as usize];
                    source.write(now, len);
                }
                1 => {
                    let (durable, reliable) = (rng.chance(1, 2), rng.chance(3, 4));
                    source.match_reader(now, ReaderProxyConfig { durable, reliable, ..reader_proxy(n) });
                }
                2 if rng.chance(1, 10) => {
                    source.writer.unmatch_reader(guid);
                }
                3 => source.history.remove(rng.below(40) as i64),
                4 | 5 => {
                    let base = SequenceNumber(edge(&mut rng).max(1));
                    let words = words(&mut rng);
                    let set = SequenceNumberSet::from_parts(base, words.len() as u32 * 32, &words);
                    let acknack = AckNack {
                        reader_id: guid.entity_id,
                        writer_id: WRITER.entity_id,
                        reader_sn_state: set.unwrap_or_else(|| SequenceNumberSet::empty(base)),
                        count: i as i32,
                        final_flag: rng.chance(1, 2),
                    };
                    source.writer.on_acknack(now, guid.prefix, &acknack, &source.history, &mut source.out);
                }
                6 => {
                    let words = words(&mut rng);
                    let base = [1, 2, 14, u32::MAX - 300][rng.below(4) as usize];
                    let nack = NackFrag {
                        reader_id: guid.entity_id,
                        writer_id: WRITER.entity_id,
                        writer_sn: SequenceNumber(edge(&mut rng)),
                        fragment_number_state: FragmentNumberSet::from_parts(
                            base,
                            words.len() as u32 * 32,
                            &words,
                        )
                        .unwrap(),
                        count: i as i32,
                    };
                    source.writer.on_nack_frag(now, guid.prefix, &nack, &source.history, &mut source.out);
                }
                _ => source.timer(now),
            }
            assert!(source.out.octets() < 2_000_000, "seed {seed}");
            source.out.clear();
            assert!(source.writer.acked_by_all() <= source.writer.sent_sn());
        }
        let stranger = GuidPrefix([0xee; 12]);
        let set = SequenceNumberSet::empty(SequenceNumber::FIRST);
        let acknack = AckNack {
            reader_id: EntityId::UNKNOWN,
            writer_id: WRITER.entity_id,
            reader_sn_state: set,
            count: 1,
            final_flag: false,
        };
        assert!(
            !source.writer.on_acknack(now, stranger, &acknack, &source.history, &mut source.out).accepted
        );
        assert!(source.out.is_empty());
    }
}

/// The reader asks for so many changes from `base` on.
fn requests(source: &mut Source, millis: u64, count: i32, base: i64, last: i64) -> usize {
    let guid = reader_guid(1);
    let mut set = SequenceNumberSet::empty(SequenceNumber(base));
    (base..=last).for_each(|sn| _ = set.insert(SequenceNumber(sn)));
    let acknack = AckNack {
        reader_id: guid.entity_id,
        writer_id: WRITER.entity_id,
        reader_sn_state: set,
        count,
        final_flag: true,
    };
    let now = at(millis * 1000);
    source.writer.on_acknack(now, guid.prefix, &acknack, &source.history, &mut source.out);
    let mut octets = source.out.octets();
    source.out.clear();
    source.timer(now);
    octets += source.out.octets();
    source.out.clear();
    octets
}

/// It made 604 MB of 65 KB in five seconds.
#[test]
#[cfg_attr(miri, ignore = "too much to interpret")]
fn endless_acknacks_for_everything_are_answered_within_the_repair_credit() {
    let mut source = Source::new(WriterConfig::default());
    source.match_reader(at(0), reader_proxy(1));
    (0..200).for_each(|_| _ = source.write(at(1), 1000));
    source.out.clear();
    let octets: usize = (1..=5_000).map(|millis| requests(&mut source, millis, millis as i32, 1, 200)).sum();
    assert!(octets < 200 * 1_256 * 8 + 5 * (1 << 20) + 500_000, "{octets}");
    // Who then takes it is served as fast as anybody.
    assert!(requests(&mut source, 10_000, 10_000, 201, 200) < 200);
    (0..200).for_each(|_| _ = source.write(at(10_001_000), 1000));
    source.out.clear();
    let octets: usize =
        (10_010..10_020).map(|millis| requests(&mut source, millis, millis as i32, 201, 400)).sum();
    assert!(octets > 200_000, "{octets}");
}
