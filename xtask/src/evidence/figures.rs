//! The result of a run, out of what it printed.

use anyhow::{Result, bail};

use super::page::thousands;

/// For each of `wanted` the last line that contains it, or with a star behind it all such lines; for `tests` the sums over all
/// test programs. A run that was long is not lost because it printed something else: that is said instead.
pub fn of_log(log: &str, wanted: &[String]) -> Result<String> {
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for wanted in wanted {
        let mut lines = match (wanted.as_str(), wanted.strip_suffix('*')) {
            ("tests", _) => tests(log).into_iter().collect(),
            (_, Some(part)) => lines(log, part),
            (part, None) => lines(log, part).pop().into_iter().collect(),
        };
        if lines.is_empty() {
            missing.push(format!("(nothing was printed of '{wanted}')"));
        }
        found.append(&mut lines);
    }
    if found.is_empty() {
        bail!("the run printed nothing of what is its result: {}", missing.join(" "));
    }
    found.append(&mut missing);
    Ok(found.join("; "))
}

fn lines(log: &str, part: &str) -> Vec<String> {
    log.lines().filter(|line| line.contains(part)).map(|line| line.trim().to_owned()).collect()
}

/// The sums of `test result: ok. 3 passed; 0 failed; 1 ignored` and of `Summary [ 1.2s] 4 tests run: 4 passed, 1 skipped`.
fn tests(log: &str) -> Option<String> {
    let (mut passed, mut left_out) = (0_u64, 0_u64);
    for line in log.lines() {
        if line.contains("test result: ok.") || (line.contains("Summary [") && line.contains("tests run:")) {
            passed += before(line, "passed");
            left_out += before(line, "ignored") + before(line, "skipped");
        }
    }
    let left_out = if left_out > 0 { format!(", {} left out", thousands(left_out)) } else { String::new() };
    (passed > 0).then(|| format!("{} tests passed{left_out}", thousands(passed)))
}

/// The number before a word.
fn before(line: &str, word: &str) -> u64 {
    let mut last = "";
    for next in line.split([' ', ';', ',']).filter(|part| !part.is_empty()) {
        if next == word {
            return last.parse().unwrap_or(0);
        }
        last = next;
    }
    0
}
