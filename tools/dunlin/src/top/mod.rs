//! `dunlin top`: participants, topics and endpoints with rates and losses, again and again.

mod model;
mod screen;
mod table;
mod traffic;
mod watch;

use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use clap::Args;
use dunlin::{Config, DomainParticipant};
use dunlin_program::Stop;
use dunlin_program::{sanitize, tell};
use model::{Snapshot, Sources};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEvent};
use screen::{Screen, Step};
use table::Page;
use watch::{Counted, Watch};

use crate::domain::{ls, survey};
use crate::join::{Survey, wait_of};
use crate::statistics::Statistics;
use crate::topic::on_interrupt;

/// Between two looks at the keyboard.
const STEP: Duration = Duration::from_millis(50);
/// How long the writers of what is subscribed to may take to match, and to tell their counters twice.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is asked for.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    pub survey: Survey,
    /// Show only what has this in its name
    #[arg(short, long, default_value = "", value_name = "TEXT")]
    filter: String,
    /// Subscribe to all topics that are shown, to count their samples: the network carries them to this host too
    #[arg(short, long)]
    subscribe: bool,
    /// Seconds for which is counted
    #[arg(short, long, default_value_t = 1.0, value_name = "SECONDS")]
    interval: f64,
    /// Print one table and end, as without a terminal
    #[arg(long)]
    once: bool,
    /// Print one JSON object in one line and end
    #[arg(long)]
    json: bool,
}

/// Counts in intervals.
struct Meter {
    watch: Watch,
    statistics: Statistics,
    before: Counted,
    since: Instant,
}

impl Meter {
    fn new(participant: DomainParticipant) -> Result<Self> {
        let statistics = Statistics::subscribe(&participant)?;
        let watch = Watch::new(participant);
        Ok(Self { watch, statistics, before: Counted::new(), since: Instant::now() })
    }

    /// Begins an interval.
    fn begin(&mut self) {
        (self.before, self.since) = (self.watch.counted(), Instant::now());
    }

    /// What is known now, with the rates since the interval began; then begins the next.
    fn snapshot(&mut self) -> Snapshot {
        let (now, at) = (self.watch.counted(), Instant::now());
        let seconds = at.duration_since(self.since).as_secs_f64();
        // What is counted while the domain is surveyed belongs to the next interval, and so does the time.
        // What is answered meanwhile is shown the next time.
        crate::types::ask_all(self.watch.participant());
        let (told, domain) = (self.statistics.told(), survey(self.watch.participant()));
        let shown = Snapshot::new(domain, &Sources { before: &self.before, now: &now, seconds, told: &told });
        (self.before, self.since) = (now, at);
        shown
    }
}

/// Shows the domain until it is told to end, or once.
pub fn run(arguments: &Arguments, mut config: Config, out: &mut impl Write) -> Result<ExitCode> {
    ensure!((0.1..=3600.0).contains(&arguments.interval), "--interval takes 0.1 to 3600 seconds");
    let stop = on_interrupt()?;
    let is_live = !arguments.once && !arguments.json && std::io::stdout().is_terminal();
    // The terminal shows the domain: lines of a log would stand in the middle of it.
    config.logging.standard_error &= !is_live;
    let participant = arguments.survey.join.participant(config, "dunlin top")?;
    let mut meter = Meter::new(participant)?;
    if is_live {
        // The terminal is given back before the participant takes its leave, and whatever went wrong.
        let shown = ratatui::try_init()
            .map_err(Into::into)
            .and_then(|terminal| live(arguments, &mut meter, &stop, terminal));
        let restored = ratatui::try_restore();
        shown?;
        restored?;
    } else {
        once(arguments, &mut meter, &stop, out)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn once(arguments: &Arguments, meter: &mut Meter, stop: &Stop, out: &mut impl Write) -> Result<()> {
    if stop.wait(wait_of(arguments.survey.wait)?) {
        return Ok(());
    }
    let screen = Screen::new(&arguments.filter, arguments.subscribe);
    let shown = meter.snapshot().only(screen.filter());
    meter.watch.only(&screen.wanted(&shown));
    let deadline = Instant::now() + PATIENCE;
    let ready = |meter: &Meter| meter.watch.is_matched() && meter.statistics.has_told();
    while !ready(meter) && Instant::now() < deadline && !stop.wait(STEP) {}
    crate::types::settle(meter.watch.participant());
    meter.begin();
    if arguments.subscribe && stop.wait(Duration::from_secs_f64(arguments.interval)) {
        return Ok(());
    }
    let shown = meter.snapshot().only(screen.filter());
    for problem in meter.watch.problems() {
        tell!("dunlin: not subscribed: {problem}");
    }
    let text = if arguments.json { crate::output::json(&shown)? } else { text(&shown) };
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Every page as a table.
fn text(shown: &Snapshot) -> String {
    let mut out = String::new();
    for page in Page::ALL {
        let titles = page.columns().iter().map(|(title, _)| (*title).to_owned()).collect();
        let rows = page.rows(shown, (0, false)).into_iter();
        let rows = rows.map(|row| row.cells.iter().map(|cell| cell.text().to_owned()).collect());
        let rows: Vec<Vec<String>> = std::iter::once(titles).chain(rows).collect();
        if rows.len() > 1 {
            if !out.is_empty() {
                out.push('\n');
            }
            ls::table(&mut out, "", &rows);
        }
    }
    out
}

/// What is to be done next.
enum Next {
    End,
    Key(KeyEvent),
    /// The terminal has another size, or the like.
    Draw,
    /// The interval is over.
    Count,
}

/// What is typed. A thread of its own waits for it, because that wait does not always end when the terminal is gone.
fn events() -> Receiver<Event> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || while event::read().is_ok_and(|event| sender.send(event).is_ok()) {});
    receiver
}

/// Waits for a key or for the end of the interval, if there is one.
fn next(events: &Receiver<Event>, deadline: Option<Instant>, stop: &Stop) -> Next {
    loop {
        if stop.is_set() {
            return Next::End;
        }
        match events.recv_timeout(STEP) {
            Ok(Event::Key(key)) if key.is_press() => return Next::Key(key),
            Ok(_) => return Next::Draw,
            Err(RecvTimeoutError::Disconnected) => return Next::End,
            Err(RecvTimeoutError::Timeout) => {}
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Next::Count;
        }
    }
}

fn live(arguments: &Arguments, meter: &mut Meter, stop: &Stop, mut terminal: DefaultTerminal) -> Result<()> {
    let mut screen = Screen::new(&arguments.filter, arguments.subscribe);
    let interval = Duration::from_secs_f64(arguments.interval);
    let (events, mut all) = (events(), meter.snapshot());
    loop {
        let shown = all.only(screen.filter());
        meter.watch.only(&screen.wanted(&shown));
        let problem = meter.watch.problems().first().map(|problem| sanitize(problem));
        terminal.draw(|frame| screen.draw(frame, &shown, problem.as_deref()))?;
        let deadline = (!screen.is_paused()).then_some(meter.since + interval);
        match next(&events, deadline, stop) {
            Next::End => return Ok(()),
            Next::Key(key) if screen.key(key, &shown) == Step::End => return Ok(()),
            Next::Key(_) | Next::Draw => {}
            Next::Count => all = meter.snapshot(),
        }
    }
}
