//! One style of imports: the standard library, then other crates, then this one, in groups with a blank line between them, as
//! `rustfmt` makes them with `group_imports = "StdExternalCrate"`, which is not in its stable version.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// A group, in the order in which they stand.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Group {
    /// `std`, `core`, `alloc`.
    Standard,
    /// Every other crate, those of this workspace among them, and modules that are named without `self`.
    Other,
    /// `crate`, `self`, `super`.
    Own,
}

fn group(tree: &syn::UseTree) -> Group {
    let first = match tree {
        syn::UseTree::Path(it) => &it.ident,
        syn::UseTree::Name(it) => &it.ident,
        syn::UseTree::Rename(it) => &it.ident,
        syn::UseTree::Glob(_) | syn::UseTree::Group(_) => return Group::Other,
    };
    match first.to_string().as_str() {
        "std" | "core" | "alloc" => Group::Standard,
        "crate" | "self" | "super" => Group::Own,
        _ => Group::Other,
    }
}

/// The imports of a file that stand where they should not.
pub fn findings(path: &str, source: &str) -> anyhow::Result<Vec<String>> {
    let file = syn::parse_file(source).map_err(|error| anyhow::anyhow!("{path}: {error}"))?;
    let mut check = Check { path, found: Vec::new() };
    check.items(&file.items);
    check.visit_file(&file);
    Ok(check.found)
}

struct Check<'p> {
    path: &'p str,
    found: Vec<String>,
}

impl Check<'_> {
    /// Imports in a row are judged together; other items end a row, blank lines and comments do not.
    fn items(&mut self, items: &[syn::Item]) {
        let is_use = |item: &syn::Item| matches!(item, syn::Item::Use(_));
        for row in items.chunk_by(|one, other| is_use(one) && is_use(other)) {
            let uses: Vec<&syn::ItemUse> = row
                .iter()
                .filter_map(|item| if let syn::Item::Use(it) = item { Some(it) } else { None })
                .collect();
            for pair in uses.windows(2) {
                self.pair(pair[0], pair[1]);
            }
        }
    }

    fn pair(&mut self, before: &syn::ItemUse, after: &syn::ItemUse) {
        let [first, second] = [before, after].map(|it| group(&it.tree));
        let line = after.span().start().line;
        let apart = line > before.span().end().line + 1;
        let path = self.path;
        if second < first {
            self.found.push(format!(
                "{path}:{line}: imports: std, core, alloc; then crates; then crate, super, self"
            ));
        } else if second > first && !apart {
            self.found.push(format!("{path}:{line}: imports: a blank line stands before this group"));
        }
    }
}

impl<'ast> Visit<'ast> for Check<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if let Some((_, items)) = &item.content {
            self.items(items);
        }
        visit::visit_item_mod(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(source: &str) -> Vec<String> {
        findings("a.rs", source).unwrap()
    }

    #[test]
    fn groups_stand_in_their_order_and_apart() {
        let fine = "mod a;\n\nuse alloc::vec::Vec;\nuse core::fmt;\n\n// Why.\nuse dunlin_core::Guid;\npub use syn::File;\n\n\
                    use self::a::b;\nuse super::c;\nuse crate::d;\n";
        assert_eq!(found(fine), [""; 0]);
        let order = "a.rs:3: imports: std, core, alloc; then crates; then crate, super, self";
        assert_eq!(found("use crate::a;\n\nuse std::fmt;\n"), [order]);
        assert_eq!(found("use dunlin_core::A;\n\nuse core::fmt;\n"), [order]);
        let apart = "a.rs:2: imports: a blank line stands before this group";
        assert_eq!(found("use std::fmt;\nuse syn::File;\n"), [apart]);
        assert_eq!(found("use syn::File;\nuse super::a;\n"), [apart]);
    }

    #[test]
    fn modules_within_are_judged_and_other_items_end_a_row() {
        assert_eq!(found("use crate::a;\n\nmod b;\n\nuse std::fmt;\n"), [""; 0]);
        assert_eq!(found("mod tests {\n    use super::*;\n    use std::fmt;\n}\n").len(), 1);
    }
}
