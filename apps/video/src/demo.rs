//! A publisher and a viewer as two processes, from one command.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::cli::{self, Place};
use crate::source::mp4::Mp4File;
use dunlin_program::Stop;

/// How often the two are looked after.
const LOOK: Duration = Duration::from_millis(100);
/// How long a process may take to end by itself.
const GRACE: Duration = Duration::from_secs(8);
/// How the last line of the viewer begins.
const SUMMARY: &str = "received ";

/// Runs both until the time is over, one of them ends, or `stop` is set. The last line is the viewer's summary.
///
/// # Errors
/// When a process cannot be started, ends too early, or fails.
pub fn run(args: &cli::Demo, stop: &Stop) -> Result<()> {
    let mut viewer = Process::start("viewer", &viewer_args(args), |line| !line.starts_with(SUMMARY))?;
    let mut publisher = Process::start("publisher", &publisher_args(args), |_| true)?;
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
        early = viewer.ended()?.or(publisher.ended()?);
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
    let mut out = vec!["view".into()];
    out.extend(place_args(&args.place));
    if let Some(bind) = args.bind {
        out.extend(["--bind".into(), bind.to_string().into()]);
    }
    out
}

fn publisher_args(args: &cli::Demo) -> Vec<OsString> {
    let mut out = vec!["publish".into()];
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

/// A child that ends when its standard input is closed, so that it never outlives this process.
struct Process {
    name: &'static str,
    child: Child,
    output: Option<JoinHandle<Option<String>>>,
}

impl Process {
    /// Starts this program anew. Its lines are shown where `shown` says so; the last other one is kept.
    fn start(name: &'static str, args: &[OsString], shown: fn(&str) -> bool) -> Result<Self> {
        let program = std::env::current_exe().context("where is this program?")?;
        let mut command = Command::new(program);
        command.args(args).arg("--end-with-stdin").stdin(Stdio::piped()).stdout(Stdio::piped());
        // Ctrl-C in the terminal goes to this process alone, which then ends the children one after the other.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().with_context(|| format!("cannot start the {name}"))?;
        let stdout = child.stdout.take().context("no output")?;
        let output = std::thread::spawn(move || relay(name, stdout, shown));
        Ok(Self { name, child, output: Some(output) })
    }

    fn ended(&mut self) -> Result<Option<(&'static str, ExitStatus)>> {
        let status = self.child.try_wait().with_context(|| format!("cannot watch the {}", self.name))?;
        Ok(status.map(|status| (self.name, status)))
    }

    /// Ends the child and waits for it; gives the line that was kept.
    fn end(&mut self) -> Result<Option<String>> {
        drop(self.child.stdin.take());
        let deadline = Instant::now() + GRACE;
        let status = loop {
            if let Some((_, status)) = self.ended()? {
                break status;
            }
            if Instant::now() >= deadline {
                let _ = self.child.kill();
                let _ = self.child.wait();
                bail!("the {} did not end within {} s and was killed", self.name, GRACE.as_secs());
            }
            // A child cannot be waited for with a deadline otherwise.
            std::thread::park_timeout(Duration::from_millis(10));
        };
        let kept = self.output.take().and_then(|output| output.join().ok()).flatten();
        ensure!(status.success(), "the {} has failed ({status})", self.name);
        Ok(kept)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn relay(name: &str, output: ChildStdout, shown: fn(&str) -> bool) -> Option<String> {
    let mut kept = None;
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        if shown(&line) {
            dunlin_program::say!("{name}: {line}");
        } else {
            kept = Some(line);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unusable_clip_is_told() {
        assert_eq!(usable(None), Err("no clip was given".to_owned()));
        let text = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(text.path(), "no video").unwrap();
        if !cfg!(feature = "gstreamer") {
            assert!(usable(Some(text.path())).unwrap_err().contains("not an MP4 file"));
        }
        assert!(usable(Some(Path::new("/none.mp4"))).unwrap_err().contains("cannot open"));
    }
}
