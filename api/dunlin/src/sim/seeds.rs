//! One scenario with many seeds, and how to repeat one of them.

use std::env;
use std::iter::Peekable;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::sim::failure::{Result, command, panic_text};
use crate::sim::simulation::{Sim, SimBuilder};

/// Runs a scenario in a new simulation for each seed. The environment may choose other seeds: SEED=7 that one alone,
/// which is how a failure is repeated, and SEEDS=10000 so many from the first on, for a long run.
///
/// # Panics
/// When the scenario fails: the panic names the seed and the command that repeats it.
#[track_caller]
pub fn seeds(seeds: impl IntoIterator<Item = u64>, scenario: impl FnMut(&mut Sim) -> Result) {
    run(&Sim::builder(), seeds, scenario);
}

impl SimBuilder {
    /// Runs a scenario in a new simulation for each seed, as [`seeds()`](crate::sim::seeds()) does.
    ///
    /// # Panics
    /// When the scenario fails: the panic names the seed and the command that repeats it.
    #[track_caller]
    pub fn seeds(&self, seeds: impl IntoIterator<Item = u64>, scenario: impl FnMut(&mut Sim) -> Result) {
        run(self, seeds, scenario);
    }
}

#[track_caller]
fn run(
    builder: &SimBuilder,
    seeds: impl IntoIterator<Item = u64>,
    mut scenario: impl FnMut(&mut Sim) -> Result,
) {
    for seed in chosen(seeds.into_iter().peekable()) {
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

/// What the environment makes of the seeds.
fn chosen(mut seeds: Peekable<impl Iterator<Item = u64>>) -> impl Iterator<Item = u64> {
    let one = number("SEED").map(|seed| seed..seed.saturating_add(1));
    let instead = one.or_else(|| {
        let first = *seeds.peek()?;
        number("SEEDS").map(|count| first..first.saturating_add(count))
    });
    let given = instead.is_none();
    seeds.filter(move |_| given).chain(instead.into_iter().flatten())
}

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|_| {
        panic!("{variable}={text}: expected a whole number, as in {variable}=7 cargo test")
    }))
}
