//! Helpers of this crate's unit tests (RTPS 2.5 §9.4 octet notation).

use alloc::vec::Vec;

/// Bytes from hexadecimal digits; anything else between them is ignored.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    assert!(digits.len().is_multiple_of(2), "odd number of digits");
    digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
}
