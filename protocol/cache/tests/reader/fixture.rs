//! A cache with a clock, writers and instances that have short names.

use dunlin_buf::SharedBytes;
use dunlin_cache::{
    CachedSample, Insert, InstanceState, ReaderCache, ReaderCacheConfig, ReaderTimerReport, SampleInfo,
    Selection, ViewState, WriterInfo,
};
use dunlin_core::{
    EntityId, Guid, GuidPrefix, Identities, InstanceHandle, MonoTime, Now, SequenceNumber, WallTime,
};
use dunlin_qos::{DataReaderQos, History, HistoryKind, Presentation, ResourceLimits};
use dunlin_rtps::{ChangeKind, Received};

/// Wall clock at the start.
const EPOCH: i64 = 1_000_000_000_000_000_000;
pub const MS: i64 = 1_000_000;

pub struct Fixture {
    pub cache: ReaderCache,
    pub now: Now,
    pub info: [WriterInfo; 4],
    last_sn: i64,
}

pub fn guid(writer: u8) -> Guid {
    Guid::new(GuidPrefix([writer; 12]), EntityId::user_writer(u32::from(writer), true))
}

pub fn handle(instance: u8) -> InstanceHandle {
    InstanceHandle([instance; 16])
}

pub fn keep_all() -> DataReaderQos {
    DataReaderQos { history: History { kind: HistoryKind::KeepAll, depth: 1 }, ..DataReaderQos::default() }
}

pub fn keep_last(depth: i32) -> DataReaderQos {
    DataReaderQos { history: History { kind: HistoryKind::KeepLast, depth }, ..DataReaderQos::default() }
}

pub fn limits(max_samples: i32, max_instances: i32, max_samples_per_instance: i32) -> ResourceLimits {
    ResourceLimits { max_samples, max_instances, max_samples_per_instance }
}

