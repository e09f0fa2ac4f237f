//! A compiled expression with its parameters, and its evaluation on serialized samples.

use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;

use dunlin_cdr::{
    CdrError, DdsType, DecodeOptions, Decoder, Extensibility, Limits, Scope, TypeKind, TypeRef,
};

use crate::check::{Checker, Side, Tables, Test};
use crate::error::{FilterError, Place, Reason};
use crate::field::Class;
use crate::like::like_within;
use crate::steps::{Steps, TooManySteps};
use crate::syntax::{Op, Relation, Syntax};
use crate::value::Value;
use crate::{MAX_PARAMETER, MAX_PARAMETERS};

/// What became of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The condition is true.
    Passed,
    /// The condition is false.
    Rejected,
    /// The bytes are no sample of the type as far as the condition needs to read them. Such a sample does not pass.
    Unreadable,
}

impl Verdict {
    /// Whether the sample passes.
    #[must_use]
    pub const fn passed(self) -> bool {
        matches!(self, Self::Passed)
    }
}

/// A compiled filter or query expression.
#[derive(Clone, Debug)]
pub struct Filter {
    expression: String,
    parameters: Vec<String>,
    extensibility: Extensibility,
    ops: Vec<Op>,
    tables: Tables,
    key_only: bool,
}

/// The values by which a query sorts a sample.
#[derive(Clone, Debug, PartialEq)]
pub struct SortKey(Vec<Option<Value<'static>>>);

impl SortKey {
    /// The order of two samples: by the first field that differs. A field that is not there comes first, NaN last.
    #[must_use]
    pub fn order(&self, other: &Self) -> Ordering {
        let pairs = self.0.iter().zip(&other.0).map(|pair| match pair {
            (Some(a), Some(b)) => a.order(b),
            (a, b) => a.is_some().cmp(&b.is_some()),
        });
        pairs.fold(Ordering::Equal, Ordering::then)
    }
}

impl Filter {
    /// Compiles a FilterExpression for samples of `T`. An empty one lets everything pass.
    ///
    /// # Errors
    /// An expression that does not follow the grammar or does not fit the type, parameters that are missing or do not
    /// fit, and limits of this crate.
    pub fn new<T: DdsType>(expression: &str, parameters: &[impl AsRef<str>]) -> Result<Self, FilterError> {
        Self::for_type(TypeRef::of::<T>(), expression, parameters)
    }

    /// Compiles a FilterExpression for samples of a described type, like [`Filter::new`]. It keeps the description.
    ///
    /// # Errors
    /// As [`Filter::new`].
    pub fn for_type(
        ty: impl Into<TypeRef>,
        expression: &str,
        parameters: &[impl AsRef<str>],
    ) -> Result<Self, FilterError> {
        Self::compile(&ty.into(), expression, &Syntax::filter(expression)?, parameters)
    }

    /// Compiles a QueryExpression for samples of a described type: a condition, ORDER BY and fields, or both.
    ///
    /// # Errors
    /// As [`Filter::new`].
    pub fn query(
        ty: impl Into<TypeRef>,
        expression: &str,
        parameters: &[impl AsRef<str>],
    ) -> Result<Self, FilterError> {
        Self::compile(&ty.into(), expression, &Syntax::query(expression)?, parameters)
    }

    fn compile(
        ty: &TypeRef,
        expression: &str,
        syntax: &Syntax<'_>,
        parameters: &[impl AsRef<str>],
    ) -> Result<Self, FilterError> {
        let parameters = checked(parameters)?;
        let tables = Checker::check(ty, syntax, &parameters)?;
        let extensibility = match &ty.resolved().get().kind {
            TypeKind::Structure(structure) => structure.extensibility,
            TypeKind::Union(union) => union.extensibility,
            _ => Extensibility::Final,
        };
        Ok(Self {
            expression: String::from(expression),
            parameters,
            extensibility,
            ops: syntax.ops.clone(),
            key_only: tables.tests.iter().all(|test| is_about_key(test, &tables)),
            tables,
        })
    }

    /// The expression as it was given.
    #[must_use]
    pub fn expression(&self) -> &str {
        &self.expression
    }

    /// The parameters.
    #[must_use]
    pub fn parameters(&self) -> &[String] {
        &self.parameters
    }

    /// Replaces the parameters.
    ///
    /// # Errors
    /// Parameters that are missing or do not fit; nothing has changed then.
    pub fn set_parameters(&mut self, parameters: &[impl AsRef<str>]) -> Result<(), FilterError> {
        let parameters = checked(parameters)?;
        let values = self.tables.constants.iter().map(|constant| constant.with(&parameters));
        let values = values.collect::<Result<Vec<_>, _>>()?;
        for (constant, value) in self.tables.constants.iter_mut().zip(values) {
            constant.value = value;
        }
        self.parameters = parameters;
        Ok(())
    }

    /// Whether the expression refers to members of the key only, so that it can be decided by the key alone.
    #[must_use]
    pub fn is_about_key(&self) -> bool {
        self.key_only
    }

    /// Whether every implementation decides it alike: patterns of LIKE have other signs elsewhere, and floating-point numbers
    /// are compared with other precisions.
    #[must_use]
    pub fn is_beyond_doubt(&self) -> bool {
        let Tables { fields, constants, tests, .. } = &self.tables;
        fields.iter().all(|field| !matches!(field.class, Class::Float))
            && constants.iter().all(|constant| !matches!(constant.value, Value::Float(_)))
            && tests.iter().all(|test| test.relation != Relation::Like)
    }

    /// Whether the query sorts.
    #[must_use]
    pub fn sorts(&self) -> bool {
        !self.tables.order_by.is_empty()
    }

    /// Whether the condition is empty, so that everything passes.
    #[must_use]
    pub fn passes_all(&self) -> bool {
        self.ops.is_empty()
    }

    /// Evaluates the condition on the payload of a sample, with encapsulation header, of a writer with the given
    /// deviations.
    #[must_use]
    pub fn check(&self, payload: &[u8], options: DecodeOptions) -> Verdict {
        self.check_within(payload, options, &mut Steps::unlimited()).unwrap_or(Verdict::Unreadable)
    }

    /// The same in so many steps.
    ///
    /// # Errors
    /// It would have taken more; the sample was not judged.
    pub fn check_within(
        &self,
        payload: &[u8],
        options: DecodeOptions,
        steps: &mut Steps,
    ) -> Result<Verdict, TooManySteps> {
        self.verdict(payload, options, Scope::Sample, steps)
    }

    /// Evaluates the condition on a serialized key, with encapsulation header. Fields that are not part of the key
    /// are not there; see [`Filter::is_about_key`].
    #[must_use]
    pub fn check_key(&self, payload: &[u8], options: DecodeOptions) -> Verdict {
        self.check_key_within(payload, options, &mut Steps::unlimited()).unwrap_or(Verdict::Unreadable)
    }

    /// The same in so many steps.
    ///
    /// # Errors
    /// It would have taken more; the key was not judged.
    pub fn check_key_within(
        &self,
        payload: &[u8],
        options: DecodeOptions,
        steps: &mut Steps,
    ) -> Result<Verdict, TooManySteps> {
        self.verdict(payload, options, Scope::Key, steps)
    }

    fn verdict(
        &self,
        payload: &[u8],
        options: DecodeOptions,
        scope: Scope,
        steps: &mut Steps,
    ) -> Result<Verdict, TooManySteps> {
        if self.passes_all() {
            return Ok(Verdict::Passed);
        }
        let Ok(sample) = self.decoder(payload, options, scope) else { return Ok(Verdict::Unreadable) };
        match self.evaluate(&sample, steps) {
            Ok(true) => Ok(Verdict::Passed),
            Ok(false) => Ok(Verdict::Rejected),
            Err(Failure::Unreadable) => Ok(Verdict::Unreadable),
            Err(Failure::TooManySteps) => Err(TooManySteps),
        }
    }

    fn decoder<'de>(
        &self,
        payload: &'de [u8],
        options: DecodeOptions,
        scope: Scope,
    ) -> Result<Decoder<'de>, CdrError> {
        let decoder = Decoder::from_payload(payload, self.extensibility, &Limits::default())?;
        Ok(decoder.with_options(options).with_scope(scope))
    }

    /// The values by which the query sorts a sample; what cannot be read counts as not there.
    #[must_use]
    pub fn sort_key(&self, payload: &[u8], options: DecodeOptions) -> SortKey {
        let sample = self.decoder(payload, options, Scope::Sample);
        let value = |field: &usize| {
            let field = self.tables.fields.get(*field)?;
            let value = field.read(sample.as_ref().ok()?, &mut Steps::unlimited()).ok()??;
            Some(value.into_owned())
        };
        SortKey(self.tables.order_by.iter().map(value).collect())
    }

    fn evaluate(&self, sample: &Decoder<'_>, steps: &mut Steps) -> Result<bool, Failure> {
        let (mut result, mut at) = (true, 0usize);
        // Every jump goes forward, so each operation runs at most once.
        while let Some(op) = self.ops.get(at) {
            at = at.saturating_add(1);
            steps.take(1)?;
            match *op {
                Op::Test(test) => {
                    let Some(test) = self.tables.tests.get(test) else { break };
                    result = self.test(test, sample, steps)?;
                }
                Op::Not => result = !result,
                Op::JumpIf(decided, to) if result == decided => at = to,
                Op::JumpIf(..) => {}
            }
        }
        Ok(result)
    }

    fn test(&self, test: &Test, sample: &Decoder<'_>, steps: &mut Steps) -> Result<bool, Failure> {
        let Some(left) = self.value(test.left, sample, steps)? else { return Ok(false) };
        let Some(right) = self.value(test.right, sample, steps)? else { return Ok(false) };
        let holds = match (test.relation, test.upper) {
            (Relation::Like, _) => match (left.get(), right.get()) {
                (Value::Text(text), Value::Text(pattern)) => like_within(text, pattern, steps)?,
                _ => false,
            },
            (Relation::Between, Some(upper)) => {
                let Some(upper) = self.value(upper, sample, steps)? else { return Ok(false) };
                Relation::GreaterOrEqual.accepts(left.get().compare(right.get()))
                    && Relation::LessOrEqual.accepts(left.get().compare(upper.get()))
            }
            (relation, _) => relation.accepts(left.get().compare(right.get())),
        };
        Ok(holds != test.negated)
    }

    fn value<'v>(
        &'v self,
        side: Side,
        sample: &Decoder<'v>,
        steps: &mut Steps,
    ) -> Result<Option<Held<'v>>, Failure> {
        match side {
            Side::Constant(at) => {
                Ok(self.tables.constants.get(at).map(|constant| Held::Constant(&constant.value)))
            }
            Side::Field(at) => match self.tables.fields.get(at) {
                Some(field) => Ok(field.read(sample, steps)?.map(Held::Read)),
                None => Ok(None),
            },
        }
    }
}

