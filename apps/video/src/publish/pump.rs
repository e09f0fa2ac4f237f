//! The two threads of a publisher: one captures, the other writes.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use dunlin_program::Stop;

use super::FrameSink;
use super::queue::{HandOver, Policy, Pushed};
use super::report::{FrameLog, Totals};
use crate::cli;
use crate::frame::{Frame, now_ns};
use crate::source::{Info, KeyRequest, Source};

/// What to do with the frames of a source.
pub struct Plan {
    camera_id: String,
    policy: Policy,
    count: Option<u64>,
    seconds: Option<f64>,
    wait_viewers: usize,
    log: Option<PathBuf>,
    keys: KeyRequest,
}

impl Plan {
    /// The plan that the command line asks for.
    #[must_use]
    pub fn new(args: &cli::Publish, info: &Info, camera_id: String, keys: KeyRequest) -> Self {
        let intra_only = info.encoding.intra_only();
        // Frames of a fixed size are large and made in no time: one buffer that goes to and fro is enough.
        let (capacity, buffers) = match args.source.fixed_size {
            Some(_) => (1, 1),
            None if intra_only => (3, 5),
            None => (8, 10),
        };
        let wait = args.delivery.keep_all || args.rate == Some(0.0);
        Self {
            camera_id,
            policy: Policy { capacity, buffers, intra_only, wait },
            count: args.count,
            seconds: args.seconds,
            wait_viewers: args.wait_viewers,
            log: args.log.clone(),
            keys,
        }
    }
}

/// Publishes until the source ends, the plan is fulfilled or `stop` is set.
///
/// # Errors
/// When the source, the writer or the log fails.
pub fn run(
    mut source: Box<dyn Source>,
    sink: &mut impl FrameSink,
    plan: &Plan,
    stop: &Stop,
) -> Result<Totals> {
    let mut log = plan.log.as_deref().map(FrameLog::create).transpose()?;
    while sink.viewers() < plan.wait_viewers {
        if stop.wait(Duration::from_millis(20)) {
            return Ok(Totals::default());
        }
    }
    let blank = Frame { camera_id: plan.camera_id.clone(), ..Frame::default() };
    let queue = HandOver::new(plan.policy, &blank);
    let mut totals = Totals::default();
    let written = thread::scope(|scope| {
        let capturing = thread::Builder::new()
            .name("capture".to_owned())
            .spawn_scoped(scope, || capture(source.as_mut(), &queue, plan, stop))?;
        let written = write(sink, &queue, log.as_mut(), &mut totals);
        queue.close();
        let captured = capturing.join().map_err(|_| anyhow!("the capturing thread has panicked"))?;
        written.and(captured)
    });
    totals.dropped = queue.dropped();
    totals.missed = source.missed();
    if let Err(error) = written {
        // What was done until then is still worth knowing.
        dunlin_program::say!("{totals}");
        return Err(error);
    }
    sink.finish()?;
    if let Some(log) = log {
        log.finish()?;
    }
    Ok(totals)
}

fn capture(source: &mut dyn Source, queue: &HandOver, plan: &Plan, stop: &Stop) -> Result<()> {
    let deadline = plan.seconds.map(|seconds| Instant::now() + Duration::from_secs_f64(seconds));
    let result = (|| {
        let mut left = plan.count.unwrap_or(u64::MAX);
        let mut number = 0;
        while left > 0 && deadline.is_none_or(|deadline| Instant::now() < deadline) {
            let Some(mut frame) = queue.buffer() else { break };
            if !source.next(stop, &mut frame)? {
                break;
            }
            frame.number = number;
            // A dropped frame keeps its number: the gap tells viewers that something is missing.
            number += 1;
            left -= 1;
            match queue.push(frame) {
                Pushed::Queued => {}
                Pushed::Dropped => plan.keys.now(),
                Pushed::Closed => break,
            }
        }
        Ok(())
    })();
    queue.end();
    result
}

fn write(
    sink: &mut impl FrameSink,
    queue: &HandOver,
    mut log: Option<&mut FrameLog>,
    totals: &mut Totals,
) -> Result<()> {
    while let Some(mut frame) = queue.pop() {
        let (started, start_ns) = (Instant::now(), now_ns());
        sink.write(&mut frame)?;
        let took = started.elapsed();
        totals.add(frame.payload.len(), started, took);
        if let Some(log) = &mut log {
            log.add(&frame, start_ns, took)?;
        }
        queue.recycle(frame);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::fixed::Fixed;

    #[derive(Default)]
    struct Sink {
        numbers: Vec<u64>,
        fail_at: Option<usize>,
        finished: bool,
    }

    impl FrameSink for Sink {
        fn write(&mut self, frame: &mut Frame) -> Result<()> {
            if self.fail_at == Some(self.numbers.len()) {
                return Err(anyhow!("the cable is cut"));
            }
            assert_eq!(frame.camera_id, "front");
            self.numbers.push(frame.number);
            Ok(())
        }

        fn viewers(&self) -> usize {
            1
        }

        fn finish(&mut self) -> Result<()> {
            self.finished = true;
            Ok(())
        }
    }

    fn plan(count: Option<u64>) -> Plan {
        Plan {
            camera_id: "front".to_owned(),
            policy: Policy { capacity: 1, buffers: 1, intra_only: true, wait: true },
            count,
            seconds: None,
            wait_viewers: 1,
            log: None,
            keys: KeyRequest::default(),
        }
    }

    fn source() -> Box<dyn Source> {
        Box::new(Fixed::new(1000, 0.0).unwrap())
    }

    #[test]
    fn every_frame_is_written_once_and_in_order() {
        let mut sink = Sink::default();
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log.csv");
        let plan = Plan { log: Some(log.clone()), ..plan(Some(50)) };
        let totals = run(source(), &mut sink, &plan, &Stop::default()).unwrap();
        assert_eq!(sink.numbers, (0..50).collect::<Vec<_>>());
        assert!(sink.finished);
        assert_eq!((totals.frames, totals.bytes, totals.dropped), (50, 50_000, 0));
        assert_eq!(std::fs::read_to_string(log).unwrap().lines().count(), 51);
    }

    #[test]
    fn a_failing_writer_ends_the_source_too() {
        let mut sink = Sink { fail_at: Some(5), ..Sink::default() };
        let error = run(source(), &mut sink, &plan(None), &Stop::default()).err().unwrap();
        assert_eq!(error.to_string(), "the cable is cut");
        assert!(!sink.finished);
    }

    #[test]
    fn the_wish_to_stop_ends_it() {
        let stop = Stop::default();
        stop.set();
        let totals = run(source(), &mut Sink::default(), &plan(None), &stop).unwrap();
        assert_eq!(totals.frames, 0);
        let late = Plan { wait_viewers: 2, ..plan(None) };
        assert_eq!(run(source(), &mut Sink::default(), &late, &stop).unwrap().frames, 0);
    }
}
