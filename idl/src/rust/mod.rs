//! The Rust back end: types that derive `DdsType`, constants, modules.
//!
//! | IDL | Rust |
//! |---|---|
//! | module | `pub mod`, in snake case |
//! | interface | `pub mod` with the types and constants in it; no operations, with a warning |
//! | struct, exception | `pub struct`, the members of a base in the field `base` |
//! | union | `pub enum` with the members in its variants |
//! | enum | `pub enum` |
//! | bitmask, bitset | a structure around an unsigned integer, with constants or accessors |
//! | typedef | `pub type` |
//! | const | `pub const` |
//! | `@optional`, `@external` | `Option<T>`, `Box<T>` |
//!
//! Names become idiomatic (`frameNumber` the field `frame_number`, `RAW_RGB` the variant `RawRgb`); on the wire and in
//! announcements the names of the IDL are used.

mod described;
mod flags;
mod names;
mod said;
mod structure;
mod types;
mod uint8;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use names::Taken;
pub(crate) use types::float128;

use crate::backend::{Backend, Generated, Input, skip_interfaces, without_interfaces};
use crate::diagnostic::{Diagnostic, Sink};
use crate::ir::*;
use crate::source::FileId;

/// What the generated code should be like.
#[derive(Clone, Debug)]
pub struct RustOptions {
    /// Path of the module with `DdsType`; `::dunlin::cdr` by default.
    pub cdr: String,
    /// Generate the types of included files too (the default), so that the code is complete. Otherwise they are expected
    /// at the same paths relative to the types that use them.
    pub includes: bool,
}

impl Default for RustOptions {
    fn default() -> Self {
        Self { cdr: "::dunlin::cdr".to_owned(), includes: true }
    }
}

/// The Rust back end.
#[derive(Clone, Debug, Default)]
pub struct Rust {
    /// The path of the module with `DdsType`; `None` for the default of [`RustOptions`].
    pub cdr: Option<String>,
}

impl Backend for Rust {
    fn file_name(&self, stem: &str) -> String {
        format!("{stem}.rs")
    }

    fn generate(&self, input: &Input<'_>) -> Result<Generated, Vec<Diagnostic>> {
        let mut options = RustOptions { includes: input.includes, ..RustOptions::default() };
        options.cdr = self.cdr.clone().unwrap_or(options.cdr);
        let (code, diagnostics) = generate(input.model, input.main, &options)?;
        let files = vec![(self.file_name(input.stem()), with_header(input.path, &code))];
        Ok(Generated { files, diagnostics })
    }
}

/// Paths at which the derive finds the crate by itself.
const FOUND: &[&str] = &["::dunlin::cdr", "::dunlin_cdr"];

/// Makes Rust code of a model. `main` is the file that was compiled.
///
/// # Errors
/// Diagnostics for constructs that this back end does not support.
pub fn generate(
    model: &Model,
    main: Option<FileId>,
    options: &RustOptions,
) -> Result<(String, Vec<Diagnostic>), Vec<Diagnostic>> {
    let whole = without_interfaces(model);
    let mut generator = Generator::new(&whole, main, options);
    let input = Input { model, main, path: "", includes: options.includes };
    skip_interfaces(&input, "Rust", &mut generator.sink);
    if let Some(root) = whole.root() {
        generator.module(root, true);
    }
    let failed = generator.sink.has_errors();
    let diagnostics = generator.sink.finish();
    if failed { Err(diagnostics) } else { Ok((generator.out, diagnostics)) }
}

/// The code with a first line that says which file it comes from.
#[must_use]
pub fn with_header(path: &str, code: &str) -> String {
    let model = &Model::default();
    let header = Input { model, main: None, path, includes: true }.header();
    format!("// {header}\n\n{code}")
}

pub(crate) struct Generator<'a> {
    model: &'a Model,
    main: Option<FileId>,
    options: &'a RustOptions,
    sink: Sink,
    out: String,
    indent: usize,
    /// Rust names of the modules around.
    path: Vec<String>,
    /// Full Rust paths of types.
    types: BTreeMap<TypeId, Vec<String>>,
    /// Full Rust paths of what describes typedefs.
    aliases: BTreeMap<TypeId, Vec<String>>,
    constants: BTreeMap<ConstId, String>,
    modules: BTreeMap<ModuleId, String>,
    /// Names of the variants of enumerations.
    variants: BTreeMap<TypeId, Vec<String>>,
    /// What the source says of types, by their names.
    said: BTreeMap<String, String>,
    /// Rust names of all types, which may hide those of the standard library.
    taken: BTreeSet<String>,
}

