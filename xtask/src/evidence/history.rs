//! What git knows, and the machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The files that a record itself changes.
const OWN: [&str; 2] = [":(exclude)docs/evidence.md", ":(exclude)docs/evidence/records.toml"];

pub struct History {
    root: PathBuf,
}

impl History {
    /// Of a whole clone: where git or the beginning of history is missing nobody knows how old anything is.
    pub fn open(root: &Path) -> Result<Self> {
        let history = Self { root: root.into() };
        match history.git(&["rev-parse", "--is-shallow-repository"]).as_deref() {
            Ok("false") => Ok(history),
            Ok(_) => bail!(
                "evidence: this clone is shallow, and how old a result is cannot be told: git fetch --unshallow"
            ),
            Err(_) => bail!("evidence: this is no clone of git, and how old a result is cannot be told"),
        }
    }

    fn git(&self, arguments: &[&str]) -> Result<String> {
        let output = Command::new("git").current_dir(&self.root).args(arguments).output().context("git")?;
        if !output.status.success() {
            bail!("git {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
    }

    /// How many commits since this one changed the code; `None` if this one is not in the history of what is checked out.
    pub fn age(&self, commit: &str, covers: &[String]) -> Result<Option<u32>> {
        if self.git(&["merge-base", "--is-ancestor", commit, "HEAD"]).is_err() {
            return Ok(None);
        }
        let range = format!("{commit}..HEAD");
        let mut arguments = vec!["rev-list", "--count", &range, "--"];
        arguments.extend(covers.iter().map(String::as_str));
        Ok(Some(self.git(&arguments)?.parse()?))
    }

    /// The commit that a run was of, which is what was checked out when it began; or why it has no name. `begin` is what
    /// `scripts/evidence.sh` found then.
    pub fn sources(&self, begin: Option<&str>, covers: &[String]) -> Result<Result<String, String>> {
        let commit = match begin {
            Some("dirty") => return Ok(Err("files differed from the commit when it began".into())),
            Some(commit) => commit,
            None => "HEAD",
        };
        let mut arguments = vec!["status", "--porcelain", "--", "."];
        arguments.extend(OWN);
        if begin.is_none() && !self.git(&arguments)?.is_empty() {
            return Ok(Err("files differ from the commit".into()));
        }
        let with_covers = |arguments: &[&'static str], commit: Option<&str>| {
            let mut all: Vec<String> = arguments.iter().map(|word| (*word).into()).collect();
            all.extend(commit.map(String::from));
            all.push("--".into());
            all.extend_from_slice(covers);
            self.git(&all.iter().map(String::as_str).collect::<Vec<_>>())
        };
        let changed = with_covers(&["diff", "--name-only"], Some(commit))?;
        let new = with_covers(&["ls-files", "--others", "--exclude-standard"], None)?;
        if !changed.is_empty() || !new.is_empty() {
            return Ok(Err("files changed while it ran".into()));
        }
        Ok(Ok(self.git(&["rev-parse", "--short=10", commit])?))
    }
}

/// The date in UTC.
pub fn today() -> Result<String> {
    let output = Command::new("date").args(["-u", "+%F"]).output().context("date")?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// Processors, their model, memory.
pub fn machine() -> String {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let field = |file: &str, name: &str| {
        let text = fs::read_to_string(file).ok()?;
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let model = field("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.into());
    let memory =
        field("/proc/meminfo", "MemTotal").and_then(|kib| kib.split(' ').next()?.parse::<u64>().ok());
    let memory = memory
        .map_or_else(String::new, |kib| format!(", {} GB", (kib * 1_024 + 500_000_000) / 1_000_000_000));
    format!("{processors} × {model}{memory}")
}
