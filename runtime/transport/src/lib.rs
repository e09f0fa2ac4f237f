//! The transport interface and its fault and capture wrappers.
