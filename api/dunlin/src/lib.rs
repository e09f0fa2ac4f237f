//! DDS for Rust: publish and subscribe in real time.
