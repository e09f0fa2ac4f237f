//! Nonsense.
