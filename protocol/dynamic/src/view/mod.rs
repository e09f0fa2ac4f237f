//! Looks at serialized values without making them (DDS-XTypes 1.3 §7.4.3.5 serialization, §7.5.2.11 `DynamicData`).

mod converted;
mod error;
mod list;
mod members;
mod numbers;
mod scalar;
mod shared;
mod walk;

use alloc::string::ToString;

use converted::Converted;
use dunlin_cdr::{
    CdrError, DecodeOptions, Decoder, EncapsulationHeader, Extensibility, LimitKind, Limits, Scope,
};
pub use error::{ViewError, ViewFailure};
pub use list::{Elements, Pairs};
pub use members::Members;
pub use numbers::{Number, Numbers};
pub use scalar::FromView;
pub use shared::SharedView;
use walk::{Check, may_be_shortened};

use crate::convert::name_of;
use crate::path::{PathError, StepRef, Steps, not_there};
use crate::read::{Reader, shortened, type_limit};
use crate::types::*;
use crate::value::{Value, default_of, from_discriminator};

/// A look at a serialized value, or at a part of it: members, elements and pairs are found in the bytes when they are asked for, and
/// nothing is copied.
///
/// The type is the reader's; bytes of another version of it are seen as that, by the rules of evolution: members that the reader does
/// not know are passed over, members that the writer does not have show their defaults (DDS-XTypes 1.3 §7.6.3.4). What is seen is what
/// [`DynamicData`](crate::DynamicData) would have.
///
/// A member of a final or appendable structure behind members of fixed size is reached in one step, as is an element of fixed size;
/// other members and elements before it are passed over one by one. What has a DHEADER or a member header is passed over as a whole.
/// To look at all elements or members, use the iterators.
///
/// A list or map that is shortened because of `@try_construct(TRIM)`, and that holds parts that do not fit their types, is decoded when it is
/// looked at, with what is in it.
///
/// Bytes that are not looked at are not checked either, unless [`check`](Self::check) does so.
///
/// ```
/// use dunlin_cdr::{DdsType, Representation, to_payload};
/// use dunlin_dynamic::{DynamicType, DynamicView};
///
/// #[derive(DdsType)]
/// struct Scan {
///     #[dds(key)]
///     name: String,
///     ranges: Vec<f32>,
/// }
///
/// let (graph, scan) = dunlin_xtypes::from_description(dunlin_cdr::description::<Scan>());
/// let ty = DynamicType::new(graph, scan)?;
/// let mut payload = Vec::new();
/// to_payload(&Scan { name: "front".into(), ranges: vec![0.5, 2.0] }, Representation::Xcdr1, &mut payload)?;
/// let scan = DynamicView::new(&ty, &payload)?;
/// assert_eq!(scan.read::<&str>("name")?, Some("front"));
/// assert_eq!(scan.read::<f32>("ranges[1]")?, Some(2.0));
/// let ranges = scan.get("ranges")?.expect("not optional");
/// assert!(ranges.numbers::<f32>()?.eq([0.5, 2.0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct DynamicView<'a> {
    ty: TypeView<'a>,
    source: Source<'a>,
}

#[derive(Clone)]
enum Source<'a> {
    Octets(Octets<'a>),
    /// (A part of) the default that a member has of its own.
    Made(&'a Value),
    /// A byte of such a default, or a discriminator of one.
    Number(i64),
    /// A discriminator that stands in the bytes.
    Received(i64),
    /// The default of the type.
    Default,
    /// What was made of bytes that say something else.
    Converted(Converted),
}

/// Where a value starts.
#[derive(Clone)]
struct Octets<'a> {
    d: Decoder<'a>,
    /// Levels that may follow.
    nesting: u16,
    /// Whether `@key` counts, as in [`Reader`].
    keys: bool,
    /// The value may be longer than its type allows, and is shortened then.
    any_length: bool,
}

impl<'a> Octets<'a> {
    /// The same decoder inside of a value.
    fn inside(&self, d: Decoder<'a>) -> Result<Self, CdrError> {
        let nesting = self.nesting.checked_sub(1).ok_or(type_limit(LimitKind::Depth))?;
        Ok(Self { d, nesting, keys: self.keys, any_length: false })
    }

    fn enter(&self, extensibility: Extensibility) -> Result<Self, CdrError> {
        self.inside(self.d.clone().read_struct(extensibility, |d| Ok(d.clone()))?)
    }
}

