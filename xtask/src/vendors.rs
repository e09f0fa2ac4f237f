//! Who asks for a vendor instead of a behaviour: `protocol/core/src/vendor.rs` is the one table of what vendors do (ADR 18).

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::functions::is_test;

/// Where vendors have names, where the table is, and where parameters of a vendor are told from the same numbers of another.
const ABOUT_VENDORS: &[&str] =
    &["protocol/core/src/guid.rs", "protocol/core/src/vendor.rs", "protocol/wire/src/params/list.rs"];
/// Who may be meant without being treated differently: ourselves, and nobody.
const PLAIN: &[&str] = &["DUNLIN", "UNKNOWN"];

/// The lines of a file that decide by the vendor itself. Tests may name one: they are about what it does.
pub fn findings(path: &str, source: &str) -> anyhow::Result<Vec<String>> {
    if ABOUT_VENDORS.contains(&path) {
        return Ok(Vec::new());
    }
    let file = syn::parse_file(source).map_err(|error| anyhow::anyhow!("{path}: {error}"))?;
    let mut search = Search(Vec::new());
    search.visit_file(&file);
    search.0.sort_unstable();
    search.0.dedup();
    let say = |line: &usize| {
        format!("{path}:{line}: asks for a vendor: give what it does a line in protocol/core/src/vendor.rs")
    };
    Ok(search.0.iter().map(say).collect())
}

/// Lines with findings.
struct Search(Vec<usize>);

impl Search {
    fn note(&mut self, place: &impl Spanned) {
        self.0.push(place.span().start().line);
    }
}

/// The name of a vendor as a path ends with it: `VendorId::FAST_DDS`.
fn vendor(path: &syn::Path) -> Option<String> {
    let mut last = path.segments.iter().rev();
    let (name, ty) = (last.next()?, last.next()?);
    (ty.ident == "VendorId" && name.ident.to_string().chars().all(|c| c.is_uppercase() || c == '_'))
        .then(|| name.ident.to_string())
}

/// Whether the value of an expression is called a vendor.
fn is_vendor(expr: &syn::Expr) -> bool {
    let named = |name: &syn::Ident| name.to_string().contains("vendor");
    match expr {
        syn::Expr::Path(it) => {
            vendor(&it.path).is_some() || it.path.segments.last().is_some_and(|last| named(&last.ident))
        }
        syn::Expr::Field(it) => match &it.member {
            syn::Member::Named(name) => named(name),
            // The octets of a vendor.
            syn::Member::Unnamed(_) => is_vendor(&it.base),
        },
        syn::Expr::MethodCall(it) => named(&it.method),
        syn::Expr::Call(it) => {
            matches!(&*it.func, syn::Expr::Path(function) if function.path.is_ident("VendorId"))
        }
        syn::Expr::Reference(it) => is_vendor(&it.expr),
        syn::Expr::Unary(it) => is_vendor(&it.expr),
        syn::Expr::Paren(it) => is_vendor(&it.expr),
        _ => false,
    }
}

impl<'ast> Visit<'ast> for Search {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes = match item {
            syn::Item::Mod(it) => &it.attrs,
            syn::Item::Fn(it) => &it.attrs,
            syn::Item::Impl(it) => &it.attrs,
            syn::Item::Const(it) => &it.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !is_test(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if vendor(path).is_some_and(|name| !PLAIN.contains(&&*name)) {
            self.note(path);
        }
        visit::visit_path(self, path);
    }

    fn visit_expr_binary(&mut self, expr: &'ast syn::ExprBinary) {
        let compares = matches!(expr.op, syn::BinOp::Eq(_) | syn::BinOp::Ne(_));
        if compares && (is_vendor(&expr.left) || is_vendor(&expr.right)) {
            self.note(expr);
        }
        visit::visit_expr_binary(self, expr);
    }

    fn visit_expr_match(&mut self, expr: &'ast syn::ExprMatch) {
        if is_vendor(&expr.expr) {
            self.note(expr);
        }
        visit::visit_expr_match(self, expr);
    }

    fn visit_expr_let(&mut self, expr: &'ast syn::ExprLet) {
        if is_vendor(&expr.expr) {
            self.note(expr);
        }
        visit::visit_expr_let(self, expr);
    }

    /// What is in a macro is no syntax yet: `matches!(vendor, …)`, `assert!(vendor == …)`.
    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let within: Vec<syn::Expr> = call
            .parse_body_with(|input: syn::parse::ParseStream<'_>| {
                let mut all = Vec::new();
                while let Ok(expr) = input.parse() {
                    all.push(expr);
                    if input.parse::<syn::Token![,]>().is_err() {
                        break;
                    }
                }
                // The rest may be a pattern, or anything.
                input.parse::<proc_macro2::TokenStream>()?;
                Ok(all)
            })
            .unwrap_or_default();
        let matching = call.path.segments.last().is_some_and(|last| last.ident == "matches");
        if matching && within.first().is_some_and(is_vendor) {
            self.note(call);
        }
        for expr in &within {
            let mut inner = Search(Vec::new());
            inner.visit_expr(expr);
            self.0.append(&mut inner.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(code: &str) -> usize {
        let source = format!("fn f() {{ {code} }}");
        findings("api/x/src/a.rs", &source).unwrap().len()
    }

    #[test]
    fn vendor_comparison_in_code_is_found() {
        for code in [
            "let own = peer.vendor == VendorId::DUNLIN;",
            "let own = *vendor_id != ours;",
            "let own = data.vendor.0 == [1, 15];",
            "let own = VendorId([1, 15]) == who;",
            "let fast = matches!(vendor_id, [0x01, 0x0f]);",
            "match data.vendor { VendorId([1, 15]) => 1, _ => 0 };",
            "if let VendorId([1, 15]) = source_vendor {}",
            "let them = [dunlin::VendorId::CYCLONE_DDS];",
            "assert!(vendor == known, \"{vendor}\");",
        ] {
            assert_eq!(found(code), 1, "{code}");
        }
    }

    #[test]
    fn vendor_name_or_behaviour_query_is_allowed() {
        for code in [
            "say(writer.vendor.name());",
            "let head = Header { vendor_id: VendorId::DUNLIN, vendor: data.vendor };",
            "let own = vendor.does(Behaviour::SpeaksDunlin) && a == b;",
            "println!(\"{} {}\", vendor.name(), VendorId::DUNLIN);",
            "let known = octets == [1, 15];",
            "let [a, b] = VendorId::DUNLIN.0;",
        ] {
            assert_eq!(found(code), 0, "{code}");
        }
        let test = "#[cfg(test)] mod tests { fn f() { let it = vendor == VendorId::RTI; } }";
        assert_eq!(findings("api/x/src/a.rs", test).unwrap(), [""; 0]);
        let table = "fn f() { let it = vendor == VendorId::RTI; }";
        assert_eq!(findings(ABOUT_VENDORS[1], table).unwrap(), [""; 0]);
    }
}
