//! Fuzz target: what a durability service reads.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| dunlin_fuzz::durable(data));