/// What a part is: in the bytes, unless something else takes its place (§7.2.2.4.4.4.7).
fn part_of<'a>(
    of: TypeView<'a>,
    part: Part,
    own: Option<&'a Value>,
    octets: Octets<'a>,
) -> Result<DynamicView<'a>, ViewFailure> {
    let (ty, how) = (of.at(part), part.try_construct());
    if how == TryConstruct::Discard || matches!(ty.shape(), Shape::Primitive(_) | Shape::Bits(_)) {
        return Ok(DynamicView { ty, source: Source::Octets(octets) });
    }
    let trims = how == TryConstruct::Trim;
    let check = |lenient, any_length| {
        let (nesting, keys) = (octets.nesting, octets.keys);
        Check { nesting, lenient, any_length, keys }.value(ty, &mut octets.d.clone())
    };
    match check(false, trims) {
        Ok(()) => {
            return Ok(DynamicView { ty, source: Source::Octets(Octets { any_length: trims, ..octets }) });
        }
        Err(error) if error.is_construction_failure() => check(true, false)?,
        Err(error) => return Err(error.into()),
    }
    if !may_be_shortened(ty, how) {
        return Ok(DynamicView::default_of_part(ty, own));
    }
    // Whether what is left fits is not seen before it is made.
    let mut reader = Reader { nesting: octets.nesting, lenient: false, any_length: false, keys: octets.keys };
    let value = reader.part_or(of, part, own, &mut octets.d.clone())?;
    Ok(DynamicView { ty, source: Source::Converted(Converted::new(value)) })
}

impl<'a> DynamicView<'a> {
    /// A view of a payload with encapsulation header, of any representation and byte order.
    ///
    /// # Errors
    /// A payload without such a header, or of a type of another extensibility.
    pub fn new(ty: &'a DynamicType, payload: &'a [u8]) -> Result<Self, CdrError> {
        Self::with_options(ty, payload, &Limits::default(), DecodeOptions::default())
    }

    /// A view of a payload of a writer with the given deviations, like [`DynamicView::new`].
    ///
    /// # Errors
    /// As [`DynamicView::new`].
    pub fn with_options(
        ty: &'a DynamicType,
        payload: &'a [u8],
        limits: &Limits,
        options: DecodeOptions,
    ) -> Result<Self, CdrError> {
        let d = Decoder::from_payload(payload, ty.view().extensibility(), limits)?;
        Ok(Self::of_decoder(ty, d.with_options(options)))
    }

    /// A view of a serialized key: members that are no key have their defaults.
    ///
    /// # Errors
    /// As [`DynamicView::new`].
    pub fn of_key(
        ty: &'a DynamicType,
        payload: &'a [u8],
        limits: &Limits,
        options: DecodeOptions,
    ) -> Result<Self, CdrError> {
        if !ty.is_keyed() {
            EncapsulationHeader::parse(payload)?.0.form()?;
            return Ok(Self { ty: ty.view(), source: Source::Default });
        }
        let d = Decoder::from_payload(payload, ty.view().extensibility(), limits)?;
        Ok(Self::of_decoder(ty, d.with_scope(Scope::Key).with_options(options)))
    }

    fn of_decoder(ty: &'a DynamicType, d: Decoder<'a>) -> Self {
        let Reader { nesting, keys, .. } = Reader::new(ty.view());
        let octets = Octets { d, nesting, keys, any_length: false };
        Self { ty: ty.view(), source: Source::Octets(octets) }
    }

    fn default_of_part(ty: TypeView<'a>, own: Option<&'a Value>) -> Self {
        Self { ty, source: own.map_or(Source::Default, Source::Made) }
    }

