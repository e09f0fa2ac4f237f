//! Who is ahead, as far as the spread allows to say.

use std::collections::BTreeSet;
use std::fmt::Write;

use anyhow::{Result, bail};

use crate::report::{columns, number, whole};
use crate::results::{MORE_IS_BETTER, Measured, Results, judged_by};
use crate::scenario::{Kind, Placement, SetUp};

/// What to compare.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    /// The implementation that the others are compared with; the first if not given.
    pub base: Option<&'a str>,
    /// By which figure; by that of the kind of the measure if not given.
    pub figure: Option<&'a str>,
}

/// Compares all implementations of a run with one of them.
///
/// # Errors
/// There is no such implementation, or the runs have nothing in common.
pub fn within(results: &Results, wanted: Wanted<'_>) -> Result<String> {
    let first = results.scenario.implementations.first().map(|one| one.name.as_str());
    let Some(base) = wanted.base.or(first) else { bail!("the run has no implementations") };
    if !results.scenario.implementations.iter().any(|one| one.name == base) {
        bail!("{base} is not in this run");
    }
    is_known(&[results], wanted.figure)?;
    let compared = results.cells.iter().any(|cell| cell.implementation != base);
    if !compared {
        return Ok(alone(results, base, wanted.figure));
    }
    let mut text = format!("{base} against the others, ratios of {base} to each\n");
    for group in results.groups() {
        let Some(ours) = group.iter().find(|cell| cell.implementation == base) else { continue };
        for theirs in group.iter().filter(|cell| cell.implementation != base) {
            line(results, (ours, theirs), &theirs.implementation, wanted.figure, &mut text);
        }
    }
    Ok(text)
}

/// Refuses a figure that none of these runs has.
fn is_known(runs: &[&Results], figure: Option<&str>) -> Result<()> {
    let Some(figure) = figure else { return Ok(()) };
    let repetitions = runs.iter().flat_map(|run| &run.cells).flat_map(|cell| &cell.repetitions);
    let known: BTreeSet<&str> = repetitions.flat_map(|one| one.figures.keys().map(String::as_str)).collect();
    if !known.contains(figure) {
        let known: Vec<&str> = known.into_iter().collect();
        bail!("there is no figure {figure}; there are: {}", known.join(", "));
    }
    Ok(())
}

/// What was lost, where something was: a reader that gets less of it may be the faster for that.
fn lost(ours: &Measured, theirs: &Measured) -> String {
    let percent = |cell: &Measured| cell.figure("lost_percent").map_or(0.0, |(median, ..)| median);
    let (ours, theirs) = (percent(ours), percent(theirs));
    if ours > 0.0 || theirs > 0.0 {
        format!("; lost: {} % against {} %", number(ours), number(theirs))
    } else {
        String::new()
    }
}

/// The figures themselves, where there is nobody to compare them with.
fn alone(results: &Results, base: &str, figure: Option<&str>) -> String {
    let repetitions = results.scenario.repetitions;
    let mut text = match repetitions {
        1 => format!("{base} alone\n"),
        _ => format!("{base} alone, medians of {repetitions} repetitions\n"),
    };
    for cell in &results.cells {
        let Some(measure) = results.measure(cell) else { continue };
        let of = |(figure, title): &(&str, &str)| {
            cell.figure(figure).map(|(median, ..)| format!("{title} {}", number(median)))
        };
        let figures: Vec<_> = match figure {
            Some(figure) => of(&(figure, figure)).into_iter().collect(),
            None => columns(measure.kind).iter().filter_map(of).collect(),
        };
        let told = match cell.failure() {
            Some((why, count)) => format!("{count} repetitions failed: {why}; {}", figures.join(", ")),
            None if figures.is_empty() => "not measured".to_owned(),
            None => figures.join(", "),
        };
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}: {told}", what(results, cell));
    }
    text
}

