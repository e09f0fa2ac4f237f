//! A reader's cache, row by row of DDS 1.4 §2.2.2.5 and policy by policy of §2.2.3.

mod access;
mod changes;
mod copies;
mod fixture;
mod life_cycle;
mod limits;
mod memory;
mod order;
mod ownership;
mod quotas;
mod ranks;
mod timing;
