//! From the lines of an interface file to fields and constants.

use super::line::Line;
use super::value;
use super::{Kind, Unit};
use crate::diagnostic::Sink;
use crate::source::{FileId, Span};
use crate::syntax::ast::{Base, Expr, ExprKind, Ident};
use crate::syntax::lexer::plain_lines;

/// Another message, as it is written.
#[derive(Clone, Debug)]
pub(super) struct Reference {
    /// Without it the message is in the same package.
    pub package: Option<String>,
    pub name: String,
    pub span: Span,
}

impl Reference {
    pub(super) fn to(package: &str, name: &str, span: Span) -> Self {
        Self { package: Some(package.to_owned()), name: name.to_owned(), span }
    }

    /// Package and name.
    pub(super) fn key(&self, own: &str) -> (String, String) {
        (self.package.clone().unwrap_or_else(|| own.to_owned()), self.name.clone())
    }
}

#[derive(Clone, Debug)]
pub(super) enum Element {
    Primitive(Base),
    Text {
        wide: bool,
        bound: Option<Expr>,
    },
    Message(Reference),
    /// A type of the same file, by its name without the last underscore.
    Own(String),
}

#[derive(Clone, Debug)]
pub(super) enum Shape {
    Single,
    Array(Expr),
    Sequence(Option<Expr>),
}

#[derive(Clone, Debug)]
pub(super) struct Type {
    pub element: Element,
    pub shape: Shape,
    pub span: Span,
}

impl Type {
    pub(super) fn reference(&self) -> Option<&Reference> {
        match &self.element {
            Element::Message(reference) => Some(reference),
            _ => None,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Field {
    pub ty: Type,
    pub name: Ident,
    pub default: Option<Expr>,
    pub docs: Option<String>,
}

#[derive(Clone, Debug)]
pub(super) struct Constant {
    pub ty: Type,
    pub name: Ident,
    pub value: Expr,
    pub docs: Option<String>,
}

/// What stands between two `---`.
#[derive(Clone, Debug, Default)]
pub(super) struct Section {
    pub docs: Option<String>,
    pub fields: Vec<Field>,
    pub constants: Vec<Constant>,
}

/// Looks at the names of package and type.
pub(super) fn names(unit: &Unit, start: Span, sink: &mut Sink) {
    if !is_snake(&unit.package) {
        sink.error(start, format!("`{}` is no name of a package", unit.package)).hint(SNAKE);
    }
    if !is_camel(&unit.name) {
        sink.error(start, format!("`{}` is no name of an interface", unit.name)).hint(CAMEL);
    }
}

const SNAKE: &str = "such names consist of lower-case letters, digits and single underscores, a letter first";
const CAMEL: &str = "such names consist of letters and digits, an upper-case letter first";
const SCREAMING: &str = "such names consist of upper-case letters, digits and underscores, a letter first";

fn is_snake(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && !name.contains("__")
        && !name.ends_with('_')
}

fn is_camel(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase()) && name.chars().all(|c| c.is_ascii_alphanumeric())
}

fn is_screaming(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
        && !name.ends_with('_')
}

/// Reads all sections of a file; there are as many as the kind has.
pub(super) fn sections(text: &str, file: FileId, kind: Kind, sink: &mut Sink) -> Vec<Section> {
    let wanted = kind.sections().len();
    let mut parser = Parser { sink, done: Vec::new(), section: Section::default(), docs: String::new() };
    let mut at = 0usize;
    let mut last = Span { file, start: 0, end: 0 };
    for text in text.split_inclusive('\n') {
        if parser.sink.is_full() {
            break;
        }
        let line = Line::new(file, at, text.trim_end());
        last = line.span();
        at = at.saturating_add(text.len());
        if text.trim_end() != "---" {
            parser.line(line);
        } else if parser.done.len().saturating_add(1) < wanted {
            parser.end_section();
        } else {
            let message = format!("a .{} file has {wanted} section(s), this begins another", kind.word());
            parser.sink.error(last, message);
            break;
        }
    }
    parser.end_section();
    let mut sections = parser.done;
    if sections.len() < wanted {
        let hint = format!("{} line(s) `---` divide its parts, which may be empty", wanted.saturating_sub(1));
        let message = format!("a .{} file has {wanted} sections, this one {}", kind.word(), sections.len());
        sink.error(last, message).hint(hint);
        sections.resize_with(wanted, Section::default);
    }
    sections
}

struct Parser<'a> {
    sink: &'a mut Sink,
    done: Vec<Section>,
    section: Section,
    /// Comments that wait for what they are about.
    docs: String,
}

impl Parser<'_> {
    fn end_section(&mut self) {
        self.own_docs();
        self.done.push(std::mem::take(&mut self.section));
    }

