//! From the readers of the joined topics to the reader of the rows.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, Weak};

use dunlin_buf::SharedBytes;
use dunlin_cache::{CachedSample, InstanceState, RejectReason, Selection};
use dunlin_cdr::DecodeOptions;
use dunlin_core::{InstanceHandle, WallTime};
use dunlin_engine::{Event, WriteRequest};
use dunlin_qos::DataReaderQos;
use dunlin_rtps::ChangeKind;

use super::MultiTopicInner;
use super::join::{Change, Join, Row};
use super::side::Side;
use crate::mutex::lock;
use crate::reader_inner::{ErasedReaderListener, ReaderInner, TopicSource};
use crate::status::StatusMask;

/// What the threads that bring samples share.
struct Shared {
    multi: Arc<MultiTopicInner>,
    rows: Weak<ReaderInner>,
    state: Mutex<State>,
}

struct State {
    join: Join,
    /// Serialized keys of the instances of rows that were delivered.
    keys: BTreeMap<InstanceHandle, SharedBytes>,
    /// Made, and not yet delivered.
    made: VecDeque<WriteRequest>,
    /// Instances of rows beyond those that are kept, not told of yet.
    rejected: Vec<InstanceHandle>,
    /// A thread is delivering: it will deliver what others make, in the order in which it was made.
    delivering: bool,
}

/// Listens to one topic.
struct SideListener {
    shared: Arc<Shared>,
    side: usize,
}

/// The readers of the joined topics, which feed `rows` once they are enabled.
pub(super) fn readers_behind(
    multi: &Arc<MultiTopicInner>,
    rows: &Arc<ReaderInner>,
    qos: &DataReaderQos,
) -> Vec<Arc<ReaderInner>> {
    let join = Join::new(&multi.plan);
    let (keys, made, rejected) = (BTreeMap::new(), VecDeque::new(), Vec::new());
    let state = State { join, keys, made, rejected, delivering: false };
    let shared = Shared { multi: Arc::clone(multi), rows: Arc::downgrade(rows), state: Mutex::new(state) };
    let shared = Arc::new(shared);
    let behind = |(side, source): (usize, &Side)| {
        let mut reader = ReaderInner::new(
            Arc::clone(&rows.participant),
            TopicSource::of_topic(&source.topic),
            Arc::clone(&rows.subscriber),
            Arc::clone(&source.topic.type_support),
            qos.clone(),
            None,
        );
        reader.rows = Some(Arc::downgrade(rows));
        let reader = Arc::new(reader);
        let listener = SideListener { shared: Arc::clone(&shared), side };
        reader.set_listener(Some(Arc::new(listener)), StatusMask::DATA_AVAILABLE);
        reader
    };
    multi.plan.sides.iter().enumerate().map(behind).collect()
}

impl ErasedReaderListener for SideListener {
    fn call(&self, core: &Arc<ReaderInner>, _: StatusMask) {
        let mut state = lock(&self.shared.state);
        // Taken under the lock, so that samples enter the join in the order in which they are taken.
        let samples = core.collect(&Selection::default(), true, std::mem::take).unwrap_or_default();
        for sample in samples {
            self.shared.take_in(&mut state, self.side, &sample);
        }
        drop(state);
        self.shared.deliver();
    }
}

impl Shared {
    fn take_in(&self, state: &mut State, side: usize, sample: &CachedSample) {
        let info = &sample.info;
        if let Some(payload) = &sample.payload {
            let options = DecodeOptions::for_vendor(sample.vendor);
            let Ok(values) = self.multi.plan.sides[side].read(payload, options) else {
                if let Some(rows) = self.rows.upgrade() {
                    rows.count_undecodable();
                }
                return;
            };
            let (instance, source) = (info.instance_handle, info.source_timestamp);
            let Change { rows, left, too_many } =
                state.join.update(&self.multi.plan, side, instance, values, source);
            rows.into_iter().for_each(|row| self.note(state, row));
            if too_many {
                state.rejected.push(InstanceHandle::NIL);
            }
            for ended in state.join.leave(left) {
                self.end(state, ended, ChangeKind::Unregistered, source);
            }
        }
        // The last sample of an instance shows the state that it is in.
        if info.instance_state != InstanceState::Alive && info.sample_rank == 0 {
            let kind = match info.instance_state {
                InstanceState::NotAliveDisposed => ChangeKind::Disposed,
                _ => ChangeKind::Unregistered,
            };
            for ended in state.join.end(&self.multi.plan, side, info.instance_handle) {
                self.end(state, ended, kind, info.source_timestamp);
            }
        }
    }

    /// Keeps a row for delivery if it satisfies the condition.
    fn note(&self, state: &mut State, row: Row) {
        let (options, types) = (DecodeOptions::default(), &self.multi.type_support);
        if !self.multi.filter().check(&row.payload, options).passed() {
            return;
        }
        let Ok(hash) = types.key_hash_of_payload(&row.payload, false) else { return };
        let instance = InstanceHandle(hash);
        let Ok(left) = state.join.saw(&row.combination, instance) else {
            return state.rejected.push(instance);
        };
        // Only of rows that are kept: their end takes it away again.
        if types.has_key() && !state.keys.contains_key(&instance) {
            let mut key = Vec::new();
            if types.key_payload_with(&row.payload, options, &mut key).is_ok() {
                state.keys.insert(instance, key.into());
            }
        }
        state.made.push_back(WriteRequest {
            kind: ChangeKind::Alive,
            instance,
            source_timestamp: Some(row.source),
            payload: row.payload.into(),
        });
        if let Some(left) = left {
            self.end(state, left, ChangeKind::Unregistered, row.source);
        }
    }

    /// Keeps the end of an instance of rows for delivery.
    fn end(&self, state: &mut State, instance: InstanceHandle, kind: ChangeKind, source: WallTime) {
        if let Some(payload) = state.keys.remove(&instance) {
            let source_timestamp = Some(source);
            state.made.push_back(WriteRequest { kind, instance, source_timestamp, payload });
        }
    }

    /// Delivers what was made, unless another thread is at it.
    fn deliver(&self) {
        loop {
            let mut state = lock(&self.state);
            if state.delivering || (state.made.is_empty() && state.rejected.is_empty()) {
                return;
            }
            state.delivering = true;
            let _delivering = Delivering(self);
            let made = std::mem::take(&mut state.made);
            let rejected = std::mem::take(&mut state.rejected);
            drop(state);
            // No lock is held: the listener of the rows may run.
            if let Some(rows) = self.rows.upgrade() {
                rows.give(made);
                for (reader, instance) in rows.id().into_iter().cycle().zip(rejected) {
                    let reason = RejectReason::SamplesLimit;
                    rows.on_event(&Event::SampleRejected { reader, reason, instance });
                }
            }
        }
    }
}

/// A thread is delivering, until it is done or a listener panics.
struct Delivering<'s>(&'s Shared);

impl Drop for Delivering<'_> {
    fn drop(&mut self) {
        lock(&self.0.state).delivering = false;
    }
}
