//! `dunlin bench …`.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, Subcommand};

use crate::adapters::Adapters;
use crate::hosts::{self, Ends, Remote};
use crate::presets::PRESETS;
use crate::results::{Absent, Results, read_bounded};
use crate::run::RunRequest;
use crate::scenario::{Contender, Kind, MAX_FILE, Measure, Scenario, SetUp};
use crate::{adapter, compare, report, run};

/// Compare DDS implementations, transports and deployments.
#[derive(Subcommand)]
pub enum Command {
    /// Show the scenarios and adapters there are
    List {
        /// Where adapters are
        #[command(flatten)]
        adapters: AdapterOptions,
    },
    /// Measure; the results go to a file that compare and report read
    Run(Box<RunOptions>),
    /// Say who is ahead, where the spread allows it
    Compare {
        /// A results file; or two of the same scenario, before and after
        #[arg(required = true, num_args = 1..=2)]
        results: Vec<PathBuf>,
        /// The implementation that the others are compared with, of one results file; the first if not given
        #[arg(long)]
        base: Option<String>,
        /// Compare by this figure, as the results file calls it: frames, cpu_us, all_mb, gbit_per_s
        #[arg(long)]
        figure: Option<String>,
    },
    /// Make one page of results: HTML, or Markdown
    Report {
        /// Results files
        #[arg(required = true)]
        results: Vec<PathBuf>,
        /// The page to write
        #[arg(long, default_value = "bench.html", conflicts_with_all = ["pictures", "markdown", "brief"])]
        out: PathBuf,
        /// Print Markdown instead
        #[arg(long, conflicts_with = "pictures")]
        markdown: bool,
        /// Markdown with one table for all payloads, readers or topics of a measure, without ratios
        #[arg(long, conflicts_with_all = ["pictures", "markdown"])]
        brief: bool,
        /// Write the pictures instead, each as an SVG file in this folder
        #[arg(long, value_name = "FOLDER")]
        pictures: Option<PathBuf>,
    },
    /// Serve the control protocol (what the other commands start)
    #[command(hide = true)]
    Adapter {
        /// dunlin or udp
        name: String,
    },
}

/// Where adapters are.
#[derive(Args)]
pub struct AdapterOptions {
    /// The folder of the adapters that `make bench-peers` built
    #[arg(long, env = "DUNLIN_BENCH_PEERS", default_value = ".cache/bench")]
    peers: PathBuf,
    /// An adapter of your own, or of another version: NAME=PROGRAM
    #[arg(long = "adapter", value_name = "NAME=PROGRAM")]
    adapters: Vec<String>,
}

/// Two hosts as two machines; without these, two hosts are network namespaces of this machine.
#[derive(Args)]
pub struct MachineOptions {
    /// The second machine, as ssh names it: the adapters there are started through ssh
    #[arg(long, value_name = "USER@HOST", requires_all = ["interfaces", "addresses"])]
    remote: Option<String>,
    /// The interface here and the one there
    #[arg(long, value_name = "HERE,THERE", value_delimiter = ',', requires = "remote")]
    interfaces: Vec<String>,
    /// The address here and the one there
    #[arg(long, value_name = "HERE,THERE", value_delimiter = ',', requires = "remote")]
    addresses: Vec<String>,
    /// The folder of adapters there
    #[arg(long, value_name = "FOLDER", default_value = ".cache/bench")]
    remote_peers: String,
    /// The program dunlin there
    #[arg(long, value_name = "PROGRAM", default_value = "dunlin")]
    remote_dunlin: String,
    /// What is called instead of ssh, with its arguments
    #[arg(long, value_name = "COMMAND", default_value = "ssh -o BatchMode=yes")]
    ssh: String,
}

impl MachineOptions {
    fn resolve(&self) -> Result<Option<Remote>> {
        let Some(host) = &self.remote else { return Ok(None) };
        // It would be taken as an option of ssh.
        ensure!(!host.starts_with('-') && !host.is_empty(), "--remote {host} is no host");
        let two = |texts: &[String]| {
            <[String; 2]>::try_from(texts.to_vec()).ok().context("two of each: HERE,THERE")
        };
        let mut shell: Vec<OsString> = self.ssh.split_ascii_whitespace().map(OsString::from).collect();
        shell.push(host.into());
        let ends = Ends { interfaces: two(&self.interfaces)?, addresses: two(&self.addresses)? };
        let (peers, dunlin) = (self.remote_peers.clone(), self.remote_dunlin.clone());
        Ok(Some(Remote { shell, peers, dunlin, ends }))
    }
}

