//! Threads that run on a processor of their own, or before all others.

use std::io;
use std::sync::mpsc;
use std::thread::{Builder, JoinHandle};

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadPriorityValue, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

/// Where and how urgently a thread runs.
#[derive(Clone, Copy, Default)]
pub(crate) struct Run {
    cpu: Option<usize>,
    priority: Option<u8>,
}

impl Run {
    pub(crate) fn new(cpu: Option<usize>, priority: Option<u8>) -> Self {
        Self { cpu, priority }
    }

    pub(crate) fn is_special(self) -> bool {
        self.cpu.is_some() || self.priority.is_some()
    }

    /// Moves the present thread there.
    fn apply(self) -> io::Result<()> {
        if let Some(cpu) = self.cpu {
            let refuse = |reason: String| io::Error::new(io::ErrorKind::InvalidInput, reason);
            if cpu >= CpuSet::MAX_CPU {
                return Err(refuse(format!("there is no processor {cpu}")));
            }
            let mut set = CpuSet::new();
            set.set(cpu);
            sched_setaffinity(None, &set).map_err(|error| refuse(format!("processor {cpu}: {error}")))?;
        }
        if let Some(priority) = self.priority {
            let refuse = |reason: String| {
                let advice = "real-time scheduling needs CAP_SYS_NICE or a limit for rtprio";
                io::Error::new(
                    io::ErrorKind::PermissionDenied,
                    format!("priority {priority}: {reason}; {advice}"),
                )
            };
            let value = ThreadPriorityValue::try_from(priority).map_err(refuse)?;
            let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
            set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Crossplatform(value), policy)
                .map_err(|reason| refuse(format!("{reason}")))?;
        }
        Ok(())
    }
}

/// Moves the present thread to another core than the one it runs on; false if it may run on this one only.
pub(crate) fn leave_core() -> bool {
    let Ok(allowed) = sched_getaffinity(None) else { return false };
    let mut others = allowed;
    others.unset(sched_getcpu());
    if others.count() == 0 || sched_setaffinity(None, &others).is_err() {
        return false;
    }
    // From there it may go where it might before. This fails only if the processors have changed in between.
    let _ = sched_setaffinity(None, &allowed);
    true
}

/// Starts a thread, and waits until it runs as it should.
pub(crate) fn spawn(
    name: &str,
    run: Run,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let builder = Builder::new().name(name.into());
    if !run.is_special() {
        return builder.spawn(work);
    }
    let (tell, applied) = mpsc::sync_channel(1);
    let thread = builder.spawn(move || {
        let result = run.apply();
        let runs = result.is_ok();
        // Nobody gave up waiting: this is the first thing that the thread does.
        let _ = tell.send(result);
        if runs {
            work();
        }
    })?;
    applied.recv().unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()))?;
    Ok(thread)
}

#[cfg(test)]
mod tests {
    use thread_priority::thread_schedule_policy_param;

    use super::*;

    #[test]
    fn a_processor_that_does_not_exist_is_refused() {
        for cpu in [CpuSet::MAX_CPU - 1, CpuSet::MAX_CPU, usize::MAX] {
            let error = spawn("test", Run { cpu: Some(cpu), priority: None }, || panic!("it must not run"));
            assert_eq!(error.expect_err("no such processor").kind(), io::ErrorKind::InvalidInput);
        }
    }

    #[test]
    fn a_thread_leaves_its_core_and_may_return() {
        let allowed = sched_getaffinity(None).unwrap();
        assert_eq!(leave_core(), allowed.count() > 1);
        assert_eq!(sched_getaffinity(None).unwrap(), allowed);
        let alone =
            spawn("test", Run { cpu: Some(sched_getcpu()), priority: None }, || assert!(!leave_core()));
        alone.unwrap().join().unwrap();
    }

    #[test]
    fn a_priority_is_real_or_refused() {
        let (tell, told) = mpsc::channel();
        let run = Run { cpu: None, priority: Some(7) };
        let spawned =
            spawn("test", run, move || tell.send(thread_schedule_policy_param(thread_native_id())).unwrap());
        match spawned {
            Ok(thread) => {
                let (policy, params) = told.recv().unwrap().unwrap();
                let fifo = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
                assert_eq!((policy, params.sched_priority), (fifo, 7));
                thread.join().unwrap();
            }
            Err(error) => assert!(error.to_string().contains("CAP_SYS_NICE"), "{error}"),
        }
    }

    #[test]
    fn a_thread_runs_on_the_configured_core() {
        let allowed = sched_getaffinity(None).unwrap();
        let cpu = (0..CpuSet::MAX_CPU).rfind(|cpu| allowed.is_set(*cpu)).unwrap();
        let (tell, told) = mpsc::channel();
        let thread = spawn("test", Run { cpu: Some(cpu), priority: None }, move || {
            tell.send(rustix::thread::sched_getaffinity(None).unwrap()).unwrap();
        });
        let set = told.recv().unwrap();
        assert!(set.is_set(cpu) && set.count() == 1);
        thread.unwrap().join().unwrap();
    }
}
