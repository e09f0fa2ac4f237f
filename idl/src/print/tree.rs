//! Types known at run time as a syntax tree.

mod said;

use std::collections::BTreeSet;

use dunlin_xtypes::identifier::kind;
use dunlin_xtypes::model::{self, AnnotationIndex, Kind, Part, TypeIndex, member_flag, type_flag};
use dunlin_xtypes::object::annotation::AnnotationParameterValue as Parameter;
use dunlin_xtypes::{TypeGraph, to_idl};

use super::xml;
use crate::diagnostic::Sink;
use crate::source::{FileId, Span};
use crate::syntax::ast::*;
use crate::{Extensibility, Memory, Options, Severity, compile};

/// Types inside one another up to which they are written.
const MAX_DEPTH: usize = 200;

const NOWHERE: Span = Span { file: FileId(u32::MAX), start: 0, end: 0 };

/// A type and all that it depends on as XML (DDS-XTypes 1.3 §7.3.2).
///
/// # Errors
/// What XML cannot say of it: names that are not known, because the type came as a minimal object, arrays in collections
/// that have no name.
pub(crate) fn to_xml(graph: &TypeGraph, root: TypeIndex) -> Result<String, String> {
    let mut tree = Tree::new(graph);
    tree.visit(root, true, 0)?;
    while let Some(index) = tree.later.pop() {
        tree.visit(index, true, 0)?;
    }
    let facts = super::Facts {
        keys: Default::default(),
        topics: Default::default(),
        default_extensibility: Extensibility::Appendable,
    };
    let mut sink = Sink::new(1);
    let text = xml::print(&tree.out, &facts, &mut sink);
    // Names come from others, and could make another type of it.
    let result = compile("type.xml", &Options::default(), &Memory::default().with("type.xml", text.as_str()));
    let Some(model) = &result.model else {
        let error = result.diagnostics.iter().find(|it| it.severity == Severity::Error);
        return Err(format!("XML cannot say what it is: {}", error.map_or("", |it| &it.message)));
    };
    let (made, _) = crate::xtypes::type_graph(model);
    let name = graph.get(root).map_or("", |it| &it.name);
    match made.find(name).map(|index| to_idl(&made, index)) {
        Some(idl) if idl == to_idl(graph, root) => Ok(text),
        _ => Err("XML cannot say all of it".to_owned()),
    }
}

struct Tree<'a> {
    graph: &'a TypeGraph,
    out: Vec<Definition>,
    /// What is written.
    done: BTreeSet<TypeIndex>,
    /// Aliases of which all that their values contain is written.
    whole: BTreeSet<TypeIndex>,
    /// Structures and unions that are being written.
    open: BTreeSet<TypeIndex>,
    announced: BTreeSet<TypeIndex>,
    /// What was announced and has to be written.
    later: Vec<TypeIndex>,
    /// Annotations that are declared.
    declared: BTreeSet<AnnotationIndex>,
}

impl<'a> Tree<'a> {
    fn new(graph: &'a TypeGraph) -> Self {
        let (done, whole, open, announced, declared) = Default::default();
        Self { graph, out: Vec::new(), done, whole, open, announced, later: Vec::new(), declared }
    }
}

/// How much of a type has to be written before it can be referred to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    /// Its name: it is in a sequence, or may be absent.
    Name,
    /// All of it, if values of what refers to it are inside of something.
    Inside,
    /// All of it: it is in an array.
    Whole,
}

/// The types that a definition refers to.
fn needs(definition: &model::Definition) -> Vec<(TypeIndex, Need)> {
    let mut needs = Vec::new();
    let of = |member: &model::Member| match member.flags & (member_flag::OPTIONAL | member_flag::EXTERNAL) {
        0 => Need::Inside,
        _ => Need::Name,
    };
    match &definition.kind {
        Kind::Structure(it) => {
            needs.extend(it.base.map(|base| (base, Need::Inside)));
            it.members.iter().for_each(|member| named(&member.ty, of(member), &mut needs));
        }
        Kind::Union(it) => {
            named(&it.discriminator.ty, Need::Inside, &mut needs);
            it.cases.iter().for_each(|case| named(&case.member.ty, of(&case.member), &mut needs));
        }
        Kind::Alias(it) => named(&it.ty, Need::Inside, &mut needs),
        _ => {}
    }
    needs
}

