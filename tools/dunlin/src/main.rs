//! The dunlin command line.
#![forbid(unsafe_code)]

mod doctor;
mod domain;
mod idl;
mod join;
mod names;
mod ping;
mod statistics;
mod top;
mod topic;
mod types;
mod why;

use anyhow::{Context, Result};
use clap::{CommandFactory, Parser, Subcommand};
use dunlin::Config;
use dunlin::config::Import;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use topic::measure::What;

#[derive(Parser)]
#[command(name = "dunlin", version, about = "DDS from the command line")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print the configuration in force, each value with its origin
    #[command(args_conflicts_with_subcommands = true)]
    Config {
        #[command(subcommand)]
        action: Option<ConfigAction>,
        /// Print every key with its meaning and default instead
        #[arg(long)]
        reference: bool,
        /// Set a key as code would: network.interfaces=eth0
        #[arg(long, value_name = "KEY=VALUE")]
        set: Vec<String>,
    },
    /// Compare DDS implementations, transports and deployments
    #[command(subcommand)]
    Bench(dunlin_bench::cli::Command),
    /// Check, format and compare IDL files and types in XML, and make code of them
    Idl(idl::Arguments),
    /// Say which writers and readers of a topic match, and why the others do not
    Why(why::Arguments),
    /// Print the type of a topic as its endpoints announce it, as IDL or XML, or compare it with a file
    Type(types::Arguments),
    /// Check network, kernel, clock and ports of this host, and say what to do
    Doctor(doctor::Arguments),
    /// List participants, topics and endpoints of a domain
    Ls(domain::ls::Arguments),
    /// Show participants, topics and endpoints with rates and losses, until q
    Top(top::Arguments),
    /// Draw who talks to whom, as SVG or for Graphviz
    Graph(domain::graph::Arguments),
    /// Print what is written to a topic
    Echo(topic::echo::Arguments),
    /// Write to a topic
    Pub(topic::publish::Arguments),
    /// Measure how often a topic is written
    Hz(topic::measure::Arguments),
    /// Measure how many octets a topic has
    Bw(topic::measure::Arguments),
    /// Measure the time from source timestamp to reception
    Latency(topic::measure::Arguments),
    /// Measure the round trip to another `dunlin ping --answer`
    Ping(ping::Arguments),
    /// Print the completion script of a shell
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Publish and subscribe to moving shapes, in the terminal or on a page
    Shapes(dunlin_shapes::cli::Arguments),
}

#[derive(Subcommand)]
enum ConfigAction {
    /// Make a configuration of the XML of DDS-XML, Fast DDS or Cyclone DDS; what could not be carried over is told apart
    Import {
        /// The XML
        file: PathBuf,
    },
}

/// The configuration made of a file, and a report of what is not in it.
fn import(file: &Path) -> Result<(String, String)> {
    let mut text = String::new();
    // Longer than what is read, so that it is refused.
    let source = File::open(file).with_context(|| format!("cannot open {}", file.display()))?;
    source
        .take(2 << 20)
        .read_to_string(&mut text)
        .with_context(|| format!("cannot read {}", file.display()))?;
    let import = Import::from_xml(&text).with_context(|| file.display().to_string())?;
    let mut report = format!("{}: from {}", file.display(), import.dialect);
    for left_out in &import.left_out {
        report.push_str(&format!("\n  not carried over: {left_out}"));
    }
    Ok((import.toml, report))
}

fn config(set: &[String]) -> Result<Config> {
    let mut config = Config::load()?;
    for assignment in set {
        let (key, value) =
            assignment.split_once('=').with_context(|| format!("'{assignment}' is not KEY=VALUE"))?;
        config.set(key, value)?;
    }
    config.check()?;
    Ok(config)
}

fn measure(arguments: &topic::measure::Arguments, what: What) -> Result<ExitCode> {
    let config = config(arguments.target.join.set())?;
    topic::unless_closed(topic::measure::run(arguments, what, config, &mut std::io::stdout()))
}

fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::Config { action: Some(ConfigAction::Import { file }), .. } => {
            let (toml, report) = import(&file)?;
            print!("{toml}");
            eprintln!("{report}");
        }
        Command::Config { reference: true, .. } => print!("{}", dunlin::config::reference()),
        Command::Config { set, .. } => config(&set)?.effective().print(),
        Command::Bench(command) => dunlin_bench::cli::execute(command, &["bench", "adapter"])?,
        Command::Idl(arguments) => return idl::run(&arguments),
        Command::Why(arguments) => {
            return why::run(&arguments, config(arguments.join.set())?, &mut std::io::stdout());
        }
        Command::Type(arguments) => {
            return types::run(&arguments, config(arguments.survey.join.set())?, &mut std::io::stdout());
        }
        Command::Doctor(arguments) => {
            return doctor::run(&arguments, config(arguments.join.set())?, &mut std::io::stdout());
        }
        Command::Ls(arguments) => {
            let config = config(arguments.survey.join.set())?;
            return domain::ls::run(&arguments, config, &mut std::io::stdout());
        }
        Command::Top(arguments) => {
            let config = config(arguments.survey.join.set())?;
            return topic::unless_closed(top::run(&arguments, config, &mut std::io::stdout()));
        }
        Command::Graph(arguments) => {
            let config = config(arguments.survey.join.set())?;
            return domain::graph::run(&arguments, config, &mut std::io::stdout());
        }
        Command::Ping(arguments) => {
            return ping::run(&arguments, config(arguments.join.set())?, &mut std::io::stdout());
        }
        Command::Echo(arguments) => {
            let config = config(arguments.target.join.set())?;
            return topic::unless_closed(topic::echo::run(&arguments, config, &mut std::io::stdout()));
        }
        Command::Pub(arguments) => {
            let config = config(arguments.target.join.set())?;
            return topic::unless_closed(topic::publish::run(&arguments, config, &mut std::io::stdout()));
        }
        Command::Hz(arguments) => return measure(&arguments, What::Rate),
        Command::Bw(arguments) => return measure(&arguments, What::Bandwidth),
        Command::Latency(arguments) => return measure(&arguments, What::Latency),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Arguments::command(), "dunlin", &mut std::io::stdout());
        }
        Command::Shapes(arguments) => {
            dunlin_shapes::cli::run(&arguments, config(arguments.set())?)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("dunlin: {}", names::harmless_lines(&format!("{error:#}")));
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_has_the_last_word_and_mistakes_are_named() {
        let config = config(&["network.interfaces=eth7".into()]).unwrap();
        assert!(config.effective().to_string().contains("eth7"));
        let error = super::config(&["network.interface=eth7".into()]).unwrap_err();
        assert!(format!("{error:#}").contains("interfaces"), "{error:#}");
        assert!(super::config(&["no assignment".into()]).is_err());
    }

    #[test]
    fn what_is_imported_is_a_configuration_and_the_rest_is_reported() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("cyclonedds.xml");
        let text =
            "<CycloneDDS><Domain Id='3'><Tracing><Verbosity>fine</Verbosity></Tracing></Domain></CycloneDDS>";
        std::fs::write(&file, text).unwrap();
        let (toml, report) = import(&file).unwrap();
        assert_eq!(Config::from_toml("imported", &toml).unwrap().domain.id, 3);
        assert!(
            report.contains("Cyclone DDS") && report.contains("line 1: Domain/Tracing/Verbosity"),
            "{report}"
        );
        assert!(import(&directory.path().join("none.xml")).is_err());
    }

    #[test]
    fn the_documentation_lists_every_key() {
        let written = include_str!("../../../docs/configuration.md");
        assert!(
            written.contains(dunlin::config::reference().trim()),
            "docs/configuration.md is out of date: see its first lines"
        );
    }
}
