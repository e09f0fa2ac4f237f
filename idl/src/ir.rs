//! The resolved model: every name, constant, id and default is worked out. Back ends and tools consume it.

use crate::source::{FileId, Span};

/// A type with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub(crate) usize);

/// A module; the first is the global scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModuleId(pub(crate) usize);

/// A constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConstId(pub(crate) usize);

/// An interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterfaceId(pub(crate) usize);

/// Everything that a file and its includes declare.
#[derive(Clone, Debug, Default)]
pub struct Model {
    pub(crate) modules: Vec<Module>,
    pub(crate) types: Vec<TypeDef>,
    pub(crate) constants: Vec<Constant>,
    pub(crate) interfaces: Vec<Interface>,
    pub(crate) annotations: Vec<Annotation>,
}

impl Model {
    /// The module.
    #[must_use]
    pub fn module(&self, id: ModuleId) -> Option<&Module> {
        self.modules.get(id.0)
    }

    /// The global scope.
    #[must_use]
    pub fn root(&self) -> Option<&Module> {
        self.modules.first()
    }

    /// The type.
    #[must_use]
    pub fn ty(&self, id: TypeId) -> Option<&TypeDef> {
        self.types.get(id.0)
    }

    /// The annotations that sources declare.
    #[must_use]
    pub fn annotations(&self) -> &[Annotation] {
        &self.annotations
    }

    /// All types in the order of their declaration.
    pub fn types(&self) -> impl Iterator<Item = (TypeId, &TypeDef)> {
        self.types.iter().enumerate().map(|(i, ty)| (TypeId(i), ty))
    }

    /// The constant.
    #[must_use]
    pub fn constant(&self, id: ConstId) -> Option<&Constant> {
        self.constants.get(id.0)
    }

    /// The interface.
    #[must_use]
    pub fn interface(&self, id: InterfaceId) -> Option<&Interface> {
        self.interfaces.get(id.0)
    }

    /// The type with this name: `M::N::T`.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<TypeId> {
        self.types().find(|(_, ty)| ty.full_name == name).map(|(id, _)| id)
    }

    /// What an alias stands for in the end; other types stand for themselves.
    #[must_use]
    pub fn resolve<'a>(&'a self, mut ty: &'a Type) -> &'a Type {
        // Aliases are declared after what they stand for, so this ends.
        while let Type::Named(id) = ty
            && let Some(TypeDef { kind: Kind::Alias(alias), .. }) = self.ty(*id)
        {
            ty = &alias.ty;
        }
        ty
    }

    /// The definition that a type stands for in the end, if it has a name.
    #[must_use]
    pub fn definition(&self, ty: &Type) -> Option<&TypeDef> {
        match self.resolve(ty) {
            Type::Named(id) => self.ty(*id),
            _ => None,
        }
    }

    /// The members of a structure with those of its bases, which come first.
    #[must_use]
    pub fn all_members(&self, id: TypeId) -> Vec<&Member> {
        let (mut levels, mut next) = (Vec::new(), Some(id));
        while let Some(Kind::Struct(structure)) = next.and_then(|id| self.ty(id)).map(|ty| &ty.kind) {
            levels.push(structure.members.iter());
            next = structure.base;
        }
        levels.into_iter().rev().flatten().collect()
    }
}

/// A module. Parts that were opened separately are one.
#[derive(Clone, Debug)]
pub struct Module {
    /// The name, empty for the global scope.
    pub name: String,
    /// With the names of the modules around it: `M::N`.
    pub full_name: String,
    /// Documentation.
    pub docs: Option<String>,
    /// What it declares, in order.
    pub items: Vec<Item>,
    /// The file that opens it first.
    pub file: Option<FileId>,
    /// Texts that `@verbatim` puts into generated code.
    pub verbatims: Vec<Verbatim>,
}

/// Something in a module or interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// A module inside; listed once, however often it is opened.
    Module(ModuleId),
    /// A type.
    Type(TypeId),
    /// A constant.
    Const(ConstId),
    /// An interface.
    Interface(InterfaceId),
}

