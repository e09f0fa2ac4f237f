//! One scenario with many seeds, and how to repeat one of them.

use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::sim::failure::{Result, panic_text};
use crate::sim::simulation::{Sim, SimBuilder};

/// Runs a scenario in a new simulation for each seed. The environment variable SEED chooses one seed instead, which is
/// how a failure is repeated.
///
/// # Panics
/// When the scenario fails: the panic names the seed and the command that repeats it.
#[track_caller]
pub fn seeds(seeds: impl IntoIterator<Item = u64>, scenario: impl FnMut(&mut Sim) -> Result) {
    run(&Sim::builder(), seeds, scenario);
}

#[track_caller]
pub(crate) fn run(
    builder: &SimBuilder,
    seeds: impl IntoIterator<Item = u64>,
    mut scenario: impl FnMut(&mut Sim) -> Result,
) {
    let chosen = env::var("SEED").ok().map(|text| chosen(&text));
    let all = chosen.is_none();
    let seeds = seeds.into_iter().filter(|_| all).chain(chosen);
    for seed in seeds {
        let command = command(Some(seed));
        let run = || scenario(&mut builder.clone().seed(seed).build_with(command.clone()));
        let what = match catch_unwind(AssertUnwindSafe(run)) {
            Ok(Ok(())) => continue,
            Ok(Err(error)) => error.to_string(),
            Err(cause) => panic_text(&*cause),
        };
        // What the simulation says of itself names both already.
        assert!(!what.ends_with(&command), "{what}");
        panic!("seed {seed} fails: {what}\nrepeat it: {command}");
    }
}

fn chosen(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("SEED={text}: expected a whole number, as in SEED=7 cargo test"))
}

/// The line that runs the present test again, with one seed if it has many.
pub(crate) fn command(seed: Option<u64>) -> String {
    let thread = std::thread::current();
    // The test runner names the thread after the test, unless it has one thread only.
    let test = thread.name().filter(|name| *name != "main").unwrap_or("<name of this test>");
    match seed {
        Some(seed) => format!("SEED={seed} cargo test {test}"),
        None => format!("cargo test {test}"),
    }
}
