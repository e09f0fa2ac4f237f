//! Results as one HTML page that needs nothing else.

use super::chart::{Bar, Frame, Look, Series, bars, curves, escape};
use super::table::{Table, Verdict, method, notes, table, with_spread};
use crate::compare::what;
use crate::results::{Measured, Results, judged_by};
use crate::scenario::{Kind, Link, Measure, Placement, Scheduling, SetUp};
use std::fmt::Write;

/// Where a cell is on an axis.
type Place = fn(&Measured) -> usize;

const STYLE: &str = include_str!("style.css");

/// One page of one or several runs.
#[must_use]
pub fn html(runs: &[Results]) -> String {
    let mut page = format!(
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>\
         <meta name='viewport' content='width=device-width,initial-scale=1'>\
         <title>Benchmark of DDS implementations</title><style>{STYLE}</style></head><body>\
         <header><h1>Benchmark of DDS implementations</h1>"
    );
    for run in runs {
        let (id, about) = (escape(&run.scenario.id), escape(&run.scenario.about));
        let date = date(run.began);
        let _ = write!(page, "<p><b>{id}</b> · {date} · {}<br>{about}</p>", escape(&run.tool));
    }
    page.push_str("</header>");
    for (number, run) in runs.iter().enumerate() {
        section(&mut page, run, number);
    }
    page.push_str("</body></html>\n");
    page
}

/// A day as people write it, from seconds since 1970 (the calendar of H. Hinnant's `civil_from_days`).
fn date(seconds: u64) -> String {
    let days = (seconds / 86_400).min(100_000_000) + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (date, month_of_year) =
        (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = year + era * 400 + u64::from(month_of_year <= 2);
    let minutes = seconds / 60;
    format!("{year}-{month_of_year:02}-{date:02} {:02}:{:02} UTC", minutes / 60 % 24, minutes % 60)
}

fn section(page: &mut String, run: &Results, number: usize) {
    let parts = parts(run);
    let _ = write!(page, "<nav><a href='#v{number}'>Verdicts</a> ");
    for (at, (measure, set_up, _)) in parts.iter().enumerate() {
        let _ = write!(page, "<a href='#p{number}-{at}'>{}</a> ", escape(&heading(measure, *set_up)));
    }
    let _ = write!(page, "</nav><p>{}</p>", escape(&method(run)));
    for note in notes(run) {
        let _ = write!(page, "<p class='note'>{}</p>", escape(&note));
    }
    page.push_str("<div class='cards'>");
    card(page, "Implementations", run.versions.iter());
    card(page, "Machine", run.machine.iter());
    page.push_str("</div>");
    verdicts(page, run, number);
    for (at, (measure, set_up, cells)) in parts.iter().enumerate() {
        let _ = write!(
            page,
            "<h2 id='p{number}-{at}'>{}</h2><p class='soft'>{}</p>",
            escape(&heading(measure, *set_up)),
            escape(&conditions(measure))
        );
        pictures(page, run, measure, cells);
        for group in groups(cells) {
            if let Some(table) = table(run, &group) {
                rows(page, &table);
            }
        }
    }
}

/// Measures by where they took place, with their cells.
fn parts(run: &Results) -> Vec<(&Measure, SetUp, Vec<&Measured>)> {
    let mut parts = Vec::new();
    for (index, measure) in run.scenario.measures.iter().enumerate() {
        for set_up in &measure.set_ups {
            let name = set_up.to_string();
            let is_in = |cell: &&Measured| cell.measure == index && cell.set_up == name;
            parts.push((measure, *set_up, run.cells.iter().filter(is_in).collect()));
        }
    }
    parts
}

fn heading(measure: &Measure, set_up: SetUp) -> String {
    let kind = match measure.kind {
        Kind::Latency => "Round trip",
        Kind::OneWay => "One way",
        Kind::Throughput => "Throughput",
        Kind::Discovery => "Discovery",
        Kind::Footprint => return "At rest".to_string(),
    };
    let Link { mbit, loss } = measure.link;
    let mut text = format!("{kind}, {set_up}");
    if mbit > 0 {
        let _ = write!(text, ", {mbit} Mbit/s");
    }
    if loss > 0.0 {
        let _ = write!(text, ", {loss} % of frames lost");
    }
    if measure.rate > 0 {
        let _ = write!(
            text,
            ", {} per second{}",
            measure.rate,
            if measure.by_chance { " by chance" } else { "" }
        );
    }
    text
}

fn conditions(measure: &Measure) -> String {
    let mut words = vec![if measure.reliable { "Reliable" } else { "Best effort" }.to_string()];
    words.push(match measure.keep_last {
        0 => "KEEP_ALL".to_string(),
        depth => format!("KEEP_LAST {depth}"),
    });
    words.push("volatile".into());
    words.push(match measure.placement {
        Placement::TwoCores => "each side on a processor of its own".into(),
        Placement::OneCore => "both sides on one processor".into(),
        Placement::Free => "processors as the kernel likes".into(),
    });
    if measure.scheduling == Scheduling::RealTime {
        words.push("scheduled before normal processes".into());
    }
    match measure.kind {
        Kind::Latency => words.push(format!("{} round trips after {}", measure.count, measure.warm_up)),
        Kind::OneWay | Kind::Throughput | Kind::Footprint => words.push(format!("{} s", measure.seconds)),
        Kind::Discovery => words.push("from the opening of the second process to the last match".into()),
    }
    words.extend(measure.answer.map(|answer| format!("{answer} B come back")));
    words.join(", ") + "."
}

fn card<'a>(page: &mut String, title: &str, pairs: impl Iterator<Item = (&'a String, &'a String)>) {
    let _ = write!(page, "<div class='card'><h3>{title}</h3><dl>");
    for (name, value) in pairs {
        let _ = write!(page, "<dt>{}</dt><dd>{}</dd>", escape(name), escape(value));
    }
    page.push_str("</dl></div>");
}

