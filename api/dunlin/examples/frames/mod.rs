//! The type of the frames and what Linux says about this process.
#![allow(dead_code, reason = "each program uses a part")]

use std::fs;

use dunlin::DdsType;

/// Name of the topic.
pub const TOPIC: &str = "Frames";

/// A picture of any size.
#[derive(DdsType, Clone, Debug, Default)]
pub struct Frame {
    /// Counts from 0.
    pub number: u32,
    /// As many as the link or the rate allows.
    pub octets: Vec<u8>,
}

/// The argument at `index` as a number, or `default`.
pub fn argument(index: usize, default: usize) -> usize {
    std::env::args().nth(index).map_or(default, |text| text.parse().expect("a number"))
}

/// Octets that left through all network interfaces but loopback; Ethernet headers are counted.
pub fn sent_octets() -> u64 {
    let table = fs::read_to_string("/proc/net/dev").unwrap_or_default();
    let interfaces = table.lines().filter_map(|line| line.split_once(':'));
    let columns = interfaces.filter(|(name, _)| name.trim() != "lo").map(|(_, columns)| columns);
    columns.filter_map(|columns| columns.split_whitespace().nth(8)?.parse::<u64>().ok()).sum()
}

/// Processor time of this process so far, in seconds.
pub fn processor_seconds() -> f64 {
    let text = fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let main = text.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or_default();
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let of_task = |task: fs::DirEntry| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    };
    let sum: f64 = tasks.filter_map(of_task).sum();
    sum.max(main) / 1e9
}

/// The most memory this process has had resident, in MB (10⁶ octets).
pub fn peak_megabytes() -> f64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or_default() * 1024.0 / 1e6
}
