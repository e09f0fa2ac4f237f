//! The campaign and the minimiser with scenarios that fail because these tests expect something that is not so.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use clap::Parser;
use dunlin_sim::{commit, commit_in};
use dunlin_simulation::cli::Cli;
use dunlin_simulation::failure::{Failure, Violation};
use dunlin_simulation::generate::{NEWEST, generate};
use dunlin_simulation::known;
use dunlin_simulation::minimise::{Judge, judge_seed, minimise};
use dunlin_simulation::run::{Outcome, run};
use dunlin_simulation::scenario::{Scenario, Switches};
use dunlin_simulation::seed::Seed;

/// What is needed for a wrong expectation to fail, by the numbers of a scenario.
#[derive(Debug)]
struct Needed {
    seed: Seed,
    writer: usize,
    reader: usize,
    fault: usize,
    nodes: BTreeSet<usize>,
    /// Another node.
    trap: usize,
}

fn fails_with(kind: &'static str, text: String) -> Result<Outcome, Failure> {
    Err(Failure { violations: vec![Violation::new(kind, text)] })
}

/// Expects that no sample gets from the writer to the reader in a run in which the fault happens. That is wrong.
fn never_delivered(scenario: &Scenario, needed: &Needed) -> Result<Outcome, Failure> {
    let outcome = run(scenario)?;
    let count = outcome.delivered.get(&(needed.writer, needed.reader)).copied().unwrap_or(0);
    if count > 0 && outcome.effects.begun.contains(&needed.fault) {
        return fails_with("never delivered", format!("{count} samples of seed {}", scenario.seed));
    }
    Ok(outcome)
}

/// In the run of a seed: a pair between which samples pass, on two nodes; a fault of a third; and one more node.
fn find_needed(seed: Seed) -> Option<Needed> {
    let plan = generate(seed);
    if !(5..=8).contains(&plan.nodes.len()) || plan.lasts > 15_000 {
        return None;
    }
    let outcome = run(&plan).ok()?;
    let apart = |pair: &&(usize, usize)| plan.endpoints[pair.0].node != plan.endpoints[pair.1].node;
    let (writer, reader) = *outcome.delivered.keys().find(apart)?;
    let ends = BTreeSet::from([plan.endpoints[writer].node, plan.endpoints[reader].node]);
    let third = |index: &&usize| plan.faults[**index].fault.node().is_some_and(|node| !ends.contains(&node));
    let fault = *outcome.effects.begun.iter().find(third)?;
    let nodes: BTreeSet<usize> = ends.into_iter().chain(plan.faults[fault].fault.node()).collect();
    let trap = (0..plan.nodes.len()).find(|node| !nodes.contains(node))?;
    Some(Needed { seed, writer, reader, fault, nodes, trap })
}

fn needed() -> Needed {
    let mut seeds = (1..=300).map(|number| Seed { generation: 1, number });
    seeds.find_map(find_needed).expect("one of 300 seeds has what the test needs")
}

fn left<T>(all: &[T], on: impl Fn(&T) -> bool) -> BTreeSet<usize> {
    all.iter().enumerate().filter(|(_, thing)| on(thing)).map(|(index, _)| index).collect()
}

/// Nodes, endpoints and faults that are left.
fn parts(seed: Seed, switches: &Switches) -> [BTreeSet<usize>; 3] {
    let rest = generate(seed).without(switches);
    [
        left(&rest.nodes, |node| node.on),
        left(&rest.endpoints, |endpoint| endpoint.on),
        left(&rest.faults, |plan| plan.on),
    ]
}

#[test]
fn the_smallest_scenario_has_exactly_what_the_failure_needs() {
    let needed = needed();
    let judge = |scenario: &Scenario| never_delivered(scenario, &needed);
    let switches = minimise(needed.seed, Switches::default(), "never delivered", &judge, |_| {});
    let [nodes, endpoints, faults] = parts(needed.seed, &switches);
    assert_eq!(nodes, needed.nodes, "{needed:?}, off: {switches}");
    assert_eq!(endpoints, BTreeSet::from([needed.writer, needed.reader]), "off: {switches}");
    assert_eq!(faults, BTreeSet::from([needed.fault]), "off: {switches}");
}

