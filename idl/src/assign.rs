//! Which types can read data of which (XTypes 1.3 §7.2.4), with the default type consistency: bounds of strings and
//! sequences are ignored, names of members are not. Data is taken to be XCDR2, where appendable types are delimited.

use crate::check::keyword;
use crate::dump::{kind_word, type_text, value_text};
use crate::ir::*;
use std::collections::{BTreeMap, BTreeSet};

/// Whether a reader's type can read what was written with a writer's type, and if not, why.
///
/// # Errors
/// The reason.
pub fn assignable(
    reader: &Model,
    reader_type: TypeId,
    writer: &Model,
    writer_type: TypeId,
) -> Result<(), String> {
    Rules::new(reader, writer).named(reader_type, writer_type)
}

/// Compares types of two models and remembers the results.
pub(crate) struct Rules<'a> {
    reader: &'a Model,
    writer: &'a Model,
    /// Pairs that were compared, or are being compared further out and assumed to fit.
    known: BTreeMap<(TypeId, TypeId), Verdict>,
    /// Those of the pairs that fit, in the order in which they were assumed to.
    assumed: Vec<(TypeId, TypeId)>,
    depth: usize,
}

/// How deep types may be nested that are not declared before those that contain them.
const DEPTH: usize = 200;

type Verdict = Result<(), String>;

impl<'a> Rules<'a> {
    pub(crate) fn new(reader: &'a Model, writer: &'a Model) -> Self {
        Self { reader, writer, known: BTreeMap::new(), assumed: Vec::new(), depth: 0 }
    }

    fn any(&mut self, reader: &Type, writer: &Type) -> Verdict {
        if self.depth >= DEPTH {
            return Err("the types are nested too deep to be compared".to_owned());
        }
        self.depth = self.depth.saturating_add(1);
        let verdict = self.compare(reader, writer);
        self.depth = self.depth.saturating_sub(1);
        verdict
    }

    fn compare(&mut self, reader: &Type, writer: &Type) -> Verdict {
        let (r, w) = (self.reader.resolve(reader).clone(), self.writer.resolve(writer).clone());
        match (&r, &w) {
            (Type::Named(r), Type::Named(w)) => self.named(*r, *w),
            (Type::String { .. }, Type::String { .. })
            | (Type::WideString { .. }, Type::WideString { .. }) => Ok(()),
            (Type::Sequence { element: r, .. }, Type::Sequence { element: w, .. }) => {
                self.strong(&r.ty, &w.ty).map_err(|why| format!("elements: {why}"))
            }
            (Type::Array { element: r, dimensions: a }, Type::Array { element: w, dimensions: b }) => {
                if a != b {
                    return Err(self.differ(reader, writer));
                }
                self.strong(&r.ty, &w.ty).map_err(|why| format!("elements: {why}"))
            }
            (Type::Map { key: rk, value: rv, .. }, Type::Map { key: wk, value: wv, .. }) => {
                self.strong(&rk.ty, &wk.ty).map_err(|why| format!("keys: {why}"))?;
                self.strong(&rv.ty, &wv.ty).map_err(|why| format!("values: {why}"))
            }
            (integer, Type::Named(id)) => self.bits(self.writer, *id, integer, &r, &w),
            (Type::Named(id), integer) => self.bits(self.reader, *id, integer, &r, &w),
            (r, w) if r == w => Ok(()),
            _ => Err(self.differ(&r, &w)),
        }
    }

    /// A bitmask and an unsigned integer of the same size.
    fn bits(&self, model: &Model, id: TypeId, integer: &Type, reader: &Type, writer: &Type) -> Verdict {
        let size = match model.ty(id).map(|ty| &ty.kind) {
            Some(Kind::Bitmask(mask)) => holder(mask.bit_bound),
            _ => 0,
        };
        let width = match integer {
            Type::Uint8 | Type::Octet => 8,
            Type::Uint16 => 16,
            Type::Uint32 => 32,
            Type::Uint64 => 64,
            _ => 1,
        };
        if size == width { Ok(()) } else { Err(self.differ(reader, writer)) }
    }

