//! Member ids (DDS-XTypes 1.3 §7.3.1.2.1.1): explicit, sequential or hashed.

use md5::{Digest, Md5};
use proc_macro2::TokenStream;
use quote::quote;

/// The greatest member id.
pub(crate) const MAX_ID: u32 = 0x0fff_ffff;

/// What is said of a sequential id above that.
pub(crate) const TOO_GREAT: &str = "the id of this member would be above 0x0fffffff; set one with `id`";

/// A member id as far as it is known when the macro runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Id {
    /// The `n`th id after those of the base type, which only the compiler knows.
    AfterBase(u32),
    /// This id.
    Known(u32),
}

impl Id {
    /// The id after this one.
    pub(crate) fn next(self) -> Self {
        match self {
            Self::AfterBase(n) => Self::AfterBase(n.saturating_add(1)),
            Self::Known(id) => Self::Known(id.saturating_add(1)),
        }
    }

    /// Whether it is none that a member can have.
    pub(crate) fn is_too_great(self) -> bool {
        matches!(self, Self::Known(id) if id > MAX_ID)
    }

    /// An expression for the id; `next_of_base` is one for the first id after the base.
    pub(crate) fn tokens(self, krate: &TokenStream, next_of_base: &TokenStream) -> TokenStream {
        match self {
            Self::AfterBase(n) => quote!(#krate::codegen::id_after(#next_of_base, #n)),
            Self::Known(id) => quote!(#id),
        }
    }
}

/// The id that `@hashid` makes of a name.
pub(crate) fn hash_id(name: &str) -> u32 {
    let digest = Md5::digest(name.as_bytes());
    let mut first = [0; 4];
    first.iter_mut().zip(digest).for_each(|(to, from)| *to = from);
    u32::from_le_bytes(first) & MAX_ID
}

/// The same of what `hashid` says, or else of the member's own name.
pub(crate) fn hash_of(said: Option<&syn::LitStr>, name: &str) -> u32 {
    let said = said.map(syn::LitStr::value).filter(|text| !text.is_empty());
    hash_id(said.as_deref().unwrap_or(name))
}

#[cfg(test)]
mod tests {
    use super::hash_id;

    #[test]
    fn hashes_of_the_standard() {
        assert_eq!(hash_id("color"), 0x0fa5_dd70);
        assert_eq!(hash_id("shapesize"), 0x0477_90da);
    }
}
