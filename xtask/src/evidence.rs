//! What was proven, when, and of which code: `docs/evidence/proofs.toml` says what there is to prove, `docs/evidence/records.toml`
//! has what the last runs showed, written by the make targets themselves, and `docs/evidence.md` is the page made of both.
//!
//! `cargo xtask evidence` fails where a result is missing or older than [`LIMIT`] commits of the code that it is about, and says
//! what to run. `cargo xtask tidy` only checks that the files can be read and that the page is what they give.

mod data;
mod figures;
mod history;
mod judge;
mod page;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use data::{Failure, Files, Proof, Record};
use history::History;

const PROOFS: &str = "docs/evidence/proofs.toml";
const RECORDS: &str = "docs/evidence/records.toml";
const PAGE: &str = "docs/evidence.md";
/// Commits of the code in question after which a result says too little.
const LIMIT: u32 = 150;

const USAGE: &str = "usage: cargo xtask evidence [render | record NAME [--begin COMMIT] [--result TEXT | --log FILE] \
                     [--amount NUMBER] [--part TEXT] [--seconds NUMBER] | fail NAME [--begin COMMIT]]";

/// Does what the command line says.
pub fn run(root: &Path, options: &[String]) -> Result<()> {
    match options.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => check(root),
        ["render"] => {
            let files = Files::read(root)?;
            write_page(root, &files)
        }
        ["record", name, rest @ ..] => record(root, name, rest),
        ["fail", name, rest @ ..] => fail(root, name, rest),
        _ => bail!(USAGE),
    }
}

/// What is wrong with the files, or with the page that was made of them; how old a result is does not matter.
pub fn findings(root: &Path) -> Result<Vec<String>> {
    let files = Files::read(root)?;
    let mut findings = files.mistakes(root);
    if fs::read_to_string(root.join(PAGE)).unwrap_or_default() != page::render(&files) {
        findings.push(format!("{PAGE} is out of date: cargo xtask evidence render"));
    }
    Ok(findings)
}

fn check(root: &Path) -> Result<()> {
    let files = Files::read(root)?;
    let mut found = findings(root)?;
    let history = History::open(root)?;
    let age = |record: &Record, proof: &Proof| history.age(&record.commit, &proof.covers);
    for proof in &files.proofs {
        let verdict = judge::judge(proof, &files, age)?;
        println!("{:<24} {}", proof.name, verdict.summary);
        if let Some(complaint) = verdict.complaint {
            found.push(format!("{}: {complaint}; run: {}", proof.name, proof.run));
        }
    }
    if !found.is_empty() {
        bail!("evidence: {} findings:\n  {}", found.len(), found.join("\n  "));
    }
    println!("evidence: all {} proofs are at most {LIMIT} commits of their code old", files.proofs.len());
    Ok(())
}

fn write_page(root: &Path, files: &Files) -> Result<()> {
    fs::write(root.join(PAGE), page::render(files)).context(PAGE)?;
    println!("evidence: {PAGE} written");
    Ok(())
}

/// What a target tells about its run.
#[derive(Default)]
struct Told {
    begin: Option<String>,
    result: Option<String>,
    log: Option<String>,
    part: Option<String>,
    amount: Option<u64>,
    seconds: Option<u64>,
}

impl Told {
    fn parse(options: &[&str]) -> Result<Self> {
        let mut told = Self::default();
        for pair in options.chunks(2) {
            let [option, value] = pair else { bail!(USAGE) };
            let number = || value.parse().with_context(|| format!("{option} {value}"));
            match *option {
                "--begin" => told.begin = Some((*value).into()),
                "--result" => told.result = Some((*value).into()),
                "--log" => told.log = Some((*value).into()),
                "--part" => told.part = Some((*value).into()),
                "--amount" => told.amount = Some(number()?),
                "--seconds" => told.seconds = Some(number()?),
                _ => bail!(USAGE),
            }
        }
        Ok(told)
    }

    fn result(&self, proof: &Proof) -> Result<String> {
        if let Some(result) = &self.result {
            return Ok(result.clone());
        }
        let Some(log) = &self.log else { bail!("{}: neither --result nor --log", proof.name) };
        let text = String::from_utf8_lossy(&fs::read(log).with_context(|| log.clone())?).into_owned();
        figures::of_log(&text, &proof.figures).with_context(|| format!("{}: nothing to record", proof.name))
    }
}

/// Writes down that a run has failed, unless its sources had no name.
fn fail(root: &Path, name: &str, options: &[&str]) -> Result<()> {
    let mut files = Files::read(root)?;
    let Some(proof) = files.proofs.iter().find(|proof| proof.name == name).cloned() else {
        bail!("evidence: {PROOFS} has no proof {name}");
    };
    let told = Told::parse(options)?;
    match History::open(root)?.sources(told.begin.as_deref(), &proof.covers)? {
        Err(why) => println!("evidence: that {name} has failed is not recorded: {why}"),
        Ok(commit) => {
            println!("evidence: {name} has failed at {commit}");
            files.put_failure(Failure { proof: name.into(), commit, date: history::today()? });
            files.write_records(root)?;
            write_page(root, &files)?;
        }
    }
    Ok(())
}

/// Writes down what a run has shown, unless its sources had no name or it was a short one, which is said.
fn record(root: &Path, name: &str, options: &[&str]) -> Result<()> {
    let mut files = Files::read(root)?;
    let Some(proof) = files.proofs.iter().find(|proof| proof.name == name).cloned() else {
        bail!("evidence: {PROOFS} has no proof {name}");
    };
    let told = Told::parse(options)?;
    let not = |why: &str| println!("evidence: {name} is not recorded: {why}");
    if let Some(why) = proof.too_short(told.amount) {
        not(&why);
        return Ok(());
    }
    let history = History::open(root)?;
    let commit = match history.sources(told.begin.as_deref(), &proof.covers)? {
        Ok(commit) => commit,
        Err(why) => {
            not(&why);
            return Ok(());
        }
    };
    let result = told.result(&proof)?;
    let record = Record {
        proof: name.into(),
        part: told.part,
        commit,
        date: history::today()?,
        machine: history::machine(),
        result: result.split_whitespace().collect::<Vec<_>>().join(" "),
        amount: told.amount,
        seconds: told.seconds,
    };
    println!("evidence: {name} at {}: {}", record.commit, record.result);
    let young = |record: &Record| {
        history.age(&record.commit, &proof.covers).is_ok_and(|age| age.is_some_and(|age| age <= LIMIT))
    };
    files.put(&proof, record, young);
    files.write_records(root)?;
    write_page(root, &files)
}
