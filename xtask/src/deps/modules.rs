//! The modules of a crate, where the paths in them lead, and the arrows between siblings that follow.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::mentions::{Content, Mention, content};

/// A crate whose modules are looked at, by its short name.
pub struct Listed {
    pub name: &'static str,
    pub folder: &'static str,
}

pub const CRATES: &[Listed] = &[
    Listed { name: "engine", folder: "protocol/engine" },
    Listed { name: "rtps", folder: "protocol/rtps" },
    Listed { name: "discovery", folder: "protocol/discovery" },
    Listed { name: "driver", folder: "runtime/driver" },
    Listed { name: "dunlin", folder: "api/dunlin" },
];

/// Re-exports of re-exports are followed so far.
const MOST_STEPS: usize = 16;

/// From one module to a sibling, and the places that make it, as `file:line: path`.
pub type Arrows = BTreeMap<(String, String), Vec<String>>;

struct Module {
    parent: usize,
    /// From the crate's root, which has none.
    path: Vec<String>,
    file: String,
    children: BTreeMap<String, usize>,
    content: Content,
}

/// What a name stands for.
enum Found {
    Module(usize),
    ItemOf(usize),
}

struct Modules(Vec<Module>);

/// The arrows between the modules of the crate in `folder`.
pub fn arrows(root: &Path, folder: &str) -> Result<Arrows> {
    arrows_of(&|file| fs::read_to_string(root.join(folder).join("src").join(file)).ok())
}

/// The same of the files that `read` gives, by their paths from `src`.
pub fn arrows_of(read: &dyn Fn(&str) -> Option<String>) -> Result<Arrows> {
    let mut modules = Modules(Vec::new());
    modules.add_file(0, Vec::new(), read)?;
    let mut arrows = Arrows::new();
    for (at, module) in modules.0.iter().enumerate() {
        for mention in &module.content.mentions {
            let Some(target) = modules.resolve(at, &mention.path, 0) else { continue };
            let (Found::Module(target) | Found::ItemOf(target)) = target;
            if let Some(arrow) = siblings(&module.path, &modules.0[target].path) {
                let Mention { path, line } = mention;
                let place = format!("{}:{line}: {}", module.file, path.join("::"));
                arrows.entry(arrow).or_default().push(place);
            }
        }
    }
    Ok(arrows)
}

/// The modules at which the ways to the two part; none if one is above the other.
fn siblings(from: &[String], to: &[String]) -> Option<(String, String)> {
    let common = from.iter().zip(to).take_while(|(a, b)| a == b).count();
    let upto = |path: &[String]| Some(path.get(..=common)?.join("::"));
    Some((upto(from)?, upto(to)?))
}

impl Modules {
    fn add_file(
        &mut self,
        parent: usize,
        path: Vec<String>,
        read: &dyn Fn(&str) -> Option<String>,
    ) -> Result<usize> {
        let stem = path.join("/");
        let candidates = match stem.as_str() {
            "" => ["lib.rs".to_owned(), "main.rs".to_owned()],
            stem => [format!("{stem}.rs"), format!("{stem}/mod.rs")],
        };
        let found = candidates.into_iter().find_map(|file| Some((read(&file)?, file)));
        let (text, file) = found.with_context(|| format!("no file for the module {}", path.join("::")))?;
        let parsed = syn::parse_file(&text).with_context(|| file.clone())?;
        self.add(parent, path, file, content(&parsed), read)
    }

    fn add(
        &mut self,
        parent: usize,
        path: Vec<String>,
        file: String,
        mut content: Content,
        read: &dyn Fn(&str) -> Option<String>,
    ) -> Result<usize> {
        let own = self.0.len();
        let (files, inline) = (std::mem::take(&mut content.files), std::mem::take(&mut content.inline));
        let below = |name: &String| path.iter().chain([name]).cloned().collect::<Vec<_>>();
        self.0.push(Module {
            parent,
            path: path.clone(),
            file: file.clone(),
            children: BTreeMap::new(),
            content,
        });
        for name in files {
            let child = self.add_file(own, below(&name), read)?;
            self.0[own].children.insert(name, child);
        }
        for (name, content) in inline {
            let child = self.add(own, below(&name), file.clone(), content, read)?;
            self.0[own].children.insert(name, child);
        }
        Ok(own)
    }