    fn differ(&self, reader: &Type, writer: &Type) -> String {
        let (r, w) = (type_text(self.reader, reader), type_text(self.writer, writer));
        format!("`{r}` cannot read `{w}`")
    }

    /// Assignable, and what is not known can be skipped.
    fn strong(&mut self, reader: &Type, writer: &Type) -> Verdict {
        self.any(reader, writer)?;
        if self.is_delimited(writer) || crate::diff::same_type(self.reader, reader, self.writer, writer) {
            return Ok(());
        }
        let name = type_text(self.writer, writer);
        Err(format!("`{name}` is final and differs, and its end cannot be found"))
    }

    fn is_delimited(&self, writer: &Type) -> bool {
        let mut open = vec![writer];
        while let Some(ty) = open.pop() {
            match self.writer.resolve(ty) {
                Type::Sequence { element, .. } | Type::Array { element, .. } => open.push(&element.ty),
                Type::Map { key, value, .. } => open.extend([&key.ty, &value.ty]),
                Type::Named(id) => {
                    let kind = self.writer.ty(*id);
                    if let Some(TypeDef { kind: Kind::Struct(_) | Kind::Union(_), extensibility, .. }) = kind
                        && *extensibility == Extensibility::Final
                    {
                        return false;
                    }
                }
                _ => {}
            }
        }
        true
    }

    pub(crate) fn named(&mut self, reader: TypeId, writer: TypeId) -> Verdict {
        let pair = (reader, writer);
        if let Some(verdict) = self.known.get(&pair) {
            return verdict.clone();
        }
        if self.depth >= DEPTH {
            return Err("the types are nested too deep to be compared".to_owned());
        }
        let before = self.assumed.len();
        self.known.insert(pair, Ok(()));
        self.assumed.push(pair);
        self.depth = self.depth.saturating_add(1);
        let verdict = self.definitions(reader, writer);
        self.depth = self.depth.saturating_sub(1);
        if verdict.is_err() {
            // What fitted on the assumption that this does has to be looked at again.
            for pair in self.assumed.split_off(before.min(self.assumed.len())) {
                self.known.remove(&pair);
            }
            self.known.insert(pair, verdict.clone());
        }
        verdict
    }

    fn definitions(&mut self, reader: TypeId, writer: TypeId) -> Verdict {
        let (Some(r), Some(w)) = (self.reader.ty(reader), self.writer.ty(writer)) else { return Ok(()) };
        match (&r.kind, &w.kind) {
            (Kind::Alias(alias), _) => {
                let ty = alias.ty.clone();
                self.any(&ty, &Type::Named(writer))
            }
            (_, Kind::Alias(alias)) => {
                let ty = alias.ty.clone();
                self.any(&Type::Named(reader), &ty)
            }
            (Kind::Struct(_), Kind::Struct(_)) => {
                same_extensibility(r, w)?;
                let (a, b) = (self.reader.all_members(reader), self.writer.all_members(writer));
                self.members(r.extensibility, &a, &b)
            }
            (Kind::Exception(a), Kind::Exception(b)) => {
                same_extensibility(r, w)?;
                let (a, b): (Vec<&Member>, Vec<&Member>) =
                    (a.members.iter().collect(), b.members.iter().collect());
                self.members(r.extensibility, &a, &b)
            }
            (Kind::Union(a), Kind::Union(b)) => {
                same_extensibility(r, w)?;
                self.unions(r.extensibility, a, b)
            }
            (Kind::Enum(a), Kind::Enum(b)) => self.enums(r, a, w, b),
            (Kind::Bitmask(a), Kind::Bitmask(b)) if a.bit_bound == b.bit_bound => Ok(()),
            (Kind::Bitset(a), Kind::Bitset(b)) if holder(a.width) == holder(b.width) => Ok(()),
            (a, b) if kind_word(a) == kind_word(b) => {
                Err(format!("the sizes of the {}s differ", kind_word(a)))
            }
            (a, b) => Err(format!(
                "the {} `{}` cannot read the {} `{}`",
                kind_word(a),
                r.full_name,
                kind_word(b),
                w.full_name
            )),
        }
    }

