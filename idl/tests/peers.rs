//! IDL files that come with other implementations are accepted: `make interop` runs this after it has built the peers.

use std::path::{Path, PathBuf};

use dunlin_idl::{Disk, Options, compile};

fn collect(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let (path, kind) = (entry.path(), entry.file_type());
        if kind.is_ok_and(|kind| kind.is_dir()) {
            if depth > 0 {
                collect(&path, depth - 1, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "idl") {
            found.push(path);
        }
    }
}

/// Files that the peers bring: their implementation and a part of their path.
const EXPECTED: [(&str, &str); 2] = [("Fast DDS", "/fastdds/statistics/"), ("RustDDS", "/rustdds-")];

#[test]
#[ignore = "needs the peers: make interop"]
fn installed_files_are_accepted() {
    let mut found = Vec::new();
    let cargo =
        std::env::var("CARGO_HOME").or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.cargo")));
    for (root, depth) in [("/usr/include", 4), ("/usr/share", 4), ("/opt", 6)] {
        collect(Path::new(root), depth, &mut found);
    }
    if let Ok(cargo) = cargo {
        let sources = Path::new(&cargo).join("registry/src");
        for registry in std::fs::read_dir(sources).into_iter().flatten().flatten() {
            for package in std::fs::read_dir(registry.path()).into_iter().flatten().flatten() {
                if package.file_name().to_string_lossy().contains("dds") {
                    collect(&package.path(), 5, &mut found);
                }
            }
        }
    }
    for path in &found {
        let result = compile(&path.to_string_lossy(), &Options::default(), &Disk);
        assert!(result.model.is_some(), "{}\n{}", path.display(), result.render(false));
    }
    for (peer, part) in EXPECTED {
        let of_peer = found.iter().any(|path| path.to_string_lossy().contains(part));
        assert!(of_peer, "no IDL file of {peer}, whose path contains {part}, is among {found:?}");
    }
    println!("{} files of other implementations", found.len());
}

#[test]
fn our_own_files_are_accepted() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../apps/video/idl/VideoFrame.idl");
    let result = compile(&path.to_string_lossy(), &Options::default(), &Disk);
    assert!(result.diagnostics.is_empty(), "{}", result.render(false));
    let model = result.model.unwrap();
    assert!(model.find("VideoFrame").is_some());
}
