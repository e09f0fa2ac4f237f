//! derive(DdsType): serialization and type support for Rust types.