/// What to run.
#[derive(Args)]
pub struct RunOptions {
    /// A scenario file, or the name of a scenario that comes with the tool
    scenario: String,
    #[command(flatten)]
    adapters: AdapterOptions,
    #[command(flatten)]
    machines: MachineOptions,
    /// Only these implementations, by name or adapter, commas between them
    #[arg(long)]
    only: Vec<String>,
    /// How often every cell is measured
    #[arg(long)]
    repetitions: Option<usize>,
    /// Only these payloads, bytes
    #[arg(long, value_delimiter = ',')]
    payloads: Vec<usize>,
    /// Only these numbers of readers, where there are several
    #[arg(long, value_delimiter = ',')]
    readers: Vec<usize>,
    /// Only these kinds of measures: latency, one-way, throughput, discovery, footprint, fleet, applications
    #[arg(long, value_delimiter = ',', hide_possible_values = true)]
    kinds: Vec<Kind>,
    /// Only where the sides are so: inter-process, one-host, intra-process, two-hosts
    #[arg(long, value_delimiter = ',', hide_possible_values = true)]
    set_ups: Vec<SetUp>,
    /// So many round trips instead of those of the scenario
    #[arg(long)]
    count: Option<u64>,
    /// So long instead of as long as the scenario says, for all that is measured for a time
    #[arg(long)]
    seconds: Option<f64>,
    /// Leave out the runs that count system calls
    #[arg(long)]
    no_system_calls: bool,
    /// Print all figures as Markdown instead of the verdicts
    #[arg(long)]
    markdown: bool,
    /// The results file, the report beside it; results/SCENARIO.json if not given
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Obeys. `itself` are the arguments before the name with which this program serves an adapter of its own.
///
/// # Errors
/// What cannot be done, and why.
pub fn execute(command: Command, itself: &[&str], out: &mut dyn Write) -> Result<()> {
    match command {
        Command::List { adapters } => list(&adapters.resolve(itself)?, out)?,
        Command::Run(options) => measure(&options, itself, out)?,
        Command::Compare { results, base, figure } => {
            let wanted = compare::Wanted { base: base.as_deref(), figure: figure.as_deref() };
            write!(out, "{}", comparison(&results, wanted)?)?;
        }
        Command::Report { results, pictures: Some(folder), .. } => pictures(&results, &folder, out)?,
        Command::Report { results, brief: true, .. } => in_markdown(&results, true, out)?,
        Command::Report { results, markdown: true, .. } => in_markdown(&results, false, out)?,
        Command::Report { results, out: file, .. } => page(&results, &file, out)?,
        Command::Adapter { name } => adapter::serve(&name)?,
    }
    Ok(())
}

impl AdapterOptions {
    fn resolve(&self, itself: &[&str]) -> Result<Adapters> {
        Adapters::new(self.peers.clone(), &self.adapters, itself)
    }
}

fn list(adapters: &Adapters, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "scenarios")?;
    for (name, text) in PRESETS {
        let about = Scenario::parse(text).map_or(String::new(), |scenario| scenario.about);
        writeln!(out, "  {name:18} {about}")?;
    }
    writeln!(out, "adapters")?;
    for (name, what, there) in adapters.list() {
        let missing = if there { "" } else { " (not built: make bench-peers)" };
        writeln!(out, "  {name:18} {what}{missing}")?;
    }
    Ok(())
}

