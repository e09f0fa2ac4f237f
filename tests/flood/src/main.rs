//! A pair of processes keeps its reliable topic at 1 kHz, first in peace, then while strangers send it malformed and
//! valid-looking datagrams as fast as loopback carries them. Fails when a sample is lost, when a process ends, or when one
//! grows.

#![forbid(unsafe_code)]

mod datagrams;
mod flooder;
mod pair;

use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use clap::{Parser, Subcommand};

/// How much larger a process of the pair may be after a flood than after peace.
const MOST_GROWTH: u64 = 64 << 20;

#[derive(Parser)]
#[command(about = "Floods a well-behaved pair of processes")]
struct Arguments {
    /// Seconds of each phase.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// The domain; nobody else may be in it.
    #[arg(long, default_value_t = 113)]
    domain: u32,
    /// Threads that send.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// One side of the pair.
    #[command(subcommand)]
    side: Option<Side>,
}

#[derive(Subcommand, Clone, Copy)]
enum Side {
    /// Writes a sample each millisecond.
    Write,
    /// Takes them, and prints what it has seen.
    Read,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    match arguments.side {
        Some(Side::Write) => pair::write(arguments.domain, arguments.seconds),
        Some(Side::Read) => pair::read(arguments.domain, arguments.seconds),
        None => flood(&arguments),
    }
}

fn flood(arguments: &Arguments) -> Result<()> {
    println!(
        "               lost  written/s   p50 µs   p99 µs   max µs   writer MiB   reader MiB   what it received"
    );
    let peace = phase("in peace", arguments, 0)?;
    let war = phase("in a flood", arguments, arguments.threads)?;
    for (name, before, after) in [("writer", peace.writer, war.writer), ("reader", peace.reader, war.reader)]
    {
        ensure!(after < before + MOST_GROWTH, "the {name} grew from {before} to {after} octets");
    }
    let arrived = war.datagrams.saturating_sub(peace.datagrams);
    ensure!(arrived > 1_000 * arguments.seconds, "that was no flood: {arrived} datagrams more than in peace");
    ensure!(
        war.malformed > 0 && war.strangers > 0,
        "no malformed datagram arrived, or no stranger was known"
    );
    // How fast it was is told and decides nothing: machines differ.
    ensure!(peace.lost == 0 && war.lost == 0, "{} and {} samples were lost", peace.lost, war.lost);
    Ok(())
}

/// What was seen of a phase.
struct Seen {
    lost: u64,
    /// Resident memory at the end, in octets.
    writer: u64,
    reader: u64,
    /// What the reader's participant received.
    datagrams: u64,
    malformed: u64,
    strangers: u64,
}

fn phase(name: &str, arguments: &Arguments, threads: usize) -> Result<Seen> {
    let (reader, writer) = (side("read", arguments)?, side("write", arguments)?);
    let flood = flooder::Flood::start(arguments.domain, threads)?;
    let (reader, writer) = (finish("reader", reader)?, finish("writer", writer)?);
    let sent = flood.stop();
    let [lost, p50, p99, max, reader_memory, datagrams, malformed, strangers, refused] = numbers(&reader)?;
    let [writer_memory, micros] = numbers(&writer)?;
    let rate = arguments.seconds * pair::RATE * 1_000_000 / micros.max(1);
    println!(
        "{name:<12} {lost:>6} {rate:>9} {p50:>8} {p99:>8} {max:>8} {:>12.1} {:>12.1}   {datagrams} datagrams, {malformed} malformed, \
         {strangers} strangers known, {refused} given up; {sent} sent",
        mebibytes(writer_memory),
        mebibytes(reader_memory)
    );
    Ok(Seen { lost, writer: writer_memory, reader: reader_memory, datagrams, malformed, strangers })
}

fn mebibytes(octets: u64) -> f64 {
    octets as f64 / f64::from(1 << 20)
}

fn side(side: &str, arguments: &Arguments) -> Result<Child> {
    let (seconds, domain) = (arguments.seconds.to_string(), arguments.domain.to_string());
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--seconds", &seconds, "--domain", &domain, side]).stdout(Stdio::piped());
    command.spawn().context("cannot start one side of the pair")
}

fn finish(name: &str, side: Child) -> Result<String> {
    let output = side.wait_with_output()?;
    if !output.status.success() {
        bail!("the {name} ended with {}", output.status);
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// The numbers of a report.
fn numbers<const N: usize>(report: &str) -> Result<[u64; N]> {
    let numbers: Vec<u64> = report.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    numbers.try_into().map_err(|_| anyhow::anyhow!("no report: {report}"))
}