    fn members(&mut self, form: Extensibility, reader: &[&Member], writer: &[&Member]) -> Verdict {
        let reader: Vec<&Member> = reader.iter().copied().filter(|member| !member.non_serialized).collect();
        let writer: Vec<&Member> = writer.iter().copied().filter(|member| !member.non_serialized).collect();
        for r in &reader {
            let other = writer.iter().find(|w| (w.name == r.name) != (w.id == r.id));
            if let Some(w) = other {
                return Err(format!(
                    "member `{}` has the id {}, `{}` of the writer the id {}",
                    r.name, r.id, w.name, w.id
                ));
            }
        }
        let find = |members: &[&Member], id: u32| members.iter().any(|member| member.id == id);
        for (own, other, side) in [(&reader, &writer, "writer"), (&writer, &reader, "reader")] {
            for member in own.iter().filter(|member| !find(other, member.id)) {
                if member.key {
                    return Err(format!("the {side} has no key member `{}`", member.name));
                }
                if member.must_understand && !member.optional {
                    return Err(format!(
                        "the {side} has no member `{}`, which must be understood",
                        member.name
                    ));
                }
            }
        }
        let common = reader.iter().any(|member| find(&writer, member.id));
        if !common && (!reader.is_empty() || !writer.is_empty()) {
            return Err("the structures have no member in common".to_owned());
        }
        if form != Extensibility::Mutable {
            self.positions(form, &reader, &writer)?;
        }
        for r in &reader {
            let Some(w) = writer.iter().find(|w| w.id == r.id) else { continue };
            self.member(form, r, w).map_err(|why| format!("member `{}`: {why}", r.name))?;
        }
        Ok(())
    }

    fn positions(&self, form: Extensibility, reader: &[&Member], writer: &[&Member]) -> Verdict {
        if form == Extensibility::Final && reader.len() != writer.len() {
            let counts = (reader.len(), writer.len());
            return Err(format!(
                "the structure is final and has {} members, the writer's {}",
                counts.0, counts.1
            ));
        }
        for (r, w) in reader.iter().zip(writer) {
            if r.id != w.id {
                return Err(format!("where the reader has `{}`, the writer has `{}`", r.name, w.name));
            }
            if r.optional != w.optional {
                return Err(format!("member `{}` is optional on one side only", r.name));
            }
        }
        Ok(())
    }

    fn member(&mut self, form: Extensibility, reader: &Member, writer: &Member) -> Verdict {
        if reader.key != writer.key {
            return Err("it is a key on one side only".to_owned());
        }
        match form {
            Extensibility::Mutable => self.any(&reader.ty, &writer.ty)?,
            _ => self.strong(&reader.ty, &writer.ty)?,
        }
        if reader.key { self.key(&reader.ty, &writer.ty) } else { Ok(()) }
    }

