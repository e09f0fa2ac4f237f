//! Elements of sequences and arrays, pairs of maps.

use core::marker::PhantomData;

use dunlin_cdr::{CdrError, Endianness, Scope};

use super::converted::Converted;
use super::numbers::{From, are};
use super::walk::{kind_of_pairs, skip, skip_many};
use super::{DynamicView, Number, Numbers, Octets, Source, ViewError, ViewFailure, part_of};
use crate::convert::len_of;
use crate::path::{StepRef, key_of};
use crate::types::*;
use crate::value::Value;

/// Zeros for arrays of bytes that have their default.
static ZEROS: [u8; 4096] = [0; 4096];

/// The elements of a sequence or array.
#[derive(Clone)]
pub(super) struct List<'a> {
    of: TypeView<'a>,
    element: Part,
    from: Items<'a>,
}

#[derive(Clone)]
enum Items<'a> {
    /// Before the first of so many.
    Octets(Octets<'a>, usize),
    Values(&'a [Value]),
    OctetValues(&'a [u8]),
    /// So many defaults.
    Default(usize),
    Converted(Converted),
}

impl<'a> List<'a> {
    pub(super) fn len(&self) -> usize {
        match &self.from {
            Items::Octets(_, count) | Items::Default(count) => *count,
            Items::Values(values) => values.len(),
            Items::OctetValues(octets) => octets.len(),
            Items::Converted(value) => len_of(value),
        }
    }

    pub(super) fn at(&self, index: usize) -> Result<Option<DynamicView<'a>>, ViewFailure> {
        if index >= self.len() {
            return Ok(None);
        }
        let ty = self.of.at(self.element);
        let made = |source| Ok(Some(DynamicView { ty, source }));
        match &self.from {
            Items::Octets(octets, _) => {
                let mut octets = octets.clone();
                skip_many(ty, index, &mut octets.d, octets.nesting)?;
                part_of(self.of, self.element, None, octets).map(Some)
            }
            Items::Values(values) => values.get(index).map_or(Ok(None), |value| made(Source::Made(value))),
            Items::OctetValues(octets) => {
                octets.get(index).map_or(Ok(None), |octet| made(Source::Number((*octet).into())))
            }
            Items::Default(_) => made(Source::Default),
            Items::Converted(value) => Ok(match &**value {
                Value::List(_) => DynamicView::converted(ty, value, index),
                Value::Octets(octets) => {
                    octets.get(index).map(|octet| DynamicView { ty, source: Source::Number((*octet).into()) })
                }
                _ => None,
            }),
        }
    }
}

/// How many elements of those that are there count.
fn most(octets: &Octets<'_>, bound: Option<usize>, count: usize) -> Result<usize, CdrError> {
    match bound {
        Some(bound) if count > bound && !octets.any_length => {
            Err(CdrError::BoundExceeded { bound, len: count })
        }
        Some(bound) => Ok(count.min(bound)),
        None => Ok(count),
    }
}

impl<'a> DynamicView<'a> {
    /// How many elements a sequence or array has, pairs a map, members a structure; 0 of what has none.
    ///
    /// # Errors
    /// Bytes that are no serialization of the type.
    pub fn item_count(&self) -> Result<usize, ViewError> {
        let count = match self.ty.shape() {
            Shape::Sequence { .. } | Shape::Array { .. } => self.list().map(|list| list.len()),
            Shape::Map { .. } => self.all_pairs().map(|pairs| pairs.left),
            Shape::Structure(it) => Ok(it.members.len()),
            _ => Ok(0),
        };
        count.map_err(|why| ViewError::at("", why))
    }

    /// The elements of a sequence or array.
    ///
    /// # Errors
    /// Another kind; bytes that are no serialization of the type.
    pub fn elements(&self) -> Result<Elements<'a>, ViewError> {
        let list = self.list().map_err(|why| ViewError::at("", why))?;
        Ok(Elements { left: list.len(), list, index: 0 })
    }

    /// The pairs of a map in the order of the bytes. Of equal keys the last counts.
    ///
    /// # Errors
    /// As [`DynamicView::elements`].
    pub fn pairs(&self) -> Result<Pairs<'a>, ViewError> {
        self.all_pairs().map_err(|why| ViewError::at("", why))
    }

    pub(super) fn list(&self) -> Result<List<'a>, ViewFailure> {
        let (element, length) = match self.ty.shape() {
            Shape::Sequence { element, .. } => (*element, 0),
            Shape::Array { element, length, .. } => (*element, *length),
            _ => return Err(self.kind_error("a sequence or array")),
        };
        let from = match &self.source {
            Source::Octets(octets) => self.items(octets, self.ty.at(element))?,
            Source::Made(Value::List(values)) => Items::Values(values),
            Source::Made(Value::Octets(octets)) => Items::OctetValues(octets),
            Source::Converted(value) => Items::Converted(value.clone()),
            _ => Items::Default(length),
        };
        Ok(List { of: self.ty, element, from })
    }

    fn items(&self, octets: &Octets<'a>, element: TypeView<'a>) -> Result<Items<'a>, ViewFailure> {
        let mut d = octets.d.clone();
        let (d, count) = match self.ty.shape() {
            Shape::Sequence { bound, .. } => d.read_elements(element.element_kind(), |d| {
                let count = d.read_count(element.node.least)?;
                Ok((d.clone(), most(octets, *bound, count)?))
            })?,
            Shape::Array { length, dimension: true, .. } => (d, *length),
            Shape::Array { length, .. } => {
                (d.read_elements(element.item_kind(), |d| Ok(d.clone()))?, *length)
            }
            _ => return Err(self.kind_error("a sequence or array")),
        };
        let least = if d.scope() == Scope::Sample { element.node.least } else { 0 };
        let needed = least.saturating_mul(count);
        if needed > d.remaining() {
            return Err(CdrError::UnexpectedEnd { offset: d.position(), needed }.into());
        }
        Ok(Items::Octets(octets.inside(d)?, count))
    }

    /// The bytes of a sequence or array of bytes, where they lie.
    ///
    /// # Errors
    /// Another kind; bytes that are no serialization of the type; [`ViewFailure::Conversion`] for an array of more than 4096 bytes
    /// that the writer does not have.
    pub fn as_octets(&self) -> Result<&'a [u8], ViewError> {
        self.as_slice::<u8>()
    }

    /// The numbers of a sequence or array as they lie: in the byte order of this machine, and at an address that fits.
    ///
    /// Neither can be relied on: [`DynamicView::numbers`] reads them in any case, and [`ViewFailure::Layout`] says when that is needed.
    ///
    /// # Errors
    /// [`ViewFailure::Layout`]; elements of another kind; bytes that are no serialization of the type; [`ViewFailure::Conversion`] for
    /// an array that the writer does not have.
    pub fn as_slice<T: Number>(&self) -> Result<&'a [T], ViewError> {
        self.slice().map_err(|why| ViewError::at("", why))
    }

    fn slice<T: Number>(&self) -> Result<&'a [T], ViewFailure> {
        let Numbers { from, big_endian, .. } = self.numbers_of::<T>()?;
        let octets = match from {
            From::Octets(octets) => octets,
            From::Default(count) => {
                let len = count.saturating_mul(size_of::<T>());
                let zeros = ZEROS.get(..len).filter(|_| size_of::<T>() == 1 || len == 0);
                zeros.ok_or(ViewFailure::Conversion)?
            }
            From::Values(_) => return Err(ViewFailure::Conversion),
        };
        if size_of::<T>() > 1 && big_endian != cfg!(target_endian = "big") && !octets.is_empty() {
            return Err(ViewFailure::Layout);
        }
        if octets.is_empty() {
            return Ok(&[]);
        }
        bytemuck::try_cast_slice(octets).map_err(|_| ViewFailure::Layout)
    }

    /// The numbers of a sequence or array, one after the other, in whichever byte order and wherever they lie.
    ///
    /// # Errors
    /// Elements of another kind; bytes that are no serialization of the type; [`ViewFailure::Conversion`] in a list that was shortened.
    pub fn numbers<T: Number>(&self) -> Result<Numbers<'a, T>, ViewError> {
        self.numbers_of().map_err(|why| ViewError::at("", why))
    }

    fn numbers_of<T: Number>(&self) -> Result<Numbers<'a, T>, ViewFailure> {
        let fits = match self.ty.shape() {
            Shape::Sequence { element, .. } | Shape::Array { element, .. } => {
                are::<T>(self.ty.at(*element).shape())
            }
            _ => false,
        };
        if !fits {
            return Err(self.kind_error(T::NAME));
        }
        let mut big_endian = cfg!(target_endian = "big");
        let from = match self.list()?.from {
            Items::Octets(_, 0) => From::Octets(&[]),
            Items::Octets(Octets { mut d, .. }, count) => {
                big_endian = d.endianness() == Endianness::Big;
                d.align(size_of::<T>());
                From::Octets(d.read_bytes(count.saturating_mul(size_of::<T>()))?)
            }
            Items::Values(values) => From::Values(values.iter()),
            Items::OctetValues(octets) => From::Octets(octets),
            Items::Default(count) => From::Default(count),
            Items::Converted(_) => return Err(ViewFailure::Conversion),
        };
        Ok(Numbers { from, big_endian, what: PhantomData })
    }

    fn all_pairs(&self) -> Result<Pairs<'a>, ViewFailure> {
        let Shape::Map { key, value, bound } = self.ty.shape() else { return Err(self.kind_error("a map")) };
        let (of_key, of_value) = (self.ty.at(*key), self.ty.at(*value));
        let mut pairs = Pairs { of: self.ty, parts: (*key, *value), left: 0, from: PairsFrom::Values(&[]) };
        match &self.source {
            Source::Octets(octets) => {
                let mut d = octets.d.clone();
                let least = of_key.node.least.saturating_add(of_value.node.least);
                let kind = kind_of_pairs(of_key, of_value, &d);
                let (d, count) = d.read_elements(kind, |d| {
                    let count = d.read_count(least)?;
                    Ok((d.clone(), most(octets, *bound, count)?))
                })?;
                pairs.left = count;
                pairs.from = PairsFrom::Octets(octets.inside(d)?);
            }
            Source::Made(Value::Map(values)) => {
                (pairs.left, pairs.from) = (values.len(), PairsFrom::Values(values));
            }
            Source::Converted(value) => {
                (pairs.left, pairs.from) = (len_of(value), PairsFrom::Converted(value.clone(), 0));
            }
            _ => {}
        }
        Ok(pairs)
    }

    /// The value of a map that belongs to a key.
    pub(super) fn value_of_key(
        &self,
        step: &StepRef<'_>,
        nowhere: impl Fn() -> ViewFailure,
    ) -> Result<Option<Self>, ViewFailure> {
        let Shape::Map { key, .. } = self.ty.shape() else { return Err(nowhere()) };
        let of_key = self.ty.at(*key);
        let text = match (of_key.shape(), step) {
            (Shape::Text { wide: false, bound }, StepRef::Key(text)) => {
                let fits = bound.is_none_or(|bound| text.len() <= bound) && !text.contains('\0');
                Some(text).filter(|_| fits)
            }
            _ => None,
        };
        let wanted = match text {
            Some(_) => None,
            None => Some(key_of(of_key, &step.to_step()).ok_or_else(nowhere)?),
        };
        let mut found = None;
        for pair in self.all_pairs()? {
            let (key, value) = pair.map_err(|error| error.why)?;
            let same = match (text, &wanted) {
                (Some(text), _) => key.cow_text()? == **text,
                (None, wanted) => Some(key.value()?) == *wanted,
            };
            found = if same { Some(value) } else { found };
        }
        Ok(found)
    }
}

