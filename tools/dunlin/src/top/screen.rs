//! What `dunlin top` draws in a terminal, and what its keys do.

use std::collections::BTreeSet;

use ratatui::Frame;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row as TableRow, Table, TableState};

use super::model::Snapshot;
use super::table::{Page, Row, Width, shortened};
use crate::output::counted;

const HELP: &str = "q end  Tab page  ←→ sort  r turn  / filter  s subscribe  a all  p pause";
/// The same for a narrow screen.
const SHORT_HELP: &str = "q end  Tab page  ←→ sort  / filter  s subscribe";
/// Characters that the full head and help need.
const WIDE: u16 = 76;
/// Rows that Page Up and Page Down move.
const PAGE: usize = 20;
/// Characters of a filter.
const LONGEST_FILTER: usize = 100;

/// Whether to go on.
#[derive(PartialEq, Eq, Debug)]
pub enum Step {
    On,
    End,
}

/// What is shown, and what was asked for.
pub struct Screen {
    page: usize,
    /// Column, and whether the largest is first, of each page.
    sort: [(usize, bool); Page::ALL.len()],
    filter: String,
    typing: bool,
    selected: usize,
    /// Whether everything that is shown is subscribed to.
    all: bool,
    /// What is subscribed to besides.
    chosen: BTreeSet<String>,
    paused: bool,
}

impl Screen {
    /// Shows topics first.
    pub fn new(filter: &str, all: bool) -> Self {
        let filter = filter.to_owned();
        let (sort, chosen) = ([(0, false); Page::ALL.len()], BTreeSet::new());
        Self { page: 0, sort, filter, typing: false, selected: 0, all, chosen, paused: false }
    }

    /// The filter.
    pub fn filter(&self) -> &str {
        &self.filter
    }

    /// Whether what is shown stays.
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    fn page(&self) -> Page {
        Page::ALL[self.page]
    }

    fn rows(&self, shown: &Snapshot) -> Vec<Row> {
        self.page().rows(shown, self.sort[self.page])
    }

    /// The topics to subscribe to, of those that are shown.
    pub fn wanted(&self, shown: &Snapshot) -> BTreeSet<String> {
        let names = shown.topics.iter().map(|topic| &topic.name);
        names.filter(|name| self.all || self.chosen.contains(*name)).cloned().collect()
    }

