//! Shapes that move: the program `shape_main`, which the field tests interoperability with, and what it is made of.
#![forbid(unsafe_code)]

pub mod motion;
pub mod program;

/// The topic type, made from `idl/ShapeType.idl`.
#[allow(missing_docs)]
pub mod types {
    include!(concat!(env!("OUT_DIR"), "/ShapeType.rs"));
}
