//! The files: what there is to prove, and what was seen.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::{PROOFS, RECORDS};

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    pub name: String,
    /// Heading under which the page has it.
    pub group: String,
    pub shows: String,
    /// The command that proves it in full depth.
    pub run: String,
    /// Files and folders, from the root, whose changes make a result older.
    pub covers: Vec<String>,
    /// What `at_least` and the amounts of records count.
    pub unit: Option<String>,
    /// A smaller amount is no proof.
    pub at_least: Option<u64>,
    /// Runs add up, those of other parts or other commits too, as long as each is young.
    #[serde(default)]
    pub adds_up: bool,
    /// Of what adds up, each run has so much.
    pub part_at_least: Option<u64>,
    /// Lines of the run's output that are its result: what they contain, or `tests` for the sums of all tests.
    #[serde(default)]
    pub figures: Vec<String>,
}

impl Proof {
    /// Why a run of so much cannot take the place of one in full depth.
    pub fn too_short(&self, amount: Option<u64>) -> Option<String> {
        let least = if self.adds_up { self.part_at_least } else { self.at_least }?;
        let amount = amount.unwrap_or(0);
        let unit = self.unit.as_deref().unwrap_or_default();
        (amount < least).then(|| format!("{amount} {unit}, a record takes {least}"))
    }
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    pub proof: String,
    /// Which part of what adds up, as a range of seeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    pub commit: String,
    pub date: String,
    pub machine: String,
    pub result: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
}

/// A run, of any depth, that failed, and that no later one has made up for.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    pub proof: String,
    pub commit: String,
    pub date: String,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProofFile {
    proof: Vec<Proof>,
}

#[derive(Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct RecordFile {
    #[serde(default)]
    failure: Vec<Failure>,
    #[serde(default)]
    record: Vec<Record>,
}

#[derive(Default)]
pub struct Files {
    pub proofs: Vec<Proof>,
    pub records: Vec<Record>,
    pub failures: Vec<Failure>,
}

impl Files {
    pub fn read(root: &Path) -> Result<Self> {
        let text = |path: &str| fs::read_to_string(root.join(path)).with_context(|| path.to_owned());
        let proofs: ProofFile = toml::from_str(&text(PROOFS)?).context(PROOFS)?;
        let records: RecordFile = toml::from_str(&text(RECORDS)?).context(RECORDS)?;
        Ok(Self { proofs: proofs.proof, records: records.record, failures: records.failure })
    }

    pub fn write_records(&self, root: &Path) -> Result<()> {
        let file = RecordFile { failure: self.failures.clone(), record: self.records.clone() };
        let head = "# Written by the make targets (`cargo xtask evidence record`); what they prove is in proofs.toml.\n\n";
        let text = format!("{head}{}", toml::to_string(&file)?);
        // All or nothing.
        let (path, fresh) = (root.join(RECORDS), root.join(format!("{RECORDS}.new")));
        fs::write(&fresh, text).and_then(|()| fs::rename(&fresh, &path)).context(RECORDS)
    }

    /// What does not fit together.
    pub fn mistakes(&self, root: &Path) -> Vec<String> {
        let (mut mistakes, mut names) = (Vec::new(), BTreeSet::new());
        for proof in &self.proofs {
            let name = &proof.name;
            if !names.insert(name) {
                mistakes.push(format!("{PROOFS}: there are two proofs {name}"));
            }
            if proof.covers.is_empty() {
                mistakes.push(format!("{PROOFS}: {name} covers nothing"));
            }
            let unknown = proof.covers.iter().filter(|path| !root.join(path).exists());
            mistakes
                .extend(unknown.map(|path| format!("{PROOFS}: {name} covers {path}, which does not exist")));
            let own = self.records.iter().filter(|record| record.proof == *name);
            if !proof.adds_up && own.count() > 1 {
                mistakes.push(format!("{RECORDS}: {name} does not add up, and has several records"));
            }
        }
        let told = self.records.iter().map(|record| &record.proof);
        let told = told.chain(self.failures.iter().map(|failure| &failure.proof));
        let stray = told.filter(|name| !names.contains(name));
        mistakes.extend(stray.map(|name| format!("{RECORDS}: there is no proof {name}")));
        mistakes
    }

    /// Takes a record in. It replaces that of an earlier run; where runs add up, the one of the same part and those that are
    /// not young, and further executions of the same commit are one record.
    pub fn put(&mut self, proof: &Proof, mut record: Record, young: impl Fn(&Record) -> bool) {
        // Other seeds that hold mend nothing of the same commit.
        self.failures.retain(|failure| {
            failure.proof != proof.name || (proof.adds_up && failure.commit == record.commit)
        });
        self.records.retain(|old| {
            if old.proof != proof.name {
                return true;
            }
            if !proof.adds_up || !young(old) {
                return false;
            }
            if old.part != record.part {
                return true;
            }
            if record.part.is_some() {
                return false;
            }
            if old.commit != record.commit {
                return true;
            }
            let sum = |a: Option<u64>, b: Option<u64>| Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0)));
            record.amount = sum(record.amount, old.amount);
            record.seconds = sum(record.seconds, old.seconds);
            false
        });
        self.records.push(record);
        let place = |record: &Record| self.proofs.iter().position(|proof| proof.name == record.proof);
        self.records.sort_by_key(place);
    }

    /// Takes in that a run has failed, in the place of earlier failures.
    pub fn put_failure(&mut self, failure: Failure) {
        self.failures.retain(|old| old.proof != failure.proof);
        self.failures.push(failure);
    }
}
