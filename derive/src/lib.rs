//! `#[derive(DdsType)]`: serialization, keys and type support for Rust types.
//!
//! The macros are re-exported by `dunlin-cdr` and `dunlin`; the derived code names whichever of the two the using
//! crate depends on.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(unreachable_pub))]

mod attrs;
mod container;
mod describe;
mod enumeration;
mod ids;
mod manifest;
mod newtype;
mod structure;
mod uint8;
mod union;

#[cfg(test)]
mod tests;

use container::{Container, Output};
use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Makes a topic type of a structure or union, and gives enumerations and bitmasks their serialization.
///
/// Derives `CdrRead`, `CdrWrite`, `Described` and, unless `nested`, `DdsType`. IDL constructs map like this:
///
/// | IDL | Rust |
/// |---|---|
/// | `struct` | `struct` with named fields |
/// | `union` | `enum` with `#[dds(union, discriminator = "i32")]` |
/// | `enum` | `enum` without fields |
/// | `bitmask`, `bitset` | `struct Name(u32)` with `#[dds(bitmask)]` or `#[dds(bitset)]` |
/// | `typedef` | the type itself, or `struct Name(T)` with `#[dds(transparent)]` |
/// | `string`, `wstring` | `String`, `WString` |
/// | `char`, `wchar`, `long double` | `Char8`, `Char16`, `Float128` |
/// | `sequence<T>`, `T[N]`, `map<K, V>` | `Vec<T>`, `[T; N]`, `BTreeMap<K, V>` |
/// | bounds inside of other types | `BoundedString<N>`, `BoundedVec<T, N>`, `Bound<T, N>` |
/// | `@optional` | `Option<T>` |
/// | `@external` | `Box<T>` |
///
/// # Attributes of types, in `#[dds(...)]`
/// - `name = "Module::Type"`: the type name; the Rust name otherwise.
/// - `final`, `appendable` (default), `mutable`: the extensibility.
/// - `nested`: no topic type.
/// - `autoid = "hash"` or `"sequential"` (default): where member ids come from.
/// - `crate = "path"`: where to find `dunlin-cdr`, if not under its own name or as `dunlin::cdr`.
/// - `bit_bound = 8`: size of an enumeration (1 to 32, default 32) or bitmask (1 to 64).
/// - `union`, `discriminator = "i32"`, and `key` if the discriminator is the key.
/// - `bitmask`, `bitset`, `transparent`.
/// - `uint8`: the discriminator `u8` of a union, or `u8` in a transparent type, is `uint8` and not `octet`.
/// - `as = "idl::Alias<...>"`: what the discriminator, or what is behind a transparent type, is in IDL (see below).
/// - `try_construct = "default"`: an unknown discriminator makes the default union, where it is known how long the union is
///   that was sent: in mutable unions, and in appendable ones in XCDR2. Otherwise the sample is refused, as by default.
/// - `data_representation = "xcdr2"` or `"xcdr1"`: the only one that writers and readers of the topic type may use. QoS
///   that ask for the other are refused.
/// - `annotations = EXPR`: what else the IDL says of the type and its parts, a constant `dunlin_cdr::annotation::TypeAnnotations`:
///   annotations that it declares itself, and `@verbatim`. Complete type objects have them.
/// - `bits(READ = 0, WRITE = 3)` names the flags of a bitmask, `bits(low = 0..3, high: i8 = 3..8)` the fields of a bitset,
///   for those who see the type without its Rust source.
///
/// # Attributes of fields
/// - `key`: member of the key.
/// - `id = 5`, `hashid`, `hashid = "name"`: the member id.
/// - `name = "name"`: the member name, where it differs from the field name.
/// - `optional`: says in words what `Option<T>` says; refused on other types.
/// - `must_understand`: readers that lack the member discard the sample.
/// - `default = value`: value of a missing member.
/// - `bound = 16`: greatest length of a string, sequence or map.
/// - `try_construct = "discard"` (default), `"default"`, `"trim"`: what becomes of a value that the type cannot hold
///   (DDS-XTypes 1.3 §7.3.1.2.1.14). The key of a sample is what it became.
/// - `as = "idl::Sequence<idl::UseDefault<idl::Plain<Color>>>"`: what the member is in IDL where the Rust type does not say
///   it: names of typedefs, and what becomes of elements that do not fit. `dunlin_cdr::idl` has the types for that; what
///   they describe has to have values of the field's type.
/// - `unit = "m"`, `min = 0`, `max = 9`: annotations for those who see the type. Values are not checked against them.
/// - `uint8`: `u8` in the type is `uint8`, and not `octet` as otherwise. The octets are the same, the types are not.
/// - `external`: refused on types other than `Box<T>`.
/// - `non_serialized`: not part of the data; gets its `Default` value.
/// - `base`: the first field holds the members of the base type.
///
/// # Attributes of variants
/// - enumerations: `default` (or Rust's own `#[default]`) marks the default literal, otherwise it is the first;
///   `name = "RED"` is the literal's name, where it differs from the variant's.
/// - unions: `case = 1`, `case(1, 2)`, `default`, `id = 3`, `hashid`, `name = "member"`. The field of a variant takes `bound`,
///   `external`, `uint8`, `must_understand`, `default = value`, `try_construct`, `as`, `unit`, `min` and `max`, as fields of
///   structures do.
///   A variant has no field (no member) or one; a further field `#[dds(discriminator)]` keeps the discriminator,
///   otherwise the first label, or for the default the least unused value, is written.
#[proc_macro_derive(DdsType, attributes(dds, default))]
pub fn derive_dds_type(input: TokenStream) -> TokenStream {
    expand(&parse_macro_input!(input as DeriveInput), Output::All)
}

/// Derives deserialization alone, also for structures that borrow from the payload:
/// `struct View<'a> { stamp: u64, data: &'a [u8] }`. Takes the attributes of [`macro@DdsType`].
#[proc_macro_derive(CdrRead, attributes(dds, default))]
pub fn derive_cdr_read(input: TokenStream) -> TokenStream {
    expand(&parse_macro_input!(input as DeriveInput), Output::Read)
}

/// Derives serialization alone. Takes the attributes of [`macro@DdsType`].
#[proc_macro_derive(CdrWrite, attributes(dds, default))]
pub fn derive_cdr_write(input: TokenStream) -> TokenStream {
    expand(&parse_macro_input!(input as DeriveInput), Output::Write)
}

fn expand(input: &DeriveInput, output: Output) -> TokenStream {
    let tokens = Container::new(input, output).and_then(|container| container.expand());
    tokens.unwrap_or_else(|error| error.to_compile_error()).into()
}
