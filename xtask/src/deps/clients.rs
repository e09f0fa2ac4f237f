//! Modules of `dunlin` that use its public API alone, like any application. They name nothing but `dunlin`, the standard library
//! and themselves. That what they call is public the compiler checks, which compiles them outside of the crate too
//! (`api/dunlin/tests/public_api_alone.rs`).

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::mentions::{Content, content};

/// Folders whose files are such modules, from `api/dunlin/src`.
const CLIENTS: &[&str] = &["request_reply"];

/// Where they name something else.
pub fn findings(root: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for client in CLIENTS {
        let folder = root.join("api/dunlin/src").join(client);
        for file in files(&folder)? {
            let text = fs::read_to_string(&file)?;
            let parsed = syn::parse_file(&text).with_context(|| file.display().to_string())?;
            let name = file.strip_prefix(root).unwrap_or(&file).display().to_string();
            found.extend(foreign(&name, &content(&parsed)));
        }
    }
    Ok(found)
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "rs"));
    files.sort();
    Ok(files)
}

/// What a file names by way of the crate, or of the crates below it.
fn foreign(file: &str, content: &Content) -> Vec<String> {
    let is_foreign = |first: &str| first == "crate" || first.starts_with("dunlin_");
    let named = content.mentions.iter().filter(|mention| mention.path.first().is_some_and(|p| is_foreign(p)));
    let finding = |path: &[String], line| {
        format!("{file}:{line}: {} is not public API: name it by `dunlin::`", path.join("::"))
    };
    named.map(|mention| finding(&mention.path, mention.line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_the_public_api_pass() {
        let text =
            "use dunlin::{Guid, qos::TopicQos}; use super::Half; use crate::mutex::lock; use std::sync::Arc;
            fn f() { dunlin_core::Guid::default(); crate::sentence::debug_is_sentence!(E); }";
        let found = foreign("f.rs", &content(&syn::parse_file(text).unwrap()));
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found.iter().any(|finding| finding.starts_with("f.rs:2: dunlin_core::Guid::default")));
    }
}
