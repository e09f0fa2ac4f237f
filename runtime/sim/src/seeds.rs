//! Running a scenario with many seeds.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::commit::commit;

/// Runs `scenario` once for each seed. When one fails, the panic that follows names the seed, the [`commit`] and what
/// `command` makes of the seed: the line that runs this scenario with it alone.
///
/// # Panics
/// When the scenario does.
pub fn for_each_seed(
    seeds: impl IntoIterator<Item = u64>,
    command: impl Fn(u64) -> String,
    mut scenario: impl FnMut(u64),
) {
    for seed in seeds {
        if let Err(cause) = catch_unwind(AssertUnwindSafe(|| scenario(seed))) {
            let (commit, cause, again) = (commit(), text(&*cause), command(seed));
            panic!("seed {seed} fails at commit {commit}: {cause}\nrepeat it: {again}");
        }
    }
}

fn text(cause: &(dyn Any + Send)) -> &str {
    let owned = cause.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| cause.downcast_ref::<&str>().copied()).unwrap_or("for a reason that is no text")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_seed_commit_and_command() {
        let mut seen = vec![];
        let run = || {
            for_each_seed(
                3..9,
                |seed| format!("SEED={seed} run"),
                |seed| {
                    seen.push(seed);
                    assert!(seed != 5, "five is too many");
                },
            );
        };
        let cause = catch_unwind(AssertUnwindSafe(run)).expect_err("seed 5 fails");
        let line = format!("seed 5 fails at commit {}: five is too many\nrepeat it: SEED=5 run", commit());
        assert_eq!(text(&*cause), line);
        assert_eq!(seen, [3, 4, 5]);
    }
}
