//! One table for a whole part of a run: who, over payloads, readers or topics.

use super::figures::{groups, parts};
use super::html::{conditions, heading};
use super::table::{failures, left_out, number, waits, whole};
use crate::results::{Measured, Results, judged_by};
use crate::scenario::{Contender, Kind, Measure, SetUp};

/// A part whose cells differ in one thing besides the implementation.
pub(crate) struct Matrix {
    pub(crate) title: String,
    /// What the values are, and under which conditions.
    pub(crate) about: String,
    pub(crate) columns: Vec<String>,
    /// Each implementation with its values.
    pub(crate) rows: Vec<(String, Vec<String>)>,
    /// What failed, and who has no row and why, a line each.
    pub(crate) lines: Vec<String>,
}

/// Adapters that show how fast it could be: nothing is behind them, so they are not among those that are compared.
const FLOORS: [&str; 2] = ["udp", "shm"];

/// The parts of a run that make matrices, and the groups of cells of all others.
pub(crate) fn matrices(run: &Results) -> (Vec<Matrix>, Vec<Vec<&Measured>>) {
    let (mut made, mut rest) = (Vec::new(), Vec::new());
    for (measure, set_up, cells) in parts(run) {
        let groups = groups(&cells);
        if groups.len() < 3 {
            rest.extend(groups);
            continue;
        }
        made.push(matrix(run, &Part { measure, set_up, cells: &cells, groups: &groups }));
    }
    (made, rest)
}

/// A measure at one place with its cells.
struct Part<'a> {
    measure: &'a Measure,
    set_up: SetUp,
    cells: &'a [&'a Measured],
    groups: &'a [Vec<&'a Measured>],
}

fn matrix(run: &Results, part: &Part<'_>) -> Matrix {
    let Part { measure, set_up, cells, groups } = part;
    let (what, value) = values(measure.kind);
    let best: Vec<Option<&Measured>> = groups.iter().map(|group| best(run, group, measure.kind)).collect();
    let first = run.scenario.implementations.first().map_or("", |one| one.name.as_str());
    let row = |one: &Contender| -> Option<(String, Vec<String>)> {
        let name = &one.name;
        let cell = |group: &Vec<&Measured>, best: Option<&Measured>| {
            let cell = group.iter().find(|cell| cell.implementation == *name)?;
            let text = value(cell)?;
            Some(match best {
                Some(best) if best.implementation == *name => format!("**{text}**"),
                Some(best) if name == first => format!("▼ {} × {text}", behind(cell, best, measure.kind)?),
                _ => text,
            })
        };
        let texts: Vec<_> = groups.iter().zip(&best).map(|(group, best)| cell(group, *best)).collect();
        texts.iter().any(Option::is_some).then(|| {
            let texts = texts.into_iter().map(|text| text.unwrap_or("–".into()));
            (name.clone(), std::iter::once(waits(run, name)).chain(texts).collect())
        })
    };
    let columns = groups.iter().filter_map(|group| Some(column(measure, group.first()?)));
    let mut lines: Vec<String> = cells.iter().flat_map(|cell| failures(cell)).collect();
    lines.sort();
    lines.dedup();
    lines.extend(left_out(run, cells));
    Matrix {
        title: heading(measure, *set_up),
        about: format!(
            "{what}; the best that is no floor is bold, ▼ says how far {first} is behind it. {}",
            conditions(measure)
        ),
        columns: std::iter::once("waits".to_string()).chain(columns).collect(),
        rows: run.scenario.implementations.iter().filter_map(row).collect(),
        lines,
    }
}

/// How many times worse the judged figure of a cell is than that of the best.
fn behind(cell: &Measured, best: &Measured, kind: Kind) -> Option<String> {
    let (figure, _, less) = judged_by(kind);
    let (ours, theirs) = (cell.figure(figure)?.0, best.figure(figure)?.0);
    Some(number(if less { ours / theirs } else { theirs / ours }))
}

