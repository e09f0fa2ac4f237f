//! The interface files of ROS 2: `.msg`, `.srv` and `.action`, as the same syntax tree that IDL becomes.
//!
//! `pkg/msg/Foo.msg` is the type `pkg::msg::dds_::Foo_`, the name under which ROS 2 announces it; members keep their
//! names. Every type is final. Types of other files are searched as ROS 2 lays them out: `pkg/msg/Foo.msg` next to the
//! package, then in the include folders.

mod action;
mod emit;
mod line;
mod names;
mod parse;
mod value;

use std::collections::BTreeMap;

pub(crate) use names::rename;
use parse::{Reference, Section};

use crate::diagnostic::Sink;
use crate::source::{FileId, LoadError, Loader, SourceMap, Span, normalized};
use crate::syntax::ast::Definition;
use crate::{Options, Parsed};

/// What an interface file describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Message,
    Service,
    Action,
}

impl Kind {
    /// The folder, the module and the ending.
    const fn word(self) -> &'static str {
        match self {
            Self::Message => "msg",
            Self::Service => "srv",
            Self::Action => "action",
        }
    }

    /// What the parts of a file are called, which `---` divides.
    const fn sections(self) -> &'static [&'static str] {
        match self {
            Self::Message => &[""],
            Self::Service => &["_Request", "_Response"],
            Self::Action => &["_Goal", "_Result", "_Feedback"],
        }
    }
}

/// What kind of interface file a path is, if it is one.
pub(crate) fn kind_of(path: &str) -> Option<Kind> {
    let (_, ending) = path.rsplit_once('.')?;
    [Kind::Message, Kind::Service, Kind::Action].into_iter().find(|kind| kind.word() == ending)
}

/// The folders of an `AMENT_PREFIX_PATH` in which packages keep their interface files, for
/// [`Options::include_dirs`](crate::Options::include_dirs).
#[must_use]
pub fn share_folders(ament_prefix_path: &str) -> Vec<String> {
    let prefixes = ament_prefix_path.split(':').filter(|prefix| !prefix.is_empty());
    prefixes.map(|prefix| format!("{}/share", prefix.trim_end_matches('/'))).collect()
}

/// The types that other files need without naming them, and that have never changed: used where the search finds none.
const KNOWN: [(&str, &str, &str); 3] = [
    ("builtin_interfaces", "Time", "int32 sec\nuint32 nanosec\n"),
    ("builtin_interfaces", "Duration", "int32 sec\nuint32 nanosec\n"),
    ("unique_identifier_msgs", "UUID", "uint8[16] uuid\n"),
];

/// A file and the type that it describes.
#[derive(Clone, Debug)]
struct Unit {
    /// The folder in which the package's folder is.
    root: String,
    package: String,
    kind: Kind,
    name: String,
}

/// How far a type is that others refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It is being read further out.
    Open,
    Done,
    /// It cannot be had, which has been said.
    Missing,
}

/// Reads an interface file and the files that it refers to.
///
/// # Errors
/// Why the file could not be read.
pub(crate) fn read(
    path: &str,
    kind: Kind,
    options: &Options,
    loader: &dyn Loader,
    sources: &mut SourceMap,
    sink: &mut Sink,
) -> Result<Parsed, String> {
    let bytes = loader.load(path, options.limits.file_size).map_err(|error| error.of(path))?;
    let unit = unit_of(&loader.identity(path), kind).ok_or_else(|| {
        let word = kind.word();
        format!("{path}: its package is not known: a ROS 2 interface is a file PACKAGE/{word}/NAME.{word}")
    })?;
    let budget = options.limits.tokens;
    let (definitions, files, states) = (Vec::new(), Vec::new(), BTreeMap::new());
    let main = FileId(sources.len());
    let mut resolver =
        Resolver { options, loader, sources, sink, definitions, files, states, budget, stopped: false };
    if kind == Kind::Message {
        resolver.states.insert((unit.package.clone(), unit.name.clone()), State::Open);
    }
    resolver.file(path, &bytes, &unit, 0);
    if resolver.stopped {
        // Half of the files would only have mistakes that are none.
        resolver.definitions.clear();
    }
    Ok(Parsed { definitions: resolver.definitions, files: resolver.files, main })
}

/// Package and name of the type that a path is about.
fn unit_of(path: &str, kind: Kind) -> Option<Unit> {
    let parts: Vec<&str> = path.split('/').collect();
    let [before @ .., package, folder, file] = parts.as_slice() else { return None };
    let (name, _) = file.rsplit_once('.')?;
    if *folder != kind.word() || package.is_empty() {
        return None;
    }
    let root = if before == [""] { "/".to_owned() } else { before.join("/") };
    Some(Unit { root, package: (*package).to_owned(), kind, name: name.to_owned() })
}

