//! Shapes in a terminal.

use std::sync::mpsc::{self, Receiver, TryRecvError};

use anyhow::Result;
use dunlin_program::{Stop, sanitize};
use ratatui::Frame;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::canvas::{Canvas, Circle, Context, Line as Stroke, Rectangle};
use ratatui::widgets::{Block, BorderType, Paragraph, Wrap};

use crate::board::{Board, Shape, View};
use crate::cli::PERIOD;
use crate::motion::BOARD;

/// Columns of the list beside the board.
const LIST: u16 = 46;

/// Draws until `stop` is set, or Ctrl-C, q or Escape is typed.
pub fn run(board: &Board, stop: &Stop) -> Result<()> {
    let mut terminal = ratatui::try_init()?;
    let events = events();
    let shown = loop {
        board.tick();
        let view = board.view();
        if let Err(error) = terminal.draw(|frame| draw(frame, &view)) {
            break Err(error.into());
        }
        if stop.wait(PERIOD) || wants_to_end(&events) {
            break Ok(());
        }
    };
    ratatui::try_restore()?;
    shown
}

/// What is typed. A thread of its own waits for it, because asking does not always return when the terminal is gone.
fn events() -> Receiver<Event> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || while event::read().is_ok_and(|event| sender.send(event).is_ok()) {});
    receiver
}

/// Whether a key says so, or nobody can type any more.
fn wants_to_end(events: &Receiver<Event>) -> bool {
    loop {
        match events.try_recv() {
            Ok(Event::Key(key)) => {
                let control = key.modifiers.contains(KeyModifiers::CONTROL);
                if control && key.code == KeyCode::Char('c')
                    || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc)
                {
                    return true;
                }
            }
            Ok(_) => {}
            Err(TryRecvError::Empty) => return false,
            Err(TryRecvError::Disconnected) => return true,
        }
    }
}

/// The colour that the key names, as far as terminals have it.
fn color_of(name: &str) -> Color {
    match name.trim_end_matches(|c: char| c.is_ascii_digit()).to_ascii_uppercase().as_str() {
        "BLUE" => Color::Rgb(80, 140, 255),
        "RED" => Color::Rgb(255, 85, 85),
        "GREEN" => Color::Rgb(80, 200, 100),
        "YELLOW" => Color::Rgb(245, 205, 70),
        "MAGENTA" | "PURPLE" => Color::Rgb(225, 100, 225),
        "CYAN" => Color::Rgb(70, 210, 220),
        "ORANGE" => Color::Rgb(255, 160, 60),
        "BLACK" | "GRAY" | "GREY" => Color::Gray,
        _ => Color::White,
    }
}

fn draw(frame: &mut Frame<'_>, view: &View) {
    let [left, right] =
        Layout::horizontal([Constraint::Min(20), Constraint::Length(LIST)]).areas(frame.area());
    let block = Block::bordered().border_type(BorderType::Rounded).title(format!(" domain {} ", view.domain));
    let canvas = Canvas::default()
        .block(block)
        .marker(Marker::Braille)
        .x_bounds([0.0, f64::from(BOARD.0)])
        .y_bounds([0.0, f64::from(BOARD.1)])
        .paint(|context| view.shapes.iter().for_each(|shape| paint(context, shape)));
    frame.render_widget(canvas, left);
    let list = Paragraph::new(list(view)).wrap(Wrap { trim: false });
    let block = Block::bordered().border_type(BorderType::Rounded).title(" shapes ").title_bottom(" q ends ");
    frame.render_widget(list.block(block), right);
}

/// Draws a shape with what is left of its way.
fn paint(context: &mut Context<'_>, shape: &Shape) {
    let color = if shape.state == "alive" { color_of(&shape.color) } else { Color::DarkGray };
    // The board counts from above, the canvas from below.
    let at = |(x, y): (i32, i32)| (f64::from(x), f64::from(BOARD.1) - f64::from(y));
    for pair in shape.trail.windows(2) {
        let ((x1, y1), (x2, y2)) = (at(pair[0]), at(pair[1]));
        context.draw(&Stroke { x1, y1, x2, y2, color: Color::DarkGray });
    }
    let Some((x, y)) = shape.trail.last().copied().map(at) else { return };
    let half = f64::from(shape.size) / 2.0;
    match shape.topic.as_str() {
        "Circle" => context.draw(&Circle { x, y, radius: half, color }),
        "Triangle" => {
            let corners = [(x, y + half), (x + half, y - half), (x - half, y - half)];
            for (from, to) in [(0, 1), (1, 2), (2, 0)] {
                let ((x1, y1), (x2, y2)) = (corners[from], corners[to]);
                context.draw(&Stroke { x1, y1, x2, y2, color });
            }
        }
        _ => {
            let (x, y, side) = (x - half, y - half, half * 2.0);
            context.draw(&Rectangle { x, y, width: side, height: side, color });
            if shape.own {
                let inset = side / 6.0;
                let side = side - 2.0 * inset;
                context.draw(&Rectangle { x: x + inset, y: y + inset, width: side, height: side, color });
            }
        }
    }
    // A column of a usual terminal is about three units wide.
    let beginning = (x - 1.5 * shape.color.chars().count() as f64).max(0.0);
    context.print(beginning, y, Line::styled(sanitize(&shape.color), Style::new().fg(color)));
}