impl<'a> Generator<'a> {
    fn new(model: &'a Model, main: Option<FileId>, options: &'a RustOptions) -> Self {
        let mut generator = Self {
            model,
            main,
            options,
            sink: Sink::new(200),
            out: String::new(),
            indent: 0,
            path: Vec::new(),
            types: BTreeMap::new(),
            aliases: BTreeMap::new(),
            constants: BTreeMap::new(),
            modules: BTreeMap::new(),
            variants: model.types().filter_map(|(id, ty)| Some((id, variants(ty)?))).collect(),
            said: said::all(model, &options.cdr),
            taken: BTreeSet::new(),
        };
        if let Some(root) = model.root() {
            generator.name_items(root, &mut Vec::new());
        }
        generator
    }

    /// Chooses the names of everything in a module.
    fn name_items(&mut self, module: &Module, path: &mut Vec<String>) {
        let (mut type_names, mut value_names) = (Taken::default(), Taken::default());
        for item in &module.items {
            match item {
                Item::Type(id) => {
                    let Some(ty) = self.model.ty(*id) else { continue };
                    let name = type_names.choose(names::type_name(&ty.name), &ty.name);
                    self.taken.insert(name.clone());
                    let full = path.iter().cloned().chain([name]).collect();
                    self.types.insert(*id, full);
                }
                Item::Const(id) => {
                    let Some(constant) = self.model.constant(*id) else { continue };
                    let name = value_names.choose(names::screaming(&constant.name), &constant.name);
                    self.constants.insert(*id, name);
                }
                Item::Module(id) => {
                    let Some(inner) = self.model.module(*id) else { continue };
                    let name = type_names.choose(names::snake(&inner.name), &inner.name);
                    self.modules.insert(*id, name.clone());
                    path.push(name);
                    self.name_items(inner, path);
                    path.pop();
                }
                Item::Interface(_) => {}
            }
        }
        // After all others, whose names matter to their users.
        for item in &module.items {
            let Item::Type(id) = item else { continue };
            if let Some(name) = self.types.get(id).and_then(|path| path.last()).filter(|_| self.is_alias(*id))
            {
                let wanted = format!("{}Alias", name.trim_start_matches("r#"));
                let marker = type_names.choose(wanted.clone(), &wanted);
                self.aliases.insert(*id, path.iter().cloned().chain([marker]).collect());
            }
        }
    }

    fn line(&mut self, text: &str) {
        if !text.is_empty() {
            for _ in 0..self.indent {
                self.out.push_str("    ");
            }
            self.out.push_str(text);
        }
        self.out.push('\n');
    }

    fn open(&mut self, text: &str) {
        self.line(text);
        self.indent = self.indent.saturating_add(1);
    }

    fn close(&mut self, text: &str) {
        self.indent = self.indent.saturating_sub(1);
        self.line(text);
    }

    /// Documentation, without making code of what is indented.
    fn docs(&mut self, docs: Option<&str>) {
        let mut fenced = false;
        for line in docs.unwrap_or_default().lines() {
            let trimmed = line.trim_start();
            let indent = line.len().saturating_sub(trimmed.len());
            let fence = trimmed.starts_with("```");
            let text = match (fence && !fenced && trimmed == "```", fenced) {
                (true, _) => "```text".to_owned(),
                (false, true) => line.to_owned(),
                (false, false) => format!("{}{trimmed}", " ".repeat(indent.min(2))),
            };
            fenced ^= fence;
            let line = if text.is_empty() { "///".to_owned() } else { format!("/// {text}") };
            self.line(line.trim_end());
        }
        if fenced {
            self.line("/// ```");
        }
    }

    fn verbatim(&mut self, verbatims: &[Verbatim], placement: Placement) {
        let wanted = |verbatim: &&Verbatim| {
            verbatim.placement == placement && matches!(verbatim.language.as_str(), "rust" | "*")
        };
        for verbatim in verbatims.iter().filter(wanted) {
            for line in verbatim.text.lines() {
                self.line(line);
            }
        }
    }

