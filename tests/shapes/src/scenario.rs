//! The list of scenarios: `scenarios.toml`.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::run::Problem;
use crate::verdict::Verdict;

/// The whole list.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct List {
    pub scenario: Vec<Scenario>,
    #[serde(default)]
    pub peer: Vec<Peer>,
    #[serde(default)]
    pub waiver: Vec<Waiver>,
}

/// What some publishers and subscribers do together.
#[derive(Deserialize, Debug, Clone)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    pub name: String,
    /// Options of each publisher.
    pub publish: Vec<String>,
    /// Options of each subscriber.
    pub subscribe: Vec<String>,
    /// What each publisher must see; `matched` for those that are not listed.
    #[serde(default)]
    pub publishers: Vec<Verdict>,
    /// What each subscriber must see; `ok` for those that are not listed.
    #[serde(default)]
    pub subscribers: Vec<Verdict>,
    #[serde(default)]
    pub check: Check,
    /// Samples that the check looks at; 0 leaves the scenario to quick runs.
    #[serde(default)]
    pub samples: Option<usize>,
    /// The same in a quick run; without it the scenario is left to long runs.
    #[serde(default)]
    pub quick: Option<usize>,
    /// The check depends on when threads run, so that a busy machine may spoil it: it may be repeated once.
    #[serde(default)]
    pub timing: bool,
}

/// How the samples of a subscriber are judged.
#[derive(Deserialize, Debug, Default, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// One sample of a size that is not 0.
    #[default]
    Any,
    /// Sizes follow each other without gap.
    NoLoss,
    /// Sizes grow.
    Increasing,
    /// From one writer or from several, by size.
    Sizes,
    /// One colour or several.
    Colors,
    /// Sizes from 1 to 20.
    SmallSizes,
    /// The first size is 5 or more: nothing old.
    NothingOld,
    /// The first size is 1.
    FromTheFirst,
    /// Steps between 9 and 19.
    Thinned,
    /// Each instance ends without writers.
    NoWriters,
    /// Each instance ends disposed.
    Disposed,
    /// Each sample ends with `{255}`.
    Payload,
    /// Two or three samples of each read.
    Lifespan,
    /// Whether samples come in order over the instances.
    Order,
    /// Whole sets of three samples of each instance, in each topic by itself.
    Sets,
    /// Whole sets over all topics.
    GroupSets,
    /// A sample, then the missed deadline.
    Deadline,
}

/// A program that takes the same options.
#[derive(Deserialize, Debug, Clone)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    pub name: String,
    /// `{peers}` stands for the folder of the built peers, `{here}` for that of this program.
    pub command: Vec<String>,
    /// Its name for people, with the version.
    pub title: String,
    /// It has XCDR1 alone: that is what both sides use where a scenario does not say.
    #[serde(default)]
    pub xcdr1: bool,
}

/// Why a peer need not pass.
#[derive(Deserialize, Debug, Clone)]
#[serde(deny_unknown_fields)]
pub struct Waiver {
    /// The peer.
    pub peer: String,
    /// As `publisher` or `subscriber`; either if absent.
    #[serde(default)]
    pub role: Option<String>,
    /// Beginnings of the names of the scenarios; with `$` at the end, whole names.
    pub scenarios: Vec<String>,
    /// What publishers may see instead of what they must see. Anything else is a failure.
    #[serde(default)]
    pub publishers: Vec<Verdict>,
    /// The same for subscribers.
    #[serde(default)]
    pub subscribers: Vec<Verdict>,
    /// What the peer does.
    pub reason: String,
}

impl List {
    /// Reads and checks the list.
    pub fn parse(text: &str) -> Result<Self> {
        let list: Self = toml::from_str(text).context("scenarios.toml")?;
        for (at, scenario) in list.scenario.iter().enumerate() {
            let name = &scenario.name;
            ensure!(list.scenario[..at].iter().all(|other| other.name != *name), "{name} is there twice");
            ensure!(
                !scenario.publish.is_empty() && !scenario.subscribe.is_empty(),
                "{name} has one role only"
            );
            ensure!(scenario.publishers.len() <= scenario.publish.len(), "{name}: too many publishers");
            ensure!(scenario.subscribers.len() <= scenario.subscribe.len(), "{name}: too many subscribers");
        }
        for waiver in &list.waiver {
            let of = |begin: &String| Waiver { scenarios: vec![begin.clone()], ..waiver.clone() };
            let known = |begin: &String| list.scenario.iter().any(|s| of(begin).covers(&s.name));
            ensure!(waiver.scenarios.iter().all(known), "a waiver of {} names no scenario", waiver.peer);
            let verdicts = waiver.publishers.len() + waiver.subscribers.len();
            ensure!(verdicts > 0, "a waiver of {} does not say what is seen", waiver.peer);
        }
        Ok(list)
    }

    /// The waivers as a table, for docs/shapes.md.
    pub fn table(&self) -> String {
        let mut table = String::from("| peer | as | scenarios | seen | why |\n|---|---|---|---|---|\n");
        for waiver in &self.waiver {
            let title = self.peer.iter().find(|peer| peer.name == waiver.peer).map(|peer| &*peer.title);
            let title = title.unwrap_or(&waiver.peer);
            let role = waiver.role.as_deref().unwrap_or("both");
            let names: Vec<_> = waiver.scenarios.iter().map(|begin| format!("`{begin}`")).collect();
            let count =
                self.scenario.iter().filter(|s| waiver.covers(&s.name) && s.samples(false).is_some()).count();
            let (names, seen, reason) = (names.join(", "), waiver.seen(), &waiver.reason);
            table.push_str(&format!("| {title} | {role} | {names} ({count}) | {seen} | {reason} |\n"));
        }
        table
    }