    /// Comments at the beginning, with an empty line behind them, are about the whole.
    fn own_docs(&mut self) {
        let docs = std::mem::take(&mut self.docs);
        let empty = self.section.fields.is_empty() && self.section.constants.is_empty();
        if empty && self.section.docs.is_none() && !docs.is_empty() {
            self.section.docs = Some(docs);
        }
    }

    fn line(&mut self, mut line: Line<'_>) {
        let comment = line.split_comment();
        line.skip_space();
        if line.rest.trim().is_empty() {
            match comment {
                Some(comment) => add_docs(&mut self.docs, comment),
                None => self.own_docs(),
            }
            return;
        }
        let mut docs = std::mem::take(&mut self.docs);
        if let Some(comment) = comment {
            add_docs(&mut docs, comment);
        }
        let docs = Some(docs).filter(|docs| !docs.is_empty());
        let Some(ty) = self.ty(&mut line) else { return };
        let (space, _) = line.take_while(char::is_whitespace);
        let (name, span) = line.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
        if space.is_empty() || name.is_empty() {
            let (_, rest) = line.take_while(|c| !c.is_whitespace());
            let rest = if rest.start == rest.end { ty.span } else { rest };
            self.sink.error(rest, "a type and a name were expected").hint("as in `float64 x`");
            return;
        }
        let name = Ident { name: name.into(), span };
        line.skip_space();
        if line.take("=") {
            line.skip_space();
            self.constant(ty, name, line, docs);
        } else {
            self.field(ty, name, line, docs);
        }
    }

    fn constant(&mut self, ty: Type, name: Ident, line: Line<'_>, docs: Option<String>) {
        if !is_screaming(&name.name) {
            self.sink.error(name.span, format!("`{}` is no name of a constant", name.name)).hint(SCREAMING);
        }
        if !matches!(ty.shape, Shape::Single) || ty.reference().is_some() {
            self.sink.error(ty.span, "a constant has a primitive type or is a string");
            return;
        }
        if let Some(value) = value::value(&ty.element, line, self.sink) {
            self.section.constants.push(Constant { ty, name, value, docs });
        }
    }

    fn field(&mut self, ty: Type, name: Ident, line: Line<'_>, docs: Option<String>) {
        if !is_snake(&name.name) {
            let hint = if name.name.chars().all(|c| c.is_ascii_uppercase() || c == '_') {
                format!("a constant has a value: `{} = …`", name.name)
            } else {
                SNAKE.to_owned()
            };
            self.sink.error(name.span, format!("`{}` is no name of a field", name.name)).hint(hint);
        }
        let default = match (&ty.shape, &ty.element) {
            _ if line.rest.trim().is_empty() => None,
            (Shape::Single, Element::Message(_)) => {
                self.sink.error(line.span(), "fields of another message have no default");
                None
            }
            (Shape::Single, element) => value::value(element, line, self.sink),
            _ => {
                value::list(line, self.sink);
                None
            }
        };
        self.section.fields.push(Field { ty, name, default, docs });
    }

