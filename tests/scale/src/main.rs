//! Grows a domain in the simulator and prints what discovery costs: datagrams, octets, virtual time, memory.
#![forbid(unsafe_code)]

mod domain;
mod report;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use domain::Domain;
use dunlin_core::Duration;
use report::{Row, ServedRow};

/// What is measured.
#[derive(Parser)]
struct Options {
    /// Numbers of participants.
    #[arg(long, value_delimiter = ',', default_value = "10,100,1000")]
    participants: Vec<usize>,
    /// Endpoints of each.
    #[arg(long, default_value_t = 10)]
    endpoints: usize,
    /// Virtual seconds of rest.
    #[arg(long, default_value_t = 3)]
    rest: u32,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Page between whose marks the table goes; the chart goes beside it, as .svg.
    #[arg(long)]
    write: Option<PathBuf>,
    /// Octets of state for each other participant that are too many.
    #[arg(long)]
    max_state: Option<u64>,
    /// With a discovery server, all starting at one moment.
    #[arg(long)]
    centralised: bool,
    /// Datagrams sent until all is found that are too many, with a discovery server.
    #[arg(long)]
    max_total: Option<u64>,
    /// Datagrams sent for each pair of participants at the start that are too many.
    #[arg(long)]
    max_datagrams: Option<f64>,
}

/// Time in which the quick announcements of the start are over.
const SETTLING: Duration = Duration::from_millis(600);

fn measure(options: &Options, participants: usize) -> Result<Row> {
    ensure!(participants > options.endpoints.div_ceil(2), "fewer participants than each has neighbours");
    let begin = Instant::now();
    let mut domain = Domain::new(options.seed, options.endpoints);
    let start = domain.grow(participants - 1, participants)?;
    domain.rest(SETTLING);
    let join = domain.grow(1, participants)?;
    domain.rest(SETTLING);
    let before = domain.announcements();
    let rest = domain.rest(Duration::from_secs(options.rest.into()));
    let announcements = domain.announcements() - before;
    ensure!(domain.is_complete(), "somebody was forgotten while nothing happened");
    let state = domain.measure_one();
    Ok(Row {
        participants,
        endpoints: options.endpoints,
        start,
        join,
        announcements: announcements as f64 / f64::from(options.rest),
        resting: rest.received as f64 / f64::from(options.rest) / participants as f64,
        state,
        seconds: begin.elapsed().as_secs_f64(),
    })
}

/// With fewer participants what each does and takes alone weighs more than what it does for the others.
const LARGE: usize = 100;

fn check(options: &Options, row: &Row) -> Result<()> {
    if row.participants < LARGE {
        return Ok(());
    }
    let (others, starting) = (row.participants as u64 - 1, row.participants as u64 - 1);
    let state = row.state / others;
    let datagrams = row.start.sent as f64 / (starting * (starting - 1)) as f64;
    ensure!(
        options.max_state.is_none_or(|most| state <= most),
        "{state} bytes of state for each other participant"
    );
    ensure!(
        options.max_datagrams.is_none_or(|most| datagrams <= most),
        "{datagrams:.2} datagrams for each pair"
    );
    Ok(())
}

fn measure_centralised(options: &Options, participants: usize) -> Result<ServedRow> {
    ensure!(participants > options.endpoints, "fewer participants than each has neighbours");
    let mut domain = Domain::centralised(options.seed, options.endpoints);
    let start = domain.grow(participants, participants)?;
    domain.rest(Duration::from_secs(60));
    let rest = domain.rest(Duration::from_secs(30));
    ensure!(domain.is_complete(), "somebody was forgotten while nothing happened");
    ensure!(
        options.max_total.is_none_or(|most| start.sent <= most),
        "{} datagrams with {participants} participants",
        start.sent
    );
    let state = domain.measure_server();
    Ok(ServedRow { participants, endpoints: options.endpoints, start, rest: rest.sent as f64 / 30.0, state })
}

/// What each participant costs may vary by this share.
const FLAT: f64 = 0.1;

fn run_centralised(options: &Options) -> Result<()> {
    let mut rows = Vec::new();
    for participants in &options.participants {
        rows.push(measure_centralised(options, *participants)?);
    }
    println!("{}", report::served_table(&rows));
    let large = || rows.iter().filter(|row| row.participants >= LARGE).map(ServedRow::datagrams_for_each);
    let (least, most) = (large().fold(f64::MAX, f64::min), large().fold(0.0, f64::max));
    ensure!(
        most == 0.0 || most / least <= 1.0 + 2.0 * FLAT,
        "from {least:.1} to {most:.1} datagrams for each"
    );
    Ok(())
}

const BEGIN: &str = "<!-- table -->\n";
const END: &str = "<!-- end of table -->\n";

fn write(page: &Path, rows: &[Row]) -> Result<()> {
    let text = std::fs::read_to_string(page).with_context(|| format!("reading {}", page.display()))?;
    let (before, rest) = text.split_once(BEGIN).context("the page has no table")?;
    let (_, after) = rest.split_once(END).context("the table of the page has no end")?;
    std::fs::write(page, format!("{before}{BEGIN}{}{END}{after}", report::table(rows)))?;
    std::fs::write(page.with_extension("svg"), report::chart(rows))?;
    Ok(())
}

fn main() -> Result<()> {
    let options = Options::parse();
    if options.centralised {
        return run_centralised(&options);
    }
    let mut rows = Vec::new();
    for participants in &options.participants {
        let row = measure(&options, *participants)?;
        eprintln!("{participants} participants: simulated in {:.1} s", row.seconds);
        check(&options, &row)?;
        rows.push(row);
    }
    println!("{}", report::table(&rows));
    if let Some(page) = &options.write {
        write(page, &rows)?;
    }
    Ok(())
}