/// Why a condition was not decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The bytes are no sample of the type.
    Unreadable,
    TooManySteps,
}

impl From<CdrError> for Failure {
    fn from(_: CdrError) -> Self {
        Self::Unreadable
    }
}

impl From<TooManySteps> for Failure {
    fn from(_: TooManySteps) -> Self {
        Self::TooManySteps
    }
}

/// A value that was read, or a constant that need not be copied.
enum Held<'v> {
    Read(Value<'v>),
    Constant(&'v Value<'static>),
}

impl<'v> Held<'v> {
    fn get(&self) -> &Value<'v> {
        match self {
            Self::Read(value) => value,
            Self::Constant(value) => value,
        }
    }
}

/// Whether a test asks for members of the key only.
fn is_about_key(test: &Test, tables: &Tables) -> bool {
    [Some(test.left), Some(test.right), test.upper].into_iter().flatten().all(|side| match side {
        Side::Field(at) => tables.fields.get(at).is_some_and(|field| field.key),
        Side::Constant(_) => true,
    })
}

/// Parameters within the limits.
fn checked(parameters: &[impl AsRef<str>]) -> Result<Vec<String>, FilterError> {
    let most = MAX_PARAMETERS;
    if parameters.len() > most {
        let reason = Reason::TooMuch { what: "parameters", most };
        return Err(FilterError { place: Place::Parameter(most), reason });
    }
    let limited = parameters.iter().enumerate().map(|(index, parameter)| {
        let text = parameter.as_ref();
        if text.len() > MAX_PARAMETER {
            let reason = Reason::TooMuch { what: "bytes in a parameter", most: MAX_PARAMETER };
            return Err(FilterError { place: Place::Parameter(index), reason });
        }
        Ok(String::from(text))
    });
    limited.collect()
}