    /// Whether something of this file is wanted.
    fn is_wanted(&self, file: FileId) -> bool {
        self.options.includes || self.main.is_none_or(|main| main == file)
    }

    /// All texts for the beginning or the end of the file.
    fn file_verbatims(&mut self, placement: Placement) {
        let model = self.model;
        let of_types = model.types.iter().flat_map(|ty| &ty.verbatims);
        let all: Vec<Verbatim> =
            model.modules.iter().flat_map(|module| &module.verbatims).chain(of_types).cloned().collect();
        self.verbatim(&all, placement);
    }

    fn module(&mut self, module: &Module, is_root: bool) {
        if is_root {
            self.file_verbatims(Placement::BeginFile);
        }
        for item in &module.items {
            let start = self.out.len();
            if !self.out.is_empty() && !self.out.ends_with("{\n") {
                self.line("");
            }
            self.allow();
            let empty = self.out.len();
            self.item(*item);
            if self.out.len() == empty {
                self.out.truncate(start);
            }
        }
        if is_root {
            self.file_verbatims(Placement::EndFile);
        }
    }

    /// Not every program uses everything; in modules, their attribute says so.
    pub(super) fn allow(&mut self) {
        if self.path.is_empty() {
            self.line("#[allow(clippy::all, dead_code, missing_docs, nonstandard_style)]");
        }
    }

    fn item(&mut self, item: Item) {
        match item {
            Item::Module(id) => self.inner_module(id),
            Item::Type(id) => {
                let Some(ty) = self.model.ty(id).filter(|ty| self.is_wanted(ty.span.file)) else { return };
                self.verbatim(&ty.verbatims, Placement::BeforeDeclaration);
                self.ty(id, ty);
                self.verbatim(&ty.verbatims, Placement::AfterDeclaration);
            }
            Item::Const(id) => self.constant(id),
            // In their places are modules.
            Item::Interface(_) => {}
        }
    }

    fn inner_module(&mut self, id: ModuleId) {
        let (Some(module), Some(name)) = (self.model.module(id), self.modules.get(&id).cloned()) else {
            return;
        };
        let start = self.out.len();
        self.docs(module.docs.as_deref());
        self.verbatim(&module.verbatims, Placement::BeforeDeclaration);
        self.open(&format!("pub mod {name} {{"));
        let empty = self.out.len();
        self.path.push(name);
        self.verbatim(&module.verbatims, Placement::BeginDeclaration);
        self.module(module, false);
        self.verbatim(&module.verbatims, Placement::EndDeclaration);
        self.path.pop();
        let is_empty = self.out.len() == empty;
        self.close("}");
        self.verbatim(&module.verbatims, Placement::AfterDeclaration);
        if is_empty {
            self.out.truncate(start);
        }
    }

    fn ty(&mut self, id: TypeId, ty: &TypeDef) {
        let name = self.types.get(&id).and_then(|path| path.last()).cloned().unwrap_or_default();
        match &ty.kind {
            Kind::Struct(structure) | Kind::Exception(structure) => self.structure(id, &name, ty, structure),
            Kind::Union(union) => self.union(&name, ty, union),
            Kind::Enum(e) => self.enumeration(id, &name, ty, e),
            Kind::Bitmask(mask) => self.bitmask(&name, ty, mask),
            Kind::Bitset(bitset) => self.bitset(id, &name, ty, bitset),
            Kind::Alias(alias) => self.alias(id, &name, ty, alias),
        }
    }

    fn constant(&mut self, id: ConstId) {
        let Some(constant) = self.model.constant(id).filter(|constant| self.is_wanted(constant.span.file))
        else {
            return;
        };
        let name = self.constants.get(&id).cloned().unwrap_or_default();
        self.docs(constant.docs.as_deref());
        let (ty, value) = match (self.model.resolve(&constant.ty), &constant.value) {
            (_, Value::Str(octets)) => match std::str::from_utf8(octets) {
                Ok(text) => ("&str".to_owned(), format!("\"{}\"", text.escape_debug())),
                Err(_) => ("&[u8]".to_owned(), format!("b\"{}\"", octets.escape_ascii())),
            },
            (_, Value::WideStr(units)) => match String::from_utf16(units) {
                Ok(text) => ("&str".to_owned(), format!("\"{}\"", text.escape_debug())),
                Err(_) => ("&[u16]".to_owned(), format!("&{units:?}")),
            },
            (ty, value) => {
                let ty = ty.clone();
                (self.plain_type(&ty), self.value(value, &ty))
            }
        };
        self.line(&format!("pub const {name}: {ty} = {value};"));
    }

