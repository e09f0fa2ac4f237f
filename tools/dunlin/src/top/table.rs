//! The pages of `dunlin top` as columns and rows.

use super::model::Snapshot;
use super::traffic::{Number as Counted, Traffic};
use crate::names::harmless;
use std::cmp::Ordering;

/// What is listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Page {
    Topics,
    Participants,
    Endpoints,
}

/// How wide a column is.
#[derive(Clone, Copy)]
pub enum Width {
    /// So many parts of what the others leave; on the left side.
    Share(u16),
    /// So many characters; on the left side.
    Text(u16),
    /// So many characters; on the right side.
    Number(u16),
}

/// A field of the table.
#[derive(Clone, PartialEq, Debug)]
pub enum Cell {
    Text(String),
    /// Sorted by the number, shown as the text.
    Number(f64, String),
    /// Not known.
    Unknown,
}

/// A line of the table.
pub struct Row {
    /// The topic that it belongs to.
    pub topic: Option<String>,
    pub cells: Vec<Cell>,
    /// Something does not match or was lost.
    pub bad: bool,
}

impl Cell {
    fn name(text: &str) -> Self {
        Self::Text(harmless(text))
    }

    #[allow(clippy::cast_precision_loss, reason = "for people")]
    fn count(count: usize) -> Self {
        Self::Number(count as f64, count.to_string())
    }

    #[allow(clippy::cast_precision_loss, reason = "for people")]
    fn total(count: u64) -> Self {
        Self::Number(count as f64, if count < 10_000 { count.to_string() } else { short(count as f64) })
    }

    fn rate(value: f64) -> Self {
        Self::Number(value, short(value))
    }

    /// What is shown.
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Number(_, text) => text,
            Self::Unknown => "-",
        }
    }

    fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Text(one), Self::Text(other)) => one.cmp(other),
            (Self::Number(one, _), Self::Number(other, _)) => one.total_cmp(other),
            (Self::Unknown, Self::Unknown) => Ordering::Equal,
            (Self::Unknown, _) => Ordering::Less,
            (_, Self::Unknown) => Ordering::Greater,
            (Self::Text(_), Self::Number(..)) => Ordering::Less,
            (Self::Number(..), Self::Text(_)) => Ordering::Greater,
        }
    }
}

/// A number in at most seven characters: `12.5`, `31.0k`, `4.2M`.
fn short(value: f64) -> String {
    let units = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    match units.into_iter().find(|(unit, _)| value >= *unit) {
        Some((unit, letter)) => format!("{:.1}{letter}", value / unit),
        None => format!("{value:.1}"),
    }
}

fn rate(number: Counted<f64>) -> Cell {
    number.map_or(Cell::Unknown, |known| Cell::rate(known.value))
}

fn total(number: Counted<u64>) -> Cell {
    number.map_or(Cell::Unknown, |known| Cell::total(known.value))
}

/// Something was lost, or somebody does not answer.
fn is_bad(traffic: Traffic) -> bool {
    [traffic.lost, traffic.inactive].into_iter().flatten().any(|known| known.value > 0)
}

impl Page {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Topics, Self::Participants, Self::Endpoints];

    /// What it is called.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Topics => "Topics",
            Self::Participants => "Participants",
            Self::Endpoints => "Endpoints",
        }
    }

    /// Titles and widths of the columns, for a screen of at least 80 characters.
    pub const fn columns(self) -> &'static [(&'static str, Width)] {
        use Width::{Number, Share, Text};
        match self {
            Self::Topics => &[
                ("TOPIC", Share(3)),
                ("TYPE", Share(2)),
                ("W", Number(3)),
                ("R", Number(3)),
                ("MATCH", Number(6)),
                ("SAMPLES/S", Number(10)),
                ("OCTETS/S", Number(9)),
                ("LOST", Number(6)),
                ("AGAIN", Number(6)),
            ],
            Self::Participants => &[
                ("NAME", Share(3)),
                ("VENDOR", Text(12)),
                ("W", Number(3)),
                ("R", Number(3)),
                ("SAMPLES/S", Number(10)),
                ("OCTETS/S", Number(9)),
                ("LOST", Number(6)),
                ("DROPPED", Number(8)),
                ("ADDRESS", Share(2)),
            ],
            Self::Endpoints => &[
                ("TOPIC", Share(3)),
                ("KIND", Text(6)),
                ("PARTICIPANT", Share(3)),
                ("MATCH", Number(6)),
                ("SAMPLES/S", Number(10)),
                ("OCTETS/S", Number(9)),
                ("LOST", Number(6)),
                ("AGAIN", Number(6)),
                ("UNACK", Number(6)),
                ("INACT", Number(6)),
            ],
        }
    }

    /// The rows, in the order of a column.
    pub fn rows(self, shown: &Snapshot, (column, descending): (usize, bool)) -> Vec<Row> {
        let mut rows = match self {
            Self::Topics => topics(shown),
            Self::Participants => participants(shown),
            Self::Endpoints => endpoints(shown),
        };
        rows.sort_by(|one, other| {
            let order = one.cells[column].compare(&other.cells[column]);
            if descending { order.reverse() } else { order }
        });
        rows
    }
}

