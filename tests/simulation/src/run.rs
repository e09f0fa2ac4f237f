//! Runs a scenario: applications, faults, healing.

mod agenda;
mod apps;
mod effects;
mod events;
mod faults;
mod hostile;
mod near;
mod parts;
mod sets;
mod take;

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use agenda::{Action, Agenda};
use dunlin_core::{Duration, EntityId, Locator};
use dunlin_sim::{Nat, NetworkConfig, NodeConfig, NodeId, World};
pub use effects::Effects;
use sets::GroupLife;

use crate::check;
pub use crate::check::Sets;
use crate::data::Filling;
use crate::failure::{Failure, Violation};
use crate::generate::Dice;
use crate::log::{Log, Nanos, ReaderLog, WriterLog};
use crate::scenario::{Ms, Role, Scenario};

/// Nanoseconds in a millisecond.
pub const MS: Nanos = 1_000_000;
/// How long nothing is written at the end of the run.
const QUIET: Ms = 3_000;

/// What a run that holds has done.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    /// Datagrams that all nodes sent.
    pub datagrams: u64,
    /// Changes written.
    pub written: u64,
    /// Samples taken.
    pub taken: u64,
    /// Changes that writers gave up because only inactive readers had not acknowledged them.
    pub released: u64,
    /// Samples taken, by endpoint numbers of writer and reader.
    pub delivered: BTreeMap<(usize, usize), u64>,
    /// Coherent sets.
    pub sets: Sets,
    /// Messages through memory, without those that did not arrive.
    pub through_memory: u64,
    /// What faults did.
    pub effects: Effects,
    /// Of the run: another one with the same scenario has the same.
    pub fingerprint: u64,
}

/// Which role an entity of a node has in the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Known {
    Writer(usize),
    Reader(usize),
}

/// A machine of the run.
pub(crate) struct Machine {
    pub(crate) id: NodeId,
    pub(crate) paused: bool,
    pub(crate) up: bool,
    /// Its address, and the one it has while it is where it is not looked for.
    home: Ipv4Addr,
    away: Ipv4Addr,
    entities: BTreeMap<EntityId, Known>,
}

/// A run in progress.
pub(crate) struct Run<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) world: World,
    pub(crate) machines: Vec<Option<Machine>>,
    pub(crate) log: Log,
    agenda: Agenda,
    filling: Filling,
    /// The log entry of the life that an endpoint has now.
    living: Vec<Option<usize>>,
    /// Counts the lives of an endpoint, so that what was planned for an earlier one is known.
    lives: Vec<u32>,
    dice: Vec<Dice>,
    /// Publishers and subscribers that live, by their place in the scenario.
    groups: Vec<Option<GroupLife>>,
    group_lives: usize,
    group_dice: Vec<Dice>,
    /// Changes written so far.
    turns: u64,
    /// Samples written by an endpoint in all its lives.
    ticks: Vec<u64>,
    active: Vec<usize>,
    slow: BTreeSet<usize>,
    /// Applications write; else they only take and show that they are alive.
    writing: bool,
    pub(crate) taken: u64,
    moves: u8,
    delivered: BTreeMap<(usize, usize), u64>,
    effects: Effects,
    /// What each node had sent, second by second.
    pub(crate) meter: Vec<(Nanos, Vec<u64>)>,
    /// Whoever attacks, once somebody does.
    pub(crate) stranger: Option<hostile::Stranger>,
}

/// Runs a scenario and checks it.
///
/// # Errors
/// What does not hold.
pub fn run(scenario: &Scenario) -> Result<Outcome, Failure> {
    let mut run = Run::new(scenario);
    run.go_on_until(scenario.lasts);
    run.writing = false;
    run.heal();
    (0..scenario.groups.len()).for_each(|group| run.end_open_set(group));
    let converged = run.until_converged(bound(scenario) + run.time_to_take());
    if converged {
        check::at_rest(&mut run);
        run.last_words();
        let before: Vec<u64> = run.sent();
        run.go_on_until(run.age_ms() + QUIET);
        check::quiet(&mut run, &before, QUIET);
        check::at_the_end(&mut run);
    }
    run.poll_all();
    check::whole_run(&mut run);
    let outcome = run.outcome();
    if run.log.violations.is_empty() { Ok(outcome) } else { Err(Failure { violations: run.log.violations }) }
}

