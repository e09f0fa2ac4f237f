//! Code blocks of README and docs: each is run by a test, or is marked as one that is not.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use dunlin_docs::{Block, blocks, is_part};

/// Languages of blocks that are code: somebody will copy them.
const CODE: &[&str] = &["rust", "sh", "bash", "toml", "xml", "idl", "python", "cpp", "json", "yaml"];
/// What may stand behind the language, see `dunlin_docs`.
const HOW: &str =
    "file=PATH, part=PATH, project=PATH, output=PROGRAM, parsed (commands, configurations) or not-run";

/// Every block of which nothing says how it is known to be right, and every one that is not what it says.
pub fn findings(root: &Path) -> Result<Vec<String>> {
    let mut pages = vec!["README.md".to_owned(), "apps/video/README.md".to_owned()];
    for entry in fs::read_dir(root.join("docs"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".md") {
            pages.push(format!("docs/{name}"));
        }
    }
    pages.sort();
    let mut findings = Vec::new();
    for page in pages {
        let text = fs::read_to_string(root.join(&page)).with_context(|| page.clone())?;
        for block in blocks(&text) {
            findings.extend(problem(root, &block).map(|what| format!("{page}:{}: {what}", block.line)));
        }
    }
    Ok(findings)
}

fn problem(root: &Path, block: &Block<'_>) -> Option<String> {
    let read = |path: &str| fs::read_to_string(root.join(path)).map_err(|error| format!("{path}: {error}"));
    if let Some(path) = block.value("file") {
        return match read(path) {
            Err(error) => Some(error),
            Ok(text) if text == block.text => None,
            Ok(_) => Some(format!("the block is not {path}")),
        };
    }
    if let Some(path) = block.value("part") {
        return match read(path) {
            Err(error) => Some(error),
            Ok(text) if is_part(&block.text, &text) => None,
            Ok(_) => Some(format!("lines of the block do not stand in {path}, or in another order")),
        };
    }
    let marked = ["not-run", "parsed"].contains(&block.proof)
        || block.value("output").is_some()
        || block.value("project").is_some();
    let is_code = CODE.contains(&block.language);
    (is_code && !marked).then(|| format!("nothing runs this block: mark it with {HOW}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(page: &str) -> Option<String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        problem(root, &blocks(page)[0])
    }

    #[test]
    fn a_block_of_code_says_what_runs_it() {
        assert!(of("```rust\nfn main() {}\n```\n").is_some_and(|it| it.contains("not-run")));
        assert_eq!(of("```rust not-run\nfn main() {}\n```\n"), None);
        assert_eq!(of("```text\nfn main() {}\n```\n"), None);
        assert_eq!(of("```text output=keys\n1\n```\n"), None);
    }

    #[test]
    fn a_block_is_the_file_that_it_names_or_a_part_of_it() {
        let file = "```toml file=rust-toolchain-that-is-not-there.toml\n```\n";
        assert!(of(file).is_some_and(|it| it.contains("not-there")));
        assert!(of("```rust file=xtask/src/blocks.rs\n```\n").is_some());
        assert_eq!(of("```rust part=xtask/src/blocks.rs\nuse std::fs;\nuse std::path::Path;\n```\n"), None);
        assert!(of("```rust part=xtask/src/blocks.rs\nuse std::path::Path;\nuse std::fs;\n```\n").is_some());
    }
}
