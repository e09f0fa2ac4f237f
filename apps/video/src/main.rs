//! Live video over DDS.
fn main() {}
