//! Grows a domain in the simulator and prints what discovery costs: datagrams, octets, virtual time, memory.

#![forbid(unsafe_code)]

mod domain;

use std::time::Instant;

use anyhow::{Result, ensure};
use clap::Parser;
use dunlin_core::Duration;

use domain::{Cost, Domain};

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
    rest: i64,
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// One line of the table.
struct Row {
    participants: usize,
    start: Cost,
    /// One participant joins the others.
    join: Cost,
    rest: Cost,
    announcements: u64,
    state: u64,
    seconds: f64,
}

fn measure(options: &Options, participants: usize) -> Result<Row> {
    let begin = Instant::now();
    let mut domain = Domain::new(options.seed, options.endpoints);
    let start = domain.grow(participants - 1, participants)?;
    // What was not acknowledged yet, and the quick announcements of the start.
    domain.rest(Duration::from_millis(600));
    let join = domain.grow(1, participants)?;
    domain.rest(Duration::from_millis(600));
    let before = domain.announcements();
    let rest = domain.rest(Duration::from_secs(options.rest));
    let announcements = domain.announcements() - before;
    ensure!(domain.is_complete(), "somebody was forgotten while nothing happened");
    let state = domain.measure_one();
    Ok(Row {
        participants: domain.len() + 1,
        start,
        join,
        rest,
        announcements,
        state,
        seconds: begin.elapsed().as_secs_f64(),
    })
}

fn main() -> Result<()> {
    let options = Options::parse();
    for participants in &options.participants {
        let row = measure(&options, *participants)?;
        println!(
            "{} start {:?} join {:?} rest {:?} announcements {} state {} in {:.1} s",
            row.participants, row.start, row.join, row.rest, row.announcements, row.state, row.seconds
        );
    }
    Ok(())
}
