//! Results as one HTML page that needs nothing else.

use super::chart::{Series, bars, curves, escape};
use super::table::{Table, tables};
use crate::results::{Measured, Results, judged_by};
use crate::scenario::Kind;
use std::fmt::Write;

const STYLE: &str = "\
body{font:15px/1.45 system-ui,sans-serif;max-width:1100px;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}\
h1{font-size:1.6rem}h2{margin-top:2.5rem;border-bottom:2px solid #0b6e99}h3{margin:1.6rem 0 .4rem}\
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.9rem}\
th,td{padding:.25rem .6rem;border-bottom:1px solid #ddd;text-align:right;white-space:nowrap}\
th:first-child,td:first-child{text-align:left}th{font-weight:600;white-space:normal;vertical-align:bottom}\
.scroll{overflow-x:auto}svg{width:100%;max-width:660px;height:auto;font-size:11px}\
svg.key{width:30px;height:10px}.legend span{margin-right:1.2em;white-space:nowrap}\
.failure{color:#a02010}dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;font-size:.9rem}dd{margin:0}\
figure{margin:1rem 0;break-inside:avoid}figcaption{font-weight:600}tr{break-inside:avoid}\
@media print{body{font-size:11px;max-width:none}}";

/// One page of one or several runs.
#[must_use]
pub fn html(runs: &[Results]) -> String {
    let mut page = format!(
        "<!doctype html><html lang='en'><meta charset='utf-8'>\
         <meta name='viewport' content='width=device-width,initial-scale=1'>\
         <title>Benchmark of DDS implementations</title><style>{STYLE}</style><h1>Benchmark of DDS implementations</h1>"
    );
    for run in runs {
        section(&mut page, run);
    }
    page.push_str("</html>\n");
    page
}

fn section(page: &mut String, run: &Results) {
    let _ = write!(page, "<h2>{}</h2><p>{}</p>", escape(&run.scenario.id), escape(&run.scenario.about));
    let _ = write!(
        page,
        "<p>Every cell was measured {} times with new processes; implementations took turns in an order by chance. Tables show \
         medians of the repetitions; a ratio is the mean over pairs measured one after the other, with its 95 % interval.</p>",
        run.scenario.repetitions
    );
    page.push_str("<dl>");
    for (name, value) in run.versions.iter().chain(&run.machine) {
        let _ = write!(page, "<dt>{}</dt><dd>{}</dd>", escape(name), escape(value));
    }
    page.push_str("</dl>");
    pictures(page, run);
    for table in tables(run) {
        rows(page, &table);
    }
}

fn rows(page: &mut String, table: &Table) {
    let _ = write!(page, "<h3>{}</h3><div class='scroll'><table><tr><th></th>", escape(&table.title));
    for column in &table.columns {
        let _ = write!(page, "<th>{}</th>", escape(column));
    }
    page.push_str("</tr>");
    for row in &table.rows {
        let _ = write!(page, "<tr><td>{}</td>", escape(&row.name));
        row.values.iter().for_each(|value| _ = write!(page, "<td>{}</td>", escape(value)));
        page.push_str("</tr>");
    }
    page.push_str("</table></div>");
    for failure in &table.failures {
        let _ = write!(page, "<p class='failure'>{}</p>", escape(failure));
    }
}

/// Curves where there are several payloads, bars and distributions for each of the others.
fn pictures(page: &mut String, run: &Results) {
    for (index, measure) in run.scenario.measures.iter().enumerate() {
        for set_up in &measure.set_ups {
            let set_up = set_up.to_string();
            let cells: Vec<&Measured> =
                run.cells.iter().filter(|cell| cell.measure == index && cell.set_up == set_up).collect();
            let title = format!("{}, {set_up}", measure.kind);
            let sized = measure.payloads.len() > 2 && measure.readers.len() == 1 && measure.topics.len() == 1;
            if sized {
                over_payloads(page, run, &cells, &title, measure.kind);
            } else {
                groups(page, &cells, &title, measure.kind);
            }
        }
    }
}

