//! Standard annotations (IDL 4.2 §8.3, XTypes 1.3 §7.3.1.2): what they are called, where they may stand, what they take.

use super::Checker;
use crate::ir::{Applied, Extensibility, Placement, TryConstruct, Type, Value, Verbatim};
use crate::source::Span;
use crate::syntax::ast::{Annotation, Expr, ExprKind};

/// Where an annotation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Module,
    Struct,
    Exception,
    Union,
    Enum,
    Bitmask,
    Bitset,
    Typedef,
    Member,
    Case,
    Discriminator,
    Literal,
    Bit,
    BitField,
    Const,
    Interface,
    Operation,
    Attribute,
    Param,
    Element,
    Forward,
}

impl Place {
    fn name(self) -> &'static str {
        match self {
            Self::Module => "a module",
            Self::Struct => "a structure",
            Self::Exception => "an exception",
            Self::Union => "a union",
            Self::Enum => "an enumeration",
            Self::Bitmask => "a bitmask",
            Self::Bitset => "a bitset",
            Self::Typedef => "a typedef",
            Self::Member => "a member",
            Self::Case => "a case of a union",
            Self::Discriminator => "a discriminator",
            Self::Literal => "a literal",
            Self::Bit => "a bit",
            Self::BitField => "a bit field",
            Self::Const => "a constant",
            Self::Interface => "an interface",
            Self::Operation => "an operation",
            Self::Attribute => "an attribute",
            Self::Param => "a parameter",
            Self::Element => "an element",
            Self::Forward => "a forward declaration",
        }
    }
}

/// A standard annotation with its arguments.
#[derive(Clone, Debug)]
pub(super) enum Known {
    Id(u32),
    AutoId {
        hash: bool,
    },
    HashId(Option<String>),
    Optional(bool),
    Position(u16),
    Value(Expr),
    Extensibility(Extensibility),
    Key(bool),
    MustUnderstand(bool),
    DefaultLiteral,
    Default(Expr),
    Range(Option<Expr>, Option<Expr>),
    Unit(String),
    BitBound(u16),
    External(bool),
    Nested(bool),
    DefaultNested(bool),
    TryConstruct(TryConstruct),
    DataRepresentation(u32),
    NonSerialized(bool),
    IgnoreLiteralNames(bool),
    Verbatim(Verbatim),
    Service(String),
    Oneway(bool),
    /// Means nothing to us.
    Ignored,
    /// Declared in the source.
    Custom(Applied),
}

use Place::*;

const MEMBERS: &[Place] = &[Member, Case, Typedef];
const TYPES: &[Place] = &[Struct, Exception, Union, Enum, Bitmask, Bitset, Forward];
const STRUCTURED: &[Place] = &[Struct, Exception, Union, Forward];
const ANYWHERE: &[Place] = &[
    Module,
    Struct,
    Exception,
    Union,
    Enum,
    Bitmask,
    Bitset,
    Typedef,
    Member,
    Case,
    Discriminator,
    Literal,
    Bit,
    BitField,
    Const,
    Interface,
    Operation,
    Attribute,
    Param,
    Element,
    Forward,
];