/// What evolution a type allows (XTypes 1.3 §7.2.2.4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extensibility {
    /// None.
    Final,
    /// Members may be added at the end.
    Appendable,
    /// Members may be added, removed and moved.
    Mutable,
}

/// A type with a name.
#[derive(Clone, Debug)]
pub struct TypeDef {
    /// The name without scope.
    pub name: String,
    /// With its scope: `M::N::T`.
    pub full_name: String,
    /// Where the name is declared.
    pub span: Span,
    /// Documentation.
    pub docs: Option<String>,
    /// The extensibility; aliases have none of their own.
    pub extensibility: Extensibility,
    /// Whether the source says the extensibility.
    pub extensibility_given: bool,
    /// No topic has this type.
    pub nested: bool,
    /// Member ids are hashes of names, unless given.
    pub autoid_hash: bool,
    /// Allowed data representations as a mask: XCDR1 1, XML 2, XCDR2 4.
    pub data_representation: Option<u32>,
    /// Texts that `@verbatim` puts into generated code.
    pub verbatims: Vec<Verbatim>,
    /// Annotations that the source declares itself.
    pub annotations: Vec<Applied>,
    /// What kind of type it is.
    pub kind: Kind,
}

/// The kinds of types with names.
#[derive(Clone, Debug)]
pub enum Kind {
    /// `struct`
    Struct(Struct),
    /// `exception`
    Exception(Struct),
    /// `union`
    Union(Union),
    /// `enum`
    Enum(Enum),
    /// `bitmask`
    Bitmask(Bitmask),
    /// `bitset`
    Bitset(Bitset),
    /// `typedef`
    Alias(Alias),
}

/// A structure or exception.
#[derive(Clone, Debug, Default)]
pub struct Struct {
    /// The base.
    pub base: Option<TypeId>,
    /// The members that it adds.
    pub members: Vec<Member>,
}

/// What to do with a value that a type cannot hold (XTypes 1.3 §7.3.1.2.1.14).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TryConstruct {
    /// The whole containing value is discarded.
    #[default]
    Discard,
    /// The default value takes its place.
    UseDefault,
    /// It is shortened.
    Trim,
}

/// Where a member id comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdSource {
    /// One more than that of the member before.
    Sequential,
    /// `@id`
    Given,
    /// The hash of the member's name.
    HashOfName,
    /// The hash of this text.
    HashOf(String),
}

/// A member of a structure or union.
#[derive(Clone, Debug)]
pub struct Member {
    /// The name.
    pub name: String,
    /// Where the name is declared.
    pub span: Span,
    /// Documentation.
    pub docs: Option<String>,
    /// The type.
    pub ty: Type,
    /// The id, at most 28 bits.
    pub id: u32,
    /// Where the id comes from.
    pub id_source: IdSource,
    /// Part of the key.
    pub key: bool,
    /// May be absent.
    pub optional: bool,
    /// Readers that do not know it discard the value.
    pub must_understand: bool,
    /// Stored behind a pointer.
    pub external: bool,
    /// Not part of the serialized value.
    pub non_serialized: bool,
    /// What to do with a value that the type cannot hold.
    pub try_construct: TryConstruct,
    /// The value when the member is missing.
    pub default: Option<Value>,
    /// `@min`, or the first part of `@range`.
    pub min: Option<Value>,
    /// `@max`, or the second part of `@range`.
    pub max: Option<Value>,
    /// `@unit`
    pub unit: Option<String>,
    /// Annotations that the source declares itself.
    pub annotations: Vec<Applied>,
}

/// A union.
#[derive(Clone, Debug)]
pub struct Union {
    /// Type of the discriminator.
    pub discriminator: Type,
    /// The discriminator is the key.
    pub key: bool,
    /// What to do with an unknown discriminator.
    pub try_construct: TryConstruct,
    /// Annotations of the discriminator that the source declares itself.
    pub annotations: Vec<Applied>,
    /// The cases in order.
    pub cases: Vec<Case>,
}

