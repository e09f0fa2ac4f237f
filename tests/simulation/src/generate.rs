//! From a seed to a scenario.
//!
//! What a generation draws stays as it is: a seed that failed once is worth keeping only as long as it means the same. A new
//! kind of thing in scenarios is a new generation: one more function in [`LATER`], which changes what the generations before
//! it have drawn, with chance of its own. Fields that are new say in those before it what was so all the time.

mod architectures;
mod endpoints;
mod faults;
mod hostile;
mod large;
mod second;
mod sets;
mod storms;
mod whole;

pub use architectures::ARCHITECTURES;
use dunlin_core::{Duration, Rng};
use dunlin_sim::{Delay, PathConfig};
pub use hostile::{HOSTILE, NEAR};

use crate::scenario::{Class, EndpointPlan, Fault, FaultPlan, Ms, NodePlan, Part, Scenario};
use crate::seed::Seed;

/// What a later generation makes of a scenario.
type Bend = fn(&mut Dice, &mut Scenario);

/// Generation 2 and those after it.
const LATER: [Bend; 1] = [second_generation];

/// The newest generation that has held over 100,000 seeds: what bare numbers mean, and what each landing draws.
pub const NEWEST: u32 = 2;

/// The last one there is.
pub const COMING: u32 = 1 + LATER.len() as u32;

/// Later generations ask questions from this number on, one for each.
const BENDS: u64 = 100;
/// Questions of their own, of which only few scenarios hear.
const LARGE: u64 = 200;
const STORMS: u64 = 201;

/// Chance, asked in the words of scenarios.
pub struct Dice(Rng);

impl Dice {
    /// Different questions of the same seed get answers that have nothing to do with each other.
    #[must_use]
    pub fn new(seed: u64, question: u64) -> Self {
        let mut rng = Rng::new(seed ^ question.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Self(Rng::new(rng.next_u64()))
    }

    /// From the first to the last, evenly.
    pub fn within(&mut self, first: u64, last: u64) -> u64 {
        first + self.0.below(last.saturating_sub(first) + 1)
    }

    /// From the first to the last, the smaller the likelier.
    pub fn small(&mut self, first: u64, last: u64) -> u64 {
        let mut draw = || self.within(first, last);
        draw().min(draw()).min(draw())
    }

    /// An index below `count`.
    pub fn index(&mut self, count: usize) -> usize {
        self.0.below(count as u64) as usize
    }

    /// So many times in a hundred.
    pub fn percent(&mut self, share: u64) -> bool {
        self.0.chance(share, 100)
    }

    /// One of some.
    pub fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.index(values.len())]
    }
}

/// How much there is of everything.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Size {
    /// Mostly few nodes for a short time.
    Small,
    /// Many nodes, long, with faults of every kind at the same time.
    Whole,
}

/// The scenario of a seed.
#[must_use]
pub fn generate(seed: impl Into<Seed>) -> Scenario {
    let seed = seed.into();
    let mut scenario = first_generation(seed);
    for (generation, bend) in (2..=seed.generation).zip(LATER) {
        bend(&mut Dice::new(seed.number, BENDS + u64::from(generation)), &mut scenario);
    }
    if (ARCHITECTURES..HOSTILE).contains(&seed.number) {
        architectures::draw(&mut Dice::new(seed.number, 98), &mut scenario);
    }
    if seed.number >= HOSTILE {
        hostile::attacks(&mut Dice::new(seed.number, 99), &mut scenario);
    }
    if seed.number >= NEAR {
        hostile::attacks_from_near(&mut Dice::new(seed.number, 97), &mut scenario);
    }
    scenario
}

fn first_generation(name: Seed) -> Scenario {
    let seed = name.number;
    let mut dice = Dice::new(seed, 1);
    let size = if dice.percent(4) { Size::Whole } else { Size::Small };
    let (lasts, count) = match size {
        Size::Small => {
            let lasts = dice.small(5_000, 60_000);
            (lasts, dice.small(2, if lasts > 30_000 { 10 } else { 20 }) as usize)
        }
        Size::Whole => (dice.within(20_000, 60_000), dice.within(14, 20) as usize),
    };
    let mut nodes = nodes(&mut Dice::new(seed, 2), count, size);
    let mut endpoints = endpoints::endpoints(&mut Dice::new(seed, 3), &nodes, lasts);
    if size == Size::Whole {
        whole::complete(&mut nodes, &mut endpoints);
    }
    let stage = faults::Stage { nodes: &nodes, endpoints: &endpoints, lasts };
    let mut faults = faults::faults(&mut Dice::new(seed, 4), stage, size);
    patience(&mut Dice::new(seed, 5), &mut nodes, &mut endpoints, &mut faults, lasts);
    endpoints::filters(&mut Dice::new(seed, 6), &mut endpoints);
    endpoints::budgets(&mut Dice::new(seed, 7), &mut endpoints);
    endpoints::presentations(&mut Dice::new(seed, 8), &mut endpoints);
    if size == Size::Small {
        calm(&mut Dice::new(seed, 9), &endpoints, &mut faults, lasts);
    }
    let base = base(&mut dice);
    // So that both stay tried: by default they do.
    let verifies_places = seed % 8 != 7;
    Scenario { seed: name, lasts, base, nodes, endpoints, groups: Vec::new(), faults, verifies_places }
}

