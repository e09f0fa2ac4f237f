//! The rows that both kinds of report show.

use crate::compare::what;
use crate::results::{Measured, Results, judged_by};
use crate::scenario::Kind;

/// A table of like cells.
pub(crate) struct Table {
    pub(crate) title: String,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Row>,
    /// What went wrong, a line each.
    pub(crate) failures: Vec<String>,
}

/// An implementation in a table.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) values: Vec<String>,
}

/// The figures of each kind with their units, the judged one first.
pub(crate) fn columns(kind: Kind) -> &'static [(&'static str, &'static str)] {
    match kind {
        Kind::Latency => &[
            ("mean", "mean, µs"),
            ("min", "min"),
            ("p50", "median"),
            ("p90", "p90"),
            ("p99", "p99"),
            ("p99.9", "p99.9"),
            ("max", "max"),
            ("stddev", "jitter (σ)"),
            ("cpu_us_per_round_trip", "CPU µs per round trip"),
        ],
        Kind::OneWay => &[
            ("mean", "mean, µs"),
            ("min", "min"),
            ("p50", "median"),
            ("p99", "p99"),
            ("max", "max"),
            ("stddev", "jitter (σ)"),
            ("lost_percent", "lost %"),
            ("cpu_us_per_sample_written", "CPU µs per sample, writer"),
            ("cpu_us_per_sample_read", "reader"),
        ],
        Kind::Throughput => &[
            ("samples_per_s", "samples/s"),
            ("gbit_per_s", "Gbit/s"),
            ("lost_percent", "lost %"),
            ("cpu_us_per_sample_written", "CPU µs per sample, writer"),
            ("cpu_us_per_sample_read", "reader"),
            ("writer_peak_rss_mb", "writer's peak MB"),
        ],
        Kind::Discovery => &[
            ("matched_ms", "matched, ms"),
            ("opened_ms", "of which opening"),
            ("cpu_ms", "CPU ms"),
            ("rss_mb", "MB"),
        ],
        Kind::Footprint => {
            &[("rss_mb", "MB"), ("threads", "threads"), ("idle_cpu_percent", "processor at rest, %")]
        }
    }
}

/// One table per group of cells.
pub(crate) fn tables(results: &Results) -> Vec<Table> {
    results.groups().iter().filter_map(|group| table(results, group)).collect()
}

fn table(results: &Results, group: &[&Measured]) -> Option<Table> {
    let first = group.first()?;
    let kind = results.measure(first)?.kind;
    let figures = columns(kind);
    let mut headings: Vec<String> = figures.iter().map(|(_, heading)| (*heading).to_string()).collect();
    headings.push(format!("{} over {}", judged_by(kind).0, first.implementation));
    let row = |cell: &&&Measured| {
        let mut values: Vec<String> = figures.iter().map(|(name, _)| shown(cell.figure(name))).collect();
        values.push(ratio(cell, first, kind));
        Row { name: cell.implementation.clone(), values }
    };
    let failures = group.iter().filter_map(|cell| {
        let (why, how_many) = cell.failure()?;
        Some(format!(
            "{}: {how_many} of {} repetitions failed: {why}",
            cell.implementation,
            cell.repetitions.len()
        ))
    });
    Some(Table {
        title: what(results, first),
        columns: headings,
        rows: group.iter().filter(|cell| !cell.repetitions.is_empty()).map(|cell| row(&cell)).collect(),
        failures: failures.collect(),
    })
}

fn shown(figure: Option<(f64, f64, f64)>) -> String {
    figure.map_or("–".to_string(), |(median, ..)| number(median))
}

fn ratio(cell: &Measured, first: &Measured, kind: Kind) -> String {
    if cell.implementation == first.implementation {
        return "1".to_string();
    }
    match cell.over(first, judged_by(kind).0) {
        None => "–".to_string(),
        Some(ratio) => match ratio.interval {
            Some((low, high)) => {
                format!("{} [{}…{}]", number(ratio.mean), number(low), number(high))
            }
            None => number(ratio.mean),
        },
    }
}

/// Three digits that mean something, with thousands set apart.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    let text = if size >= 100.0 {
        format!("{value:.0}")
    } else if size >= 10.0 {
        format!("{value:.1}")
    } else if size >= 0.01 || size == 0.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.4}")
    };
    let (whole, rest) =
        text.split_once('.').map_or((text.as_str(), String::new()), |(w, r)| (w, format!(".{r}")));
    let digits: Vec<char> = whole.chars().collect();
    let mut grouped = String::new();
    for (at, digit) in digits.iter().enumerate() {
        if at > 0
            && (digits.len() - at).is_multiple_of(3)
            && *digit != '-'
            && digits.get(at - 1) != Some(&'-')
        {
            grouped.push('\u{202f}');
        }
        grouped.push(*digit);
    }
    grouped + &rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_that_mean_something() {
        let shown = [1_234_567.8, 999.4, 42.25, 2.34159, 0.5, 0.0, 0.00123].map(number);
        assert_eq!(shown, ["1\u{202f}234\u{202f}568", "999", "42.2", "2.34", "0.50", "0.00", "0.0012"]);
    }
}