/// A case of a union.
#[derive(Clone, Debug)]
pub struct Case {
    /// Values of the discriminator that select the member.
    pub labels: Vec<Value>,
    /// Also selected by all values that no other case has.
    pub is_default: bool,
    /// The member.
    pub member: Member,
}

/// An enumeration.
#[derive(Clone, Debug)]
pub struct Enum {
    /// Bits of the value, 1 to 32.
    pub bit_bound: u16,
    /// Literals in order.
    pub literals: Vec<Literal>,
    /// Index of the default literal.
    pub default: usize,
    /// Names do not matter when types are compared.
    pub ignore_literal_names: bool,
}

/// A literal of an enumeration.
#[derive(Clone, Debug)]
pub struct Literal {
    /// The name.
    pub name: String,
    /// Where it is declared.
    pub span: Span,
    /// Documentation.
    pub docs: Option<String>,
    /// The value.
    pub value: i32,
    /// Annotations that the source declares itself.
    pub annotations: Vec<Applied>,
}

/// A bitmask.
#[derive(Clone, Debug)]
pub struct Bitmask {
    /// Number of bits, 1 to 64.
    pub bit_bound: u16,
    /// The bits with names, in order.
    pub bits: Vec<Bit>,
}

/// A bit of a bitmask.
#[derive(Clone, Debug)]
pub struct Bit {
    /// The name.
    pub name: String,
    /// Documentation.
    pub docs: Option<String>,
    /// The position, 0 for the least.
    pub position: u16,
    /// Annotations that the source declares itself.
    pub annotations: Vec<Applied>,
}

/// A bitset.
#[derive(Clone, Debug)]
pub struct Bitset {
    /// The base.
    pub base: Option<TypeId>,
    /// The fields that it adds, those without name left out.
    pub fields: Vec<BitField>,
    /// Number of bits with those of the base.
    pub width: u16,
}

/// A field of a bitset.
#[derive(Clone, Debug)]
pub struct BitField {
    /// The name.
    pub name: String,
    /// Documentation.
    pub docs: Option<String>,
    /// Position of its least bit, counted from the base's first.
    pub position: u16,
    /// Number of bits.
    pub width: u16,
    /// Type of its value.
    pub holder: Type,
    /// Annotations that the source declares itself.
    pub annotations: Vec<Applied>,
}

/// An alias.
#[derive(Clone, Debug)]
pub struct Alias {
    /// What it stands for.
    pub ty: Type,
}

/// A type where it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// `boolean`
    Boolean,
    /// `octet`
    Octet,
    /// `char`
    Char,
    /// `wchar`
    WideChar,
    /// `int8`
    Int8,
    /// `int16`, `short`
    Int16,
    /// `int32`, `long`
    Int32,
    /// `int64`, `long long`
    Int64,
    /// `uint8`
    Uint8,
    /// `uint16`, `unsigned short`
    Uint16,
    /// `uint32`, `unsigned long`
    Uint32,
    /// `uint64`, `unsigned long long`
    Uint64,
    /// `float`
    Float,
    /// `double`
    Double,
    /// `long double`
    LongDouble,
    /// `string`
    String {
        /// Greatest number of octets.
        bound: Option<u32>,
    },
    /// `wstring`
    WideString {
        /// Greatest number of UTF-16 units.
        bound: Option<u32>,
    },
    /// `sequence`
    Sequence {
        /// The elements.
        element: Box<Element>,
        /// Greatest number of them.
        bound: Option<u32>,
    },
    /// An array of any number of dimensions.
    Array {
        /// The elements, no array themselves unless they are an alias of one.
        element: Box<Element>,
        /// Size of each dimension, the outermost first.
        dimensions: Vec<u32>,
    },
    /// `map`
    Map {
        /// The keys.
        key: Box<Element>,
        /// The values.
        value: Box<Element>,
        /// Greatest number of pairs.
        bound: Option<u32>,
    },
    /// A type with a name.
    Named(TypeId),
}

/// What a collection consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// The type.
    pub ty: Type,
    /// Stored behind a pointer.
    pub external: bool,
    /// What to do with a value that the type cannot hold.
    pub try_construct: TryConstruct,
}

