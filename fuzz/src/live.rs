//! A live participant between an honest peer and everybody else.
//!
//! Two participants are matched in both directions; the input is a sequence of what applications do with them, of what
//! the network does to their datagrams, of steps of time, and of datagrams by unverified peers and forgers. Nothing may panic,
//! spin or grow; an address that did not show that it receives gets at most three times what came. What the two write,
//! take and are told is judged by the checkers of the simulator. SampleInfo, LIVELINESS_CHANGED, the deadlines and
//! liveliness of writers are always judged. Contents are judged as long as nobody forged a DATA or DATA_FRAG in the name of
//! one of the two (announcements are DATA too). As long as nothing at all was forged in their name, each gets what the other
//! wrote, as its QoS says, and then both are quiet.

mod attack;
mod forge;
mod judge;
mod node;
mod templates;
mod world;

use dunlin_core::Duration;
use world::World;

use crate::input::Input;

/// Memory that one run may take.
const MEMORY: u64 = 6 << 20;
/// Operations of one input.
const MAX_OPERATIONS: usize = 100;
/// Times in nanoseconds that pass at once.
const STEPS: [i64; 8] =
    [10_000, 1_000_000, 5_000_000, 20_000_000, 100_000_000, 500_000_000, 3_100_000_000, 20_000_000_000];

/// Runs the operations of an input. The first octet chooses how participants send, the next two the QoS of the topics.
pub fn live_participant(data: &[u8]) {
    templates::get(|_| ());
    let used = allocation_counter::measure(|| run(data));
    let allowed = MEMORY + 16 * data.len() as u64;
    assert!(used.bytes_max <= allowed, "{} octets of memory", used.bytes_max);
}

fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let (tuning, qos) = (input.u8(), [input.u8(), input.u8()]);
    let mut world = World::matched(2, tuning, qos);
    for _ in 0..MAX_OPERATIONS {
        if input.is_empty() {
            break;
        }
        operate(&mut world, &mut input);
    }
    world.check();
    world.calm();
}

fn operate(world: &mut World, input: &mut Input<'_>) {
    let operation = input.u8();
    let node = usize::from(operation >> 7);
    match operation & 0x1f {
        0..=2 => world.write(node, input.u8()),
        3 => world.end_instance(node, input.u8()),
        4 => world.take(node, None),
        5 => world.take(node, Some(input.u8())),
        6..=8 => world.pass(Duration::from_nanos(input.pick(&STEPS))),
        9 | 10 => world.deliver(usize::from(operation >> 5 & 3) * 4 + 1),
        11 => world.deliver(usize::MAX),
        12 => world.lose(),
        13 => world.duplicate(),
        14 => world.reorder(),
        15 => world.create_endpoint(node, input.u8()),
        16 => world.delete_endpoint(node, input.u8()),
        17 => world.other_call(node, input.u8()),
        18..=22 => attack::forged_message(world, input),
        23..=26 => attack::template(world, input),
        27 => attack::many_unverified_participants(world, input),
        28 | 29 => attack::edited(world, input),
        30 => attack::replayed(world, input),
        _ => attack::raw(world, input),
    }
}

/// Inputs from which fuzzing starts.
pub(crate) fn seeds() -> Vec<(String, Vec<u8>)> {
    attack::seeds()
}
