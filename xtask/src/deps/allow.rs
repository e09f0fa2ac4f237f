//! `xtask/module_circles.toml`: the arrows that close circles today. Without them the modules of a crate have an order, so
//! whatever closes another circle is a finding, and so is an entry that no circle needs any more: the list only shrinks.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::graph::{circles, graph, shortest_circle};
use super::modules::{Arrows, CRATES};

const FILE: &str = "xtask/module_circles.toml";
/// Places named for each arrow of a finding.
const PLACES: usize = 2;

/// By crate, `from -> to`.
pub type Allowed = BTreeMap<String, Vec<String>>;

pub fn read(root: &Path) -> Result<Allowed> {
    let text = fs::read_to_string(root.join(FILE)).context(FILE)?;
    toml::from_str(&text).context(FILE)
}

pub fn unknown_crates(allowed: &Allowed) -> Vec<String> {
    let is_listed = |name: &String| CRATES.iter().any(|listed| listed.name == name);
    let unknown = allowed.keys().filter(|name| !is_listed(name));
    unknown.map(|name| format!("{FILE}: {name} is no crate whose modules are looked at")).collect()
}

/// Whether the list has this arrow.
pub fn is_listed(entries: &[String], (from, to): &(String, String)) -> bool {
    entries.iter().any(|entry| *entry == format!("{from} -> {to}"))
}

/// What is wrong with the modules of a crate, or with the list.
pub fn findings(name: &str, arrows: &Arrows, entries: &[String]) -> Vec<String> {
    let new = new_circles(name, arrows, entries);
    // With a new circle nobody can say which of the others are needed.
    let unneeded = if new.is_empty() { unneeded(arrows, entries) } else { Vec::new() };
    let gone = entries.iter().filter(|entry| !exists(arrows, entry)).map(|entry| (entry, "no such arrow"));
    let unneeded = unneeded.into_iter().map(|entry| (entry, "closes no circle"));
    let delete = gone
        .chain(unneeded)
        .map(|(entry, why)| format!("{FILE}: {name}: {entry}: {why} any more; delete this line"));
    new.into_iter().chain(delete).collect()
}

fn exists(arrows: &Arrows, entry: &str) -> bool {
    arrows.keys().any(|(from, to)| *entry == format!("{from} -> {to}"))
}

fn new_circles(name: &str, arrows: &Arrows, entries: &[String]) -> Vec<String> {
    let graph = graph(left(arrows, entries));
    let describe = |circle: Vec<&str>| {
        let way = circle.first().and_then(|node| shortest_circle(&graph, node)).unwrap_or_default();
        let steps = way.windows(2).map(|step| {
            let arrow = (step[0].to_owned(), step[1].to_owned());
            let places = arrows.get(&arrow).map(Vec::as_slice).unwrap_or_default();
            let shown = places.iter().take(PLACES).map(String::as_str).collect::<Vec<_>>().join(", ");
            format!("\n    {} -> {} ({shown})", arrow.0, arrow.1)
        });
        let steps: String = steps.collect();
        format!("{name}: a circle that {FILE} does not allow: {}{steps}", circle.join(", "))
    };
    circles(&graph).into_iter().map(describe).collect()
}

/// The arrows without those of the list.
fn left<'a>(arrows: &'a Arrows, entries: &[String]) -> impl Iterator<Item = (&'a str, &'a str)> {
    let remaining = arrows.keys().filter(|arrow| !is_listed(entries, arrow));
    remaining.map(|(from, to)| (from.as_str(), to.as_str()))
}

/// Entries without which the modules would have an order all the same.
fn unneeded<'a>(arrows: &Arrows, entries: &'a [String]) -> Vec<&'a String> {
    let is_needed = |entry: &&String| {
        let others: Vec<String> = entries.iter().filter(|other| other != entry).cloned().collect();
        !circles(&graph(left(arrows, &others))).is_empty()
    };
    entries.iter().filter(|entry| exists(arrows, entry) && !is_needed(entry)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::modules::arrows_of;
    use super::*;

    /// `a` and `b` use each other; `c` uses `a`, and what the test says.
    fn made_up(c: &str, b: &str) -> Arrows {
        let sources = [
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use crate::b::B; pub struct A;"),
            ("b.rs", b),
            ("c.rs", c),
        ];
        let read =
            |file: &str| sources.iter().find(|(name, _)| *name == file).map(|(_, text)| (*text).to_owned());
        arrows_of(&read).unwrap()
    }

    const USES_A: &str = "use crate::a::A; pub struct B;";
    const USES_NOTHING: &str = "pub struct B;";

    fn listed() -> Vec<String> {
        vec!["b -> a".to_owned()]
    }

    #[test]
    fn a_circle_that_is_listed_passes() {
        assert_eq!(findings("x", &made_up("use crate::a::A;", USES_A), &listed()), [""; 0]);
    }

    #[test]
    fn a_new_circle_fails_and_says_where_it_is_closed() {
        let found = findings("x", &made_up("use crate::a::A;", USES_A), &[]);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("a, b") && found[0].contains("b -> a (b.rs:1: crate::a::A)"), "{found:?}");
        let third = "use crate::{b::B, c::C}; pub struct A;";
        let sources = [
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", third),
            ("b.rs", USES_A),
            ("c.rs", "use crate::a::A; pub struct C;"),
        ];
        let arrows = arrows_of(&|file| sources.iter().find(|s| s.0 == file).map(|s| s.1.to_owned())).unwrap();
        let found = findings("x", &arrows, &listed());
        assert!(found.len() == 1 && found[0].contains("a -> c") && found[0].contains("c -> a"), "{found:?}");
    }

    #[test]
    fn an_entry_that_is_not_needed_any_more_fails() {
        let gone = findings("x", &made_up("", USES_NOTHING), &listed());
        assert!(gone.len() == 1 && gone[0].contains("b -> a: no such arrow"), "{gone:?}");
        let harmless = findings("x", &made_up("use crate::a::A;", USES_NOTHING), &["c -> a".to_owned()]);
        assert!(harmless.len() == 1 && harmless[0].contains("closes no circle"), "{harmless:?}");
    }
}
