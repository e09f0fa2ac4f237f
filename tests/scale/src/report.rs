//! What was measured as a table, and as a chart beside what multicast-everybody discovery would cost.

use std::fmt::Write as _;

use crate::domain::Cost;

/// One line of the table.
pub struct Row {
    /// Participants.
    pub participants: usize,
    /// Endpoints of each.
    pub endpoints: usize,
    /// All of them but one start at the same moment.
    pub start: Cost,
    /// One more joins.
    pub join: Cost,
    /// Announcements per second, of all together, when nothing happens.
    pub announcements: f64,
    /// Datagrams per second that each participant receives then.
    pub resting: f64,
    /// Octets of memory of one participant.
    pub state: u64,
    /// Time the simulation took, in seconds.
    pub seconds: f64,
}

/// Octets of the datagram with an announcement of a participant, as sent here.
const ANNOUNCEMENT: u64 = 240;
/// Octets that the announcement of one endpoint adds to a datagram, as sent here.
const ENDPOINT: u64 = 183;

/// Datagrams and octets that all participants together receive if everybody sends everything about itself to the group,
/// once, in full datagrams: no handshake, no acknowledgement, no repair.
pub fn multicast_everybody(participants: usize, endpoints: usize) -> (u64, u64) {
    let (participants, endpoints) = (participants as u64, endpoints as u64);
    let pairs = participants * participants.saturating_sub(1);
    let octets = ANNOUNCEMENT + endpoints * ENDPOINT;
    (pairs * octets.div_ceil(1_472), pairs * octets)
}

/// What one number of participants cost with a discovery server.
pub struct ServedRow {
    pub participants: usize,
    pub endpoints: usize,
    pub start: Cost,
    /// Datagrams sent in a second while nothing happens.
    pub rest: f64,
    /// Octets of the server's state.
    pub state: u64,
}

impl ServedRow {
    pub fn datagrams_for_each(&self) -> f64 {
        self.start.sent as f64 / self.participants as f64
    }
}

/// The lines as Markdown.
pub fn served_table(rows: &[ServedRow]) -> String {
    let mut text = String::from(
        "| participants | all matched after | datagrams sent | for each | MB sent | at rest: datagrams/s | for each | server's state for each |\n\
         |---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for row in rows {
        let ServedRow { participants, endpoints, start, rest, state } = row;
        let _ = writeln!(
            text,
            "| {participants} × {endpoints} | {} ms | {} | {:.1} | {} | {rest:.1} | {:.1} | {} B |",
            start.time.as_nanos() / 1_000_000,
            number(start.sent),
            row.datagrams_for_each(),
            megabytes(start.sent_octets),
            rest / *participants as f64,
            number(state / *participants as u64),
        );
    }
    text
}

fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

fn megabytes(octets: u64) -> String {
    format!("{:.1}", octets as f64 / 1e6)
}

/// The lines as Markdown.
pub fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "| participants | all found after | datagrams sent | received | MB sent | MB received | one more: found after | \
         datagrams sent | kB sent | at rest: announcements/s | received/s by each | state of one | per other \
         | by calculation: datagrams received | MB received |\n",
    );
    text.push_str("|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    for row in rows {
        let (start, join) = (&row.start, &row.join);
        let others = row.participants.saturating_sub(1).max(1) as u64;
        let (datagrams, octets) = multicast_everybody(row.participants - 1, row.endpoints);
        let _ = writeln!(
            text,
            "| {} × {} | {} ms | {} | {} | {} | {} | {} ms | {} | {} | {:.1} | {:.1} | {} kB | {} B | {} | {} |",
            row.participants,
            row.endpoints,
            start.time.as_nanos() / 1_000_000,
            number(start.sent),
            number(start.received),
            megabytes(start.sent_octets),
            megabytes(start.received_octets),
            join.time.as_nanos() / 1_000_000,
            number(join.sent),
            number(join.sent_octets / 1_000),
            row.announcements,
            row.resting,
            number(row.state / 1_000),
            number(row.state / others),
            number(datagrams),
            megabytes(octets),
        );
    }
    text
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
const MARGIN: f64 = 70.0;

