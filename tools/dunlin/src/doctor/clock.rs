//! The clocks: source timestamps, LIFESPAN and DESTINATION_ORDER compare those of several hosts.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::report::Report;

/// 2024-01-01: before that the clock was never set.
const PLAUSIBLE: Duration = Duration::from_secs(1_704_067_200);
/// Clock sources that are read without asking the kernel, and cheap ones of virtual machines.
const FAST: [&str; 5] =
    ["tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page", "riscv_clocksource"];
/// What time services leave behind once they have set the clock.
const SYNCHRONISED: [&str; 3] = ["/run/systemd/timesync/synchronized", "/run/chrony", "/run/ntpd.pid"];

/// Looks at wall clock and clock source.
pub fn check(report: &mut Report) {
    wall_clock(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok(), report);
    if SYNCHRONISED.iter().any(|path| Path::new(path).exists()) {
        report.ok("clock: a time service sets it");
    } else {
        report.note(
            "clock: no time service was found",
            "timestamps of several hosts are compared (LIFESPAN, DESTINATION_ORDER by source): install chrony or systemd-timesyncd if there are several",
        );
    }
    let source = fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    if let Ok(source) = source {
        clock_source(source.trim(), report);
    }
}

fn wall_clock(since_epoch: Option<Duration>, report: &mut Report) {
    match since_epoch {
        Some(time) if time >= PLAUSIBLE => report.ok("clock: the date is plausible"),
        _ => report.problem("clock: the date is before 2024", "set the clock"),
    }
}

fn clock_source(source: &str, report: &mut Report) {
    if FAST.contains(&source) {
        report.ok(format!("clock source: {source}"));
    } else {
        report.note(
            format!("clock source: {source}"),
            "each look at the clock costs a system call, so each sample is slower; see /sys/devices/system/clocksource/clocksource0/available_clocksource",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_never_set_is_a_problem_and_a_slow_one_worth_a_note() {
        let mut report = Report::default();
        wall_clock(None, &mut report);
        wall_clock(Some(Duration::from_secs(1)), &mut report);
        wall_clock(Some(PLAUSIBLE), &mut report);
        clock_source("hpet", &mut report);
        clock_source("tsc", &mut report);
        assert!(report.to_string().ends_with("2 ok, 1 note, 2 problems\n"), "{report}");
    }
}
