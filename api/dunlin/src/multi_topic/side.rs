//! One of the joined topics: what is read of its samples.

use std::any::Any;
use std::sync::Arc;

use dunlin_cdr::{
    CdrError, DecodeOptions, Decoder, Encoder, Endianness, Limits, Located, Representation, Step,
    StructureDescription, TypeDescription, TypeKind, TypeRef,
};
use dunlin_dynamic::{DynamicType, MemberShape, Shape, TypeView, Value};
use dunlin_filter::FieldPath;

use crate::error::MultiTopicError;
use crate::topic::TopicInner;

/// One of the joined topics.
pub(crate) struct Side {
    pub topic: Arc<TopicInner>,
    pub description: TypeRef,
    ty: DynamicType,
    /// What is read of its samples.
    fields: Vec<Field>,
    /// The columns that the topic has, with the fields that hold them.
    pub columns: Vec<(usize, usize)>,
    /// What its instances are found by: positions in `columns`.
    pub indexes: Vec<Vec<usize>>,
}

/// A field of a topic.
struct Field {
    /// The position of the member that it is in.
    member: usize,
    /// The path from there; empty for the member itself.
    rest: String,
}

/// A value that joins, as it is serialized: equal values have equal octets.
pub(crate) type Octets = Arc<[u8]>;

/// The type of values of a described type.
pub(super) fn type_of(description: &TypeDescription) -> Result<DynamicType, MultiTopicError> {
    let (graph, index) = dunlin_xtypes::from_description(description);
    DynamicType::new(graph, index)
        .map_err(|error| MultiTopicError::NoValues { of: description.to_string(), reason: error.to_string() })
}

/// Where partners are looked for.
#[derive(Debug)]
pub(crate) struct Visit {
    pub side: usize,
    /// Which index of that topic.
    pub index: usize,
    /// For each column of the index: a topic whose partner is found by then, and which of its columns is the same.
    pub from: Vec<(usize, usize)>,
}

pub(super) fn structure(ty: &TypeDescription) -> Result<&StructureDescription, MultiTopicError> {
    match &ty.resolved().kind {
        TypeKind::Structure(structure) => Ok(structure),
        _ => Err(MultiTopicError::NotAStructure(ty.to_string())),
    }
}

impl Side {
    pub(crate) fn new(topic: Arc<TopicInner>) -> Result<Self, MultiTopicError> {
        let description = topic.description();
        let description =
            description.ok_or_else(|| MultiTopicError::NoDescription(topic.type_name.clone()))?;
        structure(description.get())?;
        let support: &dyn Any = &*topic.type_support;
        let ty = match support.downcast_ref::<DynamicType>() {
            Some(ty) => ty.clone(),
            None => type_of(description.get())?,
        };
        let (fields, columns, indexes) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { topic, description, ty, fields, columns, indexes })
    }

    /// The position of a field that is read; adds it if need be.
    pub(crate) fn field(&mut self, name: &str, path: &FieldPath) -> usize {
        let Some(Step::Member(member)) = path.steps().first().copied() else { return 0 };
        let rest = name.find(['.', '[']).map_or("", |end| &name[end..]);
        let rest = rest.strip_prefix('.').unwrap_or(rest).to_owned();
        let known = self.fields.iter().position(|field| (field.member, &field.rest) == (member, &rest));
        known.unwrap_or_else(|| {
            self.fields.push(Field { member, rest });
            self.fields.len() - 1
        })
    }

    /// A visit where some columns are known; makes the index that it needs.
    pub(crate) fn visit(&mut self, side: usize, known: &[Option<(usize, usize)>]) -> Visit {
        let found = |column: &usize| known.get(*column).copied().flatten();
        let columns = self.columns.iter().enumerate();
        let (by, from): (Vec<usize>, Vec<(usize, usize)>) =
            columns.filter_map(|(position, (column, _))| Some((position, found(column)?))).unzip();
        let index = self.indexes.iter().position(|index| *index == by);
        let index = index.unwrap_or_else(|| {
            self.indexes.push(by);
            self.indexes.len() - 1
        });
        Visit { side, index, from }
    }

    fn member(&self, position: usize) -> Option<(TypeView<'_>, &MemberShape)> {
        let Shape::Structure(it) = self.ty.view().shape() else { return None };
        let member = it.members.get(position)?;
        Some((self.ty.view().at(member.part), member))
    }

    /// Reads the fields of a sample; `None` for one that is not there. Of the rest of the sample no value is made.
    pub(crate) fn read(
        &self,
        payload: &[u8],
        options: DecodeOptions,
    ) -> Result<Vec<Option<Value>>, CdrError> {
        let extensibility = self.ty.view().extensibility();
        let decoder =
            Decoder::from_payload(payload, extensibility, &Limits::default())?.with_options(options);
        let mut members: Vec<(usize, Option<Value>)> = Vec::new();
        for field in &self.fields {
            if !members.iter().any(|(known, _)| *known == field.member) {
                members.push((field.member, self.read_member(field.member, &decoder)?));
            }
        }
        let values = self.fields.iter().map(|field| {
            let (_, whole) = members.iter().find(|(known, _)| *known == field.member)?;
            self.part(field, whole.as_ref()?)
        });
        Ok(values.collect())
    }

    fn read_member(&self, position: usize, sample: &Decoder<'_>) -> Result<Option<Value>, CdrError> {
        let Some((view, member)) = self.member(position) else { return Ok(None) };
        let path = [Step::Member(position)];
        Ok(match sample.clone().locate(self.description.get(), &path, |d, _| view.read(d))? {
            Located::Found(value) => Some(value),
            Located::Missing(_) => Some(member.default_value(self.ty.view())),
            Located::Absent => None,
        })
    }

    /// What a field is in the value of its member.
    fn part(&self, field: &Field, whole: &Value) -> Option<Value> {
        if field.rest.is_empty() {
            return Some(whole.clone());
        }
        let (view, _) = self.member(field.member)?;
        // The path fits the type, so what fails is not there: an element beyond the end, something within what is absent.
        let (_, part) = view.find(whole, &field.rest).ok()??;
        Some(part.into_owned())
    }

    /// The values of the columns; `None` if one is not there, which is equal to nothing.
    pub(crate) fn key(&self, values: &[Option<Value>]) -> Option<Vec<Octets>> {
        let columns = self.columns.iter().map(|(_, field)| {
            let (view, _) = self.member(self.fields.get(*field)?.member)?;
            let mut octets = Vec::new();
            let mut encoder = Encoder::new(&mut octets, Representation::Xcdr2, Endianness::Little);
            view.write(values.get(*field)?.as_ref()?, &mut encoder).ok()?;
            Some(Octets::from(octets))
        });
        columns.collect()
    }
}