/// The scenario as the options change it, and what the page of the run has to say about that.
fn request(options: &RunOptions) -> Result<RunRequest> {
    let mut scenario = named(options)?;
    let mut left_out = Vec::new();
    if !options.only.is_empty() {
        let all = scenario.implementations.clone();
        let mut wanted = Vec::new();
        for list in &options.only {
            wanted.extend(listed(list, &all)?);
        }
        let is_wanted = |one: &Contender| wanted.iter().any(|name| one.name == *name || one.adapter == *name);
        scenario.implementations.retain(is_wanted);
        let others = all.iter().filter(|one| !is_wanted(one));
        left_out
            .extend(others.map(|one| Absent { name: one.name.clone(), why: "left out with --only".into() }));
    }
    let mut notes = only_parts(&mut scenario, options);
    are_about_something(&scenario, options)?;
    let whole = scenario.clone();
    if let Some(repetitions) = options.repetitions {
        scenario.repetitions = repetitions;
    }
    if !options.payloads.is_empty() {
        for measure in scenario.measures.iter_mut().filter(|measure| is_sized(measure.kind)) {
            measure.payloads.clone_from(&options.payloads);
        }
    }
    shorten(&mut scenario, options);
    scenario.check().context("with these options")?;
    notes.extend(shorter(&whole, &scenario));
    Ok(RunRequest { scenario, left_out, notes })
}

/// Refuses what would change nothing in any measure.
fn are_about_something(scenario: &Scenario, options: &RunOptions) -> Result<()> {
    type Takes = fn(&Measure) -> bool;
    let given: [(bool, &str, Takes); 4] = [
        (!options.payloads.is_empty(), "--payloads: no measure of this run", |one| is_sized(one.kind)),
        (!options.readers.is_empty(), "--readers: no measure of this run", has_several_readers),
        (options.count.is_some(), "--count: of round trips; no measure of this run", |one| {
            one.kind == Kind::Latency
        }),
        (options.seconds.is_some(), "--seconds: no measure of this run", |one| {
            !matches!(one.kind, Kind::Latency | Kind::Discovery)
        }),
    ];
    for (is_given, what, takes) in given {
        ensure!(!is_given || scenario.measures.iter().any(takes), "{what} takes it");
    }
    Ok(())
}

/// Leaves out measures and places that are not wanted, and says so.
fn only_parts(scenario: &mut Scenario, options: &RunOptions) -> Vec<String> {
    let before = scenario.measures.clone();
    if !options.kinds.is_empty() {
        scenario.measures.retain(|measure| options.kinds.contains(&measure.kind));
    }
    if !options.set_ups.is_empty() {
        let is_wanted = |set_up: &SetUp| options.set_ups.contains(set_up);
        scenario.measures.iter_mut().for_each(|measure| measure.set_ups.retain(is_wanted));
        scenario.measures.retain(|measure| !measure.set_ups.is_empty());
    }
    let places = |measures: &[Measure]| measures.iter().map(|one| one.set_ups.len()).sum::<usize>();
    let (of, all) = (places(&scenario.measures), places(&before));
    if of == all { Vec::new() } else { vec![format!("{of} of the scenario's {all} parts were measured.")] }
}

/// How a run differs from its scenario file, a sentence each.
fn shorter(whole: &Scenario, scenario: &Scenario) -> Vec<String> {
    let mut notes = Vec::new();
    let mut note = |text: String| {
        if !notes.contains(&text) {
            notes.push(text);
        }
    };
    if whole.repetitions != scenario.repetitions {
        note(format!("{} repetitions in the place of {}.", scenario.repetitions, whole.repetitions));
    }
    for (then, now) in whole.measures.iter().zip(&scenario.measures) {
        let kind = now.kind;
        if then.payloads != now.payloads {
            note(format!("{kind}: payloads {:?} in the place of {:?}.", now.payloads, then.payloads));
        }
        if then.count != now.count {
            note(format!("{kind}: {} round trips in the place of {}.", now.trips(), then.trips()));
        }
        if then.readers != now.readers {
            note(format!("{kind}: {:?} readers in the place of {:?}.", now.readers, then.readers));
        }
        // Discovery takes as long as it takes.
        if then.seconds != now.seconds && !matches!(kind, Kind::Latency | Kind::Discovery) {
            note(format!("{kind}: {} s in the place of {} s.", now.seconds, then.seconds));
        }
        if then.system_calls && !now.system_calls {
            note(format!("{kind}: system calls were not counted."));
        }
    }
    notes
}