/// Name, parameters (those after `?` may be left out), places.
type Spec = (&'static str, &'static [&'static str], &'static [&'static [Place]]);

const KNOWN: &[Spec] = &[
    ("id", &["value"], &[MEMBERS]),
    ("autoid", &["?value"], &[STRUCTURED, &[Module]]),
    ("hashid", &["?value"], &[MEMBERS]),
    ("optional", &["?value"], &[&[Member, Typedef]]),
    ("position", &["value"], &[&[Bit, BitField]]),
    ("value", &["value"], &[&[Literal]]),
    ("extensibility", &["value"], &[TYPES]),
    ("final", &[], &[TYPES]),
    ("appendable", &[], &[TYPES]),
    ("mutable", &[], &[TYPES]),
    ("key", &["?value"], &[&[Member, Discriminator]]),
    ("must_understand", &["?value"], &[MEMBERS]),
    ("default_literal", &[], &[&[Literal]]),
    ("default", &["value"], &[MEMBERS, &[Param, Attribute]]),
    ("range", &["?min", "?max"], &[MEMBERS, &[Param, Attribute]]),
    ("min", &["value"], &[MEMBERS, &[Param, Attribute]]),
    ("max", &["value"], &[MEMBERS, &[Param, Attribute]]),
    ("unit", &["value"], &[MEMBERS, &[Param, Attribute, Const]]),
    ("bit_bound", &["value"], &[&[Enum, Bitmask]]),
    ("external", &["?value"], &[MEMBERS, &[Element]]),
    ("nested", &["?value"], &[TYPES]),
    ("topic", &["?name", "?platform"], &[STRUCTURED]),
    ("default_nested", &["?value"], &[&[Module]]),
    ("try_construct", &["?value"], &[MEMBERS, &[Element, Discriminator]]),
    ("data_representation", &["value"], &[TYPES, &[Module]]),
    ("non_serialized", &["?value"], &[&[Member]]),
    ("ignore_literal_names", &["?value"], &[&[Enum]]),
    ("verbatim", &["?language", "?placement", "text"], &[ANYWHERE]),
    ("service", &["?platform"], &[&[Interface]]),
    ("oneway", &["?value"], &[&[Operation]]),
    ("ami", &["?value"], &[&[Interface, Operation]]),
];

/// Older spellings and those of other tools.
const ALIASES: &[(&str, &str)] = &[
    ("Key", "key"),
    ("ID", "id"),
    ("Id", "id"),
    ("Optional", "optional"),
    ("MustUnderstand", "must_understand"),
    ("Extensibility", "extensibility"),
    ("Nested", "nested"),
    ("Shared", "external"),
    ("shared", "external"),
    ("BitBound", "bit_bound"),
    ("Value", "value"),
    ("Default", "default"),
    ("Topic", "topic"),
    ("Verbatim", "verbatim"),
    ("External", "external"),
    ("default_value", "default"),
];

impl Checker<'_> {
    /// The meaning of the annotations that stand somewhere, with their places. Mistakes are reported and left out.
    pub(super) fn annotations(&mut self, annotations: &[Annotation], place: Place) -> Vec<(Known, Span)> {
        let mut result: Vec<(Known, Span)> = Vec::new();
        let mut seen: Vec<(&'static str, Span)> = Vec::new();
        for annotation in annotations {
            let Some(spec) = annotation.name.single().and_then(spec) else {
                result.extend(self.custom(annotation).map(|known| (known, annotation.span)));
                continue;
            };
            let (name, _, places) = spec;
            if !places.iter().any(|places| places.contains(&place)) {
                self.sink.error(annotation.span, format!("`@{name}` has no meaning on {}", place.name()));
                continue;
            }
            let repeated = seen.iter().find(|(other, _)| *other == name && name != "verbatim");
            if let Some((_, first)) = repeated {
                self.sink
                    .error(annotation.span, format!("`@{name}` is given twice"))
                    .also(*first, "the first");
                continue;
            }
            seen.push((name, annotation.span));
            result.extend(self.known(spec, annotation).map(|known| (known, annotation.span)));
        }
        result
    }

    fn known(&mut self, (name, params, _): Spec, annotation: &Annotation) -> Option<Known> {
        let args = self.bind(name, params, annotation)?;
        let first = args.first().copied().flatten();
        let second = args.get(1).copied().flatten();
        let span = annotation.span;
        Some(match name {
            "id" => {
                let id = self.integer(first?, "a member id", 0, 0x0fff_ffff)?;
                Known::Id(u32::try_from(id).unwrap_or(0))
            }
            "autoid" => {
                let choice = self.choice(name, first, "HASH", &["SEQUENTIAL", "HASH"])?;
                Known::AutoId { hash: choice == 1 }
            }
            // `@hashid("")` says no more than `@hashid`.
            "hashid" => Known::HashId(Some(self.text_or(first, "")?).filter(|text| !text.is_empty())),
            "optional" => Known::Optional(self.flag(first)?),
            "position" => {
                let position = self.integer(first?, "a position", 0, 63)?;
                Known::Position(u16::try_from(position).unwrap_or(0))
            }
            "value" => Known::Value(first?.clone()),
            "extensibility" => self.extensibility(name, first)?,
            "final" => Known::Extensibility(Extensibility::Final),
            "appendable" => Known::Extensibility(Extensibility::Appendable),
            "mutable" => Known::Extensibility(Extensibility::Mutable),
            "key" => Known::Key(self.flag(first)?),
            "must_understand" => Known::MustUnderstand(self.flag(first)?),
            "default_literal" => Known::DefaultLiteral,
            "default" => Known::Default(first?.clone()),
            "range" => {
                if first.is_none() && second.is_none() {
                    self.sink.error(span, "`@range` needs `min`, `max` or both");
                    return None;
                }
                Known::Range(first.cloned(), second.cloned())
            }
            "min" => Known::Range(first.cloned(), None),
            "max" => Known::Range(None, first.cloned()),
            "unit" => Known::Unit(self.text_or(first, "")?),
            "bit_bound" => {
                let bits = self.integer(first?, "a bit_bound", 1, 64)?;
                Known::BitBound(u16::try_from(bits).unwrap_or(32))
            }
            "external" => Known::External(self.flag(first)?),
            "nested" => Known::Nested(self.flag(first)?),
            "topic" => {
                self.text_or(first, "")?;
                self.text_or(second, "*")?;
                Known::Nested(false)
            }
            "default_nested" => Known::DefaultNested(self.flag(first)?),
            "try_construct" => {
                let choices = ["DISCARD", "USE_DEFAULT", "TRIM"];
                Known::TryConstruct(match self.choice(name, first, "USE_DEFAULT", &choices)? {
                    0 => TryConstruct::Discard,
                    1 => TryConstruct::UseDefault,
                    _ => TryConstruct::Trim,
                })
            }
            "data_representation" => Known::DataRepresentation(self.representations(first?)?),
            "non_serialized" => Known::NonSerialized(self.flag(first)?),
            "ignore_literal_names" => Known::IgnoreLiteralNames(self.flag(first)?),
            "verbatim" => self.verbatim(&args)?,
            "service" => Known::Service(self.text_or(first, "*")?),
            "oneway" => Known::Oneway(self.flag(first)?),
            _ => Known::Ignored,
        })
    }

    fn extensibility(&mut self, name: &str, value: Option<&Expr>) -> Option<Known> {
        let choices = [
            "FINAL",
            "APPENDABLE",
            "MUTABLE",
            "FINAL_EXTENSIBILITY",
            "EXTENSIBLE_EXTENSIBILITY",
            "MUTABLE_EXTENSIBILITY",
        ];
        let choice = self.choice(name, value, "", &choices)?;
        Some(Known::Extensibility(match choice.checked_rem(3).unwrap_or(0) {
            0 => Extensibility::Final,
            1 => Extensibility::Appendable,
            _ => Extensibility::Mutable,
        }))
    }

    fn verbatim(&mut self, args: &[Option<&Expr>]) -> Option<Known> {
        let arg = |i: usize| args.get(i).copied().flatten();
        let language = self.text_or(arg(0), "*")?;
        let choices = [
            "BEGIN_FILE",
            "BEFORE_DECLARATION",
            "BEGIN_DECLARATION",
            "END_DECLARATION",
            "AFTER_DECLARATION",
            "END_FILE",
        ];
        let placement = match self.choice("verbatim", arg(1), "BEFORE_DECLARATION", &choices)? {
            0 => Placement::BeginFile,
            1 => Placement::BeforeDeclaration,
            2 => Placement::BeginDeclaration,
            3 => Placement::EndDeclaration,
            4 => Placement::AfterDeclaration,
            _ => Placement::EndFile,
        };
        let text = self.text_or(arg(2), "")?;
        Some(Known::Verbatim(Verbatim { language, placement, text }))
    }

    /// The arguments in the order of the parameters.
    fn bind<'a>(
        &mut self,
        name: &str,
        params: &[&str],
        annotation: &'a Annotation,
    ) -> Option<Vec<Option<&'a Expr>>> {
        let mut bound: Vec<Option<&Expr>> = vec![None; params.len()];
        for (i, arg) in annotation.args.iter().enumerate() {
            let index = match &arg.name {
                None => i,
                Some(given) => {
                    let found = params.iter().position(|param| param.trim_start_matches('?') == &*given.name);
                    let Some(index) = found else {
                        let known: Vec<&str> =
                            params.iter().map(|param| param.trim_start_matches('?')).collect();
                        let message = format!("`@{name}` has no parameter `{}`", given.name);
                        self.sink.error(given.span, message).hint(match known.as_slice() {
                            [] => "it has none".to_owned(),
                            known => format!("it has: {}", known.join(", ")),
                        });
                        return None;
                    };
                    index
                }
            };
            match bound.get_mut(index) {
                Some(slot @ None) => *slot = Some(&arg.value),
                Some(_) => {
                    self.sink.error(arg.value.span, "this parameter is given twice");
                    return None;
                }
                None => {
                    let message = match params.len() {
                        0 => format!("`@{name}` takes no arguments"),
                        n => format!("`@{name}` takes at most {n} arguments"),
                    };
                    self.sink.error(arg.value.span, message);
                    return None;
                }
            }
        }
        let missing =
            params.iter().zip(&bound).find(|(param, value)| !param.starts_with('?') && value.is_none());
        if let Some((param, _)) = missing {
            self.sink.error(annotation.span, format!("`@{name}` needs the argument `{param}`"));
            return None;
        }
        Some(bound)
    }

    fn flag(&mut self, value: Option<&Expr>) -> Option<bool> {
        let Some(value) = value else { return Some(true) };
        match self.evaluate(value, &Type::Boolean)? {
            Value::Bool(b) => Some(b),
            _ => None,
        }
    }

    /// A string.
    fn text_or(&mut self, value: Option<&Expr>, default: &str) -> Option<String> {
        let Some(value) = value else { return Some(default.to_owned()) };
        match self.evaluate(value, &Type::String { bound: None })? {
            Value::Str(octets) => match String::from_utf8(octets) {
                Ok(text) => Some(text),
                Err(_) => {
                    self.sink.error(value.span, "this string is not UTF-8");
                    None
                }
            },
            _ => None,
        }
    }

    /// Index of the word among the choices.
    fn choice(&mut self, name: &str, value: Option<&Expr>, default: &str, choices: &[&str]) -> Option<usize> {
        let Some(value) = value else { return choices.iter().position(|choice| *choice == default) };
        // Older IDL puts words like these into strings; others qualify them.
        let word = match &value.kind {
            ExprKind::Name(name) => name.parts.last().map(|part| part.name.to_string()),
            ExprKind::Str(octets) => String::from_utf8(octets.clone()).ok(),
            _ => None,
        };
        let found = word.and_then(|word| choices.iter().position(|choice| *choice == word));
        if found.is_none() {
            self.sink.error(value.span, format!("`@{name}` takes one of {}", choices.join(", ")));
        }
        found
    }

    /// `XCDR1 | XCDR2` and the like as a mask.
    fn representations(&mut self, value: &Expr) -> Option<u32> {
        let word = match &value.kind {
            ExprKind::Name(name) => name.parts.last().map(|part| part.name.to_string()).unwrap_or_default(),
            ExprKind::Binary('|', left, right) => {
                let (left, right) = (self.representations(left), self.representations(right));
                return Some(left? | right?);
            }
            ExprKind::Integer(mask @ 1..=7) => return u32::try_from(*mask).ok(),
            _ => String::new(),
        };
        match word.as_str() {
            "XCDR1" | "XCDR" => Some(1),
            "XML" => Some(2),
            "XCDR2" => Some(4),
            _ => {
                self.sink
                    .error(value.span, "a data representation is XCDR1, XML or XCDR2, or several with `|`");
                None
            }
        }
    }

    /// Tells if type objects cannot say what a parameter is.
    fn check_told(&mut self, value: Option<&Value>, span: Span) {
        let most = dunlin_xtypes::model::MAX_TEXT;
        let reason = match value {
            Some(Value::Str(it)) if it.len() > most => format!("a text of more than {most} bytes"),
            Some(Value::Str(it)) if std::str::from_utf8(it).is_err() => "a text that is not UTF-8".to_owned(),
            Some(Value::WideStr(it)) if it.len() > most => format!("a text of more than {most} characters"),
            Some(Value::Bits(..)) => "a value of a bitmask".to_owned(),
            _ => return,
        };
        self.sink.warning(span, format!("{reason} is left out of type objects"));
    }

    /// An annotation that the source declares itself.
    fn custom(&mut self, annotation: &Annotation) -> Option<Known> {
        let name = annotation.name.text();
        let Some(index) = self.find_annotation(&annotation.name) else {
            if !std::mem::take(&mut self.reported) && self.unknown_annotations.insert(name.clone()) {
                self.sink
                    .warning(annotation.span, format!("the annotation `@{name}` is not known and ignored"))
                    .hint("its other uses are ignored too");
            }
            return None;
        };
        let cost = self.annotation_decls.get(index).filter(|_| !self.is_spent())?.cost();
        if !self.pay(cost, annotation.span) {
            return None;
        }
        let declaration = self.annotation_decls.get(index)?.clone();
        let params: Vec<String> = declaration
            .params
            .iter()
            .map(|param| format!("{}{}", if param.default.is_some() { "?" } else { "" }, param.name))
            .collect();
        let names: Vec<&str> = params.iter().map(String::as_str).collect();
        let args = self.bind(&name, &names, annotation)?;
        // Literals that the annotation declares are seen in its arguments.
        let outer = self.scope;
        self.scope = declaration.arguments_scope(outer);
        let mut values = Vec::new();
        for (param, arg) in declaration.params.iter().zip(args) {
            let value = match (arg, &param.ty) {
                (None, _) => param.default.clone(),
                (Some(arg), Some(ty)) => self.evaluate(arg, ty),
                (Some(arg), None) => self.any_value(arg),
            };
            self.check_told(value.as_ref(), annotation.span);
            values.push((param.name.clone(), value));
        }
        self.scope = outer;
        let params =
            values.into_iter().map(|(name, value)| Some((name, value?))).collect::<Option<Vec<_>>>()?;
        Some(Known::Custom(Applied { name: declaration.full_name, params }))
    }
}

fn spec(name: &str) -> Option<Spec> {
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name);
    KNOWN.iter().copied().find(|(known, ..)| *known == name)
}

/// The standard name of an annotation, which may have an older spelling, and of its parameters.
pub(crate) fn standard(name: &str) -> Option<(&'static str, Vec<&'static str>)> {
    let (name, params, _) = spec(name)?;
    Some((name, params.iter().map(|param| param.trim_start_matches('?')).collect()))
}
