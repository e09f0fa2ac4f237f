//! One table for a whole part of a run: who, over payloads, readers or topics.

use super::figures::{groups, parts};
use super::html::{conditions, heading};
use super::table::{number, whole};
use crate::results::{Measured, Results, judged_by};
use crate::scenario::{Kind, Measure};

/// A part whose cells differ in one thing besides the implementation.
pub(crate) struct Matrix {
    pub(crate) title: String,
    /// What the values are, and under which conditions.
    pub(crate) about: String,
    pub(crate) columns: Vec<String>,
    /// Each implementation with its values.
    pub(crate) rows: Vec<(String, Vec<String>)>,
}

/// The parts of a run that make matrices, and the groups of cells of all others.
pub(crate) fn matrices(run: &Results) -> (Vec<Matrix>, Vec<Vec<&Measured>>) {
    let (mut made, mut rest) = (Vec::new(), Vec::new());
    for (measure, set_up, cells) in parts(run) {
        let groups = groups(&cells);
        if groups.len() < 3 {
            rest.extend(groups);
            continue;
        }
        let (what, value) = values(measure.kind);
        let best = groups.iter().map(|group| best(group, measure.kind));
        let best: Vec<Option<&str>> = best.collect();
        let row = |name: &str| -> Option<(String, Vec<String>)> {
            let cell = |group: &Vec<&Measured>, best: &Option<&str>| {
                let cell = group.iter().find(|cell| cell.implementation == name)?;
                let text = value(cell)?;
                Some(if *best == Some(name) { format!("**{text}**") } else { text })
            };
            let texts = groups.iter().zip(&best).map(|(group, best)| cell(group, best));
            let texts: Vec<Option<String>> = texts.collect();
            let is_known = texts.iter().any(Option::is_some);
            is_known.then(|| {
                (name.to_string(), texts.into_iter().map(|text| text.unwrap_or("–".into())).collect())
            })
        };
        made.push(Matrix {
            title: heading(measure, set_up),
            about: format!("{what}; the best is bold. {}", conditions(measure)),
            columns: groups.iter().filter_map(|group| Some(column(measure, group.first()?))).collect(),
            rows: run.scenario.implementations.iter().filter_map(|one| row(&one.name)).collect(),
        });
    }
    (made, rest)
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
    }
}

/// Whose judged figure is the best; nobody's that lost something.
fn best<'a>(group: &[&'a Measured], kind: Kind) -> Option<&'a str> {
    let (figure, _, less) = judged_by(kind);
    let has_lost = |cell: &Measured| cell.figure("lost_percent").is_some_and(|(median, ..)| median > 0.0);
    let known = group.iter().filter(|cell| !has_lost(cell));
    let known = known.filter_map(|cell| Some((cell.figure(figure)?.0, cell.implementation.as_str())));
    let best = known.min_by(|a, b| if less { a.0.total_cmp(&b.0) } else { b.0.total_cmp(&a.0) });
    best.map(|(_, name)| name)
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
    use crate::results::Repetition;
    use crate::scenario::Scenario;

    #[test]
    fn a_matrix_has_a_column_for_each_payload_and_marks_the_best_that_lost_nothing() {
        let text = "id='x'\nabout='x'\nimplementations=[{name='a',adapter='udp'},{name='b',adapter='udp'}]\n\
                    measures=[{kind='throughput',payloads=[16,64,1024]},{kind='discovery'}]";
        let mut run = crate::compare::tests::two(&[], &[]);
        run.scenario = Scenario::parse(text).unwrap();
        let cells = run.scenario.cells();
        run.cells = cells
            .iter()
            .map(|cell| Measured::new(cell, &run.scenario.implementations[cell.implementation]))
            .collect();
        for cell in &mut run.cells {
            let is_b = cell.implementation == "b";
            let lost = if is_b && cell.payload == 1_024 { 5.0 } else { 0.0 };
            let rate = if is_b { 2_000.0 } else { 1_000.0 };
            let figures = [("samples_per_s", rate), ("gbit_per_s", 1.0), ("lost_percent", lost)];
            let figures = figures.map(|(name, value)| (name.to_string(), value)).into();
            cell.repetitions = vec![Repetition { figures, bins: Vec::new(), failure: None }];
        }
        let (made, rest) = matrices(&run);
        assert_eq!((made.len(), rest.len()), (1, 1));
        assert_eq!(made[0].columns, ["16 B", "64 B", "1\u{202f}024 B"]);
        let (fast, lossy) = ("**2\u{202f}000 (1.00)**", "2\u{202f}000 (1.00), 5.00 % lost");
        assert_eq!(made[0].rows[1], ("b".to_string(), [fast, fast, lossy].map(String::from).to_vec()));
        assert_eq!(made[0].rows[0].1[2], "**1\u{202f}000 (1.00)**");
    }
}