/// How long everything may take to be as it should when nothing is wrong any more: nodes that are gone are forgotten
/// after their lease, those that were forgotten announce themselves within a period, and then talk.
fn bound(scenario: &Scenario) -> Ms {
    let longest = scenario.nodes.iter().map(|node| node.lease).max().unwrap_or(0);
    2 * longest + 4_000 + parts::until_introduced_again(scenario)
}

impl<'a> Run<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        let longest = scenario.endpoints.iter().map(|plan| match plan.role {
            Role::Writer { size, .. } => size,
            Role::Reader { .. } => 0,
        });
        let count = scenario.endpoints.len();
        let mut run = Self {
            scenario,
            world: World::new(scenario.seed.number, NetworkConfig::of(scenario.base)),
            machines: Vec::new(),
            log: Log::default(),
            agenda: Agenda::default(),
            filling: Filling::new(longest.max().unwrap_or(0)),
            living: vec![None; count],
            lives: vec![0; count],
            dice: (0..count).map(|index| Dice::new(scenario.seed.number, 1_000 + index as u64)).collect(),
            groups: vec![None; scenario.groups.len()],
            group_lives: 0,
            group_dice: (0..scenario.groups.len())
                .map(|index| Dice::new(scenario.seed.number, 1_000_000 + index as u64))
                .collect(),
            turns: 0,
            ticks: vec![0; count],
            active: Vec::new(),
            slow: BTreeSet::new(),
            writing: true,
            taken: 0,
            moves: 0,
            delivered: BTreeMap::new(),
            effects: Effects::default(),
            meter: Vec::new(),
            stranger: None,
        };
        run.build();
        run
    }

    fn build(&mut self) {
        let plans = &self.scenario.nodes;
        let mut addresses = Vec::new();
        let mut next = 0_u32;
        for plan in plans {
            addresses.push(plan.on.then(|| {
                next += 1;
                next
            }));
        }
        for index in 0..plans.len() {
            let machine = addresses[index].map(|_| self.add_machine(index, &addresses));
            self.machines.push(machine);
        }
        for (index, plan) in self.scenario.endpoints.iter().enumerate().filter(|(_, plan)| plan.on) {
            self.agenda.at(plan.appears * MS, Action::Appear(index));
            if let Some(leaves) = plan.leaves {
                self.agenda.at(leaves * MS, Action::Vanish(index));
            }
        }
        for index in 0..self.scenario.groups.len() {
            self.agenda.at(20 * MS, Action::BeginSet(index));
        }
        for (index, plan) in self.scenario.faults.iter().enumerate().filter(|(_, plan)| plan.on) {
            self.agenda.at(plan.from * MS, Action::Begin(index));
            self.agenda.at((plan.from + plan.until) / 2 * MS, Action::Middle(index));
            self.agenda.at(plan.until * MS, Action::End(index));
        }
    }

    fn add_machine(&mut self, index: usize, addresses: &[Option<u32>]) -> Machine {
        let plan = &self.scenario.nodes[index];
        let mut config = NodeConfig {
            wall_offset: Duration::from_millis(plan.wall_offset_ms),
            big_endian: plan.big_endian,
            multicast: !plan.peers || plan.unaware,
            ..NodeConfig::default()
        };
        (config.host, config.memory) = (plan.host, plan.memory);
        config.participant.lease_duration = Duration::from_millis(plan.lease as i64);
        config.participant.announcement_period = Duration::from_millis(plan.period as i64);
        config.participant.max_message_size = plan.max_message_size;
        config.participant.tuning.inactive_after = Duration::from_millis(plan.inactive_after as i64);
        config.participant.quotas.verify_places = self.scenario.verifies_places;
        if plan.peers {
            config.participant.initial_peers = self.peers(index, addresses);
        }
        self.take_part(index, addresses, &mut config);
        let id = self.world.add_node(config);
        self.world.set_multicast(id, !plan.unaware);
        if plan.nat {
            self.world.set_nat(id, Some(router(index, 0)), true);
        }
        let home = id.address();
        Machine { id, paused: false, up: true, home, away: home, entities: BTreeMap::new() }
    }

    /// Where all the others are to be found at first.
    fn peers(&self, own: usize, addresses: &[Option<u32>]) -> Vec<Locator> {
        let others = (0..addresses.len()).filter(|index| *index != own);
        others.filter_map(|index| self.place(index, addresses)).collect()
    }

    /// Nanoseconds since the world began.
    pub(crate) fn age(&self) -> Nanos {
        self.world.age().as_nanos().max(0) as u64
    }

    fn age_ms(&self) -> Ms {
        self.age() / MS
    }

    fn run_to(&mut self, at: Nanos) {
        let ahead = at.saturating_sub(self.age());
        if ahead > 0 {
            self.world.run_for(Duration::from_nanos(ahead as i64));
        }
    }

    fn go_on_until(&mut self, end: Ms) {
        while let Some((at, action)) = self.agenda.next(end * MS) {
            self.run_to(at);
            self.read_meter();
            self.act(action);
        }
        self.run_to(end * MS);
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Appear(plan) => self.appear(plan),
            Action::Vanish(plan) => self.vanish(plan),
            Action::Tick(plan, life) if self.lives[plan] == life => self.tick(plan),
            Action::Take(plan, life) if self.lives[plan] == life => self.look(plan),
            Action::Assert(plan, life) if self.lives[plan] == life => self.assert_alive(plan),
            Action::Tick(..) | Action::Take(..) | Action::Assert(..) => {}
            Action::Begin(fault) => self.begin(fault),
            Action::Middle(fault) => self.middle(fault),
            Action::End(fault) => self.end(fault),
            Action::Attack(fault) => self.attack(fault),
            Action::BeginSet(group) => self.begin_set(group),
            Action::EndSet(group) => self.end_set(group),
        }
    }

    /// How long readers may need to take what their writers have, that have room for less: so much at each look.
    fn time_to_take(&self) -> Ms {
        let endpoints = &self.scenario.endpoints;
        let needed = |reader: &ReaderLog| {
            let plan = &endpoints[reader.plan];
            let (Role::Reader { period }, Some(room)) = (plan.role, plan.qos.max_samples) else { return 0 };
            let theirs = |writer: &&WriterLog| {
                let offer = &endpoints[writer.plan];
                writer.ended.is_none() && offer.topic == plan.topic && offer.qos.matches(&plan.qos)
            };
            let samples: usize =
                self.log.writers.iter().filter(theirs).map(|writer| writer.changes.len()).sum();
            (samples as u64).div_ceil(u64::from(room)) * period
        };
        self.log.readers.iter().filter(|reader| reader.ended.is_none()).map(needed).max().unwrap_or(0)
    }

    /// Goes on until all is as it should be. False, and a violation, if that takes too long.
    fn until_converged(&mut self, within: Ms) -> bool {
        let limit = self.age_ms() + within;
        loop {
            self.go_on_until(self.age_ms() + 100);
            self.poll_all();
            let missing = check::convergence(self);
            if missing.is_empty() {
                self.take_the_rest();
                return true;
            }
            if self.age_ms() >= limit {
                for Violation { kind, text } in missing {
                    let text = format!("{within} ms after the last fault: {text}");
                    self.log.note(Violation { kind, text });
                }
                return false;
            }
        }
    }

    /// What has arrived is yet to be taken, by readers that hold little perhaps a little at a time.
    fn take_the_rest(&mut self) {
        loop {
            let before = self.taken;
            self.go_on_until(self.age_ms() + 600);
            self.poll_all();
            if self.taken == before {
                return;
            }
        }
    }

    /// Notes what was sent once a second.
    fn read_meter(&mut self) {
        let now = self.age();
        if self.meter.last().is_none_or(|(at, _)| now - at >= 1_000 * MS) {
            self.meter.push((now, self.sent()));
        }
    }

    /// Datagrams each node has sent so far.
    fn sent(&self) -> Vec<u64> {
        let sent = |machine: &Option<Machine>| {
            machine.as_ref().map_or(0, |machine| self.world.sent_by(machine.id).datagrams)
        };
        self.machines.iter().map(sent).collect()
    }

    fn outcome(&self) -> Outcome {
        let mut effects = self.effects.clone();
        self.add_effects_of_the_network(&mut effects);
        Outcome {
            delivered: self.delivered.clone(),
            sets: check::count_sets(self),
            through_memory: self.world.through_memory().0,
            effects,
            datagrams: self.world.network_stats().sent.datagrams,
            written: self.log.writers.iter().map(|writer| writer.changes.len() as u64).sum(),
            taken: self.taken,
            released: self.log.writers.iter().map(|writer| writer.slot.stats().released_unacknowledged).sum(),
            fingerprint: self.world.fingerprint(),
        }
    }
}

/// The router of a node in one of its moods.
fn router(node: usize, mood: u16) -> Nat {
    let last = u8::try_from(node % 200).unwrap_or(0) + 1;
    Nat { address: std::net::Ipv4Addr::new(198, 51, 100, last), port_shift: 1_000 + 100 * mood }
}
