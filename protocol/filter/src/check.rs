//! Type checks: what the two sides of a predicate may be, and what constants mean beside a field.

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use dunlin_cdr::{TypeDescription, TypeKind, TypeRef};

use crate::error::{FilterError, Place, Reason};
use crate::field::{Class, Field};
use crate::nearest::nearest;
use crate::syntax::{FieldName, Literal, Operand, Predicate, Relation, Syntax, parameter};
use crate::value::Value;

/// A side of a test.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Side {
    Field(usize),
    Constant(usize),
}

/// A predicate whose sides fit each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Test {
    pub(crate) left: Side,
    pub(crate) relation: Relation,
    pub(crate) right: Side,
    pub(crate) upper: Option<Side>,
    pub(crate) negated: bool,
}

/// A constant of an expression.
#[derive(Clone, Debug)]
pub(crate) struct Constant {
    pub(crate) value: Value<'static>,
    /// The parameter that it is taken from.
    pub(crate) parameter: Option<usize>,
    /// What it is compared with.
    class: Class,
}

/// What an expression refers to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tables {
    pub(crate) fields: Vec<Field>,
    pub(crate) constants: Vec<Constant>,
    pub(crate) tests: Vec<Test>,
    pub(crate) order_by: Vec<usize>,
}

/// Resolves and checks one expression.
pub(crate) struct Checker<'p, P> {
    root: &'p TypeRef,
    parameters: &'p [P],
    tables: Tables,
}

impl<'p, P: AsRef<str>> Checker<'p, P> {
    pub(crate) fn check(
        root: &'p TypeRef,
        syntax: &Syntax<'_>,
        parameters: &'p [P],
    ) -> Result<Tables, FilterError> {
        let mut checker = Self { root, parameters, tables: Tables::default() };
        for predicate in &syntax.predicates {
            checker.predicate(predicate)?;
        }
        for name in &syntax.order_by {
            let field = checker.field(name)?;
            checker.tables.order_by.push(field);
        }
        Ok(checker.tables)
    }

    fn field(&mut self, name: &FieldName<'_>) -> Result<usize, FilterError> {
        let field = Field::resolve(self.root, name)?;
        if let Some(known) = self.tables.fields.iter().position(|known| *known == field) {
            return Ok(known);
        }
        self.tables.fields.push(field);
        Ok(self.tables.fields.len().saturating_sub(1))
    }

    fn class(&self, field: usize) -> Option<(Class, TypeRef)> {
        self.tables.fields.get(field).map(|field| (field.class.clone(), field.ty.clone()))
    }

    fn predicate(&mut self, predicate: &Predicate<'_>) -> Result<(), FilterError> {
        let operands = [Some(&predicate.left), Some(&predicate.right), predicate.upper.as_ref()];
        // The first field decides what constants mean.
        let mut fields = [None; 3];
        for (slot, operand) in fields.iter_mut().zip(&operands) {
            if let Some(Operand::Field(name)) = operand {
                *slot = Some(self.field(name)?);
            }
        }
        let first = fields.iter().flatten().next().and_then(|field| self.class(*field));
        let Some((class, ty)) = first else {
            return Err(FilterError::at(predicate.at, Reason::NoField));
        };
        if predicate.relation == Relation::Like && !matches!(class, Class::Text) {
            let expected = String::from("a string to compare by LIKE");
            return Err(FilterError::at(
                predicate.at,
                Reason::Mismatch { expected, found: ty.get().to_string() },
            ));
        }
        let mut sides = [None; 3];
        for ((side, operand), field) in sides.iter_mut().zip(operands).zip(fields) {
            let Some(operand) = operand else { continue };
            *side = Some(match field {
                Some(field) => {
                    self.comparable(&class, ty.get(), field)
                        .map_err(|reason| FilterError::at(operand.at(), reason))?;
                    Side::Field(field)
                }
                None => self.constant(operand, &class)?,
            });
        }
        if let [Some(left), Some(right), upper] = sides {
            let (relation, negated) = (predicate.relation, predicate.negated);
            self.tables.tests.push(Test { left, relation, right, upper, negated });
        }
        Ok(())
    }

    /// Whether another field can be compared with one of this class.
    fn comparable(&self, class: &Class, ty: &TypeDescription, other: usize) -> Result<(), Reason> {
        let Some((other, other_ty)) = self.class(other) else { return Ok(()) };
        let number = |class: &Class| matches!(class, Class::Integer | Class::Float);
        let fits = match (class, &other) {
            (Class::Enumeration(a), Class::Enumeration(b)) => a.get().name == b.get().name,
            (Class::Enumeration(_), Class::Integer) | (Class::Integer, Class::Enumeration(_)) => true,
            (Class::Boolean, Class::Boolean) | (Class::Text, Class::Text) => true,
            (Class::Character { .. }, Class::Character { .. }) => true,
            (a, b) => number(a) && number(b),
        };
        if fits {
            return Ok(());
        }
        let expected = alloc::format!("a field that can be compared with {ty}");
        Err(Reason::Mismatch { expected, found: alloc::format!("one of type {}", other_ty.get()) })
    }

