//! `docs/hostile-input.md` names every attack once, and says which do not hold.

use std::collections::BTreeMap;
use std::path::Path;

use dunlin_attack::attacks::ATTACKS;

/// Names of attacks in the table, and whether its row says that they do not hold.
fn table(page: &str) -> BTreeMap<String, bool> {
    let from = page.find("## What is shown").expect("the part with the table");
    let part = page[from..].split("\n## ").next().unwrap_or_default();
    let mut named = BTreeMap::new();
    for row in part.lines().filter(|line| line.starts_with('|') && !line.starts_with("| attack |")) {
        let columns: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [_, bound, tests, _, _] = columns[..] else { continue };
        for name in tests.split('`').skip(1).step_by(2) {
            let known = named.insert(name.to_owned(), bound.starts_with("open"));
            assert!(known.is_none(), "{name} stands twice in the table");
        }
    }
    named
}

#[test]
fn the_page_names_every_attack_and_what_does_not_hold() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/hostile-input.md");
    let page = std::fs::read_to_string(path).expect("the page");
    let expected = ATTACKS.iter().map(|attack| (attack.name.to_owned(), !attack.open.is_empty()));
    assert_eq!(table(&page), expected.collect());
}
