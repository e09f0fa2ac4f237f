//! SPDP, SEDP and liveliness as state machines.