/// The scenario that the user names.
fn named(options: &RunOptions) -> Result<Scenario> {
    let preset = PRESETS.iter().find(|(name, _)| *name == options.scenario);
    if let Some((_, text)) = preset {
        return Scenario::parse(text);
    }
    let text = read_bounded(Path::new(&options.scenario), MAX_FILE).with_context(|| {
        format!("{} is no scenario (`dunlin bench list` shows them) and no file", options.scenario)
    })?;
    Scenario::parse(&text).with_context(|| options.scenario.clone())
}

fn shorten(scenario: &mut Scenario, options: &RunOptions) {
    for measure in &mut scenario.measures {
        if let (Kind::Latency, Some(count)) = (measure.kind, options.count) {
            measure.count = Some(count);
        }
        if !options.readers.is_empty() && has_several_readers(measure) {
            measure.readers.clone_from(&options.readers);
        }
        measure.seconds = options.seconds.unwrap_or(measure.seconds);
        measure.system_calls &= !options.no_system_calls;
    }
}

/// Whether a measure is about several readers, or several numbers of them.
fn has_several_readers(measure: &Measure) -> bool {
    measure.readers != [1]
}

/// Whether the payload matters to a kind of measure.
fn is_sized(kind: Kind) -> bool {
    !matches!(kind, Kind::Discovery | Kind::Footprint | Kind::Fleet)
}

/// The names in a list with commas. A name may have commas of its own, so at each place the longest that fits is taken.
fn listed<'a>(list: &'a str, all: &[Contender]) -> Result<Vec<&'a str>> {
    let mut names_listed = Vec::new();
    let mut rest = Some(list);
    while let Some(text) = rest {
        let mut ends = text.match_indices(',').map(|(at, _)| at).chain([text.len()]);
        let fits = |end: &usize| {
            let name = text.get(..*end).unwrap_or_default().trim();
            all.iter().any(|one| one.name == name || one.adapter == name)
        };
        let Some(end) = ends.rfind(fits) else {
            bail!("--only {text}: the scenario has {}", names(all));
        };
        names_listed.push(text.get(..end).unwrap_or_default().trim());
        rest = text.get(end + 1..);
    }
    Ok(names_listed)
}

fn names(contenders: &[Contender]) -> String {
    contenders.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn measure(options: &RunOptions, itself: &[&str], out: &mut dyn Write) -> Result<()> {
    let request = request(options)?;
    let id = &request.scenario.id;
    let file = options.out.clone().unwrap_or_else(|| PathBuf::from(format!("results/{id}.json")));
    let file = if file.parent().is_none_or(|folder| folder.as_os_str().is_empty()) {
        Path::new(".").join(file)
    } else {
        file
    };
    let remote = options.machines.resolve()?;
    hosts::removed_on_signals()?;
    let results = run::run(request, &options.adapters.resolve(itself)?, remote.as_ref(), &file)?;
    // Before anything is printed, which may find no reader.
    let page = file.with_extension("html");
    std::fs::write(&page, report::html(std::slice::from_ref(&results)))
        .with_context(|| format!("writing {}", page.display()))?;
    if options.markdown {
        write!(out, "{}", report::markdown(&results, false))?;
    } else {
        write!(out, "{}", compare::within(&results, compare::Wanted::default())?)?;
    }
    writeln!(out, "\nresults: {}\nreport:  {}", file.display(), page.display())?;
    Ok(())
}

fn comparison(files: &[PathBuf], wanted: compare::Wanted<'_>) -> Result<String> {
    match files {
        [one] => compare::within(&Results::load(one)?, wanted),
        [_, _] if wanted.base.is_some() => {
            bail!("--base is about one results file: of two, each implementation is compared with itself")
        }
        [before, after] => compare::between(&Results::load(before)?, &Results::load(after)?, wanted.figure),
        _ => bail!("one results file, or two"),
    }
}

fn load(files: &[PathBuf]) -> Result<Vec<Results>> {
    files.iter().map(|file| Results::load(file)).collect()
}

fn in_markdown(files: &[PathBuf], brief: bool, out: &mut dyn Write) -> Result<()> {
    for one in load(files)? {
        write!(out, "{}", report::markdown(&one, brief))?;
    }
    Ok(())
}

fn page(files: &[PathBuf], file: &Path, out: &mut dyn Write) -> Result<()> {
    std::fs::write(file, report::html(&load(files)?))
        .with_context(|| format!("writing {}", file.display()))?;
    writeln!(out, "{}", file.display())?;
    Ok(())
}

fn pictures(files: &[PathBuf], folder: &Path, out: &mut dyn Write) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    for run in load(files)? {
        for (part, figure) in report::figures(&run) {
            let name = file_name(&[&run.scenario.id, &part, &figure.caption]);
            let file = folder.join(format!("{name}.svg"));
            std::fs::write(&file, figure.file()).with_context(|| format!("writing {}", file.display()))?;
            writeln!(out, "{}", file.display())?;
        }
    }
    Ok(())
}