    /// The type of what is looked at.
    #[must_use]
    pub fn type_view(&self) -> TypeView<'a> {
        self.ty
    }

    /// A part of what was made, by its number there.
    fn converted(ty: TypeView<'a>, value: &Converted, at: usize) -> Option<Self> {
        value.part(at).map(|part| Self { ty, source: Source::Converted(part) })
    }

    /// Whether it stands in the bytes, and is no default or shortened list that takes the place of what the writer had.
    #[must_use]
    pub const fn is_received(&self) -> bool {
        matches!(self.source, Source::Octets(_) | Source::Received(_))
    }

    /// Checks everything that decoding would check, so that no part fails later. Makes nothing.
    ///
    /// # Errors
    /// Bytes that are no serialization of the type, or a limit reached. Memory is not needed, and its limit not reached, but where
    /// values have no bytes or a list is shortened of which parts do not fit.
    pub fn check(&self) -> Result<(), CdrError> {
        let Source::Octets(octets) = &self.source else { return Ok(()) };
        let Octets { nesting, keys, any_length, .. } = *octets;
        Check { nesting, lenient: false, any_length, keys }.value(self.ty, &mut octets.d.clone())
    }

    /// The part at a path, as [`DynamicData::part`](crate::DynamicData::part) finds it; `None` if it is absent. The discriminator of a
    /// union is `_d`.
    ///
    /// # Errors
    /// A path that the type does not have, an index beyond the end, bytes on the way that are no serialization of the type.
    pub fn get(&self, path: &str) -> Result<Option<Self>, ViewError> {
        self.find(path).map_err(|why| ViewError::at(path, why))
    }

    /// Reads the part at a path: a number, a boolean, a `&str`, bytes, or any [`Value`]. `None` if it is absent.
    ///
    /// # Errors
    /// As [`DynamicView::get`]; a part of another kind, or a number beyond the range of the Rust type.
    pub fn read<T: FromView<'a>>(&self, path: &str) -> Result<Option<T>, ViewError> {
        let Some(part) = self.get(path)? else { return Ok(None) };
        T::from_view(&part).map(Some).map_err(|error| error.behind(path))
    }

    fn find(&self, path: &str) -> Result<Option<Self>, ViewFailure> {
        // A path that is none leads nowhere, whatever it starts with.
        Steps::new(path).try_for_each(|step| step.map(drop))?;
        let mut steps = Steps::new(path).map_while(Result::ok).peekable();
        let mut part = self.clone();
        while let Some(step) = steps.next() {
            match part.step(&step)? {
                Some(next) => part = next,
                None if steps.peek().is_none() => return Ok(None),
                None => return Err(PathError::Absent { step: step.to_step().to_string() }.into()),
            }
        }
        Ok(Some(part))
    }

    fn step(&self, step: &StepRef<'_>) -> Result<Option<Self>, ViewFailure> {
        let nowhere = || ViewFailure::Path(not_there(self.ty, &step.to_step()));
        match (self.ty.shape(), step) {
            (Shape::Structure(it), StepRef::Member(name)) => {
                self.member_at(it, it.position(name).ok_or_else(nowhere)?)
            }
            (Shape::Union(it), StepRef::Member(DISCRIMINATOR)) => {
                let (number, received) = self.discriminator_of(it)?;
                let source = if received { Source::Received(number) } else { Source::Number(number) };
                Ok(Some(Self { ty: self.ty.at(it.discriminator), source }))
            }
            (Shape::Union(it), StepRef::Member(name)) => {
                let wanted = it.cases.iter().find(|case| case.name == *name).ok_or_else(nowhere)?;
                let held = self.union(it)?.1.filter(|(case, _)| core::ptr::eq(*case, wanted));
                Ok(held.map(|(_, member)| member))
            }
            (Shape::Sequence { .. } | Shape::Array { .. }, StepRef::Index(index)) => {
                let list = self.list()?;
                let (index, len) = (usize::try_from(*index).unwrap_or(usize::MAX), list.len());
                list.at(index)?.ok_or(PathError::Index { index, len }.into()).map(Some)
            }
            (Shape::Map { .. }, StepRef::Index(_) | StepRef::Key(_)) => self.value_of_key(step, nowhere),
            _ => Err(nowhere()),
        }
    }

    /// The value of this part.
    ///
    /// # Errors
    /// Bytes that are no serialization of the type.
    pub fn to_value(&self) -> Result<Value, ViewError> {
        self.value().map_err(|why| ViewError::at("", why))
    }

    fn value(&self) -> Result<Value, ViewFailure> {
        match &self.source {
            Source::Octets(octets) => {
                let Octets { nesting, keys, any_length, .. } = *octets;
                let mut reader = Reader { nesting, lenient: false, any_length, keys };
                let value = reader.value(self.ty, &mut octets.d.clone())?;
                Ok(if any_length { shortened(self.ty, value) } else { value })
            }
            Source::Made(value) => Ok((*value).clone()),
            Source::Converted(value) => Ok(Value::clone(value)),
            Source::Number(number) | Source::Received(number) => {
                from_discriminator(self.ty, *number).ok_or(CdrError::ForeignType.into())
            }
            Source::Default => Ok(default_of(self.ty)),
        }
    }

    /// That this part is of another kind.
    fn kind_error(&self, wanted: &'static str) -> ViewFailure {
        ViewFailure::Kind { is: name_of(self.ty), wanted }
    }
}

impl core::fmt::Debug for DynamicView<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.value() {
            Ok(value) => value.fmt(f),
            Err(why) => ViewError::at("", why).fmt(f),
        }
    }
}
