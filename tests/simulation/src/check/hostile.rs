//! Nobody is used against somebody who did not ask: octets that a stranger gets, beside those that he sent or that were sent in the name
//! of who named his place.

use crate::failure::Violation;
use crate::run::Run;

/// So many times at most.
const MOST: u64 = 3;

pub(super) fn amplification(run: &Run<'_>, found: &mut Vec<Violation>) {
    let Some(stranger) = &run.stranger else { return };
    let sides = [
        ("stranger", stranger.places(), stranger.sent),
        ("victim", stranger.places_of_victim(), stranger.named),
    ];
    for (who, places, cause) in sides {
        let received: u64 = places.iter().map(|place| run.world.traffic_to(*place).octets).sum();
        if received > MOST * cause {
            let text = format!("a {who} got {received} octets because of {cause}");
            found.push(Violation::new("amplification", text));
        }
    }
}
