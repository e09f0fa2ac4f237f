//! Results as Markdown.

use super::table::{method, notes, tables};
use crate::results::Results;
use std::fmt::Write;

/// One run.
#[must_use]
pub fn markdown(results: &Results) -> String {
    let mut text = format!("## {}\n\n{}\n\n", plain(&results.scenario.id), plain(&results.scenario.about));
    let versions = results.versions.iter().map(|(name, version)| format!("{name}: {version}"));
    let machine = results.machine.iter().map(|(name, value)| format!("{name}: {value}"));
    for line in [versions.collect::<Vec<_>>(), machine.collect()] {
        let _ = writeln!(text, "{}.\n", plain(&line.join("; ")));
    }
    let _ = writeln!(text, "{}\n", method(results));
    for note in notes(results) {
        let _ = writeln!(text, "{}\n", plain(&note));
    }
    for table in tables(results) {
        let columns: Vec<String> = table.columns.iter().map(|column| plain(column)).collect();
        let _ = writeln!(text, "### {}\n", plain(&table.title));
        let _ = writeln!(text, "| | {} |", columns.join(" | "));
        let _ = writeln!(text, "|---|{}", "---:|".repeat(table.columns.len()));
        for row in &table.rows {
            let _ = writeln!(text, "| {} | {} |", plain(&row.name), row.values.join(" | "));
        }
        text.push('\n');
        for line in table.failures.iter().chain(&table.left_out) {
            let _ = writeln!(text, "- {}", plain(line));
        }
        if !table.failures.is_empty() || !table.left_out.is_empty() {
            text.push('\n');
        }
    }
    text
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
        let text = markdown(&results);
        assert!(text.contains("| b & c | 20.0 | 20.0 |"), "{text}");
        assert!(text.contains("| 0.50 [0.50…0.50] |"), "{text}");
        assert!(text.contains("1 of 3 repetitions failed: no pong"), "{text}");
    }
}
