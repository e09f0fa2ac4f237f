//! The dunlin command line.
fn main() {}
