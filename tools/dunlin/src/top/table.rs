//! The pages of `dunlin top` as columns and rows.

use std::cmp::Ordering;

use dunlin_program::sanitize;

use super::model::Snapshot;
use super::traffic::{Number as Counted, Traffic};

/// What is listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Page {
    Topics,
    Participants,
    Endpoints,
    Bands,
}

/// Characters that a column of names has at least, where others can give way to it.
const LEAST_SHARE: u16 = 8;

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
        Self::Text(sanitize(text))
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

/// A name in so many characters: of a longer one beginning and end, because names often begin alike.
pub fn shortened(name: &str, width: u16) -> String {
    let (width, count) = (usize::from(width), name.chars().count());
    if count <= width {
        return name.to_owned();
    }
    let kept = width.saturating_sub(1);
    let (head, tail) = (kept - kept / 2, kept / 2);
    name.chars().take(head).chain(['…']).chain(name.chars().skip(count - tail)).take(width).collect()
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
    pub const ALL: [Self; 4] = [Self::Topics, Self::Participants, Self::Endpoints, Self::Bands];

    /// What it is called.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Topics => "Topics",
            Self::Participants => "Participants",
            Self::Endpoints => "Endpoints",
            Self::Bands => "Bands",
        }
    }

    /// How wide the columns are for these rows: a number has room for all of its digits, as what is left of it would be another
    /// number.
    pub fn fitted(self, rows: &[Row]) -> Vec<Width> {
        let longest = |at: usize| {
            let cells = rows.iter().filter_map(|row| row.cells.get(at));
            let most = cells.map(|cell| cell.text().chars().count()).max().unwrap_or(0);
            u16::try_from(most).unwrap_or(u16::MAX)
        };
        let column = |(at, &(_, width)): (usize, &(&str, Width))| match width {
            Width::Number(least) => Width::Number(least.max(longest(at))),
            Width::Share(_) | Width::Text(_) => width,
        };
        self.columns().iter().enumerate().map(column).collect()
    }

    /// The columns that a screen of so many characters has room for, by their places among all. What matters least goes first.
    pub fn visible(self, fitted: &[Width], width: u16) -> Vec<usize> {
        let columns = self.columns();
        let expendable: &[&str] = match self {
            Self::Topics => &["BYTES/S", "TYPE", "AGAIN", "R", "W"],
            Self::Participants => &["ADDRESS", "VENDOR", "BAD", "DROPPED", "BYTES/S", "R", "W"],
            Self::Endpoints => &["BYTES/S", "INACT", "UNACK", "AGAIN", "KIND"],
            Self::Bands => &["LONGEST", "DELAYED", "QUEUE"],
        };
        let mut visible: Vec<usize> = (0..columns.len()).collect();
        let least = |at: &usize| match fitted[*at] {
            Width::Share(_) => LEAST_SHARE,
            Width::Text(width) | Width::Number(width) => width,
        };
        for title in expendable {
            // One blank between columns.
            if visible.iter().map(|at| least(at) + 1).sum::<u16>() <= width.saturating_add(1) {
                break;
            }
            visible.retain(|at| columns[*at].0 != *title);
        }
        visible
    }

    /// Characters of these columns on a screen of so many: columns of names share what the others leave.
    pub fn widths(fitted: &[Width], visible: &[usize], width: u16) -> Vec<u16> {
        let columns = || visible.iter().map(|at| fitted[*at]);
        let gaps = u16::try_from(visible.len().saturating_sub(1)).unwrap_or(u16::MAX);
        let fixed: u16 = columns()
            .map(|width| if let Width::Text(width) | Width::Number(width) = width { width } else { 0 })
            .sum();
        let mut shares: u16 =
            columns().map(|width| if let Width::Share(parts) = width { parts } else { 0 }).sum();
        let mut left = width.saturating_sub(fixed).saturating_sub(gaps);
        let mut of = |width: Width| match width {
            Width::Text(width) | Width::Number(width) => width,
            Width::Share(parts) => {
                let own = left * parts / shares.max(1);
                (left, shares) = (left - own, shares - parts);
                own
            }
        };
        columns().map(&mut of).collect()
    }

    /// Titles and widths of the columns; 80 characters have room for all of them.
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
                ("BYTES/S", Number(9)),
                ("LOST", Number(6)),
                ("AGAIN", Number(6)),
            ],
            Self::Participants => &[
                ("NAME", Share(3)),
                ("VENDOR", Text(11)),
                ("W", Number(3)),
                ("R", Number(3)),
                ("SAMPLES/S", Number(10)),
                ("BYTES/S", Number(9)),
                ("LOST", Number(6)),
                ("DROPPED", Number(8)),
                ("BAD", Number(5)),
                ("ADDRESS", Share(2)),
            ],
            Self::Endpoints => &[
                ("TOPIC", Share(3)),
                ("KIND", Text(6)),
                ("PARTICIPANT", Share(3)),
                ("MATCH", Number(6)),
                ("SAMPLES/S", Number(10)),
                ("BYTES/S", Number(9)),
                ("LOST", Number(6)),
                ("AGAIN", Number(6)),
                ("UNACK", Number(6)),
                ("INACT", Number(6)),
            ],
            Self::Bands => &[
                ("DAEMON", Share(3)),
                ("FROM", Number(5)),
                ("QUEUE", Number(7)),
                ("BYTES", Number(8)),
                ("BYTES/S", Number(9)),
                ("DELAYED", Number(8)),
                ("DROPPED", Number(8)),
                ("LONGEST", Number(8)),
            ],
        }
    }

    /// The rows, in the order of a column.
    pub fn rows(self, shown: &Snapshot, (column, descending): (usize, bool)) -> Vec<Row> {
        let mut rows = match self {
            Self::Topics => topics(shown),
            Self::Participants => participants(shown),
            Self::Endpoints => endpoints(shown),
            Self::Bands => bands(shown),
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
        let bad = it.well < it.pairs || is_bad(traffic);
        Row { topic: Some(it.name.clone()), cells, bad }
    };
    shown.topics.iter().map(row).collect()
}

