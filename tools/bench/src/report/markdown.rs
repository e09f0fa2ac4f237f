//! Results as Markdown.

use std::fmt::Write;

use super::matrix::{Matrix, matrices};
use super::table::{IMPLEMENTATION_COLUMNS, Table, implementation_rows, method, notes, table, tables};
use crate::results::Results;

/// One run, with all figures; or in brief: one table for each part that has several payloads, readers or topics, without
/// ratios.
#[must_use]
pub fn markdown(results: &Results, brief: bool) -> String {
    let mut text = format!("## {}\n\n{}\n\n", plain(&results.scenario.id), plain(&results.scenario.about));
    let machine = results.machine.iter().map(|(name, value)| format!("{name}: {value}"));
    let _ = writeln!(text, "{}.\n", plain(&machine.collect::<Vec<_>>().join("; ")));
    let _ = writeln!(text, "{}\n", method(results));
    implementations(&mut text, results);
    for note in notes(results) {
        let _ = writeln!(text, "{}\n", plain(&note));
    }
    if brief {
        let (made, rest) = matrices(results);
        made.iter().for_each(|matrix| brief_table(&mut text, matrix));
        rest.iter().filter_map(|group| table(results, group)).for_each(|one| full_table(&mut text, &one));
    } else {
        tables(results).iter().for_each(|one| full_table(&mut text, one));
    }
    text
}

fn rows<'a>(
    text: &mut String,
    title: &str,
    columns: &[String],
    rows: impl Iterator<Item = (&'a String, &'a Vec<String>)>,
) {
    let columns: Vec<String> = columns.iter().map(|column| plain(column)).collect();
    let _ = writeln!(text, "{title}| | {} |", columns.join(" | "));
    let _ = writeln!(text, "|---|{}", "---:|".repeat(columns.len()));
    for (name, values) in rows {
        let _ = writeln!(text, "| {} | {} |", plain(name), values.join(" | "));
    }
    text.push('\n');
}

/// Every implementation of the scenario, also those that were not measured.
fn implementations(text: &mut String, results: &Results) {
    let _ = writeln!(text, "| | {} |\n|---|---|---|---|", IMPLEMENTATION_COLUMNS.join(" | "));
    for (name, values) in implementation_rows(results) {
        let _ = writeln!(text, "| {} | {} |", plain(&name), values.map(|value| plain(&value)).join(" | "));
    }
    text.push('\n');
}

fn lines<'a>(text: &mut String, lines: impl Iterator<Item = &'a String>) {
    let before = text.len();
    lines.for_each(|line| {
        let _ = writeln!(text, "- {}", plain(line));
    });
    if text.len() > before {
        text.push('\n');
    }
}

fn brief_table(text: &mut String, matrix: &Matrix) {
    let title = format!("### {}\n\n{}\n\n", plain(&matrix.title), plain(&matrix.about));
    rows(text, &title, &matrix.columns, matrix.rows.iter().map(|(name, values)| (name, values)));
    lines(text, matrix.lines.iter());
}

fn full_table(text: &mut String, table: &Table) {
    let title = format!("### {}\n\n", plain(&table.title));
    rows(text, &title, &table.columns, table.rows.iter().map(|row| (&row.name, &row.values)));
    lines(text, table.failures.iter().chain(&table.left_out));
}

/// Text that stays in its line and its column.
fn plain(text: &str) -> String {
    let safe = |c: char| if c.is_control() { ' ' } else { c };
    let text: String = text.chars().map(safe).collect();
    text.replace('|', "\\|").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::tests::two;

    #[test]
    fn a_table_has_a_row_for_each() {
        let mut results = two(&[10.0, 10.0, 10.0], &[20.0, 20.0, 20.0]);
        results.cells[1].repetitions[2].failure = Some("no pong".into());
        let text = markdown(&results, false);
        assert!(text.contains("| b & c | – | 20.0 | 20.0 |"), "{text}");
        assert!(text.contains("| ▲ 0.50 [0.50…0.50] |"), "{text}");
        assert!(text.contains("| a | A 1 | blocks | cargo |"), "{text}");
        assert!(text.contains("1 of 3 repetitions failed: no pong"), "{text}");
    }

    #[test]
    fn markdown_report_marks_slower_cells_and_missing_implementations() {
        let mut results = two(&[40.0, 40.0, 40.0], &[20.0, 20.0, 20.0]);
        results.absent.push(crate::results::Absent { name: "c".into(), why: "not built".into() });
        let text = markdown(&results, false);
        assert!(text.contains("| ▼ 2.00 [2.00…2.00] |"), "{text}");
        assert!(text.contains("| c | missing: not built | – | – |"), "{text}");
        assert!(text.contains("- c: missing: not built"), "{text}");
    }
}
