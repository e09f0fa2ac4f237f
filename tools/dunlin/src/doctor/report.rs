//! What the checks found.

use std::fmt;

use crate::output::counted;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Level {
    Ok,
    Note,
    Problem,
}

struct Finding {
    level: Level,
    what: String,
    advice: String,
}

/// Findings in the order in which they were made.
#[derive(Default)]
pub struct Report(Vec<Finding>);

impl Report {
    fn add(&mut self, level: Level, what: String, advice: String) {
        self.0.push(Finding { level, what, advice });
    }

    /// Something is as it should be.
    pub fn ok(&mut self, what: impl Into<String>) {
        self.add(Level::Ok, what.into(), String::new());
    }

    /// Something works but could be better.
    pub fn note(&mut self, what: impl Into<String>, advice: impl Into<String>) {
        self.add(Level::Note, what.into(), advice.into());
    }

    /// Something does not work.
    pub fn problem(&mut self, what: impl Into<String>, advice: impl Into<String>) {
        self.add(Level::Problem, what.into(), advice.into());
    }

    fn count(&self, level: Level) -> usize {
        self.0.iter().filter(|finding| finding.level == level).count()
    }

    /// How many things do not work.
    pub fn problems(&self) -> usize {
        self.count(Level::Problem)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Finding { level, what, advice } in &self.0 {
            let word = match level {
                Level::Ok => "ok",
                Level::Note => "note",
                Level::Problem => "problem",
            };
            writeln!(f, "{word:<8} {what}")?;
            if !advice.is_empty() {
                writeln!(f, "{:<8}   do: {advice}", "")?;
            }
        }
        let (ok, notes) = (self.count(Level::Ok), self.count(Level::Note));
        writeln!(f, "{ok} ok, {}, {}", counted(notes, "note"), counted(self.problems(), "problem"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_lined_up_and_counted() {
        let mut report = Report::default();
        report.ok("a");
        report.note("b", "c");
        report.problem("d", "e");
        let text = "ok       a\nnote     b\n           do: c\nproblem  d\n           do: e\n1 ok, 1 note, 1 problem\n";
        assert_eq!((report.to_string().as_str(), report.problems()), (text, 1));
    }
}
