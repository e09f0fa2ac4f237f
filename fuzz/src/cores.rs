//! RTPS 2.5 §8.4: one writer and one reader, wired to each other, while somebody speaks in their names.
//!
//! The input is a sequence of writes, losses, steps of time and forged submessages. Nothing may panic, grow or answer
//! out of proportion; as long as nothing was forged, what is in the writer's history reaches the reader once, in order and
//! unchanged.

mod forge;
mod pair;

use dunlin_core::Duration;
use pair::Pair;

use crate::input::Input;

/// Memory that both endpoints may take, beside what is written.
const MEMORY: u64 = 1 << 20;
/// Operations of one input.
const MAX_OPERATIONS: usize = 200;
/// Times in nanoseconds that pass at once.
const STEPS: [i64; 8] =
    [1_000, 100_000, 1_000_000, 5_000_000, 50_000_000, 500_000_000, 3_100_000_000, 60_000_000_000];

/// Runs the operations of an input. The first octet chooses the QoS.
pub fn endpoint_cores(data: &[u8]) {
    let mut written = 0;
    let used = allocation_counter::measure(|| written = run(data));
    let allowed = MEMORY + 4 * written + 4 * data.len() as u64;
    assert!(used.bytes_max <= allowed, "{} octets of memory", used.bytes_max);
}

/// Octets that were written.
fn run(data: &[u8]) -> u64 {
    let mut input = Input::new(data);
    let mut pair = Pair::new(input.u8());
    for _ in 0..MAX_OPERATIONS {
        if input.is_empty() {
            break;
        }
        operate(&mut pair, &mut input);
        pair.check();
    }
    if !pair.forged {
        pair.calm();
    }
    pair.written
}

fn operate(pair: &mut Pair, input: &mut Input<'_>) {
    let operation = input.u8();
    match operation % 16 {
        0 | 1 => pair.write(input.pick(&[4, 40, 900, 3_000, 12_000])),
        2 => pair.remove(input),
        3 | 4 => pair.pass(Duration::from_nanos(input.pick(&STEPS))),
        5 => pair.deliver(1),
        6 => pair.deliver(usize::from(operation / 16) + 2),
        7 => pair.lose(),
        8 => pair.duplicate(),
        9 => pair.reorder(),
        10 => pair.set_room(input.u8()),
        11 if operation / 16 == 0 => pair.match_again(),
        11 => pair.ask((operation / 16).is_multiple_of(2)),
        12 | 13 => pair.forge_for_reader(input),
        _ => pair.forge_for_writer(input),
    }
}

/// Inputs from which fuzzing starts: writes with losses, and every kind of forged submessage.
pub(crate) fn seeds() -> Vec<(String, Vec<u8>)> {
    let lossy: Vec<u8> = (0..24_u8).flat_map(|n| [0, n, 5 + n % 5, 3, n % 5, 6, 7, 8, 9, 2, n]).collect();
    let full: Vec<u8> = (0..24_u8).flat_map(|n| [0, n, 10, n % 9, 6, 6, 3, 3]).collect();
    let reader: Vec<u8> =
        (0..60_u8).flat_map(|n| [0, n, 12, 0, n, n, n / 5, n, 0, n, 7, n, 5, 3, 2]).collect();
    let writer: Vec<u8> =
        (0..60_u8).flat_map(|n| [0, 4, 6, 14, 0, n, n, n, 0, n, n % 30 * 8, 3, n]).collect();
    // Once: the writer took the pause of a minute for the distance of the reader and did not repair for as long.
    let paused = [0x32, 0, 6, 0x13, 7, 6, 1, 0, 7, 6, 7, 6, 7];
    let mut seeds = vec![("paused".to_owned(), paused.to_vec())];
    for (name, operations) in [("lossy", lossy), ("full", full), ("reader", reader), ("writer", writer)] {
        for qos in [0, 2, 6, 30, 50, 130] {
            seeds.push((format!("{name}-{qos}"), [&[qos], operations.as_slice()].concat()));
        }
    }
    seeds
}
