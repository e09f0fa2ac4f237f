//! A few seeds in every test run, and that scenarios are what they say they are.

use std::collections::{BTreeMap, BTreeSet};

use dunlin_qos::PolicyId;
use dunlin_sim::commit;
use dunlin_simulation::campaign::command;
use dunlin_simulation::failure::Failure;
use dunlin_simulation::generate::{HOSTILE, NEAR, generate};
use dunlin_simulation::minimise::run_seed;
use dunlin_simulation::run::run;
use dunlin_simulation::scenario::{CLASSES, Class, FIRST_CLASSES, Fault, FaultPlan, Scenario, Switches};
use dunlin_simulation::seed::Seed;

/// The kinds of faults that every generation knows.
const FIRST: &[(Class, &str)] = CLASSES.split_at(FIRST_CLASSES).0;

/// A scenario of the first generation: later ones take nodes away, with the faults that they would have suffered.
fn first(number: u64) -> Scenario {
    generate(Seed { generation: 1, number })
}

/// Ends a test with all that is needed to repeat what failed.
fn fails(seed: Seed, failure: &Failure) -> ! {
    let again = command(seed, &Switches::default());
    panic!("seed {seed} fails at commit {}: {failure:?}\nrepeat it: {again}", commit());
}

#[test]
fn the_first_seeds_of_each_generation_pass() {
    let seeds = |generation| (1..=15).map(move |number| Seed { generation, number });
    for seed in seeds(1).chain(seeds(2)) {
        let result = run_seed(seed, &Switches::default());
        result.unwrap_or_else(|failure| fails(seed, &failure));
    }
}

#[test]
fn inactive_readers_happen_and_cost_something() {
    let plain = |seed: &u64| {
        let scenario = first(*seed);
        scenario.nodes[0].inactive_after < 1_500
            && scenario.endpoints.iter().any(|plan| plan.is_writer() && plan.qos.max_samples.is_some())
    };
    let released = (1..=600).filter(plain).take(40).map(|seed| run(&first(seed)).map(|run| run.released));
    let released: Vec<u64> = released.map(|released| released.expect("it holds")).collect();
    let some = released.iter().filter(|released| **released > 0).count();
    println!("{some} of {} scenarios", released.len());
    assert!(some > 0);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let seeds = [1, 2].map(|generation| [3, 14].map(|number| Seed { generation, number }));
    for seed in seeds.into_iter().flatten() {
        let scenario = generate(seed);
        assert_eq!(scenario, generate(seed));
        assert_eq!(run(&scenario), run(&scenario));
    }
}

#[test]
fn every_kind_of_fault_happens_and_is_over_in_time() {
    let scenarios: Vec<_> = (1..=400).map(first).collect();
    let faults = || scenarios.iter().flat_map(|scenario| &scenario.faults);
    for (class, name) in FIRST.iter().filter(|(_, name)| *name != "endian") {
        assert!(faults().any(|plan| plan.class == *class), "{name} never happens");
    }
    for scenario in &scenarios {
        assert!((2..=20).contains(&scenario.nodes.len()) && scenario.lasts <= 60_000);
        assert!(scenario.faults.iter().all(|plan| plan.from <= plan.until && plan.until <= scenario.lasts));
    }
    assert!(scenarios.iter().any(|scenario| scenario.nodes.len() == 20));
    assert!(scenarios.iter().any(|scenario| scenario.nodes.iter().any(|node| node.big_endian)));
}

/// Scenarios with so many nodes and all kinds of faults are one of 25.
fn is_whole(scenario: &Scenario) -> bool {
    let kinds: BTreeSet<Class> = scenario.faults.iter().map(|plan| plan.class).collect();
    let first = FIRST.iter().filter(|(class, _)| kinds.contains(class)).count();
    first == FIRST.len() - 1 && scenario.nodes.len() >= 14
}

#[test]
fn whole_scenarios_suffer_all_kinds_of_faults_at_one_time() {
    let whole: Vec<_> = (1..=500).map(first).filter(is_whole).collect();
    println!("{} of 500 seeds are whole", whole.len());
    assert!((10..=30).contains(&whole.len()));
    for scenario in whole {
        let seed = scenario.seed;
        let outcome = run(&scenario).unwrap_or_else(|failure| fails(seed, &failure));
        for (class, name) in FIRST {
            let count = outcome.effects.kinds.get(class).copied().unwrap_or(0);
            println!("seed {seed}: {name} {count}");
            assert!(count > 0, "seed {seed}: {name} did nothing");
        }
        assert!(outcome.effects.together >= FIRST.len(), "seed {seed}");
    }
}

