//! Views of serialized values as serde sees them: the same JSON as of the decoded value, without making that.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dunlin_cdr::PrimitiveKind;
use dunlin_dynamic::{DynamicView, Shape, Value, ViewError, ViewFailure};
use serde::ser::{Error, Serialize, SerializeMap, SerializeSeq, Serializer};

use crate::write::{Json, Octets, discriminator, is_name, key_text, octets_as};

/// A view of a serialized value, to be serialized. Bytes that are no serialization of the type are an error of the serializer; those of
/// untrusted peers should be checked before ([`DynamicView::check`], or a view that a reader gave), which bounds the work.
#[derive(Clone)]
pub struct JsonView<'a> {
    view: DynamicView<'a>,
    octets: Octets,
}

impl<'a> JsonView<'a> {
    /// A whole value, or a part of one.
    #[must_use]
    pub const fn of(view: DynamicView<'a>) -> Self {
        Self { view, octets: Octets::Numbers }
    }

    /// The same with bytes in another form.
    #[must_use]
    pub fn with_octets(self, octets: Octets) -> Self {
        Self { octets, ..self }
    }

    fn inner(&self, view: DynamicView<'a>) -> Self {
        Self { view, octets: self.octets }
    }

    fn structure<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut map = s.serialize_map(self.view.item_count().ok())?;
        for member in self.view.members().map_err(Error::custom)? {
            let (shape, member) = member.map_err(Error::custom)?;
            map.serialize_entry(&shape.name, &member.map(|member| self.inner(member)))?;
        }
        map.end()
    }

    fn union<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let Shape::Union(it) = self.view.type_view().shape() else { return s.serialize_none() };
        let number = self.view.discriminator().map_err(Error::custom)?;
        let mut map = s.serialize_map(None)?;
        discriminator(&mut map, self.view.type_view().at(it.discriminator), number)?;
        if let Some((case, member)) = self.view.selected().map_err(Error::custom)? {
            map.serialize_entry(&case.name, &self.inner(member))?;
        }
        map.end()
    }

    fn list<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        if let Some(octets) = octets_of(&self.view).map_err(Error::custom)? {
            return octets_as(self.octets, &octets, s);
        }
        let mut seq = s.serialize_seq(self.view.item_count().ok())?;
        for element in self.view.elements().map_err(Error::custom)? {
            seq.serialize_element(&self.inner(element.map_err(Error::custom)?))?;
        }
        seq.end()
    }

    fn map<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let Shape::Map { key, .. } = self.view.type_view().shape() else { return s.serialize_none() };
        let (of_key, pairs) = (self.view.type_view().at(*key), self.view.pairs().map_err(Error::custom)?);
        let count = self.view.item_count().ok();
        if is_name(of_key) {
            let mut map = s.serialize_map(count)?;
            for pair in pairs {
                let (key, value) = pair.map_err(Error::custom)?;
                let key = key.to_value().map_err(Error::custom)?;
                map.serialize_entry(&key_text(of_key, &key).unwrap_or_default(), &self.inner(value))?;
            }
            return map.end();
        }
        let mut seq = s.serialize_seq(count)?;
        for pair in pairs {
            let (key, value) = pair.map_err(Error::custom)?;
            seq.serialize_element(&[self.inner(key), self.inner(value)])?;
        }
        seq.end()
    }
}

/// The bytes of a sequence or array of bytes: borrowed, or made if nothing can be borrowed.
fn octets_of<'a>(view: &DynamicView<'a>) -> Result<Option<Cow<'a, [u8]>>, ViewError> {
    let (Shape::Sequence { element, .. } | Shape::Array { element, .. }) = view.type_view().shape() else {
        return Ok(None);
    };
    match view.type_view().at(*element).shape() {
        Shape::Primitive(PrimitiveKind::Octet | PrimitiveKind::UInt8) => {}
        _ => return Ok(None),
    }
    match view.as_octets() {
        Ok(octets) => Ok(Some(Cow::Borrowed(octets))),
        Err(error) if error.why == ViewFailure::Conversion => Ok(match view.to_value()? {
            Value::Octets(octets) => Some(Cow::Owned(octets.to_vec())),
            _ => None,
        }),
        Err(error) => Err(error),
    }
}

impl Serialize for JsonView<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self.view.type_view().shape() {
            Shape::Structure(_) => self.structure(s),
            Shape::Union(_) => self.union(s),
            Shape::Sequence { .. } | Shape::Array { .. } => self.list(s),
            Shape::Map { .. } => self.map(s),
            Shape::Text { .. } => s.serialize_str(&self.view.as_text().map_err(Error::custom)?),
            _ => {
                let value = self.view.to_value().map_err(Error::custom)?;
                Json::part(self.view.type_view(), &value).serialize(s)
            }
        }
    }
}

/// Parts of a view as one object, whose keys are their paths; `None` is a part that is absent. And the form of bytes.
#[derive(Clone)]
pub struct SelectedViews<'a>(pub Vec<(&'a str, Option<DynamicView<'a>>)>, pub Octets);

impl Serialize for SelectedViews<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut map = s.serialize_map(Some(self.0.len()))?;
        for (path, part) in &self.0 {
            let part = part.as_ref().map(|part| JsonView::of(part.clone()).with_octets(self.1));
            map.serialize_entry(path, &part)?;
        }
        map.end()
    }
}

/// As [`leaves_as`](crate::leaves_as), of a view.
///
/// # Errors
/// Bytes that are no serialization of the type.
pub fn leaves_of_view(
    view: &DynamicView<'_>,
    path: &str,
    octets: Octets,
) -> Result<Vec<(String, String)>, ViewError> {
    let mut out = Vec::new();
    match view.get(path) {
        Ok(Some(part)) => collect(path, &part, octets, &mut out)?,
        _ => out.push((path.to_owned(), "null".into())),
    }
    Ok(out)
}

fn collect(
    path: &str,
    view: &DynamicView<'_>,
    octets: Octets,
    out: &mut Vec<(String, String)>,
) -> Result<(), ViewError> {
    match view.type_view().shape() {
        Shape::Structure(_) => {
            for member in view.members()? {
                let (shape, member) = member?;
                let inner =
                    if path.is_empty() { shape.name.clone() } else { format!("{path}.{}", shape.name) };
                match member {
                    Some(member) => collect(&inner, &member, octets, out)?,
                    None => out.push((inner, "null".into())),
                }
            }
            return Ok(());
        }
        Shape::Text { wide: false, .. } => {
            out.push((path.to_owned(), view.as_text()?.into_owned()));
            return Ok(());
        }
        _ => {}
    }
    let text = match (octets, octets_of(view)?) {
        (Octets::Base64, Some(octets)) => STANDARD.encode(octets),
        _ => serde_json::to_string(&JsonView::of(view.clone()).with_octets(octets)).unwrap_or_default(),
    };
    out.push((path.to_owned(), text));
    Ok(())
}
