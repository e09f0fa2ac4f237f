//! The C++ back end: C++17 types like those of the OMG's IDL-to-C++ mapping, and how they are serialized.
//!
//! | IDL | C++ |
//! |---|---|
//! | module | namespace |
//! | struct | `struct` with public members; inheritance is public |
//! | exception | the same, derived from `std::exception` |
//! | union | `class` with the discriminator `_d()` and an accessor and a modifier for each member |
//! | enum | `enum class` of the integer that it is on the wire |
//! | bitmask | an unsigned integer, with the bits in `NAME_bits` (`NAME_bits_` if that is a type) |
//! | bitset | `struct` around an unsigned integer `_bits`, with accessors |
//! | typedef | `using` |
//! | const | `inline constexpr` |
//! | string, wstring | `std::string`, `std::u16string`; wchar is `char16_t` |
//! | sequence, array, map | `std::vector`, `std::array`, `std::map` |
//! | `@optional`, `@external` | `std::optional`, `dunlin::cdr::Box`, which is copied with its value |
//! | long double | `dunlin::cdr::Float128`, the bits |
//!
//! Names stay as they are; words of C++ get the prefix `_cxx_`. One header has all types that a file needs; several
//! headers may have the same types. `dunlin/cdr.hpp` comes with them.

mod declare;
mod order;
mod text;
mod traits;

use crate::backend::{Backend, Generated, Input, check_support, without_interfaces};
use crate::diagnostic::{Diagnostic, Sink};
use crate::ir::*;

/// The header that generated code includes. It is one file, so that there is one to copy; its parts stand in order.
pub const SUPPORT: &str = concat!(
    include_str!("support/begin.hpp"),
    include_str!("support/encoder.hpp"),
    include_str!("support/decoder.hpp"),
    include_str!("support/codecs.hpp"),
    include_str!("support/compound.hpp"),
    include_str!("support/payload.hpp"),
);

/// The C++ back end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cpp;

impl Backend for Cpp {
    fn file_name(&self, stem: &str) -> String {
        format!("{stem}.hpp")
    }

    fn generate(&self, input: &Input<'_>) -> Result<Generated, Vec<Diagnostic>> {
        let mut sink = Sink::new(200);
        check_support(input, "C++", &mut sink);
        check_verbatims(input.model, &mut sink);
        if sink.has_errors() {
            return Err(sink.finish());
        }
        let model = without_interfaces(input.model);
        let mut generator = Generator { model: &model, out: String::new() };
        generator.file(&Input { model: &model, ..*input });
        let files = vec![
            (self.file_name(input.stem()), generator.out),
            ("dunlin/cdr.hpp".to_owned(), SUPPORT.to_owned()),
        ];
        Ok(Generated { files, diagnostics: sink.finish() })
    }
}

fn is_ours(verbatim: &Verbatim) -> bool {
    matches!(verbatim.language.as_str(), "c++" | "*")
}

/// A module has no text of its own: each of its types is in a namespace block.
fn check_verbatims(model: &Model, sink: &mut Sink) {
    let inside = |verbatim: &&Verbatim| {
        is_ours(verbatim) && !matches!(verbatim.placement, Placement::BeginFile | Placement::EndFile)
    };
    for module in model.modules.iter().filter(|module| module.verbatims.iter().any(|it| inside(&it))) {
        let message =
            format!("the text of @verbatim at the module `{}` is left out in C++", module.full_name);
        sink.add(crate::Severity::Warning, None, message);
    }
}

struct Generator<'a> {
    model: &'a Model,
    out: String,
}

impl Generator<'_> {
    fn line(&mut self, text: &str) {
        self.out.push_str(text.trim_end());
        self.out.push('\n');
    }

    fn file(&mut self, input: &Input<'_>) {
        let model = self.model;
        self.line(&format!("// {}", input.header()));
        self.line("#pragma once");
        self.line("#include \"dunlin/cdr.hpp\"");
        self.line("");
        self.file_verbatims(Placement::BeginFile);
        let order = order::order(model);
        let wanted: Vec<TypeId> = order
            .into_iter()
            .filter(|id| model.ty(*id).is_some_and(|ty| input.is_wanted(ty.span.file)))
            .collect();
        for id in &wanted {
            self.forward(*id);
        }
        self.line("");
        for id in &wanted {
            let Some(ty) = model.ty(*id) else { continue };
            let guard = text::guard(&ty.full_name);
            self.line(&format!("#ifndef {guard}\n#define {guard}"));
            self.declaration(*id, ty);
            self.line("#endif\n");
        }
        for id in wanted {
            let Some(ty) = model.ty(id) else { continue };
            let guard = text::guard(&ty.full_name);
            self.line(&format!("#ifndef {guard}_TRAITS\n#define {guard}_TRAITS"));
            self.equality(id, ty);
            self.traits(id, ty);
            self.line("#endif\n");
        }
        for constant in model.constants.iter().filter(|constant| input.is_wanted(constant.span.file)) {
            self.constant(constant);
        }
        self.file_verbatims(Placement::EndFile);
    }

    fn file_verbatims(&mut self, placement: Placement) {
        let model = self.model;
        let of_types = model.types.iter().flat_map(|ty| &ty.verbatims);
        let all: Vec<&Verbatim> =
            model.modules.iter().flat_map(|module| &module.verbatims).chain(of_types).collect();
        self.verbatims(&all, placement);
    }

    fn verbatims(&mut self, verbatims: &[&Verbatim], placement: Placement) {
        for verbatim in verbatims.iter().filter(|it| is_ours(it) && it.placement == placement) {
            self.line(&verbatim.text);
        }
    }

    /// `namespace A::B {`, unless it is the global one.
    fn open(&mut self, full_name: &str) -> bool {
        let namespace = text::namespace(full_name);
        if !namespace.is_empty() {
            self.line(&format!("namespace {namespace} {{"));
        }
        !namespace.is_empty()
    }

    fn close(&mut self, opened: bool) {
        if opened {
            self.line("}");
        }
    }

    fn forward(&mut self, id: TypeId) {
        let Some(ty) = self.model.ty(id) else { return };
        let word = match ty.kind {
            Kind::Struct(_) | Kind::Exception(_) => "struct",
            Kind::Union(_) => "class",
            _ => return,
        };
        let name = text::name(&ty.name);
        match text::namespace(&ty.full_name).as_str() {
            "" => self.line(&format!("{word} {name};")),
            namespace => self.line(&format!("namespace {namespace} {{ {word} {name}; }}")),
        }
    }

    fn constant(&mut self, constant: &Constant) {
        let guard = text::guard(&constant.full_name);
        self.line(&format!("#ifndef {guard}\n#define {guard}"));
        let opened = self.open(&constant.full_name);
        self.docs(constant.docs.as_deref(), "");
        let ty = match self.model.resolve(&constant.ty) {
            Type::String { .. } => "std::string_view".to_owned(),
            Type::WideString { .. } => "std::u16string_view".to_owned(),
            ty => self.type_text(ty),
        };
        let (name, value) = (text::name(&constant.name), self.value(&constant.value, &constant.ty));
        self.line(&format!("inline constexpr {ty} {name} = {value};"));
        self.close(opened);
        self.line("#endif\n");
    }

    fn docs(&mut self, docs: Option<&str>, indent: &str) {
        for line in docs.unwrap_or_default().lines() {
            self.line(&format!("{indent}/// {line}"));
        }
    }
}
