//! Somebody hostile: strangers who speak in the name of nodes, and nodes that name the place of somebody else. Only in scenarios of
//! numbers from [`HOSTILE`] on, so that all others stay what they are. From [`NEAR`] on somebody also speaks from the places of nodes.

use super::Dice;
use crate::scenario::{Class, EndpointPlan, Fault, FaultPlan, Ms, Scenario};

/// Scenarios from this number on have hostile participants.
pub const HOSTILE: u64 = 4_000_000_000_000_000_000;

/// From this one on somebody also sends from the address and port of nodes.
pub const NEAR: u64 = 5_000_000_000_000_000_000;

/// Adds one to four attacks, each at any time.
pub(super) fn attacks(dice: &mut Dice, scenario: &mut Scenario) {
    let count = scenario.nodes.len();
    for _ in 0..dice.within(1, 4) {
        let named = dice.index(count);
        let at = (named + 1 + dice.index(count - 1)) % count;
        let from = dice.within(0, scenario.lasts.saturating_sub(300));
        let until = (from + dice.small(50, 8_000)).min(scenario.lasts);
        let period = dice.small(5, 300);
        let (class, fault) = if dice.percent(65) {
            (Class::Forger, Fault::Forger(named, at, period))
        } else {
            (Class::Liar, Fault::Liar(named, period))
        };
        scenario.faults.push(FaultPlan { on: true, class, from, until, fault });
    }
    scenario.verifies_places = true;
}

/// Adds one to three attacks from the places of nodes. In half of the scenarios little else goes wrong, so that what they do can be
/// told from what other faults do.
pub(super) fn attacks_from_near(dice: &mut Dice, scenario: &mut Scenario) {
    if dice.percent(50) {
        scenario.faults.retain(|_| dice.percent(15));
    }
    for _ in 0..dice.within(1, 3) {
        let from = dice.within(0, scenario.lasts.saturating_sub(300));
        let until = (from + dice.small(50, 8_000)).min(scenario.lasts);
        let period = dice.small(20, 300);
        let samples = if dice.percent(50) { forged_samples(dice, scenario, period) } else { None };
        let (class, fault) = match samples {
            Some(fault) => (Class::Samples, fault),
            None => {
                let count = scenario.nodes.len();
                let named = dice.index(count);
                let at = (named + 1 + dice.index(count - 1)) % count;
                (Class::Goodbyes, Fault::Goodbyes(named, at, period))
            }
        };
        scenario.faults.push(FaultPlan { on: true, class, from, until, fault });
    }
}

/// Samples in the name of a writer to a node that reads its topic, where nobody owns instances and writes sets: who forges a sample
/// ends those.
fn forged_samples(dice: &mut Dice, scenario: &Scenario, period: Ms) -> Option<Fault> {
    let plans = &scenario.endpoints;
    let odd = |plan: &EndpointPlan| plan.qos.coherent || plan.qos.exclusive;
    let plain = |topic: usize| !plans.iter().any(|plan| plan.topic == topic && odd(plan));
    let pairs: Vec<(usize, usize)> = (0..plans.len())
        .filter(|writer| plans[*writer].is_writer() && plain(plans[*writer].topic))
        .flat_map(|writer| (0..plans.len()).map(move |reader| (writer, reader)))
        .filter(|(writer, reader)| {
            let (one, other) = (&plans[*writer], &plans[*reader]);
            !other.is_writer()
                && one.topic == other.topic
                && one.node != other.node
                && one.qos.matches(&other.qos)
        })
        .collect();
    let (writer, reader) = (!pairs.is_empty()).then(|| dice.one_of(&pairs))?;
    Some(Fault::Samples(writer, plans[reader].node, period))
}
