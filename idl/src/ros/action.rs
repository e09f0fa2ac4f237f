//! The types that ROS 2 makes of an action besides goal, result and feedback: those of its services and its topic.

use super::parse::{Element, Field, Reference, Section, Shape, Type};
use crate::source::Span;
use crate::syntax::ast::{Base, Ident};

/// Messages that they contain.
pub(super) const NEEDS: [(&str, &str); 2] =
    [("unique_identifier_msgs", "UUID"), ("builtin_interfaces", "Time")];

/// A part of such a type.
enum Part {
    Uuid,
    Time,
    Bool,
    Int8,
    /// One of the types of the file.
    Own(&'static str),
}

/// The types without the name of the action, and their members.
const TYPES: [(&str, &[(&str, Part)]); 5] = [
    ("_SendGoal_Request", &[("goal_id", Part::Uuid), ("goal", Part::Own("_Goal"))]),
    ("_SendGoal_Response", &[("accepted", Part::Bool), ("stamp", Part::Time)]),
    ("_GetResult_Request", &[("goal_id", Part::Uuid)]),
    ("_GetResult_Response", &[("status", Part::Int8), ("result", Part::Own("_Result"))]),
    ("_FeedbackMessage", &[("goal_id", Part::Uuid), ("feedback", Part::Own("_Feedback"))]),
];

/// The types, each with what its name ends in.
pub(super) fn derived(name: &str, span: Span) -> Vec<(&'static str, Section)> {
    let field = |(member, part): &(&str, Part)| {
        let element = match part {
            Part::Uuid => Element::Message(Reference::to("unique_identifier_msgs", "UUID", span)),
            Part::Time => Element::Message(Reference::to("builtin_interfaces", "Time", span)),
            Part::Bool => Element::Primitive(Base::Boolean),
            Part::Int8 => Element::Primitive(Base::Int8),
            Part::Own(ending) => Element::Own(format!("{name}{ending}")),
        };
        let ty = Type { element, shape: Shape::Single, span };
        Field { ty, name: Ident { name: (*member).into(), span }, default: None, docs: None }
    };
    let section = |fields: &[(&str, Part)]| Section {
        fields: fields.iter().map(field).collect(),
        ..Section::default()
    };
    TYPES.iter().map(|(ending, fields)| (*ending, section(fields))).collect()
}
