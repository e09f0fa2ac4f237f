//! Random sequences of changes, losses, reads, takes and time steps, on the cache and on a plain model of it.

mod model;

use dunlin_buf::SharedBytes;
use dunlin_cache::{
    CachedSample, InstanceSelect, InstanceStateMask, ReaderCache, ReaderCacheConfig, SampleStateMask,
    Selection, ViewStateMask, WriterInfo,
};
use dunlin_core::{
    Duration, EntityId, Guid, GuidPrefix, Identities, InstanceHandle, MonoTime, Now, SequenceNumber, WallTime,
};
use dunlin_qos::{
    DestinationOrderKind, History, HistoryKind, OwnershipKind, ReaderDataLifecycle, ResourceLimits,
};
use dunlin_rtps::{ChangeKind, Received};
use model::{Change, Model, Seen};
use proptest::prelude::*;

const MS: i64 = 1_000_000;

#[derive(Clone, Debug)]
enum Op {
    Data { writer: u8, instance: u8, age: i64, lifespan: Option<i64> },
    Dispose { writer: u8, instance: u8, age: i64, with_key: bool, unregisters: bool },
    Unregister { writer: u8, instance: u8 },
    Lose(u8),
    NotAlive(u8),
    Alive(u8),
    Strength(u8, i32),
    Lifecycle(ReaderDataLifecycle),
    Access { take: bool, selection: Selection },
    Pass(i64),
}

fn handle(instance: u8) -> InstanceHandle {
    InstanceHandle([instance; 16])
}

fn guid(writer: u8) -> Guid {
    Guid::new(GuidPrefix([writer; 12]), EntityId::user_writer(1, true))
}

fn selections() -> impl Strategy<Value = Selection> {
    let number = prop_oneof![3 => Just(usize::MAX), 1 => Just(1), 2 => 0..4_usize];
    let samples = prop_oneof![2 => Just(0xffff), 2 => Just(2), 1 => 0..4_u32];
    let views = prop_oneof![4 => Just(0xffff), 1 => 0..4_u32];
    let instances = prop_oneof![4 => Just(0xffff), 1 => 0..8_u32];
    let which = prop_oneof![
        3 => Just(InstanceSelect::Any),
        1 => (1..5_u8).prop_map(|instance| InstanceSelect::Exact(handle(instance))),
        1 => (0..5_u8).prop_map(|instance| InstanceSelect::Next(handle(instance))),
    ];
    (number, samples, views, instances, which).prop_map(|(max_samples, s, v, i, instance)| Selection {
        max_samples,
        sample_states: SampleStateMask(s),
        view_states: ViewStateMask(v),
        instance_states: InstanceStateMask(i),
        instance,
    })
}

fn ops() -> impl Strategy<Value = Op> {
    let writer = || 1..4_u8;
    let instance = || 1..5_u8;
    let age = || prop_oneof![2 => Just(0), 1 => 0..30_i64];
    let lifespan = proptest::option::weighted(0.3, 1..60_i64);
    prop_oneof![
        10 => (writer(), instance(), age(), lifespan)
            .prop_map(|(writer, instance, age, lifespan)| Op::Data { writer, instance, age, lifespan }),
        3 => (writer(), instance(), age(), any::<bool>(), any::<bool>()).prop_map(
            |(writer, instance, age, with_key, unregisters)| Op::Dispose {
                writer, instance, age, with_key, unregisters
            }
        ),
        2 => (writer(), instance()).prop_map(|(writer, instance)| Op::Unregister { writer, instance }),
        1 => writer().prop_map(Op::Lose),
        1 => writer().prop_map(Op::NotAlive),
        1 => writer().prop_map(Op::Alive),
        1 => (writer(), 0..3).prop_map(|(writer, strength)| Op::Strength(writer, strength)),
        1 => (delays(40), delays(40)).prop_map(|(nowriter, disposed)| Op::Lifecycle(ReaderDataLifecycle {
            autopurge_nowriter_samples_delay: nowriter,
            autopurge_disposed_samples_delay: disposed,
        })),
        5 => (any::<bool>(), selections()).prop_map(|(take, selection)| Op::Access { take, selection }),
        3 => (1..80_i64).prop_map(Op::Pass),
    ]
}

fn delays(max: i64) -> impl Strategy<Value = Duration> {
    prop_oneof![
        3 => Just(Duration::INFINITE),
        1 => Just(Duration::ZERO),
        2 => (1..max).prop_map(Duration::from_millis),
    ]
}

fn limits() -> impl Strategy<Value = ResourceLimits> {
    let one = || prop_oneof![3 => Just(-1), 1 => 2..6];
    (one(), one(), one()).prop_map(|(max_samples, max_instances, max_samples_per_instance)| ResourceLimits {
        max_samples,
        max_instances,
        max_samples_per_instance,
    })
}

