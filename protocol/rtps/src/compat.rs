//! What other vendors need beyond RTPS 2.5 §8.4.2: one table, each row with the test that needs it.

use alloc::vec::Vec;
use dunlin_buf::SharedBytes;
use dunlin_core::VendorId;

/// Octets of a serialized key that a reader of [`misreads_short_keys`] does not take for a key hash.
const LONG_KEY: usize = 20;

/// Fast DDS 2 takes a serialized key of up to 16 octets, encapsulation header included, for the key hash itself and so
/// loses the instance that a dispose is about. Needed by `tests/interop`: `fast_dds_reads`.
pub(crate) fn misreads_short_keys(vendor: VendorId) -> bool {
    vendor == VendorId::FAST_DDS
}

/// Fast DDS answers an ACKNACK that requests nothing only if it is that of a new reader: with base 0 and not final. Asked
/// otherwise, its writers (2.9.1 and 3.1.2) let a reader that missed their first HEARTBEAT wait for the next periodic one,
/// 3 s later.
pub(crate) fn answers_only_new_readers(vendor: VendorId) -> bool {
    vendor == VendorId::FAST_DDS
}

/// The same key with zeros behind it, which every decoder skips.
pub(crate) fn long_key(payload: &SharedBytes) -> SharedBytes {
    if payload.len() >= LONG_KEY {
        return payload.clone();
    }
    let mut octets = Vec::with_capacity(LONG_KEY);
    octets.extend_from_slice(payload);
    octets.resize(LONG_KEY, 0);
    SharedBytes::from(octets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_keys_grow_and_long_ones_stay() {
        assert!(misreads_short_keys(VendorId::FAST_DDS) && !misreads_short_keys(VendorId::DUNLIN));
        let short = SharedBytes::copy_from(&[1; 16]);
        assert_eq!(long_key(&short)[..], [[1; 16].as_slice(), &[0; 4]].concat());
        let long = SharedBytes::copy_from(&[1; 24]);
        assert_eq!(long_key(&long), long);
    }
}
