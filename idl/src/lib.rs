//! IDL 4.2 and types in XML: from text to a resolved model of its types, and from there to code.
//!
//! ```
//! use dunlin_idl::{Memory, Options, compile};
//!
//! let files = Memory::default().with("shape.idl", "struct Shape { @key string color; long x, y; };");
//! let result = compile("shape.idl", &Options::default(), &files);
//! let model = result.model.expect("no errors");
//! assert_eq!(dunlin_idl::dump(&model), "\
//! struct Shape appendable
//!   #0 string color key
//!   #1 int32 x
//!   #2 int32 y
//! ");
//! ```
//!
//! A build script makes Rust of IDL with [`build::compile`].
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(unreachable_pub))]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::arithmetic_side_effects,
        clippy::panic
    )
)]

pub mod backend;
pub mod build;
mod check;
pub mod cpp;
mod diagnostic;
mod diff;
mod dump;
mod format;
pub mod ir;
mod preprocess;
mod print;
pub mod python;
mod ros;
pub mod rust;
mod source;
mod syntax;
mod xml;
pub mod xtypes;

use check::LiteralScope;
use diagnostic::Sink;
pub use diagnostic::{Diagnostic, Severity};
pub use diff::{Change, diff, diff_text};
pub use dump::{dump, type_text, value_text};
pub use format::format;
pub use ir::{Extensibility, Model};
pub use print::{Conversion, Notation, convert, convert_all};
pub use ros::share_folders;
pub use source::{Disk, FileId, LoadError, Loader, Location, Memory, SourceMap, Span};

/// How much a compilation may cost, so that no input exhausts time or memory.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Octets of one file.
    pub file_size: usize,
    /// Tokens after includes and macros, and on the way there.
    pub tokens: usize,
    /// Files that are included.
    pub includes: usize,
    /// How deep includes are nested.
    pub include_depth: usize,
    /// How deep modules, types and expressions are nested.
    pub nesting: usize,
    /// Diagnostics that are kept.
    pub diagnostics: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            file_size: 16 << 20,
            tokens: 4_000_000,
            includes: 10_000,
            include_depth: 64,
            nesting: 100,
            diagnostics: 200,
        }
    }
}

/// What a compilation is told.
#[derive(Clone, Debug)]
pub struct Options {
    /// Folders in which include files are searched.
    pub include_dirs: Vec<String>,
    /// Macros, by default with the value 1.
    pub defines: Vec<(String, Option<String>)>,
    /// The extensibility of types that do not say one.
    pub default_extensibility: Extensibility,
    /// Whether IDL is that of ROS 2: structures of `pkg::msg`, `pkg::srv` and `pkg::action` have the names under which ROS 2
    /// announces them, `pkg::msg::dds_::Foo_`, and are final unless they say otherwise. Types of `.msg`, `.srv` and
    /// `.action` files always do and are.
    pub ros2_names: bool,
    /// Whether comments like `//@key` behind members are annotations, as in old tools.
    pub comment_annotations: bool,
    /// Limits.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            include_dirs: Vec::new(),
            defines: Vec::new(),
            default_extensibility: Extensibility::Appendable,
            ros2_names: false,
            comment_annotations: false,
            limits: Limits::default(),
        }
    }
}

/// What became of a file.
#[derive(Debug)]
pub struct Compilation {
    /// The model; `None` if there are errors.
    pub model: Option<Model>,
    /// Errors and warnings.
    pub diagnostics: Vec<Diagnostic>,
    /// The files, for showing diagnostics.
    pub sources: SourceMap,
    /// The file itself.
    pub main: Option<FileId>,
    /// Paths of all files that were read, the file itself first.
    pub files: Vec<String>,
}

impl Compilation {
    /// All diagnostics, ready to be shown.
    #[must_use]
    pub fn render(&self, styled: bool) -> String {
        self.diagnostics.iter().map(|diagnostic| diagnostic.render(&self.sources, styled)).collect()
    }
}

/// A file and what belongs to it as a syntax tree.
struct Parsed {
    definitions: Vec<syntax::ast::Definition>,
    /// Paths of all files that were read, the main one first.
    files: Vec<String>,
    main: FileId,
}

/// Whether a path is that of a ROS 2 interface file: `.msg`, `.srv` or `.action`.
#[must_use]
pub fn is_ros_interface(path: &str) -> bool {
    ros::kind_of(path).is_some()
}

/// Whether a path is that of types in XML: `.xml`.
#[must_use]
pub fn is_xml(path: &str) -> bool {
    xml::is_xml(path)
}

/// Compiles a file: IDL, types in XML, or a ROS 2 interface, which the ending of its name says.
#[must_use]
pub fn compile(path: &str, options: &Options, loader: &dyn Loader) -> Compilation {
    let mut sources = SourceMap::default();
    let mut sink = Sink::new(options.limits.diagnostics);
    let parsed = front(path, options, loader, &mut sources, &mut sink);
    let Parsed { definitions, files, main } = match parsed {
        Ok(parsed) => parsed,
        Err(problem) => {
            sink.add(Severity::Error, None, problem);
            let diagnostics = sink.finish();
            return Compilation { model: None, diagnostics, sources, main: None, files: Vec::new() };
        }
    };
    let mut model = check::check(&definitions, LiteralScope::of(path), options, &mut sink);
    if options.ros2_names && ros::kind_of(path).is_none() {
        rename(path, &mut model, &mut sink);
    }
    let model = (!sink.has_errors()).then_some(model);
    let diagnostics = sink.finish();
    Compilation { model, diagnostics, sources, main: Some(main), files }
}

/// Reads a file as the ending of its name says.
fn front(
    path: &str,
    options: &Options,
    loader: &dyn Loader,
    sources: &mut SourceMap,
    sink: &mut Sink,
) -> Result<Parsed, String> {
    match ros::kind_of(path) {
        Some(kind) => ros::read(path, kind, options, loader, sources, sink),
        None if xml::is_xml(path) => xml::read(path, options, loader, sources, sink),
        None => parse(path, options, loader, sources, sink),
    }
}

/// Gives types the names that ROS 2 announces.
fn rename(path: &str, model: &mut Model, sink: &mut Sink) {
    let (severity, message) = match ros::rename(model) {
        Ok(0) => {
            let message =
                "nothing of it is in a module msg, srv or action of a package: names are those of the file";
            (Severity::Warning, message.to_owned())
        }
        Ok(_) => return,
        Err(name) => (Severity::Error, format!("two types would have the name {name} in ROS 2")),
    };
    sink.add(severity, None, format!("{path}: {message}"));
}

/// Preprocesses and parses IDL.
fn parse(
    path: &str,
    options: &Options,
    loader: &dyn Loader,
    sources: &mut SourceMap,
    sink: &mut Sink,
) -> Result<Parsed, String> {
    let output = preprocess::preprocess(path, options, loader, sources, sink)?;
    // The first file holds the macros of the command line.
    let main = FileId(1);
    let nowhere = Span { file: main, start: 0, end: 0 };
    let (nesting, comments) = (options.limits.nesting, options.comment_annotations);
    let definitions =
        syntax::parser::parse(&output.tokens, &output.pragmas, nowhere, nesting, comments, sink);
    Ok(Parsed { definitions, files: output.files, main })
}