prop_compose! {
    fn configurations()(
        depth in proptest::option::of(1..4_i32),
        mut resource_limits in limits(),
        reliable in any::<bool>(),
        exclusive in any::<bool>(),
        by_source in any::<bool>(),
        ordered in any::<bool>(),
        deadline in delays(40),
        separation in delays(20),
        nowriter in delays(40),
        disposed in delays(40),
    ) -> ReaderCacheConfig {
        if let Some(depth) = depth {
            // Anything less would contradict the depth.
            let per_instance = &mut resource_limits.max_samples_per_instance;
            *per_instance = if *per_instance < 0 { -1 } else { depth.max(*per_instance) };
        }
        let kind = if depth.is_some() { HistoryKind::KeepLast } else { HistoryKind::KeepAll };
        ReaderCacheConfig {
            keyed: true,
            reliable,
            history: History { kind, depth: depth.unwrap_or(1) },
            resource_limits,
            ownership: if exclusive { OwnershipKind::Exclusive } else { OwnershipKind::Shared },
            destination_order: if by_source {
                DestinationOrderKind::BySourceTimestamp
            } else {
                DestinationOrderKind::ByReceptionTimestamp
            },
            ordered,
            every_change: false,
            tells_unseen: false,
            deadline: if deadline == Duration::ZERO { Duration::INFINITE } else { deadline },
            minimum_separation: if separation.is_infinite() { Duration::ZERO } else { separation },
            lifecycle: ReaderDataLifecycle {
                autopurge_nowriter_samples_delay: nowriter,
                autopurge_disposed_samples_delay: disposed,
            },
        }
    }
}

struct Pair {
    cache: ReaderCache,
    model: Model,
    /// With a minimum separation, two instances may become visible in the same moment, in either order.
    unordered: bool,
    now: i64,
    sn: i64,
    heard: [bool; 4],
}

impl Pair {
    fn new(config: ReaderCacheConfig) -> Self {
        Self {
            cache: ReaderCache::new(config),
            model: Model::new(config),
            unordered: config.minimum_separation > Duration::ZERO,
            now: 0,
            sn: 0,
            heard: [false; 4],
        }
    }

    fn clocks(&self) -> Now {
        Now { mono: MonoTime(self.now as u64), wall: WallTime(self.now) }
    }

    fn apply(&mut self, op: &Op) {
        // No two things happen in the same moment, and timers run before anything else.
        self.pass(1);
        match op {
            Op::Data { writer, instance, age, lifespan } => {
                let change = self.change(*writer, *instance, *age, *lifespan);
                let received = self.received(&change, ChangeKind::Alive, true);
                let inserted = self.insert(&received, &change);
                assert_eq!(inserted, self.model.data(self.now, &change), "{change:?}");
                self.hear(*writer, inserted);
            }
            Op::Dispose { writer, instance, age, with_key, unregisters } => {
                let change = self.change(*writer, *instance, *age, None);
                let both = ChangeKind::DisposedUnregistered;
                let kind = if *unregisters { both } else { ChangeKind::Disposed };
                let received = self.received(&change, kind, *with_key);
                let inserted = self.insert(&received, &change);
                let expected = self.model.disposal(self.now, &change, *with_key, *unregisters);
                assert_eq!(inserted, expected, "{change:?}");
                self.hear(*writer, inserted);
            }
            Op::Unregister { writer, instance } => {
                let change = self.change(*writer, *instance, 0, None);
                let received = self.received(&change, ChangeKind::Unregistered, true);
                assert_eq!(self.insert(&received, &change), self.model.unregistration(self.now, &change));
            }
            Op::Lose(writer) => {
                let changed = self.cache.writer_lost(self.clocks(), guid(*writer));
                assert_eq!(changed, self.model.lose(self.now, *writer));
                self.heard[usize::from(*writer)] = false;
            }
            Op::NotAlive(writer) => {
                let changed = self.cache.writer_not_alive(self.clocks(), guid(*writer));
                let known = self.heard[usize::from(*writer)];
                assert_eq!(changed, self.model.not_alive(self.now, *writer, known));
            }
            Op::Alive(writer) => {
                let changed = self.cache.writer_alive(self.clocks(), guid(*writer));
                assert_eq!(changed, self.model.resume(self.now, *writer));
            }
            Op::Strength(writer, strength) => {
                self.model.strengths[usize::from(*writer)] = *strength;
                self.cache.set_writer_strength(guid(*writer), *strength);
            }
            Op::Lifecycle(lifecycle) => {
                self.model.set_lifecycle(*lifecycle);
                self.cache.set_lifecycle(*lifecycle);
            }
            Op::Access { take, selection } => self.access(*take, selection),
            Op::Pass(ms) => self.pass(*ms),
        }
    }