fn over_payloads(page: &mut String, run: &Results, cells: &[&Measured], title: &str, kind: Kind) {
    let figures: &[(&str, &str)] = match kind {
        Kind::Latency | Kind::OneWay => {
            &[("mean", "mean, µs"), ("stddev", "jitter (σ), µs"), ("p99", "p99, µs")]
        }
        _ => &[("samples_per_s", "samples/s"), ("gbit_per_s", "Gbit/s")],
    };
    let mut sizes: Vec<usize> = cells.iter().map(|cell| cell.payload).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let marks: Vec<(f64, String)> = sizes.iter().map(|size| (*size as f64, short(*size))).collect();
    for (figure, name) in figures {
        let series: Vec<Series> = run
            .scenario
            .implementations
            .iter()
            .map(|one| Series { name: one.name.clone(), points: points(cells, &one.name, figure) })
            .filter(|series| !series.points.is_empty())
            .collect();
        picture(page, &format!("{title}: {name}"), &curves(title, "payload, octets", name, &marks, &series));
    }
}

fn points(cells: &[&Measured], name: &str, figure: &str) -> Vec<(f64, f64)> {
    let mine = cells.iter().filter(|cell| cell.implementation == name);
    let mut points: Vec<(f64, f64)> =
        mine.filter_map(|cell| Some((cell.payload as f64, cell.figure(figure)?.0))).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

fn groups(page: &mut String, cells: &[&Measured], title: &str, kind: Kind) {
    let mut done: Vec<&Measured> = Vec::new();
    for first in cells {
        if done.iter().any(|other| other.is_like(first)) {
            continue;
        }
        done.push(first);
        let group: Vec<&&Measured> = cells.iter().filter(|cell| cell.is_like(first)).collect();
        let title =
            format!("{title}, {} B, readers: {}, topics: {}", first.payload, first.readers, first.topics);
        let (figure, unit, _) = judged_by(kind);
        let rows: Vec<(String, (f64, f64, f64))> = group
            .iter()
            .filter_map(|cell| Some((cell.implementation.clone(), cell.figure(figure)?)))
            .collect();
        picture(page, &format!("{title}: {figure}"), &bars(&title, unit, &rows));
        if matches!(kind, Kind::Latency | Kind::OneWay) {
            distribution(page, &title, &group);
        }
    }
}

/// Percentiles from the median to where single samples are, the further the finer.
fn distribution(page: &mut String, title: &str, group: &[&&Measured]) {
    let series: Vec<Series> = group
        .iter()
        .map(|cell| Series { name: cell.implementation.clone(), points: tail(&cell.distribution()) })
        .filter(|series| !series.points.is_empty())
        .collect();
    let marks: Vec<(f64, String)> =
        [(2.0, "50 %"), (10.0, "90 %"), (100.0, "99 %"), (1_000.0, "99.9 %"), (10_000.0, "99.99 %")]
            .map(|(at, text)| (at, text.to_string()))
            .into();
    let picture_text = curves(title, "part of the samples that is faster", "µs", &marks, &series);
    picture(page, &format!("{title}: distribution"), &picture_text);
}

/// For each bin: one in how many samples is as slow, and its microseconds.
fn tail(bins: &[(u64, u64)]) -> Vec<(f64, f64)> {
    let total: u64 = bins.iter().map(|(_, count)| count).sum();
    let mut faster = 0;
    let mut points = Vec::new();
    for (nanos, count) in bins {
        faster += count;
        let slower = total - faster;
        if faster * 2 >= total && slower > 0 {
            points.push((total as f64 / slower as f64, *nanos as f64 / 1_000.0));
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
        1_024..1_048_576 => format!("{}K", size / 1_024),
        _ => format!("{}M", size / 1_048_576),
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
        assert!(page.contains("<svg") && page.contains("distribution"), "{page}");
    }

    #[test]
    fn the_tail_begins_at_the_median() {
        let points = tail(&[(1_000, 50), (2_000, 40), (3_000, 9), (4_000, 1)]);
        assert_eq!(points, [(2.0, 1.0), (10.0, 2.0), (100.0, 3.0)]);
    }
}
