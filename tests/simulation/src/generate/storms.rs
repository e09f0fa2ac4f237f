//! Scenarios of the second generation in which far more goes wrong than else, at short intervals.

use super::{Dice, faults};
use crate::scenario::{Class, Ms, Scenario};

/// One scenario in sixteen has dozens of faults more, most of them short; in half of those they are of few kinds, so that
/// the same happens again before the last time is over and done with.
pub(super) fn add(dice: &mut Dice, scenario: &mut Scenario) {
    if dice.index(16) != 0 {
        return;
    }
    let few: Option<[Class; 4]> = dice.percent(50).then(|| [(); 4].map(|()| faults::class(dice)));
    let every = dice.within(100, 600);
    let lasts = scenario.lasts;
    for _ in 0..(lasts / every).clamp(20, 120) {
        let class = match few {
            Some(few) => dice.one_of(&few),
            None => faults::class(dice),
        };
        let from: Ms = dice.within(0, lasts.saturating_sub(300));
        let until = (from + dice.small(30, 4_000)).min(lasts);
        let node = dice.index(scenario.nodes.len());
        let stage = faults::Stage { nodes: &scenario.nodes, endpoints: &scenario.endpoints, lasts };
        if let Some(plan) = faults::fault(dice, class, node, (from, until), stage) {
            faults::add(&mut scenario.faults, plan.class, plan.from, plan.until, plan.fault);
        }
    }
}