    /// The representation that participants use where a scenario does not say.
    pub fn representation(&self, publisher: &str, subscriber: &str) -> &'static str {
        let of_either = |peer: &&Peer| peer.name == publisher || peer.name == subscriber;
        if self.peer.iter().filter(of_either).any(|peer| peer.xcdr1) { "1" } else { "2" }
    }

    /// The reason why a peer need not pass a scenario, if this is how it fails.
    pub fn waiver(
        &self,
        scenario: &str,
        publisher: &str,
        subscriber: &str,
        problems: &[Problem],
    ) -> Option<&Waiver> {
        self.waiver.iter().find(|waiver| {
            let role = waiver.role.as_deref();
            let by_role = (waiver.peer == publisher && role != Some("subscriber"))
                || (waiver.peer == subscriber && role != Some("publisher"));
            by_role && waiver.covers(scenario) && problems.iter().all(|problem| waiver.excuses(problem))
        })
    }
}

impl Waiver {
    /// Names that end in `$` are whole, the others are beginnings.
    fn covers(&self, scenario: &str) -> bool {
        self.scenarios.iter().any(|begin| match begin.strip_suffix('$') {
            Some(whole) => scenario == whole,
            None => scenario.starts_with(begin.as_str()),
        })
    }

    fn excuses(&self, problem: &Problem) -> bool {
        problem.saw.is_some_and(|saw| {
            let expected = if saw.publishes { &self.publishers } else { &self.subscribers };
            expected.contains(&saw.verdict)
        })
    }

    /// What publishers and subscribers see, for people.
    fn seen(&self) -> String {
        let of = |role: &str, verdicts: &[Verdict]| {
            let names: Vec<_> = verdicts.iter().map(Verdict::to_string).collect();
            (!names.is_empty()).then(|| format!("{role} {}", names.join(" or ")))
        };
        let both = [of("publisher", &self.publishers), of("subscriber", &self.subscribers)];
        both.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

impl Scenario {
    /// Samples to look at; `None` when the scenario is not part of such a run.
    pub fn samples(&self, quick: bool) -> Option<usize> {
        let count = if quick { self.quick } else { Some(self.samples.unwrap_or(1)) };
        count.filter(|count| *count > 0)
    }

    /// What the publisher at a place in the list must see.
    pub fn of_publisher(&self, at: usize) -> Verdict {
        self.publishers.get(at).copied().unwrap_or(Verdict::Ok)
    }

    /// What the subscriber at a place in the list must see.
    pub fn of_subscriber(&self, at: usize) -> Verdict {
        self.subscribers.get(at).copied().unwrap_or(Verdict::Ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Saw;

    #[test]
    fn the_list_is_sound_and_its_waivers_have_reasons() {
        let list = List::parse(crate::SCENARIOS).unwrap();
        assert!(list.scenario.len() > 100, "{}", list.scenario.len());
        assert!(list.waiver.iter().all(|waiver| waiver.reason.len() > 30));
        let quick: Vec<_> = list.scenario.iter().filter(|s| s.samples(true).is_some()).collect();
        let checks = [Check::NoLoss, Check::Sizes, Check::Colors, Check::GroupSets, Check::Lifespan];
        assert!(checks.iter().all(|check| quick.iter().any(|scenario| scenario.check == *check)));
    }

    #[test]
    fn the_document_has_the_table_of_waivers() {
        let document = include_str!("../../../docs/shapes.md");
        let table = List::parse(crate::SCENARIOS).unwrap().table();
        assert!(
            document.contains(&table),
            "docs/shapes.md needs what dunlin-shapes-tests --table prints:\n{table}"
        );
    }

    #[test]
    fn mistakes_in_the_list_are_found() {
        let scenario = "[[scenario]]\nname = 'a'\npublish = ['']\nsubscribe = ['']\n";
        assert!(List::parse(scenario).is_ok());
        assert!(List::parse(&scenario.repeat(2)).is_err());
        let foreign = format!("{scenario}[[waiver]]\npeer = 'x'\nscenarios = ['b']\nreason = ''\n");
        assert!(List::parse(&foreign).is_err());
    }

    #[test]
    fn waivers_are_of_roles_and_of_what_is_seen() {
        let text = "[[scenario]]\nname = 'a-1'\npublish = ['']\nsubscribe = ['']\n\
                    [[waiver]]\npeer = 'x'\nrole = 'subscriber'\nscenarios = ['a-']\nreason = 'r'\n";
        assert!(List::parse(text).is_err(), "it must say what is seen");
        let list = List::parse(&format!("{text}subscribers = ['wrong']\n")).unwrap();
        let saw = |publishes, verdict| Problem { text: String::new(), saw: Some(Saw { publishes, verdict }) };
        let is_waived = |scenario, publisher, subscriber, problems: &[Problem]| {
            list.waiver(scenario, publisher, subscriber, problems).is_some()
        };
        let wrong = [saw(false, Verdict::Wrong)];
        assert!(is_waived("a-1", "dunlin", "x", &wrong));
        assert!(!is_waived("a-1", "x", "dunlin", &wrong) && !is_waived("b", "dunlin", "x", &wrong));
        assert!(!is_waived("a-1", "dunlin", "x", &[saw(false, Verdict::NoData)]));
        assert!(!is_waived("a-1", "dunlin", "x", &[saw(true, Verdict::Wrong)]));
        let late = Problem { text: "publisher 1 needed 3 s to end".into(), saw: None };
        assert!(!is_waived("a-1", "dunlin", "x", &[saw(false, Verdict::Wrong), late]));
    }
}