struct Resolver<'a> {
    options: &'a Options,
    loader: &'a dyn Loader,
    sources: &'a mut SourceMap,
    sink: &'a mut Sink,
    definitions: Vec<Definition>,
    files: Vec<String>,
    states: BTreeMap<(String, String), State>,
    /// How many more lines may be looked at.
    budget: usize,
    /// A limit was reached: nothing more is read.
    stopped: bool,
}

impl Resolver<'_> {
    fn file(&mut self, path: &str, bytes: &[u8], unit: &Unit, depth: usize) {
        self.files.push(path.to_owned());
        let file = self.sources.add(path, bytes);
        let Some(text) = self.sources.get(file).map(|source| source.text.clone()) else { return };
        let start = Span { file, start: 0, end: 0 };
        match self.budget.checked_sub(text.lines().count()) {
            Some(rest) => self.budget = rest,
            None => {
                let message = format!("more than {} lines in all files", self.options.limits.tokens);
                self.stop(start, message);
                return;
            }
        }
        parse::names(unit, start, self.sink);
        let sections = parse::sections(&text, file, unit.kind, self.sink);
        for section in &sections {
            self.needs(section, unit, depth);
        }
        if unit.kind == Kind::Action {
            for (package, name) in action::NEEDS {
                let reference = Reference::to(package, name, start);
                self.need(&reference, unit, depth);
            }
        }
        let missing = |reference: &Reference| {
            let state = self.states.get(&reference.key(&unit.package));
            !matches!(state, Some(State::Done))
        };
        emit::definitions(unit, sections, start, &missing, &mut self.definitions);
    }

    fn needs(&mut self, section: &Section, unit: &Unit, depth: usize) {
        for field in &section.fields {
            if let Some(reference) = field.ty.reference() {
                self.need(reference, unit, depth);
            }
        }
    }

    /// Sees to it that a type is defined before what needs it.
    fn need(&mut self, reference: &Reference, unit: &Unit, depth: usize) {
        let key = reference.key(&unit.package);
        if self.stopped || self.sink.is_full() {
            return;
        }
        match self.states.get(&key) {
            Some(State::Done | State::Missing) => return,
            Some(State::Open) => {
                let message = format!("`{}/{}` contains itself", key.0, key.1);
                self.sink.error(reference.span, message).hint("ROS 2 has no types that contain themselves");
                return;
            }
            None => {}
        }
        let limits = &self.options.limits;
        if depth >= limits.include_depth {
            let message = format!("messages are nested more than {} deep", limits.include_depth);
            return self.stop(reference.span, message);
        }
        if self.files.len() >= limits.includes {
            let message = format!("more than {} files are needed", limits.includes);
            return self.stop(reference.span, message);
        }
        self.states.insert(key.clone(), State::Open);
        let found = self.find(reference, &key, unit, depth.saturating_add(1));
        self.states.insert(key, if found { State::Done } else { State::Missing });
    }

    fn stop(&mut self, span: Span, message: String) {
        self.sink.error(span, message);
        self.stopped = true;
    }

    /// Searches the file of a type and reads it.
    fn find(&mut self, reference: &Reference, key: &(String, String), unit: &Unit, depth: usize) -> bool {
        let (package, name) = key;
        let of = |root: &str| Unit {
            root: root.to_owned(),
            package: package.clone(),
            kind: Kind::Message,
            name: name.clone(),
        };
        let mut searched: Vec<String> = Vec::new();
        for root in std::iter::once(&unit.root).chain(&self.options.include_dirs) {
            let path = format!("{package}/msg/{name}.msg");
            let path = if root.is_empty() { path } else { normalized(&format!("{root}/{path}")) };
            match self.loader.load(&path, self.options.limits.file_size) {
                Ok(bytes) => {
                    self.file(&path, &bytes, &of(root), depth);
                    return true;
                }
                Err(LoadError::NotFound) if !searched.contains(&path) => searched.push(path),
                Err(LoadError::NotFound) => {}
                Err(LoadError::Failed(reason)) => {
                    self.sink.error(reference.span, format!("cannot read `{path}`: {reason}"));
                    return false;
                }
            }
        }
        if let Some((.., text)) = KNOWN.iter().find(|known| (known.0, known.1) == (package, name)) {
            let path = format!("<known to the compiler>/{package}/msg/{name}.msg");
            self.file(&path, text.as_bytes(), &of(&unit.root), depth);
            // It is no file that somebody could change.
            self.files.retain(|file| *file != path);
            return true;
        }
        let hint = match name.as_str() {
            "Header" if reference.package.is_none() => "in ROS 2 it is `std_msgs/Header`".to_owned(),
            _ => {
                format!("looked for {}; add the folder of the package's folder with -I", searched.join(", "))
            }
        };
        self.sink.error(reference.span, format!("cannot find the message `{package}/{name}`")).hint(hint);
        false
    }
}