#[test]
fn minimizer_ignores_a_different_failure() {
    let needed = needed();
    let trapped = |panics: bool| {
        let needed = &needed;
        move |scenario: &Scenario| {
            if !scenario.nodes[needed.trap].on {
                assert!(!panics, "a node is missing");
                return fails_with("another", "a node is missing".into());
            }
            never_delivered(scenario, needed)
        }
    };
    for panics in [false, true] {
        let judge = trapped(panics);
        let switches = minimise(needed.seed, Switches::default(), "never delivered", &judge, |_| {});
        let [nodes, ..] = parts(needed.seed, &switches);
        let mut expected = needed.nodes.clone();
        expected.insert(needed.trap);
        assert_eq!(nodes, expected, "off: {switches}");
        let still = judge_seed(needed.seed, &switches, &judge);
        assert!(still.is_err_and(|failure| failure.kind() == "never delivered"));
    }
}

/// What the command line prints, and whether all holds.
fn cli(arguments: &str, judge: Judge<'_>) -> (bool, String) {
    let arguments = std::iter::once("dunlin-simulation").chain(arguments.split_whitespace());
    let mut out = Vec::new();
    let holds = Cli::try_parse_from(arguments).expect("a good command line").run(judge, &mut out);
    (holds, String::from_utf8(out).expect("text"))
}

/// What cargo hands to the program by the line that repeats a failure.
fn repetition(printed: &str) -> &str {
    let line = printed.lines().find_map(|line| line.trim().strip_prefix("repeat it: "));
    let line = line.unwrap_or_else(|| panic!("no line repeats it:\n{printed}"));
    let start = format!("cargo run --release -p {} -- ", env!("CARGO_PKG_NAME"));
    line.strip_prefix(&start).unwrap_or_else(|| panic!("{line:?} does not begin with {start:?}"))
}

#[test]
fn a_minimised_scenario_is_printed_with_its_command() {
    let needed = needed();
    let judge = |scenario: &Scenario| never_delivered(scenario, &needed);
    let (holds, printed) = cli(&format!("minimise {}", needed.seed), &judge);
    assert!(!holds && printed.contains("[never delivered]"), "{printed}");
    let (holds, again) = cli(repetition(&printed), &judge);
    assert!(!holds && again.contains("[never delivered]"), "{again}");
    // The scenario itself is printed both times: what is left of it and nothing else.
    assert!(printed.starts_with(&again), "{printed}\nis not the same as\n{again}");
    let lines = |word: &str| again.lines().filter(|line| line.starts_with(word)).count();
    assert_eq!([lines("node"), lines("endpoint"), lines("fault")], [3, 2, 1], "{again}");
}

#[test]
fn a_failing_seed_is_printed_with_the_commit_and_a_line_that_repeats_it() {
    let judge = |scenario: &Scenario| match scenario.seed.number {
        3 => fails_with("wrong", format!("without {:?}", left(&scenario.nodes, |node| !node.on))),
        4 => panic!("four"),
        _ => Ok(Outcome::default()),
    };
    let (holds, printed) = cli("campaign --seeds 6 --jobs 1 --off node0", &judge);
    assert!(!holds);
    let expected = format!("seed {} fails at commit {}: [wrong] without {{0}}", Seed::from(3), commit());
    assert!(printed.contains(&expected), "{printed}");
    let failed = format!("\n2 fail: {} {}\n", Seed::from(3), Seed::from(4));
    assert!(printed.contains(&failed), "{printed}");
    let (holds, again) = cli(repetition(&printed), &judge);
    assert!(!holds && again.contains("  [wrong] without {0}\n"), "{again}");
    // A panic is known by its place.
    let panic = printed
        .lines()
        .find(|line| line.contains(&format!("seed {} fails", Seed::from(4))))
        .expect("it is told");
    assert!(
        panic.contains("[panic at ") && panic.contains("tools.rs:") && panic.ends_with("] four"),
        "{panic}"
    );

    let (holds, printed) = cli("campaign --seeds 2", &judge);
    assert!(holds && printed.ends_with("none fails\n"), "{printed}");
}

