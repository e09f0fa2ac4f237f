//! `dunlin store`: the durability service as a program, and tools for its file.
#![forbid(unsafe_code)]

mod tool;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use dunlin::{Duration, GuardCondition, WaitError, WaitSet};
use dunlin_durability::{Service, ServiceConfig};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

#[derive(Parser)]
#[command(
    name = "dunlin store",
    bin_name = "dunlin store",
    version,
    about = "Keep TRANSIENT and PERSISTENT data for readers that come later",
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true,
    after_help = "Examples:\n  dunlin store site.toml\n  dunlin store --check site.toml\n  dunlin store ls history.redb"
)]
struct Arguments {
    /// The configuration
    file: Option<PathBuf>,
    /// Say what is wrong with the configuration, and end
    #[arg(long, requires = "file")]
    check: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// List the topics of a file that no service has open, or of the back end of a configuration (.toml)
    Ls {
        /// The file
        file: PathBuf,
    },
    /// Show what is kept of a topic, a line for each change
    Show {
        /// The file
        file: PathBuf,
        /// The topic
        topic: String,
        /// At most so many
        #[arg(long, default_value_t = 1000)]
        most: usize,
    },
    /// Remove topics, or let go what has become too old, and make the file small
    Prune {
        /// The file
        file: PathBuf,
        /// Remove this topic altogether
        #[arg(long)]
        topic: Option<String>,
    },
    /// Write everything as lines of text
    Export {
        /// The file
        file: PathBuf,
        /// Where to; the standard output if it is left out
        to: Option<PathBuf>,
    },
    /// Make a file of what was exported, or fill the empty back end of a configuration (.toml)
    Import {
        /// What was exported
        from: PathBuf,
        /// The new file
        file: PathBuf,
    },
}

fn serve(file: &Path) -> Result<()> {
    let config = ServiceConfig::from_file(file)?;
    let report = config.report;
    let mut service = Service::new(config).context("cannot start")?;
    let stop = GuardCondition::new();
    end_on_signals(&stop)?;
    let set = WaitSet::new();
    set.attach_condition(service.wake().condition());
    set.attach_condition(stop.condition());
    dunlin_program::tell!("dunlin store: ready");
    let (mut told, mut failing, mut last) = (Instant::now(), false, String::new());
    while !stop.condition().trigger_value() {
        let mut next = service.pump();
        if service.failure().is_some() != failing {
            failing = !failing;
            match service.failure() {
                Some(why) => {
                    dunlin_program::tell!(
                        "dunlin store: nothing is acknowledged: the store cannot be written: {why}"
                    )
                }
                None => dunlin_program::tell!("dunlin store: the store is written again"),
            }
        }
        if let Some(every) = report.to_std().filter(|every| !every.is_zero()) {
            if told.elapsed() >= every {
                told = Instant::now();
                tell(&service, &mut last);
            }
            next = next.min(report);
        }
        if next > Duration::ZERO && !matches!(set.wait(next), Ok(_) | Err(WaitError::Timeout)) {
            anyhow::bail!("this thread cannot wait");
        }
    }
    tell(&service, &mut last);
    Ok(())
}

/// One line for each topic and each refusal, if something has changed.
fn tell(service: &Service, last: &mut String) {
    use std::fmt::Write;
    let mut text = String::new();
    for it in service.states() {
        let (kind, counters) = (if it.persistent { "persistent" } else { "transient" }, it.counters);
        let _ = writeln!(
            text,
            "topic={:?} partitions={:?} durability={kind} samples={} instances={} octets={} kept={} duplicates={} old={} readers={} given={} damaged={} refused={}",
            it.topic,
            it.partitions,
            it.samples,
            it.instances,
            it.octets,
            counters.kept,
            counters.duplicates,
            counters.old,
            counters.served,
            counters.given,
            counters.damaged,
            it.refused
        );
    }
    if let Some(why) = service.trouble() {
        let _ = writeln!(text, "trouble={why:?}");
    }
    for (topic, why) in service.refusals() {
        let _ = writeln!(text, "topic={topic:?} refused={why:?}");
    }
    for (topic, how) in service.differences() {
        let _ = writeln!(text, "topic={topic:?} differs={how:?}");
    }
    if text != *last {
        text.lines().for_each(|line| dunlin_program::tell!("{line}"));
        *last = text;
    }
}

fn end_on_signals(stop: &GuardCondition) -> Result<()> {
    let stop = stop.clone();
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    std::thread::Builder::new().name("dunlin-signals".into()).spawn(move || {
        if signals.forever().next().is_some() {
            stop.set_trigger_value(true);
        }
    })?;
    Ok(())
}

const NAME: &str = "dunlin store";

fn main() -> ExitCode {
    match dunlin_program::arguments(NAME) {
        Ok(arguments) => dunlin_program::end(NAME, execute(arguments).map(|()| ExitCode::SUCCESS)),
        Err(code) => code,
    }
}

fn execute(arguments: Arguments) -> Result<()> {
    match (&arguments.file, arguments.command) {
        (Some(file), None) if arguments.check => ServiceConfig::from_file(file).map(drop).map_err(Into::into),
        (Some(file), None) => serve(file),
        (_, Some(Command::Ls { file })) => tool::list(&file),
        (_, Some(Command::Show { file, topic, most })) => tool::show(&file, &topic, most),
        (_, Some(Command::Prune { file, topic })) => tool::prune(&file, topic.as_deref()),
        (_, Some(Command::Export { file, to })) => tool::export(&file, to.as_deref()),
        (_, Some(Command::Import { from, file })) => tool::import(&from, &file),
        (None, None) => Ok(()),
    }
}
