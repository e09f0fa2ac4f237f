//! What is kept, and whether it lasts: histories against a model, back ends against each other, crashes at every point.

mod conformance;
mod crashes;
mod histories;
mod logs;
mod outages;
mod suite;
mod support;