/// All ratios in one table: the first implementation against each other one.
fn verdicts(page: &mut String, run: &Results, number: usize) {
    let Some((first, others)) = run.scenario.implementations.split_first() else { return };
    if others.is_empty() {
        return;
    }
    let _ = write!(
        page,
        "<h2 id='v{number}'>{name} against the others</h2><p class='soft'>Each field is {name} divided by the other one: mean \
         latency, samples per second, time to match, memory. Green: {name} is better and the 95 % interval shows it; red: \
         worse; grey: no verdict.</p><div class='scroll'><table><thead><tr><th></th>",
        name = escape(&first.name)
    );
    for other in others {
        let _ = write!(page, "<th>{}</th>", escape(&other.name));
    }
    page.push_str("</tr></thead><tbody>");
    for group in run.groups() {
        let Some(ours) = group.iter().find(|cell| cell.implementation == first.name) else { continue };
        let Some(measure) = run.measure(ours) else { continue };
        let _ = write!(page, "<tr><td>{}</td>", escape(&what(run, ours)));
        for other in others {
            let theirs = group.iter().find(|cell| cell.implementation == other.name);
            let (verdict, ratio) =
                theirs.map_or((Verdict::Nothing, None), |theirs| Verdict::of(ours, theirs, measure.kind));
            let (title, text) =
                (with_spread(ratio), ratio.map(|ratio| crate::statistics::Ratio { interval: None, ..ratio }));
            let _ = write!(
                page,
                "<td class='{}' title='{}'>{}</td>",
                verdict.class(),
                escape(&title),
                with_spread(text)
            );
        }
        page.push_str("</tr>");
    }
    page.push_str("</tbody></table></div>");
}

fn rows(page: &mut String, table: &Table) {
    let _ = write!(page, "<h4>{}</h4><div class='scroll'><table><thead><tr><th></th>", escape(&table.title));
    for column in &table.columns {
        let _ = write!(page, "<th>{}</th>", escape(column));
    }
    page.push_str("</tr></thead><tbody>");
    for (at, row) in table.rows.iter().enumerate() {
        let class = if at == 0 { " class='base'" } else { "" };
        let _ = write!(page, "<tr{class}><td>{}</td>", escape(&row.name));
        for (column, value) in row.values.iter().enumerate() {
            let is_ratio = column + 1 == row.values.len();
            let class = if is_ratio { format!(" class='{}'", row.verdict.class()) } else { String::new() };
            let _ = write!(page, "<td{class}>{}</td>", escape(value));
        }
        page.push_str("</tr>");
    }
    page.push_str("</tbody></table></div>");
    for failure in &table.failures {
        let _ = write!(page, "<p class='note'>{}</p>", escape(failure));
    }
    if !table.left_out.is_empty() {
        let _ = write!(page, "<p class='left-out'>{}</p>", escape(&table.left_out.join("; ")));
    }
}

