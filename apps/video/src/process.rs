//! What this process costs: processor time and memory.

/// Processor time and memory of this process; zero where the system does not tell.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// Processor time of all threads since the start, in seconds.
    pub cpu_seconds: f64,
    /// Memory in use now, in octets.
    pub rss: u64,
    /// The most memory ever in use, in octets.
    pub rss_peak: u64,
}

/// Asks the system what this process has cost so far.
#[must_use]
pub fn cost() -> Cost {
    let (rss, rss_peak) = memory();
    Cost { cpu_seconds: cpu_seconds(), rss, rss_peak }
}

#[cfg(target_os = "linux")]
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

#[cfg(target_os = "linux")]
fn memory() -> (u64, u64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    (status_kib(&status, "VmRSS:") * 1024, status_kib(&status, "VmHWM:") * 1024)
}

#[cfg(target_os = "linux")]
fn status_kib(status: &str, name: &str) -> u64 {
    status
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .and_then(|rest| rest.split_whitespace().next())
        .and_then(|number| number.parse().ok())
        .unwrap_or(0)
}

#[cfg(not(target_os = "linux"))]
fn cpu_seconds() -> f64 {
    0.0
}

#[cfg(not(target_os = "linux"))]
fn memory() -> (u64, u64) {
    (0, 0)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn status_lines_are_found() {
        let status = "Name:\tx\nVmHWM:\t    5120 kB\nVmRSS:\t    4096 kB\n";
        assert_eq!(status_kib(status, "VmRSS:"), 4096);
        assert_eq!(status_kib(status, "VmHWM:"), 5120);
        assert_eq!(status_kib(status, "VmNone:"), 0);
    }

    #[test]
    fn process_cost_reports_resident_memory() {
        let cost = cost();
        assert!(cost.rss > 0 && cost.rss_peak >= cost.rss);
    }
}