/// Coherent sets, publishers and subscribers with several endpoints, hosts with several nodes, samples of many datagrams,
/// storms of faults, addresses that go to another node, and nodes that go without a goodbye.
fn second_generation(dice: &mut Dice, scenario: &mut Scenario) {
    sets::add(dice, scenario);
    second::hosts(dice, scenario);
    large::add(&mut Dice::new(scenario.seed.number, LARGE), scenario);
    storms::add(&mut Dice::new(scenario.seed.number, STORMS), scenario);
    second::takeovers(dice, scenario);
    second::departures(dice, scenario);
}

/// Some scenarios with LIFESPAN end in peace, for what a fault holds back may expire, and then nobody can say what a reader
/// should have been shown.
fn calm(dice: &mut Dice, endpoints: &[EndpointPlan], faults: &mut Vec<FaultPlan>, lasts: Ms) {
    let mortal = endpoints.iter().any(|plan| plan.is_writer() && plan.qos.lifespan.is_some());
    if mortal && dice.percent(40) {
        let peace = lasts * dice.within(20, 60) / 100;
        faults.retain(|plan| plan.until <= peace);
    }
}

fn base(dice: &mut Dice) -> PathConfig {
    let least = Duration::from_micros(dice.small(20, 3_000) as i64);
    let more = Duration::from_micros(dice.small(10, 4_000) as i64);
    let delay = match dice.index(3) {
        0 => Delay::Fixed(least),
        1 => Delay::Uniform(least, Duration::from_nanos(least.as_nanos() + more.as_nanos())),
        _ => Delay::Tail(least, more),
    };
    PathConfig { delay, ..PathConfig::default() }
}

fn nodes(dice: &mut Dice, count: usize, size: Size) -> Vec<NodePlan> {
    let whole = size == Size::Whole;
    let mixed = whole || dice.percent(40);
    // Of a hundred nodes, how many hear no group.
    let deaf = if whole { 40 } else { dice.one_of(&[0, 0, 0, 0, 0, 40, 100, 100]) };
    let nats = whole || dice.percent(60);
    let large = dice.one_of(&[1_472, 1_472, 1_200, 8_900]);
    (0..count)
        .map(|_| {
            let lease: Ms = dice.within(2_000, 6_000);
            let peers = dice.percent(deaf);
            let nat = peers && nats && dice.percent(40);
            NodePlan {
                on: true,
                lease,
                period: lease / dice.within(4, 6),
                max_message_size: large,
                wall_offset_ms: if dice.percent(30) { dice.within(0, 100) as i64 - 50 } else { 0 },
                big_endian: mixed && dice.percent(50),
                nat,
                peers,
                unaware: peers && !nat && dice.percent(40),
                inactive_after: 10_000,
                host: None,
                memory: false,
                part: Part::Equal,
            }
        })
        .collect()
}

/// In some scenarios writers soon have enough of readers that do not answer: they keep little, and nodes stand still for
/// long.
fn patience(
    dice: &mut Dice,
    nodes: &mut [NodePlan],
    endpoints: &mut [EndpointPlan],
    faults: &mut Vec<FaultPlan>,
    lasts: Ms,
) {
    if !dice.percent(40) {
        return;
    }
    let inactive_after = dice.within(100, 1_500);
    nodes.iter_mut().for_each(|node| node.inactive_after = inactive_after);
    for plan in endpoints.iter_mut().filter(|plan| plan.is_writer()) {
        let volatile = plan.qos.reliable && plan.qos.keep_last.is_none() && !plan.qos.durable;
        if volatile && dice.percent(60) {
            plan.qos.max_samples = Some(dice.within(2, 10) as u32);
        }
    }
    for _ in 0..dice.within(1, 3) {
        let from = dice.within(0, lasts / 2);
        let until = (from + inactive_after + dice.within(500, 4_000)).min(lasts);
        faults::add(faults, Class::Pause, from, until, Fault::Pause(dice.index(nodes.len())));
    }
}
