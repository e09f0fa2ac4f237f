//! Random scenarios of the centralised and the federated architecture, and that they are what they say they are.

use dunlin_simulation::campaign::command;
use dunlin_simulation::generate::{ARCHITECTURES, generate};
use dunlin_simulation::minimise::run_seed;
use dunlin_simulation::run::{Outcome, run};
use dunlin_simulation::scenario::{Fault, Part, Scenario, Switches};
use dunlin_simulation::seed::Seed;

/// Seeds in every test run, of each generation.
const SEEDS: u64 = 150;

fn seed(generation: u32, number: u64) -> Seed {
    Seed { generation, number: ARCHITECTURES + number }
}

fn holds(seed: Seed) -> Outcome {
    let off = Switches::default();
    run_seed(seed, &off).unwrap_or_else(|failure| {
        panic!("seed {seed} fails: {failure:?}\nrepeat it: {}", command(seed, &off))
    })
}

fn has(scenario: &Scenario, part: impl Fn(Part) -> bool) -> usize {
    scenario.nodes.iter().filter(|node| part(node.part)).count()
}

fn crashes(scenario: &Scenario, outcome: &Outcome) -> usize {
    let hub = |index: &&usize| match scenario.faults[**index].fault {
        Fault::Crash(node, _) => scenario.nodes[node].is_hub(),
        _ => false,
    };
    outcome.effects.begun.iter().filter(hub).count()
}

/// What was seen of an architecture.
#[derive(Debug, Default)]
struct Seen {
    scenarios: usize,
    taken: u64,
    crashes: usize,
}

impl Seen {
    fn add(&mut self, scenario: &Scenario, outcome: &Outcome) {
        self.scenarios += 1;
        self.taken += outcome.taken;
        self.crashes += crashes(scenario, outcome);
    }
}

#[test]
fn random_architectures_survive_dying_servers_and_daemons() {
    let (mut centralised, mut federated) = (Seen::default(), Seen::default());
    for seed in [1, 2].into_iter().flat_map(|generation| (1..=SEEDS).map(move |n| seed(generation, n))) {
        let (scenario, outcome) = (generate(seed), holds(seed));
        let seen =
            if has(&scenario, |part| part == Part::Server) > 0 { &mut centralised } else { &mut federated };
        seen.add(&scenario, &outcome);
    }
    println!("{centralised:?}\n{federated:?}");
    for seen in [centralised, federated] {
        assert!(seen.scenarios > 50 && seen.taken > 1_000 && seen.crashes > 20, "{seen:?}");
    }
}

/// What a scenario may have.
type What<'a> = &'a dyn Fn(&Scenario) -> bool;

#[test]
fn generator_draws_every_architecture_feature() {
    let all: Vec<Scenario> = (1..=400).map(|number| generate(seed(1, number))).collect();
    let count = |what: What<'_>| all.iter().filter(|scenario| what(scenario)).count();
    let servers = |scenario: &Scenario| has(scenario, |part| part == Part::Server);
    let daemons = |scenario: &Scenario| has(scenario, |part| matches!(part, Part::Daemon(_)));
    let apart = |scenario: &Scenario, part: fn(Part) -> bool| {
        let hubs: Vec<usize> =
            (0..scenario.nodes.len()).filter(|node| part(scenario.nodes[*node].part)).collect();
        scenario.faults.iter().any(|plan| match &plan.fault {
            Fault::Partition(side) => {
                hubs.iter().any(|hub| side.contains(hub)) && hubs.iter().any(|hub| !side.contains(hub))
            }
            _ => false,
        })
    };
    let late = |plan: &dunlin_simulation::scenario::FaultPlan, scenario: &Scenario| matches!(plan.fault, Fault::Crash(node, _) if plan.from == 0 && scenario.nodes[node].is_hub());
    let kinds: [(&str, What<'_>); 9] = [
        ("one server", &|it| servers(it) == 1),
        ("several servers", &|it| servers(it) > 1),
        ("servers that do not hear the same", &|it| apart(it, |part| part == Part::Server)),
        ("clients behind routers", &|it| servers(it) > 0 && it.nodes.iter().any(|node| node.nat)),
        ("several daemons", &|it| daemons(it) > 1),
        ("daemons that do not hear each other", &|it| apart(it, |part| matches!(part, Part::Daemon(_)))),
        ("decentralised nodes beside daemons", &|it| {
            daemons(it) > 0 && has(it, |part| part == Part::Equal) > 0
        }),
        ("daemons that bundle", &|it| has(it, |part| matches!(part, Part::Daemon(1..))) > 0),
        ("a hub that comes late", &|it| it.faults.iter().any(|plan| late(plan, it))),
    ];
    for (name, what) in kinds {
        let count = count(what);
        println!("{name}: {count}");
        assert!(count >= 10, "{name}: {count} of 400");
    }
    // All others stay what they are.
    assert!((1..=50).map(generate).all(|it| it.nodes.iter().all(|node| node.part == Part::Equal)));
}

/// A large sample takes as many datagrams through a daemon as without one, each on two ways instead of one.
#[test]
fn large_samples_take_no_more_datagrams_through_a_daemon() {
    let run = |more: &str| {
        let off = "reorder,group,crash,leave,pause,sets,endpoint2,endpoint3,endpoint7,endpoint8,endpoint9,endpoint12";
        let off = format!("{off},node0,node1,node2,node3,node6{more}");
        let outcome = run_seed(seed(2, 8_093), &off.parse().expect("these can be switched off"));
        outcome.unwrap_or_else(|failure| panic!("without {off}: {failure:?}"))
    };
    let (through, without) = (run(""), run(",node7"));
    assert_eq!((through.taken, without.taken), (14, 14));
    assert!(through.datagrams < without.datagrams * 22 / 10, "{} {}", through.datagrams, without.datagrams);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for number in [3, 4, 5] {
        let scenario = generate(seed(1, number));
        assert_eq!(scenario, generate(seed(1, number)));
        assert_eq!(run(&scenario), run(&scenario));
    }
}

#[test]
fn without_hubs_a_random_scenario_is_decentralised() {
    for number in 1..=50 {
        let scenario = generate(seed(1, number));
        let hubs = scenario.nodes.iter().enumerate().filter(|(_, node)| node.is_hub());
        let off = hubs.map(|(index, _)| format!("node{index}")).collect::<Vec<_>>().join(",");
        let rest = scenario.without(&off.parse().expect("nodes can be switched off"));
        assert!(rest.nodes.iter().filter(|node| node.on).all(|node| node.part == Part::Equal));
    }
}