fn named(ty: &model::Type, need: Need, needs: &mut Vec<(TypeIndex, Need)>) {
    match ty {
        model::Type::Named(index) => needs.push((*index, need)),
        model::Type::Sequence { element, .. } => named(&element.ty, Need::Name, needs),
        // Arrays need whole elements, wherever they are.
        model::Type::Array { element, .. } => named(&element.ty, Need::Whole, needs),
        model::Type::Map { key, value, .. } => {
            named(&key.ty, Need::Name, needs);
            named(&value.ty, Need::Name, needs);
        }
        _ => {}
    }
}

/// The name without its scope.
fn last(name: &str) -> Ident {
    ident(name.rsplit("::").next().unwrap_or(""))
}

fn ident(name: &str) -> Ident {
    Ident { name: name.into(), span: NOWHERE }
}

fn global(name: &str) -> ScopedName {
    ScopedName { global: true, parts: name.split("::").map(ident).collect(), span: NOWHERE }
}

fn value(kind: ExprKind) -> Expr {
    Expr { kind, span: NOWHERE }
}

fn integer(number: i128) -> Expr {
    let magnitude = value(ExprKind::Integer(u64::try_from(number.unsigned_abs()).unwrap_or(u64::MAX)));
    if number < 0 { value(ExprKind::Unary('-', Box::new(magnitude))) } else { magnitude }
}

fn bound(bound: u32) -> Option<Expr> {
    (bound != 0).then(|| integer(bound.into()))
}

fn note(name: &str, argument: Option<Expr>) -> Annotation {
    let args = argument.into_iter().map(|value| Argument { name: None, value }).collect();
    Annotation {
        name: ScopedName { global: false, parts: vec![ident(name)], span: NOWHERE },
        args,
        span: NOWHERE,
    }
}

fn spec(kind: TypeKind) -> TypeSpec {
    TypeSpec { annotations: Vec::new(), kind, span: NOWHERE }
}

/// A name of a type object.
fn known(name: &model::Name) -> Result<Ident, String> {
    if name.text.is_empty() {
        return Err(format!("the name of {name} is not known, only its hash"));
    }
    Ok(ident(&name.text))
}

fn base(primitive: u8) -> Result<Base, String> {
    Ok(match primitive {
        kind::BOOLEAN => Base::Boolean,
        kind::BYTE => Base::Octet,
        kind::CHAR8 => Base::Char,
        kind::CHAR16 => Base::WideChar,
        kind::INT8 => Base::Int8,
        kind::INT16 => Base::Int16,
        kind::INT32 => Base::Int32,
        kind::INT64 => Base::Int64,
        kind::UINT8 => Base::Uint8,
        kind::UINT16 => Base::Uint16,
        kind::UINT32 => Base::Uint32,
        kind::UINT64 => Base::Uint64,
        kind::FLOAT32 => Base::Float,
        kind::FLOAT64 => Base::Double,
        kind::FLOAT128 => Base::LongDouble,
        other => return Err(format!("there is no primitive type 0x{other:02x}")),
    })
}

/// What flags say about the elements of a collection.
fn element_notes(flags: u16) -> Vec<Annotation> {
    let external = (flags & member_flag::EXTERNAL != 0).then(|| note("external", None));
    external.into_iter().chain(try_construct(flags)).collect()
}

fn try_construct(flags: u16) -> Option<Annotation> {
    let word = match flags & member_flag::TRIM {
        member_flag::USE_DEFAULT => "USE_DEFAULT",
        member_flag::TRIM => "TRIM",
        _ => return None,
    };
    let scoped = ScopedName { global: false, parts: vec![ident(word)], span: NOWHERE };
    Some(note("try_construct", Some(value(ExprKind::Name(scoped)))))
}

/// The value of an annotation's parameter.
fn parameter(parameter: &Parameter) -> Result<Expr, String> {
    Ok(match parameter {
        Parameter::Boolean(it) => value(ExprKind::Bool(*it)),
        Parameter::Byte(it) | Parameter::UInt8(it) => integer((*it).into()),
        Parameter::Int8(it) => integer((*it).into()),
        Parameter::Int16(it) => integer((*it).into()),
        Parameter::UInt16(it) => integer((*it).into()),
        Parameter::Int32(it) => integer((*it).into()),
        Parameter::UInt32(it) => integer((*it).into()),
        Parameter::Int64(it) => integer((*it).into()),
        Parameter::UInt64(it) => integer((*it).into()),
        Parameter::Float32(it) if it.is_finite() => value(ExprKind::Float((*it).into())),
        Parameter::Float64(it) if it.is_finite() => value(ExprKind::Float(*it)),
        Parameter::Char(it) => value(ExprKind::Char(it.0)),
        Parameter::WideChar(it) => value(ExprKind::WideChar(it.0)),
        _ => return Err("the value of an annotation cannot be written".to_owned()),
    })
}