    /// What holds for keys in addition: nothing of the writer's may be lost.
    fn key(&self, reader: &Type, writer: &Type) -> Verdict {
        let (r, w) = (self.reader.resolve(reader), self.writer.resolve(writer));
        match (r, w) {
            (Type::String { bound: a }, Type::String { bound: b })
            | (Type::WideString { bound: a }, Type::WideString { bound: b })
            | (Type::Sequence { bound: a, .. }, Type::Sequence { bound: b, .. }) => {
                let limit = |bound: &Option<u32>| bound.unwrap_or(u32::MAX);
                if limit(a) < limit(b) {
                    return Err("the key of the writer can be longer".to_owned());
                }
            }
            (Type::Named(a), Type::Named(b)) => {
                if let (Some(Kind::Enum(a)), Some(Kind::Enum(b))) =
                    (self.reader.ty(*a).map(|ty| &ty.kind), self.writer.ty(*b).map(|ty| &ty.kind))
                    && let Some(missing) =
                        b.literals.iter().find(|l| !a.literals.iter().any(|own| own.value == l.value))
                {
                    return Err(format!("the reader has no literal `{}`", missing.name));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn enums(&self, r: &TypeDef, reader: &Enum, w: &TypeDef, writer: &Enum) -> Verdict {
        same_extensibility(r, w)?;
        if holder(reader.bit_bound) != holder(writer.bit_bound) {
            return Err(format!("`{}` has values of another size", r.full_name));
        }
        if !(reader.ignore_literal_names && writer.ignore_literal_names) {
            for a in &reader.literals {
                if let Some(b) = writer.literals.iter().find(|b| (a.name == b.name) != (a.value == b.value)) {
                    return Err(format!(
                        "literal `{}` has the value {}, `{}` of the writer the value {}",
                        a.name, a.value, b.name, b.value
                    ));
                }
            }
        }
        let values = |e: &Enum| e.literals.iter().map(|literal| literal.value).collect::<BTreeSet<i32>>();
        if r.extensibility == Extensibility::Final && values(reader) != values(writer) {
            return Err(format!("`{}` is final and has other literals", r.full_name));
        }
        Ok(())
    }

    fn unions(&mut self, form: Extensibility, reader: &Union, writer: &Union) -> Verdict {
        self.strong(&reader.discriminator, &writer.discriminator)
            .map_err(|why| format!("discriminator: {why}"))?;
        if reader.key != writer.key {
            return Err("the discriminator is a key on one side only".to_owned());
        }
        for r in &reader.cases {
            let differs = |w: &&Case| (w.member.name == r.member.name) != (w.member.id == r.member.id);
            if let Some(w) = writer.cases.iter().find(differs) {
                let (a, b) = (&r.member, &w.member);
                return Err(format!(
                    "member `{}` has the id {}, `{}` of the writer the id {}",
                    a.name, a.id, b.name, b.id
                ));
            }
        }
        let labels = |model: &Model, case: &Case| -> Vec<String> {
            // Literals are compared by name, without the type's.
            let text = |label: &Value| value_text(model, label);
            case.labels.iter().map(|label| text(label).rsplit("::").next().unwrap_or("").to_owned()).collect()
        };
        let (mut common, mut all_r, mut all_w) = (0usize, BTreeSet::new(), BTreeSet::new());
        for w in &writer.cases {
            for label in labels(self.writer, w) {
                let own = reader.cases.iter().find(|r| labels(self.reader, r).contains(&label));
                common = common.saturating_add(usize::from(own.is_some()));
                let own = own.or_else(|| reader.cases.iter().find(|r| r.is_default));
                if let Some(r) = own {
                    self.any(&r.member.ty, &w.member.ty)
                        .map_err(|why| format!("label {label}, member `{}`: {why}", r.member.name))?;
                }
                all_w.insert(label);
            }
        }
        all_r.extend(reader.cases.iter().flat_map(|case| labels(self.reader, case)));
        let defaults =
            (reader.cases.iter().find(|c| c.is_default), writer.cases.iter().find(|c| c.is_default));
        if let (Some(r), Some(w)) = defaults {
            self.any(&r.member.ty, &w.member.ty).map_err(|why| format!("default member: {why}"))?;
        }
        if let (_, Some(w)) = defaults {
            let only =
                reader.cases.iter().filter(|r| labels(self.reader, r).iter().any(|l| !all_w.contains(l)));
            for r in only {
                self.any(&r.member.ty, &w.member.ty)
                    .map_err(|why| format!("member `{}` reads the writer's default: {why}", r.member.name))?;
            }
        }
        if form == Extensibility::Final && (all_r != all_w || defaults.0.is_some() != defaults.1.is_some()) {
            return Err("the union is final and has other labels".to_owned());
        }
        if common == 0 && !(all_r.is_empty() || all_w.is_empty()) {
            return Err("the unions have no label in common".to_owned());
        }
        Ok(())
    }
}

fn same_extensibility(reader: &TypeDef, writer: &TypeDef) -> Verdict {
    if reader.extensibility == writer.extensibility {
        return Ok(());
    }
    let (r, w) = (keyword(reader.extensibility), keyword(writer.extensibility));
    Err(format!("`{}` is {r}, the writer's `{}` is {w}", reader.full_name, writer.full_name))
}

/// Bits of the integer that holds this many.
fn holder(bits: u16) -> u16 {
    match bits {
        0..=8 => 8,
        9..=16 => 16,
        17..=32 => 32,
        _ => 64,
    }
}