/// Compares two runs, cell by cell, where both have measured the same.
///
/// # Errors
/// They have no cell in common.
pub fn between(before: &Results, after: &Results, figure: Option<&str>) -> Result<String> {
    is_known(&[before, after], figure)?;
    let mut text = String::from("the second run against the first, ratios of the second to the first\n");
    let empty = text.len();
    for now in &after.cells {
        let same = |cell: &&Measured| {
            cell.is_like(now)
                && cell.implementation == now.implementation
                && before.measure(cell) == after.measure(now)
        };
        if let Some(then) = before.cells.iter().find(same) {
            line(after, (now, then), &now.implementation, figure, &mut text);
        }
    }
    if text.len() == empty {
        bail!("the two runs have no cell in common");
    }
    Ok(text)
}

fn line(
    results: &Results,
    (ours, theirs): (&Measured, &Measured),
    name: &str,
    figure: Option<&str>,
    text: &mut String,
) {
    let Some(measure) = results.measure(ours) else { return };
    let (judged, _, less) = judged_by(measure.kind);
    let (figure, less) = figure.map_or((judged, less), |figure| (figure, !MORE_IS_BETTER.contains(&figure)));
    let _ = write!(text, "{}: {name}: ", what(results, ours));
    let _ = match ours.over(theirs, figure) {
        None => writeln!(text, "not measured on both sides"),
        Some(ratio) => {
            let spread = ratio.interval.map_or("too few repetitions".to_string(), |(low, high)| {
                format!("95 % interval {low:.3} to {high:.3}")
            });
            let verdict = match (ratio.is_decided(), (ratio.mean < 1.0) == less) {
                (false, _) => "no verdict",
                (true, true) => "better",
                (true, false) => "worse",
            };
            let median =
                ours.over(theirs, "p50").map_or(String::new(), |ratio| format!("median {:.3}, ", ratio.mean));
            writeln!(text, "{median}{figure} {:.3} ({spread}): {verdict}{}", ratio.mean, lost(ours, theirs))
        }
    };
}