fn topics(shown: &Snapshot) -> Vec<Row> {
    let row = |it: &super::model::TopicRow| {
        let traffic = it.traffic.unwrap_or_default();
        #[allow(clippy::cast_precision_loss, reason = "for people")]
        let matched = Cell::Number(it.matched as f64, format!("{}/{}", it.matched, it.pairs));
        let cells = vec![
            Cell::name(it.ros.as_deref().unwrap_or(&it.name)),
            Cell::name(&it.type_name),
            Cell::count(it.writers),
            Cell::count(it.readers),
            matched,
            rate(traffic.samples_per_second),
            rate(traffic.octets_per_second),
            total(traffic.lost),
            total(traffic.again),
        ];
        let bad = it.matched < it.pairs || is_bad(traffic);
        Row { topic: Some(it.name.clone()), cells, bad }
    };
    shown.topics.iter().map(row).collect()
}

fn participants(shown: &Snapshot) -> Vec<Row> {
    let row = |it: &super::model::ParticipantRow| {
        let traffic = it.traffic.unwrap_or_default();
        let cells = vec![
            Cell::name(&it.participant.label()),
            Cell::name(&it.participant.vendor),
            Cell::count(it.participant.writers),
            Cell::count(it.participant.readers),
            rate(traffic.samples_per_second),
            rate(traffic.octets_per_second),
            total(traffic.lost),
            it.dropped.map_or(Cell::Unknown, Cell::total),
            Cell::name(&it.participant.addresses.join(" ")),
        ];
        let bad = is_bad(traffic) || it.dropped.is_some_and(|dropped| dropped > 0);
        Row { topic: None, cells, bad }
    };
    shown.participants.iter().map(row).collect()
}

fn endpoints(shown: &Snapshot) -> Vec<Row> {
    let row = |it: &super::model::EndpointRow| {
        let traffic = it.traffic.unwrap_or_default();
        let cells = vec![
            Cell::name(&it.topic),
            Cell::Text(it.kind.to_owned()),
            Cell::name(&it.endpoint.of),
            Cell::count(it.matched),
            rate(traffic.samples_per_second),
            rate(traffic.octets_per_second),
            total(traffic.lost),
            total(traffic.again),
            total(traffic.unacknowledged),
            total(traffic.inactive),
        ];
        Row { topic: Some(it.topic.clone()), cells, bad: is_bad(traffic) }
    };
    shown.endpoints.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::model::tests::snapshot;

    fn column(page: Page, shown: usize, order: (usize, bool)) -> Vec<String> {
        let rows = page.rows(&snapshot(), order);
        rows.iter().map(|row| row.cells[shown].text().to_owned()).collect()
    }

    #[test]
    fn rows_are_sorted_by_numbers_and_by_names() {
        assert_eq!(column(Page::Topics, 0, (0, false)), ["Square", "topic /a&b"]);
        assert_eq!(column(Page::Topics, 0, (0, true)), ["topic /a&b", "Square"]);
        assert_eq!(column(Page::Topics, 6, (6, true)), ["15.0k", "-"]);
        assert_eq!(column(Page::Topics, 4, (4, false)), ["0/1", "1/1"]);
        assert_eq!(column(Page::Participants, 0, (5, true))[0], "the \"one\"");
        let numbers = [Cell::rate(9.0), Cell::rate(10.0)];
        assert_eq!(numbers[0].compare(&numbers[1]), Ordering::Less);
    }

    #[test]
    fn every_row_has_every_column() {
        for page in Page::ALL {
            for row in page.rows(&snapshot(), (0, false)) {
                assert_eq!(row.cells.len(), page.columns().len());
            }
        }
    }

    #[test]
    fn numbers_are_short() {
        let values = [0.0, 999.94, 1_000.0, 31_000.0, 4_200_000.0, 9.9e9];
        assert_eq!(values.map(short), ["0.0", "999.9", "1.0k", "31.0k", "4.2M", "9.9G"]);
        assert_eq!(Cell::total(9_999).text(), "9999");
        assert_eq!(Cell::total(123_456).text(), "123.5k");
    }
}