/// The value of a constant.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `boolean`
    Bool(bool),
    /// Any integer type or `octet`.
    Int(i128),
    /// Any floating-point type.
    Float(f64),
    /// `char`
    Char(u8),
    /// `wchar`
    WideChar(u16),
    /// `string`: octets, as a rule UTF-8.
    Str(Vec<u8>),
    /// `wstring`: UTF-16 units.
    WideStr(Vec<u16>),
    /// A literal: the enumeration and the index.
    Enum(TypeId, usize),
    /// Bits of a bitmask.
    Bits(TypeId, u64),
}

/// A constant.
#[derive(Clone, Debug)]
pub struct Constant {
    /// The name.
    pub name: String,
    /// With its scope.
    pub full_name: String,
    /// Where it is declared.
    pub span: Span,
    /// Documentation.
    pub docs: Option<String>,
    /// The type.
    pub ty: Type,
    /// The value.
    pub value: Value,
}

/// An annotation that the source declares.
#[derive(Clone, Debug)]
pub struct Annotation {
    /// With its scope.
    pub full_name: String,
    /// The parameters in the order of their declaration.
    pub params: Vec<AnnotationParam>,
}

/// A parameter of an annotation.
#[derive(Clone, Debug)]
pub struct AnnotationParam {
    /// The name.
    pub name: String,
    /// The type; `None` is `any`.
    pub ty: Option<Type>,
    /// The value where none is given.
    pub default: Option<Value>,
}

/// An annotation that the source declares itself, where it is applied.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// Full name.
    pub name: String,
    /// All parameters in the order of their declaration.
    pub params: Vec<(String, Value)>,
}

/// Text for generated code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verbatim {
    /// Which back end it is for; `*` for all.
    pub language: String,
    /// Where it goes.
    pub placement: Placement,
    /// The text.
    pub text: String,
}

/// Where `@verbatim` puts its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// At the beginning of the file.
    BeginFile,
    /// Before the declaration.
    BeforeDeclaration,
    /// At the beginning of the declaration's body.
    BeginDeclaration,
    /// At the end of the declaration's body.
    EndDeclaration,
    /// After the declaration.
    AfterDeclaration,
    /// At the end of the file.
    EndFile,
}

/// An interface.
#[derive(Clone, Debug)]
pub struct Interface {
    /// The name.
    pub name: String,
    /// With its scope.
    pub full_name: String,
    /// Where it is declared.
    pub span: Span,
    /// Documentation.
    pub docs: Option<String>,
    /// Interfaces that it extends.
    pub bases: Vec<InterfaceId>,
    /// Platforms of `@service`; `None` without the annotation.
    pub service: Option<String>,
    /// Types and constants inside.
    pub items: Vec<Item>,
    /// Operations in order.
    pub operations: Vec<Operation>,
    /// Attributes in order.
    pub attributes: Vec<Attribute>,
}

/// An operation of an interface.
#[derive(Clone, Debug)]
pub struct Operation {
    /// The name.
    pub name: String,
    /// Documentation.
    pub docs: Option<String>,
    /// Nobody waits for an answer.
    pub oneway: bool,
    /// The result; `None` is `void`.
    pub returns: Option<Type>,
    /// The parameters in order.
    pub params: Vec<Param>,
    /// Exceptions.
    pub raises: Vec<TypeId>,
}

/// The way that a parameter goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// With the call.
    In,
    /// With the answer.
    Out,
    /// With both.
    InOut,
}

/// A parameter of an operation.
#[derive(Clone, Debug)]
pub struct Param {
    /// The name.
    pub name: String,
    /// The way it goes.
    pub direction: Direction,
    /// The type.
    pub ty: Type,
}

/// An attribute of an interface.
#[derive(Clone, Debug)]
pub struct Attribute {
    /// The name.
    pub name: String,
    /// Documentation.
    pub docs: Option<String>,
    /// Cannot be set.
    pub readonly: bool,
    /// The type.
    pub ty: Type,
    /// Exceptions when it is read.
    pub get_raises: Vec<TypeId>,
    /// Exceptions when it is set.
    pub set_raises: Vec<TypeId>,
}
