//! All parts as processes of this host.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use dunlin_program::{Stop, say};
use dunlin_video::child::Child;

use crate::cli::Run;

/// How often the processes are looked after.
const LOOK: Duration = Duration::from_millis(100);
/// Names of the first cameras.
const CAMERAS: [&str; 4] = ["front", "yard", "gate", "hall"];

/// Runs everything until the time is over, a part ends, or it is told to stop.
///
/// # Errors
/// When a part cannot be started, ends too early, or fails.
pub fn run(arguments: &Run, stop: &Stop) -> Result<()> {
    let mut children = Vec::new();
    // Whoever reads comes before who writes: then the first picture is recorded.
    let parts = parts(arguments);
    for (name, words) in &parts {
        children.push(Child::start(name, words, |_| true)?);
    }
    match arguments.seconds {
        Some(seconds) => say!("ends after {seconds} s"),
        None => say!("Ctrl-C ends all of them"),
    }
    let end = arguments.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut early = None;
    while early.is_none() && end.is_none_or(|end| Instant::now() < end) && !stop.wait(LOOK) {
        for child in &mut children {
            if let Some(status) = child.ended()? {
                early = Some((child.name().to_owned(), status));
            }
        }
    }
    // Cameras end first, the recorder last.
    let mut result = Ok(());
    for child in children.iter_mut().rev() {
        let ended = child.end();
        result = result.and(ended.map(drop));
    }
    if let Some((name, status)) = early {
        bail!("{name} has ended by itself ({status})");
    }
    result
}

/// A child ends with this process, however that ends.
fn words(all: &[&str]) -> Vec<OsString> {
    std::iter::once(&"--end-with-stdin").chain(all).map(Into::into).collect()
}

fn parts(arguments: &Run) -> Vec<(String, Vec<OsString>)> {
    let (inner, outer) = (arguments.inner.to_string(), arguments.outer.to_string());
    let mut record = words(&["record", "--domain", &inner, "--folder"]);
    record.push(arguments.folder.clone().into());
    let mut parts = vec![
        ("recorder".to_owned(), record),
        ("router".to_owned(), words(&["route", "--inner", &inner, "--outer", &outer])),
    ];
    for n in 1..=arguments.monitors {
        let port = match arguments.port {
            0 => 0,
            first => first.saturating_add(u16::try_from(n - 1).unwrap_or(u16::MAX)),
        };
        let (name, bind) = (format!("monitor-{n}"), format!("127.0.0.1:{port}"));
        parts.push((name.clone(), words(&["monitor", "--domain", &outer, "--name", &name, "--bind", &bind])));
    }
    for n in 0..arguments.cameras {
        let name = CAMERAS.get(n).map_or_else(|| format!("camera-{}", n + 1), |name| (*name).to_owned());
        let camera = ["camera", "--pattern", "--encoding", "mjpeg", "--camera-id", &name, "--domain", &inner];
        let picture = ["--size", arguments.size.as_str(), "--rate", arguments.rate.as_str()];
        parts.push((name.clone(), words(&[&camera[..], &picture[..]].concat())));
    }
    parts
}
