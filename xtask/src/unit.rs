//! `cargo xtask unit LOG [--at-once N]`: what `cargo test --workspace` does, several test programs at a time, because most of them wait
//! for a network and use little of a processor. The log reads like that of `cargo test`.
//!
//! Tests of different programs may use the same domain, so each program has a network namespace of its own. Where none may
//! be made, one program runs after the other.

mod namespace;
mod programs;
mod queue;

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use programs::Program;
use queue::Outcome;

const USAGE: &str = "usage: cargo xtask unit LOG [--at-once N]";
/// As many of those that took longest are shown.
const SHOWN: usize = 8;

/// Builds all test programs, runs them, and writes the log. An error if one of them failed.
pub fn run(root: &Path, options: &[String]) -> Result<()> {
    let (log, at_once) = match options {
        [log] => (log, default_at_once()),
        [log, option, number] if option == "--at-once" => (log, number.parse().context(USAGE)?),
        _ => bail!(USAGE),
    };
    let mut log = File::create(log).with_context(|| format!("{log} cannot be written"))?;
    let mut programs = programs::build(root)?;
    programs.push(Program::examples_of_docs(root));
    let isolated = namespace::available();
    let at_once = if isolated { at_once } else { 1 };
    if !isolated {
        println!(
            "unit: one program after the other, because no network namespace can be made (unshare --net)"
        );
    }
    let mut outcomes = queue::run(
        programs,
        at_once,
        |program| program.command(isolated),
        |outcome| {
            log.write_all(&outcome.as_log())?;
            Ok(())
        },
    )?;
    outcomes.sort_by_key(|outcome| std::cmp::Reverse(outcome.took));
    print_longest(&outcomes);
    let count = outcomes.len();
    let failed: Vec<Outcome> = outcomes.into_iter().filter(|outcome| !outcome.passed).collect();
    for outcome in &failed {
        println!("{}", outcome.complaint());
    }
    if !failed.is_empty() {
        let titles: Vec<&str> = failed.iter().map(|outcome| outcome.title.as_str()).collect();
        bail!("unit: {} of {count} test programs failed:\n  {}", titles.len(), titles.join("\n  "));
    }
    Ok(())
}

/// One more than there are processors: many tests wait.
fn default_at_once() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from) + 1
}

fn print_longest(outcomes: &[Outcome]) {
    let total: Duration = outcomes.iter().map(|outcome| outcome.took).sum();
    println!("unit: {} programs, {} s one after the other; the longest:", outcomes.len(), total.as_secs());
    for outcome in outcomes.iter().take(SHOWN) {
        println!("{:>6.1} s  {}", outcome.took.as_secs_f64(), outcome.title);
    }
}
