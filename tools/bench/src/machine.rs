//! What a figure cannot be understood without: the machine and its settings.

use std::collections::BTreeMap;
use std::fs::read_to_string;

/// Settings of the kernel that change results.
const SETTINGS: &[&str] = &[
    "net/core/rmem_default",
    "net/core/rmem_max",
    "net/core/wmem_default",
    "net/core/wmem_max",
    "net/core/busy_read",
];

/// The machine, its kernel and the settings that matter.
#[must_use]
pub fn describe() -> BTreeMap<String, String> {
    let mut machine = BTreeMap::new();
    let mut note = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            machine.insert(name.to_string(), value);
        }
    };
    let first = |file: &str, key: &str| {
        let text = read_to_string(file).ok()?;
        let line = text.lines().find(|line| line.starts_with(key))?;
        Some(line.split_once(':')?.1.trim().to_string())
    };
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    note("processors", Some(processors.to_string()));
    note("processor", first("/proc/cpuinfo", "model name"));
    note("memory", first("/proc/meminfo", "MemTotal"));
    note("kernel", read_to_string("/proc/sys/kernel/osrelease").ok().map(|text| text.trim().to_string()));
    note("load average before", Some(load()));
    note(
        "virtual machine",
        first("/proc/cpuinfo", "flags").map(|flags| flags.contains("hypervisor").to_string()),
    );
    for setting in SETTINGS {
        let value = read_to_string(format!("/proc/sys/{setting}")).ok();
        note(&setting.replace('/', "."), value.map(|text| text.trim().to_string()));
    }
    machine
}

/// How busy the machine is: the load of the last 1, 5 and 15 minutes.
#[must_use]
pub fn load() -> String {
    let text = read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_ascii_whitespace().take(3).collect::<Vec<_>>().join(" ")
}