/// Cells that differ in the implementation only, each group in the order of the scenario.
fn groups<'a>(cells: &[&'a Measured]) -> Vec<Vec<&'a Measured>> {
    let mut groups: Vec<Vec<&Measured>> = Vec::new();
    for cell in cells {
        match groups.iter_mut().find(|group| group.first().is_some_and(|first| first.is_like(cell))) {
            Some(group) => group.push(cell),
            None => groups.push(vec![cell]),
        }
    }
    groups
}

/// The looks of an implementation, the same in all pictures.
fn look<'a>(run: &'a Results, name: &str) -> Option<Look<'a>> {
    let all = &run.scenario.implementations;
    let number = all.iter().position(|one| one.name == name)?;
    Some(Look { name: &all.get(number)?.name, number })
}

/// Curves where there are several payloads, readers or numbers of topics, else bars; and distributions.
fn pictures(page: &mut String, run: &Results, measure: &Measure, cells: &[&Measured]) {
    page.push_str("<div class='figures'>");
    let axes: [(&str, usize, Place); 3] = [
        ("payload, octets", measure.payloads.len(), |cell| cell.payload),
        ("readers", measure.readers.len(), |cell| cell.readers),
        ("topics", measure.topics.len(), |cell| cell.topics),
    ];
    let long: Vec<_> = axes.iter().filter(|(_, length, _)| *length > 1).collect();
    match long.as_slice() {
        [(name, length, of)] if *length > 2 => over(page, run, measure.kind, cells, (name, *of)),
        _ => bar_pictures(page, run, measure.kind, cells),
    }
    if matches!(measure.kind, Kind::Latency | Kind::OneWay) {
        distributions(page, run, cells);
    }
    page.push_str("</div>");
}

fn over(page: &mut String, run: &Results, kind: Kind, cells: &[&Measured], axis: (&str, Place)) {
    let (x, of) = axis;
    let figures: &[(&str, &str, &str)] = match kind {
        Kind::Latency | Kind::OneWay => &[
            ("mean", "Mean", "µs"),
            ("stddev", "Jitter (standard deviation)", "µs"),
            ("p50", "Median", "µs"),
            ("p99", "99th percentile", "µs"),
        ],
        Kind::Throughput => &[
            ("samples_per_s", "Samples per second, the slowest reader", "samples/s"),
            ("gbit_per_s", "Data rate, the slowest reader", "Gbit/s"),
            ("cpu_us_per_sample_written", "Processor time of the writer", "µs per sample"),
        ],
        Kind::Discovery => {
            &[("matched_ms", "Time to match", "ms"), ("cpu_ms", "Processor time of both sides", "ms")]
        }
        Kind::Footprint => &[("rss_mb", "Memory", "MB"), ("idle_cpu_percent", "Processor at rest", "%")],
    };
    let mut places: Vec<usize> = cells.iter().map(|cell| of(cell)).collect();
    places.sort_unstable();
    places.dedup();
    let marks: Vec<(f64, String)> = places.iter().map(|place| (*place as f64, short(*place))).collect();
    for (figure, title, y) in figures {
        let points = |name: &str| {
            let mine = cells.iter().filter(|cell| cell.implementation == name);
            let mut points: Vec<(f64, f64)> =
                mine.filter_map(|cell| Some((of(cell) as f64, cell.figure(figure)?.0))).collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            points
        };
        let frame = Frame { title, x, y, marks: &marks, dots: true };
        picture(page, title, &curves(&frame, &series(run, points)));
    }
}

/// What has points, of all implementations.
fn series<'a>(run: &'a Results, points: impl Fn(&str) -> Vec<(f64, f64)>) -> Vec<Series<'a>> {
    let all = run.scenario.implementations.iter().filter_map(|one| look(run, &one.name));
    all.map(|look| Series { look, points: points(look.name) })
        .filter(|series| !series.points.is_empty())
        .collect()
}

