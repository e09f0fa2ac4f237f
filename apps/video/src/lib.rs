//! Live video over DDS: a publisher with several sources, and a viewer for the browser and for the terminal.

#![deny(unsafe_code)]

pub mod child;
pub mod cli;
pub mod codec;
pub mod dds;
#[cfg(feature = "view")]
pub mod demo;
pub mod frame;
pub mod process;
pub mod publish;
pub mod source;
pub mod stats;
#[cfg(feature = "view")]
pub mod view;