#[test]
fn a_generation_is_taken_wherever_a_seed_is() {
    let judge = |scenario: &Scenario| fails_with("wrong", scenario.seed.to_string());
    let same = ["run 1:7", "run --generation 1 7", "minimise 1:7", "campaign --seeds 1 --first 1:7"];
    let more = ["campaign --seeds 1 --first 7 --generation 1"];
    for arguments in same.into_iter().chain(more) {
        let (holds, printed) = cli(arguments, &judge);
        assert!(!holds && printed.contains("[wrong] 1:7\n"), "{arguments}: {printed}");
    }
    for wrong in ["run 0:7", "run 7 --generation 0", "run 99:7", "campaign --first 99:7"] {
        let arguments = std::iter::once("dunlin-simulation").chain(wrong.split_whitespace());
        assert!(Cli::try_parse_from(arguments).is_err(), "{wrong}");
    }
}

#[test]
fn a_new_failure_is_printed_with_its_line_for_the_list_of_failed_seeds() {
    let judge = |_: &Scenario| fails_with("wrong", "all of it".into());
    let (_, printed) = cli("campaign --first 1:7 --seeds 1", &judge);
    let line = known::line(Seed { generation: 1, number: 7 }, &commit(), "wrong");
    assert!(printed.contains(&format!("failed_seeds.txt: {line}\n")), "{printed}");
    assert!(printed.contains("minimise it: ") && printed.contains(" minimise 1:7\n"), "{printed}");
    // What stands there already, or is a part of a scenario, is no news.
    for arguments in ["campaign --first 1:50013779 --seeds 1", "campaign --first 1:7 --seeds 1 --off node0"] {
        let (_, printed) = cli(arguments, &judge);
        assert!(!printed.contains("failed_seeds.txt"), "{printed}");
    }
}

#[test]
fn campaign_runs_known_failed_seeds_first() {
    let all: Vec<Seed> = known::failed().expect("a list").into_iter().map(|known| known.seed).collect();
    let seen = Mutex::new(Vec::new());
    let judge = |scenario: &Scenario| {
        seen.lock().expect("it is whole").push(scenario.seed);
        if all.last() == Some(&scenario.seed) {
            fails_with("wrong", "again".into())
        } else {
            Ok(Outcome::default())
        }
    };
    let (holds, printed) = cli("campaign --known --seeds 2 --jobs 1", &judge);
    // That the others hold does not make it good.
    assert!(!holds && printed.contains("\n1 fail: ") && printed.ends_with("none fails\n"), "{printed}");
    let expected: Vec<Seed> = all.iter().copied().chain([1, 2].map(Seed::from)).collect();
    assert_eq!(*seen.lock().expect("it is whole"), expected);
}