    /// The attributes of a type in `#[dds(...)]`.
    fn type_attributes(&mut self, ty: &TypeDef, rust_name: &str, more: &[String]) {
        let mut words: Vec<String> = more.to_vec();
        if ty.full_name != rust_name.trim_start_matches("r#") {
            words.push(format!("name = \"{}\"", ty.full_name));
        }
        // Sets of bits that say nothing are final to the derive, whatever the default for other types is.
        let of_bits = matches!(ty.kind, Kind::Bitmask(_) | Kind::Bitset(_));
        match ty.extensibility {
            _ if of_bits && !ty.extensibility_given => {}
            Extensibility::Appendable if of_bits => words.push("appendable".to_owned()),
            Extensibility::Final => words.push("final".to_owned()),
            Extensibility::Mutable => words.push("mutable".to_owned()),
            Extensibility::Appendable => {}
        }
        let has_members = matches!(ty.kind, Kind::Struct(_) | Kind::Exception(_) | Kind::Union(_));
        if ty.nested && has_members {
            words.push("nested".to_owned());
        }
        words.extend(self.representation(ty));
        if ty.autoid_hash && has_members {
            words.push("autoid = \"hash\"".to_owned());
        }
        if !FOUND.contains(&self.options.cdr.as_str()) {
            words.push(format!("crate = \"{}\"", self.options.cdr));
        }
        if !words.is_empty() {
            self.line(&format!("#[dds({})]", words.join(", ")));
        }
        if let Some(said) = self.said.get(&ty.full_name) {
            self.line(&format!("#[dds(annotations = {said})]"));
        }
    }

    /// The attribute for the data representation of a topic type that allows not all.
    fn representation(&mut self, ty: &TypeDef) -> Option<String> {
        let mask = ty.data_representation?;
        if !matches!(ty.kind, Kind::Struct(_) | Kind::Union(_)) {
            return None;
        }
        match mask & 5 {
            1 => Some("data_representation = \"xcdr1\"".to_owned()),
            4 => Some("data_representation = \"xcdr2\"".to_owned()),
            5 => None,
            _ => {
                self.sink
                    .error(
                        ty.span,
                        format!("`{}` allows XML alone, which Rust types do not have", ty.full_name),
                    )
                    .hint("add XCDR1 or XCDR2 to `@data_representation`");
                None
            }
        }
    }

    /// `Default`, as IDL defines default values.
    fn default_impl(&mut self, name: &str) {
        let cdr = self.options.cdr.clone();
        self.line("");
        self.open(&format!("impl ::core::default::Default for {name} {{"));
        self.open("fn default() -> Self {");
        self.line(&format!("<Self as {cdr}::CdrRead<'_>>::default_value()"));
        self.close("}");
        self.close("}");
    }

    /// A sentence about range and unit of a member.
    fn remarks(&self, member: &Member) -> Option<String> {
        let text = |value: &Value| crate::dump::value_text(self.model, value);
        let mut remarks = String::new();
        let _ = match (&member.min, &member.max) {
            (Some(min), Some(max)) => write!(remarks, "Range: {} to {}.", text(min), text(max)),
            (Some(min), None) => write!(remarks, "At least {}.", text(min)),
            (None, Some(max)) => write!(remarks, "At most {}.", text(max)),
            (None, None) => Ok(()),
        };
        if let Some(unit) = &member.unit {
            let _ = write!(remarks, "{}Unit: {unit}.", if remarks.is_empty() { "" } else { " " });
        }
        (!remarks.is_empty()).then_some(remarks)
    }
}

/// The names of the variants of an enumeration.
fn variants(ty: &TypeDef) -> Option<Vec<String>> {
    let Kind::Enum(e) = &ty.kind else { return None };
    let mut taken = Taken::default();
    Some(
        e.literals.iter().map(|literal| taken.choose(names::variant(&literal.name), &literal.name)).collect(),
    )
}