fn participants(shown: &Snapshot) -> Vec<Row> {
    let row = |it: &super::model::ParticipantRow| {
        let traffic = it.traffic.unwrap_or_default();
        let cells = vec![
            Cell::name(&it.participant.label),
            Cell::name(&it.participant.vendor),
            Cell::count(it.participant.writers),
            Cell::count(it.participant.readers),
            rate(traffic.samples_per_second),
            rate(traffic.octets_per_second),
            total(traffic.lost),
            it.dropped.map_or(Cell::Unknown, Cell::total),
            it.misbehaved.map_or(Cell::Unknown, Cell::total),
            Cell::name(&it.participant.addresses.join(" ")),
        ];
        let bad = is_bad(traffic) || [it.dropped, it.misbehaved].into_iter().flatten().any(|count| count > 0);
        Row { topic: None, cells, bad }
    };
    shown.participants.iter().map(row).collect()
}

/// What waits in each band of a daemon, and what it has done; the longest wait is in milliseconds.
fn bands(shown: &Snapshot) -> Vec<Row> {
    let row = |it: &super::model::BandRow| {
        let counters = it.counters;
        #[allow(clippy::cast_precision_loss, reason = "for people")]
        let longest = counters.longest_wait_ns as f64 / 1e6;
        let cells = vec![
            Cell::name(&it.of),
            Cell::Number(f64::from(it.from), it.from.to_string()),
            Cell::total(counters.waiting),
            Cell::total(counters.waiting_octets),
            it.octets_per_second.map_or(Cell::Unknown, Cell::rate),
            Cell::total(counters.delayed),
            Cell::total(counters.dropped),
            Cell::Number(longest, format!("{}ms", short(longest))),
        ];
        Row { topic: None, cells, bad: counters.dropped > 0 }
    };
    shown.bands.iter().map(row).collect()
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
    fn eighty_characters_show_all_columns_and_fewer_show_some() {
        for page in Page::ALL {
            let fitted = page.fitted(&page.rows(&snapshot(), (0, false)));
            assert_eq!(page.visible(&fitted, 80).len(), page.columns().len(), "{page:?}");
            let titles: Vec<_> =
                page.visible(&fitted, 50).into_iter().map(|at| page.columns()[at].0).collect();
            let most_needed =
                if page == Page::Bands { ["BYTES/S", "DROPPED"] } else { ["SAMPLES/S", "LOST"] };
            assert!(titles.contains(&page.columns()[0].0), "{titles:?}");
            assert!(most_needed.iter().all(|title| titles.contains(title)), "{titles:?}");
            assert!(titles.len() < page.columns().len(), "{titles:?}");
            assert!(page.visible(&fitted, 1).len() >= 2);
        }
    }

    #[test]
    fn long_names_keep_beginning_and_end() {
        let names = [("sensor", 6), ("dunlin shapes 16924", 9), ("abc", 1), ("abc", 0)];
        assert_eq!(names.map(|(name, width)| shortened(name, width)), ["sensor", "dunl…6924", "…", ""]);
        for page in Page::ALL {
            for width in [1, 50, 80, 200] {
                let fitted = page.fitted(&[]);
                let widths = Page::widths(&fitted, &page.visible(&fitted, width), width);
                let all = widths.iter().sum::<u16>() + widths.len() as u16 - 1;
                assert!(width < 50 || all == width, "{page:?} {width}: {widths:?}");
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
