//! Fuzz target: a filter expression, a parameter and a payload.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| dunlin_fuzz::filter(data));
