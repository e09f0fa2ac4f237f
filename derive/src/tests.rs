//! What the derive macro refuses, and what it says then.

use syn::{DeriveInput, parse_quote};

use crate::container::{Container, Output};

/// The message for a type that is refused.
fn refused(mut input: DeriveInput, output: Output) -> String {
    input.attrs.push(parse_quote!(#[dds(crate = "dunlin_cdr")]));
    match Container::new(&input, output).and_then(|container| container.expand()) {
        Ok(tokens) => panic!("accepted: {tokens}"),
        Err(error) => error.to_string(),
    }
}

macro_rules! refuses {
    ($($name:ident: $part:literal { $($input:tt)* })*) => {$(
        #[test]
        fn $name() {
            let message = refused(parse_quote!($($input)*), Output::All);
            assert!(message.contains($part), "{message}");
        }
    )*};
}

refuses! {
    unknown_attribute: "unknown attribute `finale`" { #[dds(finale)] struct A { a: u8 } }
    unknown_field_attribute: "unknown attribute `kee`" { struct A { #[dds(kee)] a: u8 } }
    two_extensibilities: "`mutable` is given twice" { #[dds(final, mutable)] struct A { a: u8 } }
    unnamed_fields: "members need names" { struct A(u8, u8); }
    rust_union: "Rust unions cannot be derived" { union A { a: u8 } }
    data_without_union: "an enum with fields is a union" { enum A { B(u8) } }
    struct_as_union: "a union is derived for an `enum`" { #[dds(union)] struct A { a: u8 } }
    enum_as_bitmask: "needs a `struct` with one unnamed field" { #[dds(bitmask)] enum A { B } }
    discriminator_without_union: "only a union has a discriminator" {
        #[dds(discriminator = "i32")] enum A { B }
    }
    key_on_struct: "`key` belongs on fields" { #[dds(key)] struct A { a: u8 } }
    bit_bound_on_struct: "only enumerations and bitmasks" { #[dds(bit_bound = 8)] struct A { a: u8 } }
    optional_without_option: "has the type `Option<...>`" { struct A { #[dds(optional)] a: u8 } }
    optional_key: "a key member cannot be optional" { struct A { #[dds(key)] a: Option<u8> } }
    optional_default: "an optional member is absent by default" {
        struct A { #[dds(default = None)] a: Option<u8> }
    }
    external_without_box: "has the type `Box<...>`" { struct A { #[dds(external)] a: u8 } }
    default_without_value: "say which value `a` has by default" { struct A { #[dds(default)] a: u8 } }
    nothing_to_trim: "nothing to trim" { struct A { #[dds(try_construct = "trim")] a: String } }
    trimmed_discriminator: "nothing to trim in a discriminator" {
        #[dds(union, discriminator = "i32", try_construct = "trim")] enum A { #[dds(case = 1)] B(u8) }
    }
    annotated_alias: "has the description of what is in it" { #[dds(transparent, annotations = X)] struct A(u8); }
    represented_enum: "only topic types" { #[dds(data_representation = "xcdr2")] enum A { B } }
    tried_struct: "`try_construct` belongs on fields" { #[dds(try_construct = "default")] struct A { a: u8 } }
    described_struct: "`as` belongs on fields" { #[dds(as = "idl::Text")] struct A { a: String } }
    trimmed_member: "nothing to trim without `bound`" {
        #[dds(union, discriminator = "i32")] enum A { #[dds(case = 1)] B(#[dds(try_construct = "trim")] String) }
    }
    strange_choice: "expected one of: discard, default, trim" {
        struct A { #[dds(try_construct = "ignore")] a: String }
    }
    hidden_key: "`key` has no meaning on a non_serialized field" { struct A { #[dds(key, non_serialized)] a: u8 } }
    case_on_field: "`case` belongs to the variants" { struct A { #[dds(case = 1)] a: u8 } }
    same_id: "another member has the same id" { struct A { #[dds(id = 1)] a: u8, #[dds(id = 0)] b: u8, c: u8 } }
    long_id: "at most 28 bits" { struct A { #[dds(id = 0x1000_0000)] a: u8 } }
    two_ids: "`hashid` is given twice" { struct A { #[dds(id = 1, hashid)] a: u8 } }
    late_base: "the base is the first field" { struct A { a: u8, #[dds(base)] b: B } }
    base_with_id: "`id` has no meaning on a base" { struct A { #[dds(base, id = 1)] b: B } }
    key_after_base: "cannot add key members" { struct A { #[dds(base)] b: B, #[dds(key)] a: u8 } }
    borrowed_topic: "neither lifetimes nor type parameters" { struct A<'a> { a: &'a str } }
    generic_topic: "neither lifetimes nor type parameters" { struct A<T> { a: T } }
    wide_bit_bound: "is 1 to 32" { #[dds(bit_bound = 33)] enum A { B } }
    empty_enum: "at least one literal" { enum A {} }
    two_default_literals: "one literal of an enumeration is the default" {
        enum A { #[dds(default)] B, #[default] C }
    }
    id_of_literal: "`id` has no meaning on the literal" { enum A { #[dds(id = 1)] B } }
    wrong_holder: "a bit_bound of 9 is held by u16" { #[dds(bitmask, bit_bound = 9)] struct A(u8); }
    signed_holder: "held by u8, u16, u32 or u64" { #[dds(bitset)] struct A(i8); }
    two_holders: "exactly one unnamed field" { #[dds(bitmask)] struct A(u8, u8); }
    no_discriminator: "needs the type of its discriminator" { #[dds(union)] enum A { #[dds(case = 1)] B(u8) } }
    no_case: "say which labels select it" { #[dds(union, discriminator = "i32")] enum A { B(u8) } }
    empty_case: "at least one label" { #[dds(union, discriminator = "i32")] enum A { #[dds(case())] B(u8) } }
    same_label: "selects another case already" {
        #[dds(union, discriminator = "i32")] enum A { #[dds(case = 1)] B(u8), #[dds(case(2, 0x1))] C }
    }
    label_range: "an integer from 0 to 255" { #[dds(union, discriminator = "u8")] enum A { #[dds(case = -1)] B } }
    label_kind: "`true` or `false`" { #[dds(union, discriminator = "bool")] enum A { #[dds(case = 1)] B } }
    label_character: "has to be a character" { #[dds(union, discriminator = "Char8")] enum A { #[dds(case = "a")] B } }
    label_literal: "the path of a literal" { #[dds(union, discriminator = "Color")] enum A { #[dds(case = 1)] B } }
    two_defaults: "another case is the default" {
        #[dds(union, discriminator = "i32")] enum A { #[dds(default)] B, #[dds(default)] C }
    }
    default_with_value: "the default case has no value" {
        #[dds(union, discriminator = "i32")] enum A { #[dds(default = 1)] B }
    }
    two_members: "a case has one member" { #[dds(union, discriminator = "i32")] enum A { #[dds(case = 1)] B(u8, u8) } }
    two_kept: "another field keeps the discriminator" {
        #[dds(union, discriminator = "i32")]
        enum A { #[dds(default)] B(#[dds(discriminator)] i32, #[dds(discriminator)] i32) }
    }
    id_of_discriminator: "is 1 to 0x0fffffff" {
        #[dds(union, discriminator = "i32")] enum A { #[dds(case = 1, id = 0)] B(u8) }
    }
    same_case_id: "has the same member id as `B`" {
        #[dds(union, discriminator = "i32")] enum A { #[dds(case = 1)] B(u8), #[dds(case = 2, id = 1)] C(u8) }
    }
    nothing_left: "no unused discriminator" {
        #[dds(union, discriminator = "bool")]
        enum A { #[dds(case = true)] B, #[dds(case = false)] C, #[dds(default)] D }
    }
    unknown_literals: "add a field #[dds(discriminator)]" {
        #[dds(union, discriminator = "Color")] enum A { #[dds(case = Color::Red)] B, #[dds(default)] C }
    }
}

refuses! {
    bit_of_no_holder: "outside of the type" { #[dds(bitmask, bits(X = 9))] struct A(u8); }
    same_bit: "another one has these bits" { #[dds(bitmask, bits(X = 1, Y = 1))] struct A(u8); }
    same_bits: "another one has these bits" { #[dds(bitset, bits(x = 0..3, y = 2..4))] struct A(u8); }
    same_flag: "another one has this name" { #[dds(bitmask, bits(X = 1, X = 2))] struct A(u8); }
    two_lists_of_bits: "`bits` is given twice" { #[dds(bitmask, bits(X = 1), bits(Y = 2))] struct A(u8); }
    two_autoids: "`autoid` is given twice" { #[dds(autoid = "hash", autoid = "sequential")] struct A { a: u8 } }
    autoid_of_enum: "only structures and unions have member ids" { #[dds(autoid = "hash")] enum A { B } }
    autoid_of_bits: "only structures and unions have member ids" { #[dds(bitmask, autoid = "hash")] struct A(u8); }
    mutable_alias: "the extensibility of what is in it" { #[dds(transparent, mutable)] struct A(u8); }
    two_try_constructs: "`try_construct` is given twice" {
        struct A { #[dds(bound = 3, try_construct = "trim", try_construct = "discard")] a: String }
    }
    same_name: "another member has the same name" { struct A { a: u8, #[dds(name = "a")] b: u8 } }
    id_behind_the_greatest: "above 0x0fffffff" { struct A { #[dds(id = 0x0fff_ffff)] a: u8, b: u8 } }
    same_case_name: "has the same name as `B`" {
        #[dds(union, discriminator = "i32")] enum A { #[dds(case = 1)] B(u8), #[dds(case = 2, name = "B")] C(u8) }
    }
    case_id_behind_the_greatest: "above 0x0fffffff" {
        #[dds(union, discriminator = "i32")] enum A { #[dds(case = 1, id = 0x0fff_ffff)] B(u8), #[dds(case = 2)] C(u8) }
    }
    hash_of_the_own_name: "has the same member id as `B`" {
        #[dds(union, discriminator = "i32")]
        enum A { #[dds(case = 1, hashid = "")] B(u8), #[dds(case = 2, hashid = "B")] C(u8) }
    }
}

#[test]
fn names_are_found_in_any_spelling() {
    let input: DeriveInput = parse_quote! {
        #[dds(name = "M::A", mutable, autoid = "HASH", crate = dunlin_cdr)]
        struct A { #[dds(hashid = "color")] a: u8, r#type: u8, #[dds(name = "shapesize")] b: u8 }
    };
    let container = Container::new(&input, Output::All).and_then(|container| container.expand());
    let tokens = container.map(|tokens| tokens.to_string()).unwrap_or_else(|error| panic!("{error}"));
    for id in [0x0fa5_dd70u32, crate::ids::hash_id("type"), 0x0477_90da] {
        assert!(tokens.contains(&format!("{id}u32")), "{id:#x}");
    }
    assert!(tokens.contains("\"M::A\""));
}

/// The methods of a bitset are those of its fields.
#[test]
fn a_bitset_gets_no_method() {
    let methods = |input: DeriveInput| {
        let container = Container::new(&input, Output::All).and_then(|container| container.expand());
        container.unwrap_or_else(|error| panic!("{error}")).to_string().contains("fn dds_value")
    };
    assert!(methods(parse_quote! { #[dds(bitmask, crate = dunlin_cdr)] struct A(u8); }));
    assert!(!methods(parse_quote! { #[dds(bitset, crate = dunlin_cdr)] struct A(u8); }));
}
