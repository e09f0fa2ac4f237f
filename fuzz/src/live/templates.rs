//! What a third participant says to the first two while they get to know it: what an attacker can say that knows
//! everything there is to know.

use std::net::Ipv4Addr;

use dunlin_buf::SharedBytes;

use super::world::World;

/// The third participant.
const THIRD: usize = 2;
const NAME: [u8; 12] = [THIRD as u8 + 1; 12];

thread_local! {
    static TEMPLATES: Vec<Template> = record().iter().map(|bytes| Template::new(bytes)).collect();
}

/// A datagram, and where it says who sent it.
pub(super) struct Template {
    pub(super) bytes: Vec<u8>,
    names: Vec<usize>,
    addresses: Vec<usize>,
}

/// Calls `with` with the datagrams.
pub(super) fn get<R>(with: impl FnOnce(&[Template]) -> R) -> R {
    TEMPLATES.with(|templates| with(templates))
}

fn record() -> Vec<SharedBytes> {
    let mut world = World::recorded(THIRD + 1, 0, [0, 0], Some(THIRD));
    world.create_endpoint(THIRD, 0x84);
    for choice in [0x01, 0x42, 0xc3] {
        world.write(THIRD, choice);
        for _ in 0..10 {
            world.deliver(usize::MAX);
            world.pass_to_next();
        }
    }
    world.end_instance(THIRD, 1);
    world.with(THIRD, |participant, now, out| participant.shutdown(now, out));
    let (_, mut record) = world.record.take().expect("a record");
    record.dedup();
    record
}

impl Template {
    fn new(bytes: &[u8]) -> Self {
        let names = places(bytes, &NAME);
        let addresses = places(bytes, &super::node::address(THIRD).octets());
        Self { bytes: bytes.to_vec(), names, addresses }
    }

    /// A copy in the name of another unverified participant, which names another address as its own.
    pub(super) fn in_the_name_of(&self, unverified: u8, address: Ipv4Addr) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        for at in &self.names {
            bytes[*at..*at + NAME.len()].fill(unverified);
        }
        for at in &self.addresses {
            bytes[*at..*at + 4].copy_from_slice(&address.octets());
        }
        bytes
    }
}

/// Where `what` begins.
fn places(bytes: &[u8], what: &[u8]) -> Vec<usize> {
    let (mut places, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let found = bytes[at..].starts_with(what);
        places.extend(found.then_some(at));
        at += if found { what.len() } else { 1 };
    }
    places
}