type InsertFn = fn(&mut ReaderCache, Now, &Received<'_>, InstanceHandle, &WriterInfo) -> Insert;

/// A change with every part under control.
pub struct Sent {
    pub kind: ChangeKind,
    pub writer: u8,
    pub instance: u8,
    pub value: Option<u8>,
    pub key_only: bool,
    pub source: Option<WallTime>,
}

impl Fixture {
    pub fn new(qos: &DataReaderQos) -> Self {
        Self::with_presentation(qos, Presentation::default())
    }

    pub fn with_presentation(qos: &DataReaderQos, presentation: Presentation) -> Self {
        Self {
            cache: ReaderCache::new(ReaderCacheConfig::from_qos(qos, presentation, true)),
            now: Now { mono: MonoTime(0), wall: WallTime(EPOCH) },
            info: [WriterInfo::default(); 4],
            last_sn: 0,
        }
    }

    /// Sets both clocks to so many milliseconds from the start.
    pub fn at(&mut self, ms: i64) -> &mut Self {
        self.now = Now { mono: MonoTime((ms * MS) as u64), wall: WallTime(EPOCH + ms * MS) };
        self
    }

    pub fn wall(&self, ms: i64) -> WallTime {
        WallTime(EPOCH + ms * MS)
    }

    pub fn send(&mut self, sent: &Sent) -> Insert {
        self.offer(sent, ReaderCache::insert)
    }

    /// A sample that the content filter of the reader rejects.
    pub fn write_filtered(&mut self, writer: u8, instance: u8) -> Insert {
        let kind = ChangeKind::Alive;
        let sent = Sent { kind, writer, instance, value: Some(9), key_only: false, source: None };
        self.offer(&sent, ReaderCache::insert_filtered)
    }

    /// A change that came by another way already.
    pub fn copy(&mut self, kind: ChangeKind, writer: u8, instance: u8) -> Insert {
        let key_only = kind != ChangeKind::Alive;
        let sent = Sent { kind, writer, instance, value: Some(instance), key_only, source: None };
        self.offer(&sent, ReaderCache::insert_copy)
    }

    fn offer(&mut self, sent: &Sent, insert: InsertFn) -> Insert {
        self.last_sn += 1;
        let change = Received {
            writer: guid(sent.writer),
            sn: SequenceNumber(self.last_sn),
            kind: sent.kind,
            key_hash: None,
            source_timestamp: sent.source.or(Some(self.now.wall)),
            payload: sent.value.map(|value| SharedBytes::copy_from(&[0, 1, 0, 0, value])),
            key_only: sent.key_only,
            inline_qos: None,
            identities: Identities::default(),
            reassembled: false,
        };
        let info = self.info[usize::from(sent.writer)];
        insert(&mut self.cache, self.now, &change, handle(sent.instance), &info)
    }

    pub fn write(&mut self, writer: u8, instance: u8, value: u8) -> Insert {
        let kind = ChangeKind::Alive;
        self.send(&Sent { kind, writer, instance, value: Some(value), key_only: false, source: None })
    }

    /// A write with a source timestamp of so many milliseconds from the start.
    pub fn write_at(&mut self, writer: u8, instance: u8, value: u8, ms: i64) -> Insert {
        let (kind, source) = (ChangeKind::Alive, Some(self.wall(ms)));
        self.send(&Sent { kind, writer, instance, value: Some(value), key_only: false, source })
    }

    /// The next change has this number once more.
    pub fn repeat_from(&mut self, sn: i64) {
        self.last_sn = sn - 1;
    }

    /// A change that carries the serialized key.
    pub fn key_change(&mut self, kind: ChangeKind, writer: u8, instance: u8) -> Insert {
        self.send(&Sent { kind, writer, instance, value: Some(instance), key_only: true, source: None })
    }

    pub fn dispose(&mut self, writer: u8, instance: u8) -> Insert {
        self.key_change(ChangeKind::Disposed, writer, instance)
    }

    pub fn unregister(&mut self, writer: u8, instance: u8) -> Insert {
        self.key_change(ChangeKind::Unregistered, writer, instance)
    }

    pub fn lose(&mut self, writer: u8) -> bool {
        self.cache.writer_lost(self.now, guid(writer))
    }

    pub fn read(&mut self, selection: &Selection) -> Vec<CachedSample> {
        let mut out = Vec::new();
        let count = self.cache.read(selection, &mut out).unwrap();
        assert_eq!(count, out.len());
        out
    }

    pub fn take(&mut self, selection: &Selection) -> Vec<CachedSample> {
        let mut out = Vec::new();
        let count = self.cache.take(selection, &mut out).unwrap();
        assert_eq!(count, out.len());
        out
    }

    pub fn read_all(&mut self) -> Vec<CachedSample> {
        self.read(&Selection::default())
    }

    pub fn take_all(&mut self) -> Vec<CachedSample> {
        self.take(&Selection::default())
    }

    pub fn take_values(&mut self) -> Vec<u8> {
        values(&self.take_all())
    }

    pub fn timer(&mut self) -> ReaderTimerReport {
        self.missed().1
    }

    /// Runs the timers; the instances that missed their deadline, with how often.
    pub fn missed(&mut self) -> (Vec<(InstanceHandle, u32)>, ReaderTimerReport) {
        let mut missed = Vec::new();
        let report = self.cache.on_timer(self.now, &mut missed);
        assert!(self.cache.next_deadline().is_none_or(|next| next > self.now.mono));
        (missed.into_iter().map(|m| (m.instance, m.count)).collect(), report)
    }

    pub fn state(&self, instance: u8) -> Option<InstanceState> {
        self.cache.instance_state(handle(instance))
    }

    pub fn owner(&self, instance: u8) -> Option<Guid> {
        self.cache.owner(self.now, handle(instance))
    }
}

/// What was written; 0 for samples without data.
pub fn values(samples: &[CachedSample]) -> Vec<u8> {
    samples.iter().map(|sample| sample.payload.as_ref().map_or(0, |payload| payload[4])).collect()
}

/// States and generation counts: view, instance, disposed, no writers, valid.
pub fn states(info: &SampleInfo) -> (ViewState, InstanceState, u32, u32, bool) {
    (
        info.view_state,
        info.instance_state,
        info.disposed_generation_count,
        info.no_writers_generation_count,
        info.valid_data,
    )
}
