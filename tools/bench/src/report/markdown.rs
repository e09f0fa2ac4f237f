//! Results as Markdown.

use super::table::tables;
use crate::results::Results;
use std::fmt::Write;

/// One run.
#[must_use]
pub fn markdown(results: &Results) -> String {
    let mut text = format!("## {}\n\n{}\n\n", results.scenario.id, results.scenario.about);
    let versions = results.versions.iter().map(|(name, version)| format!("{name}: {version}"));
    let machine = results.machine.iter().map(|(name, value)| format!("{name}: {value}"));
    let _ = writeln!(text, "{}.\n", versions.collect::<Vec<_>>().join("; "));
    let _ = writeln!(text, "{}.\n", machine.collect::<Vec<_>>().join("; "));
    for table in tables(results) {
        let _ = writeln!(text, "### {}\n", table.title);
        let _ = writeln!(text, "| | {} |", table.columns.join(" | "));
        let _ = writeln!(text, "|---|{}", "---:|".repeat(table.columns.len()));
        for row in &table.rows {
            let _ = writeln!(text, "| {} | {} |", row.name, row.values.join(" | "));
        }
        text.push('\n');
        for failure in &table.failures {
            let _ = writeln!(text, "- {failure}");
        }
        if !table.failures.is_empty() {
            text.push('\n');
        }
    }
    text
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
        assert!(text.contains("| b & c | 20.0 | – | 20.0 |"), "{text}");
        assert!(text.contains("| 2.00 [2.00…2.00] |"), "{text}");
        assert!(text.contains("1 of 3 repetitions failed: no pong"), "{text}");
    }
}
