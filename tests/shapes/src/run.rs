//! Runs scenarios, several at a time, each in domains of its own.

use std::ffi::OsString;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Result;

use crate::judge::Watch;
use crate::process::{LONGEST_END, Lines, Process};
use crate::scenario::Scenario;
use crate::verdict::Verdict;

/// How it went.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What went wrong in the end; nothing if it has passed.
    pub problems: Vec<Problem>,
    /// What went wrong before, if it was repeated for that.
    pub at_first: Option<Vec<Problem>>,
}

/// What went wrong.
#[derive(Debug)]
pub struct Problem {
    pub text: String,
    /// What was seen instead of what must be; nothing if it is of another kind, which no waiver excuses.
    pub saw: Option<Saw>,
}

/// The verdict of a process in its role.
#[derive(Debug, Clone, Copy)]
pub struct Saw {
    pub publishes: bool,
    pub verdict: Verdict,
}

impl Problem {
    /// What went wrong, in one line.
    pub fn all(problems: &[Self]) -> String {
        problems.iter().map(|problem| &*problem.text).collect::<Vec<_>>().join("; ")
    }

    fn other(text: impl Into<String>) -> Self {
        Self { text: text.into(), saw: None }
    }
}

/// Who runs, and how.
pub struct Runner {
    pub publisher: Vec<OsString>,
    pub subscriber: Vec<OsString>,
    /// Whether publishers, and subscribers, must end two seconds after SIGINT.
    pub ends_in_time: [bool; 2],
    pub quick: bool,
    /// For who is not told another one.
    pub representation: &'static str,
    pub stagger: Duration,
    /// Scenarios marked `timing` run again when they have failed.
    pub repeats: bool,
}

struct Running {
    process: Process,
    lines: Lines,
    publishes: bool,
    prints: bool,
    wanted: Verdict,
    name: String,
}

impl Runner {
    /// Runs all; the outcomes are in the order of the scenarios.
    pub fn run_all(&self, scenarios: &[&Scenario], jobs: u32, first_domain: u32) -> Vec<Outcome> {
        let next = AtomicUsize::new(0);
        let outcomes: Vec<_> = scenarios.iter().map(|_| Mutex::new(None)).collect();
        std::thread::scope(|scope| {
            for job in 0..jobs {
                let (next, outcomes) = (&next, &outcomes);
                scope.spawn(move || {
                    // Every scenario has two domains that no other has for a while.
                    for domain in (0..).map(|n| first_domain + 2 * job + 2 * jobs * (n % 3)) {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(scenario) = scenarios.get(at) else { break };
                        let outcome = self.run(scenario, domain);
                        if let Ok(mut place) = outcomes[at].lock() {
                            *place = Some(outcome);
                        }
                    }
                });
            }
        });
        let lost =
            || Outcome { problems: vec![Problem::other("the runner did not get to it")], at_first: None };
        outcomes.into_iter().map(|o| o.into_inner().ok().flatten().unwrap_or_else(lost)).collect()
    }

    fn run(&self, scenario: &Scenario, domain: u32) -> Outcome {
        // What cannot even be started is not repeated.
        let attempt =
            || self.attempt(scenario, domain).map_err(|error| vec![Problem::other(format!("{error:#}"))]);
        match attempt() {
            Ok(problems) if !problems.is_empty() && scenario.timing && self.repeats => {
                Outcome { problems: attempt().unwrap_or_else(|error| error), at_first: Some(problems) }
            }
            Ok(problems) | Err(problems) => Outcome { problems, at_first: None },
        }
    }

    /// Runs it once; says what went wrong, if anything did.
    fn attempt(&self, scenario: &Scenario, domain: u32) -> Result<Vec<Problem>> {
        let mut running = self.start(scenario, domain)?;
        let samples = scenario.samples(self.quick).unwrap_or(1);
        let mut problems = std::thread::scope(|scope| {
            let mut readers = Vec::new();
            let mut writers = Vec::new();
            for Running { lines, publishes, prints, wanted, name, .. } in &mut running {
                let (publishes, prints, wanted, name) = (*publishes, *prints, *wanted, &*name);
                let judge = move || judge(lines, publishes, prints, wanted, name, scenario, samples);
                if publishes {
                    writers.push(scope.spawn(judge));
                } else {
                    readers.push(scope.spawn(judge));
                }
            }
            writers
                .into_iter()
                .chain(readers)
                .filter_map(|thread| thread.join().ok())
                .flatten()
                .collect::<Vec<_>>()
        });
        // Publishers end first.
        for Running { process, publishes, name, .. } in &mut running {
            let took = process.interrupt()?;
            if self.ends_in_time[usize::from(!*publishes)] && took > LONGEST_END {
                let text = format!("{name} needed {:.1} s to end", took.as_secs_f64());
                problems.push(Problem::other(text));
            }
        }
        Ok(problems)
    }

    fn start(&self, scenario: &Scenario, domain: u32) -> Result<Vec<Running>> {
        let mut running = Vec::new();
        let publishers = scenario.publish.iter().enumerate().map(|(at, o)| (true, at, o));
        let subscribers = scenario.subscribe.iter().enumerate().map(|(at, o)| (false, at, o));
        for (publishes, at, options) in publishers.chain(subscribers) {
            std::thread::park_timeout(self.stagger);
            let command = if publishes { &self.publisher } else { &self.subscriber };
            let mut words = vec![if publishes { "-P" } else { "-S" }.to_owned()];
            words.extend(split(options, domain));
            let representation = self.representation.to_owned();
            for (option, value) in
                [("-t", "Square".to_owned()), ("-x", representation), ("-d", domain.to_string())]
            {
                if !words.iter().any(|word| word == option) {
                    words.extend([option.to_owned(), value]);
                }
            }
            let prints = words.iter().any(|word| word == "-w");
            let wanted = if publishes { scenario.of_publisher(at) } else { scenario.of_subscriber(at) };
            let name = format!("{} {}", if publishes { "publisher" } else { "subscriber" }, at + 1);
            let (process, lines) = Process::start(command, &words)?;
            running.push(Running { process, lines, publishes, prints, wanted, name });
        }
        Ok(running)
    }
}

/// The words of options; single quotes hold several together, `{next}` is a second domain.
fn split(options: &str, domain: u32) -> Vec<String> {
    let options = options.replace("{next}", &(domain + 1).to_string());
    let mut words = Vec::new();
    for (at, part) in options.split('\'').enumerate() {
        if at % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

fn judge(
    lines: &mut Lines,
    publishes: bool,
    prints: bool,
    wanted: Verdict,
    name: &str,
    scenario: &Scenario,
    samples: usize,
) -> Option<Problem> {
    let mut watch = Watch::new(lines, wanted);
    let saw = if publishes { watch.publisher(prints) } else { watch.subscriber(scenario, samples) };
    (saw != wanted).then(|| {
        let tail = &watch.seen[watch.seen.len().saturating_sub(6)..];
        let text = format!("{name} saw {saw} instead of {wanted}, at the end {tail:?}");
        Problem { text, saw: Some(Saw { publishes, verdict: saw }) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_split_as_a_shell_would() {
        let words = split("-r --cft 'shapesize <= 20' -d {next}", 7);
        assert_eq!(words, ["-r", "--cft", "shapesize <= 20", "-d", "8"]);
    }
}
