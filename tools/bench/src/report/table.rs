//! The rows that both kinds of report show.

use super::columns::columns;
use crate::compare::what;
use crate::results::{Measured, Results, judged_by};
use crate::scenario::Kind;
use crate::statistics::Ratio;

/// A table of like cells.
pub(crate) struct Table {
    pub(crate) title: String,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Row>,
    /// What went wrong, a line each.
    pub(crate) failures: Vec<String>,
    /// What an implementation cannot do, a line each.
    pub(crate) left_out: Vec<String>,
}

/// An implementation in a table.
pub(crate) struct Row {
    pub(crate) name: String,
    /// The figures, then the ratio.
    pub(crate) values: Vec<String>,
    /// What the ratio says about the first implementation.
    pub(crate) verdict: Verdict,
}

/// How the first implementation stands against another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Better,
    Worse,
    /// The spread does not allow to say.
    Open,
    /// It is the first itself, or one of the two was not measured.
    Nothing,
}

impl Verdict {
    /// Of the first implementation's cell against another.
    pub(crate) fn of(first: &Measured, other: &Measured, kind: Kind) -> (Self, Option<Ratio>) {
        if first.implementation == other.implementation {
            return (Self::Nothing, None);
        }
        let (figure, _, less) = judged_by(kind);
        let Some(ratio) = first.over(other, figure) else { return (Self::Nothing, None) };
        let verdict = match (ratio.is_decided(), (ratio.mean < 1.0) == less) {
            (false, _) => Self::Open,
            (true, true) => Self::Better,
            (true, false) => Self::Worse,
        };
        (verdict, Some(ratio))
    }

    /// What stands before a ratio: where the first implementation is ahead, and as clearly where it is behind.
    pub(crate) fn mark(self) -> &'static str {
        match self {
            Self::Better => "▲ ",
            Self::Worse => "▼ ",
            Self::Open | Self::Nothing => "",
        }
    }

    /// The class in the page.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Open | Self::Nothing => "open",
        }
    }
}

/// How the figures came about.
pub(crate) fn method(results: &Results) -> String {
    let first = results.scenario.implementations.first().map_or("", |one| one.name.as_str());
    let times = match results.scenario.repetitions {
        1 => "once".to_string(),
        times => format!("{times} times"),
    };
    format!(
        "Every combination was measured {times}, each time with new processes; implementations took turns in an order by \
         chance, so that what disturbed the machine disturbed all alike. Tables show medians of the repetitions. A ratio is \
         {first} divided by the other, the geometric mean over pairs measured one after the other, with its 95 % interval; \
         where the interval holds 1, or with fewer than three repetitions, there is no verdict. ▲ marks where {first} is ahead, \
         ▼ where it is behind."
    )
}

/// What else has to be known: how the run is shorter than its scenario, what could not be measured.
pub(crate) fn notes(results: &Results) -> Vec<String> {
    let commit = results.commit.as_ref().map(|commit| format!("Dunlin was built at commit {commit}."));
    commit.into_iter().chain(results.notes.iter().cloned()).collect()
}

/// The columns of [`implementation_rows`].
pub(crate) const IMPLEMENTATION_COLUMNS: [&str; 3] = ["version", "waits", "built"];

/// Every implementation of the scenario: version, how it waits, how it was built; or why it was not measured.
pub(crate) fn implementation_rows(results: &Results) -> Vec<(String, [String; 3])> {
    let measured = results.scenario.implementations.iter().map(|one| {
        let described = results.descriptions.get(&one.name).cloned().unwrap_or_default();
        (one.name.clone(), [described.version, described.waits, described.built])
    });
    let none = || "–".to_string();
    let absent = results
        .absent
        .iter()
        .map(|one| (one.name.clone(), [format!("missing: {}", one.why), none(), none()]));
    measured.chain(absent).collect()
}

/// One table per group of cells.
pub(crate) fn tables(results: &Results) -> Vec<Table> {
    results.groups().iter().filter_map(|group| table(results, group)).collect()
}

