//! A history with a clock and instances that have short names.

use dunlin_buf::SharedBytes;
use dunlin_cache::{AddError, NewChange, WriterCache, WriterCacheConfig};
use dunlin_core::{InstanceHandle, MonoTime, Now, SequenceNumber, WallTime};
use dunlin_qos::{
    DataWriterQos, Durability, DurabilityKind, History, HistoryKind, Reliability, ResourceLimits,
};
use dunlin_rtps::{ChangeKind, WriterHistory};

pub const MS: i64 = 1_000_000;

pub struct Fixture {
    pub cache: WriterCache,
    pub now: Now,
    /// Acknowledged by all.
    pub acked: i64,
    appends: bool,
}

pub fn handle(instance: u8) -> InstanceHandle {
    InstanceHandle([instance; 16])
}

pub fn keep_last(depth: i32) -> DataWriterQos {
    DataWriterQos { history: History { kind: HistoryKind::KeepLast, depth }, ..DataWriterQos::default() }
}

pub fn keep_all() -> DataWriterQos {
    DataWriterQos { history: History { kind: HistoryKind::KeepAll, depth: 1 }, ..DataWriterQos::default() }
}

pub fn transient(qos: DataWriterQos) -> DataWriterQos {
    DataWriterQos { durability: Durability { kind: DurabilityKind::TransientLocal }, ..qos }
}

pub fn best_effort(qos: DataWriterQos) -> DataWriterQos {
    DataWriterQos { reliability: Reliability::BEST_EFFORT, ..qos }
}

pub fn limited(
    qos: DataWriterQos,
    max_samples: i32,
    max_instances: i32,
    max_samples_per_instance: i32,
) -> DataWriterQos {
    let resource_limits = ResourceLimits { max_samples, max_instances, max_samples_per_instance };
    DataWriterQos { resource_limits, ..qos }
}

impl Fixture {
    pub fn new(qos: &DataWriterQos) -> Self {
        let cache = WriterCache::new(WriterCacheConfig::from_qos(qos, true));
        Self { cache, now: Now::default(), acked: 0, appends: false }
    }

    /// Sets both clocks to so many milliseconds from the start.
    pub fn at(&mut self, ms: i64) -> &mut Self {
        self.now = Now { mono: MonoTime((ms * MS) as u64), wall: WallTime(ms * MS) };
        self
    }

    pub fn add(&mut self, kind: ChangeKind, instance: u8) -> Result<i64, AddError> {
        let payload = SharedBytes::copy_from(&[0, 1, 0, 0, instance]);
        self.appends = !self.appends;
        // Every second value takes the short way if it may: that must make no difference.
        if kind == ChangeKind::Alive && self.appends {
            let before = self.cache.last_sn();
            let acked = SequenceNumber(self.acked);
            match self.cache.append((handle(instance), self.now.wall), payload.clone(), acked) {
                Ok(sn) => return Ok(sn.0),
                Err(same) => assert_eq!((same, self.cache.last_sn()), (payload.clone(), before)),
            }
        }
        let change = NewChange {
            kind,
            instance: handle(instance),
            source_timestamp: self.now.wall,
            payload: Some(payload),
            inline_qos: None,
        };
        self.cache.add(self.now, change, SequenceNumber(self.acked)).map(|sn| sn.0)
    }

    pub fn write(&mut self, instance: u8) -> Result<i64, AddError> {
        self.add(ChangeKind::Alive, instance)
    }

    pub fn dispose(&mut self, instance: u8) -> Result<i64, AddError> {
        self.add(ChangeKind::Disposed, instance)
    }

    pub fn unregister(&mut self, instance: u8) -> Result<i64, AddError> {
        self.add(ChangeKind::Unregistered, instance)
    }

    pub fn remove(&mut self, instance: u8) -> Result<i64, AddError> {
        self.add(ChangeKind::DisposedUnregistered, instance)
    }

    pub fn register(&mut self, instance: u8) -> Result<(), AddError> {
        self.cache.register(self.now, handle(instance), None, SequenceNumber(self.acked))
    }

    pub fn ack(&mut self, sn: i64) -> usize {
        self.acked = sn;
        self.cache.remove_acked(SequenceNumber(sn))
    }

    /// The sequence numbers in the history.
    pub fn present(&self) -> Vec<i64> {
        let mut all = Vec::new();
        let mut sn = SequenceNumber::FIRST;
        while let Some(next) = self.cache.next_at_or_after(sn) {
            assert_eq!(self.cache.get(next).map(|change| change.sn), Some(next));
            all.push(next.0);
            sn = next.next();
        }
        assert_eq!(self.cache.len(), all.len());
        assert_eq!(self.cache.first_sn().map(|sn| sn.0), all.first().copied());
        all
    }

    pub fn missed(&mut self) -> Vec<(InstanceHandle, u32)> {
        let mut missed = Vec::new();
        self.cache.on_timer(self.now, &mut missed);
        assert!(self.cache.next_deadline().is_none_or(|next| next > self.now.mono));
        missed.into_iter().map(|m| (m.instance, m.count)).collect()
    }
}