fn bar_pictures(page: &mut String, run: &Results, kind: Kind, cells: &[&Measured]) {
    let (figure, unit, less) = judged_by(kind);
    for group in groups(cells) {
        let Some(first) = group.first() else { continue };
        let title = what(run, first);
        let bar = |cell: &&Measured| -> Option<Bar<'_>> {
            Some((look(run, &cell.implementation)?, cell.figure(figure)?))
        };
        let bars_of: Vec<Bar<'_>> = group.iter().filter_map(bar).collect();
        picture(page, &title, &bars(&title, unit, less, &bars_of));
    }
}

/// Percentiles from the median to where single samples are, the further the finer.
fn distributions(page: &mut String, run: &Results, cells: &[&Measured]) {
    let marks: Vec<(f64, String)> = [
        (2.0, "50 %"),
        (10.0, "90 %"),
        (100.0, "99 %"),
        (1_000.0, "99.9 %"),
        (1e4, "99.99 %"),
        (1e5, "99.999 %"),
    ]
    .map(|(at, text)| (at, text.to_string()))
    .into();
    for group in groups(cells) {
        let Some(first) = group.first() else { continue };
        let title = format!("Distribution: {}", what(run, first));
        let points = |name: &str| {
            let cell = group.iter().find(|cell| cell.implementation == name);
            cell.map_or(Vec::new(), |cell| tail(&cell.distribution()))
        };
        let frame = Frame {
            title: &title,
            x: "part of the samples that is faster",
            y: "µs",
            marks: &marks,
            dots: false,
        };
        picture(page, &title, &curves(&frame, &series(run, points)));
    }
}

/// For each bin: one in how many samples is as slow, and its microseconds. Enough points for a line.
fn tail(bins: &[(u64, u64)]) -> Vec<(f64, f64)> {
    let total = bins.iter().fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
    let mut faster = 0_u64;
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (nanos, count) in bins {
        faster = faster.saturating_add(*count);
        let slower = total - faster.min(total);
        if faster >= total.div_ceil(2) && slower > 0 {
            let point = (total as f64 / slower as f64, *nanos as f64 / 1_000.0);
            if points.last().is_none_or(|last| point.0 > last.0 * 1.01) {
                points.push(point);
            }
        }
    }
    points
}

fn picture(page: &mut String, caption: &str, svg: &str) {
    if !svg.is_empty() {
        let _ = write!(page, "<figure><figcaption>{}</figcaption>{svg}</figure>", escape(caption));
    }
}

fn short(size: usize) -> String {
    match size {
        0..1_024 => size.to_string(),
        size if size % 1_048_576 == 0 => format!("{} Mi", size / 1_048_576),
        size if size % 1_024 == 0 => format!("{} Ki", size / 1_024),
        _ => super::table::whole(size),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::tests::two;

    #[test]
    fn a_page_stands_alone_and_says_what_failed() {
        let mut results = two(&[10.0, 11.0, 10.0], &[20.0, 20.0, 20.0]);
        results.cells[1].repetitions[0].failure = Some("<script>".into());
        let page = html(&[results]);
        assert!(
            page.contains("two &lt;sides&gt;")
                && page.contains("b &amp; c")
                && page.contains("&lt;script&gt;")
        );
        assert!(!page.contains("<script") && !page.contains("http"), "nothing is loaded, nothing is run");
        assert!(page.contains("<svg") && page.contains("Distribution"), "{page}");
    }

    #[test]
    fn the_tail_begins_at_the_median() {
        let points = tail(&[(1_000, 50), (2_000, 40), (3_000, 9), (4_000, 1)]);
        assert_eq!(points, [(2.0, 1.0), (10.0, 2.0), (100.0, 3.0)]);
        assert!(tail(&[(1, u64::MAX), (2, u64::MAX)]).len() <= 1, "counts of strangers do not overflow");
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(1_709_251_140), "2024-02-29 23:59 UTC");
        assert!(date(u64::MAX).ends_with("UTC"));
    }
}
