//! What an attack may do at most, and the verdict.

use std::time::Duration;

use serde::Serialize;

use crate::field::Seen;
use crate::pair::RATE;
use crate::places::Side;

/// What becomes of the pair's samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Loss {
    /// Each arrives.
    None,
    /// What does not arrive is counted, and the application is told; so is what somebody else has put in its place.
    Told,
}

/// Bounds of one attack. Octets, processor time and memory count beyond what the pair needs in peace.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Bound {
    /// Octets to those who did not ask, for each octet of the attacker.
    pub amplification: u64,
    /// Of the pair's samples.
    pub loss: Loss,
    /// What the two may send each other beyond that, in octets for each second.
    pub repairs: u64,
    /// Longest time without a sample.
    pub pause: Duration,
    /// How much later than the fastest any sample may come.
    pub delay: Duration,
    /// Processor time of both sides together, for each second of the attack.
    pub processor: Duration,
    /// Memory of each side.
    pub memory: u64,
}

impl Bound {
    /// What holds where nothing else is said.
    pub const USUAL: Self = Self {
        amplification: 3,
        loss: Loss::None,
        repairs: 0,
        pause: Duration::from_secs(1),
        delay: Duration::from_millis(1_500),
        processor: Duration::from_millis(500),
        memory: 32 << 20,
    };

    /// Who speaks from the reader's own address asks for what a reader may ask for: each change again eight times, and 1 MiB in a second
    /// beyond that.
    pub const READER: Self = Self { repairs: 8 * STREAM + (1 << 20), ..Self::FLOOD };

    /// An attack that sends as fast as it can takes processors, whatever comes of it.
    pub const FLOOD: Self = Self { processor: Duration::from_millis(1_500), ..Self::USUAL };
}

/// Octets that the pair's samples take in a second, each in a datagram of its own.
const STREAM: u64 = 200 * RATE;
/// Octets of the pair that vary from run to run.
const NOISE: u64 = 512 << 10;

/// Everything that went beyond its bound, in words; nothing if the bounds hold. `reaches` are counters that show that the attack
/// arrived where it should, and how much they have to be.
pub fn judge(
    bound: &Bound,
    reaches: &[(Side, &str, u64)],
    peace: &Seen,
    seen: &Seen,
    seconds: u64,
) -> Vec<String> {
    let mut broken = vec![];
    let mut check = |holds: bool, text: String| {
        if !holds {
            broken.push(text);
        }
    };
    let most = bound.amplification * seen.octets_in;
    check(
        seen.octets_out <= most,
        format!("{} octets to a bystander for {}", seen.octets_out, seen.octets_in),
    );
    if let (Some(before), Some(now)) = (peace.network, seen.network) {
        let more = now.saturating_sub(before);
        let most = most + NOISE + bound.repairs * seconds;
        check(more <= most, format!("{more} octets more on the network for {}", seen.octets_in));
    }
    let told = seen.told();
    match bound.loss {
        Loss::None => check(seen.lost == 0, format!("{} samples lost, {told} told", seen.lost)),
        Loss::Told => check(told >= seen.lost, format!("{} samples lost, but {told} told", seen.lost)),
    }
    check(seen.files == 0, format!("{} files of shared memory still held", seen.files));
    let children = seen.reader.failed_children + seen.writer.failed_children;
    check(children == 0, format!("{children} children did not end well"));
    check(seen.reader.again == 0, format!("{} samples again", seen.reader.again));
    let forged = if bound.loss == Loss::Told { told } else { 0 };
    check(seen.reader.forged <= forged, format!("{} forged samples taken for real", seen.reader.forged));
    check(seen.writer.failed == 0 || seen.lost > 0, format!("{} writes failed", seen.writer.failed));
    let pause = Duration::from_millis(seen.reader.pause_ms);
    check(pause <= bound.pause, format!("a pause of {} ms", seen.reader.pause_ms));
    let delay = Duration::from_micros(seen.reader.delay_us[2]);
    check(delay <= bound.delay, format!("a sample {} ms later than others", delay.as_millis()));
    let processor = processor(seen).saturating_sub(processor(peace));
    let most = bound.processor * seconds as u32;
    check(processor <= most, format!("{} ms of processor time", processor.as_millis()));
    for (side, name, least) in reaches {
        let report = if *side == Side::Reader { &seen.reader } else { &seen.writer };
        let counted = report.counters.get(name).unwrap_or(0);
        check(counted >= *least, format!("it did not get there: {name} of the {side:?} is {counted}"));
    }
    let memory = memory(peace, seen);
    check(memory <= bound.memory, format!("{:.1} MiB of memory", memory as f64 / f64::from(1 << 20)));
    broken
}

/// Processor time of both.
pub fn processor(seen: &Seen) -> Duration {
    Duration::from_millis(seen.reader.processor_ms + seen.writer.processor_ms)
}

/// What one side needed more than in peace, at most.
pub fn memory(peace: &Seen, seen: &Seen) -> u64 {
    let reader = seen.reader.memory.saturating_sub(peace.reader.memory);
    reader.max(seen.writer.memory.saturating_sub(peace.writer.memory))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen() -> Seen {
        let mut seen = Seen { octets_in: 100, network: Some(1_000_000), ..Seen::default() };
        seen.reader.counters.foreign = 1;
        seen
    }

    fn broken(change: impl FnOnce(&mut Seen)) -> Vec<String> {
        let mut after = seen();
        change(&mut after);
        judge(&Bound::USUAL, &[(Side::Reader, "foreign", 1)], &seen(), &after, 1)
    }

    #[test]
    fn attack_bounds_are_all_checked() {
        assert!(broken(|_| ()).is_empty());
        assert!(broken(|seen| seen.octets_out = 300).is_empty());
        let changes: [fn(&mut Seen); 12] = [
            |seen| seen.reader.counters.foreign = 0,
            |seen| seen.octets_out = 301,
            |seen| seen.network = Some(3_000_000),
            |seen| seen.lost = 1,
            |seen| seen.reader.again = 1,
            |seen| seen.files = 1,
            |seen| seen.writer.failed_children = 1,
            |seen| seen.reader.forged = 1,
            |seen| seen.reader.pause_ms = 1_001,
            |seen| seen.reader.delay_us[2] = 1_501_000,
            |seen| seen.writer.processor_ms = 510,
            |seen| seen.writer.memory = 33 << 20,
        ];
        changes.into_iter().for_each(|change| assert_eq!(broken(change).len(), 1));
    }

    #[test]
    fn losses_counted_by_the_reader_are_not_silent() {
        let bound = Bound { loss: Loss::Told, ..Bound::USUAL };
        let mut after = seen();
        (after.lost, after.reader.told) = (5, 4);
        assert_eq!(judge(&bound, &[], &seen(), &after, 1).len(), 1);
        (after.reader.told, after.reader.forged) = (5, 5);
        assert!(judge(&bound, &[], &seen(), &after, 1).is_empty());
        after.reader.forged = 6;
        assert_eq!(judge(&bound, &[], &seen(), &after, 1).len(), 1);
    }
}
