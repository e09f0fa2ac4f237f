//! Somebody hostile: strangers who speak in the name of nodes, and nodes that name the place of somebody else. Only in scenarios of
//! numbers from [`HOSTILE`] on, so that all others stay what they are.

use super::Dice;
use crate::scenario::{Class, Fault, FaultPlan, Scenario};

/// Scenarios from this number on have hostile participants.
pub const HOSTILE: u64 = 4_000_000_000_000_000_000;

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