    fn change(&mut self, writer: u8, instance: u8, age: i64, lifespan: Option<i64>) -> Change {
        self.sn += 1;
        Change {
            writer,
            instance: handle(instance),
            sn: self.sn,
            source: self.now - age * MS,
            value: self.sn as u8,
            // No two samples expire in the same moment.
            lifespan: lifespan.map(|ms| ms * MS + self.sn),
        }
    }

    fn received(&self, change: &Change, kind: ChangeKind, with_payload: bool) -> Received<'static> {
        Received {
            writer: guid(change.writer),
            sn: SequenceNumber(change.sn),
            kind,
            key_hash: None,
            source_timestamp: Some(WallTime(change.source)),
            payload: with_payload.then(|| SharedBytes::copy_from(&[change.value])),
            key_only: kind != ChangeKind::Alive,
            inline_qos: None,
            identities: Identities::default(),
            reassembled: false,
        }
    }

    fn insert(&mut self, received: &Received<'_>, change: &Change) -> dunlin_cache::Insert {
        let info = WriterInfo {
            strength: self.model.strengths[usize::from(change.writer)],
            lifespan: change.lifespan.map_or(Duration::INFINITE, Duration::from_nanos),
            ..WriterInfo::default()
        };
        self.cache.insert(self.clocks(), received, change.instance, &info)
    }

    /// Which writers the cache has heard of: only those can lose their liveliness.
    fn hear(&mut self, writer: u8, inserted: dunlin_cache::Insert) {
        use dunlin_cache::{FilterReason, Insert};
        let silent = matches!(
            inserted,
            Insert::Rejected(_)
                | Insert::Dropped(_)
                | Insert::Filtered(FilterReason::Expired | FilterReason::UnknownInstance)
        );
        self.heard[usize::from(writer)] |= !silent;
    }

    fn pass(&mut self, ms: i64) {
        self.now += ms * MS;
        let mut missed = Vec::new();
        let report = self.cache.on_timer(self.clocks(), &mut missed);
        let mut missed: Vec<_> = missed.iter().map(|m| (m.instance, m.count)).collect();
        let (mut expected, seen) = self.model.pass(self.now);
        missed.sort();
        expected.sort();
        assert_eq!(missed, expected);
        assert_eq!(report.data_available, seen);
        assert!(self.cache.next_deadline().is_none_or(|next| next.0 > self.now as u64));
    }

    fn access(&mut self, take: bool, selection: &Selection) {
        let mut selection = *selection;
        let sort = self.unordered && selection.instance == InstanceSelect::Any;
        if sort {
            selection.max_samples = usize::MAX;
        }
        assert_eq!(self.cache.count_matching(&selection), self.model.count(&selection), "{selection:?}");
        let mut out = Vec::new();
        let result = match take {
            true => self.cache.take(&selection, &mut out),
            false => self.cache.read(&selection, &mut out),
        };
        let expected = self.model.access(&selection, take);
        assert_eq!(result, expected.as_ref().map(Vec::len).map_err(|error| *error));
        let mut seen: Vec<Seen> = out.iter().map(seen).collect();
        let mut expected = expected.unwrap_or_default();
        if sort {
            seen.sort_by_key(|sample| sample.instance);
            expected.sort_by_key(|sample| sample.instance);
        }
        assert_eq!(seen, expected, "{selection:?}");
    }

    fn check(&self) {
        let states: Vec<_> = self.model.handles().iter().map(|h| self.cache.instance_state(*h)).collect();
        let expected: Vec<_> = self.model.handles().iter().map(|h| self.model.state(*h)).collect();
        assert_eq!(states, expected);
        assert_eq!(self.cache.instance_count(), states.len());
        let all = Selection::default();
        assert_eq!(self.cache.len(), self.model.count(&all));
        let unread = Selection { sample_states: SampleStateMask::NOT_READ, ..all };
        assert_eq!(self.cache.count_matching(&unread), self.model.count(&unread));
    }
}

fn seen(sample: &CachedSample) -> Seen {
    let info = sample.info;
    assert_eq!(info.valid_data, sample.payload.is_some());
    Seen {
        instance: info.instance_handle,
        writer: info.publication_handle.0[0],
        source: info.source_timestamp.0,
        value: sample.payload.as_ref().map(|payload| payload[0]),
        states: (info.sample_state, info.view_state, info.instance_state),
        generations: (info.disposed_generation_count, info.no_writers_generation_count),
        ranks: (info.sample_rank, info.generation_rank, info.absolute_generation_rank),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 2 } else { 400 }, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_cache_does_what_the_model_does(
        config in configurations(),
        ops in proptest::collection::vec(ops(), 1..120),
    ) {
        let mut pair = Pair::new(config);
        for op in &ops {
            pair.apply(op);
            pair.check();
        }
    }
}
