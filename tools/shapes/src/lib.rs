//! Shapes that move: the program `shape_main`, which the field tests interoperability with, and `dunlin shapes`, which shows
//! what QoS policies do.
#![forbid(unsafe_code)]

pub mod board;
pub mod cli;
pub mod motion;
pub mod program;
mod terminal;
mod web;

/// The topic type, made from `idl/ShapeType.idl`.
#[allow(missing_docs)]
pub mod types {
    include!(concat!(env!("OUT_DIR"), "/ShapeType.rs"));
}