    fn ty(&mut self, line: &mut Line<'_>) -> Option<Type> {
        let whole = *line;
        let (word, span) = line.take_while(|c| c.is_ascii_alphanumeric() || c == '_' || c == '/');
        let element = match word {
            "string" | "wstring" => {
                let bound = if line.take("<=") { Some(self.size(line)?) } else { None };
                Element::Text { wide: word == "wstring", bound }
            }
            "" => {
                let (_, place) = line.take_while(|c| !c.is_whitespace());
                self.sink.error(place, "a type was expected");
                return None;
            }
            _ => match primitive(word) {
                Some(base) => Element::Primitive(base),
                None => Element::Message(self.reference(word, span)?),
            },
        };
        let shape = self.shape(line)?;
        if !line.rest.starts_with(char::is_whitespace) {
            let (text, place) = line.take_while(|c| !c.is_whitespace());
            if !text.is_empty() {
                let hint = "`[]`, `[N]`, `[<=N]` are what may follow a type, and `<=N` a string";
                self.sink.error(place, format!("unexpected `{text}`")).hint(hint);
                return None;
            }
        }
        let mut used = whole;
        let (_, span) = used.take_while(|c| !c.is_whitespace());
        Some(Type { element, shape, span })
    }

    fn shape(&mut self, line: &mut Line<'_>) -> Option<Shape> {
        if !line.take("[") {
            return Some(Shape::Single);
        }
        if line.take("]") {
            return Some(Shape::Sequence(None));
        }
        let bounded = line.take("<=");
        let size = self.size(line)?;
        if !line.take("]") {
            let (_, place) = line.take_while(|c| !c.is_whitespace());
            self.sink.error(place, "`]` was expected");
            return None;
        }
        Some(if bounded { Shape::Sequence(Some(size)) } else { Shape::Array(size) })
    }

    /// A bound or size.
    fn size(&mut self, line: &mut Line<'_>) -> Option<Expr> {
        let (digits, span) = line.take_while(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        match digits.parse::<u64>() {
            Ok(size) => Some(Expr { kind: ExprKind::Integer(size), span }),
            Err(_) => {
                let hint = "constants cannot be used here";
                self.sink.error(span, "a number greater than 0 was expected").hint(hint);
                None
            }
        }
    }

    /// `Name`, `pkg/Name` or `pkg/msg/Name`.
    fn reference(&mut self, word: &str, span: Span) -> Option<Reference> {
        let parts: Vec<&str> = word.split('/').collect();
        let (package, name) = match parts.as_slice() {
            [name] => (None, *name),
            [package, name] | [package, "msg", name] => (Some((*package).to_owned()), *name),
            _ => {
                let hint = "another message is `Name`, `package/Name` or `package/msg/Name`";
                self.sink.error(span, format!("`{word}` is no name of a message")).hint(hint);
                return None;
            }
        };
        if is_camel(name) && package.as_deref().is_none_or(is_snake) {
            return Some(Reference { package, name: name.to_owned(), span });
        }
        let hint = match word {
            "time" => "ROS 2 has `builtin_interfaces/Time` instead",
            "duration" => "ROS 2 has `builtin_interfaces/Duration` instead",
            "float" | "double" => "floating-point types are `float32` and `float64`",
            "int" | "uint" | "short" | "long" => {
                "integer types are `int8` to `int64` and `uint8` to `uint64`"
            }
            "boolean" => "the type is called `bool`",
            "octet" => "the type is called `byte`",
            _ => "messages begin with an upper-case letter",
        };
        self.sink.error(span, format!("there is no type `{word}`")).hint(hint);
        None
    }
}

fn add_docs(docs: &mut String, comment: &str) {
    if !docs.is_empty() {
        docs.push('\n');
    }
    docs.push_str(&plain_lines(comment.strip_prefix(' ').unwrap_or(comment)));
}

fn primitive(word: &str) -> Option<Base> {
    Some(match word {
        "bool" => Base::Boolean,
        "byte" => Base::Octet,
        // A char of ROS 2 is a number.
        "char" | "uint8" => Base::Uint8,
        "int8" => Base::Int8,
        "int16" => Base::Int16,
        "uint16" => Base::Uint16,
        "int32" => Base::Int32,
        "uint32" => Base::Uint32,
        "int64" => Base::Int64,
        "uint64" => Base::Uint64,
        "float32" => Base::Float,
        "float64" => Base::Double,
        _ => return None,
    })
}