/// Letters and digits of untrusted text, all else as a hyphen; of a length that file systems take.
fn file_name(parts: &[&str]) -> String {
    let text = parts.join(" ").to_ascii_lowercase();
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").chars().take(120).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_list_has_names_with_commas() {
        let named = |name: &str, adapter: &str| super::Contender {
            name: name.into(),
            adapter: adapter.into(),
            kinds: Vec::new(),
            architecture: None,
            options: std::collections::BTreeMap::new(),
        };
        let all = [
            named("Dunlin", "dunlin"),
            named("Dunlin (UDP, polling)", "dunlin"),
            named("Cyclone", "cyclone"),
        ];
        let listed = |list| super::listed(list, &all).map_err(|error| error.to_string());
        assert_eq!(listed("Dunlin (UDP, polling)"), Ok(vec!["Dunlin (UDP, polling)"]));
        assert_eq!(
            listed("cyclone, Dunlin (UDP, polling),Dunlin"),
            Ok(vec!["cyclone", "Dunlin (UDP, polling)", "Dunlin"])
        );
        for wrong in ["", "Dunlin,", "Dunlin (UDP", "Dunlin,nobody"] {
            assert!(listed(wrong).unwrap_err().contains("the scenario has Dunlin, "), "{wrong}");
        }
    }

    #[derive(clap::Parser)]
    struct Tool {
        #[command(subcommand)]
        command: super::Command,
    }

    fn parsed(words: &str) -> Result<super::Command, clap::Error> {
        let words = std::iter::once("bench").chain(words.split(' '));
        <Tool as clap::Parser>::try_parse_from(words).map(|tool| tool.command)
    }

    #[test]
    fn bench_options_without_effect_are_refused() {
        for (words, why) in [
            ("run throughput --readers 4", "--readers: no measure of this run takes it"),
            ("run throughput --kinds throughput --count 5", "--count: of round trips; no measure"),
            ("run discovery --kinds discovery --payloads 64", "--payloads: no measure"),
            ("run discovery --kinds discovery --seconds 1", "--seconds: no measure"),
        ] {
            let Ok(super::Command::Run(options)) = parsed(words) else { panic!("{words}") };
            let Err(error) = super::request(&options) else { panic!("{words} is accepted") };
            assert!(format!("{error:#}").contains(why), "{words}: {error:#}");
        }
        let Ok(super::Command::Run(options)) = parsed("run one-to-many --readers 4") else { panic!() };
        assert_eq!(super::request(&options).unwrap().scenario.measures[0].readers, [4]);
        for words in [
            "report r.json --markdown --out x",
            "report r.json --brief --markdown",
            "report r.json --pictures f --out x",
        ] {
            assert!(parsed(words).is_err(), "{words}");
        }
        let files = [super::PathBuf::from("a.json"), "b.json".into()];
        let wanted = super::compare::Wanted { base: Some("a"), figure: None };
        assert!(super::comparison(&files, wanted).unwrap_err().to_string().contains("--base"));
    }

    #[test]
    fn names_of_files_stay_in_their_folder() {
        let name = super::file_name(&["../x", "Round trip, 64 B", "99th percentile"]);
        assert_eq!(name, "x-round-trip-64-b-99th-percentile");
        assert_eq!(super::file_name(&["a".repeat(500).as_str()]).len(), 120);
    }
}
