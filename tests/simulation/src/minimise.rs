//! Finds the smallest part of a scenario that still fails.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::generate::generate;
use crate::run::{Failure, Outcome, run};
use crate::scenario::{CLASSES, Switches};

/// Runs a seed without what is switched off. A panic is a failure like any other.
///
/// # Errors
/// What does not hold.
pub fn run_seed(seed: u64, switches: &Switches) -> Result<Outcome, Failure> {
    let whole = || run(&generate(seed).without(switches));
    catch_unwind(AssertUnwindSafe(whole)).unwrap_or_else(|cause| {
        let owned = cause.downcast_ref::<String>().map(String::as_str);
        let text =
            owned.or_else(|| cause.downcast_ref::<&str>().copied()).unwrap_or("for no reason in words");
        Err(Failure { violations: vec![format!("panic: {text}")] })
    })
}

/// Switches off whatever can be without the failure going away: kinds of faults, nodes, endpoints, single faults; again
/// and again until nothing more can go.
#[must_use]
pub fn minimise(seed: u64, mut switches: Switches, mut progress: impl FnMut(&Switches)) -> Switches {
    let plan = generate(seed);
    loop {
        let before = switches.clone();
        for (class, _) in CLASSES {
            attempt(seed, &mut switches, |switches| switches.classes.insert(class));
        }
        for node in 0..plan.nodes.len() {
            attempt(seed, &mut switches, |switches| switches.nodes.insert(node));
        }
        for endpoint in 0..plan.endpoints.len() {
            attempt(seed, &mut switches, |switches| switches.endpoints.insert(endpoint));
        }
        for fault in 0..plan.faults.len() {
            attempt(seed, &mut switches, |switches| switches.faults.insert(fault));
        }
        progress(&switches);
        if switches == before {
            return switches;
        }
    }
}

fn attempt(seed: u64, switches: &mut Switches, change: impl FnOnce(&mut Switches) -> bool) {
    let mut fewer = switches.clone();
    if change(&mut fewer) && run_seed(seed, &fewer).is_err() {
        *switches = fewer;
    }
}
