//! Fuzz target: type objects and messages of TypeLookup.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| dunlin_fuzz::types(data));