/// A cell in words, without the implementation.
#[must_use]
pub fn what(results: &Results, cell: &Measured) -> String {
    let Some(measure) = results.measure(cell) else { return String::new() };
    let mut text = match measure.kind {
        Kind::Footprint => measure.kind.to_string(),
        Kind::Fleet if cell.set_up == SetUp::InterProcess.to_string() => {
            format!("{}, {} processes", measure.kind, 2 * cell.readers)
        }
        Kind::Fleet => format!("{}, {}, {} processes", measure.kind, cell.set_up, 2 * cell.readers),
        Kind::Discovery => format!("{}, {}", measure.kind, cell.set_up),
        _ => format!("{}, {}, {} B", measure.kind, cell.set_up, whole(cell.payload)),
    };
    if measure.rate > 0 {
        let _ = write!(text, ", {}/s", measure.rate);
    }
    text.push_str(match measure.placement {
        Placement::Free => "",
        Placement::TwoCores => ", a processor each",
        Placement::OneCore => ", one processor",
    });
    if measure.link.loss > 0.0 {
        let _ = write!(text, ", {} % lost", measure.link.loss);
    }
    for (count, name) in [(cell.readers, "readers"), (cell.topics, "topics")] {
        if count != 1 {
            let _ = write!(text, ", {count} {name}");
        }
    }
    text
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::results::{Description, Repetition};
    use crate::scenario::Scenario;

    pub(crate) fn two(ours: &[f64], theirs: &[f64]) -> Results {
        let text = "id='x'\nabout='two <sides>'\nimplementations=[{name='a',adapter='udp'},{name='b & c',adapter='udp'}]\n\
                    measures=[{kind='latency'}]";
        let scenario = Scenario::parse(text).unwrap();
        let cells = scenario.cells();
        let mut cells: Vec<Measured> = cells
            .iter()
            .map(|cell| Measured::new(cell, &scenario.implementations[cell.implementation]))
            .collect();
        for (cell, means) in cells.iter_mut().zip([ours, theirs]) {
            cell.repetitions = means
                .iter()
                .map(|mean| Repetition {
                    figures: [("mean".to_string(), *mean), ("p50".to_string(), *mean)].into(),
                    bins: vec![(*mean as u64 * 1000, 10)],
                    failure: None,
                })
                .collect();
        }
        let description =
            Description { version: "A 1".into(), waits: "blocks".into(), built: "cargo".into() };
        Results {
            tool: "test".into(),
            began: 0,
            machine: [("processors".to_string(), "2".to_string())].into(),
            commit: None,
            descriptions: [("a".to_string(), description)].into(),
            absent: Vec::new(),
            notes: Vec::new(),
            scenario,
            cells,
        }
    }

    #[test]
    fn a_verdict_needs_a_clear_spread() {
        let text = within(&two(&[10.0, 11.0, 10.5], &[20.0, 22.0, 21.5]), Wanted::default()).unwrap();
        assert!(
            text.contains("b & c: median 0.496, mean 0.49") && text.trim_end().ends_with(": better"),
            "{text}"
        );
        let text = within(&two(&[10.0, 11.0, 10.5], &[10.1, 10.7, 10.9]), Wanted::default()).unwrap();
        assert!(text.trim_end().ends_with("no verdict"), "{text}");
        let text = within(&two(&[10.0, 11.0, 10.5], &[]), Wanted { base: Some("a"), figure: None }).unwrap();
        assert!(text.contains("not measured on both sides"), "{text}");
        let text = within(&two(&[2.0; 3], &[1.0; 3]), Wanted { base: None, figure: Some("mean") }).unwrap();
        assert!(text.contains("mean 2.000"), "{text}");
        let error = within(&two(&[2.0; 3], &[1.0; 3]), Wanted { base: None, figure: Some("frames") });
        assert_eq!(error.unwrap_err().to_string(), "there is no figure frames; there are: mean, p50");
        assert!(within(&two(&[], &[]), Wanted { base: Some("nobody"), figure: None }).is_err());
    }

    /// Of rates more is better, whoever names them; and who lost samples is told.
    #[test]
    fn throughput_comparison_prefers_more_samples_and_names_loss() {
        let mut results = two(&[], &[]);
        for (cell, rate) in results.cells.iter_mut().zip([2.0, 1.0]) {
            let figures = [("samples_per_s", rate), ("lost_percent", 50.0 * (rate - 1.0))];
            let figures = figures.map(|(name, value)| (name.to_string(), value)).into();
            cell.repetitions = vec![Repetition { figures, ..Repetition::default() }; 3];
        }
        let text = within(&results, Wanted { base: None, figure: Some("samples_per_s") }).unwrap();
        assert!(text.trim_end().ends_with(": better; lost: 50.0 % against 0.00 %"), "{text}");
        assert_eq!(judged_by(Kind::Throughput).2, !MORE_IS_BETTER.contains(&judged_by(Kind::Throughput).0));
    }

    #[test]
    fn compare_shows_the_figures_of_a_single_implementation() {
        let mut results = two(&[10.0, 11.0, 10.5], &[]);
        results.scenario.implementations.truncate(1);
        results.cells.truncate(1);
        let text = within(&results, Wanted::default()).unwrap();
        assert!(text.starts_with("a alone, medians of "), "{text}");
        let line = text.lines().nth(1).unwrap();
        assert!(line.contains("two processes, 64 B: ") && line.contains("10.5"), "{text}");
    }

    #[test]
    fn two_runs_are_compared_cell_by_cell() {
        let (then, now) = (two(&[10.0, 10.1, 10.2], &[5.0; 3]), two(&[5.0, 5.1, 5.2], &[5.0; 3]));
        let text = between(&then, &now, None).unwrap();
        assert!(text.contains("two processes, 64 B: a: median 0.50"), "{text}");
    }
}
