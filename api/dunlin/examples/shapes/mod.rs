//! The type of the shapes demonstrations that every vendor has.

use dunlin::DdsType;

/// Name of the topic; the demonstrations also have Circle and Triangle.
pub const TOPIC: &str = "Square";

/// A shape on a board of 240 by 270; one instance for each colour.
#[derive(DdsType, Clone, Debug, Default, PartialEq)]
#[dds(name = "ShapeType", final)]
pub struct ShapeType {
    /// BLUE, RED, GREEN, YELLOW, MAGENTA, CYAN, ...
    #[dds(key)]
    pub color: String,
    /// Centre, from the left.
    pub x: i32,
    /// Centre, from the top.
    pub y: i32,
    /// Width and height.
    pub shapesize: i32,
}
