//! Annotations that the source declares itself, and `@verbatim`, for complete type objects.

use dunlin_xtypes::TypeGraph;
use dunlin_xtypes::identifier::kind;
use dunlin_xtypes::model::{
    Annotation, AnnotationIndex, AnnotationParameter, Annotations, Applied, Part, Type, verbatim_fits,
};
use dunlin_xtypes::object::annotation::{
    AnnotationParameterValue, AppliedAnnotationParameter, AppliedVerbatimAnnotation,
};
use dunlin_xtypes::object::name_hash;

use super::Bridge;
use crate::check::bit_fields;
use crate::ir::{self, Placement, TypeId, Value, Verbatim};

/// What IDL calls a place for the text of `@verbatim` (IDL 4.2 §8.3.5.1).
pub(crate) const fn placement_name(placement: Placement) -> &'static str {
    match placement {
        Placement::BeginFile => "BEGIN_FILE",
        Placement::BeforeDeclaration => "BEFORE_DECLARATION",
        Placement::BeginDeclaration => "BEGIN_DECLARATION",
        Placement::EndDeclaration => "END_DECLARATION",
        Placement::AfterDeclaration => "AFTER_DECLARATION",
        Placement::EndFile => "END_FILE",
    }
}

fn verbatim(it: &Verbatim) -> AppliedVerbatimAnnotation {
    AppliedVerbatimAnnotation {
        placement: placement_name(it.placement).to_owned(),
        language: it.language.clone(),
        text: it.text.clone(),
    }
}

impl Bridge<'_> {
    /// What the source of a type says of it and its parts. A type object has room for one text of `@verbatim`: the first.
    pub(super) fn said(&self, id: TypeId, ty: &ir::TypeDef, graph: &mut TypeGraph) -> Annotations {
        let mut applied = Vec::new();
        let mut add = |part: Part, all: &[ir::Applied]| {
            for it in all {
                applied.extend(self.applied(part, it, graph));
            }
        };
        add(Part::Type, &ty.annotations);
        match &ty.kind {
            ir::Kind::Struct(it) | ir::Kind::Exception(it) => {
                let members = it.members.iter().filter(|member| !member.non_serialized);
                members.enumerate().for_each(|(at, member)| add(Part::Member(at), &member.annotations));
            }
            ir::Kind::Union(it) => {
                add(Part::Discriminator, &it.annotations);
                let members = it.cases.iter().map(|case| &case.member).enumerate();
                members.for_each(|(at, member)| add(Part::Member(at), &member.annotations));
            }
            ir::Kind::Enum(it) => {
                it.literals.iter().enumerate().for_each(|(at, it)| add(Part::Member(at), &it.annotations));
            }
            ir::Kind::Bitmask(it) => {
                it.bits.iter().enumerate().for_each(|(at, it)| add(Part::Member(at), &it.annotations));
            }
            ir::Kind::Bitset(_) => {
                let fields = bit_fields(self.model, id).into_iter().enumerate();
                fields.for_each(|(at, field)| add(Part::Member(at), &field.annotations));
            }
            ir::Kind::Alias(_) => {}
        }
        Annotations { verbatim: ty.verbatims.iter().map(verbatim).find(verbatim_fits), applied }
    }

    fn applied(&self, part: Part, it: &ir::Applied, graph: &mut TypeGraph) -> Option<Applied> {
        let declared = self.model.annotations().iter().find(|other| other.full_name == it.name)?;
        let annotation = self.declare(declared, graph);
        let values = declared.params.iter().filter_map(|param| {
            let (_, value) = it.params.iter().find(|(name, _)| *name == param.name)?;
            let value = self.parameter(param.ty.as_ref(), value)?;
            Some(AppliedAnnotationParameter { paramname_hash: name_hash(&param.name), value })
        });
        Some(Applied { part, annotation, values: values.collect() })
    }

    fn declare(&self, it: &ir::Annotation, graph: &mut TypeGraph) -> AnnotationIndex {
        let parameters = it.params.iter().map(|param| AnnotationParameter {
            name: param.name.clone(),
            ty: match &param.ty {
                None => Type::Primitive(kind::NONE),
                // Names of typedefs say nothing that a value needs.
                Some(ty) => self.usage(self.model.resolve(ty)),
            },
            default: param.default.as_ref().and_then(|value| self.parameter(param.ty.as_ref(), value)),
        });
        graph.declare_annotation(Annotation { name: it.full_name.clone(), parameters: parameters.collect() })
    }

    /// A value that type objects have room for. Of an `any`, numbers are `int64` or `double`.
    fn parameter(&self, ty: Option<&ir::Type>, value: &Value) -> Option<AnnotationParameterValue> {
        if matches!(value, Value::Bits(..)) {
            return None;
        }
        self.value(ty.unwrap_or(&ir::Type::Int64), value).filter(AnnotationParameterValue::fits)
    }
}
