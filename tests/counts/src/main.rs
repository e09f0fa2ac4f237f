//! What a sample costs, counted: instructions in user space (callgrind) and system calls (strace), on the writing and on
//! the reading side, over UDP on the loopback interface. Counts do not depend on how busy the machine is, so they can decide
//! a test: `check` fails when one is above its record in `record.toml`.

#![forbid(unsafe_code)]

mod count;
mod marks;
mod record;
mod sides;

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use clap::{Parser, Subcommand};
use count::{Count, Side};
use record::Record;

/// Octets of payload, and samples.
const WORKLOADS: [(usize, u64); 3] = [(64, 1_000), (8_192, 1_000), (921_600, 40)];

#[derive(Parser)]
#[command(about = "Counts instructions and system calls of a sample")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Counts and compares with the record.
    Check,
    /// Counts and writes the record.
    Record,
    /// One side of the exchange.
    #[command(hide = true)]
    Write(sides::Workload),
    /// The other side.
    #[command(hide = true)]
    Read(sides::Workload),
}

fn main() -> Result<()> {
    match Arguments::parse().task {
        Task::Check => check(),
        Task::Record => Record { compiler: record::compiler()?, counts: count_all()? }.save(),
        Task::Write(workload) => sides::write(&workload),
        Task::Read(workload) => sides::read(&workload),
    }
}

type Counts = BTreeMap<String, Count>;

/// Every workload, both sides.
fn count_all() -> Result<Counts> {
    let mut counts = Counts::new();
    println!("payload  side   instructions  system calls");
    for (payload, samples) in WORKLOADS {
        for side in [Side::Write, Side::Read] {
            let count = count::measure(side, payload, samples)?;
            println!(
                "{payload:>7}  {:<5}  {:>12}  {:>12.2}  {}",
                side.name(),
                count.instructions,
                count.system_calls,
                count.kinds()
            );
            counts.insert(format!("{}-{payload}", side.name()), count);
        }
    }
    Ok(counts)
}

fn check() -> Result<()> {
    let record = Record::load()?;
    let tolerance = record.tolerance()?;
    let counts = count_all()?;
    let mut above = Vec::new();
    for (name, count) in &counts {
        match record.counts.get(name) {
            None => above.push(format!("{name} has no record; `make counts RECORD=1` makes one")),
            Some(recorded) => above.extend(recorded.exceeded(name, count, &tolerance)),
        }
    }
    ensure!(above.is_empty(), "more than the record allows:\n  {}", above.join("\n  "));
    println!("none above its record by more than {:.0} %", (tolerance.instructions - 1.0) * 100.0);
    Ok(())
}
