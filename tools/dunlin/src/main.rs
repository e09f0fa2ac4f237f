//! The dunlin command line.
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod beside;
mod doctor;
mod domain;
mod idl;
mod join;
mod names;
mod output;
mod ping;
mod routers;
mod statistics;
mod top;
mod topic;
mod types;
mod why;

use std::ffi::OsString;
use std::fs::File;
use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{CommandFactory, Parser, Subcommand};
use dunlin::Config;
use dunlin::config::Import;
use dunlin_program::tell;
use topic::measure::What;

#[derive(Parser)]
#[command(name = "dunlin", version, about = "DDS from the command line")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// In the order in which people come to need them.
#[derive(Subcommand)]
enum Command {
    /// List participants, topics and endpoints of a domain
    #[command(
        after_help = "Examples:\n  dunlin ls                 everything in domain 0\n  dunlin ls Square --long   endpoints and QoS of topics with Square in their names\n  dunlin ls --json | jq .   for programs"
    )]
    Ls(domain::ls::Arguments),
    /// Print what is written to a topic
    #[command(
        after_help = "Examples:\n  dunlin echo Square --count 1\n  dunlin echo Square --filter \"x > 100 AND color = 'RED'\" --fields x,y\n  dunlin echo /chatter      a topic of ROS 2"
    )]
    Echo(topic::echo::Arguments),
    /// Write to a topic
    #[command(
        after_help = "Examples:\n  dunlin pub Square '{\"color\": \"RED\", \"x\": 10}'\n  dunlin pub Square '{color: RED, x: 10}' --count 0 --rate 5\n  dunlin pub Report '{\"n\": 1}' --idl report.idl --type Report   before anybody reads it"
    )]
    Pub(topic::publish::Arguments),
    /// Say which writers and readers of a topic match, and why the others do not
    #[command(after_help = "Examples:\n  dunlin why Square\n  dunlin why Square --json")]
    Why(why::Arguments),
    /// Check network, kernel, clock and ports of this host, and say what to do
    #[command(after_help = "Examples:\n  dunlin doctor\n  dunlin doctor --set network.interfaces=eth0")]
    Doctor(doctor::Arguments),
    /// Show participants, topics and endpoints with rates and losses, until q
    #[command(
        after_help = "Examples:\n  dunlin top\n  dunlin top --subscribe --filter Square\n  dunlin top --once --json"
    )]
    Top(top::Arguments),
    /// Measure how often a topic is written
    #[command(after_help = "Example:\n  dunlin hz Square --count 5")]
    Hz(topic::measure::Arguments),
    /// Measure how many bytes a topic has
    #[command(after_help = "Example:\n  dunlin bw Square --interval 2")]
    Bw(topic::measure::Arguments),
    /// Measure the time from source timestamp to reception
    #[command(after_help = "Example:\n  dunlin latency Square --json")]
    Latency(topic::measure::Arguments),
    /// Measure the round trip to another `dunlin ping --answer`
    #[command(
        after_help = "Examples:\n  dunlin ping --answer      on one host\n  dunlin ping --count 10    on the other"
    )]
    Ping(ping::Arguments),
    /// Print the type of a topic as its endpoints announce it, as IDL or XML, or compare it with a file
    #[command(after_help = "Examples:\n  dunlin type Square\n  dunlin type Square --diff shape.idl")]
    Type(types::Arguments),
    /// Draw who talks to whom, as SVG or for Graphviz
    #[command(
        after_help = "Examples:\n  dunlin graph -o domain.svg\n  dunlin graph --format dot | dot -Tpng > domain.png"
    )]
    Graph(domain::graph::Arguments),
    /// Print the configuration in force, each value with its origin
    #[command(args_conflicts_with_subcommands = true)]
    #[command(
        after_help = "Examples:\n  dunlin config\n  dunlin config --reference\n  dunlin config import fastdds.xml > dunlin.toml"
    )]
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
    /// Check, format and compare IDL files and types in XML, and make code of them
    #[command(
        after_help = "Examples:\n  dunlin idl shape.idl                 is it correct?\n  dunlin idl --rust shape.idl --out src\n  dunlin idl --diff old.idl new.idl    who can still read whom?"
    )]
    Idl(idl::Arguments),
    /// Publish and subscribe to moving shapes, in the terminal or on a page
    #[command(
        after_help = "Examples:\n  dunlin shapes\n  dunlin shapes --publish Circle:RED --subscribe Square --web 8080"
    )]
    Shapes(dunlin_shapes::cli::Arguments),
    /// Compare DDS implementations, transports and deployments
    #[command(subcommand, after_help = "Examples:\n  dunlin bench list\n  dunlin bench run latency")]
    Bench(dunlin_bench::cli::Command),
    /// Print the completion script of a shell
    #[command(
        after_help = "Example:\n  dunlin completions bash > ~/.local/share/bash-completion/completions/dunlin"
    )]
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
}

#[derive(Subcommand)]
enum ConfigAction {
    /// Make a configuration of the XML of DDS-XML, Fast DDS or Cyclone DDS; standard error lists what could not be carried over
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
    config.set_all(set)?;
    config.check()?;
    Ok(config)
}

fn measure(arguments: &topic::measure::Arguments, what: What) -> Result<ExitCode> {
    let config = config(arguments.target.join.set())?;
    topic::measure::run(arguments, what, config, &mut output::stdout())
}

