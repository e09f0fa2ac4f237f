//! By which name the crate that derives depends on another one.

use toml::de::{DeTable, DeValue};

/// The dependencies of a package that code of its library, programs, tests and examples can name.
const SECTIONS: [&str; 2] = ["dependencies", "dev-dependencies"];

/// The name of a package's crate in the crate whose `Cargo.toml` this is: its own, or one that the dependency was given. The
/// package itself has it too. Renaming in `[workspace.dependencies]` is not seen.
pub(crate) fn name_in(manifest: &str, package: &str) -> Option<String> {
    let parsed = DeTable::parse(manifest).ok()?;
    let root = parsed.get_ref();
    let own = table(root, "package").and_then(|it| text(it, "name"));
    if own == Some(package) {
        return Some(as_crate(package));
    }
    let targets = table(root, "target").into_iter().flat_map(|targets| targets.values());
    let targets = targets.filter_map(|target| as_table(target.get_ref()));
    std::iter::once(root).chain(targets).find_map(|part| {
        let sections = SECTIONS.iter().filter_map(|section| table(part, section));
        sections.into_iter().find_map(|section| {
            let mut names = section.iter().map(|(name, value)| (name.get_ref().as_ref(), value.get_ref()));
            let is_it = |name: &str, value: &DeValue<'_>| {
                let renamed = as_table(value).and_then(|it| text(it, "package"));
                renamed.unwrap_or(name) == package
            };
            names.find(|(name, value)| is_it(name, value)).map(|(name, _)| as_crate(name))
        })
    })
}

fn as_crate(name: &str) -> String {
    name.replace('-', "_")
}

fn as_table<'a, 'i>(value: &'a DeValue<'i>) -> Option<&'a DeTable<'i>> {
    match value {
        DeValue::Table(table) => Some(table),
        _ => None,
    }
}

fn table<'a, 'i>(of: &'a DeTable<'i>, name: &str) -> Option<&'a DeTable<'i>> {
    as_table(of.get(name)?.get_ref())
}

fn text<'a>(of: &'a DeTable<'_>, name: &str) -> Option<&'a str> {
    match of.get(name)?.get_ref() {
        DeValue::String(text) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_has_its_own_name_or_the_one_that_it_was_given() {
        let name = |manifest: &str| name_in(manifest, "dunlin-cdr");
        assert_eq!(name("[dependencies]\ndunlin-cdr = \"1\"").as_deref(), Some("dunlin_cdr"));
        assert_eq!(name("[dependencies]\ndunlin-cdr.workspace = true").as_deref(), Some("dunlin_cdr"));
        assert_eq!(
            name("[dev-dependencies]\ncodec = { package = \"dunlin-cdr\", path = \"x\" }").as_deref(),
            Some("codec")
        );
        assert_eq!(name("[package]\nname = \"dunlin-cdr\"").as_deref(), Some("dunlin_cdr"));
        let of_target = "[target.'cfg(unix)'.dependencies.dunlin-cdr]\nversion = \"1\"";
        assert_eq!(name(of_target).as_deref(), Some("dunlin_cdr"));
        for none in
            ["", "not toml", "[dependencies]\ndunlin = \"1\"", "[build-dependencies]\ndunlin-cdr = \"1\""]
        {
            assert_eq!(name(none), None, "{none}");
        }
        // A name that another package was given is not it.
        assert_eq!(name("[dependencies]\ndunlin-cdr = { package = \"other\" }"), None);
    }
}
