//! Fuzz target: types and values known at run time, from octets and from JSON.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| dunlin_fuzz::dynamic(data));
