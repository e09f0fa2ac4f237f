//! What the kernel counts for a process: processor time, memory, threads, system calls.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};

/// Ticks per second in `/proc`, the same on every Linux.
const TICKS: f64 = 100.0;

/// What a process has used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Usage {
    /// Processor time, seconds.
    pub(crate) cpu: f64,
    /// Memory in use and at its highest, octets.
    pub(crate) rss: f64,
    pub(crate) peak: f64,
    pub(crate) threads: f64,
}

pub(crate) fn usage(pid: u32) -> Result<Usage> {
    let read =
        |file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).context("the process has ended");
    let (stat, status) = (read("stat")?, read("status")?);
    let mut usage = parse_usage(&stat, &status).context("the kernel's figures cannot be read")?;
    // Nanoseconds of the threads there are, where the kernel keeps them: ticks of 10 ms are coarse.
    usage.cpu = fine_cpu(pid).filter(|fine| (fine - usage.cpu).abs() < 0.03).unwrap_or(usage.cpu);
    Ok(usage)
}

/// Memory of a process in octets, each page that it has in common with others counted in part: the sum over all processes is
/// what they take of the host.
pub(crate) fn proportional_memory(pid: u32) -> Result<f64> {
    let text =
        std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).context("the process has ended")?;
    parse_proportional(&text).context("the kernel's figures cannot be read")
}

fn parse_proportional(rollup: &str) -> Option<f64> {
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    Some(line.split_ascii_whitespace().next()?.parse::<f64>().ok()? * 1024.0)
}

fn fine_cpu(pid: u32) -> Option<f64> {
    let mut nanos = 0.0;
    for task in std::fs::read_dir(format!("/proc/{pid}/task")).ok()? {
        let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        nanos += text.split_ascii_whitespace().next()?.parse::<f64>().ok()?;
    }
    Some(nanos / 1e9)
}

fn parse_usage(stat: &str, status: &str) -> Option<Usage> {
    // The name of the program, in brackets, may hold anything.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<f64>().ok();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_ascii_whitespace().next()?.parse::<f64>().ok()
    };
    Some(Usage {
        cpu: (ticks(11)? + ticks(12)?) / TICKS,
        rss: field("VmRSS:")? * 1024.0,
        peak: field("VmHWM:")? * 1024.0,
        threads: field("Threads:")?,
    })
}

/// Counts the system calls of a process from now on. The process is slowed by that, so nothing else is measured then.
pub(crate) struct Calls {
    strace: Child,
    summary: PathBuf,
}

impl Calls {
    /// Whether calls can be counted on this machine, or why not.
    pub(crate) fn available() -> Result<()> {
        let run = Command::new("strace").arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status();
        let status = run.context("the program strace is not there")?;
        ensure!(status.success(), "strace does not work");
        Ok(())
    }

    pub(crate) fn count(pid: u32, summary: &Path) -> Result<Self> {
        let mut strace = Command::new("strace")
            .args(["-f", "-c", "-U", "calls,name", "-o"])
            .arg(summary)
            .args(["-p", &pid.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("starting strace")?;
        // It says when it is attached, or why it cannot be.
        let mut line = String::new();
        let errors = strace.stderr.take().context("no errors")?;
        let mut errors = BufReader::new(errors);
        errors.by_ref().take(1_000).read_line(&mut line)?;
        let calls = Self { strace, summary: summary.to_path_buf() };
        if !line.contains("attached") {
            bail!("{}", line.trim());
        }
        // More is said about threads that come; nobody needs it, but it must go somewhere.
        std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::sink()));
        Ok(calls)
    }

    /// The number of calls until now.
    pub(crate) fn total(mut self) -> Result<f64> {
        self.interrupt();
        let deadline = Instant::now() + Duration::from_secs(10);
        while self.strace.try_wait()?.is_none() {
            ensure!(Instant::now() < deadline, "strace does not end");
            std::thread::park_timeout(Duration::from_millis(2));
        }
        parse_calls(&std::fs::read_to_string(&self.summary)?).context("strace's summary cannot be read")
    }

    fn interrupt(&self) {
        let _ = kill_process(Pid::from_child(&self.strace), Signal::INT);
    }
}

impl Drop for Calls {
    fn drop(&mut self) {
        if matches!(self.strace.try_wait(), Ok(None)) {
            self.interrupt();
        }
        let _ = self.strace.wait();
    }
}

/// The sum in strace's table. Without any call there is no table.
fn parse_calls(summary: &str) -> Option<f64> {
    let total = summary.lines().find(|line| line.trim_end().ends_with(" total"));
    match total {
        Some(line) => line.split_ascii_whitespace().next()?.parse().ok(),
        None => summary.trim().is_empty().then_some(0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_figures_are_read() {
        let stat = "1 (a) b) S 1 1 1 0 -1 4194560 1 2 3 4 250 50 0 0 20 0 3 0 1 1 1";
        let status = "Name:\ta\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\nThreads:\t3\n";
        let expected = Usage { cpu: 3.0, rss: 1_048_576.0, peak: 2_097_152.0, threads: 3.0 };
        assert_eq!(parse_usage(stat, status), Some(expected));
        let own = usage(std::process::id()).unwrap();
        assert!(own.threads >= 1.0);
        assert_eq!(
            parse_proportional("55-7f ---p 0 00:00 0 [rollup]\nRss: 9 kB\nPss:   2 kB\n"),
            Some(2_048.0)
        );
        assert!((1.0..=own.peak).contains(&proportional_memory(std::process::id()).unwrap()));
    }

    #[test]
    fn the_sum_of_system_calls_is_read() {
        let table = "    calls syscall\n--------- ---------\n     1000 sendto\n      999 recvfrom\n--------- ---------\n     1999 total\n";
        assert_eq!(parse_calls(table), Some(1_999.0));
        assert_eq!(parse_calls(""), Some(0.0));
        assert_eq!(parse_calls("nonsense"), None);
    }
}
