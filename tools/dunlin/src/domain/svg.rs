//! The picture of a domain: who writes on the left, topics in the middle, who reads on the right.

use std::fmt::Write as _;

use dunlin_program::sanitize;

use super::graph::arrows;
use super::{Domain, Topic};

const BOX: (usize, usize) = (230, 46);
const GAP: usize = 18;
const COLUMNS: [usize; 3] = [20, 370, 720];
const TOP: usize = 56;
const STYLE: &str = "<style>text{font:13px system-ui,sans-serif;fill:#1c2733}.q{fill:#5d6b79;font-size:11px}\
.p{fill:#e8f1fc;stroke:#1769c2}.t{fill:#eef6ea;stroke:#3d8b40}path{fill:none;stroke:#7d8894;stroke-width:1.5}\
path.bad{stroke:#c62828;stroke-dasharray:6 4}</style>\n";

/// Characters that mean something in XML are written as entities, those that it forbids are replaced; long names are cut.
fn text(words: &str) -> String {
    let words = sanitize(words);
    let mut shown: String = words.chars().take(33).collect();
    if words.chars().count() > 33 {
        shown.pop();
        shown.push('…');
    }
    shown.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn y_of(row: usize) -> usize {
    TOP + row * (BOX.1 + GAP)
}

fn boxed(out: &mut String, class: &str, column: usize, row: usize, lines: [&str; 2]) {
    let (x, y, (width, height)) = (COLUMNS[column], y_of(row), BOX);
    let middle = x + width / 2;
    let round = if class == "t" { height / 2 } else { 6 };
    // Writing to a string does not fail.
    _ = writeln!(
        out,
        "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"{round}\"/>\
         <text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text>\
         <text class=\"q\" x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
        y + 20,
        text(lines[0]),
        y + 36,
        text(lines[1]),
    );
}

/// From the right side of a box to the left side of the next column's.
fn arrow(out: &mut String, column: usize, from: usize, to: usize, well: bool) {
    let (x1, y1) = (COLUMNS[column] + BOX.0, y_of(from) + BOX.1 / 2);
    let (x2, y2) = (COLUMNS[column + 1] - 6, y_of(to) + BOX.1 / 2);
    let middle = x1.midpoint(x2);
    let class = if well { "" } else { " class=\"bad\"" };
    _ = writeln!(
        out,
        "<path{class} marker-end=\"url(#head)\" d=\"M{x1} {y1}C{middle} {y1} {middle} {y2} {x2} {y2}\"/>"
    );
}

/// The rows of the participants that write, or read.
fn column(domain: &Domain, writes: bool) -> Vec<&str> {
    let has =
        |topic: &Topic, guid: &str| arrows(topic).iter().any(|a| a.writes == writes && a.participant == guid);
    let guids = domain.participants.iter().map(|participant| participant.guid.as_str());
    guids.filter(|guid| domain.topics.iter().any(|topic| has(topic, guid))).collect()
}

/// Draws it.
pub fn draw(domain: &Domain) -> String {
    let columns = [column(domain, true), column(domain, false)];
    let rows = columns.iter().map(Vec::len).chain([domain.topics.len(), 1]).max().unwrap_or(1);
    let (width, height) = (COLUMNS[2] + BOX.0 + 20, y_of(rows) + 6);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\">\n\
         {STYLE}<defs><marker id=\"head\" markerWidth=\"8\" markerHeight=\"8\" refX=\"4\" refY=\"4\" orient=\"auto\">\
         <path d=\"M0 0L8 4L0 8z\" style=\"fill:#7d8894;stroke:none\"/></marker></defs>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text x=\"20\" y=\"28\">domain {}: {} participants, {} topics</text>\n",
        domain.domain,
        domain.participants.len(),
        domain.topics.len(),
    );
    for (side, guids) in columns.iter().enumerate() {
        for (row, guid) in guids.iter().enumerate() {
            let found = domain.participants.iter().find(|participant| participant.guid == *guid);
            if let Some(participant) = found {
                boxed(&mut out, "p", 2 * side, row, [&participant.label, &participant.vendor]);
            }
        }
    }
    for (row, topic) in domain.topics.iter().enumerate() {
        boxed(&mut out, "t", 1, row, [topic.label(), &topic.types()]);
        for each in arrows(topic) {
            let side = &columns[usize::from(!each.writes)];
            let Some(place) = side.iter().position(|guid| *guid == each.participant) else { continue };
            let (from, to) = if each.writes { (place, row) } else { (row, place) };
            arrow(&mut out, usize::from(!each.writes), from, to, each.well);
        }
    }
    out + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_has_a_box_for_each_and_an_arrow_for_each_direction() {
        let picture = draw(&super::super::graph::tests::domain());
        assert_eq!(picture.matches("class=\"p\"").count(), 2, "{picture}");
        assert_eq!(picture.matches("class=\"t\"").count(), 2);
        assert_eq!(picture.matches("marker-end").count(), 4);
        assert_eq!(picture.matches("class=\"bad\"").count(), 2);
        assert!(picture.contains("topic /a&amp;b") && picture.contains("the &quot;one&quot;"), "{picture}");
    }
}
