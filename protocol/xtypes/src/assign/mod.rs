//! Which types can read what was written with which (DDS-XTypes 1.3 §7.2.4), under every option of
//! TYPE_CONSISTENCY_ENFORCEMENT (§7.6.3.7).
//!
//! Work is bounded whatever the types are: nesting by [`MAX_DEPTH`], comparisons by [`MAX_STEPS`]; types beyond are not
//! assignable.

mod octets;
mod structure;
mod union;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use dunlin_cdr::{Extensibility, Representation};
use dunlin_qos::{TypeConsistencyEnforcement, TypeConsistencyKind};

use crate::TypeIdentifier;
use crate::build::{identifier_of, minimal_identifiers, type_objects};
use crate::identifier::kind;
use crate::model::{Definition, Element, Enumeration, Kind, Type, TypeGraph, TypeIndex, type_flag};

/// Nesting of types up to which they are compared.
pub const MAX_DEPTH: usize = 64;
/// Comparisons of members, cases and literals that one question may cost.
pub const MAX_STEPS: usize = 1 << 16;
/// Differences that are told.
const MAX_MISMATCHES: usize = 32;

/// A difference that keeps a type from reading another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Members from the outermost inwards, with dots; empty for the type itself.
    pub path: String,
    /// What is wrong there.
    pub reason: String,
    /// It is the extensibility that differs, which no change of members mends.
    pub extensibility: bool,
}

impl Mismatch {
    /// A difference in the type itself.
    #[must_use]
    pub fn of_type(reason: impl Into<String>) -> Self {
        Self { path: String::new(), reason: reason.into(), extensibility: false }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.reason)
        } else {
            write!(f, "{}: {}", self.path, self.reason)
        }
    }
}

/// A type in the graph that defines what it depends on.
#[derive(Clone, Copy, Debug)]
pub struct TypeIn<'a> {
    /// The graph.
    pub graph: &'a TypeGraph,
    /// The type.
    pub index: TypeIndex,
}

/// Whether a reader's type can read what is written with a writer's type in a representation.
///
/// # Errors
/// The differences that prevent it, at most 32; at least one.
pub fn assignable(
    reader: TypeIn<'_>,
    writer: TypeIn<'_>,
    policy: &TypeConsistencyEnforcement,
    representation: Representation,
) -> Result<(), Vec<Mismatch>> {
    let (reader, of_reader) = (Side::new(reader), reader.index);
    let (writer, of_writer) = (Side::new(writer), writer.index);
    Rules::new(reader, writer, policy, representation).question(of_reader, of_writer)
}

/// Answers questions about many types of two graphs: what is found out once is remembered.
pub struct Comparison<'a> {
    rules: Rules<'a>,
}

impl<'a> Comparison<'a> {
    /// Of readers' types with writers' types.
    #[must_use]
    pub fn new(
        reader: &'a TypeGraph,
        writer: &'a TypeGraph,
        policy: &'a TypeConsistencyEnforcement,
        representation: Representation,
    ) -> Self {
        Self { rules: Rules::new(Side::all(reader), Side::all(writer), policy, representation) }
    }

    /// As [`assignable`], with the same bounds for each question.
    ///
    /// # Errors
    /// The differences.
    pub fn assignable(&mut self, reader: TypeIndex, writer: TypeIndex) -> Result<(), Vec<Mismatch>> {
        self.rules.steps = 0;
        self.rules.question(reader, writer)
    }
}

type Verdict = Result<(), Vec<Mismatch>>;

fn one(reason: impl Into<String>) -> Vec<Mismatch> {
    alloc::vec![Mismatch::of_type(reason)]
}

/// What keys mean where types are compared (§7.2.4.4.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Keys {
    /// In the topic type: they have to agree.
    Count,
    /// In members that are no key: nothing.
    Erased,
    /// In members that are key: only key members are looked at, or all if none is marked.
    Alone,
}

/// A type with the identifiers of all that it depends on.
struct Side<'a> {
    graph: &'a TypeGraph,
    minimal: Vec<Option<TypeIdentifier>>,
}

