//! Circles in a graph of named nodes.

use std::collections::{BTreeMap, BTreeSet};

/// Where each node's arrows lead.
pub type Graph<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// The graph of these arrows.
pub fn graph<'a>(arrows: impl IntoIterator<Item = (&'a str, &'a str)>) -> Graph<'a> {
    let mut graph = Graph::new();
    for (from, to) in arrows {
        graph.entry(from).or_default().insert(to);
        graph.entry(to).or_default();
    }
    graph
}

/// Every set of nodes that reach each other (a strongly connected component of more than one node), largest first.
pub fn circles<'a>(graph: &Graph<'a>) -> Vec<Vec<&'a str>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        graph.keys().map(|node| (*node, reached_from(graph, node))).collect();
    let mutual = |a: &str, b: &str| reached[a].contains(b) && reached[b].contains(a);
    let (mut circles, mut placed) = (Vec::new(), BTreeSet::new());
    for node in graph.keys().copied() {
        if placed.contains(node) {
            continue;
        }
        let circle: Vec<&str> =
            graph.keys().copied().filter(|other| *other == node || mutual(node, other)).collect();
        placed.extend(circle.iter().copied());
        if circle.len() > 1 {
            circles.push(circle);
        }
    }
    circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    circles
}

fn reached_from<'a>(graph: &Graph<'a>, from: &str) -> BTreeSet<&'a str> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(node) = open.pop() {
        for next in graph.get(node).into_iter().flatten() {
            if reached.insert(*next) {
                open.push(next);
            }
        }
    }
    reached
}

/// The shortest way from a node back to itself: `[a, b, a]`.
pub fn shortest_circle<'a>(graph: &Graph<'a>, from: &'a str) -> Option<Vec<&'a str>> {
    let mut before: BTreeMap<&str, &str> = BTreeMap::new();
    let mut ends = vec![from];
    while !ends.is_empty() {
        let mut next_ends = Vec::new();
        for end in ends {
            for next in graph.get(end).into_iter().flatten().copied() {
                if before.contains_key(next) {
                    continue;
                }
                before.insert(next, end);
                if next == from {
                    return Some(way_back(&before, from));
                }
                next_ends.push(next);
            }
        }
        ends = next_ends;
    }
    None
}

fn way_back<'a>(before: &BTreeMap<&'a str, &'a str>, from: &'a str) -> Vec<&'a str> {
    let mut way = vec![from];
    let mut at = before.get(from).copied();
    while let Some(node) = at {
        way.push(node);
        at = if node == from { None } else { before.get(node).copied() };
    }
    way.reverse();
    way
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependency_graph_finds_cycles_and_shortest_paths() {
        let arrows =
            [("a", "b"), ("b", "c"), ("c", "a"), ("b", "a"), ("c", "d"), ("d", "e"), ("e", "d"), ("x", "a")];
        let graph = graph(arrows);
        assert_eq!(circles(&graph), [vec!["a", "b", "c"], vec!["d", "e"]]);
        assert_eq!(shortest_circle(&graph, "c"), Some(vec!["c", "a", "b", "c"]));
        assert_eq!(shortest_circle(&graph, "a"), Some(vec!["a", "b", "a"]));
        assert_eq!(shortest_circle(&graph, "x"), None);
    }
}
