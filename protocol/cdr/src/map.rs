//! Maps (DDS-XTypes 1.3 §7.4.3.5 rules 14-16, with the count that implementations write after the DHEADER).

use alloc::collections::BTreeMap;

use crate::{CdrError, CdrRead, CdrWrite, Decoder, ElementKind, Encoder, LengthCode};

/// Kind that decides about the DHEADER of a map: primitive only if key and value are.
const fn pair_kind(key: ElementKind, value: ElementKind) -> ElementKind {
    match (key, value) {
        (ElementKind::Primitive, value) => value,
        (key, ElementKind::Primitive) => key,
        (ElementKind::EnumLike, ElementKind::EnumLike) => ElementKind::EnumLike,
        _ => ElementKind::Compound,
    }
}

impl<K: CdrWrite, V: CdrWrite> CdrWrite for BTreeMap<K, V> {
    const LENGTH_CODE: LengthCode = match pair_kind(K::KIND, V::KIND) {
        ElementKind::Primitive => LengthCode::NextInt,
        _ => LengthCode::Octets,
    };

    fn write(&self, e: &mut Encoder<'_>) -> Result<(), CdrError> {
        e.write_delimited_if(pair_kind(K::KIND, V::KIND) != ElementKind::Primitive, |e| {
            e.write_len(self.len())?;
            self.iter().try_for_each(|(key, value)| {
                key.write(e)?;
                value.write(e)
            })
        })
    }
}

/// About the greatest heap size of a tree: nodes have room for eleven pairs and are at least half full, but the root.
const fn tree_size(count: usize, pair: usize) -> usize {
    if count == 0 {
        return 0;
    }
    let pairs = count.saturating_mul(2).saturating_add(11);
    pairs.saturating_mul(pair.saturating_add(8)).saturating_add(16)
}

fn header_kind<'de, K: CdrRead<'de>, V: CdrRead<'de>>(d: &Decoder<'de>) -> ElementKind {
    if d.options().map_dheader_by_value { V::KIND } else { pair_kind(K::KIND, V::KIND) }
}

fn read_pair_count<'de, K: CdrRead<'de>, V: CdrRead<'de>>(d: &mut Decoder<'de>) -> Result<usize, CdrError> {
    d.read_count(K::MIN_SIZE.saturating_add(V::MIN_SIZE))
}

/// Reads a map, whose keys and values the functions read.
pub(crate) fn read_map<'de, K: CdrRead<'de> + Ord, V: CdrRead<'de>>(
    d: &mut Decoder<'de>,
    read_key: impl Fn(&mut Decoder<'de>) -> Result<K, CdrError>,
    read_value: impl Fn(&mut Decoder<'de>) -> Result<V, CdrError>,
) -> Result<BTreeMap<K, V>, CdrError> {
    d.read_elements(header_kind::<K, V>(d), |d| {
        let count = read_pair_count::<K, V>(d)?;
        d.claim(tree_size(count, size_of::<K>().saturating_add(size_of::<V>())))?;
        let mut map = BTreeMap::new();
        for _ in 0..count {
            let key = read_key(d)?;
            map.insert(key, read_value(d)?);
        }
        Ok(map)
    })
}

impl<'de, K: CdrRead<'de> + Ord, V: CdrRead<'de>> CdrRead<'de> for BTreeMap<K, V> {
    const MIN_SIZE: usize = 4;

    fn read(d: &mut Decoder<'de>) -> Result<Self, CdrError> {
        read_map(d, K::read, V::read)
    }

    fn default_value() -> Self {
        Self::new()
    }

    fn skip(d: &mut Decoder<'de>) -> Result<(), CdrError> {
        d.read_elements(header_kind::<K, V>(d), |d| {
            let count = read_pair_count::<K, V>(d)?;
            (0..count).try_for_each(|_| {
                K::skip(d)?;
                V::skip(d)
            })
        })
    }
}
