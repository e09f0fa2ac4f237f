//! Makes the code of the topic type.

fn main() {
    dunlin_idl::build::compile("idl/ShapeType.idl");
}
