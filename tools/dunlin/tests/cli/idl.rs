//! `dunlin idl` where what it prints matters to others.

use crate::common::text;

#[test]
fn rules_for_make_name_the_file_that_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a shape-2.idl");
    std::fs::write(folder.path().join("inc.idl"), "struct Inc { long x; };\n").unwrap();
    std::fs::write(&file, "#include \"inc.idl\"\nstruct A { Inc x; };\n").unwrap();
    let path = file.to_str().unwrap();
    let deps = |options: &[&str]| text(&[&["idl", "--deps"], options, &[path]].concat());
    let dir = folder.path().display();
    let files = format!("{dir}/a\\ shape-2.idl {dir}/inc.idl\n");
    assert_eq!(deps(&[]), format!("{dir}/a\\ shape-2.rs: {files}"));
    assert_eq!(deps(&["--rust", "--out", "made"]), format!("made/a\\ shape-2.rs: {files}"));
    assert_eq!(deps(&["--cpp", "--out", "made"]), format!("made/a\\ shape-2.hpp: {files}"));
    // The name of a Python module is an identifier.
    let python = deps(&["--python", "--out", "made"]);
    let (target, _) = python.split_once(':').unwrap();
    let made = folder.path().join("made");
    let printed = text(&["idl", "--python", "--out", made.to_str().unwrap(), path]);
    let code = printed.lines().next().unwrap().strip_prefix(&format!("{dir}/")).unwrap();
    assert_eq!(target, code.replace(' ', "\\ "));
}
