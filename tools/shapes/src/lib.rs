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

#[cfg(test)]
mod tests {
    use dunlin::{cdr, xtypes};

    use super::types::ShapeType;

    /// Cyclone DDS and dust_dds do not take a sequence of `octet` for one of `uint8`, which is what they have.
    #[test]
    fn the_type_is_that_of_other_vendors() {
        let (graph, root) = xtypes::from_description(cdr::description::<ShapeType>());
        let idl = xtypes::to_idl(&graph, root);
        let members: Vec<_> = idl.lines().map(str::trim).filter(|line| line.ends_with(';')).collect();
        let wanted = [
            "@key @id(0) string<128> color;",
            "@id(1) int32 x;",
            "@id(2) int32 y;",
            "@id(3) int32 shapesize;",
            "@id(4) sequence<uint8> additional_payload_size;",
            "};",
        ];
        assert_eq!(members, wanted, "{idl}");
    }
}
