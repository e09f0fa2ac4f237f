//! Once warm, samples of known instances come and go without the allocator.

// Nothing to find for Miri that the other tests do not do, in hours.
#![cfg(not(miri))]

use dunlin_buf::SharedBytes;
use dunlin_cache::{
    NewChange, ReaderCache, ReaderCacheConfig, SampleStateMask, Selection, WriterCache, WriterCacheConfig,
    WriterInfo,
};
use dunlin_core::{
    Duration, EntityId, Guid, GuidPrefix, Identities, InstanceHandle, MonoTime, Now, SequenceNumber, WallTime,
};
use dunlin_qos::{
    DataReaderQos, DataWriterQos, Deadline, DestinationOrder, DestinationOrderKind, Durability,
    DurabilityKind, History, HistoryKind, Lifespan, Ownership, OwnershipKind, Presentation, TimeBasedFilter,
};
use dunlin_rtps::{ChangeKind, Received, WriterHistory};

const WARM_UP: u64 = 2_000;
const MEASURED: u64 = 1_000;
const INSTANCES: u64 = 8;

fn now(step: u64) -> Now {
    Now { mono: MonoTime(step * 1_000_000), wall: WallTime(step as i64 * 1_000_000) }
}

fn handle(instance: u64) -> InstanceHandle {
    InstanceHandle([1 + (instance % INSTANCES) as u8; 16])
}

#[test]
fn allocations_are_counted() {
    assert_eq!(allocations(|step| drop(std::hint::black_box(Box::new(step)))), MEASURED);
}

/// How often `step` allocates, after a warm-up.
fn allocations(mut step: impl FnMut(u64)) -> u64 {
    (0..WARM_UP).for_each(&mut step);
    allocation_counter::measure(|| (WARM_UP..WARM_UP + MEASURED).for_each(&mut step)).count_total
}

const KEEP_ALL: History = History { kind: HistoryKind::KeepAll, depth: 1 };
const KEEP_LAST: History = History { kind: HistoryKind::KeepLast, depth: 4 };

fn reader_allocations(qos: &DataReaderQos, keyed: bool, take_every: u64, selection: Selection) -> u64 {
    let mut cache = ReaderCache::new(ReaderCacheConfig::from_qos(qos, Presentation::default(), keyed));
    // A small sample in a large receive buffer, so that it is copied into a pooled one.
    let packet = SharedBytes::from(vec![7; 65_536]);
    let mut change = Received {
        writer: Guid::UNKNOWN,
        sn: SequenceNumber::ZERO,
        kind: ChangeKind::Alive,
        key_hash: None,
        source_timestamp: None,
        payload: packet.slice(100..300),
        key_only: false,
        inline_qos: None,
        identities: Identities::default(),
        reassembled: false,
    };
    let info = WriterInfo { strength: 1, lifespan: Duration::from_secs(1), ..WriterInfo::default() };
    let (mut out, mut missed) = (Vec::new(), Vec::new());
    allocations(|step| {
        let writer = EntityId::user_writer((step % 3) as u32, keyed);
        change.writer = Guid::new(GuidPrefix::default(), writer);
        change.sn = SequenceNumber(step as i64);
        cache.insert(now(step), &change, handle(step), &info);
        cache.on_timer(now(step), &mut missed);
        missed.clear();
        if step % take_every == 0 {
            cache.take(&selection, &mut out).unwrap();
            out.clear();
        }
    })
}

#[test]
fn inserting_and_taking_does_not_allocate() {
    let unread = Selection { sample_states: SampleStateMask::NOT_READ, ..Default::default() };
    let by_source = DestinationOrder { kind: DestinationOrderKind::BySourceTimestamp };
    for history in [KEEP_ALL, KEEP_LAST] {
        let plain = DataReaderQos { history, ..DataReaderQos::default() };
        let exclusive = Ownership { kind: OwnershipKind::Exclusive };
        let timed = DataReaderQos {
            ownership: exclusive,
            destination_order: by_source,
            deadline: Deadline { period: Duration::from_millis(20) },
            ..plain.clone()
        };
        for keyed in [true, false] {
            assert_eq!(reader_allocations(&plain, keyed, 1, Selection::default()), 0);
            assert_eq!(reader_allocations(&plain, keyed, 10, unread), 0);
            assert_eq!(reader_allocations(&timed, keyed, 5, Selection::default()), 0);
        }
        let minimum_separation = Duration::from_millis(15);
        let spaced = DataReaderQos { time_based_filter: TimeBasedFilter { minimum_separation }, ..plain };
        assert_eq!(reader_allocations(&spaced, true, 7, Selection::default()), 0);
    }
}

#[test]
fn keep_last_replacement_does_not_allocate() {
    let qos = DataReaderQos { history: KEEP_LAST, ..DataReaderQos::default() };
    assert_eq!(reader_allocations(&qos, true, u64::MAX, Selection::default()), 0);
}

fn writer_allocations(qos: &DataWriterQos, window: i64) -> u64 {
    let mut cache = WriterCache::new(WriterCacheConfig::from_qos(qos, true));
    let payload = SharedBytes::copy_from(&[1; 100]);
    let mut missed = Vec::new();
    allocations(|step| {
        let change = NewChange {
            kind: ChangeKind::Alive,
            instance: handle(step * step),
            source_timestamp: now(step).wall,
            payload: Some(payload.clone()),
            inline_qos: None,
        };
        let acked = SequenceNumber(cache.last_sn().0 - window);
        cache.add(now(step), change, acked).unwrap();
        cache.remove_acked(acked);
        cache.on_timer(now(step), &mut missed);
        missed.clear();
    })
}

#[test]
fn writing_does_not_allocate() {
    for history in [KEEP_ALL, KEEP_LAST] {
        let volatile = DataWriterQos {
            history,
            deadline: Deadline { period: Duration::from_millis(10) },
            lifespan: Lifespan { duration: Duration::from_millis(300) },
            ..DataWriterQos::default()
        };
        assert_eq!(writer_allocations(&volatile, 0), 0);
        assert_eq!(writer_allocations(&volatile, 500), 0);
        let durability = Durability { kind: DurabilityKind::TransientLocal };
        assert_eq!(writer_allocations(&DataWriterQos { durability, ..volatile }, 0), 0);
    }
}