#[test]
fn fresh_seeds_follow_from_the_sources_and_can_be_run_again() {
    let seen = Mutex::new(Vec::new());
    let judge = |scenario: &Scenario| {
        seen.lock().expect("it is whole").push(scenario.seed);
        Ok(Outcome::default())
    };
    let fresh = || std::mem::take(&mut *seen.lock().expect("it is whole"));
    let (_, printed) = cli("campaign --fresh --seeds 8 --jobs 1", &judge);
    let first = fresh();
    assert!(first.iter().all(|seed| seed.number >= 1_000_000_000_000), "{first:?}");
    let generations: Vec<u32> = first.iter().map(|seed| seed.generation).collect();
    assert_eq!(generations, [NEWEST, NEWEST, NEWEST, NEWEST, NEWEST, NEWEST, 1, 1]);
    let start = format!("cargo run --release -p {} -- ", env!("CARGO_PKG_NAME"));
    let again: Vec<&str> = printed.lines().filter_map(|line| line.trim().strip_prefix(&start)).collect();
    again.iter().for_each(|line| _ = cli(&format!("{line} --jobs 1"), &judge));
    assert_eq!(fresh(), first, "{again:?} run them again");
    if commit() != "unknown" {
        cli("campaign --fresh --seeds 8 --jobs 1", &judge);
        assert_eq!(fresh(), first, "the same sources, the same seeds");
    }
    cli("campaign --fresh --seeds 8 --jobs 1 --generation 1", &judge);
    assert!(fresh().iter().all(|seed| seed.generation == 1), "what is asked for alone");
}

#[test]
fn a_commit_is_known_where_there_is_git() {
    let known = std::process::Command::new("git").args(["rev-parse", "HEAD"]).output();
    let head = known.ok().filter(|output| output.status.success()).map(|output| output.stdout);
    let Some(head) = head.and_then(|head| String::from_utf8(head).ok()) else {
        return dunlin_notes::skipped("this is no clone of git", "run it in one, with git");
    };
    let commit = commit();
    let named = commit.split('+').next().unwrap_or_default();
    assert!(named.len() >= 7 && head.starts_with(named), "{commit} of {head}");
}

/// A folder of this test alone.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

#[test]
fn sources_that_differ_from_the_commit_have_a_name_of_their_own() {
    let folder = folder("commit");
    let git = |arguments: &str| {
        let mut git = std::process::Command::new("git");
        git.current_dir(&folder).args(["-c", "user.name=A", "-c", "user.email=a@example.org"]);
        git.args(arguments.split_whitespace()).output().is_ok_and(|output| output.status.success())
    };
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).expect("it can be written");
    assert!(git("init"), "apt-get install git");
    write("one", "1");
    assert!(git("add one") && git("commit -m first"));
    let clean = commit_in(&folder);
    assert!(clean.len() >= 7 && clean.chars().all(|c| c.is_ascii_hexdigit()), "{clean}");
    let mut names = BTreeSet::from([clean.clone()]);
    write("one", "2");
    names.insert(commit_in(&folder));
    write("one", "3");
    names.insert(commit_in(&folder));
    write("two", "2");
    names.insert(commit_in(&folder));
    assert_eq!(names.len(), 4, "{names:?}");
    assert!(names.iter().all(|name| name.starts_with(&clean)), "{names:?}");
    fs::remove_dir_all(&folder).expect("it goes");
}

#[test]
fn a_campaign_that_is_done_says_so_and_how_to_repeat_it() {
    let folder = folder("state");
    let state = folder.join("notes.txt");
    let arguments = format!("campaign --seeds 3 --state {}", state.display());
    let seen = Mutex::new(Vec::new());
    let judge = |scenario: &Scenario| {
        seen.lock().expect("it is whole").push(scenario.seed);
        Ok(Outcome::default())
    };
    let count = || seen.lock().expect("it is whole").len();
    let (_, first) = cli(&arguments, &judge);
    assert!(count() == 3 && !first.contains("done before"), "{first}");
    let (_, again) = cli(&arguments, &judge);
    let hint = format!("to repeat it delete {}\n", state.display());
    assert!(count() == 3 && again.contains(&hint), "{again}");
    // What other sources have shown says nothing.
    let notes = fs::read_to_string(&state).expect("there are notes");
    fs::write(&state, format!("another{notes}")).expect("it can be written");
    let (_, anew) = cli(&arguments, &judge);
    assert!(count() == 6 && !anew.contains("done before"), "{anew}");
    fs::remove_dir_all(&folder).expect("it goes");
}
