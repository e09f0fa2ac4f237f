//! What a sample costs, counted: instructions in user space (callgrind) and system calls (strace), on the writing and on
//! the reading side, over UDP on the loopback interface, and of both within one process. Counts do not depend on how busy the
//! machine is, so they can decide a test: `check` fails when one is above its record in `record.toml`.

#![forbid(unsafe_code)]

mod count;
mod marks;
mod record;
mod sides;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use clap::{Parser, Subcommand};
use count::{Count, Exchange, Side};
use record::Record;
use sides::Way;

/// Octets of payload, and samples; each by itself.
const WORKLOADS: [(usize, u64); 3] = [(64, 1_000), (8_192, 1_000), (921_600, 40)];
/// The same of samples that are written back to back.
const BURSTS: [(usize, u64); 1] = [(64, 20_000)];
/// The same, lent to a reader that shares memory. What a lent sample costs does not depend on its size.
const LENT: [(usize, u64); 1] = [(64, 20_000)];
/// The same, in datagrams of one frame of Ethernet.
const FRAMES: [(usize, u64); 1] = [(921_600, 40)];

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
    /// Counts, and counts another implementation too, as a table side by side.
    Compare {
        /// A program that has the two sides as this one has them.
        program: PathBuf,
    },
    /// One side of the exchange.
    #[command(hide = true)]
    Write(sides::Workload),
    /// The other side.
    #[command(hide = true)]
    Read(sides::Workload),
    /// Both sides in one process.
    #[command(hide = true)]
    Both(sides::Workload),
}

fn main() -> Result<()> {
    match Arguments::parse().task {
        Task::Check => check(),
        Task::Record => Record { compiler: record::compiler()?, counts: count_own()? }.save(),
        Task::Compare { program } => compare(&program),
        Task::Write(workload) => sides::write(&workload),
        Task::Read(workload) => sides::read(&workload),
        Task::Both(workload) => sides::both(&workload),
    }
}

type Counts = BTreeMap<String, Count>;

/// The sides of Dunlin that are counted; within a process what one sample costs hardly depends on its size.
fn own_sides(exchange: Exchange<'_>) -> &'static [Side] {
    let small = exchange.payload == 64 && exchange.way == Way::Spaced;
    if small { &[Side::Write, Side::Read, Side::Both] } else { &[Side::Write, Side::Read] }
}

/// Those of another implementation: only the samples that are written by themselves.
fn other_sides(exchange: Exchange<'_>) -> &'static [Side] {
    if exchange.way != Way::Spaced { &[] } else { &[Side::Write, Side::Read] }
}

/// Every workload, as `sides` has it.
fn count_all(program: &Path, sides: impl Fn(Exchange<'_>) -> &'static [Side]) -> Result<Counts> {
    let mut counts = Counts::new();
    println!("payload        side   instructions  cache misses  system calls");
    let of = |way| move |(payload, samples)| Exchange { program, payload, samples, way };
    let (alone, together) = (WORKLOADS.map(of(Way::Spaced)), BURSTS.map(of(Way::Burst)));
    let (lent, frames) = (LENT.map(of(Way::Lent)), FRAMES.map(of(Way::Frames)));
    for exchange in alone.into_iter().chain(together).chain(lent).chain(frames) {
        for &side in sides(exchange) {
            let count = count::measure(exchange, side)?;
            println!(
                "{:<13}  {:<5}  {:>12}  {:>12}  {:>12.2}  {}",
                exchange.name(),
                side.name(),
                count.instructions,
                count.cache_misses,
                count.system_calls,
                count.kinds()
            );
            counts.insert(format!("{}-{}", side.name(), exchange.name()), count);
        }
    }
    Ok(counts)
}

fn count_own() -> Result<Counts> {
    count_all(&std::env::current_exe()?, own_sides)
}

/// Dunlin first, then the other.
fn compare(program: &Path) -> Result<()> {
    let ours = count_own()?;
    println!("{}", program.display());
    let theirs = count_all(program, other_sides)?;
    println!("theirs / ours, instructions, cache misses, system calls");
    for (name, our) in &ours {
        let Some(their) = theirs.get(name) else { continue };
        println!(
            "{name:<15}  {:.2}  {:.2}  {:.2}",
            their.instructions as f64 / our.instructions as f64,
            their.cache_misses as f64 / our.cache_misses as f64,
            their.system_calls / our.system_calls
        );
    }
    Ok(())
}

fn check() -> Result<()> {
    let record = Record::load()?;
    let tolerance = record.tolerance()?;
    let counts = count_own()?;
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
