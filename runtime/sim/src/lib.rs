//! Deterministic simulator: engines on a virtual clock and network.