fn run(command: Command) -> Result<ExitCode> {
    let out = &mut output::stdout();
    match command {
        Command::Config { action: Some(ConfigAction::Import { file }), .. } => {
            let (toml, report) = import(&file)?;
            write!(out, "{toml}")?;
            tell!("{report}");
        }
        Command::Config { reference: true, .. } => write!(out, "{}", dunlin::config::reference())?,
        Command::Config { set, .. } => write!(out, "{}", config(&set)?.effective())?,
        Command::Bench(command) => dunlin_bench::cli::execute(command, &["bench", "adapter"], out)?,
        Command::Idl(arguments) => return idl::run(&arguments),
        Command::Why(arguments) => {
            return why::run(&arguments, config(arguments.join.set())?, out);
        }
        Command::Type(arguments) => {
            return types::run(&arguments, config(arguments.survey.join.set())?, out);
        }
        Command::Doctor(arguments) => {
            return doctor::run(&arguments, config(arguments.join.set())?, out);
        }
        Command::Ls(arguments) => {
            let config = config(arguments.survey.join.set())?;
            return domain::ls::run(&arguments, config, out);
        }
        Command::Top(arguments) => {
            let config = config(arguments.survey.join.set())?;
            return top::run(&arguments, config, &mut output::stdout());
        }
        Command::Graph(arguments) => {
            let config = config(arguments.survey.join.set())?;
            return domain::graph::run(&arguments, config, out);
        }
        Command::Ping(arguments) => {
            return ping::run(&arguments, config(arguments.join.set())?, out);
        }
        Command::Echo(arguments) => {
            let config = config(arguments.target.join.set())?;
            return topic::echo::run(&arguments, config, &mut output::stdout());
        }
        Command::Pub(arguments) => {
            let config = config(arguments.target.join.set())?;
            return topic::publish::run(&arguments, config, &mut output::stdout());
        }
        Command::Hz(arguments) => return measure(&arguments, What::Rate),
        Command::Bw(arguments) => return measure(&arguments, What::Bandwidth),
        Command::Latency(arguments) => return measure(&arguments, What::Latency),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "dunlin", &mut script);
            out.write_all(&script)?;
        }
        Command::Shapes(arguments) => {
            dunlin_shapes::cli::run(&arguments, config(arguments.set())?, out)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Help; that of the program itself with the programs beside it.
fn help_text(given: &[OsString], help: &clap::Error) -> String {
    let rendered = help.render();
    let styled = std::io::stdout().is_terminal();
    let mut text = if styled { rendered.ansi().to_string() } else { rendered.to_string() };
    let of_the_program = given.len() == 1 && ["--help", "-h", "help"].iter().any(|word| given[0] == *word);
    let beside = if of_the_program { beside::names() } else { Vec::new() };
    if !beside.is_empty() {
        text.push_str(&format!(
            "\nPrograms beside this one, started as its commands: {}\n",
            beside.join(", ")
        ));
    }
    text
}

/// What the arguments ask for. Help goes where the answer would.
fn obey() -> Result<ExitCode> {
    let given: Vec<_> = std::env::args_os().skip(1).collect();
    let is_command = |name: &str| name == "help" || Arguments::command().find_subcommand(name).is_some();
    if let Some(program) = beside::program(&given, is_command) {
        match beside::become_it(&program, &given)? {}
    }
    let code = match Arguments::try_parse() {
        Ok(arguments) => run(arguments.command)?,
        Err(wrong) if wrong.use_stderr() => wrong.exit(),
        Err(help) => {
            output::stdout().write_all(help_text(&given, &help).as_bytes())?;
            ExitCode::SUCCESS
        }
    };
    output::stdout().flush()?;
    Ok(code)
}

fn main() -> ExitCode {
    match obey() {
        Ok(code) => code,
        // `| head` has enough.
        Err(_) if output::is_closed() => ExitCode::SUCCESS,
        Err(error) => {
            tell!("dunlin: {}", output::sentence(&error));
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

    /// What a shell makes of a line: words, quoted or not, up to a pipe, a comment or a redirection.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
        for letter in line.chars() {
            match (quote, letter) {
                (Some(open), _) if letter == open => quote = None,
                (Some(_), _) => word.get_or_insert_default().push(letter),
                (None, '\'' | '"') => (quote, word) = (Some(letter), Some(word.unwrap_or_default())),
                (None, '|' | '>' | '#') if word.is_none() => break,
                (None, ' ') => words.extend(word.take()),
                (None, _) => word.get_or_insert_default().push(letter),
            }
        }
        words.extend(word);
        words
    }

    #[test]
    fn the_commands_and_configurations_of_the_documentation_are_understood() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs"));
        let (mut commands, mut files) = (0, 0);
        for entry in std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()) {
            let Some(name) =
                entry.file_name().and_then(|name| name.to_str()).filter(|it| it.ends_with(".md"))
            else {
                continue;
            };
            let page = std::fs::read_to_string(&entry).unwrap();
            for block in dunlin_docs::blocks(&page).into_iter().filter(|block| block.proof == "parsed") {
                let place = format!("{name}:{}", block.line);
                if block.language == "toml" {
                    Config::from_toml(&place, &block.text).unwrap();
                    files += 1;
                    continue;
                }
                let lines = block.text.lines().map(|line| line.rsplit("| dunlin ").next().unwrap_or(line));
                let lines = lines.filter(|line| !line.trim().is_empty());
                for line in lines.map(|line| line.trim_start_matches("dunlin ")) {
                    let given = std::iter::once("dunlin".to_owned()).chain(words(line));
                    if let Err(error) = Arguments::try_parse_from(given) {
                        assert!(!error.use_stderr(), "{place}: {line}: {error}");
                    }
                    commands += 1;
                }
            }
        }
        assert!(commands > 30 && files > 1, "{commands} commands, {files} configurations");
    }

    #[test]
    fn imported_xml_becomes_a_configuration_and_the_rest_is_reported() {
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
            "docs/configuration.md is out of date: replace its reference by the output of `dunlin config --reference`"
        );
    }
}
