//! An ordered map in immutable shards, for tables that are read per datagram and replaced per match or endpoint.
//!
//! A changed copy shares all shards but one with the original, so a participant that has or meets thousands of
//! endpoints does not copy thousands of entries for each.

use alloc::sync::Arc;
use alloc::vec::Vec;

use dunlin_core::{EntityId, Guid, GuidPrefix};

const SHARDS: usize = 64;

/// A key that spreads over shards.
pub(crate) trait ShardKey: Ord + Copy {
    /// Any spread will do, a bad one only makes a shard longer.
    fn spread(&self) -> usize;
}

/// 2⁶⁴ divided by the golden ratio, made odd.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Two multiplications (Fibonacci hashing), of which the highest bits are spread best.
fn spread(octets: [u8; 16]) -> usize {
    let octets = u128::from_le_bytes(octets);
    let (low, high) = (octets as u64, (octets >> 64) as u64);
    let hash = (low.wrapping_mul(SPREAD) ^ high).wrapping_mul(SPREAD);
    (hash >> u64::BITS.saturating_sub(SHARDS.ilog2())) as usize
}

impl ShardKey for Guid {
    fn spread(&self) -> usize {
        spread(self.to_bytes())
    }
}

impl ShardKey for GuidPrefix {
    fn spread(&self) -> usize {
        spread(Guid { prefix: *self, ..Guid::UNKNOWN }.to_bytes())
    }
}

/// Of local endpoints, whose keys are counted, but together: those of writers or of readers may be any distance apart.
impl ShardKey for EntityId {
    fn spread(&self) -> usize {
        const SPREAD: u32 = 0x9e37_79b9;
        let hash = u32::from_be_bytes(self.0).wrapping_mul(SPREAD);
        (hash >> u32::BITS.saturating_sub(SHARDS.ilog2())) as usize
    }
}

/// The map. Cloning it copies one pointer per shard.
#[derive(Clone)]
pub(crate) struct Sharded<K, V> {
    shards: Vec<Arc<Vec<(K, V)>>>,
}

impl<K: ShardKey, V: Clone> Default for Sharded<K, V> {
    fn default() -> Self {
        let empty = Arc::new(Vec::new());
        Self { shards: (0..SHARDS).map(|_| Arc::clone(&empty)).collect() }
    }
}

impl<K: ShardKey, V: Clone> Sharded<K, V> {
    fn index(key: &K) -> usize {
        key.spread() % SHARDS
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        let shard = self.shards.get(Self::index(key))?;
        let at = shard.binary_search_by(|(other, _)| other.cmp(key)).ok()?;
        shard.get(at).map(|(_, value)| value)
    }

    fn shard_mut(&mut self, key: &K) -> Option<&mut Arc<Vec<(K, V)>>> {
        debug_assert_eq!(self.shards.len(), SHARDS, "each key has its shard");
        self.shards.get_mut(Self::index(key))
    }

    pub(crate) fn insert(&mut self, key: K, value: V) {
        let Some(shard) = self.shard_mut(&key) else { return };
        let shard = Arc::make_mut(shard);
        match shard.binary_search_by(|(other, _)| other.cmp(&key)) {
            Ok(at) => {
                if let Some(entry) = shard.get_mut(at) {
                    entry.1 = value;
                }
            }
            Err(at) => shard.insert(at, (key, value)),
        }
    }

    pub(crate) fn remove(&mut self, key: &K) {
        let Some(shard) = self.shard_mut(key) else { return };
        if let Ok(at) = shard.binary_search_by(|(other, _)| other.cmp(key)) {
            Arc::make_mut(shard).remove(at);
        }
    }

    /// All entries, shard by shard.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &(K, V)> {
        self.shards.iter().flat_map(|shard| shard.iter())
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use alloc::collections::BTreeMap;

    use dunlin_core::Rng;

    use super::*;

    #[test]
    fn sharded_map_agrees_with_a_btree_and_leaves_clones_unchanged() {
        let mut rng = Rng::new(3);
        let mut map = Sharded::default();
        let mut model = BTreeMap::new();
        for step in 0..if cfg!(miri) { 30 } else { 5_000_u64 } {
            let key = rng.below(300) as u32;
            let guid = Guid::new(GuidPrefix([7; 12]), EntityId::user_writer(key, true));
            let before = map.clone();
            let old = model.get(&guid).copied();
            if rng.chance(1, 3) {
                map.remove(&guid);
                model.remove(&guid);
            } else {
                map.insert(guid, step);
                model.insert(guid, step);
            }
            assert_eq!(map.get(&guid), model.get(&guid));
            assert_eq!(before.get(&guid), old.as_ref());
        }
        assert_eq!(map.iter().count(), model.len());
        assert!(model.iter().all(|(key, value)| map.get(key) == Some(value)));
    }

    #[test]
    fn endpoints_and_participants_spread() {
        let mut rng = Rng::new(5);
        let prefix = GuidPrefix(core::array::from_fn(|_| rng.below(256) as u8));
        let guids = (1..=640).map(|key| Guid::new(prefix, EntityId::user_writer(key, true)));
        // Participants of one process differ in a few octets in the middle.
        let of_process = |n: u32| {
            let [a, b, ..] = n.to_le_bytes();
            GuidPrefix([&prefix.0[..8], &[a, b], &prefix.0[10..]].concat().try_into().unwrap())
        };
        let mut shards = [[0; SHARDS]; 2];
        guids.for_each(|guid| shards[0][Sharded::<Guid, ()>::index(&guid)] += 1);
        (0..640).for_each(|n| shards[1][Sharded::<GuidPrefix, ()>::index(&of_process(n))] += 1);
        for stride in [1, 2, 64] {
            let mut local = [0; SHARDS];
            let keys = (1..=640).map(|key| EntityId::user_writer(key * stride, true));
            keys.for_each(|id| local[Sharded::<EntityId, ()>::index(&id)] += 1);
            assert!(local.iter().all(|count| *count <= 30), "{stride}: {local:?}");
        }
        assert!(shards.as_flattened().iter().all(|count| *count <= 30), "{shards:?}");
    }
}
