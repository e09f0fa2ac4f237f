//! One input and one output, and what passes between them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};

use dunlin::{
    DataReader, DataReaderListener, DataWriter, GuardCondition, InstanceState, Publisher, Sample,
    SampleIdentity, SampleInfo, SampleRejectedReason, SerializedData, StatusMask, Subscriber, WallTime,
    WriteError, WriteParams,
};

use crate::config::RouteConfig;
use crate::instances::{Instances, Verdict};
use crate::known::{KnownSources, SourceKind, Sources, Wanted};
use crate::origins::Origins;
use crate::requests::Requests;
use crate::stats::{Dropped, FlowStats};

/// Samples taken at a time.
const BATCH: usize = 256;
/// Samples passed on in one call, so that others have their turn.
const TURN: usize = 4096;

/// What a flow is made of.
pub(crate) struct Ends {
    pub(crate) subscriber: Subscriber,
    pub(crate) publisher: Publisher,
    pub(crate) writer: DataWriter<SerializedData>,
    /// Nothing is known of the type but its name.
    pub(crate) opaque: bool,
    /// What is written together is read together.
    pub(crate) coherent: bool,
}

/// Shared by the router and the listener of the input.
pub(crate) struct Flow {
    /// Something has arrived since somebody last looked.
    ready: AtomicBool,
    core: Mutex<Core>,
    wake: Arc<GuardCondition>,
    /// Samples are passed on where they arrive.
    inline: bool,
}

struct Core {
    ends: Ends,
    input: Option<DataReader<SerializedData>>,
    sources: KnownSources,
    batch: Vec<Sample<SerializedData>>,
    /// The first sample of the batch that is still to be passed on.
    next: usize,
    /// A coherent set is being written.
    in_set: bool,
    instances: Instances,
    /// The end of an instance that was passed on last.
    last_end: Option<SampleIdentity>,
    /// What has passed. Copies come by several ways, and again from routers that start anew.
    had: Origins,
    requests: Requests,
    stats: FlowStats,
}

/// The input of a flow that ends, for the one that takes its place: its writers notice nothing.
pub(crate) struct TransferredInput {
    pub(crate) subscriber: Subscriber,
    input: DataReader<SerializedData>,
    had: Origins,
}

/// How a turn ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    /// Nothing is left.
    Empty,
    /// There is more.
    More,
    /// The output has no room: its readers have to acknowledge first.
    Full,
}

enum Passed {
    Done,
    Full,
}

struct Arrivals(Weak<Flow>);

impl DataReaderListener<SerializedData> for Arrivals {
    fn on_data_available(&self, _: &DataReader<SerializedData>) {
        if let Some(flow) = self.0.upgrade() {
            flow.arrived();
        }
    }
}

impl Flow {
    pub(crate) fn new(
        ends: Ends,
        route: &RouteConfig,
        (wanted, instances): (Wanted, u32),
        (requests, wake, inline): (Requests, Arc<GuardCondition>, bool),
    ) -> Arc<Self> {
        let exclusive = ends.writer.qos().ownership.kind == dunlin::qos::OwnershipKind::Exclusive;
        let core = Core {
            ends,
            input: None,
            sources: KnownSources::new(wanted),
            batch: Vec::with_capacity(BATCH),
            next: 0,
            in_set: false,
            instances: Instances::new(route, exclusive, instances as usize),
            last_end: None,
            had: Origins::default(),
            requests,
            stats: FlowStats::default(),
        };
        Arc::new(Self { ready: AtomicBool::new(false), core: Mutex::new(core), wake, inline })
    }

    /// What tells the flow that something has arrived.
    pub(crate) fn listener(self: &Arc<Self>) -> impl DataReaderListener<SerializedData> {
        Arrivals(Arc::downgrade(self))
    }

    pub(crate) fn begin(&self, input: DataReader<SerializedData>) {
        self.core().input = Some(input);
        self.ready.store(true, Ordering::SeqCst);
    }

    fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the writers.
    pub(crate) fn set_sources(&self, sources: &Sources) {
        let mut core = self.core();
        let now = core.ends.publisher.participant().current_time();
        core.sources.plan(sources, now);
    }

    /// The input, as long as the flow has it.
    pub(crate) fn input(&self) -> Option<DataReader<SerializedData>> {
        self.core().input.clone()
    }

    /// Gives the input to another flow. What has arrived still passes here; what comes from now on is the other one's.
    pub(crate) fn transfer_input(&self) -> Option<TransferredInput> {
        let mut core = self.core();
        let input = core.input.take()?;
        let _ = input.take_into(usize::MAX, &mut core.batch);
        core.judge_all(&input);
        self.ready.store(true, Ordering::SeqCst);
        Some(TransferredInput { subscriber: core.ends.subscriber.clone(), input, had: core.had.clone() })
    }

    /// Begins with the input of another flow.
    pub(crate) fn take_over(self: &Arc<Self>, transferred: TransferredInput) {
        self.core().had = transferred.had;
        transferred.input.set_listener(self.listener(), StatusMask::DATA_AVAILABLE);
        self.begin(transferred.input);
    }

    /// Takes nothing new any more. What has arrived still passes.
    pub(crate) fn end_input(&self) {
        let mut core = self.core();
        let Some(input) = core.input.take() else { return };
        let _ = input.take_into(usize::MAX, &mut core.batch);
        // Writers are asked for at the input, which goes.
        core.judge_all(&input);
        let _ = core.ends.subscriber.delete_datareader(&input);
        self.ready.store(true, Ordering::SeqCst);
    }

    fn arrived(&self) {
        self.ready.store(true, Ordering::SeqCst);
        if self.inline {
            let core = match self.core.try_lock() {
                Ok(core) => Some(core),
                Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
                // Who has it looks again, or is woken.
                Err(TryLockError::WouldBlock) => None,
            };
            if let Some(mut core) = core {
                self.ready.store(false, Ordering::SeqCst);
                if core.turn() == Turn::Empty {
                    return;
                }
                self.ready.store(true, Ordering::SeqCst);
            }
        }
        self.wake.set_trigger_value(true);
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::SeqCst)
    }

    /// Passes on what there is, up to a number of samples.
    pub(crate) fn pass(&self) -> Turn {
        if !self.ready.swap(false, Ordering::SeqCst) {
            return Turn::Empty;
        }
        let turn = self.core().turn();
        if turn != Turn::Empty {
            self.ready.store(true, Ordering::SeqCst);
        }
        turn
    }

    pub(crate) fn stats(&self) -> FlowStats {
        self.core().stats
    }

    /// Whether every reader has acknowledged everything.
    pub(crate) fn is_acknowledged(&self) -> bool {
        let writer = self.core().ends.writer.clone();
        writer.wait_for_acknowledgments(dunlin::Duration::ZERO).is_ok()
    }

    pub(crate) fn output(&self) -> DataWriter<SerializedData> {
        self.core().ends.writer.clone()
    }

    /// Whether samples had to be sent again as there were too many instances.
    pub(crate) fn has_too_many_instances(&self) -> bool {
        let core = self.core();
        let rejected = core.input.as_ref().map(DataReader::sample_rejected_status);
        rejected.is_some_and(|it| it.last_reason == Some(SampleRejectedReason::InstancesLimit))
    }

    /// Says for a writer that has to say so itself that it is alive, as long as one of the sources is.
    pub(crate) fn assert_liveliness(&self) {
        let core = self.core();
        let alive = core.input.as_ref().map(|input| input.liveliness_changed_status().alive_count);
        if alive.is_some_and(|count| count > 0) {
            // It fails only if the writer is gone.
            let _ = core.ends.writer.assert_liveliness();
        }
    }
}

impl Core {
    fn turn(&mut self) -> Turn {
        let input = self.input.clone();
        let now = self.ends.publisher.participant().current_time();
        let coherent = self.ends.coherent && self.ends.subscriber.begin_access().is_ok();
        let turn = self.pass_all(input.as_ref(), now, coherent);
        if coherent {
            let _ = self.ends.subscriber.end_access();
        }
        turn
    }

