//! What a run leaves: one JSON file.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::scenario::{Cell, Contender, Kind, Measure, Scenario};
use crate::statistics::{Figures, Ratio, median, ratio};

/// The largest results file, octets.
const MAX_FILE: u64 = 256 << 20;

/// A results file.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Results {
    /// The version of this tool.
    pub tool: String,
    /// When the run began, seconds since 1970.
    pub began: u64,
    /// The machine.
    pub machine: BTreeMap<String, String>,
    /// What was asked for.
    pub scenario: Scenario,
    /// The commit that Dunlin was built from, if its build said so.
    pub commit: Option<String>,
    /// Each implementation, as its adapter described it.
    pub descriptions: BTreeMap<String, Description>,
    /// Implementations of the scenario that were not there, or were left out.
    #[serde(default)]
    pub absent: Vec<Absent>,
    /// What else has to be known.
    #[serde(default)]
    pub notes: Vec<String>,
    /// What was measured.
    pub cells: Vec<Measured>,
}

/// What the adapter of an implementation says about it, with the options of the scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Description {
    /// Its name and version.
    pub version: String,
    /// How a side waits for data.
    pub waits: String,
    /// How it was built.
    pub built: String,
}

/// An implementation that was not there, or was left out.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Absent {
    /// Its name.
    pub name: String,
    /// Why.
    pub why: String,
}

/// A cell with its repetitions.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Measured {
    /// Index of the measure in the scenario.
    pub measure: usize,
    /// Name of the implementation.
    pub implementation: String,
    /// Where the sides were, in words.
    pub set_up: String,
    /// Octets of a sample.
    pub payload: usize,
    /// Reading processes.
    pub readers: usize,
    /// Topics.
    pub topics: usize,
    /// One per repetition, in the order of time.
    pub repetitions: Vec<Repetition>,
    /// System calls, counted apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<Repetition>,
    /// Why it was not measured, if the implementation cannot do it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsupported: Option<String>,
}

/// One repetition of one cell.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Repetition {
    /// Figures by name.
    #[serde(default, skip_serializing_if = "Figures::is_empty")]
    pub figures: Figures,
    /// The distribution: nanoseconds and how many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bins: Vec<(u64, u64)>,
    /// Why there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl Measured {
    /// An empty cell.
    #[must_use]
    pub fn new(cell: &Cell, contender: &Contender) -> Self {
        Self {
            measure: cell.measure,
            implementation: contender.name.clone(),
            set_up: cell.set_up.to_string(),
            payload: cell.payload,
            readers: cell.readers,
            topics: cell.topics,
            repetitions: Vec::new(),
            calls: None,
            unsupported: None,
        }
    }

    /// Whether there is no repetition without a failure.
    #[must_use]
    pub fn failed_always(&self) -> bool {
        self.repetitions.iter().all(|one| one.failure.is_some())
    }

    /// The median of a figure over the repetitions that have it, with the least and the greatest.
    #[must_use]
    pub fn figure(&self, name: &str) -> Option<(f64, f64, f64)> {
        let values: Vec<f64> = self
            .repetitions
            .iter()
            .chain(&self.calls)
            .filter_map(|one| one.figures.get(name).copied())
            .collect();
        let (least, greatest) =
            values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, g), v| (l.min(*v), g.max(*v)));
        Some((median(&values)?, least, greatest))
    }

    /// The distributions of all repetitions in one.
    #[must_use]
    pub fn distribution(&self) -> Vec<(u64, u64)> {
        let mut all = BTreeMap::new();
        for (nanos, count) in self.repetitions.iter().flat_map(|one| &one.bins) {
            let sum: &mut u64 = all.entry(*nanos).or_insert(0);
            *sum = sum.saturating_add(*count);
        }
        all.into_iter().collect()
    }

    /// The first reason why a repetition failed, and how many did.
    #[must_use]
    pub fn failure(&self) -> Option<(&str, usize)> {
        let mut failed = self.repetitions.iter().filter_map(|one| one.failure.as_deref());
        failed.next().map(|first| (first, 1 + failed.count()))
    }

    /// Whether two cells differ in the implementation only.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        let what = |cell: &Self| (cell.measure, cell.set_up.clone(), cell.payload, cell.readers, cell.topics);
        what(self) == what(other)
    }

    /// This cell over another, repetition by repetition.
    #[must_use]
    pub fn over(&self, other: &Self, figure: &str) -> Option<Ratio> {
        let pairs: Vec<(f64, f64)> = self
            .repetitions
            .iter()
            .zip(&other.repetitions)
            .filter_map(|(a, b)| Some((*a.figures.get(figure)?, *b.figures.get(figure)?)))
            .collect();
        ratio(&pairs)
    }
}

