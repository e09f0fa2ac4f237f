//! Changes by lot.

use dunlin::qos::DurabilityService;
use dunlin::{
    Duration, Guid, InstanceHandle, SampleIdentity, SequenceNumber, SharedBytes, VendorId, WallTime,
};
use dunlin_durability::change::{Change, GroupId, Head, Kind};
use dunlin_durability::contract::Contract;
use dunlin_durability::keeper::Keeper;
use dunlin_durability::store::Store;

/// Numbers by lot that repeat with the seed.
pub struct Lot(u64);

impl Lot {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Below a bound.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

pub fn contract(depth: i32, by_source: bool) -> Contract {
    let service = DurabilityService {
        history_depth: depth,
        service_cleanup_delay: Duration::INFINITE,
        ..DurabilityService::default()
    };
    Contract { service, by_source, lifespan: Duration::INFINITE }
}

pub fn writer(n: u8) -> Guid {
    Guid::from_bytes([n; 16])
}

pub fn instance(n: u8) -> InstanceHandle {
    InstanceHandle([n; 16])
}

/// A change of an instance: by a writer, with a number there, at a time.
pub fn change(kind: Kind, of: u8, (by, number): (u8, i64), at: i64) -> Change {
    let octets = [&[0, 1, 0, 0, of, by], &number.to_le_bytes()[..]].concat();
    let head = Head {
        group: 1,
        instance: instance(of),
        origin: SampleIdentity { writer: writer(by), sequence_number: SequenceNumber(number) },
        source_timestamp: WallTime(at),
        expires: None,
        vendor: VendorId([1, 1]),
        kind,
        octets: octets.len() as u32,
    };
    Change { head, payload: SharedBytes::copy_from(&octets) }
}

/// So many changes of three writers to five instances, each writer's in the order of its numbers.
pub fn changes(lot: &mut Lot, count: u64) -> Vec<Change> {
    let mut numbers = [0i64; 3];
    (0..count)
        .map(|n| {
            let by = lot.below(3) as u8;
            numbers[by as usize] += 1 + lot.below(2) as i64;
            let kind = if lot.below(5) == 0 { Kind::Dispose } else { Kind::Data };
            let at = n as i64 * 10 + lot.below(100) as i64;
            change(kind, lot.below(5) as u8, (by, numbers[by as usize]), at)
        })
        .collect()
}

/// What a late joiner would get.
pub fn content<S: Store>(keeper: &mut Keeper<S>, group: GroupId) -> Vec<(InstanceHandle, Vec<u8>)> {
    let (mut all, mut place) = (Vec::new(), None);
    while let Some((next, instance)) = keeper.after(group, place) {
        let payload = keeper.read(next.1).expect("readable").expect("kept");
        all.push((instance, payload.to_vec()));
        place = Some(next);
    }
    all
}
