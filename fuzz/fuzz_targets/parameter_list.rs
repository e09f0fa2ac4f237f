//! Fuzz target: a parameter list; the first octet chooses the byte order.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| dunlin_fuzz::parameter_list(data));