/// The elements of a sequence or array. Ends after an error.
#[derive(Clone)]
pub struct Elements<'a> {
    /// Starts at the next element if that is in bytes.
    list: List<'a>,
    index: usize,
    left: usize,
}

impl<'a> Elements<'a> {
    fn element(&mut self) -> Result<Option<DynamicView<'a>>, ViewFailure> {
        let List { of, element, from } = &mut self.list;
        let Items::Octets(octets, _) = from else { return self.list.at(self.index) };
        let here = octets.clone();
        skip(of.at(*element), &mut octets.d, octets.nesting)?;
        part_of(*of, *element, None, here).map(Some)
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<DynamicView<'a>, ViewError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let (index, element) = (self.index, self.element());
        self.index = index.saturating_add(1);
        if element.is_err() {
            self.left = 0;
        }
        element.map_err(|why| ViewError::at(format_args!("[{index}]"), why)).transpose()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.left))
    }
}

/// Keys and values of a map. Ends after an error.
#[derive(Clone)]
pub struct Pairs<'a> {
    of: TypeView<'a>,
    parts: (Part, Part),
    left: usize,
    from: PairsFrom<'a>,
}

#[derive(Clone)]
enum PairsFrom<'a> {
    Octets(Octets<'a>),
    Values(&'a [(Value, Value)]),
    /// From this position on.
    Converted(Converted, usize),
}

/// A key and its value.
type Pair<'a> = (DynamicView<'a>, DynamicView<'a>);

impl<'a> Pairs<'a> {
    fn pair(&mut self) -> Result<Option<Pair<'a>>, ViewFailure> {
        let (of, (key, value)) = (self.of, self.parts);
        match &mut self.from {
            PairsFrom::Values(values) => {
                let made = |part, value| DynamicView { ty: of.at(part), source: Source::Made(value) };
                let first = values.split_first().map(|(first, rest)| {
                    *values = rest;
                    (made(key, &first.0), made(value, &first.1))
                });
                Ok(first)
            }
            PairsFrom::Converted(all, position) => {
                let first = *position;
                *position = first.saturating_add(2);
                let of_key = DynamicView::converted(of.at(key), all, first);
                Ok(of_key.zip(DynamicView::converted(of.at(value), all, first.saturating_add(1))))
            }
            PairsFrom::Octets(octets) => {
                let of_key = octets.clone();
                skip(of.at(key), &mut octets.d, octets.nesting)?;
                let of_value = octets.clone();
                skip(of.at(value), &mut octets.d, octets.nesting)?;
                Ok(Some((part_of(of, key, None, of_key)?, part_of(of, value, None, of_value)?)))
            }
        }
    }
}

impl<'a> Iterator for Pairs<'a> {
    type Item = Result<Pair<'a>, ViewError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let pair = self.pair();
        if pair.is_err() {
            self.left = 0;
        }
        pair.map_err(|why| ViewError::at("", why)).transpose()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.left))
    }
}
