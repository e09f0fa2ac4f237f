//! The passive DDS participant: routing and locking.