    /// What a key does.
    pub fn key(&mut self, key: KeyEvent, shown: &Snapshot) -> Step {
        if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
            return Step::End;
        }
        if self.typing {
            self.type_filter(key.code);
            return Step::On;
        }
        let rows = self.rows(shown);
        let last = rows.len().saturating_sub(1);
        let columns = self.page().columns().len();
        let (column, descending) = &mut self.sort[self.page];
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return Step::End,
            KeyCode::Tab => (self.page, self.selected) = ((self.page + 1) % Page::ALL.len(), 0),
            KeyCode::BackTab => {
                (self.page, self.selected) = ((self.page + Page::ALL.len() - 1) % Page::ALL.len(), 0);
            }
            KeyCode::Left => *column = (*column + columns - 1) % columns,
            KeyCode::Right => *column = (*column + 1) % columns,
            KeyCode::Char('r') => *descending = !*descending,
            KeyCode::Char('/') => self.typing = true,
            KeyCode::Char('p') => self.paused = !self.paused,
            KeyCode::Char('a') => self.all = !self.all,
            KeyCode::Char('s') => self.choose(rows.get(self.selected.min(last))),
            KeyCode::Up => self.selected = self.selected.min(last).saturating_sub(1),
            KeyCode::Down => self.selected = (self.selected + 1).min(last),
            KeyCode::PageUp => self.selected = self.selected.min(last).saturating_sub(PAGE),
            KeyCode::PageDown => self.selected = (self.selected + PAGE).min(last),
            KeyCode::Home => self.selected = 0,
            KeyCode::End => self.selected = last,
            _ => {}
        }
        Step::On
    }

    fn type_filter(&mut self, code: KeyCode) {
        match code {
            KeyCode::Enter => self.typing = false,
            KeyCode::Esc => {
                self.typing = false;
                self.filter.clear();
            }
            KeyCode::Backspace => _ = self.filter.pop(),
            KeyCode::Char(c) if self.filter.chars().count() < LONGEST_FILTER => self.filter.push(c),
            _ => {}
        }
        self.selected = 0;
    }

    /// Subscribes to the topic of a row, or no longer.
    fn choose(&mut self, row: Option<&Row>) {
        let Some(topic) = row.and_then(|row| row.topic.clone()) else { return };
        if !self.chosen.remove(&topic) {
            self.chosen.insert(topic);
        }
    }

    /// Draws a moment; `problem` is what could not be subscribed to.
    pub fn draw(&self, frame: &mut Frame<'_>, shown: &Snapshot, problem: Option<&str>) {
        let parts = [Constraint::Length(1), Constraint::Length(1), Constraint::Min(2), Constraint::Length(1)];
        let [head, pages, body, foot] = Layout::vertical(parts).areas(frame.area());
        let is_wide = frame.area().width >= WIDE;
        frame.render_widget(Line::from(self.head(shown, is_wide)), head);
        frame.render_widget(self.pages(), pages);
        let mut state = TableState::new().with_selected(Some(self.selected));
        frame.render_stateful_widget(self.table(shown, body.width), body, &mut state);
        let foot_line = if self.typing {
            Line::raw(format!("filter: {}▏  Enter keeps it, Esc clears it", self.filter))
        } else if let Some(problem) = problem {
            Line::styled(format!("not subscribed: {problem}"), Style::new().fg(Color::LightRed))
        } else {
            let help = if is_wide { HELP } else { SHORT_HELP };
            Line::styled(help, Style::new().add_modifier(Modifier::DIM))
        };
        frame.render_widget(Paragraph::new(foot_line), foot);
    }

    fn head(&self, shown: &Snapshot, is_wide: bool) -> String {
        let subscribed = shown.topics.iter().filter(|topic| topic.subscribed).count();
        let mut head = format!("domain {}: ", shown.domain);
        if is_wide {
            head += &format!(
                "{}, {}, {}; ",
                counted(shown.participants.len(), "participant"),
                counted(shown.topics.len(), "topic"),
                counted(shown.endpoints.len(), "endpoint"),
            );
        }
        head += &format!("{} subscribed", counted(subscribed, "topic"));
        if self.paused {
            head += " (paused)";
        }
        head
    }

    fn pages(&self) -> Line<'static> {
        let mut spans = Vec::new();
        for (at, page) in Page::ALL.into_iter().enumerate() {
            let chosen = at == self.page;
            let title = if chosen { format!("[{}]", page.title()) } else { format!(" {} ", page.title()) };
            let weight = if chosen { Modifier::BOLD } else { Modifier::empty() };
            spans.push(Span::styled(title, Style::new().add_modifier(weight)));
        }
        if !self.filter.is_empty() {
            spans.push(Span::styled(format!("  filter: {}", self.filter), Style::new().fg(Color::Yellow)));
        }
        Line::from(spans)
    }

    fn table(&self, shown: &Snapshot, width: u16) -> Table<'static> {
        let (columns, rows) = (self.page().columns(), self.rows(shown));
        let fitted = self.page().fitted(&rows);
        let visible = self.page().visible(&fitted, width);
        let lengths = Page::widths(&fitted, &visible, width);
        let (sorted, descending) = self.sort[self.page];
        let line = |text: String, width: Width| match width {
            Width::Number(_) => Line::raw(text).right_aligned(),
            Width::Share(_) | Width::Text(_) => Line::raw(text),
        };
        let titles = visible.iter().map(|&at| {
            let (title, width) = columns[at];
            let arrow = if at != sorted {
                ""
            } else if descending {
                "▼"
            } else {
                "▲"
            };
            Cell::from(line(format!("{title}{arrow}"), width))
        });
        let rows = rows.into_iter().map(|row| {
            let style = if row.bad { Style::new().fg(Color::LightRed) } else { Style::new() };
            let cells = visible.iter().zip(&lengths).map(|(&at, length)| {
                let (text, width) = (row.cells[at].text(), columns[at].1);
                let is_name = matches!(width, Width::Share(_));
                line(if is_name { shortened(text, *length) } else { text.to_owned() }, width)
            });
            TableRow::new(cells.map(Cell::from).collect::<Vec<_>>()).style(style)
        });
        let widths = lengths.iter().copied().map(Constraint::Length);
        Table::new(rows, widths.collect::<Vec<_>>())
            .header(
                TableRow::new(titles).style(Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED)),
            )
            .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED))
    }
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;
    use crate::top::model::tests::snapshot;

    /// The screen as text, without blanks at the ends of lines and without empty lines.
    fn text(screen: &Screen, shown: &Snapshot, (width, height): (u16, u16)) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| screen.draw(frame, shown, None)).unwrap();
        let buffer = terminal.backend().buffer();
        let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
        (0..height).map(line).filter(|line| !line.is_empty()).collect()
    }

    fn press(screen: &mut Screen, shown: &Snapshot, keys: &[KeyCode]) -> Step {
        let mut step = Step::On;
        for code in keys {
            step = screen.key(KeyEvent::new(*code, KeyModifiers::NONE), shown);
        }
        step
    }

    #[test]
    fn the_pages_fit_eighty_columns() {
        let (mut screen, shown) = (Screen::new("", false), snapshot());
        let topics = [
            "domain 7: 2 participants, 2 topics, 4 endpoints; 1 topic subscribed",
            "[Topics] Participants  Endpoints  Bands",
            "TOPIC▲            TYPE           W   R  MATCH  SAMPLES/S   BYTES/S   LOST  AGAIN",
            "Square            ShapeType      1   1    1/1        5.0     15.0k      3      6",
            "topic /a&b        ShapeType      1   1    0/1          -         -      -      -",
            HELP,
        ];
        assert_eq!(text(&screen, &shown, (80, 24)), topics);
        press(&mut screen, &shown, &[KeyCode::Tab, KeyCode::Char('r')]);
        let participants = [
            topics[0],
            " Topics [Participants] Endpoints  Bands",
            "NAME▼     VENDOR        W   R  SAMPLES/S   BYTES/S   LOST  DROPPED   BAD ADDRESS",
            "the \"two\" Dunlin        1   1          -         -      -        -     -",
            "the \"one\" Dunlin        1   1        5.0     15.0k      2        -     -",
            HELP,
        ];
        assert_eq!(text(&screen, &shown, (80, 24)), participants);
        press(&mut screen, &shown, &[KeyCode::Tab, KeyCode::Right, KeyCode::Char('p')]);
        let endpoints = [
            "domain 7: 2 participants, 2 topics, 4 endpoints; 1 topic subscribed (paused)",
            " Topics  Participants [Endpoints] Bands",
            "TOPIC    KIND▲  PARTICIP  MATCH  SAMPLES/S   BYTES/S   LOST  AGAIN  UNACK  INACT",
            "Square   reader two           1          -         -      -      -      -      -",
            "rt/a&b   reader two           0          -         -      -      -      -      -",
            "Square   writer one           1        5.0     15.0k      2      -      -      -",
            "rt/a&b   writer one           0          -         -      -      -      -      -",
            HELP,
        ];
        assert_eq!(text(&screen, &shown, (80, 24)), endpoints);
        // On a narrow screen the names stay readable, and what matters least is left out.
        press(&mut screen, &shown, &[KeyCode::Tab, KeyCode::Tab, KeyCode::Char('p')]);
        let narrow = [
            "domain 7: 1 topic subscribed",
            "[Topics] Participants  Endpoints  Bands",
            "TOPIC▲        W   R  MATCH  SAMPLES/S   LOST  AGAIN",
            "Square        1   1    1/1        5.0      3      6",
            "topic /a&b    1   1    0/1          -      -      -",
            SHORT_HELP,
        ];
        assert_eq!(text(&screen, &shown, (51, 24)), narrow);
        // No size is too small to draw.
        for size in [(1, 1), (10, 3), (200, 60)] {
            text(&screen, &shown, size);
        }
    }

    /// A number without its first digits is another number.
    #[test]
    fn numbers_are_shown_whole() {
        let mut shown = snapshot();
        (shown.topics[0].matched, shown.topics[0].pairs, shown.topics[0].readers) = (1_000, 1_234, 4_321);
        for size in [(80, 24), (51, 24)] {
            let lines = text(&Screen::new("", false), &shown, size);
            assert!(lines[3].contains(" 1000/1234 ") && lines[3].contains(" 4321 "), "{lines:?}");
            assert!(lines[3].starts_with("Squ"), "{lines:?}");
        }
    }

    #[test]
    fn keys_choose_what_is_subscribed_to() {
        let (mut screen, shown) = (Screen::new("", false), snapshot());
        assert!(screen.wanted(&shown).is_empty());
        press(&mut screen, &shown, &[KeyCode::Down, KeyCode::Char('s')]);
        assert_eq!(screen.wanted(&shown), ["rt/a&b".to_owned()].into());
        press(&mut screen, &shown, &[KeyCode::Char('a')]);
        assert_eq!(screen.wanted(&shown).len(), 2);
        press(&mut screen, &shown, &[KeyCode::Char('a'), KeyCode::Char('s')]);
        assert!(screen.wanted(&shown).is_empty());
        // What is not shown is not subscribed to.
        let filtered = snapshot().only("Square");
        press(&mut screen, &shown, &[KeyCode::Char('a')]);
        assert_eq!(screen.wanted(&filtered), ["Square".to_owned()].into());
    }

    #[test]
    fn keys_filter_and_end() {
        let (mut screen, shown) = (Screen::new("", false), snapshot());
        let typed = [KeyCode::Char('/'), KeyCode::Char('q'), KeyCode::Char('u'), KeyCode::Enter];
        assert_eq!(press(&mut screen, &shown, &typed), Step::On);
        assert_eq!(screen.filter(), "qu");
        assert!(text(&screen, &shown, (80, 24))[1].ends_with("filter: qu"));
        press(&mut screen, &shown, &[KeyCode::Char('/'), KeyCode::Esc]);
        assert_eq!(screen.filter(), "");
        for code in [KeyCode::Char('q'), KeyCode::Esc] {
            assert_eq!(press(&mut screen, &shown, &[code]), Step::End);
        }
        press(&mut screen, &shown, &[KeyCode::Char('/')]);
        let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(screen.key(control_c, &shown), Step::End);
    }

    #[test]
    fn names_do_not_control_the_terminal() {
        let mut shown = snapshot();
        shown.topics[0].name = "Squ\u{1b}[2Jare\n".into();
        let lines = text(&Screen::new("", false), &shown, (80, 24));
        assert!(lines[3].starts_with("Squ\u{fffd}[2Jare\u{fffd}"), "{lines:?}");
    }
}
