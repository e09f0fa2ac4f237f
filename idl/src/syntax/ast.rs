//! The syntax tree.

use std::rc::Rc;

use crate::source::Span;

#[derive(Clone, Debug)]
pub(crate) struct Ident {
    /// Without the underscore of an escaped identifier.
    pub name: Rc<str>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct ScopedName {
    /// Begins with `::`.
    pub global: bool,
    /// At least one.
    pub parts: Vec<Ident>,
    pub span: Span,
}

impl ScopedName {
    pub(crate) fn text(&self) -> String {
        let parts: Vec<&str> = self.parts.iter().map(|part| &*part.name).collect();
        format!("{}{}", if self.global { "::" } else { "" }, parts.join("::"))
    }

    /// The name, if it is a single word.
    pub(crate) fn single(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [part] if !self.global => Some(&part.name),
            _ => None,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Annotation {
    pub name: ScopedName,
    pub args: Vec<Argument>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct Argument {
    pub name: Option<Ident>,
    pub value: Expr,
}

#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub kind: ExprKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub(crate) enum ExprKind {
    Integer(u64),
    Float(f64),
    Char(u8),
    WideChar(u16),
    Str(Vec<u8>),
    WideStr(Vec<u16>),
    Bool(bool),
    Name(ScopedName),
    Unary(char, Box<Expr>),
    /// `<` and `>` stand for the shifts.
    Binary(char, Box<Expr>, Box<Expr>),
}

#[derive(Clone, Debug)]
pub(crate) struct TypeSpec {
    pub annotations: Vec<Annotation>,
    pub kind: TypeKind,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    Boolean,
    Octet,
    Char,
    WideChar,
    Int8,
    Int16,
    Int32,
    Int64,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    Float,
    Double,
    LongDouble,
}

#[derive(Clone, Debug)]
pub(crate) enum TypeKind {
    Base(Base),
    Name(ScopedName),
    Sequence(Box<TypeSpec>, Option<Expr>),
    String {
        wide: bool,
        bound: Option<Expr>,
    },
    Map(Box<TypeSpec>, Box<TypeSpec>, Option<Expr>),
    /// A type that is declared where it is used.
    Declared(Box<TypeDecl>),
    /// Something that is not supported and has been reported.
    Refused,
    /// `any` as the type of a parameter of an annotation.
    Any,
}

#[derive(Clone, Debug)]
pub(crate) struct Definition {
    pub annotations: Vec<Annotation>,
    pub docs: Option<String>,
    pub kind: DefinitionKind,
}

#[derive(Clone, Debug)]
pub(crate) enum DefinitionKind {
    Module {
        name: Ident,
        definitions: Vec<Definition>,
    },
    Const {
        ty: TypeSpec,
        name: Ident,
        value: Expr,
    },
    Type(TypeDecl),
    Typedef {
        ty: TypeSpec,
        declarators: Vec<Declarator>,
    },
    /// `struct X;` or `union X;`
    Forward {
        union: bool,
        name: Ident,
    },
    Interface(Interface),
    InterfaceForward(Ident),
    Annotation(AnnotationDecl),
    /// Legacy pragmas with key members: the paths to them.
    Keys {
        ty: ScopedName,
        paths: Vec<Vec<Ident>>,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct TypeDecl {
    pub name: Ident,
    pub kind: TypeDeclKind,
}

#[derive(Clone, Debug)]
pub(crate) enum TypeDeclKind {
    Struct { base: Option<ScopedName>, members: Vec<Member> },
    Exception { members: Vec<Member> },
    Union { discriminator: TypeSpec, cases: Vec<Case> },
    Enum { literals: Vec<Enumerator> },
    Bitmask { bits: Vec<Enumerator> },
    Bitset { base: Option<ScopedName>, fields: Vec<BitField> },
}

#[derive(Clone, Debug)]
pub(crate) struct Declarator {
    pub name: Ident,
    pub dimensions: Vec<Expr>,
}

#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub annotations: Vec<Annotation>,
    pub ty: TypeSpec,
    pub declarators: Vec<Declarator>,
    pub docs: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub labels: Vec<Label>,
    pub member: Member,
}

#[derive(Clone, Debug)]
pub(crate) struct Label {
    /// `None` is `default`.
    pub value: Option<Expr>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct Enumerator {
    pub annotations: Vec<Annotation>,
    pub name: Ident,
    pub docs: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct BitField {
    pub annotations: Vec<Annotation>,
    pub width: Expr,
    pub ty: Option<TypeSpec>,
    /// Empty for bits without name.
    pub names: Vec<Ident>,
    pub docs: Option<String>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct Interface {
    pub name: Ident,
    pub bases: Vec<ScopedName>,
    pub exports: Vec<Export>,
}

#[derive(Clone, Debug)]
pub(crate) enum Export {
    Operation(Operation),
    Attribute(Attribute),
    /// A type, constant or exception inside.
    Definition(Definition),
}

#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub annotations: Vec<Annotation>,
    pub docs: Option<String>,
    /// The keyword `oneway`.
    pub oneway: bool,
    /// `None` is `void`.
    pub returns: Option<TypeSpec>,
    pub name: Ident,
    pub params: Vec<Param>,
    pub raises: Vec<ScopedName>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    In,
    Out,
    InOut,
}

#[derive(Clone, Debug)]
pub(crate) struct Param {
    pub annotations: Vec<Annotation>,
    pub direction: Direction,
    pub ty: TypeSpec,
    pub name: Ident,
}

#[derive(Clone, Debug)]
pub(crate) struct Attribute {
    pub annotations: Vec<Annotation>,
    pub docs: Option<String>,
    pub readonly: bool,
    pub ty: TypeSpec,
    pub names: Vec<Ident>,
    pub get_raises: Vec<ScopedName>,
    pub set_raises: Vec<ScopedName>,
}

#[derive(Clone, Debug)]
pub(crate) struct AnnotationDecl {
    pub name: Ident,
    pub body: Vec<AnnotationItem>,
}

#[derive(Clone, Debug)]
pub(crate) enum AnnotationItem {
    Param { ty: TypeSpec, name: Ident, default: Option<Expr> },
    Definition(Definition),
}
