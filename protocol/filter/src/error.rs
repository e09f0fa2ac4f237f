//! Why an expression or a parameter was refused: where, what was expected there, and what may have been meant.

use alloc::string::String;
use core::fmt;

/// Why an expression or its parameters cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError {
    /// Where.
    pub place: Place,
    /// What is wrong there.
    pub reason: Reason,
}

/// A place in an expression or its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// So many bytes from the start of the expression.
    Expression(usize),
    /// In the parameter `%index`.
    Parameter(usize),
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// Something else should stand here.
    Unexpected {
        /// What could.
        expected: &'static str,
        /// What does.
        found: String,
    },
    /// A text without its closing quote.
    OpenText,
    /// A number that no type can hold, or that is malformed.
    BadNumber(String),
    /// A limit of this crate is exceeded.
    TooMuch {
        /// Of what.
        what: &'static str,
        /// How much is allowed.
        most: usize,
    },
    /// The type has no such member.
    UnknownMember {
        /// The name asked for.
        name: String,
        /// The type.
        of: String,
        /// A member with a similar name.
        nearest: Option<String>,
    },
    /// Only structures and unions have members.
    NoMembers {
        /// The member asked for.
        name: String,
        /// The type.
        of: String,
    },
    /// Only sequences and arrays have elements.
    NoElements {
        /// The type.
        of: String,
    },
    /// The array is shorter.
    IndexTooLarge {
        /// The index.
        index: usize,
        /// The length of the array.
        length: usize,
    },
    /// A field of this type cannot be compared.
    NotComparable {
        /// The type.
        of: String,
        /// What could be compared instead.
        hint: String,
    },
    /// Two sides of a comparison that cannot be compared, or an operator that does not apply.
    Mismatch {
        /// What could stand here.
        expected: String,
        /// What does.
        found: String,
    },
    /// The enumeration has no such literal.
    UnknownLiteral {
        /// The name given.
        name: String,
        /// The enumeration.
        of: String,
        /// A literal with a similar name.
        nearest: Option<String>,
    },
    /// A predicate compares constants only.
    NoField,
    /// The expression uses a parameter that was not given.
    MissingParameter {
        /// How many were given.
        given: usize,
    },
}

impl FilterError {
    pub(crate) const fn at(position: usize, reason: Reason) -> Self {
        Self { place: Place::Expression(position), reason }
    }
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::Expression(at) => write!(f, "at position {at}: {}", self.reason),
            Place::Parameter(index) => write!(f, "parameter %{index}: {}", self.reason),
        }
    }
}

/// Appends what may have been meant.
fn suggest(f: &mut fmt::Formatter<'_>, nearest: Option<&String>) -> fmt::Result {
    nearest.map_or(Ok(()), |name| write!(f, "; did you mean `{name}`?"))
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unexpected { expected, found } => write!(f, "expected {expected}, found {found}"),
            Self::OpenText => f.write_str("the text that starts here has no closing quote"),
            Self::BadNumber(text) => write!(f, "`{text}` is no number that a member could have"),
            Self::TooMuch { what, most } => write!(f, "more than {most} {what}"),
            Self::UnknownMember { name, of, nearest } => {
                write!(f, "{of} has no member `{name}`")?;
                suggest(f, nearest.as_ref())
            }
            Self::NoMembers { name, of } => {
                write!(f, "`{name}` is asked of {of}, which has no members")
            }
            Self::NoElements { of } => write!(f, "{of} has no elements to be named by an index"),
            Self::IndexTooLarge { index, length } => {
                write!(f, "index {index} of an array of {length}")
            }
            Self::NotComparable { of, hint } => write!(f, "{of} cannot be compared: {hint}"),
            Self::Mismatch { expected, found } => write!(f, "expected {expected}, found {found}"),
            Self::UnknownLiteral { name, of, nearest } => {
                write!(f, "{of} has no literal '{name}'")?;
                suggest(f, nearest.as_ref())
            }
            Self::NoField => f.write_str("one side of a comparison has to be a field"),
            Self::MissingParameter { given } => write!(f, "not among the {given} parameters given"),
        }
    }
}

impl core::error::Error for FilterError {}
