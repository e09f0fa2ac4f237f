//! `dunlin-video`.
fn main() {}
