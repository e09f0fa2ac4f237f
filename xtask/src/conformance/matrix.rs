//! The matrix of the table: for each policy of DDS 1.4 what shows its effect over the wire, its incompatibility, its change
//! at run time or the refusal of that, and its effect under loss.

use std::collections::{BTreeMap, BTreeSet};

use super::place;

/// What each row has to show.
pub const COLUMNS: [&str; 4] = ["effect", "incompatibility", "change", "loss"];

/// The policies of DDS 1.4 §2.2.3.
const POLICIES: [&str; 22] = [
    "USER_DATA",
    "TOPIC_DATA",
    "GROUP_DATA",
    "DURABILITY",
    "DURABILITY_SERVICE",
    "PRESENTATION",
    "DEADLINE",
    "LATENCY_BUDGET",
    "OWNERSHIP",
    "OWNERSHIP_STRENGTH",
    "LIVELINESS",
    "TIME_BASED_FILTER",
    "PARTITION",
    "RELIABILITY",
    "TRANSPORT_PRIORITY",
    "LIFESPAN",
    "DESTINATION_ORDER",
    "HISTORY",
    "RESOURCE_LIMITS",
    "ENTITY_FACTORY",
    "WRITER_DATA_LIFECYCLE",
    "READER_DATA_LIFECYCLE",
];

/// One policy.
#[derive(Debug, PartialEq)]
pub struct Row {
    pub name: String,
    pub cells: [Cell; 4],
}

/// Tests, and why there are none of a kind.
#[derive(Debug, PartialEq, Default)]
pub struct Cell {
    pub tests: Vec<(String, String)>,
    pub reason: String,
}

/// A line `* POLICY | effect | incompatibility | change | loss`. The incompatibility alone may be `none: REASON`, with tests
/// behind a semicolon or without.
pub fn parse(line: &str, aliases: &BTreeMap<String, String>) -> Result<Row, String> {
    let fields: Vec<&str> = line.split('|').map(str::trim).collect();
    let [name, cells @ ..] = &fields[..] else { return Err("an empty line".into()) };
    if cells.len() != COLUMNS.len() {
        return Err(format!("a policy has four fields: {}", COLUMNS.join(", ")));
    }
    let mut parsed = Vec::new();
    for (cell, column) in cells.iter().zip(COLUMNS) {
        let (reason, tests) = match cell.strip_prefix("none: ") {
            Some(rest) => rest.split_once(';').unwrap_or((rest, "")),
            None => ("", *cell),
        };
        if !reason.is_empty() && column != "incompatibility" {
            return Err(format!("every policy has a test of its {column}"));
        }
        let named = tests.split(',').map(str::trim).filter(|test| !test.is_empty());
        let tests: Vec<_> = named.map(|test| place(test, aliases)).collect::<Result<_, _>>()?;
        if tests.is_empty() && reason.is_empty() {
            return Err(format!("no test shows the {column}"));
        }
        parsed.push(Cell { tests, reason: reason.trim().to_owned() });
    }
    let cells = parsed.try_into().map_err(|_| "four fields".to_owned())?;
    Ok(Row { name: (*name).to_owned(), cells })
}

/// Policies without a row, if there is a matrix at all.
pub fn missing(rows: &[&Row]) -> Vec<String> {
    let names: BTreeSet<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    let of_none = |name: &&&str| !rows.is_empty() && !names.contains(**name);
    POLICIES
        .iter()
        .filter(of_none)
        .map(|name| format!("the policy {name} has no line in the matrix"))
        .collect()
}

/// The head of its table.
pub fn head() -> String {
    format!("\n| | {} |\n|---|---|---|---|---|\n", COLUMNS.join(" | "))
}

/// The line of a policy.
pub fn render(row: &Row) -> String {
    let cell = |cell: &Cell| {
        let links = cell.tests.iter().map(|(file, test)| format!("[{test}](../{file})"));
        let reason = Some(cell.reason.clone()).filter(|reason| !reason.is_empty());
        reason.into_iter().chain(links).collect::<Vec<_>>().join(", ")
    };
    format!("| {} | {} |\n", row.name, row.cells.iter().map(cell).collect::<Vec<_>>().join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aliases() -> BTreeMap<String, String> {
        BTreeMap::from([("t".to_owned(), "a".to_owned())])
    }

    #[test]
    fn policy_matrix_fields_need_a_test_or_a_reason() {
        let row = parse(
            "HISTORY | t/f::a | none: it is not compared; t/f::b | t/f::c | t/f::d, t/f::e",
            &aliases(),
        );
        let row = row.unwrap();
        let lines = render(&row);
        assert_eq!(row.cells[1].reason, "it is not compared");
        assert!(
            lines.starts_with("| HISTORY | [a](../a/f.rs) | it is not compared, [b](../a/f.rs) |"),
            "{lines}"
        );
        for (line, complaint) in [
            ("HISTORY | t/f::a | t/f::b | t/f::c", "four fields"),
            ("HISTORY | | t/f::b | t/f::c | t/f::d", "no test shows the effect"),
            ("HISTORY | t/f::a | t/f::b | none: why | t/f::d", "a test of its change"),
            ("HISTORY | u/f::a | t/f::b | t/f::c | t/f::d", "no alias"),
        ] {
            let refused = parse(line, &aliases()).unwrap_err();
            assert!(refused.contains(complaint), "{line}: {refused}");
        }
        assert_eq!((missing(&[&row]).len(), missing(&[]).len()), (21, 0));
    }
}
