//! The types made of `tests/idl/idl` whose values are compared.

/// Calls a macro with all of them, of which the modules have to be in scope.
macro_rules! every_type {
    ($callback:ident) => {
        $callback! {
            test::Primitives, test::Texts, test::Collections, test::Hashed, test::Defaults, test::Choice, test::Numbered,
            test::Sparse, test::Covered, test::Empty, test::Labelled, test::HashedUnion, test::Bits,
            names::r#type::Again, video::VideoFrame, tried::Elements, tried::Arrays, tried::Keyed, tried::Listed, tried::Said,
            tried::Unions,
            recursive::Tree, recursive::Node, recursive::Chain, recursive::Outer, recursive::A,
        }
    };
}