/// The lines beside the board.
fn list(view: &View) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for entry in &view.entries {
        let color = if entry.publishes { color_of(&entry.color) } else { Color::White };
        let verb = if entry.publishes { "publishes " } else { "subscribes" };
        let what = format!("{} {}", entry.topic, entry.color);
        lines.push(Line::from(vec![
            Span::raw(format!("{verb} ")),
            Span::styled(what, Style::new().fg(color).add_modifier(Modifier::BOLD)),
        ]));
        let others = if entry.publishes { "reader" } else { "writer" };
        let others = format!("{others}{}", if entry.matched == 1 { "" } else { "s" });
        lines.push(Line::raw(format!("  {} {others}, {} samples", entry.matched, entry.samples)));
        lines.push(Line::styled(format!("  {}", entry.summary), Style::new().fg(Color::Gray)));
        if !entry.problem.is_empty() {
            lines.push(Line::styled(format!("  {}", entry.problem), Style::new().fg(Color::LightRed)));
        }
        lines.push(Line::default());
    }
    lines
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;
    use crate::board::Entry;

    fn shape(topic: &str, color: &str, place: (i32, i32)) -> Shape {
        let (topic, color) = (topic.to_owned(), color.to_owned());
        Shape { topic, color, trail: vec![(10, 10), place], size: 60, own: true, state: "alive", id: 1 }
    }

    /// A stranger's sample may have any numbers and any name.
    #[test]
    fn hostile_samples_are_drawn_within_the_board() {
        let mut shapes = Vec::new();
        for topic in ["Square", "Circle", "Triangle"] {
            for place in [(i32::MIN, i32::MIN), (i32::MAX, i32::MAX), (0, i32::MIN), (120, 120)] {
                for size in [i32::MIN, -1, 0, i32::MAX] {
                    shapes.push(Shape { size, ..shape(topic, "RED\u{202e}\u{1b}[2J", place) });
                }
            }
        }
        let view = View { domain: 0, shapes, entries: Vec::new() };
        for size in [(120, 40), (50, 20), (1, 1)] {
            let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
            terminal.draw(|frame| draw(frame, &view)).unwrap();
            let text: String =
                terminal.backend().buffer().content().iter().map(|cell| cell.symbol()).collect();
            assert!(!text.contains(dunlin_program::is_harmful), "{text:?}");
        }
    }

    #[test]
    fn shapes_are_drawn_where_they_are_in_their_colours() {
        let entry = Entry {
            id: 1,
            publishes: false,
            topic: "Square".into(),
            color: String::new(),
            summary: "reliable".into(),
            matched: 3,
            samples: 17,
            problem: "not with all: OWNERSHIP".into(),
        };
        let shapes = vec![shape("Square", "BLUE", (200, 230)), shape("Triangle", "RED", (60, 60))];
        let view = View { domain: 7, shapes, entries: vec![entry] };
        let mut terminal = Terminal::new(TestBackend::new(120, 40)).unwrap();
        terminal.draw(|frame| draw(frame, &view)).unwrap();
        let buffer = terminal.backend().buffer();
        let text: String = buffer.content().iter().map(|cell| cell.symbol()).collect();
        for wanted in
            ["domain 7", "subscribes Square", "3 writers, 17 samples", "not with all: OWNERSHIP", "BLUE"]
        {
            assert!(text.contains(wanted), "{wanted} is missing");
        }
        let is_blue = |x: u16, y: u16| buffer[(x, y)].fg == color_of("BLUE");
        let below =
            (0..120).flat_map(|x| (20..40).map(move |y| (x, y))).filter(|(x, y)| is_blue(*x, *y)).count();
        let above =
            (0..120).flat_map(|x| (0..20).map(move |y| (x, y))).filter(|(x, y)| is_blue(*x, *y)).count();
        assert!(below > 10 && above == 0, "{below} {above}");
    }
}