/// A place on the chart, both axes being logarithmic: participants from 1 to 10⁴, values from 1 to 10¹¹.
fn place(participants: f64, value: f64) -> (f64, f64) {
    let x = MARGIN + (WIDTH - 2.0 * MARGIN) * participants.max(1.0).log10() / 4.0;
    let y = HEIGHT - MARGIN - (HEIGHT - 2.0 * MARGIN) * value.max(1.0).log10() / 11.0;
    (x, y)
}

fn line(svg: &mut String, label: &str, colour: &str, dashes: &str, points: &[(f64, f64)]) {
    let places: Vec<(f64, f64)> = points.iter().map(|(x, y)| place(*x, *y)).collect();
    let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let _ = writeln!(
        svg,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dashes}\"/>",
        path.join(" ")
    );
    if let Some((x, y)) = places.last() {
        let (x, y) = (x + 6.0, y + 4.0);
        let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"{colour}\">{label}</text>");
    }
}

/// The lines as a chart in SVG.
pub fn chart(rows: &[Row]) -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n"
    );
    for decade in 0..=4 {
        let (x, bottom) = place(10f64.powi(decade), 1.0);
        let (_, top) = place(1.0, 1e11);
        let _ = writeln!(
            svg,
            "<line x1=\"{x:.1}\" y1=\"{bottom:.1}\" x2=\"{x:.1}\" y2=\"{top:.1}\" stroke=\"#ddd\"/>"
        );
        let label = 10u64.pow(decade.unsigned_abs());
        let _ = writeln!(
            svg,
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
            bottom + 18.0
        );
    }
    for decade in 0..=11 {
        let (left, y) = place(1.0, 10f64.powi(decade));
        let (right, _) = place(1e4, 1.0);
        let _ = writeln!(
            svg,
            "<line x1=\"{left:.1}\" y1=\"{y:.1}\" x2=\"{right:.1}\" y2=\"{y:.1}\" stroke=\"#eee\"/>"
        );
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">1e{decade}</text>",
            left - 6.0,
            y + 4.0
        );
    }
    let points = |value: &dyn Fn(&Row) -> f64| -> Vec<(f64, f64)> {
        rows.iter().map(|row| (row.participants as f64, value(row))).collect()
    };
    let calculated = |row: &Row| multicast_everybody(row.participants - 1, row.endpoints);
    line(&mut svg, "bytes received", "#b2182b", "", &points(&|row| row.start.received_octets as f64));
    line(&mut svg, "", "#b2182b", "5 4", &points(&|row| calculated(row).1 as f64));
    line(&mut svg, "datagrams received", "#2166ac", "", &points(&|row| row.start.received as f64));
    line(&mut svg, "", "#2166ac", "5 4", &points(&|row| calculated(row).0 as f64));
    line(&mut svg, "state of one, B", "#1b7837", "", &points(&|row| row.state as f64));
    line(&mut svg, "announcements/s", "#762a83", "", &points(&|row| row.announcements));
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"24\" font-size=\"14\">Discovery of N participants that start together; dashed: \
         multicast-everybody by calculation</text>\n<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">participants\
         </text>\n</svg>",
        MARGIN,
        WIDTH / 2.0,
        HEIGHT - 24.0
    );
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!(
            (number(1), number(1_234), number(1_234_567)),
            ("1".into(), "1 234".into(), "1 234 567".into())
        );
    }

    #[test]
    fn multicast_announcement_count_is_quadratic() {
        assert_eq!(multicast_everybody(10, 0), (90, 90 * ANNOUNCEMENT));
        assert_eq!(multicast_everybody(1, 10), (0, 0));
        assert_eq!(multicast_everybody(3, 10).0, 12, "two datagrams each");
    }
}
