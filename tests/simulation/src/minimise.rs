//! Finds the smallest part of a scenario that still fails.

use crate::failure::{Failure, catching};
use crate::generate::generate;
use crate::run::{Outcome, run};
use crate::scenario::{CLASSES, Scenario, Switches};
use crate::seed::Seed;

/// Runs a scenario and says whether it holds: [`run`], or what a test of the campaign or the minimiser puts in its place.
pub type Judge<'a> = &'a (dyn Fn(&Scenario) -> Result<Outcome, Failure> + Sync);

/// Runs a seed without what is switched off. A panic is a failure like any other.
///
/// # Errors
/// What does not hold.
pub fn run_seed(seed: Seed, switches: &Switches) -> Result<Outcome, Failure> {
    judge_seed(seed, switches, &run)
}

/// The same with another judge.
///
/// # Errors
/// What does not hold.
pub fn judge_seed(seed: Seed, switches: &Switches, judge: Judge<'_>) -> Result<Outcome, Failure> {
    catching(|| judge(&generate(seed).without(switches)))
}

/// Switches off whatever can be without the failure going away: kinds of faults, nodes, endpoints, single faults; again
/// and again until nothing more can go. Only failures of the given [kind](Failure::kind) count: what fails in another way
/// without a part is another failure, and the part stays.
#[must_use]
pub fn minimise(
    seed: Seed,
    mut switches: Switches,
    kind: &str,
    judge: Judge<'_>,
    mut progress: impl FnMut(&Switches),
) -> Switches {
    let plan = generate(seed);
    let attempt = |switches: &mut Switches, change: &dyn Fn(&mut Switches) -> bool| {
        let mut fewer = switches.clone();
        // What is off already, with its kind or its node, need not be switched off on its own.
        if !change(&mut fewer) || plan.clone().without(&fewer) == plan.clone().without(switches) {
            return;
        }
        if judge_seed(seed, &fewer, judge).is_err_and(|failure| failure.has(kind)) {
            *switches = fewer;
        }
    };
    loop {
        let before = switches.clone();
        for (class, _) in CLASSES {
            attempt(&mut switches, &|switches| switches.classes.insert(class));
        }
        for node in 0..plan.nodes.len() {
            attempt(&mut switches, &|switches| switches.nodes.insert(node));
        }
        for endpoint in 0..plan.endpoints.len() {
            attempt(&mut switches, &|switches| switches.endpoints.insert(endpoint));
        }
        for fault in 0..plan.faults.len() {
            attempt(&mut switches, &|switches| switches.faults.insert(fault));
        }
        progress(&switches);
        if switches == before {
            return switches;
        }
    }
}