    fn pass_all(
        &mut self,
        input: Option<&DataReader<SerializedData>>,
        now: WallTime,
        coherent: bool,
    ) -> Turn {
        let mut passed = 0;
        loop {
            passed += self.batch.len() - self.next;
            if matches!(self.pass_batch(input, now, coherent), Passed::Full) {
                return Turn::Full;
            }
            self.batch.clear();
            self.next = 0;
            // A set that has begun is passed on as a whole.
            if passed >= TURN && !self.in_set {
                return Turn::More;
            }
            // What cannot be taken any more has ended.
            let taken = input.map(|input| input.take_into(BATCH, &mut self.batch).unwrap_or(0));
            if taken.unwrap_or(0) == 0 {
                self.end_set();
                return Turn::Empty;
            }
        }
    }

    /// Passes on what is left of the batch. What has arrived together leaves together: in few datagrams, and few system calls.
    fn pass_batch(
        &mut self,
        input: Option<&DataReader<SerializedData>>,
        now: WallTime,
        coherent: bool,
    ) -> Passed {
        let together = self.batch.len().saturating_sub(self.next) > 1
            && !coherent
            && self.ends.publisher.suspend_publications().is_ok();
        let mut passed = Passed::Done;
        while self.next < self.batch.len() {
            self.begin_set(coherent);
            passed = self.pass_one(input, now);
            if matches!(passed, Passed::Full) {
                break;
            }
            self.next += 1;
        }
        if together {
            // It fails only if the output is gone.
            let _ = self.ends.publisher.resume_publications();
        }
        passed
    }

    fn begin_set(&mut self, coherent: bool) {
        if coherent && !self.in_set {
            self.in_set = self.ends.publisher.begin_coherent_changes().is_ok();
        }
    }

    fn end_set(&mut self) {
        if self.in_set {
            self.in_set = false;
            let _ = self.ends.publisher.end_coherent_changes();
        }
    }

    /// Passes on the next sample of the batch.
    fn pass_one(&mut self, input: Option<&DataReader<SerializedData>>, now: WallTime) -> Passed {
        let Some(info) = self.batch.get(self.next).map(|sample| sample.info) else { return Passed::Done };
        let kind_of_source = self.sources.kind_of_source(input, info.publication_handle);
        let is_ours = kind_of_source == SourceKind::Ours;
        let Some(sample) = self.batch.get(self.next) else { return Passed::Done };
        match (&sample.data, info.instance_state) {
            (Some(data), _) if is_ours => {
                let data = data.clone();
                self.pass_data(&info, data, now)
            }
            // Another kind of writer owns the instance now.
            (Some(data), _) if self.instances.yields(info.instance_handle) => {
                let data = data.clone();
                self.yield_instance(&info, data)
            }
            (Some(_), _) if kind_of_source == SourceKind::Unknown => self.leave_out(Dropped::UnknownWriter),
            (Some(_), _) => Passed::Done,
            (None, InstanceState::NotAliveDisposed) if is_ours => self.end_instance(&info, true),
            (None, InstanceState::NotAliveNoWriters) if is_ours || info.sequence_number.0 == 0 => {
                self.end_instance(&info, false)
            }
            (None, _) => Passed::Done,
        }
    }

    /// Finds out whose the samples of the batch are.
    fn judge_all(&mut self, input: &DataReader<SerializedData>) {
        for sample in self.batch.iter().skip(self.next) {
            self.sources.kind_of_source(Some(input), sample.info.publication_handle);
        }
    }

    /// The sample as the output's topic takes it.
    fn addressed(&self, data: SerializedData, info: &SampleInfo) -> SerializedData {
        if self.ends.opaque { data.of_instance(info.instance_handle) } else { data }
    }

    fn params(&self, info: &SampleInfo) -> WriteParams {
        WriteParams {
            source_timestamp: Some(info.source_timestamp),
            original: Some(info.origin()),
            related: info.related_sample.map(|named| self.requests.first(named)),
            ..WriteParams::default()
        }
    }

