//! The folders are the layers. A crate may depend on crates of lower layers, or on crates listed
//! before it in its own.

use std::path::Path;

use anyhow::{Context, Result, bail};
use cargo_metadata::{DependencyKind, MetadataCommand};

/// From the lowest up: folder, and the order of its crates where they may depend on each other.
const LAYERS: &[(&str, &[&str])] = &[
    ("derive", &["dunlin-derive"]),
    (
        "protocol",
        &[
            "dunlin-core",
            "dunlin-qos",
            "dunlin-sync",
            "dunlin-buf",
            "dunlin-cdr",
            "dunlin-wire",
            "dunlin-xtypes",
            "dunlin-dynamic",
            "dunlin-rtps",
            "dunlin-filter",
            "dunlin-cache",
            "dunlin-discovery",
            "dunlin-engine",
            "dunlin-host",
        ],
    ),
    (
        "runtime",
        &["dunlin-transport", "dunlin-udp", "dunlin-tcp", "dunlin-shm", "dunlin-driver", "dunlin-sim"],
    ),
    ("idl", &["dunlin-idl"]),
    ("api", &["dunlin-config", "dunlin-json", "dunlin"]),
    (
        "services",
        &[
            "dunlin-program",
            "dunlin-settings",
            "dunlin-router",
            "dunlin-durability",
            "dunlin-hub",
            "dunlin-recorder",
        ],
    ),
    ("tools", &["dunlin-bench-adapter", "dunlin-bench", "dunlin-shapes", "dunlin-cli"]),
    ("apps", &["dunlin-video", "dunlin-surveillance"]),
    (
        "tests",
        &[
            "dunlin-notes",
            "dunlin-docs",
            "dunlin-test-program",
            "dunlin-simulation",
            "dunlin-replay",
            "dunlin-attack",
            "dunlin-counts",
            "dunlin-idl-tests",
            "dunlin-interop",
            "dunlin-scale",
            "dunlin-shapes-tests",
        ],
    ),
    ("xtask", &[]),
];

/// Position in the order of layers, then in the layer; crates that are not listed may not depend on
/// each other.
fn rank(folder: &str, name: &str) -> Result<(usize, usize)> {
    let (layer, (_, order)) = LAYERS
        .iter()
        .enumerate()
        .find(|(_, (layer, _))| *layer == folder)
        .with_context(|| format!("{name}: the folder {folder}/ is no layer; see ARCHITECTURE.md"))?;
    if order.is_empty() {
        return Ok((layer, 0));
    }
    let position = order.iter().position(|listed| *listed == name);
    let position = position.with_context(|| format!("{name} is not listed in xtask/src/deps.rs"))?;
    Ok((layer, position))
}

/// Fails where an arrow does not point down, and names all that do not. The crates in a few words.
pub fn check(root: &Path) -> Result<String> {
    let metadata = MetadataCommand::new().current_dir(root).no_deps().exec()?;
    let mut ranks = Vec::new();
    for package in metadata.workspace_packages() {
        let folder = package.manifest_path.strip_prefix(&metadata.workspace_root)?;
        let folder = folder.components().next().map(|c| c.as_str().to_owned()).unwrap_or_default();
        ranks.push((package.name.to_string(), rank(&folder, &package.name)?));
    }
    let (mut arrows, mut wrong) = (0, Vec::new());
    for package in metadata.workspace_packages() {
        let own = rank_of(&ranks, &package.name);
        // Tests may reach up: what they show is how the layers work together.
        for dependency in package.dependencies.iter().filter(|d| d.kind != DependencyKind::Development) {
            let Some(target) = rank_of(&ranks, &dependency.name) else { continue };
            arrows += 1;
            if own.is_some_and(|own| target >= own) {
                wrong.push(format!("{} -> {}", package.name, dependency.name));
            }
        }
    }
    if !wrong.is_empty() {
        bail!("these arrows do not point to a lower layer:\n  {}", wrong.join("\n  "));
    }
    Ok(format!("{} crates, {arrows} arrows, all point down", ranks.len()))
}

fn rank_of(ranks: &[(String, (usize, usize))], name: &str) -> Option<(usize, usize)> {
    ranks.iter().find(|(listed, _)| listed == name).map(|(_, rank)| *rank)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_grow_upwards() {
        assert!(rank("protocol", "dunlin-wire").unwrap() < rank("protocol", "dunlin-rtps").unwrap());
        assert!(rank("protocol", "dunlin-engine").unwrap() < rank("runtime", "dunlin-udp").unwrap());
        assert!(rank("attic", "x").is_err() && rank("protocol", "unlisted").is_err());
    }
}
