//! Whether what was seen of a proof is enough, and young.

use anyhow::Result;

use super::LIMIT;
use super::data::{Files, Proof, Record};
use super::page::thousands;

pub struct Verdict {
    /// How old, and how much.
    pub summary: String,
    pub complaint: Option<String>,
}

/// Judges the records of a proof; `age` says how many commits of its code came since a record, if that is known.
pub fn judge(
    proof: &Proof,
    files: &Files,
    age: impl Fn(&Record, &Proof) -> Result<Option<u32>>,
) -> Result<Verdict> {
    if let Some(failure) = files.failures.iter().find(|failure| failure.proof == proof.name) {
        return Ok(failed(format!("failed at {}", failure.commit)));
    }
    let own: Vec<&Record> = files.records.iter().filter(|record| record.proof == proof.name).collect();
    if own.is_empty() {
        return Ok(failed("never recorded".into()));
    }
    let (mut young, mut summary, mut complaint, mut oldest) = (0_u64, Vec::new(), None, 0);
    for record in own {
        let of = record
            .part
            .as_ref()
            .map_or_else(|| record.commit.clone(), |part| format!("{part} at {}", record.commit));
        let problem = match age(record, proof)? {
            _ if record.result.trim().is_empty() => format!("{of} has no result"),
            None => format!("{of} is not in this history"),
            Some(age) if age > LIMIT => format!("{of} is {age} commits of its code old"),
            Some(age) => {
                young = young.saturating_add(record.amount.unwrap_or(0));
                oldest = oldest.max(age);
                summary.push(format!("{of}: {age} commits old"));
                continue;
            }
        };
        summary.push(problem.clone());
        // Where runs add up, one that is too old does not count, and what is left may be enough.
        if !proof.adds_up || proof.at_least.is_none() || record.result.trim().is_empty() {
            complaint = Some(problem);
        }
    }
    let unit = proof.unit.as_deref().unwrap_or_default();
    if let Some(least) = proof.at_least.filter(|least| young < *least && complaint.is_none()) {
        let old = if proof.adds_up { " that are young" } else { "" };
        complaint = Some(format!("{} {unit}{old}, {} needed", thousands(young), thousands(least)));
    }
    // Of runs that add up there may be many.
    let mut summary = if summary.len() > 3 {
        format!("{} runs, at most {oldest} commits old", summary.len())
    } else {
        summary.join("; ")
    };
    if proof.at_least.is_some() {
        summary = format!("{} {unit}; {summary}", thousands(young));
    }
    Ok(Verdict { summary, complaint })
}

fn failed(complaint: String) -> Verdict {
    Verdict { summary: complaint.clone(), complaint: Some(complaint) }
}
