//! Routers between domains in the simulator, through the public API alone.

mod graphs;
mod passing;
mod routing;
mod support;
