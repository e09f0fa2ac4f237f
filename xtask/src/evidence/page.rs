//! The page.

use std::fmt::Write;

use super::data::{Files, Proof, Record};
use super::{LIMIT, PROOFS, RECORDS};

pub fn render(files: &Files) -> String {
    let mut out = format!(
        "# Evidence\n\n\
         What was proven, of which commit, on which machine, and how to repeat it. `cargo xtask evidence render` makes this page of\n\
         `{PROOFS}` (what there is to prove) and `{RECORDS}` (what was seen). Do not edit it.\n\n\
         A make target writes its row itself if it ran in full depth on an unchanged commit. It records a failure at any depth.\n\
         With EVIDENCE=off it writes nothing.\n\n\
         `make evidence` prints what to run. It fails if a last run failed, if a result is missing or smaller than required, or if it is\n\
         older than {LIMIT} commits that touch its code. Only this command knows whether a row below is too old.\n"
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
