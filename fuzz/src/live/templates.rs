//! What a third participant says to the first two while they get to know it: what an attacker can say that knows
//! everything there is to know.

use std::net::Ipv4Addr;

use dunlin_buf::SharedBytes;

use super::world::World;

/// The third participant.
const THIRD: usize = 2;

thread_local! {
    static TEMPLATES: Vec<SharedBytes> = record();
}

/// Calls `with` with the datagrams.
pub(super) fn get<R>(with: impl FnOnce(&[SharedBytes]) -> R) -> R {
    TEMPLATES.with(|templates| with(templates))
}

fn record() -> Vec<SharedBytes> {
    let mut world = World::recorded(THIRD + 1, 0, [0, 0], Some(THIRD));
    world.create_endpoint(THIRD, 0x84);
    for choice in [0x01, 0x42, 0xc3] {
        world.nodes[THIRD].write(world.now, choice);
        world.send(THIRD);
        for _ in 0..10 {
            world.deliver(usize::MAX);
            world.pass_to_next();
        }
    }
    world.nodes[THIRD].end_instance(world.now, 1);
    world.send(THIRD);
    world.with(THIRD, |participant, now, out| participant.shutdown(now, out));
    let (_, mut record) = world.record.take().expect("a record");
    record.dedup();
    record
}

/// A copy in the name of another stranger, which names another address as its own.
pub(super) fn in_the_name_of(template: &[u8], stranger: u8, address: Ipv4Addr) -> Vec<u8> {
    let mut bytes = template.to_vec();
    replace(&mut bytes, &[THIRD as u8 + 1; 12], &[stranger; 12]);
    replace(&mut bytes, &super::node::address(THIRD).octets(), &address.octets());
    bytes
}

fn replace(bytes: &mut [u8], from: &[u8], to: &[u8]) {
    for at in 0..bytes.len().saturating_sub(from.len() - 1) {
        if bytes[at..].starts_with(from) {
            bytes[at..at + from.len()].copy_from_slice(to);
        }
    }
}