    fn is_there_already(&self, info: &SampleInfo) -> bool {
        info.original_sample.is_some_and(|named| self.sources.is_present(named.writer))
    }

    fn pass_data(&mut self, info: &SampleInfo, data: SerializedData, now: WallTime) -> Passed {
        if self.is_there_already(info) {
            return self.leave_out(Dropped::AlreadyThere);
        }
        if self.had.contains(info.origin()) {
            return self.leave_out(Dropped::Copy);
        }
        match self.instances.judge(info.instance_handle, data.payload()) {
            Verdict::Pass => {}
            Verdict::LeaveOut(why) => {
                self.had.note(info.origin());
                return self.leave_out(why);
            }
        }
        let octets = data.payload().len() as u64;
        let data = self.addressed(data, info);
        match self.ends.writer.write_with(&data, &self.params(info)) {
            Ok(identity) => {
                self.instances.passed(info.instance_handle, data.payload());
                self.had.note(info.origin());
                self.requests.note(identity, info.origin());
                self.stats.passed(octets, now.since(info.reception_timestamp));
                Passed::Done
            }
            Err(error) => self.failed(&error),
        }
    }

    fn leave_out(&mut self, why: Dropped) -> Passed {
        self.stats.dropped(why);
        Passed::Done
    }

    fn failed(&mut self, error: &WriteError) -> Passed {
        match error {
            WriteError::Timeout(_) | WriteError::InTask | WriteError::InSimulation => Passed::Full,
            // Nothing of the instance has been passed on, so there is nothing to end.
            WriteError::NotRegistered | WriteError::UnknownInstance | WriteError::NoKey => Passed::Done,
            WriteError::OutOfResources => self.leave_out(Dropped::NoRoom),
            WriteError::AlreadyDeleted => Passed::Done,
            _ => self.leave_out(Dropped::Refused),
        }
    }

    fn yield_instance(&mut self, info: &SampleInfo, data: SerializedData) -> Passed {
        let data = self.addressed(data, info);
        let given_up = self.ends.writer.unregister_instance_with(&data, &WriteParams::default());
        match given_up {
            Ok(_) => Passed::Done,
            Err(error) => self.failed(&error),
        }
        .also(|| self.instances.ended(info.instance_handle))
    }

    /// Passes on the end of an instance.
    fn end_instance(&mut self, info: &SampleInfo, disposed: bool) -> Passed {
        if self.is_there_already(info) {
            return self.leave_out(Dropped::AlreadyThere);
        }
        let is_second = self.last_end == Some(info.origin());
        let from_message = info.sequence_number.0 != 0;
        if from_message && !is_second && self.had.contains(info.origin()) {
            return self.leave_out(Dropped::Copy);
        }
        let key = self.batch.get(self.next).and_then(|sample| sample.key.clone());
        let key = match key {
            Some(key) => self.addressed(key, info),
            None if self.ends.opaque => SerializedData::key(Vec::new()).of_instance(info.instance_handle),
            None => return self.leave_out(Dropped::NoKey),
        };
        // Not from a message, or from one that disposes as well: then readers have seen its identity.
        let params = if is_second || !from_message { WriteParams::default() } else { self.params(info) };
        let ended = if disposed {
            self.ends.writer.dispose_with(&key, &params)
        } else {
            self.ends.writer.unregister_instance_with(&key, &params)
        };
        let passed = match ended {
            Ok(_) => {
                self.stats.ended();
                Passed::Done
            }
            Err(error) => self.failed(&error),
        };
        passed.also(|| {
            if from_message {
                self.had.note(info.origin());
            }
            self.last_end = disposed.then(|| info.origin());
            if disposed {
                self.instances.disposed(info.instance_handle);
            } else {
                self.instances.ended(info.instance_handle);
            }
        })
    }
}

impl Passed {
    fn also(self, then: impl FnOnce()) -> Self {
        if matches!(self, Self::Done) {
            then();
        }
        self
    }
}
