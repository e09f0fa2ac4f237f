//! Datagrams that do not come from where they seem to.

use std::net::Ipv4Addr;

use dunlin_core::{Locator, LocatorKind};

use super::forge;
use super::node::{address, prefix};
use super::templates;
use super::world::{World, place};
use crate::input::Input;

/// Unverified participants have names from here on.
const FIRST_UNVERIFIED: u8 = 3;
/// Who receives what attackers send, or is said to.
const ADDRESSES: [Ipv4Addr; 6] = [
    Ipv4Addr::new(10, 0, 0, 3),
    Ipv4Addr::new(10, 0, 0, 4),
    Ipv4Addr::new(10, 9, 9, 9),
    Ipv4Addr::new(239, 255, 0, 1),
    Ipv4Addr::UNSPECIFIED,
    Ipv4Addr::LOCALHOST,
];

fn from(input: &mut Input<'_>) -> Locator {
    let choice = input.u8();
    match choice % 8 {
        0..=4 => place(ADDRESSES[usize::from(choice) % ADDRESSES.len()]),
        5 => place(address(1)),
        6 => Locator { kind: LocatorKind::UDP_V6, port: 7410, address: [choice; 16] },
        _ => Locator { kind: LocatorKind(i32::from(choice)), port: 1, address: [0; 16] },
    }
}

/// A message made of valid submessages with any numbers.
pub(super) fn forged_message(world: &mut World, input: &mut Input<'_>) {
    let to = usize::from(input.u8() >= 0xe0);
    let from = from(input);
    let bytes = forge::message(world, to, input);
    world.attack(to, from, &bytes);
}

/// What a third participant would say, perhaps in another name.
pub(super) fn template(world: &mut World, input: &mut Input<'_>) {
    let (which, unverified) = (usize::from(input.u8()), FIRST_UNVERIFIED + input.u8() % 8);
    let (to, from, address) = (usize::from(input.u8() >= 0xe0), from(input), input.pick(&ADDRESSES));
    let bytes = templates::get(|all| all[which % all.len()].in_the_name_of(unverified, address));
    world.attack(to, from, &bytes);
}

/// The same in many names.
pub(super) fn many_unverified_participants(world: &mut World, input: &mut Input<'_>) {
    let (which, first, count) = (usize::from(input.u8()), input.u8(), input.u8() % 16);
    let (from, address) = (from(input), input.pick(&ADDRESSES));
    for n in 0..count {
        let unverified = FIRST_UNVERIFIED + first.wrapping_add(n) % (u8::MAX - FIRST_UNVERIFIED);
        let bytes = templates::get(|all| all[which % all.len()].in_the_name_of(unverified, address));
        world.attack(0, from, &bytes);
    }
}

/// A datagram of the peer that was changed on its way, or of the third participant.
pub(super) fn edited(world: &mut World, input: &mut Input<'_>) {
    let (choice, edits) = (input.u8(), input.u8() % 4);
    let (to, from, mut bytes) = match world.queue.front().filter(|_| choice & 1 == 0) {
        Some(packet) => (packet.to, packet.from, packet.bytes.to_vec()),
        None => {
            let third = templates::get(|all| all[usize::from(choice / 2) % all.len()].bytes.clone());
            (0, place(ADDRESSES[0]), third)
        }
    };
    for _ in 0..=edits {
        let at = usize::from(input.u16()) % bytes.len();
        let what = input.u8();
        let patch: &[u8] = match what % 8 {
            0 => &[0xff; 8],
            1 => &[0; 8],
            2 => &[0xff, 0xff, 0xff, 0x7f],
            3 => &[0x7f, 0xff, 0xff, 0xff],
            4 => &[0, 0, 0, 0x80],
            len => input.bytes(usize::from(len) - 4),
        };
        bytes.iter_mut().skip(at).zip(patch).for_each(|(octet, new)| *octet = *new);
        if what >= 0xf0 {
            bytes.truncate(at.max(1));
        }
    }
    world.attack(to, from, &bytes);
}

/// A datagram that passed before, again.
pub(super) fn replayed(world: &mut World, input: &mut Input<'_>) {
    let choice = usize::from(input.u8());
    if world.recent.is_empty() {
        return;
    }
    let packet = world.recent[choice % world.recent.len()].clone();
    if packet.from != Locator::LOCAL {
        world.attack(packet.to, packet.from, &packet.bytes);
    }
}

/// Any octets.
pub(super) fn raw(world: &mut World, input: &mut Input<'_>) {
    let (choice, len) = (input.u8(), usize::from(input.u8()) * 4);
    let from = from(input);
    let mut bytes = match choice % 4 {
        0 => Vec::new(),
        1 => forge::header(prefix(1)),
        _ => forge::header(dunlin_core::GuidPrefix([FIRST_UNVERIFIED; 12])),
    };
    bytes.extend_from_slice(input.bytes(len));
    world.attack(0, from, &bytes);
}

/// The templates one after the other, and some operations between them.
pub(super) fn seeds() -> Vec<(String, Vec<u8>)> {
    let count = templates::get(|all| all.len()) as u8;
    let acquaintance: Vec<u8> = (0..count).flat_map(|n| [23, n, 0, 0, 0, 0, 6, 1]).collect();
    let traffic: Vec<u8> =
        (0..16_u8).flat_map(|n| [0, n, 11, 0x80, n | 0x40, 9, 12, 7, 2, 0x84, 11, 4]).collect();
    let flood: Vec<u8> = (0..40_u8).flat_map(|n| [27, 0, n * 5, 15, n, n / 4, 6, n]).collect();
    let edits: Vec<u8> = (0..60_u8)
        .flat_map(|n| [0x80, n, 28, 0, 0, n * 3, 0, n, n, 5, 11, 0x80, 1, 28, n, 2, n, 0, n])
        .collect();
    let forged: Vec<u8> =
        (0..80_u8).flat_map(|n| [0x80, n, 18, 0, 5, 0, n % 16, n, 0, n, 0, n, n, 255, 11, 6, 2]).collect();
    let seed =
        |name: &str, tuning: u8, operations: &[u8]| (name.to_owned(), [&[tuning, 0, 0], operations].concat());
    let chosen = |name: &str, own: u8, others: u8, operations: &[u8]| {
        (name.to_owned(), [&[1, own, others], operations].concat())
    };
    // Writes and ends of instances in both directions, a rival, time that passes, and all kinds of `take`.
    let life: Vec<u8> = (0..16_u8)
        .flat_map(|n| {
            [15, 0xc0, 0, n | 8, 0x80, n, 3, n * 5, 11, 5, n * 16, 0x85, n, 6, 2 + n % 5, 17, 5, 0x91, n]
        })
        .collect();
    let times: Vec<u8> =
        (0..20_u8).flat_map(|n| [0, n & 3, 0x80, n & 0xc3, 11, 4, 0x84, 6, n % 7, 11]).collect();
    vec![
        seed("acquaintance", 0, &acquaintance),
        seed("traffic", 1, &traffic),
        seed("traffic-paced", 6, &traffic),
        seed("flood", 0, &flood),
        seed("edits", 1, &edits),
        seed("forged", 5, &forged),
        chosen("life-owned", 16, 17, &life),
        chosen("life-weaker", 1, 0x81, &life),
        chosen("life-manual", 0x23, 0x60, &life),
        chosen("times-deadline", 4, 0x46, &times),
        chosen("times-lifespan", 8, 11, &times),
        chosen("times-manual", 0x24, 0x20, &times),
    ]
}
