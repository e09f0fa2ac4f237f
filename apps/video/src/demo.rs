//! A publisher and a viewer as two processes, from one command.

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use dunlin_program::Stop;

use crate::child::Child;
use crate::cli::{self, Place};
use crate::source::mp4::Mp4File;

/// How often the two are looked after.
const LOOK: Duration = Duration::from_millis(100);
/// How the last line of the viewer begins.
const SUMMARY: &str = "received ";

/// Runs both until the time is over, one of them ends, or `stop` is set. The last line is the viewer's summary.
///
/// # Errors
/// When a process cannot be started, ends too early, or fails.
pub fn run(args: &cli::Demo, stop: &Stop) -> Result<()> {
    let mut viewer = Child::start("viewer", &viewer_args(args), |line| !line.starts_with(SUMMARY))?;
    let mut publisher = Child::start("publisher", &publisher_args(args), |_| true)?;
    dunlin_program::say!(
        "latency is the publisher's capture time against the viewer's clock: here both run on one host"
    );
    match args.seconds {
        Some(seconds) => dunlin_program::say!("ends after {seconds} s"),
        None => dunlin_program::say!("Ctrl-C ends both"),
    }
    let deadline = args.seconds.map(|seconds| Instant::now() + Duration::from_secs_f64(seconds));
    let mut early = None;
    while early.is_none() && deadline.is_none_or(|deadline| Instant::now() < deadline) && !stop.wait(LOOK) {
        for child in [&mut viewer, &mut publisher] {
            let ended = child.ended()?.map(|status| (child.name().to_owned(), status));
            early = early.or(ended);
        }
    }
    let viewed = viewer.end();
    let published = publisher.end();
    let (summary, _) = (viewed?, published?);
    if let Some((name, status)) = early {
        bail!("the {name} has ended by itself ({status})");
    }
    let summary = summary.context("the viewer has told nothing of what it received")?;
    dunlin_program::say!("{summary}");
    ensure!(!summary.starts_with("received 0 "), "no frame has reached the viewer");
    Ok(())
}

fn viewer_args(args: &cli::Demo) -> Vec<OsString> {
    let mut out = vec!["view".into(), "--end-with-stdin".into()];
    out.extend(place_args(&args.place));
    if let Some(bind) = args.bind {
        out.extend(["--bind".into(), bind.to_string().into()]);
    }
    out
}

fn publisher_args(args: &cli::Demo) -> Vec<OsString> {
    let mut out = vec!["publish".into(), "--end-with-stdin".into()];
    out.extend(place_args(&args.place));
    match usable(args.file.as_deref()) {
        Ok(file) => out.extend(["--file".into(), file.into()]),
        Err(reason) => {
            dunlin_program::say!("{reason}: showing the test pattern");
            out.extend(["--pattern".into(), "--size".into(), "1280x720".into()]);
            if !cfg!(feature = "h264") {
                out.extend(["--encoding".into(), "mjpeg".into()]);
            }
        }
    }
    out
}

fn place_args(place: &Place) -> [OsString; 4] {
    ["--domain".into(), place.domain.to_string().into(), "--topic".into(), place.topic.clone().into()]
}

/// The clip, when it can be played.
fn usable(file: Option<&Path>) -> Result<&Path, String> {
    let file = file.ok_or("no clip was given")?;
    if cfg!(feature = "gstreamer") && file.exists() {
        return Ok(file);
    }
    match Mp4File::open(file) {
        Ok(mp4) if mp4.b_frames && !cfg!(feature = "h264") => {
            Err(format!("{} has B-frames and this program cannot code it anew", file.display()))
        }
        Ok(_) => Ok(file),
        Err(error) => Err(format!("{error:#}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unusable_clip_is_reported() {
        assert_eq!(usable(None), Err("no clip was given".to_owned()));
        let text = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(text.path(), "no video").unwrap();
        if !cfg!(feature = "gstreamer") {
            assert!(usable(Some(text.path())).unwrap_err().contains("not an MP4 file"));
        }
        assert!(usable(Some(Path::new("/none.mp4"))).unwrap_err().contains("cannot open"));
    }
}
