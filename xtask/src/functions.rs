//! Function lengths of a Rust source file, tests left out.

use std::path::Path;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// A function and how many lines it spans, signature included.
pub struct Function {
    pub name: String,
    pub line: usize,
    pub lines: usize,
}

struct Collector(Vec<Function>);

impl Collector {
    fn add(&mut self, name: &syn::Ident, signature: &syn::Signature, block: &syn::Block) {
        let (first, last) = (signature.span().start().line, block.span().end().line);
        self.0.push(Function { name: name.to_string(), line: first, lines: last + 1 - first });
    }
}

/// Whether code with these attributes is compiled for tests alone: `test`, `cfg(test)` or `cfg(all(test, …))`.
pub fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || (attribute.path().is_ident("cfg")
                && attribute.parse_args::<syn::Meta>().is_ok_and(|condition| demands_test(&condition)))
    })
}

fn demands_test(condition: &syn::Meta) -> bool {
    match condition {
        syn::Meta::Path(path) => path.is_ident("test"),
        syn::Meta::List(list) if list.path.is_ident("all") => list
            .parse_args_with(syn::punctuated::Punctuated::<syn::Meta, syn::Token![,]>::parse_terminated)
            .is_ok_and(|conditions| conditions.iter().any(demands_test)),
        _ => false,
    }
}

impl<'ast> Visit<'ast> for Collector {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_test(&item.attrs) {
            self.add(&item.sig.ident, &item.sig, &item.block);
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.add(&item.sig.ident, &item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.add(&item.sig.ident, &item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

/// The functions of `source`, or what is wrong with it.
pub fn functions(path: &Path, source: &str) -> anyhow::Result<Vec<Function>> {
    let file = syn::parse_file(source).map_err(|e| anyhow::anyhow!("{}: {e}", path.display()))?;
    let mut collector = Collector(Vec::new());
    collector.visit_file(&file);
    Ok(collector.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_lines_and_leaves_tests_out() {
        let source = "fn a() {\n\n}\nstruct S;\nimpl S {\n    fn b(\n        x: u8,\n    ) {}\n}\n\
                      #[cfg(test)]\nmod tests {\n    fn c() {}\n}\n#[test]\nfn d() {}\n";
        let found = functions(Path::new("x.rs"), source).unwrap();
        let found: Vec<_> = found.iter().map(|f| (f.name.as_str(), f.line, f.lines)).collect();
        assert_eq!(found, [("a", 1, 3), ("b", 6, 3)]);
    }
}
