//! The page.

use std::fmt::Write;

use super::data::{Files, Proof, Record};
use super::{LIMIT, PROOFS, RECORDS};

pub fn render(files: &Files) -> String {
    let mut out = format!(
        "# Evidence\n\n\
         What was proven, of which commit, on which machine, and how to repeat it. Made by `cargo xtask evidence render` of\n\
         `{PROOFS}` (what there is to prove) and `{RECORDS}` (what was seen); do not edit.\n\n\
         The targets write their rows themselves, when they ran in full depth and nothing differed from a commit; that they failed they\n\
         write whatever their depth. EVIDENCE=off keeps them from it. `make evidence` fails where the last run failed, where a result is\n\
         missing, says less than it has to, or is older than {LIMIT} commits that touch the code it is about, and prints what to run. A\n\
         row below may be too old: that depends on what was checked out, and only that command knows.\n"
    );
    let mut group = "";
    for proof in &files.proofs {
        if proof.group != group {
            group = &proof.group;
            let _ = write!(
                out,
                "\n## {group}\n\n| proof | what it shows | result | commit | date | machine | command | code |\n\
                 |---|---|---|---|---|---|---|---|\n"
            );
        }
        let _ = writeln!(out, "{}", row(proof, files));
    }
    out
}

fn row(proof: &Proof, files: &Files) -> String {
    let records: Vec<&Record> = files.records.iter().filter(|record| record.proof == proof.name).collect();
    let covers: Vec<String> = proof.covers.iter().map(|path| format!("`{path}`")).collect();
    let each = |of: &dyn Fn(&Record) -> String| {
        let mut all: Vec<String> = records.iter().map(|record| of(record)).collect();
        all.dedup();
        all.join("<br>")
    };
    let mut result = if records.is_empty() { "**missing**".into() } else { results(proof, &records) };
    for failure in files.failures.iter().filter(|failure| failure.proof == proof.name) {
        result = format!("**failed** at `{}` on {}<br>before: {result}", failure.commit, failure.date);
    }
    let cells = [
        proof.name.clone(),
        proof.shows.clone(),
        result,
        each(&|record| format!("`{}`", record.commit)),
        each(&|record| record.date.clone()),
        each(&|record| record.machine.clone()),
        format!("`{}`", proof.run),
        covers.join(", "),
    ];
    format!("| {} |", cells.map(|cell| cell.replace('|', "\\|")).join(" | "))
}

fn results(proof: &Proof, records: &[&Record]) -> String {
    let mut lines = Vec::new();
    let unit = proof.unit.as_deref().unwrap_or_default();
    if proof.adds_up && records.len() > 1 {
        let sum = records.iter().filter_map(|record| record.amount).fold(0, u64::saturating_add);
        lines.push(format!("together {} {unit}", thousands(sum)));
    }
    for record in records {
        let part = record.part.as_ref().map_or_else(String::new, |part| format!("{part}: "));
        let amount =
            record.amount.map_or_else(String::new, |amount| format!("{} {unit}: ", thousands(amount)));
        let result = if record.result.trim().is_empty() { "**missing**" } else { &record.result };
        let time = record.seconds.map_or_else(String::new, |seconds| format!(" ({})", duration(seconds)));
        lines.push(format!("{part}{amount}{result}{time}"));
    }
    lines.join("<br>")
}

fn duration(seconds: u64) -> String {
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7_199 => format!("{} min", seconds / 60),
        _ => format!("{:.1} h", seconds as f64 / 3_600.0),
    }
}

/// 1,234,567.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
