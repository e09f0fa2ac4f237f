//! Routers between domains in the simulator, through the public API alone.

mod changes;
mod graphs;
mod passing;
mod requests;
mod routing;
mod support;
