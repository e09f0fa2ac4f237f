//! What a Rust source file says about other modules: its modules, the names that it defines and imports, and every path in it.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::functions::is_test;

/// A path as it is written, and its line.
pub struct Mention {
    pub path: Vec<String>,
    pub line: usize,
}

/// A module of a file, tests left out.
#[derive(Default)]
pub struct Content {
    /// Modules without a body: their own files.
    pub files: Vec<String>,
    /// Modules with a body.
    pub inline: BTreeMap<String, Content>,
    pub items: BTreeSet<String>,
    /// What the crate calls itself: `extern crate self as name`.
    pub own_name: Option<String>,
    /// What `use` binds to which path.
    pub imports: BTreeMap<String, Vec<String>>,
    /// Paths of `use path::*`.
    pub globs: Vec<Vec<String>>,
    pub mentions: Vec<Mention>,
}

/// Reads a file.
pub fn content(file: &syn::File) -> Content {
    let mut content = Content::default();
    content.visit_file(file);
    content
}

impl Content {
    fn define(&mut self, item: &syn::Item) {
        let name = match item {
            syn::Item::Const(item) => &item.ident,
            syn::Item::Enum(item) => &item.ident,
            syn::Item::Fn(item) => &item.sig.ident,
            syn::Item::Static(item) => &item.ident,
            syn::Item::Struct(item) => &item.ident,
            syn::Item::Trait(item) => &item.ident,
            syn::Item::Type(item) => &item.ident,
            syn::Item::Union(item) => &item.ident,
            syn::Item::Macro(syn::ItemMacro { ident: Some(name), .. }) => name,
            _ => return,
        };
        self.items.insert(name.to_string());
    }

    fn import(&mut self, tree: &syn::UseTree, before: &[String], line: usize) {
        let with = |name: &syn::Ident| before.iter().cloned().chain([name.to_string()]).collect::<Vec<_>>();
        match tree {
            syn::UseTree::Path(path) => self.import(&path.tree, &with(&path.ident), line),
            syn::UseTree::Group(group) => {
                group
                    .items
                    .iter()
                    .for_each(|tree| self.import(tree, before, tree.span().start().line.max(line)));
            }
            syn::UseTree::Glob(_) => {
                self.globs.push(before.to_vec());
                self.mentions.push(Mention { path: before.to_vec(), line });
            }
            syn::UseTree::Name(name) if name.ident == "self" => {
                self.bind(before.last().cloned().unwrap_or_default(), before.to_vec(), line);
            }
            syn::UseTree::Name(name) => self.bind(name.ident.to_string(), with(&name.ident), line),
            syn::UseTree::Rename(rename) => {
                self.bind(rename.rename.to_string(), with(&rename.ident), line);
            }
        }
    }

    fn bind(&mut self, name: String, path: Vec<String>, line: usize) {
        self.mentions.push(Mention { path: path.clone(), line });
        self.imports.insert(name, path);
    }

    /// Paths in what a macro is given, which is not parsed.
    fn scan(&mut self, tokens: TokenStream) {
        let (mut path, mut colons, mut line) = (Vec::new(), 0, 0);
        for token in tokens {
            match token {
                TokenTree::Ident(name) if path.is_empty() || colons == 2 => {
                    line = if path.is_empty() { name.span().start().line } else { line };
                    path.push(name.to_string());
                    colons = 0;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' && !path.is_empty() => colons += 1,
                token => {
                    self.note(std::mem::take(&mut path), line);
                    colons = 0;
                    match token {
                        TokenTree::Ident(name) => {
                            line = name.span().start().line;
                            path.push(name.to_string());
                        }
                        TokenTree::Group(group) => self.scan(group.stream()),
                        TokenTree::Punct(_) | TokenTree::Literal(_) => {}
                    }
                }
            }
        }
        self.note(path, line);
    }

    fn note(&mut self, path: Vec<String>, line: usize) {
        if path.len() > 1 {
            self.mentions.push(Mention { path, line });
        }
    }
}

impl<'ast> Visit<'ast> for Content {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if is_test(attributes(item)) {
            return;
        }
        self.define(item);
        visit::visit_item(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_test(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let name = item.ident.to_string();
        match &item.content {
            None => self.files.push(name),
            Some((_, items)) => {
                let mut content = Content::default();
                items.iter().for_each(|item| content.visit_item(item));
                self.inline.insert(name, content);
            }
        }
    }

    fn visit_item_extern_crate(&mut self, item: &'ast syn::ItemExternCrate) {
        if item.ident == "self" {
            self.own_name = item.rename.as_ref().map(|(_, name)| name.to_string());
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.import(&item.tree, &[], item.span().start().line);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.note(names, path.span().start().line);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.visit_path(&call.path);
        self.scan(call.tokens.clone());
    }

    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