impl<'a> Side<'a> {
    fn new(ty: TypeIn<'a>) -> Self {
        let mut minimal = alloc::vec![None; ty.graph.len()];
        let graph = octets::unified(ty.graph);
        // A type without objects equals no other.
        for record in type_objects(&graph, ty.index).map(|objects| objects.records).unwrap_or_default() {
            if let Some(slot) = minimal.get_mut(record.index.0) {
                *slot = Some(record.minimal.id);
            }
        }
        Self { graph: ty.graph, minimal }
    }

    /// Of all types of a graph.
    fn all(graph: &'a TypeGraph) -> Self {
        Self { graph, minimal: minimal_identifiers(&octets::unified(graph)) }
    }

    fn name(&self, index: TypeIndex) -> String {
        match self.graph.get(index) {
            Some(Definition { name, .. }) if !name.is_empty() => name.clone(),
            _ => String::from("the type"),
        }
    }
}

struct Rules<'a> {
    reader: Side<'a>,
    writer: Side<'a>,
    policy: &'a TypeConsistencyEnforcement,
    representation: Representation,
    /// Pairs that were compared, or are being compared further out and assumed to fit.
    known: BTreeMap<(TypeIndex, TypeIndex, Keys), Verdict>,
    /// Those that fit, in the order in which they were assumed to.
    assumed: Vec<(TypeIndex, TypeIndex, Keys)>,
    depth: usize,
    steps: usize,
}

impl<'a> Rules<'a> {
    fn new(
        reader: Side<'a>,
        writer: Side<'a>,
        policy: &'a TypeConsistencyEnforcement,
        representation: Representation,
    ) -> Self {
        let (known, assumed) = (BTreeMap::new(), Vec::new());
        Self { reader, writer, policy, representation, known, assumed, depth: 0, steps: 0 }
    }

    fn question(&mut self, reader: TypeIndex, writer: TypeIndex) -> Verdict {
        if self.policy.kind == TypeConsistencyKind::DisallowTypeCoercion {
            let same = self.same(&Type::Named(reader), &Type::Named(writer));
            let reason = "the types differ, and the reader allows no other than its own";
            return if same { Ok(()) } else { Err(one(reason)) };
        }
        self.named(reader, writer, Keys::Count)
    }

    /// Counts work.
    fn step(&mut self, steps: usize) -> Verdict {
        self.steps = self.steps.saturating_add(steps);
        if self.steps > MAX_STEPS { Err(one("the types are too large to be compared")) } else { Ok(()) }
    }

    /// Whether two types are equivalent: have the same minimal identifiers (§7.3.4.7).
    fn same(&self, reader: &Type, writer: &Type) -> bool {
        let reader = identifier_of(self.reader.graph.resolve(reader), &self.reader.minimal);
        reader.is_some() && reader == identifier_of(self.writer.graph.resolve(writer), &self.writer.minimal)
    }

    fn any(&mut self, reader: &Type, writer: &Type, keys: Keys) -> Verdict {
        if self.depth >= MAX_DEPTH {
            return Err(one("the types are nested too deep to be compared"));
        }
        self.step(1)?;
        self.depth = self.depth.saturating_add(1);
        let verdict = self.compare(reader, writer, keys);
        self.depth = self.depth.saturating_sub(1);
        verdict
    }