    fn constant(&mut self, operand: &Operand<'_>, class: &Class) -> Result<Side, FilterError> {
        let (value, parameter) = match operand {
            Operand::Literal(at, literal) => {
                (convert(literal, class).map_err(|reason| FilterError::at(*at, reason))?, None)
            }
            Operand::Parameter(at, index) => {
                if *index >= self.parameters.len() {
                    let reason = Reason::MissingParameter { given: self.parameters.len() };
                    return Err(FilterError { place: Place::Parameter(*index), reason });
                }
                let _ = at;
                (value_of(self.parameters, *index, class)?, Some(*index))
            }
            Operand::Field(name) => return self.field(name).map(Side::Field),
        };
        self.tables.constants.push(Constant { value, parameter, class: class.clone() });
        Ok(Side::Constant(self.tables.constants.len().saturating_sub(1)))
    }
}

impl Constant {
    /// The value with other parameters.
    pub(crate) fn with<P: AsRef<str>>(&self, parameters: &[P]) -> Result<Value<'static>, FilterError> {
        match self.parameter {
            Some(index) => value_of(parameters, index, &self.class),
            None => Ok(self.value.clone()),
        }
    }
}

/// The value of a parameter beside a field.
fn value_of<P: AsRef<str>>(
    parameters: &[P],
    index: usize,
    class: &Class,
) -> Result<Value<'static>, FilterError> {
    let place = Place::Parameter(index);
    let Some(text) = parameters.get(index) else {
        return Err(FilterError { place, reason: Reason::MissingParameter { given: parameters.len() } });
    };
    let literal = parameter(text.as_ref());
    literal.and_then(|literal| convert(&literal, class)).map_err(|reason| FilterError { place, reason })
}

/// What a constant means beside a field of this class.
fn convert(literal: &Literal, class: &Class) -> Result<Value<'static>, Reason> {
    let expected = match (class, literal) {
        (Class::Boolean, Literal::Boolean(value)) => return Ok(Value::Boolean(*value)),
        (Class::Boolean, Literal::Integer(value @ (0 | 1))) => return Ok(Value::Boolean(*value == 1)),
        (Class::Integer | Class::Float | Class::Enumeration(_), Literal::Integer(value)) => {
            return Ok(Value::Integer(*value));
        }
        (Class::Integer | Class::Float, Literal::Float(value)) => return Ok(Value::Float(*value)),
        (Class::Text, Literal::Text(text)) => return Ok(Value::Text(Cow::Owned(text.clone()))),
        (Class::Enumeration(ty), Literal::Text(name)) => return literal_of(ty.get(), name),
        (Class::Character { most }, Literal::Text(text)) => match single(text, *most) {
            Some(character) => return Ok(Value::Character(character)),
            None => String::from("one character in single quotes"),
        },
        (Class::Boolean, _) => String::from("TRUE or FALSE"),
        (Class::Integer | Class::Float, _) => String::from("a number"),
        (Class::Character { .. }, _) => String::from("one character in single quotes"),
        (Class::Text, _) => String::from("a text in single quotes"),
        (Class::Enumeration(ty), _) => {
            alloc::format!("a literal of {} in single quotes, or its number", ty.get())
        }
    };
    Err(Reason::Mismatch { expected, found: describe(literal) })
}

fn describe(literal: &Literal) -> String {
    match literal {
        Literal::Integer(value) => alloc::format!("the integer {value}"),
        Literal::Float(value) => alloc::format!("the number {value}"),
        Literal::Boolean(true) => String::from("TRUE"),
        Literal::Boolean(false) => String::from("FALSE"),
        Literal::Text(text) => alloc::format!("the text '{text}'"),
    }
}

/// The code of a text of one character.
fn single(text: &str, most: u32) -> Option<u32> {
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (Some(character), None) => Some(u32::from(character)).filter(|code| *code <= most),
        _ => None,
    }
}

fn literal_of(ty: &TypeDescription, name: &str) -> Result<Value<'static>, Reason> {
    let TypeKind::Enumeration(enumeration) = &ty.kind else {
        return Err(Reason::Mismatch { expected: String::from("a number"), found: name.to_string() });
    };
    match enumeration.literal(name) {
        Some(literal) => Ok(Value::Integer(literal.value.into())),
        None => Err(Reason::UnknownLiteral {
            name: name.to_string(),
            of: ty.to_string(),
            nearest: nearest(name, enumeration.literals.iter().map(|literal| &*literal.name)),
        }),
    }
}
