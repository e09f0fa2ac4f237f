//! The service in the simulator, through the public API alone.

mod giving;
mod keeping;
mod support;
mod together;