#[test]
fn fault_kinds_all_take_effect_in_small_scenarios() {
    let mut counts: BTreeMap<Class, u64> = BTreeMap::new();
    let mut together = 0;
    for scenario in (1..=60).map(first).filter(|scenario| !is_whole(scenario)) {
        let seed = scenario.seed;
        let outcome = run(&scenario).unwrap_or_else(|failure| fails(seed, &failure));
        together = together.max(outcome.effects.together);
        for (class, count) in outcome.effects.kinds {
            *counts.entry(class).or_default() += count;
        }
    }
    for (class, name) in FIRST {
        let count = counts.get(class).copied().unwrap_or(0);
        println!("{name} {count}");
        assert!(count > 0, "{name} did nothing");
    }
    assert!(together >= 3, "{together} kinds at one time");
}

#[test]
fn scenario_parts_of_the_second_generation_have_an_effect() {
    let mut counts: BTreeMap<Class, u64> = BTreeMap::new();
    let (mut shown, mut withheld, mut by_several, mut broken, mut through_memory) = (0, 0, 0, 0, 0);
    let hostile = (HOSTILE + 1..=HOSTILE + 30).chain(NEAR + 1..=NEAR + 10);
    for scenario in (1..=150).chain(hostile).map(|number| generate(Seed { generation: 2, number })) {
        let seed = scenario.seed;
        let outcome = run(&scenario).unwrap_or_else(|failure| fails(seed, &failure));
        outcome.effects.kinds.iter().for_each(|(class, count)| *counts.entry(*class).or_default() += count);
        shown += outcome.sets.shown;
        withheld += outcome.sets.withheld;
        by_several += outcome.sets.by_several;
        broken += outcome.sets.broken;
        through_memory += outcome.through_memory;
    }
    for (class, name) in &CLASSES[FIRST_CLASSES..] {
        let count = counts.get(class).copied().unwrap_or(0);
        println!("{name} {count}");
        assert!(count > 0, "{name} did nothing");
    }
    println!(
        "sets: {shown} shown, {withheld} withheld, {by_several} of several writers, {broken} broken off"
    );
    println!("{through_memory} messages through memory");
    assert!(
        shown > withheld && [withheld, by_several, broken, through_memory].iter().all(|count| *count > 0)
    );
}

/// A node that has moved last is believed where it is after a second and a half; what the rivals wrote before does not reach it.
#[test]
fn owners_are_judged_when_a_node_that_has_moved_is_believed() {
    let mut scenario = first(9_100_002_260);
    scenario.verifies_places = true;
    let seed = scenario.seed;
    run(&scenario).unwrap_or_else(|failure| fails(seed, &failure));
}

#[test]
fn groups_fail_one_by_one() {
    for group in [0, 1] {
        let single = |plan: &FaultPlan| matches!(plan.fault, Fault::Group(_, Some(which)) if which == group);
        let mut failed = 0;
        for mut scenario in (1..=100).map(first) {
            // It alone happens.
            scenario.faults.retain(single);
            if scenario.faults.is_empty() {
                continue;
            }
            let seed = scenario.seed;
            let outcome = run(&scenario).unwrap_or_else(|failure| fails(seed, &failure));
            failed += outcome.effects.groups[group];
            assert_eq!(outcome.effects.groups[1 - group], 0, "seed {seed}: the other group has failed, too");
        }
        println!("group {group}: {failed} datagrams");
        assert!(failed > 0, "no datagram to group {group} is lost because it alone fails");
    }
}

#[test]
fn every_policy_keeps_some_pair_apart() {
    let mut counts: BTreeMap<PolicyId, u64> = BTreeMap::new();
    for scenario in (1..=400).map(first) {
        for writer in scenario.endpoints.iter().filter(|plan| plan.is_writer()) {
            let readers = scenario.endpoints.iter().filter(|plan| !plan.is_writer());
            for reader in readers.filter(|plan| plan.topic == writer.topic && writer.qos.meets(&plan.qos)) {
                let against = writer.qos.against(&reader.qos);
                against.into_iter().for_each(|policy| *counts.entry(policy).or_default() += 1);
            }
        }
    }
    println!("{counts:?}");
    let requested = [
        PolicyId::Durability,
        PolicyId::Presentation,
        PolicyId::Deadline,
        PolicyId::LatencyBudget,
        PolicyId::Ownership,
        PolicyId::Liveliness,
        PolicyId::Reliability,
        PolicyId::DestinationOrder,
    ];
    for policy in requested {
        assert!(counts.contains_key(&policy), "{policy} never stands against a pair");
    }
}

#[test]
fn switched_off_scenario_parts_do_not_happen() {
    let switches: Switches = "loss,pause,node0,endpoint1,fault2".parse().expect("all of it exists");
    assert_eq!(switches.to_string().parse::<Switches>().ok(), Some(switches.clone()));
    for seed in 1..=50 {
        let scenario = first(seed).without(&switches);
        assert!(!scenario.nodes[0].on);
        assert!(scenario.endpoints.iter().all(|plan| !plan.on || plan.node != 0));
        let off = |class| switches.classes.contains(&class);
        assert!(scenario.faults.iter().all(|plan| !plan.on || !off(plan.class)));
    }
    assert!("nonsense".parse::<Switches>().is_err() && "node".parse::<Switches>().is_err());
}