/// Figures of which more is better; of all others less is.
pub const MORE_IS_BETTER: [&str; 4] = ["samples_per_s", "gbit_per_s", "line_percent", "wire_mbit_per_s"];

/// The figure by which a measure is judged, what it is called, and whether less is better.
#[must_use]
pub fn judged_by(kind: Kind) -> (&'static str, &'static str, bool) {
    match kind {
        Kind::Latency | Kind::OneWay => ("mean", "mean, µs", true),
        Kind::Throughput => ("samples_per_s", "samples/s", false),
        Kind::Discovery => ("matched_ms", "time to match, ms", true),
        Kind::Footprint => ("rss_mb", "memory, MB", true),
        Kind::Fleet => ("pss_mb", "memory of a process, MB", true),
        Kind::Applications => ("cpu_us", "CPU µs per sample on both hosts", true),
    }
}

/// The text of a file that is not larger than it may be.
pub(crate) fn read_bounded(path: &Path, most: u64) -> Result<String> {
    let shown = path.display();
    let file = std::fs::File::open(path).with_context(|| format!("opening {shown}"))?;
    let mut text = String::new();
    file.take(most + 1).read_to_string(&mut text).with_context(|| format!("reading {shown}"))?;
    anyhow::ensure!(text.len() as u64 <= most, "{shown} has more than {most} bytes");
    Ok(text)
}

impl Results {
    /// Reads a results file.
    ///
    /// # Errors
    /// It cannot be read or is none.
    pub fn load(path: &Path) -> Result<Self> {
        let text = read_bounded(path, MAX_FILE)?;
        let results: Self =
            serde_json::from_str(&text).with_context(|| format!("{} is no results file", path.display()))?;
        results.scenario.check().with_context(|| path.display().to_string())?;
        let measures = results.scenario.measures.len();
        anyhow::ensure!(
            results.cells.iter().all(|cell| cell.measure < measures),
            "{}: a cell belongs to no measure",
            path.display()
        );
        Ok(results)
    }

    /// Writes a results file, whole or not at all.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string(self)?;
        let folder = path.parent().context("a results file without a folder")?;
        std::fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        std::io::Write::write_all(&mut file, text.as_bytes())?;
        file.persist(path).with_context(|| format!("writing {}", path.display()))?;
        Ok(())
    }

    /// The measure of a cell.
    #[must_use]
    pub fn measure(&self, cell: &Measured) -> Option<&Measure> {
        self.scenario.measures.get(cell.measure)
    }

    /// Cells that differ in the implementation only, each group in the order of the scenario.
    #[must_use]
    pub fn groups(&self) -> Vec<Vec<&Measured>> {
        let mut groups: Vec<Vec<&Measured>> = Vec::new();
        for cell in &self.cells {
            match groups.iter_mut().find(|group| group.first().is_some_and(|first| first.is_like(cell))) {
                Some(group) => group.push(cell),
                None => groups.push(vec![cell]),
            }
        }
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::tests::two;

    #[test]
    fn an_untrusted_results_file_is_checked() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("r.json");
        let good = two(&[10.0], &[20.0]);
        good.save(&file).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(Results::load(&file).unwrap().cells.len(), 2);
        let refused = |from: &str, to: &str| {
            assert!(text.contains(from), "{from}");
            std::fs::write(&file, text.replacen(from, to, 1)).unwrap();
            format!("{:#}", Results::load(&file).unwrap_err())
        };
        assert!(refused("\"measure\":0", "\"measure\":7").contains("belongs to no measure"));
        assert!(refused("\"repetitions\":5", "\"repetitions\":0").contains("repetitions: from 1"));
        assert!(refused("\"cells\"", "\"sells\"").contains("no results file"));
        assert!(refused("\"mean\":10.0", "\"mean\":1e999").contains("no results file"));
        assert!(format!("{:#}", read_bounded(&file, 10).unwrap_err()).contains("more than 10 bytes"));
    }
}
