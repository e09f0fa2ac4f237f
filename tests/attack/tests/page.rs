//! `docs/hostile-input.md` names every attack once.

use std::collections::BTreeSet;
use std::path::Path;

use dunlin_attack::attacks::ATTACKS;

/// Names of attacks in the table.
fn table(page: &str) -> BTreeSet<String> {
    let from = page.find("## What is shown").expect("the part with the table");
    let part = page[from..].split("\n## ").next().unwrap_or_default();
    let mut named = BTreeSet::new();
    for row in part.lines().filter(|line| line.starts_with('|') && !line.starts_with("| attack |")) {
        let columns: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [_, _, tests, _, _] = columns[..] else { continue };
        for name in tests.split('`').skip(1).step_by(2) {
            assert!(named.insert(name.to_owned()), "{name} stands twice in the table");
        }
    }
    named
}

#[test]
fn the_page_names_every_attack() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/hostile-input.md");
    let page = std::fs::read_to_string(path).expect("the page");
    let expected = ATTACKS.iter().map(|attack| attack.name.to_owned());
    assert_eq!(table(&page), expected.collect());
}
