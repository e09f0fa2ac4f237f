//! Nobody is used against somebody who did not ask: octets that a stranger gets, beside those that he sent or that were sent in the name
//! of who named his place. And nobody sends a malformed message, or makes one of what he relays.

use crate::failure::Violation;
use crate::run::Run;
use crate::scenario::Class;

/// So many times at most.
const MOST: u64 = 3;

pub(super) fn amplification(run: &Run<'_>, found: &mut Vec<Violation>) {
    let Some(stranger) = &run.stranger else { return };
    // Flipped bits can name any place.
    if is_corrupted(run) {
        return;
    }
    let sides = [
        ("stranger", stranger.places(), stranger.sent),
        ("victim", stranger.places_of_victim(), stranger.named),
    ];
    for (who, places, cause) in sides {
        if who == "victim" && stranger.proven_beside {
            continue;
        }
        let received: u64 = places.iter().map(|place| run.world.traffic_to(*place).octets).sum();
        if received > MOST * cause {
            let text = format!("a {who} got {received} octets because of {cause}");
            found.push(Violation::new("amplification", text));
        }
    }
}

fn is_corrupted(run: &Run<'_>) -> bool {
    run.scenario.faults.iter().any(|plan| plan.on && plan.class == Class::Corrupt)
}

/// No participant refuses a message as malformed, unless the network has corrupted some.
pub(super) fn well_formed(run: &Run<'_>, found: &mut Vec<Violation>) {
    if is_corrupted(run) {
        return;
    }
    for (node, machine) in run.machines.iter().enumerate() {
        let Some(machine) = machine.as_ref().filter(|machine| machine.up) else { continue };
        let refused = run.world.participant(machine.id).stats().malformed;
        if refused > 0 {
            let text = format!("node {node} refused {refused} messages as malformed");
            found.push(Violation::new("malformed", text));
        }
    }
}
