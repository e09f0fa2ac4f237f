//! A viewer from beginning to end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use dunlin_program::Stop;

use super::camera::CameraStatus;
use super::hub::{Hub, Totals};
use super::save::Saver;
use super::server;
use super::{FrameSource, Publisher, ReaderSettings};
use crate::cli;
use crate::stats::human_bits;

/// How long one look for frames takes.
const LOOK: Duration = Duration::from_millis(100);

/// When a viewer ends, and what it says until then.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// After this many seconds.
    pub seconds: Option<f64>,
    /// After this many frames.
    pub frames: Option<u64>,
    /// Statistics every second.
    pub print: bool,
}

/// Views as `args` say; `open` makes the reader.
///
/// # Errors
/// When reader, page or files fail, or when a limit was given and no frame came.
pub fn run<S: FrameSource>(
    args: &cli::View,
    stop: &Stop,
    open: impl FnOnce(&ReaderSettings) -> Result<S>,
) -> Result<()> {
    let settings = ReaderSettings {
        domain: args.place.domain,
        topic: args.place.topic.clone(),
        reliability: args.reliability,
    };
    let mut source = open(&settings)?;
    let hub = Hub::new(args.camera.clone());
    let saver = args.save.as_deref().map(Saver::new).transpose()?;
    let server = match args.headless {
        true => None,
        false => Some(server::start(server::bind(args.bind)?, hub.clone())?),
    };
    dunlin_program::say!("viewing topic \"{}\", domain {}", settings.topic, settings.domain);
    if let Some(server) = &server {
        dunlin_program::say!("open {}", server.url());
    }
    let limits = Limits { seconds: args.seconds, frames: args.frames, print: args.headless };
    pump(&mut source, &hub, saver, limits, stop)?;
    let totals = hub.totals();
    dunlin_program::say!("{}", summary(&totals));
    let limited = args.seconds.is_some() || args.frames.is_some();
    ensure!(
        totals.received > 0 || !limited,
        "no frame came: is somebody publishing on topic \"{}\" in domain {}?{}",
        settings.topic,
        settings.domain,
        problems(&source.publishers()?)
    );
    Ok(())
}

/// The last line of a viewer.
#[must_use]
pub fn summary(totals: &Totals) -> String {
    let p50 = totals.latency.percentile_ms(50.0);
    format!("received {} frames, lost {}, latency p50 {p50:.1} ms", totals.received, totals.lost)
}

/// Takes frames from `source` to `hub` until a limit is reached or `stop` is set.
///
/// # Errors
/// When nothing can be received any more or a file cannot be written.
pub fn pump(
    source: &mut dyn FrameSource,
    hub: &Arc<Hub>,
    mut saver: Option<Saver>,
    limits: Limits,
    stop: &Stop,
) -> Result<()> {
    let started = Instant::now();
    let deadline = limits.seconds.map(|seconds| started + Duration::from_secs_f64(seconds));
    let mut left = limits.frames.unwrap_or(u64::MAX);
    let mut next_tick = started + Duration::from_secs(1);
    let mut told = Vec::new();
    let mut batch = Vec::new();
    hub.tick(source.publishers()?, started);
    while left > 0 && !stop.is_set() && deadline.is_none_or(|deadline| Instant::now() < deadline) {
        let until = deadline.map_or(next_tick, |deadline| deadline.min(next_tick));
        source.receive(LOOK.min(until.saturating_duration_since(Instant::now())), &mut batch)?;
        for received in batch.drain(..) {
            if left > 0 && hub.on_frame(&received, Instant::now()) {
                left -= 1;
                if let Some(saver) = &mut saver {
                    saver.save(&received)?;
                }
            }
        }
        let now = Instant::now();
        if now >= next_tick {
            next_tick = now + Duration::from_secs(1);
            let publishers = source.publishers()?;
            tell_problems(&publishers, &mut told);
            hub.tick(publishers, now);
            if limits.print {
                hub.status().cameras.iter().for_each(|camera| dunlin_program::say!("{}", line(camera)));
            }
        }
    }
    saver.map_or(Ok(()), Saver::finish)
}

fn line(camera: &CameraStatus) -> String {
    let latency = match (camera.latency_p50, camera.latency_p99) {
        (Some(p50), Some(p99)) => format!("latency p50 {p50:.1} ms p99 {p99:.1} ms"),
        _ => "latency unknown".to_owned(),
    };
    format!(
        "{}: {}x{} {}, {:.1} frames/s, {}, {latency}, received {}, lost {}",
        camera.id.escape_debug(),
        camera.width,
        camera.height,
        camera.encoding,
        camera.fps,
        human_bits(camera.bitrate),
        camera.received,
        camera.lost
    )
}

fn problem(publisher: &Publisher) -> Option<String> {
    let problem = publisher.problem.as_ref()?;
    let camera = publisher.camera.as_deref().unwrap_or("of unknown name");
    Some(format!("nothing comes from camera {}: {problem}", camera.escape_debug()))
}

/// Tells each problem once.
fn tell_problems(publishers: &[Publisher], told: &mut Vec<String>) {
    for problem in publishers.iter().filter_map(problem) {
        if told.len() < 100 && !told.contains(&problem) {
            dunlin_program::tell!("{problem}");
            told.push(problem);
        }
    }
}

fn problems(publishers: &[Publisher]) -> String {
    publishers.iter().filter_map(problem).map(|problem| format!("\n{problem}")).collect()
}
