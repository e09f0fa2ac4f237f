//! `dunlin-attack`: each attack on a pair of its own, with its bounds. Fails where one is broken.

#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::{Args, Parser, Subcommand, ValueEnum};
use dunlin_attack::attacks::{ATTACKS, Attack};
use dunlin_attack::children::IsChild;
use dunlin_attack::field::Make;
use dunlin_attack::pair::{self, Task};
use dunlin_attack::places::{OWN_NETWORK, Places, SET_UP, Side, Speaks, Way, has_own_network};
use dunlin_attack::report;
use dunlin_attack::run::{Outcome, Runner};

#[derive(Parser)]
#[command(
    about = "Attacks a live pair, and tells what that does to it",
    args_conflicts_with_subcommands = true
)]
struct Arguments {
    #[command(flatten)]
    attack: Attacking,
    #[command(subcommand)]
    side: Option<Sub>,
}

#[derive(Args)]
struct Attacking {
    /// Only attacks with one of these in their names.
    names: Vec<String>,
    /// Only those of the short test.
    #[arg(long)]
    short: bool,
    /// Prints the names.
    #[arg(long)]
    list: bool,
    /// A file for everything that was measured.
    #[arg(long)]
    json: Option<PathBuf>,
    /// The same attacks on a pair of this implementation, as one more column.
    #[arg(long)]
    against: Option<Other>,
    /// How long, in seconds of the pair's samples, instead of what is usual for each.
    #[arg(long)]
    seconds: Option<u64>,
    /// The first domain; nobody else may be in it and the ones behind it.
    #[arg(long, default_value_t = 1)]
    domain: u16,
    /// Stay in this network namespace instead of a new one; then bytes to the pair itself are not counted.
    #[arg(long)]
    here: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Other {
    Cyclone,
}

#[derive(Subcommand)]
enum Sub {
    /// One side of a pair; for this program itself.
    #[command(hide = true)]
    Side {
        #[arg(long)]
        role: Side,
        #[arg(long)]
        way: Way,
        #[arg(long)]
        domain: u16,
        #[arg(long)]
        seconds: u64,
        #[arg(long)]
        folder: String,
    },
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    match arguments.side {
        Some(Sub::Side { role, way, domain, seconds, folder }) => {
            match pair::run(role, &Task { places: Places { way, domain }, seconds, folder }) {
                Err(error) if error.is::<IsChild>() => Ok(()),
                result => result,
            }
        }
        None => attack(&arguments.attack),
    }
}

fn attack(arguments: &Attacking) -> Result<()> {
    let mut chosen: Vec<_> = ATTACKS.iter().filter(|attack| arguments.wants(attack)).collect();
    ensure!(!chosen.is_empty(), "no attack has such a name");
    if arguments.list {
        chosen.iter().for_each(|attack| println!("{}", attack.name));
        return Ok(());
    }
    if !arguments.here && !has_own_network() {
        if may_have_own_network() {
            return in_own_network();
        }
        println!("without a network namespace: octets between the two are not counted");
        println!("    and sources are not forged: attacks that do that are left out");
        println!("    over IPv6 the attacker has the pair's address, but not its ports");
        chosen.retain(|attack| attack.speaks != Speaks::AsThePair);
    }
    let mut runner = Runner::new(Make::Dunlin(std::env::current_exe()?), arguments.domain);
    let mut other = arguments.against.map(|Other::Cyclone| cyclone()).transpose()?;
    let mut other = other.take().map(|make| Runner::new(make, arguments.domain));
    println!("{}", report::head(other.is_some()));
    let (mut outcomes, mut others) = (vec![], vec![]);
    for attack in chosen {
        let attack = &Attack { seconds: arguments.seconds.unwrap_or(attack.seconds), ..*attack };
        let outcome = runner.run(attack).with_context(|| attack.name)?;
        let against = match &mut other {
            Some(other) if attack.is_for_all() => Some(other.run(attack)?),
            _ => None,
        };
        println!("{}", report::line(&outcome, against.as_ref()));
        outcome.broken.iter().for_each(|text| println!("    {text}"));
        if attack.name.starts_with("flood") {
            print!("{}", report::pace(&outcome));
        }
        against.iter().flat_map(|other| &other.broken).for_each(|text| println!("    Cyclone: {text}"));
        outcomes.push(outcome);
        others.extend(against);
    }
    if let Some(file) = &arguments.json {
        write_json(file, &outcomes, &others)?;
    }
    conclude(&outcomes)
}

impl Attacking {
    fn wants(&self, attack: &Attack) -> bool {
        let named =
            self.names.is_empty() || self.names.iter().any(|name| attack.name.contains(name.as_str()));
        named && (attack.short || !self.short)
    }
}

fn conclude(outcomes: &[Outcome]) -> ! {
    let broken = outcomes.iter().filter(|outcome| !outcome.holds()).count();
    let total = outcomes.len();
    println!("attack: {} of {total} attacks stay within their bounds", total - broken);
    std::process::exit(i32::from(broken > 0))
}

fn write_json(file: &Path, outcomes: &[Outcome], others: &[Outcome]) -> Result<()> {
    let own = outcomes.iter().map(|outcome| report::json(outcome, "dunlin"));
    let others = others.iter().map(|outcome| report::json(outcome, "cyclone"));
    let all: Vec<_> = own.chain(others).collect();
    std::fs::write(file, serde_json::to_string_pretty(&all)?).with_context(|| format!("{}", file.display()))
}

fn may_have_own_network() -> bool {
    let tried = Command::new("unshare").args(["--map-root-user", "--net", "sh", "-c", SET_UP]).output();
    tried.is_ok_and(|output| output.status.success())
}

/// Runs this program again where nobody else uses loopback, so that everything on it can be counted.
fn in_own_network() -> Result<()> {
    let script = format!("{SET_UP} && exec \"$@\"");
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--net", "--", "sh", "-c", &script, "sh"]);
    command.arg(std::env::current_exe()?).args(std::env::args_os().skip(1));
    let status = command.env(OWN_NETWORK, "1").status();
    let status = status.context("cannot make a network namespace; --here does without")?;
    // It has said itself what was wrong.
    std::process::exit(status.code().unwrap_or(1))
}

fn cyclone() -> Result<Make> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let peers = std::env::var_os("INTEROP_PEERS").map_or(root.join(".cache/peers"), PathBuf::from);
    let python = peers.join("cyclone/bin/python");
    ensure!(python.exists(), "no Cyclone DDS at {}: make interop builds it", python.display());
    Ok(Make::Cyclone(python, root.join("tests/attack/cyclone/pair.py")))
}