/// The table of one group.
pub(crate) fn table(results: &Results, group: &[&Measured]) -> Option<Table> {
    let first = group.first()?;
    let kind = results.measure(first)?.kind;
    let is_known = |name: &str| group.iter().any(|cell| cell.figure(name).is_some());
    let figures: Vec<_> = columns(kind).iter().filter(|(name, _)| is_known(name)).collect();
    let mut headings = vec!["waits".to_string()];
    headings.extend(figures.iter().map(|(_, heading)| (*heading).to_string()));
    let figure = judged_by(kind).1.split(',').next().unwrap_or_default();
    // A mean shows every disturbance, a median none: where they differ, both are needed.
    let has_median = matches!(kind, Kind::Latency | Kind::OneWay | Kind::Applications);
    if has_median {
        headings.push(format!("{} ÷ this, median", first.implementation));
    }
    headings.push(format!("{} ÷ this, {figure}", first.implementation));
    let row = |cell: &&&Measured| {
        let mut values = vec![waits(results, &cell.implementation)];
        values.extend(figures.iter().map(|(name, _)| shown(cell.figure(name))));
        let (verdict, ratio) = Verdict::of(first, cell, kind);
        if has_median {
            let is_first = cell.implementation == first.implementation;
            values.push(with_spread(first.over(cell, "p50").filter(|_| !is_first)));
        }
        values.push(format!("{}{}", verdict.mark(), with_spread(ratio)));
        Row { name: cell.implementation.clone(), values, verdict }
    };
    Some(Table {
        title: what(results, first),
        columns: headings,
        rows: group.iter().filter(|cell| !cell.repetitions.is_empty()).map(|cell| row(&cell)).collect(),
        failures: group.iter().flat_map(|cell| failures(cell)).collect(),
        left_out: left_out(results, group),
    })
}

/// How a side of an implementation waits.
pub(crate) fn waits(results: &Results, implementation: &str) -> String {
    results.descriptions.get(implementation).map_or("–".to_string(), |it| it.waits.clone())
}

/// Every implementation of the scenario that has no row in a table of these cells, with the reason.
pub(crate) fn left_out(results: &Results, cells: &[&Measured]) -> Vec<String> {
    let unsupported = cells
        .iter()
        .filter_map(|cell| Some(format!("{}: {}", cell.implementation, cell.unsupported.as_ref()?)));
    let absent = results.absent.iter().map(|one| format!("{}: missing: {}", one.name, one.why));
    let mut lines: Vec<String> = Vec::new();
    for line in unsupported.chain(absent) {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

pub(crate) fn failures(cell: &Measured) -> Vec<String> {
    let name = &cell.implementation;
    let timed = cell.failure().map(|(why, how_many)| {
        format!("{name}: {how_many} of {} repetitions failed: {why}", cell.repetitions.len())
    });
    let counted = cell.calls.as_ref().and_then(|calls| calls.failure.as_ref());
    timed
        .into_iter()
        .chain(counted.map(|why| format!("{name}: system calls were not counted: {why}")))
        .collect()
}

fn shown(figure: Option<(f64, f64, f64)>) -> String {
    figure.map_or("–".to_string(), |(median, ..)| number(median))
}

/// A ratio and, if there is one, its interval.
pub(crate) fn with_spread(ratio: Option<Ratio>) -> String {
    match ratio {
        None => "–".to_string(),
        Some(Ratio { mean, interval: Some((low, high)) }) => {
            format!("{} [{}…{}]", number(mean), number(low), number(high))
        }
        Some(Ratio { mean, interval: None }) => number(mean),
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
    match text.split_once('.') {
        Some((whole, rest)) => format!("{}.{rest}", grouped(whole)),
        None => grouped(&text),
    }
}

/// A whole number, with thousands set apart.
pub(crate) fn whole(value: usize) -> String {
    grouped(&value.to_string())
}

fn grouped(text: &str) -> String {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    let mut grouped = sign.to_string();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_that_mean_something() {
        let shown = [1_234_567.8, 999.4, 42.25, 2.34159, 0.5, 0.0, 0.00123].map(number);
        assert_eq!([64, 1_024].map(whole), ["64", "1\u{202f}024"]);
        assert_eq!(number(-1_234.0), "-1\u{202f}234");
        assert_eq!(shown, ["1\u{202f}234\u{202f}568", "999", "42.2", "2.34", "0.50", "0.00", "0.0012"]);
    }
}