    fn compare(&mut self, reader: &Type, writer: &Type, keys: Keys) -> Verdict {
        let (reader_graph, writer_graph) = (self.reader.graph, self.writer.graph);
        let (r, w) = (reader_graph.resolve(reader), writer_graph.resolve(writer));
        match (r, w) {
            (Type::Named(r), Type::Named(w)) => self.named(*r, *w, keys),
            (Type::String { wide: a, bound: r }, Type::String { wide: b, bound: w }) if a == b => {
                self.bounds("string", self.policy.ignore_string_bounds, *r, *w)
            }
            (Type::Sequence { element: a, bound: r }, Type::Sequence { element: b, bound: w }) => {
                self.bounds("sequence", self.policy.ignore_sequence_bounds, *r, *w)?;
                self.element("elements", a, b, keys)
            }
            (Type::Array { element: a, dimensions: r }, Type::Array { element: b, dimensions: w }) => {
                if r != w {
                    return Err(one(format!("the array has the dimensions {r:?}, that of the writer {w:?}")));
                }
                self.element("elements", a, b, keys)
            }
            (Type::Map { key: rk, value: rv, bound: r }, Type::Map { key: wk, value: wv, bound: w }) => {
                self.bounds("map", self.policy.ignore_sequence_bounds, *r, *w)?;
                self.element("keys", rk, wk, keys)?;
                self.element("values", rv, wv, keys)
            }
            (Type::Primitive(r), Type::Primitive(w)) if octets::same(*r, *w) && *r != kind::NONE => Ok(()),
            (Type::Primitive(it), Type::Named(bits)) if is_bitmask(writer_graph, *bits, *it) => Ok(()),
            (Type::Named(bits), Type::Primitive(it)) if is_bitmask(reader_graph, *bits, *it) => Ok(()),
            (r, w) => {
                Err(one(format!("`{}` cannot read `{}`", text(reader_graph, r), text(writer_graph, w))))
            }
        }
    }

    /// 0 is no bound.
    fn bounds(&self, what: &str, ignored: bool, reader: u32, writer: u32) -> Verdict {
        let limit = |bound: u32| if bound == 0 { u32::MAX } else { bound };
        if ignored || limit(reader) >= limit(writer) {
            return Ok(());
        }
        let bound = |bound: u32| if bound == 0 { String::from("no limit") } else { bound.to_string() };
        let (reader, writer) = (bound(reader), bound(writer));
        Err(one(format!("the {what} holds {reader}, that of the writer {writer}")))
    }

    fn element(&mut self, what: &str, reader: &Element, writer: &Element, keys: Keys) -> Verdict {
        self.strong(&reader.ty, &writer.ty, keys).map_err(|found| within(what, found))?;
        let kinds = (self.reader.graph.resolve(&reader.ty), self.writer.graph.resolve(&writer.ty));
        // Lists of bitmasks have a DHEADER in XCDR2 (§7.4.3.5.3), lists of integers have none.
        if matches!(kinds, (Type::Primitive(_), Type::Named(_)) | (Type::Named(_), Type::Primitive(_)))
            && self.representation == Representation::Xcdr2
        {
            let found = one("lists of bitmasks and of integers differ in their bytes");
            return Err(within(what, found));
        }
        Ok(())
    }

    /// Strongly assignable (§7.2.4.3): assignable, and what is not known can be skipped.
    fn strong(&mut self, reader: &Type, writer: &Type, keys: Keys) -> Verdict {
        self.step(weight(reader).saturating_add(weight(writer)))?;
        if self.same(reader, writer) {
            return Ok(());
        }
        self.any(reader, writer, keys)?;
        if self.is_delimited(writer, MAX_DEPTH) {
            return Ok(());
        }
        let name = text(self.writer.graph, writer);
        Err(one(format!("`{name}` differs, and where its values end cannot be found in the data")))
    }

    /// Whether values of a type end where the data says (§7.2.4.2). Aliases may fan out, so this counts as work.
    fn is_delimited(&mut self, writer: &Type, depth: usize) -> bool {
        let (Some(depth), true) = (depth.checked_sub(1), self.step(1).is_ok()) else { return false };
        let graph = self.writer.graph;
        match graph.resolve(writer) {
            Type::Sequence { element, .. } | Type::Array { element, .. } => {
                self.is_delimited(&element.ty, depth)
            }
            Type::Map { key, value, .. } => {
                self.is_delimited(&key.ty, depth) && self.is_delimited(&value.ty, depth)
            }
            Type::Named(index) => match graph.get(*index) {
                Some(it @ Definition { kind: Kind::Structure(_) | Kind::Union(_), .. }) => {
                    match it.extensibility() {
                        Extensibility::Final => false,
                        Extensibility::Appendable => self.representation == Representation::Xcdr2,
                        Extensibility::Mutable => true,
                    }
                }
                _ => true,
            },
            Type::Primitive(_) | Type::String { .. } => true,
        }
    }