impl Tree<'_> {
    /// Writes what a type needs and then the type. `whole`: a value of it is inside of another one; else it is enough that
    /// structures and unions are announced.
    fn visit(&mut self, index: TypeIndex, whole: bool, depth: usize) -> Result<(), String> {
        let Some(definition) = self.graph.get(index) else { return Ok(()) };
        if depth > MAX_DEPTH {
            return Err(format!("types are nested more than {MAX_DEPTH} deep"));
        }
        if definition.name.is_empty() {
            return Err("the name of a type is not known, only its hash".to_owned());
        }
        let done = self.done.contains(&index);
        match definition.kind {
            // What is written of an alias may be whole now.
            Kind::Alias(_) if whole && self.whole.insert(index) => {}
            _ if done => return Ok(()),
            Kind::Structure(_) | Kind::Union(_) if !whole => {
                self.announce(index, definition);
                return Ok(());
            }
            Kind::Structure(_) | Kind::Union(_) if !self.open.insert(index) => {
                return Err(format!("each value of `{}` would contain another one", definition.name));
            }
            _ => {}
        }
        for (needed, need) in needs(definition).into_iter().filter(|(needed, _)| *needed != index) {
            let whole = need == Need::Whole || (whole && need == Need::Inside);
            self.visit(needed, whole, depth.saturating_add(1))?;
        }
        if done {
            return Ok(());
        }
        self.declarations(index, depth)?;
        self.write(index, definition)
    }

    /// A forward declaration, and a note that the type has to be written.
    fn announce(&mut self, index: TypeIndex, definition: &model::Definition) {
        if self.announced.insert(index) {
            let union = matches!(definition.kind, Kind::Union(_));
            let kind = DefinitionKind::Forward { union, name: last(&definition.name) };
            self.add(&definition.name, Vec::new(), kind);
            self.later.push(index);
        }
    }

    fn write(&mut self, index: TypeIndex, definition: &model::Definition) -> Result<(), String> {
        self.done.insert(index);
        let (annotations, kind) = self.written(index, definition)?;
        self.add(&definition.name, annotations, kind);
        Ok(())
    }

    fn written(
        &self,
        index: TypeIndex,
        definition: &model::Definition,
    ) -> Result<(Vec<Annotation>, DefinitionKind), String> {
        let mut annotations = self.said(index, Part::Type)?;
        if !matches!(definition.kind, Kind::Alias(_)) {
            annotations.push(note(&definition.extensibility().to_string(), None));
            if definition.flags & type_flag::NESTED != 0 {
                annotations.push(note("nested", None));
            }
        }
        if definition.flags & type_flag::AUTOID_HASH != 0 {
            annotations.push(note("autoid", None));
        }
        let made = self.definition(index, definition, &mut annotations)?;
        Ok((annotations, made))
    }

    /// Puts a definition into its modules, beside the one before if that is in the same.
    fn add(&mut self, name: &str, annotations: Vec<Annotation>, kind: DefinitionKind) {
        let modules: Vec<&str> = name.split("::").collect();
        let modules = modules.split_last().map_or(&[][..], |(_, modules)| modules);
        let mut place = &mut self.out;
        for module in modules {
            let open = place.last().is_some_and(
                |last| matches!(&last.kind, DefinitionKind::Module { name, .. } if *name.name == **module),
            );
            if !open {
                let kind = DefinitionKind::Module { name: ident(module), definitions: Vec::new() };
                place.push(Definition { annotations: Vec::new(), docs: None, kind });
            }
            let Some(Definition { kind: DefinitionKind::Module { definitions, .. }, .. }) = place.last_mut()
            else {
                return;
            };
            place = definitions;
        }
        place.push(Definition { annotations, docs: None, kind });
    }

    fn definition(
        &self,
        index: TypeIndex,
        definition: &model::Definition,
        annotations: &mut Vec<Annotation>,
    ) -> Result<DefinitionKind, String> {
        let name = last(&definition.name);
        let said = |at: usize| self.said(index, Part::Member(at));
        let kind = match &definition.kind {
            Kind::Structure(it) => {
                let base = it.base.map(|base| self.name_of(base)).transpose()?;
                let members = it.members.iter().enumerate().map(|(at, it)| self.member(it, said(at)?));
                let members = members.collect::<Result<_, String>>()?;
                TypeDeclKind::Struct { base, members }
            }
            Kind::Union(it) => self.union(index, it)?,
            Kind::Enumeration(it) => {
                annotations.push(note("bit_bound", Some(integer(it.bit_bound.into()))));
                let literals = it.literals.iter().enumerate().map(|(at, literal)| {
                    let default = (literal.is_default && at > 0).then(|| note("default_literal", None));
                    let value = note("value", Some(integer(literal.value.into())));
                    let annotations = said(at)?.into_iter().chain(default).chain([value]).collect();
                    Ok(Enumerator { annotations, name: known(&literal.name)?, docs: None })
                });
                TypeDeclKind::Enum { literals: literals.collect::<Result<_, String>>()? }
            }
            Kind::Bitmask(it) => {
                annotations.push(note("bit_bound", Some(integer(it.bit_bound.into()))));
                let bits = it.bits.iter().enumerate().map(|(at, bit)| {
                    let mut annotations = said(at)?;
                    annotations.push(note("position", Some(integer(bit.position.into()))));
                    Ok(Enumerator { annotations, name: known(&bit.name)?, docs: None })
                });
                TypeDeclKind::Bitmask { bits: bits.collect::<Result<_, String>>()? }
            }
            Kind::Bitset(it) => bitset(it, &said)?,
            Kind::Alias(it) => {
                let (ty, dimensions) = self.usage(&it.ty)?;
                return Ok(DefinitionKind::Typedef {
                    ty,
                    declarators: vec![Declarator { name, dimensions }],
                });
            }
        };
        Ok(DefinitionKind::Type(TypeDecl { name, kind }))
    }

    fn name_of(&self, index: TypeIndex) -> Result<ScopedName, String> {
        let definition = self.graph.get(index).ok_or("a type is missing")?;
        Ok(global(&definition.name))
    }

    /// A type, and the dimensions behind the name of what has it.
    fn usage(&self, ty: &model::Type) -> Result<(TypeSpec, Vec<Expr>), String> {
        Ok(match ty {
            model::Type::Array { element, dimensions } => {
                if element.flags & (member_flag::EXTERNAL | member_flag::TRIM) > member_flag::DISCARD {
                    return Err("elements of arrays have no annotations in XML".to_owned());
                }
                let sizes = dimensions.iter().map(|size| integer((*size).into())).collect();
                (self.plain(&element.ty)?, sizes)
            }
            other => (self.plain(other)?, Vec::new()),
        })
    }

    fn plain(&self, ty: &model::Type) -> Result<TypeSpec, String> {
        Ok(spec(match ty {
            model::Type::Primitive(primitive) => TypeKind::Base(base(*primitive)?),
            model::Type::String { wide, bound: most } => {
                TypeKind::String { wide: *wide, bound: bound(*most) }
            }
            model::Type::Sequence { element, bound: most } => {
                TypeKind::Sequence(Box::new(self.element(element)?), bound(*most))
            }
            model::Type::Map { key, value, bound: most } => {
                TypeKind::Map(Box::new(self.element(key)?), Box::new(self.element(value)?), bound(*most))
            }
            model::Type::Named(index) => TypeKind::Name(self.name_of(*index)?),
            model::Type::Array { .. } => {
                return Err(
                    "XML has no arrays inside of sequences, maps and arrays without a name".to_owned()
                );
            }
        }))
    }

    fn element(&self, element: &model::Element) -> Result<TypeSpec, String> {
        let mut ty = self.plain(&element.ty)?;
        ty.annotations = element_notes(element.flags);
        Ok(ty)
    }

    fn member(&self, member: &model::Member, said: Vec<Annotation>) -> Result<Member, String> {
        let (ty, dimensions) = self.usage(&member.ty)?;
        let flags = [
            (member_flag::KEY, "key"),
            (member_flag::OPTIONAL, "optional"),
            (member_flag::MUST_UNDERSTAND, "must_understand"),
            (member_flag::EXTERNAL, "external"),
        ];
        let set = flags.iter().filter(|(flag, _)| member.has(*flag));
        let mut annotations = said;
        annotations.extend(set.map(|(_, word)| note(word, None)));
        annotations.extend(try_construct(member.flags));
        let text = |text: &String| value(ExprKind::Str(text.as_bytes().to_vec()));
        annotations.extend(member.annotations.unit.iter().map(|unit| note("unit", Some(text(unit)))));
        for (word, limit) in [("min", &member.annotations.min), ("max", &member.annotations.max)] {
            if let Some(limit) = limit {
                annotations.push(note(word, Some(parameter(limit)?)));
            }
        }
        annotations.push(match &member.annotations.hash_id {
            Some(of) if of.is_empty() => note("hashid", None),
            Some(of) => note("hashid", Some(text(of))),
            None => note("id", Some(integer(member.id.into()))),
        });
        let declarators = vec![Declarator { name: known(&member.name)?, dimensions }];
        Ok(Member { annotations, ty, declarators, docs: None })
    }

    fn union(&self, index: TypeIndex, it: &model::Union) -> Result<TypeDeclKind, String> {
        let mut discriminator = self.plain(&it.discriminator.ty)?;
        discriminator.annotations = self.said(index, Part::Discriminator)?;
        if it.discriminator.flags & member_flag::KEY != 0 {
            discriminator.annotations.push(note("key", None));
        }
        discriminator.annotations.extend(try_construct(it.discriminator.flags));
        let case = |(at, case): (usize, &model::Case)| {
            let mut labels = Vec::new();
            for label in &case.labels {
                labels.push(Label { value: Some(self.label(&it.discriminator.ty, *label)?), span: NOWHERE });
            }
            if case.is_default() {
                labels.push(Label { value: None, span: NOWHERE });
            }
            Ok(Case { labels, member: self.member(&case.member, self.said(index, Part::Member(at))?)? })
        };
        let cases = it.cases.iter().enumerate().map(case).collect::<Result<_, String>>()?;
        Ok(TypeDeclKind::Union { discriminator, cases })
    }

    /// A label in the way of the discriminator's type.
    fn label(&self, discriminator: &model::Type, label: i64) -> Result<Expr, String> {
        Ok(match self.graph.resolve(discriminator) {
            model::Type::Primitive(kind::BOOLEAN) => value(ExprKind::Bool(label != 0)),
            model::Type::Primitive(kind::CHAR8) => {
                value(ExprKind::Char(u8::try_from(label).map_err(|_| "a label is no character")?))
            }
            model::Type::Primitive(kind::CHAR16) => {
                value(ExprKind::WideChar(u16::try_from(label).map_err(|_| "a label is no character")?))
            }
            model::Type::Primitive(kind::UINT64) => integer(label.cast_unsigned().into()),
            model::Type::Named(index) => match self.graph.get(*index) {
                Some(model::Definition { kind: Kind::Enumeration(it), name, .. }) => {
                    let literal = it.literals.iter().find(|it| i64::from(it.value) == label);
                    let literal = literal.ok_or("a label is no literal of the discriminator's type")?;
                    let mut scoped = global(name);
                    scoped.parts.push(known(&literal.name)?);
                    value(ExprKind::Name(scoped))
                }
                _ => integer(label.into()),
            },
            _ => integer(label.into()),
        })
    }
}

fn bitset(
    it: &model::Bitset,
    said: &dyn Fn(usize) -> Result<Vec<Annotation>, String>,
) -> Result<TypeDeclKind, String> {
    let field = |width: u16, ty, names| BitField {
        annotations: Vec::new(),
        width: integer(width.into()),
        ty,
        names,
        docs: None,
        span: NOWHERE,
    };
    let (mut fields, mut next) = (Vec::new(), 0u16);
    for (at, given) in it.fields.iter().enumerate() {
        if given.position > next {
            fields.push(field(given.position.saturating_sub(next), None, Vec::new()));
        }
        let holder = spec(TypeKind::Base(base(given.holder)?));
        let made = field(given.width.into(), Some(holder), vec![known(&given.name)?]);
        fields.push(BitField { annotations: said(at)?, ..made });
        next = given.position.saturating_add(given.width.into());
    }
    if it.width > next {
        fields.push(field(it.width.saturating_sub(next), None, Vec::new()));
    }
    Ok(TypeDeclKind::Bitset { base: None, fields })
}