/// What is shown of each cell.
fn values(kind: Kind) -> (&'static str, fn(&Measured) -> Option<String>) {
    fn two(cell: &Measured, first: &str, second: &str) -> Option<String> {
        let (first, second) = (cell.figure(first)?.0, cell.figure(second)?.0);
        Some(format!("{} ({})", number(first), number(second)))
    }
    match kind {
        Kind::Latency => ("Mean, in brackets the minimum, µs", |cell| two(cell, "mean", "min")),
        Kind::OneWay => ("Mean, in brackets the 99th percentile, µs", |cell| two(cell, "mean", "p99")),
        Kind::Throughput => ("Samples a second, in brackets Gbit/s, and what was lost", |cell| {
            let lost = cell.figure("lost_percent").map_or(0.0, |(median, ..)| median);
            let lost = if lost > 0.0 { format!(", {} % lost", number(lost)) } else { String::new() };
            Some(two(cell, "samples_per_s", "gbit_per_s")? + &lost)
        }),
        Kind::Discovery => {
            ("Milliseconds to the last match", |cell| Some(number(cell.figure("matched_ms")?.0)))
        }
        Kind::Footprint => ("MB", |cell| Some(number(cell.figure("rss_mb")?.0))),
        Kind::Applications => {
            ("CPU µs a sample on both hosts, in brackets the median from write to take, µs", |cell| {
                two(cell, "cpu_us", "p50")
            })
        }
        Kind::Fleet => ("MB of a process, in brackets milliseconds until all have matched", |cell| {
            two(cell, "pss_mb", "matched_ms")
        }),
    }
}

/// Whose judged figure is the best; nobody's that lost something, and no floor's.
fn best<'a>(run: &Results, group: &[&'a Measured], kind: Kind) -> Option<&'a Measured> {
    let (figure, _, less) = judged_by(kind);
    let has_lost = |cell: &Measured| cell.figure("lost_percent").is_some_and(|(median, ..)| median > 0.0);
    let is_floor = |cell: &Measured| {
        let mut all = run.scenario.implementations.iter();
        all.any(|one| one.name == cell.implementation && FLOORS.contains(&one.adapter.as_str()))
    };
    let known = group.iter().filter(|cell| !has_lost(cell) && !is_floor(cell));
    let known = known.filter_map(|cell| Some((cell.figure(figure)?.0, *cell)));
    let best = known.min_by(|a, b| if less { a.0.total_cmp(&b.0) } else { b.0.total_cmp(&a.0) });
    best.map(|(_, cell)| cell)
}

fn column(measure: &Measure, cell: &Measured) -> String {
    let mut words = Vec::new();
    if measure.payloads.len() > 1 {
        words.push(format!("{} B", whole(cell.payload)));
    }
    for (is_varied, count, name) in [
        (measure.readers.len() > 1, cell.readers, "reader"),
        (measure.topics.len() > 1, cell.topics, "topic"),
    ] {
        if is_varied {
            words.push(format!("{} {name}{}", whole(count), if count == 1 { "" } else { "s" }));
        }
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Absent, Repetition};
    use crate::scenario::Scenario;

    #[test]
    fn a_matrix_marks_the_best_figure_without_losses_in_each_payload_column() {
        let text = "id='x'\nabout='x'\nimplementations=[{name='a',adapter='x'},{name='b',adapter='y'},{name='f',adapter='udp'}]\n\
                    measures=[{kind='throughput',payloads=[16,64,1024]},{kind='discovery'}]";
        let mut run = crate::compare::tests::two(&[], &[]);
        run.scenario = Scenario::parse(text).unwrap();
        run.absent = vec![Absent { name: "c".into(), why: "not built".into() }];
        let cells = run.scenario.cells();
        run.cells = cells
            .iter()
            .map(|cell| Measured::new(cell, &run.scenario.implementations[cell.implementation]))
            .collect();
        for cell in &mut run.cells {
            let is_b = cell.implementation == "b";
            let lost = if is_b && cell.payload == 1_024 { 5.0 } else { 0.0 };
            let rate = match cell.implementation.as_str() {
                "a" => 1_000.0,
                "b" => 2_000.0,
                _ => 9_000.0,
            };
            let figures = [("samples_per_s", rate), ("gbit_per_s", 1.0), ("lost_percent", lost)];
            let figures = figures.map(|(name, value)| (name.to_string(), value)).into();
            cell.repetitions = vec![Repetition { figures, bins: Vec::new(), failure: None }];
        }
        let (made, rest) = matrices(&run);
        assert_eq!((made.len(), rest.len()), (1, 1));
        assert_eq!(made[0].columns, ["waits", "16 B", "64 B", "1\u{202f}024 B"]);
        let (fast, lossy) = ("**2\u{202f}000 (1.00)**", "2\u{202f}000 (1.00), 5.00 % lost");
        assert_eq!(made[0].rows[1], ("b".to_string(), ["–", fast, fast, lossy].map(String::from).to_vec()));
        let slow = "▼ 2.00 × 1\u{202f}000 (1.00)";
        let ours = ["blocks", slow, slow, "**1\u{202f}000 (1.00)**"].map(String::from);
        assert_eq!(made[0].rows[0], ("a".to_string(), ours.to_vec()));
        assert!(made[0].rows[2].1.iter().all(|value| !value.contains("**")), "a floor is not compared");
        assert_eq!(made[0].lines, ["c: missing: not built"]);
    }
}
