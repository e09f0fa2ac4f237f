//! `dunlin record`: the recorder as a program.
#![forbid(unsafe_code)]

mod files;
mod run;
#[cfg(feature = "web")]
mod web;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::{Parser, Subcommand, ValueEnum};
use dunlin_recorder::file::Compression;
use dunlin_recorder::text::{parse_duration, parse_size};

/// The status when something of what was meant to be recorded is missing.
const INCOMPLETE: u8 = 3;

#[derive(Parser)]
#[command(
    name = "dunlin record",
    bin_name = "dunlin record",
    version,
    about = "Record topics in MCAP files, and look after such files",
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  dunlin record -o run.mcap\n  dunlin record 'Square*' --duration 60 -o squares.mcap\n  \
                  dunlin record --split-time 10min --keep-files 6 -o ring.mcap\n  dunlin record info run.mcap\n\n\
                  Exit status: 0 all recorded, 1 an error, 2 wrong arguments, 3 something is missing"
)]
struct Arguments {
    #[command(flatten)]
    record: Record,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(clap::Args)]
struct Record {
    /// Topics, with the wildcards * and ?; all of them if none is given
    topics: Vec<String>,
    /// Topics that are left out
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<String>,
    /// Partitions; the default partition has the name ''
    #[arg(long, value_name = "PATTERN")]
    partition: Vec<String>,
    /// The file [default: recording-DATE-TIME.mcap]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The domain instead of the one of the configuration
    #[arg(short, long)]
    domain: Option<u32>,
    /// Set a key of the configuration: network.interfaces=eth0
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// End after so long: 90s, 10min
    #[arg(long, value_parser = parse_duration)]
    duration: Option<Duration>,
    /// How chunks are packed
    #[arg(long, value_enum, default_value_t = Packing::Lz4)]
    compression: Packing,
    /// Begin a new file after so many bytes: 1GB
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    split_size: Option<u64>,
    /// Begin a new file after so long
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    split_time: Option<Duration>,
    /// Keep so many files; the oldest one is removed
    #[arg(long, value_name = "N")]
    keep_files: Option<usize>,
    /// Keep so many bytes beside the present file
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    keep_size: Option<u64>,
    /// Keep files for so long after they were finished
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    keep_time: Option<Duration>,
    /// What may wait for the disk
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "256MiB")]
    buffer: u64,
    /// Let writers wait when the disk is behind, instead of leaving samples out
    #[arg(long)]
    wait: bool,
    /// Instances of a topic; those beyond are not recorded, and count as missing
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..=2_147_483_647))]
    max_instances: u32,
    /// IDL with types of topics whose writers announce none
    #[arg(long, value_name = "FILE")]
    idl: Vec<PathBuf>,
    /// Show the recording on a page for browsers on this host: a port, 0 for any. ADDRESS:PORT for others, too
    #[cfg(feature = "web")]
    #[arg(long, value_name = "PORT", value_parser = web::parse_address)]
    web: Option<std::net::SocketAddr>,
    /// End with status 0 although something is missing
    #[arg(long)]
    allow_loss: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Packing {
    None,
    Lz4,
    Zstd,
}

impl From<Packing> for Compression {
    fn from(packing: Packing) -> Self {
        match packing {
            Packing::None => Self::None,
            Packing::Lz4 => Self::Lz4,
            Packing::Zstd => Self::Zstd,
        }
    }
}

#[derive(Subcommand)]
enum Command {
    /// Say what is in a recording
    Info {
        /// The recording
        file: PathBuf,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Make a whole recording of one that ends early or is damaged
    Repair {
        /// The recording
        file: PathBuf,
        /// The new one
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
    },
    /// Make a recording of a part of another one
    Cut {
        /// The recording
        file: PathBuf,
        /// The new one
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
        /// From so long after its beginning
        #[arg(long, value_name = "TIME", value_parser = parse_duration)]
        from: Option<Duration>,
        /// Until so long after its beginning
        #[arg(long, value_name = "TIME", value_parser = parse_duration)]
        to: Option<Duration>,
        /// Topics, with the wildcards * and ?
        #[arg(long, value_name = "PATTERN")]
        topic: Vec<String>,
        /// Topics that are left out
        #[arg(long, value_name = "PATTERN")]
        exclude: Vec<String>,
    },
}

fn execute(arguments: Arguments) -> Result<ExitCode> {
    match arguments.command {
        None => run::record(&arguments.record),
        Some(Command::Info { file, json }) => files::info(&file, json),
        Some(Command::Repair { file, output }) => files::repair(&file, &output),
        Some(Command::Cut { file, output, from, to, topic, exclude }) => {
            files::cut(&file, &output, (from, to), (topic, exclude))
        }
    }
}

const NAME: &str = "dunlin record";

fn main() -> ExitCode {
    match dunlin_program::arguments(NAME) {
        Ok(arguments) => dunlin_program::end(NAME, execute(arguments)),
        Err(code) => code,
    }
}
