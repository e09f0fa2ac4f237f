//! Which figures of a results file are shown, and what they are called.

use crate::scenario::Kind;

/// Names of figures with their titles.
type Columns = &'static [(&'static str, &'static str)];

/// The figures of each kind with their units, the judged one first.
pub(crate) const fn columns(kind: Kind) -> Columns {
    match kind {
        Kind::Latency => LATENCY,
        Kind::OneWay => ONE_WAY,
        Kind::Throughput => THROUGHPUT,
        Kind::Discovery => DISCOVERY,
        Kind::Footprint => FOOTPRINT,
        Kind::Fleet => FLEET,
        Kind::Applications => APPLICATIONS,
    }
}

const LATENCY: Columns = &[
    ("mean", "mean, µs"),
    ("min", "min"),
    ("p50", "median"),
    ("p90", "p90"),
    ("p99", "p99"),
    ("p99.9", "p99.9"),
    ("max", "max"),
    ("stddev", "jitter (σ)"),
    ("cpu_us_per_round_trip", "CPU µs per round trip"),
    ("system_calls_per_round_trip", "system calls per round trip"),
    ("rss_mb", "MB"),
    ("frames", "datagrams per round trip"),
    ("cpu_us", "CPU µs per round trip, all processes"),
    ("cpu_us_near", "first host"),
    ("cpu_us_far", "second host"),
    ("cpu_us_hubs", "of server and daemons"),
    ("all_mb", "MB of all processes"),
    ("hubs_mb", "of server and daemons"),
];

const ONE_WAY: Columns = &[
    ("mean", "mean, µs"),
    ("min", "min"),
    ("p50", "median"),
    ("p99", "p99"),
    ("max", "max"),
    ("stddev", "jitter (σ)"),
    ("lost_percent", "unseen %"),
    ("late_percent", "written late %"),
    ("write_ms", "write, ms"),
    ("write_spread_ms", "± (σ)"),
    ("cpu_us_per_sample_written", "CPU µs per sample, writer"),
    ("cpu_us_per_sample_read", "reader"),
    ("system_calls_per_sample_written", "system calls per sample, writer"),
    ("system_calls_per_sample_read", "reader"),
    ("frames", "datagrams per sample"),
    ("cpu_us", "CPU µs per sample, all processes"),
    ("cpu_us_near", "writer's host"),
    ("cpu_us_far", "reader's host"),
    ("cpu_us_hubs", "of server and daemons"),
    ("all_mb", "MB of all processes"),
    ("hubs_mb", "of server and daemons"),
];

const THROUGHPUT: Columns = &[
    ("samples_per_s", "samples/s"),
    ("gbit_per_s", "Gbit/s"),
    ("line_percent", "goodput, % of the line"),
    ("wire_mbit_per_s", "Mbit/s on the wire"),
    ("lost_percent", "lost %"),
    ("write_ms", "write, ms"),
    ("write_spread_ms", "± (σ)"),
    ("cpu_us_per_sample_written", "CPU µs per sample, writer"),
    ("cpu_us_per_sample_read", "reader"),
    ("system_calls_per_sample_written", "system calls per sample, writer"),
    ("system_calls_per_sample_read", "reader"),
    ("writer_rss_mb", "writer's MB"),
    ("writer_peak_rss_mb", "its peak"),
    ("reader_rss_mb", "reader's MB"),
    ("reader_peak_rss_mb", "its peak"),
    ("frames", "datagrams per sample"),
    ("cpu_us", "CPU µs per sample, all processes"),
    ("cpu_us_near", "writer's host"),
    ("cpu_us_far", "reader's host"),
    ("cpu_us_hubs", "of server and daemons"),
    ("all_mb", "MB of all processes"),
    ("hubs_mb", "of server and daemons"),
];

const DISCOVERY: Columns = &[
    ("matched_ms", "matched, ms"),
    ("opened_ms", "of which opening"),
    ("cpu_ms", "CPU ms"),
    ("rss_mb", "MB"),
];

const FOOTPRINT: Columns =
    &[("rss_mb", "MB"), ("threads", "threads"), ("idle_cpu_percent", "processor at rest, %")];

const FLEET: Columns = &[
    ("pss_mb", "MB of a process, its part of shared pages"),
    ("rss_mb", "with all of them"),
    ("threads", "threads"),
    ("matched_ms", "all matched, ms"),
    ("cpu_ms", "CPU ms of a process until then"),
    ("idle_cpu_percent", "at rest, %"),
    ("frames", "datagrams per process until then"),
    ("cpu_us", "CPU µs per process until then, with server and daemons"),
    ("all_mb", "MB of all processes"),
    ("hubs_mb", "of server and daemons"),
];

const APPLICATIONS: Columns = &[
    ("cpu_us", "CPU µs per sample, all processes"),
    ("cpu_us_near", "writers' host"),
    ("cpu_us_far", "readers' host"),
    ("cpu_us_hubs", "of server and daemons"),
    ("frames", "datagrams per sample"),
    ("p50", "median on the way, µs"),
    ("p99", "p99"),
    ("max", "max"),
    ("lost_percent", "lost %"),
    ("samples_per_s", "samples/s"),
    ("all_mb", "MB of all processes"),
    ("hubs_mb", "of server and daemons"),
];
