//! Fuzz target: an IDL file, or a ROS 2 interface behind an octet 1 or 2.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| dunlin_fuzz::idl_quickly(data));