    /// Where a path leads that is written in the module `from`; nowhere if that is another crate.
    fn resolve(&self, from: usize, path: &[String], steps: usize) -> Option<Found> {
        let (first, rest) = path.split_first()?;
        let start = match first.as_str() {
            "crate" => Found::Module(0),
            name if self.0[0].content.own_name.as_deref() == Some(name) => Found::Module(0),
            "self" => Found::Module(from),
            "super" => Found::Module(self.0[from].parent),
            name => self.lookup(from, name, steps)?,
        };
        let Found::Module(mut at) = start else { return Some(start) };
        for name in rest {
            if name == "super" {
                at = self.0[at].parent;
                continue;
            }
            match self.lookup(at, name, steps) {
                Some(Found::Module(next)) => at = next,
                Some(item) => return Some(item),
                // Made by a macro, or of another crate by way of this module.
                None => return Some(Found::ItemOf(at)),
            }
        }
        Some(Found::Module(at))
    }

    fn lookup(&self, at: usize, name: &str, steps: usize) -> Option<Found> {
        let module = &self.0[at];
        if let Some(child) = module.children.get(name) {
            return Some(Found::Module(*child));
        }
        if module.content.items.contains(name) {
            return Some(Found::ItemOf(at));
        }
        if steps == MOST_STEPS {
            return None;
        }
        if let Some(path) = module.content.imports.get(name) {
            // `use a::a`: the first is another crate, not this import.
            return if path.first().is_some_and(|first| first == name) {
                None
            } else {
                self.resolve(at, path, steps + 1)
            };
        }
        module.content.globs.iter().find_map(|path| {
            let Some(Found::Module(other)) = self.resolve(at, path, steps + 1) else { return None };
            self.lookup(other, name, steps + 1)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(sources: &[(&str, &str)]) -> Vec<String> {
        let read =
            |file: &str| sources.iter().find(|(name, _)| *name == file).map(|(_, text)| (*text).to_owned());
        arrows_of(&read).unwrap().keys().map(|(from, to)| format!("{from} -> {to}")).collect()
    }

    #[test]
    fn module_arrows_follow_use_trees_paths_and_macros() {
        let arrows = found(&[
            ("lib.rs", "mod a; mod b; mod c; mod d; mod e;"),
            ("a.rs", "use crate::{b::{B, self}, d as other};"),
            ("b.rs", "pub struct B; impl B { fn f() -> super::c::C { super::c::C } }"),
            ("c.rs", "pub struct C; fn f() { assert!(x, \"{}\", crate::d::NUMBER); }"),
            ("d.rs", "pub const NUMBER: u8 = 1;"),
            ("e.rs", "use std::fmt; use super::*; fn f() { d::g() }"),
        ]);
        assert_eq!(arrows, ["a -> b", "a -> d", "b -> c", "c -> d", "e -> d"]);
    }

    #[test]
    fn the_name_that_a_crate_gives_itself_is_the_crate() {
        let arrows = found(&[
            ("lib.rs", "extern crate self as whole; mod a; mod b; pub use a::A;"),
            ("a.rs", "pub struct A;"),
            ("b.rs", "use whole::A;"),
        ]);
        assert_eq!(arrows, ["b -> a"]);
    }

    #[test]
    fn an_item_counts_where_it_is_defined_not_where_it_is_exported() {
        let arrows = found(&[
            ("lib.rs", "mod a; mod b; mod c; pub use b::B; pub use c::*;"),
            ("a.rs", "use crate::{B, Inner};"),
            ("b.rs", "pub struct B;"),
            ("c/mod.rs", "mod inner; pub use inner::Inner;"),
            ("c/inner.rs", "pub struct Inner;"),
        ]);
        assert_eq!(arrows, ["a -> b", "a -> c"]);
    }

    #[test]
    fn a_module_and_those_below_it_are_one_among_their_siblings() {
        let arrows = found(&[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "mod x; mod y; pub struct A; use x::X;"),
            ("a/x.rs", "use super::{A, y::Y}; use crate::b::B; pub struct X;"),
            ("a/y.rs", "pub struct Y;"),
            ("b.rs", "pub struct B; mod inline { fn f() -> super::super::a::A {} }"),
        ]);
        assert_eq!(arrows, ["a -> b", "a::x -> a::y", "b -> a"]);
    }

    #[test]
    fn tests_and_other_crates_are_left_out() {
        let arrows = found(&[
            ("lib.rs", "mod a; mod b; #[cfg(test)] mod tests;"),
            (
                "a.rs",
                "use other::b::B; #[cfg(all(test, loom))] mod models { use crate::b::B; } #[cfg(test)] use crate::b;",
            ),
            ("b.rs", "pub struct B; #[cfg(not(test))] use crate::a;"),
        ]);
        assert_eq!(arrows, ["b -> a"]);
    }
}
