//! Bridges in this process, over the loopback interface: between domains through zenoh, and with sessions of zenoh that speak the
//! official conventions by hand.

mod conventions;
mod hostile;
mod outage;
mod python;
mod services;
mod sites;
mod support;
