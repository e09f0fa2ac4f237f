//! Case labels and the discriminator types they belong to.

use proc_macro2::{Literal, TokenStream};
use quote::quote;
use syn::{Error, Expr, Lit, Result, Type};

use super::{Case, Union};
use crate::attrs::integer;

/// How labels of a discriminator type are written in Rust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Labels {
    /// Integers with this range.
    Integer(i128, i128),
    /// `Char8` or `Char16`, with the greatest character.
    Character(i128),
    Boolean,
    /// An enumeration: paths of its literals.
    Path,
}

impl Labels {
    pub(crate) fn of(ty: &Type) -> Self {
        let Type::Path(path) = ty else { return Self::Path };
        let Some(last) = path.path.segments.last() else { return Self::Path };
        match last.ident.to_string().as_str() {
            "bool" => Self::Boolean,
            "u8" => Self::Integer(0, u8::MAX.into()),
            "i8" => Self::Integer(i8::MIN.into(), i8::MAX.into()),
            "u16" => Self::Integer(0, u16::MAX.into()),
            "i16" => Self::Integer(i16::MIN.into(), i16::MAX.into()),
            "u32" => Self::Integer(0, u32::MAX.into()),
            "i32" => Self::Integer(i32::MIN.into(), i32::MAX.into()),
            "u64" => Self::Integer(0, u64::MAX.into()),
            "i64" => Self::Integer(i64::MIN.into(), i64::MAX.into()),
            "Char8" => Self::Character(u8::MAX.into()),
            "Char16" => Self::Character(u16::MAX.into()),
            _ => Self::Path,
        }
    }

    /// Refuses labels of another type and labels that are given twice.
    pub(crate) fn check(self, union: &Union<'_>) -> Result<()> {
        let mut seen: Vec<String> = Vec::new();
        for label in union.cases.iter().flat_map(|case| &case.labels) {
            self.check_label(label)?;
            let canonical = match integer(label) {
                Some(value) => value.to_string(),
                None => quote!(#label).to_string(),
            };
            if seen.contains(&canonical) {
                return Err(Error::new_spanned(label, "this label selects another case already"));
            }
            seen.push(canonical);
        }
        Ok(())
    }

    fn check_label(self, label: &Expr) -> Result<()> {
        let fits = match (self, integer(label), label) {
            (Self::Integer(min, max), Some(value), _) => (min..=max).contains(&value),
            (Self::Character(max), Some(value), _) => (0..=max).contains(&value),
            (Self::Boolean, _, Expr::Lit(lit)) => matches!(lit.lit, Lit::Bool(_)),
            (Self::Integer(..) | Self::Path, None, Expr::Path(_)) => true,
            _ => false,
        };
        if fits {
            return Ok(());
        }
        let wanted = match self {
            Self::Integer(min, max) => format!("an integer from {min} to {max} or the path of a constant"),
            Self::Character(_) => "a character".into(),
            Self::Boolean => "`true` or `false`".into(),
            Self::Path => "the path of a literal of the enumeration".into(),
        };
        Err(Error::new_spanned(label, format!("the label has to be {wanted}")))
    }

    /// The discriminator as an expression that patterns can match.
    pub(crate) fn scrutinee(self, discriminator: &TokenStream) -> TokenStream {
        if let Self::Character(_) = self { quote!(#discriminator.0) } else { discriminator.clone() }
    }

    fn literal(self, label: &Expr) -> TokenStream {
        match (self, integer(label)) {
            // Characters match on the number inside; suffixes of integers would not fit the type.
            (Self::Integer(..) | Self::Character(_), Some(value)) if value < 0 => {
                let literal = Literal::i128_unsuffixed(value.saturating_neg());
                quote!(-#literal)
            }
            (Self::Integer(..) | Self::Character(_), Some(value)) => {
                let literal = Literal::i128_unsuffixed(value);
                quote!(#literal)
            }
            _ => quote!(#label),
        }
    }

    /// The value of a label as an `i64`.
    pub(crate) fn value_of(self, label: &Expr, discriminator: &Type) -> TokenStream {
        let literal = self.literal(label);
        match (self, integer(label)) {
            (Self::Integer(..), Some(_)) => quote!({ let value: #discriminator = #literal; value as i64 }),
            (Self::Character(_), _) => quote!(#literal),
            (Self::Path, _) => quote!((#literal).dds_value()),
            _ => quote!(#literal as i64),
        }
    }

    /// A pattern of the labels of a case.
    pub(crate) fn pattern(self, case: &Case<'_>) -> TokenStream {
        if case.is_default {
            return quote!(_);
        }
        let literals = case.labels.iter().map(|label| self.literal(label));
        quote!(#(#literals)|*)
    }

    fn value(self, literal: &TokenStream, discriminator: &Type) -> TokenStream {
        if let Self::Character(_) = self { quote!(#discriminator(#literal)) } else { literal.clone() }
    }

    /// The discriminator that stands for a case which does not keep its own.
    pub(crate) fn canonical(self, union: &Union<'_>, case: &Case<'_>) -> Result<TokenStream> {
        if let Some(label) = case.labels.first() {
            return Ok(self.value(&self.literal(label), union.discriminator));
        }
        let labels: Vec<&Expr> = union.cases.iter().flat_map(|case| &case.labels).collect();
        let unused = match self {
            Self::Integer(_, max) | Self::Character(max) => {
                let taken: Option<Vec<i128>> = labels.iter().map(|label| integer(label)).collect();
                let free = taken.and_then(|taken| (0..=max).find(|value| !taken.contains(value)));
                free.map(|value| {
                    let literal = Literal::i128_unsuffixed(value);
                    quote!(#literal)
                })
            }
            Self::Boolean => ["false", "true"].iter().find_map(|word| {
                let free = !labels.iter().any(|label| quote!(#label).to_string() == **word);
                free.then(|| word.parse().ok()).flatten()
            }),
            Self::Path => None,
        };
        let Some(literal) = unused else {
            return Err(Error::new(
                case.ident.span(),
                "no unused discriminator can be chosen here: add a field #[dds(discriminator)] that keeps it",
            ));
        };
        Ok(self.value(&literal, union.discriminator))
    }
}
