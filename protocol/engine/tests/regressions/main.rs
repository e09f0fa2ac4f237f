//! One test for each published class of remote failures of DDS implementations, through
//! [`dunlin_engine::Participant::on_datagram`] of a participant with matched endpoints. Each says what must happen, and
//! bounds what is answered and kept.

#![cfg(not(any(loom, shuttle)))]

#[path = "../common/mod.rs"]
mod common;

mod announcements;
mod filters;
mod fragments;
mod lengths;
mod misbehaviour;
mod misplaced;
mod places;
mod ranges;
mod spoofing;
mod target;
mod times;
