//! Surveillance over DDS: a recorder of cameras that serves monitors with live and earlier pictures, through a router.
//!
//! Cameras and the recorder are in the inner domain, monitors in the outer one. `docs/surveillance.md` shows how they are put
//! together; `dunlin-surveillance` is the program for each part.

#![forbid(unsafe_code)]

pub mod archive;
pub mod cli;
pub mod messages;
pub mod monitor;
pub mod record;
pub mod route;
pub mod serve;
pub mod system;