    fn named(&mut self, reader: TypeIndex, writer: TypeIndex, keys: Keys) -> Verdict {
        let pair = (reader, writer, keys);
        if let Some(verdict) = self.known.get(&pair) {
            return verdict.clone();
        }
        if self.same(&Type::Named(reader), &Type::Named(writer)) {
            return Ok(());
        }
        let before = self.assumed.len();
        self.known.insert(pair, Ok(()));
        self.assumed.push(pair);
        let verdict = self.definitions(reader, writer, keys);
        if verdict.is_err() {
            // What fitted on the assumption that this does has to be looked at again.
            for pair in self.assumed.split_off(before.min(self.assumed.len())) {
                self.known.remove(&pair);
            }
            self.known.insert(pair, verdict.clone());
        }
        verdict
    }

    fn definitions(&mut self, reader: TypeIndex, writer: TypeIndex, keys: Keys) -> Verdict {
        let (reader_graph, writer_graph) = (self.reader.graph, self.writer.graph);
        let (Some(r), Some(w)) = (reader_graph.get(reader), writer_graph.get(writer)) else {
            return Err(one("the type is not known in full"));
        };
        match (&r.kind, &w.kind) {
            (Kind::Alias(it), _) => self.any(&it.ty, &Type::Named(writer), keys),
            (_, Kind::Alias(it)) => self.any(&Type::Named(reader), &it.ty, keys),
            (Kind::Structure(_), Kind::Structure(_)) => {
                self.same_extensibility(r, w)?;
                self.structures(reader, writer, r.extensibility(), keys)
            }
            (Kind::Union(a), Kind::Union(b)) => {
                self.same_extensibility(r, w)?;
                self.unions(r.extensibility(), a, b, keys)
            }
            (Kind::Enumeration(a), Kind::Enumeration(b)) => {
                // Annex B gives enumerations no flags, and implementations differ in what they set.
                let either = |it: &Definition| it.extensibility() == Extensibility::Final;
                self.enumerations(either(r) || either(w), a, b)
            }
            (Kind::Bitmask(a), Kind::Bitmask(b)) if a.bit_bound == b.bit_bound => Ok(()),
            (Kind::Bitset(a), Kind::Bitset(b)) if width(a) == width(b) => Ok(()),
            (a, b) if word(a) == word(b) => {
                Err(one(format!("the {}s have different numbers of bits", word(a))))
            }
            (a, b) => Err(one(format!(
                "the {} {} cannot read the {} {}",
                word(a),
                self.reader.name(reader),
                word(b),
                self.writer.name(writer)
            ))),
        }
    }

    fn same_extensibility(&self, reader: &Definition, writer: &Definition) -> Verdict {
        let flags = type_flag::FINAL | type_flag::APPENDABLE | type_flag::MUTABLE;
        if reader.flags & flags == writer.flags & flags {
            return Ok(());
        }
        let (r, w) = (reader.extensibility(), writer.extensibility());
        let reason = format!("the type is {r}, that of the writer {w}");
        Err(alloc::vec![Mismatch { extensibility: true, ..Mismatch::of_type(reason) }])
    }

