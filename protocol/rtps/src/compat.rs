//! What other vendors need beyond RTPS 2.5 §8.4.2; `dunlin_core::VENDORS` says which.

use alloc::vec::Vec;

use dunlin_buf::SharedBytes;

/// Octets of a serialized key that nobody takes for a key hash, see `Behaviour::MisreadsShortKeys`.
const LONG_KEY: usize = 20;

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
        let short = SharedBytes::copy_from(&[1; 16]);
        assert_eq!(long_key(&short)[..], [[1; 16].as_slice(), &[0; 4]].concat());
        let long = SharedBytes::copy_from(&[1; 24]);
        assert_eq!(long_key(&long), long);
    }
}
