//! A writer's history: the table of RELIABILITY, HISTORY and RESOURCE_LIMITS, and the life of instances.

mod fixture;
mod instances;
mod random;
mod room;
mod service;
mod timing;