    fn enumerations(&mut self, is_final: bool, reader: &Enumeration, writer: &Enumeration) -> Verdict {
        self.step(reader.literals.len().saturating_add(writer.literals.len()))?;
        if holder(reader.bit_bound) != holder(writer.bit_bound) {
            return Err(one("the values of the enumeration have another size"));
        }
        let values: BTreeMap<i32, _> = writer.literals.iter().map(|it| (it.value, &it.name)).collect();
        let names: BTreeMap<_, i32> = writer.literals.iter().map(|it| (it.name.hash, it.value)).collect();
        let names_count = !(reader.ignore_literal_names && writer.ignore_literal_names);
        for literal in reader.literals.iter().filter(|_| names_count) {
            let other_name = values.get(&literal.value).is_some_and(|name| name.hash != literal.name.hash);
            let other_value = names.get(&literal.name.hash).is_some_and(|value| *value != literal.value);
            if other_name || other_value {
                return Err(one(format!("literal {} has another value or name", literal.name)));
            }
        }
        let own: Vec<i32> = sorted(reader.literals.iter().map(|it| it.value));
        if is_final && own != sorted(writer.literals.iter().map(|it| it.value)) {
            return Err(one("the enumeration is final and has other literals"));
        }
        Ok(())
    }
}

/// What it takes to make the identifier of a type.
fn weight(ty: &Type) -> usize {
    let inner = match ty {
        Type::Sequence { element, .. } => weight(&element.ty),
        Type::Array { element, dimensions } => weight(&element.ty).saturating_add(dimensions.len()),
        Type::Map { key, value, .. } => weight(&key.ty).saturating_add(weight(&value.ty)),
        Type::Primitive(_) | Type::String { .. } | Type::Named(_) => 0,
    };
    inner.saturating_add(1)
}

fn sorted<T: Ord>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut values: Vec<T> = values.collect();
    values.sort_unstable();
    values.dedup();
    values
}

/// Bytes of a path beyond which outer members are left out of it.
const MAX_PATH: usize = 512;

/// Puts differences into a member.
fn within(name: &str, found: Vec<Mismatch>) -> Vec<Mismatch> {
    let inner = |it: Mismatch| {
        let path = match it.path.len() {
            0 => String::from(name),
            len if len > MAX_PATH => it.path,
            _ => format!("{name}.{}", it.path),
        };
        Mismatch { path, ..it }
    };
    found.into_iter().map(inner).collect()
}

/// A bitmask and an unsigned integer of its size.
fn is_bitmask(graph: &TypeGraph, index: TypeIndex, integer: u8) -> bool {
    let size = match graph.get(index).map(|it| &it.kind) {
        Some(Kind::Bitmask(it)) => holder(it.bit_bound),
        _ => 0,
    };
    let width = match integer {
        kind::UINT8 | kind::BYTE => 8,
        kind::UINT16 => 16,
        kind::UINT32 => 32,
        kind::UINT64 => 64,
        _ => 1,
    };
    size == width
}

/// Bits of the integer that holds this many.
const fn holder(bits: u16) -> u16 {
    match bits {
        0..=8 => 8,
        9..=16 => 16,
        17..=32 => 32,
        _ => 64,
    }
}

fn width(bitset: &crate::model::Bitset) -> u16 {
    let ends = bitset.fields.iter().map(|field| field.position.saturating_add(field.width.into()));
    holder(ends.max().unwrap_or(0).max(bitset.width))
}

const fn word(kind: &Kind) -> &'static str {
    match kind {
        Kind::Structure(_) => "structure",
        Kind::Union(_) => "union",
        Kind::Enumeration(_) => "enumeration",
        Kind::Bitmask(_) => "bitmask",
        Kind::Bitset(_) => "bitset",
        Kind::Alias(_) => "alias",
    }
}

/// A type in words.
fn text(graph: &TypeGraph, ty: &Type) -> String {
    match ty {
        Type::Primitive(primitive) => String::from(crate::print::primitive_name(*primitive)),
        Type::Named(index) => match graph.get(*index) {
            Some(it) if !it.name.is_empty() => it.name.clone(),
            Some(it) => String::from(word(&it.kind)),
            None => String::from("?"),
        },
        Type::String { wide: false, .. } => String::from("string"),
        Type::String { wide: true, .. } => String::from("wstring"),
        Type::Sequence { .. } => String::from("sequence"),
        Type::Array { .. } => String::from("array"),
        Type::Map { .. } => String::from("map"),
    }
}
