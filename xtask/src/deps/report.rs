//! Arrows and circles as text.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::allow::is_listed;
use super::graph::{circles, graph};
use super::modules::Arrows;

fn all(arrows: &Arrows) -> Vec<Vec<&str>> {
    circles(&graph(arrows.keys().map(|(from, to)| (from.as_str(), to.as_str()))))
}

/// A crate in a few words.
pub fn summary(name: &str, arrows: &Arrows, entries: &[String]) -> String {
    let sizes: Vec<String> = all(arrows).iter().map(|circle| circle.len().to_string()).collect();
    let circles = if sizes.is_empty() {
        "no circle".to_owned()
    } else {
        format!("circles of {} ({} allowed)", sizes.join(", "), entries.len())
    };
    format!("{name} {} arrows, {circles}", arrows.len())
}

/// Every arrow of a crate, in a line for each module, then the circles with what makes each of their arrows. A star marks an
/// arrow of the list.
pub fn modules(arrows: &Arrows, entries: &[String]) -> String {
    let star = |arrow: &(String, String)| if is_listed(entries, arrow) { "*" } else { "" };
    let mut lines: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for arrow in arrows.keys() {
        lines.entry(&arrow.0).or_default().push(format!("{}{}", arrow.1, star(arrow)));
    }
    let mut text = String::new();
    for (from, to) in lines {
        let _ = writeln!(text, "{from} -> {}", to.join(", "));
    }
    for circle in all(arrows) {
        let _ = writeln!(text, "\ncircle of {}: {}", circle.len(), circle.join(", "));
        let is_in = |name: &String| circle.contains(&name.as_str());
        for (arrow, places) in arrows.iter().filter(|((from, to), _)| is_in(from) && is_in(to)) {
            let _ =
                writeln!(text, "  {} -> {}{}: {}", arrow.0, arrow.1, star(arrow), names(places).join(", "));
        }
    }
    text
}

/// What is named at these places, without `crate::` and `super::`.
fn names(places: &[String]) -> Vec<&str> {
    let path = |place: &String| place.rsplit_once(": ").map_or(0, |(before, _)| before.len() + 2);
    let names: BTreeSet<&str> = places
        .iter()
        .map(|place| place[path(place)..].trim_start_matches("crate::").trim_start_matches("super::"))
        .collect();
    names.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_what_is_allowed_and_names_the_circle() {
        let arrow =
            |from: &str, to: &str| ((from.to_owned(), to.to_owned()), vec!["f.rs:1: crate::p".to_owned()]);
        let arrows: Arrows = [arrow("a", "b"), arrow("b", "a"), arrow("c", "a")].into();
        let entries = ["b -> a".to_owned()];
        let text = modules(&arrows, &entries);
        assert_eq!(text, "a -> b\nb -> a*\nc -> a\n\ncircle of 2: a, b\n  a -> b: p\n  b -> a*: p\n");
        assert_eq!(summary("x", &arrows, &entries), "x 3 arrows, circles of 2 (1 allowed)");
    }
}
